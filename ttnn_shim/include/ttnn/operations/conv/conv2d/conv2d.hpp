// ttnn::conv2d: NHWC activations as [1, 1, N*H*W, C], weights OIHW on the host or prepared on the device.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <tuple>
#include <variant>

#include "ttnn/operations/conv/conv2d/conv2d_config.hpp"
#include "ttnn/operations/core/compute_kernel/compute_kernel_config.hpp"
#include "ttnn/operations/sliding_window/op_slicing/op_slicing.hpp"
#include "ttnn/types.hpp"

namespace ttnn {

using OutputHeight = uint32_t;
using OutputWidth = uint32_t;
using Conv2dSliceConfig = operations::op_slicing::Op2DSliceConfig;
/// The output; with return_output_dim its height and width; with return_weights_and_bias the prepared weights and bias.
using Conv2dResultWithOptions = std::variant<
    Tensor, std::tuple<Tensor, std::tuple<OutputHeight, OutputWidth>>, std::tuple<Tensor, std::tuple<Tensor, std::optional<Tensor>>>,
    std::tuple<Tensor, std::tuple<OutputHeight, OutputWidth>, std::tuple<Tensor, std::optional<Tensor>>>>;

Conv2dResultWithOptions conv2d(
    const Tensor& input_tensor, const Tensor& weight_tensor, MeshDevice* device, uint32_t in_channels, uint32_t out_channels,
    uint32_t batch_size, uint32_t input_height, uint32_t input_width, std::array<uint32_t, 2> kernel_size,
    std::array<uint32_t, 2> stride = {1, 1},
    std::variant<std::array<uint32_t, 2>, std::array<uint32_t, 4>> padding = std::array<uint32_t, 2>{0, 0},
    std::array<uint32_t, 2> dilation = {1, 1}, uint32_t groups = 1, const std::optional<const DataType>& dtype = std::nullopt,
    const std::optional<const Tensor>& bias_tensor = std::nullopt, const std::optional<const Conv2dConfig>& conv_config = std::nullopt,
    const std::optional<const ComputeKernelConfig>& compute_config = std::nullopt,
    const std::optional<const MemoryConfig>& memory_config = std::nullopt,
    const std::optional<const Conv2dSliceConfig>& slice_config = std::nullopt, bool return_output_dim = false,
    bool return_weights_and_bias = false);

}  // namespace ttnn
