// ttnn::conv2d, conv1d, conv_transpose2d and the preparation of their weights, as C++ functions. The convolution itself: convolution.cpp.
#include "ops/conv/convolution.hpp"
#include "ttnn/operations/conv/conv1d/conv1d.hpp"
#include "ttnn/operations/conv/conv2d/prepare_conv2d_weights.hpp"
#include "ttnn/operations/conv/conv_transpose2d/conv_transpose2d.hpp"
#include "ttnn/operations/conv/conv_transpose2d/prepare_conv_transpose2d_weights.hpp"

namespace ttnn_shim {
namespace {

Settings settings_of(
    const std::optional<const DataType>& dtype, const std::optional<const Conv2dConfig>& config,
    const std::optional<const ttnn::ComputeKernelConfig>& compute, const std::optional<const MemoryConfig>& memory_config,
    const std::optional<const SliceConfig>& slices = std::nullopt) {
    Settings settings;
    if (dtype) settings.dtype = *dtype;
    if (config) settings.config = *config;
    if (compute) settings.compute = *compute;
    if (memory_config) settings.memory_config = *memory_config;
    if (slices) settings.slices = *slices;
    return settings;
}

std::optional<Tensor> plain(const std::optional<const Tensor>& tensor) { return tensor ? std::optional<Tensor>(*tensor) : std::nullopt; }

ttnn::Conv2dResultWithOptions with_options(Outcome outcome, bool dims, bool weights) {
    const std::tuple extents{outcome.height, outcome.width};
    const std::tuple<Tensor, std::optional<Tensor>> prepared{outcome.weight, outcome.bias};
    if (dims && weights) return std::tuple{outcome.output, extents, prepared};
    if (dims) return std::tuple{outcome.output, extents};
    if (weights) return std::tuple{outcome.output, prepared};
    return outcome.output;
}

}  // namespace
}  // namespace ttnn_shim

using namespace ttnn_shim;

namespace ttnn {

Conv2dResultWithOptions conv2d(
    const Tensor& input_tensor, const Tensor& weight_tensor, MeshDevice* device, uint32_t in_channels, uint32_t out_channels,
    uint32_t batch_size, uint32_t input_height, uint32_t input_width, std::array<uint32_t, 2> kernel_size, std::array<uint32_t, 2> stride,
    std::variant<std::array<uint32_t, 2>, std::array<uint32_t, 4>> padding, std::array<uint32_t, 2> dilation, uint32_t groups,
    const std::optional<const DataType>& dtype, const std::optional<const Tensor>& bias_tensor,
    const std::optional<const Conv2dConfig>& conv_config, const std::optional<const ComputeKernelConfig>& compute_config,
    const std::optional<const MemoryConfig>& memory_config, const std::optional<const Conv2dSliceConfig>& slices, bool return_output_dim,
    bool return_weights_and_bias) {
    const OpScope scope("ttnn.conv2d");
    const auto conv =
        geometry(in_channels, out_channels, batch_size, input_height, input_width, kernel_size, stride, padding, dilation, groups);
    return with_options(
        convolve(
            input_tensor, weight_tensor, device, conv, plain(bias_tensor),
            settings_of(dtype, conv_config, compute_config, memory_config, slices)),
        return_output_dim, return_weights_and_bias);
}

Conv1dResult conv1d(
    const Tensor& input_tensor, const Tensor& weight_tensor, MeshDevice* device, uint32_t in_channels, uint32_t out_channels,
    uint32_t batch_size, uint32_t input_length, uint32_t kernel_size, uint32_t stride,
    std::variant<std::array<uint32_t, 2>, uint32_t> padding, uint32_t dilation, uint32_t groups, const std::optional<const DataType>& dtype,
    const std::optional<const Tensor>& bias_tensor, const std::optional<const Conv2dConfig>& conv_config,
    const std::optional<const ComputeKernelConfig>& compute_config, const std::optional<const MemoryConfig>& memory_config,
    const std::optional<const Conv2dSliceConfig>& slices, bool return_output_dim, bool return_weights_and_bias) {
    const OpScope scope("ttnn.conv1d");
    const std::array<uint32_t, 2> sides = std::holds_alternative<uint32_t>(padding)
                                              ? std::array<uint32_t, 2>{std::get<uint32_t>(padding), std::get<uint32_t>(padding)}
                                              : std::get<std::array<uint32_t, 2>>(padding);
    const auto conv = length_of(in_channels, out_channels, batch_size, input_length, kernel_size, stride, sides, dilation, groups);
    const Outcome outcome = convolve(
        input_tensor, as_2d_weight(weight_tensor), device, conv, plain(bias_tensor),
        settings_of(dtype, conv_config, compute_config, memory_config, slices ? length_slices(*slices) : std::optional<SliceConfig>{}));
    const std::tuple<Tensor, std::optional<Tensor>> prepared{outcome.weight, outcome.bias};
    if (return_output_dim && return_weights_and_bias) return std::tuple{outcome.output, outcome.height, prepared};
    if (return_output_dim) return std::tuple{outcome.output, outcome.height};
    if (return_weights_and_bias) return std::tuple{outcome.output, prepared};
    return outcome.output;
}

ConvTranspose2dResultWithOptions conv_transpose2d(
    const Tensor& input_tensor, const Tensor& weight_tensor, MeshDevice* device, uint32_t in_channels, uint32_t out_channels,
    uint32_t batch_size, uint32_t input_height, uint32_t input_width, std::array<uint32_t, 2> kernel_size, std::array<uint32_t, 2> stride,
    std::variant<std::array<uint32_t, 2>, std::array<uint32_t, 4>> padding, std::array<uint32_t, 2> output_padding,
    std::array<uint32_t, 2> dilation, uint32_t groups, const std::optional<const DataType>& dtype,
    const std::optional<const Tensor>& bias_tensor, const std::optional<const Conv2dConfig>& conv_config,
    const std::optional<const ComputeKernelConfig>& compute_config, const std::optional<const MemoryConfig>& memory_config,
    const std::optional<const Conv2dSliceConfig>& slices, bool mirror_kernel, bool return_output_dim, bool return_weights_and_bias) {
    const OpScope scope("ttnn.conv_transpose2d");
    auto conv =
        geometry(in_channels, out_channels, batch_size, input_height, input_width, kernel_size, stride, padding, dilation, groups, true);
    conv.output_padding = output_padding;
    conv.weights.flipped = !mirror_kernel;
    return with_options(
        convolve(
            input_tensor, weight_tensor, device, conv, plain(bias_tensor),
            settings_of(dtype, conv_config, compute_config, memory_config, slices)),
        return_output_dim, return_weights_and_bias);
}

namespace operations::conv::conv2d {

Tensor prepare_conv_weights(
    const Tensor& weight_tensor, const MemoryConfig& input_memory, Layout input_layout, const std::string& weights_format,
    uint32_t in_channels, uint32_t out_channels, uint32_t batch_size, uint32_t input_height, uint32_t input_width,
    std::array<uint32_t, 2> kernel_size, std::array<uint32_t, 2> stride,
    std::variant<std::array<uint32_t, 2>, std::array<uint32_t, 4>> padding, std::array<uint32_t, 2> dilation, bool, uint32_t groups,
    MeshDevice* device, DataType input_dtype, const std::optional<const DataType>& output_dtype,
    const std::optional<const prim::Conv2dConfig>& conv_config, const std::optional<const ComputeKernelConfig>& compute_config,
    const std::optional<const op_slicing::Op2DSliceConfig>&) {
    const OpScope scope("ttnn.prepare_conv_weights");
    return ready_weights(
        weight_tensor,
        geometry(in_channels, out_channels, batch_size, input_height, input_width, kernel_size, stride, padding, dilation, groups),
        weights_format, {input_dtype, input_layout, input_memory}, settings_of(output_dtype, conv_config, compute_config, {}), device);
}

Tensor prepare_conv_bias(
    const Tensor& bias_tensor, const MemoryConfig& input_memory, Layout input_layout, uint32_t in_channels, uint32_t out_channels,
    uint32_t batch_size, uint32_t input_height, uint32_t input_width, std::array<uint32_t, 2> kernel_size, std::array<uint32_t, 2> stride,
    std::variant<std::array<uint32_t, 2>, std::array<uint32_t, 4>> padding, std::array<uint32_t, 2> dilation, uint32_t groups,
    MeshDevice* device, DataType input_dtype, const std::optional<const DataType>&,
    const std::optional<const prim::Conv2dConfig>& conv_config, const std::optional<const ComputeKernelConfig>& compute_config,
    const std::optional<const op_slicing::Op2DSliceConfig>&) {
    const OpScope scope("ttnn.prepare_conv_bias");
    return ready_bias(
        bias_tensor,
        geometry(in_channels, out_channels, batch_size, input_height, input_width, kernel_size, stride, padding, dilation, groups),
        {input_dtype, input_layout, input_memory}, settings_of({}, conv_config, compute_config, {}), device);
}

}  // namespace operations::conv::conv2d

namespace operations::conv::conv_transpose2d {

Tensor prepare_conv_transpose2d_weights(
    const Tensor& weight_tensor, MemoryConfig input_memory, Layout input_layout, const std::string& weights_format, uint32_t in_channels,
    uint32_t out_channels, uint32_t batch_size, uint32_t input_height, uint32_t input_width, std::array<uint32_t, 2> kernel_size,
    std::array<uint32_t, 2> stride, std::variant<std::array<uint32_t, 2>, std::array<uint32_t, 4>> padding, std::array<uint32_t, 2>,
    std::array<uint32_t, 2> dilation, bool, uint32_t groups, MeshDevice* device, DataType input_dtype,
    const std::optional<const DataType>& output_dtype, const std::optional<const prim::Conv2dConfig>& conv_config,
    const std::optional<const ComputeKernelConfig>& compute_config, const std::optional<const op_slicing::Op2DSliceConfig>&,
    bool mirror_kernel) {
    const OpScope scope("ttnn.prepare_conv_transpose2d_weights");
    auto conv =
        geometry(in_channels, out_channels, batch_size, input_height, input_width, kernel_size, stride, padding, dilation, groups, true);
    conv.weights.flipped = !mirror_kernel;
    return ready_weights(
        weight_tensor, conv, weights_format, {input_dtype, input_layout, input_memory},
        settings_of(output_dtype, conv_config, compute_config, {}), device);
}

Tensor prepare_conv_transpose2d_bias(
    const Tensor& bias_tensor, const MemoryConfig& input_memory, Layout input_layout, uint32_t in_channels, uint32_t out_channels,
    uint32_t batch_size, uint32_t input_height, uint32_t input_width, std::array<uint32_t, 2> kernel_size, std::array<uint32_t, 2> stride,
    std::variant<std::array<uint32_t, 2>, std::array<uint32_t, 4>> padding, std::array<uint32_t, 2> dilation, uint32_t groups,
    MeshDevice* device, DataType input_dtype, const std::optional<const DataType>&,
    const std::optional<const prim::Conv2dConfig>& conv_config, const std::optional<const ComputeKernelConfig>& compute_config,
    const std::optional<const op_slicing::Op2DSliceConfig>&) {
    const OpScope scope("ttnn.prepare_conv_transpose2d_bias");
    return ready_bias(
        bias_tensor,
        geometry(in_channels, out_channels, batch_size, input_height, input_width, kernel_size, stride, padding, dilation, groups, true),
        {input_dtype, input_layout, input_memory}, settings_of({}, conv_config, compute_config, {}), device);
}

}  // namespace operations::conv::conv_transpose2d
}  // namespace ttnn
