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
    double written = 0;  ///< share of `dram` that writes take
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
    t.written = read_ns + write_ns > 0 ? write_ns / (read_ns + write_ns) : 0;
    t.link = std::max(s.link_bytes / k.noc_link_rate, std::max(s.l1_read_bytes, s.l1_write_bytes) / k.l1_interleaved_rate);
    return t;
}

using Terms = std::array<double, TERMS>;

double& of(Terms& terms, Term term) { return terms[static_cast<std::size_t>(term)]; }

/// Serial cycles, `times` over: those of kinds of their own, the others are the drain.
void add_serial(Terms& terms, double cycles, const std::vector<Part>& parts, double times) {
    for (const Part& part : parts) {
        of(terms, part.term) += part.cycles * times;
        cycles -= part.cycles;
    }
    of(terms, Term::Drain) += cycles * times;
}

/// The parts of one phase's `total` cycles. `pipe`: of its kernels, which run `coupling` cycles longer as they disturb one another.
void explain(const Phase& phase, const SharedTime& shared, double pipe, double link, double coupling, double total, Terms& terms) {
    constexpr std::array<Term, 4> OF_UNIT{Term::Read, Term::Math, Term::Write, Term::Multicast};
    const double most = std::max({pipe, shared.dram, link});
    if (most == shared.dram && most > pipe) {
        of(terms, Term::DramWrite) += most * shared.written;
        of(terms, Term::DramRead) += most * (1 - shared.written);
    } else if (most > pipe) {
        of(terms, Term::NocLinks) += most;
    } else {
        const Stage* slowest = nullptr;
        for (const Stage& stage : phase.stages)
            if (!slowest || stage.cycles > slowest->cycles) slowest = &stage;
        const auto items = static_cast<double>(phase.items * phase.repeat);
        double rest = pipe;
        if (slowest && phase.items > 0) {
            const double used = phase.mean_items > 0 ? std::min(1.0, phase.mean_items / items) : 1.0, all = slowest->cycles * items;
            of(terms, OF_UNIT[static_cast<std::size_t>(slowest->unit)]) += (slowest->cycles - slowest->other_cycles) * items * used;
            of(terms, slowest->other) += slowest->other_cycles * items * used;
            of(terms, Term::Imbalance) += all * (1 - used);
            rest -= all;
        }
        const auto repeat = static_cast<double>(phase.repeat);
        const double rounds = phase.round_cycles * repeat;
        add_serial(terms, phase.round_cycles, phase.round_parts, repeat);
        of(terms, Term::Coupling) += coupling;
        of(terms, Term::Fill) += rest - rounds - coupling;
    }
    of(terms, Term::Contention) += total - most - phase.extra_cycles;
    add_serial(terms, phase.extra_cycles, phase.extra_parts, 1);
}

/// Cycles by which stages of an item disturb one another (L1 ports, semaphores): the difference between soft and plain maximum.
double stall_cycles(const Phase& phase) {
    double slowest = 0, power_sum = 0;
    for (const Stage& stage : phase.stages) slowest = std::max(slowest, stage.cycles);
    if (phase.coupling <= 0 || slowest <= 0) return 0;
    for (const Stage& stage : phase.stages) power_sum += std::pow(stage.cycles / slowest, phase.coupling);
    return slowest * (std::pow(power_sum, 1.0 / phase.coupling) - 1);
}

/// What a program's time depends on most: the busiest unit of a core, a shared resource, or none of them.
Bound bound_of(const std::array<double, 4>& busy, const Stats& stats) {
    const auto dram = static_cast<double>(stats.dram_cycles), noc = static_cast<double>(stats.noc_cycles);
    const double dominant = std::max({busy[0], busy[1], busy[2], busy[3], dram, noc});
    if (dominant < 0.4 * static_cast<double>(stats.cycles)) return Bound::Latency;
    if (dominant == dram) return Bound::Dram;
    if (dominant == noc || dominant == busy[3]) return Bound::Noc;
    if (dominant == busy[1]) return Bound::Compute;
    return dominant == busy[0] ? Bound::Reader : Bound::Writer;
}

}  // namespace

const char* to_string(Term term) {
    static constexpr const char* names[] = {"launch",        "start skew",      "DRAM read",  "DRAM write",      "NoC links",
                                            "read",          "NoC multicast",   "tile math",  "packing",         "write",
                                            "pipeline fill", "stages together", "contention", "fused functions", "waiting for buffers",
                                            "combining",     "untilizing",      "drain",      "imbalance",       "hardware floor"};
    return names[static_cast<int>(term)];
}

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
    for (std::size_t s = 0; s < phase.stages.size(); ++s) cost[s] = ticks(phase.stages[s].cycles);
    const Ticks stall = ticks(stall_cycles(phase));
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
    double read_bytes = 0, write_bytes = 0;
    std::array<double, 4> busy{};
    SharedTime shared;
    for (const CoreClass& cls : work.classes) {
        Ticks total = 0;
        Terms parts{};
        std::array<double, 4> mine{};
        for (const Phase& phase : cls.phases) {
            const Ticks pipe = pipeline(phase) + ticks(phase.round_cycles * static_cast<double>(phase.repeat));
            const SharedTime st = shared_time(arch_, phase.shared);
            const double p = static_cast<double>(pipe) / kTicksPerCycle;
            const double link = phase.shared.link_in_stages ? 0.0 : st.link;
            const double together = soft_max({p, st.dram, link}, k.contention_exponent) + phase.extra_cycles;
            if (!std::isfinite(together) || together < 0)
                throw std::logic_error("a phase of a device program is priced at " + std::to_string(together) + " cycles");
            total += ticks(together);
            explain(phase, st, p, link, stall_cycles(phase) * static_cast<double>(phase.items * phase.repeat), together, parts);
            for (const Stage& stage : phase.stages)
                mine[static_cast<std::size_t>(stage.unit)] +=
                    (stage.cycles * static_cast<double>(phase.items) + stage.head_cycles) * static_cast<double>(phase.repeat);
            shared.dram += st.dram;
            shared.link += st.link;
            read_bytes += phase.shared.dram_read_bytes + phase.shared.dram_near_bytes;
            write_bytes += phase.shared.dram_write_bytes;
        }
        for (std::size_t u = 0; u < busy.size(); ++u) busy[u] = std::max(busy[u], mine[u]);
        if (total >= longest) out.terms = parts;
        longest = std::max(longest, total);
    }
    const double base = work.has_compute ? (work.sharded ? k.launch_compute_sharded : k.launch_compute)
                                         : (work.sharded ? k.launch_move_sharded : k.launch_move);
    const double skew = (work.sharded ? k.skew_core_sharded : k.skew_core) * work.cores, trace = work.traced ? k.skew_trace : 0;
    const double launch = base + skew + trace;
    const Ticks end = longest + ticks(launch + work.extra_cycles);
    out.cycles = whole(end);
    if (out.cycles <= 0) throw std::logic_error("a device program is priced at " + std::to_string(out.cycles) + " cycles");
    out.ns = static_cast<double>(out.cycles) / arch_.clock_ghz;
    out.dram_bytes = read_bytes + write_bytes;
    // Never above the physical peak, for any constants.
    const double floor_ns = std::max(
        out.dram_bytes / (arch_.dram_banks * k.dram_peak_bank),
        work.cores > 0 ? work.total_math_cycles / work.cores / arch_.clock_ghz : 0.0);
    const bool at_floor = out.ns < floor_ns;
    if (at_floor) {
        out.cycles = static_cast<std::int64_t>(std::ceil(floor_ns * arch_.clock_ghz));
        out.ns = static_cast<double>(out.cycles) / arch_.clock_ghz;
    }
    of(out.terms, Term::StartSkew) += skew + trace;
    of(out.terms, Term::Launch) += base + work.extra_cycles;
    double explained = 0;
    for (const double part : out.terms) explained += part;
    // The remainder of rounding to whole cycles gets no separate kind.
    of(out.terms, at_floor ? Term::Floor : Term::Launch) += static_cast<double>(out.cycles) - explained;
    for (std::size_t u = 0; u < busy.size(); ++u) out.busy[u] = std::min(out.cycles, static_cast<std::int64_t>(std::llround(busy[u])));
    out.dram_cycles = std::min(out.cycles, static_cast<std::int64_t>(std::llround(shared.dram)));
    out.noc_cycles = std::min(out.cycles, static_cast<std::int64_t>(std::llround(shared.link)));
    const double cycles = static_cast<double>(out.cycles);
    out.fpu_utilisation = work.cores > 0 ? work.total_math_cycles / (work.cores * cycles) : 0;
    out.dram_utilisation = out.dram_bytes / (arch_.dram_banks * k.dram_peak_bank * out.ns);
    out.noc_utilisation = static_cast<double>(out.noc_cycles) / cycles;

    out.bound = bound_of(busy, out);
    return out;
}

Stats run(const Arch& arch, const Workload& work) { return Engine(arch).run(work); }

}  // namespace ttnn_shim::sim
