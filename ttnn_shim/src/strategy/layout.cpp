// Tilize and untilize, with and without padding. Unit of work: a block of 32 rows.
#include "strategy/common.hpp"

namespace ttnn_shim::strategy {
namespace {

double compute_tilize(const Arch& arch, std::int64_t width_tiles) {
    return arch.k.tilize_block + arch.k.tilize_tile * static_cast<double>(width_tiles);
}
double compute_untilize(const Arch& arch, std::int64_t width_tiles) {
    return arch.k.untilize_block + arch.k.untilize_tile * static_cast<double>(width_tiles);
}

double traffic(const TensorDesc& t) { return in_dram(t) ? static_cast<double>(t.bytes()) : 0; }

/// In place on shards: compute only.
DeviceProgram resident_blocks(
    const Arch& arch, const OpConfig& c, const char* factory, const TensorDesc& t, double per_block, double start) {
    const Shard s = shard_of(arch, t);
    Phase phase;
    phase.items = ceil_div(s.h, 32);
    phase.stages.push_back({Unit::Compute, per_block});
    phase.extra_cycles = start;
    phase.extra_parts = {{sim::Term::Launch, phase.extra_cycles}};
    return one_phase(factory, arch, static_cast<int>(c.core_count.value_or(shard_cores(arch, t))), std::move(phase), true, true);
}

}  // namespace

DeviceProgram plan(const Arch& arch, const OpConfig& c, const Tilize&) {
    const Constants& k = arch.k;
    const TensorDesc& in = c.inputs[0];
    const TensorDesc& out = c.outputs[0];
    if (resident(in) && resident(out)) {
        const Shard s = shard_of(arch, in);
        return resident_blocks(
            arch, c, "TilizeMultiCoreShardedProgramFactory", in, compute_tilize(arch, ceil_div(s.w, 32)), k.tilize_start);
    }
    std::int64_t w = ceil_div(out.width(), 32), blocks = ceil_div(out.rows(), 32);
    std::int64_t per_core = 1;
    double stick = static_cast<double>(in.stick_bytes());
    const char* factory = "TilizeMultiCoreDefaultProgramFactory";
    // Rows whose buffers L1 has no room for are cut into blocks of one tile.
    if (!resident(in) && w * (in.tile_bytes() + out.tile_bytes()) >= c.l1_free_bytes.value_or(arch.l1_bytes)) {
        blocks *= w;
        stick /= static_cast<double>(w);
        w = 1;
        factory = "TilizeMultiCoreBlockProgramFactory";
    }
    const int cores = split_blocks(arch, c, blocks, per_core);
    Phase phase;
    phase.items = per_core;
    phase.coupling = k.stage_exponent;
    phase.stages = {
        {Unit::Reader, resident(in) ? 0 : 32 * (k.stick_issue + stick * k.stick_byte), in_dram(in) ? k.read_dram : k.read_l1, 2},
        {Unit::Compute, compute_tilize(arch, w)},
        {Unit::Writer, static_cast<double>(w) * k.write_barrier}};
    phase.shared.dram_read_bytes = traffic(in);
    phase.shared.dram_write_bytes = traffic(out);
    if (in_dram(in)) phase.shared.dram_requests = static_cast<double>(in.rows());
    DeviceProgram p = one_phase(factory, arch, cores, std::move(phase), true, false);
    p.circular_buffers = {{"in", w * in.tile_bytes()}, {"out", w * out.tile_bytes()}};
    return p;
}

namespace {

/// TTNN splits wide rows over cores too once a row has more than 32 tiles.
bool split_2d(std::int64_t width_tiles) { return width_tiles > 32; }

}  // namespace

DeviceProgram plan(const Arch& arch, const OpConfig& c, const TilizeWithValPadding& op) {
    const Constants& k = arch.k;
    const TensorDesc& in = c.inputs[0];
    const TensorDesc& out = c.outputs[0];
    std::int64_t w = ceil_div(out.width(), 32);
    const std::int64_t blocks = ceil_div(out.rows(), 32);
    // Valid rows of one image and of its padded form: what a block of 32 rows really reads.
    const std::int64_t in_h = in.padded.size() > 1 ? in.padded[in.padded.size() - 2] : 1,
                       out_h = out.padded.size() > 1 ? out.padded[out.padded.size() - 2] : 32;
    const double valid_share = static_cast<double>(std::min(in.rows(), out.rows())) / static_cast<double>(out.rows());
    double stick = static_cast<double>(in.stick_bytes());
    std::int64_t units = blocks, per_core = 1;
    int cores;
    double padded_row_bytes = static_cast<double>(out.width()) * out.element_bytes();
    const char* factory = "TilizeWithValPaddingMultiCoreDefaultFactory";
    if (op.blocks_2d.value_or(split_2d(w))) {
        units = blocks * w;
        stick = std::min(stick, 32 * in.element_bytes());
        padded_row_bytes = 32 * out.element_bytes();
        w = 1;
        factory = "TilizeWithValPaddingMultiCoreBlockInterleavedFactory";
    }
    cores = split_blocks(arch, c, units, per_core);
    const double valid = (blocks == 1 || in_h == out_h || out.rows() == 32) ? std::min<double>(32, static_cast<double>(in_h))
                                                                            : 32 * std::min(1.0, valid_share * k.tilize_pad_rows);
    const double pad_words = std::max(0.0, (padded_row_bytes - stick) * valid / 4) + (32 - valid) * padded_row_bytes / 4;
    Phase phase;
    phase.items = per_core;
    phase.coupling = k.row_coupling;
    phase.stages = {
        {Unit::Reader, valid * (page_read(arch, in, stick) - k.read_loop) + pad_words * k.pad_word},
        {Unit::Compute, compute_tilize(arch, w)},
        {Unit::Writer, static_cast<double>(w) * k.write_barrier}};
    phase.shared.dram_read_bytes = traffic(in);
    phase.shared.dram_write_bytes = traffic(out);
    DeviceProgram p = one_phase(factory, arch, cores, std::move(phase), true, false);
    p.circular_buffers = {{"in", w * out.tile_bytes()}, {"out", w * out.tile_bytes()}};
    return p;
}

DeviceProgram plan(const Arch& arch, const OpConfig& c, const Untilize&) {
    const Constants& k = arch.k;
    const TensorDesc& in = c.inputs[0];
    const TensorDesc& out = c.outputs[0];
    if (resident(in) && resident(out)) {
        const Shard s = shard_of(arch, in);
        return resident_blocks(
            arch, c, "UntilizeMultiCoreInputAndOutputShardTypeAndShardSpecIdenticalProgramFactory", in,
            compute_untilize(arch, ceil_div(s.w, 32)), k.untilize_start);
    }
    std::int64_t w = ceil_div(in.width(), 32);
    const std::int64_t blocks = ceil_div(in.rows(), 32);
    std::int64_t per_core = 1;
    // 0.81.1 generates the kernel: all cores get work, wide rows without padding are cut when there are fewer row blocks than cores.
    bool generated = !resident(in) && in.dtype != DataType::FLOAT32;
    std::int64_t cut = 1;
    if (generated && in.logical == in.padded)
        for (std::int64_t s = 2; s * blocks <= c.core_count.value_or(arch.cores()) && s <= w; ++s)
            if (w % s == 0) cut = s;
    const char* factory = resident(in) ? "UntilizeMultiCoreInputShardedProgramFactory"
                          : generated  ? "UntilizeCodegenProgramFactory"
                                       : "UntilizeMultiCoreProgramFactory";
    // Rows whose buffers L1 has no room for are cut into blocks of one tile.
    const std::int64_t tiles_held = (generated ? 2 : 1) * (w / cut);
    if (!resident(in) && tiles_held * (in.tile_bytes() + out.tile_bytes()) >= c.l1_free_bytes.value_or(arch.l1_bytes)) {
        cut = w;
        generated = false;
        factory = "UntilizeMultiCoreBlockProgramFactory";
        w = 1;
    }
    int cores = generated ? split_cores(arch, c, blocks * cut) : split_blocks(arch, c, blocks * cut, per_core);
    if (generated) {
        per_core = ceil_div(blocks * cut, cores);
        w /= cut;
    }
    if (resident(in)) {
        cores = shard_cores(arch, in);
        per_core = ceil_div(shard_of(arch, in).h, 32);
    }
    Phase phase;
    phase.items = per_core;
    phase.coupling = k.stage_exponent;
    const double stick = static_cast<double>(out.stick_bytes()) / static_cast<double>(cut);
    phase.stages = {
        {Unit::Reader, resident(in) ? 0 : static_cast<double>(w) * page_read(arch, in, static_cast<double>(in.tile_bytes()))},
        {Unit::Compute, compute_untilize(arch, w)},
        {Unit::Writer, 32 * (k.stick_write + stick * k.stick_write_byte)}};
    phase.shared.dram_read_bytes = resident(in) ? 0 : traffic(in);
    phase.shared.dram_write_bytes = traffic(out);
    if (in_dram(out)) phase.shared.dram_requests = static_cast<double>(out.rows());
    DeviceProgram p = one_phase(factory, arch, cores, std::move(phase), true, false);
    const std::int64_t deep = generated ? 2 : 1;
    p.circular_buffers = {{"in", deep * w * in.tile_bytes()}, {"out", deep * w * out.tile_bytes()}};
    return p;
}

DeviceProgram plan(const Arch& arch, const OpConfig& c, const UntilizeWithUnpadding&) {
    const Constants& k = arch.k;
    const TensorDesc& in = c.inputs[0];
    const TensorDesc& out = c.outputs[0];
    std::int64_t w = ceil_div(in.width(), 32);
    const std::int64_t blocks = ceil_div(in.rows(), 32);
    std::int64_t units = blocks, per_core = 1;
    double stick = static_cast<double>(out.stick_bytes());
    const char* factory = "UntilizeWithUnpaddingMultiCoreInterleavedProgramFactory";
    if (!resident(in) && split_2d(w)) {
        units = blocks * w;
        stick = std::min(stick, 32 * out.element_bytes());
        w = 1;
        factory = "UntilizeWithUnpaddingMultiCoreBlockInterleavedProgramFactory";
    }
    int cores = split_blocks(arch, c, units, per_core);
    if (resident(in)) {
        const Shard s = shard_of(arch, in);
        cores = shard_cores(arch, in);
        per_core = ceil_div(s.h, 32);
        w = ceil_div(s.w, 32);
        stick = std::min(stick, static_cast<double>(s.w) * out.element_bytes());
        factory = "UntilizeWithUnpaddingMultiCoreShardedProgramFactory";
    }
    const double valid = std::min(32.0, 32.0 * static_cast<double>(out.rows()) / static_cast<double>(std::max<std::int64_t>(1, in.rows())));
    const double rows =
        blocks <= per_core * cores && blocks == 1 ? static_cast<double>(std::min<std::int64_t>(32, out.rows())) : std::max(valid, 1.0);
    Phase phase;
    phase.items = per_core;
    phase.coupling = k.stage_exponent;
    // Every stick is written and acknowledged before the next.
    phase.stages = {
        {Unit::Reader, resident(in) ? 0 : static_cast<double>(w) * page_read(arch, in, static_cast<double>(in.tile_bytes()))},
        {Unit::Compute, compute_untilize(arch, w)},
        {Unit::Writer, resident(out) ? rows * stick / k.local_copy_rate : rows * (k.write_barrier + k.read_dram_byte * stick)}};
    phase.shared.dram_read_bytes = resident(in) ? 0 : traffic(in);
    phase.shared.dram_write_bytes = traffic(out);
    DeviceProgram p = one_phase(factory, arch, cores, std::move(phase), true, resident(in) && resident(out));
    p.circular_buffers = {{"in", w * in.tile_bytes()}, {"out", w * out.tile_bytes()}};
    return p;
}

}  // namespace ttnn_shim::strategy
