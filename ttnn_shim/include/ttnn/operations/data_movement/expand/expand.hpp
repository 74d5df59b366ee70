// ttnn::expand: broadcast dimensions of size 1; -1 keeps a dimension.
#pragma once

#include <optional>

#include "tt_stl/span.hpp"
#include "ttnn/types.hpp"

namespace ttnn {

Tensor expand(const Tensor& input, ttsl::Span<const int32_t> output_shape, const std::optional<MemoryConfig>& memory_config = std::nullopt);

namespace experimental {
Tensor broadcast_to(
    const Tensor& input, const Shape& output_shape, const std::optional<MemoryConfig>& memory_config = std::nullopt,
    const std::optional<Tensor>& output = std::nullopt);
}

}  // namespace ttnn
