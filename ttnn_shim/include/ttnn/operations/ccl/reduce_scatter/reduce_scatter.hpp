// ttnn::reduce_scatter: the sum of the parts of all chips of an axis, of which each gets a piece along a dimension.
#pragma once

#include <optional>

#include "ttnn/operations/ccl/ccl_host_types.hpp"
#include "ttnn/operations/core/compute_kernel/compute_kernel_config.hpp"
#include "ttnn/types.hpp"

namespace ttnn {

Tensor reduce_scatter(
    const Tensor& input_tensor, int dim, std::optional<uint32_t> cluster_axis = std::nullopt,
    const std::optional<SubDeviceId>& subdevice_id = std::nullopt, const std::optional<MemoryConfig>& memory_config = std::nullopt,
    const std::optional<MemoryConfig>& intermediate_memory_config = std::nullopt,
    const std::optional<Tensor>& optional_output_tensor = std::nullopt, std::optional<uint32_t> num_links = std::nullopt,
    std::optional<tt::tt_fabric::Topology> topology = std::nullopt, std::optional<uint32_t> chunks_per_sync = std::nullopt,
    std::optional<uint32_t> num_workers_per_link = std::nullopt, std::optional<uint32_t> num_buffers_per_channel = std::nullopt,
    const std::optional<ComputeKernelConfig>& compute_kernel_config = std::nullopt, bool use_l1_small_for_semaphores = false);

}  // namespace ttnn
