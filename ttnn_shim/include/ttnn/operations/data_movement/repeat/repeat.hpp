// ttnn::repeat: tile the tensor, dimension by dimension.
#pragma once

#include <optional>

#include "ttnn/types.hpp"

namespace ttnn {

Tensor repeat(
    const Tensor& input, const ttsl::SmallVector<uint32_t>& repetitions, const std::optional<MemoryConfig>& memory_config = std::nullopt,
    const std::optional<Tensor>& optional_output_tensor = std::nullopt);
Tensor repeat(const Tensor& input, const Shape& repetitions, const std::optional<Tensor>& optional_output_tensor = std::nullopt);

}  // namespace ttnn
