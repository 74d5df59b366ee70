// Calls of a registered op by C++ functions. Ops whose kernels are written against `Call` have one body for both doors:
//
//     Tensor fold(const Tensor& input, uint32_t stride_h, uint32_t stride_w) {
//         return one("ttnn.fold", {{"input", input}, {"stride_h", stride_h}, {"stride_w", stride_w}});
//     }
//
// Names are those of the Python parameters; an empty optional is an argument that was not given.
#pragma once

#include <array>
#include <concepts>
#include <initializer_list>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "ops/registry.hpp"
#include "ttnn/operations/experimental/conv3d/device/conv3d_device_operation_types.hpp"
#include "ttnn/operations/eltwise/unary/common/unary_op_types.hpp"
#include "ttnn/operations/experimental/minimal_matmul/device/minimal_matmul_device_operation_types.hpp"
#include "ttnn/operations/sliding_window/op_slicing/op_slicing.hpp"
#include "ttnn/operations/transformer/sdpa_config.hpp"

namespace ttnn_shim {

/// A value on its way into a `Call`; monostate: not given.
using GivenValue = std::variant<std::monostate, Attr, Tensor, std::vector<Tensor>>;

inline GivenValue given(const Tensor& tensor) { return tensor; }
inline GivenValue given(const std::vector<Tensor>& tensors) { return tensors; }
inline GivenValue given(const std::string& text) { return Attr{text}; }
inline GivenValue given(const char* text) { return Attr{std::string(text)}; }
template <typename Number>
    requires std::integral<Number> || std::floating_point<Number>
GivenValue given(Number value) {
    if constexpr (std::same_as<Number, bool>) {
        return Attr{value};
    } else if constexpr (std::integral<Number>) {
        return Attr{static_cast<int64_t>(value)};
    } else {
        return Attr{static_cast<double>(value)};
    }
}
inline GivenValue given(const std::vector<double>& values) { return Attr{values}; }
GivenValue given(DataType dtype);
GivenValue given(Layout layout);
GivenValue given(tt::tt_metal::TensorMemoryLayout layout);
GivenValue given(ttnn::MathFidelity fidelity);
GivenValue given(const CoreCoord& at);
GivenValue given(const Shape& shape);
GivenValue given(const CoreRangeSet& cores);
GivenValue given(const MemoryConfig& config);
GivenValue given(const ttnn::ComputeKernelConfig& config);
GivenValue given(const ttnn::operations::transformer::SDPAProgramConfig& config);
GivenValue given(const ttnn::operations::op_slicing::Op2DSliceConfig& config);
GivenValue given(const ttnn::operations::unary::UnaryWithParam& step);
GivenValue given(const ttnn::experimental::prim::Conv3dConfig& config);
GivenValue given(const ttnn::experimental::prim::MinimalMatmulConfig& config);
template <typename Integer>
    requires std::integral<Integer>
GivenValue given(std::span<const Integer> values) {
    return Attr{std::vector<int64_t>(values.begin(), values.end())};
}
template <typename Integer, size_t N>
GivenValue given(const std::array<Integer, N>& values) {
    return given(std::span<const Integer>(values));
}
template <typename Integer>
    requires std::integral<Integer>
GivenValue given(const std::vector<Integer>& values) {
    return given(std::span<const Integer>(values));
}
template <typename... Items>
GivenValue given(const std::variant<Items...>& value) {
    return std::visit([](const auto& item) { return given(item); }, value);
}
template <typename T>
GivenValue given(const std::optional<T>& value) {
    return value ? given(*value) : GivenValue{};
}

struct Given {
    template <typename T>
    Given(const char* name, const T& value) : name(name), value(given(value)) {}

    const char* name;
    GivenValue value;
};

/// Runs the op as the Python door does.
Result run_op(const char* op, std::initializer_list<Given> arguments, ttnn::MeshDevice* device = nullptr);
/// Its first tensor.
Tensor one(const char* op, std::initializer_list<Given> arguments, ttnn::MeshDevice* device = nullptr);
/// Its tensors, `count` of them when that is not 0.
std::vector<Tensor> several(const char* op, std::initializer_list<Given> arguments, size_t count = 0);

}  // namespace ttnn_shim
