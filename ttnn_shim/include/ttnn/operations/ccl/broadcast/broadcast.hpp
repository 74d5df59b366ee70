// ttnn::broadcast: one chip's tensor on all chips of an axis.
#pragma once

#include <optional>

#include "ttnn/operations/ccl/ccl_host_types.hpp"
#include "ttnn/types.hpp"

namespace ttnn {

Tensor broadcast(
    const Tensor& input_tensor, const MeshCoordinate& sender_coord, std::optional<uint32_t> num_links = std::nullopt,
    const std::optional<MemoryConfig>& memory_config = std::nullopt, tt::tt_fabric::Topology topology = tt::tt_fabric::Topology::Linear,
    std::optional<uint32_t> cluster_axis = std::nullopt, std::optional<SubDeviceId> subdevice_id = std::nullopt);

}  // namespace ttnn
