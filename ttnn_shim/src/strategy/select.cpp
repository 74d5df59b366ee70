// Selection along a dimension: argmax by comparisons on the RISC, topk and sort by a sorting network over tiles.
#include "strategy/common.hpp"

namespace ttnn_shim::strategy {
namespace {

/// `busy`: cycles of the slowest core's chain.
DeviceProgram named(
    const Arch& arch, const OpConfig& c, const char* factory, std::int64_t cores, std::int64_t cb_bytes, double busy, Unit unit) {
    Phase phase;
    phase.items = 1;
    phase.stages = {{unit, busy, 0, 2}};
    for (const TensorDesc& t : c.inputs) add_dram(phase.shared, t, static_cast<double>(t.bytes()), false);
    for (const TensorDesc& t : c.outputs) add_dram(phase.shared, t, static_cast<double>(t.bytes()), true);
    DeviceProgram p = one_phase(factory, arch, static_cast<int>(cores), std::move(phase), unit == Unit::Compute, false);
    p.circular_buffers = {{"buffers", cb_bytes}};
    return p;
}

/// Argmax of `rows` rows, `elements` of each on a core, partial results collected from `cores`.
double argmax_cycles(const Arch& arch, double rows, double elements, double cores) {
    return rows * (arch.k.argmax_row + elements * arch.k.argmax_element + (cores > 1 ? cores * arch.k.argmax_core : 0));
}

/// Steps of a merge network over `tiles` tiles: each of log2 levels passes over all of them.
double merge_steps(double tiles) { return tiles * std::max(1.0, std::ceil(std::log2(std::max(2.0, tiles)))); }

std::int64_t logical_width(const TensorDesc& t) { return t.logical.empty() ? t.width() : t.logical.back(); }

}  // namespace

DeviceProgram plan(const Arch& arch, const OpConfig& c, const ArgMax&) {
    const TensorDesc& in = c.inputs[0];
    const double all_rows = static_cast<double>(std::max<std::int64_t>(1, in.rows()));
    if (in.layout == Layout::TILE)
        return named(
            arch, c, "ArgMaxSingleCoreProgramFactory", 1, in.tile_bytes(),
            argmax_cycles(arch, all_rows, static_cast<double>(logical_width(in)), 1), Unit::Reader);
    // The reduced dimension is cut into runs of 32 bytes over the cores, at least four each; partial results meet on one core.
    const auto element = static_cast<std::int64_t>(in.element_bytes());
    const std::int64_t width = logical_width(in), rows = in.logical.size() < 2 ? 1 : in.logical[in.logical.size() - 2];
    const std::int64_t runs = std::max<std::int64_t>(1, ceil_div(width * element, 32));
    const std::int64_t cores = c.core_count.value_or(std::min<std::int64_t>(arch.cores(), runs <= 4 ? runs : ceil_div(runs, 4)));
    const std::int64_t index = round_up(rows * 4, 32), value = round_up(rows * element, 32);
    const std::int64_t buffered = (in.rows() > 1 ? 2 : 1) * ceil_div(runs, cores) * 32;
    return named(
        arch, c, "ArgMaxMultiCoreProgramFactory", cores, buffered + index + cores * (index + value),
        argmax_cycles(arch, all_rows, static_cast<double>(ceil_div(width, cores)), static_cast<double>(cores)), Unit::Reader);
}

DeviceProgram plan(const Arch& arch, const OpConfig& c, const TopK& op) {
    const TensorDesc& in = c.inputs[0];
    const std::int64_t width = logical_width(in), t = in.tile_bytes(), k = std::max<std::int64_t>(1, ceil_div(op.k, 32));
    const bool power = width > 0 && (width & (width - 1)) == 0;
    const std::int64_t rows = std::max<std::int64_t>(1, in.tiles() / std::max<std::int64_t>(1, ceil_div(in.width(), 32)));
    if (!power || width < 1024 || width >= 65536 || k > 2)
        return named(
            arch, c, "TopKSingleCoreProgramFactory", std::min<std::int64_t>(rows, arch.cores()), (4 * t + 8 * t + 4 * k * t + 2 * k * t),
            // Each further tile of a row is sorted together with each tile of the largest values so far.
            static_cast<double>(ceil_div(rows, arch.cores()) * std::max<std::int64_t>(1, ceil_div(in.width(), 32) - 1) * 2 * k) *
                arch.k.sort_tile,
            Unit::Compute);
    // Parts of the row on up to 16 cores, whose candidates one more core merges.
    const std::int64_t parts = std::min<std::int64_t>(16, width / 128), part = width / 32 / parts;
    return named(
        arch, c, "TopKMultiCoreProgramFactory", 1, (8 + 4 * parts * k + 6 * k + 2 * part) * t,
        static_cast<double>(rows * (part + parts * k)) * arch.k.sort_tile, Unit::Compute);
}

DeviceProgram plan(const Arch& arch, const OpConfig& c, const Sort&) {
    const TensorDesc& in = c.inputs[0];
    const std::int64_t w = ceil_div(in.width(), 32), rows = std::max<std::int64_t>(1, in.tiles() / std::max<std::int64_t>(1, w));
    const std::int64_t t = in.tile_bytes();
    if (w <= 64)
        return named(
            arch, c, "SortProgramFactorySingleRowSingleCore", std::min<std::int64_t>(rows, arch.cores()), (8 + 2 * w + 4) * t + 1024,
            static_cast<double>(ceil_div(rows, arch.cores())) * merge_steps(static_cast<double>(w)) * arch.k.sort_tile, Unit::Compute);
    const std::int64_t each = std::max<std::int64_t>(1, ceil_div(w, arch.cores()));
    return named(
        arch, c, "SortProgramFactoryCrossCoreDataExchange", std::min<std::int64_t>(ceil_div(w, each), arch.cores()), (19 + 2 * each) * t,
        static_cast<double>(rows) * merge_steps(static_cast<double>(w)) /
            static_cast<double>(std::min<std::int64_t>(ceil_div(w, each), arch.cores())) * arch.k.sort_tile,
        Unit::Compute);
}

/// Long lists of the largest: a core has whole rows and merges each run of k values into those that it holds. No measured row.
DeviceProgram plan(const Arch& arch, const OpConfig& c, const TopkLargeIndices& op) {
    const TensorDesc& in = c.inputs[0];
    const std::int64_t rows =
        std::max<std::int64_t>(1, in.layout == Layout::TILE ? in.tiles() / std::max<std::int64_t>(1, ceil_div(in.width(), 32)) : in.rows());
    const std::int64_t w = std::max<std::int64_t>(1, ceil_div(logical_width(in), in.layout == Layout::TILE ? 32 : 1024));
    const std::int64_t k = std::max<std::int64_t>(1, ceil_div(op.k, in.layout == Layout::TILE ? 32 : 1024));
    const std::int64_t cores = std::min<std::int64_t>(rows, arch.cores());
    const double levels = 1 + std::ceil(std::log2(static_cast<double>(k)));
    return named(
        arch, c, "TopkLargeIndicesProgramFactory", cores, (2 * w + 4 * k) * bytes_per_tile(DataType::BFLOAT16),
        static_cast<double>(ceil_div(rows, cores) * w) * levels * arch.k.sort_tile, Unit::Compute);
}

}  // namespace ttnn_shim::strategy
