// Machines of several chips: rows of ttnn_shim/arch/systems.csv.
#pragma once
#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace ttnn_shim::sim {

using MeshExtents = std::array<std::uint32_t, 2>;  ///< rows, columns

struct System {
    std::string_view name;             ///< "t3000"
    std::string_view chip;             ///< the card of each chip, as make_arch takes it: "n300:8x8"
    std::uint32_t board_chips;         ///< chips behind one PCIe link: a fabric needs all of them
    std::uint32_t links;               ///< Ethernet links between neighbours that collectives use
    std::vector<MeshExtents> meshes;   ///< of all of its chips; the first is the system's own
    std::vector<std::uint32_t> rings;  ///< lengths of an axis whose ends are connected
};

const std::vector<System>& systems();
/// Null when there is none of this name.
const System* find_system(std::string_view name);

}  // namespace ttnn_shim::sim
