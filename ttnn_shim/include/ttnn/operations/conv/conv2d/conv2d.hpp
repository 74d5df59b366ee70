// ttnn::conv2d and the preparation of its weights.
#pragma once

#include <string>

#include "ttnn/operations/conv/conv_types.hpp"
#include "ttnn/operations/core/compute_kernel/compute_kernel_config.hpp"

namespace ttnn {

/// Input [1, 1, N*H*W, C] or [N, H, W, C] (channels last) -> [1, 1, N*OH*OW, O]. Weight: OIHW on the host, or prepared.
operations::conv::ConvResult conv2d(
    const Tensor& input_tensor, const Tensor& weight_tensor, MeshDevice* device, uint32_t in_channels, uint32_t out_channels, uint32_t batch_size,
    uint32_t input_height, uint32_t input_width, std::array<uint32_t, 2> kernel_size, std::array<uint32_t, 2> stride = {1, 1},
    std::variant<std::array<uint32_t, 2>, std::array<uint32_t, 4>> padding = std::array<uint32_t, 2>{0, 0}, std::array<uint32_t, 2> dilation = {1, 1},
    uint32_t groups = 1, const std::optional<const DataType>& dtype = std::nullopt, const std::optional<const Tensor>& bias_tensor = std::nullopt,
    const std::optional<const Conv2dConfig>& conv_config = std::nullopt, const std::optional<const ComputeKernelConfig>& compute_config = std::nullopt,
    const std::optional<const MemoryConfig>& memory_config = std::nullopt, const std::optional<const Op2DSliceConfig>& slice_config = std::nullopt,
    bool return_output_dim = false, bool return_weights_and_bias = false);

namespace operations::conv::conv2d {

/// OIHW on the host -> [1, 1, KH*KW*C, O] in TILE layout on the device.
Tensor prepare_conv_weights(
    const Tensor& weight_tensor, const MemoryConfig& input_memory_config, Layout input_layout, const std::string& weights_format, uint32_t in_channels,
    uint32_t out_channels, uint32_t batch_size, uint32_t input_height, uint32_t input_width, std::array<uint32_t, 2> kernel_size,
    std::array<uint32_t, 2> stride, std::variant<std::array<uint32_t, 2>, std::array<uint32_t, 4>> padding, std::array<uint32_t, 2> dilation, bool has_bias,
    uint32_t groups, MeshDevice* device, DataType input_dtype, const std::optional<const DataType>& output_dtype = std::nullopt,
    const std::optional<const Conv2dConfig>& conv_config = std::nullopt, const std::optional<const ComputeKernelConfig>& compute_config = std::nullopt,
    const std::optional<const Op2DSliceConfig>& slice_config = std::nullopt);
Tensor prepare_conv_bias(
    const Tensor& bias_tensor, const MemoryConfig& input_memory_config, Layout input_layout, uint32_t in_channels, uint32_t out_channels, uint32_t batch_size,
    uint32_t input_height, uint32_t input_width, std::array<uint32_t, 2> kernel_size, std::array<uint32_t, 2> stride,
    std::variant<std::array<uint32_t, 2>, std::array<uint32_t, 4>> padding, std::array<uint32_t, 2> dilation, uint32_t groups, MeshDevice* device,
    DataType input_dtype, const std::optional<const DataType>& output_dtype = std::nullopt, const std::optional<const Conv2dConfig>& conv_config = std::nullopt,
    const std::optional<const ComputeKernelConfig>& compute_config = std::nullopt,
    const std::optional<const Op2DSliceConfig>& slice_config = std::nullopt);

}  // namespace operations::conv::conv2d
}  // namespace ttnn
