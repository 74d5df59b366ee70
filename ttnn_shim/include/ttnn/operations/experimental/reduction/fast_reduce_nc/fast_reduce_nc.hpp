// Sums over dimensions before the last two.
#pragma once

#include <optional>
#include <vector>

#include "tt_stl/span.hpp"
#include "ttnn/operations/core/compute_kernel/compute_kernel_config.hpp"
#include "ttnn/types.hpp"

namespace ttnn::experimental::reduction {

Tensor fast_reduce_nc(
    const Tensor& input, ttsl::Span<const int32_t> dims, const std::optional<const Tensor>& output = std::nullopt,
    const MemoryConfig& memory_config = DRAM_MEMORY_CONFIG, std::optional<const ComputeKernelConfig> compute_kernel_config = std::nullopt,
    const std::optional<CoreRangeSet>& sub_core_grids = std::nullopt, const std::optional<DataType>& dtype = std::nullopt,
    bool fast_and_approximate_mode = false);
/// The sum cut into two of `split_output_width` columns.
std::vector<Tensor> fast_reduce_nc_split(
    const Tensor& input, int32_t dim, uint32_t split_output_width, const MemoryConfig& memory_config = DRAM_MEMORY_CONFIG,
    std::optional<const ComputeKernelConfig> compute_kernel_config = std::nullopt);

}  // namespace ttnn::experimental::reduction
