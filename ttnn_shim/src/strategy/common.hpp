// Helpers that the strategy families share: core split, page latencies, DRAM bank alignment, the tile stream.
#pragma once
#include <algorithm>
#include <cmath>

#include "strategy/op_config.hpp"

namespace ttnn_shim::strategy {

using sim::Arch;
using sim::Constants;
using sim::CoreClass;
using sim::Phase;
using sim::Shared;
using sim::Stage;
using sim::Unit;

inline std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return b > 0 ? (a + b - 1) / b : 0; }
inline std::int64_t round_up(std::int64_t a, std::int64_t b) { return ceil_div(a, b) * b; }
/// (sum of x^p)^(1/p) of two terms; the larger of them for p = 0.
double soft_max(double a, double b, double p);

inline bool in_dram(const TensorDesc& t) { return t.buffer == BufferType::DRAM; }
inline bool in_l1(const TensorDesc& t) { return !in_dram(t); }
/// A sharded L1 tensor is resident: its circular buffer is the tensor itself.
inline bool resident(const TensorDesc& t) { return in_l1(t) && t.sharded(); }
/// Padded extent of a dimension counted from the last one (0), 1 where there is none.
std::int64_t dim(const TensorDesc& t, std::size_t from_end);
bool same_tiles(const TensorDesc& a, const TensorDesc& b);
int phases(const OpConfig& config);  ///< FPU phases of the fidelity

/// Cycles of one page read followed by its barrier.
double page_read(const Arch& arch, const TensorDesc& t, double bytes);
double page_read(const Arch& arch, bool dram, double bytes);
/// Cycles of one page written, buffer flushed (not acknowledged).
/// Cycles until that many tiles of a tensor have come that are requested one after the other and waited for together.
double tiles_read(const Arch& arch, const TensorDesc& t, double tiles);
double page_write(const Arch& arch, double bytes);

/// Cores for `units` equal units of work: min(units, grid), or what a profile recorded.
int split_cores(const Arch& arch, const OpConfig& config, std::int64_t units);
/// Blocks of rows: all cores get the same number, fewer cores when it does not divide.
int split_blocks(const Arch& arch, const OpConfig& config, std::int64_t blocks, std::int64_t& per_core);
int shard_cores(const Arch& arch, const TensorDesc& t);  ///< cores that hold the tensor's shards
Shard shard_of(const Arch& arch, const TensorDesc& t);   ///< the shard spec, or an even one over the grid

/// How contiguous runs of `per_core` pages fall on the banks: most cores that start on one bank, effective number of banks. Of `pages`
/// pages in all the first cores take one more than the others where the division leaves a rest; without it all cores take `per_core`.
struct BankSpread {
    double most = 0, effective = 0;
};
BankSpread bank_spread(int cores, std::int64_t per_core, int banks, std::int64_t pages = 0);

/// Extra start-up cycles when many cores begin on the same DRAM bank.
double bank_start(const Arch& arch, const BankSpread& spread, double page_bytes, bool reads, bool writes);

/// Share of the DRAM rate left when cores fetch short runs of consecutive tiles from many rows.
inline double run_efficiency(const Arch& arch, std::int64_t run) {
    return static_cast<double>(run) / (static_cast<double>(run) + arch.k.dram_run);
}

void add_dram(Shared& shared, const TensorDesc& t, double bytes, bool write);

/// Cycles per tile of one more pass of the matrix engine over tiles in L1, `block` tiles per turn of the destination registers: unpack
/// (both operands at once, the larger one counts), an SFPU function of `sfpu` cycles, or the packer behind them. Nothing is exchanged with
/// the data movement cores, so a turn has the synchronisation of a matmul's subblock.
double block_pass(const Arch& arch, std::int64_t block, double operand_bytes, double sfpu = 0);
/// Cycles of a row of `width` tiles reduced into one tile.
double row_reduction(const Arch& arch, std::int64_t width, double tile_bytes);
/// Largest block of at most `most` tiles that divides `width`.
std::int64_t block_of(std::int64_t width, std::int64_t most);
/// Copies of resident data by one data movement core: requests back to back, one barrier at the end.
double local_copies(const Arch& arch, double requests, double bytes);

/// Cycles of a block of tiles multicast by one core. Wide destination rectangles (1-D programs on much of the grid) run at a fraction of
/// the rate.
double multicast(const Arch& arch, double tiles, double tile_bytes, int destinations);

/// Cycles for the semaphores of a K block that a core sends to `receivers` others: each of them tells it that it has room. For the first of
/// `blocks` all have said so while the sender reads. `local`: what is sent lies in the sender's L1.
double handshake(const Arch& arch, int receivers, bool local, std::int64_t blocks);

/// SFPU cycles per tile of a unary function (a row of arch/sfpu.csv) beyond copy and pack; std::invalid_argument for an unknown one.
double sfpu_cycles(const Arch& arch, std::string_view function, bool approximate);

/// A program of one phase of identical cores.
DeviceProgram one_phase(std::string factory, const Arch& arch, int cores, Phase phase, bool compute, bool sharded);
void set_grid(DeviceProgram& program, const Arch& arch);
/// Kernels on all cores of the grid that the caller gives ({0, 0} or one too large: the whole chip), also on those that get no work.
void place_on(DeviceProgram& program, const Arch& arch, const Pair& grid);

/// Bytes at the rates of the memories over the whole grid, for ops without a model.
DeviceProgram roofline(const Arch& arch, const OpConfig& config);

/// Double-buffered circular buffer of `pages` pages.
CircularBuffer buffer(std::string name, std::int64_t page_bytes, std::int64_t pages = 2);

/// Pages flow through reader -> [compute] -> writer, the commonest shape of a data-movement or eltwise program.
struct Stream {
    std::string factory;
    std::int64_t units = 0;  ///< pages written in all
    double page_bytes = 2048;
    double reader = 0, compute = 0, writer = 0;  ///< cycles per page
    Shared shared;
    int cores = 0;              ///< 0 = min(units, grid)
    std::int64_t per_core = 0;  ///< 0 = ceil(units / cores)
    bool reads_dram = false, writes_dram = false;
};
/// Rows of work that the cores do not share evenly: the last ones run on few of the cores, with the memory to themselves. Splits the
/// program's only phase, whose items are those of the busiest core.
void finish_in_rounds(DeviceProgram& program, std::int64_t rows, int cores);
DeviceProgram stream(const Arch& arch, const OpConfig& config, const Stream& s);

}  // namespace ttnn_shim::strategy
