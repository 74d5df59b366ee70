// Ops that replace whole slices picked by indices.
#pragma once

#include <optional>
#include <variant>

#include "ttnn/types.hpp"

namespace ttnn {

/// Slices of `input_tensor_a` named by `batch_id` replaced by those of `input_tensor_b`.
Tensor indexed_fill(
    const Tensor& batch_id, const Tensor& input_tensor_a, const Tensor& input_tensor_b,
    const std::optional<MemoryConfig>& memory_config = std::nullopt, int64_t dim = 0);
/// Slices of dimension `dim` named by `index` set to `value`.
Tensor index_fill(
    const Tensor& input, uint32_t dim, const Tensor& index, std::variant<float, int> value,
    const std::optional<MemoryConfig>& memory_config = std::nullopt);
Tensor index_fill_new(
    const Tensor& input, uint32_t dim, const Tensor& index, std::variant<float, int> value,
    const std::optional<MemoryConfig>& memory_config = std::nullopt);

}  // namespace ttnn
