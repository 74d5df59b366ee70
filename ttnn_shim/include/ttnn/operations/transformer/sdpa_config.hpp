// Program config of attention: chunk sizes and cores. It does not change values.
#pragma once

#include <cstddef>
#include <optional>

#include "ttnn/types.hpp"

namespace ttnn::operations::transformer {

struct SDPAProgramConfig {
    CoreCoord compute_with_storage_grid_size;
    std::optional<CoreRangeSet> sub_core_grids = std::nullopt;
    std::size_t q_chunk_size = 0;
    std::size_t k_chunk_size = 0;
    std::optional<bool> exp_approx_mode = std::nullopt;
    uint32_t max_cores_per_head_batch = 16;
    uint32_t max_k_splits = 1;
    std::optional<MathFidelity> matmul_math_fidelity = std::nullopt;
    bool segmented_accumulation = false;
};

/// A cache whose blocks are seen with other extents than its tensor's. Not supported here: calls that give one are refused.
struct PagedCacheGeometryOverride {
    uint32_t block_size = 0;
    uint32_t num_kv_heads = 0;
};

}  // namespace ttnn::operations::transformer
