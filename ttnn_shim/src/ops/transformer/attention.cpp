#include "ops/transformer/attention.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>

#include "ops/matmul/dst_rounding.hpp"

namespace ttnn_shim {

namespace {

// What a thread works on at a time (scores, weights, a block of keys and values, results) should stay in its level-2 cache.
constexpr int64_t ITEM_BYTES = 1 << 20;
constexpr int64_t KEY_BLOCK = 512;  ///< also: oneDNN leaves the matrix unit unused for a transposed operand of many more rows
constexpr int64_t ROW_BLOCK = 256;
constexpr int64_t FEWEST_ITEMS = 8;  ///< of work that can be divided, on every machine: a row's place in its block decides how it is summed

struct Operands {
    const std::byte *q, *k, *v;
    std::byte* output;
    DataType output_dtype;
    float scale;
    const ScoreMask& mask;
    const float* sink;
    // How the chip rounds. With a 32-bit Dst scores and results are float32 until the end; their own errors are below those of the weights.
    bool narrow;                        ///< a 16-bit Dst
    uint32_t source_b;                  ///< bits of queries, weights and reciprocals that are multiplied
    DstRounding score_law, result_law;  ///< of a 16-bit Dst
    kernels::WeightRounding weight_rounding;
};

/// How the work is cut. An item is `pairs` (batch, kv head) pairs with all their query rows and keys, or some rows of one pair or one
/// head that walk over blocks of keys.
struct Plan {
    int64_t pairs = 1;      ///< per item
    int64_t unit_rows = 1;  ///< query rows that share keys and lie one behind the other: of a head, or of a group of heads
    int64_t item_rows = 1;  ///< of those, per item
    int64_t key_block = 1;
    int64_t units = 1, row_blocks = 1, items = 1;

    explicit Plan(const AttentionShape& s) {
        const int64_t group = s.heads / s.kv_heads, all_pairs = s.batch * s.kv_heads;
        const int64_t pair_bytes = std::max<int64_t>(1, group * s.queries * s.keys * static_cast<int64_t>(sizeof(float)));
        const bool few_rows = group * s.queries < 32;
        key_block = s.keys;
        if (pair_bytes <= ITEM_BYTES && (s.keys <= KEY_BLOCK || few_rows) && (!s.causal || s.queries <= 64)) {
            pairs = std::clamp<int64_t>(std::min(ITEM_BYTES / pair_bytes, (all_pairs + FEWEST_ITEMS - 1) / FEWEST_ITEMS), 1, all_pairs);
            unit_rows = item_rows = group * s.queries;
            units = all_pairs;
            items = (all_pairs + pairs - 1) / pairs;
            return;
        }
        key_block = std::min(s.keys, KEY_BLOCK);
        const bool merged = s.queries < 64;
        unit_rows = merged ? group * s.queries : s.queries;
        units = merged ? all_pairs : all_pairs * group;
        const int64_t shares = (units * unit_rows / FEWEST_ITEMS + 31) / 32 * 32;
        item_rows = std::clamp<int64_t>(shares, 32, std::min(ROW_BLOCK, (unit_rows + 31) / 32 * 32));
        row_blocks = (unit_rows + item_rows - 1) / item_rows;
        items = units * row_blocks;
    }
};

/// The softmax of one query row so far. `peak` in the unit of the scores: before the scale, with a mask after it.
struct Running {
    float peak = -INFINITY;
    float sum = 0;
};

/// Whether scores are scaled before the exponential and not in it.
bool scales_first(const Operands& o) { return o.mask || !(o.scale > 0); }

/// Scores of one row and block -> weights relative to the row's largest score so far. Returns what earlier results shrink by.
float weigh(
    const AttentionShape& s, const Operands& o, int64_t flat_head, int64_t query, const KeyScores& block, bfloat16* weights,
    Running& running) {
    const auto& kernel = kernels::kernel_set();
    const auto count = static_cast<size_t>(block.count);
    const auto seen = s.causal ? static_cast<size_t>(std::clamp<int64_t>(query + 1 - block.first, 0, block.count)) : count;
    const float factor = scales_first(o) ? 1.0F : o.scale;
    float highest = 0;
    if (o.narrow) highest = kernel.settle_peak_row(block.scores, seen, o.score_law);
    if (scales_first(o)) {
        kernel.scale_row(block.scores, count, o.scale);
        if (o.mask) o.mask(flat_head / s.heads, flat_head % s.heads, query, block);
    }
    if (!o.narrow || scales_first(o)) highest = kernel.peak_row(block.scores, seen);
    const float peak = std::max(running.peak, highest);  // a NaN comes back through the sum
    const float shift = peak == -INFINITY ? 0.0F : peak;
    const float sum = kernel.weights_row(block.scores, reinterpret_cast<uint16_t*>(weights), seen, factor, shift, o.weight_rounding);
    std::fill(weights + seen, weights + count, bfloat16(0.0F));
    const float shrink = running.peak == peak ? 1.0F : std::exp((running.peak - shift) * factor);
    running = {peak, running.sum * shrink + sum};
    return shrink;
}

/// output = results * (1 / sum), both as the source registers hold them.
void finish(const Operands& o, float* results, const std::vector<Running>& running, int64_t first_row, int64_t depth) {
    const auto& kernel = kernels::kernel_set();
    const auto width = static_cast<size_t>(depth);
    std::byte* target = o.output + static_cast<size_t>(first_row) * width * stored_bytes(o.output_dtype);
    const bool half = o.output_dtype == DataType::BFLOAT16 || is_block_float(o.output_dtype);
    for (size_t line = 0; line < running.size(); ++line, results += width, target += width * stored_bytes(o.output_dtype)) {
        const float sum = tensix_nearest(running[line].sum, !o.narrow);
        const float reciprocal = tensix_nearest(1.0F / sum, !o.narrow);
        const float factor =
            std::isfinite(reciprocal) ? std::bit_cast<float>(std::bit_cast<uint32_t>(reciprocal) & o.source_b) : reciprocal;
        if (o.narrow) kernel.settle_row(results, width, o.result_law);
        if (half) {
            kernel.scale_to_bf16_row(results, reinterpret_cast<uint16_t*>(target), width, factor);
        } else {
            kernel.scale_row(results, width, factor);
            store_f32(o.output_dtype, results, target, width);
        }
    }
}

/// A whole operand with the bits that are multiplied, where they are not all of them.
std::shared_ptr<Values> cut_operand(const Matrix& matrix, int64_t count) {
    if (!matrix.is_cut()) return nullptr;
    const auto values = static_cast<size_t>(count);
    auto copy = Values::allocate(values * sizeof(uint16_t));
    const auto* source = static_cast<const uint16_t*>(matrix.data);
    auto* target = reinterpret_cast<uint16_t*>(copy->data());
    const auto kept = static_cast<uint16_t>(matrix.kept_bits >> 16);
    parallel_for(values, 65536, [&](size_t begin, size_t end) {
        for (size_t i = begin; i < end; ++i) target[i] = source[i] & kept;
    });
    return copy;
}

}  // namespace

void KeyScores::keep(int64_t low, int64_t high) const {
    std::fill(scores, scores + std::clamp<int64_t>(low - first, 0, count), -INFINITY);
    std::fill(scores + std::clamp<int64_t>(high - first, 0, count), scores + count, -INFINITY);
}

AttentionMath attention_math(const Program& program, const Tensor& q, const Tensor& k, const Tensor& v) {
    AttentionMath result{.q = q.dtype(), .k = k.dtype(), .v = v.dtype()};
    if (program.compute) result.math = {program.compute->math_fidelity, program.compute->fp32_dest_acc_en, 0};
    const auto take_chunk = [&](const auto* operation) {
        if (operation && operation->k_chunk) result.key_chunk = std::max<int64_t>(32, *operation->k_chunk);
    };
    take_chunk(program.op.get_if<strategy::Sdpa>());
    take_chunk(program.op.get_if<strategy::SdpaDecode>());
    return result;
}

namespace {

/// Lines of queries that one thread computes together: `rows` of each of `count` units, all against the keys of one pair of heads.
struct QueryLines {
    int64_t count, rows, first_row, pair, last_key, key_block;
};

void attend_lines(
    const AttentionShape& s, const Operands& o, const QueryLines& q, float* score, bfloat16* weight, float* result,
    std::vector<Running>& running) {
    const auto [count, rows, first_row, pair, last_key, key_block] = q;
    const int64_t lines = count * rows;
    running.assign(static_cast<size_t>(lines), {});
    if (o.sink != nullptr) {
        for (int64_t line = 0; line < lines; ++line) {
            // The kernel scales sinks as it scales scores.
            const float value = o.sink[(first_row + line) / s.queries % s.heads] * (scales_first(o) ? o.scale : 1.0F);
            running[static_cast<size_t>(line)] = {value, value == -INFINITY ? 0.0F : 1.0F};
        }
    }
    for (int64_t key = 0; key < last_key; key += key_block) {
        const int64_t keys = std::min(key_block, last_key - key);
        MatmulCall call;
        if (count > 1) call.batch = call.batch_a = call.batch_b = {count};
        call.m = rows;
        call.k = s.depth;
        call.n = keys;
        call.transpose_b = true;
        call.a = {o.q + first_row * s.depth * 2, DataType::BFLOAT16, nullptr};
        call.b = {o.k + (pair * s.keys + key) * s.depth * 2, DataType::BFLOAT16, nullptr};
        call.c = score;
        call.c_dtype = DataType::FLOAT32;
        matmul_in_thread(call);
        for (int64_t line = 0; line < lines; ++line) {
            const float shrink = weigh(
                s, o, (first_row + line) / s.queries, (first_row + line) % s.queries, {key, keys, score + line * keys},
                weight + line * keys, running[static_cast<size_t>(line)]);
            if (key > 0 && shrink != 1.0F)
                kernels::kernel_set().scale_row(result + line * s.depth_v, static_cast<size_t>(s.depth_v), shrink);
        }
        call.k = keys;
        call.n = s.depth_v;
        call.transpose_b = false;
        call.a = {weight, DataType::BFLOAT16, nullptr};
        call.b = {o.v + (pair * s.keys + key) * s.depth_v * 2, DataType::BFLOAT16, nullptr};
        call.c = result;
        call.accumulate = key > 0;
        matmul_in_thread(call);
    }
}

}  // namespace

void attend(
    const AttentionShape& s, const AttentionMath& a, const void* q, const void* k, const void* v, void* output, DataType output_dtype,
    float scale, const ScoreMask& mask, const float* sink) {
    if (s.batch * s.heads * s.queries * s.depth_v == 0) return;
    if (numerics() == Numerics::Tensix) return attend_as_tensix(s, a, q, k, v, output, output_dtype, scale, mask, sink);
    const uint32_t source_a = source_a_bits(a.math), source_b = source_b_bits(a.math);
    const auto cut_q = cut_operand({q, a.q, nullptr, source_b}, s.batch * s.heads * s.queries * s.depth);
    const auto cut_k = cut_operand({k, a.k, nullptr, source_a}, s.batch * s.kv_heads * s.keys * s.depth);
    const auto cut_v = cut_operand({v, a.v, nullptr, source_a}, s.batch * s.kv_heads * s.keys * s.depth_v);
    TensixMath chunked = a.math;
    chunked.l1_block_tiles = (a.key_chunk + 31) / 32;
    const bool narrow = !a.math.fp32_dest;
    const auto weight_bits = static_cast<uint16_t>(source_b >> 16);
    const Operands o{
        cut_q ? cut_q->data() : static_cast<const std::byte*>(q),
        cut_k ? cut_k->data() : static_cast<const std::byte*>(k),
        cut_v ? cut_v->data() : static_cast<const std::byte*>(v),
        static_cast<std::byte*>(output),
        output_dtype,
        scale,
        mask,
        sink,
        narrow,
        source_b,
        dst_rounding(a.math, a.k, s.depth),
        dst_rounding(chunked, a.v, s.keys),
        {weight_bits, !narrow && weight_bits != 0xffff, narrow}};
    const Plan plan(s);
    const int64_t heads_per_unit = plan.unit_rows / s.queries, units_per_pair = s.heads / s.kv_heads / heads_per_unit;
    const auto most_lines = static_cast<size_t>(plan.pairs * plan.item_rows), most_keys = static_cast<size_t>(plan.key_block);

    std::atomic<int64_t> next{0};
    parallel_for(static_cast<size_t>(std::min<int64_t>(omp_get_max_threads(), plan.items)), 1, [&](size_t, size_t) {
        const auto scores = Values::allocate(most_lines * most_keys * sizeof(float));
        const auto weights = Values::allocate(most_lines * most_keys * sizeof(bfloat16));
        const auto results = Values::allocate(most_lines * static_cast<size_t>(s.depth_v) * sizeof(float));
        auto* score = reinterpret_cast<float*>(scores->data());
        auto* weight = reinterpret_cast<bfloat16*>(weights->data());
        auto* result = reinterpret_cast<float*>(results->data());
        std::vector<Running> running;
        for (int64_t item = next++; item < plan.items; item = next++) {
            const int64_t unit = item / plan.row_blocks * plan.pairs;
            const int64_t count = std::min(plan.pairs, plan.units - unit);
            const int64_t row = (plan.row_blocks - 1 - item % plan.row_blocks) * plan.item_rows;  // long causal rows first
            const int64_t rows = std::min(plan.item_rows, plan.unit_rows - row);
            const int64_t first_row = unit * plan.unit_rows + row, pair = unit / units_per_pair;
            const int64_t last_key = s.causal && heads_per_unit == 1 ? std::min(s.keys, row + rows) : s.keys;
            attend_lines(s, o, {count, rows, first_row, pair, last_key, plan.key_block}, score, weight, result, running);
            finish(o, result, running, first_row, s.depth_v);
        }
    });
}

}  // namespace ttnn_shim
