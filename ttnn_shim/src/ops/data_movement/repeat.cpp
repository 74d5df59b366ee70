// Repeating: repeat, repeat_interleave, expand, broadcast_to.
#include <algorithm>

#include "ops/arguments.hpp"
#include "ops/core/core_programs.hpp"
#include "ops/data_movement/common.hpp"
#include "ops/data_movement/shards.hpp"
#include "ttnn/operations/copy/typecast/typecast.hpp"
#include "ttnn/operations/core/to_layout/to_layout_op.hpp"
#include "ttnn/operations/data_movement/concat/concat.hpp"
#include "ttnn/operations/data_movement/copy/copy.hpp"
#include "ttnn/operations/data_movement/expand/expand.hpp"
#include "ttnn/operations/data_movement/repeat/repeat.hpp"
#include "ttnn/operations/data_movement/repeat_interleave/repeat_interleave.hpp"
#include "ttnn/operations/data_movement/reshape_view/reshape.hpp"
#include "ttnn/operations/data_movement/sharded/interleaved_to_sharded/interleaved_to_sharded.hpp"
#include "ttnn/operations/data_movement/transpose/transpose.hpp"
#include "ttnn/operations/data_movement/unsqueeze/unsqueeze.hpp"
#include "ttnn/operations/data_movement/view/view.hpp"

using namespace ttnn_shim;

namespace {

/// One program: dimension i of extent own[i] comes times[i] times. `own` is the input's shape with ones in front.
Tensor repeated(
    const Tensor& input, const std::vector<uint32_t>& own, const std::vector<uint32_t>& times, const MemoryConfig& memory_config,
    const std::optional<Tensor>& output = std::nullopt) {
    const auto strides = signed_strides(shape_of(own));
    std::vector<uint32_t> extents, paired;
    std::vector<int64_t> paired_strides;
    for (size_t i = 0; i < own.size(); ++i) {
        extents.push_back(own[i] * times[i]);
        paired.insert(paired.end(), {times[i], own[i]});
        paired_strides.insert(paired_strides.end(), {0, strides[i]});
    }
    return moved(
        {.op = strategy::Repeat{}}, input, shape_of(extents), memory_config, dense_target(shape_of(paired), paired_strides), 0, output);
}

/// A program per repeated dimension, the last one first; in four dimensions, a single slice is repeated along with the dimension below it.
Tensor repeated_in_steps(
    const Tensor& input, std::vector<uint32_t> own, const std::vector<uint32_t>& times, const MemoryConfig& memory_config) {
    Tensor result = input;
    for (size_t i = own.size(); i-- > 0;) {
        if (times[i] == 1) continue;
        std::vector<uint32_t> now(own.size(), 1);
        const size_t lowest = i;
        now[i] = times[i];
        while (i > 0 && own.size() <= 4 && lowest + (input.layout() == Layout::TILE ? 2 : 1) < own.size() && own[i - 1] == 1) {
            --i;
            now[i] = times[i];
        }
        result = repeated(result, own, now, memory_config);
        for (size_t k = i; k <= lowest; ++k) own[k] *= times[k];
    }
    return result;
}

/// Tiles as rows; bfloat16 has a program of its own for it, also where tiles are padded.
Tensor sticks_of(const Tensor& input) {
    if (input.dtype() != DataType::BFLOAT16) return ttnn::to_layout(input, Layout::ROW_MAJOR);
    return launch(
        {.op = strategy::Untilize{}}, {input}, {make_spec(input.logical_shape(), input.dtype(), Layout::ROW_MAJOR, input.memory_config())},
        [=](std::span<const Tensor> outputs) { copy_values(input, outputs[0]); })[0];
}

/// Whether TT-NN repeats shards where they are: one dimension of even shards in L1, whole groups of whose rows lie on each core.
std::optional<tt::tt_metal::ShardSpec> repeated_in_place(const Tensor& input, const std::vector<uint32_t>& times) {
    const MemoryConfig& own = input.memory_config();
    const Shape &padded = input.padded_shape(), &shape = input.logical_shape();
    const auto several = [](uint32_t n) { return n != 1; };
    if (!own.shard_spec() || own.buffer_type() == BufferType::DRAM || std::count_if(times.begin(), times.end(), several) != 1)
        return std::nullopt;
    auto shards = *own.shard_spec();
    const size_t rank = padded.rank(), axis = static_cast<size_t>(std::find_if(times.begin(), times.end(), several) - times.begin());
    if (rank < 2 || padded.volume() == 0 || padded.volume() / padded[-1] % shards.shape[0] != 0 || padded[-1] % shards.shape[1] != 0)
        return std::nullopt;
    const bool last = axis + 1 == rank;
    if (input.layout() == Layout::TILE && (shape[-1] % 32 != 0 || shape[-2] % 32 != 0)) return std::nullopt;
    if (input.layout() == Layout::ROW_MAJOR && last && own.memory_layout() != TensorMemoryLayout::HEIGHT_SHARDED) return std::nullopt;
    uint64_t group = padded[at(axis)];
    for (size_t i = axis + 1; i + 1 < rank; ++i) group *= padded[at(i)];
    if (!last && shards.shape[0] % group != 0) return std::nullopt;
    shards.shape[last ? 1 : 0] *= times[axis];
    return shards;
}

}  // namespace

namespace ttnn {

Tensor repeat(
    const Tensor& input, const ttsl::SmallVector<uint32_t>& repetitions, const std::optional<MemoryConfig>& memory_config,
    const std::optional<Tensor>& output) {
    OpScope scope("ttnn.repeat");
    check_device_tensor(input, "input_tensor");
    std::vector<uint32_t> own = extents_of(input.logical_shape()), times(repetitions.begin(), repetitions.end()), extents;
    if (times.size() < own.size()) times.insert(times.begin(), own.size() - times.size(), 1);
    if (own.size() < times.size()) own.insert(own.begin(), times.size() - own.size(), 1);
    for (size_t i = 0; i < own.size(); ++i) {
        const uint64_t extent = uint64_t{own[i]} * times[i];
        SHIM_CHECK(extent < (uint64_t{1} << 32), "repeat_dims: dimension {} grows beyond 2^32", i);
        extents.push_back(static_cast<uint32_t>(extent));
    }
    const Shape result = shape_of(extents);
    const MemoryConfig& held = input.memory_config();
    const bool eight_bit_float = input.dtype() == DataType::FP8_E4M3;
    if (!output && std::find(times.begin(), times.end(), 0U) != times.end()) {
        SHIM_CHECK(!eight_bit_float, "repeat_dims: FP8_E4M3 tensors cannot be made by filling, not even empty ones, got a 0");
        return empty_tensor(
            device_of(input), make_spec(result, input.dtype(), input.layout(), memory_config.value_or(MemoryConfig(held.buffer_type()))));
    }
    const size_t rank = own.size();
    SHIM_CHECK(rank > 0, "input_tensor: expected at least one dimension, got shape {}", input.logical_shape());
    const Shape raised = shape_of(own);
    const Tensor working = rank > input.logical_shape().rank() ? make_view(input, view_spec(input, raised)) : input;
    if (!output && std::all_of(times.begin(), times.end(), [](uint32_t n) { return n == 1; })) return working;

    // Tiles go by way of rows where they are repeated inside their padding, or have it and TT-NN's program for 4 dimensions cannot help.
    const bool tiled = input.layout() == Layout::TILE;
    bool by_rows = tiled && rank < 2;
    for (size_t i = rank < 2 ? 0 : rank - 2; tiled && i < rank; ++i) by_rows = by_rows || ((times[i] != 1 || rank > 4) && own[i] % 32 != 0);
    by_rows = by_rows || (tiled && rank > 1 && own[rank - 1] == 0 && times[rank - 1] != 1 && own[rank - 2] % 32 != 0);
    const auto in_place = repeated_in_place(working, times);
    const bool across = !tiled && held.is_sharded() && held.memory_layout() != TensorMemoryLayout::HEIGHT_SHARDED;  // rows in pieces
    SHIM_CHECK(
        (input.dtype() != DataType::UINT8 && input.dtype() != DataType::INT8) || (tiled && !by_rows) ||
            (rank <= 4 && !across && own[rank - 1] > 0),
        "input_tensor: rows of {} cannot be repeated", input.dtype());
    SHIM_CHECK(
        !eight_bit_float || (!held.is_sharded() && result.volume() > 0), "input_tensor: shards of FP8_E4M3 cannot be repeated, nor none");
    const MemoryConfig memory = memory_config || !in_place ? spread_memory(working, memory_config, result)
                                                           : MemoryConfig(held.memory_layout(), held.buffer_type(), in_place);
    if (output) return repeated(working, own, times, memory, output);
    if (!by_rows && (!across || in_place)) {
        return held.is_sharded() || memory.is_sharded() ? repeated(working, own, times, memory)
                                                        : repeated_in_steps(working, own, times, memory);
    }
    const Tensor source = held.is_sharded() ? ttnn::to_memory_config(working, MemoryConfig(BufferType::L1)) : working;
    const MemoryConfig between = memory.is_sharded() ? MemoryConfig(memory.buffer_type()) : memory;
    Tensor done = repeated_in_steps(tiled ? sticks_of(source) : source, own, times, between);
    if (tiled) done = ttnn::to_layout(done, Layout::TILE, input.dtype());
    return memory.is_sharded() ? ttnn::interleaved_to_sharded(done, memory) : done;
}
Tensor repeat(const Tensor& input, const Shape& repetitions, const std::optional<Tensor>& output) {
    return repeat(input, ttsl::SmallVector<uint32_t>(repetitions.begin(), repetitions.end()), std::nullopt, output);
}

namespace {

/// One program, dimension `axis` of extent n to n times repeats.
Tensor interleaved(const Tensor& input, uint32_t repeats, uint32_t axis, const MemoryConfig& memory) {
    auto extents = extents_of(input.logical_shape()), walked = extents;
    auto strides = signed_strides(input.logical_shape());
    extents[axis] *= repeats;
    walked.insert(walked.begin() + axis + 1, repeats);
    strides.insert(strides.begin() + axis + 1, 0);
    return moved({.op = strategy::Repeat{.interleave = true}}, input, shape_of(extents), memory, dense_target(shape_of(walked), strides));
}

/// Shards of rows in four dimensions stay on their cores (TT-NN upsamples them).
Tensor interleaved_shards(const Tensor& input, uint32_t repeats, uint32_t axis) {
    if (axis == 3) return transpose(interleaved_shards(transpose(input, 2, 3), repeats, 2), 2, 3);
    const MemoryConfig& own = input.memory_config();
    auto shards = *own.shard_spec();
    shards.shape[0] *= repeats;
    return interleaved(input, repeats, axis, MemoryConfig(own.memory_layout(), own.buffer_type(), shards));
}

}  // namespace

Tensor repeat_interleave(const Tensor& input, uint32_t repeats, int32_t dim, const std::optional<MemoryConfig>& memory_config) {
    OpScope scope("ttnn.repeat_interleave");
    check_device_tensor(input, "input_tensor");
    const Shape shape = input.logical_shape();
    const size_t rank = shape.rank();
    SHIM_CHECK(repeats >= 1, "repeats: expected at least 1, got {}", repeats);
    if (rank == 1)  // whatever dim says
        return reshape(repeat_interleave(unsqueeze(input, 1), repeats, 0, memory_config), Shape({shape[0] * repeats}));
    const MemoryConfig& own = input.memory_config();
    const MemoryConfig memory = memory_config.value_or(own);
    if (repeats == 1) return ttnn::to_memory_config(input, memory);
    const uint32_t axis = normalize_dim(dim, rank);
    SHIM_CHECK(uint64_t{shape[at(axis)]} * repeats < (uint64_t{1} << 32), "repeats: {} is too many", repeats);
    if (own.is_sharded()) {
        if (input.layout() == Layout::ROW_MAJOR && rank == 4 && own.shard_spec()) {
            const Tensor result = interleaved_shards(input, repeats, axis);
            return memory_config ? ttnn::to_memory_config(result, memory) : result;
        }
        const MemoryConfig dram;
        return ttnn::to_memory_config(
            repeat_interleave(ttnn::to_memory_config(input, dram), repeats, dim, dram), memory_config.value_or(dram));
    }
    auto extents = extents_of(shape);
    extents[axis] *= repeats;
    if (axis + 2 < rank && rank <= 4 && !memory.is_sharded()) return interleaved(input, repeats, axis, memory);
    const DataType dtype = input.dtype();
    const auto converted = [&](const Tensor& tensor, bool passes, DataType to) {
        return passes ? ttnn::typecast(tensor, to, memory) : tensor;
    };
    if (axis + 1 == rank) {
        const bool passes = dtype == DataType::UINT8;
        const Tensor turned = transpose(converted(input, passes, DataType::BFLOAT16), -1, -2, memory);
        return converted(transpose(repeat_interleave(turned, repeats, -2, memory), -1, -2, memory), passes, dtype);
    }
    // Copies of the tensor are joined as rows, in batches of 32.
    const bool passes = is_block_float(dtype) || dtype == DataType::UINT8;
    const Tensor rows = ttnn::to_layout(converted(input, passes, DataType::BFLOAT16), Layout::ROW_MAJOR);
    const int next = static_cast<int>(axis) + 1;
    const Tensor raised = unsqueeze(rows, next);
    constexpr uint32_t BATCH = 32;
    std::vector<Tensor> batches;
    for (uint32_t done = 0; done < repeats; done += BATCH)
        batches.push_back(concat(std::vector<Tensor>(std::min(BATCH, repeats - done), raised), next));
    const Tensor joined = ttnn::to_layout(reshape(concat(batches, next), shape_of(extents)), input.layout());
    return passes ? ttnn::typecast(joined, dtype, memory) : ttnn::to_memory_config(joined, memory);
}

Tensor expand(const Tensor& input, ttsl::Span<const int32_t> output_shape, const std::optional<MemoryConfig>& memory_config) {
    OpScope scope("ttnn.expand");
    check_device_tensor(input, "input_tensor");
    const Shape& shape = input.logical_shape();
    SHIM_CHECK(
        output_shape.size() >= shape.rank(), "output_shape: expected at least {} dimensions for shape {}, got {}", shape.rank(), shape,
        output_shape.size());
    const size_t extra = output_shape.size() - shape.rank();
    ttsl::SmallVector<uint32_t> times;
    for (size_t i = 0; i < output_shape.size(); ++i) {
        const uint32_t have = i < extra ? 1 : shape[at(i - extra)];
        SHIM_CHECK(output_shape[i] >= 0 || (output_shape[i] == -1 && i >= extra), "output_shape: {} is not an extent", output_shape[i]);
        const uint32_t want = output_shape[i] == -1 ? have : static_cast<uint32_t>(output_shape[i]);
        SHIM_CHECK(have == want || have == 1, "output_shape: dimension {} has {} values and cannot become {}", i, have, want);
        times.push_back(have == want ? 1 : want);
    }
    return repeat(input, times, memory_config);
}
}  // namespace ttnn

static Tensor broadcast(const arguments::experimental::broadcast_to& args) {
    check_device_tensor(args.input, "input", Layout::TILE);
    SHIM_CHECK(
        args.input.logical_shape().rank() <= 4 && args.output_shape.size() <= 4,
        "input and output_shape: expected at most 4 dimensions, got {} and {}", args.input.logical_shape().rank(),
        args.output_shape.size());
    const Tensor result = ttnn::expand(args.input, std::span<const int32_t>(args.output_shape), args.memory_config);
    return args.output ? ttnn::copy(result, *args.output) : result;
}

namespace ttnn {

Tensor experimental::broadcast_to(
    const Tensor& input, const Shape& output_shape, const std::optional<MemoryConfig>& memory_config, const std::optional<Tensor>& output) {
    const std::vector<int32_t> extents(output_shape.begin(), output_shape.end());
    return broadcast({.input = input, .output_shape = extents, .memory_config = memory_config, .output = output});
}

}  // namespace ttnn

SHIM_OP("ttnn.repeat", [](const arguments::repeat& args) {
    const auto times = args.repeat_dims;
    return ttnn::repeat(
        args.input_tensor, ttsl::SmallVector<uint32_t>(times.begin(), times.end()), args.memory_config, args.optional_output_tensor);
});
SHIM_OP("ttnn.repeat_interleave", [](const arguments::repeat_interleave& args) {
    return ttnn::repeat_interleave(args.input_tensor, args.repeats, args.dim, args.memory_config);
});
SHIM_OP("ttnn.expand", [](const arguments::expand& args) {
    const auto extents = args.output_shape;
    return ttnn::expand(args.input_tensor, std::span<const int32_t>(extents), args.memory_config);
});
SHIM_OP("ttnn.experimental.broadcast_to", broadcast);
