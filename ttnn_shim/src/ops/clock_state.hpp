// The clock of a device: prices of programs, log, program cache, traces. Under clock_mutex().
#pragma once

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "codec/record.hpp"
#include "ops/launch.hpp"
#include "ops/trace_values.hpp"
#include "sim/engine.hpp"

namespace ttnn_shim {

/// What the strategy and the engine say about one configuration: computed once, then looked up.
struct Priced {
    std::string factory;
    int cores = 0;
    int grid_x = 0;
    int grid_y = 0;
    uint64_t cb_bytes = 0;
    bool modelled = false;
    int64_t block_k = 0;
    sim::Stats stats;
    std::string attributes;
    std::string fidelity;
    bool cached = false;  ///< in the program cache
};

/// A program of a trace: what its replay adds to clock and log.
struct TracedProgram {
    Event event;
    size_t op = 0;  ///< index of the operation
    std::string_view op_name;
};
using TracedPrograms = std::vector<TracedProgram>;

/// Lets a key be looked up without a string of its own.
struct KeyHash {
    using is_transparent = void;
    size_t operator()(std::string_view key) const { return std::hash<std::string_view>()(key); }
};

/// The clock of one device.
struct ClockState final : DeviceState {
    explicit ClockState(const MachineMemory& machine);
    ClockState(const ClockState&) = delete;
    ClockState& operator=(const ClockState&) = delete;
    ~ClockState() override;
    sim::Arch arch;
    sim::Engine engine;
    std::unordered_map<std::string, Priced, KeyHash, std::equal_to<>> memo;
    EventLog log;
    bool keeps_configs = false;
    std::vector<Record> configs;  ///< of the recorded programs (strategy/config_record.hpp)
    /// Kernel ns by operation since the log was cleared: [index of the operation][modelled]. Names: of the last program of each.
    std::array<std::array<double, 2>, strategy::Operations::COUNT> op_ns{};
    std::array<std::string_view, strategy::Operations::COUNT> op_names{};

    size_t cached_programs = 0;
    /// Of cached programs that are priced by their room in L1 or by positions: keys without these -> the key of the latest.
    std::unordered_map<std::string, std::string> general_programs;
    bool caches_programs = true;
    bool misses_allowed = true;
    std::optional<TracedPrograms> capture;  ///< while a trace is captured
    std::map<uint64_t, TracedPrograms> traces;
    uint64_t last_trace = 0;
    std::unique_ptr<TracedValues> traced_values;  ///< once a trace was captured
};

/// Ops may run on several threads; their programs queue up on the one device as on the chip.
std::mutex& clock_mutex();
ClockState& clock_of(Device& device);
/// Adds a program to the clock; returns the device time at which it starts.
double advance(ClockState& clock, size_t op, std::string_view op_name, bool modelled, double gap_ns, const sim::Stats& stats);

}  // namespace ttnn_shim
