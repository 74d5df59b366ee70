// ttnn::fill_implicit_tile_padding.
#pragma once

#include <optional>
#include <variant>

#include "ttnn/types.hpp"

namespace ttnn {

/// The same values with `fill_value` in the padding of the tiles, which no op of the simulator reads.
Tensor fill_implicit_tile_padding(
    const Tensor& input_tensor, std::variant<uint32_t, float> fill_value, const std::optional<MemoryConfig>& memory_config = std::nullopt);

}  // namespace ttnn
