// What `python -m ttnn_shim run ./program` learns of a C++ program that measures nothing itself.
#pragma once

#include <string>

#include "ops/launch.hpp"

namespace ttnn_shim {

/// The file of TTNN_SHIM_PLAIN_EVENTS, "" when there is none: then nothing is recorded.
const std::string& plain_events_file();

/// Takes the log of a device at its end. Set by the layer that writes reports; null before.
using LogTaker = void (*)(const EventLog& log);
LogTaker& plain_log_taker();

}  // namespace ttnn_shim
