// ttnn::bcast: the old op for a second operand of one row, one column or one value per matrix.
#pragma once

#include <optional>

#include "ttnn/operations/data_movement/bcast/bcast_types.hpp"
#include "ttnn/types.hpp"

namespace ttnn {

Tensor bcast(
    const Tensor& input_tensor_a, const Tensor& input_tensor_b, BcastOpMath bcast_op, BcastOpDim bcast_dim,
    const std::optional<MemoryConfig>& memory_config = std::nullopt, const std::optional<Tensor>& output_tensor = std::nullopt);

}  // namespace ttnn
