#include "ops/data_movement/shards.hpp"

namespace ttnn_shim {

namespace {

uint64_t rows_of(const Shape& shape) {
    uint64_t rows = 1;
    for (size_t i = 0; i + 1 < shape.rank(); ++i) rows *= shape[static_cast<int32_t>(i)];
    return rows;
}

}  // namespace

std::optional<tt::tt_metal::ShardSpec> exactly_scaled(const tt::tt_metal::ShardSpec& shards, const Shape& from, const Shape& to) {
    const uint64_t rows = rows_of(from), width = from[-1];
    const uint64_t new_rows = shards.shape[0] * rows_of(to), new_width = uint64_t{shards.shape[1]} * to[-1];
    if (rows == 0 || width == 0 || new_rows % rows != 0 || new_width % width != 0) return std::nullopt;
    return tt::tt_metal::ShardSpec(
        shards.grid, {static_cast<uint32_t>(new_rows / rows), static_cast<uint32_t>(new_width / width)}, shards.orientation);
}

MemoryConfig shards_over_grid(const Tensor& tensor, const Shape& padded, const MemoryConfig& config) {
    const CoreCoord grid = machine_of(tensor).grid();
    const auto share = [](uint64_t extent, uint64_t cores) { return static_cast<uint32_t>(((extent + cores - 1) / cores + 31) / 32 * 32); };
    const uint64_t rows = rows_of(padded);
    std::array<uint32_t, 2> shape{static_cast<uint32_t>(rows), padded[-1]};
    switch (config.memory_layout()) {
        case TensorMemoryLayout::HEIGHT_SHARDED: shape[0] = share(rows, grid.x * grid.y); break;
        case TensorMemoryLayout::WIDTH_SHARDED: shape[1] = share(padded[-1], grid.x * grid.y); break;
        default: shape = {share(rows, grid.y), share(padded[-1], grid.x)}; break;
    }
    return MemoryConfig(
        config.memory_layout(), config.buffer_type(),
        tt::tt_metal::ShardSpec(CoreRangeSet(CoreRange({0, 0}, {grid.x - 1, grid.y - 1})), shape));
}

MemoryConfig spread_memory(const Tensor& input, const std::optional<MemoryConfig>& requested, const Shape& shape) {
    const MemoryConfig& own = input.memory_config();
    if (requested || !own.shard_spec()) return result_memory(input, requested, shape);
    const bool tiled = input.layout() == Layout::TILE;
    const Shape padded = make_spec(shape, input.dtype(), input.layout()).padded_shape();
    if (padded.rank() < 1 || padded.volume() == 0) return MemoryConfig(own.buffer_type());
    const CoreCoord grid = machine_of(input).grid();
    struct Split {
        uint32_t shard, parts;
    };
    const uint64_t rows = rows_of(padded), width = padded[-1], all = grid.x * grid.y;
    uint64_t unit = tiled ? 32 : 1;
    const auto split = [&](uint64_t extent, uint64_t cores) {
        const uint64_t units = (extent + unit - 1) / unit, each = (units + cores - 1) / cores;
        return Split{static_cast<uint32_t>(each * unit), static_cast<uint32_t>((units + each - 1) / each)};
    };
    constexpr uint64_t L1_ALIGNMENT_BYTES = 16;
    const auto fits = [&](uint64_t shard) {
        return tiled || (shard * stored_bytes(input.dtype()) % L1_ALIGNMENT_BYTES == 0 && width % shard == 0);
    };
    const ShardOrientation orientation = own.shard_spec()->orientation;
    const bool by_row = orientation == ShardOrientation::ROW_MAJOR;
    const auto config = [&](const CoreRangeSet& cores, uint64_t height, uint64_t columns) {
        return MemoryConfig(
            own.memory_layout(), own.buffer_type(),
            tt::tt_metal::ShardSpec(cores, {static_cast<uint32_t>(height), static_cast<uint32_t>(columns)}, orientation));
    };
    if (own.memory_layout() == TensorMemoryLayout::BLOCK_SHARDED) {
        const uint64_t lines = by_row ? grid.y : grid.x, columns = by_row ? grid.x : grid.y;
        if (!fits(split(width, columns).shard)) unit = 32;  // rows of shards that are not aligned are dealt as tiles are
        const Split down = split(rows, lines), across = split(width, columns);
        if (!fits(across.shard)) return MemoryConfig(own.buffer_type());
        const CoreCoord last = by_row ? CoreCoord(across.parts - 1, down.parts - 1) : CoreCoord(down.parts - 1, across.parts - 1);
        return config(CoreRangeSet(CoreRange({0, 0}, last)), down.shard, across.shard);
    }
    const auto cores = [&](uint32_t count) { return tt::tt_metal::num_cores_to_corerangeset(count, grid, by_row); };
    if (own.memory_layout() == TensorMemoryLayout::HEIGHT_SHARDED) {
        const Split part = split(rows, all);
        return fits(width) ? config(cores(part.parts), part.shard, width) : MemoryConfig(own.buffer_type());
    }
    const Split part = split(width, all);
    if (fits(part.shard)) return config(cores(part.parts), rows, part.shard);
    for (uint64_t count = all; count > 0; --count)  // fewer cores, until rows of shards are aligned
        if (width % count == 0 && fits(width / count)) return config(cores(static_cast<uint32_t>(count)), rows, width / count);
    return MemoryConfig(own.buffer_type());
}

TensorSpec view_spec(const Tensor& tensor, const Shape& shape) {
    SHIM_CHECK(
        tensor.logical_volume() != 0 || shape.volume() == 0, "shape: {} holds values, the tensor {} holds none", shape,
        tensor.logical_shape());
    const MemoryConfig& own = tensor.memory_config();
    const bool rows = tensor.layout() == Layout::ROW_MAJOR;
    const Shape& held = tensor.padded_shape();
    const auto width = [](const Shape& of) { return of.rank() == 0 ? 1 : of[-1]; };
    const uint32_t now = rows ? width(shape) : width(make_spec(shape, tensor.dtype(), Layout::TILE).padded_shape());
    if (!own.shard_spec() || now == width(held)) return make_spec(shape, tensor.dtype(), tensor.layout(), own);
    auto shards = *own.shard_spec();
    SHIM_CHECK(
        shards.shape[1] == width(held), "shape: shards of {} values do not hold whole rows of {}, which {} changes", shards.shape[1], held,
        shape);
    if (rows && now != 0) {
        SHIM_CHECK(held.volume() % now == 0, "shape: rows of {} values do not fill the buffer of {} whose rows are padded", now, held);
        shards.shape = {shards.shape[0] * shards.shape[1] / now, now};
    }
    return make_spec(shape, tensor.dtype(), tensor.layout(), MemoryConfig(own.memory_layout(), own.buffer_type(), shards));
}

Tensor empty_tensor(MeshDevice* device, const TensorSpec& spec) {
    return make_device_tensor(device, spec, device->shim().estimate() ? nullptr : new_values(spec));
}

}  // namespace ttnn_shim
