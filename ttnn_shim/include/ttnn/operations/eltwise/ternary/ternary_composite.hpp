// Composites of ternary ops.
#pragma once

#include <optional>

#include "ttnn/operations/eltwise/ternary/ternary.hpp"  // IWYU pragma: export
#include "ttnn/types.hpp"

namespace ttnn {

/// x + sin(alpha x)^2 / beta, alpha and beta along the last dimension.
Tensor snake_beta(
    const Tensor& input_tensor, const Tensor& alpha, const Tensor& beta, const std::optional<MemoryConfig>& memory_config = std::nullopt,
    const std::optional<Tensor>& output_tensor = std::nullopt);

}  // namespace ttnn
