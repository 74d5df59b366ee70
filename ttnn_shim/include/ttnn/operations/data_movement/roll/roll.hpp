// ttnn::roll: rotate values along dimensions.
#pragma once

#include <optional>

#include "ttnn/types.hpp"

namespace ttnn {

Tensor roll(
    const Tensor& input, const ttsl::SmallVector<int>& shifts, const ttsl::SmallVector<int>& dims,
    const std::optional<MemoryConfig>& memory_config = std::nullopt);
Tensor roll(const Tensor& input, int shift, int dim, const std::optional<MemoryConfig>& memory_config = std::nullopt);
/// Rolls the flattened tensor.
Tensor roll(const Tensor& input, int shift, const std::optional<MemoryConfig>& memory_config = std::nullopt);

}  // namespace ttnn
