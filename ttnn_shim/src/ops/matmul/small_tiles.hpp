// Products of tensors in tiles smaller than 32 x 32.
//
// The programs count in tiles, whatever their size. A product of small tiles is therefore checked, planned and computed as one of as many
// full tiles: the values of each small tile lie in the corner of a full one, the rest is zeros.
// Its circular buffers are counted at that size too: near a full L1 a product is refused that the real package takes.
#pragma once

#include "ops/launch.hpp"

namespace ttnn_shim {

bool has_small_tiles(const Tensor& tensor);

/// The tensor in full tiles, in the place of its own memory. A bias keeps only its first row, which is what the programs add.
Tensor in_full_tiles(const Tensor& tensor, bool bias = false);

/// Shards of as many full tiles.
MemoryConfig in_full_tiles(const MemoryConfig& memory, const tt::tt_metal::Tile& tile);

/// Where a product of small tiles leaves its result: its tile, and how many rows and columns of the result one full tile stands for.
struct SmallTileResult {
    tt::tt_metal::Tile tile;
    std::array<uint32_t, 2> block;
    uint32_t rows = 0, columns = 0;  ///< of the result
};

/// The product in its own tiles: in `output` where one is given, else in memory of its own in place of the product's.
Tensor in_small_tiles(Tensor product, const SmallTileResult& result, const std::optional<Tensor>& output);

}  // namespace ttnn_shim
