#include "tensor/device.hpp"

#include <charconv>

#include "tensor/mesh.hpp"
#include "tensor/packed.hpp"

namespace ttnn_shim {

namespace {

/// Between a system and a mesh of it in a card's name: "t3000@2x4".
constexpr char AT = '@';

/// Rows and columns from the card's name, where it says a mesh.
DeviceOptions with_named_mesh(DeviceOptions options) {
    const size_t at = options.card.find(AT);
    if (at == std::string::npos) return options;
    const char *begin = options.card.data() + at + 1, *end = options.card.data() + options.card.size();
    auto read = std::from_chars(begin, end, options.rows);
    if (read.ec == std::errc() && read.ptr != end && *read.ptr == 'x') read = std::from_chars(read.ptr + 1, end, options.columns);
    SHIM_CHECK(read.ec == std::errc() && read.ptr == end, "'{}' names no mesh of a system, as t3000@2x4 does", options.card);
    return options;
}

/// The process's; a mesh that is named with its system has one in any case.
Fabric fabric_of(const DeviceOptions& options) {
    const bool named = options.card.find(AT) != std::string::npos && options.rows * options.columns > 1;
    return named && fabric() == Fabric::Disabled ? Fabric::Line : fabric();
}

}  // namespace

Device::Device(const DeviceOptions& options, const sim::System* system)
    : machine_(machine_memory(card_of_chips(system, options.card))),
      allocator_(machine_, options.l1_small_bytes, options.trace_region_bytes),
      estimate_(options.estimate),
      trace_region_bytes_(options.trace_region_bytes),
      system_(system),
      fabric_(fabric_of(options)) {}

std::shared_ptr<tt::tt_metal::distributed::MeshDevice> open_device(const DeviceOptions& asked) {
    DeviceOptions options = with_named_mesh(asked);
    const std::string name = options.card.substr(0, options.card.find(AT));
    const sim::System* system = system_for(name, options.rows, options.columns);
    if (system == nullptr) options.card = name;
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
