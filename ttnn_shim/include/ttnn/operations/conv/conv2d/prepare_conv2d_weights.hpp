// Weights and bias of a convolution in the layout that the device reads, made once before the first forward call.
#pragma once

#include <string>

#include "ttnn/operations/conv/conv2d/conv2d.hpp"

namespace ttnn::operations::conv::conv2d {

/// [O, I / groups, KH, KW] on the host -> [1, 1, KH * KW * I, O] in tile layout on the device.
Tensor prepare_conv_weights(
    const Tensor& weight_tensor, const MemoryConfig& input_memory_config, Layout input_layout, const std::string& weights_format,
    uint32_t in_channels, uint32_t out_channels, uint32_t batch_size, uint32_t input_height, uint32_t input_width,
    std::array<uint32_t, 2> kernel_size, std::array<uint32_t, 2> stride,
    std::variant<std::array<uint32_t, 2>, std::array<uint32_t, 4>> padding, std::array<uint32_t, 2> dilation, bool has_bias,
    uint32_t groups, MeshDevice* device, DataType input_dtype, const std::optional<const DataType>& output_dtype = std::nullopt,
    const std::optional<const prim::Conv2dConfig>& conv_config = std::nullopt,
    const std::optional<const ComputeKernelConfig>& compute_config = std::nullopt,
    const std::optional<const op_slicing::Op2DSliceConfig>& slice_config = std::nullopt);

/// [1, 1, 1, O] on the host -> the same in tile layout on the device.
Tensor prepare_conv_bias(
    const Tensor& bias_tensor, const MemoryConfig& input_memory_config, Layout input_layout, uint32_t in_channels, uint32_t out_channels,
    uint32_t batch_size, uint32_t input_height, uint32_t input_width, std::array<uint32_t, 2> kernel_size, std::array<uint32_t, 2> stride,
    std::variant<std::array<uint32_t, 2>, std::array<uint32_t, 4>> padding, std::array<uint32_t, 2> dilation, uint32_t groups,
    MeshDevice* device, DataType input_dtype, const std::optional<const DataType>& output_dtype = std::nullopt,
    const std::optional<const prim::Conv2dConfig>& conv_config = std::nullopt,
    const std::optional<const ComputeKernelConfig>& compute_config = std::nullopt,
    const std::optional<const op_slicing::Op2DSliceConfig>& slice_config = std::nullopt);

}  // namespace ttnn::operations::conv::conv2d
