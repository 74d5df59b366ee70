// Halo: every core's part of an image gets the neighbour sticks that its windows reach. The library lists the copies on the host; both data
// movement cores of an owner work their lists off one after the other, each on its own NoC.
#include <array>
#include <stdexcept>
#include <utility>

#include "sim/noc.hpp"
#include "strategy/common.hpp"

namespace ttnn_shim::strategy {
namespace {

struct Window {
    std::int64_t batch = 1, h = 1, w = 1, kh = 1, kw = 1, sh = 1, sw = 1, dh = 1, dw = 1, top = 0, bottom = 0, left = 0, right = 0;
    std::int64_t apart_h = 1, apart_w = 1;  ///< pixels of the input, between which there are zeros
    std::int64_t input_h() const { return (h - 1) / apart_h + 1; }
    std::int64_t input_w() const { return (w - 1) / apart_w + 1; }
    std::int64_t padded_h() const { return h + top + bottom; }
    std::int64_t padded_w() const { return w + left + right; }
    std::int64_t out_h() const { return (padded_h() - dh * (kh - 1) - 1) / sh + 1; }
    std::int64_t out_w() const { return (padded_w() - dw * (kw - 1) - 1) / sw + 1; }
};

Window window_of(const Halo& op) {
    const Window w{
        op.batch,
        op.input_hw[0],
        op.input_hw[1],
        op.window_hw[0],
        op.window_hw[1],
        op.stride_hw[0],
        op.stride_hw[1],
        op.dilation_hw[0],
        op.dilation_hw[1],
        op.padding[0],
        op.padding[1],
        op.padding[2],
        op.padding[3],
        op.spread_hw ? (*op.spread_hw)[0] : 1,
        op.spread_hw ? (*op.spread_hw)[1] : 1};
    if (w.h < 1 || w.w < 1 || w.sh < 1 || w.sw < 1 || w.padded_h() < w.dh * (w.kh - 1) + 1 || w.padded_w() < w.dw * (w.kw - 1) + 1)
        throw std::invalid_argument("op 'halo': the window does not fit the input");
    return w;
}

constexpr std::size_t kMovers = 2;         // data movement cores of a worker
constexpr std::int64_t kBlockSticks = 32;  // a tiled input is untilized block by block

/// A run of sticks that is consecutive at its owner and at its destination.
struct Transfer {
    std::int64_t to = 0, source = 0, target = 0, sticks = 0;
};

/// Work of one data movement core: sticks copied within its worker and to others, sticks of zeros, requests. Sticks, not bytes.
struct Mover {
    double local = 0, remote = 0, pad = 0, transfers = 0, pad_runs = 0;
};

/// The exact gather: lists of transfers as the library makes them, and what the links carry.
struct HaloPlan {
    std::vector<std::array<Mover, kMovers>> cores;
    std::array<double, kMovers> link{}, slowest_link{};  ///< by NoC: most sticks on a link; cycles of the slowest per byte of a stick
};

/// Runs of the padded image that a core's windows need, from its owners; and runs of zeros.
class Transfers {
public:
    Transfers(const Window& w, std::int64_t cores, std::int64_t in_sticks, std::int64_t out_pixels)
        : own(static_cast<std::size_t>(cores)),
          away(static_cast<std::size_t>(cores)),
          zeros(static_cast<std::size_t>(cores)),
          cores_(cores),
          in_sticks_(in_sticks) {
        const std::int64_t total = w.batch * w.out_h() * w.out_w(), pw = w.padded_w(), per_image = w.padded_h() * pw;
        const auto window_start = [&](std::int64_t p) {
            const std::int64_t n = p / (w.out_h() * w.out_w()), r = p % (w.out_h() * w.out_w());
            return n * per_image + (r / w.out_w()) * w.sh * pw + (r % w.out_w()) * w.sw;
        };
        for (std::int64_t core = 0; core < cores; ++core) {
            const std::int64_t first = core * out_pixels;
            if (first >= total) break;
            const std::int64_t last = std::min(total, first + out_pixels) - 1;
            const std::int64_t begin = window_start(first), end = window_start(last) + (w.kh - 1) * w.dh * pw + (w.kw - 1) * w.dw + 1;
            for (std::int64_t at = begin; at < end;) {
                const std::int64_t n = at / per_image, y = (at % per_image) / pw, x = at % pw, run = std::min(end - at, pw - x);
                const std::int64_t x0 = std::max(x, w.left), x1 = std::min(x + run, w.left + w.w), target = at - begin;
                if (y < w.top || y >= w.top + w.h || x1 <= x0 || (y - w.top) % w.apart_h != 0) {
                    pad(core, target, run);
                } else {
                    const std::int64_t line = (n * w.input_h() + (y - w.top) / w.apart_h) * w.input_w();
                    pad(core, target, x0 - x);
                    if (w.apart_w == 1) {
                        copy(core, line + x0 - w.left, target + x0 - x, x1 - x0);
                    } else {
                        for (std::int64_t p = x0; p < x1; ++p)
                            if ((p - w.left) % w.apart_w == 0)
                                copy(core, line + (p - w.left) / w.apart_w, target + p - x, 1);
                            else
                                pad(core, target + p - x, 1);
                    }
                    pad(core, target + x1 - x, x + run - x1);
                }
                at += run;
            }
        }
    }

    std::vector<std::vector<Transfer>> own, away;  ///< by owner: within its worker; to others, ordered by destination
    std::vector<std::vector<std::pair<std::int64_t, std::int64_t>>> zeros;  ///< by destination: where a run begins, sticks

private:
    void pad(std::int64_t core, std::int64_t target, std::int64_t sticks) {
        if (sticks <= 0) return;
        auto& runs = zeros[static_cast<std::size_t>(core)];
        if (!runs.empty() && runs.back().first + runs.back().second == target)
            runs.back().second += sticks;
        else
            runs.emplace_back(target, sticks);
    }
    void copy(std::int64_t core, std::int64_t stick, std::int64_t target, std::int64_t sticks) {
        for (const std::int64_t stop = stick + sticks; stick < stop;) {
            const std::int64_t owner = std::min(cores_ - 1, stick / in_sticks_),
                               upto = owner == cores_ - 1 ? stop : std::min(stop, (owner + 1) * in_sticks_);
            auto& list = (owner == core ? own : away)[static_cast<std::size_t>(owner)];
            const std::int64_t source = stick - owner * in_sticks_;
            if (!list.empty() && list.back().to == core && list.back().source + list.back().sticks == source &&
                list.back().target + list.back().sticks == target)
                list.back().sticks += upto - stick;
            else
                list.push_back({core, source, target, upto - stick});
            target += upto - stick;
            stick = upto;
        }
    }
    std::int64_t cores_, in_sticks_;
};

/// Row-major transfers are dealt out to the two movers in turn; those of a tiled input are cut at blocks of 32 sticks, whose blocks
/// alternate. `one_sends` (before mid 2025): one mover has what stays on its worker, the other what goes to others.
HaloPlan halo_plan(
    const Arch& arch, const Transfers& gather, bool tiled, bool one_sends, std::int64_t grid_x, bool one_line, bool along_x) {
    const auto place = [&](std::int64_t i) {
        if (one_line) return along_x ? sim::Coord{static_cast<int>(i), 0} : sim::Coord{0, static_cast<int>(i)};
        return sim::Coord{static_cast<int>(i % grid_x), static_cast<int>(i / grid_x)};
    };
    const std::size_t cores = gather.own.size();
    HaloPlan plan;
    plan.cores.resize(cores);
    sim::NocLoad load(arch);
    std::vector<std::array<double, kMovers>> sent(cores);
    for (std::size_t owner = 0; owner < cores; ++owner) {
        auto& movers = plan.cores[owner];
        std::size_t turn = 0;
        const auto deal = [&](const Transfer& t) {
            const auto add = [&](std::size_t mover, std::int64_t sticks) {
                Mover& m = movers[mover];
                m.transfers += 1;
                if (static_cast<std::size_t>(t.to) == owner)
                    m.local += static_cast<double>(sticks);
                else {
                    m.remote += static_cast<double>(sticks);
                    sent[static_cast<std::size_t>(t.to)][mover] += static_cast<double>(sticks);
                }
            };
            if (one_sends) return add(static_cast<std::size_t>(t.to) == owner ? 0 : 1, t.sticks);
            if (!tiled) return add(turn++ % kMovers, t.sticks);
            for (std::int64_t at = t.source, stop = t.source + t.sticks; at < stop;) {
                const std::int64_t block = at / kBlockSticks, upto = std::min(stop, (block + 1) * kBlockSticks);
                add(static_cast<std::size_t>(block) % kMovers, upto - at);
                at = upto;
            }
        };
        for (const Transfer& t : gather.own[owner]) deal(t);
        for (const Transfer& t : gather.away[owner]) deal(t);
        for (const Transfer& t : gather.away[owner]) {
            auto& to = sent[static_cast<std::size_t>(t.to)];
            for (std::size_t noc = 0; noc < kMovers; ++noc)
                if (to[noc] > 0)
                    load.add(static_cast<int>(noc), place(static_cast<std::int64_t>(owner)), place(t.to), std::exchange(to[noc], 0.0));
        }
        const auto& zeros = gather.zeros[owner];
        for (std::size_t i = 0; i < zeros.size(); ++i) {
            movers[i < zeros.size() / 2 ? 0 : 1].pad += static_cast<double>(zeros[i].second);
            movers[i < zeros.size() / 2 ? 0 : 1].pad_runs += 1;
        }
    }
    for (std::size_t noc = 0; noc < kMovers; ++noc) {
        plan.link[noc] = load.worst(static_cast<int>(noc));
        plan.slowest_link[noc] = load.slowest(static_cast<int>(noc), arch.k.noc_link_width, arch.k.noc_flow_exponent);
    }
    return plan;
}

}  // namespace

DeviceProgram plan(const Arch& arch, const OpConfig& c, const Halo& op) {
    const Constants& k = arch.k;
    const TensorDesc& in = c.inputs[0];
    const TensorDesc& out = c.outputs[0];
    const Window w = window_of(op);
    const Shard s = shard_of(arch, in);
    const bool width = in.memory == TensorMemoryLayout::WIDTH_SHARDED, block = in.memory == TensorMemoryLayout::BLOCK_SHARDED;
    const std::int64_t cores = width ? 1 : std::max<std::int64_t>(1, op.num_cores_nhw.value_or(s.cores));
    std::int64_t out_pixels = ceil_div(w.batch * w.out_h() * w.out_w(), cores);
    if (op.is_out_tiled) out_pixels = round_up(out_pixels, 32);
    const std::int64_t in_sticks = std::max<std::int64_t>(1, op.in_nsticks.value_or(0) > 0 ? *op.in_nsticks : s.h);
    const bool tiled = in.layout == Layout::TILE;
    const Transfers gathered(w, cores, in_sticks, out_pixels);
    const bool one_sends = c.release.halo_by_sticks;
    const HaloPlan plan = halo_plan(arch, gathered, tiled, one_sends, s.grid_x > 0 ? s.grid_x : arch.grid_x, block, s.col_major);
    const double stick = static_cast<double>(s.w) * (out.dtype == DataType::FLOAT32 ? 4.0 : 2.0);
    const double sent = stick + (one_sends ? k.noc_link_width : 0);  // a stick that is a packet of its own has a header
    const std::int64_t blocks = ceil_div(s.h, kBlockSticks);
    // Zeros first (those between pixels are a request for each run), then copies within the worker, then those to others, which all workers
    // send at the same time. With a tiled input each block is waited for and its copies are acknowledged before the next.
    double gather = 0;
    for (const auto& movers : plan.cores)
        for (std::size_t noc = 0; noc < kMovers; ++noc) {
            const Mover& m = movers[noc];
            const double remote =
                m.remote > 0 ? soft_max(m.remote * stick / k.halo_local_rate, plan.slowest_link[noc] * sent, k.halo_coupling) : 0;
            const double waits = tiled ? static_cast<double>((blocks + 1 - static_cast<std::int64_t>(noc)) / 2) * arch.k.halo_block_end : 0;
            gather = std::max(
                gather, m.local * stick / k.halo_local_rate + remote + m.transfers * arch.k.halo_transfer + waits +
                            m.pad * stick / k.halo_pad_rate + (op.spread_hw ? m.pad_runs * k.halo_run : 0));
        }
    const double untilize =
        tiled ? static_cast<double>(blocks) * (k.untilize_block + k.untilize_tile * static_cast<double>(ceil_div(s.w, 32)) + k.halo_block)
              : 0;
    Phase phase;
    phase.items = 1;
    phase.stages.push_back({Unit::Reader, gather});
    const double behind = tiled ? soft_max(gather, untilize, k.halo_untilize_coupling) - gather : 0;
    const double table = op.config_in_dram ? k.read_dram * k.halo_table_read : 0;
    phase.extra_cycles = behind + table;
    phase.extra_parts = {{sim::Term::Untilize, behind}, {sim::Term::Read, table}};
    const int used = static_cast<int>(c.core_count.value_or(shard_cores(arch, in)));
    DeviceProgram p = one_phase("UntilizeWithHaloProgramFactory", arch, used, std::move(phase), false, true);
    // Two sticks of padding; tiled input is untilized on the way.
    p.circular_buffers = {{"padding", 2 * round_up(static_cast<std::int64_t>(stick), arch.l1_align)}};
    if (tiled) p.circular_buffers.push_back({"untilize", 4 * ceil_div(s.w, 32) * (out.dtype == DataType::FLOAT32 ? 4096 : 2048)});
    // Before a pool the library's program also holds 7 tiles, whatever the window and channels (as its buffers show).
    if (op.pool.value_or(false)) p.circular_buffers.push_back({"pool", 7 * bytes_per_tile(DataType::BFLOAT16)});
    auto& shared = p.work.classes[0].phases[0].shared;
    shared.link_in_stages = true;
    shared.link_bytes = std::max(plan.link[0], plan.link[1]) * sent;
    return p;
}

}  // namespace ttnn_shim::strategy
