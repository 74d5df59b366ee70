// Ternary eltwise ops and clamp.
#include "ttnn/operations/eltwise/ternary/ternary.hpp"

#include <cmath>
#include <limits>

#include "ops/arguments.hpp"
#include "ops/block_rounding.hpp"
#include "ops/eltwise/engine.hpp"
#include "ops/eltwise/placement.hpp"
#include "ttnn/operations/copy/typecast/typecast.hpp"

using namespace ttnn_shim;

namespace {

using OptionalMemory = std::optional<MemoryConfig>;
using ValueOrTensor = std::variant<float, int32_t, Tensor>;

Operand as_operand(const ValueOrTensor& value) {
    if (const auto* tensor = std::get_if<Tensor>(&value)) return *tensor;
    if (const auto* real = std::get_if<float>(&value)) return Scalar(*real);
    return Scalar(std::get<int32_t>(value));
}

template <typename T>
BlockReader<T> reader(const Operand& operand, const Shape& shape) {
    if (const auto* tensor = std::get_if<Tensor>(&operand)) return BlockReader<T>(*tensor, shape);
    return BlockReader<T>(static_cast<T>(scalar_value(std::get<Scalar>(operand))));
}

/// output = fn(a, b, c) block by block with broadcasting, in float32 or int64.
template <typename T, typename Function>
void run_ternary(const Operand& a, const Operand& b, const Operand& c, const Tensor& output, Function function) {
    std::byte* target = mutable_raw_data(output);
    const Shape& shape = output.logical_shape();
    const DataType to = output.dtype();
    const BlockRounder round(output);
    const auto ra = reader<T>(a, shape), rb = reader<T>(b, shape), rc = reader<T>(c, shape);
    parallel_blocks(output.logical_volume(), [&](size_t begin, size_t end) {
        T sa[BLOCK], sb[BLOCK], sc[BLOCK], out[BLOCK];
        for (size_t at = begin; at < end; at += BLOCK) {
            const size_t n = std::min(BLOCK, end - at);
            const T *x = ra.read(at, n, sa), *y = rb.read(at, n, sb), *z = rc.read(at, n, sc);
            for (size_t i = 0; i < n; ++i) out[i] = function(x[i], y[i], z[i]);
            if constexpr (std::is_same_v<T, float>) {
                store_f32(to, out, target + at * stored_bytes(to), n);
            } else {
                store_i64(to, out, target + at * stored_bytes(to), n);
            }
            round(at, n);
        }
    });
}

struct Ternary {
    const char* name;  ///< of the Python function
    const char* op;    ///< of the device operation
    OptionalMemory memory_config;
    std::optional<Tensor> output;
    OptionalCores cores = std::nullopt;
};

/// `where` between numbers is a program of fewer operands.
Program program_of(const Ternary& call, size_t operands) {
    const char* op = call.op;
    if (std::string_view(op) != "WHERE" || operands == 3)
        return {.op = strategy::Ternary{.op = op}, .name = "TernaryDeviceOperation", .cores = call.cores};
    if (operands == 2) return {.op = strategy::Binary{.op = op, .is_sfpu = true}, .name = "BinaryNgDeviceOperation", .cores = call.cores};
    return {.op = strategy::Unary{.ops = {op}}, .cores = call.cores};
}

/// Shape of a ternary program's result; throws for empty tensors, which no ternary program takes.
Shape ternary_shape(std::initializer_list<const Tensor*> operands) {
    Shape shape = (*operands.begin())->logical_shape();
    for (const Tensor* tensor : operands) shape = broadcast_shapes(shape, tensor->logical_shape());
    SHIM_CHECK(shape.volume() > 0 || operands.size() < 3, "a ternary operation takes no empty tensors, got shape {}", shape);
    for (const Tensor* tensor : operands)
        for (int32_t back = 7; back <= static_cast<int32_t>(shape.rank()); ++back)
            SHIM_CHECK(
                static_cast<size_t>(back) <= tensor->logical_shape().rank() ? tensor->logical_shape()[-back] == shape[-back]
                                                                            : shape[-back] == 1,
                "broadcast is supported up to rank 6, shape {} against {}", tensor->logical_shape(), shape);
    return shape;
}

/// What the program on predicate (or first operand) `a` and the tensors among the other two makes; `dtype` when no output is given.
TensorSpec result_spec(const Ternary& call, const Tensor& a, const Tensor* b, const Tensor* c, DataType dtype) {
    const bool chooses = std::string_view(call.op) == "WHERE";
    if (chooses && b == nullptr && c == nullptr) {
        const bool given = call.output && !call.memory_config;
        const TensorSpec spec =
            spec_like(a, call.output ? call.output->dtype() : dtype, given ? call.output->memory_config() : call.memory_config);
        check_unary_shards(a, spec.memory_config());
        check_unary_output(a, dtype, call.output);
        return spec;
    }
    if (chooses && (b == nullptr || c == nullptr)) {  // a binary program on predicate and values, whose shards lead
        const Tensor& values = b != nullptr ? *b : *c;
        const Shape shape = broadcast_shapes(a.logical_shape(), values.logical_shape());
        check_binary_broadcast(a.logical_shape(), values.logical_shape());
        const MemoryConfig memory = call.memory_config ? *call.memory_config : stretched_memory(values, shape);
        const bool rows = a.layout() == Layout::ROW_MAJOR && values.layout() == Layout::ROW_MAJOR;
        const MemoryConfig placed = binary_memory(a, &values, shape, memory, std::nullopt);
        return call.output ? output_spec(*call.output, shape) : make_spec(shape, dtype, rows ? Layout::ROW_MAJOR : Layout::TILE, placed);
    }
    SHIM_CHECK(
        a.layout() == Layout::TILE || a.is_sharded(), "a ternary operation takes interleaved tensors in TILE layout, got {}", a.layout());
    const Shape shape = c == nullptr ? ternary_shape({&a, b}) : ternary_shape({&a, b, c});
    const MemoryConfig memory = c == nullptr ? ternary_memory({&a, b}, shape, call.memory_config, call.output)
                                             : ternary_memory({&a, b, c}, shape, call.memory_config, call.output);
    if (!call.output) return make_spec(shape, dtype, memory.is_sharded() ? a.layout() : Layout::TILE, memory);
    SHIM_CHECK(
        call.output->logical_shape() == shape && (a.is_sharded() || call.output->layout() == Layout::TILE),
        "output_tensor: expected shape {} and TILE layout, got {}", shape, call.output->tensor_spec());
    return call.output->tensor_spec();
}

template <typename Function>
Tensor ternary_op(const Ternary& call, const Tensor& a, const Operand& b, const Operand& c, DataType dtype, Function function) {
    OpScope scope(call.name);
    const auto *tb = std::get_if<Tensor>(&b), *tc = std::get_if<Tensor>(&c);
    std::vector<Tensor> inputs = {a};
    bool integer = is_integer(dtype) && is_integer(a.dtype());
    for (const Tensor* tensor : {tb, tc}) {
        if (tensor == nullptr) continue;
        inputs.push_back(*tensor);
        integer = integer && is_integer(tensor->dtype());
    }
    for (const Tensor& input : inputs) check_device_tensor(input, "an operand");
    const TensorSpec spec = result_spec(call, a, tb, tc, dtype);
    Program program = program_of(call, inputs.size());
    if (inputs.size() == 1) program.constants = {scalar_value(std::get<Scalar>(b)), scalar_value(std::get<Scalar>(c))};
    return launch(
        program, inputs, {spec},
        [=](std::span<const Tensor> outputs) {
            if (integer) {
                run_ternary<int64_t>(a, b, c, outputs[0], function);
            } else {
                run_ternary<float>(a, b, c, outputs[0], function);
            }
        },
        {call.output})[0];
}

/// Whether the real package computes such operands in several binary programs.
bool needs_composite(std::initializer_list<const Tensor*> operands) {
    bool blocks = false;
    for (const Tensor* tensor : operands) blocks = blocks || is_block_float(tensor->dtype());
    const auto kind = operands.size() == 2
                          ? ternary_broadcast({&(*operands.begin())->logical_shape(), &(*(operands.begin() + 1))->logical_shape()})
                          : ternary_broadcast(
                                {&(*operands.begin())->logical_shape(), &(*(operands.begin() + 1))->logical_shape(),
                                 &(*(operands.begin() + 2))->logical_shape()});
    const bool subtile = kind == TernaryBroadcast::Row || kind == TernaryBroadcast::Column || kind == TernaryBroadcast::Scalar;
    return kind == TernaryBroadcast::Invalid || (blocks && subtile);
}

/// One program of a composite; all of them leave their results in `memory`.
struct Steps {
    const char* name;
    const OptionalMemory& memory;
    OptionalCores cores = std::nullopt;
    Tensor operator()(const Operand& a, BinaryOpType op, const Operand& b, const std::optional<Tensor>& output = std::nullopt) const {
        return binary_op(name, a, b, op, {.memory_config = memory, .output = output, .cores = cores});
    }
};

bool is_narrow(DataType dtype) { return dtype == DataType::UINT8 || dtype == DataType::UINT16; }

/// `where` between a tensor and a number is a binary program of its own: predicate and values of one dtype, or an integer predicate.
void check_where_pair(DataType predicate, DataType values, Operand& number) {
    SHIM_CHECK(
        (predicate == values && !is_narrow(values)) || (is_integer(predicate) && !is_integer(values)),
        "predicate and value tensor: mixed dtypes {} and {} are not supported beside a scalar", predicate, values);
    if (!is_integer(values)) return;
    // The scalar goes through float32: 2147483647 becomes 2147483648, which INT32 cannot hold.
    const auto rounded = static_cast<float>(scalar_value(std::get<Scalar>(number)));
    const float low = values == DataType::INT32 ? -2147483648.0F : 0.0F, high = values == DataType::INT32 ? 2147483648.0F : 4294967296.0F;
    SHIM_CHECK(
        rounded == std::trunc(rounded) && rounded >= low && rounded < high, "where with a {} tensor cannot represent the scalar {}", values,
        rounded);
    number = values == DataType::INT32 ? Scalar(static_cast<int32_t>(rounded)) : Scalar(static_cast<uint32_t>(rounded));
}

/// Result dtype of where: that of the values; of two scalars the predicate's, FLOAT32 for an integer predicate.
DataType where_dtype(const Tensor& predicate, const Operand& yes, const Operand& no) {
    const Tensor* tensor = std::get_if<Tensor>(&yes) != nullptr ? std::get_if<Tensor>(&yes) : std::get_if<Tensor>(&no);
    if (tensor != nullptr) return tensor->dtype();
    SHIM_CHECK(!is_narrow(predicate.dtype()), "predicate: dtype {} is not supported between two scalars", predicate.dtype());
    return is_integer(predicate.dtype()) ? DataType::FLOAT32 : predicate.dtype();
}

}  // namespace

namespace ttnn {

Tensor where(
    const Tensor& predicate, const ValueOrTensor& true_value, const ValueOrTensor& false_value, const OptionalMemory& memory_config,
    const std::optional<Tensor>& output, const std::optional<CoreRangeSet>& grids) {
    OpScope scope("ttnn.where");
    check_device_tensor(predicate, "predicate");
    Operand yes = as_operand(true_value), no = as_operand(false_value);
    const auto *ty = std::get_if<Tensor>(&yes), *tn = std::get_if<Tensor>(&no);
    if ((ty == nullptr) != (tn == nullptr)) {
        SHIM_CHECK(predicate.dtype() != DataType::FP8_E4M3, "predicate: dtype {} is not supported beside a scalar", predicate.dtype());
        check_where_pair(predicate.dtype(), ty != nullptr ? ty->dtype() : tn->dtype(), ty != nullptr ? no : yes);
    }
    const bool pair = ty != nullptr && tn != nullptr;
    if (pair) {
        const Shape &one = predicate.logical_shape(), &two = ty->logical_shape(), &three = tn->logical_shape();
        for (size_t back = 1; back <= 2; ++back) {  // nothing stretches to no rows or no columns
            const auto has = [&](uint32_t extent) {
                const auto is = [&](const Shape& s) { return (s.rank() < back ? 1U : s[-static_cast<int32_t>(back)]) == extent; };
                return is(one) || is(two) || is(three);
            };
            SHIM_CHECK(
                !has(0) || !has(1), "shapes {}, {} and {} do not broadcast in a pattern the ternary kernel supports", one, two, three);
        }
    }
    // An integer predicate of real values is converted by a program of its own.
    const bool converts = (ty != nullptr || tn != nullptr) && is_integer(predicate.dtype()) &&
                          (ty == nullptr || !is_integer(ty->dtype())) && (tn == nullptr || !is_integer(tn->dtype()));
    const Tensor condition =
        converts ? ttnn::typecast(predicate, (ty != nullptr ? ty : tn)->dtype(), std::nullopt, std::nullopt, grids) : predicate;
    if (pair && ternary_broadcast({&predicate.logical_shape(), &ty->logical_shape(), &tn->logical_shape()}) == TernaryBroadcast::Invalid) {
        // The real package multiplies both by what the predicate says and adds, in binary programs: a negative predicate is false.
        const OptionalMemory memory = memory_config.value_or(predicate.memory_config());
        const Steps step{"ttnn.where", memory, grids};
        const auto chosen = [&](UnaryOpType sign, const Operand& value) {
            return step(unary_op(step.name, condition, {sign}, {.memory_config = memory, .cores = grids}), BinaryOpType::MUL, value);
        };
        return step(chosen(UnaryOpType::GTZ, yes), BinaryOpType::ADD, chosen(UnaryOpType::LEZ, no), output);
    }
    return ternary_op(
        {"ttnn.where", "WHERE", memory_config, output, grids}, condition, yes, no, where_dtype(predicate, yes, no),
        [](auto p, auto t, auto f) { return p != 0 ? t : f; });
}

Tensor addcmul(
    const Tensor& a, const Tensor& b, const Tensor& c, const std::variant<float, int32_t, uint32_t> value,
    const OptionalMemory& memory_config, const std::optional<Tensor>& output) {
    OpScope scope("ttnn.addcmul");
    SHIM_CHECK(
        !is_narrow(a.dtype()) && a.dtype() != DataType::BFLOAT4_B, "expected BFLOAT16, BFLOAT8_B, FLOAT32, INT32 or UINT32 tensors, got {}",
        a.dtype());
    SHIM_CHECK(
        a.dtype() == b.dtype() && a.dtype() == c.dtype(), "expected tensors of one dtype, got {}, {} and {}", a.dtype(), b.dtype(),
        c.dtype());
    const double factor = std::visit([](auto v) { return static_cast<double>(v); }, value);
    if (needs_composite({&a, &b, &c})) {
        const Steps step{"ttnn.addcmul", memory_config};
        return step(a, BinaryOpType::ADD, step(step(b, BinaryOpType::MUL, c), BinaryOpType::MUL, Scalar(static_cast<float>(factor))));
    }
    return ternary_op({"ttnn.addcmul", "ADDCMUL", memory_config, output}, a, b, c, a.dtype(), [factor](auto x, auto y, auto z) {
        return x + static_cast<decltype(x)>(factor) * y * z;
    });
}
Tensor addcdiv(
    const Tensor& a, const Tensor& b, const Tensor& c, float value, const OptionalMemory& memory_config,
    const std::optional<Tensor>& output) {
    OpScope scope("ttnn.addcdiv");
    SHIM_CHECK(
        a.dtype() != DataType::INT32 || b.dtype() != DataType::INT32 || c.dtype() != DataType::INT32, "INT32 tensors are not supported");
    if (is_block_float(a.dtype()) || is_block_float(b.dtype()) || is_block_float(c.dtype()) || needs_composite({&a, &b, &c})) {
        const Steps step{"ttnn.addcdiv", memory_config};
        const Tensor scaled = step(step(b, BinaryOpType::DIV, c), BinaryOpType::MUL, Scalar(value));
        const Tensor sum = step(a, BinaryOpType::ADD, scaled);
        if (sum.dtype() == DataType::FLOAT32) return sum;
        const Tensor infinite = step(
            unary_op(step.name, scaled, {UnaryOpType::SIGN}, {memory_config}), BinaryOpType::MUL,
            Scalar(std::numeric_limits<float>::infinity()));
        return where(
            unary_op(step.name, c, {UnaryOpType::EQZ}, {memory_config}), ValueOrTensor(infinite), ValueOrTensor(sum), memory_config, output,
            std::nullopt);
    }
    return ternary_op({"ttnn.addcdiv", "ADDCDIV", memory_config, output}, a, b, c, a.dtype(), [value](auto x, auto y, auto z) {
        return static_cast<decltype(x)>(static_cast<float>(x) + value * (static_cast<float>(y) / static_cast<float>(z)));
    });
}
Tensor lerp(
    const Tensor& input, const Tensor& end, const Tensor& weight, const OptionalMemory& memory_config,
    const std::optional<Tensor>& output) {
    OpScope scope("ttnn.lerp");
    for (const Tensor* tensor : {&input, &end, &weight})
        SHIM_CHECK(tensor->dtype() != DataType::UINT32, "expected no UINT32 tensors, got {}", tensor->tensor_spec());
    const bool integers = input.dtype() == DataType::INT32 && end.dtype() == DataType::INT32 && weight.dtype() == DataType::INT32;
    if (integers || needs_composite({&input, &end, &weight})) {
        SHIM_CHECK(
            input.dtype() == end.dtype() && input.dtype() == weight.dtype(), "expected tensors of one dtype, got {}, {} and {}",
            input.dtype(), end.dtype(), weight.dtype());
        const Steps step{"ttnn.lerp", memory_config};
        Tensor way = step(end, BinaryOpType::SUB, input);
        way = step(way, BinaryOpType::MUL, weight);
        return step(input, BinaryOpType::ADD, way, output);
    }
    const OptionalMemory memory = memory_config.value_or(input.memory_config());
    return ternary_op(
        {"ttnn.lerp", "LERP", memory, output}, input, end, weight, input.dtype(), [](auto x, auto y, auto w) { return x + w * (y - x); });
}
Tensor lerp(
    const Tensor& input, const Tensor& end, float weight, const OptionalMemory& memory_config, const std::optional<Tensor>& output) {
    OpScope scope("ttnn.lerp");
    for (const Tensor* tensor : {&input, &end})
        SHIM_CHECK(tensor->dtype() != DataType::UINT32, "expected no UINT32 tensors, got {}", tensor->tensor_spec());
    SHIM_CHECK(input.dtype() != DataType::INT32 || end.dtype() != DataType::INT32, "INT32 tensors need a tensor of weights");
    if (needs_composite({&input, &end})) {
        SHIM_CHECK(input.dtype() == end.dtype(), "expected tensors of one dtype, got {} and {}", input.dtype(), end.dtype());
        const Steps step{"ttnn.lerp", memory_config};
        Tensor way = step(end, BinaryOpType::SUB, input);
        way = step(way, BinaryOpType::MUL, Scalar(weight));
        return step(input, BinaryOpType::ADD, way, output);
    }
    const OptionalMemory memory = memory_config.value_or(input.memory_config());
    return ternary_op({"ttnn.lerp", "LERP", memory, output}, input, end, Scalar(weight), input.dtype(), [weight](auto x, auto y, auto) {
        return static_cast<decltype(x)>(static_cast<float>(x) + weight * (static_cast<float>(y) - static_cast<float>(x)));
    });
}

namespace {
Tensor mac_of(
    const Tensor& a, const Operand& b, const Operand& c, const OptionalMemory& memory_config,
    const std::optional<Tensor>& output = std::nullopt, const OptionalCores& cores = std::nullopt) {
    OpScope scope("ttnn.mac");  // a product, then a sum
    const auto kind = [](const Operand& operand) -> std::variant<Scalar, DataType> {
        if (const auto* tensor = std::get_if<Tensor>(&operand)) return tensor->dtype();
        return std::get<Scalar>(operand);
    };
    const DataType product = binary_result_dtype(a.dtype(), kind(b), BinaryOpType::MUL);
    const DataType dtype = binary_result_dtype(product, kind(c), BinaryOpType::ADD);
    const auto *tb = std::get_if<Tensor>(&b), *tc = std::get_if<Tensor>(&c);
    if (tb == nullptr || tc == nullptr || is_integer(a.dtype()) || needs_composite({&a, tb, tc})) {
        SHIM_CHECK(!output, "output_tensor: not supported where a product and a sum are two programs");
        const Steps step{"ttnn.mac", memory_config, cores};
        return step(step(a, BinaryOpType::MUL, b), BinaryOpType::ADD, c);
    }
    const OptionalMemory memory = memory_config.value_or(a.memory_config());
    return ternary_op({"ttnn.mac", "MAC", memory, output, cores}, a, b, c, dtype, [](auto x, auto y, auto z) { return x * y + z; });
}
}  // namespace
Tensor mac(
    const Tensor& a, const Tensor& b, const Tensor& c, const OptionalMemory& m, const std::optional<Tensor>& output,
    const std::optional<CoreRangeSet>& grids) {
    return mac_of(a, b, c, m, output, grids);
}
Tensor mac(const Tensor& a, float b, float c, const OptionalMemory& m) {
    return unary_op("ttnn.mac", a, {UnaryStep(UnaryOpType::MAC_TSS, b, c)}, {m});
}
Tensor mac(const Tensor& a, const Tensor& b, float c, const OptionalMemory& m) { return mac_of(a, b, Scalar(c), m); }
Tensor mac(const Tensor& a, float b, const Tensor& c, const OptionalMemory& m) { return mac_of(a, Scalar(b), c, m); }

Tensor clamp(
    const Tensor& input, std::optional<std::variant<float, int32_t>> min, std::optional<std::variant<float, int32_t>> max,
    const OptionalMemory& memory_config, const std::optional<Tensor>& output) {
    OpScope scope("ttnn.clamp");
    SHIM_CHECK(min || max, "Only one of 'min' or 'max' can be None. Please provide one value");
    auto value = [](const auto& bound) { return std::visit([](auto v) { return static_cast<float>(v); }, *bound); };
    if (is_integer(input.dtype())) {
        SHIM_CHECK(input.dtype() == DataType::INT32, "input_tensor: expected INT32 or a floating point dtype, got {}", input.dtype());
        const bool real = (min && std::holds_alternative<float>(*min)) || (max && std::holds_alternative<float>(*max));
        if (real) return clamp(to_real(input), min, max, memory_config, output);
    }
    std::vector<UnaryStep> steps;
    if (min && max) {
        steps.emplace_back(UnaryOpType::CLAMP_TSS, value(min), value(max));
    } else {
        steps.emplace_back(min ? UnaryOpType::MAXIMUM : UnaryOpType::MINIMUM, min ? value(min) : value(max));
    }
    return unary_op("ttnn.clamp", input, steps, {memory_config, output});
}
Tensor clamp(
    const Tensor& input, std::optional<Tensor> min, std::optional<Tensor> max, const OptionalMemory& memory_config,
    const std::optional<Tensor>& output) {
    OpScope scope("ttnn.clamp");
    SHIM_CHECK(min || max, "Only one of 'min' or 'max' can be None. Please provide one value");
    const auto memory = memory_config ? memory_config : std::optional(input.memory_config());
    if (!min || !max) {  // a comparison and a choice
        const Tensor inside =
            binary_op("ttnn.clamp", input, min ? *min : *max, min ? BinaryOpType::GE : BinaryOpType::LE, {.memory_config = memory});
        return where(inside, input, min ? *min : *max, memory, output, std::nullopt);
    }
    // min(max(x, low), high) as TT-NN's three programs: the lower bound is cut at the upper one.
    const Tensor lowered = binary_op("ttnn.clamp", input, *max, BinaryOpType::MINIMUM, {.memory_config = memory});
    const Tensor low = binary_op("ttnn.clamp", *min, *max, BinaryOpType::MINIMUM, {.memory_config = memory});
    return binary_op("ttnn.clamp", lowered, low, BinaryOpType::MAXIMUM, {.memory_config = memory, .output = output});
}
Tensor clip(const Tensor& input, std::optional<float> min, std::optional<float> max, const OptionalMemory& memory_config) {
    OpScope scope("ttnn.clip");
    auto bound = [](std::optional<float> value) { return value ? std::optional<std::variant<float, int32_t>>(*value) : std::nullopt; };
    return clamp(input, bound(min), bound(max), memory_config);
}
Tensor clip(const Tensor& input, std::optional<Tensor> min, std::optional<Tensor> max, const OptionalMemory& memory_config) {
    OpScope scope("ttnn.clip");
    return clamp(input, std::move(min), std::move(max), memory_config);
}

}  // namespace ttnn

// ---- the Python door -------------------------------------------------------------------------------------------------------

namespace {
int32_t whole(const Scalar& scalar) {
    const auto* value = std::get_if<int32_t>(&scalar);
    SHIM_CHECK(value != nullptr, "value {} is out of range", scalar_value(scalar));
    return *value;
}
ValueOrTensor value_or_tensor(const Operand& operand) {
    if (const auto* tensor = std::get_if<Tensor>(&operand)) return *tensor;
    const Scalar& scalar = std::get<Scalar>(operand);
    if (const auto* real = std::get_if<float>(&scalar)) return *real;
    return whole(scalar);
}
Tensor call_clamp(const auto& args) {
    std::optional<Tensor> output;
    if constexpr (requires { args.output_tensor; }) output = args.output_tensor;
    const auto tensor = [](const std::optional<Operand>& bound) -> std::optional<Tensor> {
        const auto* held = bound ? std::get_if<Tensor>(&*bound) : nullptr;
        return held != nullptr ? std::optional(*held) : std::nullopt;
    };
    if (tensor(args.min) || tensor(args.max)) {
        SHIM_CHECK((!args.min || tensor(args.min)) && (!args.max || tensor(args.max)), "min and max: expected two tensors or two numbers");
        return ttnn::clamp(args.input_tensor, tensor(args.min), tensor(args.max), args.memory_config, output);
    }
    const auto number = [](const std::optional<Operand>& bound) -> std::optional<std::variant<float, int32_t>> {
        if (!bound) return std::nullopt;
        const Scalar& scalar = std::get<Scalar>(*bound);
        if (const auto* real = std::get_if<float>(&scalar)) return *real;
        return whole(scalar);
    };
    return ttnn::clamp(args.input_tensor, number(args.min), number(args.max), args.memory_config, output);
}
}  // namespace

SHIM_OP("ttnn.where", [](const arguments::where& args) {
    return ttnn::where(
        args.predicate, value_or_tensor(args.true_value), value_or_tensor(args.false_value), args.memory_config, args.output_tensor,
        args.sub_core_grids);
});
SHIM_OP("ttnn.addcmul", [](const arguments::addcmul& args) {
    return ttnn::addcmul(args.input_a, args.input_b, args.input_c, args.value, args.memory_config, args.output_tensor);
});
SHIM_OP("ttnn.addcdiv", [](const arguments::addcdiv& args) {
    return ttnn::addcdiv(args.input_a, args.input_b, args.input_c, args.value, args.memory_config, args.output_tensor);
});
SHIM_OP("ttnn.lerp", [](const arguments::lerp& args) {
    return std::visit(
        [&](const auto& weight) { return ttnn::lerp(args.input, args.end, weight, args.memory_config, args.output_tensor); }, args.weight);
});
SHIM_OP("ttnn.mac", [](const arguments::mac& args) {
    const Tensor& a = args.input_tensor_a;
    const auto &b = args.input_tensor_b, &c = args.input_tensor_c;
    if (b && c) return ttnn::mac(a, *b, *c, args.memory_config, args.output_tensor, args.sub_core_grids);
    if (b) return ttnn::mac(a, *b, args.value.value_or(0), args.memory_config);
    if (c) return ttnn::mac(a, args.value.value_or(0), *c, args.memory_config);
    return ttnn::mac(a, args.value1.value_or(0), args.value2.value_or(0), args.memory_config);
});
SHIM_OP("ttnn.clamp", call_clamp<arguments::clamp>);
SHIM_OP("ttnn.clip", call_clamp<arguments::clip>);
