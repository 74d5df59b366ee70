// Binary eltwise ops: one table row each. Broadcasting, kernels and the device program are in engine.cpp.
#include "ttnn/operations/reduction/generic/generic_reductions.hpp"
#include "ttnn/operations/experimental/reduction/fast_reduce_nc/fast_reduce_nc.hpp"
#include "ttnn/operations/eltwise/binary/binary.hpp"

#include <cmath>

#include "ops/arguments.hpp"
#include "ops/eltwise/engine.hpp"
#include "ops/eltwise/placement.hpp"
#include "ttnn/operations/core/to_layout/to_layout_op.hpp"
#include "ttnn/operations/copy/typecast/typecast.hpp"
#include "ttnn/operations/eltwise/ternary/ternary.hpp"
#include "ttnn/operations/eltwise/unary/unary.hpp"

using namespace ttnn_shim;

namespace ttnn {

using operations::binary::Activations;
using operations::binary::ScalarVariant;
using OptionalMemory = std::optional<MemoryConfig>;
using OptionalGrids = std::optional<CoreRangeSet>;
using OptionalSubDevice = std::optional<SubDeviceId>;
using OptionalDtype = std::optional<const DataType>;

namespace {
std::optional<DataType> plain(const OptionalDtype& dtype) { return dtype ? std::optional<DataType>(*dtype) : std::nullopt; }

void check_sub_device(const OptionalSubDevice& sub_device) {
    SHIM_SUPPORTED(!sub_device || **sub_device == 0, "sub_device_id: the simulated device has sub-device 0 only");
}

// Helpers of the functions below: compiled once, not in each of them.
#define REST                                                                                                                \
    BinaryOpType type, const OptionalDtype &dtype, const OptionalMemory &memory_config, const std::optional<Tensor>&output, \
        Activations post, Activations left, Activations right, const OptionalGrids &grids, const OptionalSubDevice &sub_device
#define FORWARD type, dtype, memory_config, output, post, left, right, grids, sub_device
Tensor run_any(const char* name, const Operand& a, const Operand& b, REST) {
    check_sub_device(sub_device);
    return binary_op(name, a, b, type, {plain(dtype), memory_config, output, post, left, right, grids});
}
Tensor run(const char* name, const Tensor& a, const Tensor& b, REST) { return run_any(name, a, b, FORWARD); }
Tensor run(const char* name, const Tensor& a, const Scalar& b, REST) { return run_any(name, a, b, FORWARD); }
Tensor run(const char* name, const Scalar& a, const Tensor& b, REST) { return run_any(name, a, b, FORWARD); }
#undef REST
#undef FORWARD
}  // namespace

#define MIDDLE                                                                                                             \
    const OptionalDtype &dtype, const OptionalMemory &memory_config, const std::optional<Tensor>&output, Activations post, \
        Activations left, Activations right
#define OPTIONS dtype, memory_config, output, post, left, right, std::nullopt, std::nullopt
#define OPTIONS_ON dtype, memory_config, output, post, left, right, grids, sub_device
#define GRIDS const OptionalGrids &grids, const OptionalSubDevice &sub_device

#define DEFINE(name, TYPE, PYTHON)                                                             \
    Tensor name(const Tensor& a, const Tensor& b, MIDDLE, const std::optional<bool>&, GRIDS) { \
        return run("ttnn." PYTHON, a, b, BinaryOpType::TYPE, OPTIONS_ON);                      \
    }                                                                                          \
    Tensor name(const Tensor& a, ScalarVariant b, MIDDLE, const std::optional<bool>&, GRIDS) { \
        return run("ttnn." PYTHON, a, b, BinaryOpType::TYPE, OPTIONS_ON);                      \
    }                                                                                          \
    Tensor name(ScalarVariant a, const Tensor& b, MIDDLE, const std::optional<bool>&, GRIDS) { \
        return run("ttnn." PYTHON, a, b, BinaryOpType::TYPE, OPTIONS_ON);                      \
    }
TTNN_BINARY_ARITHMETIC(DEFINE)
#undef DEFINE
#define DEFINE(name, TYPE)                                                                                                            \
    Tensor name(const Tensor& a, const Tensor& b, MIDDLE, GRIDS) { return run("ttnn." #name, a, b, BinaryOpType::TYPE, OPTIONS_ON); } \
    Tensor name(const Tensor& a, ScalarVariant b, MIDDLE, GRIDS) { return run("ttnn." #name, a, b, BinaryOpType::TYPE, OPTIONS_ON); }
TTNN_BINARY_GENERAL(DEFINE)
#undef DEFINE
#define DEFINE(name, TYPE)                                                                                                  \
    Tensor name(const Tensor& a, const Tensor& b, MIDDLE) { return run("ttnn." #name, a, b, BinaryOpType::TYPE, OPTIONS); } \
    Tensor name(const Tensor& a, ScalarVariant b, MIDDLE) { return run("ttnn." #name, a, b, BinaryOpType::TYPE, OPTIONS); }
TTNN_BINARY_SHORT(DEFINE)
#undef DEFINE
#define DEFINE(name, TYPE) \
    Tensor name(const Tensor& a, const Tensor& b, MIDDLE) { return run("ttnn." #name, a, b, BinaryOpType::TYPE, OPTIONS); }
TTNN_BINARY_INTEGER(DEFINE)
#undef DEFINE
#define DEFINE(name, TYPE)                                                                                                               \
    Tensor name(                                                                                                                         \
        const Tensor& a, const Tensor& b, const OptionalMemory& memory_config, const std::optional<Tensor>& output, Activations post,    \
        Activations left, Activations right, GRIDS) {                                                                                    \
        return run("ttnn." #name, a, b, BinaryOpType::TYPE, std::nullopt, memory_config, output, post, left, right, grids, sub_device);  \
    }                                                                                                                                    \
    Tensor name(                                                                                                                         \
        const Tensor& a, int32_t b, const OptionalMemory& memory_config, const std::optional<Tensor>& output, Activations post,          \
        Activations left, Activations right, GRIDS) {                                                                                    \
        return run(                                                                                                                      \
            "ttnn." #name, a, Scalar(b), BinaryOpType::TYPE, std::nullopt, memory_config, output, post, left, right, grids, sub_device); \
    }
TTNN_BINARY_BITWISE(DEFINE)
#undef DEFINE
#define DEFINE(name, TYPE)                                                                                                             \
    Tensor name(const Tensor& a, const Tensor& b, Activations post, Activations left, Activations right, std::optional<bool>, GRIDS) { \
        return run("ttnn." #name, a, b, BinaryOpType::TYPE, std::nullopt, std::nullopt, a, post, left, right, grids, sub_device);      \
    }                                                                                                                                  \
    Tensor name(const Tensor& a, ScalarVariant b, Activations post, Activations left, Activations right, std::optional<bool>, GRIDS) { \
        return run("ttnn." #name, a, b, BinaryOpType::TYPE, std::nullopt, std::nullopt, a, post, left, right, grids, sub_device);      \
    }
TTNN_BINARY_INPLACE_FAST(DEFINE)
#undef DEFINE
#define DEFINE(name, TYPE)                                                                                                        \
    Tensor name(const Tensor& a, const Tensor& b, Activations post, Activations left, Activations right, GRIDS) {                 \
        return run("ttnn." #name, a, b, BinaryOpType::TYPE, std::nullopt, std::nullopt, a, post, left, right, grids, sub_device); \
    }                                                                                                                             \
    Tensor name(const Tensor& a, ScalarVariant b, Activations post, Activations left, Activations right, GRIDS) {                 \
        return run("ttnn." #name, a, b, BinaryOpType::TYPE, std::nullopt, std::nullopt, a, post, left, right, grids, sub_device); \
    }
TTNN_BINARY_INPLACE(DEFINE)
#undef DEFINE
#define DEFINE(name, TYPE)                                                                                                               \
    Tensor name(const Tensor& a, const Tensor& b, const OptionalMemory& memory_config) {                                                 \
        return run(                                                                                                                      \
            "ttnn." #name, a, b, BinaryOpType::TYPE, std::nullopt, memory_config, std::nullopt, {}, {}, {}, std::nullopt, std::nullopt); \
    }
TTNN_BINARY_PLAIN(DEFINE)
#undef DEFINE
// scalar op tensor: the mirrored comparison
#define MIRROR(name, TYPE)                                                                                                                 \
    Tensor name(                                                                                                                           \
        float a, const Tensor& b, const OptionalDtype& dtype, const OptionalMemory& memory_config, const std::optional<Tensor>& output) {  \
        return run("ttnn." #name, Scalar(a), b, BinaryOpType::TYPE, dtype, memory_config, output, {}, {}, {}, std::nullopt, std::nullopt); \
    }
// clang-format off
MIRROR(eq, EQ) MIRROR(ne, NE) MIRROR(gt, GT) MIRROR(ge, GE) MIRROR(lt, LT) MIRROR(le, LE)
// clang-format on
#undef MIRROR

    Tensor bias_gelu(const Tensor& a, const Tensor& b, MIDDLE, GRIDS, const std::optional<bool>&) {
    return run("ttnn.bias_gelu", a, b, BinaryOpType::BIAS_GELU, OPTIONS_ON);
}
Tensor bias_gelu(const Tensor& a, ScalarVariant b, MIDDLE, GRIDS, const std::optional<bool>&) {
    return run("ttnn.bias_gelu", a, b, BinaryOpType::BIAS_GELU, OPTIONS_ON);
}
Tensor rsub(const Tensor& a, const Tensor& b, MIDDLE, const std::optional<bool>&) {
    return run("ttnn.rsub", a, b, BinaryOpType::RSUB, OPTIONS);
}
Tensor rsub(const Tensor& a, ScalarVariant b, MIDDLE, const std::optional<bool>&) {
    return run("ttnn.rsub", a, b, BinaryOpType::RSUB, OPTIONS);
}

namespace {
DataType operand_dtype(const Operand& operand) {
    if (const auto* tensor = std::get_if<Tensor>(&operand)) return tensor->dtype();
    return std::holds_alternative<float>(std::get<Scalar>(operand)) ? DataType::FLOAT32 : DataType::INT32;
}
/// Two INT32 operands stay whole numbers, exactly, when a rounding mode is given. Where only one is whole, the quotient is real.
Tensor divide_rounded(
    const Operand& a, const Operand& b, bool approximate, const std::optional<std::string>& rounding_mode, BinaryOptions options) {
    OpScope scope("ttnn.div");
    const DataType left = operand_dtype(a), right = operand_dtype(b);
    const bool whole = left == DataType::INT32 && right == DataType::INT32;
    SHIM_CHECK(!whole || !approximate, "Integer Division does not support fast_and_approximate_mode=true");
    const bool plain =
        !rounding_mode || (whole && *rounding_mode != "trunc" && *rounding_mode != "floor");  // whole: any other word is None
    if (plain) return binary_op("ttnn.div", a, b, BinaryOpType::DIV, options);
    SHIM_CHECK(
        *rounding_mode == "trunc" || *rounding_mode == "floor", "rounding_mode: expected trunc, floor or None, got '{}'", *rounding_mode);
    const bool floor = *rounding_mode == "floor";
    SHIM_CHECK(
        whole || !is_integer(left) || !is_integer(right), "expected INT32 or floating point operands with a rounding mode, got {} and {}",
        left, right);
    if (!floor && is_integer(left) != is_integer(right)) {
        const Tensor quotient = binary_op(
            "ttnn.div", a, b, BinaryOpType::DIV,
            {.dtype = options.dtype, .left = options.left, .right = options.right, .cores = options.cores});
        return unary_op(
            "ttnn.div", quotient, {UnaryOpType::TRUNC},
            {.memory_config = options.memory_config, .output = options.output, .cores = options.cores});
    }
    if (whole) options.dtype = DataType::INT32;
    return binary_op("ttnn.div", a, b, floor ? BinaryOpType::DIV_FLOOR : BinaryOpType::DIV_TRUNC, options);
}
/// a / b where b is not 0, else 0: a division and a select.
Tensor safe_divide(const Tensor& a, const Operand& b, const OptionalMemory& memory_config) {
    OpScope scope("ttnn.div_no_nan");
    if (const auto* scalar = std::get_if<Scalar>(&b)) {
        if (scalar_value(*scalar) == 0) return unary_op("ttnn.div_no_nan", a, {UnaryStep(UnaryOpType::FILL, 0.0F)}, {memory_config});
        return binary_op("ttnn.div_no_nan", a, b, BinaryOpType::DIV, {.memory_config = memory_config});
    }
    const Tensor quotient = binary_op("ttnn.div_no_nan", a, b, BinaryOpType::DIV, {.memory_config = memory_config});
    const Tensor zeros = eqz(std::get<Tensor>(b), memory_config);
    if (quotient.layout() == Layout::TILE) return where(zeros, 0.0F, quotient, memory_config);
    return to_layout(where(to_layout(zeros, Layout::TILE), 0.0F, to_layout(quotient, Layout::TILE), memory_config), Layout::ROW_MAJOR);
}
}  // namespace

Tensor div(const Tensor& a, const Tensor& b, bool approximate, const std::optional<std::string>& rounding_mode, MIDDLE, GRIDS) {
    check_sub_device(sub_device);
    return divide_rounded(a, b, approximate, rounding_mode, {plain(dtype), memory_config, output, post, left, right, grids});
}
Tensor div(const Tensor& a, ScalarVariant b, bool approximate, const std::optional<std::string>& rounding_mode, MIDDLE, GRIDS) {
    check_sub_device(sub_device);
    return divide_rounded(a, b, approximate, rounding_mode, {plain(dtype), memory_config, output, post, left, right, grids});
}
Tensor div(ScalarVariant a, const Tensor& b, bool approximate, const std::optional<std::string>& rounding_mode, MIDDLE, GRIDS) {
    check_sub_device(sub_device);
    return divide_rounded(a, b, approximate, rounding_mode, {plain(dtype), memory_config, output, post, left, right, grids});
}
Tensor div_no_nan(const Tensor& a, const Tensor& b, const OptionalMemory& memory_config) { return safe_divide(a, b, memory_config); }
Tensor div_no_nan(const Tensor& a, ScalarVariant b, const OptionalMemory& memory_config) { return safe_divide(a, b, memory_config); }
namespace {
/// A ternary operation corrects the quotient: row-major operands must become tiles on the way, as shards and mixtures do.
void check_floor_operands(const Tensor& a, const Tensor& b) {
    SHIM_CHECK(
        a.layout() == Layout::TILE || b.layout() == Layout::TILE || a.is_sharded() || b.is_sharded(),
        "input_tensor_a: expected TILE layout (a ternary operation corrects the quotient), got {}", a.layout());
}
}  // namespace

Tensor floor_div(const Tensor& a, const Tensor& b, const OptionalMemory& m) {
    OpScope scope("ttnn.floor_div");
    check_floor_operands(a, b);
    return binary_op("ttnn.floor_div", a, b, BinaryOpType::DIV_FLOOR, {.memory_config = m});
}
Tensor floor_div(const Tensor& a, ScalarVariant b, const OptionalMemory& m) {
    return binary_op("ttnn.floor_div", a, b, BinaryOpType::DIV_FLOOR, {.memory_config = m});
}
Tensor fmod(const Tensor& a, const Tensor& b, const OptionalMemory& m, GRIDS) {
    return run("ttnn.fmod", a, b, BinaryOpType::FMOD, std::nullopt, m, std::nullopt, {}, {}, {}, grids, sub_device);
}
Tensor fmod(const Tensor& a, ScalarVariant b, const OptionalMemory& m, GRIDS) {
    return run("ttnn.fmod", a, b, BinaryOpType::FMOD, std::nullopt, m, std::nullopt, {}, {}, {}, grids, sub_device);
}
Tensor hypot(const Tensor& a, const Tensor& b, const OptionalMemory& m, const std::optional<Tensor>& output) {
    return binary_op("ttnn.hypot", a, b, BinaryOpType::HYPOT, {.memory_config = m, .output = output});
}

namespace {
/// TT-NN raises integers by its own program: tiles, no negative exponents.
void check_integer_power(const Tensor& input, double exponent) {
    if (!is_integer(input.dtype())) return;
    SHIM_CHECK(
        exponent == std::trunc(exponent) && std::abs(exponent) <= 2147483647.0,
        "exponent: expected an integer for a tensor of dtype {}, got {}", input.dtype(), exponent);
    SHIM_CHECK(exponent >= 0, "exponent: integers to negative integer powers are not allowed, got {}", exponent);
    SHIM_CHECK(input.layout() == Layout::TILE, "input_tensor: an integer power needs TILE layout, got {}", input.layout());
}
}  // namespace

Tensor pow(const Tensor& input, int32_t exponent, const OptionalMemory& memory_config, const std::optional<Tensor>& output) {
    OpScope scope("ttnn.pow");
    check_integer_power(input, exponent);
    if (exponent == 2) return unary_op("ttnn.pow", input, {UnaryOpType::SQUARE}, {memory_config, output});
    return unary_op("ttnn.pow", input, {UnaryStep(UnaryOpType::POWER, static_cast<float>(exponent))}, {memory_config, output});
}
Tensor pow(const Tensor& input, float exponent, const OptionalMemory& memory_config, const std::optional<Tensor>& output) {
    OpScope scope("ttnn.pow");
    check_integer_power(input, static_cast<double>(exponent));
    if (exponent == 2.0F) return unary_op("ttnn.pow", input, {UnaryOpType::SQUARE}, {memory_config, output});
    if (exponent == 0.5F) return unary_op("ttnn.pow", input, {UnaryOpType::SQRT}, {memory_config, output});
    return unary_op("ttnn.pow", input, {UnaryStep(UnaryOpType::POWER, exponent)}, {memory_config, output});
}
Tensor pow(const Tensor& input, const Tensor& exponent, MIDDLE) { return run("ttnn.pow", input, exponent, BinaryOpType::POWER, OPTIONS); }
Tensor pow(float input, const Tensor& exponent, MIDDLE) { return run("ttnn.pow", Scalar(input), exponent, BinaryOpType::POWER, OPTIONS); }

namespace {
/// The second operand's factor: integers are scaled by whole numbers, so the real package cuts the factor's fraction off.
UnaryStep scaled_by(float alpha, const Tensor& operand) {
    return {UnaryOpType::MUL_UNARY_SFPU, is_integer(operand.dtype()) ? std::trunc(alpha) : alpha};
}
}  // namespace

Tensor addalpha(const Tensor& a, const Tensor& b, float alpha, const OptionalMemory& memory_config, const std::optional<Tensor>& output) {
    const UnaryStep scaled = scaled_by(alpha, b);
    return binary_op(
        "ttnn.addalpha", a, b, BinaryOpType::ADD, {.memory_config = memory_config, .output = output, .right = UnarySteps(&scaled, 1)});
}
Tensor subalpha(const Tensor& a, const Tensor& b, float alpha, const OptionalMemory& memory_config, const std::optional<Tensor>& output) {
    const UnaryStep scaled = scaled_by(alpha, b);
    return binary_op(
        "ttnn.subalpha", a, b, BinaryOpType::SUB, {.memory_config = memory_config, .output = output, .right = UnarySteps(&scaled, 1)});
}

Tensor isclose(const Tensor& a, const Tensor& b, float rtol, float atol, bool equal_nan, const OptionalMemory& memory_config) {
    OpScope scope("ttnn.isclose");
    check_device_tensor(a, "input_tensor_a");
    check_device_tensor(b, "input_tensor_b");
    const auto wide = [](DataType dtype) { return dtype == DataType::BFLOAT16 || dtype == DataType::FLOAT32 || dtype == DataType::INT32; };
    SHIM_CHECK(
        (wide(a.dtype()) && wide(b.dtype())) || (a.dtype() == b.dtype() && is_block_float(a.dtype())),
        "expected BFLOAT16, FLOAT32 or INT32 tensors, or block floats of one dtype, got {} and {}", a.dtype(), b.dtype());
    const bool rows = a.layout() == Layout::ROW_MAJOR && b.layout() == Layout::ROW_MAJOR, sharded = a.is_sharded() || b.is_sharded();
    const auto prepared = [&](const Tensor& tensor) {
        const Tensor real = is_integer(tensor.dtype()) ? to_real(tensor) : tensor;
        return rows && !sharded ? real : to_layout(real, Layout::TILE);
    };
    const Tensor x = prepared(a), y = prepared(b);
    const Shape shape = broadcast_shapes(x.logical_shape(), y.logical_shape());
    check_binary_broadcast(x.logical_shape(), y.logical_shape());
    const TensorSpec spec = make_spec(shape, x.dtype(), x.layout(), binary_memory(x, &y, shape, memory_config, std::nullopt));
    const Tensor result = launch(
        {.op = strategy::Binary{.op = "ISCLOSE", .broadcast = broadcast_kind(a.logical_shape(), b.logical_shape()), .is_sfpu = true},
         .name = "BinaryNgDeviceOperation"},
        {x, y}, {spec}, [=](std::span<const Tensor> outputs) {
            const Tensor& out = outputs[0];
            std::byte* target = mutable_raw_data(out);
            const BlockReader<float> read_a(x, shape), read_b(y, shape);
            parallel_blocks(out.logical_volume(), [&](size_t begin, size_t end) {
                float sa[BLOCK], sb[BLOCK];
                for (size_t at = begin; at < end; at += BLOCK) {
                    const size_t n = std::min(BLOCK, end - at);
                    const float* u = read_a.read(at, n, sa);
                    const float* v = read_b.read(at, n, sb);
                    for (size_t i = 0; i < n; ++i) {
                        const bool close =
                            u[i] == v[i] ||
                            (std::isfinite(u[i]) && std::isfinite(v[i]) && std::abs(u[i] - v[i]) <= atol + rtol * std::abs(v[i])) ||
                            (equal_nan && std::isnan(u[i]) && std::isnan(v[i]));
                        sa[i] = close ? 1.0F : 0.0F;
                    }
                    store_f32(out.dtype(), sa, target + at * stored_bytes(out.dtype()), n);
                }
            });
        })[0];
    return rows && sharded ? to_layout(result, Layout::ROW_MAJOR) : result;
}

Tensor prelu(const Tensor& a, const Tensor& weight, const OptionalMemory& memory_config) {
    OpScope scope("ttnn.prelu");
    check_device_tensor(a, "input_tensor_a");
    check_device_tensor(weight, "weight");
    const Shape& shape = a.logical_shape();
    Tensor per_channel = weight;
    if (weight.logical_shape().rank() == 1 && weight.logical_volume() > 1) {  // one weight per channel: dimension 1
        SHIM_CHECK(
            shape.rank() >= 2 && weight.logical_shape()[0] == shape[1], "weight: expected one value per channel ({}), got shape {}",
            shape.rank() >= 2 ? shape[1] : 0, weight.logical_shape());
        std::vector<uint32_t> extents(shape.rank(), 1);
        extents[1] = shape[1];
        per_channel = weight.reshape(Shape(std::span<const uint32_t>(extents)));
    }
    return where(
        ltz(a, memory_config), binary_op("ttnn.prelu", a, per_channel, BinaryOpType::MUL, {.memory_config = memory_config}), a,
        memory_config);
}
Tensor prelu(const Tensor& a, ScalarVariant weight, const OptionalMemory& memory_config) {
    return unary_op("ttnn.prelu", a, {UnaryStep(UnaryOpType::PRELU_SFPU, static_cast<float>(scalar_value(weight)))}, {memory_config});
}
Tensor prelu(const Tensor& a, const std::array<float, 1>& weight, const OptionalMemory& memory_config) {
    return prelu(a, ScalarVariant(weight[0]), memory_config);
}

Tensor polyval(const Tensor& a, const std::vector<float>& coeffs, const OptionalMemory& memory_config) {
    OpScope scope("ttnn.polyval");
    SHIM_CHECK(a.dtype() != DataType::UINT8, "input_tensor_a: dtype {} is not supported", a.dtype());
    if (a.dtype() == DataType::UINT16) return typecast(polyval(to_real(a), coeffs, memory_config), DataType::UINT16);
    if (is_integer(a.dtype())) return polyval(to_real(a), coeffs, memory_config);
    SHIM_CHECK(!coeffs.empty(), "coeffs: expected at least one coefficient");
    if (coeffs.size() == 1) return unary_op("ttnn.polyval", a, {UnaryStep(UnaryOpType::FILL, coeffs[0])}, {memory_config});
    Tensor result = a;
    for (size_t i = 1; i < coeffs.size(); ++i) {  // Horner's rule, one multiplication and one addition each, as in TT-NN
        const Operand factor = i == 1 ? Operand(Scalar(coeffs[0])) : Operand(a);
        result = binary_op("ttnn.polyval", result, factor, BinaryOpType::MUL, {.memory_config = memory_config});
        result = binary_op("ttnn.polyval", result, Scalar(coeffs[i]), BinaryOpType::ADD, {.memory_config = memory_config});
    }
    return result;
}

}  // namespace ttnn

// ---- the Python door -------------------------------------------------------------------------------------------------------

namespace {

Operand operand(const Tensor& tensor) { return tensor; }
Operand operand(const Scalar& scalar) { return scalar; }
Operand operand(const Operand& either) { return either; }
Operand operand(int32_t integer) { return Scalar(integer); }
Operand operand(float real) { return Scalar(real); }
Operand operand(const std::variant<Tensor, float>& either) {
    return std::visit([](const auto& held) { return operand(held); }, either);
}

/// The Python API names the operands differently from op to op.
const auto& left_of(const auto& args) {
    if constexpr (requires { args.input_tensor_a; }) {
        return args.input_tensor_a;
    } else if constexpr (requires { args.input_a; }) {
        return args.input_a;
    } else {
        return args.input_tensor;
    }
}
Operand right_of(const auto& args) {
    const auto given = [](const auto& value) {
        SHIM_CHECK(value.has_value(), "the second operand is missing");
        return operand(*value);
    };
    if constexpr (requires { args.input_tensor_b.has_value(); }) {
        if (args.input_tensor_b) return *args.input_tensor_b;
        if constexpr (requires { args.input_b; }) return given(args.input_b);
        if constexpr (requires { args.value; }) return given(args.value);
        if constexpr (requires { args.scalar; }) return given(args.scalar);
    } else if constexpr (requires { args.input_tensor_b; }) {
        return operand(args.input_tensor_b);
    } else if constexpr (requires { args.input_b; }) {
        return operand(args.input_b);
    } else {
        return operand(args.exponent);
    }
}

/// Points into `args`.
BinaryOptions options_of(const auto& args) {
    BinaryOptions options{.memory_config = std::nullopt};
    if constexpr (requires { args.dtype; }) options.dtype = args.dtype;
    if constexpr (requires { args.memory_config; }) options.memory_config = args.memory_config;
    if constexpr (requires { args.output_tensor; }) options.output = args.output_tensor;
    if constexpr (requires { args.sub_core_grids; }) options.cores = args.sub_core_grids;
    if constexpr (requires { args.activations; }) {
        options.post = args.activations;
        options.left = args.input_tensor_a_activations;
        options.right = args.input_tensor_b_activations;
    }
    return options;
}

Tensor call_binary(const char* name, const auto& args, BinaryOpType type) {
    return binary_op(name, operand(left_of(args)), right_of(args), type, options_of(args));
}
Tensor call_inplace(const char* name, const auto& args, BinaryOpType type) {
    BinaryOptions options = options_of(args);
    options.output = left_of(args);
    return binary_op(name, left_of(args), right_of(args), type, options);
}
Tensor call_divide(const arguments::div& args) {
    return ttnn::divide_rounded(args.input_tensor_a, right_of(args), args.fast_and_approximate_mode, args.rounding_mode, options_of(args));
}

}  // namespace

#define ENTER(name, TYPE, ...) \
    SHIM_OP("ttnn." #name, [](const arguments::name& args) { return call_binary("ttnn." #name, args, BinaryOpType::TYPE); });
// clang-format off
ENTER(add, ADD) ENTER(sub, SUB) ENTER(subtract, SUB) ENTER(mul, MUL) ENTER(multiply, MUL) ENTER(bias_gelu, BIAS_GELU) ENTER(rsub, RSUB)
ENTER(fmod, FMOD) ENTER(hypot, HYPOT)
TTNN_BINARY_GENERAL(ENTER) TTNN_BINARY_SHORT(ENTER) TTNN_BINARY_INTEGER(ENTER) TTNN_BINARY_BITWISE(ENTER) TTNN_BINARY_PLAIN(ENTER)
#undef ENTER
#define ENTER(name, TYPE) \
    SHIM_OP("ttnn." #name, [](const arguments::name& args) { return call_inplace("ttnn." #name, args, BinaryOpType::TYPE); });
TTNN_BINARY_INPLACE_FAST(ENTER) TTNN_BINARY_INPLACE(ENTER) ENTER(sub_, SUB) ENTER(mul_, MUL) ENTER(div_, DIV)
#undef ENTER
    // clang-format on
    SHIM_OP("ttnn.div", call_divide);
SHIM_OP("ttnn.divide", call_divide);
static auto run_fast_reduce_nc(const arguments::experimental::fast_reduce_nc& args) {
    const OpScope scope("ttnn.experimental.fast_reduce_nc");
    const Tensor& input = args.input;
    check_device_tensor(input, "input", Layout::TILE);
    const auto dims = args.dims;
    SHIM_CHECK(!dims.empty(), "dims: expected at least one dimension");
    for (const int32_t dim : dims)
        SHIM_CHECK(
            normalize_dim(dim, input.logical_shape().rank()) + 2 < input.logical_shape().rank(),
            "dims: only dimensions before the last two, got {}", dim);
    SHIM_SUPPORTED(!args.output.has_value(), "output: not supported; use the result");
    const ttnn::SmallVector<int> list(dims.begin(), dims.end());
    return ttnn::sum(input, list, true, args.memory_config, args.compute_kernel_config, 1.0F, true, args.sub_core_grids);
}
SHIM_OP("ttnn.experimental.fast_reduce_nc", run_fast_reduce_nc);
SHIM_OP("ttnn.floor_div", [](const arguments::floor_div& args) {
    OpScope scope("ttnn.floor_div");
    const Operand b = right_of(args);
    if (const auto* tensor = std::get_if<Tensor>(&b)) ttnn::check_floor_operands(args.input_tensor_a, *tensor);
    return binary_op("ttnn.floor_div", args.input_tensor_a, b, BinaryOpType::DIV_FLOOR, options_of(args));
});
SHIM_OP("ttnn.div_no_nan", [](const arguments::div_no_nan& args) {
    return ttnn::safe_divide(args.input_tensor_a, right_of(args), args.memory_config);
});
SHIM_OP("ttnn.pow", [](const arguments::pow& args) {
    if (const auto* exponent = std::get_if<Scalar>(&args.exponent)) {
        const auto* input = std::get_if<Tensor>(&args.input_tensor);
        SHIM_CHECK(input != nullptr, "input_tensor: expected a tensor");
        if (const auto* real = std::get_if<float>(exponent)) return ttnn::pow(*input, *real, args.memory_config, args.output_tensor);
        const auto* whole = std::get_if<int32_t>(exponent);
        SHIM_CHECK(whole != nullptr, "exponent: value {} is out of range", scalar_value(*exponent));
        return ttnn::pow(*input, *whole, args.memory_config, args.output_tensor);
    }
    return call_binary("ttnn.pow", args, BinaryOpType::POWER);
});
SHIM_OP("ttnn.addalpha", [](const arguments::addalpha& args) {
    return ttnn::addalpha(args.input_tensor_a, args.input_tensor_b, args.alpha, args.memory_config, args.output_tensor);
});
SHIM_OP("ttnn.subalpha", [](const arguments::subalpha& args) {
    return ttnn::subalpha(args.input_tensor_a, args.input_tensor_b, args.alpha, args.memory_config, args.output_tensor);
});
SHIM_OP("ttnn.isclose", [](const arguments::isclose& args) {
    return ttnn::isclose(args.input_tensor_a, args.input_tensor_b, args.rtol, args.atol, args.equal_nan, args.memory_config);
});
SHIM_OP("ttnn.prelu", [](const arguments::prelu& args) {
    if (const auto* values = std::get_if<std::vector<float>>(&args.weight)) {
        SHIM_CHECK(values->size() == 1, "weight: expected one value, got {}", values->size());
        return ttnn::prelu(args.input_tensor_a, std::array<float, 1>{values->front()}, args.memory_config);
    }
    if (const auto* tensor = std::get_if<Tensor>(&args.weight)) return ttnn::prelu(args.input_tensor_a, *tensor, args.memory_config);
    return ttnn::prelu(args.input_tensor_a, std::get<Scalar>(args.weight), args.memory_config);
});
SHIM_OP("ttnn.polyval", [](const arguments::polyval& args) { return ttnn::polyval(args.input_tensor_a, args.coeffs, args.memory_config); });

// ---- the C++ functions ------------------------------------------------------------------------------------------------------

namespace ttnn::experimental {

Tensor reduction::fast_reduce_nc(
    const Tensor& input, ttsl::Span<const int32_t> dims, const std::optional<const Tensor>& output, const MemoryConfig& memory_config,
    std::optional<const ComputeKernelConfig> compute_kernel_config, const std::optional<CoreRangeSet>& sub_core_grids,
    const std::optional<DataType>& dtype, bool) {
    SHIM_SUPPORTED(!dtype || *dtype == input.dtype(), "dtype: expected the input's, got {}", *dtype);
    return ::run_fast_reduce_nc(
        {.input = input,
         .dims = {dims.begin(), dims.end()},
         .output = output,
         .memory_config = memory_config,
         .compute_kernel_config = compute_kernel_config,
         .sub_core_grids = sub_core_grids});
}

}  // namespace ttnn::experimental

namespace ttnn {

Tensor multiply(const Tensor& a, const Tensor& b, bool fast_and_approximate_mode) {
    return multiply(a, b, std::nullopt, std::nullopt, std::nullopt, {}, {}, {}, fast_and_approximate_mode);
}

Tensor multiply(const Tensor& a, operations::binary::ScalarVariant b, bool fast_and_approximate_mode) {
    return multiply(a, b, std::nullopt, std::nullopt, std::nullopt, {}, {}, {}, fast_and_approximate_mode);
}

}  // namespace ttnn
