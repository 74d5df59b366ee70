// Programs that send over the Ethernet links between chips. Their time is a sum that is fitted to published sweeps as a whole
// (tools/calibration/collectives.py has it in words): the kernels behind it, which move packets through the routers of every chip on the
// way, are not modelled one by one.
#include <algorithm>

#include "strategy/common.hpp"

namespace ttnn_shim::strategy {
namespace {

constexpr double ONE_SHOT_BYTES = 512 * 1024;  ///< a ring sends sums of at most this many bytes to all chips in one step (TT-NN)

struct Factors {
    double start, hop, byte, fill, pair, one_shot, ring, fill_bytes;
};

#define FACTORS(op)                                                                                                           \
    Factors {                                                                                                                 \
        k.ccl_##op##_start, k.ccl_##op##_hop, k.ccl_##op##_byte, k.ccl_##op##_fill, k.ccl_##op##_pair, k.ccl_##op##_one_shot, \
            k.ccl_##op##_ring, k.ccl_##op##_fill_bytes                                                                        \
    }

/// ns of a collective along a line or ring of chips. `whole`: bytes of an all_gather's result on one chip, of the others' argument.
double time_ns(const Constants& k, const Collective& op, std::string_view kind, double whole) {
    const bool exchange = kind == "ALL_TO_ALL", both = kind == "ALL_REDUCE", gather = kind == "ALL_GATHER";
    const Factors f = exchange ? FACTORS(all_to_all) : both ? FACTORS(all_reduce) : gather ? FACTORS(all_gather) : FACTORS(reduce_scatter);
    const auto chips = static_cast<double>(op.chips), steps = both ? 2.0 : 1.0;
    const auto half = static_cast<double>(op.chips / 2);
    const double share = exchange ? half * (chips - half) / chips : steps * (chips - 1) / chips;
    const double sent = share * whole / (op.ring ? 2 : 1) / static_cast<double>(op.links);
    const double hops = (op.ring ? half : chips - 1) * steps;
    const bool one_shot = exchange ? op.chips > 4 : op.ring && !gather && whole <= ONE_SHOT_BYTES;
    return f.start + f.hop * hops + f.byte * sent + f.fill * sent / (1 + sent / f.fill_bytes) + (op.chips == 2 ? f.pair * sent : 0) +
           (one_shot ? f.one_shot * sent : 0) + (op.ring && op.chips > 4 ? f.ring * sent : 0);
}
#undef FACTORS

}  // namespace

DeviceProgram plan(const Arch& arch, const OpConfig& config, const Collective& operation) {
    const auto in = static_cast<double>(config.inputs[0].bytes()), out = static_cast<double>(config.outputs[0].bytes());
    const Constants& k = arch.k;
    DeviceProgram program;
    program.factory = "Fabric";
    double ns = 0;
    if (operation.op == "ALL_GATHER") {
        ns = time_ns(k, operation, "ALL_GATHER", out);
        if (operation.all_reduce.value_or(false))  // the second half of what was measured as one
            ns = std::max(ns / 2, time_ns(k, operation, "ALL_REDUCE", out) - time_ns(k, operation, "REDUCE_SCATTER", out));
    } else if (operation.op == "REDUCE_SCATTER" || operation.op == "ALL_TO_ALL") {
        ns = time_ns(k, operation, operation.op, in);
    } else {  // a chip's tensor to others: what a gather of as much costs; no measured rows
        ns = time_ns(k, operation, "ALL_GATHER", operation.op == "ALL_BROADCAST" ? in * static_cast<double>(operation.chips) : in);
        program.modelled = operation.op == "ALL_BROADCAST";
    }
    program.cores = 1;
    set_grid(program, arch);
    program.work.cores = 0;
    program.work.extra_cycles = arch.ns_to_cycles(std::max(ns, 0.0)) - k.launch_move;
    return program;
}

}  // namespace ttnn_shim::strategy
