// all_gather, reduce_scatter, all_reduce and mesh_partition: the collectives of tensor-parallel programs. Where TT-NN composes one of
// others (padded tiles, row-major tensors) so does this; sums are exact to one rounding, TT-NN rounds at every chip of the way.
#include "ops/arguments.hpp"
#include "ops/ccl/lines.hpp"
#include "ops/ccl/placement.hpp"
#include "ttnn/operations/ccl/all_broadcast/all_broadcast.hpp"
#include "ttnn/operations/ccl/all_gather/all_gather.hpp"
#include "ttnn/operations/ccl/all_reduce/all_reduce.hpp"
#include "ttnn/operations/ccl/mesh_partition/mesh_partition.hpp"
#include "ttnn/operations/ccl/reduce_scatter/reduce_scatter.hpp"
#include "ttnn/operations/core/to_layout/to_layout_op.hpp"
#include "ttnn/operations/core/to_memory_config/to_memory_config_op.hpp"
#include "ttnn/operations/data_movement/concat/concat.hpp"
#include "ttnn/operations/data_movement/pad/pad.hpp"
#include "ttnn/operations/data_movement/slice/slice.hpp"

using namespace ttnn_shim;

namespace {

using OptionalMemory = std::optional<MemoryConfig>;
using OptionalAxis = std::optional<uint32_t>;
constexpr uint32_t TILE = 32;
constexpr const char* FOLD = "an axis of one chip has nothing to send: leave the call out";

/// Whether a dimension of a tensor is one of a tile's sides.
bool in_tiles(const Tensor& input, size_t dim) { return input.layout() == Layout::TILE && dim + 2 >= input.logical_shape().rank(); }
bool is_padded(const Tensor& input, size_t dim) { return in_tiles(input, dim) && input.logical_shape().view()[dim] % TILE != 0; }

/// The hint where a dimension cannot be cut over an axis.
std::string uneven(size_t dim, uint32_t extent, size_t chips) {
    return text("dimension {} of {} does not divide by {} chips: pad it first", dim, extent, chips);
}

/// The part of one chip as a call of slice: `index` of `count` along `dim`.
Tensor slice_of(const Tensor& input, size_t dim, uint32_t begin, uint32_t end) {
    ttsl::SmallVector<uint32_t> begins(input.logical_shape().rank(), 0),
        ends(input.logical_shape().view().begin(), input.logical_shape().view().end());
    const ttsl::SmallVector<uint32_t> steps(input.logical_shape().rank(), 1);
    begins[dim] = begin;
    ends[dim] = end;
    return ttnn::slice(input, begins, ends, steps);
}

Tensor gather(
    const Tensor& input, size_t dim, const Axis& axis, const OptionalMemory& memory, const OptionalTensor& output, bool all_reduce) {
    const Shape& shape = input.logical_shape();
    const Shape whole = with_extent(shape, dim, shape.view()[dim] * axis.chips);
    SHIM_CHECK(
        !output || output->logical_shape() == whole, "Output tensor shape must be Shape({}), got Shape({})", whole,
        output ? output->logical_shape() : whole);
    strategy::Collective op = axis.program("ALL_GATHER");
    if (all_reduce) op.all_reduce = true;
    return launch(
        {.op = op, .name = "AllGatherDeviceOperation", .across_chips = true}, {input},
        {make_spec(whole, input.dtype(), input.layout(), memory.value_or(input.memory_config()))},
        [=](std::span<const Tensor> outputs) {
            exchange(input, outputs[0], axis, [&](const Blocks& blocks) {
                return Blocks(axis.chips, joined(blocks, shape, dim, stored_bytes(input.dtype())));
            });
        },
        {output})[0];
}

Tensor scatter_sum(
    const Tensor& input, size_t dim, const Axis& axis, const OptionalMemory& memory, const OptionalTensor& output, bool all_reduce) {
    const Shape& shape = input.logical_shape();
    strategy::Collective op = axis.program("REDUCE_SCATTER");
    if (all_reduce) op.all_reduce = true;
    const Shape part = with_extent(shape, dim, shape.view()[dim] / axis.chips);
    return launch(
        {.op = op, .name = "ReduceScatterDeviceOperation", .across_chips = true}, {input},
        {make_spec(part, input.dtype(), input.layout(), memory.value_or(input.memory_config()))},
        [=](std::span<const Tensor> outputs) {
            exchange(input, outputs[0], axis, [&](const Blocks& blocks) {
                const auto sum = sum_of(blocks, input.dtype());
                Blocks parts;
                for (size_t i = 0; i < blocks.size(); ++i)
                    parts.push_back(part_of(*sum, shape, dim, i, blocks.size(), stored_bytes(input.dtype())));
                return parts;
            });
        },
        {output})[0];
}

/// As TT-NN composes it where the parts are not whole tiles: they are padded to tiles one by one, and the sums are cut back.
Tensor padded_scatter_sum(const Tensor& input, size_t dim, const Axis& axis, const OptionalMemory& memory) {
    if (input.layout() != Layout::TILE) {
        const Tensor tiles = ttnn::to_layout(input, Layout::TILE);
        const uint32_t part = input.logical_shape().view()[dim] / axis.chips;
        const bool whole = !in_tiles(tiles, dim) || part % TILE == 0;
        const Tensor sums =
            whole ? scatter_sum(tiles, dim, axis, memory, std::nullopt, false) : padded_scatter_sum(tiles, dim, axis, memory);
        return ttnn::to_layout(sums, Layout::ROW_MAJOR);
    }
    const uint32_t part = input.logical_shape().view()[dim] / axis.chips, padded = (part + TILE - 1) / TILE * TILE;
    std::vector<Tensor> pieces;
    for (uint32_t i = 0; i < axis.chips; ++i) {
        ttsl::SmallVector<std::array<uint32_t, 2>> around(input.logical_shape().rank(), {0, 0});
        around[dim] = {0, padded - part};
        pieces.push_back(ttnn::pad(slice_of(input, dim, i * part, (i + 1) * part), around, 0.0F));
    }
    const Tensor sums = scatter_sum(ttnn::concat(pieces, static_cast<int>(dim)), dim, axis, std::nullopt, std::nullopt, false);
    const Tensor cut = slice_of(sums, dim, 0, part);
    return memory && cut.memory_config() != *memory ? ttnn::to_memory_config(cut, *memory) : cut;
}

/// The dimension along which an all_reduce scatters and gathers; none where no dimension has whole tiles for all chips.
std::optional<size_t> dimension_for(const Tensor& input, uint32_t chips) {
    const Shape& shape = input.logical_shape();
    if (input.layout() != Layout::TILE) return std::nullopt;
    for (size_t dim = 0; dim < shape.rank(); ++dim)
        if (is_padded(input, dim)) return std::nullopt;
    for (size_t dim = shape.rank(); dim-- > 0;) {
        const uint32_t units = in_tiles(input, dim) ? shape.view()[dim] / TILE : shape.view()[dim];
        if (units % chips == 0 && units > 0) return dim;
    }
    return std::nullopt;
}

/// All parts on all chips, and their sum there.
Tensor broadcast_sum(const Tensor& input, uint32_t axis, const OptionalMemory& memory) {
    const std::vector<Tensor> all = ttnn::all_broadcast(input, axis);
    const Shape& shape = input.logical_shape();
    Shape::Container extents(shape.view().begin(), shape.view().end());
    if (extents.empty()) extents.push_back(1);
    extents.front() *= static_cast<uint32_t>(all.size());
    const auto side_by_side = make_spec(Shape(extents), input.dtype(), input.layout(), MemoryConfig());
    const Tensor stacked = launch(
        {.op = strategy::Concat{.dim = 0}, .name = "ConcatDeviceOperation"}, all, {side_by_side}, [=](std::span<const Tensor> outputs) {
            Blocks blocks;
            for (const Tensor& one : all) blocks.push_back(one.shim().buffer->values());
            outputs[0].shim().buffer->set_values(joined(blocks, shape, 0, stored_bytes(input.dtype())));
        })[0];
    const Tensor tiles = input.layout() == Layout::TILE ? stacked : ttnn::to_layout(stacked, Layout::TILE);
    const Tensor sum = launch(
        {.op = strategy::Reduce{.op = "SUM", .dim = "NC"}, .name = "MorehSumOperation"}, {tiles},
        {make_spec(shape, input.dtype(), Layout::TILE, memory.value_or(input.memory_config()))}, [=](std::span<const Tensor> outputs) {
            Blocks blocks;
            for (size_t i = 0; i < all.size(); ++i)
                blocks.push_back(
                    part_of(*tiles.shim().buffer->values(), tiles.logical_shape(), 0, i, all.size(), stored_bytes(input.dtype())));
            outputs[0].shim().buffer->set_values(sum_of(blocks, input.dtype()));
        })[0];
    return input.layout() == Layout::TILE ? sum : ttnn::to_layout(sum, input.layout());
}

/// Of reduce_scatter and all_reduce. Throws for an axis that is none or has one chip.
void check_sum_axis(const MeshDevice& mesh, const OptionalAxis& axis) {
    SHIM_CHECK(!axis || *axis < 2, "Invalid cluster axis {}. Must be 0 or 1", axis.value_or(0));
    if (mesh.num_devices() == 1 || (axis && mesh.shape()[*axis] == 1))
        fail(ErrorCode::InvalidArgument, "DEBUG: forward_coord or backward_coord is null", FOLD);
}

int64_t from_front(int64_t dim, size_t rank) { return dim < 0 ? dim + static_cast<int64_t>(rank) : dim; }

}  // namespace

namespace ttnn {

Tensor all_gather(
    const Tensor& input_tensor, int dim, std::optional<uint32_t> cluster_axis, const std::optional<MemoryConfig>& memory_config,
    const std::optional<Tensor>& output_tensor, const std::optional<SubDeviceId>&, const std::optional<CoreRangeSet>&,
    std::optional<uint32_t>, std::optional<tt::tt_fabric::Topology>, std::optional<uint32_t>, std::optional<uint32_t>,
    std::optional<uint32_t>, bool) {
    const OpScope scope("ttnn.all_gather");
    MeshDevice* mesh = mesh_of(input_tensor);
    check_fabric(*mesh);
    if (cluster_axis.value_or(0) > 1)
        fail(
            ErrorCode::InvalidArgument, text("ShapeBase[] index out of range. {} not in [-4, 2)", *cluster_axis),
            "cluster_axis 0 joins the chips of a column of the mesh, 1 those of a row");
    const bool plane = mesh->shape()[0] > 1 && mesh->shape()[1] > 1;
    if (!cluster_axis && plane && mesh->shim().fabric() != Fabric::Plane)
        fail(
            ErrorCode::InvalidArgument, "1D fabric on a 2D mesh_device requires cluster_axis to be set",
            "gather along axis 1, then along axis 0");
    const Axis axis = axis_of(*mesh, cluster_axis);
    if (axis.chips == 1) fail(ErrorCode::InvalidArgument, "all_gather collective will only work for num_devices > 1, got 1", FOLD);
    const size_t rank = input_tensor.logical_shape().rank();
    const int64_t at = from_front(dim, rank);
    SHIM_CHECK(at >= 0 && at < static_cast<int64_t>(rank), "Invalid gather dim {} for {}D input tensor", dim, rank);
    if (!is_padded(input_tensor, static_cast<size_t>(at)))
        return gather(input_tensor, static_cast<size_t>(at), axis, memory_config, output_tensor, false);
    SHIM_SUPPORTED(!output_tensor, "output_tensor where the gathered dimension has tile padding");
    return concat(all_broadcast(input_tensor, cluster_axis), static_cast<int>(at), memory_config);
}

Tensor reduce_scatter(
    const Tensor& input_tensor, int dim, std::optional<uint32_t> cluster_axis, const std::optional<SubDeviceId>&,
    const std::optional<MemoryConfig>& memory_config, const std::optional<MemoryConfig>&, const std::optional<Tensor>& output_tensor,
    std::optional<uint32_t>, std::optional<tt::tt_fabric::Topology>, std::optional<uint32_t>, std::optional<uint32_t>,
    std::optional<uint32_t>, const std::optional<ComputeKernelConfig>&, bool) {
    const OpScope scope("ttnn.reduce_scatter");
    MeshDevice* mesh = mesh_of(input_tensor);
    check_fabric(*mesh);
    const size_t rank = input_tensor.logical_shape().rank();
    SHIM_CHECK(rank >= 2, "reduce_scatter currently supports rank 2 tensors at minimum");
    check_sum_axis(*mesh, cluster_axis);
    const int64_t place = from_front(dim, rank);
    SHIM_CHECK(
        place >= 0 && place < static_cast<int64_t>(rank), "Index is out of bounds for the rank, should be between 0 and {} however is {}",
        rank - 1, static_cast<uint64_t>(place));
    const auto at = static_cast<size_t>(place);
    Tensor result = input_tensor;
    for (const uint32_t number : axes_of(*mesh, cluster_axis)) {
        const Axis axis = axis_of(*mesh, number);
        const uint32_t extent = result.logical_shape().view()[at];
        if (extent % axis.chips != 0)
            fail(ErrorCode::InvalidArgument, text("Dimension {} must be divisible by ring_size", at), uneven(at, extent, axis.chips));
        const bool whole = result.layout() == Layout::TILE && (!in_tiles(result, at) || extent / axis.chips % TILE == 0);
        SHIM_SUPPORTED(whole || !output_tensor, "output_tensor of a row-major reduce_scatter, or one of parts that are not whole tiles");
        const Tensor before = result;
        result = whole ? scatter_sum(result, at, axis, memory_config, output_tensor, false)
                       : padded_scatter_sum(result, at, axis, memory_config);
        watch_sum(before, result, number);
    }
    return result;
}

Tensor all_reduce(
    const Tensor& input_tensor, std::optional<uint32_t> cluster_axis, const std::optional<SubDeviceId>&,
    const std::optional<MemoryConfig>& memory_config, std::optional<uint32_t>, std::optional<tt::tt_fabric::Topology>) {
    const OpScope scope("ttnn.all_reduce");
    MeshDevice* mesh = mesh_of(input_tensor);
    check_fabric(*mesh);
    check_sum_axis(*mesh, cluster_axis);
    const MemoryConfig wanted = memory_config.value_or(input_tensor.memory_config());
    // Shards are laid out anew before and after, as TT-NN does.
    Tensor result = input_tensor.is_sharded() ? to_memory_config(input_tensor, MemoryConfig()) : input_tensor;
    const OptionalMemory between = wanted.is_sharded() ? OptionalMemory(MemoryConfig()) : OptionalMemory(wanted);
    for (const uint32_t number : axes_of(*mesh, cluster_axis)) {
        const Axis axis = axis_of(*mesh, number);
        const Tensor before = result;
        if (const auto dim = dimension_for(result, axis.chips))
            result = gather(scatter_sum(result, *dim, axis, between, std::nullopt, true), *dim, axis, between, std::nullopt, true);
        else
            result = broadcast_sum(result, number, between);
        watch_sum(before, result, number);
    }
    return wanted.is_sharded() ? to_memory_config(result, wanted) : result;
}

Tensor mesh_partition(
    const Tensor& input_tensor, int dim, std::optional<uint32_t> cluster_axis, const std::optional<MemoryConfig>& memory_config) {
    const OpScope scope("ttnn.mesh_partition");
    MeshDevice* mesh = mesh_of(input_tensor);
    SHIM_CHECK(!cluster_axis || *cluster_axis < 2, "Only support cluster axis of None, 0 or 1");
    const Axis axis = axis_of(*mesh, cluster_axis);
    if (axis.chips == 1) return input_tensor;
    const Shape& shape = input_tensor.logical_shape();
    const auto rank = static_cast<int>(shape.rank());
    SHIM_CHECK(dim < rank, "ShapeBase[] index out of range. {} not in [-{}, {})", dim, std::max(rank, 4), std::max(rank, 4));
    SHIM_CHECK(dim >= -rank, "dim must be less than the rank of the input tensor");
    const auto at = static_cast<size_t>(from_front(dim, shape.rank()));
    if (shape.view()[at] % axis.chips != 0)
        fail(
            ErrorCode::InvalidArgument, text("input shape Shape({}) must be divisible by cluster axis size {}", shape, axis.chips),
            uneven(at, shape.view()[at], axis.chips));
    const uint32_t part = shape.view()[at] / axis.chips;
    const bool height = rank == 1 || at + 2 == shape.rank();
    SHIM_CHECK(
        !in_tiles(input_tensor, at) || (part % TILE == 0 && rank > 1), "Can only slice tilized tensor with {} begin index aligned to tiles",
        height ? "height" : "width");
    return launch(
        {.op = strategy::Slice{}, .name = "MeshPartitionDeviceOperation", .across_chips = true}, {input_tensor},
        {make_spec(
            with_extent(shape, at, part), input_tensor.dtype(), input_tensor.layout(),
            memory_config.value_or(input_tensor.memory_config()))},
        [=](std::span<const Tensor> outputs) {
            exchange(input_tensor, outputs[0], axis, [&](const Blocks& blocks) {
                Blocks parts;
                for (size_t i = 0; i < blocks.size(); ++i)
                    parts.push_back(part_of(*blocks[i], shape, at, i, blocks.size(), stored_bytes(input_tensor.dtype())));
                return parts;
            });
        })[0];
}

}  // namespace ttnn

SHIM_OP("ttnn.all_gather", [](const arguments::all_gather& args) {
    return ttnn::all_gather(args.input_tensor, args.dim, args.cluster_axis, args.memory_config, args.output_tensor);
});
SHIM_OP("ttnn.reduce_scatter", [](const arguments::reduce_scatter& args) {
    return ttnn::reduce_scatter(
        args.input_tensor, args.dim, args.cluster_axis, std::nullopt, args.memory_config, std::nullopt, args.output_tensor);
});
SHIM_OP("ttnn.all_reduce", [](const arguments::all_reduce& args) {
    return ttnn::all_reduce(args.input_tensor, args.cluster_axis, std::nullopt, args.memory_config);
});
SHIM_OP("ttnn.mesh_partition", [](const arguments::mesh_partition& args) {
    return ttnn::mesh_partition(args.input_tensor, args.dim, args.cluster_axis, args.memory_config);
});
