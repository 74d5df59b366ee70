// ttnn::fold: neighbourhoods of pixels become channels.
#pragma once

#include <array>
#include <optional>
#include <variant>

#include "ttnn/types.hpp"

namespace ttnn {

/// [N, H, W, C] -> [N, H / stride_h, W / stride_w, stride_h * stride_w * C], or all pixels in one dimension with `collapse_output`.
Tensor fold(
    const Tensor& input, uint32_t stride_h, uint32_t stride_w, bool use_transpose_as_fold = false,
    const std::optional<const Shape>& output_shape = std::nullopt,
    std::variant<std::array<uint32_t, 2>, std::array<uint32_t, 4>, std::array<uint32_t, 6>> padding = std::array<uint32_t, 2>{0, 0},
    const std::optional<CoreRangeSet>& core_grid = std::nullopt, const std::optional<MemoryConfig>& override_memory_config = std::nullopt,
    bool collapse_output = false);

}  // namespace ttnn
