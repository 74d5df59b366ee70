// Settings of ttnn::experimental::minimal_matmul.
#pragma once

#include <cstdint>

#include "ttnn/types.hpp"

namespace ttnn::experimental::prim {

/// Blocks in tiles, and cores. They change the time, not the values.
struct MinimalMatmulConfig {
    uint32_t M_block_size = 0;
    uint32_t K_block_size = 0;
    uint32_t N_block_size = 0;
    uint32_t subblock_h = 0;
    uint32_t subblock_w = 0;
    CoreCoord compute_with_storage_grid_size = {0, 0};
};

}  // namespace ttnn::experimental::prim
