#include "strategy/common.hpp"

#include <array>
#include <stdexcept>

namespace ttnn_shim::strategy {

double soft_max(double a, double b, double p) {
    const double top = std::max({a, b, 0.0});
    if (top <= 0 || p <= 0) return top;
    return top * std::pow(std::pow(a / top, p) + std::pow(b / top, p), 1 / p);
}

std::int64_t dim(const TensorDesc& t, std::size_t from_end) {
    return t.padded.size() > from_end ? t.padded[t.padded.size() - 1 - from_end] : 1;
}

bool same_tiles(const TensorDesc& a, const TensorDesc& b) { return a.padded == b.padded; }
int phases(const OpConfig& config) { return std::max(1, static_cast<int>(config.compute.fidelity)); }

double page_read(const Arch& arch, bool dram, double bytes) {
    const Constants& k = arch.k;
    return (dram ? k.read_dram + k.read_dram_byte * bytes : k.read_l1 + k.read_l1_byte * bytes) + k.read_loop;
}
double page_read(const Arch& arch, const TensorDesc& t, double bytes) { return page_read(arch, in_dram(t), bytes); }
double tiles_read(const Arch& arch, const TensorDesc& t, double tiles) {
    const auto bytes = static_cast<double>(t.tile_bytes());
    return page_read(arch, t, bytes) + (tiles - 1) * std::max(arch.k.mm_issue, bytes / arch.k.mm_read_rate);
}
double page_write(const Arch& arch, double bytes) { return arch.k.write_issue + bytes / arch.k.write_core_rate; }

double block_pass(const Arch& arch, std::int64_t block, double operand_bytes, double sfpu) {
    const Constants& k = arch.k;
    const auto n = static_cast<double>(std::max<std::int64_t>(1, block));
    return std::max(operand_bytes / k.unpack_two_rate + sfpu + k.subblock_sync / n, (k.subblock_min + k.subblock_pack * (n - 1)) / n);
}

double row_reduction(const Arch& arch, std::int64_t width, double tile_bytes) {
    return static_cast<double>(width) * tile_bytes / arch.k.unpack_two_rate + arch.k.subblock_min + arch.k.subblock_sync;
}

std::int64_t block_of(std::int64_t width, std::int64_t most) {
    std::int64_t block = std::max<std::int64_t>(1, std::min(width, most));
    while (width % block) --block;
    return block;
}

double local_copies(const Arch& arch, double requests, double bytes) {
    return requests * arch.k.halo_run + bytes / arch.k.local_copy_rate + arch.k.read_l1;
}

double multicast(const Arch& arch, double tiles, double tile_bytes, int destinations) {
    return tiles * tile_bytes / (arch.k.mm_mcast_rate * (destinations > arch.k.mm_mcast_wide ? arch.k.mm_mcast_1d : 1));
}

double handshake(const Arch& arch, int receivers, bool local, std::int64_t blocks) {
    return (local ? arch.k.mm_handshake_local : arch.k.mm_handshake) +
           arch.k.mm_receiver * receivers * static_cast<double>(blocks - 1) / static_cast<double>(std::max<std::int64_t>(1, blocks));
}

int split_cores(const Arch& arch, const OpConfig& config, std::int64_t units) {
    const std::int64_t recorded = config.core_count.value_or(0);
    if (recorded > 0) return static_cast<int>(std::min<std::int64_t>(recorded, std::max<std::int64_t>(units, 1)));
    return static_cast<int>(std::max<std::int64_t>(1, std::min<std::int64_t>(units, arch.cores())));
}

int split_blocks(const Arch& arch, const OpConfig& config, std::int64_t blocks, std::int64_t& per_core) {
    const std::int64_t recorded = config.core_count.value_or(0), cores = recorded > 0 ? recorded : arch.cores();
    per_core = std::max<std::int64_t>(1, ceil_div(blocks, cores));
    return static_cast<int>(recorded > 0 ? recorded : std::max<std::int64_t>(1, ceil_div(blocks, per_core)));
}

Shard shard_of(const Arch& arch, const TensorDesc& t) {
    if (t.shard && t.shard->h > 0) {
        Shard s = *t.shard;
        if (s.cores <= 0) s.cores = static_cast<int>(ceil_div(t.rows(), s.h) * ceil_div(t.width(), s.w));
        return s;
    }
    Shard s;
    s.grid_x = arch.grid_x;
    s.grid_y = arch.grid_y;
    const std::int64_t row_unit = t.layout == Layout::TILE ? 32 : 1;
    switch (t.memory) {
        case TensorMemoryLayout::WIDTH_SHARDED:
            s.h = t.rows();
            s.w = round_up(ceil_div(t.width(), arch.cores()), 32);
            break;
        case TensorMemoryLayout::BLOCK_SHARDED:
            s.h = round_up(ceil_div(t.rows(), arch.grid_y), 32);
            s.w = round_up(ceil_div(t.width(), arch.grid_x), 32);
            break;
        default: s.h = round_up(ceil_div(t.rows(), arch.cores()), row_unit); s.w = t.width();
    }
    s.cores = static_cast<int>(ceil_div(t.rows(), s.h) * ceil_div(t.width(), s.w));
    return s;
}

int shard_cores(const Arch& arch, const TensorDesc& t) { return std::max(1, shard_of(arch, t).cores); }

BankSpread bank_spread(int cores, std::int64_t per_core, int banks, std::int64_t pages) {
    std::array<int, 64> hits{};
    const int n = std::min(banks, 64);
    const std::int64_t full = pages > 0 ? pages - (per_core - 1) * cores : cores;  // cores that take per_core pages
    for (std::int64_t i = 0; i < cores; ++i)
        ++hits[static_cast<std::size_t>((i * per_core - std::max<std::int64_t>(0, i - std::max<std::int64_t>(0, full))) % n)];
    BankSpread out;
    double sum = 0, squares = 0;
    for (int b = 0; b < n; ++b) {
        const double h = hits[static_cast<std::size_t>(b)];
        out.most = std::max(out.most, h);
        sum += h;
        squares += h * h;
    }
    out.effective = squares > 0 ? sum * sum / squares : n;
    return out;
}

double bank_start(const Arch& arch, const BankSpread& spread, double page_bytes, bool reads, bool writes) {
    const double waiting = std::max(0.0, spread.most - 1);  // the last core of a bank's queue
    return waiting * page_bytes * ((reads ? 1 / arch.k.bank_start_read : 0) + (writes ? 1 / arch.k.bank_start_write : 0));
}

void add_dram(Shared& shared, const TensorDesc& t, double bytes, bool write) {
    if (!in_dram(t)) {
        if (!t.sharded()) (write ? shared.l1_write_bytes : shared.l1_read_bytes) += bytes;
        return;
    }
    (write ? shared.dram_write_bytes : shared.dram_read_bytes) += bytes;
    if (!write && t.layout == Layout::TILE) shared.dram_tile_reads += bytes / static_cast<double>(t.tile_bytes());
}

void set_grid(DeviceProgram& program, const Arch& arch) {
    program.grid_x = std::min(program.cores, arch.grid_x);
    program.grid_y = static_cast<int>(ceil_div(program.cores, std::max(1, arch.grid_x)));
}

DeviceProgram one_phase(std::string factory, const Arch& arch, int cores, Phase phase, bool compute, bool sharded) {
    DeviceProgram program;
    program.factory = std::move(factory);
    program.cores = cores;
    set_grid(program, arch);
    program.work.cores = cores;
    program.work.has_compute = compute;
    program.work.sharded = sharded;
    program.work.classes.push_back({cores, {std::move(phase)}});
    return program;
}

CircularBuffer buffer(std::string name, std::int64_t page_bytes, std::int64_t pages) { return {std::move(name), page_bytes * pages}; }

void finish_in_rounds(DeviceProgram& program, std::int64_t rows, int cores) {
    const std::int64_t left = rows % cores;
    if (rows <= cores || left == 0) return;
    std::vector<Phase>& phases = program.work.classes[0].phases;
    Phase last = phases[0];
    const std::int64_t each = ceil_div(rows, cores);
    const double share = static_cast<double>(left) / static_cast<double>(rows);
    last.items = std::max<std::int64_t>(1, phases[0].items / each);
    phases[0].items -= last.items;
    for (double Shared::*bytes :
         {&Shared::dram_read_bytes, &Shared::dram_write_bytes, &Shared::dram_requests, &Shared::dram_tile_reads, &Shared::l1_read_bytes,
          &Shared::l1_write_bytes}) {
        last.shared.*bytes *= share;
        phases[0].shared.*bytes *= 1 - share;
    }
    phases[0].extra_cycles = {};
    phases[0].extra_parts.clear();
    phases[0].mean_items = 0;
    last.mean_items = static_cast<double>(last.items) * static_cast<double>(left) / cores;
    for (sim::Stage& stage : last.stages) stage.head_cycles = {};
    phases.push_back(std::move(last));
}

void place_on(DeviceProgram& program, const Arch& arch, const Pair& grid) {
    const bool asked = grid[0] > 0 && grid[1] > 0 && grid[0] * grid[1] <= arch.cores();
    program.grid_x = asked ? static_cast<int>(grid[0]) : arch.grid_x;
    program.grid_y = asked ? static_cast<int>(grid[1]) : arch.grid_y;
    program.cores = program.grid_x * program.grid_y;
}

DeviceProgram stream(const Arch& arch, const OpConfig& config, const Stream& s) {
    const int cores = s.cores > 0 ? s.cores : split_cores(arch, config, s.units);
    Phase phase;
    phase.items = s.per_core > 0 ? s.per_core : ceil_div(s.units, cores);
    phase.shared = s.shared;
    if (s.per_core == 0) phase.mean_items = static_cast<double>(s.units) / cores;
    phase.coupling = arch.k.stage_exponent;
    if (s.reader > 0) phase.stages.push_back({Unit::Reader, s.reader});
    if (s.compute > 0) phase.stages.push_back({Unit::Compute, s.compute});
    if (s.writer > 0) phase.stages.push_back({Unit::Writer, s.writer});
    // The cores with most pages finish together: their last pages queue for the memory.
    const std::int64_t last = s.per_core > 0 ? cores : s.units - (phase.items - 1) * cores;
    phase.extra_cycles = s.page_bytes / arch.k.drain_rate * std::min(1.0, static_cast<double>(last) / arch.cores());
    if (s.reads_dram || s.writes_dram) {
        const BankSpread spread = bank_spread(cores, phase.items, arch.dram_banks, s.per_core > 0 ? 0 : s.units);
        // Many cores may begin on one bank: their first pages come late. A program that the memory bounds has that time already.
        if (!phase.stages.empty()) phase.stages.front().head_cycles += bank_start(arch, spread, s.page_bytes, s.reads_dram, s.writes_dram);
        if (!s.reads_dram) phase.shared.write_banks_hit = spread.effective;
        phase.shared.run_pages = static_cast<double>(phase.items);
    }
    return one_phase(s.factory, arch, cores, std::move(phase), s.compute > 0, false);
}

}  // namespace ttnn_shim::strategy
