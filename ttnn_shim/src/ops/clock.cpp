// The clock of a device: its log, its program cache, its traces.
#include "ops/clock_state.hpp"

#include <cstdlib>
#include <utility>

#include "ops/op_times.hpp"
#include "ops/plain_run.hpp"
#include "ops/trace.hpp"

namespace ttnn_shim {

ClockState::ClockState(const MachineMemory& machine) : arch(sim::make_arch(machine.card)), engine(arch), log(arch.k.host_launch) {
    log.set_enabled(!plain_events_file().empty());
}

ClockState::~ClockState() {
    if (!plain_events_file().empty() && plain_log_taker() != nullptr && log.count() > 0) plain_log_taker()(log);
}

std::mutex& clock_mutex() {
    static auto* mutex = new std::mutex;
    return *mutex;
}

ClockState& clock_of(Device& device) {
    if (!device.state) {
        device.state = std::make_unique<ClockState>(device.machine());
    }
    return static_cast<ClockState&>(*device.state);
}

double advance(ClockState& clock, size_t op, std::string_view op_name, bool modelled, double gap_ns, const sim::Stats& stats) {
    if (clock.log.count() == 0) clock.op_ns = {};
    clock.op_ns[op][modelled ? 1 : 0] += stats.ns;
    clock.op_names[op] = op_name;
    return clock.log.advance(gap_ns, stats.ns, stats.cycles);
}

void EventLog::push(Event event) {
    event.index = count_ - 1;
    if (enabled_ && events_.size() < MOST_EVENTS) {
        events_.push_back(std::move(event));
    }
}

double EventLog::advance(double gap_ns, double ns, int64_t cycles) {
    const double start = now_ns_ + (count_ == 0 ? 0 : gap_ns);
    now_ns_ = start + ns;
    launched_ns_ += host_launch_ns_;
    eager_ns_ = std::max(launched_ns_, eager_ns_ + gap_ns) + ns;
    kernel_ns_ += ns;
    cycles_ += cycles;
    ++count_;
    return start;
}

void EventLog::clear() {
    events_.clear();
    now_ns_ = launched_ns_ = eager_ns_ = 0;
    kernel_ns_ = 0;
    cycles_ = 0;
    count_ = 0;
    host_ns_ = 0;
}

std::vector<OpTime> op_times(Device& device) {
    const std::lock_guard lock(clock_mutex());
    const ClockState& clock = clock_of(device);
    std::vector<OpTime> times;
    if (clock.log.count() == 0) return times;
    for (size_t op = 0; op < clock.op_ns.size(); ++op)
        for (const bool modelled : {true, false})
            if (const double ns = clock.op_ns[op][modelled ? 1 : 0]; ns > 0)
                times.push_back({std::string(clock.op_names[op]), modelled, ns});
    return times;
}

void keep_configs(Device& device, bool keep) {
    const std::lock_guard lock(clock_mutex());
    ClockState& clock = clock_of(device);
    clock.keeps_configs = keep;
    clock.configs.clear();
}

std::vector<Record> take_configs(Device& device) {
    const std::lock_guard lock(clock_mutex());
    return std::exchange(clock_of(device).configs, {});
}

void begin_trace(Device& device) {
    const std::lock_guard lock(clock_mutex());
    ClockState& clock = clock_of(device);
    SHIM_CHECK(!clock.capture, "a trace is being captured already");
    clock.capture.emplace();
    if (!clock.traced_values) clock.traced_values = std::make_unique<TracedValues>(device);
    clock.traced_values->begin();
}

uint64_t end_trace(Device& device) {
    const std::lock_guard lock(clock_mutex());
    ClockState& clock = clock_of(device);
    SHIM_CHECK(clock.capture, "no trace is being captured");
    clock.traces.emplace(++clock.last_trace, std::move(*clock.capture));
    clock.capture.reset();
    clock.traced_values->end(clock.last_trace);
    return clock.last_trace;
}

namespace {
const TracedPrograms& traced(const ClockState& clock, uint64_t trace) {
    const auto found = clock.traces.find(trace);
    SHIM_CHECK(found != clock.traces.end(), "there is no trace {}", trace);
    return found->second;
}
}  // namespace

uint64_t trace_bytes(Device& device, uint64_t trace) {
    // Of a captured program's commands and of each core's arguments: an estimate, the real size is that of its dispatch commands.
    constexpr uint64_t PROGRAM_BYTES = 1024, CORE_BYTES = 96;
    const std::lock_guard lock(clock_mutex());
    uint64_t bytes = 0;
    for (const TracedProgram& program : traced(clock_of(device), trace))
        bytes += PROGRAM_BYTES + CORE_BYTES * static_cast<uint64_t>(program.event.cores);
    return bytes;
}

void replay_trace(Device& device, uint64_t trace, uint64_t call_id) {
    if (TracedValues* values = traced_values(device)) values->replay(trace);  // kernels lock nothing of the clock
    const std::lock_guard lock(clock_mutex());
    ClockState& clock = clock_of(device);
    for (const TracedProgram& program : traced(clock, trace)) {
        const Event& recorded = program.event;
        const double start_ns = advance(clock, program.op, program.op_name, recorded.modelled, recorded.gap_ns, recorded.stats);
        if (!clock.log.enabled()) continue;
        Event event = recorded;
        event.start_ns = start_ns;
        event.call_id = call_id != 0 ? call_id : recorded.call_id;
        clock.log.push(std::move(event));
    }
}

void release_trace(Device& device, uint64_t trace) {
    if (TracedValues* values = traced_values(device)) values->release(trace);
    const std::lock_guard lock(clock_mutex());
    ClockState& clock = clock_of(device);
    (void)traced(clock, trace);
    clock.traces.erase(trace);
}

size_t cached_programs(Device& device) {
    const std::lock_guard lock(clock_mutex());
    return clock_of(device).cached_programs;
}

void clear_program_cache(Device& device) {
    const std::lock_guard lock(clock_mutex());
    ClockState& clock = clock_of(device);
    for (auto& [key, priced] : clock.memo) priced.cached = false;
    clock.general_programs.clear();
    clock.cached_programs = 0;
}

void enable_program_cache(Device& device, bool enabled) {
    const std::lock_guard lock(clock_mutex());
    clock_of(device).caches_programs = enabled;
}

void allow_cache_misses(Device& device, bool allowed) {
    const std::lock_guard lock(clock_mutex());
    clock_of(device).misses_allowed = allowed;
}

const std::string& plain_events_file() {
    static const auto* file = new std::string([] {
        const char* given = std::getenv("TTNN_SHIM_PLAIN_EVENTS");
        return given != nullptr ? given : "";
    }());
    return *file;
}

LogTaker& plain_log_taker() {
    static LogTaker taker = nullptr;
    return taker;
}

LockedEventLog::LockedEventLog(Device& device) : lock_(clock_mutex()), log_(&clock_of(device).log) {}

}  // namespace ttnn_shim
