// The C++ door to the clock and the event log.
#include "ttnn_shim/profile.hpp"

#include <algorithm>

#include "abi/reports.hpp"
#include "ops/launch.hpp"
#include "tensor/device.hpp"

namespace ttnn_shim {

void clock_reset(tt::tt_metal::distributed::MeshDevice& device) { LockedEventLog(device.shim())->clear(); }

ClockReading clock_read(tt::tt_metal::distributed::MeshDevice& device) {
    const LockedEventLog log(device.shim());
    return {log->now_ns(), log->cycles(), log->count(), log->host_ns(), device.shim().machine().card};
}

void record_events(tt::tt_metal::distributed::MeshDevice& device, bool on) { LockedEventLog(device.shim())->set_enabled(on); }

std::string recorded_events_json(tt::tt_metal::distributed::MeshDevice& device) {
    return events_json(*LockedEventLog(device.shim()), 0, 0);
}

WallTimes wall_times(tt::tt_metal::distributed::MeshDevice& device, const std::function<void()>& call) {
    // As python/ttnn_shim/host_time.py, which says where the numbers come from: a program starts when both its launch is done and the
    // program before it has ended.
    const double host_ns = device.arch() == tt::ARCH::BLACKHOLE ? 17'000.0 : 31'000.0;
    bool enabled = false;
    {
        const LockedEventLog log(device.shim());
        enabled = log->enabled();
        log->clear();
        log->set_enabled(true);
    }
    call();
    const LockedEventLog log(device.shim());
    WallTimes times{.traced_ns = log->now_ns(), .eager_ns = 0};
    double launched = 0;
    for (const Event& event : log->events()) {
        launched += host_ns;
        times.eager_ns = std::max(launched, times.eager_ns + event.gap_ns) + event.ns;
    }
    log->clear();
    log->set_enabled(enabled);
    return times;
}

}  // namespace ttnn_shim
