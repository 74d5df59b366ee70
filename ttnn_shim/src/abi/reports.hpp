// JSON for the language door: the event log, memory blocks, facts about the build.
#pragma once

#include <cstdint>
#include <string>

#include "ops/launch.hpp"
#include "ops/query.hpp"
#include "ops/op_times.hpp"

namespace ttnn_shim {

/// Events [from, to) as a JSON list; to 0 means all.
std::string events_json(const EventLog& log, uint64_t from, uint64_t to);
/// Records of plain data as a JSON list of objects.
std::string records_json(const std::vector<Record>& records);
/// As documented at shim_query.
std::string answer_json(const QueryAnswer& answer);
/// [[operation, modelled, kernel ns], ...]
std::string op_times_json(const std::vector<OpTime>& times);
std::string memory_blocks_json(const MemoryView& view);
std::string memory_buffers_json(const std::vector<LiveBuffer>& buffers);
std::string build_info_json();

}  // namespace ttnn_shim
