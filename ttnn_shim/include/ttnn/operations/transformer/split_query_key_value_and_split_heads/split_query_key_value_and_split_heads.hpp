// Fused projections -> heads.
#pragma once

#include <optional>
#include <tuple>

#include "ttnn/types.hpp"

namespace ttnn::transformer {

/// [B, S, (H + 2 * KV) * D] -> q [B, H, S, D], k [B, KV, S, D] ([B, KV, D, S] when transpose_key), v [B, KV, S, D].
/// With kv_input_tensor [B, S, 2 * KV * D] the first input holds the queries only.
std::tuple<Tensor, Tensor, Tensor> split_query_key_value_and_split_heads(
    const Tensor& input_tensor, const std::optional<Tensor>& input_tensor_kv, uint32_t num_heads,
    std::optional<uint32_t> num_kv_heads = std::nullopt, bool transpose_key = true,
    const std::optional<MemoryConfig>& memory_config = std::nullopt, bool use_falcon7b_backend = false);

}  // namespace ttnn::transformer
