#include "tensor/machine.hpp"

#include <array>

namespace ttnn_shim {

namespace {

using tt::ARCH;

// Allocatable sizes: reported by ttnn 0.81.1 on mock devices (n150, p150); base addresses: physical end minus those sizes.
const std::array<MachineMemory, 4> MACHINES{{
    {"n150", ARCH::WORMHOLE_B0, {8, 8}, 12, 1'072'693'184, 1'048'640, 105'824, 1'499'136, 16, 32},
    {"n300", ARCH::WORMHOLE_B0, {8, 7}, 12, 1'072'693'184, 1'048'640, 105'824, 1'499'136, 16, 32},
    {"p100", ARCH::BLACKHOLE, {11, 10}, 7, 4'277'141'376, 1'048'704, 111'744, 1'572'864, 16, 64},
    {"p150", ARCH::BLACKHOLE, {13, 10}, 8, 4'277'141'376, 1'048'704, 111'744, 1'572'864, 16, 64},
}};

}  // namespace

MachineMemory machine_memory(const std::string& name) {
    const std::string card = name == "wormhole_b0" || name == "wormhole" ? "n150" : name == "blackhole" ? "p150" : name;
    std::string known;
    for (const MachineMemory& machine : MACHINES) {
        if (machine.card == card) {
            return machine;
        }
        known += machine.card + ", ";
    }
    fail(ErrorCode::InvalidArgument, text("unknown card or arch '{}'", name), "known: " + known + "wormhole_b0 (n150), blackhole (p150)");
}

}  // namespace ttnn_shim
