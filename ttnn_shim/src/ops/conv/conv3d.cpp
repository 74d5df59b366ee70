// ttnn.experimental.conv3d and the preparation of its weights: windows gathered as rows of a matrix, then one multiplication.
#include <array>
#include <cstring>
#include <limits>

#include "ops/arguments.hpp"
#include "ops/matmul/multiply.hpp"
#include "ops/registry.hpp"
#include "tensor/gemm.hpp"
#include "ttnn/operations/core/core.hpp"
#include "ttnn/operations/data_movement/pad/pad.hpp"
#include "ttnn/operations/data_movement/permute/permute.hpp"
#include "ttnn/operations/data_movement/view/view.hpp"
#include "ttnn/operations/experimental/conv3d/conv3d.hpp"
#include "ttnn/operations/experimental/conv3d/prepare_conv3d_weights.hpp"

using namespace ttnn_shim;
using ttnn::experimental::prim::Conv3dConfig;

/// What changes the layout of weights or result; the blocks of the output change the time alone, and no model of it.
Conv3dConfig ttnn_shim::ArgumentType<Conv3dConfig>::read(const Call& call, std::string_view name) {
    const auto record = call.record(name);
    Conv3dConfig config;
    if (const auto layout = record->text("output_layout"); !layout.empty()) config.output_layout = parse_layout(layout);
    config.C_in_block = static_cast<uint32_t>(record->integer("C_in_block", config.C_in_block));
    config.alignment = static_cast<uint32_t>(record->integer("alignment", config.alignment));
    return config;
}

namespace {

using Triple = std::array<uint32_t, 3>;

struct Preparation {
    uint32_t groups = 1, block = 0, alignment = 32;  ///< block 0: all (aligned) input channels in one
};

/// Host weights [O, I / groups, D, H, W] -> [O, I, D, H, W] in rows: zeros where the channel is of another group.
Tensor spread_over_groups(const Tensor& weight, uint32_t groups) {
    const Shape& s = weight.logical_shape();
    if (groups == 1) return weight;
    const TensorSpec spec = make_spec(Shape({s[0], s[1] * groups, s[2], s[3], s[4]}), weight.dtype(), Layout::ROW_MAJOR);
    const size_t bytes = size_t{s[1]} * s[2] * s[3] * s[4] * stored_bytes(weight.dtype());  // of one output channel
    auto values = new_values(spec);
    if (has_values(weight)) {
        std::memset(values->data(), 0, bytes * groups * s[0]);
        for (size_t o = 0; o < s[0]; ++o)
            std::memcpy(values->data() + (o * groups + o / (s[0] / groups)) * bytes, raw_data(weight) + o * bytes, bytes);
    }
    return make_host_tensor(spec, values);
}

/// Host weights [O, I / groups, D, H, W] -> [blocks, D, H, W, channels of a block, O] as rows. Input channels are filled up with zeros
/// to the alignment. With a device the steps are programs of the chip, as the real package runs them.
Tensor prepare(const Tensor& weight, const Preparation& how, ttnn::MeshDevice* device) {
    SHIM_CHECK(!is_on_device(weight), "weight_tensor: expected a host tensor");
    const Shape& s = weight.logical_shape();
    SHIM_CHECK(s.rank() == 5, "weight_tensor: expected shape [out, in, D, H, W], got {}", s);
    SHIM_CHECK(how.groups > 0 && s[0] % how.groups == 0, "groups: {} does not divide {} output channels", how.groups, s[0]);
    SHIM_CHECK(how.alignment > 0, "alignment: expected a positive number");
    const uint64_t channels = uint64_t{s[1]} * how.groups, filled = (channels + how.alignment - 1) / how.alignment * how.alignment;
    const size_t area = size_t{s[2]} * s[3] * s[4];
    SHIM_CHECK(filled * area <= std::numeric_limits<uint32_t>::max(), "weight_tensor: {} rows are too many", filled * area);
    const auto aligned = static_cast<uint32_t>(filled), block = how.block == 0 ? aligned : how.block;
    SHIM_CHECK(aligned % block == 0, "C_in_block: {} does not divide {} input channels", block, aligned);
    const Shape rows({static_cast<uint32_t>(area * aligned), s[0]});
    const Tensor full = spread_over_groups(weight, how.groups);
    if (device != nullptr && full.layout() == Layout::ROW_MAJOR && s.volume() > 0) {
        const auto windows = static_cast<uint32_t>(area);
        Tensor steps = ttnn::to_device(full, device, MemoryConfig{});
        steps = ttnn::permute(steps, {2, 3, 4, 1, 0});
        steps = ttnn::view(steps, Shape({windows, static_cast<uint32_t>(channels), s[0]}));
        if (aligned != channels) steps = ttnn::pad(steps, Shape({windows, aligned, s[0]}), Shape({0, 0, 0}), 0.0F);
        steps = ttnn::permute(ttnn::view(steps, Shape({windows, aligned / block, block, s[0]})), {1, 0, 2, 3});
        return ttnn::view(steps, rows);
    }
    const TensorSpec spec = make_spec(rows, weight.dtype(), Layout::ROW_MAJOR);
    const size_t bytes = stored_bytes(weight.dtype());
    auto values = new_values(spec);
    if (has_values(weight)) {
        std::memset(values->data(), 0, bytes * spec.logical_shape().volume());
        const std::byte* source = raw_data(full);
        for (size_t o = 0; o < s[0]; ++o) {
            for (size_t i = 0; i < channels; ++i) {
                for (size_t k = 0; k < area; ++k) {
                    const size_t row = (i / block * area + k) * block + i % block;
                    std::memcpy(values->data() + (row * s[0] + o) * bytes, source + ((o * channels + i) * area + k) * bytes, bytes);
                }
            }
        }
    }
    const Tensor host = make_host_tensor(spec, values);
    return device == nullptr ? host : host.to_device(device);
}

uint32_t extent(uint32_t in, uint32_t kernel, uint32_t stride, uint32_t padding, uint32_t dilation) {
    const uint64_t padded = uint64_t{in} + 2 * uint64_t{padding}, reach = uint64_t{dilation} * (kernel - 1) + 1;
    SHIM_CHECK(kernel > 0 && stride > 0 && dilation > 0, "kernel_size, stride and dilation: expected values above 0");
    SHIM_CHECK(reach <= padded, "kernel_size: a window of {} does not fit {} padded values", reach, padded);
    return static_cast<uint32_t>((padded - reach) / stride + 1);
}

/// Windows of an image [N, T, H, W, C] as rows of a product.
struct Windows {
    Shape input;
    Triple kernel, stride, padding, dilation, out;
    uint32_t block = 0;  ///< channels that lie together in a row
    bool zeros = true;   ///< padding, instead of the nearest value
    size_t area() const { return size_t{kernel[0]} * kernel[1] * kernel[2]; }
};

/// Rows of `count` windows from the `first` on; a row has room for whole blocks of channels.
void gather_windows(const Windows& g, const float* values, size_t first, size_t count, size_t depth, float* rows) {
    const Shape& s = g.input;
    const size_t channels = s[4], area = g.area(), block = g.block;
    const auto source = [&](int64_t at, uint32_t size) -> int64_t {  // -1: padding
        if (at >= 0 && at < size) return at;
        return g.zeros ? -1 : std::clamp<int64_t>(at, 0, int64_t{size} - 1);
    };
    parallel_for(count, 16, [&](size_t begin, size_t end) {
        for (size_t i = begin; i < end; ++i) {
            float* row = rows + i * depth;
            std::fill_n(row, depth, 0.0F);
            size_t rest = first + i;
            const size_t ox = rest % g.out[2], oy = (rest /= g.out[2]) % g.out[1], ot = (rest /= g.out[1]) % g.out[0], n = rest / g.out[0];
            for (uint32_t k = 0; k < area; ++k) {
                const uint32_t kx = k % g.kernel[2], ky = k / g.kernel[2] % g.kernel[1], kt = k / g.kernel[2] / g.kernel[1];
                const int64_t t = source(static_cast<int64_t>(ot * g.stride[0] + kt * g.dilation[0]) - g.padding[0], s[1]);
                const int64_t y = source(static_cast<int64_t>(oy * g.stride[1] + ky * g.dilation[1]) - g.padding[1], s[2]);
                const int64_t x = source(static_cast<int64_t>(ox * g.stride[2] + kx * g.dilation[2]) - g.padding[2], s[3]);
                if (t < 0 || y < 0 || x < 0) continue;
                const float* stick =
                    values + (((static_cast<int64_t>(n) * s[1] + t) * s[2] + y) * s[3] + x) * static_cast<int64_t>(channels);
                for (size_t from = 0; from < channels; from += block)
                    std::copy_n(stick + from, std::min<size_t>(block, channels - from), row + (from / block * area + k) * block);
            }
        }
    });
}

void check_arguments(const arguments::experimental::conv3d& args) {
    const Tensor& input = args.input_tensor;
    check_device_tensor(input, "input_tensor", Layout::ROW_MAJOR);
    const Shape& s = input.logical_shape();
    SHIM_CHECK(s.rank() == 5 && s.volume() > 0, "input_tensor: expected shape [N, T, H, W, C], got {}", s);
    SHIM_CHECK(
        input.dtype() == DataType::BFLOAT16 || input.dtype() == DataType::FLOAT32, "input_tensor: expected BFLOAT16 or FLOAT32, got {}",
        input.dtype());
    const uint32_t outs = args.output_channels, groups = args.groups;
    const std::string mode = args.padding_mode;
    SHIM_CHECK(mode == "zeros" || mode == "replicate", "padding_mode: expected zeros or replicate, got '{}'", mode);
    SHIM_CHECK(
        groups > 0 && s[4] % groups == 0 && outs % groups == 0, "groups: {} does not divide {} input and {} output channels", groups, s[4],
        outs);
    SHIM_SUPPORTED(
        args.logical_h_mask == 0 && args.logical_w_mask == 0 && args.output_pad_h == 0 && args.output_pad_w == 0,
        "logical_h_mask, logical_w_mask, output_pad_h and output_pad_w: only 0 is supported for conv3d");
}

Tensor conv3d(const arguments::experimental::conv3d& args) {
    const OpScope scope("ttnn.experimental.conv3d");
    const Tensor& input = args.input_tensor;
    check_arguments(args);
    const Shape& s = input.logical_shape();
    const Triple kernel = args.kernel_size, stride = args.stride, padding = args.padding, dilation = args.dilation;
    const uint32_t outs = args.output_channels, groups = args.groups;
    const std::string mode = args.padding_mode;
    const auto config = args.config.value_or(Conv3dConfig{});
    const Layout layout = config.output_layout;
    Tensor weight = args.weight_tensor;
    if (!is_on_device(weight)) weight = prepare(weight, {groups, config.C_in_block, config.alignment}, device_of(input));
    const Shape w = weight.logical_shape();
    const uint32_t area = kernel[0] * kernel[1] * kernel[2];
    SHIM_CHECK(outs > 0 && w.rank() == 2 && w[1] == outs, "weight_tensor: expected {} columns (output_channels), got shape {}", outs, w);
    SHIM_CHECK(
        area > 0 && w[0] % area == 0 && w[0] / area >= s[4], "weight_tensor: {} rows do not hold {} x {} input channels", w[0], area, s[4]);
    const uint32_t aligned = w[0] / area, block = config.C_in_block == 0 ? aligned : config.C_in_block;
    SHIM_CHECK(aligned % block == 0, "config.C_in_block: {} does not divide {} input channels", block, aligned);
    const auto bias = args.bias_tensor;
    if (bias) check_device_tensor(*bias, "bias_tensor");
    if (bias) SHIM_CHECK(bias->logical_volume() == outs, "bias_tensor: expected {} values, got shape {}", outs, bias->logical_shape());
    Triple out{};
    for (size_t i = 0; i < 3; ++i) out[i] = extent(s[static_cast<int32_t>(i) + 1], kernel[i], stride[i], padding[i], dilation[i]);
    const Shape result({s[0], out[0], out[1], out[2], outs});
    const DataType dtype = args.dtype;
    SHIM_CHECK(is_floating_point(dtype), "dtype: expected a floating point dtype, got {}", dtype);
    if (is_on_device(weight) && weight.layout() == Layout::ROW_MAJOR) weight = ttnn::to_layout(weight, Layout::TILE);
    std::vector<Tensor> inputs{input, weight};
    if (bias) inputs.push_back(*bias);
    const Triple patch{config.T_out_block, config.H_out_block, config.W_out_block};
    int64_t halo_sticks = area > 1 && dilation == Triple{1, 1, 1} ? 1 : 0;
    for (size_t i = 0; i < 3; ++i) halo_sticks *= (int64_t{patch[i]} - 1) * stride[i] + kernel[i];
    TensorSpec spec = make_spec(result, dtype, layout, args.memory_config.value_or(MemoryConfig{}));
    if (layout == Layout::ROW_MAJOR)  // rows of whole tiles
        spec = spec.with_padded_shape(Shape({result[0], result[1], result[2], result[3], (outs + 31) / 32 * 32}));
    std::optional<const ttnn::ComputeKernelConfig> given;
    if (args.compute_kernel_config) given.emplace(*args.compute_kernel_config);
    const auto compute =
        ttnn::init_device_compute_kernel_config(device_of(input)->arch(), given, ttnn::MathFidelity::HiFi2, true, false, false);
    const Windows g{s, kernel, stride, padding, dilation, out, block, mode == "zeros"};
    return launch(
        {.op =
             strategy::Conv3d{
                 .window = {kernel[0], kernel[1], kernel[2]},
                 .patches = int64_t{patch[0]} * patch[1] * patch[2],
                 .blocks_c_in = aligned / block,
                 .blocks_c_out = config.C_out_block == 0 ? 1 : (outs + config.C_out_block - 1) / config.C_out_block,
                 .channels = block,
                 .halo_sticks = halo_sticks},
         .compute = compute,
         .name = "Conv3dDeviceOperation"},
        inputs, {spec}, [=](std::span<const Tensor> outputs) {
            const F32Values values(input), weights(weight);
            const TensixMath math = tensix_math(compute);
            std::optional<F32Values> shifts;
            if (bias) shifts.emplace(*bias);
            constexpr size_t CHUNK_ROWS = 1024;
            const size_t pixels = result.volume() / outs, depth = w[0];
            std::vector<float> rows(std::min(pixels, CHUNK_ROWS) * depth), sums(pixels * outs);
            for (size_t first = 0; first < pixels; first += CHUNK_ROWS) {
                const size_t count = std::min(CHUNK_ROWS, pixels - first);
                gather_windows(g, values.data(), first, count, depth, rows.data());
                MatmulCall call;
                call.m = static_cast<int64_t>(count);
                call.k = static_cast<int64_t>(depth);
                call.n = outs;
                call.a = {rows.data(), DataType::FLOAT32, nullptr};
                call.b = {weights.data(), DataType::FLOAT32, nullptr};
                call.bias = shifts ? shifts->data() : nullptr;
                call.c = sums.data() + first * outs;
                if (numerics() == Numerics::Tensix) {
                    tensix_matmul(call, math, static_cast<float*>(call.c));
                } else {
                    multiply(call, math, static_cast<int64_t>(depth / groups));
                }
            }
            write_f32(outputs[0], sums);
        })[0];
}

}  // namespace

SHIM_OP("ttnn.experimental.conv3d", conv3d);
static auto run_prepare_conv3d_weights(const arguments::experimental::prepare_conv3d_weights& args) {
    const OpScope scope("ttnn.experimental.prepare_conv3d_weights");
    return prepare(args.weight_tensor, {args.groups, args.C_in_block, args.alignment}, args.device);
}
SHIM_OP("ttnn.experimental.prepare_conv3d_weights", run_prepare_conv3d_weights);

// ---- the C++ functions ------------------------------------------------------------------------------------------------------

namespace ttnn {

Tensor operations::experimental::conv3d::prepare_conv3d_weights(
    const Tensor& weight, uint32_t groups, uint32_t C_in_block, uint32_t alignment, MeshDevice* device) {
    return ::run_prepare_conv3d_weights(
        {.weight_tensor = weight, .groups = groups, .C_in_block = C_in_block, .alignment = alignment, .device = device});
}

}  // namespace ttnn

namespace ttnn::experimental {

Tensor conv3d(
    const Tensor& input_tensor, const Tensor& weight_tensor, std::optional<MeshDevice*> device, const std::optional<Tensor>& bias_tensor,
    const std::optional<prim::Conv3dConfig>& config, DataType dtype, uint32_t output_channels, const std::array<uint32_t, 3>& kernel_size,
    const std::array<uint32_t, 3>& stride, const std::array<uint32_t, 3>& padding, const std::array<uint32_t, 3>& dilation,
    const std::string& padding_mode, uint32_t groups, const std::optional<MemoryConfig>& memory_config,
    std::optional<ComputeKernelConfig> compute_kernel_config, const std::optional<Tensor>& halo_buffer, uint32_t logical_h_mask,
    uint32_t logical_w_mask, const std::optional<Tensor>& pad_offset_tensor, uint32_t output_pad_h, uint32_t output_pad_w,
    const std::optional<Tensor>& weight_lo_tensor) {
    SHIM_SUPPORTED(
        !halo_buffer && !pad_offset_tensor && !weight_lo_tensor,
        "halo_buffer, pad_offset_tensor and weight_lo_tensor: not supported for conv3d; leave them out");
    return ::conv3d(
        {SHIM_NAMED(input_tensor, weight_tensor), .device = device.value_or(nullptr),
         SHIM_NAMED(
             bias_tensor, config, dtype, output_channels, kernel_size, stride, padding, dilation, padding_mode, groups, memory_config,
             compute_kernel_config, logical_h_mask, logical_w_mask, output_pad_h, output_pad_w)});
}

}  // namespace ttnn::experimental
