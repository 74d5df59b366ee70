// ttnn::embedding_bw: the gradient of an embedding's table.
#pragma once

#include <optional>

#include "ttnn/types.hpp"

namespace ttnn {

/// Sums rows of output_gradient_tensor [1, 1, batch * length, width] into the rows [1, 1, vocabulary, width] that input_tensor
/// [batch, length] names.
Tensor embedding_bw(
    const Tensor& input_tensor, const Tensor& weight_tensor, const Tensor& output_gradient_tensor,
    std::optional<const DataType> dtype = std::nullopt, const std::optional<MemoryConfig>& memory_config = std::nullopt,
    const std::optional<Tensor>& output_tensor = std::nullopt);

}  // namespace ttnn
