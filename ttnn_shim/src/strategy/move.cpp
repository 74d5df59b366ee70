#include "strategy/common.hpp"

namespace ttnn_shim::strategy {
const std::vector<PlanRow> kMovePlans = {};
}  // namespace ttnn_shim::strategy
