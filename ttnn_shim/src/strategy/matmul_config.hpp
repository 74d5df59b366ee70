// Which program a matmul is: what a program config says, the choice of ttnn 0.81.1 where the caller gives none (matmul_choice.cpp), and the
// older choice that the measured tables were made with.
#pragma once
#include "strategy/common.hpp"

namespace ttnn_shim::strategy {

enum class MatmulKind { Mcast2D, Mcast1DIn0, Mcast1DIn1, Reuse, MultiCore, DramSharded, Ring };

struct MatmulShape {
    std::int64_t batch = 1;            ///< matmuls run one after the other (or spread over cores)
    std::int64_t m = 0, k = 0, n = 0;  ///< tiles of one of them
    std::int64_t batch_a = 1;          ///< matrices of A
    bool b_batched = false;
};

struct MatmulProgram {
    MatmulKind kind = MatmulKind::Mcast2D;
    std::int64_t m = 0, n = 0;              ///< output tiles per core
    std::int64_t block_k = 1;               ///< in0_block_w
    std::int64_t block_h = 0, block_w = 0;  ///< output block (== m, n unless split to fit L1)
    std::int64_t sub_h = 0, sub_w = 0;
    int cores = 0, grid_x = 0, grid_y = 0;
    std::int64_t batch = 1;           ///< matmuls that one core runs one after the other
    bool output_beside_math = false;  ///< the output block is double buffered: it is written while the next one is multiplied
};

/// The matrices that are multiplied, as the tensors hold them. Throws std::invalid_argument where they do not match.
MatmulShape matrices_of(const OpConfig& config, const Matmul& op);
/// Those that the program multiplies: rows of all matrices of A are one product where they share B and the program fuses the batch.
MatmulShape matmul_shape(const OpConfig& config, const Matmul& op);
/// `op` with the program config that ttnn 0.81.1 gives a product which has none (matmul_program_config.cpp of tt-metal). Of the result its
/// dtype and memory are read, not the shape. Throws std::invalid_argument for shards that no automatic program takes.
Matmul choose_matmul(const Arch& arch, const OpConfig& config, const Matmul& op);
/// The program of a configured product, or of a row of the measured tables. Throws std::invalid_argument when none fits.
MatmulProgram matmul_program(const Arch& arch, const OpConfig& config, const Matmul& op, const MatmulShape& shape);
const char* factory_name(MatmulKind kind);
std::vector<CircularBuffer> matmul_buffers(const OpConfig& config, const MatmulShape& shape, const MatmulProgram& p);

struct Subblock {
    std::int64_t h = 1, w = 1;
};
/// First of TT-NN's list of subblocks that divides the block and has at most `most` tiles. wide_first: its pairs are (w, h). whole_rows:
/// one row, or as wide as the block.
Subblock first_subblock(std::int64_t h, std::int64_t w, std::int64_t most, bool wide_first = false, bool whole_rows = false);
/// The same for the destination registers, which hold 8 tiles, or 4 of float32. full_width: one whole row of the block, else one tile.
Subblock pick_subblock(std::int64_t h, std::int64_t w, bool fp32_dest, bool full_width);

}  // namespace ttnn_shim::strategy
