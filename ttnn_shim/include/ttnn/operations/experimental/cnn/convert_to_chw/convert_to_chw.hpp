// Channels first.
#pragma once

#include <optional>

#include "ttnn/types.hpp"

namespace ttnn::experimental {

/// [1, 1, H * W, C] in height shards -> [1, 1, C, H * W] in width shards.
Tensor convert_to_chw(const Tensor& a, const std::optional<DataType>& dtype = std::nullopt);

}  // namespace ttnn::experimental
