// ttnn::manual_seed: where the random numbers of ttnn::sampling go on from.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <variant>

#include "ttnn/types.hpp"

namespace ttnn {

/// Seeds the users of sampling: all 32 of `device`, or those that `user_ids` names, with one seed or with one each (UINT32 tensors of one
/// dimension). A seed of 4294967295 leaves a user's numbers as they are. The result says nothing.
Tensor manual_seed(
    const std::variant<uint32_t, Tensor>& seeds, std::optional<std::reference_wrapper<MeshDevice>> device = std::nullopt,
    const std::optional<std::variant<uint32_t, Tensor>>& user_ids = std::nullopt,
    const std::optional<CoreRangeSet>& sub_core_grids = std::nullopt);

}  // namespace ttnn
