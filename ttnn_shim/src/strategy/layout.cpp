#include "strategy/common.hpp"

namespace ttnn_shim::strategy {
const std::vector<PlanRow> kLayoutPlans = {};
}  // namespace ttnn_shim::strategy
