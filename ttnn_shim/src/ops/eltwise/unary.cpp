// Unary eltwise ops: one table row each. Validation, kernels and the device program are in engine.cpp.
#include "ttnn/operations/eltwise/unary/unary.hpp"

#include <cmath>

#include "ops/eltwise/engine.hpp"
#include "ops/eltwise/placement.hpp"
#include "ttnn/operations/core/to_layout/to_layout_op.hpp"
#include "ttnn/operations/data_movement/reshape_view/reshape.hpp"
#include "ttnn/operations/data_movement/slice/slice.hpp"
#include "ttnn/operations/eltwise/binary/binary.hpp"
#include "ttnn/operations/eltwise/unary/unary_composite.hpp"

using namespace ttnn_shim;

#define TAIL const std::optional<MemoryConfig>&memory_config, const std::optional<Tensor>&output, const std::optional<CoreRangeSet>&grids

namespace ttnn {

namespace {
UnaryOptions options_of(const std::optional<MemoryConfig>& memory_config, const std::optional<Tensor>& output, bool approx = false) {
    return {memory_config, output, std::nullopt, approx};
}
UnaryStep step_of(UnaryOpType type, const Scalar& scalar) { return {type, static_cast<float>(scalar_value(scalar))}; }
}  // namespace

#define DEFINE(name, TYPE)                                                                             \
    Tensor name(const Tensor& input, TAIL) {                                                           \
        const CoreLimit limit(grids);                                                                  \
        return unary_op("ttnn." #name, input, {UnaryOpType::TYPE}, options_of(memory_config, output)); \
    }
TTNN_UNARY_PLAIN(DEFINE)
#undef DEFINE
#define DEFINE(name, TYPE)                                                                                                        \
    Tensor name(const Tensor& input, bool fast_and_approximate_mode, TAIL) {                                                      \
        const CoreLimit limit(grids);                                                                                             \
        return unary_op("ttnn." #name, input, {UnaryOpType::TYPE}, options_of(memory_config, output, fast_and_approximate_mode)); \
    }
TTNN_UNARY_APPROX(DEFINE)
#undef DEFINE
#define DEFINE(name, TYPE, ...)                                                                                              \
    Tensor name(const Tensor& input, float parameter, TAIL) {                                                                \
        const CoreLimit limit(grids);                                                                                        \
        return unary_op("ttnn." #name, input, {UnaryStep(UnaryOpType::TYPE, parameter)}, options_of(memory_config, output)); \
    }
TTNN_UNARY_FLOAT(DEFINE)
#undef DEFINE
#define DEFINE(name, TYPE, ...)                                                                                                  \
    Tensor name(const Tensor& input, float first, float second, TAIL) {                                                          \
        const CoreLimit limit(grids);                                                                                            \
        return unary_op("ttnn." #name, input, {UnaryStep(UnaryOpType::TYPE, first, second)}, options_of(memory_config, output)); \
    }
TTNN_UNARY_TWO_FLOATS(DEFINE)
#undef DEFINE
#define DEFINE(name, TYPE, ...)                                                                                            \
    Tensor name(const Tensor& input, std::variant<uint32_t, int32_t, float> parameter, TAIL) {                             \
        const CoreLimit limit(grids);                                                                                      \
        return unary_op("ttnn." #name, input, {step_of(UnaryOpType::TYPE, parameter)}, options_of(memory_config, output)); \
    }
TTNN_UNARY_SCALAR(DEFINE)
#undef DEFINE

Tensor gelu(const Tensor& input, GeluVariant variant, TAIL) {
    const CoreLimit limit(grids);
    const auto type = variant == GeluVariant::Tanh ? UnaryOpType::GELU_TANH : UnaryOpType::GELU;
    return unary_op("ttnn.gelu", input, {type}, options_of(memory_config, output, variant == GeluVariant::FastLut));
}
Tensor gelu(const Tensor& input, bool fast_and_approximate_mode, TAIL) {
    const CoreLimit limit(grids);
    return gelu(input, fast_and_approximate_mode ? GeluVariant::FastLut : GeluVariant::Accurate, memory_config, output, grids);
}
Tensor sigmoid(const Tensor& input, int vector_mode, SigmoidMode mode, TAIL) {
    const CoreLimit limit(grids);
    OpScope scope("ttnn.sigmoid");
    SHIM_CHECK(
        vector_mode == 1 || vector_mode == 2 || vector_mode == 4, "vector_mode: expected 1 (R), 2 (C) or 4 (RC), got {}", vector_mode);
    SHIM_SUPPORTED(vector_mode == 4, "vector_mode {}: the shim computes all values of a tile (4, RC) only", vector_mode);
    return unary_op("ttnn.sigmoid", input, {UnaryOpType::SIGMOID}, options_of(memory_config, output, mode != SigmoidMode::Accurate));
}
Tensor tanh(
    const Tensor& input, const std::optional<MemoryConfig>& memory_config, const std::optional<Tensor>& output,
    bool fast_and_approximate_mode, const std::optional<CoreRangeSet>& grids) {
    const CoreLimit limit(grids);
    return unary_op("ttnn.tanh", input, {UnaryOpType::TANH}, options_of(memory_config, output, fast_and_approximate_mode));
}
Tensor round(const Tensor& input, const std::optional<int>& decimals, TAIL) {
    const CoreLimit limit(grids);
    return unary_op(
        "ttnn.round", input, {UnaryStep(UnaryOpType::ROUND, static_cast<float>(decimals.value_or(0)))}, options_of(memory_config, output));
}
Tensor logit(const Tensor& input, std::optional<float> eps, TAIL) {
    const CoreLimit limit(grids);
    return unary_op("ttnn.logit", input, {UnaryStep(UnaryOpType::LOGIT, eps.value_or(-1.0F))}, options_of(memory_config, output));
}
Tensor deg2rad(const Tensor& input, TAIL) {
    const CoreLimit limit(grids);
    return unary_op(
        "ttnn.deg2rad", input, {UnaryStep(UnaryOpType::MUL_UNARY_SFPU, 0.017453292519943295F)}, options_of(memory_config, output));
}
Tensor rad2deg(const Tensor& input, TAIL) {
    const CoreLimit limit(grids);
    return unary_op("ttnn.rad2deg", input, {UnaryStep(UnaryOpType::MUL_UNARY_SFPU, 57.29577951308232F)}, options_of(memory_config, output));
}
Tensor rdiv(const Tensor& input, float value, const std::optional<std::string>& rounding_mode, TAIL) {
    const CoreLimit limit(grids);
    OpScope scope("ttnn.rdiv");
    SHIM_CHECK(
        !rounding_mode || *rounding_mode == "trunc" || *rounding_mode == "floor", "rounding_mode: expected trunc, floor or None, got '{}'",
        *rounding_mode);
    std::vector<UnaryStep> steps = {UnaryStep(UnaryOpType::RDIV, value)};
    if (rounding_mode) steps.emplace_back(*rounding_mode == "trunc" ? UnaryOpType::TRUNC : UnaryOpType::FLOOR);
    return unary_op("ttnn.rdiv", input, steps, options_of(memory_config, output));
}
Tensor polygamma(const Tensor& input, int k, const std::optional<MemoryConfig>& memory_config) {
    OpScope scope("ttnn.polygamma");
    SHIM_CHECK(k >= 1 && k <= 10, "k: expected an order from 1 to 10, got {}", k);
    return unary_op("ttnn.polygamma", input, {UnaryStep(UnaryOpType::POLYGAMMA, static_cast<float>(k))}, {memory_config});
}
Tensor logical_not_(const Tensor& input, const std::optional<MemoryConfig>& memory_config) {
    return unary_op("ttnn.logical_not_", input, {UnaryOpType::LOGICAL_NOT_UNARY}, options_of(memory_config, input));
}
Tensor unary_chain(const Tensor& input, const std::vector<EltwiseUnaryWithParam>& ops_chain, TAIL) {
    const CoreLimit limit(grids);
    OpScope scope("ttnn.unary_chain");
    SHIM_CHECK(!ops_chain.empty(), "ops_chain: expected at least one op");
    return unary_op("ttnn.unary_chain", input, ops_chain, options_of(memory_config, output));
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
    const Tensor input = to_layout(given, Layout::TILE);
    return launch(
        {.op = "binary", .attrs = {{"op", std::string("MUL")}, {"broadcast", std::string("NONE")}}, .name = "BinaryNgDeviceOperation"},
        {input}, {spec_like(input, std::nullopt, memory_config)}, [&](std::span<const Tensor> outputs) {
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

namespace {
#define ENDS c.memory_config("memory_config"), c.optional_tensor("output_tensor"), c.core_range_set("sub_core_grids")

float number(const Call& c, const char* name, float otherwise) {
    SHIM_CHECK(c.has(name) || !std::isnan(otherwise), "{}: missing", name);
    return c.f32(name, otherwise);
}
}  // namespace

#define ENTER(name, TYPE) SHIM_OP("ttnn." #name, [](const Call& c) { return ttnn::name(c.tensor("input_tensor"), ENDS); });
TTNN_UNARY_PLAIN(ENTER)
#undef ENTER
#define ENTER(name, TYPE)                                                                                 \
    SHIM_OP("ttnn." #name, [](const Call& c) {                                                            \
        return ttnn::name(c.tensor("input_tensor"), c.boolean("fast_and_approximate_mode", false), ENDS); \
    });
TTNN_UNARY_APPROX(ENTER)
#undef ENTER
#define ENTER(name, TYPE, PARAMETER, DEFAULT) \
    SHIM_OP("ttnn." #name, [](const Call& c) { return ttnn::name(c.tensor("input_tensor"), number(c, PARAMETER, DEFAULT), ENDS); });
TTNN_UNARY_FLOAT(ENTER)
#undef ENTER
#define ENTER(name, TYPE, FIRST, DEFAULT1, SECOND, DEFAULT2)                                                        \
    SHIM_OP("ttnn." #name, [](const Call& c) {                                                                      \
        return ttnn::name(c.tensor("input_tensor"), number(c, FIRST, DEFAULT1), number(c, SECOND, DEFAULT2), ENDS); \
    });
TTNN_UNARY_TWO_FLOATS(ENTER)
#undef ENTER
#define ENTER(name, TYPE, PARAMETER) \
    SHIM_OP("ttnn." #name, [](const Call& c) { return ttnn::name(c.tensor("input_tensor"), parse_scalar(c, PARAMETER), ENDS); });
TTNN_UNARY_SCALAR(ENTER)
#undef ENTER

namespace {
ttnn::GeluVariant gelu_variant(const Call& c) {
    using enum ttnn::GeluVariant;
    if (!c.is_text("variant")) return static_cast<ttnn::GeluVariant>(c.i32("variant", 0));
    const std::string name = c.text("variant");
    SHIM_CHECK(name == "Accurate" || name == "FastLut" || name == "Tanh", "variant: expected Accurate, FastLut or Tanh, got '{}'", name);
    return name == "Tanh" ? Tanh : (name == "FastLut" ? FastLut : Accurate);
}
}  // namespace

SHIM_OP("ttnn.gelu", [](const Call& c) {
    if (c.has("fast_and_approximate_mode"))
        return ttnn::gelu(c.tensor("input_tensor"), c.boolean("fast_and_approximate_mode", false), ENDS);
    return ttnn::gelu(c.tensor("input_tensor"), gelu_variant(c), ENDS);
});
SHIM_OP("ttnn.sigmoid", [](const Call& c) {
    const bool accurate = c.is_text("mode") ? c.text("mode") == "Accurate" : c.i32("mode", 2) == 2;
    return ttnn::sigmoid(
        c.tensor("input_tensor"), c.i32("vector_mode", 4), accurate ? ttnn::SigmoidMode::Accurate : ttnn::SigmoidMode::FastApproximate,
        ENDS);
});
SHIM_OP("ttnn.tanh", [](const Call& c) {
    return ttnn::tanh(
        c.tensor("input_tensor"), c.memory_config("memory_config"), c.optional_tensor("output_tensor"),
        c.boolean("fast_and_approximate_mode", false));
});
SHIM_OP("ttnn.round", [](const Call& c) { return ttnn::round(c.tensor("input_tensor"), c.optional_i32("decimals"), ENDS); });
SHIM_OP("ttnn.logit", [](const Call& c) { return ttnn::logit(c.tensor("input_tensor"), c.optional_f32("eps"), ENDS); });
SHIM_OP("ttnn.deg2rad", [](const Call& c) { return ttnn::deg2rad(c.tensor("input_tensor"), ENDS); });
SHIM_OP("ttnn.rad2deg", [](const Call& c) { return ttnn::rad2deg(c.tensor("input_tensor"), ENDS); });
SHIM_OP("ttnn.rdiv", [](const Call& c) {
    return ttnn::rdiv(c.tensor("input_tensor"), number(c, "value", NAN), c.optional_text("rounding_mode"), ENDS);
});
SHIM_OP("ttnn.polygamma", [](const Call& c) {
    return ttnn::polygamma(c.tensor("input_tensor"), c.i32("k"), c.memory_config("memory_config"));
});
SHIM_OP("ttnn.logical_not_", [](const Call& c) { return ttnn::logical_not_(c.tensor("input_tensor"), c.memory_config("memory_config")); });
SHIM_OP("ttnn.unary_chain", [](const Call& c) {
    return ttnn::unary_chain(c.tensor("input_tensor"), parse_unary_steps(c, "ops_chain"), ENDS);
});
SHIM_OP("ttnn.glu", [](const Call& c) { return ttnn::glu(c.tensor("input_tensor"), c.i32("dim", -1), c.memory_config("memory_config")); });
SHIM_OP("ttnn.reglu", [](const Call& c) {
    return ttnn::reglu(c.tensor("input_tensor"), c.i32("dim", -1), c.memory_config("memory_config"));
});
SHIM_OP("ttnn.geglu", [](const Call& c) {
    return ttnn::geglu(c.tensor("input_tensor"), c.i32("dim", -1), c.memory_config("memory_config"), gelu_variant(c));
});
SHIM_OP("ttnn.swiglu", [](const Call& c) {
    return ttnn::swiglu(c.tensor("input_tensor"), c.i32("dim", -1), c.memory_config("memory_config"));
});
SHIM_OP("ttnn.tril", [](const Call& c) {
    return ttnn::tril(c.tensor("input_tensor"), c.i32("diagonal", 0), c.memory_config("memory_config"));
});
SHIM_OP("ttnn.triu", [](const Call& c) {
    return ttnn::triu(c.tensor("input_tensor"), c.i32("diagonal", 0), c.memory_config("memory_config"));
});
