// A line of JSON for each device of a plain C++ program: {"device_ns", "ops", "events"}, added to the file of TTNN_SHIM_PLAIN_EVENTS.
#include "ops/plain_run.hpp"

#include <fstream>
#include <iomanip>

#include "abi/reports.hpp"

namespace ttnn_shim {
namespace {

void append_log(const EventLog& log) {
    std::ofstream file(plain_events_file(), std::ios::app);
    file << "{\"device_ns\": " << std::setprecision(17) << log.now_ns() << ", \"ops\": " << log.count()
         << ", \"events\": " << events_json(log, 0, 0) << "}\n";
}

[[maybe_unused]] const bool set = (plain_log_taker() = append_log) != nullptr;

}  // namespace
}  // namespace ttnn_shim
