#include "ops/conv/values.hpp"

#include <algorithm>
#include <cstring>

#include "tensor/gemm.hpp"

namespace ttnn_shim {
namespace {

/// An image whose border is part of it: padding that repeats the nearest pixel, written out.
struct Bordered {
    std::vector<std::byte> pixels;
    int64_t height = 0, width = 0;
};

/// One side of an image with its border: for each position the pixel that lies there, or -1 for the zeros between the pixels of a
/// transposed convolution. Its border repeats what lies on the rectangle's edge.
std::vector<int64_t> bordered_positions(int64_t extent, int64_t spacing, int64_t before, int64_t after) {
    const int64_t reach = (extent - 1) * spacing + 1;
    std::vector<int64_t> positions;
    for (int64_t i = -before; i < reach + after; ++i) {
        const int64_t nearest = std::clamp<int64_t>(i, 0, reach - 1);
        positions.push_back(nearest % spacing == 0 ? nearest / spacing : -1);
    }
    return positions;
}

Bordered with_border(
    const std::byte* image, const Window& w, size_t pixel_bytes, const std::vector<int64_t>& rows, const std::vector<int64_t>& columns) {
    Bordered result;
    result.height = static_cast<int64_t>(rows.size());
    result.width = static_cast<int64_t>(columns.size());
    result.pixels.resize(w.batch * rows.size() * columns.size() * pixel_bytes);
    parallel_for(w.batch * rows.size(), 1, [&](size_t begin, size_t end) {
        for (size_t line = begin; line < end; ++line) {
            const int64_t row = rows[line % rows.size()];
            for (size_t column = 0; row >= 0 && column < columns.size(); ++column) {
                if (columns[column] < 0) continue;
                const size_t pixel =
                    (line / rows.size() * w.in_h + static_cast<size_t>(row)) * w.in_w + static_cast<size_t>(columns[column]);
                std::memcpy(
                    result.pixels.data() + (line * columns.size() + column) * pixel_bytes, image + pixel * pixel_bytes, pixel_bytes);
            }
        }
    });
    return result;
}

/// The call over an image that holds its own border.
Bordered repeat_edges(ConvCall& call, const Convolution& conv) {
    const Window& w = conv.window;
    const int64_t reach_h = int64_t{w.dilation_h} * (w.kernel_h - 1), reach_w = int64_t{w.dilation_w} * (w.kernel_w - 1);
    const size_t pixel_bytes = stored_bytes(call.input.dtype) * w.channels;
    const auto* image = static_cast<const std::byte*>(call.input.data);
    Bordered result;
    if (conv.weights.transposed) {
        result = with_border(
            image, w, pixel_bytes, bordered_positions(w.in_h, w.stride_h, reach_h - w.top, reach_h - w.bottom + conv.output_padding[0]),
            bordered_positions(w.in_w, w.stride_w, reach_w - w.left, reach_w - w.right + conv.output_padding[1]));
        call.stride_h = call.stride_w = 1;
        call.pad_top = call.pad_bottom = reach_h;
        call.pad_left = call.pad_right = reach_w;
    } else {
        result = with_border(
            image, w, pixel_bytes, bordered_positions(w.in_h, 1, w.top, w.bottom), bordered_positions(w.in_w, 1, w.left, w.right));
        call.pad_bottom -= w.bottom;
        call.pad_right -= w.right;
        call.pad_top = call.pad_left = 0;
    }
    call.in_h = result.height;
    call.in_w = result.width;
    call.input.data = result.pixels.data();
    return result;
}

/// The library's geometry of a convolution.
ConvCall library_call(const Convolution& conv) {
    const Window& w = conv.window;
    ConvCall call{
        .batch = w.batch,
        .in_h = w.in_h,
        .in_w = w.in_w,
        .in_channels = w.channels,
        .out_h = conv.out_h(),
        .out_w = conv.out_w(),
        .out_channels = conv.weights.out_channels,
        .kernel_h = w.kernel_h,
        .kernel_w = w.kernel_w,
        .stride_h = w.stride_h,
        .stride_w = w.stride_w,
        .dilation_h = w.dilation_h,
        .dilation_w = w.dilation_w,
        .pad_top = w.top,
        .pad_bottom = w.bottom,
        .pad_left = w.left,
        .pad_right = w.right,
        .groups = conv.weights.groups,
        .transposed = conv.weights.transposed,
        .input = {},
        .weight = {}};
    if (!conv.weights.transposed) {
        // Rows and columns that no window reaches are not part of the library's geometry.
        call.pad_bottom = int64_t{conv.out_h() - 1} * w.stride_h + int64_t{w.dilation_h} * (w.kernel_h - 1) + 1 - w.in_h - w.top;
        call.pad_right = int64_t{conv.out_w() - 1} * w.stride_w + int64_t{w.dilation_w} * (w.kernel_w - 1) + 1 - w.in_w - w.left;
    } else {
        call.pad_bottom = int64_t{w.bottom} - conv.output_padding[0];
        call.pad_right = int64_t{w.right} - conv.output_padding[1];
    }
    return call;
}

}  // namespace

void compute_conv(
    const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias, const Convolution& conv,
    const std::vector<UnaryStep>& steps, const TensixMath& math, const Tensor& output) {
    const Window& w = conv.window;
    ConvCall call = library_call(conv);
    call.input = {raw_data(input), input.dtype(), nullptr};
    const auto dense = dense_weights(weight, conv.weights);
    call.weight = {dense->data(), weight.dtype(), dense};
    std::optional<F32Values> numbers;  // whole numbers are multiplied in float32
    std::vector<float> factors;
    if (input.dtype() == DataType::UINT32) {
        numbers.emplace(input);
        call.input = {reinterpret_cast<const std::byte*>(numbers->data()), DataType::FLOAT32, nullptr};
    }
    if (weight.dtype() == DataType::UINT32) {
        factors.resize(size_t{conv.weights.first()} * conv.weights.second() * w.kernel_h * w.kernel_w);
        load_f32(DataType::UINT32, dense->data(), factors.data(), factors.size());
        call.weight = {reinterpret_cast<const std::byte*>(factors.data()), DataType::FLOAT32, nullptr};
    }
    Bordered image;
    if (conv.repeats_edges) image = repeat_edges(call, conv);
    std::optional<F32Values> bias_values;
    if (bias) {
        bias_values.emplace(*bias);
        call.bias = bias_values->data();
    }
    const auto fused = steps.size() == 1 ? gemm_activation(steps[0]) : std::nullopt;
    if (fused) {
        call.activation = *fused;
    }
    const bool direct = (steps.empty() || fused) && output.dtype() != DataType::UINT32;
    const TensorSpec f32_spec = make_spec(output.logical_shape(), DataType::FLOAT32, Layout::ROW_MAJOR);
    const auto finish = [&](const Tensor& sums) {
        if (steps.empty() || fused) return write_f32(output, mutable_data<float>(sums));
        run_unary(sums, output, steps);
    };
    if (numerics() == Numerics::Tensix) {
        const Tensor sums = make_host_tensor(f32_spec, new_values(f32_spec));
        const std::span<float> values = mutable_data<float>(sums);
        tensix_convolution(call, math, values.data());
        if (!direct) return finish(sums);
        return tensix_pack(output.dtype(), values.data(), mutable_raw_data(output), values.size(), conv.weights.out_channels);
    }
    const auto run = [&] { numbers || !factors.empty() ? convolution(call) : multiply(call, math); };  // whole numbers stay exact
    const DataType stored = output.dtype() == DataType::FLOAT32 ? DataType::FLOAT32 : DataType::BFLOAT16;
    if (direct) {
        call.output = mutable_raw_data(output);
        call.output_dtype = stored;
        return run();
    }
    // An activation that the library cannot fuse is applied to the float32 result, before the one rounding.
    const Tensor sums = make_host_tensor(f32_spec, new_values(f32_spec));
    call.output = mutable_raw_data(sums);
    call.output_dtype = DataType::FLOAT32;
    run();
    finish(sums);
}

}  // namespace ttnn_shim
