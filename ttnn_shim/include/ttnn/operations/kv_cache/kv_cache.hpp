// Key/value caches [B, heads, S, D], written in place.
#pragma once

#include <optional>

#include "ttnn/operations/core/compute_kernel/compute_kernel_config.hpp"
#include "ttnn/types.hpp"

namespace ttnn {

/// cache[batch_idx, :, update_idx .. update_idx + s, :] = input [1, heads, s, D].
Tensor fill_cache(const Tensor& cache, const Tensor& input, uint32_t batch_idx, uint32_t update_idx = 0);
Tensor fill_cache_for_user_(const Tensor& cache, const Tensor& input, uint32_t batch_index, uint32_t update_idx = 0);
/// cache[b, :, update_idx, :] = input[0, :, batch_offset + b, :], input [1, heads, users, D].
Tensor update_cache(
    const Tensor& cache, const Tensor& input, uint32_t update_idx, uint32_t batch_offset = 0,
    std::optional<const ComputeKernelConfig> compute_kernel_config = std::nullopt);
Tensor update_cache_for_token_(
    const Tensor& cache, const Tensor& input, uint32_t update_index, uint32_t batch_offset = 0,
    std::optional<const ComputeKernelConfig> compute_kernel_config = std::nullopt);

}  // namespace ttnn
