// Head split and concatenation of language models, rank 4.
#pragma once

#include <array>
#include <optional>
#include <tuple>
#include <vector>

#include "ttnn/types.hpp"

namespace ttnn::experimental {

/// [B, 1, S, (H + 2 * KV) * D] -> q [B, H, S, D], k, v [B, KV, S, D] (k transposed on request).
std::tuple<Tensor, Tensor, Tensor> nlp_create_qkv_heads(
    const Tensor& input, const std::optional<Tensor>& input_kv, uint32_t num_q_heads, std::optional<uint32_t> num_kv_heads = std::nullopt,
    bool transpose_k_heads = true, bool kv_tied = false, const std::optional<MemoryConfig>& memory_config = std::nullopt,
    const std::optional<std::vector<std::optional<Tensor>>>& optional_output_tensors = std::nullopt);
/// [B, H, S, D] -> [B, 1, S, H * D].
Tensor nlp_concat_heads(const Tensor& input, const std::optional<MemoryConfig>& memory_config = std::nullopt);
/// Decode: [1, 1, B, (H + 2 * KV) * D] -> q [1, B, H, D], k, v [1, B, KV, D].
std::tuple<Tensor, Tensor, Tensor> nlp_create_qkv_heads_decode(
    const Tensor& input, uint32_t num_heads, std::optional<const uint32_t> num_kv_heads,
    std::optional<std::array<Tensor, 3>>& optional_output_tensors, std::optional<const bool> overlap_qk_coregrid = true,
    const std::optional<const Tensor>& batch_offset = std::nullopt, std::optional<const uint32_t> slice_size = std::nullopt,
    const std::optional<MemoryConfig>& memory_config = std::nullopt);
/// Decode: [1, B, H padded to 32, D] -> [1, 1, B, H * D].
Tensor nlp_concat_heads_decode(
    const Tensor& input, uint32_t num_heads, const std::optional<MemoryConfig>& memory_config = std::nullopt,
    const std::optional<Tensor>& optional_output_tensor = std::nullopt, const std::optional<CoreRangeSet>& sub_core_grids = std::nullopt);

/// Heads of fixed numbers and sizes: 12 of 64 values each for q, k and v; 71 of 64 for q, 1 for k and v; 32 values per head, q thrice.
std::tuple<Tensor, Tensor, Tensor> nlp_create_qkv_heads_vit(
    const Tensor& input, const std::optional<MemoryConfig>& memory_config = std::nullopt,
    const std::optional<std::vector<std::optional<Tensor>>>& optional_output_tensors = std::nullopt);
std::tuple<Tensor, Tensor, Tensor> nlp_create_qkv_heads_falcon7b(
    const Tensor& input, const std::optional<MemoryConfig>& memory_config = std::nullopt);
std::tuple<Tensor, Tensor, Tensor> nlp_create_qkv_heads_segformer(
    const Tensor& input, const std::optional<MemoryConfig>& memory_config = std::nullopt,
    const std::optional<std::vector<std::optional<Tensor>>>& optional_output_tensors = std::nullopt);

}  // namespace ttnn::experimental
