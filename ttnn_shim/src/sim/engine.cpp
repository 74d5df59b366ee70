#include "sim/engine.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

namespace ttnn_shim::sim {
namespace {

Ticks ticks(double cycles) { return static_cast<Ticks>(std::llround(cycles * static_cast<double>(kTicksPerCycle))); }
std::int64_t whole(Ticks t) { return (t + kTicksPerCycle / 2) / kTicksPerCycle; }

/// Soft maximum of non-negative terms: (sum x^p)^(1/p); p <= 0 means the plain maximum.
double soft_max(std::initializer_list<double> terms, double p) {
    double top = 0;
    for (double t : terms) top = std::max(top, t);
    if (top <= 0 || p <= 0) return top;
    double sum = 0;
    for (double t : terms) sum += std::pow(std::max(t, 0.0) / top, p);
    return top * std::pow(sum, 1.0 / p);
}

/// Sharpness of the maximum between what a bank needs for the bytes of tiles and for their requests (published decode attention: the same
/// cache in three formats).
constexpr double kTileSharpness = 8;

/// Cycles that the shared resources need for a phase's demands.
struct SharedTime {
    double dram = 0, link = 0;
};

SharedTime shared_time(const Arch& arch, const Shared& s) {
    const Constants& k = arch.k;
    SharedTime t;
    const double banks = arch.dram_banks;
    // Cores whose runs of pages begin on few banks queue there; reads then walk the banks behind one another, all of them busy, so that
    // short runs lose most. Writes stay in step.
    const double waiting = s.read_banks_hit > 0 && s.run_pages > 0 ? std::max(0.0, banks / s.read_banks_hit - 1) / s.run_pages : 0.0;
    const double spread = s.write_banks_hit > 0 ? std::min(1.0, s.write_banks_hit / banks) : 1.0;
    const double write_rate = k.dram_write_bank * (k.dram_write_aligned + (1 - k.dram_write_aligned) * spread * spread);
    const double read_ns =
                     soft_max({s.dram_read_bytes / (banks * k.dram_read_bank), s.dram_tile_reads * k.dram_tile / banks}, kTileSharpness) *
                     (1 + waiting),
                 write_ns = s.dram_write_bytes / (banks * write_rate);
    double ns = read_ns + write_ns - s.write_hidden * std::min(read_ns, write_ns);
    ns += s.dram_near_bytes / (banks * k.dram_peak_bank * k.dram_sharded_efficiency);
    if (s.same_walk) ns += k.dram_turnaround * std::min(s.dram_read_bytes, s.dram_write_bytes) / banks;
    ns += s.dram_requests * k.dram_request / arch.clock_ghz / banks;
    ns = std::max(ns, s.hot_bank_bytes / k.hot_bank_rate);
    t.dram = arch.ns_to_cycles(ns);
    t.link = s.link_bytes / k.noc_link_rate;
    return t;
}

}  // namespace

const char* to_string(Bound bound) {
    static constexpr const char* names[] = {"latency", "compute", "reader", "writer", "dram", "noc"};
    return names[static_cast<int>(bound)];
}

Ticks Engine::pipeline(const Phase& phase) const {
    if (phase.stages.size() > MOST_STAGES)
        throw std::length_error(
            "a phase of " + std::to_string(phase.stages.size()) + " stages; the engine has " + std::to_string(MOST_STAGES));
    for (const Stage& stage : phase.stages)
        if (stage.depth < 1 || stage.depth > MOST_DEPTH)
            throw std::length_error(
                "a buffer of " + std::to_string(stage.depth) + " items; the engine has 1 to " + std::to_string(MOST_DEPTH));
    const int n_stages = static_cast<int>(phase.stages.size());
    if (phase.items <= 0 || n_stages == 0) return 0;
    State state;
    std::array<Ticks, MOST_STAGES> cost{};
    double slowest = 0, power_sum = 0;
    for (int s = 0; s < n_stages; ++s) {
        const Stage& stage = phase.stages[static_cast<std::size_t>(s)];
        cost[static_cast<std::size_t>(s)] = ticks(stage.cycles);
        slowest = std::max(slowest, stage.cycles);
    }
    // Stages disturb one another (L1 ports, semaphores): each item loses the difference between the soft and the plain maximum.
    Ticks stall = 0;
    if (phase.coupling > 0 && slowest > 0) {
        for (const Stage& stage : phase.stages) power_sum += std::pow(stage.cycles / slowest, phase.coupling);
        stall = ticks(slowest * (std::pow(power_sum, 1.0 / phase.coupling) - 1));
    }
    constexpr std::int64_t kTransient = 48, kWindow = 16;
    const std::int64_t simulated = std::min(phase.items, kTransient);
    Ticks end = 0, window_start = 0;
    for (std::int64_t i = 0; i < simulated; ++i) {
        for (int s = 0; s < n_stages; ++s) {
            const auto u = static_cast<std::size_t>(s);
            const Stage& stage = phase.stages[u];
            Ticks start = state.last[u];
            if (s > 0) start = std::max(start, state.last[u - 1]);
            // Room in the output buffer: the consumer must have finished item i - depth.
            if (s + 1 < n_stages && i >= stage.depth)
                start = std::max(start, state.done[u + 1][static_cast<std::size_t>((i - stage.depth) % MOST_DEPTH)]);
            if (i == 0) start += ticks(stage.head_cycles);
            state.last[u] = start + cost[u];
            state.done[u][static_cast<std::size_t>(i % MOST_DEPTH)] = state.last[u];
        }
        end = state.last[static_cast<std::size_t>(n_stages - 1)];
        if (i == simulated - 1 - kWindow) window_start = end;
    }
    // Constant costs settle into a constant period: the rest is a multiple of it.
    if (phase.items > simulated) end += (end - window_start) * (phase.items - simulated) / kWindow;
    return (end + stall * phase.items) * phase.repeat;
}

Stats Engine::run(const Workload& work) const {
    const Constants& k = arch_.k;
    Stats out;
    Ticks longest = 0;
    double pipe_cycles = 0, read_bytes = 0, write_bytes = 0;
    std::size_t phases = 0;
    for (const CoreClass& cls : work.classes) phases = std::max(phases, cls.phases.size());
    std::array<double, 4> busy{};
    SharedTime shared;
    for (const CoreClass& cls : work.classes) {
        Ticks total = 0;
        std::array<double, 4> mine{};
        for (const Phase& phase : cls.phases) {
            const Ticks pipe = pipeline(phase) + ticks(phase.round_cycles * static_cast<double>(phase.repeat));
            const SharedTime st = shared_time(arch_, phase.shared);
            const double p = static_cast<double>(pipe) / kTicksPerCycle;
            total += ticks(soft_max({p, st.dram, phase.shared.link_in_stages ? 0.0 : st.link}, k.contention_exponent) + phase.extra_cycles);
            pipe_cycles += p;
            for (const Stage& stage : phase.stages)
                mine[static_cast<std::size_t>(stage.unit)] +=
                    (stage.cycles * static_cast<double>(phase.items) + stage.head_cycles) * static_cast<double>(phase.repeat);
            shared.dram += st.dram;
            shared.link += st.link;
            read_bytes += phase.shared.dram_read_bytes + phase.shared.dram_near_bytes;
            write_bytes += phase.shared.dram_write_bytes;
        }
        for (std::size_t u = 0; u < busy.size(); ++u) busy[u] = std::max(busy[u], mine[u]);
        longest = std::max(longest, total);
    }
    const double base = work.has_compute ? (work.sharded ? k.launch_compute_sharded : k.launch_compute)
                                         : (work.sharded ? k.launch_move_sharded : k.launch_move);
    const double launch = base + (work.sharded ? k.skew_core_sharded : k.skew_core) * work.cores + (work.traced ? k.skew_trace : 0);
    const Ticks end = longest + ticks(launch + work.extra_cycles);
    out.cycles = std::max<std::int64_t>(1, whole(end));
    out.ns = static_cast<double>(out.cycles) / arch_.clock_ghz;
    out.dram_bytes = read_bytes + write_bytes;
    // Never above the physical peak, whatever the constants say.
    const double floor_ns = std::max(
        out.dram_bytes / (arch_.dram_banks * k.dram_peak_bank),
        work.cores > 0 ? work.total_math_cycles / work.cores / arch_.clock_ghz : 0.0);
    if (out.ns < floor_ns) {
        out.cycles = static_cast<std::int64_t>(std::ceil(floor_ns * arch_.clock_ghz));
        out.ns = static_cast<double>(out.cycles) / arch_.clock_ghz;
    }
    for (std::size_t u = 0; u < busy.size(); ++u) out.busy[u] = std::min(out.cycles, static_cast<std::int64_t>(std::llround(busy[u])));
    out.dram_cycles = std::min(out.cycles, static_cast<std::int64_t>(std::llround(shared.dram)));
    out.noc_cycles = std::min(out.cycles, static_cast<std::int64_t>(std::llround(shared.link)));
    const double cycles = static_cast<double>(out.cycles);
    out.fpu_utilisation = work.cores > 0 ? work.total_math_cycles / (work.cores * cycles) : 0;
    out.dram_utilisation = out.dram_bytes / (arch_.dram_banks * k.dram_peak_bank * out.ns);
    out.noc_utilisation = static_cast<double>(out.noc_cycles) / cycles;

    // Math thread only, and the traced wall time per call (GEMM tables): launch gap, and the lower clock under power. Firmware follows the
    // power, averaged over the calls of a batch, with a clock that itself settles: a response of second order, whose mean counts.
    out.math_window_cycles = work.math_window_cycles > 0 ? std::llround(work.math_window_cycles) : out.cycles;
    const double math_ns = static_cast<double>(out.math_window_cycles) / arch_.clock_ghz;
    const double power =
        work.cores > 0 ? std::min(1.0, work.math_cycles / std::max(1.0, static_cast<double>(out.math_window_cycles))) : 0.0;
    const double s = std::max(1e-6, math_ns / (k.throttle_tau * 1000.0));
    const double settled = s < 1e-3 ? s * s / 3 : 1 - 2 * (1 - std::exp(-s)) / s + (1 - std::exp(-2 * s)) / (2 * s);
    const double throttle = 1 + k.throttle * power * settled;
    out.wall_ns = math_ns * throttle + work.tail_cycles / arch_.clock_ghz + k.launch_gap;

    const double dominant =
        std::max({busy[0], busy[1], busy[2], busy[3], static_cast<double>(out.dram_cycles), static_cast<double>(out.noc_cycles)});
    if (dominant < 0.4 * cycles)
        out.bound = Bound::Latency;
    else if (dominant == static_cast<double>(out.dram_cycles))
        out.bound = Bound::Dram;
    else if (dominant == static_cast<double>(out.noc_cycles) || dominant == busy[3])
        out.bound = Bound::Noc;
    else if (dominant == busy[1])
        out.bound = Bound::Compute;
    else if (dominant == busy[0])
        out.bound = Bound::Reader;
    else
        out.bound = Bound::Writer;
    return out;
}

Stats run(const Arch& arch, const Workload& work) { return Engine(arch).run(work); }

}  // namespace ttnn_shim::sim
