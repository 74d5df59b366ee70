// quantize, requantize, dequantize: per tensor or per channel (`axis`). Quantised values saturate to 8 bits, as the device's conversion
// does.
#include "ttnn/operations/quantization/quantization.hpp"

#include <algorithm>
#include <cmath>

#include "ops/arguments.hpp"
#include "ops/data_movement/common.hpp"
#include "ops/eltwise/engine.hpp"

using namespace ttnn_shim;

namespace {

using Scale = std::variant<Tensor, float>;
using ZeroPoint = std::variant<Tensor, int32_t>;

/// A parameter as a broadcast reader: a scalar, or one value per channel of `axis`.
template <typename Value>
BlockReader<float> reader(const std::variant<Tensor, Value>& parameter, const Shape& shape, std::optional<int32_t> axis, const char* name) {
    const auto* tensor = std::get_if<Tensor>(&parameter);
    if (tensor == nullptr) return BlockReader<float>(static_cast<float>(std::get<Value>(parameter)));
    const uint64_t count = tensor->logical_volume();
    std::vector<uint32_t> extents(shape.rank(), 1);
    if (count != 1) {
        SHIM_CHECK(axis.has_value(), "axis: needed for a {} per channel", name);
        const uint32_t dim = normalize_dim(*axis, shape.rank());
        extents[dim] = shape[static_cast<int32_t>(dim)];
        SHIM_CHECK(
            count == extents[dim], "{}: expected {} values for axis {}, got shape {}", name, extents[dim], *axis, tensor->logical_shape());
    }
    return BlockReader<float>(shape_of(extents), tensor->dtype(), raw_data(*tensor), shape);
}

struct Common {
    const char* name;
    const char* op;
    std::optional<int32_t> axis;
    DataType dtype;
    std::optional<MemoryConfig> memory_config;
    std::optional<Tensor> output;
};

/// output = function(x, s, z, s2, z2) block by block in float32.
template <typename Function>
Tensor run(
    const Common& common, const Tensor& input, const Scale& scale, const ZeroPoint& zero, const Scale& scale2, const ZeroPoint& zero2,
    Function function) {
    std::vector<Tensor> inputs = {input};
    for (const Scale* s : {&scale, &scale2}) {
        if (const auto* tensor = std::get_if<Tensor>(s)) {
            check_device_tensor(*tensor, "scale");
            SHIM_CHECK(is_floating_point(tensor->dtype()), "scale: expected a floating point dtype, got {}", tensor->dtype());
            inputs.push_back(*tensor);
        } else {
            SHIM_CHECK(std::get<float>(*s) != 0.0F, "scale: expected a value other than 0");
        }
    }
    for (const ZeroPoint* z : {&zero, &zero2}) {
        if (const auto* tensor = std::get_if<Tensor>(z)) {
            check_device_tensor(*tensor, "zero_point");
            inputs.push_back(*tensor);
        }
    }
    return launch(
        {.op = strategy::Binary{.op = common.op, .broadcast = "NONE", .is_sfpu = true}, .name = "BinaryNgDeviceOperation"}, inputs,
        {make_spec(input.logical_shape(), common.dtype, input.layout(), common.memory_config.value_or(input.memory_config()))},
        [=](std::span<const Tensor> outputs) {
            const Tensor& out = outputs[0];
            const Shape& shape = out.logical_shape();
            const auto rs = reader(scale, shape, common.axis, "scale"), rz = reader(zero, shape, common.axis, "zero_point");
            const auto rs2 = reader(scale2, shape, common.axis, "out_scale"), rz2 = reader(zero2, shape, common.axis, "out_zero_point");
            const BlockReader<float> rx(input, shape);
            std::byte* target = mutable_raw_data(out);
            parallel_for(out.logical_volume(), 4 * BLOCK, [&](size_t begin, size_t end) {
                std::vector<float> scratch(5 * BLOCK);
                for (size_t at = begin; at < end; at += BLOCK) {
                    const size_t n = std::min(BLOCK, end - at);
                    const float *x = rx.read(at, n, &scratch[0]), *s = rs.read(at, n, &scratch[BLOCK]),
                                *z = rz.read(at, n, &scratch[2 * BLOCK]), *s2 = rs2.read(at, n, &scratch[3 * BLOCK]),
                                *z2 = rz2.read(at, n, &scratch[4 * BLOCK]);
                    float values[BLOCK];
                    for (size_t i = 0; i < n; ++i) values[i] = function(x[i], s[i], z[i], s2[i], z2[i]);
                    store_f32(out.dtype(), values, target + at * stored_bytes(out.dtype()), n);
                }
            });
        },
        {common.output})[0];
}

float saturate(float value) { return std::clamp(std::nearbyint(value), -128.0F, 127.0F); }

std::optional<DataType> plain(const std::optional<const DataType>& dtype) { return dtype ? std::optional<DataType>(*dtype) : std::nullopt; }

}  // namespace

namespace ttnn {

Tensor quantize(
    const Tensor& input, const Scale& scale, const ZeroPoint& zero, std::optional<int32_t> axis, const std::optional<const DataType>& dtype,
    const std::optional<MemoryConfig>& memory_config, std::optional<Tensor> output) {
    OpScope scope("ttnn.quantize");
    check_device_tensor(input, "input_tensor");
    SHIM_CHECK(is_floating_point(input.dtype()), "input_tensor: expected a floating point dtype, got {}", input.dtype());
    const DataType result = plain(dtype).value_or(DataType::INT32);
    SHIM_CHECK(result == DataType::INT32, "dtype: quantised values are INT32, got {}", result);
    return run(
        {"ttnn.quantize", "QUANT", axis, result, memory_config, std::move(output)}, input, scale, zero, 1.0F, 0,
        [](float x, float s, float z, float, float) { return saturate(x / s + z); });
}
Tensor requantize(
    const Tensor& input, const Scale& in_scale, const ZeroPoint& in_zero, const Scale& out_scale, const ZeroPoint& out_zero,
    std::optional<int32_t> axis, const std::optional<const DataType>& dtype, const std::optional<MemoryConfig>& memory_config,
    std::optional<Tensor> output) {
    OpScope scope("ttnn.requantize");
    check_device_tensor(input, "input_tensor");
    SHIM_CHECK(input.dtype() == DataType::INT32, "input_tensor: expected INT32, got {}", input.dtype());
    return run(
        {"ttnn.requantize", "REQUANT", axis, plain(dtype).value_or(DataType::INT32), memory_config, std::move(output)}, input, in_scale,
        in_zero, out_scale, out_zero, [](float x, float s, float z, float s2, float z2) { return saturate((x - z) * (s / s2) + z2); });
}
Tensor dequantize(
    const Tensor& input, const Scale& scale, const ZeroPoint& zero, std::optional<int32_t> axis, const std::optional<const DataType>& dtype,
    const std::optional<MemoryConfig>& memory_config, std::optional<Tensor> output) {
    OpScope scope("ttnn.dequantize");
    check_device_tensor(input, "input_tensor");
    SHIM_CHECK(input.dtype() == DataType::INT32, "input_tensor: expected INT32, got {}", input.dtype());
    const DataType result = plain(dtype).value_or(DataType::BFLOAT16);
    SHIM_CHECK(is_floating_point(result), "dtype: expected a floating point dtype, got {}", result);
    return run(
        {"ttnn.dequantize", "DEQUANT", axis, result, memory_config, std::move(output)}, input, scale, zero, 1.0F, 0,
        [](float x, float s, float z, float, float) { return (x - z) * s; });
}

}  // namespace ttnn

SHIM_OP("ttnn.quantize", [](const arguments::quantize& args) {
    return ttnn::quantize(args.input_tensor, args.scale, args.zero_point, args.axis, args.dtype, args.memory_config, args.output_tensor);
});
SHIM_OP("ttnn.requantize", [](const arguments::requantize& args) {
    return ttnn::requantize(
        args.input_tensor, args.in_scale, args.in_zero_point, args.out_scale, args.out_zero_point, args.axis, args.dtype,
        args.memory_config, args.output_tensor);
});
SHIM_OP("ttnn.dequantize", [](const arguments::dequantize& args) {
    return ttnn::dequantize(args.input_tensor, args.scale, args.zero_point, args.axis, args.dtype, args.memory_config, args.output_tensor);
});
