#include "strategy/program_costs.hpp"

#include <array>
#include <map>

namespace ttnn_shim::strategy {
namespace {

constexpr std::string_view kSfpu = "sfpu.";

struct Member {
    std::string_view name;
    double Costs::*field;
};
constexpr Member kMembers[] = {
#define X(name, wormhole, blackhole) {#name, &Costs::name},
#include "strategy/program_costs.def"
#undef X
};

struct Tables {
    std::array<Costs, 2> costs;
    std::array<std::map<std::string, double, std::less<>>, 2> sfpu;
    Tables() {
#define X(name, wormhole, blackhole) \
    costs[0].name = wormhole;        \
    costs[1].name = blackhole;
#include "strategy/program_costs.def"
#undef X
#define X(function, wormhole, blackhole)  \
    sfpu[0].emplace(#function, wormhole); \
    sfpu[1].emplace(#function, blackhole);
#include "strategy/sfpu_cycles.def"
#undef X
    }
};

Tables& tables() {
    static auto* made = new Tables;  // never destroyed: programs may be priced until the process ends
    return *made;
}

std::size_t index_of(sim::Family family) { return family == sim::Family::Wormhole ? 0 : 1; }

}  // namespace

const Costs& costs(const sim::Arch& arch) { return tables().costs[index_of(arch.family)]; }

std::optional<double> sfpu_row(const sim::Arch& arch, std::string_view function) {
    const auto& table = tables().sfpu[index_of(arch.family)];
    const auto it = table.find(function);
    return it == table.end() ? std::nullopt : std::optional(it->second);
}

bool set_cost(sim::Family family, std::string_view name, double value) {
    if (name.starts_with(kSfpu)) {
        auto& table = tables().sfpu[index_of(family)];
        const auto it = table.find(name.substr(kSfpu.size()));
        if (it == table.end()) return false;
        it->second = value;
        return true;
    }
    for (const Member& m : kMembers)
        if (name == m.name) {
            tables().costs[index_of(family)].*m.field = value;
            return true;
        }
    return false;
}

bool get_cost(sim::Family family, std::string_view name, double& value) {
    if (name.starts_with(kSfpu)) {
        const auto& table = tables().sfpu[index_of(family)];
        const auto it = table.find(name.substr(kSfpu.size()));
        if (it != table.end()) value = it->second;
        return it != table.end();
    }
    for (const Member& m : kMembers)
        if (name == m.name) {
            value = tables().costs[index_of(family)].*m.field;
            return true;
        }
    return false;
}

std::vector<std::string> cost_names() {
    std::vector<std::string> names;
    for (const Member& m : kMembers) names.emplace_back(m.name);
    for (const auto& [function, cycles] : tables().sfpu[0]) names.push_back(std::string(kSfpu) + function);
    return names;
}

}  // namespace ttnn_shim::strategy
