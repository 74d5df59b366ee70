// Unary eltwise ops. `sub_core_grids` is accepted for source compatibility; the shim always plans on the whole grid.
#pragma once

#include <optional>
#include <variant>
#include <vector>

#include "ttnn/operations/eltwise/unary/common/unary_op_types.hpp"
#include "ttnn/types.hpp"

namespace ttnn {

using operations::unary::BasicUnaryWithParam;
using operations::unary::EltwiseUnaryWithParam;
using operations::unary::GeluVariant;
using operations::unary::SigmoidMode;
using operations::unary::UnaryOpType;
using operations::unary::UnaryWithParam;

// clang-format off
#define TTNN_UNARY_TAIL                                                                                               \
  const std::optional<MemoryConfig>&memory_config = std::nullopt, const std::optional<Tensor>&output = std::nullopt,  \
                    const std::optional<CoreRangeSet>& sub_core_grids = std::nullopt

// op(x)
#define TTNN_UNARY_PLAIN(X)                                                                                           \
  X(abs, ABS) X(acos, ACOS) X(acosh, ACOSH) X(asin, ASIN) X(asinh, ASINH) X(atan, ATAN) X(atanh, ATANH)                \
  X(bitwise_not, BITWISE_NOT) X(cbrt, CBRT) X(ceil, CEIL) X(cos, COS) X(cosh, COSH) X(digamma, DIGAMMA) X(eqz, EQZ)    \
  X(erfc, ERFC) X(erfinv, ERFINV) X(exp2, EXP2) X(expm1, EXPM1) X(floor, FLOOR) X(frac, FRAC) X(gez, GEZ) X(gtz, GTZ)  \
  X(hardmish, HARDMISH) X(hardsigmoid, HARDSIGMOID) X(hardswish, HARDSWISH) X(i0, I0) X(i1, I1) X(identity, IDENTITY)  \
  X(isfinite, ISFINITE) X(isinf, ISINF) X(isnan, ISNAN) X(isneginf, ISNEGINF) X(isposinf, ISPOSINF) X(lez, LEZ)        \
  X(lgamma, LGAMMA) X(log_sigmoid, LOGSIGMOID) X(logical_not, LOGICAL_NOT_UNARY) X(ltz, LTZ) X(neg, NEG) X(nez, NEZ)   \
  X(reciprocal, RECIP) X(relu, RELU) X(relu6, RELU6) X(sign, SIGN) X(signbit, SIGNBIT) X(silu, SILU) X(sin, SIN)       \
  X(sinh, SINH) X(softsign, SOFTSIGN) X(square, SQUARE) X(swish, SILU) X(tan, TAN) X(tanhshrink, TANHSHRINK)           \
  X(trunc, TRUNC)
// op(x, fast_and_approximate_mode): the mode changes the predicted time, not the value
#define TTNN_UNARY_APPROX(X)                                                                                          \
  X(erf, ERF) X(exp, EXP) X(log, LOG) X(log10, LOG10) X(log1p, LOG1P) X(log2, LOG2) X(mish, MISH) X(rsqrt, RSQRT)      \
  X(sigmoid_accurate, SIGMOID) X(sqrt, SQRT)
// op(x, parameter): X(name, type, the parameter's name in Python)
#define TTNN_UNARY_FLOAT(X)                                                                                           \
  X(celu, CELU, alpha) X(elu, ELU, alpha) X(hardshrink, HARDSHRINK, lambd) X(heaviside, HEAVISIDE, value)              \
  X(leaky_relu, LEAKY_RELU, negative_slope) X(rpow, RPOW, exponent) X(softcap, SOFTCAP, beta)                          \
  X(softshrink, SOFTSHRINK, lambd)
// op(x, first, second)
#define TTNN_UNARY_TWO_FLOATS(X)                                                                                      \
  X(hardtanh, HARDTANH, min_val, max_val) X(selu, SELU, scale, alpha) X(softplus, SOFTPLUS, beta, threshold)           \
  X(threshold, THRESHOLD, threshold, value) X(xielu, XIELU, alpha_p, alpha_n)
// op(x, integer or float)
#define TTNN_UNARY_SCALAR(X)                                                                                          \
  X(fill, FILL, fill_value) X(relu_max, RELU_MAX, upper_limit) X(relu_min, RELU_MIN, lower_limit)
// the same, functions of the C++ API alone
#define TTNN_UNARY_SCALAR_CPP(X)                                                                                      \
  X(eq_unary, UNARY_EQ) X(ne_unary, UNARY_NE) X(gt_unary, UNARY_GT) X(ge_unary, UNARY_GE) X(lt_unary, UNARY_LT)        \
  X(le_unary, UNARY_LE)
// clang-format on

#define TTNN_DECLARE(name, ...) Tensor name(const Tensor& input, TTNN_UNARY_TAIL);
TTNN_UNARY_PLAIN(TTNN_DECLARE)
#undef TTNN_DECLARE
#define TTNN_DECLARE(name, ...) Tensor name(const Tensor& input, bool fast_and_approximate_mode = false, TTNN_UNARY_TAIL);
TTNN_UNARY_APPROX(TTNN_DECLARE)
#undef TTNN_DECLARE
#define TTNN_DECLARE(name, ...) Tensor name(const Tensor& input, float parameter, TTNN_UNARY_TAIL);
TTNN_UNARY_FLOAT(TTNN_DECLARE)
#undef TTNN_DECLARE
#define TTNN_DECLARE(name, ...) Tensor name(const Tensor& input, float first, float second, TTNN_UNARY_TAIL);
TTNN_UNARY_TWO_FLOATS(TTNN_DECLARE)
#undef TTNN_DECLARE
#define TTNN_DECLARE(name, ...) Tensor name(const Tensor& input, std::variant<uint32_t, int32_t, float> parameter, TTNN_UNARY_TAIL);
TTNN_UNARY_SCALAR(TTNN_DECLARE)
TTNN_UNARY_SCALAR_CPP(TTNN_DECLARE)
#undef TTNN_DECLARE

Tensor gelu(const Tensor& input, GeluVariant variant = GeluVariant::Accurate, TTNN_UNARY_TAIL);
Tensor gelu(const Tensor& input, bool fast_and_approximate_mode, TTNN_UNARY_TAIL);
Tensor sigmoid(const Tensor& input, int vector_mode = 4, SigmoidMode mode = SigmoidMode::Accurate, TTNN_UNARY_TAIL);
Tensor tanh(
    const Tensor& input, const std::optional<MemoryConfig>& memory_config = std::nullopt,
    const std::optional<Tensor>& output = std::nullopt, bool fast_and_approximate_mode = false,
    const std::optional<CoreRangeSet>& sub_core_grids = std::nullopt);
Tensor round(const Tensor& input, const std::optional<int>& decimals = std::nullopt, TTNN_UNARY_TAIL);
Tensor logit(const Tensor& input, std::optional<float> eps = std::nullopt, TTNN_UNARY_TAIL);
Tensor deg2rad(const Tensor& input, TTNN_UNARY_TAIL);
Tensor rad2deg(const Tensor& input, TTNN_UNARY_TAIL);
Tensor rdiv(const Tensor& input, float value, const std::optional<std::string>& rounding_mode = std::nullopt, TTNN_UNARY_TAIL);
Tensor polygamma(const Tensor& input, int k, const std::optional<MemoryConfig>& memory_config = std::nullopt);
Tensor logical_not_(const Tensor& input, const std::optional<MemoryConfig>& memory_config = std::nullopt);
Tensor unary_chain(const Tensor& input, const std::vector<EltwiseUnaryWithParam>& ops_chain, TTNN_UNARY_TAIL);

/// The same bits under another dtype of the same width.
Tensor bitcast(const Tensor& input, const DataType& dtype, TTNN_UNARY_TAIL);

/// Gated units: the last or given dimension is halved into a, b; the result is a * activation(b).
Tensor glu(const Tensor& input, int dim = -1, const std::optional<MemoryConfig>& memory_config = std::nullopt);
Tensor reglu(const Tensor& input, int dim = -1, const std::optional<MemoryConfig>& memory_config = std::nullopt);
Tensor geglu(const Tensor& input, int dim = -1, const std::optional<MemoryConfig>& memory_config = std::nullopt);
Tensor swiglu(const Tensor& input, int dim = -1, const std::optional<MemoryConfig>& memory_config = std::nullopt);
/// Lower or upper triangle of the last two dimensions; the rest is 0.
Tensor tril(const Tensor& input, int diagonal = 0, const std::optional<MemoryConfig>& memory_config = std::nullopt);
Tensor triu(const Tensor& input, int diagonal = 0, const std::optional<MemoryConfig>& memory_config = std::nullopt);

}  // namespace ttnn
