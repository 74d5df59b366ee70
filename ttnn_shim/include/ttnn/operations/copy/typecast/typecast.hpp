// ttnn::typecast: convert a tensor to another data type.
#pragma once

#include <optional>

#include "ttnn/types.hpp"

namespace ttnn {

Tensor typecast(
    const Tensor& input, const DataType& output_dtype, const std::optional<MemoryConfig>& memory_config = std::nullopt,
    const std::optional<Tensor>& optional_output_tensor = std::nullopt, const std::optional<CoreRangeSet>& sub_core_grids = std::nullopt);
Tensor typecast(
    const Tensor& input, const DataType& input_dtype, const DataType& output_dtype,
    const std::optional<MemoryConfig>& memory_config = std::nullopt, const std::optional<Tensor>& optional_output_tensor = std::nullopt,
    const std::optional<CoreRangeSet>& sub_core_grids = std::nullopt);

}  // namespace ttnn
