// Collectives that copy: all_broadcast, broadcast, point_to_point and all_to_all.
#include "ops/arguments.hpp"
#include "ops/ccl/lines.hpp"
#include "ttnn/operations/ccl/all_broadcast/all_broadcast.hpp"
#include "ttnn/operations/ccl/broadcast/broadcast.hpp"
#include "ttnn/operations/experimental/ccl/all_to_all_async_generic/all_to_all_async_generic.hpp"
#include "ttnn/operations/point_to_point/point_to_point.hpp"

using namespace ttnn_shim;

namespace {

/// Of the ops that send along an axis; none: all chips of the mesh.
Axis checked_axis(const Tensor& input, const std::optional<uint32_t>& cluster_axis) {
    const ttnn::MeshDevice* mesh = mesh_of(input);
    check_fabric(*mesh);
    SHIM_CHECK(!cluster_axis || *cluster_axis < 2, "Invalid cluster axis {}. Must be 0 or 1", cluster_axis.value_or(0));
    Axis axis = axis_of(*mesh, cluster_axis);
    if (axis.chips == 1)
        fail(
            ErrorCode::InvalidArgument, "the collective will only work for num_devices > 1, got 1",
            "an axis of one chip has nothing to send: leave the call out");
    return axis;
}

TensorSpec spec_of(const Tensor& input, const std::optional<MemoryConfig>& memory) {
    return make_spec(input.logical_shape(), input.dtype(), input.layout(), memory.value_or(input.memory_config()));
}

/// The chip of a coordinate. `what`: "sender" or "receiver".
size_t chip_at(const ttnn::MeshDevice& mesh, const ttnn::MeshCoordinate& at, const char* what) {
    SHIM_CHECK(at.dims() == 2 && at[0] < mesh.shape()[0] && at[1] < mesh.shape()[1], "Mesh device must contain {} coordinate device", what);
    return size_t{at[0]} * mesh.shape()[1] + at[1];
}

}  // namespace

namespace ttnn {

std::vector<Tensor> all_broadcast(
    const Tensor& input_tensor, std::optional<uint32_t> cluster_axis, const std::optional<SubDeviceId>&,
    const std::optional<MemoryConfig>& memory_config, std::optional<uint32_t>, std::optional<tt::tt_fabric::Topology>, bool) {
    const OpScope scope("ttnn.all_broadcast");
    const Axis axis = checked_axis(input_tensor, cluster_axis);
    return launch(
        {.op = axis.program("ALL_BROADCAST"), .name = "AllBroadcastDeviceOperation", .across_chips = true}, {input_tensor},
        std::vector<TensorSpec>(axis.chips, spec_of(input_tensor, memory_config)), [=](std::span<const Tensor> outputs) {
            for (size_t i = 0; i < outputs.size(); ++i)
                exchange(input_tensor, outputs[i], axis, [&](const Blocks& blocks) { return Blocks(blocks.size(), blocks[i]); });
        });
}

Tensor broadcast(
    const Tensor& input_tensor, const MeshCoordinate& sender_coord, std::optional<uint32_t>,
    const std::optional<MemoryConfig>& memory_config, tt::tt_fabric::Topology, std::optional<uint32_t> cluster_axis,
    std::optional<SubDeviceId>) {
    const OpScope scope("ttnn.broadcast");
    const Axis axis = checked_axis(input_tensor, cluster_axis);
    const size_t sender = chip_at(*device_of(input_tensor), sender_coord, "sender");
    const size_t place = cluster_axis ? sender_coord[*cluster_axis] : sender;
    return launch(
        {.op = axis.program("BROADCAST"), .name = "BroadcastDeviceOperation", .across_chips = true}, {input_tensor},
        {spec_of(input_tensor, memory_config)}, [=](std::span<const Tensor> outputs) {
            exchange(input_tensor, outputs[0], axis, [&](const Blocks& blocks) { return Blocks(blocks.size(), blocks[place]); });
        })[0];
}

Tensor point_to_point(
    const Tensor& input_tensor, const MeshCoordinate& sender_coord, const MeshCoordinate& receiver_coord, tt::tt_fabric::Topology,
    const std::optional<Tensor>& output_tensor, const std::optional<Tensor>& intermediate_tensor) {
    const OpScope scope("ttnn.point_to_point");
    SHIM_SUPPORTED(!intermediate_tensor, "intermediate_tensor; leave it out");
    const MeshDevice* mesh = mesh_of(input_tensor);
    const size_t sender = chip_at(*mesh, sender_coord, "sender"), receiver = chip_at(*mesh, receiver_coord, "receiver");
    check_fabric(*mesh);
    SHIM_CHECK(sender != receiver, "sender and receiver must differ, got {} for both", sender);
    if (mesh->shim().fabric() != Fabric::Plane && sender_coord[0] != receiver_coord[0] && sender_coord[1] != receiver_coord[1])
        fail(
            ErrorCode::InvalidArgument,
            text(
                "Routing coordinates MeshCoordinate([{}, {}]) and MeshCoordinate([{}, {}]) invalid for 1D fabric", sender_coord[0],
                sender_coord[1], receiver_coord[0], receiver_coord[1]),
            "send along the row, then along the column, or open the mesh with FABRIC_2D");
    SHIM_CHECK(!input_tensor.is_sharded(), "input_tensor: expected interleaved memory, got {}", input_tensor.memory_config());
    Axis axis = axis_of(*mesh, std::nullopt);
    const uint32_t steps =
        (sender_coord[0] > receiver_coord[0] ? sender_coord[0] - receiver_coord[0] : receiver_coord[0] - sender_coord[0]) +
        (sender_coord[1] > receiver_coord[1] ? sender_coord[1] - receiver_coord[1] : receiver_coord[1] - sender_coord[1]);
    strategy::Collective op = axis.program("POINT_TO_POINT");
    op.chips = steps + 1;
    op.ring = false;
    return launch(
        {.op = op, .name = "PointToPointOp", .across_chips = true}, {input_tensor}, {spec_of(input_tensor, std::nullopt)},
        [=](std::span<const Tensor> outputs) {
            ensure_values(outputs[0]);  // elements that no chip wrote are zero here
            const Contents before = outputs[0].shim().buffer->contents();
            exchange(input_tensor, outputs[0], axis, [&](const Blocks& blocks) {
                Blocks after;
                for (size_t chip = 0; chip < blocks.size(); ++chip) after.push_back(before.of_chip(chip));
                after[receiver] = blocks[sender];
                return after;
            });
        },
        {output_tensor})[0];
}

namespace experimental {

Tensor all_to_all_async_generic(
    const Tensor& input_tensor, int in_dim, int out_dim, const std::optional<Tensor>& persistent_output_buffer, std::optional<uint32_t>,
    const std::optional<MemoryConfig>& memory_config, std::optional<tt::tt_fabric::Topology>, std::optional<SubDeviceId>,
    std::optional<uint32_t> cluster_axis) {
    const OpScope scope("ttnn.experimental.all_to_all_async_generic");
    const Axis axis = checked_axis(input_tensor, cluster_axis);
    const Shape& shape = input_tensor.logical_shape();
    const size_t in = normalize_dim(in_dim, shape.rank()), out = normalize_dim(out_dim, shape.rank());
    SHIM_CHECK(
        shape.view()[out] % axis.chips == 0, "dimension {} of {} must be divisible by the {} chips of the axis", out, shape, axis.chips);
    const Shape cut = with_extent(shape, out, shape.view()[out] / axis.chips);
    const Shape result = with_extent(cut, in, cut.view()[in] * axis.chips);
    const uint32_t padding = result[-1] % 32;
    SHIM_CHECK(
        out + 1 != shape.rank() || input_tensor.layout() != Layout::TILE || padding == 0,
        "{} dimension doesn't support padding, so must be divisible by 32. Output tensor shape Shape({}) , but has {} padding", out, result,
        padding);
    return launch(
        {.op = axis.program("ALL_TO_ALL"), .name = "AllToAllAsyncGenericDeviceOperation", .across_chips = true}, {input_tensor},
        {make_spec(result, input_tensor.dtype(), input_tensor.layout(), memory_config.value_or(input_tensor.memory_config()))},
        [=](std::span<const Tensor> outputs) {
            const size_t bytes = stored_bytes(input_tensor.dtype());
            exchange(input_tensor, outputs[0], axis, [&](const Blocks& blocks) {
                Blocks parts;
                for (size_t i = 0; i < blocks.size(); ++i) {
                    Blocks received;
                    for (const auto& block : blocks) received.push_back(part_of(*block, shape, out, i, blocks.size(), bytes));
                    parts.push_back(joined(received, cut, in, bytes));
                }
                return parts;
            });
        },
        {persistent_output_buffer})[0];
}

}  // namespace experimental
}  // namespace ttnn

SHIM_OP("ttnn.all_broadcast", [](const arguments::all_broadcast& args) {
    return ttnn::all_broadcast(args.input_tensor, args.cluster_axis, std::nullopt, args.memory_config);
});
SHIM_OP("ttnn.broadcast", [](const arguments::broadcast& args) {
    return ttnn::broadcast(args.input_tensor, args.sender_coord, std::nullopt, args.memory_config, args.topology, args.cluster_axis);
});
SHIM_OP("ttnn.point_to_point", [](const arguments::point_to_point& args) {
    return ttnn::point_to_point(
        args.input_tensor, args.sender_coord, args.receiver_coord, args.topology, args.output_tensor, args.intermediate_tensor);
});
SHIM_OP("ttnn.experimental.all_to_all_async_generic", [](const arguments::experimental::all_to_all_async_generic& args) {
    return ttnn::experimental::all_to_all_async_generic(
        args.input_tensor, args.in_dim, args.out_dim, args.persistent_output_buffer, std::nullopt, args.memory_config, std::nullopt,
        std::nullopt, args.cluster_axis);
});
