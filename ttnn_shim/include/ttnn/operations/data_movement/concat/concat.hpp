// ttnn::concat: join tensors along a dimension.
#pragma once

#include <optional>
#include <vector>

#include "ttnn/types.hpp"

namespace ttnn {

Tensor concat(
    const std::vector<Tensor>& tensors, int dim, const std::optional<MemoryConfig>& memory_config = std::nullopt,
    const std::optional<Tensor>& output = std::nullopt, unsigned int groups = 1,
    const std::optional<CoreRangeSet>& sub_core_grids = std::nullopt);

}  // namespace ttnn
