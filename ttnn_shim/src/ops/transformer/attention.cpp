#include "ops/transformer/attention.hpp"

#include <algorithm>
#include <cmath>

#include "ops/kernels/block_kernels.hpp"

namespace ttnn_shim {

namespace {
constexpr int64_t SCORE_BYTES = 8 << 20;  ///< scores kept at a time: about a level-2 cache per thread pays, a level-3 still does
}

void attend(const AttentionShape& s, const void* q, const void* k, const void* v, void* output, DataType output_dtype, float scale, const ScoreMask& mask, const float* sink) {
  if (s.batch * s.heads * s.queries * s.depth_v == 0) return;
  const auto& kernel = kernels::kernel_set();
  const int64_t group = s.heads / s.kv_heads;
  const int64_t per_pair = s.queries * s.keys * 4;  // bytes of the scores of one head
  const int64_t pairs = s.batch * s.kv_heads;       // (batch, kv head); each with `group` query heads
  const int64_t pairs_at_once = std::clamp<int64_t>(SCORE_BYTES / std::max<int64_t>(1, per_pair * group), 1, pairs);
  // a single pair too large for the buffer: walk its query rows in chunks, one head at a time
  const bool chunked = per_pair * group > SCORE_BYTES && s.queries > 64;
  const int64_t rows_at_once = chunked ? std::clamp<int64_t>(SCORE_BYTES / std::max<int64_t>(1, s.keys * 4) / 32 * 32, 32, s.queries) : s.queries;
  const auto* q_bytes = static_cast<const std::byte*>(q);
  const auto* k_bytes = static_cast<const std::byte*>(k);
  const auto* v_bytes = static_cast<const std::byte*>(v);
  auto* out_bytes = static_cast<std::byte*>(output);
  const int64_t out_size = static_cast<int64_t>(stored_bytes(output_dtype));
  const int64_t heads_in_call = chunked ? 1 : group;
  const auto scores = Values::allocate(static_cast<size_t>((chunked ? rows_at_once : pairs_at_once * group * s.queries) * s.keys * 4));
  const auto weights = Values::allocate(scores->bytes() / 2);
  auto* score = reinterpret_cast<float*>(scores->data());
  auto* weight = reinterpret_cast<bfloat16*>(weights->data());

  for (int64_t pair = 0; pair < pairs; pair += chunked ? 1 : pairs_at_once) {
    const int64_t count = chunked ? 1 : std::min(pairs_at_once, pairs - pair);
    for (int64_t head = 0; head < (chunked ? group : 1); ++head) {
      for (int64_t row = 0; row < s.queries; row += rows_at_once) {
        const int64_t rows = std::min(rows_at_once, s.queries - row);
        const int64_t first_row = ((pair * group + head) * s.queries + row);
        MatmulCall call;
        call.batch = call.batch_a = {count, heads_in_call};
        call.batch_b = {count, 1};
        call.m = rows;
        call.k = s.depth;
        call.n = s.keys;
        if (!chunked) {  // the query heads of a group share their keys: one taller product
          call.batch = call.batch_a = call.batch_b = {count};
          call.m = heads_in_call * rows;
        }
        call.transpose_b = true;
        call.a = {q_bytes + first_row * s.depth * 2, DataType::BFLOAT16, nullptr};
        call.b = {k_bytes + pair * s.keys * s.depth * 2, DataType::BFLOAT16, nullptr};
        call.alpha = scale;
        call.c = score;
        call.c_dtype = DataType::FLOAT32;
        matmul(call);
        const auto lines = static_cast<size_t>(count * heads_in_call * rows);
        parallel_for(lines, std::max<size_t>(1, 4096 / static_cast<size_t>(std::max<int64_t>(1, s.keys))), [&](size_t begin, size_t end) {
          for (size_t line = begin; line < end; ++line) {
            const auto at = static_cast<int64_t>(line);
            const int64_t query = row + at % rows;
            const int64_t flat_head = pair * group + head + at / rows;  // b * heads + h
            float* values = score + at * s.keys;
            const auto n = static_cast<size_t>(s.keys);
            if (mask) mask(flat_head / s.heads, flat_head % s.heads, query, values);
            float peak = kernel.max_row(values, n);
            if (sink != nullptr) peak = std::max(peak, sink[flat_head % s.heads]);
            float sum = kernel.exp_sum_row(values, values, n, 1.0F, peak);
            if (sink != nullptr) sum += std::exp(sink[flat_head % s.heads] - peak);
            kernel.scale_row(values, n, 1.0F / sum);
            f32_to_bf16(values, weight + at * s.keys, n);
          }
        });
        MatmulCall mix;
        mix.batch = call.batch;
        mix.batch_a = call.batch_a;
        mix.batch_b = call.batch_b;
        mix.m = call.m;
        mix.k = s.keys;
        mix.n = s.depth_v;
        mix.a = {weight, DataType::BFLOAT16, nullptr};
        mix.b = {v_bytes + pair * s.keys * s.depth_v * 2, DataType::BFLOAT16, nullptr};
        mix.c = out_bytes + first_row * s.depth_v * out_size;
        mix.c_dtype = output_dtype == DataType::FLOAT32 ? DataType::FLOAT32 : DataType::BFLOAT16;
        matmul(mix);
      }
    }
  }
}

}  // namespace ttnn_shim
