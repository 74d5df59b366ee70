// Cutting and padding: split, chunk, narrow, pad, roll.
#include <algorithm>

#include "ops/arguments.hpp"
#include "ops/core/core_programs.hpp"
#include "ops/data_movement/common.hpp"
#include "ops/data_movement/shards.hpp"
#include "ops/eltwise/engine.hpp"
#include "ttnn/operations/copy/typecast/typecast.hpp"
#include "ttnn/operations/core/to_memory_config/to_memory_config_op.hpp"
#include "ttnn/operations/data_movement/chunk/chunk.hpp"
#include "ttnn/operations/data_movement/concat/concat.hpp"
#include "ttnn/operations/data_movement/narrow/narrow.hpp"
#include "ttnn/operations/data_movement/pad/pad.hpp"
#include "ttnn/operations/data_movement/reshape_view/reshape.hpp"
#include "ttnn/operations/data_movement/roll/roll.hpp"
#include "ttnn/operations/data_movement/slice/slice.hpp"
#include "ttnn/operations/data_movement/split/split.hpp"
#include "ttnn/operations/data_movement/tilize/tilize.hpp"
#include "ttnn/operations/data_movement/untilize/untilize.hpp"

using namespace ttnn_shim;

namespace {

/// Values [begin, end) of one dimension.
Tensor part_of(const Tensor& input, uint32_t axis, int64_t begin, int64_t end, const std::optional<MemoryConfig>& memory_config) {
    const Shape& shape = input.logical_shape();
    std::vector<int32_t> begins(shape.rank(), 0), ends(shape.begin(), shape.end()), steps(shape.rank(), 1);
    begins[axis] = static_cast<int32_t>(begin);
    ends[axis] = static_cast<int32_t>(end);
    return ttnn::slice<int32_t>(input, std::span<const int32_t>(begins), ends, steps, memory_config);
}

/// The part of a dimension that a narrowed tensor keeps.
struct Window {
    uint32_t axis;
    uint64_t start, length;
};

/// Shards of a narrowed tensor: a part of each shard, or whole shards on the cores that hold them.
tt::tt_metal::ShardSpec narrowed_shards(const Tensor& input, const Window& window) {
    const Shape& padded = input.padded_shape();
    const auto& own = *input.memory_config().shard_spec();
    const bool tiled = input.layout() == Layout::TILE, width = window.axis + 1 == padded.rank();
    const std::array<uint64_t, 2> page{tiled ? 32U : 1U, tiled ? 32U : own.shape[1]};
    uint64_t rows_each = 1;  // of one index of the dimension
    for (size_t i = window.axis + 1; i + 1 < padded.rank(); ++i) rows_each *= padded[at(i)];
    const size_t side = width ? 1 : 0;
    const uint64_t start = width ? window.start : window.start * rows_each, length = width ? window.length : window.length * rows_each;
    auto shard = own.shape;
    uint64_t page_offset = 0;
    if (start % shard[side] + length <= shard[side] && (!width || shard[0] == page[0])) {
        const uint64_t inside = start % shard[side] / page[side];
        page_offset = width ? inside : inside * (shard[1] / page[1]);
        shard[side] = static_cast<uint32_t>(length);
    } else {
        SHIM_CHECK(
            start % shard[side] == 0 && length % shard[side] == 0,
            "start and length: {} and {} are neither whole shards nor inside one, got shards {}x{}", window.start, window.length,
            own.shape[0], own.shape[1]);
    }
    const uint64_t height = padded.volume() / std::max<uint32_t>(padded[-1], 1);
    const auto parts = [](uint64_t extent, uint64_t by) { return (extent + by - 1) / by; };
    const uint64_t across = std::max<uint64_t>(padded[-1] / own.shape[1], 1);
    const auto held = static_cast<uint32_t>(parts(height, own.shape[0]) * parts(padded[-1], own.shape[1]));
    std::vector<CoreRange> cores;
    uint64_t id = 0;
    for (const CoreCoord& core : tt::tt_metal::corerange_to_cores(own.grid, held, own.orientation == ShardOrientation::ROW_MAJOR)) {
        uint64_t first = 0, pages = 0;
        if (width) {
            first = id % across * (own.shape[1] / page[1]) + page_offset;
            pages = padded[-1] / page[1];
        } else {
            first = id / across * (own.shape[0] / page[0]) + page_offset / std::max<uint64_t>(own.shape[1] / page[1], 1);
            pages = padded[at(window.axis)] * rows_each / page[0];
            if (pages > 0) first %= pages;
        }
        if (first >= start / page[side] && first < (start + length) / page[side]) cores.emplace_back(core, core);
        ++id;
    }
    SHIM_CHECK(!cores.empty(), "start and length: no core holds {} values from {}", window.length, window.start);
    CoreRangeSet grid(cores);
    if (own.orientation == ShardOrientation::ROW_MAJOR) grid = grid.merge(CoreRangeSet());
    return tt::tt_metal::ShardSpec(grid, shard);
}

/// Shards of equal parts when none are asked for: the input's, scaled, where that is even and there are tiles; else interleaved DRAM.
MemoryConfig split_memory(
    const Tensor& input, const ttsl::SmallVector<int64_t>& sizes, uint32_t axis, const std::optional<MemoryConfig>& asked) {
    const MemoryConfig& own = input.memory_config();
    const bool equal = std::all_of(sizes.begin(), sizes.end(), [&](int64_t size) { return size == sizes[0]; });
    std::optional<Shape> part;
    const Shape& padded = input.padded_shape();
    if (equal && axis < padded.rank() && padded[at(axis)] % sizes.size() == 0) {
        part = padded;
        (*part)[at(axis)] = static_cast<uint32_t>(padded[at(axis)] / sizes.size());
    }
    const auto scaled = part && own.shard_spec() ? exactly_scaled(*own.shard_spec(), padded, *part) : std::nullopt;
    if (asked) {
        if (!asked->is_sharded() || asked->shard_spec() || asked->nd_shard_spec()) return *asked;
        if (scaled && own.memory_layout() == asked->memory_layout())
            return MemoryConfig(asked->memory_layout(), asked->buffer_type(), scaled);
        return part ? shards_over_grid(input, *part, *asked) : MemoryConfig();
    }
    if (!own.is_sharded()) return own;
    const bool tiles = !scaled || input.layout() != Layout::TILE || (scaled->shape[0] % 32 == 0 && scaled->shape[1] % 32 == 0);
    return scaled && tiles ? MemoryConfig(own.memory_layout(), own.buffer_type(), scaled) : MemoryConfig();
}

/// TT-NN's one program for equal parts of the last dimension of tiles.
bool splits_in_one_program(const Tensor& input, const ttsl::SmallVector<int64_t>& sizes, uint32_t axis) {
    const Shape& shape = input.logical_shape();
    const size_t rank = shape.rank(), parts = sizes.size();
    if (rank < 2 || axis + 1 != rank || input.layout() != Layout::TILE) return false;
    if (!std::all_of(sizes.begin(), sizes.end(), [&](int64_t size) { return size == sizes[0]; })) return false;
    uint64_t front = 1;  // the batches of TT-NN's four dimensions
    for (size_t i = 0; i + 3 < rank; ++i) front *= shape[at(i)];
    const uint64_t planes = rank < 3 ? 1 : shape[-3];
    const CoreCoord grid = machine_of(input).grid();
    return (parts == 2 ? front * planes : planes) <= grid.x && shape[-2] >= 64 && shape[-1] >= 64 &&
           input.padded_shape()[-1] / 32 % parts == 0 && (parts == 2 || front == 1) && parts <= grid.y;
}

/// Result of pad: the input's shards. Wider rows are dealt anew to the cores of a height-sharded tensor; more rows alone are not.
MemoryConfig padded_memory(const Tensor& input, const std::optional<MemoryConfig>& requested, const Shape& result) {
    const MemoryConfig& own = input.memory_config();
    if (requested || !own.is_sharded() || !own.shard_spec()) return result_memory(input, requested, result);
    auto shard = *own.shard_spec();
    const bool tiled = input.layout() == Layout::TILE;
    const Shape to = make_spec(result, input.dtype(), input.layout()).padded_shape();
    const Shape from = tiled ? input.padded_shape() : input.logical_shape();
    if (own.memory_layout() == TensorMemoryLayout::HEIGHT_SHARDED && to.volume() > 0) {
        const uint64_t rows = to.volume() / to[-1], cores = shard.num_cores();
        if (to[-1] != from[-1]) shard.shape = {static_cast<uint32_t>((rows + cores - 1) / cores), to[-1]};
    }
    const uint32_t align = machine_of(input).machine().l1_alignment;
    const size_t bytes = stored_bytes(input.dtype());
    SHIM_CHECK(
        to.volume() > 0 && from.volume() > 0, "input_tensor: shards of no values cannot be padded, got shape {}", input.logical_shape());
    SHIM_CHECK(
        tiled || (own.shard_spec()->shape[1] * bytes % align == 0 && shard.shape[1] * bytes % align == 0),
        "input_tensor: rows of shards must be multiples of {} bytes, got {} and {} values", align, own.shard_spec()->shape[1],
        shard.shape[1]);
    return MemoryConfig(own.memory_layout(), own.buffer_type(), shard);
}

}  // namespace

namespace ttnn {

std::vector<Tensor> split(
    const Tensor& input, const ttsl::SmallVector<int64_t>& split_sizes, int64_t dim, const std::optional<MemoryConfig>& memory_config) {
    OpScope scope("ttnn.split");
    check_device_tensor(input, "input_tensor");
    const Shape& shape = input.logical_shape();
    const uint32_t axis = normalize_dim(dim, shape.rank());
    SHIM_CHECK(!split_sizes.empty(), "split_size: expected at least one part, got none for shape {}", shape);
    int64_t total = 0;
    for (const int64_t size : split_sizes) {
        SHIM_CHECK(size > 0, "split_size: expected positive sizes, got {}", size);
        total += size;
    }
    SHIM_CHECK(
        total == shape[at(axis)], "split_size: the sizes add to {}, dimension {} of shape {} has {}", total, dim, shape, shape[at(axis)]);
    const MemoryConfig memory = split_memory(input, split_sizes, axis, memory_config);
    const size_t count = split_sizes.size();
    std::vector<Tensor> parts;
    if (count > 1 && splits_in_one_program(input, split_sizes, axis)) {
        auto extents = extents_of(shape);
        const uint32_t size = extents[axis] /= static_cast<uint32_t>(count);
        const Shape part = shape_of(extents);
        return launch(
            {.op = strategy::Split{.dim = axis}, .name = "SplitDeviceOperation"}, {input},
            std::vector<TensorSpec>(count, make_spec(part, input.dtype(), Layout::TILE, memory)), [=](std::span<const Tensor> outputs) {
                const auto strides = signed_strides(shape);
                const size_t bytes = stored_bytes(input.dtype());
                for (size_t i = 0; i < count; ++i)
                    strided_copy(bytes, raw_data(input) + i * size * bytes, mutable_raw_data(outputs[i]), dense_target(part, strides));
            });
    }
    // TT-NN cuts more than 64 equal parts out of runs of 64.
    constexpr size_t RUN = 64;
    if (count > RUN && std::all_of(split_sizes.begin(), split_sizes.end(), [&](int64_t size) { return size == split_sizes[0]; })) {
        for (size_t first = 0; first < count; first += RUN) {
            const size_t run = std::min(RUN, count - first);
            const auto begin = static_cast<int64_t>(first) * split_sizes[0];
            const Tensor batch = part_of(input, axis, begin, begin + static_cast<int64_t>(run) * split_sizes[0], memory);
            for (size_t i = 0; i < run; ++i) {
                const auto from = static_cast<int64_t>(i) * split_sizes[0];
                parts.push_back(part_of(batch, axis, from, from + split_sizes[0], memory));
            }
        }
        return parts;
    }
    const bool leaves_l1 = count > 2 && input.memory_config().buffer_type() == BufferType::L1 && memory.buffer_type() == BufferType::DRAM;
    const Tensor source = leaves_l1 ? ttnn::to_memory_config(input, MemoryConfig()) : input;
    int64_t begin = 0;
    for (const int64_t size : split_sizes) {
        parts.push_back(part_of(source, axis, begin, begin + size, memory));
        begin += size;
    }
    return parts;
}
std::vector<Tensor> split(const Tensor& input, int64_t split_size, int64_t dim, const std::optional<MemoryConfig>& memory_config) {
    OpScope scope("ttnn.split");
    SHIM_CHECK(split_size > 0, "split_size: expected a positive size, got {}", split_size);
    const int64_t extent = input.logical_shape()[at(normalize_dim(dim, input.logical_shape().rank()))];
    ttsl::SmallVector<int64_t> sizes;
    for (int64_t done = 0; done < extent; done += split_size) sizes.push_back(std::min(split_size, extent - done));
    return split(input, sizes, dim, memory_config);
}
std::vector<Tensor> chunk(const Tensor& input, uint32_t chunks, int dim) {
    OpScope scope("ttnn.chunk");
    check_device_tensor(input, "input_tensor");
    SHIM_CHECK(chunks > 0, "chunks: expected a positive number, got {}", chunks);
    const Shape& shape = input.logical_shape();
    if (dim == -static_cast<int>(shape.rank()) - 1) {  // TT-NN counts in the last dimension then, and cuts nothing
        const uint32_t count = shape.rank() == 0 ? 1 : shape[-1], size = std::max<uint32_t>(1, (count + chunks - 1) / chunks);
        return std::vector<Tensor>((count + size - 1) / size, input);
    }
    const uint32_t axis = normalize_dim(dim, shape.rank());
    const int64_t extent = shape[at(axis)], each = std::max<int64_t>(1, (extent + chunks - 1) / chunks);
    std::vector<Tensor> parts;
    for (int64_t begin = 0; begin < extent; begin += each)
        parts.push_back(part_of(input, axis, begin, std::min(begin + each, extent), std::nullopt));
    return parts;
}
Tensor narrow(const Tensor& input, int dim, int start, uint32_t length) {
    OpScope scope("ttnn.narrow");
    // TT-NN's narrow is a view of the pages, so it counts in the padded shape.
    const Shape& padded = input.padded_shape();
    const uint32_t axis = normalize_dim(dim, padded.rank());
    const uint32_t extent = padded[at(axis)];
    if (start < 0) start += static_cast<int>(extent);
    if (start == 0 && length == extent) return input;
    SHIM_CHECK(
        start >= 0 && static_cast<uint32_t>(start) < extent && length > 0 && static_cast<uint64_t>(start) + length <= extent,
        "start {} and length {} do not fit dimension {} of padded shape {}", start, length, dim, padded);
    check_device_tensor(input, "input_tensor");
    const bool tiled = input.layout() == Layout::TILE, width = axis + 1 == padded.rank();
    SHIM_CHECK(
        !tiled || axis + 2 < padded.rank() || (start % 32 == 0 && length % 32 == 0),
        "start and length: narrowing tiles needs multiples of 32, got {} and {}", start, length);
    SHIM_CHECK(axis < input.logical_shape().rank(), "dim: {} is outside shape {}", dim, input.logical_shape());
    const MemoryConfig& own = input.memory_config();
    const MachineMemory& machine = machine_of(input).machine();
    const bool dram = own.buffer_type() == BufferType::DRAM;
    SHIM_CHECK(
        tiled || !width || start % (dram ? machine.dram_alignment : machine.l1_alignment) == 0,
        "start: {} does not start at a page of the buffer", start);
    MemoryConfig memory = own;
    if (dram && !own.is_sharded()) {
        uint64_t each = 1;
        for (size_t i = 0; i < padded.rank(); ++i) {
            SHIM_CHECK(i >= axis || padded[at(i)] == 1, "dim: {} needs extents of 1 before it, got shape {}", dim, padded);
            if (i > axis) each *= padded[at(i)];
        }
        const uint64_t page = tiled ? 1024 : padded[-1], pages = padded.volume() / std::max<uint64_t>(page, 1);
        SHIM_CHECK(
            static_cast<uint64_t>(start) * each / page % machine.dram_banks == 0, "start: {} is not in the first of {} DRAM banks", start,
            machine.dram_banks);
        const uint64_t values = padded.volume() / (extent / length);
        SHIM_CHECK(
            pages > 0 && values % page == 0, "length: {} of {} values in dimension {} is no whole number of pages", length, extent, dim);
    } else {
        SHIM_CHECK(!dram && own.shard_spec(), "input_tensor: expected interleaved DRAM or shards in L1, got {}", own);
        memory = MemoryConfig(own.memory_layout(), BufferType::L1, narrowed_shards(input, {axis, static_cast<uint64_t>(start), length}));
    }
    const uint32_t held = input.logical_shape()[at(axis)], first = static_cast<uint32_t>(start);
    auto extents = extents_of(input.logical_shape());
    extents[axis] = length;
    const Shape result = shape_of(extents);
    return launch(
        {.op = strategy::Slice{}}, {input}, {make_spec(result, input.dtype(), input.layout(), memory)},
        [=](std::span<const Tensor> outputs) {
            const auto strides = signed_strides(input.logical_shape());
            const size_t bytes = stored_bytes(input.dtype());
            std::byte* target = mutable_raw_data(outputs[0]);
            auto dims = dense_target(result, strides);
            dims[axis].size = std::min(length, held - std::min(held, first));
            if (dims[axis].size != length) fill_elements(bytes, target, result.volume(), encode_value(input.dtype(), 0).data());
            const int64_t offset = dims[axis].size == 0 ? 0 : first * strides[axis];
            strided_copy(bytes, raw_data(input) + offset * static_cast<int64_t>(bytes), target, dims);
        })[0];
}

namespace {
/// `input` at `before` in a tensor of shape `result`, `value` around it.
void write_padded(const Tensor& input, const Shape& result, const std::vector<int64_t>& before, float value, std::byte* target) {
    const Shape& shape = input.logical_shape();
    const size_t bytes = stored_bytes(input.dtype());
    fill_elements(bytes, target, result.volume(), encode_value(input.dtype(), value).data());
    const auto strides = signed_strides(result), own = signed_strides(shape);
    std::vector<StridedDim> dims;
    int64_t offset = 0;
    for (size_t i = 0; i < shape.rank(); ++i) {
        offset += before[i] * strides[i];
        dims.push_back({shape[at(i)], own[i], strides[i]});
    }
    strided_copy(bytes, raw_data(input), target + offset * static_cast<int64_t>(bytes), dims);
}
}  // namespace

Tensor pad(
    const Tensor& input, const ttsl::SmallVector<operations::data_movement::PadSpecDim>& padding, float value, bool,
    const std::optional<MemoryConfig>& memory_config, const std::optional<CoreRangeSet>& grids) {
    OpScope scope("ttnn.pad");
    if (!is_on_device(input) && input.layout() == Layout::TILE) {  // TT-NN leaves tiles on the host as they are
        for (const auto& side : padding) SHIM_CHECK(side.before_elements == 0, "padding: tiles take no padding in front");
        return input;
    }
    const Shape& shape = input.logical_shape();
    const bool tiled = input.layout() == Layout::TILE;
    SHIM_CHECK(padding.size() <= shape.rank(), "padding: got {} pairs for shape {}", padding.size(), shape);
    SHIM_CHECK(!is_block_float(input.dtype()) || value == value, "value: expected a number");
    const size_t missing = shape.rank() - padding.size();
    auto extents = extents_of(shape);
    std::vector<int64_t> before(shape.rank(), 0);
    std::vector<int64_t> flat;
    bool any = false;
    for (size_t i = 0; i < padding.size(); ++i) {
        const auto [front, back] = padding[i];
        const uint64_t extent = uint64_t{extents[missing + i]} + front + back;
        SHIM_CHECK(extent < (uint64_t{1} << 32), "padding: dimension {} grows beyond 2^32", missing + i);
        SHIM_CHECK(front == 0 || !tiled, "padding: tiles take no padding in front, got {} in dimension {}", front, missing + i);
        extents[missing + i] = static_cast<uint32_t>(extent);
        before[missing + i] = front;
        any = any || front + back > 0;
        flat.insert(flat.end(), {front, back});
    }
    if (!any) return memory_config && *memory_config != input.memory_config() ? ttnn::to_memory_config(input, *memory_config) : input;
    const Shape result = shape_of(extents);
    const auto fill = [=](std::byte* target) { write_padded(input, result, before, value, target); };
    if (!is_on_device(input)) {
        const TensorSpec spec = make_spec(result, input.dtype(), input.layout());
        auto values = new_values(spec);
        if (has_values(input)) fill(values->data());
        return make_host_tensor(spec, values);
    }
    check_device_tensor(input, "input_tensor");
    const bool inside = tiled && make_spec(result, input.dtype(), Layout::TILE).padded_shape() == input.padded_shape();
    SHIM_CHECK(
        input.dtype() != DataType::UINT8 && input.dtype() != DataType::INT8 && input.dtype() != DataType::FP8_E4M3 &&
            (inside || input.dtype() != DataType::BFLOAT4_B),
        "input_tensor: {} cannot be padded", input.dtype());
    SHIM_CHECK(inside || !tiled || shape.rank() != 1, "padding: one dimension of tiles cannot grow beyond them, got shape {}", shape);
    const MemoryConfig memory = inside ? input.memory_config() : padded_memory(input, memory_config, result);
    const bool wider = shape.volume() > 0 && result[-1] != shape[-1];
    if (input.memory_config().memory_layout() == TensorMemoryLayout::HEIGHT_SHARDED && !memory_config && !inside && wider &&
        result.volume() / result[-1] != shape.volume() / shape[-1]) {  // height shards become wider first
        auto first = padding, rest = padding;
        for (size_t i = 0; i + 1 < first.size(); ++i) first[i] = {};
        rest.back() = {};
        return pad(pad(input, first, value, true, std::nullopt, grids), rest, value, true, memory, grids);
    }
    const auto write = [=](std::span<const Tensor> outputs) { fill(mutable_raw_data(outputs[0])); };
    const auto padding_program = [&](const Tensor& from, DataType dtype) {
        return launch(
            {.op = strategy::Pad{.padding = flat}, .cores = grids, .constants = {value}}, {from},
            {make_spec(result, dtype, input.layout(), memory)}, write)[0];
    };
    if (!tiled || input.memory_config().is_sharded() || memory.is_sharded()) return padding_program(input, input.dtype());
    // Padding inside tiles is overwritten in place; whole tiles are added after that. Block floats pass through bfloat16 each time.
    const DataType dtype = is_block_float(input.dtype()) ? DataType::BFLOAT16 : input.dtype();
    const auto unpacked = [&](const Tensor& tensor) {
        return tensor.dtype() == dtype ? tensor : ttnn::typecast(tensor, dtype, std::nullopt, std::nullopt, grids);
    };
    const auto packed = [&](const Tensor& tensor) {
        return input.dtype() == dtype ? tensor : ttnn::typecast(tensor, input.dtype(), std::nullopt, std::nullopt, grids);
    };
    Tensor current = input;
    if (input.logical_shape() != input.padded_shape()) {
        const Tensor source = unpacked(input);
        const Shape& filled = inside ? result : shape;
        const TensorSpec spec = make_spec(filled, dtype, Layout::TILE, source.memory_config());
        current = packed(launch(
            {.op = strategy::FillPad{}, .name = "FillPadDeviceOperation", .cores = grids}, {source}, {spec},
            [=](std::span<const Tensor> outputs) {
                if (inside) write(outputs);
            },
            {inside ? make_in_place(source, spec) : source})[0]);
    }
    return inside ? current : packed(padding_program(unpacked(current), dtype));
}
Tensor pad(
    const Tensor& input, const ttsl::SmallVector<std::array<uint32_t, 2>>& padding, float value, bool use_multicore,
    const std::optional<MemoryConfig>& memory_config, const std::optional<CoreRangeSet>& grids) {
    ttsl::SmallVector<operations::data_movement::PadSpecDim> pairs;
    for (const auto& [front, back] : padding) pairs.push_back({front, back});
    return pad(input, pairs, value, use_multicore, memory_config, grids);
}

Tensor roll(
    const Tensor& input, const ttsl::SmallVector<int>& shifts, const ttsl::SmallVector<int>& dims,
    const std::optional<MemoryConfig>& memory_config) {
    OpScope scope("ttnn.roll");
    SHIM_CHECK(
        shifts.size() == dims.size() && !shifts.empty(), "shifts and dim: expected lists of one length, got {} and {}", shifts.size(),
        dims.size());
    const Shape shape = input.logical_shape();
    const MemoryConfig own = input.memory_config();
    struct Turn {
        uint32_t axis;
        int64_t shift;
    };
    std::vector<Turn> turns;
    bool inside_tiles = false;
    for (size_t i = 0; i < shifts.size(); ++i) {
        const uint32_t axis = normalize_dim(dims[i], shape.rank());
        const int64_t extent = shape[at(axis)];
        const int64_t shift = extent == 0 ? 0 : ((shifts[i] % extent) + extent) % extent;
        if (shift != 0) turns.push_back({axis, shift});
        inside_tiles = inside_tiles || (axis + 2 >= shape.rank() && shift % 32 != 0);
    }
    const auto placed = [&](const Tensor& result) { return ttnn::to_memory_config(result, memory_config.value_or(own)); };
    if (turns.empty() && (shape.volume() > 0 || !own.is_sharded())) return placed(input);
    const bool tiled = input.layout() == Layout::TILE;
    Tensor result = input;
    if (own.shard_spec() && own.buffer_type() == BufferType::L1 && (!tiled || shape == input.padded_shape())) {
        // One program per dimension keeps the shards; values move inside tiles by way of rows, in the same shards.
        if (tiled && inside_tiles) result = ttnn::untilize(result, own);
        for (const Turn& turn : turns) {
            SHIM_CHECK(shape.volume() > 0, "input_tensor: shards of no values cannot be rolled, got shape {}", shape);
            const auto strides = signed_strides(shape);
            uint64_t outer = 1;
            for (uint32_t i = 0; i < turn.axis; ++i) outer *= shape[at(i)];
            const Tensor source = result;
            result = launch(
                {.op = strategy::Roll{.dim = turn.axis}, .name = "RollDeviceOperation"}, {source}, {source.tensor_spec()},
                [=](std::span<const Tensor> outputs) {
                    const int64_t inner = strides[turn.axis], run = shape[at(turn.axis)] * inner, head = turn.shift * inner;
                    const auto bytes = static_cast<int64_t>(stored_bytes(source.dtype()));
                    std::byte* target = mutable_raw_data(outputs[0]);
                    const auto rows = static_cast<size_t>(outer);
                    strided_copy(
                        static_cast<size_t>(bytes), raw_data(source), target + head * bytes,
                        {{rows, run, run}, {static_cast<size_t>(run - head), 1, 1}});
                    strided_copy(
                        static_cast<size_t>(bytes), raw_data(source) + (run - head) * bytes, target,
                        {{rows, run, run}, {static_cast<size_t>(head), 1, 1}});
                })[0];
        }
        if (tiled && inside_tiles) result = ttnn::tilize(result, own, input.dtype());
        return placed(result);
    }
    if (own.is_sharded()) result = ttnn::to_memory_config(result, MemoryConfig());
    for (const Turn& turn : turns) {  // two slices and a concat per dimension, as in TT-NN
        const int64_t extent = shape[at(turn.axis)];
        const Tensor last = part_of(result, turn.axis, extent - turn.shift, extent, std::nullopt);
        const Tensor first = part_of(result, turn.axis, 0, extent - turn.shift, std::nullopt);
        result = concat({last, first}, static_cast<int>(turn.axis));
    }
    return placed(result);
}
Tensor roll(const Tensor& input, int shift, int dim, const std::optional<MemoryConfig>& memory_config) {
    return roll(input, ttsl::SmallVector<int>{shift}, ttsl::SmallVector<int>{dim}, memory_config);
}
Tensor roll(const Tensor& input, int shift, const std::optional<MemoryConfig>& memory_config) {
    OpScope scope("ttnn.roll");
    const Shape shape = input.logical_shape();
    SHIM_CHECK(
        !input.memory_config().is_sharded(), "input_tensor: shards can only be rolled along dimensions, got {}", input.memory_config());
    const std::vector<int32_t> flat{1, -1};
    return reshape(roll(reshape(input, std::span<const int32_t>(flat)), shift, 1, memory_config), shape);
}

}  // namespace ttnn

// ---- the Python door -------------------------------------------------------------------------------------------------------

namespace {

/// (before, after) pairs, given as a list of lists.
}  // namespace

PadPairs ttnn_shim::ArgumentType<PadPairs>::read(const Call& call, std::string_view name) {
    PadPairs pairs;
    const auto* flat = std::get_if<std::vector<int64_t>>(&call.find(name)->value);
    if (flat != nullptr && flat->empty()) return pairs;  // [] has no items to tell integers from pairs
    for (const Attr& item : call.items(name)) {
        std::vector<int64_t> values;
        if (const auto* integers = std::get_if<std::vector<int64_t>>(&item.value)) {
            values = *integers;
        } else if (const auto* list = std::get_if<std::shared_ptr<const Attr::List>>(&item.value)) {
            for (const Attr& entry : **list) values.push_back(std::get<int64_t>(entry.value));
        }
        SHIM_CHECK(values.size() == 2, "{}: expected pairs (before, after)", name);
        SHIM_CHECK(
            values[0] >= 0 && values[1] >= 0 && values[0] < (int64_t{1} << 32) && values[1] < (int64_t{1} << 32),
            "{}: expected counts of 0 or more, got ({}, {})", name, values[0], values[1]);
        pairs.push_back({static_cast<uint32_t>(values[0]), static_cast<uint32_t>(values[1])});
    }
    return pairs;
}

namespace {

Tensor call_pad(const arguments::pad& args) {
    const Tensor& input = args.input_tensor;
    if (args.padding) return ttnn::pad(input, *args.padding, args.value, true, args.memory_config, args.sub_core_grids);
    const auto &extents = args.output_padded_shape, &start = args.input_tensor_start;
    const Shape& shape = input.logical_shape();
    SHIM_CHECK(
        extents.size() == shape.rank() && start.size() == shape.rank(),
        "output_padded_shape and input_tensor_start: expected {} values each", shape.rank());
    PadPairs pairs;
    for (size_t i = 0; i < extents.size(); ++i) {
        SHIM_CHECK(
            uint64_t{start[i]} + shape[at(i)] <= extents[i], "output_padded_shape: dimension {} needs at least {}, got {}", i,
            uint64_t{start[i]} + shape[at(i)], extents[i]);
        pairs.push_back({start[i], extents[i] - start[i] - shape[at(i)]});
    }
    return ttnn::pad(input, pairs, args.value, true, args.memory_config, args.sub_core_grids);
}

Tensor call_roll(const arguments::roll& args) {
    const Tensor input = args.input_tensor;
    const auto memory_config = args.memory_config;
    const auto shifts = args.shifts;
    if (!args.dim.has_value()) {
        SHIM_CHECK(shifts.size() == 1, "shifts: expected one value without dim, got {}", shifts.size());
        return ttnn::roll(input, shifts[0], memory_config);
    }
    const auto dims = (*args.dim);
    return ttnn::roll(
        input, ttsl::SmallVector<int>(shifts.begin(), shifts.end()), ttsl::SmallVector<int>(dims.begin(), dims.end()), memory_config);
}

}  // namespace

SHIM_OP("ttnn.split", [](const arguments::split& args) {
    if (const auto* size = std::get_if<int32_t>(&args.split_size))
        return ttnn::split(args.input_tensor, int64_t{*size}, args.dim, args.memory_config);
    const auto& sizes = std::get<std::vector<int32_t>>(args.split_size);
    return ttnn::split(args.input_tensor, ttsl::SmallVector<int64_t>(sizes.begin(), sizes.end()), args.dim, args.memory_config);
});
SHIM_OP("ttnn.chunk", [](const arguments::chunk& args) { return ttnn::chunk(args.input_tensor, args.chunks, args.dim); });
SHIM_OP("ttnn.narrow", [](const arguments::narrow& args) { return ttnn::narrow(args.input_tensor, args.dim, args.start, args.length); });
SHIM_OP("ttnn.pad", call_pad);
SHIM_OP("ttnn.roll", call_roll);

// ---- the C++ functions ------------------------------------------------------------------------------------------------------

namespace ttnn {

Tensor pad(
    const Tensor& input, const std::array<uint32_t, 4>& padded, const std::array<uint32_t, 4>& start, float value, bool,
    const std::optional<MemoryConfig>& memory_config, const std::optional<CoreRangeSet>& sub_core_grids) {
    return ::call_pad(
        {.input_tensor = input,
         .output_padded_shape = {padded.begin(), padded.end()},
         .input_tensor_start = {start.begin(), start.end()},
         .value = value,
         .memory_config = memory_config,
         .sub_core_grids = sub_core_grids});
}

Tensor pad(const Tensor& input, const Shape& padded, const Shape& start, float value) {
    return ::call_pad(
        {.input_tensor = input,
         .output_padded_shape = {padded.begin(), padded.end()},
         .input_tensor_start = {start.begin(), start.end()},
         .value = value});
}

}  // namespace ttnn
