// minimal_matmul whose columns are divided into tensors.
#pragma once

#include <optional>
#include <vector>

#include "ttnn/operations/core/compute_kernel/compute_kernel_config.hpp"
#include "ttnn/operations/eltwise/unary/common/unary_op_types.hpp"
#include "ttnn/operations/experimental/minimal_matmul/device/minimal_matmul_device_operation_types.hpp"
#include "ttnn/types.hpp"

namespace ttnn::experimental {

std::vector<Tensor> minimal_matmul_split(
    const Tensor& input_tensor, const Tensor& weight_tensor, int32_t chunks = 3, int32_t dim = -1,
    const std::optional<Tensor>& bias_tensor = std::nullopt,
    std::optional<operations::unary::UnaryWithParam> fused_activation = std::nullopt,
    const std::optional<const prim::MinimalMatmulConfig>& config = std::nullopt,
    const std::optional<MemoryConfig>& memory_config = std::nullopt, std::optional<const DataType> dtype = std::nullopt,
    std::optional<ComputeKernelConfig> compute_kernel_config = std::nullopt, bool fuse_swiglu = false);

}  // namespace ttnn::experimental
