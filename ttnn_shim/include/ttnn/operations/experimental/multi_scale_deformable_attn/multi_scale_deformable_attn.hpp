// Multi-scale deformable attention.
#pragma once

#include <optional>

#include "ttnn/types.hpp"

namespace ttnn::experimental {

Tensor multi_scale_deformable_attn(
    const Tensor& value, const Tensor& grid, const Tensor& attn, const std::optional<MemoryConfig>& memory_config = std::nullopt,
    bool align_corners = false);

}  // namespace ttnn::experimental
