// ttnn::moreh_cumsum: ttnn::cumsum in the input's dtype.
#pragma once

#include <cstdint>
#include <optional>

#include "ttnn/types.hpp"

namespace ttnn {

Tensor moreh_cumsum(
    const Tensor& input, int64_t dim, const std::optional<Tensor>& output = std::nullopt,
    const std::optional<MemoryConfig>& memory_config = std::nullopt);
/// Sums from the end.
Tensor moreh_cumsum_backward(
    const Tensor& output_grad, int64_t dim, const std::optional<Tensor>& input_grad = std::nullopt,
    const std::optional<MemoryConfig>& memory_config = std::nullopt);

}  // namespace ttnn
