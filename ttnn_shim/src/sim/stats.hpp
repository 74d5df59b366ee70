// What the engine reports about one device program.
#pragma once
#include <array>
#include <cstdint>

namespace ttnn_shim::sim {

enum class Bound : std::uint8_t { Latency, Compute, Reader, Writer, Dram, Noc };
const char* to_string(Bound bound);

struct Stats {
    std::int64_t cycles = 0;              ///< kernel duration: first core's start to last core's end
    double ns = 0;                        ///< the same at the arch's clock
    std::int64_t math_window_cycles = 0;  ///< duration of the math thread only (no output tail, no launch); GEMM tables measure this
    double wall_ns = 0;                   ///< traced wall time per call: kernel, launch gap, power throttling
    std::array<std::int64_t, 4> busy{};   ///< busy cycles of the busiest core by Unit
    std::int64_t dram_cycles = 0;         ///< cycles that the DRAM banks need for the program's bytes
    std::int64_t noc_cycles = 0;          ///< cycles of the most loaded NoC link
    double dram_bytes = 0;
    double fpu_utilisation = 0;   ///< ideal FPU cycles of all cores / (cores * cycles)
    double dram_utilisation = 0;  ///< bytes / (peak DRAM rate * time)
    double noc_utilisation = 0;
    Bound bound = Bound::Latency;
};

}  // namespace ttnn_shim::sim
