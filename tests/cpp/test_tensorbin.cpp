// Files written by the real package: read to the values of their formula, rewritten byte for byte; damaged ones are refused.
#include <array>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <random>
#include <sstream>

#include <unistd.h>

#include "harness.hpp"
#include "tensor/access.hpp"
#include "tensor/flatbuffer.hpp"
#include "ttnn/tensor/serialization.hpp"

namespace {

namespace fs = std::filesystem;
using namespace ttnn_shim;

std::string bytes_of(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream out;
    out << file.rdbuf();
    return out.str();
}

fs::path scratch(const std::string& name) { return fs::temp_directory_path() / ("shim_tests_" + std::to_string(getpid()) + "_" + name); }

std::vector<fs::path> samples() {
    std::vector<fs::path> paths;
    for (const auto& entry : fs::directory_iterator(fs::path(SHIM_TEST_DATA) / "tensorbin")) {
        if (entry.path().extension() == ".tensorbin") {
            paths.push_back(entry.path());
        }
    }
    std::sort(paths.begin(), paths.end());
    return paths;
}

/// What a file says; as it stands, a good file of `shape` bfloat16 values in rows.
struct Described {
    std::vector<uint32_t> shape{2, 3};
    uint8_t dtype = 0, page = 1;
    std::array<uint32_t, 2> tile{0, 0};  ///< 0: not in the file
    uint16_t memory_layout = 0, buffer_type = 0;
    std::array<int32_t, 4> cores{0, 0, 0, 0};  ///< x, y of the first and of the last
    size_t core_ranges = 0;
    std::vector<uint32_t> shard{}, nd_shard{};
    uint8_t orientation = 0, storage = 1;
    size_t shards = 1;
    bool has_data = true, has_memory = true, has_spec = true, has_layout = true;
    uint64_t offset = 0, bytes = 12;

    std::string header() const {
        using flatbuffer::Builder;
        Builder builder;
        const auto table = [&] { return Builder::Table(builder); };
        const auto grid = [&]() -> Builder::Offset {
            if (core_ranges == 0) return 0;
            const auto first = table().scalar<int32_t>(1, cores[1], 0).scalar<int32_t>(0, cores[0], 0).end();
            const auto last = table().scalar<int32_t>(1, cores[3], 0).scalar<int32_t>(0, cores[2], 0).end();
            const std::vector<Builder::Offset> ranges(core_ranges, table().offset(1, last).offset(0, first).end());
            const auto list = builder.offsets(ranges);
            return table().offset(0, list).end();
        };
        const auto extents = builder.vector<uint32_t>(shape);
        const auto sizes = tile[0] == 0 ? 0 : table().scalar<uint32_t>(1, tile[1], 0).scalar<uint32_t>(0, tile[0], 0).end();
        const auto pages = table().offset(0, sizes).end();
        Builder::Offset spec = 0, nd_spec = 0;
        if (!shard.empty()) {
            const auto where = grid();
            auto of_shard = table();
            of_shard.scalar<uint32_t>(2, shard[1], 0).scalar<uint32_t>(1, shard[0], 0).offset(0, where);
            spec = of_shard.scalar<uint8_t>(3, orientation, 0).end();
        } else if (!nd_shard.empty() || core_ranges > 0) {
            const auto where = grid(), held = builder.vector<uint32_t>(nd_shard);
            nd_spec = table().offset(1, where).offset(0, held).scalar<uint8_t>(2, orientation, 0).end();
        }
        const auto memory =
            table().offset(3, nd_spec).offset(2, spec).scalar<uint16_t>(1, buffer_type, 0).scalar<uint16_t>(0, memory_layout, 0).end();
        const auto layout =
            table().offset(3, has_memory ? memory : 0).offset(2, pages).scalar<uint8_t>(1, page, 0).scalar<uint8_t>(0, dtype, 0).end();
        const auto whole = table().offset(1, has_layout ? layout : 0).offset(0, extents).end();
        const auto data = has_data ? builder.pair(offset, bytes) : 0;
        const std::vector<Builder::Offset> parts(shards, table().offset(1, data).scalar<uint8_t>(0, storage, 0).end());
        const auto list = builder.offsets(parts);
        const auto made = builder.finish(table().offset(2, list).offset(0, has_spec ? whole : 0).end());
        return {made.begin(), made.end()};
    }
    /// The file, with so many bytes of data: 0, 1, 2, ...
    std::string file(size_t data_bytes) const {
        const std::string text = header();
        const uint64_t size = text.size();
        std::string all(reinterpret_cast<const char*>(&size), sizeof(size));
        all += text;
        for (size_t i = 0; i < data_bytes; ++i) all += static_cast<char>(i);
        return all;
    }
};

/// What loading a file of these bytes says, "" where it does.
std::string refusal(const std::string& bytes, std::optional<Tensor>* loaded = nullptr) {
    const auto path = scratch("described.tensorbin");
    std::ofstream(path, std::ios::binary) << bytes;
    std::string said;
    try {
        const auto tensor = ttnn::load_tensor_flatbuffer(path.string());
        if (loaded != nullptr) *loaded = tensor;
    } catch (const Error& error) {
        said = error.message();
    }
    fs::remove(path);
    return said;
}

/// The value that the manifest's formula gives at flat index k, before rounding to the dtype.
float formula(DataType dtype, uint64_t k) {
    const auto step = static_cast<int64_t>(k);
    if (is_floating_point(dtype)) {
        return static_cast<float>((step * 37 % 101 - 50) / 8.0 * std::ldexp(1.0, static_cast<int>(step % 7) - 3));
    }
    return dtype == DataType::INT32 ? static_cast<float>(step * 37 % 101 - 50) : static_cast<float>(step * 37 % 251);
}

}  // namespace

TEST(tensorbin_values_and_bytes) {
    const auto paths = samples();
    CHECK_EQ(paths.size(), 57U);
    int values_checked = 0;
    for (const auto& path : paths) {
        const auto tensor = ttnn::load_tensor_flatbuffer(path.string());
        const std::string name = path.stem().string();
        CHECK(name.starts_with("mem_") || name.find(tensor.layout() == Layout::TILE ? "_tile_" : "_row_major_") != std::string::npos);
        if (!name.starts_with("mem_")) {
            std::vector<float> expected(tensor.logical_volume());
            for (uint64_t k = 0; k < expected.size(); ++k) {
                expected[k] = formula(tensor.dtype(), k);
            }
            const auto reference = from_host_values(
                expected.data(), DataType::FLOAT32, TensorSpec(tensor.logical_shape(), tensor.dtype(), tensor.layout()), nullptr);
            const F32Values read(tensor);
            const F32Values wanted(reference);
            size_t differing = 0;
            for (size_t i = 0; i < read.size(); ++i) {
                differing += read[i] == wanted[i] ? 0 : 1;
            }
            CHECK_EQ(differing, 0U);
            ++values_checked;
        }
        const auto copy = scratch("copy.tensorbin");
        ttnn::dump_tensor_flatbuffer(copy.string(), tensor);
        const bool equal = bytes_of(copy) == bytes_of(path);
        harness::report(equal, __FILE_NAME__, __LINE__, "rewritten " + name + " differs");
        fs::remove(copy);
    }
    CHECK_EQ(values_checked, 54);
}

TEST(tensorbin_memory_configs) {
    const auto root = fs::path(SHIM_TEST_DATA) / "tensorbin";
    const auto sharded = ttnn::load_tensor_flatbuffer((root / "mem_l1_height_sharded.tensorbin").string()).memory_config();
    CHECK(sharded.memory_layout() == TensorMemoryLayout::HEIGHT_SHARDED && sharded.buffer_type() == BufferType::L1);
    CHECK_EQ(sharded.shard_spec()->num_cores(), 2U);
    CHECK((sharded.shard_spec()->shape == std::array<uint32_t, 2>{32, 64}));
    const auto l1 = ttnn::load_tensor_flatbuffer((root / "mem_l1_interleaved.tensorbin").string()).memory_config();
    CHECK(l1 == MemoryConfig(TensorMemoryLayout::INTERLEAVED, BufferType::L1));
}

TEST(tensorbin_damaged_files) {
    const auto original = bytes_of(fs::path(SHIM_TEST_DATA) / "tensorbin" / "mem_l1_height_sharded.tensorbin");
    const auto path = scratch("damaged.tensorbin");
    const auto attempt = [&](const std::string& bytes) {
        std::ofstream(path, std::ios::binary) << bytes;
        try {
            ttnn::load_tensor_flatbuffer(path.string());
            return true;
        } catch (const Error&) {
            return false;  // anything else is a failure of the test
        }
    };
    CHECK(attempt(original));
    for (size_t size = 0; size < original.size(); size += 37) {
        CHECK(!attempt(original.substr(0, size)));
    }
    CHECK(!attempt(original.substr(0, original.size() - 1)));
    std::mt19937 random(7);
    for (int round = 0; round < 4000; ++round) {
        std::string bytes = original;
        const int flips = 1 + static_cast<int>(random() % 4);
        for (int i = 0; i < flips; ++i) {
            bytes[random() % 512] = static_cast<char>(random());
        }
        attempt(bytes);
    }
    std::string huge = original;
    huge.replace(0, 8, std::string(8, '\x7f'));
    CHECK(!attempt(huge));
    CHECK_THROWS(Io, "cannot open", ttnn::load_tensor_flatbuffer("/does/not/exist.tensorbin"));
    CHECK_THROWS(Io, "not a file", ttnn::load_tensor_flatbuffer(fs::temp_directory_path().string()));
    fs::remove(path);
}

TEST(tensorbin_limits_of_what_a_header_may_say) {
    struct Case {
        Described file;
        const char* refused;  ///< part of what is said; "" where the file is read
        size_t data_bytes = 12;
    };
    const std::string too_large = "its shape is too large", no_data = "truncated: 12 bytes of data";
    const auto of_shape = [](std::vector<uint32_t> shape, uint64_t bytes = 12) {
        return Described{.shape = std::move(shape), .bytes = bytes};
    };
    const auto on_cores = [](std::array<int32_t, 4> cores, size_t ranges = 1) {
        return Described{.memory_layout = 2, .buffer_type = 1, .cores = cores, .core_ranges = ranges, .shard = {2, 3}};
    };
    const std::vector<Case> cases{
        {{}, ""},
        {of_shape({2, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}), ""},
        {of_shape({2, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}), "rank 17"},
        // The last two extents count with their padding to tiles, up to 2^32 - 1 each and 2^56 together.
        {of_shape({1, 0xffffffe0}, 2ULL * 0xffffffe0), no_data.c_str()},
        {of_shape({1, 0xffffffe1}, 2ULL * 0xffffffe1), too_large.c_str()},
        {of_shape({0xffffffe1, 1}, 2ULL * 0xffffffe1), too_large.c_str()},
        {of_shape({0xffffffff, 1, 1}, 2ULL * 0xffffffff), no_data.c_str()},
        {of_shape({1U << 24, 1, 1U << 27}, 1ULL << 52), no_data.c_str()},
        {of_shape({(1U << 24) + 1, 1, 1U << 27}, 2ULL * ((1ULL << 24) + 1) << 27), too_large.c_str()},
        {of_shape({1U << 25, 1U << 31, 256, 32, 32}), too_large.c_str()},  // 2^74: as much as 2^10 where it overflows
        {of_shape({0, 1U << 31, 1U << 31}, 0), too_large.c_str()},
        {of_shape({0, 1U << 28, 1U << 28}, 0), ""},
        {Described{.page = 0}, "page type 0"},
        {Described{.page = 3}, "page type 3"},
        {Described{.page = 2, .bytes = 2048}, "", 2048},
        {Described{.page = 2, .tile = {32, 32}, .bytes = 2048}, "", 2048},
        {Described{.page = 2, .tile = {16, 32}, .bytes = 2048}, "16x32 tiles", 2048},
        {Described{.page = 2, .tile = {32, 16}, .bytes = 2048}, "32x16 tiles", 2048},
        {Described{.page = 1, .tile = {16, 32}}, ""},
        {Described{.memory_layout = 1}, "memory layout 1, buffer type 0"},
        {Described{.memory_layout = 2}, ""},
        {Described{.memory_layout = 5}, ""},
        {Described{.memory_layout = 6}, "memory layout 6, buffer type 0"},
        {Described{.buffer_type = 4}, ""},
        {Described{.buffer_type = 5}, "memory layout 0, buffer type 5"},
        {Described{.has_memory = false}, ""},
        {on_cores({0, 0, 0, 0}), ""},
        {on_cores({-1, 0, 0, 0}), "negative core coordinate"},
        {on_cores({0, -1, 0, 0}), "negative core coordinate"},
        {on_cores({0, 0, 0, 0}, 4096), "overlap"},
        {on_cores({0, 0, 0, 0}, 4097), "too many core ranges"},
        {Described{.memory_layout = 5, .buffer_type = 1, .core_ranges = 1, .nd_shard = {2, 3}}, ""},
        {Described{.memory_layout = 5, .buffer_type = 1, .core_ranges = 1}, "empty nd shard spec"},
        {Described{.memory_layout = 5, .buffer_type = 1, .nd_shard = {2, 3}}, "empty nd shard spec"},
        {Described{.shards = 0}, "0 shards"},
        {Described{.shards = 2}, "2 shards"},
        {Described{.storage = 0}, "inline data is supported"},
        {Described{.storage = 2}, "inline data is supported"},
        {Described{.has_data = false}, "no data"},
        {Described{.has_spec = false}, "no tensor spec"},
        {Described{.has_layout = false}, "no tensor layout"},
        {Described{.bytes = 11}, "11 bytes of data, [2, 3]"},
        {Described{}, "", 13},
        {Described{}, "truncated: 11 bytes of data, expected 12", 11},
        {Described{.offset = 5}, "", 17},
        {Described{.offset = 5}, "truncated: 16 bytes of data, expected 17", 16},
        {Described{.offset = 13}, "truncated: 12 bytes of data, expected 25"},
        {of_shape({0, 3}, 0), "", 0},
        {Described{.shape = {0, 3}, .offset = 1, .bytes = 0}, "truncated", 0}};
    for (const Case& each : cases) {
        const std::string said = refusal(each.file.file(each.data_bytes));
        const bool right = *each.refused == '\0' ? said.empty() : said.find(each.refused) != std::string::npos;
        harness::report(
            right, __FILE_NAME__, __LINE__,
            "case " + std::to_string(&each - cases.data()) + ": '" + each.refused + "' is not '" + said + "'");
    }
}

TEST(tensorbin_what_a_header_says) {
    std::optional<Tensor> loaded;
    const auto config_of = [&](const Described& file, size_t data_bytes = 12) {
        CHECK_EQ(refusal(file.file(data_bytes), &loaded), std::string());
        return loaded->memory_config();
    };
    // The 8 bytes before the header are a length: the values of an offset of 4 begin 4 bytes behind the header.
    config_of({.dtype = 5, .offset = 4, .bytes = 6}, 10);
    CHECK((loaded->to_vector<uint8_t>() == std::vector<uint8_t>{4, 5, 6, 7, 8, 9}));
    CHECK(config_of({}) == MemoryConfig());
    CHECK(config_of({.has_memory = false}) == MemoryConfig());
    const std::array<std::pair<uint8_t, DataType>, 9> dtypes{
        {{0, DataType::BFLOAT16},
         {1, DataType::FLOAT32},
         {2, DataType::UINT32},
         {3, DataType::BFLOAT8_B},
         {4, DataType::BFLOAT4_B},
         {5, DataType::UINT8},
         {6, DataType::UINT16},
         {7, DataType::INT32},
         {8, DataType::INT8}}};
    for (const auto& [code, dtype] : dtypes) {
        const uint64_t bytes = tile_bytes(dtype);
        CHECK_EQ(refusal(Described{.dtype = code, .page = 2, .bytes = bytes}.file(bytes), &loaded), std::string());
        CHECK(loaded->dtype() == dtype);
        CHECK(loaded->layout() == Layout::TILE);
        CHECK_EQ(loaded->logical_shape(), Shape({2, 3}));
    }
    for (const uint8_t code : {9, 10, 255})
        CHECK_EQ(refusal(Described{.dtype = code}.file(12)), "the file holds data type " + std::to_string(code));
    const CoreRangeSet cores(CoreRange({1, 2}, {3, 2}));
    const MemoryConfig block =
        config_of({.memory_layout = 4, .buffer_type = 1, .cores = {1, 2, 3, 2}, .core_ranges = 1, .shard = {1, 3}, .orientation = 1});
    CHECK(block == MemoryConfig(TensorMemoryLayout::BLOCK_SHARDED, BufferType::L1, ShardSpec(cores, {1, 3}, ShardOrientation::COL_MAJOR)));
    const MemoryConfig many =
        config_of({.memory_layout = 5, .buffer_type = 0, .cores = {1, 2, 3, 2}, .core_ranges = 1, .nd_shard = {1, 2}, .orientation = 1});
    CHECK(many.buffer_type() == BufferType::DRAM && !many.shard_spec());
    CHECK(many.nd_shard_spec()->shard_shape == Shape({1, 2}) && many.nd_shard_spec()->grid == cores);
    CHECK(many.nd_shard_spec()->orientation == ShardOrientation::COL_MAJOR);
    const MemoryConfig rows = config_of({.memory_layout = 5, .cores = {1, 2, 3, 2}, .core_ranges = 1, .nd_shard = {1, 3}});
    CHECK(
        rows == MemoryConfig(TensorMemoryLayout::HEIGHT_SHARDED, BufferType::DRAM, ShardSpec(cores, {1, 3}, ShardOrientation::ROW_MAJOR)));
}

TEST(tensorbin_lengths_of_headers) {
    const std::string good = Described{}.file(12);
    const auto with_length = [&](uint64_t bytes) {
        std::string changed = good;
        std::memcpy(changed.data(), &bytes, sizeof(bytes));
        return refusal(changed);
    };
    CHECK(with_length(7).find("is not a tensor file") != std::string::npos);
    CHECK_EQ(with_length(8), "the file is corrupt: its header points outside itself");
    CHECK(with_length(good.size() - 8).find("truncated: 0 bytes of data, expected 12") != std::string::npos);
    CHECK(with_length(good.size() - 7).find("is not a tensor file") != std::string::npos);
    CHECK(refusal(good.substr(0, 7)).find("is truncated") != std::string::npos);
}

TEST(tensorbin_what_cannot_be_written) {
    const auto tensor = Tensor::from_vector(std::vector<float>{1, 2}, TensorSpec({2}, DataType::FLOAT32, Layout::ROW_MAJOR));
    const auto folder = scratch("folder");
    fs::create_directories(folder / "taken" / "inside");
    CHECK_THROWS(Io, "cannot write", ttnn::dump_tensor_flatbuffer((folder / "missing" / "a").string(), tensor));
    CHECK_THROWS(Io, "cannot write", ttnn::dump_tensor_flatbuffer((folder / "taken").string(), tensor));
    CHECK_EQ(std::distance(fs::directory_iterator(folder), fs::directory_iterator()), 1);  // no part of a file is left
    const auto empty = Tensor::from_vector(std::vector<float>{}, TensorSpec({0, 3}, DataType::FLOAT32, Layout::ROW_MAJOR));
    ttnn::dump_tensor_flatbuffer((folder / "empty").string(), empty);
    CHECK_EQ(ttnn::load_tensor_flatbuffer((folder / "empty").string()).logical_shape(), Shape({0, 3}));
    fs::remove_all(folder);
}
