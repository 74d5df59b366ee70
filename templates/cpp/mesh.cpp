#include "mesh.hpp"

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <tt-metalium/experimental/fabric/fabric.hpp>

#include "simulator.hpp"
#include "ttnn/distributed/api.hpp"
#include "ttnn/distributed/distributed_tensor.hpp"
#include "utils.hpp"

namespace utils {

using ttnn::Tensor;

std::vector<std::size_t> mesh_extents() {
    const Json& device = manifest().at("device");
    const auto chips = device.has("mesh_shape") ? device.extents("mesh_shape") : std::vector<std::size_t>{1, 1};
    if (chips.size() != 2 || chips[0] == 0 || chips[1] == 0 || chips[0] > 64 || chips[1] > 64) {
        throw std::runtime_error("manifest.json: 'mesh_shape' is no mesh of chips");
    }
    return chips;
}

bool several_chips() {
    const auto chips = mesh_extents();
    return chips[0] * chips[1] > 1;
}

std::vector<std::optional<int>> placement(const Json& entry) {
    std::vector<std::optional<int>> dims(2);
    if (entry.has("placement")) {
        const std::vector<Json>& items = entry.at("placement").items;
        for (std::size_t axis = 0; axis < std::min<std::size_t>(items.size(), 2); ++axis) {
            if (items[axis].kind == Json::Kind::Number && items[axis].number >= 0.0 && items[axis].number < 32.0) {
                dims[axis] = static_cast<int>(items[axis].number);
            }
        }
    }
    return dims;
}

Tensor whole(const Tensor& tensor, const Json& entry) {
    if (!several_chips()) {
        return tensor;
    }
    const auto cut = placement(entry);
    auto chips = mesh_extents();
    std::vector<int> dims;
    int spare = 0;  // a composer wants a dimension for each axis
    for (std::size_t axis = 0; axis < 2; ++axis) {
        while (spare == cut[0] || spare == cut[1]) ++spare;
        dims.push_back(cut[axis] ? *cut[axis] : spare++);
        chips[axis] = cut[axis] ? chips[axis] : 1;
    }
    const ttnn::MeshShape extents(static_cast<uint32_t>(chips[0]), static_cast<uint32_t>(chips[1]));
    const auto composer = ttnn::distributed::create_mesh_composer(*tensor.device(), {dims, extents});
    return ttnn::distributed::aggregate_tensor(tensor.cpu(), *composer);
}

Tensor distributed(const Tensor& tensor, const Json& entry, ttnn::MeshDevice& device) {
    ttnn::distributed::MeshMapperConfig config;
    for (const auto& dim : placement(entry)) {
        if (dim) {
            config.placements.push_back(ttnn::distributed::MeshMapperConfig::Shard{*dim});
        } else {
            config.placements.push_back(ttnn::distributed::MeshMapperConfig::Replicate{});
        }
    }
    return ttnn::distributed::distribute_tensor(tensor, *ttnn::distributed::create_mesh_mapper(device, config));
}

// Errors name their line from now on.
static void watch_errors() {
#if ON_SIMULATOR
    ttnn_shim::keep_stacks(true);
#endif
}

Device::Device() {
    const auto chips = mesh_extents();
    if (several_chips()) {  // before the mesh: opening it starts the routers of the links between chips
        tt::tt_fabric::SetFabricConfig(tt::tt_fabric::FabricConfig::FABRIC_1D);
    }
    mesh_ = ttnn::distributed::open_mesh_device(
        ttnn::MeshShape(static_cast<uint32_t>(chips[0]), static_cast<uint32_t>(chips[1])),
        manifest().at("device").count("l1_small_size"),
        /*trace_region_size=*/0,
        /*num_command_queues=*/1, tt::tt_metal::DispatchCoreConfig{});
    watch_errors();
}

Device::Device(ttnn::MeshDevice* borrowed) : mesh_(borrowed, [](ttnn::MeshDevice*) {}), owned_(false) {
    watch_errors();
}

Device::~Device() {
    if (owned_) {
        ttnn::distributed::close_mesh_device(mesh_);
        if (several_chips()) {
            tt::tt_fabric::SetFabricConfig(tt::tt_fabric::FabricConfig::DISABLED);
        }
    }
}

}  // namespace utils
