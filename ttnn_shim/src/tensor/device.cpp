#include "tensor/device.hpp"

#include "tensor/mesh.hpp"
#include "tensor/packed.hpp"

namespace ttnn_shim {

Device::Device(const DeviceOptions& options, const sim::System* system)
    : machine_(machine_memory(card_of_chips(system, options.card))),
      allocator_(machine_, options.l1_small_bytes, options.trace_region_bytes),
      estimate_(options.estimate),
      trace_region_bytes_(options.trace_region_bytes),
      system_(system),
      fabric_(ttnn_shim::fabric()) {}

std::shared_ptr<tt::tt_metal::distributed::MeshDevice> open_device(const DeviceOptions& options) {
    const sim::System* system = system_for(options.card, options.rows, options.columns);
    auto handle = std::make_shared<tt::tt_metal::distributed::MeshDevice>(
        std::make_unique<Device>(options, system), tt::tt_metal::distributed::MeshShape(options.rows, options.columns));
    handle->shim().set_handle(handle.get());
    return handle;
}

}  // namespace ttnn_shim

namespace tt::tt_metal::distributed {

MeshDevice::MeshDevice(std::unique_ptr<ttnn_shim::Device> device, MeshShape shape) : device_(std::move(device)), shape_(std::move(shape)) {
    ttnn_shim::device_opened();
}
MeshDevice::~MeshDevice() { close(); }

tt::ARCH MeshDevice::arch() const { return device_->arch(); }
CoreCoord MeshDevice::compute_with_storage_grid_size() const { return device_->grid(); }
CoreCoord MeshDevice::dram_grid_size() const { return {device_->machine().dram_banks, 1}; }
uint32_t MeshDevice::num_dram_channels() const { return device_->machine().dram_banks; }
uint32_t MeshDevice::l1_size_per_core() const { return static_cast<uint32_t>(device_->machine().l1_end); }
bool MeshDevice::close() {
    if (device_->is_open()) {
        device_->close();
        ttnn_shim::device_closed();
    }
    return true;
}

}  // namespace tt::tt_metal::distributed
