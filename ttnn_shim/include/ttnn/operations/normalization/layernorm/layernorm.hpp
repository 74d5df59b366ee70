// ttnn::layer_norm over the last dimension.
#pragma once

#include <optional>

#include "ttnn/operations/core/compute_kernel/compute_kernel_config.hpp"
#include "ttnn/operations/normalization/norm_program_configs.hpp"
#include "ttnn/types.hpp"

namespace ttnn {

/// (x + residual - mean) / sqrt(var + epsilon) * weight + bias.
Tensor layer_norm(
    const Tensor& input_tensor, float epsilon = 1e-12F, const std::optional<const Tensor>& weight = std::nullopt,
    const std::optional<const Tensor>& bias = std::nullopt, const std::optional<const Tensor>& residual_input_tensor = std::nullopt,
    const std::optional<MemoryConfig>& memory_config = std::nullopt,
    const std::optional<const prim::LayerNormProgramConfig>& program_config = std::nullopt,
    std::optional<const ComputeKernelConfig> compute_kernel_config = std::nullopt,
    const std::optional<const Tensor>& recip_tensor = std::nullopt);

}  // namespace ttnn
