// The machine: grid, memories, clocks and the calibrated constants, by card. Data from ttnn_shim/arch (the build makes the .def files from
// it).
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ttnn_shim::sim {

struct Coord {
    int x = 0, y = 0;
};

/// Calibrated constants of a machine; every name is documented in ttnn_shim/arch/constants.csv with unit and source.
struct Constants {
#define X(name, ...) double name = 0;
#include "sim/constants.def"
#undef X
};

/// What TT-NN itself takes for given on a machine; rows of ttnn_shim/arch/library_facts.csv.
struct LibraryFacts {
#define X(name, count, ...) std::array<double, count> name{};
#include "sim/library_facts.def"
#undef X
};

inline constexpr std::size_t SFPU_FUNCTIONS = 0
#define X(function, ...) +1
#include "sim/sfpu_cycles.def"
#undef X
    ;

struct Arch {
    std::string card;                 ///< n150, n300, p100, p150
    std::string family;               ///< wormhole_b0, blackhole: a column of the tables in ttnn_shim/arch
    int grid_x = 0, grid_y = 0;       ///< worker grid
    std::vector<int> phys_x, phys_y;  ///< physical NoC coordinates of logical columns / rows, which skip those of DRAM and Ethernet
    int noc_x = 0, noc_y = 0;         ///< size of the torus
    int dram_banks = 0;
    std::int64_t l1_bytes = 0;           ///< allocatable L1 per core (bank)
    std::int64_t l1_core_bytes = 0;      ///< physical L1 per core
    std::int64_t l1_reserved_bytes = 0;  ///< first address that programs of releases before 0.81.1 used
    std::int64_t dram_bank_bytes = 0;    ///< allocatable DRAM per bank
    std::int64_t dram_base = 0;          ///< first allocatable address of a bank
    int l1_align = 16, dram_align = 32;
    double clock_ghz = 1.0;
    Constants k;
    LibraryFacts library;
    std::array<double, SFPU_FUNCTIONS> sfpu{};  ///< rows of arch/sfpu.csv

    int cores() const { return grid_x * grid_y; }
    double ns_to_cycles(double ns) const { return ns * clock_ghz; }
};

/// The machine of a card, or of an arch ("wormhole_b0" = n150, "blackhole" = p150), with another worker grid where one follows
/// ("n150:7x10"). Throws std::invalid_argument that names the known cards, or the largest grid after a line break.
Arch make_arch(std::string_view card);
/// SFPU cycles per tile of a function beyond the copy and pack of any unary op; nothing where the table has no such row.
std::optional<double> sfpu_row(const Arch& arch, std::string_view function);
/// A constant of this machine by name ("sfpu.GELU": cycles of a function); null when unknown.
double* find_constant(Arch& arch, std::string_view name);
std::vector<std::string> constant_names();

}  // namespace ttnn_shim::sim
