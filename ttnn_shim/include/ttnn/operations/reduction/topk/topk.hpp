// ttnn::topk: the k largest (or smallest) values and their indices.
#pragma once

#include <optional>
#include <tuple>
#include <vector>

#include "ttnn/types.hpp"

namespace ttnn {

std::vector<Tensor> topk(
    const Tensor& input_tensor, uint32_t k, int8_t dim = -1, bool largest = true, bool sorted = true,
    const std::optional<MemoryConfig>& memory_config = std::nullopt, const std::optional<CoreRangeSet>& sub_core_grids = std::nullopt,
    const std::optional<Tensor>& indices_tensor = std::nullopt,
    std::optional<std::tuple<Tensor&, Tensor&>> preallocated_output_tensors = std::nullopt, bool stable = false);

}  // namespace ttnn
