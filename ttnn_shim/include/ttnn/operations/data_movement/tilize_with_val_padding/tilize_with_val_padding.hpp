// ttnn::tilize_with_val_padding: row-major to tile pages, padded to a tile aligned shape.
#pragma once

#include <optional>
#include <variant>

#include "ttnn/types.hpp"

namespace ttnn {

Tensor tilize_with_val_padding(
    const Tensor& input_tensor, const Shape& output_padded_shape, std::variant<uint32_t, float> pad_value,
    const std::optional<MemoryConfig>& memory_config = std::nullopt, std::optional<DataType> output_dtype = std::nullopt,
    bool use_multicore = true, const std::optional<CoreRangeSet>& sub_core_grids = std::nullopt);
Tensor tilize_with_val_padding(
    const Tensor& input_tensor, const SmallVector<uint32_t>& output_padded_shape, std::variant<uint32_t, float> pad_value,
    const std::optional<MemoryConfig>& memory_config = std::nullopt, std::optional<DataType> output_dtype = std::nullopt,
    bool use_multicore = true, const std::optional<CoreRangeSet>& sub_core_grids = std::nullopt);
Tensor tilize_with_zero_padding(
    const Tensor& input_tensor, const std::optional<MemoryConfig>& memory_config = std::nullopt,
    std::optional<DataType> output_dtype = std::nullopt, bool use_multicore = true,
    const std::optional<CoreRangeSet>& sub_core_grids = std::nullopt);

}  // namespace ttnn
