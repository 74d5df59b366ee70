#include "strategy/matmul_config.hpp"

#include <numeric>
#include <stdexcept>

namespace ttnn_shim::strategy {
namespace {

/// One output tile at a time, tiles of A and B read for each.
MatmulProgram multi_core(const Arch& arch, const MatmulShape& s) {
    MatmulProgram p;
    p.kind = MatmulKind::MultiCore;
    const std::int64_t tiles = s.m * s.n * s.batch;
    p.cores = static_cast<int>(std::max<std::int64_t>(1, std::min<std::int64_t>(tiles, arch.cores())));
    p.m = p.n = 1;
    p.batch = ceil_div(tiles, p.cores);
    return p;
}

MatmulProgram from_config(const Arch& arch, const OpConfig& c, const Matmul& op, const MatmulShape& s) {
    if (*op.program_config == MatmulConfig::MultiCore) return multi_core(arch, s);
    MatmulProgram p;
    p.block_k = std::max<std::int64_t>(1, *op.in0_block_w);
    p.m = op.per_core_M.value_or(s.m);
    p.n = op.per_core_N.value_or(s.n);
    if (s.k % p.block_k)
        throw std::invalid_argument(
            "matmul: in0_block_w " + std::to_string(p.block_k) + " does not divide K of " + std::to_string(s.k) + " tiles");
    p.block_h = op.out_block_h.value_or(p.m);
    p.block_w = op.out_block_w.value_or(p.n);
    p.sub_h = op.out_subblock_h.value_or(0);
    p.sub_w = op.out_subblock_w.value_or(0);
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

// --- the selector of the measured tables: blocks of a square factor; it looked at the core less its reserved start, not at what tensors
// take of it ---

/// Circular buffers of a multicast matmul: in0 and in1 blocks doubled, output block and its intermediate.
std::int64_t fit_bytes(const OpConfig& c, std::int64_t h, std::int64_t w, std::int64_t k) {
    const std::int64_t interm = c.compute.fp32_dest_acc ? 4096 : 2048;
    return 2 * k * (h * c.inputs[0].tile_bytes() + w * c.inputs[1].tile_bytes()) + h * w * (c.outputs[0].tile_bytes() + interm);
}
std::int64_t l1_limit(const Arch& arch) { return arch.l1_core_bytes - arch.l1_reserved_bytes; }

/// The largest output block that fits, the squarest of those; with a shorter K block where none does.
void split_block(const Arch& arch, const OpConfig& c, MatmulProgram& p) {
    for (std::int64_t k = p.block_k; k >= 1; --k) {
        if (p.block_k % k) continue;
        std::int64_t best = 0;
        double squareness = 0;
        for (std::int64_t h = p.m; h >= 1; --h)
            for (std::int64_t w = p.n; w >= 1; --w) {
                if (p.m % h || p.n % w || fit_bytes(c, h, w, k) >= l1_limit(arch)) continue;
                const double square = static_cast<double>(std::min(h, w)) / static_cast<double>(std::max(h, w));
                if (h * w < best || (h * w == best && square < squareness)) continue;
                best = h * w;
                squareness = square;
                p.block_h = h;
                p.block_w = w;
            }
        if (best == 0) continue;
        p.block_k = k;
        return;
    }
    throw std::invalid_argument("matmul: a single output tile with K block 1 does not fit L1");
}

MatmulProgram older_on_shards(const Arch& arch, const OpConfig& c, const MatmulShape& s) {
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
    } else if (a.memory == TensorMemoryLayout::HEIGHT_SHARDED && s.b_batched) {  // every core its own products
        p.kind = MatmulKind::Reuse;
        p.m = std::min(s.m, ceil_div(shard.h, 32));
        p.n = s.n;
        p.block_k = s.k;
        p.cores = shard.cores;
        p.batch = ceil_div(s.batch * ceil_div(s.m, p.m), p.cores);
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
        while (p.block_h > 1 && fit_bytes(c, p.block_h, p.n, p.block_k) >= l1_limit(arch) - taken) {
            --p.block_h;
            while (p.m % p.block_h) --p.block_h;
        }
    }
    return p;
}

MatmulProgram older_interleaved(const Arch& arch, const OpConfig& c, const MatmulShape& s) {
    MatmulProgram p;
    p.batch = s.batch;
    p.block_k = s.k % 2 == 0 ? 2 : 1;
    std::int64_t factor = 16;
    while (factor > 1 && fit_bytes(c, factor, factor, p.block_k) >= l1_limit(arch)) factor /= 2;
    const std::int64_t ny = ceil_div(s.m, factor), nx = ceil_div(s.n, factor);
    const bool narrow = std::max(s.m, s.n) > 8 * std::min(s.m, s.n) || s.m == 1 || s.n == 1;
    const bool one_block = ny == 1 && nx == 1, in_range = !one_block && ny <= arch.grid_y && nx <= arch.grid_x;
    if (narrow || (one_block && s.batch > 1) || (in_range && (ny == 1 || nx == 1))) {
        const bool in0 = narrow ? s.n > s.m : one_block ? s.n >= s.m : ny == 1;
        p.kind = in0 ? MatmulKind::Mcast1DIn0 : MatmulKind::Mcast1DIn1;
        p.m = in0 ? s.m : ceil_div(s.m, arch.cores());
        p.n = in0 ? ceil_div(s.n, arch.cores()) : s.n;
        p.cores = static_cast<int>(in0 ? ceil_div(s.n, p.n) : ceil_div(s.m, p.m));
    } else {
        p.m = ceil_div(s.m, arch.grid_y);
        p.n = ceil_div(s.n, arch.grid_x);
        p.block_k = s.k % arch.grid_x == 0 ? s.k / arch.grid_x : 1;
        p.grid_y = static_cast<int>(ceil_div(s.m, p.m));
        p.grid_x = static_cast<int>(ceil_div(s.n, p.n));
        p.cores = p.grid_x * p.grid_y;
    }
    split_block(arch, c, p);
    return p;
}

}  // namespace

Subblock first_subblock(std::int64_t h, std::int64_t w, std::int64_t most, bool wide_first, bool whole_rows) {
    constexpr Subblock SUBBLOCKS[] = {{4, 2}, {2, 4}, {8, 1}, {1, 8}, {7, 1}, {1, 7}, {3, 2}, {2, 3}, {6, 1}, {1, 6},
                                      {5, 1}, {1, 5}, {2, 2}, {4, 1}, {1, 4}, {3, 1}, {1, 3}, {2, 1}, {1, 2}};
    for (const auto& [x, y] : SUBBLOCKS) {
        const Subblock sub = wide_first ? Subblock{y, x} : Subblock{x, y};
        if (x * y <= most && h % sub.h == 0 && w % sub.w == 0 && (!whole_rows || sub.w == w || sub.h == 1)) return sub;
    }
    return {1, 1};
}

Subblock pick_subblock(std::int64_t h, std::int64_t w, bool fp32_dest, bool full_width) {
    const std::int64_t most = fp32_dest ? 4 : 8;
    if (full_width) return {1, w <= most ? w : 1};  // a sharded output needs whole rows
    return first_subblock(h, w, most);
}

MatmulShape matrices_of(const OpConfig& c, const Matmul& op) {
    if (c.inputs.size() < 2) throw std::invalid_argument(c.label() + "needs two inputs");
    const TensorDesc &a = c.inputs[0], &b = c.inputs[1];
    if (a.padded.empty() || b.padded.empty()) throw std::invalid_argument(c.label() + "an input has no shape");
    const auto batch = [](const TensorDesc& t) {
        std::int64_t n = 1;
        for (std::size_t i = 0; i + 2 < t.padded.size(); ++i) n *= t.padded[i];
        return n;
    };
    const bool ta = op.transpose_a, tb = op.transpose_b;
    MatmulShape s{
        .m = ceil_div(dim(a, ta ? 0 : 1), 32),
        .k = ceil_div(dim(a, ta ? 1 : 0), 32),
        .n = ceil_div(dim(b, tb ? 1 : 0), 32),
        .batch_a = batch(a)};
    const std::int64_t kb = ceil_div(dim(b, tb ? 0 : 1), 32), batch_b = batch(b);
    s.b_batched = batch_b > 1;
    s.batch = std::max(s.batch_a, batch_b);
    if (s.k != kb)
        throw std::invalid_argument(
            c.label() + "inner dimensions differ (" + std::to_string(s.k) + " and " + std::to_string(kb) + " tiles)");
    return s;
}

MatmulShape matmul_shape(const OpConfig& c, const Matmul& op) {
    MatmulShape s = matrices_of(c, op);
    // B without a batch: the batch folds into M, unless the program keeps it as a loop.
    const bool configured = op.core_grid || op.program_config;
    const bool loops = !c.inputs[0].sharded() && !(configured && op.fuse_batch.value_or(true));
    if (!s.b_batched && !loops) {
        s.m *= s.batch_a;
        s.batch = 1;
    }
    return s;
}

MatmulProgram matmul_program(const Arch& arch, const OpConfig& c, const Matmul& op, const MatmulShape& s) {
    MatmulProgram p = op.is_configured()      ? from_config(arch, c, op, s)
                      : resident(c.inputs[0]) ? older_on_shards(arch, c, s)
                                              : older_interleaved(arch, c, s);
    if (p.block_h <= 0) p.block_h = p.m;
    if (p.block_w <= 0) p.block_w = p.n;
    // The DRAM-sharded program hands its columns on to the shards of the output: any subblock will do.
    const bool full_width = resident(c.outputs[0]) && p.kind != MatmulKind::DramSharded;
    if (p.sub_h <= 0) {
        const Subblock sub = pick_subblock(p.block_h, p.block_w, c.compute.fp32_dest_acc, full_width);
        p.sub_h = sub.h;
        p.sub_w = sub.w;
    }
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
