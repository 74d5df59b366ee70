#include "tensor/mesh.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <numeric>

#include "sim/systems.hpp"
#include "tensor/access.hpp"

namespace ttnn_shim {

namespace {

std::atomic<Fabric> fabric_now{Fabric::Disabled};

std::string names_of(const std::vector<sim::MeshExtents>& meshes) {
    std::string all;
    for (const auto& [rows, columns] : meshes) all += (all.empty() ? "" : ", ") + std::to_string(rows) + "x" + std::to_string(columns);
    return all;
}

uint64_t product(const std::vector<uint32_t>& extents) {
    return std::accumulate(extents.begin(), extents.end(), uint64_t{1}, std::multiplies<>());
}

/// The coordinates of an element of a grid in row-major order.
std::vector<uint32_t> coordinates(size_t index, const std::vector<uint32_t>& extents) {
    std::vector<uint32_t> at(extents.size());
    for (size_t axis = extents.size(); axis-- > 0; index /= extents[axis]) at[axis] = static_cast<uint32_t>(index % extents[axis]);
    return at;
}

/// A box of a dense tensor and the same values densely: copies one to the other.
void copy_box(
    std::byte* whole, const std::vector<uint32_t>& shape, std::byte* box, const std::vector<uint32_t>& starts,
    const std::vector<uint32_t>& extents, size_t element_bytes, bool into_box) {
    size_t inner = shape.size();  // dimensions from here on are whole: with the one before they are contiguous
    while (inner > 0 && extents[inner - 1] == shape[inner - 1]) --inner;
    size_t run = element_bytes;
    for (size_t dim = inner == 0 ? 0 : inner - 1; dim < shape.size(); ++dim) run *= extents[dim];
    const std::vector<uint32_t> outer(extents.begin(), extents.begin() + static_cast<std::ptrdiff_t>(inner == 0 ? 0 : inner - 1));
    const auto strides = strides_of(Shape(std::span<const uint32_t>(shape)));
    for (uint64_t i = 0; i < product(outer); ++i) {
        const auto at = coordinates(i, outer);
        uint64_t offset = inner == 0 ? 0 : starts[inner - 1] * strides[inner - 1];
        for (size_t dim = 0; dim < outer.size(); ++dim) offset += (starts[dim] + at[dim]) * strides[dim];
        std::byte* const place = whole + offset * element_bytes;
        std::memcpy(into_box ? box + i * run : place, into_box ? place : box + i * run, run);
    }
}

std::vector<uint32_t> list(const Shape& shape) { return {shape.view().begin(), shape.view().end()}; }

/// Values of `spec` from dense ones: block floats are packed anew, their blocks may have other borders now.
std::shared_ptr<Values> packed(std::shared_ptr<Values> dense, const TensorSpec& spec) {
    if (!is_block_float(spec.data_type())) return dense;
    return from_host_values(dense->data(), DataType::BFLOAT16, spec, nullptr).shim().buffer->values();
}

std::string in_braces(int dim) { return "{" + std::to_string(dim) + "}"; }

void check_unique(std::vector<int> dims, const char* hint) {
    std::ranges::sort(dims);
    if (std::ranges::adjacent_find(dims) != dims.end()) fail(ErrorCode::InvalidArgument, "dims must be unique", hint);
}

TensorSpec with_shape(const TensorSpec& spec, const std::vector<uint32_t>& extents) {
    return TensorSpec(Shape(std::span<const uint32_t>(extents)), spec.tensor_layout());
}

}  // namespace

Fabric fabric() { return fabric_now; }
void set_fabric(Fabric fabric) { fabric_now = fabric; }

/// Whether the library opens such a mesh: part of the system's, as it is or turned, or a line of any chips.
static bool opens(const sim::System& system, uint32_t rows, uint32_t columns) {
    const auto [all_rows, all_columns] = system.meshes.front();
    if (uint64_t{rows} * columns > uint64_t{all_rows} * all_columns) return false;
    return rows == 1 || columns == 1 || (rows <= all_rows && columns <= all_columns) || (rows <= all_columns && columns <= all_rows);
}

const sim::System* system_for(const std::string& name, uint32_t rows, uint32_t columns) {
    const uint64_t chips = uint64_t{rows} * columns;
    const sim::System* system = sim::find_system(name);
    if (chips == 1 && (system == nullptr || system->chip.starts_with(name))) {  // a card
        if (system != nullptr && fabric() != Fabric::Disabled && system->board_chips > 1)
            fail(
                ErrorCode::InvalidArgument, "Fabric is being used but Device 1 is not active",
                text("a fabric needs the whole board of {} chips: set_fabric_config(DISABLED) before one chip", system->board_chips));
        return nullptr;
    }
    if (system == nullptr) {
        std::string others;
        for (const sim::System& one : sim::systems())
            if (opens(one, rows, columns)) others += (others.empty() ? "" : ", ") + std::string(one.name);
        fail(
            ErrorCode::InvalidArgument, text("a mesh of {}x{} devices: {} has one", rows, columns, name),
            others.empty() ? "no simulated system has such a mesh" : "systems that have it: " + others + " (--arch, TTNN_SHIM_CARD)");
    }
    const auto [all_rows, all_columns] = system->meshes.front();
    const uint64_t available = uint64_t{all_rows} * all_columns;
    const std::string asked = mesh_text({rows, columns}), whole = mesh_text({all_rows, all_columns});
    const std::string hint = text("the meshes of all chips of {}: {}", name, names_of(system->meshes));
    if (chips > available)
        fail(
            ErrorCode::InvalidArgument,
            text(
                "Requested mesh shape {} requires {} devices, but only {} devices are available in the system mesh {}.", asked, chips,
                available, whole),
            hint);
    if (!opens(*system, rows, columns))
        fail(ErrorCode::InvalidArgument, text("Requested mesh is too big and is not rotatable: {} and SystemMesh {}", asked, whole), hint);
    return system;
}

std::string card_of_chips(const sim::System* system, const std::string& card) {
    return system == nullptr ? card : std::string(system->chip);
}

std::string mesh_text(const std::vector<uint32_t>& extents) {
    std::string all;
    for (const uint32_t extent : extents) all += (all.empty() ? "" : ", ") + std::to_string(extent);
    return "MeshShape([" + all + "])";
}

std::vector<uint32_t> extents_of(const tt::tt_metal::distributed::MeshShape& shape) {
    std::vector<uint32_t> extents;
    for (size_t dim = 0; dim < shape.dims(); ++dim) extents.push_back(shape[dim]);
    return extents;
}

std::shared_ptr<const Topology> topology_of(const Tensor& tensor) {
    if (tensor.shim().topology) return tensor.shim().topology;
    const auto& device = tensor.shim().buffer->device();
    if (!device || device->num_devices() == 1) return nullptr;
    const auto mesh = extents_of(device->shape());
    return std::make_shared<Topology>(Topology{mesh, mesh, Placements(mesh.size())});
}

void check_one_part(const Tensor& tensor) {
    const auto topology = topology_of(tensor);
    if (!topology || product(topology->mesh) == 1) return;
    fail(
        ErrorCode::InvalidArgument,
        text(
            "Can't convert a tensor distributed on {} mesh to row-major logical tensor. Supply a mesh composer to concatenate multi-device "
            "shards.",
            mesh_text(topology->mesh)),
        "ttnn.to_torch(tensor, mesh_composer=...), or ttnn.get_device_tensors(tensor)[0] where all chips have the same");
}

Tensor place_on_mesh(const Tensor& host, MeshDevice* device, const TensorSpec& spec) {
    const auto& topology = host.shim().topology;
    const bool cut = topology && product(topology->mesh) > 1;
    if (!cut) return make_device_tensor(device, spec, host.shim().buffer->contents());
    const auto mesh = extents_of(device->shape());
    if (topology->mesh != mesh) {
        const bool larger = topology->mesh.size() != mesh.size() || topology->mesh[0] > mesh[0] || topology->mesh[1] > mesh[1];
        const std::vector<uint32_t> last{topology->mesh[0] - 1, topology->mesh.back() - 1};
        fail(
            ErrorCode::InvalidArgument,
            larger ? text("Coordinate MeshCoordinate([{}, {}]) not found in mesh", last[0], last[1])
                   : text("the tensor is of a mesh of {}x{} chips, part of the device's", topology->mesh[0], topology->mesh[1]),
            text("it was cut for {}, the device is {}: write its file for this mesh", mesh_text(topology->mesh), mesh_text(mesh)));
    }
    return make_device_tensor(device, spec, host.shim().buffer->contents(), topology);
}

void check_mapper(const std::vector<uint32_t>& distribution, const Placements& placements) {
    std::string all;
    std::vector<int> dims;
    for (const std::optional<int>& placement : placements) {
        all += (all.empty() ? "" : ", ") + (placement ? text("PlacementShard({})", *placement) : std::string("PlacementReplicate()"));
        if (placement) dims.push_back(*placement);
    }
    SHIM_CHECK(
        placements.size() == distribution.size(),
        "The number of dimensions in the mesh shape {} does not match the number of placements in the config "
        "MeshMapperConfig(placements: [{}])",
        mesh_text(distribution), all);
    check_unique(dims, "a dimension over both axes needs the mesh as one axis: MeshShape([N]) as the config's mesh_shape_override");
}

void check_composer(const std::vector<uint32_t>& extents, const std::vector<int>& dims) {
    std::string all;
    for (const int dim : dims) all += (all.empty() ? "" : ", ") + std::to_string(dim);
    SHIM_CHECK(
        dims.size() == extents.size(),
        "The number of dimensions in the mesh shape {} does not match the number of dimensions in the config MeshComposerConfig(dims: "
        "[{}])",
        mesh_text(extents), all);
    check_unique(dims, "name any other dimension for an axis that only repeats, with extent 1 in mesh_shape_override");
}

Tensor distribute(
    const Tensor& host, const std::vector<uint32_t>& mesh, const std::vector<uint32_t>& distribution, const Placements& placements) {
    SHIM_CHECK(!is_on_device(host), "expected a host tensor to distribute, got one on a device; use ttnn.from_device");
    SHIM_CHECK(!host.shim().topology || product(host.shim().topology->mesh) == 1, "the tensor is distributed already");
    SHIM_SUPPORTED(mesh.size() == 2, "a mesh of {} dimensions: give rows and columns", mesh.size());
    check_mapper(distribution, placements);
    SHIM_SUPPORTED(
        product(distribution) == product(mesh), "a tensor on part of the mesh: {} chips of {}", product(distribution), product(mesh));
    const TensorSpec& spec = host.tensor_spec();
    const auto shape = list(spec.logical_shape());
    std::vector<std::optional<size_t>> dims;
    for (const std::optional<int>& placement : placements) {
        const auto rank = static_cast<int>(shape.size());
        SHIM_CHECK(
            !placement || (*placement >= -rank && *placement < rank), "Invalid dimension index; got dims: {}, tensor dimension: {}",
            in_braces(placement.value_or(0)), rank);
        dims.push_back(placement ? std::optional(static_cast<size_t>(*placement < 0 ? *placement + rank : *placement)) : std::nullopt);
    }
    std::vector<uint32_t> extents = shape;
    for (size_t axis = 0; axis < dims.size(); ++axis) {
        if (!dims[axis]) continue;
        const uint32_t whole = shape[*dims[axis]], parts = distribution[axis], part = (whole + parts - 1) / parts;
        if (whole % parts != 0) {  // the chunks that the real package makes, of which the last is smaller
            auto first = shape, last = shape;
            first[*dims[axis]] = part;
            last[*dims[axis]] = whole % part;
            SHIM_SUPPORTED(  // the real package leaves chips without a part where equal chunks are fewer
                whole % part != 0, "a tensor on part of the mesh: dimension {} of {} makes {} parts for {} chips", *dims[axis], whole,
                whole / part, parts);
            fail(
                ErrorCode::InvalidArgument,
                text(
                    "Shard shape mismatch: expected Shape({}) but got Shape({})", Shape(std::span<const uint32_t>(first)),
                    Shape(std::span<const uint32_t>(last))),
                text("dimension {} of {} does not divide by {} chips: pad it first", *dims[axis], whole, parts));
        }
        extents[*dims[axis]] = part;
    }
    const TensorSpec part_spec = with_shape(spec, extents);
    std::map<std::vector<uint32_t>, std::shared_ptr<Values>> made;  // by where the part begins
    std::vector<Contents::Part> parts;
    for (size_t chip = 0; chip < product(distribution) && has_values(host); ++chip) {
        const auto at = coordinates(chip, distribution);
        std::vector<uint32_t> starts(shape.size());
        for (size_t axis = 0; axis < dims.size(); ++axis)
            if (dims[axis]) starts[*dims[axis]] = at[axis] * extents[*dims[axis]];
        auto& values = made[starts];
        if (!values && extents == shape) values = host.shim().buffer->values();
        if (!values) {
            values = new_values(part_spec);
            copy_box(host.shim().buffer->values()->data(), shape, values->data(), starts, extents, stored_bytes(spec.data_type()), true);
            values = packed(std::move(values), part_spec);
        }
        parts.push_back({chip_or_none(chip, product(mesh)), values});
    }
    return make_host_tensor(part_spec, Contents(std::move(parts)), std::make_shared<Topology>(Topology{mesh, distribution, placements}));
}

Tensor aggregate(const Tensor& tensor, const std::vector<uint32_t>& extents, const std::vector<int>& dims) {
    SHIM_CHECK(!is_on_device(tensor), "expected a host tensor to aggregate, got one on a device; use ttnn.from_device");
    const std::vector<uint32_t> mesh = tensor.shim().topology ? tensor.shim().topology->mesh : std::vector<uint32_t>{1, 1};
    check_composer(extents, dims);
    SHIM_CHECK(product(extents) <= product(mesh), "the composer is of {}, the tensor of {}", mesh_text(extents), mesh_text(mesh));
    const TensorSpec& spec = tensor.tensor_spec();
    const auto part = list(spec.logical_shape());
    std::vector<size_t> along;
    auto shape = part;
    for (size_t axis = 0; axis < dims.size(); ++axis) {
        const auto rank = static_cast<int>(part.size());
        SHIM_CHECK(
            dims[axis] >= -rank && dims[axis] < rank, "Invalid dimension index; got dims: {}, tensor dimension: {}", in_braces(dims[axis]),
            rank);
        along.push_back(static_cast<size_t>(dims[axis] < 0 ? dims[axis] + rank : dims[axis]));
        shape[along.back()] *= extents[axis];
    }
    const TensorSpec whole_spec = with_shape(spec, shape);
    if (!has_values(tensor)) return make_host_tensor(whole_spec, {});
    const bool box = extents.size() == mesh.size() && std::ranges::equal(extents, mesh, std::less_equal<>());
    if (product(extents) == 1) return make_host_tensor(spec, tensor.shim().buffer->contents().of_chip(0));
    auto values = new_values(whole_spec);
    for (size_t index = 0; index < product(extents); ++index) {
        const auto at = coordinates(index, extents);
        size_t chip = index;
        if (box) {
            chip = 0;
            for (size_t axis = 0; axis < mesh.size(); ++axis) chip = chip * mesh[axis] + at[axis];
        }
        std::vector<uint32_t> starts(part.size());
        for (size_t axis = 0; axis < along.size(); ++axis) starts[along[axis]] += at[axis] * part[along[axis]];
        copy_box(
            values->data(), shape, tensor.shim().buffer->contents().of_chip(chip)->data(), starts, part, stored_bytes(spec.data_type()),
            false);
    }
    return make_host_tensor(whole_spec, packed(std::move(values), whole_spec));
}

Tensor convert_parts(
    const Tensor& host, const TensorSpec& spec, const std::function<std::shared_ptr<Values>(const std::shared_ptr<Values>&)>& convert) {
    Contents made = host.shim().buffer->contents();
    for (Contents::Part& part : made.parts) part.values = convert(part.values);
    if (!made.differ() && made.present()) made.values = convert(made.values);
    return make_host_tensor(spec, std::move(made), host.shim().topology);
}

std::vector<Tensor> tensors_of_chips(const Tensor& tensor) {
    const auto topology = topology_of(tensor);
    if (!topology || product(topology->mesh) == 1) return {tensor};
    static const auto alone = std::make_shared<const Topology>(Topology{{1, 1}, {1}, {std::nullopt}});
    std::vector<Tensor> chips;
    for (size_t chip = 0; chip < product(topology->mesh); ++chip) {
        const Contents own(tensor.shim().buffer->contents().of_chip(chip));
        Tensor one = is_on_device(tensor) ? make_in_place(tensor, tensor.tensor_spec()) : make_host_tensor(tensor.tensor_spec(), {});
        one.shim().buffer->set_contents(own);
        one.shim().topology = alone;
        chips.push_back(std::move(one));
    }
    return chips;
}

Tensor from_parts(const std::vector<Tensor>& parts, const std::vector<uint32_t>& mesh) {
    SHIM_CHECK(
        !parts.empty() && parts.size() == product(mesh), "expected {} tensors for {}, got {}", product(mesh), mesh_text(mesh),
        parts.size());
    const bool device = is_on_device(parts[0]);
    std::vector<Contents::Part> all;
    for (size_t chip = 0; chip < parts.size(); ++chip) {
        SHIM_CHECK(
            is_on_device(parts[chip]) == device && parts[chip].tensor_spec() == parts[0].tensor_spec(),
            "All shards must have the same spec: expected {}, got {}", parts[0].tensor_spec(), parts[chip].tensor_spec());
        all.push_back({chip_or_none(chip, product(mesh)), parts[chip].shim().buffer->values()});
    }
    if (parts.size() == 1) return parts[0];
    const auto topology = std::make_shared<Topology>(Topology{mesh, {static_cast<uint32_t>(parts.size())}, {0}});
    return device ? make_device_tensor(device_of(parts[0]), parts[0].tensor_spec(), Contents(std::move(all)), topology)
                  : make_host_tensor(parts[0].tensor_spec(), Contents(std::move(all)), topology);
}

}  // namespace ttnn_shim
