// ttnn::experimental::typecast.
#pragma once

#include <optional>

#include "ttnn/types.hpp"

namespace ttnn::experimental {

Tensor typecast(
    const Tensor& input_tensor, const DataType& dtype, const std::optional<MemoryConfig>& memory_config = std::nullopt,
    const std::optional<Tensor>& optional_output_tensor = std::nullopt);

}  // namespace ttnn::experimental
