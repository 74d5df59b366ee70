// ttnn::move: put a tensor in the best place and free the old buffer.
#pragma once

#include <optional>

#include "ttnn/types.hpp"

namespace ttnn {

Tensor move(const Tensor& input_tensor, const std::optional<MemoryConfig>& memory_config = std::nullopt);

}  // namespace ttnn
