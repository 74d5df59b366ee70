#include "tensor/machine.hpp"

#include <stdexcept>

#include "sim/arch.hpp"

namespace ttnn_shim {

MachineMemory machine_memory(const std::string& name) {
    try {
        const sim::Arch arch = sim::make_arch(name);
        const size_t colon = name.find(':');
        return {
            .card = arch.card + (colon == std::string::npos ? "" : name.substr(colon)),
            .arch = arch.family == "blackhole" ? tt::ARCH::BLACKHOLE : tt::ARCH::WORMHOLE_B0,
            .grid = {static_cast<size_t>(arch.grid_x), static_cast<size_t>(arch.grid_y)},
            .dram_banks = static_cast<uint32_t>(arch.dram_banks),
            .dram_bank_bytes = static_cast<uint64_t>(arch.dram_bank_bytes),
            .dram_base = static_cast<uint64_t>(arch.dram_base),
            .l1_base = static_cast<uint64_t>(arch.l1_core_bytes - arch.l1_bytes),
            .l1_end = static_cast<uint64_t>(arch.l1_core_bytes),
            .l1_alignment = static_cast<uint32_t>(arch.l1_align),
            .dram_alignment = static_cast<uint32_t>(arch.dram_align)};
    } catch (const std::invalid_argument& error) {  // the second line is a hint
        const std::string message = error.what();
        const size_t end = message.find('\n');
        fail(ErrorCode::InvalidArgument, message.substr(0, end), end == std::string::npos ? "" : message.substr(end + 1));
    }
}

}  // namespace ttnn_shim
