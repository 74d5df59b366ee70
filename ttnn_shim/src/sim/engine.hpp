// The engine: a Workload on an Arch becomes cycles. Deterministic, integer time, independent of data.
#pragma once
#include "sim/arch.hpp"
#include "sim/state.hpp"
#include "sim/stats.hpp"
#include "sim/workload.hpp"

namespace ttnn_shim::sim {

class Engine {
public:
    explicit Engine(const Arch& arch) : arch_(arch) {}
    /// Duration of one whole program. Cost does not depend on the number of items (steady states are fast-forwarded).
    Stats run(const Workload& work) const;
    /// Duration in ticks of one phase's pipeline, shared resources left out.
    Ticks pipeline(const Phase& phase) const;

private:
    const Arch& arch_;
};

Stats run(const Arch& arch, const Workload& work);

}  // namespace ttnn_shim::sim
