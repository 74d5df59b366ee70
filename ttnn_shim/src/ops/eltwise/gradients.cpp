// Gradients of eltwise ops and losses, as TT-NN composes them: the same programs in the same order. gelu_bw and tanh_bw are programs of
// their own.
#include <cmath>
#include <limits>
#include <numbers>

#include "ops/arguments.hpp"
#include "ops/eltwise/engine.hpp"
#include "ttnn/operations/creation/creation.hpp"
#include "ttnn/operations/data_movement/copy/copy.hpp"
#include "ttnn/operations/eltwise/binary_backward/binary_backward.hpp"
#include "ttnn/operations/eltwise/ternary/ternary.hpp"
#include "ttnn/operations/eltwise/unary_backward/unary_backward.hpp"
#include "ttnn/operations/loss/loss.hpp"
#include "ttnn/operations/reduction/generic/generic_reductions.hpp"

using namespace ttnn_shim;

/// Which gradients to compute: no other op has a list of flags.
template <>
struct ttnn_shim::ArgumentType<std::vector<bool>> {
    static std::vector<bool> read(const Call& call, std::string_view name) {
        std::vector<bool> flags;
        for (const int32_t flag : call.i32s(name)) flags.push_back(flag != 0);
        return flags;
    }
};

namespace {

using OptionalMemory = std::optional<MemoryConfig>;
using Gradients = std::vector<std::optional<Tensor>>;
constexpr float INF = std::numeric_limits<float>::infinity(), NOT_A_NUMBER = std::numeric_limits<float>::quiet_NaN();

/// The programs of one gradient, all with its memory config.
struct Programs {
    const char* name;
    const OptionalMemory& memory;

    Tensor unary(UnaryOpType type, const Tensor& x, const std::optional<Tensor>& output = std::nullopt) const {
        return unary_op(name, x, {UnaryStep(type)}, {memory, output});
    }
    Tensor binary(const Operand& a, BinaryOpType type, const Operand& b, const std::optional<Tensor>& output = std::nullopt) const {
        return binary_op(name, a, b, type, {.memory_config = memory, .output = output});
    }
    Tensor product(const Operand& a, const Operand& b, const std::optional<Tensor>& output = std::nullopt) const {
        return binary(a, BinaryOpType::MUL, b, output);
    }
    Tensor times(const Tensor& a, float factor, const std::optional<Tensor>& output = std::nullopt) const {
        return product(a, Scalar(factor), output);
    }
    Tensor plus(const Tensor& a, float value) const { return binary(a, BinaryOpType::ADD, Scalar(value)); }
    Tensor choice(
        const Tensor& condition, const std::variant<float, int32_t, Tensor>& yes, const std::variant<float, int32_t, Tensor>& no,
        const std::optional<Tensor>& output = std::nullopt) const {
        return ttnn::where(condition, yes, no, memory, output);
    }
    Tensor sigmoid(const Tensor& x) const { return unary(UnaryOpType::SIGMOID, x); }
    /// sign(x) * infinity; not a number where x is 0.
    Tensor unbounded(const Tensor& x) const {
        return choice(unary(UnaryOpType::EQZ, x), NOT_A_NUMBER, times(unary(UnaryOpType::SIGN, x), INF));
    }
};

/// A gradient has the dtype of its operand.
void check_target(const Tensor& target, const Tensor& operand) {
    SHIM_CHECK(target.dtype() == operand.dtype(), "gradient tensor: expected dtype {}, got {}", operand.dtype(), target.dtype());
}

/// The tensor that the caller gave, or one like `like` where memory_config says.
Tensor target_of(const std::optional<Tensor>& given, const Tensor& like, const OptionalMemory& memory_config) {
    if (given) check_target(*given, like);
    return given ? *given : ttnn::empty_like(like, std::nullopt, std::nullopt, std::nullopt, memory_config);
}

/// One program on gradient and input, result in the input's dtype; priced as a product and `function`.
template <typename Derivative>
Tensor gradient_program(
    const char* device_operation, const char* function, const Tensor& grad, const Tensor& input, const OptionalMemory& memory_config,
    const std::optional<Tensor>& output, const Derivative& derivative) {
    for (const auto& [tensor, role] : {std::pair{&grad, "grad_tensor"}, std::pair{&input, "input_tensor"}}) {
        check_device_tensor(*tensor, role);
        SHIM_CHECK(is_floating_point(tensor->dtype()), "{}: expected a floating point dtype, got {}", role, tensor->dtype());
    }
    SHIM_CHECK(
        grad.layout() == input.layout(), "grad_tensor: expected the layout {} of input_tensor, got {}", input.layout(), grad.layout());
    const MemoryConfig memory = output ? output->memory_config() : memory_config.value_or(input.memory_config());
    SHIM_CHECK(
        !input.is_sharded() && !memory.is_sharded(), "input_tensor: expected INTERLEAVED memory, got {} and a result in {}",
        input.memory_config(), memory);
    SHIM_CHECK(
        grad.logical_shape() == input.logical_shape(), "grad_tensor: expected the shape {} of input_tensor, got {}", input.logical_shape(),
        grad.logical_shape());
    SHIM_CHECK(
        !output || (output->logical_shape() == input.logical_shape() && output->dtype() == input.dtype()),
        "input_grad: expected shape {} and dtype {}, got {}", input.logical_shape(), input.dtype(), output->tensor_spec());
    const strategy::Binary op{.op = "MUL", .is_sfpu = true, .post_ops = strategy::Names{function}};
    return launch(
        {.op = op, .name = device_operation}, {grad, input},
        {output ? output->tensor_spec() : make_spec(input.logical_shape(), input.dtype(), input.layout(), memory)},
        [=](std::span<const Tensor> outputs) {
            const BlockReader<float> g(grad, input.logical_shape()), x(input, input.logical_shape());
            std::byte* bytes = mutable_raw_data(outputs[0]);
            const DataType dtype = outputs[0].dtype();
            parallel_blocks(input.logical_volume(), [&](size_t begin, size_t end) {
                float left[BLOCK], right[BLOCK], result[BLOCK];
                for (size_t i = begin; i < end; i += BLOCK) {
                    const size_t count = std::min(BLOCK, end - i);
                    const float *gs = g.read(i, count, left), *xs = x.read(i, count, right);
                    for (size_t j = 0; j < count; ++j) result[j] = gs[j] * derivative(xs[j]);
                    store_f32(dtype, result, bytes + i * stored_bytes(dtype), count);
                }
            });
        },
        {output})[0];
}

float gelu_derivative(float x) {
    constexpr float DENSITY = 0.5F * std::numbers::inv_sqrtpi_v<float> * std::numbers::sqrt2_v<float>;  // 1 / sqrt(2 pi)
    const float below = 0.5F * std::erfc(-x / std::numbers::sqrt2_v<float>);
    return below + x * DENSITY * std::exp(-0.5F * x * x);
}

/// GELU's tanh form step by step.
Tensor gelu_tanh_gradient(const Programs& p, const Tensor& grad, const Tensor& x, const Tensor& output) {
    constexpr float BETA = std::numbers::sqrt2_v<float> * std::numbers::inv_sqrtpi_v<float>, KAPPA = 0.044715F;
    const Tensor square = p.product(x, x), cube = p.product(square, x);
    const Tensor inner = p.times(p.binary(x, BinaryOpType::ADD, p.times(cube, KAPPA)), BETA), tanh = p.unary(UnaryOpType::TANH, inner);
    const Tensor left = p.times(x, 0.5F), left_slope = p.times(p.plus(tanh, 1), 0.5F);
    const Tensor tanh_slope = p.unary(UnaryOpType::NEG, p.plus(p.product(tanh, tanh), -1));
    const Tensor inner_slope = p.times(p.plus(p.times(p.times(square, KAPPA), 3), 1), BETA);
    const Tensor right_slope = p.product(p.product(tanh_slope, left), inner_slope);
    return p.product(grad, p.binary(left_slope, BinaryOpType::ADD, right_slope), output);
}

struct Wanted {
    std::optional<Tensor> input, other;
};
/// Tensors for the gradients to compute.
Wanted wanted_of(
    const std::vector<bool>& required, const Tensor& input, const Tensor& other, const std::optional<Tensor>& input_grad,
    const std::optional<Tensor>& other_grad, const OptionalMemory& memory_config) {
    SHIM_CHECK(required.size() == 2, "are_required_outputs: expected two flags, got {}", required.size());
    SHIM_CHECK(required[0] || required[1], "are_required_outputs: at least one gradient is expected to be calculated");
    Wanted wanted;
    if (required[0]) wanted.input = target_of(input_grad, input, memory_config);
    if (required[1]) wanted.other = target_of(other_grad, other, memory_config);
    return wanted;
}

void check_rounding(const std::optional<std::string>& mode) {
    SHIM_CHECK(!mode || *mode == "trunc" || *mode == "floor", "rounding_mode: expected None, 'trunc' or 'floor', got '{}'", *mode);
}

Tensor loss(
    const char* name, UnaryOpType function, const Tensor& reference, const Tensor& prediction,
    ttnn::operations::loss::LossReductionMode reduction, const OptionalMemory& memory_config, const std::optional<Tensor>& output) {
    using enum ttnn::operations::loss::LossReductionMode;
    const OpScope scope(name);
    const std::vector<UnaryStep> post{UnaryStep(function)};
    const Tensor values =
        binary_op(name, reference, prediction, BinaryOpType::SUB, {.memory_config = memory_config, .output = output, .post = post});
    if (reduction == NONE) return values;
    const MemoryConfig memory = memory_config.value_or(reference.memory_config());
    return reduction == SUM ? ttnn::sum(values, std::nullopt, false, memory) : ttnn::mean(values, std::nullopt, false, memory);
}

}  // namespace

namespace ttnn {

#define GRADIENT(name, result)                                                                                            \
    std::vector<Tensor> name(const Tensor& grad, const Tensor& input, const std::optional<MemoryConfig>& memory_config) { \
        const OpScope scope("ttnn." #name);                                                                               \
        const Programs p{"ttnn." #name, memory_config};                                                                   \
        return {result};                                                                                                  \
    }

GRADIENT(abs_bw, p.product(grad, p.unary(UnaryOpType::SIGN, input)))
GRADIENT(cos_bw, p.product(grad, p.unary(UnaryOpType::NEG, p.unary(UnaryOpType::SIN, input))))
GRADIENT(sin_bw, p.product(grad, p.unary(UnaryOpType::COS, input)))
GRADIENT(square_bw, p.product(p.times(grad, 2), input))
#undef GRADIENT

std::vector<Tensor> relu_bw(const Tensor& grad, const Tensor& input, const OptionalMemory& memory_config) {
    const OpScope scope("ttnn.relu_bw");
    SHIM_CHECK(
        grad.dtype() == input.dtype() || (is_integer(input.dtype()) && !is_integer(grad.dtype())),
        "grad_tensor: expected the dtype {} of input_tensor, got {}", input.dtype(), grad.dtype());
    const Programs p{"ttnn.relu_bw", memory_config};
    return {p.product(p.unary(UnaryOpType::GTZ, input), grad)};
}

std::vector<Tensor> sigmoid_bw(const Tensor& grad, const Tensor& input, const OptionalMemory& memory_config) {
    const OpScope scope("ttnn.sigmoid_bw");
    SHIM_CHECK(is_floating_point(grad.dtype()), "grad_tensor: expected a floating point dtype, got {}", grad.dtype());
    const Programs p{"ttnn.sigmoid_bw", memory_config};
    const Tensor sigmoid = p.sigmoid(input);
    return {p.product(p.product(sigmoid, p.binary(sigmoid, BinaryOpType::RSUB, Scalar(1.0F))), grad)};
}

std::vector<Tensor> log_bw(const Tensor& grad, const Tensor& input, const OptionalMemory& memory_config) {
    const OpScope scope("ttnn.log_bw");
    const Programs p{"ttnn.log_bw", memory_config};
    const Tensor slope = p.product(grad, p.unary(UnaryOpType::RECIP, input));
    return {p.choice(p.unary(UnaryOpType::EQZ, input), p.unbounded(grad), slope)};
}

Gradients exp_bw(const Tensor& grad, const Tensor& input, const OptionalMemory& memory_config, std::optional<Tensor> input_grad) {
    const OpScope scope("ttnn.exp_bw");
    const Programs p{"ttnn.exp_bw", memory_config};
    const Tensor target = target_of(input_grad, input, memory_config);
    return {p.product(grad, p.unary(UnaryOpType::EXP, input), target)};
}

Gradients neg_bw(const Tensor& grad, const Tensor& input, const OptionalMemory& memory_config, std::optional<Tensor> input_grad) {
    const OpScope scope("ttnn.neg_bw");
    const Programs p{"ttnn.neg_bw", memory_config};
    return {p.unary(UnaryOpType::NEG, grad, target_of(input_grad, input, memory_config))};
}

Gradients rsqrt_bw(const Tensor& grad, const Tensor& input, const OptionalMemory& memory_config, std::optional<Tensor> input_grad) {
    const OpScope scope("ttnn.rsqrt_bw");
    const Programs p{"ttnn.rsqrt_bw", memory_config};
    const Tensor target = target_of(input_grad, grad, memory_config);
    p.unary(UnaryOpType::RSQRT, input, target);
    unary_op(p.name, target, {UnaryStep(UnaryOpType::POWER_ITERATIVE, 3)}, {memory_config, target});
    p.times(p.product(grad, target), -0.5F, target);
    p.choice(p.unary(UnaryOpType::EQZ, input), INF, target, target);
    p.choice(p.unary(UnaryOpType::LTZ, input), NOT_A_NUMBER, target, target);
    const Tensor both = p.binary(p.unary(UnaryOpType::EQZ, input), BinaryOpType::LOGICAL_AND, p.unary(UnaryOpType::EQZ, grad));
    return {p.choice(both, NOT_A_NUMBER, target, target)};
}

Gradients silu_bw(const Tensor& grad, const Tensor& input, const OptionalMemory& memory_config, std::optional<Tensor> input_grad) {
    const OpScope scope("ttnn.silu_bw");
    const Programs p{"ttnn.silu_bw", memory_config};
    const Tensor target = target_of(input_grad, input, memory_config), sigmoid = p.sigmoid(input), scaled = p.product(grad, sigmoid);
    return {p.product(scaled, p.plus(p.product(p.binary(sigmoid, BinaryOpType::RSUB, Scalar(1.0F)), input), 1), target)};
}

Gradients sqrt_bw(const Tensor& grad, const Tensor& input, const OptionalMemory& memory_config, std::optional<Tensor> input_grad) {
    const OpScope scope("ttnn.sqrt_bw");
    const Programs p{"ttnn.sqrt_bw", memory_config};
    const Tensor target = target_of(input_grad, input, memory_config);
    p.unary(UnaryOpType::SQRT, input, target);
    p.product(grad, p.unary(UnaryOpType::RECIP, p.times(target, 2)), target);
    p.choice(p.unary(UnaryOpType::LEZ, input), NOT_A_NUMBER, target, target);
    const auto at_zero = [&](UnaryOpType sign, float value) {
        const Tensor both = p.binary(p.unary(UnaryOpType::EQZ, input), BinaryOpType::LOGICAL_AND, p.unary(sign, grad));
        p.choice(both, value, target, target);
    };
    at_zero(UnaryOpType::LTZ, -INF);
    at_zero(UnaryOpType::GTZ, INF);
    return {target};
}

Gradients tanh_bw(const Tensor& grad, const Tensor& input, const OptionalMemory& memory_config, const std::optional<Tensor>& input_grad) {
    const OpScope scope("ttnn.tanh_bw");
    return {gradient_program("TanhBwDeviceOperation", "TANH", grad, input, memory_config, input_grad, [](float x) {
        const float inverse = 1.0F / std::cosh(x);
        return inverse * inverse;
    })};
}

Gradients gelu_bw(
    const Tensor& grad, const Tensor& input, operations::unary::GeluVariant variant, const OptionalMemory& memory_config,
    std::optional<Tensor> input_grad) {
    const OpScope scope("ttnn.gelu_bw");
    if (variant == operations::unary::GeluVariant::Tanh)
        return {gelu_tanh_gradient({"ttnn.gelu_bw", memory_config}, grad, input, target_of(input_grad, grad, memory_config))};
    SHIM_CHECK(variant == operations::unary::GeluVariant::Accurate, "variant: expected Accurate or Tanh, got FastLut");
    return {gradient_program("GeluBwDeviceOperation", "GELU", grad, input, memory_config, input_grad, gelu_derivative)};
}

Gradients add_bw(const Tensor& grad, const Tensor& input, float, const OptionalMemory& memory_config, std::optional<Tensor> input_grad) {
    const OpScope scope("ttnn.add_bw");
    return {ttnn::assign(grad, target_of(input_grad, input, memory_config))};
}
Gradients add_bw(
    const Tensor& grad, const Tensor& input, const Tensor& other, const std::vector<bool>& required, const OptionalMemory& memory_config,
    std::optional<Tensor> input_grad, std::optional<Tensor> other_grad) {
    const OpScope scope("ttnn.add_bw");
    const Wanted wanted = wanted_of(required, input, other, input_grad, other_grad, memory_config);
    if (wanted.input) ttnn::assign(grad, *wanted.input);
    if (wanted.other) Programs{"ttnn.add_bw", memory_config}.times(grad, 1, wanted.other);
    return {wanted.input, wanted.other};
}

Gradients sub_bw(const Tensor& grad, const Tensor& input, float, const OptionalMemory& memory_config, std::optional<Tensor> input_grad) {
    const OpScope scope("ttnn.sub_bw");
    return {ttnn::assign(grad, target_of(input_grad, input, memory_config))};
}
Gradients sub_bw(
    const Tensor& grad, const Tensor& input, const Tensor& other, const std::vector<bool>& required, const OptionalMemory& memory_config,
    const std::optional<Tensor>& input_grad, const std::optional<Tensor>& other_grad) {
    const OpScope scope("ttnn.sub_bw");
    const Wanted wanted = wanted_of(required, input, other, input_grad, other_grad, memory_config);
    const Programs p{"ttnn.sub_bw", memory_config};
    if (wanted.input) ttnn::assign(grad, *wanted.input);
    if (wanted.other) p.times(p.unary(UnaryOpType::NEG, grad, wanted.other), 1, wanted.other);
    return {wanted.input, wanted.other};
}

Gradients mul_bw(const Tensor& grad, const Tensor&, float scalar, const OptionalMemory& memory_config, std::optional<Tensor> input_grad) {
    const OpScope scope("ttnn.mul_bw");
    return {Programs{"ttnn.mul_bw", memory_config}.times(grad, scalar, target_of(input_grad, grad, memory_config))};
}
Gradients mul_bw(
    const Tensor& grad, const Tensor& input, const Tensor& other, const std::vector<bool>& required, const OptionalMemory& memory_config,
    std::optional<Tensor> input_grad, std::optional<Tensor> other_grad) {
    const OpScope scope("ttnn.mul_bw");
    SHIM_CHECK(required.size() == 2, "are_required_outputs: expected two flags, got {}", required.size());
    const Programs p{"ttnn.mul_bw", memory_config};
    // A gradient of an operand that was repeated is the sum over its copies. Without targets any layout will do, and nothing wanted is
    // nothing.
    const auto gradient = [&](bool wanted, const Tensor& of, const Tensor& with,
                              const std::optional<Tensor>& target) -> std::optional<Tensor> {
        if (!wanted) return std::nullopt;
        if (target) check_target(*target, of);
        const Shape &shape = of.logical_shape(), &whole = grad.logical_shape();
        if (shape == whole) return p.product(grad, with, target);
        ttsl::SmallVector<int> copies;
        for (int i = 0; shape.rank() == whole.rank() && i < static_cast<int>(shape.rank()); ++i)
            if (shape[i] == 1 && whole[i] > 1) copies.push_back(i);
        SHIM_SUPPORTED(!copies.empty() && !target, "a gradient of shape {} from one of shape {}", shape, whole);
        return ttnn::sum(p.product(grad, with), copies, true, memory_config);
    };
    return {gradient(required[0], input, other, input_grad), gradient(required[1], other, input, other_grad)};
}

Gradients div_bw(
    const Tensor& grad, const Tensor& input, float scalar, const std::optional<std::string>& rounding_mode,
    const OptionalMemory& memory_config, std::optional<Tensor> input_grad) {
    const OpScope scope("ttnn.div_bw");
    check_rounding(rounding_mode);
    const Programs p{"ttnn.div_bw", memory_config};
    const Tensor target = target_of(input_grad, input, memory_config);
    if (rounding_mode) return {ttnn::zeros_like(grad, grad.dtype(), grad.layout(), std::nullopt, memory_config, target)};
    if (scalar != 0.0F) return {p.times(grad, 1.0F / scalar, target)};
    return {p.choice(p.unary(UnaryOpType::EQZ, grad), NOT_A_NUMBER, p.times(p.unary(UnaryOpType::SIGN, grad), INF), target)};
}
Gradients div_bw(
    const Tensor& grad, const Tensor& input, const Tensor& other, const std::optional<std::string>& rounding_mode,
    const std::vector<bool>& required, const OptionalMemory& memory_config, std::optional<Tensor> input_grad,
    std::optional<Tensor> other_grad) {
    const OpScope scope("ttnn.div_bw");
    check_rounding(rounding_mode);
    const Wanted wanted = wanted_of(required, input, other, input_grad, other_grad, memory_config);
    const Programs p{"ttnn.div_bw", memory_config};
    const auto zeros = [&](const Tensor& target) {
        ttnn::zeros_like(grad, grad.dtype(), grad.layout(), std::nullopt, memory_config, target);
    };
    // Where the divisor is 0 the real op works infinities out and drops them: its programs run, its result is the product.
    if (wanted.input && !rounding_mode) {
        p.product(grad, p.unary(UnaryOpType::RECIP, other), wanted.input);
        p.choice(p.unary(UnaryOpType::EQZ, other), p.unbounded(grad), *wanted.input);
    } else if (wanted.input) {
        zeros(*wanted.input);
    }
    if (wanted.other && !rounding_mode) {
        const Tensor inverse = p.unary(UnaryOpType::RECIP, p.unary(UnaryOpType::SQUARE, other));
        p.product(p.unary(UnaryOpType::NEG, grad), p.product(input, inverse), wanted.other);
        const Tensor signs = p.product(p.times(p.unary(UnaryOpType::SIGN, input), -INF), p.unary(UnaryOpType::SIGN, grad));
        const Tensor beside = p.choice(p.unary(UnaryOpType::EQZ, input), NOT_A_NUMBER, signs);
        p.choice(p.unary(UnaryOpType::EQZ, other), p.choice(p.unary(UnaryOpType::EQZ, grad), NOT_A_NUMBER, beside), *wanted.other);
    } else if (wanted.other) {
        zeros(*wanted.other);
    }
    return {wanted.input, wanted.other};
}

Tensor mse_loss(
    const Tensor& reference, const Tensor& prediction, operations::loss::LossReductionMode reduction, const OptionalMemory& memory_config,
    const std::optional<Tensor>& output) {
    return loss("ttnn.mse_loss", UnaryOpType::SQUARE, reference, prediction, reduction, memory_config, output);
}
Tensor l1_loss(
    const Tensor& reference, const Tensor& prediction, operations::loss::LossReductionMode reduction, const OptionalMemory& memory_config,
    const std::optional<Tensor>& output) {
    return loss("ttnn.l1_loss", UnaryOpType::ABS, reference, prediction, reduction, memory_config, output);
}

}  // namespace ttnn

// ---- the Python door -------------------------------------------------------------------------------------------------------

#define GRADIENT(name) \
    SHIM_OP("ttnn." #name, [](const arguments::name& args) { return ttnn::name(args.grad_tensor, args.input_tensor, args.memory_config); })
GRADIENT(abs_bw);
GRADIENT(cos_bw);
GRADIENT(log_bw);
GRADIENT(relu_bw);
GRADIENT(sigmoid_bw);
GRADIENT(sin_bw);
GRADIENT(square_bw);
#undef GRADIENT
#define GRADIENT(name)                                                                               \
    SHIM_OP("ttnn." #name, [](const arguments::name& args) {                                         \
        return ttnn::name(args.grad_tensor, args.input_tensor, args.memory_config, args.input_grad); \
    })
GRADIENT(exp_bw);
GRADIENT(neg_bw);
GRADIENT(rsqrt_bw);
GRADIENT(silu_bw);
GRADIENT(sqrt_bw);
GRADIENT(tanh_bw);
#undef GRADIENT
SHIM_OP("ttnn.gelu_bw", [](const arguments::gelu_bw& args) {
    return ttnn::gelu_bw(args.grad_tensor, args.input_tensor, args.variant, args.memory_config, args.input_grad);
});

namespace {
const Tensor& operand(const std::optional<Tensor>& tensor, const char* name) {
    SHIM_CHECK(tensor.has_value(), "missing argument '{}'", name);
    return *tensor;
}
}  // namespace

#define GRADIENT(name)                                                                                                                \
    SHIM_OP("ttnn." #name, [](const arguments::name& args) {                                                                          \
        if (args.scalar)                                                                                                              \
            return ttnn::name(                                                                                                        \
                args.grad_tensor, operand(args.input_tensor_a, "input_tensor_a"), *args.scalar, args.memory_config, args.input_grad); \
        return ttnn::name(                                                                                                            \
            args.grad_tensor, operand(args.input_tensor, "input_tensor"), operand(args.other_tensor, "other_tensor"),                 \
            args.are_required_outputs, args.memory_config, args.input_grad, args.other_grad);                                         \
    })
GRADIENT(add_bw);
GRADIENT(mul_bw);
GRADIENT(sub_bw);
#undef GRADIENT
SHIM_OP("ttnn.div_bw", [](const arguments::div_bw& args) {
    if (args.scalar)
        return ttnn::div_bw(
            args.grad_tensor, operand(args.input_tensor_a, "input_tensor_a"), *args.scalar, args.rounding_mode, args.memory_config,
            args.input_grad);
    return ttnn::div_bw(
        args.grad_tensor, operand(args.input_tensor, "input_tensor"), operand(args.other_tensor, "other_tensor"), args.rounding_mode,
        args.are_required_outputs, args.memory_config, args.input_grad, args.other_grad);
});

namespace {
template <typename Arguments>
Tensor call_loss(
    const Arguments& args,
    Tensor (*function)(
        const Tensor&, const Tensor&, ttnn::operations::loss::LossReductionMode, const OptionalMemory&, const std::optional<Tensor>&)) {
    return function(args.input_reference, args.input_prediction, args.reduction, args.memory_config, args.output_tensor);
}
}  // namespace
SHIM_OP("ttnn.mse_loss", [](const arguments::mse_loss& args) { return call_loss(args, ttnn::mse_loss); });
SHIM_OP("ttnn.l1_loss", [](const arguments::l1_loss& args) { return call_loss(args, ttnn::l1_loss); });
