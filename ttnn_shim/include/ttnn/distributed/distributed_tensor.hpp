// How tensors are spread over a mesh and put together again. The simulated mesh has one chip, which has all of every tensor.
#pragma once

#include <algorithm>
#include <cassert>
#include <functional>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "ttnn/distributed/types.hpp"

namespace tt::tt_metal::distributed {

/// What each dimension of the mesh does with a tensor.
struct MeshMapperConfig {
    struct Replicate {};
    struct Shard {
        int dim = 0;
    };
    using Placement = std::variant<Replicate, Shard>;
    std::vector<Placement> placements;
    std::optional<MeshShape> mesh_shape_override = std::nullopt;
};

/// The tensor's dimension along which the parts of each dimension of the mesh are joined.
struct MeshComposerConfig {
    std::vector<int> dims;
    std::optional<MeshShape> mesh_shape_override = std::nullopt;
};

}  // namespace tt::tt_metal::distributed

namespace ttnn::distributed {

using tt::tt_metal::distributed::MeshComposerConfig;
using tt::tt_metal::distributed::MeshMapperConfig;

class TensorToMesh {
public:
    explicit TensorToMesh(MeshMapperConfig config) : config_(std::move(config)) {}
    const MeshMapperConfig& config() const { return config_; }

private:
    MeshMapperConfig config_;
};

class MeshToTensor {
public:
    explicit MeshToTensor(MeshComposerConfig config) : config_(std::move(config)) {}
    const MeshComposerConfig& config() const { return config_; }

private:
    MeshComposerConfig config_;
};

/// Throws NotSupported for a mesh of several devices, as create_mesh_composer.
std::unique_ptr<TensorToMesh> create_mesh_mapper(MeshDevice& mesh_device, const MeshMapperConfig& config);
std::unique_ptr<MeshToTensor> create_mesh_composer(MeshDevice& mesh_device, const MeshComposerConfig& config);
/// The tensor, on `mesh_device` when one is given.
Tensor distribute_tensor(
    const Tensor& tensor, const TensorToMesh& mapper, std::optional<std::reference_wrapper<MeshDevice>> mesh_device = std::nullopt,
    std::optional<QueueId> cq_id = std::nullopt);
/// The tensor, on the host.
Tensor aggregate_tensor(const Tensor& tensor, const MeshToTensor& composer);

}  // namespace ttnn::distributed
