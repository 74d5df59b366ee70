#include "strategy/config_json.hpp"

#include <cctype>
#include <charconv>
#include <stdexcept>

namespace ttnn_shim::strategy {
namespace {

struct Value {
    enum class Kind { Null, Bool, Number, String, Array, Object } kind = Kind::Null;
    bool boolean = false, integral = false;
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
            v.integral = std::string_view(first, static_cast<std::size_t>(end - first)).find_first_of(".eE") == std::string_view::npos;
            at_ += static_cast<std::size_t>(end - first);
        }
        --depth_;
        return v;
    }
    std::string_view text_;
    std::size_t at_ = 0;
    int depth_ = 0;
};

template <class T>
T pick(const std::string& name, std::initializer_list<std::pair<std::string_view, T>> table, const char* what) {
    for (const auto& [key, value] : table)
        if (key == name) return value;
    throw std::invalid_argument(std::string("op configuration: unknown ") + what + " '" + name + "'");
}

DType dtype(const std::string& n) {
    return pick<DType>(
        n,
        {{"bfloat16", DType::BFloat16},
         {"float32", DType::Float32},
         {"bfloat8_b", DType::BFloat8B},
         {"bfloat4_b", DType::BFloat4B},
         {"uint32", DType::UInt32},
         {"int32", DType::Int32},
         {"uint16", DType::UInt16},
         {"uint8", DType::UInt8}},
        "dtype");
}

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
    if (const Value* x = v.get("dtype")) t.dtype = dtype(x->string);
    if (const Value* x = v.get("layout"))
        t.layout = pick<PageLayout>(x->string, {{"tile", PageLayout::Tile}, {"row_major", PageLayout::RowMajor}}, "layout");
    if (const Value* x = v.get("buffer"))
        t.buffer =
            pick<BufferKind>(x->string, {{"dram", BufferKind::Dram}, {"l1", BufferKind::L1}, {"l1_small", BufferKind::L1Small}}, "buffer");
    if (const Value* x = v.get("memory"))
        t.memory = pick<MemoryLayout>(
            x->string,
            {{"interleaved", MemoryLayout::Interleaved},
             {"height_sharded", MemoryLayout::HeightSharded},
             {"width_sharded", MemoryLayout::WidthSharded},
             {"block_sharded", MemoryLayout::BlockSharded},
             {"nd_sharded", MemoryLayout::NdSharded}},
            "memory layout");
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
        t.shard = shard;
    }
    return t;
}

AttrValue attribute(const std::string& name, const Value& v) {
    switch (v.kind) {
        case Value::Kind::Bool: return v.boolean;
        case Value::Kind::Number:
            if (v.integral) return static_cast<std::int64_t>(v.number);
            return v.number;
        case Value::Kind::String: return v.string;
        case Value::Kind::Array: {
            bool strings = false, reals = false;
            for (const Value& e : v.array) {
                strings |= e.kind == Value::Kind::String;
                reals |= e.kind == Value::Kind::Number && !e.integral;
            }
            if (strings) {
                std::vector<std::string> s;
                for (const Value& e : v.array) s.push_back(e.string);
                return s;
            }
            if (reals) {
                std::vector<double> d;
                for (const Value& e : v.array) d.push_back(e.number);
                return d;
            }
            std::vector<std::int64_t> i;
            for (const Value& e : v.array) i.push_back(static_cast<std::int64_t>(e.number));
            return i;
        }
        default:
            throw std::invalid_argument("op configuration: attribute '" + name + "' must be a bool, number, string or list of one kind");
    }
}

}  // namespace

OpConfig parse_op_config(std::string_view json) {
    const Value doc = Parser(json).document();
    OpConfig config;
    const Value* op = doc.get("op");
    if (!op || op->kind != Value::Kind::String || op->string.empty()) throw std::invalid_argument("op configuration: \"op\" is missing");
    config.op = op->string;
    if (const Value* v = doc.get("inputs"))
        for (const Value& t : v->array) config.inputs.push_back(tensor(t));
    if (const Value* v = doc.get("outputs"))
        for (const Value& t : v->array) config.outputs.push_back(tensor(t));
    if (const Value* v = doc.get("attrs"))
        for (const auto& [k, a] : v->object)
            if (a.kind != Value::Kind::Null) config.attrs.emplace(k, attribute(k, a));
    if (const Value* v = doc.get("compute")) {
        if (const Value* x = v->get("fidelity"))
            config.compute.fidelity = pick<Fidelity>(
                x->string, {{"LoFi", Fidelity::LoFi}, {"HiFi2", Fidelity::HiFi2}, {"HiFi3", Fidelity::HiFi3}, {"HiFi4", Fidelity::HiFi4}},
                "fidelity");
        if (const Value* x = v->get("fp32_dest_acc")) config.compute.fp32_dest_acc = x->boolean;
        if (const Value* x = v->get("math_approx")) config.compute.math_approx = x->boolean;
        if (const Value* x = v->get("packer_l1_acc")) config.compute.packer_l1_acc = x->boolean;
    }
    return config;
}

}  // namespace ttnn_shim::strategy
