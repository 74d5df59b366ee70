// Enumerations of the compute engine.
#pragma once

#include <cstdint>

namespace tt {

enum class ARCH { Invalid = 0, GRAYSKULL = 1, WORMHOLE_B0 = 2, BLACKHOLE = 3, QUASAR = 4 };

namespace tt_metal {

enum class MathFidelity : uint8_t { LoFi = 0, HiFi2 = 2, HiFi3 = 3, HiFi4 = 4, Invalid = 0xff };

}  // namespace tt_metal
}  // namespace tt

using MathFidelity = tt::tt_metal::MathFidelity;
