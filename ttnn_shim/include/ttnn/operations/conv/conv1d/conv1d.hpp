// ttnn::conv1d: conv2d with a width of one.
#pragma once

#include "ttnn/operations/conv/conv2d/conv2d.hpp"

namespace ttnn {

using Conv1dConfig = Conv2dConfig;
using OutputLength = uint32_t;
using Conv1dResult = std::variant<
    Tensor, std::tuple<Tensor, OutputLength>, std::tuple<Tensor, std::tuple<Tensor, std::optional<Tensor>>>,
    std::tuple<Tensor, OutputLength, std::tuple<Tensor, std::optional<Tensor>>>>;

Conv1dResult conv1d(
    const Tensor& input_tensor, const Tensor& weight_tensor, MeshDevice* device, uint32_t in_channels, uint32_t out_channels,
    uint32_t batch_size, uint32_t input_length, uint32_t kernel_size, uint32_t stride = 1,
    std::variant<std::array<uint32_t, 2>, uint32_t> padding = uint32_t{0}, uint32_t dilation = 1, uint32_t groups = 1,
    const std::optional<const DataType>& dtype = std::nullopt, const std::optional<const Tensor>& bias_tensor = std::nullopt,
    const std::optional<const Conv2dConfig>& conv_config = std::nullopt,
    const std::optional<const ComputeKernelConfig>& compute_config = std::nullopt,
    const std::optional<const MemoryConfig>& memory_config = std::nullopt,
    const std::optional<const Conv2dSliceConfig>& slice_config = std::nullopt, bool return_output_dim = false,
    bool return_weights_and_bias = false);

}  // namespace ttnn
