// The attention kernel, shared by prefill, decode and paged forms.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "tensor/gemm.hpp"
#include "ops/launch.hpp"
#include "tensor/tensix.hpp"

namespace ttnn_shim {

/// One independent set of query rows against one key/value sequence. Strides in elements; data bfloat16.
struct AttentionShape {
    int64_t batch = 1, heads = 1, kv_heads = 1, queries = 1, keys = 1, depth = 1, depth_v = 1;
    bool causal = false;  ///< query i sees keys 0 .. i
};

/// Scores of one query row against keys [first, first + count), already scaled.
struct KeyScores {
    int64_t first, count;
    float* scores;
    /// Only keys [low, high) stay visible.
    void keep(int64_t low, int64_t high) const;
};

/// What a query row may see: adds masks to the scores in place, a block of keys at a time.
using ScoreMask = std::function<void(int64_t batch, int64_t head, int64_t query, const KeyScores& block)>;

/// The program's numerics, and what they need to know of its operands.
struct AttentionMath {
    TensixMath math{.fidelity = ttnn::MathFidelity::HiFi2};
    int64_t key_chunk = 32;  ///< keys whose results leave Dst together and are added in L1
    DataType q = DataType::BFLOAT16, k = DataType::BFLOAT16, v = DataType::BFLOAT16;
};
/// Of a program: its compute config (or HiFi2 with a 16-bit Dst) and the chunks of its program config.
AttentionMath attention_math(const Program& program, const Tensor& q, const Tensor& k, const Tensor& v);

/// output[b, h, q, :] = softmax(scale * q . k + mask) v. Dense [B, H, S, D] bfloat16 operands. `sink` (one value per head, or null)
/// joins the softmax's denominator. Scores are made a block of keys at a time and never stored as a whole; weights are rounded to
/// bfloat16 before the division by their sum. In the tensix numerics mode: attend_as_tensix.
void attend(
    const AttentionShape& shape, const AttentionMath& math, const void* q, const void* k, const void* v, void* output,
    DataType output_dtype, float scale, const ScoreMask& mask, const float* sink);

/// The same with the FPU's bit model, in the order of the device's program; see docs/numerics.md. Slow.
void attend_as_tensix(
    const AttentionShape& shape, const AttentionMath& math, const void* q, const void* k, const void* v, void* output,
    DataType output_dtype, float scale, const ScoreMask& mask, const float* sink);

}  // namespace ttnn_shim
