// ttnn::nonzero: places of values that are not zero.
#pragma once

#include <optional>
#include <vector>

#include "ttnn/types.hpp"

namespace ttnn {

/// {count in a row of 8, a row of 4 indices per value} of a tensor of rank 4.
std::vector<Tensor> nonzero(const Tensor& input_tensor, const std::optional<MemoryConfig>& memory_config = std::nullopt);

}  // namespace ttnn
