#include "ops/matmul/automatic_config.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

#include "ops/data_movement/common.hpp"
#include "tensor/allocator.hpp"

namespace ttnn_shim {

namespace {

namespace mm = ttnn::operations::matmul;
using mm::MatmulProgramConfig;
using tt::tt_metal::ShardOrientation;
using tt::tt_metal::ShardSpec;
using enum TensorMemoryLayout;

constexpr size_t TILE = 32;
constexpr size_t NARROW_RATIO = 8;

/// Extents of a subblock, in the order in which they are tried: as (w, h) or as (h, w), by the program.
constexpr std::array<std::pair<size_t, size_t>, 20> SUBBLOCKS = {{{4, 2}, {2, 4}, {8, 1}, {1, 8}, {7, 1}, {1, 7}, {3, 2},
                                                                  {2, 3}, {6, 1}, {1, 6}, {5, 1}, {1, 5}, {2, 2}, {4, 1},
                                                                  {1, 4}, {3, 1}, {1, 3}, {2, 1}, {1, 2}, {1, 1}}};

size_t ceil_div(size_t value, size_t part) { return (value + part - 1) / part; }

/// Output block and depth of a program, in tiles.
struct Block {
    size_t h = 1, w = 1, k = 1;
};

struct Shards {
    size_t rows = 0, columns = 0, cores = 0;  // rows and columns in tiles
    CoreCoord grid;
    bool row_major = true;
};

Shards shards_of(const Tensor& tensor, const char* name) {
    const auto& spec = tensor.memory_config().shard_spec();
    SHIM_SUPPORTED(
        spec.has_value(), "{}: a matmul without program_config takes shards with a shard spec, got {}", name, tensor.memory_config());
    return {
        spec->shape[0] / TILE, spec->shape[1] / TILE, spec->num_cores(), spec->grid.bounding_box().grid_size(),
        spec->orientation == ShardOrientation::ROW_MAJOR};
}

/// A row or a column of several cores that hold the blocks of a result.
struct Line {
    bool row = false, column = false;
};
Line line_of(const MemoryConfig& memory) {
    if (memory.memory_layout() != BLOCK_SHARDED || !memory.shard_spec()) return {};
    const CoreCoord cores = memory.shard_spec()->grid.bounding_box().grid_size();
    return {cores.y == 1 && cores.x > 1, cores.x == 1 && cores.y > 1};
}

class Chooser {
public:
    explicit Chooser(const AutomaticMatmul& call) : call_(call), grid_(call.a.device()->compute_with_storage_grid_size()) {
        const Shape a = call.a.padded_shape(), b = call.b.padded_shape();
        m_ = a[call.transpose_a ? -1 : -2] / TILE;
        k_ = a[call.transpose_a ? -2 : -1] / TILE;
        n_ = b[call.transpose_b ? -2 : -1] / TILE;
        batch_a_ = batch_of(a);
        batch_b_ = batch_of(b);
        space_ = device_of(call.a)->shim().allocator().circular_buffer_space();
        if (call.a.is_sharded()) a_ = shards_of(call.a, "input_tensor_a");
    }

    MatmulProgramConfig choose() const {
        if (call_.a.is_sharded()) return by_shards_of_a();
        return call_.core_grid ? on_grid() : by_blocks(grid_);
    }

private:
    static size_t batch_of(const Shape& shape) {
        size_t batch = 1;
        for (size_t i = 0; i + 2 < shape.rank(); ++i) batch *= shape[at(i)];
        return batch;
    }

    bool fp32() const { return call_.compute.fp32_dest_acc_en; }
    TensorMemoryLayout layout_of_a() const { return call_.a.memory_config().memory_layout(); }

    /// Whether TT-NN's estimate of the circular buffers is below what a core has left.
    bool fits(const Block& block) const {
        const size_t tile_a = tile_bytes(call_.a.dtype()), tile_b = tile_bytes(call_.b.dtype());
        const size_t partial = fp32() ? tile_bytes(DataType::FLOAT32) : std::max(tile_bytes(call_.dtype), tile_bytes(DataType::BFLOAT16));
        const size_t in0 = 2 * block.h * block.k * tile_a, shard = a_ ? block.h * a_->columns * tile_a : 0;
        const size_t transposed = !call_.transpose_a ? 0 : a_ ? shard : in0;
        return in0 + 2 * block.w * block.k * tile_b + block.h * block.w * (tile_a + partial) + block.w * call_.bias_tile_bytes + shard +
                   transposed <
               space_;
    }

    /// The largest output block that fits, the squarest of equal ones. `of_rows`: whole rows of the block or single ones. Smaller depths
    /// are tried when `shorten` says so.
    Block fitted(const Block& whole, bool of_rows, bool shorten = false) const {
        if (fits(whole)) return whole;
        const auto divisors = [](size_t number) {
            std::vector<size_t> parts{number, 1};
            for (size_t part = number / 2; part > 1; --part)
                if (number % part == 0) parts.push_back(part);
            return parts;
        };
        std::map<size_t, Block> by_area;
        const auto stretch = [](const Block& block) {
            return static_cast<float>(std::max(block.h, block.w)) / static_cast<float>(std::min(block.h, block.w));
        };
        for (const size_t h : divisors(whole.h))
            for (const size_t w : divisors(whole.w)) {
                if (of_rows && w != whole.w && h != 1) continue;
                const Block block{h, w, whole.k};
                const auto known = by_area.find(h * w);
                if (known == by_area.end() || stretch(known->second) >= stretch(block)) by_area[h * w] = block;
            }
        for (size_t k = whole.k; k >= (shorten ? 1 : whole.k); --k) {
            if (whole.k % k != 0) continue;
            for (auto entry = by_area.rbegin(); entry != by_area.rend(); ++entry)
                if (const Block block{entry->second.h, entry->second.w, k}; fits(block)) return block;
        }
        return {1, 1, 1};
    }

    /// (h, w) of the first subblock that divides the block.
    std::pair<size_t, size_t> subblock(size_t h, size_t w) const {
        for (const auto& [sub_w, sub_h] : SUBBLOCKS) {
            if (fp32() && sub_h * sub_w > 4) continue;
            if (h % sub_h == 0 && w % sub_w == 0) return {sub_h, sub_w};
        }
        return {1, 1};
    }
    /// The same with the table's pairs taken as (h, w). With `of_rows` (a sharded result) only whole rows of the block, else single tiles.
    std::pair<size_t, size_t> upright_subblock(size_t h, size_t w, bool of_rows = false) const {
        for (const auto& [sub_h, sub_w] : SUBBLOCKS) {
            if (fp32() && sub_h * sub_w > 4) continue;
            if (of_rows && (sub_w != w || sub_h != 1)) continue;
            if (h % sub_h == 0 && w % sub_w == 0) return {sub_h, sub_w};
        }
        return {1, 1};
    }

    mm::MatmulMultiCoreReuseMultiCast1DProgramConfig one_dimension(
        CoreCoord grid, size_t rows, size_t columns, const Block& block, std::pair<size_t, size_t> sub, bool fuse_batch,
        bool mcast_in0) const {
        mm::MatmulMultiCoreReuseMultiCast1DProgramConfig config;
        config.compute_with_storage_grid_size = grid;
        config.in0_block_w = block.k;
        std::tie(config.out_subblock_h, config.out_subblock_w) = sub;
        config.out_block_h = block.h;
        config.out_block_w = block.w;
        config.per_core_M = rows;
        config.per_core_N = columns;
        config.fuse_batch = fuse_batch;
        config.mcast_in0 = mcast_in0;
        return config;
    }

    mm::MatmulMultiCoreReuseMultiCastProgramConfig two_dimensions(
        CoreCoord grid, size_t rows, size_t columns, const Block& block, std::pair<size_t, size_t> sub, bool fuse_batch) const {
        mm::MatmulMultiCoreReuseMultiCastProgramConfig config;
        config.compute_with_storage_grid_size = grid;
        config.in0_block_w = block.k;
        std::tie(config.out_subblock_h, config.out_subblock_w) = sub;
        config.out_block_h = block.h;
        config.out_block_w = block.w;
        config.per_core_M = rows;
        config.per_core_N = columns;
        config.transpose_mcast = layout_of_a() == BLOCK_SHARDED && !a_->row_major;
        config.fuse_batch = fuse_batch;
        return config;
    }

    void check_result_beside_a() const {
        const MemoryConfig& own = call_.a.memory_config();
        SHIM_CHECK(
            !call_.output.is_sharded() ||
                (own.buffer_type() == call_.output.buffer_type() && own.memory_layout() == call_.output.memory_layout()),
            "memory_config: expected the memory layout of input_tensor_a's shards, {}, got {}", own, call_.output);
    }

    /// A's shards decide, whatever the core_grid: rows or columns of cores, a grid of them, or whole matrices of a batch.
    MatmulProgramConfig by_shards_of_a() const {
        if (batch_of(call_.b.logical_shape()) > 1) return pairs();
        SHIM_CHECK(
            call_.b.memory_config().memory_layout() == INTERLEAVED,
            "input_tensor_b: expected INTERLEAVED memory without a program_config for its shards, got {}", call_.b.memory_config());
        const bool of_rows = call_.output.is_sharded();
        const CoreCoord cores = a_->grid;
        if (layout_of_a() != BLOCK_SHARDED) {
            SHIM_CHECK(a_->row_major, "input_tensor_a: expected ROW_MAJOR shard orientation, got {}", call_.a.memory_config());
            check_result_beside_a();
            const bool wide = layout_of_a() == WIDTH_SHARDED;
            const size_t rows = wide ? m_ * batch_a_ : a_->rows, columns = wide ? ceil_div(n_, a_->cores) : n_;
            const Block block = fitted({rows, columns, wide ? std::gcd(a_->columns, k_) : k_}, of_rows);
            const Block kept{block.h, block.w, wide ? std::gcd(a_->columns, k_) : k_};
            return one_dimension(cores, rows, columns, kept, upright_subblock(block.h, block.w, of_rows), true, wide);
        }
        if (layout_of_a() == BLOCK_SHARDED && cores.x > 1 && cores.y > 1) {
            check_result_beside_a();
            const size_t across = a_->row_major ? cores.x : cores.y, down = a_->row_major ? cores.y : cores.x, all_rows = m_ * batch_a_;
            SHIM_CHECK(
                a_->rows > 0 && a_->columns > 0 && (down == all_rows / a_->rows || down == ceil_div(all_rows, a_->rows)) &&
                    (across == k_ / a_->columns || across == ceil_div(k_, a_->columns)),
                "input_tensor_a: a grid of {} x {} cores does not match {} x {} tiles in shards of {} x {}", down, across, all_rows, k_,
                a_->rows, a_->columns);
            const size_t rows = ceil_div(all_rows, down), columns = ceil_div(n_, across);
            const size_t depth = across == k_ / a_->columns ? std::gcd(a_->columns, k_) : 1;
            const Block block = fitted({rows, columns, depth}, of_rows);
            return two_dimensions(cores, rows, columns, {block.h, block.w, depth}, upright_subblock(block.h, block.w, of_rows), true);
        }
        return on_grid();
    }

    /// Matrices of A times as many of B: each core multiplies those that it holds.
    MatmulProgramConfig pairs() const {
        SHIM_CHECK(
            layout_of_a() != WIDTH_SHARDED, "input_tensor_a: must not be WIDTH_SHARDED for a batch of matrices, got {}",
            call_.a.memory_config());
        check_result_beside_a();
        if (call_.b.is_sharded()) {
            const MemoryConfig &a = call_.a.memory_config(), &b = call_.b.memory_config();
            SHIM_CHECK(
                a.buffer_type() == b.buffer_type() && a.memory_layout() == b.memory_layout() && b.shard_spec() &&
                    a.shard_spec()->grid == b.shard_spec()->grid && a.shard_spec()->orientation == b.shard_spec()->orientation,
                "input_tensor_b: expected shards on the cores of input_tensor_a's, {}, got {}", a, b);
        }
        const auto [sub_h, sub_w] = upright_subblock(a_->rows, n_, call_.output.is_sharded());
        return mm::MatmulMultiCoreReuseProgramConfig{
            .compute_with_storage_grid_size = a_->grid,
            .in0_block_w = a_->columns,
            .out_subblock_h = sub_h,
            .out_subblock_w = sub_w,
            .per_core_M = a_->rows,
            .per_core_N = n_};
    }

    /// What a caller's core_grid selects, and what is left for A's blocks on one core or on a line of cores.
    MatmulProgramConfig on_grid() const {
        CoreCoord grid = grid_;
        if (call_.core_grid && call_.core_grid->x <= grid.x && call_.core_grid->y <= grid.y)
            grid = CoreCoord{call_.core_grid->x, call_.core_grid->y};
        if (batch_b_ > 1) return pairs_on(grid);
        const size_t rows = m_ * batch_a_;
        const bool narrow = std::max(rows, n_) / std::min(rows, n_) > NARROW_RATIO || k_ == 1 || m_ == 1 || n_ == 1;
        if (narrow && !a_) return on_line(grid);
        size_t per_m = 0, per_n = 0, depth = 4;
        if (!a_) {
            per_m = ceil_div(rows, grid.y);
            per_n = ceil_div(n_, grid.x);
            while (k_ % depth != 0) --depth;
        } else {
            per_m = a_->rows;
            per_n = std::max<size_t>(1, n_ * a_->columns / k_);
            depth = std::gcd(a_->columns, k_);
        }
        const Block block = fitted({per_m, per_n, depth}, false);
        auto sub = subblock(block.h, block.w);
        if (sub.second != per_n) sub.first = 1;
        return two_dimensions(grid, per_m, per_n, {block.h, block.w, depth}, sub, true);
    }

    MatmulProgramConfig pairs_on(CoreCoord grid) const {
        const size_t per_m = m_, depth = 1;
        size_t per_n = n_;
        if (!call_.b.is_sharded()) {
            if (!fits({per_m, per_n, depth})) return by_blocks(grid);
        } else {
            SHIM_CHECK(
                call_.b.memory_config().memory_layout() != WIDTH_SHARDED,
                "input_tensor_b: must not be WIDTH_SHARDED for a batch of matrices, got {}", call_.b.memory_config());
            per_n = shards_of(call_.b, "input_tensor_b").columns;
        }
        SHIM_CHECK(per_n > 0, "input_tensor_b: no whole tiles in shards of {}", call_.b.memory_config());
        const auto [sub_h, sub_w] = subblock(per_m, per_n);
        return mm::MatmulMultiCoreReuseProgramConfig{
            .compute_with_storage_grid_size = grid,
            .in0_block_w = depth,
            .out_subblock_h = sub_h,
            .out_subblock_w = sub_w,
            .per_core_M = per_m,
            .per_core_N = per_n};
    }

    /// Rows or columns of the result over all cores of `grid`.
    MatmulProgramConfig on_line(CoreCoord grid) const {
        const size_t rows = m_ * batch_a_, cores = grid.x * grid.y;
        const bool tall = rows > n_;
        const size_t per_m = tall ? ceil_div(rows, cores) : rows, per_n = tall ? n_ : ceil_div(n_, cores);
        size_t depth = ceil_div(k_, cores);
        while (k_ % depth != 0) --depth;
        const Block block = fitted({per_m, per_n, depth}, false);
        auto sub = subblock(block.h, block.w);
        if (call_.output.is_sharded() && sub.second != per_n) sub.first = 1;
        return one_dimension(grid, per_m, per_n, {block.h, block.w, depth}, sub, true, !tall);
    }

    /// Interleaved A: square blocks of the result as large as memory allows, spread as the result's shards want them.
    MatmulProgramConfig by_blocks(CoreCoord grid) const {
        const MemoryConfig &a = call_.a.memory_config(), &b = call_.b.memory_config(), &out = call_.output;
        const bool interleaved = !a.is_sharded() && !b.is_sharded() && !out.is_sharded();
        const bool all_dram = a.is_dram() && b.is_dram() && out.is_dram(), dram_interleaved = all_dram && interleaved;
        const bool narrow = std::max(m_, n_) / std::min(m_, n_) > NARROW_RATIO || (all_dram && (m_ == 1 || n_ == 1));
        const bool wide = interleaved && narrow && n_ > m_, tall = interleaved && narrow && n_ <= m_;
        size_t depth = 2, factor = 16;
        while (factor > 1 && !fits({factor, factor, depth})) factor /= 2;
        const size_t down = ceil_div(m_, factor), across = ceil_div(n_, factor);
        if ((out.is_sharded() || down > 1 || across > 1) && k_ % depth != 0) depth = 1;
        if (!dram_interleaved && (down * across > grid.x * grid.y || k_ % depth != 0)) return mm::MatmulMultiCoreProgramConfig{};
        const bool in_grid = (down > 1 || across > 1) && down <= grid.y && across <= grid.x;
        const Line line = line_of(out);
        SHIM_CHECK(
            batch_b_ == 1 || (!line.row && !line.column),
            "memory_config: a batch of products cannot be block sharded over one row or column of cores, got {}", out);
        const auto shards = [&](TensorMemoryLayout layout) { return !in_grid && out.memory_layout() == layout; };
        if ((in_grid && down == 1) || wide || shards(WIDTH_SHARDED) || (!in_grid && line.row))
            return spread(true, line.row ? out.shard_spec() : std::nullopt);
        if ((in_grid && across == 1) || tall || shards(HEIGHT_SHARDED) || (!in_grid && line.column))
            return spread(false, line.column ? out.shard_spec() : std::nullopt);
        if (!in_grid && !dram_interleaved && !shards(BLOCK_SHARDED)) return mm::MatmulMultiCoreProgramConfig{};
        if (!dram_interleaved) {
            const size_t h = std::min(factor, m_), w = std::min(factor, n_);
            return two_dimensions(grid, h, w, {h, w, depth}, upright_subblock(h, w, out.is_sharded()), out.is_sharded() && batch_b_ == 1);
        }
        const size_t per_m = ceil_div(m_, grid.y), per_n = ceil_div(n_, grid.x);
        const Block block = fitted({per_m, per_n, k_ % grid.x == 0 ? k_ / grid.x : 1}, false, true);
        return two_dimensions(grid, per_m, per_n, block, upright_subblock(block.h, block.w), false);
    }

    /// Rows or columns of the result over all cores, or over those of the caller's shards. Extents count in elements first.
    MatmulProgramConfig spread(bool columns, const std::optional<ShardSpec>& shards) const {
        const size_t cores = grid_.x * grid_.y;
        const bool fuse = shards && batch_b_ == 1;
        CoreCoord grid = grid_;
        size_t per_m = columns ? m_ : ceil_div(ceil_div(m_ * TILE, cores), TILE);
        size_t per_n = columns ? ceil_div(ceil_div(n_ * TILE, cores), TILE) : n_;
        if (shards) {
            SHIM_CHECK(
                shards->shape[0] % TILE == 0 && shards->shape[1] % TILE == 0, "memory_config: expected shards of whole tiles, got {}",
                call_.output);
            per_m = shards->shape[0] / TILE;
            per_n = shards->shape[1] / TILE;
            grid = shards->grid.bounding_box().grid_size();
            SHIM_CHECK(
                grid.x * grid.y == shards->num_cores(), "memory_config: expected a row or column of cores without gaps, got {}",
                call_.output);
        }
        const size_t depth = k_ % 2 == 0 ? 2 : 1;
        const Block block = fitted({per_m, per_n, depth}, false);
        return one_dimension(grid, per_m, per_n, {block.h, block.w, depth}, upright_subblock(block.h, block.w), fuse, columns);
    }

    const AutomaticMatmul& call_;
    CoreCoord grid_;
    size_t m_ = 1, k_ = 1, n_ = 1, batch_a_ = 1, batch_b_ = 1;  // in tiles, m without the batch
    uint64_t space_ = 0;
    std::optional<Shards> a_;
};

}  // namespace

MatmulProgramConfig automatic_config(const AutomaticMatmul& call) {
    MatmulProgramConfig config = Chooser(call).choose();
    const CoreCoord device = call.a.device()->compute_with_storage_grid_size();
    std::visit(
        [&](const auto& c) {
            if constexpr (requires { c.out_subblock_h; }) {
                const CoreCoord grid = c.compute_with_storage_grid_size;
                SHIM_CHECK(
                    grid.x > 0 && grid.y > 0 && grid.x <= device.x && grid.y <= device.y,
                    "core_grid: the program's grid of {} x {} exceeds the device's {} x {}", grid.x, grid.y, device.x, device.y);
                SHIM_CHECK(
                    c.in0_block_w > 0 && c.per_core_M > 0 && c.per_core_N > 0 && c.per_core_M % c.out_subblock_h == 0 &&
                        c.per_core_N % c.out_subblock_w == 0,
                    "memory_config: no automatic program for {} of {} and {}: its blocks of {} x {} tiles do not divide into {} x {}",
                    call.output, call.a.memory_config(), call.b.memory_config(), c.per_core_M, c.per_core_N, c.out_subblock_h,
                    c.out_subblock_w);
            }
        },
        config);
    return config;
}

}  // namespace ttnn_shim
