// ttnn::untilize: tile to row-major pages.
#pragma once

#include <optional>

#include "ttnn/types.hpp"

namespace ttnn {

Tensor untilize(
    const Tensor& input_tensor, const std::optional<MemoryConfig>& memory_config = std::nullopt, bool use_multicore = true,
    const std::optional<CoreRangeSet>& sub_core_grids = std::nullopt);

}  // namespace ttnn
