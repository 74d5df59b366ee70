// ttnn::pad: surround with a constant.
#pragma once

#include <array>
#include <optional>

#include "ttnn/types.hpp"

namespace ttnn {

namespace operations::data_movement {
struct PadSpecDim {
    uint32_t before_elements = 0;
    uint32_t after_elements = 0;
};
}  // namespace operations::data_movement

/// One (before, after) pair per dimension, or for the last dimensions only.
Tensor pad(
    const Tensor& input, const ttsl::SmallVector<operations::data_movement::PadSpecDim>& padding, float value, bool use_multicore = true,
    const std::optional<MemoryConfig>& memory_config = std::nullopt, const std::optional<CoreRangeSet>& sub_core_grids = std::nullopt);
Tensor pad(
    const Tensor& input, const ttsl::SmallVector<std::array<uint32_t, 2>>& padding, float value, bool use_multicore = true,
    const std::optional<MemoryConfig>& memory_config = std::nullopt, const std::optional<CoreRangeSet>& sub_core_grids = std::nullopt);
/// To a shape of rank 4; the values must start at the origin.
Tensor pad(
    const Tensor& input, const std::array<uint32_t, 4>& output_padded_shape, const std::array<uint32_t, 4>& input_tensor_start, float value,
    bool use_multicore = false, const std::optional<MemoryConfig>& memory_config = std::nullopt,
    const std::optional<CoreRangeSet>& sub_core_grids = std::nullopt);
Tensor pad(const Tensor& input, const Shape& output_padded_shape, const Shape& input_tensor_start, float value);

}  // namespace ttnn
