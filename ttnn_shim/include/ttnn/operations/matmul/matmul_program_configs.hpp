// How a matmul is laid out on the cores. The shim plans with them; only fused activations change values. The defaults are those of the
// library's C++ structs: zeros that a call refuses, where Python requires the argument or derives it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "ttnn/operations/eltwise/unary/common/unary_op_types.hpp"
#include "ttnn/types.hpp"

namespace tt::tt_metal::experimental {
class GlobalCircularBuffer;
class PrefetcherPipe;
}  // namespace tt::tt_metal::experimental

namespace ttnn::operations::matmul {

struct MatmulMultiCoreProgramConfig {};

struct MatmulMultiCoreReuseProgramConfig {
    CoreCoord compute_with_storage_grid_size;
    std::size_t in0_block_w = 0;
    std::size_t out_subblock_h = 0;
    std::size_t out_subblock_w = 0;
    std::size_t per_core_M = 0;
    std::size_t per_core_N = 0;
    std::optional<CoreRangeSet> allowed_worker_cores = std::nullopt;
};

struct MatmulMultiCoreReuseMultiCastProgramConfig {
    CoreCoord compute_with_storage_grid_size;
    std::size_t in0_block_w = 0;
    std::size_t out_subblock_h = 0;
    std::size_t out_subblock_w = 0;
    std::size_t out_block_h = 0;
    std::size_t out_block_w = 0;
    std::size_t per_core_M = 0;
    std::size_t per_core_N = 0;
    bool transpose_mcast = false;
    std::optional<unary::UnaryWithParam> fused_activation = std::nullopt;
    bool fuse_batch = true;
    std::optional<CoreRangeSet> allowed_worker_cores = std::nullopt;
};

struct MatmulMultiCoreReuseMultiCast1DProgramConfig {
    CoreCoord compute_with_storage_grid_size;
    std::size_t in0_block_w = 0;
    std::size_t out_subblock_h = 0;
    std::size_t out_subblock_w = 0;
    std::size_t out_block_h = 0;
    std::size_t out_block_w = 0;
    std::size_t per_core_M = 0;
    std::size_t per_core_N = 0;
    bool fuse_batch = false;
    std::optional<unary::UnaryWithParam> fused_activation = std::nullopt;
    bool mcast_in0 = false;
    bool gather_in0 = false;
    CoreRangeSet hop_cores;
    std::size_t num_global_cb_receivers = 0;
    bool untilize_out = false;
    std::optional<CoreRangeSet> allowed_worker_cores = std::nullopt;
    bool stream_in1 = false;
};

struct MatmulMultiCoreReuseMultiCastDRAMShardedProgramConfig {
    std::size_t in0_block_w = 0;
    std::size_t per_core_M = 0;
    std::size_t per_core_N = 0;
    std::optional<unary::UnaryWithParam> fused_activation = std::nullopt;
    std::size_t num_workers_per_dram_bank = 1;
};

struct MatmulMultiCoreReuseMultiCastBatchedDRAMShardedProgramConfig {
    std::size_t in0_block_w = 0;
    std::size_t per_core_M = 0;
    std::size_t per_core_N = 0;
    std::optional<unary::UnaryWithParam> fused_activation = std::nullopt;
};

using MatmulProgramConfig = std::variant<
    MatmulMultiCoreProgramConfig, MatmulMultiCoreReuseProgramConfig, MatmulMultiCoreReuseMultiCastProgramConfig,
    MatmulMultiCoreReuseMultiCast1DProgramConfig, MatmulMultiCoreReuseMultiCastDRAMShardedProgramConfig,
    MatmulMultiCoreReuseMultiCastBatchedDRAMShardedProgramConfig>;

using GlobalCircularBuffers = std::optional<const tt::tt_metal::experimental::GlobalCircularBuffer>;
using PrefetcherPipes = std::vector<std::shared_ptr<tt::tt_metal::experimental::PrefetcherPipe>>;

}  // namespace ttnn::operations::matmul

namespace tt::tt_metal::experimental {
/// Prefetching into a global circular buffer is not modelled: the types exist so that signatures agree.
class GlobalCircularBuffer {};
class PrefetcherPipe {};
}  // namespace tt::tt_metal::experimental
