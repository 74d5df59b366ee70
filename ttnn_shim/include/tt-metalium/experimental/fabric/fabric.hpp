// The fabric between the chips of a mesh: set before the mesh is opened, off again when it is closed.
#pragma once

#include <cstdint>

namespace tt::tt_fabric {

enum class FabricConfig : uint32_t {
    DISABLED = 0,
    FABRIC_1D_NEIGHBOR_EXCHANGE = 1,
    FABRIC_1D = 2,
    FABRIC_1D_RING = 3,
    FABRIC_2D = 4,
    FABRIC_2D_TORUS_X = 5,
    FABRIC_2D_TORUS_Y = 6,
    FABRIC_2D_TORUS_XY = 7,
    CUSTOM = 8
};
enum class FabricReliabilityMode : uint32_t { STRICT_SYSTEM_HEALTH_SETUP_MODE = 0, RELAXED_SYSTEM_HEALTH_SETUP_MODE = 1 };

void SetFabricConfig(
    FabricConfig fabric_config, FabricReliabilityMode reliability_mode = FabricReliabilityMode::STRICT_SYSTEM_HEALTH_SETUP_MODE);
FabricConfig GetFabricConfig();

}  // namespace tt::tt_fabric
