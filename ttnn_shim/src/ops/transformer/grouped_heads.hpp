// Heads of a block-sharded projection, spread over the cores that held it.
#pragma once

#include <optional>
#include <vector>

#include "ops/launch.hpp"

namespace ttnn_shim {

/// [B, S, hidden] in block shards -> q, k and v of [B, heads, S, D] in height shards (k [B, heads, D, S] when transposed). The columns are
/// grouped by key head: [q.. k v] per group.
std::vector<Tensor> split_sharded_heads(
    const Tensor& input, uint32_t num_heads, uint32_t num_kv_heads, bool transpose_key, const std::optional<MemoryConfig>& memory_config);

}  // namespace ttnn_shim
