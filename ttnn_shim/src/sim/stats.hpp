// What the engine reports about one device program.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

namespace ttnn_shim::sim {

enum class Bound : std::uint8_t { Latency, Compute, Reader, Writer, Dram, Noc };
const char* to_string(Bound bound);

/// Parts of a program's duration, along its longest chain of waiting: what it would get shorter by, were this part alone faster.
enum class Term : std::uint8_t {
    Launch,      ///< dispatch and set-up, before and outside the items
    StartSkew,   ///< cores start one after the other
    DramRead,    ///< the banks of DRAM bound the phase: bytes read
    DramWrite,   ///< the same, bytes written
    NocLinks,    ///< the most loaded NoC link bounds the phase
    Read,        ///< the reader kernel: its requests, their latency and a core's own rate
    Multicast,   ///< the sender kernel: blocks to other cores, with their semaphores
    Math,        ///< the compute kernel: unpack and the matrix or vector engine
    Pack,        ///< the compute kernel: packing, where it takes longer than the math beside it
    Write,       ///< the writer kernel
    Fill,        ///< first items until every stage has work
    Coupling,    ///< stages disturb one another (L1 ports, semaphores)
    Contention,  ///< kernels, DRAM and NoC disturb one another
    Fused,       ///< bias and activation behind each block of a product: nothing runs beside them
    Waits,       ///< blocks whose only buffer is in use: they come when the block before them is done
    Combine,     ///< partial results of several cores are brought together
    Untilize,    ///< tiles are made rows in a step of its own
    Drain,       ///< other serial cycles behind the items: last pages, barriers, synchronisation
    Imbalance,   ///< the busiest core has more items than the mean
    Floor        ///< never faster than the bytes at the peak of DRAM, or than the ideal matrix engine
};
inline constexpr std::size_t TERMS = static_cast<std::size_t>(Term::Floor) + 1;
const char* to_string(Term term);

struct Stats {
    std::int64_t cycles = 0;             ///< kernel duration: first core's start to last core's end
    double ns = 0;                       ///< the same at the arch's clock
    std::array<std::int64_t, 4> busy{};  ///< busy cycles of the busiest core by Unit
    std::int64_t dram_cycles = 0;        ///< cycles that the DRAM banks need for the program's bytes
    std::int64_t noc_cycles = 0;         ///< cycles of the most loaded NoC link
    std::array<double, TERMS> terms{};   ///< cycles by Term; their sum is `cycles`
    double dram_bytes = 0;
    double fpu_utilisation = 0;   ///< ideal FPU cycles of all cores / (cores * cycles)
    double dram_utilisation = 0;  ///< bytes / (peak DRAM rate * time)
    double noc_utilisation = 0;
    Bound bound = Bound::Latency;
};

}  // namespace ttnn_shim::sim
