// Sliding-window ops after the halo (halo.cpp): conv2d (im2col + matmul blocks), pool2d.
#include <stdexcept>

#include "strategy/common.hpp"
#include "strategy/conv_buffers.hpp"

namespace ttnn_shim::strategy {
namespace {

/// Stages hand over parts of a block (rows of tiles), not whole blocks.
constexpr int kParts = 8;

/// Kernel rows that are gathered, relative to all of every window: with activation reuse a core gathers them all for its first line of
/// pixels, and for each further line only the rows by which the window moves on.
double gathered_share(const Conv2d& op) {
    if (!op.activation_reuse || op.out_width <= 0) return 1;
    const double rows = static_cast<double>(std::max<std::int64_t>(1, op.window_hw[0]));
    const double lines = std::max(1.0, 32.0 * static_cast<double>(op.per_core_m) / static_cast<double>(op.out_width));
    const double step = std::min(rows, static_cast<double>(op.stride ? (*op.stride)[0] : 1));
    return (rows + step * (lines - 1)) / (rows * lines);
}

/// Cycles for the partial sum of one output tile and K block, the mean of `k_blocks` of them. conv_accumulate packs it and copies it back
/// to the destination registers for the next block. A packer that adds in L1 needs no copy, but for the last block where no bias follows.
double partial_sums(const Arch& arch, const OpConfig& c, double k_blocks) {
    const double copies = c.inputs.size() > 2 ? k_blocks - 1 : k_blocks - 2;
    const double spared = c.compute.packer_l1_acc ? std::max(0.0, copies) / k_blocks : 0;
    return arch.k.conv_accumulate - arch.k.mm_reload * spared;
}

/// Blocks of the product in tiles (m, n: of a core), how often they follow each other along K and down, and cycles of one.
struct ConvBlocks {
    double bh, bw, m, n, kb, hb, kh, kw, mac, fill;
    double fetch;      ///< weights
    double own_share;  ///< of the gathering, of the first data movement core
    bool split, block_sharded;
    int cores;
};

ConvBlocks blocks_of(const Arch& arch, const OpConfig& c, const Conv2d& op) {
    const Constants& k = arch.k;
    const TensorDesc &a = c.inputs[0], &weights = c.inputs[1];
    const double bh = static_cast<double>(std::max<std::int64_t>(1, op.act_block_h)),
                 bw = static_cast<double>(std::max<std::int64_t>(1, op.act_block_w));
    const double m = static_cast<double>(std::max<std::int64_t>(1, op.per_core_m)),
                 n = static_cast<double>(std::max<std::int64_t>(1, op.per_core_n));
    const double sub = static_cast<double>(std::max<std::int64_t>(1, op.subblock_h * op.subblock_w));
    const double depth = static_cast<double>(ceil_div(weights.rows(), 32));
    const double kb = std::max(1.0, std::round(depth / bw)), hb = std::max(1.0, std::ceil(m / bh));
    const double ph = phases(c), wt = static_cast<double>(weights.tile_bytes());
    const double kh = static_cast<double>(op.window_hw[0]), kw = static_cast<double>(op.window_hw[1]);
    const double fill = k.conv_subblock * bh * n / sub + (kb > 1 ? partial_sums(arch, c, kb) * bh * n : 0) + k.conv_block;
    const double mac = bh * n * bw * (k.conv_mac + k.conv_mac_phase * (ph - 1));
    const bool split = gathers_with_both(arch, c, op);
    const double own_share = split ? k.conv_split_reader : 1.0;
    const bool block_sharded = a.memory == TensorMemoryLayout::BLOCK_SHARDED || a.memory == TensorMemoryLayout::WIDTH_SHARDED;
    const int cores = static_cast<int>(op.core_count.value_or(shard_cores(arch, c.outputs[0])));
    // One core of all (of each column of a block-sharded one) reads a block of weights and multicasts it, as the one that sends a matmul's
    // B.
    const auto blocks = static_cast<std::int64_t>(block_sharded ? hb * kb : kb);
    const int receivers = block_sharded ? static_cast<int>(op.num_cores_nhw.value_or(1)) : cores;
    const double fetch = bw * n * std::max(k.mm_issue, wt / k.mm_read_rate) + multicast(arch, bw * n, wt, receivers) +
                         handshake(arch, receivers, false, blocks);
    return {bh, bw, m, n, kb, hb, kh, kw, mac, fill, fetch, own_share, split, block_sharded, cores};
}

/// Each core gathers, tilizes and multiplies rows of its own: its first block of rows, and the others.
std::vector<Phase> row_phases(const Arch& arch, const OpConfig& c, const Conv2d& op, const ConvBlocks& b) {
    const Constants& k = arch.k;
    const TensorDesc &a = c.inputs[0], &weights = c.inputs[1];
    const auto& [bh, bw, m, n, kb, hb, kh, kw, mac, fill, fetch, own_share, split, block_sharded, cores] = b;
    const double tilize = bh * bw * k.tilize_tile, multiply = mac + fill, comp = tilize + multiply;
    // im2col: one local read per output pixel and kernel row; the K blocks share the kernel rows between them.
    const double row_bytes = kw * static_cast<double>(a.width()) * a.element_bytes();
    const double read = bh * 32 * std::max(1.0, kh / kb) * (k.conv_stick + k.conv_stick_byte * row_bytes) * gathered_share(op) * own_share;
    Phase first;
    first.shared.dram_read_bytes = in_dram(weights) ? static_cast<double>(weights.bytes()) : 0;
    if (hb <= 1 && !op.weights_double_buffer) {
        // The buffer holds one block of weights: the next is fetched when the product is done, while its activations are tilized. They
        // are gathered beside both.
        const double prepared = std::max(fetch, tilize), late = std::max(0.0, read - prepared);
        first.items = static_cast<std::int64_t>(kb);
        first.stages = {{Unit::Sender, prepared, late, 1}, {Unit::Compute, kb > 1 ? std::max(multiply, late) : multiply, 0, 1}};
    } else {
        first.items = static_cast<std::int64_t>(kb) * kParts;
        first.coupling = k.conv_coupling;
        first.stages = {
            {Unit::Reader, read / kParts}, {Unit::Sender, (fetch + (split ? read : 0)) / kParts}, {Unit::Compute, comp / kParts}};
    }
    Phase rest;  // the weights stay in L1 for further rows
    rest.items = static_cast<std::int64_t>((hb - 1) * kb) * kParts;
    rest.coupling = k.stage_exponent;
    rest.stages = {{Unit::Reader, read / kParts}, {Unit::Compute, comp / kParts}};
    rest.extra_cycles = op.untilize_out ? m * n * k.conv_untilize : 0;
    rest.extra_parts = {{sim::Term::Untilize, rest.extra_cycles}};
    return {std::move(first), std::move(rest)};
}

/// Each block's activations are gathered and tilized by one core of the line and multicast to the others, its weights fetched by
/// another core. What has a second buffer arrives while the block before it is multiplied, what has none after that. Since 2026 both
/// data movement cores gather and send a block of several rows of tiles, half of it each.
Phase line_phase(const Arch& arch, const OpConfig& c, const Conv2d& op, const ConvBlocks& b) {
    const Constants& k = arch.k;
    const TensorDesc &a = c.inputs[0], &weights = c.inputs[1];
    const auto& [bh, bw, m, n, kb, hb, kh, kw, mac, fill, fetch, own_share, split, block_sharded, cores] = b;
    const double line = static_cast<double>(std::max<std::int64_t>(1, op.num_cores_c_in.value_or(1)));
    const double stick = k.conv_stick + k.conv_stick_byte * kw * static_cast<double>(shard_of(arch, a).w) * a.element_bytes();
    const double gather = bh * 32 * std::max(1.0, kh * line / kb) * stick / line;
    const double sent = bh * bw * static_cast<double>(c.outputs[0].tile_bytes()) / k.mm_mcast_rate;  // tilized in the result's format
    const double across = static_cast<double>(op.num_cores_c_out.value_or(op.num_cores_c_in.value_or(1)));
    const double activations = k.mm_handshake + arch.k.mm_receiver * across + (gather + sent) * own_share;
    const double products = mac + fill + bh * bw * k.tilize_tile / line;
    Phase blocks;
    blocks.items = static_cast<std::int64_t>(hb * kb) * kParts;
    blocks.coupling = k.conv_coupling;
    const double beside = std::max(op.act_double_buffer ? activations : 0, op.weights_double_buffer ? fetch : 0);
    const double before = std::max(op.act_double_buffer ? 0 : activations, op.weights_double_buffer ? 0 : fetch);
    blocks.stages = {{Unit::Sender, beside / kParts}, {Unit::Compute, products / kParts}};
    const double untilized = op.untilize_out ? m * n * k.conv_untilize : 0;
    blocks.extra_cycles = hb * kb * before + untilized;
    blocks.extra_parts = {{sim::Term::Waits, hb * kb * before}, {sim::Term::Untilize, untilized}};
    blocks.shared.dram_read_bytes = in_dram(weights) ? static_cast<double>(weights.bytes()) * hb : 0;
    return blocks;
}

}  // namespace

DeviceProgram plan(const Arch& arch, const OpConfig& c, const Conv2d& op) {
    const Constants& k = arch.k;
    if (c.inputs.size() < 2) throw std::invalid_argument("op 'conv2d': needs activations and weights");
    const TensorDesc& a = c.inputs[0];
    const ConvBlocks b = blocks_of(arch, c, op);
    DeviceProgram p;
    p.factory = a.memory == TensorMemoryLayout::WIDTH_SHARDED ? "Conv2dWidthShardedProgramFactory" : "Conv2dShardedProgramFactory";
    p.cores = b.cores;
    set_grid(p, arch);
    p.work.cores = b.cores;
    p.work.has_compute = true;
    p.work.extra_cycles = k.conv_start;
    p.work.total_math_cycles = b.hb * b.kb * b.bh * b.n * b.bw * k.fpu_tile * phases(c) * b.cores;
    p.work.classes.push_back({b.cores, b.block_sharded ? std::vector{line_phase(arch, c, op, b)} : row_phases(arch, c, op, b)});
    // Buffers are allocated on the whole rectangle of the shard grid, also where it has no shard.
    if (a.shard && a.shard->grid_x > 0) p.cores = std::max(p.cores, a.shard->grid_x * a.shard->grid_y);
    p.circular_buffers = conv_buffers(arch, c, op);
    return p;
}

DeviceProgram plan(const Arch& arch, const OpConfig& c, const Pool2d& op) {
    const TensorDesc& out = c.outputs[0];
    const double area = static_cast<double>(op.window_hw[0] * op.window_hw[1]);
    const Shard s = shard_of(arch, resident(out) ? out : c.inputs[0]);
    const int cores = static_cast<int>(op.core_count.value_or(s.cores));
    std::int64_t sticks = 1;  // windows, without the padding of tiles
    for (std::size_t i = 0; i + 1 < out.logical.size(); ++i) sticks *= out.logical[i];
    if (out.logical.empty() || sticks < 1) sticks = out.rows();
    Phase phase;
    phase.items = std::max<std::int64_t>(1, resident(out) ? std::min(s.h, sticks) : ceil_div(sticks, cores));
    phase.stages.push_back({Unit::Reader, area * arch.k.pool_stick});
    return one_phase("Pool2DMultiCore", arch, cores, std::move(phase), true, true);
}

/// conv3d, without a measured row: per output block a core gathers the sticks of every window, tilizes them, multiplies by the weights that
/// it holds for its blocks of channels, untilizes and writes. Blocks of input channels on several cores are added up by one of them.
DeviceProgram plan(const Arch& arch, const OpConfig& c, const Conv3d& op) {
    const Constants& k = arch.k;
    if (c.inputs.size() < 2) throw std::invalid_argument(c.label() + "needs two inputs");
    const TensorDesc &in = c.inputs[0], &weight = c.inputs[1], &out = c.outputs[0];
    double window = 1;
    for (const std::int64_t size : op.window) window *= static_cast<double>(size);
    const std::int64_t in_blocks = std::max<std::int64_t>(1, op.blocks_c_in), out_blocks = std::max<std::int64_t>(1, op.blocks_c_out);
    const std::int64_t patches = std::max<std::int64_t>(1, op.patches), pixels = ceil_div(std::max<std::int64_t>(1, out.rows()), patches);
    const std::int64_t deep = std::max<std::int64_t>(1, ceil_div(ceil_div(weight.rows(), 32), in_blocks));
    const std::int64_t wide = std::max<std::int64_t>(1, ceil_div(ceil_div(weight.width(), 32), out_blocks)), high = ceil_div(patches, 32);
    // Cores go to blocks of input channels first, then to those of the output, then to pixels.
    const std::int64_t in_cores = std::min<std::int64_t>(in_blocks, arch.cores());
    const std::int64_t out_cores = std::min(out_blocks, arch.cores() / in_cores);
    const std::int64_t pixel_cores =
        std::max<std::int64_t>(1, std::min(pixels, arch.cores() / in_cores / std::max<std::int64_t>(1, out_cores)));
    const std::int64_t cores = in_cores * out_cores * pixel_cores;
    const double stick = static_cast<double>(in.stick_bytes()) / static_cast<double>(in_blocks);
    const double sticks = static_cast<double>(patches) * window;
    const auto tiles = [&](std::int64_t h, std::int64_t w) { return static_cast<double>(h * w); };
    const double gather = sticks * std::max(k.stick_issue, stick / k.mm_read_rate) + page_read(arch, in, 0);
    const double multiply = tiles(high, deep * wide) * (k.conv_mac + k.conv_mac_phase * (phases(c) - 1));
    const double tilized = tiles(high, 1) * k.tilize_block + tiles(high, deep) * k.tilize_tile;
    const double untilized = tiles(high, 1) * k.untilize_block + tiles(high, wide) * k.untilize_tile;
    const double added =
        in_cores > 1 ? tiles(high, wide) * (static_cast<double>(in_cores - 1) * (k.unary_tile + page_read(arch, false, 4096))) : 0;
    const double row = static_cast<double>(out.stick_bytes()) / static_cast<double>(out_blocks);
    Phase phase;
    phase.items = ceil_div(in_blocks, in_cores) * ceil_div(out_blocks, out_cores) * ceil_div(pixels, pixel_cores);
    phase.coupling = k.stage_exponent;
    phase.stages = {
        {Unit::Reader, gather},
        {Unit::Compute, tilized + multiply + untilized + added + k.conv_block},
        {Unit::Writer, static_cast<double>(patches) * page_write(arch, row) + k.write_barrier}};
    phase.extra_cycles =
        tiles(deep, wide) * std::max(k.mm_issue, static_cast<double>(weight.tile_bytes()) / k.mm_read_rate) + page_read(arch, weight, 0);
    phase.extra_parts = {{sim::Term::Read, phase.extra_cycles}};
    if (in_dram(in)) {
        phase.shared.dram_read_bytes = sticks * stick * static_cast<double>(pixels * in_blocks * out_cores);
        phase.shared.dram_requests = sticks * static_cast<double>(pixels * in_blocks * out_cores);
    }
    add_dram(phase.shared, weight, static_cast<double>(weight.bytes() * pixel_cores), false);
    add_dram(phase.shared, out, static_cast<double>(out.bytes()), true);
    DeviceProgram p = one_phase("Conv3dProgramFactory", arch, static_cast<int>(cores), std::move(phase), true, false);
    // Whole rows of tiles are gathered one at a time, any other number of windows at once.
    const std::int64_t gathered = patches % 32 == 0 ? 32 : patches, element = bytes_per_tile(in.dtype) / 1024;
    const bool adds = in_blocks > 1;
    const std::int64_t sums = high * wide * bytes_per_tile(adds && c.compute.fp32_dest_acc ? DataType::FLOAT32 : out.dtype);
    p.circular_buffers = {
        {"sticks", gathered * deep * 32 * element},
        {"tiles", high * deep * bytes_per_tile(in.dtype)},
        {"weights", deep * wide * weight.tile_bytes()},
        {"sums", sums},
        {"rows", high * wide * bytes_per_tile(out.dtype)},
        {"added", adds ? sums + bytes_per_tile(DataType::BFLOAT16) : 0},
        {"bias", c.inputs.size() > 2 ? wide * c.inputs[2].tile_bytes() : 0},
        {"halo", op.halo_sticks * op.channels * element}};
    p.work.total_math_cycles = static_cast<double>(pixels * high * weight.tiles()) * k.fpu_tile * phases(c);
    return p;
}

}  // namespace ttnn_shim::strategy
