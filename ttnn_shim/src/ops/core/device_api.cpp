// Opening and closing devices through TT-NN's C++ API. The card comes from TTNN_SHIM_CARD, estimate mode from TTNN_SHIM_ESTIMATE.
#include <cstdlib>

#include "tensor/mesh.hpp"
#include "ttnn/device.hpp"
#include "ttnn/distributed/api.hpp"

using namespace ttnn_shim;

namespace ttnn {

namespace {

MeshDevice* default_device = nullptr;

std::shared_ptr<MeshDevice> open(const MeshShape& shape, size_t l1_small_size, size_t trace_region_size) {
    SHIM_SUPPORTED(shape.dims() == 2, "a mesh of {} dimensions: give rows and columns", shape.dims());
    const char* card = std::getenv("TTNN_SHIM_CARD");
    const char* estimate = std::getenv("TTNN_SHIM_ESTIMATE");
    DeviceOptions options;
    if (card != nullptr && *card != '\0') {
        options.card = card;
    }
    options.rows = shape[0];
    options.columns = shape[1];
    options.estimate = estimate != nullptr && std::string(estimate) == "1";
    options.l1_small_bytes = l1_small_size;
    options.trace_region_bytes = trace_region_size;
    return ttnn_shim::open_device(options);
}

}  // namespace

namespace device {

std::shared_ptr<MeshDevice> open_mesh_device(
    int device_id, size_t l1_small_size, size_t trace_region_size, const tt::tt_metal::DispatchCoreConfig& dispatch_core_config,
    size_t worker_l1_size) {
    OpScope scope("ttnn.open_device");
    (void)dispatch_core_config, (void)worker_l1_size;
    SHIM_CHECK(device_id == 0, "expected device id 0, got {}: open a mesh for several chips", device_id);
    return open({1, 1}, l1_small_size, trace_region_size);
}

void close_device(MeshDevice& device) { device.close(); }
void enable_program_cache(MeshDevice& device) { device.enable_program_cache(); }
void disable_and_clear_program_cache(MeshDevice& device) { device.disable_and_clear_program_cache(); }
void deallocate_buffers(MeshDevice* device) { (void)device; }
MeshDevice* GetDefaultDevice() { return default_device; }
void SetDefaultDevice(MeshDevice* device) { default_device = device; }

}  // namespace device

namespace distributed {

std::shared_ptr<MeshDevice> open_mesh_device(
    const MeshShape& mesh_shape, size_t l1_small_size, size_t trace_region_size, size_t num_command_queues,
    const tt::tt_metal::DispatchCoreConfig& dispatch_core_config, const std::optional<MeshCoordinate>& offset,
    const std::vector<int>& physical_device_ids, size_t worker_l1_size) {
    OpScope scope("ttnn.open_mesh_device");
    (void)num_command_queues, (void)dispatch_core_config, (void)physical_device_ids, (void)worker_l1_size;
    SHIM_SUPPORTED(
        !offset || (offset->dims() == 2 && (*offset)[0] == 0 && (*offset)[1] == 0), "a mesh that does not begin at the first chip");
    return open(mesh_shape, l1_small_size, trace_region_size);
}

std::shared_ptr<MeshDevice> open_mesh_device(
    size_t l1_small_size, size_t trace_region_size, size_t num_command_queues, const tt::tt_metal::DispatchCoreConfig& dispatch_core_config,
    const std::optional<MeshShape>& mesh_shape, const std::optional<MeshCoordinate>& offset, const std::vector<int>& physical_device_ids,
    size_t worker_l1_size) {
    return open_mesh_device(
        mesh_shape.value_or(MeshShape(1, 1)), l1_small_size, trace_region_size, num_command_queues, dispatch_core_config, offset,
        physical_device_ids, worker_l1_size);
}

void close_mesh_device(const std::shared_ptr<MeshDevice>& mesh_device) {
    if (mesh_device) {
        mesh_device->close();
    }
}

std::vector<Tensor> get_device_tensors(const Tensor& tensor) { return tensors_of_chips(tensor); }

}  // namespace distributed
}  // namespace ttnn
