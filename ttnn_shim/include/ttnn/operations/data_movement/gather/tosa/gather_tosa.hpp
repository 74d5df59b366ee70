// TOSA's gather.
#pragma once

#include <optional>

#include "ttnn/types.hpp"

namespace ttnn::tosa {

/// Rows of `input` [N, K, C] picked by `index` [N, W].
Tensor gather(const Tensor& input, const Tensor& index, const std::optional<MemoryConfig>& memory_config = std::nullopt);

}  // namespace ttnn::tosa
