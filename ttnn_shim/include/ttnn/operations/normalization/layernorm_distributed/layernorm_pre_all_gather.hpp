// Row statistics of one part of the last dimension, for ttnn::layer_norm_post_all_gather.
#pragma once

#include <optional>

#include "ttnn/operations/core/compute_kernel/compute_kernel_config.hpp"
#include "ttnn/operations/normalization/norm_program_configs.hpp"
#include "ttnn/types.hpp"

namespace ttnn {

/// [..., 64]: sums of squares in column 0, sums in column 32.
Tensor layer_norm_pre_all_gather(
    const Tensor& input_tensor, DataType dtype = DataType::BFLOAT16,
    const std::optional<const Tensor>& residual_input_tensor = std::nullopt,
    std::optional<const ComputeKernelConfig> compute_kernel_config = std::nullopt,
    const std::optional<const prim::LayerNormProgramConfig>& program_config = std::nullopt,
    const std::optional<MemoryConfig>& memory_config = std::nullopt, const std::optional<const Tensor>& recip_tensor = std::nullopt,
    bool fast_and_approximate_mode = false);

}  // namespace ttnn
