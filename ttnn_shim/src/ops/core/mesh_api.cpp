// What programs for several chips call beside collectives (ops/ccl): meshes, mesh mappers, the fabric, semaphores; and traces.
#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>

#include "ops/trace.hpp"
#include "tensor/access.hpp"
#include "tensor/check.hpp"
#include "tt-metalium/experimental/fabric/fabric.hpp"
#include "ops/ccl/placement.hpp"
#include "ops/registry.hpp"
#include "tensor/mesh.hpp"
#include "ttnn/device.hpp"
#include "ttnn/distributed/distributed_tensor.hpp"
#include "ttnn/global_semaphore.hpp"
#include "ttnn/operations/experimental/ccl/rms_allgather/rms_allgather.hpp"
#include "ttnn/operations/trace.hpp"

using namespace ttnn_shim;

namespace tt::tt_fabric {

void SetFabricConfig(FabricConfig fabric_config, FabricReliabilityMode) { set_fabric(static_cast<Fabric>(fabric_config)); }
FabricConfig GetFabricConfig() { return static_cast<FabricConfig>(fabric()); }

}  // namespace tt::tt_fabric

namespace tt::tt_metal::distributed {

std::shared_ptr<MeshDevice> MeshDevice::create_unit_mesh(
    int device_id, size_t l1_small_size, size_t trace_region_size, size_t, const DispatchCoreConfig& dispatch_core_config,
    size_t worker_l1_size) {
    return ttnn::device::open_mesh_device(device_id, l1_small_size, trace_region_size, dispatch_core_config, worker_l1_size);
}

}  // namespace tt::tt_metal::distributed

namespace tt::tt_metal::host_buffer {

HostBuffer get_host_buffer(const Tensor& tensor) {
    const OpScope scope("ttnn.get_host_buffer");
    SHIM_CHECK(!is_on_device(tensor), "tensor: expected a host tensor, got one on a device; call ttnn::from_device first");
    SHIM_CHECK(has_values(tensor), "tensor: it has no values, the device is in estimate mode");
    std::vector<std::byte> bytes(tensor.logical_volume() * stored_bytes(tensor.dtype()));
    if (!bytes.empty()) std::memcpy(bytes.data(), raw_data(tensor), bytes.size());
    return HostBuffer(std::move(bytes));
}

}  // namespace tt::tt_metal::host_buffer

namespace ttnn {

namespace distributed {
namespace {
/// Extents of a mapper's or composer's axes.
std::vector<uint32_t> axes_of(const MeshShape& mesh, const std::optional<MeshShape>& override) {
    return extents_of(override.value_or(mesh));
}

Placements placements_of(const MeshMapperConfig& config) {
    Placements all;
    for (const auto& placement : config.placements) {
        const auto* cut = std::get_if<MeshMapperConfig::Shard>(&placement);
        all.push_back(cut == nullptr ? std::nullopt : std::optional<int>(cut->dim));
    }
    return all;
}
}  // namespace

std::unique_ptr<TensorToMesh> create_mesh_mapper(const MeshShape& mesh_shape, const MeshMapperConfig& config) {
    const OpScope scope("ttnn.create_mesh_mapper");
    check_mapper(axes_of(mesh_shape, config.mesh_shape_override), placements_of(config));
    return std::make_unique<TensorToMesh>(config, mesh_shape);
}
std::unique_ptr<TensorToMesh> create_mesh_mapper(MeshDevice& mesh_device, const MeshMapperConfig& config) {
    return create_mesh_mapper(mesh_device.shape(), config);
}
std::unique_ptr<MeshToTensor> create_mesh_composer(MeshDevice& mesh_device, const MeshComposerConfig& config) {
    const OpScope scope("ttnn.create_mesh_composer");
    check_composer(axes_of(mesh_device.shape(), config.mesh_shape_override), config.dims);
    return std::make_unique<MeshToTensor>(config, mesh_device.shape());
}
Tensor distribute_tensor(
    const Tensor& tensor, const TensorToMesh& mapper, std::optional<std::reference_wrapper<MeshDevice>> mesh_device,
    std::optional<QueueId>) {
    const OpScope scope("ttnn.distribute_tensor");
    const MeshShape& mesh = mapper.mesh_shape();
    const Tensor parts =
        distribute(tensor, extents_of(mesh), axes_of(mesh, mapper.config().mesh_shape_override), placements_of(mapper.config()));
    return mesh_device ? parts.to_device(&mesh_device->get()) : parts;
}
Tensor aggregate_tensor(const Tensor& tensor, const MeshToTensor& composer) {
    const OpScope scope("ttnn.aggregate_tensor");
    const Tensor host = is_on_device(tensor) ? tensor.cpu() : tensor;
    const auto extents = axes_of(composer.mesh_shape(), composer.config().mesh_shape_override);
    watch_join(host, extents);
    return aggregate(host, extents, composer.config().dims);
}
Tensor from_host_shards(const std::vector<Tensor>& tensor_shards, const MeshShape& mesh_shape, int) {
    const OpScope scope("ttnn.from_host_shards");
    return from_parts(tensor_shards, extents_of(mesh_shape));
}

}  // namespace distributed

namespace global_semaphore {

GlobalSemaphore create_global_semaphore(MeshDevice* device, const CoreRangeSet& cores, uint32_t initial_value, BufferType buffer_type) {
    const OpScope scope("ttnn.create_global_semaphore");
    SHIM_CHECK(cores.num_cores() > 0, "cores: expected at least one core");
    constexpr uint32_t WORDS = 4;  // a semaphore takes one aligned piece of L1
    const MemoryConfig memory(TensorMemoryLayout::HEIGHT_SHARDED, buffer_type, ShardSpec(cores, {1, WORDS}));
    const Shape shape({cores.num_cores(), WORDS});
    const TensorSpec spec(shape, TensorLayout(DataType::UINT32, PageConfig(Layout::ROW_MAJOR), memory));
    const std::vector<uint32_t> values(shape.volume(), initial_value);
    return {Tensor::from_vector<uint32_t>(values, spec, device), cores};
}
uint64_t get_global_semaphore_address(const GlobalSemaphore& semaphore) { return semaphore.address(); }
void reset_global_semaphore_value(const GlobalSemaphore&, uint32_t) {}  // no program of one chip reads it

}  // namespace global_semaphore

Tensor fused_rms_minimal(
    const Tensor&, const prim::LayerNormProgramConfig&, uint32_t, const MeshDevice&, const GlobalSemaphore&, const std::optional<Tensor>&,
    std::optional<size_t>, ccl::Topology, std::optional<SubDeviceId>, std::optional<const DataType>,
    std::optional<const ComputeKernelConfig>, const std::optional<MemoryConfig>&, const std::optional<const Tensor>&, float,
    const std::optional<const Tensor>&, const std::optional<const Tensor>&, bool) {
    const OpScope scope("ttnn.fused_rms_minimal");
    fail(
        ErrorCode::NotSupported, "a norm fused with its collective: call rms_norm_pre_all_gather, all_gather and rms_norm_post_all_gather");
}

namespace operations::trace {
namespace {

Device& machine_behind(MeshDevice* device) {
    SHIM_CHECK(device != nullptr, "device: expected one, got none");
    return device->shim();
}

int number_of(const std::optional<QueueId>& queue) { return queue ? static_cast<int>(**queue) : 0; }

/// Traces by the ids that begin_trace_capture gives out before there is one.
class Captures {
public:
    struct Capture {
        std::weak_ptr<MeshDevice> device;
        uint32_t id;
        int queue;
    };

    uint32_t begin(MeshDevice* device, int queue) {
        const std::lock_guard lock(mutex_);
        Device& machine = machine_behind(device);
        if (under_way_ && is(under_way_->device, device))
            fail(
                ErrorCode::InvalidArgument, text("CQ {} is already being used for tracing tid {}", queue, under_way_->id),
                "end_trace_capture ends it, also after an error in the captured calls");
        begin_trace(machine);
        under_way_ = {device->weak_from_this(), next_++, queue};
        return under_way_->id;
    }
    void end(MeshDevice* device, uint32_t id, int queue) {
        const std::lock_guard lock(mutex_);
        Device& machine = machine_behind(device);
        SHIM_CHECK(
            under_way_ && is(under_way_->device, device) && under_way_->id == id && under_way_->queue == queue,
            "CQ {} is not being used for tracing tid {}", queue, id);
        under_way_.reset();
        const uint64_t trace = end_trace(machine);
        uint64_t bytes = trace_bytes(machine, trace);
        for (const auto& [other, found] : traces_) bytes += is(found.first, device) ? trace_bytes(machine, found.second) : 0;
        if (const uint64_t region = machine.trace_region_bytes(); region != 0 && bytes > region) {
            ttnn_shim::release_trace(machine, trace);
            fail(
                ErrorCode::InvalidArgument,
                text(
                    "Creating trace buffers of size {}B on MeshDevice {}, but only {}B is allocated for trace region.", bytes, device->id(),
                    region),
                "open the device with a larger trace_region_size, or with 0; the size is an estimate");
        }
        traces_[id] = {device->weak_from_this(), trace};
    }
    uint64_t find(MeshDevice* device, uint32_t id) const {
        const std::lock_guard lock(mutex_);
        const auto found = traces_.find(id);
        if (found == traces_.end() || !is(found->second.first, device))
            fail(
                ErrorCode::InvalidArgument, text("Trace instance {} must exist on device {}", id, device == nullptr ? 0 : device->id()),
                "it was released, or never captured to its end");
        return found->second.second;
    }
    void forget(uint32_t id) {
        const std::lock_guard lock(mutex_);
        traces_.erase(id);
    }
    bool active(const MeshDevice* device) const {
        const std::lock_guard lock(mutex_);
        return under_way_ && is(under_way_->device, device);
    }

private:
    using Handle = std::weak_ptr<MeshDevice>;  // a closed device's traces are gone
    static bool is(const Handle& handle, const MeshDevice* device) {
        const auto open = handle.lock();
        return open.get() == device && open && open->shim().is_open();
    }

    mutable std::mutex mutex_;
    uint32_t next_ = 0;
    std::optional<Capture> under_way_;
    std::map<uint32_t, std::pair<Handle, uint64_t>> traces_;
};

Captures& captures() {
    static Captures all;
    return all;
}

}  // namespace

MeshTraceId begin_trace_capture(MeshDevice* device, std::optional<QueueId> cq_id) {
    const OpScope scope("ttnn.begin_trace_capture");
    return MeshTraceId(captures().begin(device, number_of(cq_id)));
}
void end_trace_capture(MeshDevice* device, MeshTraceId trace_id, std::optional<QueueId> cq_id) {
    const OpScope scope("ttnn.end_trace_capture");
    captures().end(device, *trace_id, number_of(cq_id));
}
void execute_trace(MeshDevice* device, MeshTraceId trace_id, std::optional<QueueId>, bool) {
    const OpScope scope("ttnn.execute_trace");
    const uint64_t trace = captures().find(device, *trace_id);
    SHIM_CHECK(!captures().active(device), "Traces cannot be executed during trace capture.");
    replay_trace(machine_behind(device), trace, 0);
}
void release_trace(MeshDevice* device, MeshTraceId trace_id) {
    const OpScope scope("ttnn.release_trace");
    ttnn_shim::release_trace(machine_behind(device), captures().find(device, *trace_id));
    captures().forget(*trace_id);
}

}  // namespace operations::trace
}  // namespace ttnn

// --- the Python door: a mesh by its extents, a placement as the dimension that it cuts, or none ---

namespace {

std::vector<uint32_t> extents_in(const Call& call, const char* name) {
    std::vector<uint32_t> extents = call.u32s(name);
    uint64_t chips = 1;
    for (const uint32_t extent : extents) chips = std::min<uint64_t>(chips * extent, MOST_CHIPS + 1);
    SHIM_CHECK(
        !extents.empty() && extents.size() <= 2 && chips >= 1 && chips <= MOST_CHIPS,
        "{}: expected rows and columns of 1 to {} chips, got {}", name, MOST_CHIPS, mesh_text(extents));
    return extents;
}

Placements placements_in(const Call& call) {
    Placements all;
    for (const Attr& item : call.items("placements")) {
        const auto* dim = std::get_if<int64_t>(&item.value);
        all.push_back(dim == nullptr ? std::nullopt : std::optional<int>(static_cast<int>(*dim)));
    }
    return all;
}

}  // namespace

SHIM_OP("mesh.create_mesh_mapper", [](const Call& call) { check_mapper(extents_in(call, "distribution"), placements_in(call)); });
SHIM_OP("mesh.create_mesh_composer", [](const Call& call) { check_composer(extents_in(call, "extents"), call.i32s("dims")); });
SHIM_OP("mesh.distribute_tensor", [](const Call& call) {
    return distribute(call.tensor("tensor"), extents_in(call, "mesh"), extents_in(call, "distribution"), placements_in(call));
});
SHIM_OP("mesh.aggregate_tensor", [](const Call& call) {
    watch_join(call.tensor("tensor"), extents_in(call, "extents"));
    return aggregate(call.tensor("tensor"), extents_in(call, "extents"), call.i32s("dims"));
});
SHIM_OP("mesh.get_device_tensors", [](const Call& call) { return tensors_of_chips(call.tensor("tensor")); });
SHIM_OP("mesh.from_host_shards", [](const Call& call) { return from_parts(call.tensors("tensors"), extents_in(call, "mesh")); });
