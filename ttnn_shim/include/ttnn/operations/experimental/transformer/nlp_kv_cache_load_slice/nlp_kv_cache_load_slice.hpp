// A slice of a key or value cache.
#pragma once

#include <optional>

#include "ttnn/types.hpp"

namespace ttnn::experimental {

/// Rows seq_len_start to seq_len_end of [B, H, S, D]: whole tiles.
Tensor nlp_kv_cache_load_slice(
    const Tensor& input_tensor, uint32_t seq_len_start, uint32_t seq_len_end,
    const std::optional<MemoryConfig>& memory_config = std::nullopt, const std::optional<Tensor>& optional_output_tensor = std::nullopt);

}  // namespace ttnn::experimental
