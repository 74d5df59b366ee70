// The machine: grid, memories, clocks and the calibrated constants, by card. Data from ttnn_shim/arch (the build makes arch_tables.cpp
// from it).
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ttnn_shim::sim {

enum class Family : std::uint8_t { Wormhole, Blackhole };

struct Coord {
    int x = 0, y = 0;
};

struct Constant {
    const char* name;
    const char* unit;
    const char* source;
    bool fitted;
};

/// Machine constants; every name is documented in ttnn_shim/arch/*.csv with unit and source.
struct Constants {
#define X(name) double name = 0;
#include "sim/constants.def"
#undef X
};

struct Arch {
    std::string card;  ///< n150, n300, p100, p150
    Family family = Family::Wormhole;
    int grid_x = 0, grid_y = 0;       ///< worker grid
    std::vector<int> phys_x, phys_y;  ///< physical NoC coordinates of logical columns / rows
    int noc_x = 0, noc_y = 0;         ///< size of the torus
    int dram_banks = 0;
    std::int64_t l1_bytes = 0;           ///< allocatable L1 per core (bank)
    std::int64_t l1_core_bytes = 0;      ///< physical L1 per core
    std::int64_t l1_reserved_bytes = 0;  ///< first allocatable address
    std::int64_t dram_bank_bytes = 0;    ///< allocatable DRAM per bank
    int l1_align = 16, dram_align = 32;
    double clock_ghz = 1.0;
    Constants k;

    int cores() const { return grid_x * grid_y; }
    double ns_to_cycles(double ns) const { return ns * clock_ghz; }
};

/// Known cards: n150, n300, p100, p150 (and "wormhole_b0" = n150, "blackhole" = p150). Throws std::invalid_argument naming the card and the
/// known ones.
Arch make_arch(std::string_view card);
std::vector<std::string> card_names();
/// Set a constant by name; false when unknown.
bool set_constant(Constants& constants, std::string_view name, double value);
bool get_constant(const Constants& constants, std::string_view name, double& value);
std::vector<std::string> constant_names();

}  // namespace ttnn_shim::sim
