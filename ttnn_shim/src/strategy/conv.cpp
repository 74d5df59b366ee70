// Sliding-window ops: halo (gather of neighbour sticks), conv2d (im2col + matmul blocks), pool2d.
#include <stdexcept>

#include "sim/noc.hpp"
#include "strategy/common.hpp"
#include "strategy/conv_buffers.hpp"

namespace ttnn_shim::strategy {
namespace {

struct Window {
    std::int64_t batch = 1, h = 1, w = 1, kh = 1, kw = 1, sh = 1, sw = 1, dh = 1, dw = 1, top = 0, bottom = 0, left = 0, right = 0;
    std::int64_t padded_h() const { return h + top + bottom; }
    std::int64_t padded_w() const { return w + left + right; }
    std::int64_t out_h() const { return (padded_h() - dh * (kh - 1) - 1) / sh + 1; }
    std::int64_t out_w() const { return (padded_w() - dw * (kw - 1) - 1) / sw + 1; }
};

Window window_of(const Halo& op) {
    const Window w{op.batch,          op.input_hw[0],    op.input_hw[1], op.window_hw[0], op.window_hw[1], op.stride_hw[0], op.stride_hw[1],
                   op.dilation_hw[0], op.dilation_hw[1], op.padding[0],  op.padding[1],   op.padding[2],   op.padding[3]};
    if (w.h < 1 || w.w < 1 || w.sh < 1 || w.sw < 1 || w.padded_h() < w.dh * (w.kh - 1) + 1 || w.padded_w() < w.dw * (w.kw - 1) + 1)
        throw std::invalid_argument("op 'halo': the window does not fit the input");
    return w;
}

/// What one core of the halo does: copies to itself, to others, runs of consecutive sticks, sticks of zeros.
struct CoreCopies {
    double local = 0, remote = 0, runs = 0, pad = 0;
};

struct HaloPlan {
    std::vector<CoreCopies> cores;
    double link[2] = {0, 0};
};

/// The exact gather plan: which input sticks each core needs, where they are, and the link loads that follow. Sticks, not bytes.
HaloPlan halo_plan(
    const Arch& arch, const Window& w, std::int64_t cores, std::int64_t in_sticks, std::int64_t out_pixels, std::int64_t grid_x,
    bool rows_on_y) {
    HaloPlan plan;
    plan.cores.resize(static_cast<std::size_t>(cores));
    sim::NocLoad load(arch);
    const std::int64_t total = w.batch * w.out_h() * w.out_w(), pw = w.padded_w(), per_image = w.padded_h() * pw;
    auto place = [&](std::int64_t i) {
        if (rows_on_y) return sim::Coord{0, static_cast<int>(i)};
        return sim::Coord{static_cast<int>(i % grid_x), static_cast<int>(i / grid_x)};
    };
    auto window_start = [&](std::int64_t p) {
        const std::int64_t n = p / (w.out_h() * w.out_w()), r = p % (w.out_h() * w.out_w());
        return n * per_image + (r / w.out_w()) * w.sh * pw + (r % w.out_w()) * w.sw;
    };
    std::vector<double> to_core(static_cast<std::size_t>(cores), 0.0);
    for (std::int64_t core = 0; core < cores; ++core) {
        const std::int64_t first = core * out_pixels;
        if (first >= total) break;
        const std::int64_t last = std::min(total, first + out_pixels) - 1;
        const std::int64_t begin = window_start(first), end = window_start(last) + (w.kh - 1) * w.dh * pw + (w.kw - 1) * w.dw + 1;
        std::fill(to_core.begin(), to_core.end(), 0.0);
        CoreCopies& mine = plan.cores[static_cast<std::size_t>(core)];
        for (std::int64_t at = begin; at < end;) {
            const std::int64_t n = at / per_image, y = (at % per_image) / pw, x = at % pw, run = std::min(end - at, pw - x);
            at += run;
            if (y < w.top || y >= w.top + w.h) {
                mine.pad += static_cast<double>(run);
                continue;
            }
            const std::int64_t x0 = std::max(x, w.left), x1 = std::min(x + run, w.left + w.w);
            mine.pad += static_cast<double>(run - std::max<std::int64_t>(0, x1 - x0));
            std::int64_t s = n * w.h * w.w + (y - w.top) * w.w + (x0 - w.left);
            const std::int64_t stop = s + std::max<std::int64_t>(0, x1 - x0);
            while (s < stop) {
                const std::int64_t owner = std::min(cores - 1, s / in_sticks),
                                   upto = owner == cores - 1 ? stop : std::min(stop, (owner + 1) * in_sticks);
                to_core[static_cast<std::size_t>(owner)] += static_cast<double>(upto - s);
                plan.cores[static_cast<std::size_t>(owner)].runs += 1;  // the owner pushes
                s = upto;
            }
        }
        for (std::int64_t owner = 0; owner < cores; ++owner) {
            const double sticks = to_core[static_cast<std::size_t>(owner)];
            if (sticks <= 0) continue;
            CoreCopies& from = plan.cores[static_cast<std::size_t>(owner)];
            if (owner == core) {
                from.local += sticks;
                continue;
            }
            from.remote += sticks;
            for (int noc = 0; noc < 2; ++noc) load.add(noc, place(owner), place(core), sticks / 2);
        }
    }
    for (int noc = 0; noc < 2; ++noc) plan.link[noc] = load.worst(noc);
    return plan;
}

}  // namespace

DeviceProgram plan(const Arch& arch, const OpConfig& c, const Halo& op) {
    const Constants& k = arch.k;
    const TensorDesc& in = c.inputs[0];
    const TensorDesc& out = c.outputs[0];
    const Window w = window_of(op);
    const Shard s = shard_of(arch, in);
    const bool width = in.memory == MemoryLayout::WidthSharded, block = in.memory == MemoryLayout::BlockSharded;
    const std::int64_t cores = width ? 1 : std::max<std::int64_t>(1, op.num_cores_nhw.value_or(s.cores));
    const std::int64_t pixels = w.batch * w.out_h() * w.out_w();
    std::int64_t out_pixels = ceil_div(pixels, cores);
    if (op.is_out_tiled) out_pixels = round_up(out_pixels, 32);
    const std::int64_t in_sticks = std::max<std::int64_t>(1, op.in_nsticks.value_or(0) > 0 ? *op.in_nsticks : s.h);
    const HaloPlan plan = halo_plan(arch, w, cores, in_sticks, out_pixels, s.grid_x > 0 ? s.grid_x : arch.grid_x, block);
    const double stick = static_cast<double>(s.w) * (out.dtype == DType::Float32 ? 4.0 : 2.0);
    const bool tiled = in.layout == PageLayout::Tile;
    const double blocks = static_cast<double>(ceil_div(s.h, 32));
    // Each data-movement RISC takes half of the copies; with tiled input they alternate blocks, so one may take a block more.
    double gather = 0;
    for (int noc = 0; noc < 2; ++noc) {
        const double share = tiled ? (noc == 0 ? std::ceil(blocks / 2) : std::floor(blocks / 2)) / blocks : 0.5;
        double busiest = 0;
        for (const CoreCopies& g : plan.cores)
            busiest = std::max(
                busiest,
                soft_max(
                    g.local * stick * share / k.halo_local_rate, plan.link[noc] * 2 * share * stick / k.noc_link_rate, k.halo_coupling) +
                    g.runs * share * k.halo_run + (noc == 1 ? g.pad * stick / k.halo_pad_rate : 0));
        gather = std::max(gather, busiest);
    }
    const double untilize =
        tiled ? blocks * (k.untilize_block + k.untilize_tile * static_cast<double>(ceil_div(s.w, 32)) + k.halo_block) : 0;
    Phase phase;
    phase.items = 1;
    phase.stages.push_back({Unit::Reader, gather, 0, 2});
    phase.extra_cycles = (tiled ? soft_max(gather, untilize, k.halo_untilize_coupling) - gather : 0) +
                         (op.config_in_dram ? k.read_dram * k.halo_table_read : 0);
    const int used = static_cast<int>(c.core_count.value_or(shard_cores(arch, in)));
    DeviceProgram p = one_phase("UntilizeWithHaloProgramFactory", arch, used, std::move(phase), false, true);
    // Two sticks of padding; tiled input is untilized on the way.
    p.circular_buffers = {{"padding", 2 * round_up(static_cast<std::int64_t>(stick), arch.l1_align)}};
    if (tiled) p.circular_buffers.push_back({"untilize", 4 * ceil_div(s.w, 32) * (out.dtype == DType::Float32 ? 4096 : 2048)});
    // Before a pool the library's program also holds 7 tiles, whatever the window and channels (as its buffers show).
    if (op.pool.value_or(false)) p.circular_buffers.push_back({"pool", 7 * bytes_per_tile(DType::BFloat16)});
    p.work.classes[0].phases[0].shared.link_in_stages = true;
    for (int noc = 0; noc < 2; ++noc)
        p.work.classes[0].phases[0].shared.link_bytes = std::max(p.work.classes[0].phases[0].shared.link_bytes, plan.link[noc] * stick);
    return p;
}

namespace {

/// Stages hand over parts of a block (rows of tiles), not whole blocks.
constexpr int kParts = 8;

}  // namespace

namespace {

/// Kernel rows that are gathered, relative to all of every window: with activation reuse a core gathers them all for its first line of
/// pixels, and for each further line only the rows by which the window moves on.
double gathered_share(const Conv2d& op) {
    if (!op.activation_reuse || op.out_width <= 0) return 1;
    const double rows = static_cast<double>(std::max<std::int64_t>(1, op.window_hw[0]));
    const double lines = std::max(1.0, 32.0 * static_cast<double>(op.per_core_m) / static_cast<double>(op.out_width));
    const double step = std::min(rows, static_cast<double>(op.stride ? (*op.stride)[0] : 1));
    return (rows + step * (lines - 1)) / (rows * lines);
}

}  // namespace

DeviceProgram plan(const Arch& arch, const OpConfig& c, const Conv2d& op) {
    const Constants& k = arch.k;
    if (c.inputs.size() < 2) throw std::invalid_argument("op 'conv2d': needs activations and weights");
    const TensorDesc& a = c.inputs[0];
    const TensorDesc& weights = c.inputs[1];
    const TensorDesc& out = c.outputs[0];
    const double bh = static_cast<double>(std::max<std::int64_t>(1, op.act_block_h)),
                 bw = static_cast<double>(std::max<std::int64_t>(1, op.act_block_w));
    const double m = static_cast<double>(std::max<std::int64_t>(1, op.per_core_m)),
                 n = static_cast<double>(std::max<std::int64_t>(1, op.per_core_n));
    const double sub = static_cast<double>(std::max<std::int64_t>(1, op.subblock_h * op.subblock_w));
    const double depth = static_cast<double>(ceil_div(weights.rows(), 32));
    const double kb = std::max(1.0, std::round(depth / bw)), hb = std::max(1.0, std::ceil(m / bh));
    const double ph = phases(c), wt = static_cast<double>(weights.tile_bytes());
    const double kh = static_cast<double>(op.window_hw[0]), kw = static_cast<double>(op.window_hw[1]);
    const double fill = k.conv_subblock * bh * n / sub + (kb > 1 ? k.conv_accumulate * bh * n : 0) + k.conv_block;
    const double mac = bh * n * bw * (k.conv_mac + k.conv_mac_phase * (ph - 1));
    const double fetch = bw * n * (k.conv_weight_tile + k.conv_weight_byte * wt);
    const bool block_sharded = a.memory == MemoryLayout::BlockSharded || a.memory == MemoryLayout::WidthSharded;
    DeviceProgram p;
    std::vector<Phase> phases_list;
    if (!block_sharded) {
        const double comp = bh * bw * k.tilize_tile + mac + fill;
        // im2col: one local read per output pixel and kernel row; the K blocks share the kernel rows between them.
        const double row_bytes = kw * static_cast<double>(a.width()) * a.element_bytes();
        const double read = bh * 32 * std::max(1.0, kh / kb) * (k.conv_stick + k.conv_stick_byte * row_bytes) * gathered_share(op) *
                            (op.split_reader.value_or(false) ? k.conv_split_reader : 1.0);
        Phase first;
        first.items = static_cast<std::int64_t>(kb) * kParts;
        first.coupling = k.conv_coupling;
        first.stages = {{Unit::Reader, read / kParts, 0, 2}, {Unit::Sender, fetch / kParts, 0, 2}, {Unit::Compute, comp / kParts, 0, 2}};
        first.shared.dram_read_bytes = in_dram(weights) ? static_cast<double>(weights.bytes()) : 0;
        Phase rest;  // the weights stay in L1 for further rows
        rest.items = static_cast<std::int64_t>((hb - 1) * kb) * kParts;
        rest.coupling = k.stage_exponent;
        rest.stages = {{Unit::Reader, read / kParts, 0, 2}, {Unit::Compute, comp / kParts, 0, 2}};
        rest.extra_cycles = op.untilize_out ? m * n * k.conv_untilize : 0;
        phases_list = {std::move(first), std::move(rest)};
    } else {
        Phase blocks;
        blocks.items = static_cast<std::int64_t>(hb * kb) * kParts;
        blocks.coupling = k.conv_coupling;
        blocks.stages = {{Unit::Sender, fetch / kParts, 0, 2}, {Unit::Compute, (mac + fill) / kParts, 0, 2}};
        // Activations of each column are tilized and multicast before the block can start.
        blocks.extra_cycles =
            hb * kb * (k.conv_mcast_block + k.conv_mcast_tile * bh * bw) + (op.untilize_out ? m * n * k.conv_untilize : 0);
        blocks.shared.dram_read_bytes = in_dram(weights) ? static_cast<double>(weights.bytes()) * hb : 0;
        phases_list = {std::move(blocks)};
    }
    const int cores = static_cast<int>(op.core_count.value_or(shard_cores(arch, out)));
    p.factory = block_sharded
                    ? (a.memory == MemoryLayout::WidthSharded ? "Conv2dWidthShardedProgramFactory" : "Conv2dShardedProgramFactory")
                    : "Conv2dShardedProgramFactory";
    p.cores = cores;
    set_grid(p, arch);
    p.work.cores = cores;
    p.work.has_compute = true;
    p.work.extra_cycles = k.conv_start;
    p.work.math_cycles = hb * kb * bh * n * bw * k.fpu_tile * ph;
    p.work.total_math_cycles = p.work.math_cycles * cores;
    p.work.classes.push_back({cores, std::move(phases_list)});
    // Buffers stand on the whole rectangle of the shard grid, also where it has no shard.
    if (!c.table_era && a.shard && a.shard->grid_x > 0) p.cores = std::max(p.cores, a.shard->grid_x * a.shard->grid_y);
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
    phase.stages.push_back({Unit::Reader, area * arch.k.pool_stick, 0, 2});
    return one_phase("Pool2DMultiCore", arch, cores, std::move(phase), true, true);
}

}  // namespace ttnn_shim::strategy
