// ttnn::batch_norm over the channels of [N, C, H, W].
#pragma once

#include <optional>

#include "ttnn/operations/core/compute_kernel/compute_kernel_config.hpp"
#include "ttnn/types.hpp"

namespace ttnn {

/// With training, the batch's own statistics are used and the running ones (when given) updated in place.
Tensor batch_norm(
    const Tensor& input, std::optional<Tensor> running_mean = std::nullopt, std::optional<Tensor> running_var = std::nullopt,
    bool training = false, float eps = 1e-5F, float momentum = 0.1F, const std::optional<Tensor>& weight = std::nullopt,
    const std::optional<Tensor>& bias = std::nullopt, const std::optional<Tensor>& output = std::nullopt,
    const std::optional<MemoryConfig>& memory_config = std::nullopt,
    const std::optional<ComputeKernelConfig>& compute_kernel_config = std::nullopt);

}  // namespace ttnn
