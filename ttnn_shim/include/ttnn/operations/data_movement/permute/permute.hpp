// ttnn::permute: reorder dimensions.
#pragma once

#include <optional>

#include "ttnn/types.hpp"

namespace ttnn {

Tensor permute(
    const Tensor& input, const ttsl::SmallVector<int64_t>& dims, const std::optional<MemoryConfig>& memory_config, float pad_value = 0.0F);
Tensor permute(const Tensor& input, const ttsl::SmallVector<int64_t>& dims, float pad_value = 0.0F);

}  // namespace ttnn
