// Paged key/value caches [blocks, heads, block size, D] and a page table [users, blocks per user], written in place.
#pragma once

#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include "ttnn/operations/core/compute_kernel/compute_kernel_config.hpp"
#include "ttnn/types.hpp"

namespace ttnn::experimental {

/// One row per user: cache[user's block, :, position, :] = input[0, user, :heads, :]. Positions are `update_idxs` or, when given, the
/// values of `update_idxs_tensor` (negative = a user without a token). Without `page_table` the cache is [users, heads, S, D].
Tensor paged_update_cache(
    const Tensor& cache_tensor, const Tensor& input_tensor, const std::vector<uint32_t>& update_idxs,
    const std::optional<const Tensor>& update_idxs_tensor = std::nullopt, std::optional<bool> share_cache = std::nullopt,
    const std::optional<const Tensor>& page_table = std::nullopt, uint32_t batch_offset = 0,
    std::optional<const ComputeKernelConfig> compute_kernel_config = std::nullopt,
    const std::optional<const std::set<MeshCoordinate>>& mesh_coords = std::nullopt, std::optional<uint32_t> block_size = std::nullopt,
    std::optional<uint32_t> num_kv_heads = std::nullopt, std::optional<uint32_t> cache_position_modulo = std::nullopt);

/// The rows of input [1, heads, S, D] into the blocks of user `batch_idx` (or the only value of `batch_idx_tensor`).
Tensor paged_fill_cache(
    const Tensor& cache_tensor, const Tensor& input_tensor, const Tensor& page_table,
    const std::optional<const Tensor>& batch_idx_tensor = std::nullopt, uint32_t batch_idx = 0,
    std::optional<const ComputeKernelConfig> compute_kernel_config = std::nullopt,
    const std::optional<const std::set<MeshCoordinate>>& mesh_coords = std::nullopt, std::optional<uint32_t> block_size = std::nullopt,
    std::optional<uint32_t> cache_position_modulo = std::nullopt, const std::optional<const Tensor>& valid_seq_len_tensor = std::nullopt);

/// paged_update_cache of keys and values in one program.
std::tuple<Tensor, Tensor> paged_fused_update_cache(
    const Tensor& cache_tensor1, const Tensor& input_tensor1, const Tensor& cache_tensor2, const Tensor& input_tensor2,
    const std::vector<uint32_t>& update_idxs, const std::optional<const Tensor>& update_idxs_tensor = std::nullopt,
    std::optional<bool> share_cache = std::nullopt, const std::optional<const Tensor>& page_table = std::nullopt, uint32_t batch_offset = 0,
    std::optional<const ComputeKernelConfig> compute_kernel_config = std::nullopt,
    const std::optional<const std::set<MeshCoordinate>>& mesh_coords = std::nullopt);
/// The same at physical rows of the caches.
std::tuple<Tensor, Tensor> indexed_fused_update_cache(
    const Tensor& cache_tensor1, const Tensor& input_tensor1, const Tensor& cache_tensor2, const Tensor& input_tensor2,
    const Tensor& physical_update_idxs_tensor);

}  // namespace ttnn::experimental
