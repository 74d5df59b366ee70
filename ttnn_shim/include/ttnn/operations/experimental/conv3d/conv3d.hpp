// ttnn::experimental::conv3d over [N, D, H, W, C].
#pragma once

#include <array>
#include <optional>
#include <string>

#include "ttnn/operations/core/compute_kernel/compute_kernel_config.hpp"
#include "ttnn/operations/experimental/conv3d/device/conv3d_device_operation_types.hpp"
#include "ttnn/types.hpp"

namespace ttnn::experimental {

/// Weights [D * H * W * in, out] as prepare_conv3d_weights makes them, or on the host [out, in, D, H, W].
Tensor conv3d(
    const Tensor& input_tensor, const Tensor& weight_tensor, std::optional<MeshDevice*> device, const std::optional<Tensor>& bias_tensor,
    const std::optional<prim::Conv3dConfig>& config, DataType dtype, uint32_t output_channels, const std::array<uint32_t, 3>& kernel_size,
    const std::array<uint32_t, 3>& stride = {1, 1, 1}, const std::array<uint32_t, 3>& padding = {0, 0, 0},
    const std::array<uint32_t, 3>& dilation = {1, 1, 1}, const std::string& padding_mode = "zeros", uint32_t groups = 1,
    const std::optional<MemoryConfig>& memory_config = std::nullopt,
    std::optional<ComputeKernelConfig> compute_kernel_config = std::nullopt, const std::optional<Tensor>& halo_buffer = std::nullopt,
    uint32_t logical_h_mask = 0, uint32_t logical_w_mask = 0, const std::optional<Tensor>& pad_offset_tensor = std::nullopt,
    uint32_t output_pad_h = 0, uint32_t output_pad_w = 0, const std::optional<Tensor>& weight_lo_tensor = std::nullopt);

}  // namespace ttnn::experimental
