#include "tensor/machine.hpp"

#include <array>
#include <charconv>

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

/// The machine with a worker grid "7x10". Wormhole has at most 8 x 10 workers, Blackhole 14 x 10.
MachineMemory with_grid(MachineMemory machine, const std::string& grid) {
    const int64_t most_x = machine.arch == ARCH::WORMHOLE_B0 ? 8 : 14;
    int64_t x = 0;
    int64_t y = 0;
    const char* const end = grid.data() + grid.size();
    const auto [cross, bad] = std::from_chars(grid.data(), end, x);
    const bool crossed = bad == std::errc() && cross != end && *cross == 'x';
    const auto [stop, also_bad] = crossed ? std::from_chars(cross + 1, end, y) : std::from_chars_result{end, std::errc::invalid_argument};
    if (also_bad != std::errc() || stop != end || x < 1 || y < 1 || x > most_x || y > 10) {
        fail(
            ErrorCode::InvalidArgument, text("'{}' is no worker grid of a {}", grid, machine.card),
            text("columns x rows, at most {}x10", most_x));
    }
    machine.grid = {static_cast<size_t>(x), static_cast<size_t>(y)};
    machine.card += ":" + grid;
    return machine;
}

}  // namespace

MachineMemory machine_memory(const std::string& name) {
    const size_t colon = name.find(':');
    const std::string base = name.substr(0, colon);
    const std::string card = base == "wormhole_b0" || base == "wormhole" ? "n150" : base == "blackhole" ? "p150" : base;
    std::string known;
    for (const MachineMemory& machine : MACHINES) {
        if (machine.card == card) {
            return colon == std::string::npos ? machine : with_grid(machine, name.substr(colon + 1));
        }
        known += machine.card + ", ";
    }
    fail(ErrorCode::InvalidArgument, text("unknown card or arch '{}'", name), "known: " + known + "wormhole_b0 (n150), blackhole (p150)");
}

}  // namespace ttnn_shim
