// ttnn::clone: a copy with its own buffer, optionally in another dtype or memory config.
#pragma once

#include <optional>

#include "ttnn/operations/core/compute_kernel/compute_kernel_config.hpp"
#include "ttnn/types.hpp"

namespace ttnn {

Tensor clone(
    const Tensor& input, const std::optional<DataType>& dtype = std::nullopt,
    const std::optional<MemoryConfig>& memory_config = std::nullopt,
    const std::optional<ComputeKernelConfig>& compute_kernel_config = std::nullopt);

}  // namespace ttnn
