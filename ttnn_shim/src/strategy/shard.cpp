// Moves between interleaved and sharded memory, and between shards.
#include "strategy/common.hpp"

namespace ttnn_shim::strategy {
namespace {

/// Pages (tiles or sticks) of one shard and their size.
struct ShardPages {
    double pages = 0, bytes = 0;
};
ShardPages shard_pages(const TensorDesc& t, const Shard& s) {
    if (t.layout == Layout::TILE) return {static_cast<double>(ceil_div(s.h, 32) * ceil_div(s.w, 32)), static_cast<double>(t.tile_bytes())};
    return {static_cast<double>(s.h), static_cast<double>(s.w) * t.element_bytes()};
}

int cores_of(const Arch& arch, const OpConfig& c, const TensorDesc& t) {
    const Shard s = shard_of(arch, t);
    const std::int64_t needed = ceil_div(t.rows(), s.h) * ceil_div(t.width(), s.w);
    return static_cast<int>(c.core_count.value_or(std::max<std::int64_t>(1, needed)));
}

/// Whole-width shards begin at multiples of their page count, which may lie on the same bank.
double banks_begun(const Arch& arch, const TensorDesc& sharded, double pages, int cores) {
    return sharded.memory == TensorMemoryLayout::HEIGHT_SHARDED
               ? bank_spread(cores, static_cast<std::int64_t>(pages), arch.dram_banks).effective
               : 0;
}

/// Bytes of shards written to interleaved DRAM.
void write_back(const Arch& arch, Phase& phase, const TensorDesc& in, const TensorDesc& out, double pages, int cores) {
    if (!in_dram(out)) return;
    phase.shared.dram_write_bytes = static_cast<double>(in.bytes());
    phase.shared.write_banks_hit = banks_begun(arch, in, pages, cores);
    phase.shared.run_pages = pages;
}

/// Cycles per tile whose format changes between interleaved memory and a shard: before mid 2025 the whole shard is read,
/// then converted, then written.
double conversion(const Arch& arch, const OpConfig& c) {
    const TensorDesc &in = c.inputs[0], &out = c.outputs[0];
    if (!c.release.waits_for_writes || in.dtype == out.dtype || out.layout != Layout::TILE) return 0;
    return block_pass(arch, 1, static_cast<double>(std::max(in.tile_bytes(), out.tile_bytes())));
}

/// Sticks that are on their way at once where each goes through a scratch buffer.
constexpr double SCRATCH_SLOTS = 4;

/// Cycles per row-major stick of `bytes` read from interleaved memory into a shard. In 2025 each waited for its own data. Before and
/// after they are requested back to back with one barrier at the end, by the loop that writes the sticks of a shard back (an address and a
/// command each; a tilize's reader, which makes the addresses of 32 sticks first, takes longer), and arrive at a core's rate, unless their
/// places in memory and shard are aligned differently: then a stick goes to a scratch buffer first and is copied from there, some of them
/// at a time.
double stick_into_shard(const Arch& arch, const OpConfig& c, const TensorDesc& in, const TensorDesc& out, double bytes) {
    const Constants& k = arch.k;
    if (c.release.waits_for_sticks) return page_read(arch, in, bytes) + k.stick_loop;
    const double request = std::max(k.write_stick + k.write_stick_byte * bytes, bytes / k.mm_read_rate);
    const std::int64_t alignment = in_dram(in) ? arch.dram_align : arch.l1_align;
    const bool checked = in_dram(in) || arch.library.l1_reads_aligned[0] > 0;
    if (!checked || round_up(shard_of(arch, out).w * out.element_bytes(), arch.l1_align) % alignment == 0) return request;
    const double waiting = page_read(arch, in, bytes) + page_read(arch, false, bytes);
    return std::max(2 * request, waiting / SCRATCH_SLOTS);
}

}  // namespace

DeviceProgram plan(const Arch& arch, const OpConfig& c, const ShardedToInterleaved& op) {
    const Constants& k = arch.k;
    const TensorDesc& in = c.inputs[0];
    const TensorDesc& out = c.outputs[0];
    const ShardPages sp = shard_pages(in, shard_of(arch, in));
    Phase phase;
    phase.items = static_cast<std::int64_t>(sp.pages);
    const int cores = cores_of(arch, c, in);
    double write = k.write_stick + sp.bytes * k.write_stick_byte;
    if (c.release.waits_for_writes) {  // each tile is acknowledged before the next: the others' tiles are in its way
        const double tile = static_cast<double>(out.layout == Layout::TILE ? out.tile_bytes() : out.stick_bytes());
        write = k.write_barrier + (in_dram(out) ? 0 : cores * tile / k.l1_interleaved_rate);
    }
    phase.stages.push_back({Unit::Writer, write + conversion(arch, c)});
    write_back(arch, phase, in, out, sp.pages, cores);
    if (!in_dram(out) && !c.release.waits_for_writes) add_dram(phase.shared, out, static_cast<double>(out.bytes()), true);
    if (!c.release.shards_written_in_step)
        phase.shared.write_banks_hit = 0;  // releases of 2026: p150, 64 cores that begin on one bank write 8.4 MB in 28.4 us
    const bool converts = in.dtype != out.dtype;
    phase.extra_cycles = converts || !c.release.waits_for_writes ? k.s2i_start : 0;
    phase.extra_parts = {{sim::Term::Launch, phase.extra_cycles}};
    return one_phase(
        op.num_slices.value_or(1) > 1 ? "ShardedToInterleavedPartialProgramFactory" : "ShardedToInterleavedProgramFactory", arch, cores,
        std::move(phase), converts, true);
}

DeviceProgram plan(const Arch& arch, const OpConfig& c, const InterleavedToSharded&) {
    const Constants& k = arch.k;
    const TensorDesc& in = c.inputs[0];
    const TensorDesc& out = c.outputs[0];
    const ShardPages sp = shard_pages(out, shard_of(arch, out));
    Phase phase;
    phase.items = static_cast<std::int64_t>(sp.pages);
    const bool tiles = out.layout == Layout::TILE;
    const double source_bytes = tiles ? static_cast<double>(in.tile_bytes()) : std::min(sp.bytes, static_cast<double>(in.stick_bytes()));
    // Tiles are requested back to back.
    const double page = tiles ? k.i2s_tile + k.i2s_tile_byte * source_bytes : stick_into_shard(arch, c, in, out, source_bytes);
    phase.stages.push_back({Unit::Reader, page + conversion(arch, c)});
    if (in_dram(in))
        phase.shared.dram_read_bytes = static_cast<double>(std::min(in.bytes(), out.bytes()));
    else
        add_dram(phase.shared, in, static_cast<double>(in.bytes()), false);
    const int cores = cores_of(arch, c, out);
    if (in_dram(in)) {
        phase.shared.read_banks_hit = banks_begun(arch, out, sp.pages, cores);
        phase.shared.run_pages = sp.pages;
    }
    if (tiles && in_dram(in)) phase.shared.dram_tile_reads = phase.shared.dram_read_bytes / source_bytes;
    if (tiles || !c.release.waits_for_sticks) phase.extra_cycles = in_dram(in) ? k.read_dram : k.read_l1;
    phase.extra_parts = {{sim::Term::Read, phase.extra_cycles}};
    if (!tiles && in_dram(in)) phase.shared.dram_requests = static_cast<double>(out.rows());
    const bool converts = in.dtype != out.dtype;
    return one_phase("InterleavedToShardedProgramFactory", arch, cores, std::move(phase), converts, c.release.waits_for_writes);
}

DeviceProgram plan(const Arch& arch, const OpConfig& c, const Move&) {
    const TensorDesc& in = c.inputs[0];
    const TensorDesc& out = c.outputs[0];
    if (resident(in) && resident(out)) {
        const Shard s = shard_of(arch, out);
        const ShardPages sp = shard_pages(out, s);
        Phase phase;
        phase.items = 1;
        phase.stages.push_back({Unit::Reader, sp.pages * sp.bytes / arch.k.local_copy_rate});
        return one_phase("MoveShardedProgramFactory", arch, cores_of(arch, c, out), std::move(phase), false, true);
    }
    Stream s;
    s.factory = "MoveProgramFactory";
    s.units = out.layout == Layout::TILE ? out.tiles() : out.rows();
    s.page_bytes = static_cast<double>(out.layout == Layout::TILE ? out.tile_bytes() : out.stick_bytes());
    s.reader = page_read(arch, in, s.page_bytes);
    s.writer = page_write(arch, s.page_bytes);
    add_dram(s.shared, in, static_cast<double>(in.bytes()), false);
    add_dram(s.shared, out, static_cast<double>(out.bytes()), true);
    return stream(arch, c, s);
}

DeviceProgram plan(const Arch& arch, const OpConfig& c, const Reshard&) {
    const TensorDesc& out = c.outputs[0];
    const ShardPages sp = shard_pages(out, shard_of(arch, out));
    Phase phase;
    phase.items = 1;
    phase.stages.push_back({Unit::Reader, sp.pages * sp.bytes / arch.k.local_copy_rate});
    phase.extra_cycles = arch.k.reshard_start;
    phase.extra_parts = {{sim::Term::Launch, phase.extra_cycles}};
    if (in_dram(c.inputs[0])) phase.shared.dram_read_bytes = static_cast<double>(c.inputs[0].bytes());
    if (in_dram(out)) phase.shared.dram_write_bytes = static_cast<double>(out.bytes());
    const bool same_width = c.inputs[0].memory == out.memory && out.memory == TensorMemoryLayout::HEIGHT_SHARDED;
    return one_phase(
        same_width ? "ReshardSameWidthFactory" : "ReshardGenericFactory", arch, cores_of(arch, c, out), std::move(phase), false, true);
}

namespace {

/// Tile columns that a pixel range of an image row spans.
std::int64_t tiles_spanned(std::int64_t first, std::int64_t last) { return last / 32 - first / 32 + 1; }

}  // namespace

/// Part of an interleaved image -> shards (conv slices). Tiled input is untilized on the way.
DeviceProgram plan(const Arch& arch, const OpConfig& c, const PaddedSlice& op) {
    const Constants& k = arch.k;
    const TensorDesc& in = c.inputs[0];
    const TensorDesc& out = c.outputs[0];
    const Shard s = shard_of(arch, out);
    const int cores = cores_of(arch, c, out);
    const double out_stick = static_cast<double>(s.w) * out.element_bytes();
    Phase phase;
    if (in.layout == Layout::ROW_MAJOR) {
        phase.items = std::min(s.h, out.rows());
        phase.stages.push_back({Unit::Reader, k.slice_stick + k.slice_stick_byte * out_stick});
        if (in_dram(in))
            phase.shared.dram_read_bytes = static_cast<double>(out.rows()) * static_cast<double>(out.width()) * out.element_bytes();
        return one_phase("PaddedSliceRMProgramFactory", arch, cores, std::move(phase), false, false);
    }
    const Integers starts = op.padded_slice_start.value_or(Integers{}), ends = op.padded_slice_end.value_or(Integers{});
    std::int64_t x0 = 0, x1 = out.rows();
    if (starts.size() >= 3 && ends.size() == starts.size()) {
        x0 = starts[starts.size() - 2];
        x1 = ends[ends.size() - 2];
    }
    const std::int64_t image_width = std::max<std::int64_t>(1, x1 - x0);
    // Blocks of 32 rows that each core's run of output sticks touches; the busiest core counts.
    std::int64_t most = 1, all = 0;
    const std::int64_t shards_h = ceil_div(out.rows(), s.h);
    for (std::int64_t i = 0; i < shards_h; ++i) {
        std::int64_t blocks = 0;
        for (std::int64_t p = i * s.h; p < std::min(out.rows(), (i + 1) * s.h);) {
            const std::int64_t x = p % image_width, run = std::min(image_width - x, (i + 1) * s.h - p);
            blocks += tiles_spanned(x0 + x, x0 + x + run - 1);
            p += run;
        }
        most = std::max(most, blocks);
        all += blocks;
    }
    const std::int64_t w = std::max<std::int64_t>(1, ceil_div(std::min<std::int64_t>(s.w, in.width()), 32));
    const double latency = page_read(arch, in, static_cast<double>(in.tile_bytes())) - k.read_loop;
    const bool row_copies = x0 % 32 != 0 || s.w != round_up(std::min<std::int64_t>(s.w, in.width()), 32) || s.w < 32;
    phase.items = most;
    phase.coupling = k.row_coupling;
    phase.stages = {
        {Unit::Reader, k.slice_read_share * latency +
                           k.slice_tile * static_cast<double>(w) * (in.dtype == DataType::BFLOAT8_B ? k.slice_tile_block : 1.0)},
        {Unit::Compute, k.untilize_block + k.untilize_tile * static_cast<double>(w)},
        {Unit::Writer, k.slice_copy_block + (row_copies ? 32 * k.slice_copy_row : 0)}};
    if (in_dram(in))
        phase.shared.dram_read_bytes = static_cast<double>(all * w) * static_cast<double>(in.tile_bytes()) *
                                       std::max<double>(1, static_cast<double>(ceil_div(out.width(), s.w)));
    return one_phase("PaddedSliceTileProgramFactory", arch, cores, std::move(phase), true, false);
}

/// Shards -> part of an interleaved image.
DeviceProgram plan(const Arch& arch, const OpConfig& c, const SliceWrite&) {
    const Constants& k = arch.k;
    const TensorDesc& in = c.inputs[0];
    const TensorDesc& out = c.outputs[0];
    const Shard s = shard_of(arch, in);
    Phase phase;
    double bytes;
    if (in.layout == Layout::ROW_MAJOR) {
        const double stick = std::min(static_cast<double>(s.w) * in.element_bytes(), static_cast<double>(out.stick_bytes()));
        phase.items = std::min(s.h, in.rows());
        phase.stages.push_back({Unit::Writer, k.put_stick + k.put_stick_byte * stick});
        bytes = static_cast<double>(in.rows()) * static_cast<double>(std::min(in.width(), out.width())) * in.element_bytes();
    } else {
        phase.items = ceil_div(s.h, 32) * ceil_div(s.w, 32);
        phase.stages.push_back({Unit::Writer, k.write_barrier + k.stick_loop});
        bytes = static_cast<double>(in.bytes());
    }
    const int cores = cores_of(arch, c, in);
    write_back(arch, phase, in, out, static_cast<double>(phase.items), cores);
    if (in_dram(out)) phase.shared.dram_write_bytes = bytes;
    return one_phase(
        in.layout == Layout::ROW_MAJOR ? "SliceWriteRMShardedInputProgramFactory" : "SliceWriteTiledShardedInputProgramFactory", arch,
        cores, std::move(phase), false, false);
}

namespace {

/// Columns of a block that is turned at a time: the smallest multiple of 32 from here on that divides the shard, or the whole shard.
constexpr std::int64_t HWC_BLOCK = 1024;
std::int64_t hwc_block(std::int64_t columns) {
    for (std::int64_t block = HWC_BLOCK; block < columns; block += 32)
        if (columns % block == 0) return block;
    return columns;
}

}  // namespace

/// A core gathers the lines of its pixels from the shards that hold them, block by block; turns each 32 of them in the matrix engine, and
/// two data movement cores copy every pixel's channels out of the tile.
DeviceProgram plan(const Arch& arch, const OpConfig& c, const ConvertToHwc&) {
    const Constants& k = arch.k;
    const TensorDesc& in = c.inputs[0];
    const TensorDesc& out = c.outputs[0];
    const std::int64_t columns = shard_of(arch, out).h, block = hwc_block(columns), tiles = ceil_div(block, 32);
    const std::int64_t channels = in.logical.size() > 1 ? in.logical[in.logical.size() - 2] : 1;
    const double piece = static_cast<double>(std::min(block, shard_of(arch, in).w)),
                 pieces = static_cast<double>(channels) * std::ceil(static_cast<double>(block) / piece);
    const double piece_bytes = piece * in.element_bytes();
    // One core sends the requests of a block back to back; data comes at the rate of one link.
    const double gather = std::max(pieces * (k.stick_issue + k.stick_loop), pieces * piece_bytes / k.noc_link_rate);
    const double tilize = k.tilize_block + k.tilize_tile * static_cast<double>(tiles);
    Phase phase;
    phase.items = tiles;
    phase.repeat = ceil_div(columns, block);
    phase.stages = {
        {Unit::Compute, k.unary_tile, gather + page_read(arch, in, piece_bytes) + tilize, 2},
        {Unit::Writer, (k.slice_copy_block + 32 * k.slice_copy_row) / 2}};
    if (in_dram(in)) phase.shared.dram_read_bytes = static_cast<double>(in.bytes());
    const int cores = cores_of(arch, c, out);
    DeviceProgram p = one_phase("ConvertToHWCProgramFactory", arch, cores, std::move(phase), true, true);
    const auto bytes = [&](std::int64_t elements) { return static_cast<std::int64_t>(static_cast<double>(elements) * in.element_bytes()); };
    const std::int64_t bf16_tiles_bytes = tiles * 32 * 32 * 2;
    p.circular_buffers = {
        {"lines", bytes(channels * block)}, {"tiles", bf16_tiles_bytes}, {"turned 0", bf16_tiles_bytes}, {"turned 1", bf16_tiles_bytes}};
    if (const Shard s = shard_of(arch, in); in_dram(in)) p.circular_buffers.push_back({"shard", bytes(s.h * s.w)});
    return p;
}

}  // namespace ttnn_shim::strategy
