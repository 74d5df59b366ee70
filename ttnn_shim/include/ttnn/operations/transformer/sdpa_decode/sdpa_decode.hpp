// Attention of one new token per user against a key/value cache.
#pragma once

#include <optional>
#include <vector>

#include "ttnn/operations/core/compute_kernel/compute_kernel_config.hpp"
#include "ttnn/operations/transformer/sdpa_config.hpp"
#include "ttnn/types.hpp"

namespace ttnn::transformer {

/// q [1, B, H, D], k and v [B, KV, S, D] -> [1, B, H, D]. Causal: user b sees positions up to cur_pos[b].
Tensor scaled_dot_product_attention_decode(
    const Tensor& input_tensor_q, const Tensor& input_tensor_k, const Tensor& input_tensor_v, bool is_causal = true,
    const std::optional<const Tensor>& attn_mask = std::nullopt, const std::vector<uint32_t>& cur_pos = {},
    const std::optional<const Tensor>& cur_pos_tensor = std::nullopt, const std::optional<const Tensor>& attention_sink = std::nullopt,
    std::optional<float> scale = std::nullopt, std::optional<uint32_t> sliding_window_size = std::nullopt,
    const std::optional<MemoryConfig>& memory_config = std::nullopt,
    std::optional<operations::transformer::SDPAProgramConfig> program_config = std::nullopt,
    std::optional<ComputeKernelConfig> compute_kernel_config = std::nullopt, std::optional<bool> share_cache = std::nullopt);

/// The same on a paged cache: k and v [blocks, KV, block size, D], page_table [B, blocks per user].
Tensor paged_scaled_dot_product_attention_decode(
    const Tensor& input_tensor_q, const Tensor& input_tensor_k, const Tensor& input_tensor_v, const Tensor& page_table_tensor,
    bool is_causal = true, const std::optional<const Tensor>& attn_mask = std::nullopt,
    const std::optional<const Tensor>& cur_pos_tensor = std::nullopt, const std::optional<const Tensor>& attention_sink = std::nullopt,
    std::optional<float> scale = std::nullopt, std::optional<uint32_t> sliding_window_size = std::nullopt,
    const std::optional<MemoryConfig>& memory_config = std::nullopt,
    std::optional<operations::transformer::SDPAProgramConfig> program_config = std::nullopt,
    std::optional<ComputeKernelConfig> compute_kernel_config = std::nullopt,
    std::optional<operations::transformer::PagedCacheGeometryOverride> paged_cache_geometry = std::nullopt,
    std::optional<uint32_t> cache_position_modulo = std::nullopt, uint32_t spec_multi_pos_tiles = 0);

/// Decoding with latent attention: without `input_tensor_v` the values are the first `head_dim_v` columns of the keys.
Tensor flash_multi_latent_attention_decode(
    const Tensor& input_tensor_q, const Tensor& input_tensor_k, const std::optional<const Tensor>& input_tensor_v, uint32_t head_dim_v,
    bool is_causal = true, const std::optional<const Tensor>& attn_mask = std::nullopt, const std::vector<uint32_t>& cur_pos = {},
    const std::optional<const Tensor>& cur_pos_tensor = std::nullopt, const std::optional<const Tensor>& attention_sink = std::nullopt,
    std::optional<float> scale = std::nullopt, std::optional<uint32_t> sliding_window_size = std::nullopt,
    const std::optional<MemoryConfig>& memory_config = std::nullopt,
    std::optional<operations::transformer::SDPAProgramConfig> program_config = std::nullopt,
    std::optional<ComputeKernelConfig> compute_kernel_config = std::nullopt);
Tensor paged_flash_multi_latent_attention_decode(
    const Tensor& input_tensor_q, const Tensor& input_tensor_k, const std::optional<const Tensor>& input_tensor_v, uint32_t head_dim_v,
    const Tensor& page_table_tensor, bool is_causal = true, const std::optional<const Tensor>& attn_mask = std::nullopt,
    const std::optional<const Tensor>& cur_pos_tensor = std::nullopt, const std::optional<const Tensor>& attention_sink = std::nullopt,
    std::optional<float> scale = std::nullopt, std::optional<uint32_t> sliding_window_size = std::nullopt,
    const std::optional<MemoryConfig>& memory_config = std::nullopt,
    std::optional<operations::transformer::SDPAProgramConfig> program_config = std::nullopt,
    std::optional<ComputeKernelConfig> compute_kernel_config = std::nullopt);

}  // namespace ttnn::transformer
