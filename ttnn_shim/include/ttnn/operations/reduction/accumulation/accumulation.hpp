// Running sums and products along a dimension, and the exponential moving average.
#pragma once

#include <optional>

#include "ttnn/operations/core/compute_kernel/compute_kernel_config.hpp"
#include "ttnn/types.hpp"

namespace ttnn {

Tensor cumsum(
    const Tensor& input_tensor, const int32_t& dim, std::optional<DataType> dtype = std::nullopt, const bool& reverse_order = false,
    std::optional<Tensor> optional_out = std::nullopt, const std::optional<MemoryConfig>& memory_config = std::nullopt,
    bool disable_compensated_sum = false);
Tensor cumprod(
    const Tensor& input_tensor, const int32_t& dim, std::optional<DataType> dtype = std::nullopt, const bool& reverse_order = false,
    std::optional<Tensor> optional_out = std::nullopt, const std::optional<MemoryConfig>& memory_config = std::nullopt);

}  // namespace ttnn
