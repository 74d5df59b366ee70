// Opening and closing meshes of the card or system named by TTNN_SHIM_CARD (n150 when unset).
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "ttnn/distributed/types.hpp"

namespace ttnn::distributed {

std::shared_ptr<MeshDevice> open_mesh_device(
    const MeshShape& mesh_shape, size_t l1_small_size, size_t trace_region_size, size_t num_command_queues,
    const tt::tt_metal::DispatchCoreConfig& dispatch_core_config, const std::optional<MeshCoordinate>& offset = std::nullopt,
    const std::vector<int>& physical_device_ids = {}, size_t worker_l1_size = 0);
std::shared_ptr<MeshDevice> open_mesh_device(
    size_t l1_small_size, size_t trace_region_size, size_t num_command_queues, const tt::tt_metal::DispatchCoreConfig& dispatch_core_config,
    const std::optional<MeshShape>& mesh_shape = std::nullopt, const std::optional<MeshCoordinate>& offset = std::nullopt,
    const std::vector<int>& physical_device_ids = {}, size_t worker_l1_size = 0);
void close_mesh_device(const std::shared_ptr<MeshDevice>& mesh_device);
std::vector<Tensor> get_device_tensors(const Tensor& tensor);

}  // namespace ttnn::distributed
