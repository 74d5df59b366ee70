// A matrix product of sharded operands for decoding.
#pragma once

#include <optional>

#include "ttnn/types.hpp"

namespace ttnn::experimental {

Tensor matmul_decode(
    const Tensor& input_tensor_a, const Tensor& input_tensor_b, bool partial_width_sharded = false,
    std::optional<const DataType> dtype = std::nullopt, const std::optional<MemoryConfig>& output_mem_config = std::nullopt);

}  // namespace ttnn::experimental
