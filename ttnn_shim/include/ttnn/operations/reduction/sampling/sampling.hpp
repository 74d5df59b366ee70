// ttnn::sampling: one token per user out of the best k values, cut at the cumulative probability p.
#pragma once

#include <optional>

#include "ttnn/types.hpp"

namespace ttnn {

/// values and indices [1, 1, 32, W], k, p and temp one value per user -> [1, 1, 1, 32]. Equal seeds give equal tokens here, not the
/// device's.
Tensor sampling(
    const Tensor& input_values_tensor, const Tensor& input_indices_tensor, const Tensor& k, const Tensor& p, const Tensor& temp,
    const std::optional<uint32_t>& seed = std::nullopt, const std::optional<CoreRangeSet>& sub_core_grids = std::nullopt,
    const std::optional<Tensor>& output_tensor = std::nullopt);

}  // namespace ttnn
