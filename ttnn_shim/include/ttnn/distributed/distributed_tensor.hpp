// How tensors are spread over a mesh and put together again.
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
    explicit TensorToMesh(MeshMapperConfig config, MeshShape mesh = {1, 1}) : config_(std::move(config)), mesh_(std::move(mesh)) {}
    const MeshMapperConfig& config() const { return config_; }
    const MeshShape& mesh_shape() const { return mesh_; }

private:
    MeshMapperConfig config_;
    MeshShape mesh_;
};

class MeshToTensor {
public:
    explicit MeshToTensor(MeshComposerConfig config, MeshShape mesh = {1, 1}) : config_(std::move(config)), mesh_(std::move(mesh)) {}
    const MeshComposerConfig& config() const { return config_; }
    const MeshShape& mesh_shape() const { return mesh_; }

private:
    MeshComposerConfig config_;
    MeshShape mesh_;
};

/// Throws InvalidArgument where the placements are not one for each axis, or cut a dimension twice.
std::unique_ptr<TensorToMesh> create_mesh_mapper(MeshDevice& mesh_device, const MeshMapperConfig& config);
std::unique_ptr<TensorToMesh> create_mesh_mapper(const MeshShape& mesh_shape, const MeshMapperConfig& config);
std::unique_ptr<MeshToTensor> create_mesh_composer(MeshDevice& mesh_device, const MeshComposerConfig& config);
/// A host tensor cut over the mapper's mesh; on `mesh_device` when one is given.
Tensor distribute_tensor(
    const Tensor& tensor, const TensorToMesh& mapper, std::optional<std::reference_wrapper<MeshDevice>> mesh_device = std::nullopt,
    std::optional<QueueId> cq_id = std::nullopt);
/// The parts joined, on the host.
Tensor aggregate_tensor(const Tensor& tensor, const MeshToTensor& composer);
/// Host tensors of equal specs as one of a mesh.
Tensor from_host_shards(const std::vector<Tensor>& tensor_shards, const MeshShape& mesh_shape, int shard_dim = 0);

}  // namespace ttnn::distributed
