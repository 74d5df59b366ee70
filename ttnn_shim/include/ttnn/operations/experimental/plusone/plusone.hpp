// ttnn::plus_one: counters, in place.
#pragma once

#include <optional>

#include "ttnn/types.hpp"

namespace ttnn {
namespace operations::experimental {

/// One more in every value of a row-major integer tensor, which is also the result.
Tensor plus_one(
    const Tensor& input_tensor, const std::optional<CoreRangeSet>& sub_core_grids = std::nullopt, bool skip_negative_entries = false);
/// The last two dimensions exchanged, row-major.
Tensor transpose_rm(const Tensor& input);

}  // namespace operations::experimental

using operations::experimental::plus_one;
namespace experimental {
using operations::experimental::transpose_rm;
}

}  // namespace ttnn
