// Data movement over interleaved memory: transpose, permute, reshape, slice, concat, split, pad, repeat, upsample, grid_sample, pool,
// embedding.
#include "strategy/common.hpp"

#include <numeric>
#include <stdexcept>

namespace ttnn_shim::strategy {
namespace {

std::int64_t pages_of(const TensorDesc& t) { return t.layout == Layout::TILE ? t.tiles() : t.rows(); }
double page_bytes(const TensorDesc& t) { return static_cast<double>(t.layout == Layout::TILE ? t.tile_bytes() : t.stick_bytes()); }

/// Bytes of a row-major page in a buffer that DRAM is read into.
std::int64_t aligned(const Arch& arch, std::int64_t bytes) { return round_up(bytes, arch.dram_align); }

/// Valid rows of the second-last dimension (logical) and its padding.
std::int64_t height(const TensorDesc& t, bool logical) {
    const auto& shape = logical && !t.logical.empty() ? t.logical : t.padded;
    return shape.size() > 1 ? shape[shape.size() - 2] : 1;
}

/// Pages copied one by one: read, barrier, write.
DeviceProgram page_stream(const Arch& arch, const OpConfig& c, const char* factory, double read_bytes, double compute = 0) {
    const TensorDesc& in = c.inputs[0];
    const TensorDesc& out = c.outputs[0];
    Stream s;
    s.factory = factory;
    s.units = pages_of(out);
    for (std::size_t i = 1; i < c.outputs.size(); ++i) s.units += pages_of(c.outputs[i]);
    s.page_bytes = page_bytes(out);
    s.reader = page_read(arch, in, page_bytes(in));
    s.compute = compute;
    s.writer = page_write(arch, s.page_bytes);
    add_dram(s.shared, in, read_bytes, false);
    for (const TensorDesc& t : c.outputs) add_dram(s.shared, t, static_cast<double>(t.bytes()), true);
    DeviceProgram p = stream(arch, c, s);
    p.circular_buffers = {{"in", 2 * static_cast<std::int64_t>(s.page_bytes)}};
    return p;
}

/// Row-major sticks: many in flight, cost per stick on the RISC.
DeviceProgram stick_stream(const Arch& arch, const OpConfig& c, const char* factory, bool unaligned, std::int64_t buffered) {
    const Constants& k = arch.k;
    const TensorDesc& in = c.inputs[0];
    const TensorDesc& out = c.outputs[0];
    const double stick = static_cast<double>(out.stick_bytes());
    Stream s;
    s.factory = factory;
    s.units = out.rows();
    s.page_bytes = stick;
    s.reader = k.row_stick + k.row_stick_byte * stick + (unaligned ? k.row_unaligned : 0);
    s.writer = k.write_stick + k.write_stick_byte * stick;
    add_dram(s.shared, in, static_cast<double>(out.bytes()), false);
    add_dram(s.shared, out, static_cast<double>(out.bytes()), true);
    DeviceProgram p = stream(arch, c, s);
    p.circular_buffers = {{"sticks", buffered * aligned(arch, out.stick_bytes())}};
    return p;
}

/// Row-major shards into row-major shards: no memory but L1 is touched, and the output's cores fetch what they need.
bool between_sticks(const OpConfig& c) {
    const TensorDesc &in = c.inputs[0], &out = c.outputs[0];
    return resident(in) && resident(out) && in.layout == Layout::ROW_MAJOR && out.layout == Layout::ROW_MAJOR;
}

/// Sticks fetched from other cores' shards and put into the own shard: `requests` by each of the data movement cores, `bytes` by all.
DeviceProgram stick_gather(const Arch& arch, const OpConfig& c, const char* factory, double requests, double bytes) {
    Phase phase;
    phase.items = 1;
    phase.stages.push_back({Unit::Reader, local_copies(arch, requests, bytes)});
    return one_phase(factory, arch, shard_cores(arch, c.outputs[0]), std::move(phase), false, true);
}

/// Transposed images of a core's shard: sticks are laid into rows of tiles, tilized, and each column of tiles is transposed and untilized.
DeviceProgram transpose_images(const Arch& arch, const OpConfig& c) {
    const Constants& k = arch.k;
    const TensorDesc& in = c.inputs[0];
    const Shard s = shard_of(arch, in);
    const std::int64_t h = std::max<std::int64_t>(1, height(in, true)), w = std::max<std::int64_t>(1, in.width());
    const std::int64_t ht = ceil_div(h, 32), wt = ceil_div(w, 32), images = std::max<std::int64_t>(1, s.h / h);
    const double stick = static_cast<double>(in.stick_bytes()), high = static_cast<double>(ht), wide = static_cast<double>(wt);
    const double turns = wide * static_cast<double>(ceil_div(ht, c.compute.fp32_dest_acc ? 4 : 8));
    Phase phase;
    phase.items = images;
    phase.coupling = k.stage_exponent;
    phase.stages = {// One barrier per row of tiles.
                    {Unit::Reader, local_copies(arch, static_cast<double>(h), static_cast<double>(h) * stick) + (high - 1) * k.read_l1},
                    {Unit::Compute, k.tilize_start + high * (k.tilize_block + k.tilize_tile * wide) +
                                        turns * (k.subblock_min + k.subblock_sync) + high * wide * k.untilize_tile}};
    if (ht > 8)  // a column that the packer cannot untilize at once goes through a buffer
        phase.stages.push_back(
            {Unit::Writer, static_cast<double>(w) * k.write_stick + static_cast<double>(h * w) * in.element_bytes() / k.local_copy_rate});
    DeviceProgram p = one_phase("TransposeWHShardedRMProgramFactory", arch, shard_cores(arch, in), std::move(phase), true, true);
    p.circular_buffers = {
        {"rows", 2 * wt * bytes_per_tile(in.dtype)},
        {"tiles", ht * wt * bytes_per_tile(in.dtype)},
        {"columns", ht > 8 ? 2 * ht * bytes_per_tile(in.dtype) : 0}};
    return p;
}

}  // namespace

DeviceProgram plan(const Arch& arch, const OpConfig& c, const Transpose& op) {
    const Constants& k = arch.k;
    const TensorDesc& in = c.inputs[0];
    const TensorDesc& out = c.outputs[0];
    if (op.dim == "WH" && resident(in) && resident(out)) {
        const Shard s = shard_of(arch, in);
        Phase phase;
        phase.items = ceil_div(s.h, 32) * ceil_div(s.w, 32);
        phase.stages.push_back({Unit::Compute, k.unary_tile});
        return one_phase("TransposeWHShardedProgramFactory", arch, shard_cores(arch, in), std::move(phase), true, true);
    }
    if (op.dim == "WH") {
        DeviceProgram p = page_stream(arch, c, "TransposeWHProgramFactory", static_cast<double>(in.bytes()), k.unary_tile);
        p.circular_buffers.push_back(buffer("out", out.tile_bytes()));
        return p;
    }
    if (op.dim != "HC" || in.layout == Layout::ROW_MAJOR)
        return page_stream(
            arch, c, op.dim == "CN" ? "TransposeCNProgramFactory" : "TransposeHCRMProgramFactory", static_cast<double>(in.bytes()));
    // HC: each face line of 16 elements goes to another tile.
    const int cores = static_cast<int>(c.core_count.value_or(std::min<std::int64_t>(arch.cores(), std::max(in.tiles(), out.tiles()))));
    const double valid_lines = 2.0 * static_cast<double>(in.tiles()) * 32.0 * static_cast<double>(height(in, true)) /
                               static_cast<double>(std::max<std::int64_t>(1, height(in, false)));
    const std::int64_t channels = in.padded.size() > 2 ? in.padded[in.padded.size() - 3] : 1;
    // Lines of zeros of the busiest core: whole tiles of the result are filled up.
    const double pad_lines = out.padded.size() > 1 && height(out, false) > channels
                                 ? 2.0 * static_cast<double>(ceil_div(out.tiles(), cores)) * 32.0 *
                                       static_cast<double>(height(out, false) - channels) / static_cast<double>(height(out, false))
                                 : 0.0;
    Phase phase;
    phase.items = ceil_div(in.tiles(), cores);
    phase.coupling = k.row_coupling;
    phase.stages = {
        {Unit::Reader, page_read(arch, in, page_bytes(in))},
        {Unit::Writer, valid_lines / static_cast<double>(std::max<std::int64_t>(1, in.tiles())) * k.face_line}};
    phase.extra_cycles = pad_lines * k.face_line;
    if (!c.release.pads_line_by_line && pad_lines > 0) {
        // Releases of 2026 fill what is left of a face with one write: two faces of a tile, or four where its first row of faces has room.
        const double writes = static_cast<double>(ceil_div(out.tiles(), cores)) * (channels % 32 < 16 ? 4 : 2);
        phase.extra_cycles = writes * k.face_line + pad_lines * 16 * in.element_bytes() / k.write_core_rate;
    }
    phase.extra_parts = {{sim::Term::Write, phase.extra_cycles}};
    add_dram(phase.shared, in, static_cast<double>(in.bytes()), false);
    add_dram(phase.shared, out, static_cast<double>(out.bytes()), true);
    DeviceProgram p = one_phase("TransposeHCTiledInterleavedProgramFactory", arch, cores, std::move(phase), false, false);
    p.circular_buffers = {{"tile", 2 * in.tile_bytes()}, {"padding", channels % 32 ? in.tile_bytes() / 4 : 0}};
    return p;
}

DeviceProgram plan(const Arch& arch, const OpConfig& c, const Permute& op) {
    const Constants& k = arch.k;
    const TensorDesc& in = c.inputs[0];
    const TensorDesc& out = c.outputs[0];
    const Integers& dims = op.dims;
    const bool keeps_width = dims.empty() || dims.back() == static_cast<std::int64_t>(dims.size()) - 1;
    if (between_sticks(c) && dims == Integers{0, 1, 3, 2}) return transpose_images(arch, c);
    if (between_sticks(c) && dims == Integers{0, 2, 1, 3}) {
        // Both data movement cores fetch half of the sticks each, if shards hold whole images or parts of one; else one computes the place
        // of each stick.
        const Shard s = shard_of(arch, out);
        const std::int64_t channels = in.padded[1], rows = in.padded[2];
        const auto fits = [&](std::int64_t n) { return s.h % n == 0 || n % s.h == 0; };
        const bool regular = fits(rows) && fits(channels) && (channels % rows == 0 || rows % channels == 0) && s.h <= channels * rows;
        const auto sticks = static_cast<double>(s.h);
        DeviceProgram p = stick_gather(
            arch, c, "TransposeHCShardedProgramFactory", regular ? std::ceil(sticks / 2) : sticks,
            sticks * static_cast<double>(s.w) * in.element_bytes());
        if (!regular) p.work.extra_cycles = sticks * k.stick_loop;
        return p;
    }
    if (in.layout == Layout::ROW_MAJOR && keeps_width) {
        DeviceProgram p = page_stream(arch, c, "PermuteDeviceOperation::MultiCoreRowInvariant", static_cast<double>(in.bytes()));
        p.circular_buffers = {{"rows", 2 * aligned(arch, in.stick_bytes())}};
        return p;
    }
    if (in.layout == Layout::ROW_MAJOR) {
        // Blocks of 32 x 32 elements through a transpose of the last and another dimension.
        const std::int64_t x = !dims.empty() ? in.padded[static_cast<std::size_t>(dims.back())] : 1;
        const std::int64_t w = in.width();
        const std::int64_t blocks = in.volume() / std::max<std::int64_t>(1, x * w) * ceil_div(x, 32) * ceil_div(w, 32);
        const int cores = split_cores(arch, c, blocks);
        Phase phase;
        phase.items = ceil_div(blocks, cores);
        phase.stages.push_back({Unit::Reader, k.permute_block});
        add_dram(phase.shared, in, static_cast<double>(in.bytes()), false);
        add_dram(phase.shared, out, static_cast<double>(out.bytes()), true);
        DeviceProgram p = one_phase("PermuteDeviceOperation::MultiCoreBlockedGeneric", arch, cores, std::move(phase), true, false);
        p.circular_buffers = {{"blocks", 6 * bytes_per_tile(in.dtype)}};
        return p;
    }
    const int cores = split_cores(arch, c, std::max(in.tiles(), out.tiles()));
    // Lines of 16 stay whole when the last dimension remains one of the last two; otherwise blocks are transposed.
    const auto rank = static_cast<std::int64_t>(dims.size());
    const bool swaps = !keeps_width && rank > 1 && dims.back() == rank - 2, generic = !keeps_width && !swaps;
    const double line = generic ? arch.k.permute_element_line : k.permute_line;
    Phase phase;
    phase.items = 1;
    phase.stages.push_back(
        {Unit::Writer, static_cast<double>(ceil_div(in.tiles(), cores)) * page_read(arch, in, 2048) +
                           static_cast<double>(ceil_div(out.tiles(), cores)) * 64 * line});
    add_dram(phase.shared, in, static_cast<double>(in.bytes()), false);
    add_dram(phase.shared, out, static_cast<double>(out.bytes()), true);
    DeviceProgram p = one_phase(
        generic ? "PermuteDeviceOperation::MultiCoreTiledGeneric" : "PermuteDeviceOperation::MultiCoreTileRowInvariant", arch, cores,
        std::move(phase), !keeps_width, false);
    p.circular_buffers = {{"tiles", (generic ? 6 : swaps ? 4 : 2) * in.tile_bytes()}};
    return p;
}

namespace {

/// Entries of the map that a tiled reshape reads per output tile: input tiles times the most runs taken from one of them. A run lies within
/// one face line of both tensors.
std::int64_t reshape_segments(const TensorDesc& in, const TensorDesc& out) {
    const auto width = [](const TensorDesc& t) { return std::max<std::int64_t>(1, t.logical.empty() ? t.width() : t.logical.back()); };
    const std::int64_t w = width(out), h = std::max<std::int64_t>(1, height(out, true)), in_w = width(in),
                       in_h = std::max<std::int64_t>(1, height(in, true));
    const std::int64_t tiles_w = ceil_div(w, 32), tiles_h = ceil_div(h, 32), in_tiles_w = ceil_div(in_w, 32),
                       in_tiles_h = ceil_div(in_h, 32);
    constexpr std::int64_t kTiles = 4096;  // the pattern repeats
    std::int64_t most = 1;
    std::vector<std::pair<std::int64_t, std::int64_t>> pages;
    for (std::int64_t tile = 0; tile < std::min(out.tiles(), kTiles); ++tile) {
        const std::int64_t c0 = tile % tiles_w * 32, y0 = tile / tiles_w % tiles_h * 32, image = tile / (tiles_w * tiles_h);
        pages.clear();
        std::int64_t longest = 0;
        for (std::int64_t y = y0; y < std::min(h, y0 + 32); ++y)
            for (std::int64_t c = c0; c < std::min(w, c0 + 32);) {
                const std::int64_t at = (image * h + y) * w + c, row = at / in_w, column = at % in_w;
                const std::int64_t page = (row / in_h * in_tiles_h + row % in_h / 32) * in_tiles_w + column / 32;
                c += std::min({16 - c % 16, 16 - column % 16, in_w - column, w - c});
                auto entry = std::find_if(pages.begin(), pages.end(), [&](const auto& e) { return e.first == page; });
                if (entry == pages.end()) entry = pages.insert(pages.end(), {page, 0});
                longest = std::max(longest, ++entry->second);
            }
        most = std::max(most, longest * static_cast<std::int64_t>(pages.size()));
    }
    return most;
}

/// Scratch of a reshape of rows: two source rows with 64 B in front and a result row with 16 B, once for each of the two kernels that share
/// the work. One kernel alone works where rows of neither side divide the other's, or where the only row is cut into pieces that are no
/// multiple of 16 B. Found by the sizes that ttnn 0.81.1 names where they find no room.
std::vector<CircularBuffer> reshape_rows(const Arch& arch, const TensorDesc& in, const TensorDesc& out) {
    constexpr std::int64_t kLine = 64, kUnit = 16;
    const std::int64_t source = in.stick_bytes(), result = out.stick_bytes();
    const std::int64_t rows = 2 * (round_up(source, kLine) + kLine), staged = round_up(result, kLine) + kUnit;
    const bool divides = source % result == 0 || result % source == 0, whole = source % kUnit == 0 && result % kUnit == 0;
    if (!divides || (!whole && std::min(in.rows(), out.rows()) < 2)) return {{"source rows", rows}, {"result row", staged}};
    return {{"source rows", 2 * rows}, {"result rows", round_up(staged, arch.dram_align) + staged}};
}

}  // namespace

DeviceProgram plan(const Arch& arch, const OpConfig& c, const Reshape&) {
    const Constants& k = arch.k;
    const TensorDesc& in = c.inputs[0];
    const TensorDesc& out = c.outputs[0];
    Phase phase;
    int cores;
    if (out.layout == Layout::ROW_MAJOR) {
        cores = split_cores(arch, c, std::max(in.rows(), out.rows()));
        phase.items = 1;
        phase.stages.push_back(
            {Unit::Reader, static_cast<double>(ceil_div(out.rows(), cores)) * k.reshape_row +
                               static_cast<double>(ceil_div(in.rows(), cores)) * k.reshape_stick});
    } else {
        cores = split_cores(arch, c, out.tiles());
        const std::int64_t h = height(out, true), w = out.logical.empty() ? out.width() : out.logical.back();
        const std::int64_t in_w = in.logical.empty() ? in.width() : in.logical.back();
        // Valid rows of the tiles of the busiest core (cores own contiguous runs of tiles).
        const std::int64_t per_core = ceil_div(out.tiles(), cores), tile_w = std::max<std::int64_t>(1, ceil_div(out.width(), 32)),
                           tile_h = std::max<std::int64_t>(1, ceil_div(h, 32));
        std::int64_t most = 0;
        for (std::int64_t first = 0; first < out.tiles(); first += per_core) {
            std::int64_t valid = 0;
            for (std::int64_t t = first; t < std::min(out.tiles(), first + per_core);) {
                const std::int64_t row = (t / tile_w) % tile_h,
                                   run = std::min(tile_w - t % tile_w, std::min(out.tiles(), first + per_core) - t);
                valid += run * std::min<std::int64_t>(32, h - 32 * row);
                t += run;
            }
            most = std::max(most, valid);
        }
        const double rows = static_cast<double>(most) / static_cast<double>(per_core);
        const double pieces = rows * static_cast<double>(ceil_div(std::min<std::int64_t>(w, 32), 16));
        // Rows shorter than a tile follow each other in the same row of an input tile.
        const double pages = w == in_w ? k.reshape_pages : std::min(rows, std::ceil(rows * static_cast<double>(w) / 32));
        phase.items = ceil_div(out.tiles(), cores);
        phase.stages.push_back(
            {Unit::Writer, k.reshape_tile + k.reshape_segment * pieces + (page_read(arch, in, page_bytes(in)) + k.reshape_page) * pages});
    }
    add_dram(phase.shared, in, static_cast<double>(in.bytes()), false);
    add_dram(phase.shared, out, static_cast<double>(out.bytes()), true);
    DeviceProgram p = one_phase(
        out.layout == Layout::ROW_MAJOR ? "ReshapeViewRMProgramFactory" : "ReshapeViewTiledProgramFactory", arch, cores, std::move(phase),
        false, false);
    if (out.layout == Layout::TILE)
        p.circular_buffers = {{"page", out.tile_bytes()}, {"segment map", round_up(16 * reshape_segments(in, out), 64)}};
    else
        p.circular_buffers = reshape_rows(arch, in, out);
    return p;
}

DeviceProgram plan(const Arch& arch, const OpConfig& c, const Slice& op) {
    const TensorDesc& out = c.outputs[0];
    if (out.layout == Layout::TILE) return page_stream(arch, c, "SliceTileProgramFactory", static_cast<double>(out.bytes()));
    const Integers steps = op.step.value_or(Integers{});
    const bool strided = std::any_of(steps.begin(), steps.end(), [](std::int64_t step) { return step > 1; });
    if (between_sticks(c) && !strided) {
        // Consecutive sticks of one core come with one request; the rows of an image end a run.
        const Shard s = shard_of(arch, out);
        const std::int64_t runs = ceil_div(s.h, std::max<std::int64_t>(1, height(out, true))) + 1;
        return stick_gather(
            arch, c, "SliceRmShardedProgramFactory", static_cast<double>(runs), static_cast<double>(s.h * s.w) * out.element_bytes());
    }
    DeviceProgram p = stick_stream(
        arch, c, strided ? "SliceRmStrideProgramFactory" : "SliceRmProgramFactory",
        out.stick_bytes() % (in_dram(c.inputs[0]) ? arch.dram_align : arch.l1_align) != 0, 4);
    // Sticks are read in groups of up to 4096 bytes; two groups are buffered.
    const std::int64_t stick = aligned(arch, out.stick_bytes()), group = std::max<std::int64_t>(1, 4096 / std::max<std::int64_t>(1, stick));
    p.circular_buffers = {{"sticks", 2 * (strided ? 1 : group) * stick}};
    return p;
}

namespace {

/// Bytes of a page of the program that joins any number of row-major shards: what divides the sticks of all inputs and, as the library
/// counts it, the values of one of the output.
std::int64_t joined_page_bytes(const Arch& arch, const OpConfig& c) {
    std::int64_t page = round_up(shard_of(arch, c.outputs[0]).w, arch.l1_align);
    for (const TensorDesc& t : c.inputs)
        page = std::gcd(
            page, round_up(static_cast<std::int64_t>(static_cast<double>(shard_of(arch, t).w) * t.element_bytes()), arch.l1_align));
    return page;
}

/// Shards joined on the cores that hold them. Two tensors of tiles in height shards, side by side: every tile is transposed, their rows are
/// joined and transposed back. All others are copied, each data movement core half the sticks (of tiles: the rows of tiles) of every input;
/// those of block shards come from other cores of the row (concat_device_operation.cpp of ttnn 0.81.1, select_program_factory).
DeviceProgram concat_shards(const Arch& arch, const OpConfig& c, bool last) {
    const TensorDesc& out = c.outputs[0];
    const Shard s = shard_of(arch, out);
    const bool block = out.memory == TensorMemoryLayout::BLOCK_SHARDED;
    const bool tiled = out.layout == Layout::TILE, two = c.inputs.size() == 2 && last && !block;
    if (tiled && two) {
        Phase phase;
        phase.items = ceil_div(s.h, 32) * ceil_div(s.w, 32);
        phase.stages.push_back({Unit::Reader, arch.k.concat_tile});
        DeviceProgram p = one_phase("ConcatS2STiledProgramFactory", arch, shard_cores(arch, out), std::move(phase), true, true);
        std::int64_t width = 0;
        for (const TensorDesc& t : c.inputs) width += ceil_div(shard_of(arch, t).w, 32);
        // Transposed inputs and joined rows; those of bfloat8_b are bfloat16.
        const std::int64_t turned = out.dtype == DataType::BFLOAT8_B ? bytes_per_tile(DataType::BFLOAT16) : out.tile_bytes();
        p.circular_buffers = {{"rows", 2 * width * turned}, {"result", width * out.tile_bytes()}};
        return p;
    }
    double requests = 0, bytes = 0;
    for (const TensorDesc& t : c.inputs) {
        const Shard own = shard_of(arch, t);
        const std::int64_t lines = ceil_div(tiled ? ceil_div(own.h, 32) : own.h, 2);
        const double line =
            tiled ? static_cast<double>(ceil_div(own.w, 32) * t.tile_bytes()) : static_cast<double>(own.w) * t.element_bytes();
        const double page = tiled ? static_cast<double>(t.tile_bytes()) : two ? line : static_cast<double>(joined_page_bytes(arch, c));
        requests += static_cast<double>(lines) * std::ceil(line / page);
        bytes += static_cast<double>(lines) * line;
    }
    const char* factory = block ? "ConcatBlockShardedProgramFactory" : two ? "ConcatS2SRMProgramFactory" : "ConcatS2SMultiProgramFactory";
    return stick_gather(arch, c, factory, requests, bytes);
}

}  // namespace

DeviceProgram plan(const Arch& arch, const OpConfig& c, const Concat& op) {
    const Constants& k = arch.k;
    const TensorDesc& out = c.outputs[0];
    const std::int64_t axis = op.dim, rank = static_cast<std::int64_t>(out.padded.size());
    const bool last = (axis < 0 ? axis + rank : axis) == rank - 1;
    if (resident(c.inputs[0]) && resident(out)) return concat_shards(arch, c, last);
    if (out.layout == Layout::TILE && last && std::any_of(c.inputs.begin(), c.inputs.end(), [](const TensorDesc& t) {
            return !t.logical.empty() && t.logical.back() % 32 != 0;
        })) {
        DeviceProgram p =
            page_stream(arch, c, "ConcatTiledUnalignedProgramFactory", static_cast<double>(out.bytes()), k.untilize_tile + k.tilize_tile);
        const std::int64_t wide = ceil_div(out.width(), 32), rows = std::max<std::int64_t>(1, out.tiles() / wide);
        std::int64_t width = 0;
        for (const TensorDesc& t : c.inputs) width += ceil_div(t.width(), 32);
        p.cores = split_cores(arch, c, rows);
        p.circular_buffers = {{"rows", 3 * (width + wide) * out.tile_bytes()}};
        return p;
    }
    if (out.layout == Layout::ROW_MAJOR) return stick_stream(arch, c, "ConcatProgramFactory", false, 2);
    return page_stream(arch, c, "ConcatProgramFactory", static_cast<double>(out.bytes()));
}

DeviceProgram plan(const Arch& arch, const OpConfig& c, const Split&) {
    return page_stream(arch, c, "SplitProgramFactory", static_cast<double>(c.inputs[0].bytes()));
}

DeviceProgram plan(const Arch& arch, const OpConfig& c, const Pad&) {
    if (between_sticks(c) && c.inputs[0].width() == c.outputs[0].width()) {
        // Height alone: one data movement core fetches runs of sticks, the other walks all sticks and copies the padding into place.
        const Shard s = shard_of(arch, c.outputs[0]);
        return stick_gather(
            arch, c, "PadRmShardedHeightOnlyProgramFactory", static_cast<double>(s.h),
            static_cast<double>(s.h * s.w) * c.outputs[0].element_bytes());
    }
    if (c.outputs[0].layout == Layout::ROW_MAJOR) {
        const std::int64_t stick = aligned(arch, c.outputs[0].stick_bytes());  // 32 KiB in groups of 16
        return stick_stream(
            arch, c, "PadRmReaderWriterMultiCoreDefaultProgramFactory", true,
            round_up(ceil_div(32768, std::max<std::int64_t>(1, stick)), 16));
    }
    DeviceProgram p = page_stream(arch, c, "PadTileMulticoreProgramFactory", static_cast<double>(c.inputs[0].bytes()));
    if (c.release.waits_for_writes && p.cores == 1) {
        // One core: tiles of the input are read and written one by one, tiles of padding written behind one another.
        const TensorDesc &in = c.inputs[0], &out = c.outputs[0];
        const auto copied = static_cast<double>(in.tiles()), all = static_cast<double>(out.tiles());
        p.work.classes[0].phases[0].stages = {
            {Unit::Writer,
             (copied * page_read(arch, in, static_cast<double>(in.tile_bytes())) + (all - copied) * arch.k.write_issue) / all}};
        return p;
    }
    // Every page is acknowledged before the next; each core first writes a tile of padding byte by byte.
    p.work.classes[0].phases[0].stages.back().cycles += arch.k.write_barrier;
    p.work.extra_cycles += static_cast<double>(c.outputs[0].tile_bytes()) * arch.k.pad_byte;
    return p;
}

DeviceProgram plan(const Arch& arch, const OpConfig& c, const Repeat& op) {
    const char* factory = op.interleave.value_or(false) ? "RepeatInterleaveCodegenProgramFactory" : "RepeatCodegenProgramFactory";
    DeviceProgram p = page_stream(arch, c, factory, static_cast<double>(c.outputs[0].bytes()));
    p.circular_buffers = {{"pages", 8 * aligned(arch, static_cast<std::int64_t>(page_bytes(c.outputs[0])))}};
    return p;
}

DeviceProgram plan(const Arch& arch, const OpConfig& c, const Upsample&) {
    const Constants& k = arch.k;
    const TensorDesc& in = c.inputs[0];
    const TensorDesc& out = c.outputs[0];
    const double copies = static_cast<double>(out.rows()) / static_cast<double>(std::max<std::int64_t>(1, in.rows()));
    const int cores = resident(in) ? shard_cores(arch, in) : split_cores(arch, c, in.rows());
    Phase phase;
    const std::int64_t sticks_per_core = ceil_div(in.rows(), cores);
    phase.items = sticks_per_core;
    phase.coupling = k.stage_exponent;
    const double stick = static_cast<double>(out.stick_bytes());
    phase.stages = {
        {Unit::Reader, resident(in) ? 0 : page_read(arch, in, stick)},
        {Unit::Writer, copies * (k.write_stick + k.write_stick_byte * stick)}};
    add_dram(phase.shared, in, static_cast<double>(in.bytes()), false);
    add_dram(phase.shared, out, static_cast<double>(out.bytes()), true);
    DeviceProgram p = one_phase("UpsampleMultiCoreInterleavedProgramFactory", arch, cores, std::move(phase), false, false);
    p.circular_buffers = {{"sticks", (sticks_per_core > 1 ? 2 : 1) * aligned(arch, out.stick_bytes())}};
    return p;
}

DeviceProgram plan(const Arch& arch, const OpConfig& c, const GridSample&) {
    const TensorDesc& image = c.inputs[0];
    const TensorDesc& out = c.outputs[0];
    const TensorDesc& grid = c.inputs.size() > 1 ? c.inputs[1] : c.inputs[0];
    const std::int64_t sticks = grid.rows();
    const double points = static_cast<double>(out.volume()) / static_cast<double>(std::max<std::int64_t>(1, image.width() * sticks));
    const int cores = split_cores(arch, c, sticks);
    Phase phase;
    phase.items = ceil_div(sticks, cores);
    phase.stages.push_back(
        {Unit::Reader, page_read(arch, grid, static_cast<double>(grid.stick_bytes())) +
                           points * (page_read(arch, image, 4.0 * static_cast<double>(image.stick_bytes())) + arch.k.sample_point)});
    add_dram(phase.shared, image, static_cast<double>(sticks) * points * 4.0 * static_cast<double>(image.stick_bytes()), false);
    add_dram(phase.shared, out, static_cast<double>(out.bytes()), true);
    return one_phase("GridSampleBilinearProgramFactory", arch, cores, std::move(phase), true, false);
}

DeviceProgram plan(const Arch& arch, const OpConfig& c, const Embedding&) {
    const TensorDesc& out = c.outputs[0];
    if (c.inputs.size() < 2) throw std::invalid_argument("op 'embedding': needs indices and a table");
    const TensorDesc& table = c.inputs[1];
    const std::int64_t tokens = c.inputs[0].logical.empty() ? out.rows() : [&] {
        std::int64_t n = 1;
        for (auto d : c.inputs[0].logical) n *= d;
        return n;
    }();
    // Indices in tile layout are walked by face rows of 16; in row-major layout in blocks of 32.
    const bool fused = out.layout == Layout::TILE;
    const std::int64_t block = fused ? 32 : (c.inputs[0].layout == Layout::TILE ? 16 : 1);
    const std::int64_t blocks = std::max<std::int64_t>(1, ceil_div(tokens, block));
    // A core of a sharded result reads its columns of its rows and leaves them where they are; otherwise whole rows are dealt out.
    const bool local = resident(out);
    const Shard shard = local ? shard_of(arch, out) : Shard{};
    const std::int64_t width = local ? std::min(shard.w, out.width()) : out.width();
    const int cores = local ? std::max(1, shard.cores) : split_cores(arch, c, blocks);
    Phase phase;
    phase.items = local ? std::max<std::int64_t>(1, ceil_div(shard.h, block)) : ceil_div(blocks, cores);
    const double stick = local ? static_cast<double>(width) * table.element_bytes() : static_cast<double>(table.stick_bytes());
    // Rows of the table are waited for one by one; for a row of tiles all 32 at once.
    const double row = fused ? std::max(arch.k.stick_issue, stick / arch.k.mm_read_rate) : page_read(arch, table, stick);
    phase.stages.push_back(
        {Unit::Reader, static_cast<double>(std::min(block, tokens)) * row,
         page_read(arch, c.inputs[0], 64) + (fused ? page_read(arch, table, 0) : 0), 2});
    if (fused) {
        const std::int64_t w = ceil_div(width, 32);
        phase.stages.push_back({Unit::Compute, arch.k.tilize_block + arch.k.tilize_tile * static_cast<double>(w)});
        if (!local)
            phase.stages.push_back({Unit::Writer, static_cast<double>(w) * page_write(arch, static_cast<double>(out.tile_bytes()))});
    }
    add_dram(phase.shared, table, static_cast<double>(tokens) * stick, false);
    add_dram(phase.shared, out, static_cast<double>(out.bytes()), true);
    DeviceProgram p = one_phase(
        fused ? "EmbeddingsFusedProgramFactory" : (block == 16 ? "EmbeddingsTilizedIndicesProgramFactory" : "EmbeddingsRMProgramFactory"),
        arch, cores, std::move(phase), fused, false);
    if (fused) {
        const std::int64_t row = ceil_div(width, 32) * (table.tile_bytes() + (local ? 0 : out.tile_bytes()));
        p.circular_buffers = {{"rows", 2 * row <= arch.l1_core_bytes / 2 ? 2 * row : row}};  // two rows of tiles where they take half of L1
    } else {
        p.circular_buffers = {{"row", aligned(arch, table.stick_bytes()) * (ceil_div(blocks, cores) > 1 || block == 16 ? 2 : 1)}};
    }
    return p;
}

}  // namespace ttnn_shim::strategy
