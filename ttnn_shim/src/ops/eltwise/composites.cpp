// Eltwise ops that TT-NN makes of others: bcast, multigammaln, clamped_silu_glu, snake_beta; and alt_complex_rotate90.
#include <cmath>

#include "ops/arguments.hpp"
#include "ops/eltwise/engine.hpp"
#include "ops/eltwise/placement.hpp"
#include "ops/normalization/rows.hpp"
#include "ttnn/operations/core/to_layout/to_layout_op.hpp"
#include "ttnn/operations/data_movement/bcast/bcast.hpp"
#include "ttnn/operations/data_movement/tilize_with_val_padding/tilize_with_val_padding.hpp"
#include "ttnn/operations/eltwise/binary/binary_composite.hpp"
#include "ttnn/operations/eltwise/ternary/ternary_composite.hpp"
#include "ttnn/operations/eltwise/unary/unary_composite.hpp"

using namespace ttnn_shim;

namespace {

/// A row-major tensor as tiles, its padding 0 and part of the shape, as bcast makes them.
Tensor padded_tiles(const Tensor& tensor) {
    if (tensor.layout() == Layout::TILE) return tensor;
    SHIM_CHECK(tensor.logical_shape().rank() >= 2, "a row-major tensor of shape {} has no tile to pad to", tensor.logical_shape());
    const Shape padded = make_spec(tensor.logical_shape(), DataType::BFLOAT16, Layout::TILE).padded_shape();
    return ttnn::tilize_with_val_padding(tensor, padded, 0.0F, tensor.memory_config());
}

/// The program is placed on the shards' cores, its arguments on as many from the first on: row by row, block shards by columns.
void check_first_cores(const Tensor& a) {
    const CoreRangeSet& cores = a.memory_config().shard_spec()->grid;
    const bool block = a.memory_config().memory_layout() == TensorMemoryLayout::BLOCK_SHARDED;
    const size_t line = block ? cores.ranges().front().end_coord.y + 1 : device_of(a)->shim().grid().x;
    for (size_t i = 0; i < cores.num_cores(); ++i) {
        const CoreCoord core = block ? CoreCoord(i / line, i % line) : CoreCoord(i % line, i / line);
        SHIM_CHECK(
            cores.contains(core), "input_a: shards must lie on the first cores, {}, got {} without core {}-{}",
            block ? "column by column" : "row by row", cores.str(), core.x, core.y);
    }
}

/// The old broadcasting op: the first row (H), column (W) or value (HW) of the second operand's matrices, or of its one matrix.
Tensor bcast(const arguments::bcast& args) {
    const OpScope scope("ttnn.bcast");
    const Tensor &given_a = args.input_a, &given_b = args.input_b;
    check_device_tensor(given_a, "input_a");
    check_device_tensor(given_b, "input_b");
    const std::string math = std::array{"ADD", "SUB", "MUL"}[static_cast<size_t>(args.math_op)];
    const std::string dim = std::array{"H", "W", "HW"}[static_cast<size_t>(args.dim)];
    const auto extent = [](const Tensor& tensor, size_t back) {
        const Shape& padded = tensor.padded_shape();
        return padded.rank() >= back ? padded[-static_cast<int32_t>(back)] : 1U;
    };
    const bool rows_b = given_b.layout() == Layout::ROW_MAJOR;
    const auto one = [&](size_t back) { return extent(given_b, back) == 32 || (rows_b && extent(given_b, back) == 1); };
    SHIM_CHECK(
        dim == "HW" || extent(given_a, dim == "H" ? 1 : 2) == extent(given_b, dim == "H" ? 1 : 2),
        "input_b: padded shape {} does not broadcast along {} to {}", given_b.padded_shape(), dim, given_a.padded_shape());
    SHIM_CHECK(
        (dim == "W" || one(2)) && (dim == "H" || one(1)), "input_b: expected one tile along {}, got padded shape {}", dim,
        given_b.padded_shape());
    const Tensor a = padded_tiles(given_a), b = padded_tiles(given_b);
    const auto output = args.output_tensor;
    const MemoryConfig requested = args.memory_config.value_or(given_a.memory_config());
    const MemoryConfig target_memory = output ? output->memory_config() : requested;
    SHIM_CHECK(is_floating_point(a.dtype()), "input_a: expected a floating point dtype, got {}", a.dtype());
    SHIM_CHECK(!output || is_floating_point(output->dtype()), "output_tensor: expected a floating point dtype");
    const TensorMemoryLayout layout = a.memory_config().memory_layout();
    SHIM_CHECK(
        dim == "H" ? a.is_sharded() == target_memory.is_sharded() && layout != TensorMemoryLayout::HEIGHT_SHARDED &&
                         (!a.is_sharded() || a.memory_config().is_l1())
        : dim == "W" ? !a.is_sharded() && !target_memory.is_sharded()
                     : layout == target_memory.memory_layout() &&
                           (layout == TensorMemoryLayout::INTERLEAVED || layout == TensorMemoryLayout::HEIGHT_SHARDED),
        "input_a: memory layout {} is not supported along {} with a result in {}", layout, dim, target_memory.memory_layout());
    if (a.is_sharded() && dim == "H") check_first_cores(a);
    const Shape &shape = a.logical_shape(), &other = b.logical_shape();
    const auto matrices = [](const Shape& padded) {
        uint64_t count = 1;
        for (size_t i = 0; i + 2 < padded.rank(); ++i) count *= padded.view()[i];
        return count;
    };
    const uint64_t batches_b = matrices(b.padded_shape());
    SHIM_CHECK(
        (a.is_sharded() && dim == "H") || batches_b == 1 ||
            (a.padded_shape().rank() == b.padded_shape().rank() && matrices(a.padded_shape()) == batches_b),
        "input_b: expected one matrix or as many as input_a, got shapes {} and {}", shape, other);
    MemoryConfig memory = requested;
    if (requested.is_sharded())  // the result's shards are the operand's
        memory = requested.with_shard_spec(a.memory_config().shard_spec().value_or(ShardSpec(CoreRangeSet(), {0, 0})));
    const TensorSpec spec = output ? output->tensor_spec() : make_spec(shape, a.dtype(), Layout::TILE, memory);
    SHIM_CHECK(spec.logical_shape() == shape, "output_tensor: expected shape {}, got {}", shape, spec.logical_shape());
    return launch(
        {.op = strategy::Binary{.op = math, .broadcast = dim == "H" ? "ROW_B" : (dim == "W" ? "COL_B" : "SCALAR_B")},
         .name = "BcastDeviceOperation"},
        {a, b}, {spec},
        [=](std::span<const Tensor> outputs) {
            const F32Values values(b);
            const auto last = [](const Shape& s, size_t back) -> size_t { return s.rank() >= back ? s[-static_cast<int32_t>(back)] : 1U; };
            const size_t width = last(shape, 1), height = last(shape, 2), width_b = last(other, 1), height_b = last(other, 2);
            const size_t count_b = width_b * height_b == 0 ? 0 : other.volume() / (width_b * height_b);
            for_each_row(a, outputs[0], width, [&](size_t row, float* x) {
                const size_t matrix = count_b <= 1 ? 0 : row / height % count_b, line = dim == "W" ? row % height : 0;
                for (size_t i = 0; i < width; ++i) {
                    const size_t column = dim == "H" ? i : 0;
                    const bool inside = count_b > 0 && line < height_b && column < width_b;  // else padding
                    const float y = inside ? values[(matrix * height_b + line) * width_b + column] : 0.0F;
                    x[i] = math == "ADD" ? x[i] + y : (math == "SUB" ? x[i] - y : x[i] * y);
                }
            });
        },
        {output})[0];
}

/// log of the multivariate gamma function of dimension 4: its constant and four log-gammas, each its own program as in TT-NN.
Tensor multigammaln(const arguments::multigammaln& args) {
    const OpScope scope("ttnn.multigammaln");
    const Tensor& input = args.input_tensor;
    const auto memory = args.memory_config;
    constexpr const char* NAME = "ttnn.multigammaln";
    constexpr float CONSTANT = 3.434189657547F;  // 3 log(pi): p (p - 1) / 4 log(pi) for p = 4
    Tensor sum = unary_op(NAME, input, {UnaryOpType::LGAMMA}, {memory});
    for (const float shift : {0.5F, 1.0F, 1.5F}) {
        const Tensor moved = binary_op(NAME, input, Scalar(shift), BinaryOpType::SUB, {.memory_config = memory});
        sum = binary_op(NAME, sum, unary_op(NAME, moved, {UnaryOpType::LGAMMA}, {memory}), BinaryOpType::ADD, {.memory_config = memory});
    }
    return binary_op(NAME, sum, Scalar(CONSTANT), BinaryOpType::ADD, {.memory_config = memory});
}

/// Pairs along the last dimension, real and imaginary part, times i.
Tensor alt_complex_rotate90(const arguments::alt_complex_rotate90& args) {
    const OpScope scope("ttnn.alt_complex_rotate90");
    const Tensor& input = args.input_tensor;
    check_device_tensor(input, "input_tensor");
    const Shape& shape = input.logical_shape();
    SHIM_CHECK(
        is_floating_point(input.dtype()) || input.dtype() == DataType::INT8,
        "input_tensor: expected a floating point dtype or INT8, got {}", input.dtype());
    SHIM_SUPPORTED(shape.rank() >= 1, "input_tensor: expected a last dimension, got shape {}", shape);
    const auto& output = args.output_tensor;
    check_unary_output(input, input.dtype(), output);
    SHIM_CHECK(!output || output->logical_shape() == shape, "output_tensor: expected shape {}, got {}", shape, output->tensor_spec());
    const TensorSpec spec = output ? output->tensor_spec()
                                   : make_spec(shape, input.dtype(), input.layout(), args.memory_config.value_or(input.memory_config()));
    return launch(
        {.op = strategy::Unary{.ops = {"ALT_COMPLEX_ROTATE90"}}, .name = "UnaryDeviceOperation", .cores = args.sub_core_grids}, {input},
        {spec},
        [=](std::span<const Tensor> outputs) {
            const size_t width = shape[-1];
            for_each_row(input, outputs[0], width, [&](size_t, float* row) {
                for (size_t i = 0; i + 1 < width; i += 2) {
                    const float real = row[i];
                    row[i] = -row[i + 1];
                    row[i + 1] = real;
                }
                if (width % 2 != 0) row[width - 1] = -0.0F;  // the last pair reaches into the padding, which holds zeros
            });
        },
        {output})[0];
}

/// silu(min(gate, limit)) * clamp(up, -limit, limit): one multiplication with chains on its operands.
Tensor clamped_silu_glu(const arguments::clamped_silu_glu& args) {
    const OpScope scope("ttnn.clamped_silu_glu");
    const float limit = args.limit;
    SHIM_CHECK(limit > 0, "limit: expected a positive number, got {}", limit);
    const std::vector<UnaryStep> gate{UnaryStep(UnaryOpType::MINIMUM, limit), UnaryStep(UnaryOpType::SILU)};
    const std::vector<UnaryStep> up{UnaryStep(UnaryOpType::CLAMP_TSS, -limit, limit)};
    return binary_op(
        "ttnn.clamped_silu_glu", args.gate, args.up, BinaryOpType::MUL,
        {.memory_config = args.memory_config, .left = gate, .right = up, .cores = args.sub_core_grids});
}

/// x + sin(alpha x)^2 / beta, alpha and beta along the last dimension.
Tensor snake_beta(const arguments::snake_beta& args) {
    const OpScope scope("ttnn.snake_beta");
    const Tensor &input = args.input_tensor, &alpha = args.alpha, &beta = args.beta;
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
        {.op = strategy::Ternary{.op = "SNAKE_BETA"}, .name = "TernaryDeviceOperation"}, {input, alpha, beta},
        {spec_like(input, std::nullopt, args.memory_config)},
        [=](std::span<const Tensor> outputs) {
            const F32Values a(alpha), b(beta);
            const size_t width = shape[-1];
            for_each_row(input, outputs[0], width, [&](size_t, float* row) {
                for (size_t i = 0; i < width; ++i) {
                    const float wave = std::sin(a[i] * row[i]);
                    row[i] += wave * wave / b[i];
                }
            });
        },
        {args.output_tensor})[0];
}

}  // namespace

SHIM_OP("ttnn.alt_complex_rotate90", alt_complex_rotate90);
SHIM_OP("ttnn.bcast", bcast);
SHIM_OP("ttnn.multigammaln", multigammaln);
SHIM_OP("ttnn.clamped_silu_glu", clamped_silu_glu);
SHIM_OP("ttnn.snake_beta", snake_beta);

// ---- the C++ functions ------------------------------------------------------------------------------------------------------

namespace ttnn {

Tensor alt_complex_rotate90(
    const Tensor& input, const std::optional<MemoryConfig>& memory_config, const std::optional<Tensor>& output,
    const std::optional<CoreRangeSet>& sub_core_grids) {
    return ::alt_complex_rotate90(
        {.input_tensor = input, .memory_config = memory_config, .output_tensor = output, .sub_core_grids = sub_core_grids});
}

Tensor multigammaln(const Tensor& input, const std::optional<MemoryConfig>& memory_config) {
    return ::multigammaln({.input_tensor = input, .memory_config = memory_config});
}

Tensor clamped_silu_glu(
    const Tensor& gate, const Tensor& up, float limit, const std::optional<MemoryConfig>& memory_config,
    const std::optional<CoreRangeSet>& sub_core_grids, const std::optional<SubDeviceId>& sub_device_id) {
    SHIM_SUPPORTED(!sub_device_id, "sub_device_id: the simulated device has no sub-devices");
    return ::clamped_silu_glu({.gate = gate, .up = up, .limit = limit, .memory_config = memory_config, .sub_core_grids = sub_core_grids});
}

Tensor snake_beta(
    const Tensor& input, const Tensor& alpha, const Tensor& beta, const std::optional<MemoryConfig>& memory_config,
    const std::optional<Tensor>& output) {
    return ::snake_beta({.input_tensor = input, .alpha = alpha, .beta = beta, .memory_config = memory_config, .output_tensor = output});
}

Tensor bcast(
    const Tensor& a, const Tensor& b, BcastOpMath math, BcastOpDim dim, const std::optional<MemoryConfig>& memory_config,
    const std::optional<Tensor>& output) {
    return ::bcast({.input_a = a, .input_b = b, .math_op = math, .dim = dim, .memory_config = memory_config, .output_tensor = output});
}

}  // namespace ttnn
