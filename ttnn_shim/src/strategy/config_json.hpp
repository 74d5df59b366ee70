// JSON text -> OpConfig (the form of sim_abi.h). Throws std::invalid_argument naming what is wrong and where.
#pragma once
#include <string_view>

#include "strategy/op_config.hpp"

namespace ttnn_shim::strategy {
OpConfig parse_op_config(std::string_view json);
}
