// The program config that ttnn 0.81.1 gives a matmul without one: by the shards of A and of the result, a caller's core_grid, and the free
// memory of a core. What a program does not take of them is refused with its config (ops/matmul/config_rules.cpp).
#include <map>
#include <numeric>
#include <stdexcept>

#include "strategy/matmul_config.hpp"

namespace ttnn_shim::strategy {
namespace {

using enum TensorMemoryLayout;

constexpr std::int64_t TILE = 32, NARROW_RATIO = 8;

/// Output block and depth of a program, in tiles.
struct Block {
    std::int64_t h = 1, w = 1, k = 1;
};

class Chooser {
public:
    Chooser(const Arch& arch, const OpConfig& c, const Matmul& op)
        : c_(c), op_(op), a_(c.inputs[0]), b_(c.inputs[1]), out_(c.outputs[0]), grid_{arch.grid_x, arch.grid_y} {
        const MatmulShape s = matrices_of(c, op);
        m_ = s.m;
        k_ = s.k;
        n_ = s.n;
        b_batched_ = s.b_batched;
        rows_ = m_ * s.batch_a;
        require(m_ > 0 && k_ > 0 && n_ > 0, "an operand is empty");
        space_ = c.l1_free_bytes.value_or(arch.l1_bytes);
        if (!a_.sharded()) return;
        shard_ = shard_of(arch, a_);
        shard_.h /= TILE;
        shard_.w /= TILE;
        if (shard_.grid_x * shard_.grid_y == 0) {  // default: cores in the order of the grid's rows
            shard_.grid_x = std::min(shard_.cores, arch.grid_x);
            shard_.grid_y = static_cast<int>(ceil_div(shard_.cores, shard_.grid_x));
        }
    }

    Matmul choose() const {
        if (a_.sharded()) return by_shards_of_a();
        return op_.core_grid ? on_grid() : by_blocks(grid_);
    }

private:
    void require(bool condition, const char* reason) const {
        if (!condition) throw std::invalid_argument(c_.label() + reason);
    }

    /// Whether TT-NN's estimate of the circular buffers is below what a core has left.
    bool fits(const Block& block) const {
        const std::int64_t tile_a = a_.tile_bytes(), tile_b = b_.tile_bytes();
        const std::int64_t partial =
            c_.compute.fp32_dest_acc ? bytes_per_tile(DataType::FLOAT32) : std::max(out_.tile_bytes(), bytes_per_tile(DataType::BFLOAT16));
        const std::int64_t bias = c_.inputs.size() > 2 ? c_.inputs[2].tile_bytes() : 0;
        const std::int64_t in0 = 2 * block.h * block.k * tile_a, shard = a_.sharded() ? block.h * shard_.w * tile_a : 0;
        const std::int64_t transposed = !op_.transpose_a ? 0 : a_.sharded() ? shard : in0;
        return in0 + 2 * block.w * block.k * tile_b + block.h * block.w * (tile_a + partial) + block.w * bias + shard + transposed < space_;
    }

    /// The largest output block that fits, the squarest of equal ones. `of_rows`: whole rows of the block or single ones. `shorten`: a
    /// block is tried with smaller depths before a smaller one is.
    Block fitted(const Block& whole, bool of_rows, bool shorten = false) const {
        if (fits(whole)) return whole;
        const auto divisors = [](std::int64_t number) {
            std::vector<std::int64_t> parts{number, 1};
            for (std::int64_t part = number / 2; part > 1; --part)
                if (number % part == 0) parts.push_back(part);
            return parts;
        };
        std::map<std::int64_t, Block> by_area;
        const auto stretch = [](const Block& block) {
            return static_cast<float>(std::max(block.h, block.w)) / static_cast<float>(std::min(block.h, block.w));
        };
        for (const std::int64_t h : divisors(whole.h))
            for (const std::int64_t w : divisors(whole.w)) {
                if (of_rows && w != whole.w && h != 1) continue;
                const Block block{h, w, whole.k};
                const auto known = by_area.find(h * w);
                if (known == by_area.end() || stretch(known->second) >= stretch(block)) by_area[h * w] = block;
            }
        for (auto entry = by_area.rbegin(); entry != by_area.rend(); ++entry)
            for (std::int64_t k = whole.k; k >= (shorten ? 1 : whole.k); --k)
                if (const Block block{entry->second.h, entry->second.w, k}; whole.k % k == 0 && fits(block)) return block;
        return {1, 1, 1};
    }

    /// The subblock of the library's programs for a caller's grid.
    Subblock grid_subblock(std::int64_t h, std::int64_t w) const { return first_subblock(h, w, c_.compute.fp32_dest_acc ? 4 : 8, true); }
    Subblock subblock(const Block& block, bool of_rows = false) const {
        return pick_subblock(block.h, block.w, c_.compute.fp32_dest_acc, of_rows);
    }

    Matmul program(MatmulConfig kind, Pair grid, std::int64_t rows, std::int64_t columns, std::int64_t depth, Subblock sub) const {
        Matmul op = op_;
        op.program_config = kind;
        op.core_grid = grid;
        op.in0_block_w = depth;
        op.per_core_M = rows;
        op.per_core_N = columns;
        op.out_subblock_h = sub.h;
        op.out_subblock_w = sub.w;
        return op;
    }
    Matmul multicast(
        MatmulConfig kind, Pair grid, std::int64_t rows, std::int64_t columns, const Block& block, Subblock sub, bool fuse) const {
        Matmul op = program(kind, grid, rows, columns, block.k, sub);
        op.out_block_h = block.h;
        op.out_block_w = block.w;
        if (!fuse) op.fuse_batch = false;
        return op;
    }
    Matmul one_dimension(
        Pair grid, std::int64_t rows, std::int64_t columns, const Block& block, Subblock sub, bool fuse, bool mcast_in0) const {
        Matmul op = multicast(MatmulConfig::MultiCast1D, grid, rows, columns, block, sub, fuse);
        op.mcast_in0 = mcast_in0;
        return op;
    }
    Matmul two_dimensions(Pair grid, std::int64_t rows, std::int64_t columns, const Block& block, Subblock sub, bool fuse) const {
        Matmul op = multicast(MatmulConfig::MultiCast, grid, rows, columns, block, sub, fuse);
        if (a_.memory == BLOCK_SHARDED && shard_.col_major) op.transpose_mcast = true;
        return op;
    }
    Matmul tile_by_tile() const {
        Matmul op = op_;
        op.program_config = MatmulConfig::MultiCore;
        return op;
    }

    /// A's shards decide, whatever the core_grid: rows or columns of cores, a grid of them, or whole matrices of a batch.
    Matmul by_shards_of_a() const {
        const bool of_rows = out_.sharded();
        const Pair cores{shard_.grid_x, shard_.grid_y};
        if (b_batched_)  // each core multiplies the matrices that it holds
            return program(MatmulConfig::Reuse, cores, shard_.h, n_, shard_.w, subblock({shard_.h, n_}, of_rows));
        require(b_.memory == INTERLEAVED, "input_tensor_b: expected INTERLEAVED memory without a program_config for its shards");
        const std::int64_t shared = std::gcd(shard_.w, k_);
        if (a_.memory != BLOCK_SHARDED) {
            const bool wide = a_.memory == WIDTH_SHARDED;
            const std::int64_t rows = wide ? rows_ : shard_.h, columns = wide ? ceil_div(n_, shard_.cores) : n_, depth = wide ? shared : k_;
            const Block block = fitted({rows, columns, depth}, of_rows);
            return one_dimension(cores, rows, columns, {block.h, block.w, depth}, subblock(block, of_rows), true, wide);
        }
        if (shard_.grid_x == 1 || shard_.grid_y == 1) return on_grid();
        const std::int64_t across = shard_.col_major ? shard_.grid_y : shard_.grid_x,
                           down = shard_.col_major ? shard_.grid_x : shard_.grid_y;
        require(
            shard_.h > 0 && shard_.w > 0 && (down == rows_ / shard_.h || down == ceil_div(rows_, shard_.h)) &&
                (across == k_ / shard_.w || across == ceil_div(k_, shard_.w)),
            "input_tensor_a: its grid of cores does not match its rows and columns of shards");
        const std::int64_t rows = ceil_div(rows_, down), columns = ceil_div(n_, across), depth = across == k_ / shard_.w ? shared : 1;
        const Block block = fitted({rows, columns, depth}, of_rows);
        return two_dimensions(cores, rows, columns, {block.h, block.w, depth}, subblock(block, of_rows), true);
    }

    /// What a caller's core_grid selects, and what is left for A's blocks on one core or on a line of cores.
    Matmul on_grid() const {
        Pair grid = grid_;
        if (op_.core_grid && (*op_.core_grid)[0] <= grid[0] && (*op_.core_grid)[1] <= grid[1]) grid = *op_.core_grid;
        if (b_batched_) return pairs_on(grid);
        const bool narrow = std::max(rows_, n_) / std::min(rows_, n_) > NARROW_RATIO || k_ == 1 || m_ == 1 || n_ == 1;
        if (narrow && !a_.sharded()) return on_line(grid);
        Block whole{ceil_div(rows_, grid[1]), ceil_div(n_, grid[0]), 4};
        if (a_.sharded()) whole = {shard_.h, std::max<std::int64_t>(1, n_ * shard_.w / k_), std::gcd(shard_.w, k_)};
        while (k_ % whole.k != 0) --whole.k;
        const Block block = fitted(whole, false);
        Subblock sub = grid_subblock(block.h, block.w);
        if (sub.w != whole.w) sub.h = 1;
        return two_dimensions(grid, whole.h, whole.w, {block.h, block.w, whole.k}, sub, true);
    }

    Matmul pairs_on(const Pair& grid) const {
        std::int64_t columns = n_;
        if (!b_.sharded()) {
            if (!fits({m_, n_, 1})) return by_blocks(grid);
        } else {
            require(b_.memory != WIDTH_SHARDED && b_.shard, "input_tensor_b: must not be WIDTH_SHARDED for a batch of matrices");
            columns = b_.shard->w / TILE;
        }
        require(columns > 0, "input_tensor_b: no whole tiles in its shards");
        return program(MatmulConfig::Reuse, grid, m_, columns, 1, grid_subblock(m_, columns));
    }

    /// Rows or columns of the result over all cores of `grid`.
    Matmul on_line(const Pair& grid) const {
        const std::int64_t cores = grid[0] * grid[1];
        const bool tall = rows_ > n_;
        Block whole{tall ? ceil_div(rows_, cores) : rows_, tall ? n_ : ceil_div(n_, cores), ceil_div(k_, cores)};
        while (k_ % whole.k != 0) --whole.k;
        const Block block = fitted(whole, false);
        Subblock sub = grid_subblock(block.h, block.w);
        if (out_.sharded() && sub.w != whole.w) sub.h = 1;
        return one_dimension(grid, whole.h, whole.w, {block.h, block.w, whole.k}, sub, true, !tall);
    }

    /// Interleaved A: square blocks of the result as large as memory allows, spread as the result's shards want them.
    Matmul by_blocks(const Pair& grid) const {
        const bool interleaved = !a_.sharded() && !b_.sharded() && !out_.sharded();
        const bool all_dram = in_dram(a_) && in_dram(b_) && in_dram(out_), dram_interleaved = all_dram && interleaved;
        const bool narrow = std::max(m_, n_) / std::min(m_, n_) > NARROW_RATIO || (all_dram && (m_ == 1 || n_ == 1));
        const bool wide = interleaved && narrow && n_ > m_, tall = interleaved && narrow && n_ <= m_;
        std::int64_t depth = 2, factor = 16;
        while (factor > 1 && !fits({factor, factor, depth})) factor /= 2;
        const std::int64_t down = ceil_div(m_, factor), across = ceil_div(n_, factor);
        if ((out_.sharded() || down > 1 || across > 1) && k_ % depth != 0) depth = 1;
        if (!dram_interleaved && (down * across > grid[0] * grid[1] || k_ % depth != 0)) return tile_by_tile();
        const bool in_grid = !dram_interleaved && (down > 1 || across > 1) && down <= grid[1] && across <= grid[0];
        const bool on_cores = out_.memory == BLOCK_SHARDED && out_.shard;  // a row or a column of several holds the result
        const bool row = on_cores && out_.shard->grid_y == 1 && out_.shard->grid_x > 1;
        const bool column = on_cores && out_.shard->grid_x == 1 && out_.shard->grid_y > 1;
        require(
            !b_batched_ || (!row && !column), "memory_config: a batch of products cannot be block sharded over one row or column of cores");
        const auto shards = [&](TensorMemoryLayout layout) { return !in_grid && out_.memory == layout; };
        if ((in_grid && down == 1) || wide || shards(WIDTH_SHARDED) || (!in_grid && row)) return spread(true, row);
        if ((in_grid && across == 1) || tall || shards(HEIGHT_SHARDED) || (!in_grid && column)) return spread(false, column);
        if (!dram_interleaved) {
            if (!in_grid && !shards(BLOCK_SHARDED)) return tile_by_tile();
            const Block block{std::min(factor, m_), std::min(factor, n_), depth};
            return two_dimensions(grid, block.h, block.w, block, subblock(block, out_.sharded()), out_.sharded() && !b_batched_);
        }
        const std::int64_t rows = ceil_div(m_, grid[1]), columns = ceil_div(n_, grid[0]);
        const Block block = fitted({rows, columns, k_ % grid[0] == 0 ? k_ / grid[0] : 1}, false, true);
        return two_dimensions(grid, rows, columns, block, subblock(block), false);
    }

    /// Rows or columns of the result over all cores, or over those of the caller's shards.
    Matmul spread(bool columns, bool on_shards) const {
        const std::int64_t cores = grid_[0] * grid_[1];
        Block whole{columns ? m_ : ceil_div(m_, cores), columns ? ceil_div(n_, cores) : n_, k_ % 2 == 0 ? 2 : 1};
        Pair grid = grid_;
        if (on_shards) {
            const Shard& shard = *out_.shard;
            require(shard.h % TILE == 0 && shard.w % TILE == 0, "memory_config: expected shards of whole tiles");
            require(shard.grid_x * shard.grid_y == shard.cores, "memory_config: expected a row or column of cores without gaps");
            whole.h = shard.h / TILE;
            whole.w = shard.w / TILE;
            grid = {shard.grid_x, shard.grid_y};
        }
        const Block block = fitted(whole, false);
        return one_dimension(grid, whole.h, whole.w, {block.h, block.w, whole.k}, subblock(block), on_shards && !b_batched_, columns);
    }

    const OpConfig& c_;
    const Matmul& op_;
    const TensorDesc &a_, &b_, &out_;
    Pair grid_;
    std::int64_t m_ = 1, k_ = 1, n_ = 1, rows_ = 1;  // in tiles: m of one matrix, rows of all
    bool b_batched_ = false;
    std::int64_t space_ = 0;
    Shard shard_{};  // of A, in tiles
};

}  // namespace

Matmul choose_matmul(const Arch& arch, const OpConfig& config, const Matmul& op) {
    Matmul chosen = Chooser(arch, config, op).choose();
    const std::int64_t h = chosen.out_subblock_h.value_or(1), w = chosen.out_subblock_w.value_or(1);
    const std::int64_t rows = chosen.per_core_M.value_or(1), columns = chosen.per_core_N.value_or(1);
    if (chosen.in0_block_w.value_or(1) <= 0 || rows <= 0 || columns <= 0 || rows % h != 0 || columns % w != 0)
        throw std::invalid_argument(
            config.label() + "no automatic program for these shards: its blocks of " + std::to_string(rows) + " x " +
            std::to_string(columns) + " tiles do not divide into " + std::to_string(h) + " x " + std::to_string(w));
    return chosen;
}

}  // namespace ttnn_shim::strategy
