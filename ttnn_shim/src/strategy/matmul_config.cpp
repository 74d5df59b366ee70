#include "strategy/matmul_config.hpp"

#include <array>
#include <numeric>
#include <stdexcept>

namespace ttnn_shim::strategy {
namespace {

constexpr std::array<std::pair<int, int>, 20> kSubblocks = {{{4, 2}, {2, 4}, {8, 1}, {1, 8}, {7, 1}, {1, 7}, {3, 2},
                                                             {2, 3}, {6, 1}, {1, 6}, {5, 1}, {1, 5}, {2, 2}, {4, 1},
                                                             {1, 4}, {3, 1}, {1, 3}, {2, 1}, {1, 2}, {1, 1}}};

/// Circular buffers of a multicast matmul: in0 and in1 blocks doubled, output block and its intermediate.
std::int64_t fit_bytes(const OpConfig& c, std::int64_t h, std::int64_t w, std::int64_t k) {
    const std::int64_t t0 = c.inputs[0].tile_bytes(), t1 = c.inputs[1].tile_bytes(), to = c.outputs[0].tile_bytes();
    const std::int64_t interm = c.compute.fp32_dest_acc ? 4096 : 2048;
    return 2 * h * k * t0 + 2 * w * k * t1 + h * w * to + h * w * interm;
}

/// L1 that the selector counts on: the older one looked at the core less its reserved start, 0.81.1 at what tensors leave of it.
std::int64_t l1_limit(const Arch& arch, const OpConfig& c) {
    return c.release.older_matmul_selector ? arch.l1_core_bytes - arch.l1_reserved_bytes : c.l1_free_bytes.value_or(arch.l1_bytes);
}
bool fits(const Arch& arch, const OpConfig& c, std::int64_t h, std::int64_t w, std::int64_t k) {
    return fit_bytes(c, h, w, k) < l1_limit(arch, c);
}

/// The largest output block that fits; the squarest of those.
bool split_block(const Arch& arch, const OpConfig& c, std::int64_t block_k, MatmulProgram& p) {
    std::int64_t best = 0;
    double squareness = 0;
    for (std::int64_t h = p.m; h >= 1; --h) {
        if (p.m % h) continue;
        for (std::int64_t w = p.n; w >= 1; --w) {
            if (p.n % w || !fits(arch, c, h, w, block_k)) continue;
            const double square = static_cast<double>(std::min(h, w)) / static_cast<double>(std::max(h, w));
            if (h * w > best || (h * w == best && square >= squareness)) {
                best = h * w;
                squareness = square;
                p.block_h = h;
                p.block_w = w;
            }
        }
    }
    return best > 0;
}

/// Shrink the program until its buffers fit: 1-D programs and the measured tables split the output block, the 2-D programs of 0.81.1 cut
/// in0_block_w first.
void fit_l1(const Arch& arch, const OpConfig& c, bool older, MatmulProgram& p) {
    p.block_h = p.m;
    p.block_w = p.n;
    if (p.kind == MatmulKind::MultiCore || fits(arch, c, p.m, p.n, p.block_k)) return;
    if ((older || p.kind != MatmulKind::Mcast2D) && split_block(arch, c, p.block_k, p)) return;
    const std::int64_t k0 = p.block_k;
    for (std::int64_t k = k0; k >= 1; --k)
        if (k0 % k == 0 && fits(arch, c, p.m, p.n, k)) {
            p.block_k = k;
            return;
        }
    p.block_k = 1;
    if (!split_block(arch, c, 1, p)) throw std::invalid_argument("matmul: a single output tile with K block 1 does not fit L1");
}

MatmulProgram from_config(const Arch& arch, const OpConfig& c, const Matmul& op, const MatmulShape& s) {
    MatmulProgram p;
    p.block_k = std::max<std::int64_t>(1, *op.in0_block_w);
    p.m = op.per_core_M.value_or(s.m);
    p.n = op.per_core_N.value_or(s.n);
    if (s.k % p.block_k)
        throw std::invalid_argument(
            "matmul: in0_block_w " + std::to_string(p.block_k) + " does not divide K of " + std::to_string(s.k) + " tiles");
    p.block_h = op.out_block_h.value_or(p.m);
    p.block_w = op.out_block_w.value_or(p.n);
    p.sub_h = op.out_subblock_h.value_or(1);
    p.sub_w = op.out_subblock_w.value_or(1);
    const std::int64_t my = ceil_div(s.m, p.m), nx = ceil_div(s.n, p.n);
    if (*op.program_config == MatmulConfig::MultiCast1D) {
        if (op.gather_in0.value_or(false) && c.inputs[0].sharded()) {  // one core per shard of A, which is one step of the ring
            const Shard shard = shard_of(arch, c.inputs[0]);
            p.kind = MatmulKind::Ring;
            p.cores = shard.cores;
            p.block_k = std::max<std::int64_t>(1, ceil_div(shard.w, 32));
            return p;
        }
        p.kind = op.mcast_in0.value_or(true) ? MatmulKind::Mcast1DIn0 : MatmulKind::Mcast1DIn1;
        p.cores = static_cast<int>(my * nx);
        p.batch = s.batch;
    } else if (*op.program_config == MatmulConfig::DramSharded || *op.program_config == MatmulConfig::BatchedDramSharded) {
        p.kind = MatmulKind::DramSharded;
        p.cores = arch.dram_banks;
        p.m = s.m;
        p.n = ceil_div(s.n, p.cores);
        p.block_h = p.m;
        p.block_w = p.n;
        p.batch = 1;
    } else if (*op.program_config == MatmulConfig::MultiCast) {
        p.kind = MatmulKind::Mcast2D;
        p.cores = static_cast<int>(my * nx);
        p.grid_x = static_cast<int>(nx);
        p.grid_y = static_cast<int>(my);
        p.batch = s.batch;
    } else {
        p.kind = MatmulKind::Reuse;
        const std::int64_t blocks = s.batch * my * nx;
        const std::int64_t grid = op.core_grid ? (*op.core_grid)[0] * (*op.core_grid)[1] : arch.cores();
        p.cores = static_cast<int>(std::min(blocks, grid));
        p.batch = ceil_div(blocks, p.cores);
    }
    return p;
}

MatmulProgram select_sharded(const Arch& arch, const OpConfig& c, const MatmulShape& s) {
    const TensorDesc& a = c.inputs[0];
    const Shard shard = shard_of(arch, a);
    MatmulProgram p;
    p.batch = s.batch;
    if (a.memory == TensorMemoryLayout::WIDTH_SHARDED) {
        p.kind = MatmulKind::Mcast1DIn0;
        p.m = s.m;
        p.n = ceil_div(s.n, shard.cores);
        p.block_k = std::gcd(shard.w / 32, s.k);
        p.cores = shard.cores;
    } else if (a.memory == TensorMemoryLayout::HEIGHT_SHARDED) {
        p.kind = MatmulKind::Mcast1DIn1;
        p.m = ceil_div(shard.h, 32);
        p.n = s.n;
        p.block_k = s.k;
        p.cores = static_cast<int>(ceil_div(s.m, p.m));
    } else {
        p.kind = MatmulKind::Mcast2D;
        p.m = ceil_div(shard.h, 32);
        p.grid_x = static_cast<int>(std::max<std::int64_t>(1, ceil_div(a.width(), shard.w)));
        p.grid_y = static_cast<int>(ceil_div(s.m, p.m));
        p.n = ceil_div(s.n, p.grid_x);
        p.block_k = std::gcd(shard.w / 32, s.k);
        p.cores = p.grid_x * p.grid_y;
    }
    p.block_k = std::max<std::int64_t>(1, p.block_k);
    p.block_h = p.m;
    p.block_w = p.n;
    if (a.memory == TensorMemoryLayout::HEIGHT_SHARDED) {
        // The shards of A and of the output occupy L1 too; B is multicast again for every output block.
        const std::int64_t taken = p.m * p.block_k * a.tile_bytes() + (resident(c.outputs[0]) ? p.m * p.n * c.outputs[0].tile_bytes() : 0);
        while (p.block_h > 1 && fit_bytes(c, p.block_h, p.n, p.block_k) >= l1_limit(arch, c) - taken) {
            --p.block_h;
            while (p.m % p.block_h) --p.block_h;
        }
    }
    return p;
}

MatmulProgram mcast_1d(const Arch& arch, const MatmulShape& s, bool in0, std::int64_t block_k) {
    MatmulProgram p;
    p.kind = in0 ? MatmulKind::Mcast1DIn0 : MatmulKind::Mcast1DIn1;
    p.m = in0 ? s.m : ceil_div(s.m, arch.cores());
    p.n = in0 ? ceil_div(s.n, arch.cores()) : s.n;
    p.cores = static_cast<int>(in0 ? ceil_div(s.n, p.n) : ceil_div(s.m, p.m));
    p.block_k = s.k % block_k == 0 ? block_k : 1;
    p.batch = s.batch;
    return p;
}

/// One output tile at a time, tiles of A and B read for each.
MatmulProgram multi_core(const Arch& arch, const MatmulShape& s) {
    MatmulProgram p;
    p.kind = MatmulKind::MultiCore;
    const std::int64_t tiles = s.m * s.n * s.batch;
    p.cores = static_cast<int>(std::max<std::int64_t>(1, std::min<std::int64_t>(tiles, arch.cores())));
    p.m = p.n = 1;
    p.block_k = 1;
    p.batch = ceil_div(tiles, p.cores);
    return p;
}

bool narrow_shape(const MatmulShape& s) { return std::max(s.m, s.n) > 8 * std::min(s.m, s.n) || s.m == 1 || s.n == 1; }

MatmulProgram select_interleaved(const Arch& arch, const OpConfig& c, const MatmulShape& s, bool older) {
    const bool all_dram = in_dram(c.inputs[0]) && in_dram(c.inputs[1]) && (in_dram(c.outputs[0]) || older);
    const std::int64_t block_k = s.k % 2 == 0 ? 2 : 1;
    const bool narrow = narrow_shape(s);
    if (narrow && (all_dram || older)) return mcast_1d(arch, s, s.n > s.m, block_k);
    std::int64_t factor = 0;
    for (std::int64_t f : {16, 8, 4, 2})
        if (fits(arch, c, f, f, block_k)) {
            factor = f;
            break;
        }
    if (!factor) factor = 1;
    const std::int64_t ny = ceil_div(s.m, factor), nx = ceil_div(s.n, factor);
    const bool in_range = !(ny == 1 && nx == 1) && ny <= arch.grid_y && nx <= arch.grid_x;
    MatmulProgram p;
    p.kind = MatmulKind::Mcast2D;
    p.batch = s.batch;
    // The older selector settles 1-D from the blocks of the square factor; 0.81.1 looks at the spread over the grid first, unless an
    // operand is in L1.
    if (older || !all_dram) {
        if (older && ny == 1 && nx == 1 && s.batch > 1) return mcast_1d(arch, s, s.n >= s.m, block_k);
        if (in_range && ny == 1) return mcast_1d(arch, s, true, block_k);
        if (in_range && nx == 1) return mcast_1d(arch, s, false, block_k);
        if (!older) {
            if (narrow && ny * nx > 1 && ny * nx <= arch.cores()) return mcast_1d(arch, s, s.n > s.m, block_k);
            if (!in_range) return multi_core(arch, s);
            p.m = p.n = factor;
            p.block_k = block_k;
            p.grid_y = static_cast<int>(ny);
            p.grid_x = static_cast<int>(nx);
            p.cores = p.grid_x * p.grid_y;
            return p;
        }
    }
    p.m = ceil_div(s.m, arch.grid_y);
    p.n = ceil_div(s.n, arch.grid_x);
    p.block_k = s.k % arch.grid_x == 0 ? s.k / arch.grid_x : 1;
    p.grid_y = static_cast<int>(ceil_div(s.m, p.m));
    p.grid_x = static_cast<int>(ceil_div(s.n, p.n));
    p.cores = p.grid_x * p.grid_y;
    return p;
}

/// What a caller's core_grid selects: batches of B one per core, narrow shapes 1-D, others 2-D; nothing is split to fit.
MatmulProgram select_on_grid(const Arch& arch, const OpConfig& c, const MatmulShape& s, int grid_x, int grid_y) {
    MatmulProgram p;
    p.m = s.m;
    p.n = s.n;
    const int cores = grid_x * grid_y;
    const auto divisor = [&](std::int64_t most) {
        std::int64_t k = std::max<std::int64_t>(1, most);
        while (s.k % k) --k;
        return k;
    };
    if (s.b_batched) {
        p.kind = MatmulKind::Reuse;
        p.cores = static_cast<int>(std::min<std::int64_t>(s.batch, cores));
        p.batch = ceil_div(s.batch, p.cores);
        if (fits(arch, c, p.m, p.n, 1)) return p;
        p = select_interleaved(arch, c, s, false);
        fit_l1(arch, c, false, p);
        return p;
    }
    if (narrow_shape(s)) {
        const bool tall = s.m > s.n;
        p.kind = tall ? MatmulKind::Mcast1DIn1 : MatmulKind::Mcast1DIn0;
        (tall ? p.m : p.n) = ceil_div(tall ? s.m : s.n, cores);
        p.block_k = divisor(ceil_div(s.k, cores));
        p.cores = static_cast<int>(tall ? ceil_div(s.m, p.m) : ceil_div(s.n, p.n));
        return p;
    }
    p.kind = MatmulKind::Mcast2D;
    p.m = ceil_div(s.m, grid_y);
    p.n = ceil_div(s.n, grid_x);
    p.block_k = divisor(4);
    p.grid_y = static_cast<int>(ceil_div(s.m, p.m));
    p.grid_x = static_cast<int>(ceil_div(s.n, p.n));
    p.cores = p.grid_x * p.grid_y;
    return p;
}

}  // namespace

void pick_subblock(std::int64_t h, std::int64_t w, bool fp32_dest, bool full_width, std::int64_t& sub_h, std::int64_t& sub_w) {
    for (const auto& [sh, sw] : kSubblocks) {
        if (h % sh || w % sw || (fp32_dest && sh * sw > 4)) continue;
        if (full_width && !(sw == w || (sh == 1 && sw == 1))) continue;  // a sharded output wants whole rows
        sub_h = full_width && sw == w ? 1 : sh;
        sub_w = sw;
        return;
    }
    sub_h = sub_w = 1;
}

MatmulShape matmul_shape(const OpConfig& c, const Matmul& op) {
    if (c.inputs.size() < 2) throw std::invalid_argument(c.label() + "needs two inputs");
    const TensorDesc& a = c.inputs[0];
    const TensorDesc& b = c.inputs[1];
    if (a.padded.empty() || b.padded.empty()) throw std::invalid_argument(c.label() + "an input has no shape");
    auto tail = [](const TensorDesc& t, std::size_t from_end) {
        return t.padded.size() > from_end ? t.padded[t.padded.size() - 1 - from_end] : 1;
    };
    auto batch = [](const TensorDesc& t) {
        std::int64_t n = 1;
        for (std::size_t i = 0; i + 2 < t.padded.size(); ++i) n *= t.padded[i];
        return n;
    };
    MatmulShape s;
    const bool ta = op.transpose_a, tb = op.transpose_b;
    s.m = ceil_div(tail(a, ta ? 0 : 1), 32);
    s.k = ceil_div(tail(a, ta ? 1 : 0), 32);
    s.n = ceil_div(tail(b, tb ? 1 : 0), 32);
    const std::int64_t kb = ceil_div(tail(b, tb ? 0 : 1), 32), ba = batch(a), bb = batch(b);
    s.b_batched = bb > 1;
    s.batch = std::max(ba, bb);
    if (s.k != kb)
        throw std::invalid_argument(
            c.label() + "inner dimensions differ (" + std::to_string(s.k) + " and " + std::to_string(kb) + " tiles)");
    s.k = std::max(s.k, kb) == kb ? kb : s.k;
    // B without a batch: the batch folds into M, unless the program keeps it as a loop.
    // 0.81.1 folds it only into programs that the caller configures.
    const bool configured = op.core_grid || op.program_config;
    const bool loops = !a.sharded() && !configured;
    if (!s.b_batched && !loops) {
        s.m *= ba;
        s.batch = 1;
    }
    return s;
}

MatmulProgram select_matmul(const Arch& arch, const OpConfig& c, const Matmul& op, const MatmulShape& s) {
    MatmulProgram p;
    bool choose_subblock = true;
    if (op.program_config && op.in0_block_w) {
        p = from_config(arch, c, op, s);
        choose_subblock = !op.out_subblock_h;
    } else if (resident(c.inputs[0]))
        p = select_sharded(arch, c, s);
    else if (const Pair grid = op.core_grid.value_or(Pair{}); !op.program_config && grid[0] > 0 && grid[1] > 0)
        p = select_on_grid(arch, c, s, static_cast<int>(grid[0]), static_cast<int>(grid[1]));
    else {
        p = select_interleaved(arch, c, s, c.release.older_matmul_selector);
        fit_l1(arch, c, c.release.older_matmul_selector, p);
    }
    if (p.block_h <= 0) p.block_h = p.m;
    if (p.block_w <= 0) p.block_w = p.n;
    // The DRAM-sharded program hands its columns on to the shards of the output: any subblock will do.
    const bool full_width = resident(c.outputs[0]) && p.kind != MatmulKind::DramSharded;
    if (choose_subblock) pick_subblock(p.block_h, p.block_w, c.compute.fp32_dest_acc, full_width, p.sub_h, p.sub_w);
    if (c.core_count.value_or(0) > 0) p.cores = static_cast<int>(*c.core_count);
    return p;
}

const char* factory_name(MatmulKind kind) {
    switch (kind) {
        case MatmulKind::Mcast2D: return "MatmulMultiCoreReuseMcast2DProgramFactory";
        case MatmulKind::Mcast1DIn0:
        case MatmulKind::Ring:
        case MatmulKind::Mcast1DIn1: return "MatmulMultiCoreReuseMcast1DProgramFactory";
        case MatmulKind::Reuse: return "MatmulMultiCoreReuseOptimizedProgramFactory";
        case MatmulKind::MultiCore: return "MatmulMultiCoreProgramFactory";
        case MatmulKind::DramSharded: return "MatmulMultiCoreReuseMultiCastDRAMShardedProgramFactory";
    }
    return "";
}

namespace {

/// Columns of tiles that a core of the DRAM-sharded program computes: filled up where that makes fewer, wider subblocks of one row.
std::int64_t computed_columns(const OpConfig& c, const MatmulProgram& p) {
    const std::int64_t most = c.compute.fp32_dest_acc ? 4 : 8;
    if (p.m > 1 || p.n < 1) return p.n;
    std::int64_t width = std::min(most, p.n);
    while (p.n % width) --width;
    std::int64_t count = p.n / width, best = width;
    for (std::int64_t wider = width + 1; wider <= most; ++wider)
        if (ceil_div(p.n, wider) < count) count = ceil_div(p.n, best = wider);
    return best * count;
}

/// The DRAM-sharded program: a bank's columns are fetched three blocks deep, and a core's columns of the result are made beside the shards
/// that they are then dealt to.
std::vector<CircularBuffer> dram_sharded_buffers(const OpConfig& c, const MatmulShape& s, const MatmulProgram& p) {
    const std::int64_t to = c.outputs[0].tile_bytes(), columns = computed_columns(c, p);
    const bool several = s.k > p.block_k;
    const std::int64_t interm = c.compute.fp32_dest_acc ? 4096 : c.compute.packer_l1_acc && several ? 2048 : to;
    std::vector<CircularBuffer> out{
        {"in0", (several ? 2 : 1) * p.m * p.block_k * c.inputs[0].tile_bytes()},
        {"in1", (several ? 3 : 1) * p.n * p.block_k * c.inputs[1].tile_bytes()},
        {"out", p.m * columns * to},
    };
    if (interm != to) out.push_back({"interm", p.m * columns * interm});
    if (c.inputs.size() > 2) out.push_back({"bias", columns * c.inputs[2].tile_bytes()});
    return out;
}

}  // namespace

std::vector<CircularBuffer> matmul_buffers(const OpConfig& c, const MatmulShape& s, const MatmulProgram& p) {
    if (p.kind == MatmulKind::DramSharded) return dram_sharded_buffers(c, s, p);
    const TensorDesc &a = c.inputs[0], &b = c.inputs[1];
    const std::int64_t t0 = a.tile_bytes(), t1 = b.tile_bytes(), to = c.outputs[0].tile_bytes();
    if (p.kind == MatmulKind::MultiCore) return {{"in0", 2 * t0}, {"in1", 2 * t1}, {"out", 2 * to}};
    const std::int64_t k_blocks = ceil_div(s.k, p.block_k);
    if (p.kind == MatmulKind::Ring) {  // all shards of A but the own one; two blocks of a B in DRAM; sums in their own format
        constexpr std::int64_t SYNC_BYTES = 32;
        std::vector<CircularBuffer> ring = {{"in0", (p.cores - 1) * p.m * p.block_k * t0}, {"sync", SYNC_BYTES}};
        if (!resident(b)) ring.push_back({"in1", 2 * p.block_k * p.n * t1});
        const std::int64_t sums = c.compute.fp32_dest_acc ? 4096 : c.compute.packer_l1_acc && p.cores > 1 ? 2048 : to;
        if (sums != to) ring.push_back({"interm", p.m * p.n * sums});
        return ring;
    }
    const bool rows_stay = p.kind == MatmulKind::Mcast1DIn1, reuse = p.kind == MatmulKind::Reuse;
    const bool local0 = resident(a), bias = c.inputs.size() > 2;
    // A block is double buffered when another follows; a B that all batches share stays where columns are multicast.
    const std::int64_t batch1 = s.b_batched || !rows_stay ? p.batch : 1;
    const std::int64_t deep0 = reuse || k_blocks * p.batch > 1 ? 2 : 1, deep1 = reuse || k_blocks * batch1 > 1 ? 2 : 1;
    std::vector<CircularBuffer> out;
    if (local0 && rows_stay) {
        // A shard that is read in one step is used where it lies; one that is read in several, of K or of rows once for each block of
        // columns, is copied whole.
        if (s.k > p.block_k || (p.block_h != p.m && p.block_w != p.n)) out.push_back({"in0", p.m * s.k * p.batch * t0});
    } else if (!(local0 && reuse)) {
        out.push_back({"in0", deep0 * p.block_h * p.block_k * t0});
    }
    if (!resident(b)) out.push_back({"in1", deep1 * p.block_w * p.block_k * t1});
    // The packer accumulates in L1 from the second or third block on. Partial sums share the output's buffer, which may be the tensor
    // itself, unless their format differs or the output block is a part of the core's share.
    const bool from_second = p.kind == MatmulKind::Mcast1DIn0 || (bias && !reuse);
    const bool l1_acc = c.compute.packer_l1_acc && k_blocks > (from_second ? 1 : 2);
    const std::int64_t interm = c.compute.fp32_dest_acc ? 4096 : l1_acc ? 2048 : to;
    const bool part = resident(c.outputs[0]) && (p.block_h != p.m || p.block_w != p.n);
    if (!resident(c.outputs[0])) out.push_back({"out", p.block_h * p.block_w * to});
    if (interm != to || part) out.push_back({"interm", p.block_h * p.block_w * interm});
    if (bias) out.push_back({"bias", p.block_w * c.inputs[2].tile_bytes()});
    return out;
}

}  // namespace ttnn_shim::strategy
