// ttnn::split: pieces along a dimension, by size or by sizes.
#pragma once

#include <optional>
#include <vector>

#include "ttnn/types.hpp"

namespace ttnn {

std::vector<Tensor> split(
    const Tensor& input, int64_t split_size, int64_t dim = 0, const std::optional<MemoryConfig>& memory_config = std::nullopt);
std::vector<Tensor> split(
    const Tensor& input, const ttsl::SmallVector<int64_t>& split_sizes, int64_t dim = 0,
    const std::optional<MemoryConfig>& memory_config = std::nullopt);

}  // namespace ttnn
