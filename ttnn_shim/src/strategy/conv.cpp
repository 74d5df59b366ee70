#include "strategy/common.hpp"

namespace ttnn_shim::strategy {
const std::vector<PlanRow> kConvPlans = {};
}  // namespace ttnn_shim::strategy
