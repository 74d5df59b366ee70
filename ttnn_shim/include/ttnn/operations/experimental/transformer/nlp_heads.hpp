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

/// Heads of block-sharded tensors: [B, 1, S, groups of (q heads, k head, v head)], and of q beside k with v.
std::tuple<Tensor, Tensor, Tensor> create_qkv_heads(
    const Tensor& input_tensor, uint32_t num_q_heads, std::optional<uint32_t> num_kv_heads = std::nullopt, bool transpose_k_heads = true,
    const std::optional<MemoryConfig>& memory_config = std::nullopt,
    std::optional<std::array<Tensor, 3>> optional_output_tensors = std::nullopt);
std::tuple<Tensor, Tensor, Tensor> create_qkv_heads_from_separate_tensors(
    const Tensor& input_tensor_q, const Tensor& input_tensor_kv, uint32_t num_q_heads, std::optional<uint32_t> num_kv_heads = std::nullopt,
    bool transpose_k_heads = true, const std::optional<MemoryConfig>& memory_config = std::nullopt,
    const std::optional<std::array<Tensor, 3>>& optional_output_tensors = std::nullopt);
/// q, k (transposed) and v out of [B, 1, S, 3 * heads * D], and back.
std::tuple<Tensor, Tensor, Tensor> split_query_key_value_and_split_heads(
    const Tensor& input_tensor, const CoreCoord& compute_with_storage_grid_size,
    const std::optional<MemoryConfig>& memory_config = std::nullopt, uint32_t num_heads = 16,
    const std::optional<std::vector<std::optional<Tensor>>>& optional_output_tensors = std::nullopt);
Tensor concatenate_heads(
    const Tensor& input_tensor, const CoreCoord& compute_with_storage_grid_size,
    const std::optional<MemoryConfig>& memory_config = std::nullopt, const std::optional<Tensor>& optional_output_tensor = std::nullopt);
/// [1, 1, S, H * D] -> both halves of every head: [1, H, S, split_head_dim] twice.
std::tuple<Tensor, Tensor> nlp_create_q_heads_split(
    const Tensor& input_tensor, uint32_t num_heads, uint32_t split_head_dim,
    const std::optional<MemoryConfig>& memory_config = std::nullopt);
/// Heads of pairs [S, S, hidden], and back.
std::tuple<Tensor, Tensor, Tensor> nlp_create_qkv_heads_boltz(
    const Tensor& input_tensor_q, const std::optional<Tensor>& input_tensor_kv, uint32_t num_q_heads,
    std::optional<uint32_t> num_kv_heads = std::nullopt, bool transpose_k_heads = true,
    const std::optional<MemoryConfig>& memory_config = std::nullopt,
    const std::optional<std::vector<std::optional<Tensor>>>& optional_output_tensors = std::nullopt);
Tensor nlp_concat_heads_boltz(
    const Tensor& input_tensor, const std::optional<MemoryConfig>& memory_config = std::nullopt,
    std::optional<Tensor> optional_output_tensor = std::nullopt);

}  // namespace ttnn::experimental
