#include "strategy/common.hpp"

namespace ttnn_shim::strategy {
const std::vector<PlanRow> kNormPlans = {};
}  // namespace ttnn_shim::strategy
