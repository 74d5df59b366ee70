// ttnn::untilize_with_unpadding: tile to row-major pages, cut after `output_tensor_end` (inclusive).
#pragma once

#include <optional>

#include "ttnn/types.hpp"

namespace ttnn {

Tensor untilize_with_unpadding(
    const Tensor& input_tensor, const Shape& output_tensor_end, const std::optional<MemoryConfig>& memory_config = std::nullopt,
    bool use_multicore = true, const std::optional<CoreRangeSet>& sub_core_grids = std::nullopt);

}  // namespace ttnn
