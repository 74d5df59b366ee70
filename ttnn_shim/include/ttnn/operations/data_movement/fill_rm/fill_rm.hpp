// Row-major tensors with one value in a corner of each matrix.
#pragma once

#include <optional>

#include "ttnn/types.hpp"

namespace ttnn {

/// [N, C, H, W] with `val_hi` in the first hFill x wFill values of each matrix and `val_lo` elsewhere; `any` names the device.
Tensor fill_rm(
    uint32_t N, uint32_t C, uint32_t H, uint32_t W, uint32_t hFill, uint32_t wFill, const Tensor& any, float val_hi, float val_lo,
    const std::optional<MemoryConfig>& memory_config = std::nullopt);
/// One in the corner, zero elsewhere.
Tensor fill_ones_rm(
    uint32_t N, uint32_t C, uint32_t H, uint32_t W, uint32_t hOnes, uint32_t wOnes, const Tensor& any,
    const std::optional<MemoryConfig>& memory_config = std::nullopt);

}  // namespace ttnn
