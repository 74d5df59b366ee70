// Operation -> its family's planner; a roofline of the bytes for operations without a model, reported as such.
#include <stdexcept>
#include <type_traits>

#include "strategy/common.hpp"

namespace ttnn_shim::strategy {

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
    phase.stages.push_back({Unit::Reader, l1 / cores / arch.k.local_copy_rate});
    DeviceProgram p = one_phase("unmodelled", arch, cores, std::move(phase), true, false);
    p.modelled = false;
    return p;
}

namespace {

DeviceProgram plan_on(const sim::Arch& arch, const OpConfig& config) {
    if (config.outputs.empty()) throw std::invalid_argument(config.label() + "no output tensor");
    if (arch.cores() <= 0) throw std::invalid_argument(config.label() + "the arch has no worker cores");
    return config.op.visit([&]<class Op>(const Op& op) -> DeviceProgram {
        if constexpr (HasPlanner<Op>) {
            if (config.inputs.empty() && !std::is_same_v<Op, Fill>) throw std::invalid_argument(config.label() + "no input tensor");
            DeviceProgram program = plan(arch, config, op);
            program.work.traced = config.traced;
            return program;
        } else {
            return roofline(arch, config);
        }
    });
}

}  // namespace

DeviceProgram plan(const sim::Arch& arch, const OpConfig& config) {
    return config.release.older_costs ? plan_on(as_of(config.release, arch), config) : plan_on(arch, config);
}

}  // namespace ttnn_shim::strategy
