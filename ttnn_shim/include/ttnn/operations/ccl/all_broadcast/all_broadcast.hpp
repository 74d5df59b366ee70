// ttnn::all_broadcast: the tensors of all chips of an axis, each of them on all of these chips.
#pragma once

#include <optional>
#include <vector>

#include "ttnn/operations/ccl/ccl_host_types.hpp"
#include "ttnn/types.hpp"

namespace ttnn {

std::vector<Tensor> all_broadcast(
    const Tensor& input_tensor, std::optional<uint32_t> cluster_axis = std::nullopt,
    const std::optional<SubDeviceId>& subdevice_id = std::nullopt, const std::optional<MemoryConfig>& memory_config = std::nullopt,
    std::optional<uint32_t> num_links = 1, std::optional<tt::tt_fabric::Topology> topology = tt::tt_fabric::Topology::Linear,
    bool use_l1_small_for_semaphores = false);

}  // namespace ttnn
