// ttnn::conv_transpose2d: transposed convolution, weights [in, out / groups, kh, kw].
#pragma once

#include "ttnn/operations/conv/conv2d/conv2d.hpp"

namespace ttnn {

using ConvTranspose2dResultWithOptions = Conv2dResultWithOptions;

ConvTranspose2dResultWithOptions conv_transpose2d(
    const Tensor& input_tensor, const Tensor& weight_tensor, MeshDevice* device, uint32_t in_channels, uint32_t out_channels,
    uint32_t batch_size, uint32_t input_height, uint32_t input_width, std::array<uint32_t, 2> kernel_size,
    std::array<uint32_t, 2> stride = {1, 1},
    std::variant<std::array<uint32_t, 2>, std::array<uint32_t, 4>> padding = std::array<uint32_t, 2>{0, 0},
    std::array<uint32_t, 2> output_padding = {0, 0}, std::array<uint32_t, 2> dilation = {1, 1}, uint32_t groups = 1,
    const std::optional<const DataType>& dtype = std::nullopt, const std::optional<const Tensor>& bias_tensor = std::nullopt,
    const std::optional<const Conv2dConfig>& conv_config = std::nullopt,
    const std::optional<const ComputeKernelConfig>& compute_config = std::nullopt,
    const std::optional<const MemoryConfig>& memory_config = std::nullopt,
    const std::optional<const Conv2dSliceConfig>& dram_slice_config = std::nullopt, bool mirror_kernel = true,
    bool return_output_dim = false, bool return_weights_and_bias = false);

}  // namespace ttnn
