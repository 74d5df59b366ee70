// How the members of the structs in arguments.hpp are read from a call of the Python door. A type of parameter is one specialisation of
// `ArgumentType`; config structs that only one op takes are specialised beside it and declared here.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "ops/registry.hpp"
#include "ttnn/operations/ccl/ccl_host_types.hpp"
#include "ttnn/operations/conv/conv2d/conv2d_config.hpp"
#include "ttnn/operations/data_movement/bcast/bcast_types.hpp"
#include "ttnn/operations/data_movement/reshape_view/reshape.hpp"
#include "ttnn/operations/eltwise/unary/common/unary_op_types.hpp"
#include "ttnn/operations/embedding/embedding.hpp"
#include "ttnn/operations/experimental/conv3d/device/conv3d_device_operation_types.hpp"
#include "ttnn/operations/experimental/minimal_matmul/device/minimal_matmul_device_operation_types.hpp"
#include "ttnn/operations/loss/loss_types.hpp"
#include "ttnn/operations/matmul/matmul_program_configs.hpp"
#include "ttnn/operations/normalization/norm_program_configs.hpp"
#include "ttnn/operations/sliding_window/op_slicing/op_slicing.hpp"
#include "ttnn/operations/transformer/sdpa_config.hpp"

namespace ttnn_shim {

using UnaryStep = ttnn::operations::unary::EltwiseUnaryWithParam;
using Scalar = std::variant<uint32_t, int32_t, float>;
/// A tensor or a scalar operand.
using Operand = std::variant<Tensor, Scalar>;

/// `read(call, name)`: the argument as a T; throws Error(InvalidArgument) that names it. The argument is there and is not None.
template <typename T>
struct ArgumentType;

#define SHIM_ARGUMENT_TYPE(T, EXPRESSION)                                                        \
    template <>                                                                                  \
    struct ArgumentType<T> {                                                                     \
        static T read(const Call& c, [[maybe_unused]] std::string_view n) { return EXPRESSION; } \
    };
SHIM_ARGUMENT_TYPE(Tensor, c.tensor(n))
SHIM_ARGUMENT_TYPE(std::vector<Tensor>, c.tensors(n))
SHIM_ARGUMENT_TYPE(bool, c.boolean(n, false))
SHIM_ARGUMENT_TYPE(int8_t, static_cast<int8_t>(c.i32(n)))
SHIM_ARGUMENT_TYPE(int32_t, c.i32(n))
SHIM_ARGUMENT_TYPE(uint32_t, c.u32(n, 0))
SHIM_ARGUMENT_TYPE(int64_t, c.i64(n))
SHIM_ARGUMENT_TYPE(float, c.f32(n, 0))
SHIM_ARGUMENT_TYPE(std::string, c.required_text(n))
SHIM_ARGUMENT_TYPE(std::vector<int32_t>, c.i32s(n))
SHIM_ARGUMENT_TYPE(std::vector<uint32_t>, c.u32s(n))
SHIM_ARGUMENT_TYPE(std::vector<float>, c.f32s(n))
SHIM_ARGUMENT_TYPE(DataType, *c.dtype(n))
SHIM_ARGUMENT_TYPE(Layout, *c.layout(n))
SHIM_ARGUMENT_TYPE(Shape, *c.shape(n))
SHIM_ARGUMENT_TYPE(ttnn::CoreGrid, *c.core_grid(n))
SHIM_ARGUMENT_TYPE(CoreCoord, c.core_grid(n)->to_CoreCoord())
SHIM_ARGUMENT_TYPE(CoreRangeSet, *c.core_range_set(n))
SHIM_ARGUMENT_TYPE(MemoryConfig, c.required_memory_config(n))
SHIM_ARGUMENT_TYPE(ttnn::ComputeKernelConfig, c.required_compute_config(n))
SHIM_ARGUMENT_TYPE(ttnn::MathFidelity, parse_math_fidelity(c.required_text(n)))
SHIM_ARGUMENT_TYPE(TensorMemoryLayout, parse_memory_layout(c.required_text(n)))
SHIM_ARGUMENT_TYPE(ShardOrientation, parse_orientation(c.required_text(n)))
SHIM_ARGUMENT_TYPE(ttnn::MeshDevice*, c.device())
SHIM_ARGUMENT_TYPE(ttnn::MeshCoordinate, ttnn::MeshCoordinate(c.u32s(n)))
#undef SHIM_ARGUMENT_TYPE

/// Before and after, of each dimension.
using PadPairs = ttsl::SmallVector<std::array<uint32_t, 2>>;

/// Declared here, defined where the type is used.
#define SHIM_ARGUMENT_TYPE(T)                                   \
    template <>                                                 \
    struct ArgumentType<T> {                                    \
        static T read(const Call& call, std::string_view name); \
    };
SHIM_ARGUMENT_TYPE(Scalar)     // ops/eltwise
SHIM_ARGUMENT_TYPE(PadPairs)   // ops/data_movement
SHIM_ARGUMENT_TYPE(UnaryStep)  // a name ("relu") or a UnaryWithParam
SHIM_ARGUMENT_TYPE(std::vector<UnaryStep>)
SHIM_ARGUMENT_TYPE(ttnn::operations::op_slicing::Op2DSliceConfig)  // ops/conv/window.cpp
SHIM_ARGUMENT_TYPE(ttnn::prim::Conv2dConfig)
SHIM_ARGUMENT_TYPE(ttnn::experimental::prim::Conv3dConfig)
SHIM_ARGUMENT_TYPE(ttnn::experimental::prim::MinimalMatmulConfig)  // ops/matmul
SHIM_ARGUMENT_TYPE(ttnn::operations::matmul::MatmulProgramConfig)
SHIM_ARGUMENT_TYPE(ttnn::operations::transformer::SDPAProgramConfig)
SHIM_ARGUMENT_TYPE(ttnn::prim::LayerNormProgramConfig)
SHIM_ARGUMENT_TYPE(ttnn::SoftmaxProgramConfig)
#undef SHIM_ARGUMENT_TYPE

/// An enumeration by the names of its members, in the order of their values from 0.
#define SHIM_ENUM_ARGUMENT(T, ...)                                                                                                      \
    template <>                                                                                                                         \
    struct ArgumentType<T> {                                                                                                            \
        static T read(const Call& c, std::string_view n) { return static_cast<T>(parse_member(n, c.required_text(n), {__VA_ARGS__})); } \
    };
SHIM_ENUM_ARGUMENT(tt::tt_fabric::Topology, "NeighborExchange", "Linear", "Ring", "Mesh", "Torus")
SHIM_ENUM_ARGUMENT(ttnn::BcastOpMath, "ADD", "SUB", "MUL")
SHIM_ENUM_ARGUMENT(ttnn::BcastOpDim, "H", "W", "HW")
SHIM_ENUM_ARGUMENT(ttnn::operations::unary::GeluVariant, "Accurate", "FastLut", "Tanh")
SHIM_ENUM_ARGUMENT(ttnn::operations::unary::SigmoidMode, "FastApproximate", "AccurateWithFastExp", "Accurate")
SHIM_ENUM_ARGUMENT(ttnn::prim::EmbeddingsType, "GENERIC", "PADDED", "BINARY")
SHIM_ENUM_ARGUMENT(ttnn::TileReshapeMapMode, "CACHE", "RECREATE")
SHIM_ENUM_ARGUMENT(ttnn::operations::loss::LossReductionMode, "NONE", "MEAN", "SUM")
#undef SHIM_ENUM_ARGUMENT

template <size_t N>
struct ArgumentType<std::array<uint32_t, N>> {
    static std::array<uint32_t, N> read(const Call& call, std::string_view name) { return call.u32_array<N>(name, {}); }
};
template <typename T>
struct ArgumentType<std::optional<T>> {
    static std::optional<T> read(const Call& call, std::string_view name) { return ArgumentType<T>::read(call, name); }
};
/// An empty name is no activation.
template <>
struct ArgumentType<std::optional<UnaryStep>> {
    static std::optional<UnaryStep> read(const Call& call, std::string_view name);
};
/// A tensor, or what else the parameter takes.
template <typename Other>
struct ArgumentType<std::variant<Tensor, Other>> {
    static std::variant<Tensor, Other> read(const Call& call, std::string_view name) {
        if (call.is_tensor(name)) return call.tensor(name);
        return ArgumentType<Other>::read(call, name);
    }
};
/// A tensor, a number, or a list of numbers.
template <>
struct ArgumentType<std::variant<Tensor, Scalar, std::vector<float>>> {
    static std::variant<Tensor, Scalar, std::vector<float>> read(const Call& call, std::string_view name) {
        if (call.is_tensor(name)) return call.tensor(name);
        if (call.is_list(name)) return call.f32s(name);
        return ArgumentType<Scalar>::read(call, name);
    }
};
/// A number, or one per part.
template <typename Number>
struct ArgumentType<std::variant<Number, std::vector<Number>>> {
    static std::variant<Number, std::vector<Number>> read(const Call& call, std::string_view name) {
        if (call.is_list(name)) return ArgumentType<std::vector<Number>>::read(call, name);
        return ArgumentType<Number>::read(call, name);
    }
};
/// One core counts as its grid: two integers are a CoreCoord, four and more are ranges.
template <>
struct ArgumentType<std::variant<CoreCoord, CoreRangeSet>> {
    static std::variant<CoreCoord, CoreRangeSet> read(const Call& call, std::string_view name) {
        if (call.u32s(name).size() == 2) return ArgumentType<CoreCoord>::read(call, name);
        return ArgumentType<CoreRangeSet>::read(call, name);
    }
};
/// An argument that the table offers and no kernel here takes: giving it is an error.
struct Unsupported {};
template <>
struct ArgumentType<Unsupported> {
    static Unsupported read(const Call&, std::string_view name) {
        fail(ErrorCode::NotSupported, text("{} is not supported", name), "leave it out");
    }
};
template <>
struct ArgumentType<tt::tt_metal::Tile> {
    static tt::tt_metal::Tile read(const Call& call, std::string_view name) {
        const auto record = call.record(name);
        if (record == nullptr) return {};
        const auto shape = record->integers("tile_shape");
        SHIM_CHECK(shape.size() == 2, "{}: expected the height and the width of a tile", name);
        return {{static_cast<uint32_t>(shape[0]), static_cast<uint32_t>(shape[1])}, record->boolean("transpose_tile", false)};
    }
};

namespace arguments {

/// Fills the members of an op's struct from a call; those not given keep their defaults.
struct Reader {
    const Call& call;

    template <typename T>
    void required(const char* name, T& member);
    template <typename T>
    void optional(const char* name, T& member);
};

template <typename T>
void Reader::required(const char* name, T& member) {
    member = ArgumentType<T>::read(call, name);
}
template <typename T>
void Reader::optional(const char* name, T& member) {
    if (call.has(name)) {
        member = ArgumentType<T>::read(call, name);
    } else if constexpr (std::is_pointer_v<T>) {  // the device travels beside the named arguments
        member = call.named_device();
    }
}
// clang-format off: the types of most arguments, which are compiled once, in registry.cpp
#define SHIM_COMMON_ARGUMENTS(X) \
    X(Tensor) X(std::optional<Tensor>) X(std::optional<MemoryConfig>) X(MemoryConfig) X(uint32_t) X(std::optional<uint32_t>) \
    X(bool) X(std::optional<bool>) X(float) X(std::optional<float>) X(int32_t) X(std::optional<int32_t>) \
    X(std::optional<CoreRangeSet>) X(DataType) X(std::optional<DataType>) X(Layout) X(std::optional<Layout>) X(std::optional<ttnn::ComputeKernelConfig>) \
    X(std::vector<UnaryStep>) X(std::optional<UnaryStep>) X(std::vector<uint32_t>) X(std::vector<int32_t>) X(Operand) X(Scalar) \
    X(std::optional<std::vector<int32_t>>) X(std::string) X(ttnn::MeshDevice*)
// clang-format on
#define SHIM_DECLARE(...)                                                          \
    extern template void Reader::required<__VA_ARGS__>(const char*, __VA_ARGS__&); \
    extern template void Reader::optional<__VA_ARGS__>(const char*, __VA_ARGS__&);
SHIM_COMMON_ARGUMENTS(SHIM_DECLARE)
#undef SHIM_DECLARE

template <typename Struct>
Struct read(const Call& call) {
    Struct result{};
    Reader reader{call};
    result.visit(reader);
    return result;
}

}  // namespace arguments

/// The results of a kernel as a C++ function gives them back.
template <size_t N>
auto as_tuple(const std::vector<Tensor>& tensors) {
    SHIM_ASSERT(tensors.size() == N);
    return [&]<size_t... I>(std::index_sequence<I...>) { return std::tuple{tensors[I]...}; }(std::make_index_sequence<N>());
}

}  // namespace ttnn_shim
