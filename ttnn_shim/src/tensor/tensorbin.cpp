// Reading and writing .tensorbin files (see docs of the format: u64 header size, flatbuffer, data).
// Files are untrusted: sizes are checked against the file before anything is allocated.
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tensor/flatbuffer.hpp"
#include "tensor/mesh.hpp"
#include "tensor/storage.hpp"
#include "tensor/tile_image.hpp"
#include "ttnn/tensor/serialization.hpp"

namespace ttnn_shim {

namespace {

using flatbuffer::Builder;
using flatbuffer::View;
using tt::tt_metal::NdShardSpec;
using tt::tt_metal::PageConfig;
using tt::tt_metal::TensorLayout;

constexpr uint64_t DATA_ALIGNMENT = 64;
constexpr uint8_t ROW_MAJOR_PAGE = 1;
constexpr uint8_t TILE_PAGE = 2;
constexpr uint8_t INLINE_FILE_STORAGE = 1;
constexpr uint8_t CUT = 1;  ///< type of a placement; 0: the same on all
constexpr size_t MOST_MESH_DIMENSIONS = 2;
/// Data types have their enum's number in a file, except INT8; FP8_E4M3 has none.
constexpr uint8_t INT8_CODE = 8;

uint8_t code_of(DataType dtype) {
    SHIM_CHECK(dtype != DataType::FP8_E4M3, "FP8_E4M3 tensors cannot be written to a file");
    return dtype == DataType::INT8 ? INT8_CODE : static_cast<uint8_t>(dtype);
}

// --- writing. Children first, fields by decreasing size then decreasing id: the order of the reference's generated code. ---

Builder::Offset write_grid(Builder& builder, const CoreRangeSet& grid) {
    const auto coord = [&](const CoreCoord& at) {
        Builder::Table table(builder);
        table.scalar<int32_t>(1, static_cast<int32_t>(at.y), 0).scalar<int32_t>(0, static_cast<int32_t>(at.x), 0);
        return table.end();
    };
    std::vector<Builder::Offset> ranges;
    for (const CoreRange& range : grid.ranges()) {
        const auto start = coord(range.start_coord);
        const auto end = coord(range.end_coord);
        ranges.push_back(Builder::Table(builder).offset(1, end).offset(0, start).end());
    }
    const auto list = builder.offsets(ranges);
    return Builder::Table(builder).offset(0, list).end();
}

Builder::Offset write_memory_config(Builder& builder, const MemoryConfig& config) {
    Builder::Offset shard = 0;
    Builder::Offset nd_shard = 0;
    const auto write_nd = [&](const Shape& shape, const CoreRangeSet& cores, ShardOrientation orientation, int strategy) {
        const auto extents = builder.vector<uint32_t>(shape.view());
        const auto grid = write_grid(builder, cores);
        return Builder::Table(builder)
            .offset(1, grid)
            .offset(0, extents)
            .scalar<uint8_t>(3, static_cast<uint8_t>(strategy), 0)
            .scalar<uint8_t>(2, static_cast<uint8_t>(orientation), 0)
            .end();
    };
    if (const auto& spec = config.shard_spec()) {
        const auto grid = write_grid(builder, spec->grid);
        shard = Builder::Table(builder)
                    .scalar<uint32_t>(2, spec->shape[1], 0)
                    .scalar<uint32_t>(1, spec->shape[0], 0)
                    .offset(0, grid)
                    .scalar<uint8_t>(3, static_cast<uint8_t>(spec->orientation), 0)
                    .end();
        nd_shard = write_nd(Shape{spec->shape[0], spec->shape[1]}, spec->grid, spec->orientation, 0);
    } else if (const auto& nd = config.nd_shard_spec()) {
        nd_shard = write_nd(nd->shard_shape, nd->grid, nd->orientation, static_cast<int>(nd->shard_distribution_strategy));
    }
    return Builder::Table(builder)
        .offset(3, nd_shard)
        .offset(2, shard)
        .scalar<uint16_t>(1, static_cast<uint16_t>(config.buffer_type()), 0)
        .scalar<uint16_t>(0, static_cast<uint16_t>(config.memory_layout()), 0)
        .end();
}

Builder::Offset write_spec(Builder& builder, const TensorSpec& spec) {
    const bool tiled = spec.layout() == Layout::TILE;
    const auto shape = builder.vector<uint32_t>(spec.logical_shape().view());
    std::vector<uint32_t> alignment{1};
    if (tiled) {
        alignment = {spec.tile().get_height(), spec.tile().get_width()};
    } else if (const auto& shard = spec.memory_config().shard_spec()) {
        alignment = {shard->shape[1]};
    }
    const auto alignments = builder.vector<uint32_t>(alignment);
    Builder::Offset page = 0;
    if (tiled) {
        const auto tile =
            Builder::Table(builder).scalar<uint32_t>(1, spec.tile().get_width(), 0).scalar<uint32_t>(0, spec.tile().get_height(), 0).end();
        page = Builder::Table(builder).offset(0, tile).end();
    } else {
        page = Builder::Table(builder).end();
    }
    const auto memory = write_memory_config(builder, spec.memory_config());
    const auto layout = Builder::Table(builder)
                            .offset(4, alignments)
                            .offset(3, memory)
                            .offset(2, page)
                            .scalar<uint8_t>(1, tiled ? TILE_PAGE : ROW_MAJOR_PAGE, 0)
                            .scalar<uint8_t>(0, code_of(spec.data_type()), 0)
                            .end();
    return Builder::Table(builder).offset(1, layout).offset(0, shape).end();
}

/// A table that holds one vector of u32 in field 0: MeshShape, MeshCoordinate.
Builder::Offset write_list(Builder& builder, std::span<const uint32_t> values) {
    const auto list = builder.vector<uint32_t>(values);
    return Builder::Table(builder).offset(0, list).end();
}

/// Where the part of each chip begins in the data, chips in row-major order: equal offsets are one part.
std::vector<uint8_t> write_header(
    const TensorSpec& spec, const Topology& spread, uint64_t part_bytes, const std::vector<uint64_t>& offsets) {
    Builder builder;
    const auto tensor_spec = write_spec(builder, spec);
    const auto coordinate_of = [&](size_t chip) {
        const uint32_t columns = spread.mesh[1];
        return write_list(builder, std::array{static_cast<uint32_t>(chip) / columns, static_cast<uint32_t>(chip) % columns});
    };
    std::vector<Builder::Offset> each;
    for (size_t chip = 0; chip < offsets.size(); ++chip) {
        const auto coordinate = coordinate_of(chip);
        const auto storage = builder.pair(offsets[chip], part_bytes);
        each.push_back(Builder::Table(builder).offset(2, coordinate).offset(1, storage).scalar<uint8_t>(0, INLINE_FILE_STORAGE, 0).end());
    }
    const auto shards = builder.offsets(each);
    const auto mesh = write_list(builder, spread.mesh);
    const auto distribution = write_list(builder, spread.distribution);
    each.clear();
    for (const std::optional<int>& placement : spread.placements)
        each.push_back(
            Builder::Table(builder).scalar<int32_t>(1, placement.value_or(-1), 0).scalar<uint8_t>(0, placement ? CUT : 0, 0).end());
    const auto placements = builder.offsets(each);
    each.clear();
    for (size_t chip = 0; chip < offsets.size(); ++chip) each.push_back(coordinate_of(chip));
    const auto mesh_coordinates = builder.offsets(each);
    const auto topology = Builder::Table(builder).offset(2, mesh_coordinates).offset(1, placements).offset(0, distribution).end();
    const auto root = Builder::Table(builder).offset(3, topology).offset(2, shards).offset(1, mesh).offset(0, tensor_spec).end();
    return builder.finish(root);
}

struct FileCloser {
    void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, FileCloser>;

// --- reading ---

CoreRangeSet read_grid(const View& table) {
    std::vector<CoreRange> ranges;
    const auto coord = [](const std::optional<View>& at) {
        const int32_t x = at ? at->scalar<int32_t>(0, 0) : 0;
        const int32_t y = at ? at->scalar<int32_t>(1, 0) : 0;
        if (x < 0 || y < 0) {
            fail(ErrorCode::Io, "the file is corrupt: negative core coordinate");
        }
        return CoreCoord(static_cast<size_t>(x), static_cast<size_t>(y));
    };
    const auto tables = table.tables(0);
    if (tables.size() > 4096) {
        fail(ErrorCode::Io, "the file is corrupt: too many core ranges");
    }
    for (const View& range : tables) {
        ranges.emplace_back(coord(range.table(0)), coord(range.table(1)));
    }
    return CoreRangeSet(std::move(ranges));
}

ShardOrientation read_orientation(const View& table, uint16_t id) {
    return table.scalar<uint8_t>(id, 0) == 1 ? ShardOrientation::COL_MAJOR : ShardOrientation::ROW_MAJOR;
}

MemoryConfig read_memory_config(const View& table) {
    const auto memory_layout = table.scalar<uint16_t>(0, 0);
    const auto buffer_type = table.scalar<uint16_t>(1, 0);
    if (memory_layout > 5 || memory_layout == 1 || buffer_type > 4) {
        fail(ErrorCode::Io, text("the file is corrupt: memory layout {}, buffer type {}", memory_layout, buffer_type));
    }
    const auto type = static_cast<BufferType>(buffer_type);
    if (const auto shard = table.table(2)) {
        const auto grid = shard->table(0);
        return MemoryConfig(
            static_cast<TensorMemoryLayout>(memory_layout), type,
            ShardSpec(
                grid ? read_grid(*grid) : CoreRangeSet(), {shard->scalar<uint32_t>(1, 0), shard->scalar<uint32_t>(2, 0)},
                read_orientation(*shard, 3)));
    }
    if (const auto shard = table.table(3)) {
        const auto grid = shard->table(1);
        NdShardSpec spec;
        spec.shard_shape = Shape(std::span<const uint32_t>(shard->vector<uint32_t>(0)));
        spec.grid = grid ? read_grid(*grid) : CoreRangeSet();
        spec.orientation = read_orientation(*shard, 2);
        if (spec.shard_shape.rank() == 0 || spec.grid.empty()) {
            fail(ErrorCode::Io, "the file is corrupt: empty nd shard spec");
        }
        return MemoryConfig(type, spec);
    }
    return MemoryConfig(static_cast<TensorMemoryLayout>(memory_layout), type);
}

struct Header {
    TensorSpec spec;                         ///< of a part
    std::vector<uint64_t> offsets;           ///< of each chip's values, from the start of the data region, in row-major order
    uint64_t bytes;                          ///< of a part
    std::shared_ptr<const Topology> spread;  ///< null for one chip
};

/// The mesh that a file is of, and how its tensor is cut. A file that names no mesh is of one chip.
Topology read_spread(const View& tensor) {
    const auto extents = [](const std::optional<View>& at, size_t most) {
        const std::vector<uint32_t> list = at ? at->vector<uint32_t>(0) : std::vector<uint32_t>{1, 1};
        uint64_t chips = 1;
        for (const uint32_t extent : list) chips = std::min<uint64_t>(chips * extent, MOST_CHIPS + 1);
        if (list.empty() || list.size() > most || chips == 0 || chips > MOST_CHIPS)
            fail(ErrorCode::NotSupported, text("the file is of a mesh of {} dimensions and {} chips", list.size(), chips));
        return list;
    };
    Topology spread{.mesh = extents(tensor.table(1), MOST_MESH_DIMENSIONS), .distribution = {}};
    if (spread.mesh.size() == 1) spread.mesh.insert(spread.mesh.begin(), 1);
    const auto topology = tensor.table(3);
    spread.distribution = topology ? extents(topology->table(0), MOST_MESH_DIMENSIONS) : spread.mesh;
    for (const View& placement : topology ? topology->tables(1) : std::vector<View>{})
        spread.placements.push_back(
            placement.scalar<uint8_t>(0, 0) == CUT ? std::optional<int>(placement.scalar<int32_t>(1, 0)) : std::nullopt);
    if (!topology) spread.placements.resize(spread.distribution.size());
    if (spread.placements.size() != spread.distribution.size())
        fail(ErrorCode::Io, text("the file is corrupt: {} placements on {} axes", spread.placements.size(), spread.distribution.size()));
    return spread;
}

/// Volume with its tile padding, or an error when it overflows.
void check_extents(const std::vector<uint32_t>& extents) {
    uint64_t padded = 1;
    for (size_t dim = 0; dim < extents.size(); ++dim) {
        const uint64_t extent = dim + 2 >= extents.size() ? (uint64_t{extents[dim]} + 31) / 32 * 32 : extents[dim];
        if (extent > 0xffffffffULL || __builtin_mul_overflow(padded, std::max<uint64_t>(extent, 1), &padded) ||
            padded > uint64_t{1} << 56) {
            fail(ErrorCode::Io, "the file is corrupt: its shape is too large");
        }
    }
}

Header read_header(std::span<const uint8_t> bytes) {
    const auto required = [](const std::optional<View>& view, const char* what) {
        if (!view) {
            fail(ErrorCode::Io, text("the file is corrupt: no {}", what));
        }
        return *view;
    };
    const View tensor = View::root(bytes);
    const View spec = required(tensor.table(0), "tensor spec");
    const View layout = required(spec.table(1), "tensor layout");
    const auto extents = spec.vector<uint32_t>(0);
    if (extents.size() > 16) {
        fail(ErrorCode::Io, text("the file is corrupt: rank {}", extents.size()));
    }
    check_extents(extents);
    const auto code = layout.scalar<uint8_t>(0, 0);
    const DataType dtype = code == INT8_CODE ? DataType::INT8 : static_cast<DataType>(code);
    if (stored_bytes(dtype) == 0 || (dtype == DataType::INT8 && code != INT8_CODE)) {
        fail(ErrorCode::NotSupported, text("the file holds data type {}", static_cast<int>(code)));
    }
    const auto page_type = layout.scalar<uint8_t>(1, 0);
    if (page_type != ROW_MAJOR_PAGE && page_type != TILE_PAGE) {
        fail(ErrorCode::Io, text("the file is corrupt: page type {}", static_cast<int>(page_type)));
    }
    if (page_type == TILE_PAGE) {
        const auto page = layout.table(2);
        const auto tile = page ? page->table(0) : std::nullopt;
        const uint32_t height = tile ? tile->scalar<uint32_t>(0, 0) : 32;
        const uint32_t width = tile ? tile->scalar<uint32_t>(1, 0) : 32;
        if (height != 32 || width != 32) {
            fail(ErrorCode::NotSupported, text("the file has {}x{} tiles; 32x32 is supported", height, width));
        }
    }
    const auto memory = layout.table(3);
    const auto shards = tensor.tables(2);
    const Topology spread = read_spread(tensor);
    const size_t chips = size_t{spread.mesh[0]} * spread.mesh[1];
    if (shards.size() != chips) {
        fail(
            shards.empty() ? ErrorCode::Io : ErrorCode::NotSupported,
            text("the file holds {} shards, its mesh has {} chips: a tensor on part of a mesh is not supported", shards.size(), chips));
    }
    std::vector<std::optional<uint64_t>> offsets(chips);
    uint64_t part_bytes = 0;
    for (const View& shard : shards) {
        if (shard.scalar<uint8_t>(0, 0) != INLINE_FILE_STORAGE) {
            fail(ErrorCode::NotSupported, "the file keeps its data elsewhere; inline data is supported");
        }
        const auto storage = shard.pair(1);
        const auto coordinate = shard.table(2);
        const auto at = coordinate ? coordinate->vector<uint32_t>(0) : std::vector<uint32_t>{0, 0};
        const bool inside = at.size() == 2 && at[0] < spread.mesh[0] && at[1] < spread.mesh[1];
        if (!storage || !inside || (part_bytes != 0 && storage->second != part_bytes)) {
            fail(
                ErrorCode::Io, storage ? "the file is corrupt: its shards differ or lie outside its mesh" : "the file is corrupt: no data");
        }
        part_bytes = storage->second;
        offsets[size_t{at[0]} * spread.mesh[1] + at[1]] = storage->first;
    }
    std::vector<uint64_t> begins;
    for (const auto& offset : offsets) {
        if (!offset) fail(ErrorCode::Io, "the file is corrupt: a chip has two shards");
        begins.push_back(*offset);
    }
    return {
        TensorSpec(
            Shape(std::span<const uint32_t>(extents)), TensorLayout(
                                                           dtype, PageConfig(page_type == TILE_PAGE ? Layout::TILE : Layout::ROW_MAJOR),
                                                           memory ? read_memory_config(*memory) : MemoryConfig())),
        std::move(begins), part_bytes, chips == 1 ? nullptr : std::make_shared<Topology>(spread)};
}

void read_exactly(std::FILE* file, void* target, size_t bytes, const std::string& name) {
    if (std::fread(target, 1, bytes, file) != bytes) {
        fail(ErrorCode::Io, text("'{}' is truncated", name));
    }
}

Tensor load(const std::string& name) {
    const int descriptor = open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a pipe without a writer would block for ever
    if (descriptor < 0) {
        fail(ErrorCode::Io, text("cannot open '{}': {}", name, std::strerror(errno)));
    }
    const File file(fdopen(descriptor, "rb"));
    struct stat status {};
    if (!file || fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
        fail(ErrorCode::Io, text("'{}' is not a file", name));
    }
    const auto file_bytes = static_cast<uint64_t>(status.st_size);
    uint64_t header_bytes = 0;
    read_exactly(file.get(), &header_bytes, sizeof(header_bytes), name);
    if (header_bytes > file_bytes - sizeof(header_bytes) || header_bytes < 8) {
        fail(ErrorCode::Io, text("'{}' is not a tensor file or is truncated: header of {} bytes in {}", name, header_bytes, file_bytes));
    }
    std::vector<uint8_t> header(header_bytes);
    read_exactly(file.get(), header.data(), header.size(), name);
    const Header parsed = read_header(header);
    const uint64_t data_bytes = file_bytes - sizeof(header_bytes) - header_bytes;
    const uint64_t expected = image_bytes(parsed.spec);
    if (parsed.bytes != expected) {
        fail(ErrorCode::Io, text("'{}' is corrupt: {} bytes of data, {} need {}", name, parsed.bytes, parsed.spec, expected));
    }
    std::map<uint64_t, std::shared_ptr<Values>> read;  // by offset: a part of several chips is in the file once
    std::vector<Contents::Part> parts;
    for (size_t chip = 0; chip < parsed.offsets.size(); ++chip) {
        const uint64_t offset = parsed.offsets[chip];
        if (offset > data_bytes || data_bytes - offset < expected) {
            fail(ErrorCode::Io, text("'{}' is truncated: {} bytes of data, expected {}", name, data_bytes, offset + expected));
        }
        auto& values = read[offset];
        if (!values) {
            if (fseeko(file.get(), static_cast<off_t>(sizeof(header_bytes) + header_bytes + offset), SEEK_SET) != 0) {
                fail(ErrorCode::Io, text("cannot read '{}': {}", name, std::strerror(errno)));
            }
            values = new_values(parsed.spec);
            if (parsed.spec.layout() == Layout::ROW_MAJOR) {
                read_exactly(file.get(), values->data(), expected, name);
            } else {
                const auto image = Values::allocate(expected);
                read_exactly(file.get(), image->data(), expected, name);
                from_image(parsed.spec, reinterpret_cast<const uint8_t*>(image->data()), values->data());
            }
        }
        parts.push_back({chip_or_none(chip, parsed.offsets.size()), values});
    }
    return make_host_tensor(parsed.spec, Contents(std::move(parts)), parsed.spread);
}

}  // namespace
}  // namespace ttnn_shim

namespace ttnn {

using namespace ttnn_shim;

void dump_tensor_flatbuffer(const std::string& file_name, const Tensor& tensor, DumpTensorMode mode) {
    OpScope scope("ttnn.dump_tensor");
    (void)mode;
    SHIM_CHECK(tensor.is_allocated(), "the tensor was deallocated");
    SHIM_CHECK(has_values(tensor), "the tensor has no values (estimate mode)");
    const TensorSpec& spec = tensor.tensor_spec();
    const size_t part_bytes = image_bytes(spec), step = (part_bytes + DATA_ALIGNMENT - 1) / DATA_ALIGNMENT * DATA_ALIGNMENT;
    const auto topology = topology_of(tensor);
    static const Topology alone{.mesh = {1, 1}, .distribution = {1}, .placements = {std::nullopt}};
    const Topology& spread = topology ? *topology : alone;
    const Contents& contents = tensor.shim().buffer->contents();
    std::vector<const Values*> parts;  // in the order of the first chips that have them
    std::vector<uint64_t> offsets;
    for (size_t chip = 0; chip < size_t{spread.mesh[0]} * spread.mesh[1]; ++chip) {
        const Values* own = contents.of_chip(chip).get();
        const auto known = std::ranges::find(parts, own);
        offsets.push_back(static_cast<uint64_t>(known - parts.begin()) * step);
        if (known == parts.end()) parts.push_back(own);
    }
    const size_t data_bytes = (parts.size() - 1) * step + part_bytes;
    std::vector<uint8_t> header = write_header(spec, spread, part_bytes, offsets);
    header.resize((header.size() + sizeof(uint64_t) + DATA_ALIGNMENT - 1) / DATA_ALIGNMENT * DATA_ALIGNMENT - sizeof(uint64_t));
    const auto image = Values::allocate(std::max<size_t>(data_bytes, 1));
    if (parts.size() > 1) std::memset(image->data(), 0, data_bytes);  // the gaps between parts
    for (size_t part = 0; part < parts.size(); ++part)
        to_image(spec, parts[part]->data(), reinterpret_cast<uint8_t*>(image->data()) + part * step);
    // Written beside and renamed: a reader never sees half a file.
    const std::string temporary = file_name + ".part" + std::to_string(getpid());
    {
        const File file(std::fopen(temporary.c_str(), "wb"));
        if (!file) {
            fail(ErrorCode::Io, text("cannot write '{}': {}", file_name, std::strerror(errno)));
        }
        const uint64_t header_bytes = header.size();
        const bool written = std::fwrite(&header_bytes, sizeof(header_bytes), 1, file.get()) == 1 &&
                             std::fwrite(header.data(), 1, header.size(), file.get()) == header.size() &&
                             std::fwrite(image->data(), 1, data_bytes, file.get()) == data_bytes && std::fflush(file.get()) == 0;
        if (!written) {
            const int error = errno;
            std::remove(temporary.c_str());
            fail(ErrorCode::Io, text("cannot write '{}': {}", file_name, std::strerror(error)));
        }
    }
    if (std::rename(temporary.c_str(), file_name.c_str()) != 0) {
        const int error = errno;
        std::remove(temporary.c_str());
        fail(ErrorCode::Io, text("cannot write '{}': {}", file_name, std::strerror(error)));
    }
}

Tensor load_tensor_flatbuffer(const std::string& file_name, MeshDevice* device) {
    OpScope scope("ttnn.load_tensor");
    const Tensor tensor = load(file_name);
    return device == nullptr ? tensor : tensor.to_device(device);
}

}  // namespace ttnn
