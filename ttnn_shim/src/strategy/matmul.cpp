// Matmul time: sender cores read a block and multicast it (in series), all cores multiply, the output is written at the end of each output
// block.
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "strategy/matmul_config.hpp"

namespace ttnn_shim::strategy {
namespace {

struct BlockTimes {
    double data = 0;   ///< sender of one K block: read, multicast, handshake
    double math = 0;   ///< matrix engine on one K block
    double ideal = 0;  ///< FPU cycles of the block at one MVMUL per cycle
    double pack = 0;   ///< of `math`, by which packing a subblock takes longer than multiplying the next
    double drain = 0;  ///< the last subblock is packed (or the first one multiplied) with nothing beside it
    double later = 0;  ///< share of `math` that follows the first subblock

    /// By how much math that takes over from the sender lengthens a block: by less than itself (coupling).
    double lengthened(double coupling) const { return math <= data ? 0 : soft_max(data, math, coupling) - soft_max(data, data, coupling); }
};

/// Matrix engine on a block of h x w output tiles, depth kb, the mean of `k_blocks` of them. Several: NoC traffic lands in L1 meanwhile and
/// slows the SrcA unpacker; where the packer does not add in L1, all but the first copy the partial sums to the destination registers.
void math_block(const Arch& arch, const OpConfig& c, const MatmulProgram& p, std::int64_t k_blocks, BlockTimes& t) {
    const bool overlap = k_blocks > 1;
    const Constants& k = arch.k;
    const double sh = static_cast<double>(p.sub_h), sw = static_cast<double>(p.sub_w), kb = static_cast<double>(p.block_k);
    const double n_a = sw >= sh ? sh * sw : sw, n_b = sw >= sh ? sh : sh * sw;
    const double rate_a = k.unpack_a_rate * (overlap ? k.unpack_overlap : 1);
    const double unpack = n_a * static_cast<double>(c.inputs[1].tile_bytes()) / rate_a +
                          n_b * static_cast<double>(c.inputs[0].tile_bytes()) / k.unpack_b_rate;
    const double fpu = sh * sw * (k.fpu_tile * phases(c) * k.fpu_overhead + k.mac_overhead + (phases(c) > 1 ? arch.k.mac_phases : 0));
    const double subblocks = static_cast<double>(ceil_div(p.block_h, p.sub_h) * ceil_div(p.block_w, p.sub_w));
    t.ideal = static_cast<double>(p.block_h * p.block_w) * kb * k.fpu_tile * phases(c);
    const double pack = k.subblock_min + k.subblock_pack * (sh * sw - 1);
    // Tiles of a subblock cost more where its only K block goes straight to the output; partial sums of several show none of it.
    const double reload =
        c.compute.packer_l1_acc ? 0 : arch.k.mm_reload * sh * sw * static_cast<double>(k_blocks - 1) / static_cast<double>(k_blocks);
    const double multiply = kb * std::max(unpack, fpu) + reload + k.subblock_sync + (overlap ? 0 : k.subblock_tile * (sh * sw - 1));
    t.drain = std::min(multiply, pack);
    t.later = 1 - 1 / subblocks;
    t.pack = subblocks * std::max(0.0, pack - multiply);
    t.math = subblocks * std::max(multiply, pack) + (overlap ? k.mm_block_end : 0);
}

/// One core fetches a block of `rows` runs of `run` consecutive tiles, `stride` tiles apart, from interleaved memory. The stride decides
/// how many banks serve it. `share`: of the rate of a core that reads alone.
double fetch(const Arch& arch, const TensorDesc& t, std::int64_t rows, std::int64_t run, std::int64_t stride, double share) {
    const double bytes = static_cast<double>(t.tile_bytes());
    double rate = arch.k.mm_read_rate * share;
    if (in_dram(t)) {
        std::int64_t banks = arch.dram_banks, step = std::gcd(stride, banks);
        const std::int64_t starts = std::min(rows, banks / step);  // different banks that runs begin on, `step` apart
        const std::int64_t hit = std::min(banks, starts * std::min(run, rows > 1 ? step : banks));
        rate = std::min(rate, static_cast<double>(hit) * arch.k.hot_bank_rate / arch.clock_ghz);
    }
    return static_cast<double>(rows * run) * std::max(arch.k.mm_issue, bytes / rate);
}
/// Share of the output that the busier NoC carries to DRAM. A 2-D program whose A is not resident gives the cores right of the middle, but
/// for the first row, to the other NoC; all other programs write through one.
double write_noc_share(const OpConfig& c, const MatmulProgram& p) {
    if (p.kind != MatmulKind::Mcast2D || resident(c.inputs[0]) || p.grid_x <= 2 || p.grid_y <= 1) return 1;
    const double other = static_cast<double>(p.grid_x - p.grid_x / 2 - 1) * (p.grid_y - 1) / (p.grid_x * p.grid_y);
    return std::max(other, 1 - other);
}

/// Zeros that the reader of A stores, element by element, behind the last column (transposed: the last row) of a K that is no multiple of
/// 32. Block formats are padded when they are created.
double padding_stores(const Arch& arch, const TensorDesc& a, const Matmul& op, const MatmulProgram& p) {
    const std::size_t back = op.transpose_a ? 2 : 1;
    if (a.logical.size() < back || (a.dtype != DataType::BFLOAT16 && a.dtype != DataType::FLOAT32)) return 0;
    const std::int64_t used = a.logical[a.logical.size() - back] % 32;
    return used > 0 ? static_cast<double>(p.block_h * 32 * (32 - used)) * arch.k.scalar_word : 0;
}

/// What the readers of one K block take: the core that sends A, the one that sends or reads B, and both where they wait for one another.
struct Reads {
    double in0 = 0, in1 = 0, both = 0;
    double fetched = 0;  ///< of `both`, reads of the slower operand
};
Reads sender_time(const Arch& arch, const OpConfig& c, const MatmulShape& s, const MatmulProgram& p) {
    const Constants& k = arch.k;
    const double t0 = static_cast<double>(c.inputs[0].tile_bytes()), t1 = static_cast<double>(c.inputs[1].tile_bytes());
    const double n0 = static_cast<double>(p.block_h * p.block_k), n1 = static_cast<double>(p.block_w * p.block_k);
    const bool local0 = resident(c.inputs[0]);
    const std::int64_t blocks = std::max<std::int64_t>(1, ceil_div(s.k, p.block_k));
    // A 1-D program has one sender per operand, a 2-D one a row and a column of them, whose reads and multicasts cross.
    const double share = p.kind == MatmulKind::Mcast2D ? arch.k.mm_read_beside : 1;
    const double fetch0 = fetch(arch, c.inputs[0], p.block_h, p.block_k, s.k, share);
    const double fetch1 = fetch(arch, c.inputs[1], p.block_k, p.block_w, s.n, share);
    double in0 = 0, in1 = 0;
    switch (p.kind) {
        case MatmulKind::Mcast2D:
            in1 = fetch1 + multicast(arch, n1, t1, p.grid_y) + handshake(arch, p.grid_y, false, blocks);
            in0 = local0 ? multicast(arch, n0, t0, p.grid_x) + handshake(arch, p.grid_x, true, blocks)
                         : fetch0 + multicast(arch, n0, t0, p.grid_x) + handshake(arch, p.grid_x, false, blocks);
            break;
        case MatmulKind::Mcast1DIn0:
            in1 = fetch1 + k.mm_handshake / 2;
            in0 = local0 ? multicast(arch, n0, t0, p.cores) + handshake(arch, p.cores, true, blocks)
                         : fetch0 + multicast(arch, n0, t0, p.cores) + handshake(arch, p.cores, false, blocks);
            break;
        case MatmulKind::Mcast1DIn1:
            in1 = fetch1 + multicast(arch, n1, t1, p.cores) + handshake(arch, p.cores, false, blocks);
            in0 = local0 ? 0 : fetch0 + k.mm_handshake / 2;
            break;
        case MatmulKind::DramSharded:
            // Each reader streams the columns of the bank next to it: the bank's rate is a shared demand of the whole program.
            in1 = n1 * arch.k.dram_shard_tile;
            in0 = multicast(arch, n0, t0, p.cores) + k.mm_handshake_local;
            break;
        case MatmulKind::MultiCore:  // both tiles of every product are waited for, one after the other
            in0 = page_read(arch, c.inputs[0], t0);
            in1 = page_read(arch, c.inputs[1], t1);
            return {in0, in1, in0 + in1, in0 + in1};
        default: in1 = fetch1 + k.mm_handshake / 2; in0 = fetch0 + k.mm_handshake / 2;
    }
    return {
        in0, in1, std::max(in0, in1) + (local0 ? 0 : k.mm_both_operands * std::min(in0, in1)),
        in1 > in0 ? fetch1
        : local0  ? 0
                  : fetch0};
}

/// What reads B also writes the output. Time per K block that A's sender leaves it: by which A lengthens the block, none where the math
/// does.
double time_beside(const OpConfig& c, const Constants& k, const Reads& reads, double math) {
    if (reads.in0 <= reads.in1) return 0;
    const double alone = reads.in1 * (resident(c.inputs[0]) ? 1 : 1 + k.mm_both_operands);
    return soft_max(reads.both, math, k.mm_coupling) - soft_max(alone, math, k.mm_coupling);
}

/// How the writes of all cores fall on the banks of DRAM: all write their subblocks at the same time, so those whose tiles lie on few banks
/// walk the banks in step.
double write_spread(const Arch& arch, const MatmulShape& s, const MatmulProgram& p) {
    const std::int64_t rows = p.kind == MatmulKind::Mcast1DIn0 ? 1 : p.kind == MatmulKind::Mcast1DIn1 ? p.cores : std::max(1, p.grid_y);
    const std::int64_t columns = ceil_div(p.cores, rows);
    std::vector<double> starts(static_cast<std::size_t>(arch.dram_banks), 0), tiles = starts;
    for (std::int64_t y = 0; y < rows; ++y)
        for (std::int64_t x = 0; x < columns; ++x) ++starts[static_cast<std::size_t>((y * p.m * s.n + x * p.n) % arch.dram_banks)];
    for (std::int64_t h = 0; h < p.sub_h; ++h)
        for (std::int64_t w = 0; w < p.sub_w; ++w)
            for (std::size_t bank = 0; bank < starts.size(); ++bank)
                tiles[(bank + static_cast<std::size_t>(h * s.n + w)) % starts.size()] += starts[bank];
    double sum = 0, squares = 0;
    for (const double n : tiles) {
        sum += n;
        squares += n * n;
    }
    return std::pow(sum * sum / squares, arch.k.mm_write_spread);
}

/// What the math thread does with one output block after its last K block: a pass that adds the bias to each tile, a subblock at a time,
/// and a fused activation (relu is the packer's and free).
double fused_cycles(const Arch& arch, const OpConfig& c, const Matmul& op, const MatmulProgram& p) {
    if (c.release.epilogues_alone) return 0;
    double per_tile = 0;
    if (op.activation && *op.activation != "RELU") per_tile = sfpu_cycles(arch, *op.activation, op.activation_approx.value_or(false));
    if (c.inputs.size() > 2) {
        const std::int64_t sums = c.compute.fp32_dest_acc ? 4096 : c.compute.packer_l1_acc ? 2048 : c.outputs[0].tile_bytes();
        per_tile = block_pass(arch, p.sub_h * p.sub_w, static_cast<double>(std::max(sums, c.inputs[2].tile_bytes())), per_tile);
    }
    return static_cast<double>(p.block_h * p.block_w) * per_tile;
}

/// Bytes that leave DRAM: multicast operands once, operands that each core reads for itself once per core.
void add_reads(const Arch& arch, const OpConfig& c, const MatmulShape& s, const MatmulProgram& p, Shared& shared) {
    if (!resident(c.inputs[0])) add_dram(shared, c.inputs[0], static_cast<double>(s.m * s.k * s.batch * c.inputs[0].tile_bytes()), false);
    if (p.kind == MatmulKind::Mcast1DIn1)
        shared.dram_read_bytes /= run_efficiency(arch, p.block_k);  // every core walks its own rows of A in short runs
    add_dram(shared, c.inputs[1], static_cast<double>(s.k * s.n * (s.b_batched ? s.batch : 1) * c.inputs[1].tile_bytes()), false);
    if (p.kind == MatmulKind::DramSharded) {  // a reader streams its bank's columns, many tiles in one request
        std::swap(shared.dram_read_bytes, shared.dram_near_bytes);
        shared.dram_tile_reads = 0;
    }
    if (p.kind == MatmulKind::MultiCore) {  // no reuse: a tile of each operand per product
        shared.dram_read_bytes = shared.dram_tile_reads = 0;
        for (const TensorDesc& t : {c.inputs[0], c.inputs[1]})
            add_dram(shared, t, static_cast<double>(s.batch * s.m * s.n * s.k * t.tile_bytes()), false);
    }
}

/// Cycles of writing the output that nothing hides: what is left of a block's output when its last K block ends. The write runs while the
/// block's math does; of a single block it hides no more than that lengthens the block.
double output_tail(
    const Arch& arch, const OpConfig& c, const MatmulShape& s, const MatmulProgram& p, const BlockTimes& t, std::int64_t k_blocks,
    double activation) {
    const Constants& k = arch.k;
    const TensorDesc& out = c.outputs[0];
    const double overlap = (k_blocks == 1 ? std::min(t.data, t.math) + t.lengthened(k.mm_coupling) : t.math) + activation;
    const double block_bytes = static_cast<double>(p.block_h * p.block_w * out.tile_bytes());
    const double all = block_bytes * std::min<double>(p.cores, static_cast<double>(s.m * s.n) * static_cast<double>(s.batch));
    // DRAM: all cores together walk the banks in step; L1: each core for itself.
    const double one_d = p.kind == MatmulKind::Mcast2D ? 1 : k.mm_write_1d;
    const double dram_rate = k.mm_write_rate / write_noc_share(c, p) * one_d * write_spread(arch, s, p);
    const double write = std::max(in_dram(out) ? all / dram_rate : 0.0, block_bytes / k.write_core_rate);
    return std::max(write - overlap * t.later, write * (1 - t.later));
}

/// A transposed A: each tile of a K block goes through the destination registers and a buffer of its own first. Published batched products
/// on cores of their own (bound by DRAM) show none of it.
double transposition(const Constants& k, const Matmul& op, const MatmulProgram& p) {
    return op.transpose_a && p.kind != MatmulKind::Reuse ? static_cast<double>(p.block_h * p.block_k) * k.unary_tile : 0;
}

DeviceProgram build(const Arch& arch, const OpConfig& c, const Matmul& op, const MatmulShape& s, const MatmulProgram& p) {
    const Constants& k = arch.k;
    const TensorDesc& out = c.outputs[0];
    const std::int64_t k_blocks = ceil_div(s.k, p.block_k);
    const std::int64_t out_blocks =
        std::max<std::int64_t>(1, (p.m / std::max<std::int64_t>(1, p.block_h)) * (p.n / std::max<std::int64_t>(1, p.block_w)));
    const std::int64_t rounds = std::max<std::int64_t>(out_blocks * p.batch, 1);  // also of an empty output
    BlockTimes t;
    const Reads reads = sender_time(arch, c, s, p);
    const double padding = padding_stores(arch, c.inputs[0], op, p);
    t.data = reads.both + padding / static_cast<double>(k_blocks);
    math_block(arch, c, p, k_blocks, t);
    t.math += transposition(k, op, p);
    const double slack = p.kind == MatmulKind::MultiCore ? 0 : time_beside(c, k, reads, t.math);

    DeviceProgram program;
    program.factory = factory_name(p.kind);
    program.block_k = p.block_k;
    program.cores = p.cores;
    program.grid_x = p.grid_x;
    program.grid_y = p.grid_y;
    if (!p.grid_x) set_grid(program, arch);
    program.circular_buffers = matmul_buffers(c, s, p);

    Phase phase;
    phase.items = k_blocks;
    phase.repeat = rounds;
    phase.coupling = k.mm_coupling;
    phase.stages = {
        {.unit = Unit::Sender, .cycles = t.data, .other = sim::Term::Read, .other_cycles = std::min(t.data, reads.fetched)},
        {.unit = Unit::Compute, .cycles = t.math, .other = sim::Term::Pack, .other_cycles = t.pack}};
    phase.mean_items = static_cast<double>(k_blocks * rounds) *
                       std::min(1.0, static_cast<double>(s.m * s.n * s.batch) / static_cast<double>(p.cores * p.m * p.n * p.batch));
    add_reads(arch, c, s, p, phase.shared);
    if (!resident(out) && in_dram(out)) phase.shared.dram_write_bytes = static_cast<double>(out.bytes());
    const double activation = fused_cycles(arch, c, op, p);
    const double tail = resident(out) ? 0 : output_tail(arch, c, s, p, t, k_blocks, activation);
    phase.extra_cycles = k.mm_fill + t.drain;
    // Between rounds the writer has the time that the other operand's sender still needs; where nothing is multicast also that in which
    // both wait for the math (senders of measured products do not: they wait for their receivers), less what the tail counts of it.
    const double longer = t.lengthened(k.mm_coupling), own = k_blocks == 1 ? longer : std::max(0.0, t.math - t.data);
    const double waiting = p.kind == MatmulKind::Reuse ? std::max(0.0, longer - t.later * own / static_cast<double>(k_blocks)) : 0;
    const double beside = p.output_beside_math ? std::max(t.math, t.data) : slack + waiting;
    const double exposed = std::max(0.0, tail - beside * static_cast<double>(k_blocks));
    const double written = (tail + exposed * static_cast<double>(rounds - 1)) / static_cast<double>(rounds);
    phase.round_cycles = written + activation;
    phase.round_parts = {{sim::Term::Write, written}, {sim::Term::Fused, activation}};
    if (p.batch > 1 && !resident(out)) {
        if (p.kind == MatmulKind::Mcast1DIn0 && k_blocks <= 2 && !resident(c.inputs[0])) {
            // Each core's products of a batch are a chain: B is read, multiplied, the result handed on, written and acknowledged before the
            // next B. Beside it the core that sends A is up to two blocks, so a whole round, ahead.
            const auto blocks = static_cast<double>(k_blocks);
            const double read = std::max(reads.in1, page_read(arch, c.inputs[1], static_cast<double>(c.inputs[1].tile_bytes())));
            const double chain = blocks * std::max(read, t.math) + std::min(read, t.math) + activation + k.cb_pass + tail + k.write_barrier;
            phase.items = rounds;
            phase.mean_items /= blocks;
            phase.repeat = 1;
            phase.coupling = {};
            phase.stages = {
                {Unit::Sender, blocks * reads.in0 + padding},
                {.unit = Unit::Compute, .cycles = chain, .other = sim::Term::Write, .other_cycles = tail + k.write_barrier}};
            phase.round_cycles = {};
            phase.round_parts.clear();
        } else {
            phase.round_cycles += k.write_barrier;
            phase.round_parts.push_back({sim::Term::Write, k.write_barrier});
        }
    }
    program.work.cores = p.cores;
    program.work.has_compute = true;
    program.work.sharded = resident(c.inputs[0]) && resident(out);
    // What the clock under power follows: the unpackers draw power too, also where the FPU waits for them.
    program.gemm.power_cycles = static_cast<double>(rounds * k_blocks) * t.math * (resident(c.inputs[0]) ? 1 : arch.k.power_streamed);
    program.work.total_math_cycles = static_cast<double>(s.batch * s.m * s.n * s.k) * k.fpu_tile * phases(c);
    program.gemm.window_cycles = {k.mm_fill, static_cast<double>(rounds - 1) * exposed, static_cast<double>(rounds) * activation};
    program.gemm.tail_cycles = tail + t.drain;
    program.work.classes.push_back({p.cores, {std::move(phase)}});
    return program;
}

/// Effective number of banks on which the cores of a ring begin to read their columns of B: each one begins with the rows of its own shard.
double ring_starts(const Arch& arch, const MatmulShape& s, const MatmulProgram& p) {
    std::vector<double> starts(static_cast<std::size_t>(arch.dram_banks), 0);
    for (std::int64_t core = 0; core < p.cores; ++core)
        ++starts[static_cast<std::size_t>((core * p.n + core * p.block_k % std::max<std::int64_t>(1, s.k) * s.n) % arch.dram_banks)];
    double squares = 0;
    for (const double n : starts) squares += n * n;
    return static_cast<double>(p.cores) * static_cast<double>(p.cores) / squares;
}

/// gather_in0: A's shards go round a ring of the cores that hold them. A core multiplies each shard by the rows of its own columns of B
/// that belong to it, and hands it on: the shard is written to the next core, and a semaphore behind it.
DeviceProgram ring(const Arch& arch, const OpConfig& c, const Matmul& op, const MatmulShape& s, const MatmulProgram& p) {
    const Constants& k = arch.k;
    const TensorDesc& b = c.inputs[1];
    const auto steps = static_cast<double>(p.cores);
    // Sums of one subblock stay in the destination registers from the first shard to the last.
    MatmulProgram whole = p;
    whole.block_k = s.k;
    const bool one_subblock = p.block_h * p.block_w <= p.sub_h * p.sub_w;
    BlockTimes t;
    if (!one_subblock) whole.block_k = std::max<std::int64_t>(1, s.k / p.cores);
    math_block(arch, c, whole, one_subblock ? 1 : p.cores, t);
    const double math = one_subblock ? t.math / steps : t.math;
    if (!one_subblock) t.ideal *= steps;
    const double shard = static_cast<double>(p.m * p.block_k * c.inputs[0].tile_bytes());
    Phase phase;
    phase.items = p.cores;
    phase.coupling = k.mm_coupling;
    phase.stages = {
        {Unit::Sender, 2 * k.write_issue + shard / k.local_copy_rate, 0, std::min(p.cores, sim::MOST_DEPTH)}, {Unit::Compute, math}};
    const double rows = static_cast<double>(s.k) / steps;
    if (in_dram(b) && !b.sharded()) {  // read by the core itself, a block and its barrier at a time
        const double read = rows * fetch(arch, b, 1, p.n, s.n, 1) + page_read(arch, b, 0);
        phase.stages[0].cycles = std::max(phase.stages[0].cycles, read);
        phase.stages[0].depth = 2;
        phase.shared.read_banks_hit = ring_starts(arch, s, p);
        phase.shared.run_pages = static_cast<double>(p.n);
    }
    add_dram(phase.shared, b, static_cast<double>(s.k * s.n * b.tile_bytes()), false);
    if (in_dram(b) && b.sharded()) {  // from the bank beside the core, rows of its columns in one request
        std::swap(phase.shared.dram_read_bytes, phase.shared.dram_near_bytes);
        phase.shared.dram_tile_reads = 0;
    }
    const double fused = fused_cycles(arch, c, op, p);
    phase.extra_cycles = k.mm_fill + t.drain + fused;
    phase.extra_parts = {{sim::Term::Fused, fused}};
    DeviceProgram program = one_phase(factory_name(p.kind), arch, p.cores, std::move(phase), true, true);
    program.circular_buffers = matmul_buffers(c, s, p);
    program.block_k = p.block_k;
    program.work.total_math_cycles = static_cast<double>(s.m * s.n * s.k) * k.fpu_tile * phases(c);
    return program;
}

}  // namespace

DeviceProgram plan(const Arch& arch, const OpConfig& c, const Matmul& op) {
    if (!op.is_configured() && !c.release.older_matmul_selector) return plan(arch, c, choose_matmul(arch, c, op));
    const MatmulShape s = matmul_shape(c, op);
    const MatmulProgram p = matmul_program(arch, c, op, s);
    return p.kind == MatmulKind::Ring ? ring(arch, c, op, s, p) : build(arch, c, op, s, p);
}

/// minimal_matmul: blocks are handed from core to core instead of being multicast. The larger of M and N is spread over the columns of
/// cores, and each core's part is cut into blocks.
DeviceProgram plan(const Arch& arch, const OpConfig& c, const MinimalMatmul& op) {
    const MatmulShape s = matmul_shape(c, Matmul{});
    MatmulProgram p;
    p.kind = MatmulKind::Mcast2D;
    p.grid_y = s.m > s.n ? arch.grid_x : arch.grid_y;  // cores along M
    p.grid_x = s.m > s.n ? arch.grid_y : arch.grid_x;
    // The last block of a core may be smaller than the others: priced as blocks of equal size.
    const auto cut = [](std::int64_t tiles, std::int64_t block, std::int64_t& size, std::int64_t& all) {
        const std::int64_t blocks = ceil_div(tiles, std::max<std::int64_t>(1, block));
        size = ceil_div(tiles, blocks);
        all = size * blocks;
    };
    cut(ceil_div(s.m, p.grid_y), op.M_block_size, p.block_h, p.m);
    cut(ceil_div(s.n, p.grid_x), op.N_block_size, p.block_w, p.n);
    p.block_k = std::min(op.K_block_size, s.k);
    const auto [sub_h, sub_w] = pick_subblock(p.block_h, p.block_w, c.compute.fp32_dest_acc, false);
    p.sub_h = sub_h;
    p.sub_w = sub_w;
    p.cores = arch.cores();
    p.output_beside_math = true;
    OpConfig summed = c;
    summed.compute.packer_l1_acc = true;  // its kernel always adds in L1
    DeviceProgram program = build(arch, summed, Matmul{}, s, p);
    program.factory = "MinimalMatmulProgramFactory";
    // Store and forward along both lines of cores: a block goes on when it has arrived whole, so the last core starts a chain later.
    const auto chain = [&](int cores, std::int64_t tiles, const TensorDesc& t) {
        const double bytes = static_cast<double>(tiles * t.tile_bytes());
        return (cores - 1) * (arch.k.mm_handshake_local + bytes / arch.k.mm_mcast_rate);
    };
    program.work.extra_cycles +=
        std::max(chain(p.grid_x, p.block_h * p.block_k, c.inputs[0]), chain(p.grid_y, p.block_w * p.block_k, c.inputs[1]));
    return program;
}

/// Decode: B stays in the cores that hold its columns; the cores that hold parts of A multicast them to all of these, each to a place of
/// its own, and all multiply. No measured row.
DeviceProgram plan(const Arch& arch, const OpConfig& c, const MatmulDecode& op) {
    if (c.inputs.size() < 2) throw std::invalid_argument(c.label() + "needs two inputs");
    const TensorDesc &a = c.inputs[0], &b = c.inputs[1];
    const int senders = shard_cores(arch, a), cores = shard_cores(arch, b);
    MatmulProgram p;
    p.kind = MatmulKind::Mcast1DIn0;
    p.m = p.block_h = std::max<std::int64_t>(1, ceil_div(op.m, 32));
    p.n = p.block_w = std::max<std::int64_t>(1, ceil_div(ceil_div(op.n, 32), cores));
    p.block_k = std::max<std::int64_t>(1, ceil_div(op.k, 32));
    p.cores = cores;
    const auto [sub_h, sub_w] = pick_subblock(p.block_h, p.block_w, c.compute.fp32_dest_acc, false);
    p.sub_h = sub_h;
    p.sub_w = sub_w;
    Phase phase;
    phase.items = std::min<std::int64_t>(senders, p.block_k);
    phase.coupling = arch.k.mm_coupling;
    // Sums stay in the destination registers: one block of all of K, whose parts are multiplied as they arrive.
    BlockTimes t;
    math_block(arch, c, p, 1, t);
    const double parts = static_cast<double>(phase.items), math = t.math / parts;
    const double tiles = static_cast<double>(p.block_h * p.block_k) / parts, bytes = static_cast<double>(a.tile_bytes());
    phase.stages = {{Unit::Sender, multicast(arch, tiles, bytes, cores), arch.k.mm_handshake_local, 2}, {Unit::Compute, math}};
    phase.extra_cycles = arch.k.mm_fill + t.drain;
    DeviceProgram program = one_phase("MatmulDecodeProgramFactory", arch, cores, std::move(phase), true, true);
    program.circular_buffers = {{"in0", p.m * p.block_k * a.tile_bytes()}};
    program.block_k = p.block_k;
    program.work.total_math_cycles = t.ideal * cores;
    return program;
}

}  // namespace ttnn_shim::strategy
