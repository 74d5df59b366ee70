// What one device program asks of the machine: pipelines of stages over circular buffers, and demands on shared resources.
#pragma once
#include <cstdint>
#include <vector>

#include "sim/stats.hpp"

namespace ttnn_shim::sim {

/// Who does the work of a stage. Names the RISC/unit that is busy; the engine itself treats all alike.
enum class Unit : std::uint8_t { Reader, Compute, Writer, Sender };

/// What the engine can tell apart; a workload beyond it is an internal error.
inline constexpr int MOST_STAGES = 4, MOST_DEPTH = 16;

/// One stage of a pipeline: `cycles` per item, handed on through a circular buffer of `depth` items.
struct Stage {
    Unit unit = Unit::Compute;
    double cycles = 0;        ///< busy cycles per item
    double head_cycles = 0;   ///< extra cycles before the first item (latency of the first page, kernel set-up)
    int depth = 2;            ///< capacity, in items, of the buffer to the next stage, 1 (no overlap with the consumer) to MOST_DEPTH
    Term other = Term::Math;  ///< what `other_cycles` of `cycles` are, where the stage is of two kinds
    double other_cycles = 0;
};

/// Demands of all cores together during one phase.
struct Shared {
    double dram_read_bytes = 0;
    double dram_near_bytes = 0;  ///< read by the cores beside each bank, at nearly its peak
    double dram_write_bytes = 0;
    double dram_requests = 0;     ///< number of page/stick requests (request-rate limit of the endpoints)
    double dram_tile_reads = 0;   ///< number of tiles read in requests of their own (a bank takes some time for each, however small)
    double write_hidden = 0;      ///< share of the shorter of reads and writes that takes place beside the other
    double hot_bank_bytes = 0;    ///< bytes that all cores fetch from one and the same bank
    double link_bytes = 0;        ///< load of the most loaded directed NoC link
    double l1_read_bytes = 0;     ///< read from interleaved L1
    double l1_write_bytes = 0;    ///< written to interleaved L1
    bool same_walk = false;       ///< reads and writes visit the banks in the same order at the same time
    bool link_in_stages = false;  ///< link_bytes is already part of a stage's cycles; report it only
    double read_banks_hit = 0;    ///< effective number of banks on which the cores' runs of pages begin; 0 = all
    double write_banks_hit = 0;   ///< the same of the runs that they write
    double run_pages = 0;         ///< pages of such a run
};

/// Serial cycles of a kind of their own.
struct Part {
    Term term;
    double cycles = 0;
};

/// `items` items flow through at most MOST_STAGES `stages`; the whole is repeated `repeat` times without overlap between repeats.
struct Phase {
    std::int64_t items = 0;
    std::int64_t repeat = 1;
    std::vector<Stage> stages;
    Shared shared;                  ///< for all repeats together
    double coupling = 0;            ///< exponent of the soft maximum between stages (0 = exact pipeline, no interference)
    double round_cycles = 0;        ///< serial cycles after each repeat (un-overlapped output write)
    double extra_cycles = 0;        ///< serial cycles, once per phase (synchronisation, un-overlapped tail)
    std::vector<Part> round_parts;  ///< what of round_cycles is no drain; for reports
    std::vector<Part> extra_parts;  ///< the same of extra_cycles
    double mean_items = 0;          ///< of all cores, over all repeats; 0: as many as the busiest has (for reports: the rest is imbalance)
};

/// Cores that do the same work; simulated once.
struct CoreClass {
    int count = 0;
    std::vector<Phase> phases;
};

/// A device program as the engine sees it. No op names, no tensors.
struct Workload {
    std::vector<CoreClass> classes;
    int cores = 0;                 ///< cores in use (start skew grows with it)
    bool has_compute = false;      ///< a compute kernel is launched
    bool sharded = false;          ///< works on resident shards: fewer run-time arguments, shorter launch
    double extra_cycles = 0;       ///< serial cycles of the program outside any phase
    bool traced = true;            ///< replayed from a trace (larger start skew on Wormhole)
    double total_math_cycles = 0;  ///< ideal FPU cycles of all cores together (utilisation)
};

}  // namespace ttnn_shim::sim
