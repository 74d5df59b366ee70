// TOSA's scatter.
#pragma once

#include <optional>

#include "ttnn/types.hpp"

namespace ttnn {

/// Rows of `input` [N, K, C] at `index` [N, W] replaced by `src` [N, W, C].
Tensor tosa_scatter(
    const Tensor& input, const Tensor& index, const Tensor& src, const std::optional<MemoryConfig>& memory_config = std::nullopt);

}  // namespace ttnn
