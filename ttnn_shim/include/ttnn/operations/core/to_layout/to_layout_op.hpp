// ttnn::to_layout: row-major <-> tile pages.
#pragma once

#include <optional>

#include "ttnn/types.hpp"

namespace ttnn {

Tensor to_layout(
    const Tensor& tensor, Layout layout, const std::optional<DataType>& dtype = std::nullopt,
    const std::optional<MemoryConfig>& memory_config = std::nullopt, const std::optional<CoreRangeSet>& sub_core_grids = std::nullopt,
    float pad_value = 0.0F);

}  // namespace ttnn
