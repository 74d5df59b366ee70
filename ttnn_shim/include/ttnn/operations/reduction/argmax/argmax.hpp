// ttnn::argmax: index of the (first) largest value.
#pragma once

#include <optional>

#include "ttnn/types.hpp"

namespace ttnn {

/// UINT32 in ROW_MAJOR layout. Without `dim` the index into the flattened tensor.
Tensor argmax(
    const Tensor& input_tensor, const std::optional<int>& dim = std::nullopt, bool keepdim = false,
    const std::optional<CoreRangeSet>& sub_core_grids = std::nullopt, const std::optional<MemoryConfig>& memory_config = std::nullopt,
    std::optional<Tensor> optional_output_tensor = std::nullopt, std::optional<bool> enable_secondary_dm = std::nullopt);

}  // namespace ttnn
