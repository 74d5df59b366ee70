// tt::tt_metal::distributed::MeshDevice: the device handle of the public API: one simulated chip, or several.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "tt-metalium/base_types.hpp"
#include "tt-metalium/core_coord.hpp"
#include "tt-metalium/mesh_coord.hpp"

namespace ttnn_shim {
class Device;
}

namespace tt::tt_metal {

enum class DispatchCoreType : uint32_t { WORKER = 0, ETH = 1 };
enum class DispatchCoreAxis { ROW = 0, COL = 1 };

/// Which cores run the dispatch firmware. Only the grid size follows from it here.
class DispatchCoreConfig {
public:
    DispatchCoreConfig() = default;
    explicit DispatchCoreConfig(DispatchCoreType type) : type_(type) {}
    DispatchCoreConfig(DispatchCoreType type, DispatchCoreAxis axis) : type_(type), axis_(axis) {}
    DispatchCoreType get_dispatch_core_type() const { return type_; }
    DispatchCoreAxis get_dispatch_core_axis() const { return axis_; }

private:
    DispatchCoreType type_ = DispatchCoreType::WORKER;
    DispatchCoreAxis axis_ = DispatchCoreAxis::ROW;
};

namespace distributed {

class MeshDevice : public std::enable_shared_from_this<MeshDevice> {
public:
    explicit MeshDevice(std::unique_ptr<ttnn_shim::Device> device, MeshShape shape = {1, 1});
    /// The mesh of one device; device_id: 0.
    static std::shared_ptr<MeshDevice> create_unit_mesh(
        int device_id, size_t l1_small_size = 0, size_t trace_region_size = 0, size_t num_command_queues = 1,
        const DispatchCoreConfig& dispatch_core_config = DispatchCoreConfig{}, size_t worker_l1_size = 0);
    ~MeshDevice();
    MeshDevice(const MeshDevice&) = delete;
    MeshDevice& operator=(const MeshDevice&) = delete;

    tt::ARCH arch() const;
    int id() const { return 0; }
    bool close();
    const MeshShape& shape() const { return shape_; }
    size_t num_devices() const { return shape_.mesh_size(); }
    CoreCoord compute_with_storage_grid_size() const;
    CoreCoord grid_size() const { return compute_with_storage_grid_size(); }
    CoreCoord dram_grid_size() const;
    uint32_t num_dram_channels() const;
    uint32_t l1_size_per_core() const;
    void enable_program_cache() {}
    void disable_and_clear_program_cache() {}

    /// The simulated machine behind the handle, as of one of its chips (ttnn_shim only).
    ttnn_shim::Device& shim() const { return *device_; }

private:
    std::unique_ptr<ttnn_shim::Device> device_;
    MeshShape shape_;
};

}  // namespace distributed
}  // namespace tt::tt_metal
