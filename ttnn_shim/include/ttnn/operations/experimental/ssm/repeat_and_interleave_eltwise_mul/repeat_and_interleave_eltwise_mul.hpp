// Product of state-space models.
#pragma once

#include <optional>

#include "ttnn/types.hpp"

namespace ttnn::experimental {

/// a, repeated along the last dimension, times b, each of whose values is repeated.
Tensor repeat_and_interleave_eltwise_mul(
    const Tensor& a, const Tensor& b, const std::optional<MemoryConfig>& memory_config = std::nullopt,
    std::optional<DataType> dtype = std::nullopt, std::optional<MathFidelity> math_fidelity = std::nullopt);

}  // namespace ttnn::experimental
