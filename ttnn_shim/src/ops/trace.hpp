// Traces and the program cache of a device: what launch() keeps of its programs.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/device.hpp"

namespace ttnn_shim {

/// From now on launches are priced and checked, but add to the trace instead of the clock. Throws when a program is not in the program
/// cache (launch), and when a capture is under way (here).
void begin_trace(Device& device);
/// Ends the capture; returns the number by which its programs are replayed. Throws when none is under way.
uint64_t end_trace(Device& device);
/// Bytes of the trace's commands (estimated).
uint64_t trace_bytes(Device& device, uint64_t trace);
/// Computes what the trace's programs make from what its inputs hold now; the clock runs through them; events carry `call_id`.
void replay_trace(Device& device, uint64_t trace, uint64_t call_id);
void release_trace(Device& device, uint64_t trace);

/// Distinct programs that ran since the cache was cleared, as long as it is enabled.
size_t cached_programs(Device& device);
void clear_program_cache(Device& device);
void enable_program_cache(Device& device, bool enabled);
/// Whether a program that is not in the cache may be launched.
void allow_cache_misses(Device& device, bool allowed);

}  // namespace ttnn_shim
