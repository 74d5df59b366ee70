// The device program of a convolution on rows that are gathered already, and the L1 that it takes.
#pragma once

#include "ops/conv/convolution.hpp"

namespace ttnn_shim {

/// Tiles that a core multiplies.
struct ConvBlocks {
    uint32_t rows = 1, columns = 1;     ///< of its result
    uint32_t block_h = 1, block_w = 1;  ///< of an activation block
    uint32_t subblock_h = 1, subblock_w = 1;
};

/// Cores that share the pixels, the channels of the input and those of the result.
struct ConvCores {
    uint32_t pixels = 1, channels_in = 1, channels_out = 1;
};

/// w: as the device runs it, over the spread input of a transposed convolution. layout: of the result.
Program conv_program(
    const Window& w, uint32_t groups, const ConvBlocks& blocks, const ConvCores& cores, Layout layout, const Conv2dConfig& config,
    const ttnn::ComputeKernelConfig& compute);

/// A convolution's tensors on its cores, for programs that are only considered.
struct ConvTensors {
    CoreRangeSet cores;
    TensorMemoryLayout scheme = TensorMemoryLayout::HEIGHT_SHARDED;
    DataType input_dtype = DataType::BFLOAT16, weight_dtype = DataType::BFLOAT16;
    uint64_t sticks = 1;    ///< gathered rows of a core
    uint32_t channels = 1;  ///< of the input, on a core
    TensorSpec output;
};

/// Bytes of circular buffers per core.
uint64_t conv_buffer_bytes(MeshDevice* device, const Program& program, const ConvTensors& tensors);

}  // namespace ttnn_shim
