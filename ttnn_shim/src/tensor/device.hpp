// One simulated chip: its memory, and a place for the layers above to keep their state.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "tensor/allocator.hpp"
#include "tensor/machine.hpp"
#include "tt-metalium/mesh_device.hpp"

namespace ttnn_shim {

struct DeviceOptions {
    std::string card = "n150";  ///< card or arch name
    uint64_t l1_small_bytes = 0;
    uint64_t trace_region_bytes = 0;
    bool estimate = false;  ///< clock only: tensors have no values and kernels do not run
};

/// State that an upper layer attaches to a device (the clock, the event log).
struct DeviceState {
    virtual ~DeviceState() = default;
};

class Device {
public:
    explicit Device(const DeviceOptions& options);

    const MachineMemory& machine() const { return machine_; }
    Allocator& allocator() { return allocator_; }
    CoreCoord grid() const { return machine_.grid; }
    tt::ARCH arch() const { return machine_.arch; }
    bool estimate() const { return estimate_; }
    void set_estimate(bool on) { estimate_ = on; }
    bool is_open() const { return open_; }
    void close() { open_ = false; }

    /// The public handle of this device.
    tt::tt_metal::distributed::MeshDevice* handle() const { return handle_; }
    void set_handle(tt::tt_metal::distributed::MeshDevice* handle) { handle_ = handle; }

    std::unique_ptr<DeviceState> state;  ///< owned by ops/launch.cpp

private:
    MachineMemory machine_;
    Allocator allocator_;
    bool estimate_;
    bool open_ = true;
    tt::tt_metal::distributed::MeshDevice* handle_ = nullptr;
};

/// Opens a device. The handle keeps it; buffers keep a weak link and may outlive it.
std::shared_ptr<tt::tt_metal::distributed::MeshDevice> open_device(const DeviceOptions& options);

}  // namespace ttnn_shim
