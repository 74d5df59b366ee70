// Pooling over pixels (channels last).
#pragma once

#include <array>
#include <optional>
#include <variant>
#include <vector>

#include "ttnn/operations/conv/conv_types.hpp"
#include "ttnn/operations/core/compute_kernel/compute_kernel_config.hpp"
#include "ttnn/types.hpp"

namespace ttnn {
namespace operations::pool {

/// [1, 1, N*H*W, C] -> [1, 1, N*OH*OW, C]; with return_indices also the position of each maximum within its image.
std::vector<Tensor> max_pool2d(
    const Tensor& input_tensor, uint32_t batch_size, uint32_t input_h, uint32_t input_w, uint32_t channels, std::array<uint32_t, 2> kernel_size,
    std::array<uint32_t, 2> stride, std::variant<std::array<uint32_t, 2>, std::array<uint32_t, 4>> padding, std::array<uint32_t, 2> dilation,
    bool ceil_mode = false, const std::optional<const MemoryConfig>& memory_config = std::nullopt,
    const std::optional<Op2DSliceConfig>& dram_slice_config = std::nullopt, std::optional<const TensorMemoryLayout> applied_shard_scheme = std::nullopt,
    bool deallocate_input = false, bool reallocate_halo_output = true, bool return_indices = false, DataType dtype = DataType::BFLOAT16,
    Layout output_layout = Layout::ROW_MAJOR, bool config_tensor_in_dram = false);

Tensor avg_pool2d(
    const Tensor& input_tensor, uint32_t batch_size, uint32_t input_h, uint32_t input_w, uint32_t channels, std::array<uint32_t, 2> kernel_size,
    std::array<uint32_t, 2> stride, std::variant<std::array<uint32_t, 2>, std::array<uint32_t, 4>> padding, bool ceil_mode = false,
    bool count_include_pad = true, std::optional<int32_t> divisor_override = std::nullopt,
    const std::optional<const MemoryConfig>& memory_config = std::nullopt, const std::optional<Op2DSliceConfig>& dram_slice_config = std::nullopt,
    std::optional<const TensorMemoryLayout> applied_shard_scheme = std::nullopt,
    const std::optional<ComputeKernelConfig>& compute_kernel_config = std::nullopt, bool deallocate_input = false, bool reallocate_halo_output = true,
    DataType dtype = DataType::BFLOAT16, Layout output_layout = Layout::ROW_MAJOR, bool config_tensor_in_dram = false);

}  // namespace operations::pool

using operations::pool::avg_pool2d;
using operations::pool::max_pool2d;

namespace operations::experimental::adaptive_pool {

Tensor adaptive_avg_pool2d(
    const Tensor& input_tensor, uint32_t batch_size, uint32_t input_h, uint32_t input_w, uint32_t channels, std::array<uint32_t, 2> output_size,
    const std::optional<const MemoryConfig>& memory_config = std::nullopt, const std::optional<Op2DSliceConfig>& dram_slice_config = std::nullopt,
    std::optional<const TensorMemoryLayout> applied_shard_scheme = std::nullopt,
    const std::optional<ComputeKernelConfig>& compute_kernel_config = std::nullopt, bool deallocate_input = false, bool reallocate_output = true);
Tensor adaptive_max_pool2d(
    const Tensor& input_tensor, uint32_t batch_size, uint32_t input_h, uint32_t input_w, uint32_t channels, std::array<uint32_t, 2> output_size,
    const std::optional<const MemoryConfig>& memory_config = std::nullopt, const std::optional<Op2DSliceConfig>& dram_slice_config = std::nullopt,
    std::optional<const TensorMemoryLayout> applied_shard_scheme = std::nullopt, bool deallocate_input = false, bool reallocate_output = true);

}  // namespace operations::experimental::adaptive_pool

using operations::experimental::adaptive_pool::adaptive_avg_pool2d;
using operations::experimental::adaptive_pool::adaptive_max_pool2d;

}  // namespace ttnn
