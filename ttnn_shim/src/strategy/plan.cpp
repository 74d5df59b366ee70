// Op name -> family planner; a roofline of the bytes for ops without a model, reported as such.
#include <stdexcept>
#include <unordered_map>

#include "strategy/common.hpp"

namespace ttnn_shim::strategy {
namespace {

const std::unordered_map<std::string_view, PlanFn>& table() {
    static const std::unordered_map<std::string_view, PlanFn> map = [] {
        std::unordered_map<std::string_view, PlanFn> m;
        for (const auto* rows :
             {&kEltwisePlans, &kMatmulPlans, &kConvPlans, &kMovePlans, &kLayoutPlans, &kShardPlans, &kNormPlans, &kTransformerPlans,
              &kSelectPlans})
            for (const PlanRow& row : *rows) m.emplace(row.op, row.plan);
        return m;
    }();
    return map;
}

}  // namespace

DeviceProgram roofline(const Arch& arch, const OpConfig& config) {
    Phase phase;
    double l1 = 0;
    for (const TensorDesc& t : config.inputs) {
        add_dram(phase.shared, t, static_cast<double>(t.bytes()), false);
        l1 += static_cast<double>(t.bytes());
    }
    for (const TensorDesc& t : config.outputs) {
        add_dram(phase.shared, t, static_cast<double>(t.bytes()), true);
        l1 += static_cast<double>(t.bytes());
    }
    const int cores = arch.cores();
    phase.items = 1;
    phase.stages.push_back({Unit::Reader, l1 / cores / arch.k.local_copy_rate, 0, 2});
    DeviceProgram p = one_phase("unmodelled", arch, cores, std::move(phase), true, false);
    p.modelled = false;
    return p;
}

DeviceProgram plan(const sim::Arch& arch, const OpConfig& config) {
    if (config.outputs.empty()) throw std::invalid_argument("op '" + config.op + "': no output tensor");
    if (arch.cores() <= 0) throw std::invalid_argument("op '" + config.op + "': the arch has no worker cores");
    const auto it = table().find(config.op);
    if (it == table().end()) return roofline(arch, config);
    if (config.inputs.empty() && config.op != "fill") throw std::invalid_argument("op '" + config.op + "': no input tensor");
    DeviceProgram program = it->second(arch, config);
    program.work.traced = config.flag("traced", false);
    return program;
}

}  // namespace ttnn_shim::strategy
