#include "ops/transformer/attention.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>

#include "ops/data_movement/strided_copy.hpp"
#include "ops/kernels/block_kernels.hpp"

namespace ttnn_shim {

namespace {

// A work item's float32 scores: they and the operands they are made from should stay in a level-2 cache.
constexpr int64_t ITEM_BYTES = 1 << 20;
constexpr int64_t MOST_ROWS = 256;

struct Operands {
    const std::byte *q, *k, *v;
    std::byte* output;
    DataType output_dtype;
    float scale;
    const ScoreMask& mask;
    const float* sink;
};

/// Scores of one query row -> bfloat16 weights.
void weigh_row(
    const AttentionShape& s, const Operands& o, int64_t flat_head, int64_t query, float* scores, int64_t keys, bfloat16* weights) {
    const auto& kernel = kernels::kernel_set();
    if (o.mask) o.mask(flat_head / s.heads, flat_head % s.heads, query, scores);
    const auto seen = static_cast<size_t>(s.causal ? std::min(query + 1, keys) : keys);
    const float* sink = o.sink == nullptr ? nullptr : o.sink + flat_head % s.heads;
    float peak = kernel.peak_row(scores, seen);  // a NaN comes back through the sum
    if (sink != nullptr) peak = std::max(peak, *sink);
    float sum = kernel.exp_sum_row(scores, scores, seen, 1.0F, peak);
    if (sink != nullptr) sum += std::exp(*sink - peak);
    kernel.scale_to_bf16_row(scores, reinterpret_cast<uint16_t*>(weights), seen, 1.0F / sum);
    std::fill(weights + seen, weights + keys, bfloat16(0.0F));
}

}  // namespace

void attend(
    const AttentionShape& s, const void* q, const void* k, const void* v, void* output, DataType output_dtype, float scale,
    const ScoreMask& mask, const float* sink) {
    if (s.batch * s.heads * s.queries * s.depth_v == 0) return;
    const Operands o{
        static_cast<const std::byte*>(q),
        static_cast<const std::byte*>(k),
        static_cast<const std::byte*>(v),
        static_cast<std::byte*>(output),
        output_dtype,
        scale,
        mask,
        sink};
    const auto out_size = static_cast<int64_t>(stored_bytes(output_dtype));
    const int64_t group = s.heads / s.kv_heads;
    const int64_t pairs = s.batch * s.kv_heads;  // (batch, kv head), each with `group` query heads
    const int64_t pair_bytes = std::max<int64_t>(1, group * s.queries * s.keys * 4);
    // Small heads: an item is several pairs, and the query heads of a pair share their keys in one taller product. Else an item is
    // some query rows of one head; under a causal mask it multiplies only the keys that its last row sees.
    const bool whole = pair_bytes <= ITEM_BYTES && (!s.causal || s.queries <= 64);
    const int64_t threads = omp_get_max_threads();
    const int64_t pairs_per_item =
        whole ? std::clamp<int64_t>(std::min(ITEM_BYTES / pair_bytes, (pairs + threads - 1) / threads), 1, pairs) : 1;
    const int64_t rows_per_item =
        whole ? s.queries
              : std::clamp<int64_t>(
                    ITEM_BYTES / std::max<int64_t>(1, s.keys * 4) / 32 * 32, 32, std::min(MOST_ROWS, (s.queries + 31) / 32 * 32));
    const int64_t row_blocks = whole ? 1 : (s.queries + rows_per_item - 1) / rows_per_item;
    const int64_t items = whole ? (pairs + pairs_per_item - 1) / pairs_per_item : pairs * group * row_blocks;
    const int64_t score_count = (whole ? pairs_per_item * group : 1) * rows_per_item * s.keys;

    // Few rows against many keys: oneDNN multiplies a transposed second operand of that shape without the matrix unit, so the keys are
    // turned once, and all of them are multiplied even when a causal row needs less.
    std::shared_ptr<Values> turned;
    if (!whole) {
        turned = Values::allocate(static_cast<size_t>(pairs * s.keys * s.depth) * sizeof(bfloat16));
        const auto keys = static_cast<size_t>(s.keys), depth = static_cast<size_t>(s.depth);
        strided_copy(
            2, o.k, turned->data(),
            {{static_cast<size_t>(pairs), s.keys * s.depth, s.keys * s.depth}, {depth, 1, s.keys}, {keys, s.depth, 1}});
    }

    std::atomic<int64_t> next{0};
    parallel_for(static_cast<size_t>(std::min(threads, items)), 1, [&](size_t, size_t) {
        const auto scores = Values::allocate(static_cast<size_t>(score_count) * sizeof(float));
        const auto weights = Values::allocate(static_cast<size_t>(score_count) * sizeof(bfloat16));
        auto* score = reinterpret_cast<float*>(scores->data());
        auto* weight = reinterpret_cast<bfloat16*>(weights->data());
        for (int64_t item = next++; item < items; item = next++) {
            const int64_t head = whole ? 0 : item / row_blocks;  // first of the item, b * heads + h
            const int64_t pair = whole ? item * pairs_per_item : head / group;
            const int64_t first_head = whole ? pair * group : head;
            const int64_t count = whole ? std::min(pairs_per_item, pairs - pair) : 1;
            const int64_t row = whole ? 0 : (row_blocks - 1 - item % row_blocks) * rows_per_item;  // long causal rows first
            const int64_t rows = std::min(rows_per_item, s.queries - row);
            const int64_t keys = s.causal ? std::min(s.keys, row + rows) : s.keys;
            const int64_t first_row = first_head * s.queries + row;
            MatmulCall call;
            if (count > 1) call.batch = call.batch_a = call.batch_b = {count};
            call.m = whole ? group * rows : rows;
            call.k = s.depth;
            call.n = s.keys;
            call.transpose_b = whole;
            call.a = {o.q + first_row * s.depth * 2, DataType::BFLOAT16, nullptr};
            call.b = {(whole ? o.k : turned->data()) + pair * s.keys * s.depth * 2, DataType::BFLOAT16, nullptr};
            call.alpha = scale;
            call.c = score;
            call.c_dtype = DataType::FLOAT32;
            matmul_in_thread(call);
            const int64_t lines = count * call.m;
            for (int64_t line = 0; line < lines; ++line) {
                weigh_row(s, o, first_head + line / rows, row + line % rows, score + line * s.keys, keys, weight + line * keys);
            }
            MatmulCall mix;
            mix.batch = call.batch;
            mix.batch_a = call.batch_a;
            mix.batch_b = call.batch_b;
            mix.m = call.m;
            mix.k = keys;
            mix.n = s.depth_v;
            mix.a = {weight, DataType::BFLOAT16, nullptr};
            mix.b = {o.v + pair * s.keys * s.depth_v * 2, DataType::BFLOAT16, nullptr};
            mix.c = o.output + first_row * s.depth_v * out_size;
            mix.c_dtype = output_dtype == DataType::FLOAT32 ? DataType::FLOAT32 : DataType::BFLOAT16;
            matmul_in_thread(mix);
        }
    });
}

}  // namespace ttnn_shim
