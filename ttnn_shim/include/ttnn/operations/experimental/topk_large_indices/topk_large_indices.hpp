// Places of the greatest values of long rows (Blackhole).
#pragma once

#include <optional>

#include "ttnn/types.hpp"

namespace ttnn::experimental {

Tensor topk_large_indices(
    const Tensor& input_tensor, uint32_t k, std::optional<uint32_t> valid_length = std::nullopt,
    const std::optional<Tensor>& valid_length_tensor = std::nullopt, uint32_t valid_length_offset = 0,
    const std::optional<SubDeviceId>& subdevice_id = std::nullopt, const std::optional<CoreRangeSet>& sub_core_grids = std::nullopt,
    const std::optional<Tensor>& valid_end_tensor = std::nullopt);

}  // namespace ttnn::experimental
