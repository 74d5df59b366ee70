// ttnn::transpose: swap two dimensions.
#pragma once

#include <optional>

#include "ttnn/types.hpp"

namespace ttnn {

Tensor transpose(const Tensor& input, int64_t dim1, int64_t dim2, const std::optional<MemoryConfig>& memory_config, float pad_value = 0.0F);
Tensor transpose(const Tensor& input, int64_t dim1, int64_t dim2, float pad_value = 0.0F);

}  // namespace ttnn
