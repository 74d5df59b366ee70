// Binary eltwise ops with numpy broadcasting; an operand may be a scalar; activations may be fused before and after.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "tt_stl/span.hpp"
#include "ttnn/operations/eltwise/binary/common/binary_op_types.hpp"
#include "ttnn/operations/eltwise/unary/common/unary_op_types.hpp"
#include "ttnn/types.hpp"

namespace ttnn {

using operations::binary::BinaryOpType;

namespace operations::binary {
using ScalarVariant = std::variant<uint32_t, int32_t, float>;
using Activations = ttsl::Span<const unary::EltwiseUnaryWithParam>;
}  // namespace operations::binary

// clang-format off
#define TTNN_BINARY_MIDDLE                                                                                            \
  const std::optional<const DataType>&dtype = std::nullopt, const std::optional<MemoryConfig>&memory_config = std::nullopt, \
                      const std::optional<Tensor>&output = std::nullopt, operations::binary::Activations post_activations = {}, \
                      operations::binary::Activations lhs_activations = {}, operations::binary::Activations rhs_activations = {}
#define TTNN_BINARY_GRIDS                                                                                             \
  const std::optional<CoreRangeSet>&sub_core_grids = std::nullopt, const std::optional<SubDeviceId>& sub_device_id = std::nullopt
#define TTNN_BINARY_CHAINS                                                                                            \
  operations::binary::Activations post_activations = {}, operations::binary::Activations lhs_activations = {},        \
                                  operations::binary::Activations rhs_activations = {}

// op(a, b), either operand a scalar, with a speed flag: X(C++ name, type, Python name)
#define TTNN_BINARY_ARITHMETIC(X) X(add, ADD, "add") X(subtract, SUB, "sub") X(multiply, MUL, "mul") X(divide, DIV, "divide")
// op(a, b), b may be a scalar
#define TTNN_BINARY_GENERAL(X)                                                                                        \
  X(eq, EQ) X(ne, NE) X(gt, GT) X(ge, GE) X(lt, LT) X(le, LE) X(ldexp, LDEXP) X(logaddexp, LOGADDEXP)                  \
  X(logaddexp2, LOGADDEXP2) X(logical_and, LOGICAL_AND) X(logical_or, LOGICAL_OR) X(logical_xor, LOGICAL_XOR)          \
  X(logical_right_shift, LOGICAL_RIGHT_SHIFT) X(remainder, REMAINDER) X(squared_difference, SQUARED_DIFFERENCE) X(xlogy, XLOGY)
#define TTNN_BINARY_COMPARE(X) X(eq) X(ne) X(gt) X(ge) X(lt) X(le)
#define TTNN_BINARY_SHORT(X) X(maximum, MAXIMUM) X(minimum, MINIMUM)
#define TTNN_BINARY_INTEGER(X) X(gcd, GCD) X(lcm, LCM)
#define TTNN_BINARY_BITWISE(X)                                                                                        \
  X(bitwise_and, BITWISE_AND) X(bitwise_or, BITWISE_OR) X(bitwise_xor, BITWISE_XOR) X(bitwise_left_shift, LEFT_SHIFT)  \
  X(bitwise_right_shift, RIGHT_SHIFT) X(logical_left_shift, LEFT_SHIFT)
#define TTNN_BINARY_INPLACE_FAST(X) X(add_, ADD) X(subtract_, SUB) X(multiply_, MUL) X(divide_, DIV) X(rsub_, RSUB)
#define TTNN_BINARY_INPLACE(X)                                                                                        \
  X(eq_, EQ) X(ne_, NE) X(gt_, GT) X(ge_, GE) X(lt_, LT) X(le_, LE) X(ldexp_, LDEXP) X(logaddexp_, LOGADDEXP)          \
  X(logaddexp2_, LOGADDEXP2) X(logical_and_, LOGICAL_AND) X(logical_or_, LOGICAL_OR) X(logical_xor_, LOGICAL_XOR)      \
  X(squared_difference_, SQUARED_DIFFERENCE) X(bias_gelu_, BIAS_GELU)
#define TTNN_BINARY_PLAIN(X) X(atan2, ATAN2) X(nextafter, NEXTAFTER)
// clang-format on

#define TTNN_DECLARE(name, ...)                                                                                                    \
    Tensor name(                                                                                                                   \
        const Tensor& a, const Tensor& b, TTNN_BINARY_MIDDLE, const std::optional<bool>& fast_and_approximate_mode = std::nullopt, \
        TTNN_BINARY_GRIDS);                                                                                                        \
    Tensor name(                                                                                                                   \
        const Tensor& a, operations::binary::ScalarVariant b, TTNN_BINARY_MIDDLE,                                                  \
        const std::optional<bool>& fast_and_approximate_mode = std::nullopt, TTNN_BINARY_GRIDS);                                   \
    Tensor name(                                                                                                                   \
        operations::binary::ScalarVariant a, const Tensor& b, TTNN_BINARY_MIDDLE,                                                  \
        const std::optional<bool>& fast_and_approximate_mode = std::nullopt, TTNN_BINARY_GRIDS);
TTNN_BINARY_ARITHMETIC(TTNN_DECLARE)
#undef TTNN_DECLARE
#define TTNN_DECLARE(name, ...)                                                           \
    Tensor name(const Tensor& a, const Tensor& b, TTNN_BINARY_MIDDLE, TTNN_BINARY_GRIDS); \
    Tensor name(const Tensor& a, operations::binary::ScalarVariant b, TTNN_BINARY_MIDDLE, TTNN_BINARY_GRIDS);
TTNN_BINARY_GENERAL(TTNN_DECLARE)
#undef TTNN_DECLARE
#define TTNN_DECLARE(name)                                                                   \
    Tensor name(                                                                             \
        float a, const Tensor& b, const std::optional<const DataType>& dtype = std::nullopt, \
        const std::optional<MemoryConfig>& memory_config = std::nullopt, const std::optional<Tensor>& output = std::nullopt);
TTNN_BINARY_COMPARE(TTNN_DECLARE)
#undef TTNN_DECLARE
#define TTNN_DECLARE(name, ...)                                        \
    Tensor name(const Tensor& a, const Tensor& b, TTNN_BINARY_MIDDLE); \
    Tensor name(const Tensor& a, operations::binary::ScalarVariant b, TTNN_BINARY_MIDDLE);
TTNN_BINARY_SHORT(TTNN_DECLARE)
#undef TTNN_DECLARE
#define TTNN_DECLARE(name, ...) Tensor name(const Tensor& a, const Tensor& b, TTNN_BINARY_MIDDLE);
TTNN_BINARY_INTEGER(TTNN_DECLARE)
#undef TTNN_DECLARE
#define TTNN_DECLARE(name, ...)                                                                            \
    Tensor name(                                                                                           \
        const Tensor& a, const Tensor& b, const std::optional<MemoryConfig>& memory_config = std::nullopt, \
        const std::optional<Tensor>& output = std::nullopt, TTNN_BINARY_CHAINS, TTNN_BINARY_GRIDS);        \
    Tensor name(                                                                                           \
        const Tensor& a, int32_t b, const std::optional<MemoryConfig>& memory_config = std::nullopt,       \
        const std::optional<Tensor>& output = std::nullopt, TTNN_BINARY_CHAINS, TTNN_BINARY_GRIDS);
TTNN_BINARY_BITWISE(TTNN_DECLARE)
#undef TTNN_DECLARE
#define TTNN_DECLARE(name, ...)                                                                                             \
    Tensor name(                                                                                                            \
        const Tensor& a, const Tensor& b, TTNN_BINARY_CHAINS, std::optional<bool> fast_and_approximate_mode = std::nullopt, \
        TTNN_BINARY_GRIDS);                                                                                                 \
    Tensor name(                                                                                                            \
        const Tensor& a, operations::binary::ScalarVariant b, TTNN_BINARY_CHAINS,                                           \
        std::optional<bool> fast_and_approximate_mode = std::nullopt, TTNN_BINARY_GRIDS);
TTNN_BINARY_INPLACE_FAST(TTNN_DECLARE)
#undef TTNN_DECLARE
#define TTNN_DECLARE(name, ...)                                                           \
    Tensor name(const Tensor& a, const Tensor& b, TTNN_BINARY_CHAINS, TTNN_BINARY_GRIDS); \
    Tensor name(const Tensor& a, operations::binary::ScalarVariant b, TTNN_BINARY_CHAINS, TTNN_BINARY_GRIDS);
TTNN_BINARY_INPLACE(TTNN_DECLARE)
#undef TTNN_DECLARE
#define TTNN_DECLARE(name, ...) \
    Tensor name(const Tensor& a, const Tensor& b, const std::optional<MemoryConfig>& memory_config = std::nullopt);
TTNN_BINARY_PLAIN(TTNN_DECLARE)
#undef TTNN_DECLARE

Tensor bias_gelu(
    const Tensor& a, const Tensor& b, TTNN_BINARY_MIDDLE, TTNN_BINARY_GRIDS,
    const std::optional<bool>& fast_and_approximate_mode = std::nullopt);
Tensor bias_gelu(
    const Tensor& a, operations::binary::ScalarVariant b, TTNN_BINARY_MIDDLE, TTNN_BINARY_GRIDS,
    const std::optional<bool>& fast_and_approximate_mode = std::nullopt);
/// b - a.
Tensor rsub(const Tensor& a, const Tensor& b, TTNN_BINARY_MIDDLE, const std::optional<bool>& fast_and_approximate_mode = std::nullopt);
Tensor rsub(
    const Tensor& a, operations::binary::ScalarVariant b, TTNN_BINARY_MIDDLE,
    const std::optional<bool>& fast_and_approximate_mode = std::nullopt);
/// a / b, then `rounding_mode` trunc or floor.
Tensor div(
    const Tensor& a, const Tensor& b, bool fast_and_approximate_mode = false,
    const std::optional<std::string>& rounding_mode = std::nullopt, TTNN_BINARY_MIDDLE, TTNN_BINARY_GRIDS);
Tensor div(
    const Tensor& a, operations::binary::ScalarVariant b, bool fast_and_approximate_mode = false,
    const std::optional<std::string>& rounding_mode = std::nullopt, TTNN_BINARY_MIDDLE, TTNN_BINARY_GRIDS);
Tensor div(
    operations::binary::ScalarVariant a, const Tensor& b, bool fast_and_approximate_mode = false,
    const std::optional<std::string>& rounding_mode = std::nullopt, TTNN_BINARY_MIDDLE, TTNN_BINARY_GRIDS);
Tensor div_no_nan(const Tensor& a, const Tensor& b, const std::optional<MemoryConfig>& memory_config = std::nullopt);
Tensor div_no_nan(const Tensor& a, operations::binary::ScalarVariant b, const std::optional<MemoryConfig>& memory_config = std::nullopt);
Tensor floor_div(const Tensor& a, const Tensor& b, const std::optional<MemoryConfig>& memory_config = std::nullopt);
Tensor floor_div(const Tensor& a, operations::binary::ScalarVariant b, const std::optional<MemoryConfig>& memory_config = std::nullopt);
Tensor fmod(const Tensor& a, const Tensor& b, const std::optional<MemoryConfig>& memory_config = std::nullopt, TTNN_BINARY_GRIDS);
Tensor fmod(
    const Tensor& a, operations::binary::ScalarVariant b, const std::optional<MemoryConfig>& memory_config = std::nullopt,
    TTNN_BINARY_GRIDS);
Tensor hypot(
    const Tensor& a, const Tensor& b, const std::optional<MemoryConfig>& memory_config = std::nullopt,
    const std::optional<Tensor>& output = std::nullopt);
Tensor pow(
    const Tensor& input, int32_t exponent, const std::optional<MemoryConfig>& memory_config = std::nullopt,
    const std::optional<Tensor>& output = std::nullopt);
Tensor pow(
    const Tensor& input, float exponent, const std::optional<MemoryConfig>& memory_config = std::nullopt,
    const std::optional<Tensor>& output = std::nullopt);
Tensor pow(const Tensor& input, const Tensor& exponent, TTNN_BINARY_MIDDLE);
Tensor pow(float input, const Tensor& exponent, TTNN_BINARY_MIDDLE);
/// a + alpha * b and a - alpha * b.
Tensor addalpha(
    const Tensor& a, const Tensor& b, float alpha, const std::optional<MemoryConfig>& memory_config = std::nullopt,
    const std::optional<Tensor>& output = std::nullopt);
Tensor subalpha(
    const Tensor& a, const Tensor& b, float alpha, const std::optional<MemoryConfig>& memory_config = std::nullopt,
    const std::optional<Tensor>& output = std::nullopt);
Tensor isclose(
    const Tensor& a, const Tensor& b, float rtol = 1e-5F, float atol = 1e-8F, bool equal_nan = false,
    const std::optional<MemoryConfig>& memory_config = std::nullopt);
Tensor prelu(const Tensor& a, const Tensor& weight, const std::optional<MemoryConfig>& memory_config = std::nullopt);
Tensor prelu(const Tensor& a, operations::binary::ScalarVariant weight, const std::optional<MemoryConfig>& memory_config = std::nullopt);
Tensor prelu(const Tensor& a, const std::array<float, 1>& weight, const std::optional<MemoryConfig>& memory_config = std::nullopt);
/// Polynomial with the highest coefficient first.
Tensor polyval(const Tensor& a, const std::vector<float>& coeffs, const std::optional<MemoryConfig>& memory_config = std::nullopt);

}  // namespace ttnn
