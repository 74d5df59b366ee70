// Rotary position embeddings.
#pragma once

#include <optional>
#include <tuple>

#include "ttnn/operations/core/compute_kernel/compute_kernel_config.hpp"
#include "ttnn/types.hpp"

namespace ttnn::experimental {

/// x * cos + rotate_half(x) * sin; x [B, H, S, D], caches [1, 1, S or more, D]. With token_index every row uses that row of the caches.
Tensor rotary_embedding(
    const Tensor& input_tensor, const Tensor& cos_cache, const Tensor& sin_cache, std::optional<uint32_t> token_index = std::nullopt,
    const std::optional<MemoryConfig>& memory_config = std::nullopt,
    std::optional<const ComputeKernelConfig> compute_kernel_config = std::nullopt);
/// x * cos + (x times trans_mat, 32 columns at a time) * sin. Prefill: x [1, H, S, D]; decode: x [1, B, H, D], caches [1, B, 1 or 32, D].
Tensor rotary_embedding_llama(
    const Tensor& input_tensor, const Tensor& cos_cache, const Tensor& sin_cache, const Tensor& trans_mat, bool is_decode_mode = false,
    const std::optional<MemoryConfig>& memory_config = std::nullopt,
    std::optional<const ComputeKernelConfig> compute_kernel_config = std::nullopt);
/// rotary_embedding with caches in the order of Hugging Face's models.
Tensor rotary_embedding_hf(
    const Tensor& input_tensor, const Tensor& cos_cache, const Tensor& sin_cache, bool is_decode_mode = false,
    const std::optional<MemoryConfig>& memory_config = std::nullopt,
    std::optional<const ComputeKernelConfig> compute_kernel_config = std::nullopt);
/// rotary_embedding_llama of q and k in one program, decode.
std::tuple<Tensor, Tensor> rotary_embedding_llama_fused_qk(
    const Tensor& q_input_tensor, const Tensor& k_input_tensor, const Tensor& cos_cache, const Tensor& sin_cache, const Tensor& trans_mat,
    std::optional<const ComputeKernelConfig> compute_kernel_config = std::nullopt);
/// (-second half, first half) of the last dimension.
Tensor rotate_half(const Tensor& input_tensor, const std::optional<MemoryConfig>& memory_config = std::nullopt);

}  // namespace ttnn::experimental
