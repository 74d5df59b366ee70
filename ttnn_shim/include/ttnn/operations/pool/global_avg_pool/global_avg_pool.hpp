// ttnn::global_avg_pool2d: [N, H, W, C] -> [N, 1, 1, C].
#pragma once

#include <optional>

#include "ttnn/types.hpp"

namespace ttnn {

Tensor global_avg_pool2d(
    const Tensor& input, const std::optional<MemoryConfig>& memory_config = std::nullopt,
    const std::optional<DataType>& output_dtype = std::nullopt);

}  // namespace ttnn
