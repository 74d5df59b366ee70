// Rows of ttnn_shim/arch/{cards,constants}.csv; the build makes arch_tables.cpp from them (ttnn_shim/arch/generate.py).
#pragma once
#include <cstdint>
#include <span>

namespace ttnn_shim::sim {

struct CardRow {
    const char* card;
    bool wormhole;
    int grid_x, grid_y, noc_x, noc_y, dram_banks;
    std::int64_t l1_bytes, l1_core_bytes, l1_reserved_bytes, dram_bank_bytes;
    int l1_align, dram_align;
    double clock_ghz;
};

struct ConstantRow {
    const char* name;
    double wormhole, blackhole;
};

std::span<const CardRow> card_table();
std::span<const ConstantRow> constant_table();

}  // namespace ttnn_shim::sim
