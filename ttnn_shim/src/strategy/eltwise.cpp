// Unary, binary, ternary, typecast, copy: one tile at a time through reader -> compute -> writer, or in place on resident shards.
#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string>

#include "strategy/common.hpp"

namespace ttnn_shim::strategy {
namespace {

/// A row of the table on this machine.
std::optional<double> scaled_row(const Arch& arch, std::string_view row) {
    const std::optional<double> cycles = sfpu_row(arch, row);
    return cycles ? std::optional(arch.k.sfpu_scale * *cycles) : std::nullopt;
}

}  // namespace

double sfpu_cycles(const Arch& arch, std::string_view op, bool approx) {
    if (op == "GELU" && approx) op = "GELU_LUT";
    const std::optional<double> cycles = scaled_row(arch, op);
    if (!cycles) throw std::invalid_argument("unary op '" + std::string(op) + "' has no cost: add a row to arch/sfpu.csv");
    return op == "EXP" && approx ? *cycles * arch.k.sfpu_exp_approx : *cycles;
}

namespace {

/// SFPU cycles per tile of an op on several tiles in the destination registers: rows BINARY_* and TERNARY_* of sfpu.csv, else a short
/// program.
double sfpu_of_several(const Arch& arch, const std::string& row, double otherwise) {
    return scaled_row(arch, row).value_or(arch.k.sfpu_scale * otherwise);
}

/// Unpack, pack and synchronisation of one tile through Dst.
double copy_tile(const Arch& arch, const TensorDesc& t) {
    const bool wide = t.dtype == DataType::FLOAT32 || t.dtype == DataType::UINT32 || t.dtype == DataType::INT32;
    return arch.k.unary_tile + (wide ? arch.k.tile_32bit : 0) + arch.k.unary_byte * static_cast<double>(t.tile_bytes());
}

std::int64_t pages_of(const TensorDesc& t) { return t.layout == Layout::TILE ? t.tiles() : t.rows(); }
double page_bytes(const TensorDesc& t) { return static_cast<double>(t.layout == Layout::TILE ? t.tile_bytes() : t.stick_bytes()); }

/// Tiles of one shard (row-major shards are processed as 1024-element pages too).
std::int64_t shard_tiles(const Arch& arch, const TensorDesc& t) {
    const Shard s = shard_of(arch, t);
    if (t.layout == Layout::TILE) return ceil_div(s.h, 32) * ceil_div(s.w, 32);
    return std::max<std::int64_t>(1, ceil_div(s.h * s.w, 1024));
}

DeviceProgram resident_program(const Arch& arch, const OpConfig& c, const char* factory, const TensorDesc& t, double compute) {
    Phase phase;
    phase.items = shard_tiles(arch, t);
    phase.stages.push_back({Unit::Compute, compute});
    const int cores = static_cast<int>(c.core_count.value_or(shard_cores(arch, t)));
    return one_phase(factory, arch, cores, std::move(phase), true, true);
}

DeviceProgram tile_stream(
    const Arch& arch, const OpConfig& c, std::string factory, double reader, double compute, const std::vector<const TensorDesc*>& reads) {
    const TensorDesc& out = c.outputs[0];
    Stream s;
    s.factory = std::move(factory);
    s.units = pages_of(out);
    s.page_bytes = page_bytes(out);
    s.reader = reader;
    s.compute = compute;
    s.writer = page_write(arch, s.page_bytes);
    for (const TensorDesc* t : reads) {
        add_dram(s.shared, *t, static_cast<double>(t->bytes()), false);
        s.reads_dram |= in_dram(*t);
    }
    add_dram(s.shared, out, static_cast<double>(out.bytes()), true);
    s.writes_dram = in_dram(out);
    s.shared.same_walk = c.release.reads_and_writes_in_step;
    s.shared.write_hidden = arch.k.eltwise_write_hidden;
    DeviceProgram p = stream(arch, c, s);
    for (std::size_t i = 0; i < reads.size(); ++i)
        p.circular_buffers.push_back(buffer("in" + std::to_string(i), static_cast<std::int64_t>(page_bytes(*reads[i]))));
    p.circular_buffers.push_back(buffer("out", static_cast<std::int64_t>(s.page_bytes)));
    return p;
}

/// Unary and binary programs occupy the whole worker grid; cores beyond the number of tiles have nothing to do.
void whole_grid(DeviceProgram& p, const Arch& arch, const OpConfig& c) {
    if (c.core_count) return;
    p.cores = arch.cores();
    p.grid_x = arch.grid_x;
    p.grid_y = arch.grid_y;
}

/// Between two functions of a fused program: the tile goes through a buffer in L1.
constexpr std::string_view HANDOFF = "L1_SCRATCH";
/// Most bytes of L1 that a fused program keeps for what goes from function to function.
constexpr std::int64_t SCRATCH_BYTES = 128 * 1024;

bool is_fused(const Unary& op) { return std::find(op.ops.begin(), op.ops.end(), HANDOFF) != op.ops.end(); }

/// Cycles of one function of a fused program on a tile, from unpacking to packing: as the program of that function alone has them.
double fused_step(const Arch& arch, const OpConfig& c, const std::string& step) {
    const Constants& k = arch.k;
    const TensorDesc& out = c.outputs[0];
    constexpr std::string_view FPU = "FPU_", SEVERAL = "BINARY_";
    const bool wide = out.element_bytes() > 2;
    if (step.starts_with(FPU) && !wide) {
        const double multiply = step == "FPU_MUL" ? k.elwmul_phase * (phases(c) - 1) : 0;
        return std::max(static_cast<double>(out.tile_bytes()) / k.unpack_two_rate + k.binary_tile + multiply, copy_tile(arch, out));
    }
    if (step.starts_with(FPU) || step.starts_with(SEVERAL)) {
        const std::string name = step.substr(step.find('_') + 1);
        const double general = name == "DIV" || name == "POWER" ? k.sfpu_binary_divide : k.sfpu_binary;
        return 2 * copy_tile(arch, out) + sfpu_of_several(arch, std::string(SEVERAL) + name, general);
    }
    return copy_tile(arch, out) + sfpu_cycles(arch, step, false);
}

/// One program for a tree of elementwise functions: each operand read and the result written once. The functions follow each other on a
/// tile, each with its own unpacking and packing, and hand over through L1 (tt-mlir's D2M since 2026-03; no published times).
DeviceProgram fused_program(const Arch& arch, const OpConfig& c, const Unary& op) {
    const TensorDesc& out = c.outputs[0];
    double compute = 0;
    std::int64_t handoffs = 0;
    for (const std::string& step : op.ops) {
        if (step == HANDOFF) {
            compute += arch.k.cb_pass;
            ++handoffs;
        } else {
            compute += fused_step(arch, c, step);
        }
    }
    double reader = 0;
    std::vector<const TensorDesc*> reads;
    for (const TensorDesc& in : c.inputs) {
        if (resident(in)) continue;
        reader += reads.empty() ? page_read(arch, in, page_bytes(in)) : arch.k.second_operand;
        reads.push_back(&in);
    }
    DeviceProgram p = reads.empty() && resident(out) ? resident_program(arch, c, "FusedEltwise", out, compute)
                                                     : tile_stream(arch, c, "FusedEltwise", reader, compute, reads);
    p.circular_buffers.push_back({"scratch", std::min(handoffs * out.tile_bytes(), SCRATCH_BYTES)});
    return p;
}

}  // namespace

DeviceProgram plan(const Arch& arch, const OpConfig& c, const Unary& op) {
    if (is_fused(op)) return fused_program(arch, c, op);
    const TensorDesc& in = c.inputs[0];
    const TensorDesc& out = c.outputs[0];
    double compute = copy_tile(arch, in);
    for (const std::string& function : op.ops) compute += sfpu_cycles(arch, function, op.approx.value_or(false));
    const bool local = resident(in) && resident(out);
    const double beside = local ? 0 : std::min(arch.k.pack_beside_sfpu, compute - copy_tile(arch, in));
    compute -= beside;
    if (local) return resident_program(arch, c, "UnaryDeviceOperation::ProgramFactory", in, compute);
    DeviceProgram p = tile_stream(arch, c, "UnaryDeviceOperation::ProgramFactory", page_read(arch, in, page_bytes(in)), compute, {&in});
    p.work.extra_cycles += beside;  // the last tile is packed alone
    whole_grid(p, arch, c);
    return p;
}

DeviceProgram plan(const Arch& arch, const OpConfig& c, const Typecast&) {
    const TensorDesc& in = c.inputs[0];
    const TensorDesc& out = c.outputs[0];
    // Float to 32-bit integers goes through a long SFPU sequence; the others are a copy with a format change.
    const bool to_int =
        (out.dtype == DataType::UINT32 || out.dtype == DataType::INT32) && in.dtype != DataType::INT32 && in.dtype != DataType::UINT32;
    const double compute = copy_tile(arch, in) + (to_int ? arch.k.sfpu_to_int : arch.k.sfpu_scale * arch.k.sfpu_typecast);
    if (resident(in) && resident(out) && in.tile_bytes() == out.tile_bytes())
        return resident_program(arch, c, "TypecastShardedProgramFactory", in, compute);
    return tile_stream(arch, c, "TypecastProgramFactory", page_read(arch, in, page_bytes(in)), compute, {&in});
}

namespace {

DeviceProgram copy_program(const Arch& arch, const OpConfig& c, const char* factory) {
    const TensorDesc& in = c.inputs[0];
    const TensorDesc& out = c.outputs[0];
    const double compute = in.dtype != out.dtype ? copy_tile(arch, in) : 0;
    DeviceProgram p = tile_stream(arch, c, factory, page_read(arch, in, page_bytes(in)), compute, {&in});
    if (compute <= 0) p.circular_buffers.pop_back();  // one buffer from reader to writer
    if (compute <= 0 && in.layout == Layout::ROW_MAJOR) p.circular_buffers = {buffer("in", round_up(in.stick_bytes(), arch.dram_align))};
    return p;
}

/// The writer fills a tile with the number of a binary op while the first tile is read; the first product waits for both.
void wait_for_number(DeviceProgram& p, const Arch& arch, const TensorDesc& t, double first_read) {
    const double fill = 1024 * t.element_bytes() / 4 * arch.k.scalar_word;
    for (Stage& stage : p.work.classes[0].phases[0].stages)
        if (stage.unit == Unit::Compute) stage.head_cycles += std::max(0.0, fill - first_read);
}

/// Functions on an operand: each of its tiles goes through the destination registers and a buffer of its own first, once for all of them.
double chain_on_operand(const Arch& arch, const TensorDesc& operand, const std::optional<Names>& chain) {
    if (!chain || chain->empty()) return 0;
    double cycles = copy_tile(arch, operand) + arch.k.cb_pass;
    for (const std::string& function : *chain) cycles += sfpu_cycles(arch, function, false);
    return cycles;
}

/// Result tiles for which the kernel prepares one tile of an operand: a column serves a row of tiles, a single value a whole matrix; rows
/// are spread out by the reader, tile by tile.
double tiles_per_operand_tile(const TensorDesc& out, std::string_view broadcast, char operand) {
    if (broadcast.empty() || broadcast.back() != operand) return 1;
    const double columns = static_cast<double>(std::max<std::int64_t>(1, ceil_div(out.width(), 32)));
    if (broadcast.starts_with("COL")) return columns;
    const std::int64_t height = out.padded.size() > 1 ? out.padded[out.padded.size() - 2] : 1;
    return broadcast.starts_with("SCALAR") ? columns * static_cast<double>(std::max<std::int64_t>(1, ceil_div(height, 32))) : 1;
}

bool logical_op(std::string_view op) { return op.rfind("LOGICAL_", 0) == 0; }

}  // namespace

DeviceProgram plan(const Arch& arch, const OpConfig& c, const Binary& op) {
    const Constants& k = arch.k;
    const TensorDesc& a = c.inputs[0];
    const TensorDesc& out = c.outputs[0];
    const bool scalar = op.scalar.value_or(false) || c.inputs.size() < 2;
    const TensorDesc& b = scalar ? a : c.inputs[1];
    const std::string bcast = op.broadcast.value_or("NONE");
    const Names post_ops = op.post_ops.value_or(Names{});
    const double tile = static_cast<double>(a.layout == Layout::TILE ? a.tile_bytes() : 2048);
    // Two operands share the unpackers: 32 B/cycle each; ELWMUL repeats per fidelity phase.
    double compute = tile / k.unpack_two_rate + k.binary_tile;
    const bool multiplies = op.op == "MUL" || op.op == "SQUARED_DIFFERENCE";
    if (multiplies) compute += k.elwmul_phase * (phases(c) - 1);
    const bool wide = a.dtype == DataType::FLOAT32 || a.dtype == DataType::INT32 || a.dtype == DataType::UINT32;
    const bool on_sfpu = op.is_sfpu.value_or(false);
    if (on_sfpu || wide) {
        const double general = op.op == "DIV" || op.op == "POWER" ? k.sfpu_binary_divide : k.sfpu_binary;
        compute = 2 * copy_tile(arch, a) + sfpu_of_several(arch, "BINARY_" + op.op, general);
    }
    compute += chain_on_operand(arch, a, op.pre_ops) / tiles_per_operand_tile(out, bcast, 'A');
    if (!scalar) compute += chain_on_operand(arch, b, op.pre_ops_b) / tiles_per_operand_tile(out, bcast, 'B');
    int passes = static_cast<int>(post_ops.size());
    for (const std::string& post : post_ops) {
        if (post == "RELU")
            --passes;  // the packer applies it
        else
            compute += sfpu_cycles(arch, post, false);
    }
    // Both operands of a logical op go through a not-equal-zero pass first; since 2026 that is part of the measured SFPU cost.
    if (logical_op(op.op) && c.release.truth_by_passes) passes += 2;
    const double alone = on_sfpu ? std::min(arch.k.pack_beside_sfpu, compute - 2 * copy_tile(arch, a)) : 0;
    const double streaming = copy_tile(arch, a) + passes * (copy_tile(arch, a) + k.cb_pass);

    const bool native =
        resident(a) && resident(out) && (scalar || (resident(b) && same_tiles(a, b) && b.dtype == a.dtype)) && out.dtype == a.dtype &&
        (!a.shard || a.rows() % a.shard->h == 0 || a.memory == TensorMemoryLayout::BLOCK_SHARDED || op.legacy.value_or(false));
    if (native) {
        DeviceProgram p = resident_program(arch, c, "BinaryNgDeviceOperation::ProgramFactory", a, compute);
        // Only the cores that hold shards work, whatever the size of the recorded worker grid.
        p.work.cores = std::min(p.cores, shard_cores(arch, a));
        if (!scalar) p.work.extra_cycles += arch.k.binary_start;
        if (scalar) {
            wait_for_number(p, arch, a, 0);
            whole_grid(p, arch, c);
            p.circular_buffers = {buffer("scalar", a.tile_bytes(), 1)};
        }
        return p;
    }
    const bool b_streams = !scalar && bcast.rfind("SCALAR", 0) != 0;
    const bool half_native = resident(a) && resident(out) && !scalar && a.dtype == b.dtype && (!a.shard || a.rows() % a.shard->h == 0);
    double reader;
    if (half_native)
        reader = page_read(arch, b, static_cast<double>(b.tile_bytes()));
    else {
        const bool dram = in_dram(a) || (!scalar && in_dram(b));
        reader = page_read(arch, dram, page_bytes(a)) + (scalar ? 0 : k.second_operand);
    }
    if (bcast.rfind("ROW", 0) == 0 || bcast.rfind("COL", 0) == 0) reader += k.bcast_fill;
    std::vector<const TensorDesc*> reads;
    if (!half_native) reads.push_back(&a);
    if (!scalar) reads.push_back(&b);
    DeviceProgram p = tile_stream(arch, c, "BinaryNgDeviceOperation::ProgramFactory", reader, std::max(compute - alone, streaming), reads);
    whole_grid(p, arch, c);
    if (!scalar) p.work.extra_cycles += arch.k.binary_start + alone;
    if (scalar) wait_for_number(p, arch, a, reader);
    if (op.op == "LOGICAL_AND" || op.op == "LOGICAL_OR" || op.op == "LOGICAL_XOR")  // both operands become 0 or 1 first
        p.circular_buffers.push_back(buffer("truth", a.tile_bytes()));
    if (half_native) p.circular_buffers.push_back(buffer("in1", static_cast<std::int64_t>(page_bytes(a))));
    if (scalar) p.circular_buffers.push_back(buffer("scalar", static_cast<std::int64_t>(page_bytes(a)), 1));
    if (bcast != "NONE" && !scalar) p.circular_buffers.push_back(buffer("broadcast", b.tile_bytes()));
    Phase& phase = p.work.classes[0].phases[0];
    if (!scalar && !same_tiles(a, b) && in_dram(b) && b_streams) {
        // A broadcast operand is re-read for every output tile; one with a single page keeps a single bank busy.
        const double pages = static_cast<double>(pages_of(out));
        phase.shared.dram_read_bytes += pages * static_cast<double>(b.tile_bytes()) - static_cast<double>(b.bytes());
        const double b_pages = static_cast<double>(std::max<std::int64_t>(1, pages_of(b)));
        phase.shared.hot_bank_bytes = pages * static_cast<double>(b.tile_bytes()) / std::min<double>(b_pages, arch.dram_banks);
    }
    return p;
}

/// Normalisation with given statistics: input, mean, variance and optional scale and shift stream together.
DeviceProgram plan(const Arch& arch, const OpConfig& c, const BatchNorm&) {
    const TensorDesc& a = c.inputs[0];
    const double extra = static_cast<double>(c.inputs.size() - 1);
    const double compute = (extra + 1) * copy_tile(arch, a) + sfpu_cycles(arch, "RSQRT", false);
    DeviceProgram p = tile_stream(
        arch, c, "BatchNormOperation::BatchNormFactory", page_read(arch, a, page_bytes(a)) + extra * arch.k.second_operand, compute, {&a});
    p.circular_buffers = {{"operands", 18 * a.tile_bytes()}};
    whole_grid(p, arch, c);
    return p;
}

DeviceProgram plan(const Arch& arch, const OpConfig& c, const Ternary& op) {
    const TensorDesc& a = c.inputs[0];
    double reader = page_read(arch, a, page_bytes(a));
    std::vector<const TensorDesc*> reads;
    for (std::size_t i = 0; i < std::min<std::size_t>(3, c.inputs.size()); ++i) {
        if (i) reader += arch.k.second_operand;
        reads.push_back(&c.inputs[i]);
    }
    double compute = copy_tile(arch, a) + arch.k.sfpu_scale * arch.k.sfpu_ternary +
                     static_cast<double>(reads.size() - 1) * static_cast<double>(a.tile_bytes()) / arch.k.unpack_two_rate;
    if (!c.release.operands_unpacked_together)  // each operand is copied to the destination registers
        compute = static_cast<double>(reads.size()) * copy_tile(arch, a) +
                  sfpu_of_several(arch, "TERNARY_" + op.op.value_or(""), arch.k.sfpu_ternary);
    DeviceProgram p = tile_stream(arch, c, "TernaryProgramFactory", reader, compute, reads);
    whole_grid(p, arch, c);
    p.work.extra_cycles += arch.k.binary_start;
    return p;
}

/// Any op that only writes its output (full, zeros, arange).
DeviceProgram plan(const Arch& arch, const OpConfig& c, const Fill&) { return tile_stream(arch, c, "FillProgramFactory", 0, 0, {}); }

DeviceProgram plan(const Arch& arch, const OpConfig& c, const Copy&) { return copy_program(arch, c, "CopySameMemoryConfigProgramFactory"); }
DeviceProgram plan(const Arch& arch, const OpConfig& c, const Clone&) { return copy_program(arch, c, "CloneProgramFactory"); }

}  // namespace ttnn_shim::strategy
