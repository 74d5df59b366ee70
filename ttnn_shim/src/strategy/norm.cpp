// Reductions and normalisations: rows (or lanes) over cores, tiles of a row one after the other.
#include "strategy/common.hpp"

namespace ttnn_shim::strategy {
namespace {

void dram_traffic(Phase& phase, const OpConfig& c) {
    for (const TensorDesc& t : c.inputs) add_dram(phase.shared, t, static_cast<double>(t.bytes()), false);
    for (const TensorDesc& t : c.outputs) add_dram(phase.shared, t, static_cast<double>(t.bytes()), true);
}

/// Rows of tiles over cores; per row a fixed chain of small passes plus a cost per tile.
DeviceProgram row_program(
    const Arch& arch, const OpConfig& c, const char* factory, double row_cycles, double tile_cycles, std::int64_t buffered_tiles) {
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
    constexpr int kParts = 4;  // stages hand over blocks of a row, not whole rows
    Phase phase;
    phase.items = per_core * kParts;
    phase.coupling = arch.k.stage_exponent;
    const double bytes = static_cast<double>(in.tile_bytes()), w = static_cast<double>(width) / kParts;
    if (!resident(in)) phase.stages.push_back({Unit::Reader, w * page_read(arch, in, bytes) / 2, 0, 2});
    phase.stages.push_back({Unit::Compute, (row_cycles + combine) / kParts + w * tile_cycles, 0, 2});
    if (!resident(c.outputs[0])) phase.stages.push_back({Unit::Writer, w * page_write(arch, bytes), 0, 2});
    dram_traffic(phase, c);
    DeviceProgram p = one_phase(factory, arch, cores, std::move(phase), true, resident(in));
    p.circular_buffers = {{"in", buffered_tiles * in.tile_bytes()}, {"out", std::min<std::int64_t>(8, width) * c.outputs[0].tile_bytes()}};
    return p;
}

DeviceProgram plan_softmax(const Arch& arch, const OpConfig& c) {
    const std::int64_t w = ceil_div(c.inputs[0].width(), 32);
    std::int64_t block = 1;
    for (std::int64_t b = 2; b <= 4; ++b)
        if (w % b == 0) block = b;
    // Input and exponentials of a row, statistics, scaler and output blocks; a masked copy when the row ends inside a tile.
    const bool ragged = !c.inputs[0].logical.empty() && c.inputs[0].logical.back() % 32 != 0;
    DeviceProgram p = row_program(arch, c, "SoftmaxProgramFactoryAttentionOptimized", arch.k.softmax_row, arch.k.softmax_tile, 0);
    p.work.extra_cycles = arch.k.softmax_start;
    p.circular_buffers = {{"row", (2 * w + 7 + 2 * block + (ragged ? 2 * w + 2 : 0)) * 2048}};
    return p;
}

DeviceProgram plan_layernorm(const Arch& arch, const OpConfig& c) {
    const std::int64_t w = ceil_div(c.inputs[0].width(), 32);
    DeviceProgram p = row_program(
        arch, c, resident(c.inputs[0]) ? "LayerNormShardedProgramFactory" : "LayerNormMultiCoreProgramFactory", arch.k.norm_row,
        arch.k.norm_tile, w);
    if (!resident(c.inputs[0])) {
        // Copies of the row (input, centred, squared, scaled) and blocks of 4 (layer norm) or 8 (RMS norm) tiles; gamma and beta are held
        // whole.
        const bool rms = c.flag("rms") || c.op == "rmsnorm";
        const std::int64_t held = static_cast<std::int64_t>(c.inputs.size()) - 1, wide = round_up(w, rms ? 8 : 4);
        std::int64_t tiles = rms ? 2 * wide + 30 + held * (wide + 16) : 5 * wide + 36 + held * (wide + 8);
        if (tiles * 2048 > arch.l1_bytes) tiles = 250;  // the variant that reads the row again for every pass
        p.circular_buffers = {{"row", tiles * 2048}};
    }
    return p;
}

DeviceProgram plan_groupnorm(const Arch& arch, const OpConfig& c) {
    const Constants& k = arch.k;
    const TensorDesc& in = c.inputs[0];
    const double groups = static_cast<double>(std::max<std::int64_t>(1, c.integer("num_groups", 1))),
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
        const auto grid = c.integers("grid");
        cores = grid.size() == 2 && grid[0] * grid[1] > 0 ? static_cast<int>(grid[0] * grid[1]) : arch.cores();
        cores = static_cast<int>(c.integer("core_count", cores));
        const double rows = std::ceil(static_cast<double>(ceil_div(in.rows(), 32)) / cores),
                     w = static_cast<double>(ceil_div(in.width(), 32));
        const double visits = rows * groups * tiles_per_group;
        // Three passes over the input: mean, variance, result.
        cycles = rows * w * k.groupnorm_tile + visits * k.groupnorm_group_tile +
                 3 * visits * page_read(arch, in, static_cast<double>(in.tile_bytes()));
    }
    phase.stages.push_back({Unit::Compute, cycles, 0, 2});
    phase.extra_cycles = fixed;
    dram_traffic(phase, c);
    return one_phase(
        resident(in) ? "GroupNormShardedProgramFactory" : "GroupNormMcastProgramFactory", arch, cores, std::move(phase), true, false);
}

/// Reduction of W, H or HW; with dim NC of the leading dimensions.
DeviceProgram plan_reduce(const Arch& arch, const OpConfig& c) {
    const TensorDesc& in = c.inputs[0];
    const TensorDesc& out = c.outputs[0];
    const std::int64_t outputs = std::max<std::int64_t>(1, out.tiles());
    const int cores = split_cores(arch, c, outputs);
    Phase phase;
    phase.items = ceil_div(outputs, cores) * std::max<std::int64_t>(1, ceil_div(in.tiles(), outputs));
    phase.coupling = arch.k.stage_exponent;
    const double bytes = static_cast<double>(in.tile_bytes());
    phase.stages = {{Unit::Reader, page_read(arch, in, bytes) / 2, 0, 2}, {Unit::Compute, arch.k.unary_tile + 8.0 * phases(c), 0, 2}};
    dram_traffic(phase, c);
    const std::string dim = c.text("dim");
    const std::int64_t chunk = dim == "H" ? ceil_div(outputs, cores) : ceil_div(in.width(), 32);
    DeviceProgram p = one_phase(
        dim == "H"    ? "ReduceMultiCoreHProgramFactory"
        : dim == "HW" ? "ReduceSingleCoreHwProgramFactory"
                      : "ReduceMultiCoreWProgramFactory",
        arch, cores, std::move(phase), true, false);
    p.circular_buffers = {{"in", (chunk >= 4 ? 8 : 2) * in.tile_bytes()}, {"scaler", 2048}, {"out", 2 * out.tile_bytes()}};
    return p;
}

/// Running sum along a leading dimension: each core owns lanes of tiles and walks them.
DeviceProgram plan_accumulation(const Arch& arch, const OpConfig& c) {
    const TensorDesc& in = c.inputs[0];
    std::int64_t dim = c.integer("dim", 0);
    if (dim < 0) dim += static_cast<std::int64_t>(in.padded.size());
    const auto rank = static_cast<std::int64_t>(in.padded.size());
    std::int64_t along = dim >= 0 && dim < rank ? in.padded[static_cast<std::size_t>(dim)] : 1;
    if (dim >= rank - 2) along = ceil_div(along, 32);
    const std::int64_t lanes = std::max<std::int64_t>(1, in.tiles() / std::max<std::int64_t>(1, along));
    const int cores = split_cores(arch, c, lanes);
    Phase phase;
    phase.items = ceil_div(lanes, cores) * along;
    phase.coupling = arch.k.stage_exponent;
    const double bytes = static_cast<double>(in.tile_bytes());
    phase.stages = {
        {Unit::Reader, page_read(arch, in, bytes), 0, 2},
        {Unit::Compute, arch.k.unary_tile, 0, 2},
        {Unit::Writer, page_write(arch, bytes), 0, 2}};
    dram_traffic(phase, c);
    DeviceProgram p = one_phase("AccumulationProgramFactory", arch, cores, std::move(phase), true, false);
    p.circular_buffers = {{"tiles", 10 * in.tile_bytes()}};
    return p;
}

/// Integral image: column blocks on few cores.
DeviceProgram plan_intimg(const Arch& arch, const OpConfig& c) {
    const TensorDesc& in = c.inputs[0];
    const int cores = static_cast<int>(
        c.integer("core_count", std::max<std::int64_t>(1, std::min<std::int64_t>(arch.cores(), ceil_div(in.width(), 32)))));
    Phase phase;
    phase.items = ceil_div(in.tiles(), cores);
    phase.stages.push_back({Unit::Compute, page_read(arch, in, static_cast<double>(in.tile_bytes())) + 2 * arch.k.unary_tile, 0, 2});
    dram_traffic(phase, c);
    return one_phase("IntImgProgramFactory", arch, cores, std::move(phase), true, false);
}

}  // namespace

const std::vector<PlanRow> kNormPlans = {{"softmax", plan_softmax},          {"layernorm", plan_layernorm}, {"rmsnorm", plan_layernorm},
                                         {"groupnorm", plan_groupnorm},      {"reduce", plan_reduce},       {"intimg", plan_intimg},
                                         {"accumulation", plan_accumulation}};

}  // namespace ttnn_shim::strategy
