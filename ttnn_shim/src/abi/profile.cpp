// The C++ door to the clock and the event log.
#include "ttnn_shim/profile.hpp"

#include "abi/reports.hpp"
#include "ops/launch.hpp"
#include "tensor/device.hpp"

namespace ttnn_shim {

void check_abi(int compiled_with) {
    if (compiled_with != ABI_VERSION)
        fail(
            ErrorCode::InvalidArgument,
            text(
                "the program was compiled for version {} of TT-NN's simulator library, the installed one is {}", compiled_with,
                ABI_VERSION),
            "delete the program's build folder and build it again");
}

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
    clock_reset(device);
    call();
    const LockedEventLog log(device.shim());
    const WallTimes times{.traced_ns = log->now_ns(), .eager_ns = log->eager_ns()};
    log->clear();
    return times;
}

}  // namespace ttnn_shim
