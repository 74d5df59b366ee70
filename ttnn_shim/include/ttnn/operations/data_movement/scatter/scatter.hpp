// ttnn::scatter: a copy of the input in which values of the source replace (or join) those at the indices.
#pragma once

#include <optional>
#include <string>

#include "ttnn/types.hpp"

namespace ttnn {

/// `reduce`: none, add or multiply; the library refuses amax and amin.
Tensor scatter(
    const Tensor& input_tensor, const int32_t& dim, const Tensor& index_tensor, const Tensor& source_tensor,
    const std::optional<MemoryConfig>& memory_config = std::nullopt, const std::optional<std::string>& opt_reduction = std::nullopt,
    const std::optional<CoreRangeSet>& sub_core_grids = std::nullopt);
Tensor scatter_add(
    const Tensor& input_tensor, const int32_t& dim, const Tensor& index_tensor, const Tensor& source_tensor,
    const std::optional<MemoryConfig>& memory_config = std::nullopt, const std::optional<CoreRangeSet>& sub_core_grids = std::nullopt);

}  // namespace ttnn
