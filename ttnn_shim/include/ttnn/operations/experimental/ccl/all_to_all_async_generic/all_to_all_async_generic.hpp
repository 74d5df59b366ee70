// ttnn::experimental::all_to_all_async_generic: each chip of an axis gets its piece along out_dim of all chips, joined along in_dim.
#pragma once

#include <optional>

#include "ttnn/operations/ccl/ccl_host_types.hpp"
#include "ttnn/types.hpp"

namespace ttnn::experimental {

Tensor all_to_all_async_generic(
    const Tensor& input_tensor, int in_dim, int out_dim, const std::optional<Tensor>& persistent_output_buffer = std::nullopt,
    std::optional<uint32_t> num_links = std::nullopt, const std::optional<MemoryConfig>& memory_config = std::nullopt,
    std::optional<tt::tt_fabric::Topology> topology = std::nullopt, std::optional<SubDeviceId> subdevice_id = std::nullopt,
    std::optional<uint32_t> cluster_axis = std::nullopt);

}  // namespace ttnn::experimental
