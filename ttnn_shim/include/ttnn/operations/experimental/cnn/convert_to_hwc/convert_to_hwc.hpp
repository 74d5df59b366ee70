// Channels last.
#pragma once

#include <optional>

#include "ttnn/types.hpp"

namespace ttnn::experimental {

/// [1, B, C, H * W] in width shards -> [1, 1, B * H * W, C] in height shards.
Tensor convert_to_hwc(
    const Tensor& a, const std::optional<MemoryConfig>& memory_config = std::nullopt, const std::optional<DataType>& dtype = std::nullopt);

}  // namespace ttnn::experimental
