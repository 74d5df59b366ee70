// ttnn::copy and ttnn::assign: write a tensor's values into another tensor.
#pragma once

#include <optional>

#include "ttnn/types.hpp"

namespace ttnn {

Tensor copy(const Tensor& src_tensor, const Tensor& dst_tensor);
Tensor assign(
    const Tensor& input, const MemoryConfig& output_mem_config, std::optional<const DataType> output_dtype = std::nullopt,
    const std::optional<Tensor>& optional_output_tensor = std::nullopt);
Tensor assign(const Tensor& input_a, const Tensor& input_b);

}  // namespace ttnn
