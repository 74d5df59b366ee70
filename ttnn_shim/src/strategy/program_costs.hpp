// Costs that the equations of a single family of programs use (arch/constants.csv, used_by = program) and SFPU programs (arch/sfpu.csv).
// They belong to the chip family: calibration sets them for every machine of it in this process.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/arch.hpp"

namespace ttnn_shim::strategy {

struct Costs {
#define X(name, wormhole, blackhole) double name = 0;
#include "strategy/program_costs.def"
#undef X
};

const Costs& costs(const sim::Arch& arch);
/// SFPU cycles per tile of a function beyond the copy and pack of any unary op; nothing where the table has no such row.
std::optional<double> sfpu_row(const sim::Arch& arch, std::string_view function);

/// Set a cost, or "sfpu.GELU", by name; false when unknown. Not while another thread prices programs of this family.
bool set_cost(sim::Family family, std::string_view name, double value);
bool get_cost(sim::Family family, std::string_view name, double& value);
std::vector<std::string> cost_names();

}  // namespace ttnn_shim::strategy
