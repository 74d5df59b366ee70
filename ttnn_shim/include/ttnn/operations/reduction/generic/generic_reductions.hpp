// Reductions over dimensions.
#pragma once

#include <optional>
#include <variant>

#include "ttnn/operations/core/compute_kernel/compute_kernel_config.hpp"
#include "ttnn/types.hpp"

namespace ttnn {

using ReductionDims = std::optional<std::variant<int, int64_t, ttsl::SmallVector<int>>>;

/// `scalar` multiplies the result. Without `dim` all dimensions are reduced.
Tensor sum(
    const Tensor& input_tensor, const std::optional<std::variant<int, int64_t, ttsl::SmallVector<int>>>& dim = std::nullopt,
    bool keepdim = false, const std::optional<MemoryConfig>& memory_config = std::nullopt,
    const std::optional<ComputeKernelConfig>& compute_kernel_config = std::nullopt, float scalar = 1.0F, bool correction = true,
    const std::optional<CoreRangeSet>& sub_core_grids = std::nullopt, bool fast_and_approximate_mode = false,
    const std::optional<Layout>& output_layout = std::nullopt);
Tensor mean(
    const Tensor& input_tensor, const std::optional<std::variant<int, int64_t, ttsl::SmallVector<int>>>& dim = std::nullopt,
    bool keepdim = false, const std::optional<MemoryConfig>& memory_config = std::nullopt,
    const std::optional<ComputeKernelConfig>& compute_kernel_config = std::nullopt, float scalar = 1.0F, bool correction = true,
    const std::optional<CoreRangeSet>& sub_core_grids = std::nullopt, bool fast_and_approximate_mode = false,
    const std::optional<Layout>& output_layout = std::nullopt);
Tensor max(
    const Tensor& input_tensor, const std::optional<std::variant<int, int64_t, ttsl::SmallVector<int>>>& dim = std::nullopt,
    bool keepdim = false, const std::optional<MemoryConfig>& memory_config = std::nullopt,
    const std::optional<ComputeKernelConfig>& compute_kernel_config = std::nullopt, float scalar = 1.0F, bool correction = true,
    const std::optional<CoreRangeSet>& sub_core_grids = std::nullopt, bool fast_and_approximate_mode = false);
Tensor min(
    const Tensor& input_tensor, const std::optional<std::variant<int, int64_t, ttsl::SmallVector<int>>>& dim = std::nullopt,
    bool keepdim = false, const std::optional<MemoryConfig>& memory_config = std::nullopt,
    const std::optional<ComputeKernelConfig>& compute_kernel_config = std::nullopt, float scalar = 1.0F, bool correction = true,
    const std::optional<CoreRangeSet>& sub_core_grids = std::nullopt, bool fast_and_approximate_mode = false);
/// With `correction` divided by n - 1.
Tensor var(
    const Tensor& input_tensor, const std::optional<std::variant<int, int64_t, ttsl::SmallVector<int>>>& dim = std::nullopt,
    bool keepdim = false, const std::optional<MemoryConfig>& memory_config = std::nullopt,
    const std::optional<ComputeKernelConfig>& compute_kernel_config = std::nullopt, float scalar = 1.0F, bool correction = true,
    const std::optional<CoreRangeSet>& sub_core_grids = std::nullopt);
Tensor std(
    const Tensor& input_tensor, const ::std::optional<::std::variant<int, int64_t, ttsl::SmallVector<int>>>& dim = ::std::nullopt,
    bool keepdim = false, const ::std::optional<MemoryConfig>& memory_config = ::std::nullopt,
    const ::std::optional<ComputeKernelConfig>& compute_kernel_config = ::std::nullopt, float scalar = 1.0F, bool correction = true,
    const ::std::optional<CoreRangeSet>& sub_core_grids = ::std::nullopt);
Tensor prod(
    const Tensor& input_tensor, ::std::optional<int64_t> dim = ::std::nullopt, bool keepdim = false,
    const ::std::optional<MemoryConfig>& memory_config = ::std::nullopt);

}  // namespace ttnn
