// Mutable state of one pipeline while the engine runs it: when each stage finished its recent items.
#pragma once
#include <array>
#include <cstdint>

namespace ttnn_shim::sim {

/// Engine time: 1/256 cycle, so that integer arithmetic loses nothing at tile granularity.
using Ticks = std::int64_t;
inline constexpr Ticks kTicksPerCycle = 256;

struct State {
    static constexpr int kMaxStages = 4;
    static constexpr int kHistory = 16;                          ///< deepest buffer that is told apart
    std::array<std::array<Ticks, kHistory>, kMaxStages> done{};  ///< ring: end of item i of stage s
    std::array<Ticks, kMaxStages> last{};
};

}  // namespace ttnn_shim::sim
