// Configuration and results shared by the convolutions.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <tuple>
#include <variant>

#include "ttnn/operations/eltwise/unary/common/unary_op_types.hpp"
#include "ttnn/types.hpp"

namespace ttnn {
namespace operations::op_slicing {

/// A DRAM tensor too large for L1 is convolved in slices along height or width.
struct Op2DSliceConfig {
  enum class SliceType : uint8_t { DRAM_HEIGHT, DRAM_WIDTH, L1_FULL };
  SliceType slice_type = SliceType::DRAM_WIDTH;
  uint32_t num_slices = 0;  ///< 0: chosen by the op
};

}  // namespace operations::op_slicing

namespace prim {

/// How a convolution is sharded and blocked. Only `activation`, `weights_dtype` and `output_layout` change results.
struct Conv2dConfig {
  std::optional<DataType> weights_dtype = std::nullopt;
  std::optional<operations::unary::UnaryWithParam> activation = std::nullopt;
  bool deallocate_activation = false;
  bool reallocate_halo_output = true;
  bool config_tensors_in_dram = false;
  uint32_t act_block_h_override = 0;
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
};

}  // namespace prim

using prim::Conv2dConfig;
using Conv1dConfig = Conv2dConfig;
using operations::op_slicing::Op2DSliceConfig;
using Conv2dSliceConfig = Op2DSliceConfig;

namespace operations::conv {

using OutputSize = std::tuple<uint32_t, uint32_t>;
using PreparedWeights = std::tuple<Tensor, std::optional<Tensor>>;
/// The output alone, or with its height and width, or with prepared weights and bias, or with both.
using ConvResult = std::variant<Tensor, std::tuple<Tensor, OutputSize>, std::tuple<Tensor, PreparedWeights>, std::tuple<Tensor, OutputSize, PreparedWeights>>;
using Padding = std::variant<std::array<uint32_t, 2>, std::array<uint32_t, 4>>;

}  // namespace operations::conv
}  // namespace ttnn
