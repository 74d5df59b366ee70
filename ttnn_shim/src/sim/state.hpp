// Mutable state of one pipeline while the engine runs it: when each stage finished its recent items.
#pragma once
#include <array>
#include <cstdint>

#include "sim/workload.hpp"

namespace ttnn_shim::sim {

/// Engine time: 1/256 cycle, so that integer arithmetic loses nothing at tile granularity.
using Ticks = std::int64_t;
inline constexpr Ticks kTicksPerCycle = 256;

struct State {
    std::array<std::array<Ticks, MOST_DEPTH>, MOST_STAGES> done{};  ///< ring: end of item i of stage s
    std::array<Ticks, MOST_STAGES> last{};
};

}  // namespace ttnn_shim::sim
