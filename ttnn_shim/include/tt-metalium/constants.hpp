// Extents of the standard tile.
#pragma once

#include <cstdint>

namespace tt::constants {

inline constexpr uint32_t TILE_HEIGHT = 32;
inline constexpr uint32_t TILE_WIDTH = 32;
inline constexpr uint32_t TILE_HW = TILE_HEIGHT * TILE_WIDTH;
inline constexpr uint32_t FACE_HEIGHT = 16;
inline constexpr uint32_t FACE_WIDTH = 16;
inline constexpr uint32_t FACE_HW = FACE_HEIGHT * FACE_WIDTH;

}  // namespace tt::constants
