#include "strategy/common.hpp"

namespace ttnn_shim::strategy {
const std::vector<PlanRow> kShardPlans = {};
}  // namespace ttnn_shim::strategy
