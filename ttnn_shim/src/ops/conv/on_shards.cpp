// Convolutions that start from shards in L1: resharding, halo, the program itself, or a matmul for 1x1 windows.
#include "ops/conv/shards.hpp"
#include "ops/data_movement/strided_copy.hpp"
#include "tensor/access.hpp"
#include "ttnn/operations/core/to_layout/to_layout_op.hpp"
#include "ttnn/operations/core/to_memory_config/to_memory_config_op.hpp"
#include "ttnn/operations/data_movement/move/move.hpp"
#include "ttnn/operations/matmul/matmul.hpp"

namespace ttnn_shim {

Tensor without_place(const Tensor& input, std::optional<uint32_t> channels) {
    const TensorSpec whole = make_spec(input.logical_shape(), input.dtype(), input.layout());
    if (!channels || !has_values(input)) return make_host_tensor(whole, input.shim().buffer->contents());
    const uint32_t held = input.logical_shape()[-1];
    const auto pixels = static_cast<uint32_t>(input.logical_volume() / held);
    const TensorSpec kept = make_spec(Shape({1, 1, pixels, *channels}), input.dtype(), input.layout());
    const Tensor values = make_host_tensor(kept, {});
    for_equal_chips({&input, 1}, {}, [&] {
        strided_copy(
            stored_bytes(input.dtype()), raw_data(input), mutable_raw_data(values),
            dense_target(Shape({pixels, *channels}), {static_cast<int64_t>(held), int64_t{1}}));
    });
    return values;
}

uint32_t held_channels(const Tensor& input, const Window& w, bool padded) {
    const Shape& shape = input.logical_shape();
    if (padded && shape.rank() > 0 && shape[-1] > w.channels && input.logical_volume() == w.in_pixels() * shape[-1]) return shape[-1];
    SHIM_CHECK(
        input.logical_volume() == w.in_pixels() * w.channels, "input_tensor: expected {} x {} x {} x {} values, got shape {}", w.batch,
        w.in_h, w.in_w, w.channels, shape);
    return w.channels;
}

void free_activation(const Tensor& activation, const Settings& settings) {
    if (!settings.config.deallocate_activation || activation.memory_config().is_dram()) return;
    Tensor freed = activation;
    freed.deallocate(true);
}

Tensor on_plan(const Tensor& input, const ShardPlan& plan, const Settings& settings, bool as_matmul) {
    if (!plan.moves) return input;
    Tensor source = input;
    if (as_matmul && source.layout() == Layout::ROW_MAJOR && plan.input_cores.scheme != TensorMemoryLayout::HEIGHT_SHARDED) {
        source = ttnn::to_layout(source, Layout::TILE);
        if (settings.config.deallocate_activation && !input.memory_config().is_dram()) {
            free_activation(input, settings);
            source = ttnn::move(source);
        }
    }
    Tensor moved;
    if (source.is_sharded()) {
        moved = ttnn::to_memory_config(source, plan.input);
    } else {  // channels may be fewer than the shard's
        moved = launch(
            {.op = strategy::InterleavedToSharded{}, .name = "InterleavedToShardedDeviceOperation"}, {source},
            {make_spec(source.logical_shape(), source.dtype(), source.layout(), plan.input)},
            [=](std::span<const Tensor> outputs) { outputs[0].shim().buffer->set_values(source.shim().buffer->values()); })[0];
    }
    if (settings.config.deallocate_activation && !source.memory_config().is_dram()) {
        free_activation(source, settings);
        moved = ttnn::move(moved);
    }
    return moved;
}

bool whole_in_l1(const Settings& settings) { return settings.slices && settings.slices->slice_type == SliceConfig::SliceType::L1_FULL; }

Tensor onto_shards(const Tensor& input, const Convolution& conv, const Settings& settings, MeshDevice* device) {
    const bool pointwise = conv.is_matmul() && settings.config.shard_layout != TensorMemoryLayout::WIDTH_SHARDED;
    const ShardPlan plan =
        plan_shards(conv, settings.config, {}, input.layout(), conv.window.channels, device->shim().grid(), pointwise, false);
    const Shape flat({1, 1, static_cast<uint32_t>(conv.window.in_pixels()), conv.window.channels});
    const TensorSpec spec = make_spec(flat, input.dtype(), input.layout(), plan.input);
    const Tensor shards = make_device_tensor(device, spec, input.shim().buffer->contents());
    // Sticks in blocks: TT-NN fills up the last cores' shards on the device.
    const auto& shape = plan.input.shard_spec()->shape;
    if (plan.input_cores.scheme != TensorMemoryLayout::BLOCK_SHARDED || input.layout() != Layout::ROW_MAJOR ||
        plan.input_cores.pixels() * shape[0] == flat[2])
        return shards;
    return launch({.op = strategy::Pad{}, .name = "PadDeviceOperation"}, {shards}, {spec}, [=](std::span<const Tensor> outputs) {
        outputs[0].shim().buffer->set_values(shards.shim().buffer->values());
    })[0];
}

Tensor multiply_shards(
    Tensor input, const Tensor& weight, const std::optional<Tensor>& bias, const ShardPlan& plan, DataType dtype,
    const ttnn::ComputeKernelConfig& compute, const Settings& settings) {
    Tensor rows = input;
    if (rows.layout() != Layout::TILE) {
        rows = ttnn::to_layout(input, Layout::TILE);
        free_activation(input, settings);
        input = Tensor();  // shards that this call created are deallocated before the product is allocated
    }
    namespace mm = ttnn::operations::matmul;
    const auto fill = [&](auto config) -> mm::MatmulProgramConfig {
        config.compute_with_storage_grid_size = plan.output_cores.grid.bounding_box().grid_size();
        config.in0_block_w = plan.block_w;
        config.out_subblock_h = plan.subblock_h;
        config.out_subblock_w = plan.subblock_w;
        config.out_block_h = config.per_core_M = plan.rows;
        config.out_block_w = config.per_core_N = plan.columns;
        config.fused_activation = settings.config.activation;
        config.fuse_batch = true;
        if constexpr (requires { config.mcast_in0; }) config.mcast_in0 = false;
        if constexpr (requires { config.transpose_mcast; })
            config.transpose_mcast = plan.input_cores.orientation == ShardOrientation::COL_MAJOR;
        return config;
    };
    const bool height = plan.input_cores.scheme == TensorMemoryLayout::HEIGHT_SHARDED;
    const auto config =
        height ? fill(mm::MatmulMultiCoreReuseMultiCast1DProgramConfig{}) : fill(mm::MatmulMultiCoreReuseMultiCastProgramConfig{});
    Tensor output = ttnn::linear(
        rows, weight, bias ? std::optional<const Tensor>(*bias) : std::nullopt, false, false, plan.output, dtype, config, std::nullopt,
        compute);
    free_activation(rows, settings);
    return output;
}

Tensor convolve_shards(
    Tensor input, Tensor& halo, const Tensor& weight, const std::optional<Tensor>& bias, const Convolution& conv, const Window& w,
    const ShardPlan& plan, const TensorSpec& output_spec, const ttnn::ComputeKernelConfig& compute, const Settings& settings,
    const Kernel& kernel) {
    const bool whole_rows = plan.input_cores.scheme == TensorMemoryLayout::WIDTH_SHARDED && input.layout() == Layout::ROW_MAJOR &&
                            w.top + w.bottom + w.left + w.right == 0;
    halo = input;
    if (!whole_rows) {
        const Placement placement{
            plan.input_cores.scheme, plan.input_cores.pixels(), plan.input_cores.channels(), device_of(input)->shim().grid(),
            plan.input_cores.grid};
        halo = gather_halo(input, w, placement, 32, false, settings.config.config_tensors_in_dram);
        free_activation(input, settings);
        // Shards that only this call made are given back before the rows move; a transposed convolution holds them until the result has
        // a place.
        if (!conv.weights.transposed) input = Tensor();
        if (settings.config.reallocate_halo_output) halo = ttnn::move(halo);
    }
    std::vector<Tensor> inputs{halo, weight};
    if (bias) inputs.push_back(*bias);
    const ConvCores cores{plan.input_cores.pixels(), plan.input_cores.channels(), plan.output_cores.channels()};
    const Program program = conv_program(w, conv.weights.groups, plan, cores, output_spec.layout(), settings.config, compute);
    return launch(program, inputs, {output_spec}, kernel)[0];
}

}  // namespace ttnn_shim
