#include "ops/conv/program.hpp"

#include <algorithm>
#include <limits>

#include "ops/program_bytes.hpp"

namespace ttnn_shim {

Program conv_program(
    const Window& w, uint32_t groups, const ConvBlocks& blocks, const ConvCores& cores, Layout layout, const Conv2dConfig& config,
    const ttnn::ComputeKernelConfig& compute) {
    const strategy::Conv2d operation{
        .act_block_h = blocks.block_h,
        .act_block_w = blocks.block_w,
        .subblock_h = blocks.subblock_h,
        .subblock_w = blocks.subblock_w,
        .per_core_m = blocks.rows,
        .per_core_n = blocks.columns,
        .window_hw = {w.kernel_h, w.kernel_w},
        .stride = strategy::Pair{w.stride_h, w.stride_w},
        .num_cores_nhw = cores.pixels,
        .num_cores_c_in = cores.channels_in,
        .num_cores_c_out = cores.channels_out,
        .core_count = cores.pixels * cores.channels_in,
        .act_double_buffer = config.enable_act_double_buffer,
        .weights_double_buffer = config.enable_weights_double_buffer,
        .untilize_out = layout == Layout::ROW_MAJOR,
        .split_reader = config.force_split_reader,
        .activation_reuse = config.enable_activation_reuse,
        .out_width = w.out_w(),
        .dilation_w = w.dilation_w,
        .groups = groups};
    return {.op = operation, .compute = compute, .name = "Conv2dDeviceOperation"};
}

uint64_t conv_buffer_bytes(MeshDevice* device, const Program& program, const ConvTensors& tensors) {
    constexpr uint64_t TILE_EDGE = 32;
    const auto& operation = *program.op.get_if<strategy::Conv2d>();
    const auto extent = [](uint64_t value) {
        return static_cast<uint32_t>(std::min<uint64_t>(value, std::numeric_limits<uint32_t>::max()));
    };
    const auto channels_in = static_cast<uint64_t>(operation.num_cores_c_in.value_or(1));
    const MemoryConfig memory(
        tensors.scheme, BufferType::L1, tt::tt_metal::ShardSpec(tensors.cores, {extent(tensors.sticks), tensors.channels}));
    const TensorSpec rows = make_spec(
        Shape(
            {1, 1, extent(tensors.sticks * static_cast<uint64_t>(operation.num_cores_nhw.value_or(1))),
             extent(channels_in * tensors.channels)}),
        tensors.input_dtype, Layout::ROW_MAJOR, memory);
    // Each kernel row of each core's channels ends on a tile.
    const uint64_t kernel_row = (operation.window_hw[1] * uint64_t{tensors.channels} + TILE_EDGE - 1) / TILE_EDGE * TILE_EDGE;
    const uint64_t depth = channels_in * static_cast<uint64_t>(operation.window_hw[0]) * kernel_row,
                   across = static_cast<uint64_t>(operation.num_cores_c_out.value_or(1) * operation.per_core_n) * TILE_EDGE;
    const TensorSpec weights = make_spec(Shape({1, 1, extent(depth), extent(across)}), tensors.weight_dtype, Layout::TILE);
    return circular_buffer_bytes(device, program, {rows, weights}, {tensors.output});
}

}  // namespace ttnn_shim
