// How the published GEMM benchmark measures. Firmware follows the power, averaged over the calls of a batch, with a clock that itself
// settles: a response of second order, whose mean counts.
#include <cmath>

#include "strategy/common.hpp"

namespace ttnn_shim::strategy {

GemmTimes gemm_times(const Arch& arch, const DeviceProgram& program, const sim::Stats& stats) {
    const Constants& k = arch.k;
    const GemmProtocol& gemm = program.gemm;
    double window = static_cast<double>(stats.cycles);
    if (gemm.power_cycles > 0) {
        double cycles = static_cast<double>(sim::Engine(arch).pipeline(program.work.classes[0].phases[0])) / sim::kTicksPerCycle;
        for (const double part : gemm.window_cycles) cycles += part;
        window = static_cast<double>(std::llround(cycles));
    }
    const double math_ns = window / arch.clock_ghz;
    const double power = program.work.cores > 0 ? std::min(1.0, gemm.power_cycles / std::max(1.0, window)) : 0.0;
    const double s = std::max(1e-6, math_ns / (k.throttle_tau * 1000.0));
    const double settled = s < 1e-3 ? s * s / 3 : 1 - 2 * (1 - std::exp(-s)) / s + (1 - std::exp(-2 * s)) / (2 * s);
    const double throttle = 1 + k.throttle * power * settled;
    return {math_ns, math_ns * throttle + gemm.tail_cycles / arch.clock_ghz + k.launch_gap};
}

}  // namespace ttnn_shim::strategy
