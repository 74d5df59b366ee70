// Composites of unary ops, and clamp, which TT-NN declares here too.
#pragma once

#include <optional>

#include "ttnn/operations/eltwise/ternary/ternary.hpp"  // IWYU pragma: export
#include "ttnn/operations/eltwise/unary/unary.hpp"      // IWYU pragma: export
#include "ttnn/types.hpp"

namespace ttnn {

/// Pairs of values along the last dimension as complex numbers, times i: (a, b) becomes (-b, a).
Tensor alt_complex_rotate90(
    const Tensor& input_tensor, const std::optional<MemoryConfig>& memory_config = std::nullopt,
    const std::optional<Tensor>& output_tensor = std::nullopt, const std::optional<CoreRangeSet>& sub_core_grids = std::nullopt);
/// Log of the multivariate gamma function of dimension 4.
Tensor multigammaln(const Tensor& input_tensor, const std::optional<MemoryConfig>& memory_config = std::nullopt);
/// Of rank 4, over the last two dimensions: (x - mean) / standard deviation, variance and standard deviation of the population.
Tensor normalize_hw(const Tensor& input_tensor, const std::optional<MemoryConfig>& memory_config = std::nullopt);
/// The same over all values.
Tensor normalize_global(const Tensor& input_tensor, const std::optional<MemoryConfig>& memory_config = std::nullopt);
Tensor var_hw(const Tensor& input_tensor, const std::optional<MemoryConfig>& memory_config = std::nullopt);
Tensor std_hw(const Tensor& input_tensor, const std::optional<MemoryConfig>& memory_config = std::nullopt);
Tensor geglu(const Tensor& input_tensor, int dim, const std::optional<MemoryConfig>& memory_config, operations::unary::GeluVariant variant);

}  // namespace ttnn
