// ttnn::to_memory_config: move a device tensor between DRAM, L1 and shardings.
#pragma once

#include <optional>

#include "ttnn/types.hpp"

namespace ttnn {

Tensor to_memory_config(
    const Tensor& tensor, const MemoryConfig& memory_config, std::optional<DataType> dtype = std::nullopt,
    const std::optional<Tensor>& output_tensor = std::nullopt);

}  // namespace ttnn
