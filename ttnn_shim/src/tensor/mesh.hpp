// Meshes of a system's chips, and tensors that are spread over them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tensor/storage.hpp"

namespace ttnn_shim {

/// Of the process: what set_fabric_config said last. A mesh keeps what it was opened with.
Fabric fabric();
void set_fabric(Fabric fabric);

/// The system that has a mesh of these extents, by the name of a run's card or system; null for one chip of a card. Throws
/// Error(InvalidArgument) with the meshes that it has.
const sim::System* system_for(const std::string& name, uint32_t rows, uint32_t columns);

/// The card that each chip of a system is; `card` where there is no system.
std::string card_of_chips(const sim::System* system, const std::string& card);
/// "MeshShape([2, 4])", as the real package prints it.
std::string mesh_text(const std::vector<uint32_t>& extents);
std::vector<uint32_t> extents_of(const tt::tt_metal::distributed::MeshShape& shape);
/// How a tensor was spread: what it says itself, else the same on all chips of its device; null on one chip.
std::shared_ptr<const Topology> topology_of(const Tensor& tensor);
/// Throws Error(InvalidArgument) for a tensor of several chips, as the real package does where it is read as one.
void check_one_part(const Tensor& tensor);
/// A host tensor on a device: one of one chip on all chips, one of a mesh on that mesh. Throws Error(InvalidArgument) for one of another
/// mesh.
Tensor place_on_mesh(const Tensor& host, MeshDevice* device, const TensorSpec& spec);

/// A placement of each axis: the dimension that it cuts (negative: from the last one), or none.
using Placements = std::vector<std::optional<int>>;
/// Throw Error(InvalidArgument) where the placements or dimensions are not one for each axis, or name a dimension twice.
void check_mapper(const std::vector<uint32_t>& distribution, const Placements& placements);
void check_composer(const std::vector<uint32_t>& extents, const std::vector<int>& dims);
/// A host tensor cut over a mesh; `distribution`: extents of its axes, the mesh's or others with as many chips or fewer, which the mesh's
/// first chips get in row-major order. Throws Error(InvalidArgument) as the real package does.
Tensor distribute(
    const Tensor& host, const std::vector<uint32_t>& mesh, const std::vector<uint32_t>& distribution, const Placements& placements);
/// The parts of a host tensor joined along a dimension for each axis of `extents` (the first of an axis's parts where it is 1).
Tensor aggregate(const Tensor& host, const std::vector<uint32_t>& extents, const std::vector<int>& dims);
/// A host tensor of `spec` whose parts `convert` makes of a host tensor's, each of them once.
Tensor convert_parts(
    const Tensor& host, const TensorSpec& spec, const std::function<std::shared_ptr<Values>(const std::shared_ptr<Values>&)>& convert);
/// One tensor for each chip of the tensor's mesh, in row-major order; they share its values.
std::vector<Tensor> tensors_of_chips(const Tensor& tensor);
/// Host tensors of equal specs as one of a mesh.
Tensor from_parts(const std::vector<Tensor>& parts, const std::vector<uint32_t>& mesh);

}  // namespace ttnn_shim
