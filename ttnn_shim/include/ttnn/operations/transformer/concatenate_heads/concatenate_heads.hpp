// [B, H, S, D] -> [B, S, H * D].
#pragma once

#include <optional>

#include "ttnn/types.hpp"

namespace ttnn::transformer {

Tensor concatenate_heads(const Tensor& input_tensor, const std::optional<MemoryConfig>& memory_config = std::nullopt);

}  // namespace ttnn::transformer
