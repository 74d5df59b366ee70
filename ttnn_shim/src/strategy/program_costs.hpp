// Costs that the equations of a single family use, per chip family: ttnn_shim/arch/programs.csv.
#pragma once
#include "sim/arch.hpp"

namespace ttnn_shim::strategy::costs {

struct PerChip {
    double wormhole, blackhole;
    double on(const sim::Arch& arch) const { return arch.family == sim::Family::Wormhole ? wormhole : blackhole; }
};

#define X(name, wormhole, blackhole) inline constexpr PerChip name{wormhole, blackhole};
#include "strategy/program_costs.def"
#undef X

}  // namespace ttnn_shim::strategy::costs
