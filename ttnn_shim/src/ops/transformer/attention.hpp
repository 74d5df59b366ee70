// The attention kernel, shared by prefill, decode and paged forms.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "tensor/gemm.hpp"
#include "ops/launch.hpp"

namespace ttnn_shim {

/// One independent set of query rows against one key/value sequence. Strides in elements; data bfloat16.
struct AttentionShape {
    int64_t batch = 1, heads = 1, kv_heads = 1, queries = 1, keys = 1, depth = 1, depth_v = 1;
    bool causal = false;  ///< query i sees keys 0 .. i
};

/// What the scores of one query row may see: adds masks to `scores` (keys values, already scaled) in place.
using ScoreMask = std::function<void(int64_t batch, int64_t head, int64_t query, float* scores)>;

/// output[b, h, q, :] = softmax(scale * q . k + mask) v. Dense [B, H, S, D] bfloat16 operands. `sink` (one value per head, or null)
/// joins the softmax's denominator. `first_key`/`last_key` of a row come through the mask.
void attend(
    const AttentionShape& shape, const void* q, const void* k, const void* v, void* output, DataType output_dtype, float scale,
    const ScoreMask& mask, const float* sink);

}  // namespace ttnn_shim
