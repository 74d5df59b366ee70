// Files written by the real package: read to the values of their formula, rewritten byte for byte; damaged ones are refused.
#include <cmath>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include <unistd.h>

#include "harness.hpp"
#include "tensor/access.hpp"
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
