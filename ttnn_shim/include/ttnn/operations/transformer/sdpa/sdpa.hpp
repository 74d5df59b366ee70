// Attention of a whole sequence (prefill).
#pragma once

#include <optional>
#include <string>
#include <tuple>

#include "ttnn/operations/core/compute_kernel/compute_kernel_config.hpp"
#include "ttnn/operations/transformer/sdpa_config.hpp"
#include "ttnn/types.hpp"

namespace ttnn::transformer {

/// q [B, H, Sq, D], k and v [B, H / group, Sk, D] -> [B, H, Sq, D]. attn_mask [1 or B, 1 or H, Sq, Sk], added to the scaled scores.
Tensor scaled_dot_product_attention(
    const Tensor& input_tensor_q, const Tensor& input_tensor_k, const Tensor& input_tensor_v,
    const std::optional<Tensor>& attn_mask = std::nullopt, bool is_causal = true, std::optional<float> scale = std::nullopt,
    std::optional<uint32_t> sliding_window_size = std::nullopt, const std::optional<MemoryConfig>& memory_config = std::nullopt,
    std::optional<operations::transformer::SDPAProgramConfig> program_config = std::nullopt,
    std::optional<ComputeKernelConfig> compute_kernel_config = std::nullopt, const std::optional<Tensor>& attention_sink = std::nullopt,
    const std::optional<Tensor>& cu_window_seqlens = std::nullopt, uint32_t windowed_q_token_offset = 0,
    const std::optional<Tensor>& windowed_q_token_offset_tensor = std::nullopt, bool output_concat_heads = false,
    const std::optional<Tensor>& attn_mask_block_map = std::nullopt);

/// Attention of two sequences [B, H, N, D] and [B, H, L, D] over both, one behind the other ("rear"): a result for each.
std::tuple<Tensor, Tensor> joint_scaled_dot_product_attention(
    const Tensor& input_tensor_q, const Tensor& input_tensor_k, const Tensor& input_tensor_v, const Tensor& joint_tensor_q,
    const Tensor& joint_tensor_k, const Tensor& joint_tensor_v, const std::string& joint_strategy,
    operations::transformer::SDPAProgramConfig program_config, std::optional<float> scale = std::nullopt,
    std::optional<ComputeKernelConfig> compute_kernel_config = std::nullopt);

/// Causal attention of a chunk of queries [B, H, Sq, D] that starts at position chunk_start_idx, on a paged cache.
Tensor chunked_scaled_dot_product_attention(
    const Tensor& input_tensor_q, const Tensor& input_tensor_k, const Tensor& input_tensor_v, const Tensor& page_table_tensor,
    int64_t chunk_start_idx, std::optional<float> scale = std::nullopt, const std::optional<MemoryConfig>& memory_config = std::nullopt,
    std::optional<operations::transformer::SDPAProgramConfig> program_config = std::nullopt,
    std::optional<ComputeKernelConfig> compute_kernel_config = std::nullopt,
    std::optional<operations::transformer::PagedCacheGeometryOverride> paged_cache_geometry = std::nullopt,
    std::optional<uint32_t> sliding_window_size = std::nullopt, const std::optional<Tensor>& attention_sink = std::nullopt);
Tensor chunked_scaled_dot_product_attention(
    const Tensor& input_tensor_q, const Tensor& input_tensor_k, const Tensor& input_tensor_v, const Tensor& page_table_tensor,
    const Tensor& chunk_start_idx_tensor, std::optional<float> scale = std::nullopt,
    const std::optional<MemoryConfig>& memory_config = std::nullopt,
    std::optional<operations::transformer::SDPAProgramConfig> program_config = std::nullopt,
    std::optional<ComputeKernelConfig> compute_kernel_config = std::nullopt,
    std::optional<operations::transformer::PagedCacheGeometryOverride> paged_cache_geometry = std::nullopt,
    std::optional<uint32_t> sliding_window_size = std::nullopt, const std::optional<Tensor>& attention_sink = std::nullopt);

}  // namespace ttnn::transformer
