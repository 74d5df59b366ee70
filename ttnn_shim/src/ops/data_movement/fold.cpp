// fold: neighbourhoods of pixels become one pixel of more channels.
#include "ttnn/operations/data_movement/fold/fold.hpp"

#include <algorithm>

#include "ops/arguments.hpp"
#include "ops/data_movement/common.hpp"
#include "ttnn/operations/core/to_layout/to_layout_op.hpp"
#include "ttnn/operations/core/to_memory_config/to_memory_config_op.hpp"
#include "ttnn/operations/data_movement/pad/pad.hpp"
#include "ttnn/operations/data_movement/slice/slice.hpp"

using namespace ttnn_shim;

namespace {

uint32_t round_up(uint32_t value, uint32_t part) { return (value + part - 1) / part * part; }

/// top, bottom, left, right, front and back of the channels
std::array<uint32_t, 6> sides_of(const std::vector<uint32_t>& padding) {
    switch (padding.size()) {
        case 2: return {padding[0], padding[0], padding[1], padding[1], 0, 0};
        case 4: return {padding[0], padding[1], padding[2], padding[3], 0, 0};
        case 6: return {padding[0], padding[1], padding[2], padding[3], padding[4], padding[5]};
        default: SHIM_CHECK(false, "padding: expected 2, 4 or 6 numbers, got {}", padding.size());
    }
    return {};
}

MemoryConfig height_shards(const Shape& shape, const CoreRangeSet& cores, tt::tt_metal::ShardOrientation orientation) {
    const auto rows = static_cast<uint32_t>(shape.volume() / shape[-1]), count = cores.num_cores();
    return MemoryConfig(
        TensorMemoryLayout::HEIGHT_SHARDED, BufferType::L1,
        tt::tt_metal::ShardSpec(cores, {(rows + count - 1) / count, shape[-1]}, orientation));
}

/// Two neighbouring dimensions change places.
Tensor swapped(const Tensor& input, int32_t first, const MemoryConfig& memory) {
    const Shape& s = input.logical_shape();
    std::vector<uint32_t> order{0, 1, 2, 3};
    std::swap(order[static_cast<size_t>(first)], order[static_cast<size_t>(first) + 1]);
    const std::array<int64_t, 4> strides{int64_t{s[1]} * s[2] * s[3], int64_t{s[2]} * s[3], s[3], 1};
    const Shape result(
        {s[static_cast<int32_t>(order[0])], s[static_cast<int32_t>(order[1])], s[static_cast<int32_t>(order[2])],
         s[static_cast<int32_t>(order[3])]});
    return moved(
        {.op = strategy::Permute{.dims = {order.begin(), order.end()}}, .name = "TransposeDeviceOperation"}, input, result, memory,
        dense_target(result, {strides[order[0]], strides[order[1]], strides[order[2]], strides[order[3]]}));
}

/// Transposing the last two dimensions of shards of whole rows: the shards' sides scale with the tensor's.
Tensor transposed_rows(const Tensor& input) {
    const Shape& s = input.logical_shape();
    const MemoryConfig& own = input.memory_config();
    auto shard = *own.shard_spec();
    if (s[0] == 1 && s[1] == 1 && shard.shape[1] == s[3]) {
        std::swap(shard.shape[0], shard.shape[1]);
        return swapped(input, 2, MemoryConfig(TensorMemoryLayout::WIDTH_SHARDED, own.buffer_type(), shard));
    }
    shard.shape = {shard.shape[0] * s[3] / s[2], shard.shape[1] * s[2] / s[3]};
    return swapped(input, 2, own.with_shard_spec(shard));
}

/// Row-major rows joined or cut without moving a value.
Tensor viewed(const Tensor& input, const Shape& shape) {
    MemoryConfig memory = input.memory_config();
    if (const auto& shard = memory.shard_spec()) {
        auto rows = *shard;
        rows.shape = {rows.shape[0] * input.logical_shape()[-1] / shape[-1], rows.shape[1] * shape[-1] / input.logical_shape()[-1]};
        memory = memory.with_shard_spec(rows);
    }
    return make_view(input, make_spec(shape, input.dtype(), Layout::ROW_MAJOR, memory));
}

Tensor padded_to(const Tensor& input, const Shape& shape, const std::array<uint32_t, 4>& front, const MemoryConfig& memory) {
    ttsl::SmallVector<std::array<uint32_t, 2>> sides;
    for (int32_t i = 0; i < 4; ++i) {
        const uint32_t before = front[static_cast<size_t>(i)], now = input.logical_shape()[i];
        SHIM_CHECK(now + before <= shape[i], "padding: {} and {} in front do not fit {} (dimension {})", now, before, shape[i], i);
        sides.push_back({before, shape[i] - now - before});
    }
    return ttnn::pad(input, sides, 0.0F, false, memory);
}

/// [N, C, H, W] -> [N, H / sh, W / sw, C * sh * sw] by transposes, rows padded to tiles on the way: what older models call.
Tensor folded_by_transposes(const arguments::fold& args, const std::array<uint32_t, 6>& sides) {
    const Tensor& input = args.input;
    const Shape& s = input.logical_shape();
    const uint32_t down = args.stride_h, across = args.stride_w, channels = s[1] + sides[5];
    const bool sharded = input.is_sharded();
    const uint32_t high = s[2] + sides[0] * (sharded ? 2 : 1), wide = s[3] + sides[2] * (sharded ? 2 : 1);
    const uint32_t tall = round_up(high, 32), broad = round_up(wide, 32);
    SHIM_SUPPORTED(
        tall % down == 0 && broad % across == 0, "stride_h and stride_w: {} x {} do not divide {} x {} rows of tiles", down, across, tall,
        broad);
    const MemoryConfig l1(BufferType::L1);
    const Shape folded({s[0], tall / down, broad / across, channels * down * across});
    if (!sharded) {
        Tensor work = padded_to(input, Shape({s[0], channels, tall, broad}), {0, 0, 0, 0}, input.memory_config());
        work = moved(
            {.op = strategy::Permute{.dims = {0, 3, 1, 2}}, .name = "PermuteDeviceOperation"}, work, Shape({s[0], broad, channels, tall}),
            l1, dense_target(Shape({s[0], broad, channels, tall}), {int64_t{channels} * tall * broad, 1, int64_t{tall} * broad, broad}));
        work = swapped(viewed(work, Shape({s[0], broad / across, channels * across, tall})), 2, l1);
        work = swapped(viewed(work, Shape({s[0], broad / across, tall / down, channels * across * down})), 1, l1);
        if (!args.output_shape) return work;
        const Shape& wanted = *args.output_shape;
        return ttnn::slice<uint32_t>(
            work, std::array<uint32_t, 4>{0, 0, 0, 0}, std::array<uint32_t, 4>{wanted[0], wanted[1], wanted[2], wanted[3]},
            std::array<uint32_t, 4>{1, 1, 1, 1}, l1);
    }
    SHIM_CHECK(
        input.memory_config().memory_layout() == TensorMemoryLayout::HEIGHT_SHARDED && input.memory_config().shard_spec(),
        "input: fold takes height shards only, got {}", input.memory_config());
    const CoreRangeSet cores = args.grid_size.value_or(CoreRangeSet(CoreRange({0, 0}, {1, 1})));
    const auto orientation = input.memory_config().shard_spec()->orientation;
    const Shape first({s[0], channels, tall, s[3]}), second({s[0], channels, s[3], tall});
    Tensor work = transposed_rows(padded_to(input, first, {0, 0, sides[0], 0}, height_shards(first, cores, orientation)));
    const Shape third({s[0], channels, broad, tall});
    work = padded_to(work, third, {0, 0, sides[2], 0}, height_shards(third, cores, orientation));
    work = swapped(work, 1, work.memory_config());
    work = transposed_rows(viewed(work, Shape({s[0], broad / across, channels * across, tall})));
    work = viewed(work, Shape({s[0], broad / across, tall / down, channels * across * down}));
    work = swapped(work, 1, work.memory_config());
    const Shape wanted = args.output_shape.value_or(Shape({s[0], high / down, wide / across, channels * down * across}));
    return ttnn::slice<uint32_t>(
        work, std::array<uint32_t, 4>{0, 0, 0, 0}, std::array<uint32_t, 4>{wanted[0], wanted[1], wanted[2], wanted[3]},
        std::array<uint32_t, 4>{1, 1, 1, 1}, args.override_memory_config.value_or(height_shards(wanted, cores, orientation)));
}

/// Shards hold whole rows of neighbourhoods; others are dealt to as many cores as divide those rows.
Tensor with_whole_rows(const Tensor& input, uint32_t stride_h) {
    const Shape& s = input.logical_shape();
    const MemoryConfig& own = input.memory_config();
    const uint32_t row = stride_h * s[2], rows = s[0] * s[1] * s[2] / row;
    if (own.shard_spec()->shape[0] % row == 0) return input;
    const CoreCoord grid = machine_of(input).grid();
    auto count = static_cast<uint32_t>(grid.x * grid.y);
    while (rows % count != 0) --count;
    auto shard = *own.shard_spec();
    shard.shape[0] = round_up(s[0] * s[1] * s[2] / count, row);
    shard.grid = tt::tt_metal::num_cores_to_corerangeset(count, grid, true);
    return ttnn::to_memory_config(input, own.with_shard_spec(shard));
}

/// [N, H, W, C] -> [N, H / sh, W / sw, sh * sw * C]: every neighbourhood of pixels becomes one, row by row.
Tensor fold(const arguments::fold& args) {
    const OpScope scope("ttnn.fold");
    Tensor input = args.input;
    check_device_tensor(input, "input");
    const uint32_t down = args.stride_h, across = args.stride_w;
    SHIM_CHECK(input.logical_shape().rank() == 4, "input: expected shape [N, H, W, C], got {}", input.logical_shape());
    SHIM_CHECK(down > 0 && across > 0, "stride_h and stride_w: expected positive numbers, got {} and {}", down, across);
    const auto sides = sides_of(args.padding);
    if (args.use_transpose_as_fold) return folded_by_transposes(args, sides);
    const bool height = input.memory_config().memory_layout() == TensorMemoryLayout::HEIGHT_SHARDED && input.memory_config().is_l1() &&
                        input.memory_config().shard_spec();
    if (std::any_of(sides.begin(), sides.end(), [](uint32_t side) { return side != 0; })) {
        SHIM_SUPPORTED(!input.is_sharded(), "padding of shards is not supported; call ttnn.pad first");
        const ttsl::SmallVector<std::array<uint32_t, 2>> around{{0, 0}, {sides[0], sides[1]}, {sides[2], sides[3]}, {sides[4], sides[5]}};
        input = ttnn::pad(input, around, 0.0F, true, std::nullopt);
    }
    const Shape shape = input.logical_shape();
    SHIM_CHECK(
        shape[1] % down == 0 && shape[2] % across == 0, "stride_h and stride_w: {} x {} do not divide shape {}", down, across, shape);
    if (input.layout() == Layout::TILE) input = ttnn::to_layout(input, Layout::ROW_MAJOR);
    const uint32_t rows = shape[1] / down, columns = shape[2] / across, width = down * across * shape[3];
    const Shape result = args.collapse_output ? Shape({1, 1, shape[0] * rows * columns, width}) : Shape({shape[0], rows, columns, width});
    const int64_t line = int64_t{shape[2]} * shape[3], stick = shape[3];
    MemoryConfig memory = input.is_sharded() ? MemoryConfig(input.memory_config().buffer_type()) : input.memory_config();
    if (height) {
        input = with_whole_rows(input, down);
        auto shard = *input.memory_config().shard_spec();
        shard.shape = {shard.shape[0] / (down * across), shard.shape[1] * down * across};
        memory = input.memory_config().with_shard_spec(shard);
    }
    const auto dims = dense_target(Shape({shape[0] * rows, columns, down, across * shape[3]}), {line * down, stick * across, line, 1});
    const Program program{.op = strategy::Fold{}, .name = "Fold"};
    const DataType own = input.dtype();
    if (own == DataType::BFLOAT16 || own == DataType::FLOAT32 || own == DataType::UINT16)
        return moved(program, input, result, memory, dims);
    // The library calls the result of any other dtype BFLOAT16, whose bits would be those of the integers. Here it has their values.
    return launch(program, {input}, {make_spec(result, DataType::BFLOAT16, input.layout(), memory)}, [=](std::span<const Tensor> outputs) {
        const F32Values values(input);
        std::vector<float> folded(input.logical_volume());
        strided_copy(sizeof(float), reinterpret_cast<const std::byte*>(values.data()), reinterpret_cast<std::byte*>(folded.data()), dims);
        write_f32(outputs[0], folded);
    })[0];
}

}  // namespace

SHIM_OP("ttnn.fold", fold);

namespace ttnn {

Tensor fold(
    const Tensor& input, uint32_t stride_h, uint32_t stride_w, bool use_transpose_as_fold, const std::optional<const Shape>& output_shape,
    std::variant<std::array<uint32_t, 2>, std::array<uint32_t, 4>, std::array<uint32_t, 6>> padding,
    const std::optional<CoreRangeSet>& core_grid, const std::optional<MemoryConfig>& override_memory_config, bool collapse_output) {
    return ::fold(
        {.input = input,
         .stride_h = stride_h,
         .stride_w = stride_w,
         .use_transpose_as_fold = use_transpose_as_fold,
         .output_shape = output_shape,
         .padding = std::visit([](const auto& sides) { return std::vector<uint32_t>(sides.begin(), sides.end()); }, padding),
         .grid_size = core_grid,
         .override_memory_config = override_memory_config,
         .collapse_output = collapse_output});
}

}  // namespace ttnn
