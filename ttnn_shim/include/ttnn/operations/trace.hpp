// Traces: programs that are captured once and replayed. A capture computes nothing; a replay computes what the captured programs make from
// what their inputs hold by then, into the captured tensors. The host neither writes nor reads while a trace is captured.
#pragma once

#include <cstdint>
#include <optional>

#include "ttnn/types.hpp"

namespace tt::tt_metal::distributed {
struct MeshTraceIdTag;
using MeshTraceId = ttsl::StrongType<uint32_t, MeshTraceIdTag>;
}  // namespace tt::tt_metal::distributed

namespace ttnn {

using tt::tt_metal::distributed::MeshTraceId;

namespace operations::trace {

MeshTraceId begin_trace_capture(MeshDevice* device, std::optional<QueueId> cq_id = std::nullopt);
void end_trace_capture(MeshDevice* device, MeshTraceId trace_id, std::optional<QueueId> cq_id = std::nullopt);
void execute_trace(MeshDevice* device, MeshTraceId trace_id, std::optional<QueueId> cq_id = std::nullopt, bool blocking = true);
void release_trace(MeshDevice* device, MeshTraceId trace_id);

}  // namespace operations::trace
}  // namespace ttnn
