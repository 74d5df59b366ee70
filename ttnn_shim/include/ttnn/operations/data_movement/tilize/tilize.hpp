// ttnn::tilize: row-major to tile pages; the last two dims are multiples of 32.
#pragma once

#include <optional>

#include "ttnn/types.hpp"

namespace ttnn {

Tensor tilize(
    const Tensor& input_tensor, const std::optional<MemoryConfig>& memory_config = std::nullopt,
    std::optional<DataType> output_dtype = std::nullopt, bool use_multicore = true, bool use_low_perf = false,
    tt::tt_metal::Tile tile = tt::tt_metal::Tile(), const std::optional<CoreRangeSet>& sub_core_grids = std::nullopt);

}  // namespace ttnn
