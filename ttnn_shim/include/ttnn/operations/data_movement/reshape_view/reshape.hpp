// ttnn::reshape: same values in row-major order, another shape. A view where the pages do not change, else a device program.
#pragma once

#include <optional>
#include <variant>

#include "tt_stl/span.hpp"
#include "ttnn/types.hpp"

namespace ttnn {

enum class TileReshapeMapMode : uint8_t { CACHE = 0, RECREATE = 1 };
using PadValue = std::variant<uint32_t, float>;

Tensor reshape(
    const Tensor& tensor, const Shape& shape, const std::optional<MemoryConfig>& memory_config = std::nullopt,
    const std::optional<PadValue>& pad_value = std::nullopt, TileReshapeMapMode reshape_tile_mode = TileReshapeMapMode::CACHE,
    const std::optional<CoreRangeSet>& sub_core_grids = std::nullopt, bool skip_padding_fill = false);
Tensor reshape(
    const Tensor& tensor, const Shape& logical_shape, const Shape& padded_shape,
    const std::optional<MemoryConfig>& memory_config = std::nullopt, const std::optional<PadValue>& pad_value = std::nullopt,
    TileReshapeMapMode reshape_tile_mode = TileReshapeMapMode::CACHE, const std::optional<CoreRangeSet>& sub_core_grids = std::nullopt,
    bool skip_padding_fill = false);
/// One extent may be -1.
Tensor reshape(
    const Tensor& tensor, ttsl::Span<const int32_t> shape_vector, const std::optional<MemoryConfig>& memory_config = std::nullopt,
    const std::optional<PadValue>& pad_value = std::nullopt, TileReshapeMapMode reshape_tile_mode = TileReshapeMapMode::CACHE,
    const std::optional<CoreRangeSet>& sub_core_grids = std::nullopt, bool skip_padding_fill = false);

}  // namespace ttnn
