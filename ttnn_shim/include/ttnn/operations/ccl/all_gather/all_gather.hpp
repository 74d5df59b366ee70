// ttnn::all_gather: the parts of all chips of an axis, joined along a dimension on each of them.
#pragma once

#include <optional>

#include "ttnn/operations/ccl/ccl_host_types.hpp"
#include "ttnn/types.hpp"

namespace ttnn {

Tensor all_gather(
    const Tensor& input_tensor, int dim, std::optional<uint32_t> cluster_axis = std::nullopt,
    const std::optional<MemoryConfig>& memory_config = std::nullopt, const std::optional<Tensor>& output_tensor = std::nullopt,
    const std::optional<SubDeviceId>& subdevice_id = std::nullopt, const std::optional<CoreRangeSet>& sub_core_grids = std::nullopt,
    std::optional<uint32_t> num_links = std::nullopt, std::optional<tt::tt_fabric::Topology> topology = std::nullopt,
    std::optional<uint32_t> chunks_per_sync = std::nullopt, std::optional<uint32_t> num_workers_per_link = std::nullopt,
    std::optional<uint32_t> num_buffers_per_channel = std::nullopt, bool use_l1_small_for_semaphores = false);

}  // namespace ttnn
