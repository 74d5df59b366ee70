// The two device programs of the eltwise ops, unary and binary_ng: which dtypes and layouts they take, and what they make.
#include <cmath>

#include "ops/eltwise/engine.hpp"
#include "ops/eltwise/int_blocks.hpp"
#include "ops/eltwise/placement.hpp"
#include "ttnn/operations/copy/typecast/typecast.hpp"
#include "ttnn/operations/core/to_layout/to_layout_op.hpp"

namespace ttnn_shim {

Tensor unary_op(const char* op_name, const Tensor& input, std::vector<UnaryStep> steps, const UnaryOptions& options) {
    OpScope scope(op_name);
    check_device_tensor(input, "input_tensor");
    check_unary_steps(steps, input.dtype());
    check_unary_output(input, input.dtype(), options.output);
    std::vector<std::string> names;
    for (const UnaryStep& step : steps) names.emplace_back(unary_name(step.op_type));
    const auto dtype = options.dtype ? options.dtype : (options.output ? std::optional(options.output->dtype()) : std::nullopt);
    auto memory_config =
        options.memory_config ? options.memory_config : (options.output ? std::optional(options.output->memory_config()) : std::nullopt);
    if (memory_config) memory_config = with_shards(*memory_config, input, input.logical_shape(), {&input});
    TensorSpec spec = spec_like(input, dtype, memory_config);
    if (input.layout() == Layout::ROW_MAJOR && !spec.memory_config().is_sharded()) spec = spec.with_padded_shape(input.padded_shape());
    check_unary_shards(input, spec.memory_config());
    std::vector<double> constants;
    for (const UnaryStep& step : steps) constants.insert(constants.end(), step.params.begin(), step.params.end());
    return launch(
        {.op = strategy::Unary{.ops = names, .approx = options.approx}, .cores = options.cores, .constants = std::move(constants)}, {input},
        {spec}, [=](std::span<const Tensor> outputs) { run_unary(input, outputs[0], steps); }, {options.output})[0];
}

namespace {

bool is_comparison(BinaryOpType op) {
    using enum BinaryOpType;
    return op == EQ || op == NE || op == GT || op == GE || op == LT || op == LE;
}

/// Ops whose result on integers is a real number.
bool makes_real(BinaryOpType op) { return op == BinaryOpType::DIV || op == BinaryOpType::DIV_FLOOR; }

bool fits_integer(const Scalar& scalar) {
    const double value = scalar_value(scalar);
    return std::nearbyint(value) == value && std::abs(value) <= 4294967295.0;
}

/// Whether binary_ng computes an op on integers of this dtype, in a tensor (`scalar`: the other operand is a number).
bool takes_integer(BinaryOpType op, DataType dtype, bool scalar) {
    using enum BinaryOpType;
    const bool narrow = dtype == DataType::UINT8 || dtype == DataType::UINT16;
    switch (op) {
        case GCD:
        case LCM:
        case DIV_TRUNC:
        case FMOD: return dtype == DataType::INT32;
        case LOGICAL_RIGHT_SHIFT: return !narrow;
        case MAXIMUM:
        case MINIMUM:
        case REMAINDER: return scalar || !narrow;
        case ADD:
        case SUB:
        case MUL:
        case RSUB:
        case SQUARED_DIFFERENCE:
        case LOGICAL_AND:
        case LOGICAL_OR:
        case LOGICAL_XOR: return dtype != DataType::UINT8;
        case BITWISE_AND:
        case BITWISE_OR:
        case BITWISE_XOR:
        case LEFT_SHIFT:
        case RIGHT_SHIFT: return scalar || dtype != DataType::UINT8;
        default: return true;
    }
}

/// The data types of binary_ng: dtype of the result, and whether the kernel computes on integers. Throws for pairs that TT-NN refuses.
struct Policy {
    DataType result;
    bool integer;
};
/// A tensor's dtype or a number.
using Kind = std::variant<Scalar, DataType>;
Kind kind_of(const Operand& operand) {
    if (const auto* tensor = std::get_if<Tensor>(&operand)) return tensor->dtype();
    return std::get<Scalar>(operand);
}
Policy policy_of(const Kind& a, const Kind& b, BinaryOpType op) {
    const DataType* ta = std::get_if<DataType>(&a);
    const DataType* tb = std::get_if<DataType>(&b);
    const DataType lead = ta != nullptr ? *ta : *tb;
    const bool by_unary =
        op == BinaryOpType::MAXIMUM || op == BinaryOpType::MINIMUM || op == BinaryOpType::REMAINDER || op == BinaryOpType::FMOD;
    for (const DataType* dtype : {ta, tb}) {
        SHIM_CHECK(
            dtype == nullptr || is_integer(*dtype) || is_floating_point(*dtype) || (*dtype == DataType::INT8 && tb == nullptr && by_unary),
            "dtype {} is not supported for binary operation {}", *dtype, binary_name(op));
    }
    const Scalar* const given = ta == nullptr ? &std::get<Scalar>(a) : (tb == nullptr ? &std::get<Scalar>(b) : nullptr);
    const bool real_scalar = given != nullptr && std::holds_alternative<float>(*given);
    const bool compares = is_comparison(op);
    if (ta != nullptr && tb != nullptr && *ta != *tb && (is_integer(*ta) || is_integer(*tb))) {
        const auto both = [&](auto holds) { return holds(*ta) && holds(*tb); };
        if (compares && both([](DataType dtype) { return dtype == DataType::UINT8 || dtype == DataType::UINT16; }))
            return {DataType::UINT16, true};
        // products and quotients convert their integer operand; other ops take no mixture
        SHIM_CHECK(
            (op == BinaryOpType::MUL || makes_real(op)) && is_integer(*ta) != is_integer(*tb) &&
                both([](DataType dtype) { return dtype != DataType::UINT8 && dtype != DataType::UINT16; }),
            "Mixed dtype is not supported for {}: got {} and {}", binary_name(op), *ta, *tb);
        if (!is_integer(*ta)) return {*ta, false};
        return {is_block_float(*tb) ? DataType::BFLOAT16 : *tb, false};
    }
    if (ta != nullptr && tb != nullptr) {
        const bool strict = op == BinaryOpType::MAXIMUM || op == BinaryOpType::MINIMUM || op == BinaryOpType::REMAINDER;
        using enum BinaryOpType;
        const bool equal_dtypes = strict || op == ATAN2 || op == POWER || op == BIAS_GELU || op == FMOD || op == HYPOT || op == LDEXP ||
                                  op == LOGADDEXP || op == LOGADDEXP2 || op == NEXTAFTER || op == XLOGY;
        SHIM_CHECK(op != NEXTAFTER || !is_block_float(lead), "dtype {} is not supported for binary operation {}", lead, binary_name(op));
        SHIM_CHECK(!equal_dtypes || *ta == *tb, "Mixed dtype is not supported for {}: got {} and {}", binary_name(op), *ta, *tb);
        if (compares && lead == DataType::UINT8) return {DataType::UINT16, true};
    }
    if (!is_integer(lead)) {
        SHIM_CHECK(
            kernels::kernel_set().binary[static_cast<size_t>(op)] != nullptr, "expected integer tensors for {}, got {}", binary_name(op),
            lead);
        return {lead, false};
    }
    if (makes_real(op)) {
        const bool unsigned_too = lead == DataType::UINT32 && (op == BinaryOpType::DIV_FLOOR ? tb == nullptr : real_scalar);
        SHIM_CHECK(
            lead == DataType::INT32 || unsigned_too, "expected INT32 or floating point tensors for {}, got {}", binary_name(op), lead);
        return {DataType::FLOAT32, false};
    }
    SHIM_CHECK(
        has_integer_form(op) && op != BinaryOpType::POWER, "dtype {} is not supported for binary operation {}", lead, binary_name(op));
    SHIM_CHECK(takes_integer(op, lead, given != nullptr), "dtype {} is not supported for binary operation {}", lead, binary_name(op));
    const Scalar* scalar = given;
    if (scalar != nullptr && compares && lead == DataType::UINT8) return {DataType::UINT16, true};
    // Narrow tensors take the scalar as an integer, whatever it is; so do the unary programs of maximum and minimum.
    const bool extremum = op == BinaryOpType::MAXIMUM || op == BinaryOpType::MINIMUM;
    const bool divides = op == BinaryOpType::REMAINDER || op == BinaryOpType::FMOD;
    if (scalar != nullptr && ((lead == DataType::UINT16 && !divides) || (extremum && tb == nullptr))) return {lead, true};
    if (scalar != nullptr && real_scalar && op == BinaryOpType::MUL) return {DataType::FLOAT32, false};  // 2.0, too: the type decides
    SHIM_CHECK(
        op != BinaryOpType::REMAINDER || lead != DataType::UINT32 || !real_scalar,
        "dtype {} is not supported for binary operation {} with a real number", lead, binary_name(op));
    if (scalar != nullptr && !fits_integer(*scalar)) {
        SHIM_CHECK(
            op == BinaryOpType::MUL, "Binary operation {} with a {} tensor cannot represent the scalar {}", binary_name(op), lead,
            scalar_value(*scalar));
        return {DataType::FLOAT32, false};
    }
    return {lead, true};
}

bool real_operand(const Operand& operand) {
    if (const auto* tensor = std::get_if<Tensor>(&operand)) return !is_integer(tensor->dtype());
    return std::holds_alternative<float>(std::get<Scalar>(operand));
}

/// Ops that TT-NN runs as a unary program when the second operand is a scalar.
std::optional<UnaryOpType> unary_form(BinaryOpType op) {
    switch (op) {
        case BinaryOpType::MAXIMUM: return UnaryOpType::MAXIMUM;
        case BinaryOpType::MINIMUM: return UnaryOpType::MINIMUM;
        case BinaryOpType::REMAINDER: return UnaryOpType::REMAINDER;
        case BinaryOpType::FMOD: return UnaryOpType::FMOD;
        case BinaryOpType::BITWISE_AND: return UnaryOpType::BITWISE_AND;
        case BinaryOpType::BITWISE_OR: return UnaryOpType::BITWISE_OR;
        case BinaryOpType::BITWISE_XOR: return UnaryOpType::BITWISE_XOR;
        case BinaryOpType::LEFT_SHIFT: return UnaryOpType::LEFT_SHIFT;
        case BinaryOpType::RIGHT_SHIFT: return UnaryOpType::RIGHT_SHIFT;
        default: return std::nullopt;
    }
}

}  // namespace

DataType binary_result_dtype(DataType a, const std::variant<Scalar, DataType>& b, BinaryOpType op) { return policy_of(a, b, op).result; }

namespace {

/// The device operation on these tensors; null: a number.
strategy::Binary described(BinaryOpType op, const Tensor* ta, const Tensor* tb, const BinaryOptions& options) {
    const Tensor& lead = ta != nullptr ? *ta : *tb;
    std::vector<std::string> post;
    for (const UnaryStep& step : options.post) post.emplace_back(unary_name(step.op_type));
    const auto chain = [](UnarySteps steps) -> std::optional<std::vector<std::string>> {
        if (steps.empty()) return std::nullopt;
        std::vector<std::string> names;
        for (const UnaryStep& step : steps) names.emplace_back(unary_name(step.op_type));
        return names;
    };
    const bool first = ta != nullptr;  // a number as the first operand: the tensor's functions are those of the only operand
    const bool fpu = (op == BinaryOpType::ADD || op == BinaryOpType::SUB || op == BinaryOpType::MUL) && lead.dtype() != DataType::FLOAT32 &&
                     !is_integer(lead.dtype());
    const std::string kind = ta != nullptr && tb != nullptr ? broadcast_kind(ta->logical_shape(), tb->logical_shape()) : "NONE";
    return {
        .op = std::string(binary_name(op)),
        .broadcast = kind,
        .is_sfpu = !fpu,
        .scalar = ta == nullptr || tb == nullptr,
        .pre_ops = chain(first ? options.left : options.right),
        .pre_ops_b = first ? chain(options.right) : std::nullopt,
        .post_ops = post};
}

}  // namespace

Tensor binary_op(const char* op_name, const Operand& given_a, const Operand& given_b, BinaryOpType op, const BinaryOptions& options) {
    OpScope scope(op_name);
    Operand a = given_a, b = given_b;
    const auto cast = [&](const Tensor& tensor, DataType dtype) {
        return ttnn::typecast(tensor, dtype, std::nullopt, std::nullopt, options.cores);
    };
    Tensor* ta = std::get_if<Tensor>(&a);
    Tensor* tb = std::get_if<Tensor>(&b);
    SHIM_ASSERT(ta != nullptr || tb != nullptr);
    if (ta != nullptr) check_device_tensor(*ta, "input_tensor_a");
    if (tb != nullptr) check_device_tensor(*tb, "input_tensor_b");
    if (ta != nullptr && tb == nullptr && ta->dtype() == DataType::INT32 && (op == BinaryOpType::REMAINDER || op == BinaryOpType::FMOD) &&
        (real_operand(b) || !fits_integer(std::get<Scalar>(b)))) {  // a real divisor makes the tensor real first
        *ta = to_real(*ta);
        if (options.output && is_integer(options.output->dtype())) {  // and the result an integer again
            const Tensor real = binary_op(op_name, *ta, b, op, {.memory_config = options.memory_config, .cores = options.cores});
            return ttnn::typecast(real, options.output->dtype(), std::nullopt, options.output, options.cores);
        }
    }
    SHIM_CHECK(
        !options.dtype || !options.output || *options.dtype == options.output->dtype(), "dtype {} and an output of dtype {} were given",
        options.dtype.value_or(DataType::INVALID), options.output->dtype());
    if (tb == nullptr && ta->dtype() == DataType::UINT32 && op == BinaryOpType::REMAINDER)
        SHIM_CHECK(scalar_value(std::get<Scalar>(b)) > 0, "divisor must be positive, got {}", scalar_value(std::get<Scalar>(b)));
    const bool whole_floor =
        op == BinaryOpType::DIV_FLOOR && options.dtype == DataType::INT32 && ta != nullptr && is_integer(ta->dtype()) && !real_operand(b);
    const auto [result_dtype, integer] = whole_floor ? Policy{DataType::INT32, true} : policy_of(kind_of(a), kind_of(b), op);
    const bool plain = options.left.empty() && options.right.empty() && options.post.empty();
    if (const auto unary = unary_form(op); unary && tb == nullptr && plain && std::abs(scalar_value(std::get<Scalar>(b))) <= 16777216.0) {
        return unary_op(
            op_name, *ta, {UnaryStep(*unary, static_cast<float>(scalar_value(std::get<Scalar>(b))))},
            {.memory_config = options.memory_config, .output = options.output, .dtype = options.dtype, .cores = options.cores});
    }
    SHIM_CHECK(
        !options.output || (ta != nullptr && ta->layout() == Layout::TILE) || (tb != nullptr && tb->layout() == Layout::TILE),
        "output_tensor: expected inputs in TILE layout beside an output, got ROW_MAJOR");
    // A product or quotient of integers and real numbers converts the integers first, in their layout.
    if (tb == nullptr && is_integer(ta->dtype()) && !integer && (op == BinaryOpType::MUL || !fits_integer(std::get<Scalar>(b))))
        *ta = cast(*ta, result_dtype);
    if (ta != nullptr && tb != nullptr && is_integer(ta->dtype()) != is_integer(tb->dtype())) {
        Tensor& whole = is_integer(ta->dtype()) ? *ta : *tb;
        whole = cast(whole, result_dtype == ta->dtype() || result_dtype == tb->dtype() ? result_dtype : DataType::BFLOAT16);
    }
    const auto is_rows = [](const Tensor* tensor) { return tensor == nullptr || tensor->layout() == Layout::ROW_MAJOR; };
    const bool rows = is_rows(ta) && is_rows(tb);
    const bool sharded = (ta != nullptr && ta->is_sharded()) || (tb != nullptr && tb->is_sharded());
    for (Tensor* tensor : {ta, tb})
        if (tensor != nullptr && tensor->dtype() == DataType::UINT8 && is_comparison(op)) *tensor = cast(*tensor, DataType::UINT16);
    if (!rows || sharded) {  // row-major operands become tiles, unless all are row-major and interleaved
        for (Tensor* tensor : {ta, tb})
            if (tensor != nullptr) *tensor = ttnn::to_layout(*tensor, Layout::TILE, std::nullopt, std::nullopt, options.cores);
    }
    const Tensor& lead = ta != nullptr ? *ta : *tb;
    const bool pair = ta != nullptr && tb != nullptr;
    const Shape shape = pair ? broadcast_shapes(ta->logical_shape(), tb->logical_shape()) : lead.logical_shape();
    if (pair) check_binary_broadcast(ta->logical_shape(), tb->logical_shape());
    const DataType compute = integer ? DataType::INT32 : DataType::FLOAT32;
    for (const UnarySteps steps : {options.left, options.right, options.post}) check_chain_steps(steps, compute);

    const DataType dtype = options.dtype.value_or(options.output ? options.output->dtype() : result_dtype);
    SHIM_CHECK(
        op != BinaryOpType::DIV || real_operand(a) || real_operand(b) || (pair ? dtype == DataType::FLOAT32 : !is_integer(dtype)),
        "integer division gives FLOAT32, an output of dtype {} was given", dtype);
    const MemoryConfig memory_config = binary_memory(lead, pair ? tb : nullptr, shape, options.memory_config, options.output);
    check_empty_shards(lead, pair ? tb : nullptr, memory_config);
    const TensorSpec spec = options.output ? output_spec(*options.output, shape) : make_spec(shape, dtype, lead.layout(), memory_config);

    std::vector<Tensor> inputs;
    if (ta != nullptr) inputs.push_back(*ta);
    if (tb != nullptr) inputs.push_back(*tb);
    const auto owned = [](UnarySteps steps) { return std::vector<UnaryStep>(steps.begin(), steps.end()); };
    const Tensor result = launch(
        {.op = described(op, ta, tb, options), .name = "BinaryNgDeviceOperation", .cores = options.cores}, inputs, {spec},
        [a, b, op, integer, left = owned(options.left), right = owned(options.right),
         post = owned(options.post)](std::span<const Tensor> outputs) { run_binary(a, b, outputs[0], op, {left, right, post}, integer); },
        {options.output})[0];
    return rows && sharded ? ttnn::to_layout(result, Layout::ROW_MAJOR, std::nullopt, std::nullopt, options.cores) : result;
}

}  // namespace ttnn_shim
