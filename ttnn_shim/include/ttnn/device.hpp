// Devices as objects: open, close, default device, memory statistics.
#pragma once

#include <cstddef>
#include <memory>

#include "ttnn/types.hpp"

namespace ttnn {
namespace device {

std::shared_ptr<MeshDevice> open_mesh_device(
    int device_id, size_t l1_small_size = 0, size_t trace_region_size = 0,
    const tt::tt_metal::DispatchCoreConfig& dispatch_core_config = tt::tt_metal::DispatchCoreConfig(), size_t worker_l1_size = 0);
void close_device(MeshDevice& device);
void enable_program_cache(MeshDevice& device);
void disable_and_clear_program_cache(MeshDevice& device);
void deallocate_buffers(MeshDevice* device);
MeshDevice* GetDefaultDevice();
void SetDefaultDevice(MeshDevice* device);

}  // namespace device

using namespace device;  // NOLINT: as in the real header

}  // namespace ttnn
