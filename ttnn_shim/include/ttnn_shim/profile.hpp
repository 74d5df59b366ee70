// The simulated clock of a device, for programs that report it. Absent on real TT-NN: include it behind __has_include.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "tt-metalium/mesh_device.hpp"

namespace ttnn_shim {

/// Of all headers: raised when a member of a type or a signature changes, which programs that are compiled already do not notice.
inline constexpr int ABI_VERSION = 2;
/// Throws where a program was compiled with headers of another version than this library's.
void check_abi(int compiled_with = ABI_VERSION);

/// What the device did since `clock_reset`.
struct ClockReading {
    double device_ns = 0;  ///< device programs and the gaps between them
    int64_t cycles = 0;    ///< kernel cycles of all programs
    uint64_t ops = 0;      ///< device programs
    int64_t host_ns = 0;   ///< host time that the clock itself took
    std::string card;      ///< "n150", "p150" ...
};

/// Starts a new measurement: drops all recorded device programs.
void clock_reset(tt::tt_metal::distributed::MeshDevice& device);
ClockReading clock_read(tt::tt_metal::distributed::MeshDevice& device);
/// Whether device programs are recorded one by one; off when a device is opened.
void record_events(tt::tt_metal::distributed::MeshDevice& device, bool on);
/// The recorded device programs as JSON (the format of shim_events_json).
std::string recorded_events_json(tt::tt_metal::distributed::MeshDevice& device);

/// Wall time in ns of what `call` does on a card with a host, modelled: replayed from a trace (the device alone), and launched program by
/// program. The clock starts anew.
struct WallTimes {
    double traced_ns = 0;
    double eager_ns = 0;
};
WallTimes wall_times(tt::tt_metal::distributed::MeshDevice& device, const std::function<void()>& call);

}  // namespace ttnn_shim
