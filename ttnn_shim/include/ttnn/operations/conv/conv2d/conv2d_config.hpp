// Conv2dConfig: how a convolution is placed and blocked.
#pragma once

#include <cstdint>
#include <optional>

#include "ttnn/operations/eltwise/unary/common/unary_op_types.hpp"
#include "ttnn/types.hpp"

namespace ttnn::prim {

enum class PaddingMode : uint8_t { Zeros, Replicate };

struct Conv2dConfig {
    std::optional<DataType> weights_dtype = std::nullopt;
    std::optional<ttnn::operations::unary::UnaryWithParam> activation = std::nullopt;
    bool deallocate_activation = false;
    bool reallocate_halo_output = true;
    bool config_tensors_in_dram = false;
    uint32_t act_block_h_override = 0;  ///< rows of an activation block in elements, 0: chosen
    uint32_t act_block_w_div = 1;
    bool reshard_if_not_optimal = false;
    bool override_sharding_config = false;
    std::optional<TensorMemoryLayout> shard_layout = std::nullopt;
    std::optional<CoreRangeSet> core_grid = std::nullopt;
    bool transpose_shards = false;
    Layout output_layout = Layout::TILE;
    bool enable_act_double_buffer = false;
    bool enable_weights_double_buffer = false;
    bool full_inner_dim = false;
    std::optional<bool> enable_kernel_stride_folding = std::nullopt;
    bool enable_activation_reuse = false;
    std::optional<bool> force_split_reader = std::nullopt;
    bool override_output_sharding_config = false;
    PaddingMode padding_mode = PaddingMode::Zeros;
};

}  // namespace ttnn::prim

namespace ttnn {
using prim::Conv2dConfig;
}  // namespace ttnn
