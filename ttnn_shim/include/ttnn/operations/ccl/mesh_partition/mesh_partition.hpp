// ttnn::mesh_partition: of a tensor that all chips of an axis have, each keeps a piece along a dimension.
#pragma once

#include <optional>

#include "ttnn/types.hpp"

namespace ttnn {

Tensor mesh_partition(
    const Tensor& input_tensor, int dim, std::optional<uint32_t> cluster_axis = std::nullopt,
    const std::optional<MemoryConfig>& memory_config = std::nullopt);

}  // namespace ttnn
