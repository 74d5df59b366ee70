// ttnn::reshape_on_device: reshape of rank 4.
#pragma once

#include <optional>

#include "tt_stl/span.hpp"
#include "ttnn/types.hpp"

namespace ttnn {

Tensor reshape_on_device(
    const Tensor& input_tensor, const Shape& logical_shape, const Shape& padded_shape,
    const std::optional<MemoryConfig>& memory_config = std::nullopt);
Tensor reshape_on_device(const Tensor& input_tensor, const Shape& shape, const std::optional<MemoryConfig>& memory_config = std::nullopt);
Tensor reshape_on_device(
    const Tensor& input_tensor, ttsl::Span<const int32_t> shape_vector, const std::optional<MemoryConfig>& memory_config = std::nullopt);

}  // namespace ttnn
