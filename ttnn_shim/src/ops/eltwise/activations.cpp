// Activations by name, and how scalars and activations are read from a call of the Python door.
#include <cstdint>
#include <limits>
#include <map>

#include "ops/eltwise/engine.hpp"

namespace ttnn_shim {

Scalar ArgumentType<Scalar>::read(const Call& call, std::string_view name) {
    const Attr* attr = call.find(name);
    SHIM_CHECK(attr != nullptr, "{}: missing", name);
    if (const auto* integer = std::get_if<int64_t>(&attr->value)) {
        if (*integer >= std::numeric_limits<int32_t>::min() && *integer <= std::numeric_limits<int32_t>::max())
            return static_cast<int32_t>(*integer);
        if (*integer >= 0 && *integer <= std::numeric_limits<uint32_t>::max()) return static_cast<uint32_t>(*integer);
        return static_cast<float>(*integer);
    }
    if (const auto* boolean = std::get_if<bool>(&attr->value)) return static_cast<int32_t>(*boolean);
    const auto* number = std::get_if<double>(&attr->value);
    SHIM_CHECK(number != nullptr, "{}: expected a tensor or a number", name);
    return static_cast<float>(*number);
}

UnaryStep activation_step(std::string_view name) {
    using enum UnaryOpType;
    static const std::map<std::string, UnaryStep, std::less<>> known = {
        {"relu", {RELU}},
        {"relu6", {RELU6}},
        {"gelu", {GELU}},
        {"gelu_approx", {GELU_TANH}},
        {"gelu_tanh", {GELU_TANH}},
        {"silu", {SILU}},
        {"sigmoid", {SIGMOID}},
        {"sigmoid_approx", {SIGMOID}},
        {"sqrt", {SQRT}},
        {"exp", {EXP}},
        {"recip", {RECIP}},
        {"log", {LOG}},
        {"tanh", {TANH}},
        {"log2", {LOG2}},
        {"log10", {LOG10}},
        {"sin", {SIN}},
        {"cos", {COS}},
        {"abs", {ABS}},
        {"sign", {SIGN}},
        {"square", {SQUARE}},
        {"softplus", UnaryStep(SOFTPLUS, 1.0F, 20.0F)},
        {"mish", {MISH}},
        {"hardsigmoid", {HARDSIGMOID}},
        {"hardtanh", UnaryStep(HARDTANH, -1.0F, 1.0F)},
        {"selu", UnaryStep(SELU, 1.0507009873554805F, 1.6732632423543772F)},
        {"rsqrt", {RSQRT}},
        {"log1p", {LOG1P}}};
    const auto found = known.find(name);
    if (found == known.end()) {
        std::string names;
        for (const auto& [key, step] : known) names += (names.empty() ? "" : ", ") + key;
        fail(ErrorCode::InvalidArgument, text("unknown activation '{}'", name), "known: " + names);
    }
    return found->second;
}

std::optional<UnaryStep> parse_unary_step(const Attr& attr) {
    if (std::holds_alternative<std::monostate>(attr.value)) return std::nullopt;
    if (const auto* name = std::get_if<std::string>(&attr.value)) {
        if (name->empty()) return std::nullopt;
        for (size_t i = 0; i < ttnn::operations::unary::UNARY_OP_TYPES; ++i) {
            if (*name == unary_name(static_cast<UnaryOpType>(i))) return UnaryStep(static_cast<UnaryOpType>(i));
        }
        return activation_step(*name);
    }
    if (const auto* number = std::get_if<int64_t>(&attr.value)) {
        SHIM_CHECK(
            *number >= 0 && *number < static_cast<int64_t>(ttnn::operations::unary::UNARY_OP_TYPES), "unknown unary op type {}", *number);
        return UnaryStep(static_cast<UnaryOpType>(*number));
    }
    const auto* record = std::get_if<std::shared_ptr<const Record>>(&attr.value);
    SHIM_CHECK(record != nullptr, "expected an activation: a name or UnaryWithParam");
    const Attr* type = (*record)->find("op_type");
    SHIM_CHECK(type != nullptr, "UnaryWithParam: op_type is missing");
    auto step = parse_unary_step(*type);
    SHIM_CHECK(step.has_value(), "UnaryWithParam: op_type is missing");
    if (const Attr* params = (*record)->find("params")) {
        step->params.clear();
        if (const auto* reals = std::get_if<std::vector<double>>(&params->value)) {
            for (const double value : *reals) step->params.push_back(static_cast<float>(value));
        } else if (const auto* integers = std::get_if<std::vector<int64_t>>(&params->value)) {
            for (const int64_t value : *integers) step->params.push_back(static_cast<float>(value));
        }
    }
    return step;
}

UnaryStep ArgumentType<UnaryStep>::read(const Call& call, std::string_view name) {
    const auto step = parse_unary_step(*call.find(name));
    SHIM_CHECK(step.has_value(), "{}: expected an activation: a name or UnaryWithParam", name);
    return *step;
}

std::optional<UnaryStep> ArgumentType<std::optional<UnaryStep>>::read(const Call& call, std::string_view name) {
    return parse_unary_step(*call.find(name));
}

std::vector<UnaryStep> ArgumentType<std::vector<UnaryStep>>::read(const Call& call, std::string_view name) {
    std::vector<UnaryStep> steps;
    for (const Attr& item : call.items(name)) {
        if (auto step = parse_unary_step(item)) steps.push_back(std::move(*step));
    }
    return steps;
}

}  // namespace ttnn_shim
