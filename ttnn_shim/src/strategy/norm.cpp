// Reductions and normalisations: rows (or lanes) over cores, tiles of a row one after the other.
#include "strategy/common.hpp"

namespace ttnn_shim::strategy {
namespace {

void dram_traffic(Phase& phase, const OpConfig& c) {
    for (const TensorDesc& t : c.inputs) add_dram(phase.shared, t, static_cast<double>(t.bytes()), false);
    for (const TensorDesc& t : c.outputs) add_dram(phase.shared, t, static_cast<double>(t.bytes()), true);
}

/// How the partial statistics of a sharded normalisation are gathered.
struct GatheredRows {
    std::int64_t rows = 1;   ///< rows of tiles that one core combines
    std::int64_t parts = 1;  ///< partial results per row, both stages
    bool two_stage = false;  ///< the row lies over several rows of cores
};
GatheredRows gathered_rows(const TensorDesc& in, const Shard& s) {
    const std::int64_t across = std::max<std::int64_t>(1, ceil_div(in.width(), s.w));
    GatheredRows g;
    g.two_stage = in.memory == TensorMemoryLayout::WIDTH_SHARDED && s.grid_x > 0 && s.grid_y > 1 && across == s.cores;
    g.parts = g.two_stage ? s.grid_x + s.grid_y - 1 : across;
    g.rows = ceil_div(ceil_div(s.h, 32), across);
    return g;
}

/// Rows of tiles over cores; per row a fixed chain of small passes plus a cost per tile. Kernels hand over blocks of `block_tiles`, which
/// are requested and waited for together; 0: a quarter of a row, two reads under way at once.
DeviceProgram row_program(
    const Arch& arch, const OpConfig& c, const char* factory, double row_cycles, double tile_cycles, std::int64_t block_tiles) {
    const TensorDesc& in = c.inputs[0];
    std::int64_t width = ceil_div(in.width(), 32), rows = std::max<std::int64_t>(1, in.tiles() / std::max<std::int64_t>(1, width));
    int cores = split_cores(arch, c, rows);
    std::int64_t per_core = ceil_div(rows, cores);
    double combine = 0;
    if (resident(in)) {
        const Shard s = shard_of(arch, in);
        cores = std::max(1, s.cores);
        per_core = ceil_div(s.h, 32);
        width = ceil_div(s.w, 32);
        const double across = static_cast<double>(ceil_div(in.width(), s.w));
        if (across > 1) combine = 4 * arch.k.mm_handshake_local + across * arch.k.norm_core;  // partial statistics travel twice
    }
    const std::int64_t blocks = block_tiles > 0 ? std::max<std::int64_t>(1, ceil_div(width, block_tiles)) : 4;
    Phase phase;
    phase.items = per_core * blocks;
    phase.coupling = arch.k.stage_exponent;
    const auto parts = static_cast<double>(blocks);
    const double bytes = static_cast<double>(in.tile_bytes()), w = static_cast<double>(width) / parts;
    if (!resident(in))
        phase.stages.push_back(
            {Unit::Reader, block_tiles > 0 ? tiles_read(arch, in, w) : w * page_read(arch, in, bytes) * arch.k.row_read_share});
    phase.stages.push_back({Unit::Compute, (row_cycles + combine) / parts + w * tile_cycles});
    if (!resident(c.outputs[0])) phase.stages.push_back({Unit::Writer, w * page_write(arch, bytes)});
    dram_traffic(phase, c);
    if (!resident(in) && !c.release.any_bank_first) {
        // The first rows queue for the banks on which they begin, when they are read and when their results are written.
        phase.shared.read_banks_hit = bank_spread(cores, width, arch.dram_banks).effective;
        phase.shared.run_pages = static_cast<double>(per_core * width) / 2;
    }
    DeviceProgram p = one_phase(factory, arch, cores, std::move(phase), true, resident(in));
    if (!resident(in)) finish_in_rounds(p, rows, cores);
    return p;
}

/// Cycles in which all cores read the same rows of weights from DRAM, before their first result
/// (before mid 2025): page i of each lies on bank i.
double shared_rows(const Arch& arch, const OpConfig& c, std::size_t first, int cores) {
    double bytes = 0;
    for (std::size_t i = first; i < c.inputs.size(); ++i) {
        const TensorDesc& t = c.inputs[i];
        if (!in_dram(t)) continue;
        const bool tiled = t.layout == Layout::TILE;
        const std::int64_t pages = tiled ? t.tiles() : t.rows(), page = tiled ? t.tile_bytes() : t.stick_bytes();
        bytes += static_cast<double>(cores * ceil_div(pages, arch.dram_banks) * page);
    }
    return arch.ns_to_cycles(bytes / arch.k.hot_bank_rate);
}

/// A program on resident shards: `cycles` of compute.
DeviceProgram shard_program(const Arch& arch, const OpConfig& c, const char* factory, double cycles) {
    Phase phase;
    phase.items = 1;
    phase.stages = {{Unit::Compute, cycles}};
    dram_traffic(phase, c);
    return one_phase(factory, arch, shard_cores(arch, c.inputs[0]), std::move(phase), true, true);
}

/// Tiles that the destination registers hold at once.
std::int64_t dst_tiles(const OpConfig& c) { return c.compute.fp32_dest_acc ? 4 : 8; }

std::int64_t interm_bytes(const OpConfig& c) { return c.compute.fp32_dest_acc ? 4096 : 2048; }
/// Statistics tiles: bfloat16, float32 for a float32 input.
std::int64_t stat_bytes(const TensorDesc& t) { return t.dtype == DataType::FLOAT32 ? 4096 : 2048; }
std::int64_t sum_of(const std::vector<CircularBuffer>& buffers) {
    std::int64_t bytes = 0;
    for (const CircularBuffer& b : buffers) bytes += b.bytes;
    return bytes;
}

/// Softmax along a dimension other than the last: one column (H) or one tile position (C) at a time, three passes.
DeviceProgram softmax_lanes(const Arch& arch, const OpConfig& c, std::int64_t dim) {
    const TensorDesc& in = c.inputs[0];
    const std::int64_t rank = static_cast<std::int64_t>(in.padded.size());
    const bool height = dim == rank - 2;
    const std::int64_t along = std::max<std::int64_t>(
        1, height ? ceil_div(in.padded[static_cast<std::size_t>(dim)], 32) : in.padded[static_cast<std::size_t>(dim)]);
    const std::int64_t lanes = std::max<std::int64_t>(1, in.tiles() / along);
    const int cores = split_cores(arch, c, lanes);
    Phase phase;
    phase.items = ceil_div(lanes, cores) * along;
    phase.coupling = arch.k.stage_exponent;
    const double bytes = static_cast<double>(in.tile_bytes());
    phase.stages = {
        {Unit::Reader, (height ? 1 : 3) * page_read(arch, in, bytes)},
        {Unit::Compute, arch.k.softmax_tile + arch.k.softmax_row / static_cast<double>(along)},
        {Unit::Writer, page_write(arch, bytes)}};
    dram_traffic(phase, c);
    const std::int64_t t = in.tile_bytes(), o = c.outputs[0].tile_bytes();
    const std::int64_t stat = in.dtype == DataType::BFLOAT8_B || in.dtype == DataType::BFLOAT4_B ? 2048 : t;
    std::vector<CircularBuffer> buffers;
    const char* factory = "SoftmaxProgramFactoryGeneralCLarge";
    if (height) {
        factory = "SoftmaxProgramFactoryGeneralHSmall";
        buffers = {{"in", along * t}, {"mask", 3 * stat}, {"out", along * o}, {"exps", 2 * along * 4096}, {"sums", 3 * 4096}};
        if (sum_of(buffers) > 512 * 1024) {
            factory = "SoftmaxProgramFactoryGeneralHLarge";
            buffers = {{"in", 2 * t}, {"mask", 3 * stat}, {"out", 2 * o}, {"exps", 2 * 4096}, {"sums", 4 * 4096}};
        }
    } else {
        buffers = {{"in", 2 * t}, {"out", 2 * o}, {"exps", 4 * 4096}, {"max", t}, {"tmp", 4096}};
    }
    DeviceProgram p = one_phase(factory, arch, cores, std::move(phase), true, false);
    p.circular_buffers = std::move(buffers);
    return p;
}

/// Softmax on shards, row of tiles by row of tiles: scale and mask, maximum, difference with its exponential, sum with its reciprocal,
/// product. Each pass begins when the packer has written the last tile of the pass before it.
double softmax_shard_cycles(const Arch& arch, const OpConfig& c, const Softmax& op) {
    const Shard s = shard_of(arch, c.inputs[0]);
    const std::int64_t w = std::max<std::int64_t>(1, ceil_div(s.w, 32)), block = block_of(w, dst_tiles(c));
    const bool mask = op.mask.value_or(false), stable = op.numeric_stable.value_or(false);
    const double in = static_cast<double>(c.inputs[0].tile_bytes()), im = static_cast<double>(interm_bytes(c)),
                 tiles = static_cast<double>(w);
    const double exponential = sfpu_cycles(arch, "EXP", c.compute.math_approx);
    // The exponential ends the pass of the mask where nothing is subtracted, or has a pass of its own.
    const double plain = block_pass(arch, block, im), with_exp = block_pass(arch, block, stable || mask ? im : in, exponential);
    double row = tiles * with_exp + row_reduction(arch, w, im) + sfpu_cycles(arch, "RECIP", false) + tiles * plain;
    int passes = 3;
    if (mask) {
        row += tiles * (stable ? 2 : 1) * plain;
        passes += stable ? 2 : 1;
    }
    if (stable) {
        row += row_reduction(arch, w, mask ? im : in);
        ++passes;
    }
    return static_cast<double>(ceil_div(s.h, 32)) * (row + passes * arch.k.unary_tile);
}

/// Tiles of a step: an equal share of the row in the fewest steps of at most `most` tiles, where that is a whole number the registers are
/// divided into; else `most`, which pads the row.
std::int64_t softmax_block(std::int64_t width, std::int64_t most) {
    const std::int64_t steps = std::max<std::int64_t>(1, ceil_div(width, most)), share = width / steps;
    return width % steps == 0 && share != 5 && share != 7 ? share : most;
}

/// A row at a time: exponentials of the row, padded to whole steps, and its statistics. A stable softmax holds the row itself and its
/// maximum; a mask adds its row and the scaled row, and the input then passes in steps.
std::vector<CircularBuffer> softmax_row_buffers(const OpConfig& c, const Softmax& op, bool ragged) {
    const TensorDesc& in = c.inputs[0];
    const std::int64_t step = op.step.value_or(4), block = softmax_block(ceil_div(in.width(), 32), step);
    const std::int64_t held = round_up(ceil_div(in.width(), 32), block), t = in.tile_bytes(), im = interm_bytes(c);
    const bool stable = op.numeric_stable.value_or(true), mask = op.mask.value_or(false);
    std::vector<CircularBuffer> b = {
        {"in", (stable && !mask && !ragged ? held : 2 * block) * t},
        {"out", 2 * block * c.outputs[0].tile_bytes()},
        {"scalers", stat_bytes(in) + (step > 4 ? 1 : 3) * 2048},
        {"exps", held * im},
        {"sum and reciprocal", 2 * 2048}};
    if (stable) b.push_back({"max", im});
    if (stable && (mask || ragged)) b.push_back({"masked", held * im});
    if (mask) {
        const std::int64_t mask_tile = c.inputs.size() > 1 ? bytes_per_tile(c.inputs[1].dtype) : 2048;
        b.push_back({"mask", held * mask_tile + 2048});
        b.push_back({"scaled", (held + block) * im});
    }
    return b;
}

/// Shards are worked on in place; beside them a row of exponentials, statistics, and with a mask its rows and the scaled row.
std::vector<CircularBuffer> softmax_shard_buffers(const OpConfig& c, const Softmax& op) {
    const TensorDesc& in = c.inputs[0];
    const std::int64_t w = ceil_div(in.width(), 32), im = interm_bytes(c);
    std::vector<CircularBuffer> b = {{"scalers", stat_bytes(in) + im}, {"exps", w * im}, {"reciprocal", im}};
    if (op.numeric_stable.value_or(true)) b.push_back({"shifted", (w + 1) * im});
    if (op.mask.value_or(false)) {
        const std::int64_t mask_tile = c.inputs.size() > 1 ? bytes_per_tile(c.inputs[1].dtype) : 2048;
        b.push_back({"mask", *op.mask_depth * w * mask_tile + 2048});
        b.push_back({"scaled", w * im});
    }
    return b;
}

/// Normalisation on shards: each pass goes over the whole block of a core. Partial sums of a row of tiles are gathered, combined (a share
/// of the rows by each core of the row) and multicast.
double norm_shard_cycles(const Arch& arch, const OpConfig& c, bool rms, bool residual, std::int64_t weights, std::int64_t subblock) {
    const Constants& k = arch.k;
    const TensorDesc& in = c.inputs[0];
    const Shard s = shard_of(arch, in);
    const std::int64_t h = ceil_div(s.h, 32), w = std::max<std::int64_t>(1, ceil_div(s.w, 32));
    const std::int64_t block = subblock > 0 ? subblock : block_of(w, dst_tiles(c));
    const double im = static_cast<double>(interm_bytes(c)), rows = static_cast<double>(h);
    const int statistics = rms ? 1 : 2;
    // Residual, difference to the mean, square, product with the reciprocal root, scale and shift.
    const auto passes = static_cast<double>((rms ? 2 : 3) + (residual ? 1 : 0) + weights);
    double cycles = rows * static_cast<double>(w) * passes * block_pass(arch, block, im) + rows * statistics * row_reduction(arch, w, im) +
                    (passes + statistics) * k.unary_tile;
    if (ceil_div(in.width(), s.w) > 1) {
        const GatheredRows g = gathered_rows(in, s);
        const double mine = static_cast<double>(g.rows * g.parts) * arch.k.norm_gather_tile;
        cycles += statistics * (2 * k.mm_handshake_local * (g.two_stage ? 2 : 1) + mine) + static_cast<double>(g.rows) * k.unary_tile;
        cycles += static_cast<double>(g.rows) * sfpu_cycles(arch, "RSQRT", false);
    } else {
        cycles += rows * sfpu_cycles(arch, "RSQRT", false);
    }
    return cycles;
}

}  // namespace

DeviceProgram plan(const Arch& arch, const OpConfig& c, const Softmax& op) {
    const TensorDesc& in = c.inputs[0];
    const auto rank = static_cast<std::int64_t>(in.padded.size());
    std::int64_t dim = op.dim.value_or(-1);
    if (dim < 0) dim += rank;
    if (dim >= 0 && dim < rank - 1 && !resident(in)) return softmax_lanes(arch, c, dim);
    const bool ragged = !in.logical.empty() && in.logical.back() % 32 != 0;
    const double exact = c.compute.math_approx ? 0 : sfpu_cycles(arch, "EXP", false) - sfpu_cycles(arch, "EXP", true);
    const double masked = op.mask.value_or(false) ? arch.k.tile_pass : 0;
    DeviceProgram p = resident(in) ? shard_program(arch, c, "SoftmaxProgramFactoryAttentionOptimized", softmax_shard_cycles(arch, c, op))
                                   : row_program(
                                         arch, c, "SoftmaxProgramFactoryAttentionOptimized", arch.k.softmax_row,
                                         c.release.softmax_by_tiles ? arch.k.softmax_tile : arch.k.softmax_block_tile + masked + exact, 0);
    if (c.release.softmax_by_tiles)
        p.work.extra_cycles = arch.k.softmax_start;
    else if (ragged && !resident(in))
        p.work.extra_cycles = arch.k.softmax_mask_fill;
    if (op.mask_depth) {
        p.circular_buffers = softmax_shard_buffers(c, op);
        return p;
    }
    p.circular_buffers = softmax_row_buffers(c, op, ragged);
    // Rows that exceed 90 % of L1 go through chunks of 80 tiles.
    constexpr std::int64_t kChunk = 80;
    if (sum_of(p.circular_buffers) > arch.l1_core_bytes / 10 * 9) {
        // Maximum, sum and result each read the row again.
        p.work.classes[0].phases[0].shared.dram_read_bytes *= 3;
        const std::int64_t t = in.tile_bytes(), im = interm_bytes(c);
        const std::int64_t block = softmax_block(ceil_div(in.width(), 32), op.step.value_or(4));
        p.circular_buffers = {{"in", kChunk * t},        {"out", 2 * block * c.outputs[0].tile_bytes()},
                              {"scalers", 6 * 2048},     {"max", 2 * stat_bytes(in)},
                              {"exps", 2 * kChunk * im}, {"sum", 2048},
                              {"reciprocal", im}};
    }
    return p;
}

DeviceProgram plan(const Arch& arch, const OpConfig& c, const LayerNorm& op) {
    const TensorDesc& in = c.inputs[0];
    const bool rms = op.rms, local = resident(in);
    const bool residual = op.residual.value_or(false);
    const std::int64_t weights = static_cast<std::int64_t>(c.inputs.size()) - 1 - residual;
    const double passes = static_cast<double>((rms ? 3 : 5) + weights + residual);
    DeviceProgram p = local ? shard_program(
                                  arch, c, "LayerNormShardedProgramFactory",
                                  norm_shard_cycles(arch, c, rms, residual, weights, op.subblock_w.value_or(0)))
                            : row_program(
                                  arch, c, local ? "LayerNormShardedProgramFactory" : "LayerNormMultiCoreProgramFactory", arch.k.norm_row,
                                  arch.k.norm_base_tile + passes * arch.k.tile_pass, dst_tiles(c));
    if (!local && c.release.waits_for_writes) p.work.extra_cycles += shared_rows(arch, c, residual ? 2 : 1, p.cores);
    const std::int64_t t = in.tile_bytes(), o = c.outputs[0].tile_bytes(), im = interm_bytes(c);
    // Gamma and beta are tiles, or rows of 32 values that become tiles.
    std::int64_t weight_bytes = 0;
    for (std::size_t i = residual ? 2 : 1; i < c.inputs.size(); ++i) weight_bytes += c.inputs[i].tile_bytes();
    if (local) {
        const Shard s = shard_of(arch, in);
        const std::int64_t h = ceil_div(s.h, 32), w = ceil_div(s.w, 32);
        const GatheredRows g = gathered_rows(in, s);
        const std::int64_t rows = g.rows, partial = g.parts * rows * im;
        p.circular_buffers = {{"scalers", 2 * 2048},        {"epsilon", im},         {"partial", 2 * h * im},
                              {"gathered", partial},        {"combined", rows * im}, {"centred", (rms ? 1 : 2) * h * w * im},
                              {"weights", w * weight_bytes}};
        if (rms)
            p.circular_buffers.push_back({"squares", (h * w + h) * im});
        else
            p.circular_buffers.push_back({"variance", 3 * h * im + partial});
        return p;
    }
    // Copies of the row (input, centred, squared) in blocks of 4 tiles with float32 accumulation or 8 without; gamma and beta are held
    // whole.
    const std::int64_t block = c.compute.fp32_dest_acc ? 4 : 8;
    const auto buffers = [&](std::int64_t w, bool large) {
        std::vector<CircularBuffer> b = {
            {"in", (residual ? 2 * block : w) * t}, {"out", 2 * block * o}, {"scalers", 2 * 2048}, {"statistics", (rms ? 4 : 5) * im},
            {"centred", (rms ? 1 : 2) * w * im},    {"squares", 8 * im}};
        if (weights > 0) b.push_back({"scaled", 2 * block * im + w * weight_bytes});
        if (residual) b.push_back({"residual", w * im + 2 * block * t});
        if (large) b.push_back({"accumulated", im + (rms ? w * im : 0)});
        return b;
    };
    p.circular_buffers = buffers(round_up(ceil_div(in.width(), 32), block), false);
    // Rows that do not fit are read again for every pass, in chunks: at most those of the table, fewer where tensors in L1 leave less.
    const std::int64_t room = c.l1_free_bytes.value_or(arch.l1_bytes) / 100 * 95;
    std::int64_t chunk = (weights > 0 ? 56 : 112) * 2048 / im;
    if (sum_of(p.circular_buffers) > room) {
        while (chunk > block && sum_of(buffers(chunk, true)) > room) chunk -= block;
        p.circular_buffers = buffers(chunk, true);
    }
    return p;
}

DeviceProgram plan(const Arch& arch, const OpConfig& c, const GroupNorm& op) {
    const Constants& k = arch.k;
    const TensorDesc& in = c.inputs[0];
    const double groups = static_cast<double>(std::max<std::int64_t>(1, op.num_groups)),
                 channels = static_cast<double>(std::max<std::int64_t>(1, in.width()));
    const double tiles_per_group = std::max(1.0, channels / groups / 32);
    Phase phase;
    phase.items = 1;
    int cores;
    double cycles, fixed = k.groupnorm_start;
    if (resident(in)) {
        const Shard s = shard_of(arch, in);
        cores = s.cores;
        const double rows = static_cast<double>(ceil_div(s.h, 32)), w = static_cast<double>(ceil_div(s.w, 32));
        const double mine = std::max(1.0, groups * static_cast<double>(s.w) / channels);
        const double reducing = std::max(1.0, std::round(static_cast<double>(cores) * static_cast<double>(s.w) / channels));
        cycles = mine * reducing * k.norm_core + rows * w * k.groupnorm_tile + rows * mine * tiles_per_group * k.groupnorm_group_tile;
    } else {
        const Pair grid = op.grid.value_or(Pair{});
        cores = grid[0] * grid[1] > 0 ? static_cast<int>(grid[0] * grid[1]) : arch.cores();
        cores = static_cast<int>(c.core_count.value_or(cores));
        const double rows = std::ceil(static_cast<double>(ceil_div(in.rows(), 32)) / cores),
                     w = static_cast<double>(ceil_div(in.width(), 32));
        const double visits = rows * groups * tiles_per_group;
        // Three passes over the input: mean, variance, result.
        cycles = rows * w * k.groupnorm_tile + visits * k.groupnorm_group_tile +
                 3 * visits * page_read(arch, in, static_cast<double>(in.tile_bytes()));
    }
    phase.stages.push_back({Unit::Compute, cycles});
    phase.extra_cycles = fixed;
    phase.extra_parts = {{sim::Term::Launch, phase.extra_cycles}};
    dram_traffic(phase, c);
    return one_phase(
        resident(in) ? "GroupNormShardedProgramFactory" : "GroupNormMcastProgramFactory", arch, cores, std::move(phase), true, false);
}

/// Reduction of W, H or HW; with dim NC of the leading dimensions.
DeviceProgram plan(const Arch& arch, const OpConfig& c, const Reduce& op) {
    const TensorDesc& in = c.inputs[0];
    const TensorDesc& out = c.outputs[0];
    const std::int64_t outputs = std::max<std::int64_t>(1, out.tiles());
    const int cores = split_cores(arch, c, outputs);
    Phase phase;
    phase.items = ceil_div(outputs, cores) * std::max<std::int64_t>(1, ceil_div(in.tiles(), outputs));
    phase.coupling = arch.k.stage_exponent;
    const double bytes = static_cast<double>(in.tile_bytes());
    const std::string& dim = op.dim;
    const bool product = op.op == "PROD", variance = op.op == "VAR" || op.op == "STD";
    // Every tile is waited for, but for Welford's and for leading dimensions, whose readers keep a second read under way.
    const bool waits = !c.release.reads_ahead && (product || (!variance && dim != "NC"));
    // The smallest is the largest of what is negated: per tile a pass that negates it, and one that adds it to the partial result.
    const double negated = op.op == "MIN" ? arch.k.unary_tile + sfpu_cycles(arch, "NEG", false) : 0;
    phase.stages = {
        {Unit::Reader, resident(in) ? arch.k.read_local + bytes / arch.k.local_copy_rate
                                    : page_read(arch, in, bytes) * (waits ? 1 : arch.k.row_read_share)},
        {Unit::Compute, (resident(in) ? bytes / arch.k.unpack_two_rate : arch.k.unary_tile) + arch.k.reduce_tile * phases(c) + negated}};
    dram_traffic(phase, c);
    if (variance) {
        // Column by column: the RISC divides by the count in software before each step. Over both dimensions every row of tiles leaves a
        // column of results that is combined like one more tile.
        std::int64_t values = 1;
        for (std::int64_t size : out.logical) values *= size;
        const std::int64_t rows = ceil_div(in.tiles(), std::max<std::int64_t>(1, ceil_div(in.width(), 32)));
        if (values < rows || (values == 1 && dim != "H")) phase.items += ceil_div(rows, cores);
        phase.stages[1].cycles = arch.k.welford_tile;
    } else if (!product) {
        phase.extra_cycles += arch.k.reduce_scaler;
        phase.extra_parts = {{sim::Term::Launch, arch.k.reduce_scaler}};
    }
    const std::int64_t t = in.tile_bytes(), o = out.tile_bytes();
    if (op.op == "VAR" || op.op == "STD") {
        const std::int64_t along = dim == "H" ? ceil_div(outputs, cores) : ceil_div(in.width(), 32);
        DeviceProgram p = one_phase("WelfordReduceProgramFactory", arch, cores, std::move(phase), true, false);
        p.circular_buffers = {{"in", std::max<std::int64_t>(8, round_up(along, 4)) * t}, {"out", 2 * o}};
        return p;
    }
    if (dim == "NC") {
        std::int64_t granularity = 8;
        const std::int64_t along = std::max<std::int64_t>(1, in.tiles() / outputs);
        while (along % granularity) --granularity;
        DeviceProgram p = one_phase("FastReduceNCProgramFactory", arch, cores, std::move(phase), true, false);
        p.circular_buffers = {{"in", 2 * granularity * t}, {"zero", 2048}, {"out", 2 * o}};
        return p;
    }
    const std::int64_t chunk = dim == "H" ? ceil_div(outputs, cores) : ceil_div(in.width(), 32);
    DeviceProgram p = one_phase(
        dim == "H"    ? "ReduceMultiCoreHProgramFactory"
        : dim == "HW" ? "ReduceSingleCoreHwProgramFactory"
                      : "ReduceMultiCoreWProgramFactory",
        arch, cores, std::move(phase), true, false);
    p.circular_buffers = {{"in", (chunk >= 4 ? 8 : 2) * t}, {"scaler", stat_bytes(in)}, {"out", 2 * o}};
    return p;
}

/// Padding of the tiles at the edges overwritten; the others are not touched.
DeviceProgram plan(const Arch& arch, const OpConfig& c, const FillPad&) {
    const TensorDesc& in = c.inputs[0];
    const auto edge = [&](std::size_t from_end) {
        const std::size_t n = in.logical.size();
        return n > from_end && in.logical[n - 1 - from_end] % 32 != 0;
    };
    const std::int64_t w = std::max<std::int64_t>(1, ceil_div(in.width(), 32)), rows = std::max<std::int64_t>(1, in.tiles() / w);
    const std::int64_t h = in.padded.size() > 1 ? std::max<std::int64_t>(1, ceil_div(in.padded[in.padded.size() - 2], 32)) : 1;
    const std::int64_t touched = std::max<std::int64_t>(1, (edge(0) ? rows : 0) + (edge(1) ? rows / h * (w - (edge(0) ? 1 : 0)) : 0));
    const int cores = split_cores(arch, c, touched);
    Phase phase;
    phase.items = ceil_div(touched, cores);
    phase.stages = {
        {Unit::Reader, page_read(arch, in, static_cast<double>(in.tile_bytes()))},
        {Unit::Writer, page_write(arch, static_cast<double>(in.tile_bytes())) + 32 * arch.k.face_line}};
    const double bytes = static_cast<double>(touched * in.tile_bytes());
    add_dram(phase.shared, in, bytes, false);
    add_dram(phase.shared, c.outputs[0], bytes, true);
    DeviceProgram p = one_phase("FillPadProgramFactory", arch, cores, std::move(phase), false, false);
    p.circular_buffers = {{"tiles", (4 + edge(0) + edge(1)) * in.tile_bytes()}};
    return p;
}

/// Running sum along a leading dimension: each core owns lanes of tiles and walks them.
DeviceProgram plan(const Arch& arch, const OpConfig& c, const Accumulation& op) {
    const TensorDesc& in = c.inputs[0];
    std::int64_t dim = op.dim;
    if (dim < 0) dim += static_cast<std::int64_t>(in.padded.size());
    const auto rank = static_cast<std::int64_t>(in.padded.size());
    std::int64_t along = dim >= 0 && dim < rank ? in.padded[static_cast<std::size_t>(dim)] : 1;
    if (dim >= rank - 2) along = ceil_div(along, 32);
    const std::int64_t lanes = std::max<std::int64_t>(1, in.tiles() / std::max<std::int64_t>(1, along));
    const int cores = split_cores(arch, c, lanes);
    const bool product = op.op == "PROD";
    Phase phase;
    phase.items = ceil_div(lanes, cores) * along;
    phase.coupling = arch.k.stage_exponent;
    const double bytes = static_cast<double>(in.tile_bytes());
    phase.stages = {
        {Unit::Reader, page_read(arch, in, bytes)},
        {Unit::Compute, product ? 3 * arch.k.unary_tile + arch.k.sfpu_binary : arch.k.unary_tile},
        {Unit::Writer, page_write(arch, bytes)}};
    dram_traffic(phase, c);
    DeviceProgram p = one_phase("AccumulationProgramFactory", arch, cores, std::move(phase), true, false);
    // Partial results beside the tiles: in Dst's format; bfloat16 sums within the last two dimensions need none.
    const bool direct = op.op == "SUM" && in.dtype == DataType::BFLOAT16 && dim >= rank - 2;
    const std::int64_t partial = direct                          ? 0
                                 : in.dtype == DataType::FLOAT32 ? 2 * bytes_per_tile(DataType::FLOAT32)
                                                                 : bytes_per_tile(DataType::FLOAT32);
    p.circular_buffers = {{"tiles", 4 * (in.tile_bytes() + c.outputs[0].tile_bytes()) + partial}};
    return p;
}

/// Integral image: column blocks on few cores.
DeviceProgram plan(const Arch& arch, const OpConfig& c, const IntImg&) {
    const TensorDesc& in = c.inputs[0];
    const int cores =
        static_cast<int>(c.core_count.value_or(std::max<std::int64_t>(1, std::min<std::int64_t>(arch.cores(), ceil_div(in.width(), 32)))));
    Phase phase;
    phase.items = ceil_div(in.tiles(), cores);
    phase.stages.push_back({Unit::Compute, page_read(arch, in, static_cast<double>(in.tile_bytes())) + 2 * arch.k.unary_tile});
    dram_traffic(phase, c);
    return one_phase("IntImgProgramFactory", arch, cores, std::move(phase), true, false);
}

}  // namespace ttnn_shim::strategy
