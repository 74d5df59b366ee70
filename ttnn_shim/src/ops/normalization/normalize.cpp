// normalize_hw and normalize_global: means, differences and squares, each its own program as in TT-NN.
#include <algorithm>

#include "ops/arguments.hpp"
#include "ops/data_movement/common.hpp"
#include "ops/eltwise/engine.hpp"
#include "ops/reduction/values.hpp"
#include "ttnn/operations/eltwise/unary/unary_composite.hpp"
#include "ttnn/operations/reduction/generic/generic_reductions.hpp"

using namespace ttnn_shim;

namespace {

/// (x - mean) / standard deviation over the last two dimensions of rank 4.
Tensor normalize(const char* name, const Tensor& input, const std::optional<MemoryConfig>& memory_config) {
    const Shape& shape = input.logical_shape();
    SHIM_CHECK(shape.rank() == 4, "input_tensor: expected rank 4, got shape {}", shape);
    const ttnn::ReductionDims rows_and_columns = ttsl::SmallVector<int>{2, 3};
    const Tensor mean = ttnn::mean(input, rows_and_columns, true);
    const auto where = input.memory_config().memory_layout();
    SHIM_CHECK(
        where == TensorMemoryLayout::INTERLEAVED || where == TensorMemoryLayout::HEIGHT_SHARDED,
        "input_tensor: expected interleaved or height sharded memory, got {}", input.memory_config());
    const Tensor centred = binary_op(name, reduction::tilized(input, input.memory_config()), mean, BinaryOpType::SUB, {});
    Tensor squares = unary_op(name, centred, {UnaryOpType::SQUARE}, {memory_config});
    const float share = 1.0F / (static_cast<float>(shape[2]) * static_cast<float>(shape[3]));
    const Tensor variance = ttnn::sum(squares, rows_and_columns, true, std::nullopt, std::nullopt, share);
    squares = Tensor();
    const std::vector<UnaryStep> inverse_root{UnaryStep(UnaryOpType::SQRT), UnaryStep(UnaryOpType::RECIP)};
    return binary_op(name, centred, variance, BinaryOpType::MUL, {.memory_config = memory_config, .right = inverse_root});
}

/// All values, padding and all, in another shape: TT-NN deals the pages anew in their order, which no value here depends on.
Tensor moved_pages(const Tensor& input, const Shape& shape) {
    const Shape from = input.padded_shape();
    if (from == shape) return input;
    SHIM_CHECK(
        input.dtype() == DataType::BFLOAT16 || (input.dtype() == DataType::FLOAT32 && input.layout() == Layout::TILE),
        "input_tensor: expected BFLOAT16, or FLOAT32 in TILE layout, got {}", input.dtype());
    return launch(
        {.op = strategy::Reshape{}, .name = "ReshapeDeviceOperation"}, {input},
        {make_spec(shape, input.dtype(), input.layout(), input.memory_config())}, [=](std::span<const Tensor> outputs) {
            const Shape& held = input.logical_shape();
            const size_t bytes = stored_bytes(input.dtype()), width = size_t{held[3]} * bytes, padded_width = size_t{from[3]} * bytes;
            std::byte* target = mutable_raw_data(outputs[0]);
            std::fill_n(target, outputs[0].logical_volume() * bytes, std::byte{0});  // the value of the padding
            for (size_t row = 0; row < input.logical_volume() / std::max(1U, held[3]); ++row) {
                const size_t padded_row = row / held[2] * from[2] + row % held[2];
                std::copy_n(raw_data(input) + row * width, width, target + padded_row * padded_width);
            }
        })[0];
}

/// As normalize, over all values, the padding of tiles among them: as one matrix of the same rows. The result has the padded shape.
Tensor normalize_global(const char* name, const Tensor& input, const std::optional<MemoryConfig>& memory_config) {
    SHIM_CHECK(input.logical_shape().rank() == 4, "input_tensor: expected rank 4, got shape {}", input.logical_shape());
    const Shape padded = input.padded_shape();
    const Tensor matrix = moved_pages(input, Shape({1, 1, padded[2], padded[3] * padded[1] * padded[0]}));
    const Tensor result = normalize(name, matrix, memory_config);
    SHIM_CHECK(result.padded_shape() == matrix.padded_shape(), "input_tensor: rows of {} need padding in tiles", padded);
    return moved_pages(result, padded);
}

}  // namespace

static auto run_normalize_hw(const arguments::normalize_hw& args) {
    const OpScope scope("ttnn.normalize_hw");
    check_device_tensor(args.input_tensor, "input_tensor");
    return normalize("ttnn.normalize_hw", args.input_tensor, args.memory_config);
}
SHIM_OP("ttnn.normalize_hw", run_normalize_hw);
static auto run_normalize_global(const arguments::normalize_global& args) {
    const OpScope scope("ttnn.normalize_global");
    check_device_tensor(args.input_tensor, "input_tensor");
    return normalize_global("ttnn.normalize_global", args.input_tensor, args.memory_config);
}
SHIM_OP("ttnn.normalize_global", run_normalize_global);

// ---- the C++ functions ------------------------------------------------------------------------------------------------------

namespace ttnn {

Tensor normalize_hw(const Tensor& input, const std::optional<MemoryConfig>& memory_config) {
    return ::run_normalize_hw({.input_tensor = input, .memory_config = memory_config});
}

Tensor normalize_global(const Tensor& input, const std::optional<MemoryConfig>& memory_config) {
    return ::run_normalize_global({.input_tensor = input, .memory_config = memory_config});
}

}  // namespace ttnn
