#include "sim/arch.hpp"

#include <charconv>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "sim/arch_tables.hpp"

namespace ttnn_shim::sim {
namespace {

struct Member {
    const char* name;
    double Constants::*field;
};
constexpr Member kMembers[] = {
#define X(name) {#name, &Constants::name},
#include "sim/constants.def"
#undef X
};

/// Takes ":7x10" off "n150:7x10" (worker columns x rows) and returns it; {0, 0} where there is none or it makes no sense.
std::pair<int, int> take_grid(std::string_view& card) {
    const std::size_t colon = card.find(':');
    if (colon == std::string_view::npos) return {0, 0};
    const std::string_view text = card.substr(colon + 1);
    std::pair<int, int> grid{0, 0};
    const auto [cross, bad] = std::from_chars(text.data(), text.data() + text.size(), grid.first);
    if (bad != std::errc() || cross == text.data() + text.size() || *cross != 'x') return {0, 0};
    const auto [end, also_bad] = std::from_chars(cross + 1, text.data() + text.size(), grid.second);
    if (also_bad != std::errc() || end != text.data() + text.size()) return {0, 0};
    card = card.substr(0, colon);
    return grid;
}

}  // namespace

Arch make_arch(std::string_view card) {
    const std::string_view whole = card;
    const auto [grid_x, grid_y] = take_grid(card);
    if (card == "wormhole_b0" || card == "wormhole") card = "n150";
    if (card == "blackhole") card = "p150";
    for (const CardRow& row : card_table()) {
        if (card != row.card) continue;
        Arch a;
        a.card = row.card;
        a.family = row.wormhole ? Family::Wormhole : Family::Blackhole;
        a.grid_x = row.grid_x;
        a.grid_y = row.grid_y;
        a.noc_x = row.noc_x;
        a.noc_y = row.noc_y;
        a.dram_banks = row.dram_banks;
        a.l1_bytes = row.l1_bytes;
        a.l1_core_bytes = row.l1_core_bytes;
        a.l1_reserved_bytes = row.l1_reserved_bytes;
        a.dram_bank_bytes = row.dram_bank_bytes;
        a.l1_align = row.l1_align;
        a.dram_align = row.dram_align;
        a.clock_ghz = row.clock_ghz;
        // Logical columns and rows skip the DRAM/ethernet columns and rows of the physical torus.
        if (row.wormhole) {
            for (int x = 1; x <= 9; ++x)
                if (x != 5) a.phys_x.push_back(x);
            for (int y = 1; y <= 11; ++y)
                if (y != 6) a.phys_y.push_back(y);
        } else {
            for (int x = 1; x <= 16; ++x)
                if (x < 8 || x > 9) a.phys_x.push_back(x);
            for (int y = 2; y <= 11; ++y) a.phys_y.push_back(y);
        }
        if (grid_x != 0 || grid_y != 0) {
            if (grid_x < 1 || grid_y < 1 || grid_x > static_cast<int>(a.phys_x.size()) || grid_y > static_cast<int>(a.phys_y.size()))
                throw std::invalid_argument(
                    "card '" + std::string(whole) + "': the chip has " + std::to_string(a.phys_x.size()) + " x " +
                    std::to_string(a.phys_y.size()) + " cores");
            a.grid_x = grid_x;
            a.grid_y = grid_y;
        }
        for (const ConstantRow& c : constant_table()) set_constant(a.k, c.name, row.wormhole ? c.wormhole : c.blackhole);
        return a;
    }
    std::string known;
    for (const std::string& name : card_names()) known += (known.empty() ? "" : ", ") + name;
    throw std::invalid_argument("unknown card '" + std::string(whole) + "'; known: " + known + ", wormhole_b0, blackhole");
}

std::vector<std::string> card_names() {
    std::vector<std::string> names;
    for (const CardRow& row : card_table()) names.emplace_back(row.card);
    return names;
}

bool set_constant(Constants& constants, std::string_view name, double value) {
    for (const Member& m : kMembers)
        if (name == m.name) {
            constants.*m.field = value;
            return true;
        }
    return false;
}

bool get_constant(const Constants& constants, std::string_view name, double& value) {
    for (const Member& m : kMembers)
        if (name == m.name) {
            value = constants.*m.field;
            return true;
        }
    return false;
}

std::vector<std::string> constant_names() {
    std::vector<std::string> names;
    for (const Member& m : kMembers) names.emplace_back(m.name);
    return names;
}

}  // namespace ttnn_shim::sim
