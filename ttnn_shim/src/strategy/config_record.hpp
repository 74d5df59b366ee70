// Record <-> OpConfig (the form of sim_abi.h). Reading throws std::invalid_argument naming what is wrong.
#pragma once
#include "codec/record.hpp"
#include "strategy/op_config.hpp"

namespace ttnn_shim::strategy {
OpConfig read_config(const Record& record);
Record record_of(const OpConfig& config);
}  // namespace ttnn_shim::strategy
