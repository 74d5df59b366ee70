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

namespace sim {
struct System;
}

/// The values of ttnn.FabricConfig that count here; others are kept as they are.
enum class Fabric : uint32_t { Disabled = 0, Line = 2, Ring = 3, Plane = 4 };

struct DeviceOptions {
    std::string card = "n150";       ///< card, arch or system name
    uint32_t rows = 1, columns = 1;  ///< of the mesh: more than one chip only of a system (tensor/mesh.hpp)
    uint64_t l1_small_bytes = 0;
    uint64_t trace_region_bytes = 0;
    bool estimate = false;  ///< clock only: tensors have no values and kernels do not run
};

/// State that an upper layer attaches to a device (the clock, the event log).
struct DeviceState {
    virtual ~DeviceState() = default;
};

struct TensorAttributes;

/// Who holds tensors of a device without holding their memory (traces).
class TensorKeeper {
public:
    virtual ~TensorKeeper() = default;
    virtual bool capturing() const = 0;
    /// A tensor was made on the device.
    virtual void made(const std::shared_ptr<TensorAttributes>& tensor) = 0;
    /// Frees the memory of tensors that nobody else holds.
    virtual void give_back() = 0;
    /// How many handles to the tensor are the keeper's.
    virtual long references(const TensorAttributes& tensor) const = 0;
    /// The device is closed: its tensors are held no longer.
    virtual void device_closed() = 0;
};

class Device {
public:
    Device(const DeviceOptions& options, const sim::System* system);

    const MachineMemory& machine() const { return machine_; }
    Allocator& allocator() {
        if (keeper_ != nullptr) keeper_->give_back();
        return allocator_;
    }
    CoreCoord grid() const { return machine_.grid; }
    tt::ARCH arch() const { return machine_.arch; }
    bool estimate() const { return estimate_; }
    void set_estimate(bool on) { estimate_ = on; }
    bool is_open() const { return open_; }
    void close() {
        open_ = false;
        if (keeper_ != nullptr) keeper_->device_closed();
    }
    /// The machine that the mesh is of; null for a card of its own.
    const sim::System* system() const { return system_; }
    Fabric fabric() const { return fabric_; }
    /// Bytes that open_device reserved for traces; 0: they lie in DRAM as they come.
    uint64_t trace_region_bytes() const { return trace_region_bytes_; }
    TensorKeeper* keeper() const { return keeper_; }
    void set_keeper(TensorKeeper* keeper) { keeper_ = keeper; }

    /// The public handle of this device.
    tt::tt_metal::distributed::MeshDevice* handle() const { return handle_; }
    void set_handle(tt::tt_metal::distributed::MeshDevice* handle) { handle_ = handle; }

    std::unique_ptr<DeviceState> state;         ///< owned by ops/launch.cpp
    std::unique_ptr<DeviceState> user_streams;  ///< owned by ops/reduction/sampling.cpp

private:
    MachineMemory machine_;
    Allocator allocator_;
    bool estimate_;
    uint64_t trace_region_bytes_;
    const sim::System* system_;
    Fabric fabric_;
    bool open_ = true;
    TensorKeeper* keeper_ = nullptr;
    tt::tt_metal::distributed::MeshDevice* handle_ = nullptr;
};

/// Opens a device. The handle keeps it; buffers keep a weak link and may outlive it.
std::shared_ptr<tt::tt_metal::distributed::MeshDevice> open_device(const DeviceOptions& options);

}  // namespace ttnn_shim
