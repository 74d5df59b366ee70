// How the chips of a mesh are connected.
#pragma once

#include <cstdint>

namespace tt::tt_fabric {
enum class Topology : uint32_t { NeighborExchange = 0, Linear = 1, Ring = 2, Mesh = 3, Torus = 4 };
}  // namespace tt::tt_fabric

namespace ttnn::ccl {
using tt::tt_fabric::Topology;
}  // namespace ttnn::ccl
