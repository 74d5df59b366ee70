// Attention in the tensix numerics mode: the steps of the device's program, each with the FPU's bit model.
#include <algorithm>
#include <cmath>

#include "ops/transformer/attention.hpp"
#include "tensor/access.hpp"

namespace ttnn_shim {
namespace {

constexpr int64_t TILE = 32;

using Values32 = std::vector<float>;

/// One head's query rows against one key/value sequence. Intermediate buffers have Dst's format.
class Head {
public:
    Head(const AttentionShape& s, const AttentionMath& a, float scale, const float* q, const float* k, const float* v)
        : s_(s),
          math_(a.math),
          scale_(scale),
          q_(q),
          k_(k),
          v_(v),
          rows_(static_cast<size_t>(s.queries)),
          peak_(rows_, -INFINITY),
          lane_sums_(rows_ * TILE, 0.0F),
          results_(rows_ * static_cast<size_t>(s.depth_v), 0.0F) {}

    /// Takes in keys [first, first + count). `hide` adds masks to a row of scores, in the unit of scaled scores.
    template <typename Hide>
    void chunk(int64_t first, int64_t count, Hide&& hide) {
        const auto keys = static_cast<size_t>(count);
        Values32 scores = product(q_, k_ + first * s_.depth, s_.depth, count, true);
        Values32 sums(rows_ * TILE, 0.0F), shrink(rows_);
        for (size_t row = 0; row < rows_; ++row) {
            float* line = scores.data() + row * keys;
            hide(static_cast<int64_t>(row), line);
            const float before = peak_[row];
            peak_[row] = std::max(before, *std::max_element(line, line + keys));
            for (size_t i = 0; i < keys; ++i) {
                line[i] = exponential(line[i], peak_[row]);
                float& sum = sums[row * TILE + i % TILE];
                sum = nearest(sum + line[i]);  // tiles are added in L1
            }
            shrink[row] = exponential(before, peak_[row]);
        }
        Values32 results = product(scores.data(), v_ + first * s_.depth_v, count, s_.depth_v, false);
        if (first > 0) {
            scale_rows(lane_sums_, TILE, shrink);
            for (size_t i = 0; i < sums.size(); ++i) sums[i] = tensix_add(sums[i], lane_sums_[i], math_.fp32_dest);
            scale_rows(results_, s_.depth_v, shrink);
            for (size_t i = 0; i < results.size(); ++i) results[i] = nearest(results[i] + results_[i]);
        }
        lane_sums_ = std::move(sums);
        results_ = std::move(results);
    }

    /// Adds the sink's share to the sums, divides, and gives rows as Dst holds them.
    const Values32& finish(const float* sink) {
        Values32 sums(rows_);
        MatmulCall call = call_of(s_.queries, TILE, 1);
        const Values32 ones(TILE, 1.0F);
        call.a.data = lane_sums_.data();
        call.b.data = ones.data();
        tensix_matmul(call, math_, sums.data());
        if (sink != nullptr) {
            const float logit = static_cast<float>(bfloat16(*sink));
            Values32 shrink(rows_);
            for (size_t row = 0; row < rows_; ++row) {
                const float before = peak_[row];
                peak_[row] = std::max(before, logit);
                shrink[row] = exponential(before, peak_[row]);
            }
            scale_rows(sums, 1, shrink);
            for (size_t row = 0; row < rows_; ++row) sums[row] = tensix_add(exponential(logit, peak_[row]), sums[row], math_.fp32_dest);
            scale_rows(results_, s_.depth_v, shrink);
        }
        for (float& sum : sums) sum = nearest(1.0F / sum);
        scale_rows(results_, s_.depth_v, sums);
        return results_;
    }

private:
    static MatmulCall call_of(int64_t m, int64_t k, int64_t n) {
        MatmulCall call;
        call.m = m;
        call.k = k;
        call.n = n;
        return call;
    }
    float nearest(float value) const { return tensix_nearest(value, math_.fp32_dest); }

    Values32 product(const float* left, const float* right, int64_t depth, int64_t columns, bool transposed) const {
        MatmulCall call = call_of(s_.queries, depth, columns);
        call.a.data = left;
        call.b.data = right;
        call.transpose_b = transposed;
        Values32 result(rows_ * static_cast<size_t>(columns));
        tensix_matmul(call, math_, result.data());
        return result;
    }

    /// exp((score - peak) * scale): the difference in the FPU, the rest in the SFPU.
    float exponential(float score, float peak) const {
        if (score == -INFINITY) return 0.0F;
        return nearest(std::exp(tensix_add(score, -peak, math_.fp32_dest) * scale_));
    }

    /// rows[r][i] *= factors[r] (ELWMUL: rows in SrcA, factors in SrcB).
    void scale_rows(Values32& rows, int64_t width, const Values32& factors) const {
        for (size_t row = 0; row < rows_; ++row) {
            float* line = rows.data() + row * static_cast<size_t>(width);
            MatmulCall call = call_of(1, 1, width);
            const Values32 copy(line, line + width);
            call.a.data = &factors[row];
            call.b.data = copy.data();
            tensix_matmul(call, math_, line);
        }
    }

    const AttentionShape& s_;
    TensixMath math_;
    float scale_;
    const float *q_, *k_, *v_;
    size_t rows_;
    Values32 peak_, lane_sums_, results_;
};

Values32 widened(const void* values, DataType dtype, int64_t count) {
    Values32 result(static_cast<size_t>(count));
    load_f32(dtype, values, result.data(), result.size());
    return result;
}

}  // namespace

void attend_as_tensix(
    const AttentionShape& s, const AttentionMath& a, const void* q, const void* k, const void* v, void* output, DataType output_dtype,
    float scale, const ScoreMask& mask, const float* sink) {
    const Values32 queries = widened(q, a.q, s.batch * s.heads * s.queries * s.depth);
    const Values32 keys = widened(k, a.k, s.batch * s.kv_heads * s.keys * s.depth);
    const Values32 values = widened(v, a.v, s.batch * s.kv_heads * s.keys * s.depth_v);
    for (int64_t flat = 0; flat < s.batch * s.heads; ++flat) {
        const int64_t batch = flat / s.heads, head = flat % s.heads, pair = batch * s.kv_heads + head / (s.heads / s.kv_heads);
        Head rows(
            s, a, scale, queries.data() + flat * s.queries * s.depth, keys.data() + pair * s.keys * s.depth,
            values.data() + pair * s.keys * s.depth_v);
        for (int64_t first = 0; first < s.keys; first += a.key_chunk) {
            const int64_t count = std::min(a.key_chunk, s.keys - first);
            rows.chunk(first, count, [&](int64_t query, float* scores) {
                if (mask) {  // the program adds the mask before the scale
                    Values32 added(static_cast<size_t>(count), 0.0F);
                    mask(batch, head, query, {first, count, added.data()});
                    for (int64_t i = 0; i < count; ++i) {
                        const float value = added[static_cast<size_t>(i)];
                        if (value == -INFINITY)
                            scores[i] = value;
                        else if (value != 0.0F)
                            scores[i] = tensix_add(scores[i], static_cast<float>(bfloat16(value / scale)), a.math.fp32_dest);
                    }
                }
                if (s.causal) std::fill(scores + std::clamp<int64_t>(query + 1 - first, 0, count), scores + count, -INFINITY);
            });
        }
        const Values32& results = rows.finish(sink == nullptr ? nullptr : sink + head);
        const size_t count = results.size();
        tensix_pack(
            output_dtype, results.data(), static_cast<std::byte*>(output) + static_cast<size_t>(flat) * count * stored_bytes(output_dtype),
            count, static_cast<size_t>(s.depth_v));
    }
}

}  // namespace ttnn_shim
