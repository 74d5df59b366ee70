#include "strategy/common.hpp"

namespace ttnn_shim::strategy {
const std::vector<PlanRow> kTransformerPlans = {};
}  // namespace ttnn_shim::strategy
