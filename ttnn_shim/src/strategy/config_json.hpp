// JSON text <-> OpConfig (the form of sim_abi.h). Reading throws std::invalid_argument naming what is wrong and where.
#pragma once
#include <string>
#include <string_view>

#include "strategy/op_config.hpp"

namespace ttnn_shim::strategy {
OpConfig parse_op_config(std::string_view json);
std::string op_config_json(const OpConfig& config);
}  // namespace ttnn_shim::strategy
