// Which matmul program TTNN picks: the selector of ttnn 0.81.1 and the older one that the measured tables were made with.
#pragma once
#include "strategy/common.hpp"

namespace ttnn_shim::strategy {

enum class MatmulKind { Mcast2D, Mcast1DIn0, Mcast1DIn1, Reuse, MultiCore, DramSharded, Ring };

struct MatmulShape {
    std::int64_t batch = 1;            ///< matmuls run one after the other (or spread over cores)
    std::int64_t m = 0, k = 0, n = 0;  ///< tiles of one of them
    bool b_batched = false;
};

struct MatmulProgram {
    MatmulKind kind = MatmulKind::Mcast2D;
    std::int64_t m = 0, n = 0;              ///< output tiles per core
    std::int64_t block_k = 1;               ///< in0_block_w
    std::int64_t block_h = 0, block_w = 0;  ///< output block (== m, n unless split to fit L1)
    std::int64_t sub_h = 1, sub_w = 1;
    int cores = 0, grid_x = 0, grid_y = 0;
    std::int64_t batch = 1;           ///< matmuls that one core runs one after the other
    bool output_beside_math = false;  ///< the output block is double buffered: it is written while the next one is multiplied
};

MatmulShape matmul_shape(const OpConfig& config, const Matmul& op);
/// Throws std::invalid_argument when no program fits.
MatmulProgram select_matmul(const Arch& arch, const OpConfig& config, const Matmul& op, const MatmulShape& shape);
const char* factory_name(MatmulKind kind);
std::vector<CircularBuffer> matmul_buffers(const OpConfig& config, const MatmulShape& shape, const MatmulProgram& p);
/// First of TTNN's list of subblocks that divides the block; area <= 8, or 4 with float32 accumulation.
void pick_subblock(std::int64_t h, std::int64_t w, bool fp32_dest, bool full_width, std::int64_t& sub_h, std::int64_t& sub_w);

}  // namespace ttnn_shim::strategy
