// Unary eltwise ops: one table row each. Validation, kernels and the device program are in engine.cpp.
#include "ttnn/operations/eltwise/unary/unary.hpp"

#include <cmath>
#include <cstring>

#include "ops/arguments.hpp"
#include "ops/eltwise/engine.hpp"
#include "ops/eltwise/placement.hpp"
#include "ops/trace_values.hpp"
#include "ttnn/operations/core/to_layout/to_layout_op.hpp"
#include "ttnn/operations/data_movement/reshape_view/reshape.hpp"
#include "ttnn/operations/data_movement/slice/slice.hpp"
#include "ttnn/operations/eltwise/binary/binary.hpp"
#include "ttnn/operations/eltwise/unary/unary_composite.hpp"

using namespace ttnn_shim;

#define TAIL const std::optional<MemoryConfig>&memory_config, const std::optional<Tensor>&output, const std::optional<CoreRangeSet>&grids

namespace ttnn {

namespace {
UnaryOptions options_of(
    const std::optional<MemoryConfig>& memory_config, const std::optional<Tensor>& output, const OptionalCores& cores,
    bool approx = false) {
    return {memory_config, output, std::nullopt, approx, cores};
}
/// Helpers of the tables' functions: compiled once, not in each of them.
Tensor run(const char* name, const Tensor& input, UnaryOpType type, std::initializer_list<float> parameters, TAIL, bool approx = false) {
    UnaryStep step(type);
    step.params.assign(parameters);
    return unary_op(name, input, {std::move(step)}, options_of(memory_config, output, grids, approx));
}

/// op(x, number). Steps have float parameters: an integer that float32 cannot hold is filled as multiples of 65536, and the rest is added.
Tensor run_with_number(const char* name, const Tensor& input, UnaryOpType type, const Scalar& number, TAIL) {
    constexpr double HIGH_PART = 65536.0;
    const double value = scalar_value(number);
    if (type != UnaryOpType::FILL || !is_integer(input.dtype()) || static_cast<double>(static_cast<float>(value)) == value)
        return run(name, input, type, {static_cast<float>(value)}, memory_config, output, grids);
    const double high = std::floor(value / HIGH_PART) * HIGH_PART;
    return unary_op(
        name, input,
        {UnaryStep(UnaryOpType::FILL, static_cast<float>(high)), UnaryStep(UnaryOpType::ADD_UNARY_SFPU, static_cast<float>(value - high))},
        options_of(memory_config, output, grids));
}

/// Vector mode R (1) computes the upper two faces of each tile, C (2) the left two; the others stay as they were.
void keep_other_faces(const Values& before, const Tensor& result, int vector_mode) {
    constexpr size_t FACE = tt::constants::FACE_WIDTH;
    const size_t bytes = stored_bytes(result.dtype());
    const Shape& shape = result.logical_shape();
    const size_t width = shape.rank() > 0 ? shape[-1] : 1, height = shape.rank() > 1 ? shape[-2] : 1;
    const size_t rows = width == 0 ? 0 : result.logical_volume() / width;
    std::byte* values = mutable_raw_data(result);
    for (size_t row = 0; row < rows; ++row) {
        const bool lower = row % height / FACE % 2 == 1;
        if (vector_mode == 1 && !lower) continue;
        for (size_t column = vector_mode == 1 ? 0 : FACE; column < width; column += vector_mode == 1 ? width : 2 * FACE) {
            const size_t at = (row * width + column) * bytes;
            std::memcpy(values + at, before.data() + at, std::min(vector_mode == 1 ? width : FACE, width - column) * bytes);
        }
    }
}
}  // namespace

#define DEFINE(name, TYPE, ...) \
    Tensor name(const Tensor& input, TAIL) { return run("ttnn." #name, input, UnaryOpType::TYPE, {}, memory_config, output, grids); }
TTNN_UNARY_PLAIN(DEFINE)
#undef DEFINE
#define DEFINE(name, TYPE, ...)                                                                                           \
    Tensor name(const Tensor& input, bool fast_and_approximate_mode, TAIL) {                                              \
        return run("ttnn." #name, input, UnaryOpType::TYPE, {}, memory_config, output, grids, fast_and_approximate_mode); \
    }
TTNN_UNARY_APPROX(DEFINE)
#undef DEFINE
#define DEFINE(name, TYPE, ...)                                                                         \
    Tensor name(const Tensor& input, float parameter, TAIL) {                                           \
        return run("ttnn." #name, input, UnaryOpType::TYPE, {parameter}, memory_config, output, grids); \
    }
TTNN_UNARY_FLOAT(DEFINE)
#undef DEFINE
#define DEFINE(name, TYPE, ...)                                                                             \
    Tensor name(const Tensor& input, float first, float second, TAIL) {                                     \
        return run("ttnn." #name, input, UnaryOpType::TYPE, {first, second}, memory_config, output, grids); \
    }
TTNN_UNARY_TWO_FLOATS(DEFINE)
#undef DEFINE
#define DEFINE(name, TYPE, ...)                                                                                   \
    Tensor name(const Tensor& input, std::variant<uint32_t, int32_t, float> parameter, TAIL) {                    \
        return run_with_number("ttnn." #name, input, UnaryOpType::TYPE, parameter, memory_config, output, grids); \
    }
TTNN_UNARY_SCALAR(DEFINE)
TTNN_UNARY_SCALAR_CPP(DEFINE)
#undef DEFINE

Tensor gelu(const Tensor& input, GeluVariant variant, TAIL) {
    const auto type = variant == GeluVariant::Tanh ? UnaryOpType::GELU_TANH : UnaryOpType::GELU;
    return run("ttnn.gelu", input, type, {}, memory_config, output, grids, variant == GeluVariant::FastLut);
}
Tensor gelu(const Tensor& input, bool fast_and_approximate_mode, TAIL) {
    return gelu(input, fast_and_approximate_mode ? GeluVariant::FastLut : GeluVariant::Accurate, memory_config, output, grids);
}
Tensor sigmoid(const Tensor& input, int vector_mode, SigmoidMode mode, TAIL) {
    OpScope scope("ttnn.sigmoid");
    SHIM_CHECK(
        vector_mode == 1 || vector_mode == 2 || vector_mode == 4, "vector_mode: expected 1 (R), 2 (C) or 4 (RC), got {}", vector_mode);
    const auto options = options_of(memory_config, output, grids, mode != SigmoidMode::Accurate);
    if (vector_mode == 4) return unary_op("ttnn.sigmoid", input, {UnaryOpType::SIGMOID}, options);
    // Holding the input's values makes an in-place result a copy, so that the faces left out can be taken from them.
    const auto before = std::make_shared<Contents>();
    if (is_on_device(input) && input.is_allocated())
        on_values([=](std::span<const Tensor>) { *before = input.shim().buffer->contents(); }, {input}, {});
    const Tensor result = unary_op("ttnn.sigmoid", input, {UnaryOpType::SIGMOID}, options);
    on_values(
        [=](std::span<const Tensor> outputs) {
            if (before->present()) keep_other_faces(*before->at_work(), outputs[0], vector_mode);
        },
        {result}, {result});
    return result;
}
Tensor tanh(
    const Tensor& input, const std::optional<MemoryConfig>& memory_config, const std::optional<Tensor>& output,
    bool fast_and_approximate_mode, const std::optional<CoreRangeSet>& grids) {
    return run("ttnn.tanh", input, UnaryOpType::TANH, {}, memory_config, output, grids, fast_and_approximate_mode);
}
Tensor round(const Tensor& input, const std::optional<int>& decimals, TAIL) {
    return run("ttnn.round", input, UnaryOpType::ROUND, {static_cast<float>(decimals.value_or(0))}, memory_config, output, grids);
}
Tensor logit(const Tensor& input, std::optional<float> eps, TAIL) {
    return run("ttnn.logit", input, UnaryOpType::LOGIT, {eps.value_or(-1.0F)}, memory_config, output, grids);
}
Tensor deg2rad(const Tensor& input, TAIL) {
    return run("ttnn.deg2rad", input, UnaryOpType::MUL_UNARY_SFPU, {0.017453292519943295F}, memory_config, output, grids);
}
Tensor rad2deg(const Tensor& input, TAIL) {
    return run("ttnn.rad2deg", input, UnaryOpType::MUL_UNARY_SFPU, {57.29577951308232F}, memory_config, output, grids);
}
Tensor rdiv(const Tensor& input, float value, const std::optional<std::string>& rounding_mode, TAIL) {
    OpScope scope("ttnn.rdiv");
    SHIM_CHECK(
        !rounding_mode || *rounding_mode == "trunc" || *rounding_mode == "floor", "rounding_mode: expected trunc, floor or None, got '{}'",
        *rounding_mode);
    std::vector<UnaryStep> steps = {UnaryStep(UnaryOpType::RDIV, value)};
    if (rounding_mode) steps.emplace_back(*rounding_mode == "trunc" ? UnaryOpType::TRUNC : UnaryOpType::FLOOR);
    return unary_op("ttnn.rdiv", input, steps, options_of(memory_config, output, grids));
}
Tensor polygamma(const Tensor& input, int k, const std::optional<MemoryConfig>& memory_config) {
    OpScope scope("ttnn.polygamma");
    SHIM_CHECK(k >= 1 && k <= 10, "k: expected an order from 1 to 10, got {}", k);
    return unary_op("ttnn.polygamma", input, {UnaryStep(UnaryOpType::POLYGAMMA, static_cast<float>(k))}, {memory_config});
}
Tensor logical_not_(const Tensor& input, const std::optional<MemoryConfig>& memory_config) {
    return unary_op("ttnn.logical_not_", input, {UnaryOpType::LOGICAL_NOT_UNARY}, {memory_config, input});
}
Tensor unary_chain(const Tensor& input, const std::vector<EltwiseUnaryWithParam>& ops_chain, TAIL) {
    OpScope scope("ttnn.unary_chain");
    SHIM_CHECK(!ops_chain.empty(), "ops_chain: expected at least one op");
    return unary_op("ttnn.unary_chain", input, ops_chain, options_of(memory_config, output, grids));
}

// ---- gated units: two slices, an activation and a multiplication, as in TT-NN -------------------------------------

namespace {
Tensor gated(const char* name, const Tensor& input, int dim, UnaryOpType activation, const std::optional<MemoryConfig>& memory_config) {
    OpScope scope(name);
    check_device_tensor(input, "input_tensor");
    const Shape& shape = input.logical_shape();
    SHIM_CHECK(shape.rank() == 4, "expected a tensor of rank 4, got shape {}", shape);
    SHIM_CHECK(dim == -1 || dim == 3, "dim: only the last dimension (-1 or 3) is supported, got {}", dim);
    SHIM_CHECK(shape[-1] % 64 == 0, "the last dimension must be a multiple of 64 (two tiles), got {}", shape[-1]);
    const uint32_t half = shape[-1] / 2;
    const ttnn::SmallVector<uint32_t> step{1, 1, 1, 1};
    const Tensor a =
        slice(input, ttnn::SmallVector<uint32_t>{0, 0, 0, 0}, ttnn::SmallVector<uint32_t>{shape[0], shape[1], shape[2], half}, step);
    const Tensor b =
        slice(input, ttnn::SmallVector<uint32_t>{0, 0, 0, half}, ttnn::SmallVector<uint32_t>{shape[0], shape[1], shape[2], 2 * half}, step);
    const Tensor gate = unary_op(name, b, {UnaryStep(activation)}, {memory_config});
    return binary_op(name, a, gate, BinaryOpType::MUL, {.memory_config = memory_config});
}

Tensor triangle(const char* name, const Tensor& given, int diagonal, bool lower, const std::optional<MemoryConfig>& memory_config) {
    OpScope scope(name);
    check_device_tensor(given, "input_tensor");
    const Shape& shape = given.logical_shape();
    if (shape.rank() < 2) {  // one row of a square
        SHIM_CHECK(given.layout() == Layout::TILE, "a row-major tensor of shape {} has no matrix to mask", shape);
        const uint32_t width = shape.rank() == 0 ? 1 : shape[0];
        return ttnn::reshape(triangle(name, ttnn::reshape(given, Shape({1, width})), diagonal, lower, memory_config), shape);
    }
    SHIM_CHECK(
        given.dtype() != DataType::UINT16 && given.dtype() != DataType::UINT8 && given.dtype() != DataType::INT8 &&
            given.dtype() != DataType::FP8_E4M3,
        "dtype {} cannot be masked by a product", given.dtype());
    SHIM_CHECK(
        given.layout() == Layout::TILE || (shape[-1] % 32 == 0 && shape[-2] % 32 == 0),
        "a row-major tensor of shape {} would be padded to tiles; use to_layout", shape);
    stretched_memory(given, shape);  // the product with the mask refuses shards of no values
    // TT-NN multiplies by a mask that the host makes; here it only takes its place.
    const Tensor mask = make_device_tensor(
        device_of(given), make_spec(
                              shape, is_integer(given.dtype()) ? given.dtype() : DataType::BFLOAT16, Layout::TILE,
                              memory_config.value_or(given.memory_config())));
    if (!device_of(given)->shim().estimate()) ensure_values(mask);
    const Tensor input = to_layout(given, Layout::TILE);
    return launch(
        {.op = strategy::Binary{.op = "MUL", .broadcast = "NONE"}, .name = "BinaryNgDeviceOperation"}, {input, mask},
        {spec_like(input, std::nullopt, memory_config)}, [=](std::span<const Tensor> outputs) {
            const size_t rows = shape[-2], columns = shape[-1], bytes = stored_bytes(input.dtype());
            std::byte* target = mutable_raw_data(outputs[0]);
            const std::byte* source = raw_data(input);
            parallel_for(columns == 0 ? 0 : input.logical_volume() / columns, 64, [&](size_t begin, size_t end) {
                for (size_t r = begin; r < end; ++r) {
                    const int64_t edge = static_cast<int64_t>(r % rows) + diagonal;  // column of the diagonal
                    const auto from = static_cast<size_t>(std::clamp<int64_t>(lower ? 0 : edge, 0, static_cast<int64_t>(columns)));
                    const auto to = static_cast<size_t>(
                        std::clamp<int64_t>(lower ? edge + 1 : static_cast<int64_t>(columns), 0, static_cast<int64_t>(columns)));
                    std::byte* row = target + r * columns * bytes;
                    std::fill_n(row, columns * bytes, std::byte{0});
                    if (from < to) std::copy_n(source + (r * columns + from) * bytes, (to - from) * bytes, row + from * bytes);
                }
            });
        })[0];
}
}  // namespace

Tensor glu(const Tensor& input, int dim, const std::optional<MemoryConfig>& m) {
    return gated("ttnn.glu", input, dim, UnaryOpType::SIGMOID, m);
}
Tensor reglu(const Tensor& input, int dim, const std::optional<MemoryConfig>& m) {
    return gated("ttnn.reglu", input, dim, UnaryOpType::RELU, m);
}
Tensor geglu(const Tensor& input, int dim, const std::optional<MemoryConfig>& m) {
    return gated("ttnn.geglu", input, dim, UnaryOpType::GELU, m);
}
Tensor geglu(const Tensor& input, int dim, const std::optional<MemoryConfig>& m, GeluVariant variant) {
    return gated("ttnn.geglu", input, dim, variant == GeluVariant::Tanh ? UnaryOpType::GELU_TANH : UnaryOpType::GELU, m);
}
Tensor swiglu(const Tensor& input, int dim, const std::optional<MemoryConfig>& m) {
    return gated("ttnn.swiglu", input, dim, UnaryOpType::SILU, m);
}
Tensor tril(const Tensor& input, int diagonal, const std::optional<MemoryConfig>& m) {
    return triangle("ttnn.tril", input, diagonal, true, m);
}
Tensor triu(const Tensor& input, int diagonal, const std::optional<MemoryConfig>& m) {
    return triangle("ttnn.triu", input, diagonal, false, m);
}

}  // namespace ttnn

// ---- the Python door -------------------------------------------------------------------------------------------------------

#define ENDS args.memory_config, args.output_tensor, args.sub_core_grids

#define ENTER(name, TYPE) SHIM_OP("ttnn." #name, [](const arguments::name& args) { return ttnn::name(args.input_tensor, ENDS); });
TTNN_UNARY_PLAIN(ENTER)
#undef ENTER
#define ENTER(name, TYPE) \
    SHIM_OP("ttnn." #name, [](const arguments::name& args) { return ttnn::name(args.input_tensor, args.fast_and_approximate_mode, ENDS); });
TTNN_UNARY_APPROX(ENTER)
#undef ENTER
#define ENTER(name, TYPE, PARAMETER) \
    SHIM_OP("ttnn." #name, [](const arguments::name& args) { return ttnn::name(args.input_tensor, args.PARAMETER, ENDS); });
TTNN_UNARY_FLOAT(ENTER)
TTNN_UNARY_SCALAR(ENTER)
#undef ENTER
#define ENTER(name, TYPE, FIRST, SECOND) \
    SHIM_OP("ttnn." #name, [](const arguments::name& args) { return ttnn::name(args.input_tensor, args.FIRST, args.SECOND, ENDS); });
TTNN_UNARY_TWO_FLOATS(ENTER)
#undef ENTER

SHIM_OP("ttnn.gelu", [](const arguments::gelu& args) {
    if (args.fast_and_approximate_mode) return ttnn::gelu(args.input_tensor, *args.fast_and_approximate_mode, ENDS);
    return ttnn::gelu(args.input_tensor, args.variant, ENDS);
});
SHIM_OP("ttnn.sigmoid", [](const arguments::sigmoid& args) { return ttnn::sigmoid(args.input_tensor, args.vector_mode, args.mode, ENDS); });
SHIM_OP("ttnn.tanh", [](const arguments::tanh& args) {
    return ttnn::tanh(args.input_tensor, args.memory_config, args.output_tensor, args.fast_and_approximate_mode, args.sub_core_grids);
});
SHIM_OP("ttnn.round", [](const arguments::round& args) { return ttnn::round(args.input_tensor, args.decimals, ENDS); });
SHIM_OP("ttnn.logit", [](const arguments::logit& args) { return ttnn::logit(args.input_tensor, args.eps, ENDS); });
SHIM_OP("ttnn.deg2rad", [](const arguments::deg2rad& args) { return ttnn::deg2rad(args.input_tensor, ENDS); });
SHIM_OP("ttnn.rad2deg", [](const arguments::rad2deg& args) { return ttnn::rad2deg(args.input_tensor, ENDS); });
SHIM_OP("ttnn.rdiv", [](const arguments::rdiv& args) { return ttnn::rdiv(args.input_tensor, args.value, args.rounding_mode, ENDS); });
SHIM_OP("ttnn.polygamma", [](const arguments::polygamma& args) { return ttnn::polygamma(args.input_tensor, args.k, args.memory_config); });
SHIM_OP("ttnn.logical_not_", [](const arguments::logical_not_& args) { return ttnn::logical_not_(args.input_tensor, args.memory_config); });
SHIM_OP("ttnn.unary_chain", [](const arguments::unary_chain& args) { return ttnn::unary_chain(args.input_tensor, args.ops_chain, ENDS); });
SHIM_OP("ttnn.glu", [](const arguments::glu& args) { return ttnn::glu(args.input_tensor, args.dim, args.memory_config); });
SHIM_OP("ttnn.reglu", [](const arguments::reglu& args) { return ttnn::reglu(args.input_tensor, args.dim, args.memory_config); });
SHIM_OP("ttnn.geglu", [](const arguments::geglu& args) {
    return ttnn::geglu(args.input_tensor, args.dim, args.memory_config, args.variant);
});
SHIM_OP("ttnn.swiglu", [](const arguments::swiglu& args) { return ttnn::swiglu(args.input_tensor, args.dim, args.memory_config); });
SHIM_OP("ttnn.tril", [](const arguments::tril& args) { return ttnn::tril(args.input_tensor, args.diagonal, args.memory_config); });
SHIM_OP("ttnn.triu", [](const arguments::triu& args) { return ttnn::triu(args.input_tensor, args.diagonal, args.memory_config); });
