// Selection along a dimension (argmax, topk, sort): the library's programs and buffers; times are a roofline, flagged as not modelled.
#include "strategy/common.hpp"

namespace ttnn_shim::strategy {
namespace {

DeviceProgram named(const Arch& arch, const OpConfig& c, const char* factory, std::int64_t cores, std::int64_t cb_bytes) {
    DeviceProgram p = roofline(arch, c);
    p.factory = factory;
    p.cores = static_cast<int>(cores);
    p.grid_x = std::min(p.cores, arch.grid_x);
    p.grid_y = static_cast<int>(ceil_div(cores, arch.grid_x));
    p.circular_buffers = {{"buffers", cb_bytes}};
    return p;
}

std::int64_t logical_width(const TensorDesc& t) { return t.logical.empty() ? t.width() : t.logical.back(); }

}  // namespace

DeviceProgram plan(const Arch& arch, const OpConfig& c, const ArgMax&) {
    const TensorDesc& in = c.inputs[0];
    if (in.layout == PageLayout::Tile) return named(arch, c, "ArgMaxSingleCoreProgramFactory", 1, in.tile_bytes());
    // The reduced dimension is cut into runs of 32 bytes over the cores, at least four each; partial results meet on one core.
    const auto element = static_cast<std::int64_t>(in.element_bytes());
    const std::int64_t width = logical_width(in), rows = in.logical.size() < 2 ? 1 : in.logical[in.logical.size() - 2];
    const std::int64_t runs = std::max<std::int64_t>(1, ceil_div(width * element, 32));
    const std::int64_t cores = std::min<std::int64_t>(arch.cores(), runs <= 4 ? runs : ceil_div(runs, 4));
    const std::int64_t index = round_up(rows * 4, 32), value = round_up(rows * element, 32);
    const std::int64_t buffered = (in.rows() > 1 ? 2 : 1) * ceil_div(runs, cores) * 32;
    return named(arch, c, "ArgMaxMultiCoreProgramFactory", cores, buffered + index + cores * (index + value));
}

DeviceProgram plan(const Arch& arch, const OpConfig& c, const TopK& op) {
    const TensorDesc& in = c.inputs[0];
    const std::int64_t width = logical_width(in), t = in.tile_bytes(), k = std::max<std::int64_t>(1, ceil_div(op.k, 32));
    const bool power = width > 0 && (width & (width - 1)) == 0;
    const std::int64_t rows = std::max<std::int64_t>(1, in.tiles() / std::max<std::int64_t>(1, ceil_div(in.width(), 32)));
    if (!power || width < 1024 || width >= 65536 || k > 2)
        return named(
            arch, c, "TopKSingleCoreProgramFactory", std::min<std::int64_t>(rows, arch.cores()), (4 * t + 8 * t + 4 * k * t + 2 * k * t));
    // Parts of the row on up to 16 cores, whose candidates one more core merges.
    const std::int64_t parts = std::min<std::int64_t>(16, width / 128), part = width / 32 / parts;
    return named(arch, c, "TopKMultiCoreProgramFactory", 1, (8 + 4 * parts * k + 6 * k + 2 * part) * t);
}

DeviceProgram plan(const Arch& arch, const OpConfig& c, const Sort&) {
    const TensorDesc& in = c.inputs[0];
    const std::int64_t w = ceil_div(in.width(), 32), rows = std::max<std::int64_t>(1, in.tiles() / std::max<std::int64_t>(1, w));
    const std::int64_t t = in.tile_bytes();
    if (w <= 64)
        return named(
            arch, c, "SortProgramFactorySingleRowSingleCore", std::min<std::int64_t>(rows, arch.cores()), (8 + 2 * w + 4) * t + 1024);
    const std::int64_t each = std::max<std::int64_t>(1, ceil_div(w, arch.cores()));
    return named(
        arch, c, "SortProgramFactoryCrossCoreDataExchange", std::min<std::int64_t>(ceil_div(w, each), arch.cores()), (19 + 2 * each) * t);
}

}  // namespace ttnn_shim::strategy
