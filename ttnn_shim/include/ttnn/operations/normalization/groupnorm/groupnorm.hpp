// ttnn::group_norm over [N, 1, H*W, C].
#pragma once

#include <optional>

#include "ttnn/operations/core/compute_kernel/compute_kernel_config.hpp"
#include "ttnn/types.hpp"

namespace ttnn {

Tensor group_norm(
    const Tensor& input_tensor, int num_groups, float epsilon = 1e-12F, const std::optional<Tensor>& input_mask = std::nullopt,
    const std::optional<Tensor>& weight = std::nullopt, const std::optional<Tensor>& bias = std::nullopt,
    const std::optional<MemoryConfig>& memory_config = std::nullopt, std::optional<DataType> dtype = std::nullopt,
    std::optional<CoreGrid> core_grid = std::nullopt, std::optional<bool> inplace = true,
    std::optional<Layout> output_layout = std::nullopt, std::optional<int> num_out_blocks = std::nullopt,
    std::optional<ComputeKernelConfig> compute_kernel_config = std::nullopt, const std::optional<Tensor>& negative_mask = std::nullopt,
    bool use_welford = false);

}  // namespace ttnn
