// Calls with random arguments, for tests of every op: what an op takes is read from the generated ops/arguments.hpp, so that a new op is
// covered as it is written.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <map>
#include <random>
#include <regex>
#include <set>

#include "harness.hpp"
#include "ttnn_shim/abi.h"

namespace random_calls {

/// Arguments of an op: (C++ type, name).
using Attributes = std::set<std::pair<std::string, std::string>>;

/// The structs of ops/arguments.hpp.
class Signatures {
public:
    Signatures() {
        const std::regex space(R"(^namespace ttnn_shim::arguments(?:::(\w+))? \{)"), op(R"(^/// (ttnn\.[\w.]+))"),
            same(R"(^using \w+ = (\w+);)"), opened(R"(^struct (\w+) \{)"), member(R"(^    ([\w:<>, *]+) (\w+)(?: = .*)?;$)");
        std::ifstream file(SHIM_ARGUMENTS);
        std::map<std::string, Attributes> structs;  // by namespace and name
        std::string module, name, current;
        for (std::string line; std::getline(file, line);) {
            std::smatch match;
            if (std::regex_search(line, match, space)) {
                module = match[1].str() + "::";
            } else if (std::regex_search(line, match, op)) {
                name = match[1];
            } else if (std::regex_search(line, match, same)) {
                ops_[name] = structs[module + match[1].str()];
            } else if (std::regex_search(line, match, opened)) {
                current = module + match[1].str();
                structs[current];
            } else if (line == "};") {
                ops_[name] = structs[current];
            } else if (std::regex_search(line, match, member)) {
                structs[current].emplace(match[1], match[2]);
                all_.emplace(match[1], match[2]);
            }
        }
    }
    /// Of all ops when the op reads a call itself.
    const Attributes& of(const std::string& op) const {
        const auto found = ops_.find(op);
        return found == ops_.end() ? all_ : found->second;
    }
    size_t ops() const { return ops_.size(); }

private:
    std::map<std::string, Attributes> ops_;
    Attributes all_;
};

/// Hostile: anything, mostly refused. Mild: what most ops take, few optional arguments at a time.
enum class Kind { Hostile, Mild };

class Arguments {
public:
    explicit Arguments(unsigned seed, Kind kind = Kind::Hostile) : random_(seed), mild_(kind == Kind::Mild) {}

    bool chance(unsigned percent) { return random_() % 100 < percent; }
    template <typename T>
    T pick(std::initializer_list<T> from) {
        return from.begin()[random_() % from.size()];
    }
    unsigned below(unsigned limit) { return static_cast<unsigned>(random_()) % limit; }

    std::vector<uint32_t> shape() {
        static const std::vector<std::vector<uint32_t>> usual{{32, 32},       {64, 64},        {1, 1, 32, 32}, {1, 1, 64, 64},
                                                              {2, 3, 64, 64}, {1, 1, 64, 128}, {1, 8, 32, 64}, {2, 1, 40, 72},
                                                              {3, 5, 7},      {96, 33}};
        if (mild_) return usual[below(static_cast<unsigned>(usual.size()))];
        static const std::vector<std::vector<uint32_t>> shapes{
            {32, 32},  {1, 1, 32, 64}, {2, 3, 5, 7},       {1, 33, 40}, {1},           {}, {17}, {0, 4},
            {4, 0, 3}, {1, 1, 1, 1},   {1, 2, 1, 2, 1, 3}, {64, 1},     {1, 1, 49, 32}};
        return shapes[below(static_cast<unsigned>(shapes.size()))];
    }

    /// The attributes of a tensor in L1, a row of tiles on each core.
    static std::string on_cores(uint32_t rows_of_tiles, uint32_t width) {
        const std::string grid =
            "I" + raw(uint32_t{4}) + raw(int64_t{0}) + raw(int64_t{0}) + raw(int64_t{rows_of_tiles} - 1) + raw(int64_t{0});
        const std::string spec = record(
            "ShardSpec", {{"grid", grid},
                          {"shape", "I" + raw(uint32_t{2}) + raw(int64_t{32}) + raw(int64_t{width})},
                          {"orientation", string("ROW_MAJOR")}});
        return raw(uint16_t{1}) +
               named(
                   "memory_config",
                   record(
                       "MemoryConfig", {{"memory_layout", string("HEIGHT_SHARDED")}, {"buffer_type", string("L1")}, {"shard_spec", spec}}));
    }

    std::string blob(const Attributes& attributes, unsigned tensors) {
        std::string body;
        uint16_t count = 0;
        // Which arguments an op cannot do without, the list does not say.
        const unsigned values_share = mild_ && chance(50) ? 95 : 15, tensors_share = mild_ && chance(50) ? 60 : 10;
        for (const auto& [type, name] : attributes) {
            const bool needed = type == "Tensor" || type == "std::vector<Tensor>";
            const bool optional = type.starts_with("std::optional<");
            const std::string item = value(!mild_ && chance(4) ? "std::string" : type, tensors);
            const unsigned mild_share = needed ? 100 : !optional ? values_share : type == "std::optional<Tensor>" ? tensors_share : 12;
            if (!item.empty() && chance(mild_ ? mild_share : needed ? 97 : 45)) {
                body += named(name, item);
                ++count;
            }
        }
        return raw(count) + body;
    }

private:
    template <typename T>
    static std::string raw(T item) {
        return {reinterpret_cast<const char*>(&item), sizeof(item)};
    }
    static std::string named(const std::string& name, const std::string& item) {
        return raw(static_cast<uint8_t>(name.size())) + name + item;
    }
    static std::string string(const std::string& text) { return "s" + raw(static_cast<uint32_t>(text.size())) + text; }
    static std::string record(const std::string& type, std::initializer_list<std::pair<std::string, std::string>> fields) {
        std::string body = raw(static_cast<uint16_t>(fields.size()));
        for (const auto& [name, item] : fields) {
            body += named(name, item);
        }
        return "r" + raw(static_cast<uint8_t>(type.size())) + type + body;
    }
    /// Mostly small: a legal call may allocate what it asks for.
    int64_t integer() {
        if (mild_) return pick<int64_t>({0, 1, 1, -1, -1, 2, 3, 32});
        if (chance(6)) {
            return pick<int64_t>(
                {std::numeric_limits<int32_t>::max(), std::numeric_limits<int32_t>::min(), std::numeric_limits<int64_t>::max(),
                 std::numeric_limits<int64_t>::min(), int64_t{1} << 32, 65536});
        }
        return pick<int64_t>({0, 0, 1, 1, 1, -1, -1, 2, 2, 3, -2, -3, 4, 32, 33});
    }
    std::string integers(size_t count) {
        std::string body = "I" + raw(static_cast<uint32_t>(count));
        for (size_t i = 0; i < count; ++i) {
            body += raw(mild_ ? pick<int64_t>({0, 0, 1, 1, 2, 3, 32, -1}) : chance(92) ? pick<int64_t>({0, 1, 1, 2, 3, -1}) : integer());
        }
        return body;
    }
    double number() {
        if (mild_) return pick({0.0, 1.0, -1.0, 0.5, 1e-5, 2.0, -2.5, 3.0});
        return pick(
            {0.0, 1.0, -1.0, 0.5, 1e-5, 3.7, -2.5, 1e38, -1e300, 40.0, std::numeric_limits<double>::infinity(),
             std::numeric_limits<double>::quiet_NaN()});
    }
    std::string memory_config() {
        if (mild_)
            return record(
                "MemoryConfig", {{"memory_layout", string("INTERLEAVED")}, {"buffer_type", string(pick<const char*>({"DRAM", "L1"}))}});
        const std::string buffer = string(pick<const char*>({"DRAM", "L1", "L1", "L1_SMALL", "TRACE"}));
        const std::string layout =
            string(pick<const char*>({"INTERLEAVED", "INTERLEAVED", "HEIGHT_SHARDED", "WIDTH_SHARDED", "BLOCK_SHARDED", "X"}));
        if (chance(50)) {
            return record("MemoryConfig", {{"memory_layout", layout}, {"buffer_type", buffer}});
        }
        const std::string spec = record(
            "ShardSpec", {{"grid", integers(pick<size_t>({4, 4, 4, 8, 3}))},
                          {"shape", integers(pick<size_t>({2, 2, 1}))},
                          {"orientation", string("ROW_MAJOR")}});
        return record("MemoryConfig", {{"memory_layout", layout}, {"buffer_type", buffer}, {"shard_spec", spec}});
    }
    /// A value of the type, mostly; "" for one that has no values.
    std::string value(const std::string& declared, unsigned tensors) {
        const std::string prefix = "std::optional<";
        const std::string type =
            declared.starts_with(prefix) ? declared.substr(prefix.size(), declared.size() - prefix.size() - 1) : declared;
        const auto is = [&](std::initializer_list<const char*> names) {
            return std::any_of(names.begin(), names.end(), [&](const char* name) { return type == name; });
        };
        const bool either = type == "Operand" || type.starts_with("std::variant<Tensor");
        if (type == "Tensor" || (either && chance(50))) {
            return "t" + raw(below(chance(97) ? tensors : tensors + 3));
        }
        if (type == "std::vector<Tensor>") {
            const uint32_t count = below(4);
            std::string body = "T" + raw(count);
            for (uint32_t i = 0; i < count; ++i) {
                body += raw(below(tensors));
            }
            return body;
        }
        if (is({"int8_t", "int32_t", "uint32_t", "int64_t"}) || ((either || type == "Scalar") && chance(50))) {
            return "i" + raw(integer());
        }
        if (type == "float" || type == "Scalar" || either) {
            return "d" + raw(number());
        }
        if (type == "bool") {
            return "b" + raw(static_cast<uint8_t>(below(2)));
        }
        if (type.starts_with("std::array<") || is({"std::vector<int32_t>", "std::vector<uint32_t>", "Shape"})) {
            return integers(below(6));
        }
        if (type == "std::vector<float>") {
            const uint32_t count = below(4);
            std::string body = "D" + raw(count);
            for (uint32_t i = 0; i < count; ++i) {
                body += raw(number());
            }
            return body;
        }
        if (is({"CoreCoord", "ttnn::CoreGrid"})) {
            return integers(2);
        }
        if (is({"CoreRangeSet", "std::variant<CoreCoord, CoreRangeSet>"}) && mild_) {
            return "I" + raw(uint32_t{4}) + raw(int64_t{0}) + raw(int64_t{0}) + raw(int64_t{below(8)}) + raw(int64_t{below(4)});
        }
        if (is({"CoreRangeSet", "std::variant<CoreCoord, CoreRangeSet>"})) {
            return integers(4);
        }
        if (type == "DataType" && mild_) {
            return string(pick<const char*>({"BFLOAT16", "BFLOAT16", "FLOAT32", "BFLOAT8_B", "UINT32", "INT32"}));
        }
        if (type == "DataType") {
            return string(
                pick<const char*>({"BFLOAT16", "FLOAT32", "BFLOAT8_B", "BFLOAT4_B", "UINT32", "INT32", "UINT16", "UINT8", "INVALID", "?"}));
        }
        if (type == "Layout") {
            return string(pick<const char*>({"TILE", "ROW_MAJOR", "INVALID", "?"}));
        }
        if (type == "MemoryConfig") {
            return memory_config();
        }
        if (type.ends_with("Config") && type != "ttnn::ComputeKernelConfig" && mild_) return {};
        if (type == "ttnn::ComputeKernelConfig") {
            return record(
                "ComputeKernelConfig", {{"math_fidelity", string(pick<const char*>({"LoFi", "HiFi4", mild_ ? "HiFi2" : "?"}))},
                                        {"fp32_dest_acc_en", "b" + raw(uint8_t{1})}});
        }
        if (type.ends_with("Config") || type.find("UnaryStep") != std::string::npos) {
            return record(
                "UnaryWithParam", {{"op_type", string(pick<const char*>({"RELU", "GELU", "EXP", mild_ ? "TANH" : "?"}))},
                                   {"params", "D" + raw(uint32_t{0})}});
        }
        if (type.ends_with("*")) {
            return {};
        }
        if (mild_) return string(pick<const char*>({"none", "relu", "gelu", "sum", "mean", "zeros", "nearest", "bilinear", "constant"}));
        return string(pick<const char*>(
            {"", "sum", "mean", "none", "relu", "RELU", "gelu", "zeros", "bilinear", "nearest", "ADD", "HW", "HEIGHT_SHARDED", "LoFi",
             "\xff\xfe", "no such thing"}));
    }
    std::mt19937 random_;
    bool mild_;
};

struct Handles {
    ~Handles() {
        for (shim_tensor* tensor : tensors) {
            shim_tensor_free(tensor);
        }
    }
    std::vector<shim_tensor*> tensors;
};

constexpr int BFLOAT16 = 0, FLOAT32 = 1, INT32 = 7, TILES = 1;  // values of ttnn.DataType and ttnn.Layout

inline void add_tensor(
    Arguments& arguments, shim_device* device, const std::vector<uint32_t>& shape, int dtype, int layout, Handles& handles,
    Kind kind = Kind::Hostile, bool sharded = false) {
    size_t volume = 1;
    for (const uint32_t extent : shape) {
        volume *= extent;
    }
    std::vector<float> values(volume);
    for (float& value : values) {
        value = kind == Kind::Mild || arguments.chance(95) ? static_cast<float>(arguments.below(9)) - 4.0F
                                                           : std::numeric_limits<float>::infinity();
    }
    shim_attrs* attrs = nullptr;
    if (sharded && shape.size() >= 2 && shape.back() % 32 == 0) {
        const uint32_t rows = static_cast<uint32_t>(volume) / shape.back();
        const std::string blob = Arguments::on_cores(std::max(1U, rows / 32), shape.back());
        if (rows % 32 == 0 && rows <= 256) CHECK_EQ(shim_attrs_new(blob.data(), blob.size(), &attrs), 0);
    }
    shim_tensor* tensor = nullptr;
    const int status = shim_tensor_new(
        kind == Kind::Mild || arguments.chance(97) ? device : nullptr, dtype, layout, static_cast<int>(shape.size()), shape.data(), attrs,
        values.data(), values.size() * sizeof(float), FLOAT32, &tensor);
    shim_attrs_free(attrs);
    if (status == 0) {
        handles.tensors.push_back(tensor);
    }
}

/// A result's values; none after an error, which counts as fine: the sanitizers look at the rest.
inline std::vector<float> read(const shim_tensor* tensor) {
    shim_tensor_info info;
    if (shim_tensor_get_info(tensor, &info) != 0 || info.volume > (1U << 22)) {
        return {};
    }
    std::vector<float> values(info.volume);
    shim_tensor_read(tensor, 1, values.data(), values.size() * sizeof(float));
    return values;
}

inline std::vector<std::vector<float>> taken(shim_result& result) {
    std::vector<std::vector<float>> values;
    for (int i = 0; i < result.n_tensors; ++i) {
        if (result.tensors[i] == nullptr) continue;
        values.push_back(read(result.tensors[i]));
        shim_tensor_free(result.tensors[i]);
    }
    return values;
}

inline bool same_bits(const std::vector<std::vector<float>>& a, const std::vector<std::vector<float>>& b) {
    return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](const auto& x, const auto& y) {
               return x.size() == y.size() && (x.empty() || std::memcmp(x.data(), y.data(), x.size() * sizeof(float)) == 0);
           });
}

/// One random call: its tensors and its arguments, the same each time that it is made from one seed.
class RandomCall {
public:
    RandomCall(shim_device* device, const Attributes& attributes, unsigned seed, Kind kind = Kind::Hostile) {
        Arguments arguments(seed, kind);
        const bool plain = arguments.chance(60);
        const auto shape = arguments.shape();
        const int common = plain ? BFLOAT16 : dtype(arguments), common_layout = kind == Kind::Mild && arguments.chance(20) ? 0 : TILES;
        const bool sharded = kind == Kind::Mild && arguments.chance(25);
        for (int i = 0; i < 4; ++i) {
            if (kind == Kind::Mild) {
                add_tensor(
                    arguments, device, arguments.chance(85) ? shape : arguments.shape(), common, common_layout, inputs_, kind, sharded);
            } else {
                const int layout = plain ? TILES : arguments.pick({TILES, TILES, 0});
                const auto own = plain || arguments.chance(60) ? shape : arguments.shape();
                add_tensor(arguments, device, own, plain ? BFLOAT16 : dtype(arguments), layout, inputs_);
            }
        }
        const std::string blob = arguments.blob(attributes, std::max(1U, static_cast<unsigned>(inputs_.tensors.size())));
        CHECK_EQ(shim_attrs_new(blob.data(), blob.size(), &attrs_), 0);
        device_ = arguments.chance(kind == Kind::Mild ? 100 : 90) ? device : nullptr;
    }
    ~RandomCall() { shim_attrs_free(attrs_); }
    RandomCall(const RandomCall&) = delete;
    RandomCall& operator=(const RandomCall&) = delete;

    bool has_tensors() const { return !inputs_.tensors.empty(); }
    bool run(int op, shim_result& result) {
        return shim_invoke(op, inputs_.tensors.data(), static_cast<int>(inputs_.tensors.size()), device_, attrs_, &result) == 0;
    }

private:
    static int dtype(Arguments& arguments) {
        return arguments.pick({BFLOAT16, BFLOAT16, BFLOAT16, FLOAT32, FLOAT32, 2, 3, 4, 5, 6, INT32});
    }

    Handles inputs_;
    shim_attrs* attrs_ = nullptr;
    shim_device* device_ = nullptr;
};

}  // namespace random_calls
