// Eltwise ops that TT-NN makes of others: bcast, multigammaln, normalize_hw, clamped_silu_glu, snake_beta.
#include <cmath>

#include "ops/eltwise/engine.hpp"
#include "ops/normalization/rows.hpp"
#include "ttnn/operations/core/to_layout/to_layout_op.hpp"

using namespace ttnn_shim;

namespace {

Tensor tiles(const Tensor& tensor, const char* name) {
    check_device_tensor(tensor, name);
    return tensor.layout() == Layout::TILE ? tensor : ttnn::to_layout(tensor, Layout::TILE);
}

/// The old broadcasting op: the second operand has one row (H), one column (W) or one value (HW) per matrix.
Tensor bcast(const Call& c) {
    const OpScope scope("ttnn.bcast");
    const Tensor a = tiles(c.tensor("input_a"), "input_a"), b = tiles(c.tensor("input_b"), "input_b");
    const std::string math = c.text("math_op"), dim = c.text("dim");
    SHIM_CHECK(math == "ADD" || math == "SUB" || math == "MUL", "math_op: expected ADD, SUB or MUL, got '{}'", math);
    SHIM_CHECK(dim == "H" || dim == "W" || dim == "HW", "dim: expected H, W or HW, got '{}'", dim);
    const Shape& shape = b.logical_shape();
    SHIM_CHECK(shape.rank() >= 2 && a.logical_shape().rank() >= 2, "input_b: expected rank 2 or more, got shape {}", shape);
    const auto type = math == "ADD" ? BinaryOpType::ADD : (math == "SUB" ? BinaryOpType::SUB : BinaryOpType::MUL);
    return binary_op(
        "ttnn.bcast", a, b, type, {.memory_config = c.memory_config("memory_config"), .output = c.optional_tensor("output_tensor")});
}

/// log of the multivariate gamma function of dimension 4: its constant and four log-gammas, each its own program as in TT-NN.
Tensor multigammaln(const Call& c) {
    const OpScope scope("ttnn.multigammaln");
    const Tensor& input = c.tensor("input_tensor");
    const auto memory = c.memory_config("memory_config");
    constexpr const char* NAME = "ttnn.multigammaln";
    constexpr float CONSTANT = 3.434189657547F;  // 3 log(pi): p (p - 1) / 4 log(pi) for p = 4
    Tensor sum = unary_op(NAME, input, {UnaryOpType::LGAMMA}, {memory});
    for (const float shift : {0.5F, 1.0F, 1.5F}) {
        const Tensor moved = binary_op(NAME, input, Scalar(shift), BinaryOpType::SUB, {.memory_config = memory});
        sum = binary_op(NAME, sum, unary_op(NAME, moved, {UnaryOpType::LGAMMA}, {memory}), BinaryOpType::ADD, {.memory_config = memory});
    }
    return binary_op(NAME, sum, Scalar(CONSTANT), BinaryOpType::ADD, {.memory_config = memory});
}

/// (x - mean) / standard deviation over the last two dimensions of rank 4.
Tensor normalize_hw(const Call& c) {
    const OpScope scope("ttnn.normalize_hw");
    const Tensor input = tiles(c.tensor("input_tensor"), "input_tensor");
    const Shape& shape = input.logical_shape();
    SHIM_CHECK(shape.rank() == 4, "input_tensor: expected rank 4, got shape {}", shape);
    SHIM_CHECK(is_floating_point(input.dtype()), "input_tensor: expected a floating point dtype, got {}", input.dtype());
    const size_t size = size_t{shape[2]} * shape[3];
    return launch(
        {.op = "layernorm", .name = "NormalizeHwDeviceOperation"}, {input},
        {spec_like(input, std::nullopt, c.memory_config("memory_config"))}, [&](std::span<const Tensor> outputs) {
            const auto& kernel = kernels::kernel_set();
            for_each_row(input, outputs[0], size, [&](size_t, float* values) {
                const float mean = kernel.sum_row(values, size, 0.0F) / static_cast<float>(size);
                const float variance = kernel.sum_squares_row(values, size, mean) / static_cast<float>(size);
                kernel.normalize_row(values, values, size, mean, 1.0F / std::sqrt(variance), nullptr, nullptr);
            });
        })[0];
}

/// silu(min(gate, limit)) * clamp(up, -limit, limit): one multiplication with chains on its operands.
Tensor clamped_silu_glu(const Call& c) {
    const OpScope scope("ttnn.clamped_silu_glu");
    const float limit = c.f32("limit", 0);
    SHIM_CHECK(limit > 0, "limit: expected a positive number, got {}", limit);
    const std::vector<UnaryStep> gate{UnaryStep(UnaryOpType::MINIMUM, limit), UnaryStep(UnaryOpType::SILU)};
    const std::vector<UnaryStep> up{UnaryStep(UnaryOpType::CLAMP_TSS, -limit, limit)};
    return binary_op(
        "ttnn.clamped_silu_glu", c.tensor("gate"), c.tensor("up"), BinaryOpType::MUL,
        {.memory_config = c.memory_config("memory_config"), .left = gate, .right = up});
}

/// x + sin(alpha x)^2 / beta, alpha and beta along the last dimension.
Tensor snake_beta(const Call& c) {
    const OpScope scope("ttnn.snake_beta");
    const Tensor &input = c.tensor("input_tensor"), &alpha = c.tensor("alpha"), &beta = c.tensor("beta");
    check_device_tensor(input, "input_tensor", Layout::TILE);
    check_device_tensor(alpha, "alpha", Layout::TILE);
    check_device_tensor(beta, "beta", Layout::TILE);
    const Shape& shape = input.logical_shape();
    SHIM_CHECK(shape.rank() >= 2, "input_tensor: expected rank 2 or more, got shape {}", shape);
    SHIM_CHECK(
        (input.dtype() == DataType::BFLOAT16 || input.dtype() == DataType::FLOAT32) && alpha.dtype() == input.dtype() &&
            beta.dtype() == input.dtype(),
        "expected one dtype, BFLOAT16 or FLOAT32, got {}, {} and {}", input.dtype(), alpha.dtype(), beta.dtype());
    SHIM_CHECK(
        alpha.logical_shape() == beta.logical_shape() && alpha.logical_volume() == shape[-1],
        "alpha and beta: expected {} values along the last dimension, got shapes {} and {}", shape[-1], alpha.logical_shape(),
        beta.logical_shape());
    return launch(
        {.op = "ternary", .attrs = {{"op", std::string("SNAKE_BETA")}}, .name = "TernaryDeviceOperation"}, {input, alpha, beta},
        {spec_like(input, std::nullopt, c.memory_config("memory_config"))},
        [&](std::span<const Tensor> outputs) {
            const F32Values a(alpha), b(beta);
            const size_t width = shape[-1];
            for_each_row(input, outputs[0], width, [&](size_t, float* row) {
                for (size_t i = 0; i < width; ++i) {
                    const float wave = std::sin(a[i] * row[i]);
                    row[i] += wave * wave / b[i];
                }
            });
        },
        {c.optional_tensor("output_tensor")})[0];
}

}  // namespace

SHIM_OP("ttnn.bcast", bcast);
SHIM_OP("ttnn.multigammaln", multigammaln);
SHIM_OP("ttnn.normalize_hw", normalize_hw);
SHIM_OP("ttnn.clamped_silu_glu", clamped_silu_glu);
SHIM_OP("ttnn.snake_beta", snake_beta);
