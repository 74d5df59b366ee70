// Random tensors. Values come from the shim's own generator: equal seeds give equal tensors here, not the device's values.
#pragma once

#include <optional>

#include "ttnn/distributed/distributed_tensor.hpp"
#include "ttnn/operations/core/compute_kernel/compute_kernel_config.hpp"
#include "ttnn/types.hpp"

namespace ttnn {

/// Uniform in [low, high). Seed 0 draws a new sequence at every call.
Tensor rand(
    const Shape& shape, MeshDevice& device, DataType dtype = DataType::BFLOAT16, Layout layout = Layout::TILE,
    const MemoryConfig& memory_config = MemoryConfig{}, float low = 0.0F, float high = 1.0F, uint32_t seed = 0,
    const std::optional<tt::tt_metal::distributed::MeshMapperConfig>& mesh_mapper = std::nullopt);
Tensor randn(
    const Shape& shape, MeshDevice& device, DataType dtype = DataType::BFLOAT16, Layout layout = Layout::TILE,
    const MemoryConfig& memory_config = MemoryConfig{}, const std::optional<ComputeKernelConfig>& compute_kernel_config = std::nullopt,
    std::optional<uint32_t> seed = std::nullopt);
/// Overwrites `input` with uniform values in [from, to).
Tensor uniform(
    const Tensor& input, float from = 0.0F, float to = 1.0F, uint32_t seed = 0,
    const std::optional<MemoryConfig>& memory_config = std::nullopt,
    const std::optional<ComputeKernelConfig>& compute_kernel_config = std::nullopt);
/// 1 with the probability that `input` holds, else 0.
Tensor bernoulli(
    const Tensor& input, uint32_t seed = 0, const std::optional<Tensor>& output = std::nullopt,
    const std::optional<DataType>& dtype = std::nullopt, const std::optional<MemoryConfig>& memory_config = std::nullopt,
    const std::optional<ComputeKernelConfig>& compute_kernel_config = std::nullopt);

namespace experimental {
/// Zeroes values with `probability` and scales the others.
Tensor dropout(
    const Tensor& input, float probability, float scale, uint32_t seed, bool use_per_device_seed = true,
    const std::optional<MemoryConfig>& memory_config = std::nullopt, const std::optional<Tensor>& output = std::nullopt);
}  // namespace experimental

}  // namespace ttnn
