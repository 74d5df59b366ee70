// What the memory system of a card looks like to the allocator.
#pragma once

#include <cstdint>
#include <string>

#include "tensor/dtype.hpp"
#include "tt-metalium/base_types.hpp"

namespace ttnn_shim {

struct MachineMemory {
    std::string card;  ///< n150, n300, p100 or p150
    tt::ARCH arch = tt::ARCH::WORMHOLE_B0;
    CoreCoord grid;  ///< worker cores
    uint32_t dram_banks = 0;
    uint64_t dram_bank_bytes = 0;  ///< allocatable
    uint64_t dram_base = 0;        ///< first allocatable address
    uint64_t l1_base = 0;          ///< first allocatable address, circular buffers start here
    uint64_t l1_end = 0;           ///< one past the last address
    uint32_t l1_alignment = 16;
    uint32_t dram_alignment = 32;

    uint32_t l1_banks() const { return static_cast<uint32_t>(grid.x * grid.y); }
};

/// `name`: a card, or an arch (wormhole_b0 = n150, blackhole = p150). Throws for an unknown one, naming those known.
MachineMemory machine_memory(const std::string& name);

}  // namespace ttnn_shim
