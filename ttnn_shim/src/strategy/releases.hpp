// Releases of TT-NN that measured rows were taken with, as what differs from ttnn 0.81.1: a profile of flags for programs, and overrides of
// the machine's constants. Programs that calls of this TT-NN make are always those of today.
#pragma once
#include <array>
#include <string_view>

#include "sim/engine.hpp"

namespace ttnn_shim::strategy {

struct Release {
    std::string_view name;                    ///< as measured rows say it ("selector"); of today's none
    bool older_costs = false;                 ///< the constants of `as_of`
    bool older_matmul_selector = false;       ///< blocks of a square factor; L1 without what tensors take of it
    bool epilogues_alone = false;             ///< bias and activation of a matmul are programs of their own
    bool reads_and_writes_in_step = false;    ///< an elementwise program visits the banks in the same order with both
    bool truth_by_passes = false;             ///< operands of a logical op become 0 or 1 in passes of their own
    bool operands_unpacked_together = false;  ///< of an op on three tensors, instead of copied to the destination registers one by one
    bool softmax_by_tiles = false;            ///< no passes of its own for masks and exact exponentials
    bool reads_ahead = false;                 ///< a reduction's reader keeps a second read under way
    bool any_bank_first = false;              ///< rows do not queue for the banks on which they begin
    bool waits_for_sticks = false;            ///< a row-major stick is waited for before the next is requested
    bool shards_written_in_step = false;      ///< cores that write shards back walk the banks together
    bool pads_line_by_line = false;           ///< a transpose writes what is left of a face line by line
    bool halo_by_sticks = false;              ///< a halo is sent by one of a worker's two kernels, each stick as a packet of its own
    bool waits_for_writes = false;  ///< shards written back: each tile is waited for (writer_unary_sharded_blocks of 2023 to 2025-03)
};
inline constexpr Release TODAY{};
inline constexpr Release BEFORE_2026{"table", true, true, true, true, true, true, true, true, true, true, true, true};
/// 2024-09 to 2025-03: readers of reductions wait for each tile, softmax has passes.
inline constexpr Release BEFORE_MID_2025{"early", true, true, true, true, true, true, false, false, true, false, true, true, true, true};
inline constexpr std::array<Release, 2> MEASURED_RELEASES{BEFORE_2026, BEFORE_MID_2025};

/// The machine with the costs of a release's programs.
sim::Arch as_of(const Release& release, const sim::Arch& arch);
/// Time of a program of a release.
sim::Stats run(const Release& release, const sim::Arch& arch, const sim::Workload& work);

}  // namespace ttnn_shim::strategy
