// ttnn::rotate: images [N, H, W, C] turned around a point.
#pragma once

#include <optional>
#include <string>
#include <tuple>

#include "ttnn/types.hpp"

namespace ttnn {
namespace operations::rotate {

/// `angle` in degrees, counter-clockwise; `fill` where the image does not reach.
Tensor rotate(
    const Tensor& input_tensor, float angle, const std::optional<std::tuple<float, float>>& center = std::nullopt, float fill = 0.0F,
    bool expand = false, const std::string& interpolation_mode = "nearest",
    const std::optional<MemoryConfig>& memory_config = std::nullopt);

}  // namespace operations::rotate
using operations::rotate::rotate;
}  // namespace ttnn
