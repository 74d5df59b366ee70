// ttnn::rms_norm of one part of the last dimension, with the statistics of all parts.
#pragma once

#include <optional>

#include "ttnn/operations/core/compute_kernel/compute_kernel_config.hpp"
#include "ttnn/operations/normalization/norm_program_configs.hpp"
#include "ttnn/types.hpp"

namespace ttnn {

/// `stats`: what rms_norm_pre_all_gather gives for every part, side by side.
Tensor rms_norm_post_all_gather(
    const Tensor& input_tensor, const Tensor& stats, float epsilon = 1e-12F, const std::optional<const Tensor>& weight = std::nullopt,
    const std::optional<const Tensor>& bias = std::nullopt, const std::optional<MemoryConfig>& memory_config = std::nullopt,
    std::optional<const ComputeKernelConfig> compute_kernel_config = std::nullopt,
    const std::optional<const prim::LayerNormProgramConfig>& program_config = std::nullopt,
    const std::optional<const DataType>& dtype = std::nullopt, const std::optional<bool>& use_2d_core_grid = std::nullopt);

}  // namespace ttnn
