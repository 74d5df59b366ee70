// Attention and its tile shuffles: SDPA prefill, head split and concat, rotary embedding, KV-cache updates.
#include <stdexcept>

#include "strategy/common.hpp"

namespace ttnn_shim::strategy {
namespace {

/// Heads cut out of the core's own shard: runs of a head's tiles are copied within L1. Transposed keys are copied a tile at a time, column
/// by column of a head, and go through the destination registers one by one.
DeviceProgram split_shards(const Arch& arch, const OpConfig& c, const CreateHeads& create) {
    const bool transposed = create.transpose_k_heads.value_or(false);
    double requests = 0, bytes = 0, key_bytes = 0, key_tiles = 0;
    for (std::size_t i = 0; i < c.outputs.size(); ++i) {
        const TensorDesc& out = c.outputs[i];
        const Shard s = shard_of(arch, out);
        const double tiles = static_cast<double>(ceil_div(s.h, 32) * ceil_div(s.w, 32)),
                     size = tiles * static_cast<double>(out.tile_bytes());
        if (transposed && i == 1) {
            key_tiles = tiles;
            key_bytes = size;
        } else {
            requests += static_cast<double>(ceil_div(s.h, 32));
            bytes += size;
        }
    }
    Phase phase;
    phase.items = 1;
    phase.coupling = arch.k.stage_exponent;
    phase.stages = {
        {Unit::Reader, local_copies(arch, requests + key_tiles, bytes + key_bytes)}, {Unit::Compute, key_tiles * arch.k.unary_tile}};
    DeviceProgram p =
        one_phase("CreateQKVHeadsProgramFactory", arch, shard_cores(arch, c.inputs[0]), std::move(phase), key_tiles > 0, true);
    p.circular_buffers = {{"keys", static_cast<std::int64_t>(key_bytes)}};
    return p;
}

/// Tiles copied in another order; one unit is a row of tiles of a batch.
DeviceProgram heads_program(const Arch& arch, const OpConfig& c, const CreateHeads* create) {
    const TensorDesc& in = c.inputs[0];
    Stream s;
    const bool joins = create == nullptr;
    s.factory = joins ? "NLPConcatHeadsProgramFactory" : "NlpCreateHeadsDeviceOperation::Interleaved";
    std::int64_t tiles = 0;
    for (const TensorDesc& t : c.outputs) {
        tiles += t.volume() > 0 ? t.tiles() : 0;
        add_dram(s.shared, t, static_cast<double>(t.bytes()), true);
    }
    for (const TensorDesc& t : c.inputs) add_dram(s.shared, t, static_cast<double>(t.bytes()), false);
    // Work units: rows of tiles of a batch entry; 0.81.1 also splits joined heads, the releases whose cores are recorded did not.
    const std::int64_t rows = std::max<std::int64_t>(
        1, ceil_div(dim(in, 1), 32) *
               (joins ? dim(in, 3) * (c.core_count ? 1 : dim(in, 2)) : in.rows() / std::max<std::int64_t>(1, dim(in, 1))));
    const bool decode = c.outputs[0].sharded() && !(create && create->transpose_k_heads);
    const bool splits_heads = !joins && !decode && !create->transpose_k_heads.value_or(false);
    const std::int64_t units = splits_heads ? rows * (create->num_heads + 2 * create->num_kv_heads.value_or(1)) : rows;
    s.cores = decode ? shard_cores(arch, c.outputs[0]) : split_cores(arch, c, units);
    s.units = tiles;
    // A core that 0.81.1 gives single heads of a row of tiles copies no more than those; recorded cores are of releases that gave whole
    // rows.
    const std::int64_t shared_out = splits_heads && !c.core_count ? units : rows;
    s.per_core = ceil_div(shared_out, s.cores) * std::max<std::int64_t>(1, tiles / shared_out);
    s.page_bytes = static_cast<double>(in.tile_bytes());
    s.reader = page_read(arch, in, s.page_bytes);
    s.writer = page_write(arch, s.page_bytes);
    s.shared.write_hidden = arch.k.eltwise_write_hidden;
    if (joins && !c.release.any_bank_first) {  // written in whole rows: the first ones queue for the banks on which they begin
        s.shared.read_banks_hit = bank_spread(s.cores, std::max<std::int64_t>(1, tiles / rows), arch.dram_banks).effective;
        s.shared.run_pages = static_cast<double>(s.per_core);
    }
    DeviceProgram p = stream(arch, c, s);
    finish_in_rounds(p, shared_out, s.cores);
    const std::int64_t head = std::max<std::int64_t>(1, ceil_div(joins ? dim(in, 0) * dim(in, 2) : dim(c.outputs[0], 0), 32));
    p.circular_buffers = {{"heads", (splits_heads || joins ? 2 : 6) * head * in.tile_bytes()}};
    if (decode || (joins && resident(in))) {
        p.factory = joins ? "NLPConcatHeadsDecodeProgramFactory" : "NLPCreateQKVHeadsDecodeInterleavedProgramFactory";
        p.circular_buffers.clear();
        // Two kernels of a core copy lines of 16 elements, each those of one column of faces: all heads of its user, or its head of all
        // users.
        Phase& phase = p.work.classes[0].phases[0];
        const TensorDesc& gathered = joins ? in : c.outputs[0];
        const auto shares =
            static_cast<double>(joins ? dim(in, 2) : create->num_heads + 2 * create->num_kv_heads.value_or(create->num_heads));
        phase = Phase{};
        phase.items = 1;
        const double lines = static_cast<double>(ceil_div(dim(gathered, 0), 32)) * arch.k.head_line;
        phase.stages = {{Unit::Reader, shares * lines}};
        if (!joins && !resident(in)) {  // a head's lines are waited for before the next head's are requested
            phase.stages[0].cycles += shares * page_read(arch, in, 32);
            // Lines that are shorter than what DRAM's addresses are aligned to pass through a buffer of the core.
            if (in_dram(in) && 16 * in.element_bytes() < static_cast<double>(arch.dram_align))
                phase.stages[0].cycles += shares * (lines + arch.k.read_local);
        }
        phase.extra_cycles = page_read(arch, in, 32);
        phase.extra_parts = {{sim::Term::Read, phase.extra_cycles}};
        p.work.sharded = true;
        p.work.has_compute = false;
    }
    return p;
}

}  // namespace

DeviceProgram plan(const Arch& arch, const OpConfig& c, const CreateHeads& op) {
    const bool own_shard = resident(c.inputs[0]) && c.inputs[0].memory == TensorMemoryLayout::BLOCK_SHARDED && resident(c.outputs[0]);
    return own_shard ? split_shards(arch, c, op) : heads_program(arch, c, &op);
}
DeviceProgram plan(const Arch& arch, const OpConfig& c, const ConcatHeads&) { return heads_program(arch, c, nullptr); }

DeviceProgram plan(const Arch& arch, const OpConfig& c, const Rotary& op) {
    const Constants& k = arch.k;
    const TensorDesc& in = c.inputs[0];
    const std::int64_t heads = dim(in, 2), w = ceil_div(in.width(), 32), rows = std::max<std::int64_t>(1, in.tiles() / w);
    const bool llama = op.llama.value_or(false), local = resident(in);
    // The interleaved program of the llama form splits batch and sequence; a core turns all heads of its positions.
    const std::int64_t turned_at_once = llama && !local ? std::max<std::int64_t>(1, heads) : 1;
    // Queries and keys of one launch lie on different cores; the program ends with the larger shards.
    const bool fused = op.fused_qk.value_or(false) && local && c.outputs.size() > 1;
    const int cores =
        local ? shard_cores(arch, in) + (fused ? shard_cores(arch, c.outputs[1]) : 0) : split_cores(arch, c, rows / turned_at_once);
    Phase phase;
    phase.items = local ? ceil_div(shard_of(arch, in).h, 32) : ceil_div(rows / turned_at_once, cores) * turned_at_once;
    phase.coupling = k.stage_exponent;
    const double bytes = static_cast<double>(in.tile_bytes()), tiles = static_cast<double>(w);
    // x, cos and sin are read together; rotation is a matmul with one tile, then two multiplies and an add.
    phase.stages = {
        {Unit::Reader, tiles * (page_read(arch, in, bytes) + (turned_at_once > 1 ? 0 : 2 * k.second_operand))},
        {Unit::Compute, tiles * (4 * (turned_at_once > 1 ? arch.k.tile_pass : k.unary_tile) + k.fpu_tile * phases(c))},
        {Unit::Writer, tiles * page_write(arch, bytes)}};
    // On resident shards each of the four passes over a row waits for the pass before. In the fused form two of them wait, for the packer
    // alone: the sine for the rotated row, the sum for both products.
    if (local) {
        const double turns = fused ? 2 * k.unary_tile : 4 * arch.k.pass_turn;
        phase.stages = {phase.stages[1]};
        phase.stages[0].cycles = turns + tiles * (4 * arch.k.tile_pass + k.fpu_tile * phases(c));
    }
    for (const TensorDesc& t : c.inputs) add_dram(phase.shared, t, static_cast<double>(t.bytes()), false);
    for (std::size_t i = 1; i < std::min<std::size_t>(3, c.inputs.size()); ++i)  // cos and sin again for every head
        add_dram(
            phase.shared, c.inputs[i],
            static_cast<double>(c.inputs[i].bytes()) *
                static_cast<double>(turned_at_once > 1 ? 0 : std::max<std::int64_t>(0, heads * dim(in, 3) - 1)),
            false);
    add_dram(phase.shared, c.outputs[0], static_cast<double>(c.outputs[0].bytes()), true);
    const char* factory = !llama  ? "RotaryEmbeddingProgramFactory"
                          : local ? "RotaryEmbeddingLlamaMultiCoreSharded"
                                  : "RotaryEmbeddingLlamaMultiCore";
    DeviceProgram p = one_phase(factory, arch, cores, std::move(phase), true, false);
    const std::int64_t t = in.tile_bytes(), o = c.outputs[0].tile_bytes();
    const std::int64_t t1 = c.inputs.size() > 1 ? c.inputs[1].tile_bytes() : t, t2 = c.inputs.size() > 2 ? c.inputs[2].tile_bytes() : t;
    if (llama) {
        p.circular_buffers = {{"products", 3 * w * t}};
        if (!local) {
            p.circular_buffers.push_back({"operands", 2 * w * (t + t1 + t2) + 2048});
            p.circular_buffers.push_back({"out", 2 * w * o});
            if (!c.core_count) {  // placed on the whole grid
                p.cores = arch.cores();
                p.grid_x = arch.grid_x;
                p.grid_y = arch.grid_y;
            }
        }
    } else {
        const bool decode = op.decode.value_or(false);  // one row of cos and sin is untilized, repeated and tilized again
        p.circular_buffers = {
            {"in", 4 * w * t},
            {"angles", (decode ? 1 : 2) * w * (t1 + t2)},
            {"scalars", 4 * 2048},
            {"out", 2 * w * o},
            {"repeated", decode ? 4 * w * 2048 : 0}};
    }
    return p;
}

DeviceProgram plan(const Arch& arch, const OpConfig& c, const UpdateCache& op) {
    const TensorDesc& update = c.inputs.size() > 1 ? c.inputs[1] : c.inputs[0];
    Stream s;
    const bool fill = op.op == "FILL";
    s.factory = fill ? "FillCacheMultiCoreProgramFactory" : "UpdateCacheMultiCoreProgramFactory";
    s.page_bytes = static_cast<double>(update.tile_bytes());
    s.units = update.tiles();
    const std::int64_t w = ceil_div(update.width(), 32), rows = std::max<std::int64_t>(1, s.units / std::max<std::int64_t>(1, w));
    s.cores = split_cores(arch, c, rows);
    s.per_core = ceil_div(rows, s.cores) * w;
    s.reader = page_read(arch, resident(update) ? false : in_dram(update), s.page_bytes);
    s.writer = page_write(arch, s.page_bytes);
    // A single position is inserted by untilizing, patching and tilizing the row of tiles again.
    if (!fill) s.compute = 2 * (arch.k.untilize_tile + arch.k.tilize_tile) + arch.k.untilize_block;
    add_dram(s.shared, update, static_cast<double>(update.bytes()), false);
    s.shared.dram_write_bytes += static_cast<double>(update.bytes());
    DeviceProgram p = stream(arch, c, s);
    const std::int64_t t = c.inputs[0].tile_bytes(), u = update.tile_bytes();
    if (fill) {
        p.circular_buffers = {{"page", 2 * u}};
        if (c.inputs.size() > 2) {  // paged: a row of tiles is read, and written, before the next
            p.factory = "PagedFillCacheProgramFactory";
            Phase& phase = p.work.classes[0].phases[0];
            phase.items = ceil_div(rows, s.cores);
            phase.stages = {
                {Unit::Reader, tiles_read(arch, update, static_cast<double>(w))},
                {Unit::Writer, static_cast<double>(w) * page_write(arch, s.page_bytes) + arch.k.write_barrier}};
        }
    } else if (resident(update)) {  // paged: a core per user
        p.factory = "PagedUpdateCacheProgramFactory";
        // A chain: the position and its page are looked up, the row of tiles is read, untilized, patched with the new line, tilized and
        // written back.
        const Constants& k = arch.k;
        const TensorDesc& cache = c.inputs[0];
        const auto tiles = static_cast<double>(w);
        const double page = static_cast<double>(cache.tile_bytes());
        Phase& phase = p.work.classes[0].phases[0];
        phase.items = 1;
        phase.extra_cycles = {};
        phase.stages = {
            {Unit::Reader,
             (op.positions.value_or(false) ? 2 * page_read(arch, true, 64) : 0) + page_read(arch, cache, page) +
                 (tiles - 1) * std::max(k.mm_issue, page / k.mm_read_rate),
             0, 1},
            {Unit::Compute, k.untilize_block + tiles * k.untilize_tile + k.tilize_start + k.tilize_block + tiles * k.tilize_tile, 0, 1},
            {Unit::Writer, k.read_l1 + tiles * page_write(arch, page) + k.write_barrier, 0, 1}};
        // The tiles of further heads are read and untilized meanwhile; patching, tilizing and writing them back follows the head before.
        const auto further = static_cast<double>(std::max<std::int64_t>(1, dim(cache, 2)) - 1);
        phase.extra_cycles = further * (k.read_local + k.tilize_start + k.tilize_block + tiles * (k.tilize_tile + page_write(arch, page)));
        phase.extra_parts = {{sim::Term::Write, phase.extra_cycles}};
        p.circular_buffers = {
            {"cache", 2 * w * t},
            {"rows", 4 * w * 2048},
            {"out", dim(update, 2) * w * t},
            {"positions", op.positions.value_or(false) ? 2 * 2048 : 0}};
        p.cores = shard_cores(arch, update);
    } else {
        const std::int64_t deep = 2 * std::min<std::int64_t>(2, dim(c.inputs[0], 3));
        p.circular_buffers = {{"cache", deep * w * t}, {"in", 2 * w * u}, {"rows", 2 * deep * w * 2048}, {"out", 32 * w * t}};
    }
    return p;
}

/// Prefill attention: query chunks over cores; per key chunk two matmuls and an online softmax.
DeviceProgram plan(const Arch& arch, const OpConfig& c, const Sdpa& op) {
    if (c.inputs.size() < 3) throw std::invalid_argument(c.label() + "needs Q, K and V");
    const Constants& k = arch.k;
    const TensorDesc& q = c.inputs[0];
    const TensorDesc& key = c.inputs[1];
    const std::int64_t batch = dim(q, 3), heads = dim(q, 2), sq = ceil_div(dim(q, 1), 32), d = ceil_div(dim(q, 0), 32),
                       sk = ceil_div(dim(key, 1), 32);
    const std::int64_t q_chunk = std::max<std::int64_t>(1, std::min<std::int64_t>(sq, ceil_div(op.q_chunk.value_or(32), 32))),
                       k_chunk = std::max<std::int64_t>(1, std::min<std::int64_t>(sk, ceil_div(op.k_chunk.value_or(32), 32)));
    const std::int64_t units = batch * heads * ceil_div(sq, q_chunk);
    const Pair grid = op.core_grid.value_or(Pair{});
    const std::int64_t placed =
        !c.core_count && grid[0] > 0 && grid[1] > 0 ? std::min<std::int64_t>(grid[0] * grid[1], arch.cores()) : units;
    const int cores = split_cores(arch, c, std::min(units, placed));
    const double k_steps = static_cast<double>(ceil_div(sk, k_chunk)), causal = op.is_causal ? 0.5 * (1 + 1.0 / k_steps) : 1.0;
    // A causal core pairs an early with a late query chunk; what is left over is a late one.
    const std::int64_t each = ceil_div(units, cores);
    const double steps = op.is_causal ? static_cast<double>(each / 2) * (k_steps + 1) +
                                            static_cast<double>(each % 2) * (each > 1 ? k_steps : std::ceil(k_steps))
                                      : static_cast<double>(each) * std::ceil(k_steps * causal);
    const double macs = 2.0 * static_cast<double>(q_chunk * k_chunk * d), scores = static_cast<double>(q_chunk * k_chunk);
    const double math = macs * k.fpu_tile * phases(c) * k.fpu_overhead;
    const bool masked = op.mask.value_or(false) && c.inputs.size() > 3;
    const double compute =
        math + arch.k.attention_step +
        scores * (arch.k.attention_score * (c.compute.fp32_dest_acc ? arch.k.wide_dst : 1) + (masked ? arch.k.tile_pass : 0));
    double reader = 2.0 * static_cast<double>(k_chunk * d) * std::max(k.mm_issue, static_cast<double>(key.tile_bytes()) / k.mm_read_rate) +
                    page_read(arch, key, 0);
    if (masked) reader += scores * page_read(arch, c.inputs[3], static_cast<double>(c.inputs[3].tile_bytes()));
    Phase phase;
    phase.items = static_cast<std::int64_t>(std::max(1.0, steps));
    phase.coupling = k.stage_exponent;
    phase.stages = {{Unit::Reader, reader}, {Unit::Compute, compute}};
    phase.shared.dram_read_bytes =
        static_cast<double>(q.bytes()) + (in_dram(key) ? 2.0 * static_cast<double>(k_chunk * d * key.tile_bytes()) * steps * cores : 0);
    if (masked && in_dram(c.inputs[3]))
        phase.shared.dram_read_bytes += scores * static_cast<double>(c.inputs[3].tile_bytes()) * steps * cores;
    add_dram(phase.shared, c.outputs[0], static_cast<double>(c.outputs[0].bytes()), true);
    phase.extra_cycles = k.sdpa_start;
    phase.extra_parts = {{sim::Term::Launch, phase.extra_cycles}};
    DeviceProgram p = one_phase("SDPAProgramFactory", arch, cores, std::move(phase), true, false);
    const double fpu_cycles = steps * macs * k.fpu_tile * phases(c);
    p.work.total_math_cycles =
        std::min(fpu_cycles * cores, 2.0 * static_cast<double>(batch * heads * sq * sk * d) * causal * k.fpu_tile * phases(c));
    p.circular_buffers = {
        {"q", (units > cores ? 2 : 1) * q_chunk * d * q.tile_bytes()},
        {"k", 2 * k_chunk * d * key.tile_bytes()},
        {"v", 2 * k_chunk * d * key.tile_bytes()},
        {"scores", q_chunk * k_chunk * 2048},
        {"out", 4 * q_chunk * d * 2048},
        {"statistics", 6 * q_chunk * 2048},
        {"scalers", 2 * 2048}};
    if (op.is_causal || op.mask.value_or(false)) p.circular_buffers.push_back({"mask", 2 * q_chunk * k_chunk * 2048});
    place_on(p, arch, grid);
    return p;
}

}  // namespace ttnn_shim::strategy
