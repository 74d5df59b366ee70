// ttnn::upsample of [N, H, W, C]: nearest or bilinear (half-pixel centres).
#pragma once

#include <array>
#include <optional>
#include <string>
#include <variant>

#include "ttnn/operations/core/compute_kernel/compute_kernel_config.hpp"
#include "ttnn/types.hpp"

namespace ttnn {
namespace operations::upsample {

Tensor upsample(
    const Tensor& input_tensor, std::variant<int, std::array<int, 2>, float, std::array<float, 2>> scale_factor,
    const std::string& mode = "nearest", const std::optional<MemoryConfig>& memory_config = std::nullopt,
    const std::optional<ComputeKernelConfig>& compute_kernel_config = std::nullopt);

}  // namespace operations::upsample
using operations::upsample::upsample;
}  // namespace ttnn
