// tt::tt_metal::Tile: the shape of one tile. Matmul and linear take other shapes than 32x32, other ops do not.
#pragma once

#include <array>
#include <cstdint>

#include "tt-metalium/constants.hpp"

namespace tt::tt_metal {

class Tile {
public:
    Tile(std::array<uint32_t, 2> tile_shape = {constants::TILE_HEIGHT, constants::TILE_WIDTH}, bool transpose = false)
        : tile_shape_(tile_shape), transpose_(transpose) {}

    uint32_t get_height() const { return tile_shape_[0]; }
    uint32_t get_width() const { return tile_shape_[1]; }
    uint32_t get_tile_hw() const { return tile_shape_[0] * tile_shape_[1]; }
    const std::array<uint32_t, 2>& get_tile_shape() const { return tile_shape_; }
    bool get_transpose_of_faces() const { return transpose_; }
    bool operator==(const Tile&) const = default;

private:
    std::array<uint32_t, 2> tile_shape_;
    bool transpose_;
};

}  // namespace tt::tt_metal
