// Softmax and its variants.
#pragma once

#include <optional>

#include "ttnn/operations/core/compute_kernel/compute_kernel_config.hpp"
#include "ttnn/operations/normalization/norm_program_configs.hpp"
#include "ttnn/types.hpp"

namespace ttnn {

Tensor softmax(
    const Tensor& input_tensor, int dim = -1, const std::optional<MemoryConfig>& memory_config = std::nullopt,
    std::optional<const ComputeKernelConfig> compute_kernel_config = std::nullopt, bool numeric_stable = true);
Tensor softmax_in_place(
    const Tensor& input_tensor, int dim = -1, const SoftmaxProgramConfig& program_config = SoftmaxDefaultProgramConfig{},
    std::optional<const ComputeKernelConfig> compute_kernel_config = std::nullopt, bool numeric_stable = true);
/// softmax(scale * x + mask) over the last dimension.
Tensor scale_mask_softmax(
    const Tensor& input_tensor, std::optional<float> scale = std::nullopt, const std::optional<const Tensor>& mask = std::nullopt,
    const std::optional<MemoryConfig>& memory_config = std::nullopt, bool is_causal_mask = false,
    std::optional<const ComputeKernelConfig> compute_kernel_config = std::nullopt, bool numeric_stable = true);
Tensor scale_mask_softmax_in_place(
    const Tensor& input_tensor, std::optional<float> scale = std::nullopt, const std::optional<const Tensor>& mask = std::nullopt,
    const SoftmaxProgramConfig& program_config = SoftmaxDefaultProgramConfig{}, bool is_causal_mask = false,
    std::optional<const ComputeKernelConfig> compute_kernel_config = std::nullopt, bool numeric_stable = true);
Tensor scale_causal_mask_hw_dims_softmax_in_place(
    const Tensor& input_tensor, std::optional<float> scale = std::nullopt, const std::optional<const Tensor>& mask = std::nullopt,
    const SoftmaxProgramConfig& program_config = SoftmaxDefaultProgramConfig{},
    std::optional<const ComputeKernelConfig> compute_kernel_config = std::nullopt, bool numeric_stable = true);

}  // namespace ttnn
