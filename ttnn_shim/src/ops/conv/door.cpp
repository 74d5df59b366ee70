// The Python door of the convolutions and of the preparation of their weights.
#include "ops/conv/convolution.hpp"
#include "ops/eltwise/engine.hpp"

namespace ttnn_shim {
namespace {

std::optional<Conv2dConfig> conv_config(const Call& call) {
    const auto record = call.record("conv_config");
    if (!record) return std::nullopt;
    Conv2dConfig config;
    if (const auto name = record->text("weights_dtype"); !name.empty()) config.weights_dtype = parse_dtype(name);
    if (const Attr* activation = record->find("activation")) {
        if (const auto step = parse_unary_step(*activation)) config.activation = ttnn::operations::unary::UnaryWithParam(*step);
    }
    config.deallocate_activation = record->boolean("deallocate_activation", false);
    config.reallocate_halo_output = record->boolean("reallocate_halo_output", true);
    config.config_tensors_in_dram = record->boolean("config_tensors_in_dram", false);
    config.act_block_h_override = static_cast<uint32_t>(record->integer("act_block_h_override", 0));
    config.act_block_w_div = static_cast<uint32_t>(std::max<int64_t>(1, record->integer("act_block_w_div", 1)));
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
    SHIM_SUPPORTED(
        !config.core_grid && !config.override_sharding_config,
        "conv_config.core_grid and override_sharding_config are not implemented here; leave them out");
    return config;
}

Convolution geometry_of(const Call& c, bool transposed) {
    Convolution conv = geometry(
        c.u32("in_channels", 0), c.u32("out_channels", 0), c.u32("batch_size", 0), c.u32("input_height", 0), c.u32("input_width", 0),
        c.u32_array<2>("kernel_size", {0, 0}), c.u32_array<2>("stride", {1, 1}), pads_of(c), c.u32_array<2>("dilation", {1, 1}),
        c.u32("groups", 1), transposed);
    if (transposed) {
        conv.output_padding = c.u32_array<2>("output_padding", {0, 0});
        conv.weights.flipped = !c.boolean("mirror_kernel", true);
    }
    return conv;
}

Result packed(const Call& c, const Outcome& outcome, bool one_dim = false) {
    Result result;
    append(result, outcome.output);
    if (c.boolean("return_output_dim", false)) {
        result.ints.push_back(outcome.height);
        if (!one_dim) result.ints.push_back(outcome.width);
    }
    if (c.boolean("return_weights_and_bias", false)) {
        append(result, outcome.weight);
        append(result, outcome.bias);
    }
    return result;
}

Result call_conv2d(const Call& c, bool transposed) {
    const OpScope scope(transposed ? "ttnn.conv_transpose2d" : "ttnn.conv2d");
    Settings settings{
        c.dtype("dtype"), conv_config(c).value_or(Conv2dConfig{}), c.compute_config("compute_config"), c.memory_config("memory_config"),
        slice_config_of(c, transposed ? "dram_slice_config" : "slice_config")};
    return packed(
        c, convolve(
               c.tensor("input_tensor"), c.tensor("weight_tensor"), c.device(), geometry_of(c, transposed),
               c.optional_tensor("bias_tensor"), settings));
}

Tensor call_prepare(const Call& c, bool transposed, bool bias) {
    const OpScope scope(bias ? "ttnn.prepare_conv_bias" : "ttnn.prepare_conv_weights");
    const Convolution conv = geometry_of(c, transposed);
    const Settings settings{
        c.dtype("output_dtype"), conv_config(c).value_or(Conv2dConfig{}), c.compute_config("compute_config"), std::nullopt};
    const DataType input_dtype = c.dtype("input_dtype").value_or(DataType::BFLOAT16);
    if (bias) return ready_bias(c.tensor("bias_tensor"), conv, input_dtype, settings.config.weights_dtype, c.device());
    const std::string format = c.text("weights_format", transposed ? "IOHW" : "OIHW");
    const std::string layout = c.text("input_layout", "TILE");
    return ready_weights(
        c.tensor("weight_tensor"), conv, format,
        {input_dtype, parse_layout(layout), c.memory_config("input_memory_config").value_or(MemoryConfig{})}, settings, c.device());
}

}  // namespace
}  // namespace ttnn_shim

using namespace ttnn_shim;

SHIM_OP("ttnn.conv2d", [](const Call& c) { return call_conv2d(c, false); });
SHIM_OP("ttnn.conv_transpose2d", [](const Call& c) { return call_conv2d(c, true); });
SHIM_OP("ttnn.prepare_conv_weights", [](const Call& c) { return call_prepare(c, false, false); });
SHIM_OP("ttnn.prepare_conv_bias", [](const Call& c) { return call_prepare(c, false, true); });
SHIM_OP("ttnn.prepare_conv_transpose2d_weights", [](const Call& c) { return call_prepare(c, true, false); });
SHIM_OP("ttnn.prepare_conv_transpose2d_bias", [](const Call& c) { return call_prepare(c, true, true); });
SHIM_OP("ttnn.conv1d", [](const Call& c) {
    const OpScope scope("ttnn.conv1d");
    const auto sides = c.has("padding") ? c.u32s("padding") : std::vector<uint32_t>{0};
    SHIM_CHECK(sides.size() == 1 || sides.size() == 2, "padding: expected 1 or 2 integers, got {}", sides.size());
    const auto conv = length_of(
        c.u32("in_channels", 0), c.u32("out_channels", 0), c.u32("batch_size", 0), c.u32("input_length", 0), c.u32("kernel_size", 0),
        c.u32("stride", 1), {sides.front(), sides.back()}, c.u32("dilation", 1), c.u32("groups", 1));
    Settings settings{
        c.dtype("dtype"), conv_config(c).value_or(Conv2dConfig{}), c.compute_config("compute_config"), c.memory_config("memory_config"),
        length_slices(slice_config_of(c, "slice_config"))};
    return packed(
        c,
        convolve(
            c.tensor("input_tensor"), as_2d_weight(c.tensor("weight_tensor")), c.device(), conv, c.optional_tensor("bias_tensor"),
            settings),
        true);
});
