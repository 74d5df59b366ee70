// Elements, rows and pixels that are picked one by one: indexing, folding, rolling. No published timing shows these programs. Their stages
// and loops are those of the kernels; a step costs what the same step costs in a program that timings show.
#include <stdexcept>

#include "strategy/common.hpp"

namespace ttnn_shim::strategy {
namespace {

constexpr double kTileElements = 1024;

/// One core's work: `items` times through reader, compute and writer (cycles each; 0 = none), `head` before the first.
struct Steps {
    std::int64_t items = 1;
    double reader = 0, compute = 0, writer = 0, head = 0;
};

DeviceProgram steps(const Arch& arch, const OpConfig& c, const char* factory, std::int64_t cores, const Steps& s, bool sharded = false) {
    Phase phase;
    phase.items = std::max<std::int64_t>(1, s.items);
    phase.extra_cycles = s.head;
    for (const auto& [unit, cycles] : {std::pair{Unit::Reader, s.reader}, {Unit::Compute, s.compute}, {Unit::Writer, s.writer}})
        if (cycles > 0) phase.stages.push_back({unit, cycles, 0, 2});
    for (const TensorDesc& t : c.inputs) add_dram(phase.shared, t, static_cast<double>(t.bytes()), false);
    for (const TensorDesc& t : c.outputs) add_dram(phase.shared, t, static_cast<double>(t.bytes()), true);
    return one_phase(factory, arch, static_cast<int>(std::max<std::int64_t>(1, cores)), std::move(phase), s.compute > 0, sharded);
}

/// The RISC loads an element from L1, compares it or computes an address from it, and goes on.
double looked_at(const Arch& arch) { return arch.k.argmax_element; }
/// It loads an element and stores it elsewhere.
double moved(const Arch& arch) { return arch.k.pad_byte; }
/// A page written and acknowledged before the next.
double page_written(const Arch& arch, double bytes) { return page_write(arch, bytes) + arch.k.write_barrier; }

std::int64_t elements(const TensorDesc& t) {
    std::int64_t n = 1;
    for (const std::int64_t size : t.logical.empty() ? t.padded : t.logical) n *= size;
    return std::max<std::int64_t>(1, n);
}
std::int64_t tiles_across(const TensorDesc& t) { return std::max<std::int64_t>(1, ceil_div(t.width(), 32)); }
double stick(const TensorDesc& t) { return static_cast<double>(t.stick_bytes()); }

void need(const OpConfig& c, std::size_t inputs) {
    if (c.inputs.size() < inputs) throw std::invalid_argument(c.label() + "needs " + std::to_string(inputs) + " inputs");
}

/// Rows copied whole, one after the other, the row's number read from a list in L1.
DeviceProgram picked_rows(const Arch& arch, const OpConfig& c, const char* factory, const TensorDesc& from) {
    const TensorDesc& out = c.outputs[0];
    const std::int64_t rows = std::max<std::int64_t>(1, out.rows());
    const int cores = split_cores(arch, c, rows);
    return steps(
        arch, c, factory, cores,
        {ceil_div(rows, cores), page_read(arch, from, stick(from)) + looked_at(arch), 0, page_written(arch, stick(out)),
         page_read(arch, c.inputs[1], static_cast<double>(c.inputs[1].bytes()))});
}

}  // namespace

/// A core has a row of tiles: all of the input's in L1, then per tile of indices each element fetched by the RISC. Rows of more than 60
/// tiles go over all cores; a core then looks through its indices once for every tile of the input.
DeviceProgram plan(const Arch& arch, const OpConfig& c, const Gather&) {
    need(c, 2);
    const TensorDesc &in = c.inputs[0], &index = c.inputs[1], &out = c.outputs[0];
    if (index.layout == Layout::ROW_MAJOR) return picked_rows(arch, c, "GatherProgramFactory", in);
    constexpr std::int64_t kWide = 60;
    const std::int64_t wide_in = tiles_across(in), wide_out = tiles_across(index);
    const std::int64_t rows = std::max<std::int64_t>(1, index.tiles() / wide_out);
    const double read = page_read(arch, in, static_cast<double>(in.tile_bytes()));
    const double read_index = page_read(arch, index, static_cast<double>(index.tile_bytes()));
    const double write = page_written(arch, static_cast<double>(out.tile_bytes()));
    const double fetched = looked_at(arch) + moved(arch);
    const auto across = static_cast<double>(wide_in);
    if (wide_in > kWide || wide_out > kWide) {
        const std::int64_t cores = std::min<std::int64_t>(wide_out, arch.cores());
        const double tile = read_index + across * std::max(read, kTileElements * looked_at(arch)) + kTileElements * moved(arch);
        DeviceProgram p =
            steps(arch, c, "GatherProgramFactorySingleRowMultiCore", cores, {rows * ceil_div(wide_out, cores), tile, 0, write, 0});
        p.circular_buffers = {{"tiles", 2 * (in.tile_bytes() + index.tile_bytes() + out.tile_bytes())}};
        return p;
    }
    const int cores = split_cores(arch, c, rows);
    const double row = across * read + static_cast<double>(wide_out) * (read_index + kTileElements * fetched);
    DeviceProgram p = steps(
        arch, c, "GatherProgramFactorySingleRowSingleCore", cores,
        {ceil_div(rows, cores), row, 0, static_cast<double>(wide_out) * write, 0});
    p.circular_buffers = {{"row", wide_in * in.tile_bytes()}, {"tiles", 2 * (index.tile_bytes() + out.tile_bytes())}};
    return p;
}

/// Per row: read, copied element by element to the output's buffer, its indices and values read, each value stored where its index says.
DeviceProgram plan(const Arch& arch, const OpConfig& c, const Scatter& op) {
    need(c, 2);
    const TensorDesc &in = c.inputs[0], &index = c.inputs[1], &source = c.inputs.back();
    if (c.inputs.size() > 2 && index.logical.size() < in.logical.size()) return picked_rows(arch, c, "ScatterProgramFactory", source);
    std::int64_t along = in.logical.empty() ? in.width() : in.logical.back(),
                 along_index = index.logical.empty() ? index.width() : index.logical.back();
    if (op.dim && *op.dim >= 0 && *op.dim < static_cast<std::int64_t>(std::min(in.logical.size(), index.logical.size()))) {
        along = in.logical[static_cast<std::size_t>(*op.dim)];
        along_index = index.logical[static_cast<std::size_t>(*op.dim)];
    }
    const std::int64_t rows = std::max<std::int64_t>(1, elements(in) / std::max<std::int64_t>(1, along));
    const double written =
        std::min(1.0, static_cast<double>(elements(index)) / static_cast<double>(std::max<std::int64_t>(1, along_index * rows)));
    const double bytes = static_cast<double>(along) * in.element_bytes(), picks = static_cast<double>(along_index);
    const int cores = split_cores(arch, c, rows);
    const double replaced = page_read(arch, index, picks * index.element_bytes()) +
                            page_read(arch, source, picks * source.element_bytes()) + picks * (looked_at(arch) + moved(arch));
    return steps(
        arch, c, "ScatterProgramFactory", cores,
        {ceil_div(rows, cores), page_read(arch, in, bytes) + static_cast<double>(along) * moved(arch) + written * replaced, 0,
         page_written(arch, bytes), 0});
}

/// Every element is compared with every one that is looked for; the cores share the elements.
DeviceProgram plan(const Arch& arch, const OpConfig& c, const IsIn&) {
    need(c, 2);
    const std::int64_t each = ceil_div(elements(c.inputs[0]), arch.cores());
    const auto asked = static_cast<double>(elements(c.inputs[1]));
    return steps(
        arch, c, "IsInProgramFactory", std::min<std::int64_t>(arch.cores(), elements(c.inputs[0])),
        {each, asked * looked_at(arch) + moved(arch), 0, 0,
         page_read(arch, c.inputs[0], static_cast<double>(each) * c.inputs[0].element_bytes())});
}

/// A core per batch looks through the list, then copies that batch from A or from its replacement row by row.
DeviceProgram plan(const Arch& arch, const OpConfig& c, const IndexedFill&) {
    need(c, 3);
    const TensorDesc &list = c.inputs[0], &a = c.inputs[1], &out = c.outputs[0];
    const std::int64_t batches = a.logical.empty() ? 1 : std::max<std::int64_t>(1, a.logical[0]);
    const bool tiled = a.layout == Layout::TILE;
    const double page = tiled ? static_cast<double>(a.tile_bytes()) : stick(a);
    const std::int64_t pages = std::max<std::int64_t>(1, tiled ? a.tiles() : a.rows());
    const int cores = split_cores(arch, c, batches);
    const double searched =
        page_read(arch, list, static_cast<double>(list.bytes())) + static_cast<double>(elements(list)) * looked_at(arch);
    return steps(
        arch, c, "IndexedFillProgramFactory", cores,
        {ceil_div(batches, cores) * ceil_div(pages, batches), page_read(arch, a, page), 0,
         page_write(arch, out.layout == Layout::TILE ? static_cast<double>(out.tile_bytes()) : stick(out)), searched});
}

/// Rows: each is searched for in the list and copied, or the row of the value written instead. Along the last dimension the value is stored
/// into each row.
DeviceProgram plan(const Arch& arch, const OpConfig& c, const IndexFill& op) {
    need(c, 2);
    const TensorDesc &in = c.inputs[0], &index = c.inputs[1];
    const std::int64_t rows = std::max<std::int64_t>(1, in.rows());
    const int cores = split_cores(arch, c, rows);
    const double list = static_cast<double>(elements(index)), searched = op.last_dim ? 0 : list * looked_at(arch);
    const double filled = op.last_dim ? 0 : static_cast<double>(in.width()) * moved(arch);
    return steps(
        arch, c, "IndexFillMultiCoreFactory", cores,
        {ceil_div(rows, cores), page_read(arch, in, stick(in)) + searched, 0,
         page_written(arch, stick(in)) + (op.last_dim ? list * moved(arch) : searched),
         page_read(arch, index, static_cast<double>(index.bytes())) + filled});
}

/// One core: the whole row in L1, every element looked at, the numbers of those that are not zero stored.
DeviceProgram plan(const Arch& arch, const OpConfig& c, const NonZero&) {
    const TensorDesc& in = c.inputs[0];
    const double bytes = static_cast<double>(in.bytes());
    return steps(
        arch, c, "NonZeroIndicesProgramFactory", 1,
        {elements(in), looked_at(arch), 0, 0, page_read(arch, in, bytes) + page_written(arch, bytes * 4 / in.element_bytes())});
}

/// The cores share the columns of tiles. Each first writes zeros over its part of the table; then for 32 indices at a time it reads their
/// gradients, and for each chunk of 32 rows of the table that they hit, the chunk's tiles are read, added to and written back.
DeviceProgram plan(const Arch& arch, const OpConfig& c, const EmbeddingBackward&) {
    need(c, 2);
    const TensorDesc &index = c.inputs[0], &gradient = c.inputs[1], &out = c.outputs[0];
    const std::int64_t columns = tiles_across(gradient), chunks = std::max<std::int64_t>(1, out.tiles() / tiles_across(out));
    const int cores = split_cores(arch, c, columns);
    const auto mine = static_cast<double>(ceil_div(columns, cores));
    // 32 indices anywhere in the table hit that many of its chunks on average.
    const double all = static_cast<double>(chunks), hit = all * (1 - std::pow(1 - 1 / all, 32));
    const double tile = static_cast<double>(out.tile_bytes()), together = arch.k.mm_issue;
    const double chunk = page_read(arch, out, tile) + (mine - 1) * together + mine * (arch.k.unary_tile + arch.k.tile_pass) +
                         mine * page_write(arch, tile) + arch.k.write_barrier + 32 * looked_at(arch);
    const double read = page_read(arch, index, 64) + 32 * looked_at(arch) +
                        page_read(arch, gradient, static_cast<double>(gradient.tile_bytes())) + (mine - 1) * together;
    const double zeros = all * mine * page_write(arch, tile) + arch.k.write_barrier;
    DeviceProgram p =
        steps(arch, c, "EmbeddingBackwardProgramFactory", cores, {ceil_div(elements(index), 32), read + hit * chunk, 0, 0, zeros});
    p.work.has_compute = true;
    // The chunks are read and written once for each block of indices that hits them.
    Shared& shared = p.work.classes[0].phases[0].shared;
    const double traffic = static_cast<double>(ceil_div(elements(index), 32)) * hit * static_cast<double>(columns) * tile;
    add_dram(shared, out, traffic, false);
    add_dram(shared, out, traffic, true);
    return p;
}

/// Each core's rows are copied in two parts, at most, from where they lie: within the core or from its neighbours.
DeviceProgram plan(const Arch& arch, const OpConfig& c, const Roll& op) {
    const TensorDesc& in = c.inputs[0];
    const int cores = shard_cores(arch, in);
    const Shard s = shard_of(arch, in);
    const bool tiled = in.layout == Layout::TILE, last = op.dim + 1 == static_cast<std::int64_t>(in.logical.size());
    const double pages = tiled ? static_cast<double>(ceil_div(s.h, 32) * ceil_div(s.w, 32)) : static_cast<double>(s.h) * (last ? 2 : 1);
    const double bytes = static_cast<double>(s.h * s.w) * in.element_bytes();
    return steps(arch, c, "RollProgramFactory", cores, {1, local_copies(arch, pages, bytes), 0, 0, arch.k.reshard_start}, true);
}

/// Per tile: transposed and untilized, then a stick of 32 pixels for each channel copied to its plane; eight tiles per barrier.
DeviceProgram plan(const Arch& arch, const OpConfig& c, const ConvertToChw&) {
    const TensorDesc& in = c.inputs[0];
    const Shard s = shard_of(arch, in);
    const auto channels = static_cast<double>(std::max<std::int64_t>(1, in.logical.empty() ? in.width() : in.logical.back()));
    const double turned = arch.k.unary_tile + arch.k.untilize_tile;
    const double copied = channels * (arch.k.halo_run + 32 * in.element_bytes() / arch.k.halo_local_rate) + arch.k.read_l1 / 8;
    DeviceProgram p = steps(arch, c, "ConvertToCHWProgramFactory", shard_cores(arch, in), {ceil_div(s.h, 32), 0, turned, copied, 0}, true);
    p.circular_buffers = {{"turned", 16 * bytes_per_tile(DataType::BFLOAT16)}};
    return p;
}

/// Pixels of a block side by side. Interleaved: the block's rows of pixels are read and waited for, the wide pixel is written and
/// acknowledged. In shards: both data movement cores copy rows of pixels. Pixels that are not aligned are copied element by element.
DeviceProgram plan(const Arch& arch, const OpConfig& c, const Fold&) {
    const TensorDesc &in = c.inputs[0], &out = c.outputs[0];
    const auto channels = static_cast<double>(std::max<std::int64_t>(1, in.logical.empty() ? in.width() : in.logical.back()));
    const double wide = static_cast<double>(std::max<std::int64_t>(1, out.logical.empty() ? out.width() : out.logical.back()));
    const double pixels = std::max(1.0, wide / channels), pixel = channels * in.element_bytes();
    const bool is_aligned = std::fmod(pixel, arch.l1_align) == 0;
    const double stored = is_aligned ? 0 : wide * moved(arch);
    const std::int64_t results = std::max<std::int64_t>(1, elements(out) / static_cast<std::int64_t>(wide));
    if (resident(in)) {
        const int cores = shard_cores(arch, in);
        const std::int64_t mine = ceil_div(ceil_div(results, cores), 2);  // two data movement cores
        const double copied = is_aligned ? local_copies(arch, std::sqrt(pixels), wide * in.element_bytes()) : stored;
        return steps(arch, c, "FoldShardedProgramFactory", cores, {mine, copied, 0, 0, 0}, true);
    }
    const int cores = split_cores(arch, c, results);
    const double requests = pixels * std::max(arch.k.stick_issue, pixel / arch.k.mm_read_rate);
    DeviceProgram p = steps(
        arch, c, "FoldMultiCoreDRAMProgramFactory", cores,
        {ceil_div(results, cores), page_read(arch, in, pixel) + requests, 0, stored + page_written(arch, wide * in.element_bytes()), 0});
    p.circular_buffers = {{"pixels", 2 * static_cast<std::int64_t>(pixels) * round_up(static_cast<std::int64_t>(pixel), arch.dram_align)}};
    p.work.classes[0].phases[0].shared.dram_requests = in_dram(in) ? static_cast<double>(elements(in)) / channels : 0;
    return p;
}

/// Tiles of both halves in turn, each waited for; those of the second half are negated.
DeviceProgram plan(const Arch& arch, const OpConfig& c, const RotateHalf&) {
    const TensorDesc& in = c.inputs[0];
    const double bytes = static_cast<double>(in.tile_bytes());
    const std::int64_t rows = std::max<std::int64_t>(1, in.tiles() / tiles_across(in));
    const int cores = split_cores(arch, c, rows);
    return steps(
        arch, c, "RotateHalfProgramFactory", cores,
        {ceil_div(rows, cores) * ceil_div(tiles_across(in), 2), 2 * page_read(arch, in, bytes), arch.k.unary_tile,
         2 * page_write(arch, bytes), 0});
}

/// Per tile of the result: the tile of B, one operand repeated by a pass of its own, the product.
DeviceProgram plan(const Arch& arch, const OpConfig& c, const RepeatMultiply&) {
    need(c, 2);
    const TensorDesc &b = c.inputs[1], &out = c.outputs[0];
    const int cores = split_cores(arch, c, out.tiles());
    const double product = arch.k.unary_tile + 2 * arch.k.cb_pass + arch.k.elwmul_phase * phases(c);
    return steps(
        arch, c, "RepeatAndInterleaveEltwiseMulProgramFactory", cores,
        {ceil_div(out.tiles(), cores), page_read(arch, b, static_cast<double>(b.tile_bytes())), product,
         page_write(arch, static_cast<double>(out.tile_bytes())),
         page_read(arch, c.inputs[0], static_cast<double>(c.inputs[0].tile_bytes()))});
}

}  // namespace ttnn_shim::strategy
