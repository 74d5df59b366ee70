// ttnn::all_reduce: the sum of the parts of all chips of an axis, on each of them.
#pragma once

#include <optional>

#include "ttnn/operations/ccl/ccl_host_types.hpp"
#include "ttnn/types.hpp"

namespace ttnn {

Tensor all_reduce(
    const Tensor& input_tensor, std::optional<uint32_t> cluster_axis = std::nullopt,
    const std::optional<SubDeviceId>& subdevice_id = std::nullopt, const std::optional<MemoryConfig>& memory_config = std::nullopt,
    std::optional<uint32_t> num_links = std::nullopt, std::optional<tt::tt_fabric::Topology> topology = std::nullopt);

}  // namespace ttnn
