// How an op is reached by name with named attributes (the Python door). Each op registers itself in its own .cpp:
//
//     SHIM_OP("ttnn.softmax", [](const arguments::softmax& args) {
//         return ttnn::softmax(args.input_tensor, args.dim, args.memory_config, args.compute_kernel_config, args.numeric_stable);
//     });
//
// `arguments::softmax` (ops/arguments.hpp, made by the build from the table of signatures) has the parameters of the Python API, with their
// types and defaults. A function of a `const Call&` reads attributes by name itself; an absent attribute means "not given".
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "codec/record.hpp"
#include "tensor/check.hpp"
#include "tensor/dtype.hpp"
#include "ttnn/operations/core/compute_kernel/compute_kernel_config.hpp"
#include "ttnn/types.hpp"

namespace ttnn_shim {

using ttnn::Tensor;

// Decoders of the records that every op knows. Each throws Error(InvalidArgument) that names the attribute.
DataType parse_dtype(std::string_view name);
Layout parse_layout(std::string_view name);
MemoryConfig parse_memory_config(const Record& record);
ttnn::ComputeKernelConfig parse_compute_config(const Record& record);
ttnn::MathFidelity parse_math_fidelity(std::string_view name);
TensorMemoryLayout parse_memory_layout(std::string_view name);
ShardOrientation parse_orientation(std::string_view name);
/// Place of `member` among `known`; throws Error(InvalidArgument) that names the parameter and lists them.
size_t parse_member(std::string_view parameter, std::string_view member, std::initializer_list<std::string_view> known);
CoreRangeSet parse_core_range_set(std::span<const int64_t> corners);

/// One call from the Python door.
class Call {
public:
    Call(const Record& attrs, std::span<const Tensor> inputs, ttnn::MeshDevice* device) : attrs_(attrs), inputs_(inputs), device_(device) {}

    bool has(std::string_view name) const { return attrs_.has(name); }
    const Attr* find(std::string_view name) const { return attrs_.find(name); }

    // Required: throws when absent.
    const Tensor& tensor(std::string_view name) const;
    std::vector<Tensor> tensors(std::string_view name) const;
    int32_t i32(std::string_view name) const;
    int64_t i64(std::string_view name) const;
    const std::string& required_text(std::string_view name) const;
    MemoryConfig required_memory_config(std::string_view name) const;
    ttnn::ComputeKernelConfig required_compute_config(std::string_view name) const;
    std::vector<int32_t> i32s(std::string_view name) const;  ///< an int counts as a list of one
    std::vector<uint32_t> u32s(std::string_view name) const;

    // With a default, or optional.
    std::optional<Tensor> optional_tensor(std::string_view name) const;
    bool is_tensor(std::string_view name) const;  ///< tensor rather than number: binary ops take both
    bool boolean(std::string_view name, bool otherwise) const { return attrs_.boolean(name, otherwise); }
    uint32_t u32(std::string_view name, uint32_t otherwise) const;
    float f32(std::string_view name, float otherwise) const;
    std::string text(std::string_view name, std::string_view otherwise = "") const;
    std::optional<bool> optional_boolean(std::string_view name) const { return attrs_.optional_boolean(name); }
    std::optional<uint32_t> optional_u32(std::string_view name) const;
    std::optional<float> optional_f32(std::string_view name) const;
    std::vector<float> f32s(std::string_view name) const;
    bool is_list(std::string_view name) const;  ///< given as a list of numbers
    template <size_t N>
    std::array<uint32_t, N> u32_array(std::string_view name, std::array<uint32_t, N> otherwise) const {
        if (!has(name)) {
            return otherwise;
        }
        const auto values = u32s(name);
        SHIM_CHECK(values.size() == N, "{}: expected {} integers, got {}", name, N, values.size());
        std::copy(values.begin(), values.end(), otherwise.begin());
        return otherwise;
    }

    std::optional<DataType> dtype(std::string_view name) const;  ///< never empty, as those below: throws when absent
    std::optional<Layout> layout(std::string_view name) const;
    std::optional<ttnn::CoreGrid> core_grid(std::string_view name) const;
    std::optional<CoreRangeSet> core_range_set(std::string_view name) const;
    std::optional<Shape> shape(std::string_view name) const;
    std::shared_ptr<const Record> record(std::string_view name) const { return attrs_.record(name); }
    /// A list attribute's items (records, strings ...); empty when absent. A single value counts as a list of one.
    std::vector<Attr> items(std::string_view name) const;
    /// The device named by the call, else that of the first device tensor; throws when there is none.
    ttnn::MeshDevice* device() const;
    /// The device named by the call; null when none was.
    ttnn::MeshDevice* named_device() const { return device_; }
    std::span<const Tensor> inputs() const { return inputs_; }

private:
    const Attr& required(std::string_view name) const;
    const Tensor& at(TensorIndex index, std::string_view name) const;
    const Record& attrs_;
    std::span<const Tensor> inputs_;
    ttnn::MeshDevice* device_;
};

/// What an op gives back: tensors (absent optional outputs are empty) and numbers.
struct Result {
    std::vector<std::optional<Tensor>> tensors;
    std::vector<int64_t> ints;
};

// An op's lambda may return void, Tensor, optional<Tensor>, vector / array / tuple of Tensor or optional<Tensor>, or Result.
inline void append(Result& result, Tensor tensor) { result.tensors.emplace_back(std::move(tensor)); }
inline void append(Result& result, std::optional<Tensor> tensor) { result.tensors.push_back(std::move(tensor)); }
inline Result to_result(Result result) { return result; }
template <typename T>
    requires std::is_same_v<T, Tensor> || std::is_same_v<T, std::optional<Tensor>>
Result to_result(T tensor) {
    Result result;
    append(result, std::move(tensor));
    return result;
}
template <typename Range>
    requires requires(Range& range) {
        range.begin();
        range.end();
    }
Result to_result(Range range) {
    Result result;
    for (auto& item : range) {
        append(result, std::move(item));
    }
    return result;
}
template <typename... Items>
Result to_result(std::tuple<Items...> items) {
    Result result;
    std::apply([&](auto&... item) { (append(result, std::move(item)), ...); }, items);
    return result;
}

struct OpEntry {
    const char* name;
    void (*function)();  ///< of the type that `call` knows
    Result (*call)(void (*function)(), const Call&);
    Result invoke(const Call& arguments) const { return call(function, arguments); }
};

/// Registers one op; called before main by SHIM_OP. Two ops of one name are an Internal error at look-up.
bool register_op(OpEntry entry);
/// All ops, in registration order.
const std::vector<OpEntry>& registered_ops();
/// Index into registered_ops, or throws Error(NotSupported) that names close matches.
int find_op(std::string_view name);

namespace arguments {
template <typename Struct>
Struct read(const Call& call);  // ops/argument_types.hpp
}

/// Calls an op's function, which takes a `Call` or the struct of its arguments. One for all ops of equal types.
template <typename R, typename Taken>
Result call_op(void (*function)(), const Call& call) {
    const auto run = [&] {
        const auto op = reinterpret_cast<R (*)(const Taken&)>(function);
        if constexpr (std::is_same_v<Taken, Call>) {
            return op(call);
        } else {
            return op(arguments::read<Taken>(call));
        }
    };
    if constexpr (std::is_void_v<R>) {
        run();
        return {};
    } else {
        return to_result(run());
    }
}

template <typename R, typename Taken>
bool register_function(const char* name, R (*function)(const Taken&)) {
    return register_op({name, reinterpret_cast<void (*)()>(function), &call_op<R, Taken>});
}

}  // namespace ttnn_shim

/// A struct's members from variables of their names: f({SHIM_NAMED(input, dim)}) is f({.input = input, .dim = dim}). At most 16.
#define SHIM_NAMED(...) __VA_OPT__(SHIM_EXPAND(SHIM_NAMED_FIRST(__VA_ARGS__)))
#define SHIM_NAMED_FIRST(name, ...) .name = name __VA_OPT__(, SHIM_NAMED_REST SHIM_BRACKETS(__VA_ARGS__))
#define SHIM_NAMED_REST() SHIM_NAMED_FIRST
#define SHIM_BRACKETS ()
#define SHIM_EXPAND(...) SHIM_EXPAND_4(SHIM_EXPAND_4(SHIM_EXPAND_4(SHIM_EXPAND_4(__VA_ARGS__))))
#define SHIM_EXPAND_4(...) SHIM_ONCE(SHIM_ONCE(SHIM_ONCE(SHIM_ONCE(__VA_ARGS__))))
#define SHIM_ONCE(...) __VA_ARGS__

#define SHIM_CONCAT_(a, b) a##b
#define SHIM_CONCAT(a, b) SHIM_CONCAT_(a, b)
/// SHIM_OP("ttnn.name", [](const arguments::name& args) { ... }); or a function instead of the lambda; at namespace scope, inside namespace
/// ttnn_shim or with a using directive.
#define SHIM_OP(name, ...) \
    [[maybe_unused]] static const bool SHIM_CONCAT(shim_op_, __COUNTER__) = ::ttnn_shim::register_function(name, +(__VA_ARGS__))
