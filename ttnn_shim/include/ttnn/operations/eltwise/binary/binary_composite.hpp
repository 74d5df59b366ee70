// Composites of binary ops, and the short overload of multiply.
#pragma once

#include <optional>

#include "ttnn/operations/eltwise/binary/binary.hpp"  // IWYU pragma: export
#include "ttnn/types.hpp"

namespace ttnn {

/// silu(min(gate, limit)) * clamp(up, -limit, limit).
Tensor clamped_silu_glu(
    const Tensor& gate, const Tensor& up, float limit, const std::optional<MemoryConfig>& memory_config = std::nullopt,
    const std::optional<CoreRangeSet>& sub_core_grids = std::nullopt, const std::optional<SubDeviceId>& sub_device_id = std::nullopt);
/// beta1 * tanh(gate / beta1) * sigmoid(gate) * beta2 * tanh(up / beta2).
Tensor situ_glu(
    const Tensor& gate, const Tensor& up, float beta1, float beta2, const std::optional<MemoryConfig>& memory_config = std::nullopt,
    const std::optional<CoreRangeSet>& sub_core_grids = std::nullopt, const std::optional<SubDeviceId>& sub_device_id = std::nullopt);
Tensor multiply(const Tensor& a, const Tensor& b, bool fast_and_approximate_mode);
Tensor multiply(const Tensor& a, operations::binary::ScalarVariant b, bool fast_and_approximate_mode);

}  // namespace ttnn
