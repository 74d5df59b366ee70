// Matrix multiplication.
#pragma once

#include <optional>
#include <string>
#include <variant>

#include "ttnn/operations/core/compute_kernel/compute_kernel_config.hpp"
#include "ttnn/operations/matmul/matmul_program_configs.hpp"
#include "ttnn/types.hpp"

namespace ttnn {
namespace operations::matmul {

using Activation = std::variant<std::string, unary::UnaryWithParam>;

/// a [..., M, K] x b [..., K, N]; both TILE. `activation` is applied to the result.
Tensor matmul(
    const Tensor& input_tensor_a, const Tensor& input_tensor_b, bool transpose_a = false, bool transpose_b = false,
    const std::optional<const MemoryConfig>& memory_config = std::nullopt, std::optional<const DataType> dtype = std::nullopt,
    const std::optional<const MatmulProgramConfig>& program_config = std::nullopt,
    const std::optional<const std::variant<std::string, unary::UnaryWithParam>>& activation = std::nullopt,
    std::optional<const ComputeKernelConfig> compute_kernel_config = std::nullopt, std::optional<const CoreGrid> core_grid = std::nullopt,
    const std::optional<const Tile>& output_tile = std::nullopt, std::optional<Tensor> optional_output_tensor = std::nullopt,
    const std::optional<const tt::tt_metal::experimental::GlobalCircularBuffer>& global_cb = std::nullopt,
    const std::optional<SubDeviceId>& sub_device_id = std::nullopt, const PrefetcherPipes& prefetcher_pipes = {});

/// matmul + bias. With a core grid or program config one program; without, separate programs for bias and activation.
Tensor linear(
    const Tensor& input_tensor_a, const Tensor& input_tensor_b, const std::optional<const Tensor>& bias = std::nullopt,
    bool transpose_a = false, bool transpose_b = false, const std::optional<const MemoryConfig>& memory_config = std::nullopt,
    std::optional<const DataType> dtype = std::nullopt, const std::optional<const MatmulProgramConfig>& program_config = std::nullopt,
    const std::optional<const std::variant<std::string, unary::UnaryWithParam>>& activation = std::nullopt,
    std::optional<const ComputeKernelConfig> compute_kernel_config = std::nullopt, std::optional<const CoreGrid> core_grid = std::nullopt,
    const std::optional<const Tile>& output_tile = std::nullopt, std::optional<Tensor> optional_output_tensor = std::nullopt,
    const std::optional<const tt::tt_metal::experimental::GlobalCircularBuffer>& global_cb = std::nullopt,
    const std::optional<SubDeviceId>& sub_device_id = std::nullopt, const PrefetcherPipes& prefetcher_pipes = {},
    std::optional<uint32_t> in0_column_offset = std::nullopt);

/// beta * input + alpha * (mat1 x mat2).
Tensor addmm(
    const Tensor& input_tensor, const Tensor& mat1_tensor, const Tensor& mat2_tensor, float alpha = 1.0F, float beta = 1.0F,
    const std::optional<const MemoryConfig>& memory_config = std::nullopt, std::optional<const DataType> dtype = std::nullopt,
    const std::optional<const MatmulProgramConfig>& program_config = std::nullopt,
    std::optional<const ComputeKernelConfig> compute_kernel_config = std::nullopt, std::optional<const CoreGrid> core_grid = std::nullopt,
    const std::optional<const Tile>& output_tile = std::nullopt, std::optional<Tensor> optional_output_tensor = std::nullopt);

/// input_tensor_a times each of the weights.
std::vector<Tensor> matmul_batched_weights(
    const Tensor& input_tensor_a, const std::vector<Tensor>& input_tensors_b, bool transpose_a = false, bool transpose_b = false,
    const std::optional<const MemoryConfig>& memory_config = std::nullopt, std::optional<const DataType> dtype = std::nullopt,
    const std::optional<const MatmulProgramConfig>& program_config = std::nullopt,
    const std::optional<const std::variant<std::string, unary::UnaryWithParam>>& activation = std::nullopt,
    std::optional<const ComputeKernelConfig> compute_kernel_config = std::nullopt, std::optional<const CoreGrid> core_grid = std::nullopt,
    const std::optional<const Tile>& output_tile = std::nullopt, const std::optional<Tensor>& optional_output_tensor = std::nullopt,
    const std::optional<const tt::tt_metal::experimental::GlobalCircularBuffer>& global_cb = std::nullopt,
    const std::optional<SubDeviceId>& sub_device_id = std::nullopt);

}  // namespace operations::matmul

using operations::matmul::addmm;
using operations::matmul::linear;
using operations::matmul::matmul;
using operations::matmul::matmul_batched_weights;

/// Every product of two vectors' values.
Tensor outer(const Tensor& a, const Tensor& b, const std::optional<MemoryConfig>& memory_config = std::nullopt);

}  // namespace ttnn
