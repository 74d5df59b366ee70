#include "sim/arch.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <stdexcept>
#include <string>

namespace ttnn_shim::sim {
namespace {

constexpr std::string_view FAMILIES[] = {
#include "sim/families.def"
};
using OfFamily = std::array<double, std::size(FAMILIES)>;

struct ConstantRow {
    std::string_view name;
    double Constants::*field;
    OfFamily of_family;
};
constexpr ConstantRow CONSTANTS[] = {
#define X(name, ...) {#name, &Constants::name, {__VA_ARGS__}},
#include "sim/constants.def"
#undef X
};

struct SfpuRow {
    std::string_view function;
    OfFamily of_family;
};
constexpr std::array<SfpuRow, SFPU_FUNCTIONS> SFPU{{
#define X(function, ...) {#function, {__VA_ARGS__}},
#include "sim/sfpu_cycles.def"
#undef X
}};
constexpr std::string_view SFPU_PREFIX = "sfpu.";

struct Card {
    std::vector<std::string_view> names;  ///< beside that of the card: architectures that mean it
    Arch arch;
};
const std::vector<Card>& cards() {
    static const auto* made = new std::vector<Card>{
#include "sim/cards.def"
    };
    return *made;
}

std::optional<std::size_t> sfpu_index(std::string_view function) {
    for (std::size_t i = 0; i < SFPU.size(); ++i)
        if (SFPU[i].function == function) return i;
    return std::nullopt;
}

/// The worker grid of "7x10" (columns x rows).
void set_grid(Arch& arch, std::string_view text) {
    const char* const end = text.data() + text.size();
    const auto [cross, bad] = std::from_chars(text.data(), end, arch.grid_x);
    const bool crossed = bad == std::errc() && cross != end && *cross == 'x';
    const auto [stop, also_bad] =
        crossed ? std::from_chars(cross + 1, end, arch.grid_y) : std::from_chars_result{end, std::errc::invalid_argument};
    const auto most_x = static_cast<int>(arch.phys_x.size()), most_y = static_cast<int>(arch.phys_y.size());
    if (also_bad != std::errc() || stop != end || arch.grid_x < 1 || arch.grid_y < 1 || arch.grid_x > most_x || arch.grid_y > most_y)
        throw std::invalid_argument(
            "'" + std::string(text) + "' is no worker grid of a " + arch.card + "\ncolumns x rows, at most " + std::to_string(most_x) +
            "x" + std::to_string(most_y));
}

}  // namespace

Arch make_arch(std::string_view card) {
    const std::size_t colon = card.find(':');
    const std::string_view base = card.substr(0, colon);
    std::string known;
    for (const auto& [names, row] : cards()) {
        known += row.card + ", ";
        if (base != row.card && std::find(names.begin(), names.end(), base) == names.end()) continue;
        Arch arch = row;
        if (colon != std::string_view::npos) set_grid(arch, card.substr(colon + 1));
        const auto family =
            static_cast<std::size_t>(std::find(std::begin(FAMILIES), std::end(FAMILIES), arch.family) - std::begin(FAMILIES));
        for (const ConstantRow& constant : CONSTANTS) arch.k.*constant.field = constant.of_family[family];
        for (std::size_t i = 0; i < SFPU.size(); ++i) arch.sfpu[i] = SFPU[i].of_family[family];
#define X(name, count, ...) arch.library.name = std::array<std::array<double, count>, std::size(FAMILIES)>{{__VA_ARGS__}}[family];
#include "sim/library_facts.def"
#undef X
        return arch;
    }
    throw std::invalid_argument("unknown card '" + std::string(card) + "'; known: " + known + "wormhole_b0, blackhole");
}

std::optional<double> sfpu_row(const Arch& arch, std::string_view function) {
    const std::optional<std::size_t> index = sfpu_index(function);
    return index ? std::optional(arch.sfpu[*index]) : std::nullopt;
}

double* find_constant(Arch& arch, std::string_view name) {
    if (name.starts_with(SFPU_PREFIX)) {
        const std::optional<std::size_t> index = sfpu_index(name.substr(SFPU_PREFIX.size()));
        return index ? &arch.sfpu[*index] : nullptr;
    }
    for (const ConstantRow& constant : CONSTANTS)
        if (name == constant.name) return &(arch.k.*constant.field);
    return nullptr;
}

std::vector<std::string> constant_names() {
    std::vector<std::string> names;
    for (const ConstantRow& constant : CONSTANTS) names.emplace_back(constant.name);
    for (const SfpuRow& row : SFPU) names.push_back(std::string(SFPU_PREFIX) + std::string(row.function));
    return names;
}

}  // namespace ttnn_shim::sim
