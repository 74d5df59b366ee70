// Repeating: repeat, repeat_interleave, expand, broadcast_to.
#include <algorithm>

#include "ops/core/core_programs.hpp"
#include "ops/data_movement/common.hpp"
#include "ttnn/operations/core/to_layout/to_layout_op.hpp"
#include "ttnn/operations/data_movement/copy/copy.hpp"
#include "ttnn/operations/data_movement/expand/expand.hpp"
#include "ttnn/operations/data_movement/repeat/repeat.hpp"
#include "ttnn/operations/data_movement/repeat_interleave/repeat_interleave.hpp"
#include "ttnn/operations/data_movement/reshape_view/reshape.hpp"
#include "ttnn/operations/data_movement/transpose/transpose.hpp"

using namespace ttnn_shim;

namespace {

int32_t at(size_t index) { return static_cast<int32_t>(index); }

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
    return moved({.op = "repeat"}, input, shape_of(extents), memory_config, dense_target(shape_of(paired), paired_strides), 0, output);
}

/// A program per run of repeated dimensions, the last dimension first; runs that only extents of 1 separate are one.
Tensor repeated_in_steps(
    const Tensor& input, std::vector<uint32_t> own, const std::vector<uint32_t>& times, const MemoryConfig& memory_config) {
    Tensor result = input;
    const auto step = [&](size_t first, size_t last) {
        std::vector<uint32_t> now(own.size(), 1);
        std::copy(times.begin() + first, times.begin() + last + 1, now.begin() + first);
        if (std::all_of(now.begin(), now.end(), [](uint32_t n) { return n == 1; })) return;
        result = repeated(result, own, now, memory_config);
        for (size_t i = first; i <= last; ++i) own[i] *= times[i];
    };
    size_t last = own.size() - 1;
    step(last, last);
    while (last-- > 0) {
        size_t first = last;
        while (first > 0 && own[first - 1] == 1) --first;
        step(first, last);
        last = first;
    }
    return result;
}

/// Tiles as rows; bfloat16 has a program of its own for it, also where tiles are padded.
Tensor sticks_of(const Tensor& input) {
    if (input.dtype() != DataType::BFLOAT16) return ttnn::to_layout(input, Layout::ROW_MAJOR);
    return launch(
        {.op = "untilize"}, {input}, {make_spec(input.logical_shape(), input.dtype(), Layout::ROW_MAJOR, input.memory_config())},
        [&](std::span<const Tensor> outputs) { copy_values(input, outputs[0]); })[0];
}

}  // namespace

namespace ttnn {

Tensor repeat(
    const Tensor& input, const ttsl::SmallVector<uint32_t>& repetitions, const std::optional<MemoryConfig>& memory_config,
    const std::optional<Tensor>& output) {
    OpScope scope("ttnn.repeat");
    check_device_tensor(input, "input_tensor");
    auto own = extents_of(input.logical_shape());
    std::vector<uint32_t> times(repetitions.begin(), repetitions.end());
    if (times.size() < own.size()) times.insert(times.begin(), own.size() - times.size(), 1);
    if (own.size() < times.size()) own.insert(own.begin(), times.size() - own.size(), 1);
    std::vector<uint32_t> extents;
    bool plain = true;
    for (size_t i = 0; i < own.size(); ++i) {
        const uint64_t extent = uint64_t{own[i]} * times[i];
        SHIM_CHECK(extent < (uint64_t{1} << 32), "repeat_dims: dimension {} grows beyond 2^32", i);
        extents.push_back(static_cast<uint32_t>(extent));
        plain = plain && times[i] == 1;
    }
    const Shape result = shape_of(extents);
    if (plain && !output) return reshape(input, result);
    bool inside_padding = false;
    for (size_t i = own.size() < 2 ? 0 : own.size() - 2; input.layout() == Layout::TILE && i < own.size(); ++i) {
        inside_padding = inside_padding || (times[i] != 1 && own[i] % 32 != 0);
        SHIM_CHECK(
            times[i] == 1 || own[i] % 32 == 0 ||
                (input.dtype() != DataType::BFLOAT4_B &&
                 (input.dtype() != DataType::UINT8 || (extents.back() % 32 == 0 && extents[own.size() - 2] % 32 == 0))),
            "input_tensor: {} tiles cannot be repeated inside their padding", input.dtype());
    }
    const MemoryConfig memory = spread_memory(input, memory_config, result);
    if (output || result.volume() == 0 || input.memory_config().is_sharded() || memory.is_sharded())
        return repeated(input, own, times, memory, output);
    if (!inside_padding) return repeated_in_steps(input, own, times, memory);
    return ttnn::to_layout(repeated_in_steps(sticks_of(input), own, times, memory), Layout::TILE, input.dtype());
}
Tensor repeat(const Tensor& input, const Shape& repetitions, const std::optional<Tensor>& output) {
    return repeat(input, ttsl::SmallVector<uint32_t>(repetitions.begin(), repetitions.end()), std::nullopt, output);
}

Tensor repeat_interleave(const Tensor& input, uint32_t repeats, int32_t dim, const std::optional<MemoryConfig>& memory_config) {
    OpScope scope("ttnn.repeat_interleave");
    check_device_tensor(input, "input_tensor");
    const Shape& shape = input.logical_shape();
    const uint32_t axis = normalize_dim(dim, shape.rank());
    SHIM_CHECK(repeats >= 1, "repeats: expected at least 1, got {}", repeats);
    auto extents = extents_of(shape), walked = extents;
    auto strides = signed_strides(shape);
    SHIM_CHECK(uint64_t{extents[axis]} * repeats < (uint64_t{1} << 32), "repeats: {} is too many", repeats);
    extents[axis] *= repeats;
    walked.insert(walked.begin() + axis + 1, repeats);
    strides.insert(strides.begin() + axis + 1, 0);
    const bool sharded = input.memory_config().is_sharded();
    const MemoryConfig memory = memory_config.value_or(sharded ? MemoryConfig{} : input.memory_config());
    const Program program{.op = "repeat", .attrs = {{"interleave", true}}};
    const size_t from_end = shape.rank() - 1 - axis;
    if (repeats == 1 || sharded || memory.is_sharded() || from_end > 1 || shape.rank() < 2 || input.logical_volume() == 0 ||
        input.dtype() == DataType::BFLOAT4_B || input.dtype() == DataType::UINT8)
        return moved(program, input, shape_of(extents), memory, dense_target(shape_of(walked), strides));
    if (from_end == 0) return transpose(repeat_interleave(transpose(input, -2, -1), repeats, -2, memory_config), -2, -1);
    // rows: copies of the tensor are joined in row-major layout
    const Tensor sticks = input.layout() == Layout::TILE ? ttnn::to_layout(input, Layout::ROW_MAJOR) : input;
    const Tensor joined = launch(
        {.op = "concat", .attrs = {{"dim", int64_t{axis}}}}, std::vector<Tensor>(repeats, sticks),
        {make_spec(shape_of(extents), sticks.dtype(), Layout::ROW_MAJOR, memory)}, [&](std::span<const Tensor> outputs) {
            strided_copy(
                stored_bytes(sticks.dtype()), raw_data(sticks), mutable_raw_data(outputs[0]), dense_target(shape_of(walked), strides));
        })[0];
    return input.layout() == Layout::TILE ? ttnn::to_layout(joined, Layout::TILE, input.dtype()) : joined;
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
    if (std::all_of(times.begin(), times.end(), [](uint32_t n) { return n == 1; })) {
        std::vector<uint32_t> extents(extra, 1);
        extents.insert(extents.end(), shape.begin(), shape.end());
        return reshape(input, shape_of(extents), memory_config);
    }
    return repeat(input, times, memory_config);
}
Tensor experimental::broadcast_to(
    const Tensor& input, const Shape& output_shape, const std::optional<MemoryConfig>& memory_config, const std::optional<Tensor>&) {
    const std::vector<int32_t> extents(output_shape.begin(), output_shape.end());
    return expand(input, std::span<const int32_t>(extents), memory_config);
}

}  // namespace ttnn

SHIM_OP("ttnn.repeat", [](const Call& c) {
    const auto times = c.u32s("repeat_dims");
    return ttnn::repeat(
        c.tensor("input_tensor"), ttsl::SmallVector<uint32_t>(times.begin(), times.end()), c.memory_config("memory_config"),
        c.optional_tensor("optional_output_tensor"));
});
SHIM_OP("ttnn.repeat_interleave", [](const Call& c) {
    return ttnn::repeat_interleave(c.tensor("input_tensor"), c.u32("repeats", 1), c.i32("dim"), c.memory_config("memory_config"));
});
SHIM_OP("ttnn.expand", [](const Call& c) {
    const auto extents = c.i32s("output_shape");
    return ttnn::expand(c.tensor("input_tensor"), std::span<const int32_t>(extents), c.memory_config("memory_config"));
});
SHIM_OP("ttnn.experimental.broadcast_to", [](const Call& c) {
    const auto extents = c.i32s("output_shape");
    check_device_tensor(c.tensor("input"), "input", Layout::TILE);
    const Tensor result = ttnn::expand(c.tensor("input"), std::span<const int32_t>(extents), c.memory_config("memory_config"));
    return c.has("output") ? ttnn::copy(result, c.tensor("output")) : result;
});
