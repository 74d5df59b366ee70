#include "strategy/config_json.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace ttnn_shim::strategy {
namespace {

struct Value {
    enum class Kind { Null, Bool, Number, String, Array, Object } kind = Kind::Null;
    bool boolean = false;
    double number = 0;
    std::string string;
    std::vector<Value> array;
    std::vector<std::pair<std::string, Value>> object;
    const Value* get(std::string_view key) const {
        for (const auto& [k, v] : object)
            if (k == key) return &v;
        return nullptr;
    }
};

class Parser {
public:
    explicit Parser(std::string_view text) : text_(text) {}
    Value document() {
        Value v = value();
        space();
        if (at_ != text_.size()) fail("text after the document");
        return v;
    }

private:
    [[noreturn]] void fail(const std::string& what) const {
        throw std::invalid_argument("op configuration: " + what + " at character " + std::to_string(at_));
    }
    void space() {
        while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
    }
    char peek() {
        space();
        if (at_ >= text_.size()) fail("unexpected end");
        return text_[at_];
    }
    void expect(char c) {
        if (peek() != c) fail(std::string("expected '") + c + "'");
        ++at_;
    }
    bool word(std::string_view w) {
        if (text_.substr(at_, w.size()) != w) return false;
        at_ += w.size();
        return true;
    }
    std::string string() {
        expect('"');
        std::string out;
        while (at_ < text_.size() && text_[at_] != '"') {
            char c = text_[at_++];
            if (c == '\\' && at_ < text_.size()) {
                c = text_[at_++];
                if (c == 'n')
                    c = '\n';
                else if (c == 't')
                    c = '\t';
                else if (c == 'u') {
                    at_ += 4;
                    c = '?';
                }
            }
            out += c;
        }
        if (at_ >= text_.size()) fail("unterminated string");
        ++at_;
        return out;
    }
    Value value() {
        if (++depth_ > 32) fail("nested too deeply");
        Value v;
        const char c = peek();
        if (c == '{') {
            v.kind = Value::Kind::Object;
            ++at_;
            if (peek() == '}')
                ++at_;
            else
                for (;;) {
                    std::string key = string();
                    expect(':');
                    v.object.emplace_back(std::move(key), value());
                    if (peek() == ',') {
                        ++at_;
                        continue;
                    }
                    expect('}');
                    break;
                }
        } else if (c == '[') {
            v.kind = Value::Kind::Array;
            ++at_;
            if (peek() == ']')
                ++at_;
            else
                for (;;) {
                    v.array.push_back(value());
                    if (peek() == ',') {
                        ++at_;
                        continue;
                    }
                    expect(']');
                    break;
                }
        } else if (c == '"') {
            v.kind = Value::Kind::String;
            v.string = string();
        } else if (word("true")) {
            v.kind = Value::Kind::Bool;
            v.boolean = true;
        } else if (word("false")) {
            v.kind = Value::Kind::Bool;
        } else if (word("null")) {
            v.kind = Value::Kind::Null;
        } else {
            const char* first = text_.data() + at_;
            const auto [end, error] = std::from_chars(first, text_.data() + text_.size(), v.number);
            if (error != std::errc() || end == first) fail("not a value");
            v.kind = Value::Kind::Number;
            at_ += static_cast<std::size_t>(end - first);
        }
        --depth_;
        return v;
    }
    std::string_view text_;
    std::size_t at_ = 0;
    int depth_ = 0;
};

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

std::vector<std::int64_t> dims(const Value& v) {
    std::vector<std::int64_t> out;
    for (const Value& e : v.array) {
        if (e.kind != Value::Kind::Number || e.number < 0)
            throw std::invalid_argument("op configuration: a shape must be a list of non-negative integers");
        out.push_back(static_cast<std::int64_t>(e.number));
    }
    return out;
}

TensorDesc tensor(const Value& v) {
    if (v.kind != Value::Kind::Object) throw std::invalid_argument("op configuration: a tensor must be an object");
    TensorDesc t;
    if (const Value* x = v.get("logical"); x && x->kind == Value::Kind::Array) t.logical = dims(*x);
    if (const Value* x = v.get("padded"); x && x->kind == Value::Kind::Array) t.padded = dims(*x);
    if (t.padded.empty()) t.padded = t.logical;
    if (t.logical.empty()) t.logical = t.padded;
    if (const Value* x = v.get("dtype")) t.dtype = DTYPES.value(x->string);
    if (const Value* x = v.get("layout")) t.layout = LAYOUTS.value(x->string);
    if (const Value* x = v.get("buffer")) t.buffer = BUFFERS.value(x->string);
    if (const Value* x = v.get("memory")) t.memory = MEMORIES.value(x->string);
    if (const Value* s = v.get("shard"); s && s->kind == Value::Kind::Object) {
        Shard shard;
        if (const Value* x = s->get("shape"); x && x->array.size() == 2) {
            shard.h = static_cast<std::int64_t>(x->array[0].number);
            shard.w = static_cast<std::int64_t>(x->array[1].number);
        }
        if (const Value* x = s->get("cores")) shard.cores = static_cast<int>(x->number);
        if (const Value* x = s->get("grid"); x && x->array.size() == 2) {
            shard.grid_x = static_cast<int>(x->array[0].number);
            shard.grid_y = static_cast<int>(x->array[1].number);
        }
        if (const Value* x = s->get("orient")) shard.col_major = x->string == "COL_MAJOR";
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
    void operator()(bool& member, const Value& v) const {
        if (v.kind != Value::Kind::Bool) fail("true or false");
        member = v.boolean;
    }
    void operator()(std::int64_t& member, const Value& v) const {
        constexpr double kLargest = 9007199254740992.0;  // 2^53: whole in a double
        if (v.kind != Value::Kind::Number || !(std::abs(v.number) <= kLargest)) fail("a number");
        member = static_cast<std::int64_t>(v.number);
    }
    void operator()(std::string& member, const Value& v) const {
        if (v.kind != Value::Kind::String) fail("a string");
        member = v.string;
    }
    template <class T>
    void operator()(std::vector<T>& member, const Value& v) const {
        if (v.kind != Value::Kind::Array) fail("a list");
        member.resize(v.array.size());
        for (std::size_t i = 0; i < member.size(); ++i) (*this)(member[i], v.array[i]);
    }
    template <std::size_t N>
    void operator()(std::array<std::int64_t, N>& member, const Value& v) const {
        if (v.kind != Value::Kind::Array || v.array.size() != N) fail("a list of " + std::to_string(N) + " numbers");
        for (std::size_t i = 0; i < N; ++i) (*this)(member[i], v.array[i]);
    }
    template <class T>
    void operator()(std::optional<T>& member, const Value& v) const {
        (*this)(member.emplace(), v);
    }
};

/// Attributes that every operation takes: what measured rows say.
constexpr std::array<std::string_view, 3> kRowAttributes{"core_count", "selector", "traced"};

/// The operation of this name, its members from attributes; one that it does not have is an error. A name without a struct is an operation
/// without a model, whatever its attributes.
Operation read_operation(std::string name, const Value& attributes) {
    if (name == "linear") name = Matmul::NAME;
    const bool rms = name == "rmsnorm";
    if (rms) name = LayerNorm::NAME;
    std::vector<std::string_view> known(kRowAttributes.begin(), kRowAttributes.end());
    const auto fill = [&](std::string_view member_name, const Members::Write& member) {
        known.push_back(member_name);
        const Assign assign{name + ": attribute '" + std::string(member_name) + "'"};
        const Value* v = attributes.get(member_name);
        if (v && v->kind != Value::Kind::Null) std::visit([&](auto* target) { assign(*target, *v); }, member);
        if (rms && member_name == "rms") *std::get<bool*>(member) = true;
    };
    const std::optional<Operation> found = make_operation(name, fill);
    if (!found) return Unmodelled{name};
    for (const auto& [attribute, value] : attributes.object) {
        if (std::find(known.begin(), known.end(), attribute) != known.end()) continue;
        std::string names;
        for (const std::string_view each : known) names += (names.empty() ? "" : ", ") + std::string(each);
        throw std::invalid_argument("op configuration: " + name + " has no attribute '" + attribute + "'; known: " + names);
    }
    return *found;
}

}  // namespace

OpConfig parse_op_config(std::string_view json) {
    const Value doc = Parser(json).document();
    OpConfig config;
    const Value* op = doc.get("op");
    if (!op || op->kind != Value::Kind::String || op->string.empty()) throw std::invalid_argument("op configuration: \"op\" is missing");
    const Value none, *attributes = doc.get("attrs");
    if (!attributes) attributes = &none;
    config.op = read_operation(op->string, *attributes);
    if (const Value* v = attributes->get("traced")) config.traced = v->boolean;
    if (const Value* v = attributes->get("selector")) config.table_era = v->string == "table";
    if (const Value* v = doc.get("l1_free_bytes")) config.l1_free_bytes = static_cast<std::int64_t>(v->number);
    if (const Value* v = attributes->get("core_count")) config.core_count = static_cast<std::int64_t>(v->number);
    if (const Value* v = doc.get("inputs"))
        for (const Value& t : v->array) config.inputs.push_back(tensor(t));
    if (const Value* v = doc.get("outputs"))
        for (const Value& t : v->array) config.outputs.push_back(tensor(t));
    if (const Value* v = doc.get("compute")) {
        if (const Value* x = v->get("fidelity")) config.compute.fidelity = FIDELITIES.value(x->string);
        if (const Value* x = v->get("fp32_dest_acc")) config.compute.fp32_dest_acc = x->boolean;
        if (const Value* x = v->get("math_approx")) config.compute.math_approx = x->boolean;
        if (const Value* x = v->get("packer_l1_acc")) config.compute.packer_l1_acc = x->boolean;
    }
    return config;
}

namespace {

/// The text that parse_op_config reads.
class Writer {
public:
    std::string text;
    void key(std::string_view name) {
        if (text.back() != '{') text += ',';
        put(name);
        text += ':';
    }
    void put(bool value) { text += value ? "true" : "false"; }
    void put(std::int64_t value) { text += std::to_string(value); }
    void put(std::string_view value) {
        text += '"';
        for (const char c : value)
            if (c == '"' || c == '\\')
                (text += '\\') += c;
            else if (static_cast<unsigned char>(c) >= 32)
                text += c;
        text += '"';
    }
    void put(const std::string& value) { put(std::string_view(value)); }
    template <class List>
        requires requires(const List& list) { list.begin(); }
    void put(const List& list) {
        text += '[';
        for (const auto& item : list) {
            if (text.back() != '[') text += ',';
            put(item);
        }
        text += ']';
    }
    template <class T>
    void field(std::string_view name, const T& value) {
        if constexpr (requires { value.has_value(); }) {
            if (value) field(name, *value);
        } else {
            key(name);
            put(value);
        }
    }
    void tensor(const TensorDesc& t) {
        text += '{';
        field("logical", t.logical);
        field("padded", t.padded);
        field("dtype", DTYPES.name(t.dtype));
        field("layout", LAYOUTS.name(t.layout));
        field("buffer", BUFFERS.name(t.buffer));
        field("memory", MEMORIES.name(t.memory));
        if (t.shard && t.shard->h > 0 && t.shard->w > 0) {
            key("shard");
            text += '{';
            field("shape", Pair{t.shard->h, t.shard->w});
            field("cores", static_cast<std::int64_t>(t.shard->cores));
            field("grid", Pair{t.shard->grid_x, t.shard->grid_y});
            field("orient", std::string_view(t.shard->col_major ? "COL_MAJOR" : "ROW_MAJOR"));
            text += '}';
        }
        text += '}';
    }
    void tensors(std::string_view name, const std::vector<TensorDesc>& list) {
        key(name);
        text += '[';
        for (const TensorDesc& t : list) {
            if (text.back() != '[') text += ',';
            tensor(t);
        }
        text += ']';
    }
};

}  // namespace

std::string op_config_json(const OpConfig& config) {
    Writer out;
    out.text = "{";
    out.field("op", name_of(config.op));
    out.key("attrs");
    out.text += '{';
    each_member(config.op, [&](std::string_view name, const Members::Read& member) {
        std::visit([&](const auto* value) { out.field(name, *value); }, member);
    });
    if (config.traced) out.field("traced", true);
    if (config.table_era) out.field("selector", std::string_view("table"));
    out.field("core_count", config.core_count);
    out.text += '}';
    out.field("l1_free_bytes", config.l1_free_bytes);
    out.tensors("inputs", config.inputs);
    out.tensors("outputs", config.outputs);
    out.key("compute");
    out.text += '{';
    out.field("fidelity", FIDELITIES.name(config.compute.fidelity));
    out.field("fp32_dest_acc", config.compute.fp32_dest_acc);
    out.field("math_approx", config.compute.math_approx);
    out.field("packer_l1_acc", config.compute.packer_l1_acc);
    out.text += "}}";
    return out.text;
}

}  // namespace ttnn_shim::strategy
