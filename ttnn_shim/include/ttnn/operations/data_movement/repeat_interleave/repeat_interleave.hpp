// ttnn::repeat_interleave: each value of a dimension several times in a row.
#pragma once

#include <optional>

#include "ttnn/types.hpp"

namespace ttnn {

Tensor repeat_interleave(
    const Tensor& input, uint32_t repeats, int32_t dim, const std::optional<MemoryConfig>& memory_config = std::nullopt);

}  // namespace ttnn
