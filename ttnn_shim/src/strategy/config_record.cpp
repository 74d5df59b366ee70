#include "strategy/config_record.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <memory>
#include <stdexcept>
#include <utility>
#include <variant>

namespace ttnn_shim::strategy {
namespace {

/// The values of an enumeration by the names that configurations have for them.
template <class T>
struct Named {
    const char* what;
    std::vector<std::pair<std::string_view, T>> names;

    T value(std::string_view name) const {
        for (const auto& [key, value] : names)
            if (key == name) return value;
        throw std::invalid_argument(std::string("op configuration: unknown ") + what + " '" + std::string(name) + "'");
    }
    std::string_view name(T wanted) const {
        for (const auto& [key, value] : names)
            if (value == wanted) return key;
        throw std::invalid_argument(std::string("op configuration: a ") + what + " without a name");
    }
};
const Named<DataType> DTYPES{
    "dtype",
    {{"bfloat16", DataType::BFLOAT16},
     {"float32", DataType::FLOAT32},
     {"bfloat8_b", DataType::BFLOAT8_B},
     {"bfloat4_b", DataType::BFLOAT4_B},
     {"uint32", DataType::UINT32},
     {"int32", DataType::INT32},
     {"uint16", DataType::UINT16},
     {"uint8", DataType::UINT8},
     {"int8", DataType::INT8},
     {"fp8_e4m3", DataType::FP8_E4M3}}};
const Named<Layout> LAYOUTS{"layout", {{"tile", Layout::TILE}, {"row_major", Layout::ROW_MAJOR}}};
const Named<BufferType> BUFFERS{"buffer", {{"dram", BufferType::DRAM}, {"l1", BufferType::L1}, {"l1_small", BufferType::L1_SMALL}}};
const Named<TensorMemoryLayout> MEMORIES{
    "memory layout",
    {{"interleaved", TensorMemoryLayout::INTERLEAVED},
     {"height_sharded", TensorMemoryLayout::HEIGHT_SHARDED},
     {"width_sharded", TensorMemoryLayout::WIDTH_SHARDED},
     {"block_sharded", TensorMemoryLayout::BLOCK_SHARDED},
     {"nd_sharded", TensorMemoryLayout::ND_SHARDED}}};
const Named<MathFidelity> FIDELITIES{
    "fidelity",
    {{"LoFi", MathFidelity::LoFi}, {"HiFi2", MathFidelity::HiFi2}, {"HiFi3", MathFidelity::HiFi3}, {"HiFi4", MathFidelity::HiFi4}}};

template <class T>
const T* as(const Attr* attr) {
    return attr ? std::get_if<T>(&attr->value) : nullptr;
}

/// A number; a flag or a text is none.
std::optional<double> number(const Attr* attr) {
    if (const auto* value = as<std::int64_t>(attr)) return static_cast<double>(*value);
    if (const auto* value = as<double>(attr)) return *value;
    return std::nullopt;
}

/// The items of a list of any kind; nothing for what is no list.
std::optional<Attr::List> items(const Attr* attr) {
    const auto list = [](const auto& values) {
        Attr::List found(values.size());
        for (std::size_t i = 0; i < values.size(); ++i) found[i].value = values[i];
        return found;
    };
    if (const auto* values = as<std::vector<std::int64_t>>(attr)) return list(*values);
    if (const auto* values = as<std::vector<double>>(attr)) return list(*values);
    if (const auto* values = as<std::shared_ptr<const Attr::List>>(attr)) return **values;
    return std::nullopt;
}

const Record* record(const Attr* attr) {
    const auto* found = as<std::shared_ptr<const Record>>(attr);
    return found ? found->get() : nullptr;
}

std::string text(const Attr* attr) {
    const auto* found = as<std::string>(attr);
    return found ? *found : "";
}

bool flag(const Attr* attr) {
    const bool* found = as<bool>(attr);
    return found && *found;
}

std::vector<std::int64_t> dims(const Attr* attr) {
    std::vector<std::int64_t> out;
    for (const Attr& item : items(attr).value_or(Attr::List{})) {
        const std::optional<double> value = number(&item);
        if (!value || *value < 0) throw std::invalid_argument("op configuration: a shape must be a list of non-negative integers");
        out.push_back(static_cast<std::int64_t>(*value));
    }
    return out;
}

/// Two numbers of a list into `first` and `second`.
template <class T>
void pair(const Attr* attr, T& first, T& second) {
    const std::optional<Attr::List> both = items(attr);
    if (!both || both->size() != 2) return;
    first = static_cast<T>(number(&(*both)[0]).value_or(0));
    second = static_cast<T>(number(&(*both)[1]).value_or(0));
}

TensorDesc tensor(const Attr& attr) {
    const Record* v = record(&attr);
    if (!v) throw std::invalid_argument("op configuration: a tensor must be an object");
    TensorDesc t;
    t.logical = dims(v->find("logical"));
    t.padded = dims(v->find("padded"));
    if (t.padded.empty()) t.padded = t.logical;
    if (t.logical.empty()) t.logical = t.padded;
    if (const Attr* x = v->find("dtype")) t.dtype = DTYPES.value(text(x));
    if (const Attr* x = v->find("layout")) t.layout = LAYOUTS.value(text(x));
    if (const Attr* x = v->find("buffer")) t.buffer = BUFFERS.value(text(x));
    if (const Attr* x = v->find("memory")) t.memory = MEMORIES.value(text(x));
    if (const Record* s = record(v->find("shard"))) {
        Shard shard;
        pair(s->find("shape"), shard.h, shard.w);
        shard.cores = static_cast<int>(number(s->find("cores")).value_or(0));
        pair(s->find("grid"), shard.grid_x, shard.grid_y);
        shard.col_major = text(s->find("orient")) == "COL_MAJOR";
        if (shard.h <= 0 || shard.w <= 0)
            throw std::invalid_argument("op configuration: a shard needs a \"shape\" of two positive numbers");
        t.shard = shard;
    }
    return t;
}

/// An attribute's value into a member of an operation.
struct Assign {
    std::string attribute;  ///< "softmax: attribute 'dim'"

    [[noreturn]] void fail(const std::string& wanted) const {
        throw std::invalid_argument("op configuration: " + attribute + " must be " + wanted);
    }
    void operator()(bool& member, const Attr& v) const {
        if (!as<bool>(&v)) fail("true or false");
        member = flag(&v);
    }
    void operator()(std::int64_t& member, const Attr& v) const {
        constexpr double kLargest = 9007199254740992.0;  // 2^53: whole in a double
        const std::optional<double> value = number(&v);
        if (!value || !(std::abs(*value) <= kLargest)) fail("a number");
        member = static_cast<std::int64_t>(*value);
    }
    void operator()(std::string& member, const Attr& v) const {
        if (!as<std::string>(&v)) fail("a string");
        member = text(&v);
    }
    void operator()(MatmulConfig& member, const Attr& v) const {
        const std::optional<MatmulConfig> found = matmul_config_of(text(&v));
        if (!found) fail("a class of program configs");
        member = *found;
    }
    template <class T>
    void operator()(std::vector<T>& member, const Attr& v) const {
        const std::optional<Attr::List> list = items(&v);
        if (!list) fail("a list");
        member.resize(list->size());
        for (std::size_t i = 0; i < member.size(); ++i) (*this)(member[i], (*list)[i]);
    }
    template <std::size_t N>
    void operator()(std::array<std::int64_t, N>& member, const Attr& v) const {
        const std::optional<Attr::List> list = items(&v);
        if (!list || list->size() != N) fail("a list of " + std::to_string(N) + " numbers");
        for (std::size_t i = 0; i < N; ++i) (*this)(member[i], (*list)[i]);
    }
    template <class T>
    void operator()(std::optional<T>& member, const Attr& v) const {
        (*this)(member.emplace(), v);
    }
};

/// Attributes that every operation takes: what measured rows say.
constexpr std::array<std::string_view, 3> kRowAttributes{"core_count", "selector", "traced"};

/// The operation of this name, its members from attributes; one that it does not have is an error. A name without a struct is an operation
/// without a model, whatever its attributes.
Operation read_operation(std::string name, const Record& attributes) {
    if (name == "linear") name = Matmul::NAME;
    const bool rms = name == "rmsnorm";
    if (rms) name = LayerNorm::NAME;
    std::vector<std::string_view> known(kRowAttributes.begin(), kRowAttributes.end());
    const auto fill = [&](std::string_view member_name, const Members::Write& member) {
        known.push_back(member_name);
        const Assign assign{name + ": attribute '" + std::string(member_name) + "'"};
        const Attr* v = attributes.find(member_name);
        if (v && !as<std::monostate>(v)) std::visit([&](auto* target) { assign(*target, *v); }, member);
        if (rms && member_name == "rms") *std::get<bool*>(member) = true;
    };
    const std::optional<Operation> found = make_operation(name, fill);
    if (!found) return Unmodelled{name};
    for (const auto& [attribute, value] : attributes.fields) {
        if (std::find(known.begin(), known.end(), attribute) != known.end()) continue;
        std::string names;
        for (const std::string_view each : known) names += (names.empty() ? "" : ", ") + std::string(each);
        throw std::invalid_argument("op configuration: " + name + " has no attribute '" + attribute + "'; known: " + names);
    }
    return *found;
}

}  // namespace

OpConfig read_config(const Record& doc) {
    OpConfig config;
    const std::string op = text(doc.find("op"));
    if (op.empty()) throw std::invalid_argument("op configuration: \"op\" is missing");
    const Record none, *given = record(doc.find("attrs"));
    const Record& attributes = given ? *given : none;
    config.op = read_operation(op, attributes);
    config.traced = flag(attributes.find("traced"));
    for (const Release& release : MEASURED_RELEASES)
        if (text(attributes.find("selector")) == release.name) config.release = release;
    const auto integer = [](const Attr* attr, OptionalInteger& member) {
        if (const std::optional<double> value = number(attr)) member = static_cast<std::int64_t>(*value);
    };
    integer(doc.find("l1_free_bytes"), config.l1_free_bytes);
    integer(attributes.find("core_count"), config.core_count);
    for (const Attr& t : items(doc.find("inputs")).value_or(Attr::List{})) config.inputs.push_back(tensor(t));
    for (const Attr& t : items(doc.find("outputs")).value_or(Attr::List{})) config.outputs.push_back(tensor(t));
    if (const Record* v = record(doc.find("compute"))) {
        if (const Attr* x = v->find("fidelity")) config.compute.fidelity = FIDELITIES.value(text(x));
        config.compute.fp32_dest_acc = flag(v->find("fp32_dest_acc"));
        config.compute.math_approx = flag(v->find("math_approx"));
        config.compute.packer_l1_acc = flag(v->find("packer_l1_acc"));
    }
    return config;
}

namespace {

using Fields = std::vector<std::pair<std::string, Attr>>;

Attr attr_of(Fields fields) { return {std::shared_ptr<const Record>(std::make_shared<Record>(Record{"", std::move(fields)}))}; }
Attr attr_of(Attr::List list) { return {std::shared_ptr<const Attr::List>(std::make_shared<Attr::List>(std::move(list)))}; }
Attr attr_of(bool value) { return {value}; }
Attr attr_of(std::int64_t value) { return {value}; }
Attr attr_of(std::string_view value) { return {std::string(value)}; }
Attr attr_of(MatmulConfig value) { return attr_of(name_of(value)); }
Attr attr_of(const Names& values) {
    Attr::List list;
    for (const std::string& value : values) list.push_back({value});
    return attr_of(std::move(list));
}
template <class List>
    requires std::same_as<typename List::value_type, std::int64_t>
Attr attr_of(const List& values) {
    return {std::vector<std::int64_t>(values.begin(), values.end())};
}

Attr attr_of(const TensorDesc& t) {
    Fields fields{
        {"logical", attr_of(t.logical)},
        {"padded", attr_of(t.padded)},
        {"dtype", attr_of(DTYPES.name(t.dtype))},
        {"layout", attr_of(LAYOUTS.name(t.layout))},
        {"buffer", attr_of(BUFFERS.name(t.buffer))},
        {"memory", attr_of(MEMORIES.name(t.memory))}};
    if (t.shard && t.shard->h > 0 && t.shard->w > 0)
        fields.emplace_back(
            "shard", attr_of(Fields{
                         {"shape", attr_of(Pair{t.shard->h, t.shard->w})},
                         {"cores", attr_of(std::int64_t{t.shard->cores})},
                         {"grid", attr_of(Pair{t.shard->grid_x, t.shard->grid_y})},
                         {"orient", attr_of(std::string_view(t.shard->col_major ? "COL_MAJOR" : "ROW_MAJOR"))}}));
    return attr_of(std::move(fields));
}

Attr attr_of(const std::vector<TensorDesc>& tensors) {
    Attr::List list;
    for (const TensorDesc& t : tensors) list.push_back(attr_of(t));
    return attr_of(std::move(list));
}

}  // namespace

Record record_of(const OpConfig& config) {
    Fields attributes;
    each_member(config.op, [&](std::string_view name, const Members::Read& member) {
        std::visit(
            [&](const auto* value) {
                if constexpr (requires { value->has_value(); }) {
                    if (*value) attributes.emplace_back(name, attr_of(**value));
                } else {
                    attributes.emplace_back(name, attr_of(*value));
                }
            },
            member);
    });
    if (config.traced) attributes.emplace_back("traced", attr_of(true));
    if (!config.release.name.empty()) attributes.emplace_back("selector", attr_of(config.release.name));
    if (config.core_count) attributes.emplace_back("core_count", attr_of(*config.core_count));
    Record record{"", {{"op", attr_of(name_of(config.op))}, {"attrs", attr_of(std::move(attributes))}}};
    if (config.l1_free_bytes) record.fields.emplace_back("l1_free_bytes", attr_of(*config.l1_free_bytes));
    record.fields.emplace_back("inputs", attr_of(config.inputs));
    record.fields.emplace_back("outputs", attr_of(config.outputs));
    record.fields.emplace_back(
        "compute", attr_of(Fields{
                       {"fidelity", attr_of(FIDELITIES.name(config.compute.fidelity))},
                       {"fp32_dest_acc", attr_of(config.compute.fp32_dest_acc)},
                       {"math_approx", attr_of(config.compute.math_approx)},
                       {"packer_l1_acc", attr_of(config.compute.packer_l1_acc)}}));
    return record;
}

}  // namespace ttnn_shim::strategy
