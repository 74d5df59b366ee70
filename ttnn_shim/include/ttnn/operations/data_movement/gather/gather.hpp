// ttnn::gather: output[i][j] = input[i][index[i][j]] along a dimension.
#pragma once

#include <optional>

#include "ttnn/types.hpp"

namespace ttnn {

Tensor gather(
    const Tensor& input_tensor, int8_t dim, const Tensor& input_index_tensor, bool sparse_grad = false,
    const std::optional<MemoryConfig>& memory_config = std::nullopt, std::optional<Tensor> optional_output_tensor = std::nullopt,
    const std::optional<CoreRangeSet>& sub_core_grids = std::nullopt);

}  // namespace ttnn
