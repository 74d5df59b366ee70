// Convolutions and the preparation of their weights as the Python API calls them.
#include "ops/arguments.hpp"
#include "ops/conv/convolution.hpp"
#include "ops/eltwise/engine.hpp"

namespace ttnn_shim {

Conv2dConfig ArgumentType<Conv2dConfig>::read(const Call& call, std::string_view name) {
    const auto record = call.record(name);
    Conv2dConfig config;
    if (const auto dtype = record->text("weights_dtype"); !dtype.empty()) config.weights_dtype = parse_dtype(dtype);
    if (const Attr* activation = record->find("activation")) {
        if (const auto step = parse_unary_step(*activation)) config.activation = ttnn::operations::unary::UnaryWithParam(*step);
    }
    config.deallocate_activation = record->boolean("deallocate_activation", false);
    config.reallocate_halo_output = record->boolean("reallocate_halo_output", true);
    config.config_tensors_in_dram = record->boolean("config_tensors_in_dram", false);
    config.act_block_h_override = static_cast<uint32_t>(record->integer("act_block_h_override", 0));
    config.act_block_w_div = static_cast<uint32_t>(record->integer("act_block_w_div", 1));
    config.reshard_if_not_optimal = record->boolean("reshard_if_not_optimal", false);
    config.override_sharding_config = record->boolean("override_sharding_config", false);
    config.shard_layout = shard_scheme("conv_config.shard_layout", record->text("shard_layout"));
    config.core_grid = record->core_range_set("core_grid");
    config.transpose_shards = record->boolean("transpose_shards", false);
    if (const auto layout = record->text("output_layout"); !layout.empty()) config.output_layout = parse_layout(layout);
    config.enable_act_double_buffer = record->boolean("enable_act_double_buffer", false);
    config.enable_weights_double_buffer = record->boolean("enable_weights_double_buffer", false);
    config.full_inner_dim = record->boolean("full_inner_dim", false);
    config.enable_kernel_stride_folding = record->optional_boolean("enable_kernel_stride_folding");
    config.enable_activation_reuse = record->boolean("enable_activation_reuse", false);
    config.force_split_reader = record->optional_boolean("force_split_reader");
    config.override_output_sharding_config = record->boolean("override_output_sharding_config", false);
    if (record->text("padding_mode", "Zeros") != "Zeros") config.padding_mode = ttnn::prim::PaddingMode::Replicate;
    return config;
}

namespace {

/// Transposed convolutions alone have an output padding.
Convolution geometry_of(const auto& args) {
    constexpr bool transposed = requires { args.output_padding; };
    Convolution conv = geometry(
        args.in_channels, args.out_channels, args.batch_size, args.input_height, args.input_width, args.kernel_size, args.stride,
        pads_of(args.padding), args.dilation, args.groups, transposed);
    if constexpr (transposed) conv.output_padding = args.output_padding;
    if constexpr (requires { args.mirror_kernel; }) conv.weights.flipped = !args.mirror_kernel;
    return conv;
}

Result packed(const auto& args, const Outcome& outcome, bool one_dim = false) {
    Result result;
    append(result, outcome.output);
    if (args.return_output_dim) {
        result.ints.push_back(outcome.height);
        if (!one_dim) result.ints.push_back(outcome.width);
    }
    if (args.return_weights_and_bias) {
        append(result, outcome.weight);
        append(result, outcome.bias);
    }
    return result;
}

Settings settings_of(const auto& args, const std::optional<SliceConfig>& slices) {
    return {args.dtype, args.conv_config.value_or(Conv2dConfig{}), args.compute_config, args.memory_config, slices};
}

Result call_conv2d(const auto& args, const char* name, const std::optional<SliceConfig>& slices) {
    const OpScope scope(name);
    Settings settings = settings_of(args, slices);
    return packed(args, convolve(args.input_tensor, args.weight_tensor, args.device, geometry_of(args), args.bias_tensor, settings));
}

Tensor call_prepare_weights(const auto& args) {
    const OpScope scope("ttnn.prepare_conv_weights");
    const Settings settings{args.output_dtype, args.conv_config.value_or(Conv2dConfig{}), args.compute_config, std::nullopt};
    return ready_weights(
        args.weight_tensor, geometry_of(args), args.weights_format, {args.input_dtype, args.input_layout, args.input_memory_config},
        settings, args.device);
}
Tensor call_prepare_bias(const auto& args) {
    const OpScope scope("ttnn.prepare_conv_bias");
    const Settings settings{std::nullopt, args.conv_config.value_or(Conv2dConfig{}), args.compute_config, std::nullopt};
    return ready_bias(
        args.bias_tensor, geometry_of(args), {args.input_dtype, args.input_layout, args.input_memory_config}, settings, args.device);
}

}  // namespace
}  // namespace ttnn_shim

using namespace ttnn_shim;

SHIM_OP("ttnn.conv2d", [](const arguments::conv2d& args) { return call_conv2d(args, "ttnn.conv2d", args.slice_config); });
SHIM_OP("ttnn.conv_transpose2d", [](const arguments::conv_transpose2d& args) {
    return call_conv2d(args, "ttnn.conv_transpose2d", args.dram_slice_config);
});
SHIM_OP("ttnn.prepare_conv_weights", call_prepare_weights<arguments::prepare_conv_weights>);
SHIM_OP("ttnn.prepare_conv_bias", call_prepare_bias<arguments::prepare_conv_bias>);
SHIM_OP("ttnn.prepare_conv_transpose2d_weights", call_prepare_weights<arguments::prepare_conv_transpose2d_weights>);
SHIM_OP("ttnn.prepare_conv_transpose2d_bias", [](const arguments::prepare_conv_transpose2d_bias& args) {
    const OpScope scope("ttnn.prepare_conv_bias");
    const Convolution conv = geometry(
        args.in_channels, args.out_channels, args.batch_size, args.input_height, args.input_width, args.kernel_size, args.stride,
        pads_of(args.padding), args.dilation, args.groups, true);
    const Settings settings{std::nullopt, args.conv_config.value_or(Conv2dConfig{}), args.compute_config, std::nullopt};
    return ready_bias(args.bias_tensor, conv, {args.input_dtype, args.input_layout, args.input_memory_config}, settings, args.device);
});
SHIM_OP("ttnn.conv1d", [](const arguments::conv1d& args) {
    const OpScope scope("ttnn.conv1d");
    const auto& sides = args.padding;
    SHIM_CHECK(sides.size() == 1 || sides.size() == 2, "padding: expected 1 or 2 integers, got {}", sides.size());
    const auto conv = length_of(
        args.in_channels, args.out_channels, args.batch_size, args.input_length, args.kernel_size, args.stride,
        {sides.front(), sides.back()}, args.dilation, args.groups);
    Settings settings = settings_of(args, length_slices(args.slice_config));
    return packed(args, convolve(args.input_tensor, as_2d_weight(args.weight_tensor), args.device, conv, args.bias_tensor, settings), true);
});
