// Block kernels for one instruction set: included by kernels_{avx512,baseline}.cpp with KERNEL_NS and KERNEL_FMA set and the
// compiler's target chosen. Everything here is a plain loop over contiguous floats that the compiler vectorises.
// Ops are rows of tables; `x`, `a`, `b` are the operands, `p0..p2` the parameters.

namespace ttnn_shim::kernels {
namespace KERNEL_NS {

#include "ops/kernels/lane_math.inl"

constexpr size_t LANES = 32;

// clang-format off
/// Unary ops in float: X(UnaryOpType, expression of x and p0, p1, p2).
#define FLOAT_UNARY(X) \
  X(EXP, exp_lane(x)) \
  X(RECIP, 1.0f / x) \
  X(GELU, gelu_lane(x)) \
  X(GELU_TANH, gelu_tanh_lane(x)) \
  X(RELU, x != x ? x : (x > 0.0f ? x : 0.0f)) \
  X(SQRT, __builtin_sqrtf(x)) \
  X(RSQRT, 1.0f / __builtin_sqrtf(x)) \
  X(SIGMOID, sigmoid_lane(x)) \
  X(LOG, log_lane(x)) \
  X(LOG1P, log1p_lane(x)) \
  X(TANH, tanh_lane(x)) \
  X(LOG2, log_lane(x) * 1.44269504f) \
  X(LOG10, log_lane(x) * 0.434294482f) \
  X(ABS, abs_lane(x)) \
  X(SIGN, x != x ? x : (x > 0.0f ? 1.0f : (x < 0.0f ? -1.0f : 0.0f))) \
  X(SQUARE, x * x) \
  X(EQZ, x == 0.0f ? 1.0f : 0.0f) \
  X(NEZ, x != 0.0f ? 1.0f : 0.0f) \
  X(GTZ, x > 0.0f ? 1.0f : 0.0f) \
  X(LTZ, x < 0.0f ? 1.0f : 0.0f) \
  X(GEZ, x >= 0.0f ? 1.0f : 0.0f) \
  X(LEZ, x <= 0.0f ? 1.0f : 0.0f) \
  X(RELU_MAX, x != x ? x : (x > p0 ? (p0 > 0.0f ? p0 : 0.0f) : (x > 0.0f ? x : 0.0f))) \
  X(RELU_MIN, x != x ? x : (x > p0 ? x : p0)) \
  X(LEAKY_RELU, x > 0.0f ? x : x * p0) \
  X(PRELU_SFPU, x > 0.0f ? x : x * p0) \
  X(ELU, x > 0.0f ? x : p0 * expm1_lane(x)) \
  X(CELU, x > 0.0f ? x : p0 * expm1_lane(x / p0)) \
  X(SELU, p0 * (x > 0.0f ? x : p1 * expm1_lane(x))) \
  X(EXP2, exp_lane(x * 0.693147181f)) \
  X(HEAVISIDE, x != x ? x : (x > 0.0f ? 1.0f : (x < 0.0f ? 0.0f : p0))) \
  X(EXPM1, expm1_lane(x)) \
  X(SIGNBIT, (float_to_bits(x) >> 31) != 0 ? 1.0f : 0.0f) \
  X(RELU6, x != x ? x : (x > 6.0f ? 6.0f : (x > 0.0f ? x : 0.0f))) \
  X(ERF, erf_lane(x)) \
  X(ERFC, erfc_lane(x)) \
  X(ISINF, abs_lane(x) == INFINITY ? 1.0f : 0.0f) \
  X(ISPOSINF, x == INFINITY ? 1.0f : 0.0f) \
  X(ISNEGINF, x == -INFINITY ? 1.0f : 0.0f) \
  X(ISNAN, x != x ? 1.0f : 0.0f) \
  X(ISFINITE, abs_lane(x) < INFINITY ? 1.0f : 0.0f) \
  X(LOGICAL_NOT_UNARY, x == 0.0f ? 1.0f : 0.0f) \
  X(RSUB, p0 - x) \
  X(RDIV, p0 / x) \
  X(SILU, silu_lane(x)) \
  X(SOFTPLUS, softplus_lane(x, p0, p1)) \
  X(IDENTITY, x) \
  X(NEG, -x) \
  X(ADD_UNARY_SFPU, x + p0) \
  X(SUB_UNARY_SFPU, x - p0) \
  X(MUL_UNARY_SFPU, x * p0) \
  X(DIV_UNARY_SFPU, x / p0) \
  X(UNARY_NE, x != p0 ? 1.0f : 0.0f) \
  X(UNARY_EQ, x == p0 ? 1.0f : 0.0f) \
  X(UNARY_GT, x > p0 ? 1.0f : 0.0f) \
  X(UNARY_LT, x < p0 ? 1.0f : 0.0f) \
  X(UNARY_GE, x >= p0 ? 1.0f : 0.0f) \
  X(UNARY_LE, x <= p0 ? 1.0f : 0.0f) \
  X(FLOOR, floor_lane(x)) \
  X(CEIL, ceil_lane(x)) \
  X(TRUNC, trunc_lane(x)) \
  X(FRAC, x - trunc_lane(x)) \
  X(FILL, x * 0.0f == 0.0f ? p0 : p0) \
  X(MISH, mish_lane(x)) \
  X(HARDMISH, x * min_lane(max_lane(x + 2.8f, 0.0f), 5.0f) * 0.2f) \
  X(MAXIMUM, max_lane(x, p0)) \
  X(MINIMUM, min_lane(x, p0)) \
  X(TANHSHRINK, x - tanh_lane(x)) \
  X(THRESHOLD, x > p0 ? x : p1) \
  X(SOFTSHRINK, x > p0 ? x - p0 : (x < -p0 ? x + p0 : (x != x ? x : 0.0f))) \
  X(HARDSHRINK, (x > p0 || x < -p0 || x != x) ? x : 0.0f) \
  X(HARDTANH, min_lane(max_lane(x, p0), p1)) \
  X(CLAMP_TSS, min_lane(max_lane(x, p0), p1)) \
  X(HARDSIGMOID, min_lane(max_lane(x / 6.0f + 0.5f, 0.0f), 1.0f)) \
  X(HARDSWISH, x == -INFINITY ? -0.0f : x * min_lane(max_lane(x / 6.0f + 0.5f, 0.0f), 1.0f)) \
  X(WHERE_TSS, x != 0.0f ? p0 : p1) \
  X(MAC_TSS, mul_add(x, p0, p1)) \
  X(SOFTSIGN, x / (1.0f + abs_lane(x))) \
  X(LOGSIGMOID, min_lane(x, 0.0f) - log1p_lane(exp_lane(-abs_lane(x)))) \
  X(SOFTCAP, p0 * tanh_lane(x / p0)) \
  X(XIELU, x > 0.0f ? mul_add(p0 * x, x, 0.5f * x) : p1 * (expm1_lane(min_lane(x, -1e-6f)) - x) + 0.5f * x)

/// Unary ops that call the C library, one value at a time.
#define LIBRARY_UNARY(X) \
  X(COSH, std::cosh(x)) \
  X(SINH, std::sinh(x)) \
  X(ASIN, std::asin(x)) \
  X(ACOS, std::acos(x)) \
  X(ACOSH, std::acosh(x)) \
  X(ATAN, std::atan(x)) \
  X(ASINH, std::asinh(x)) \
  X(ATANH, std::atanh(x)) \
  X(CBRT, std::cbrt(x)) \
  X(TAN, std::tan(x)) \
  X(ERFINV, cold::erfinv(x)) \
  X(I0, cold::bessel_i0(x)) \
  X(I1, cold::bessel_i1(x)) \
  X(LGAMMA, cold::lgamma(x)) \
  X(DIGAMMA, cold::digamma(x)) \
  X(POLYGAMMA, cold::polygamma(static_cast<int>(p0), x)) \
  X(POWER, std::pow(x, p0)) \
  X(POWER_ITERATIVE, std::pow(x, p0)) \
  X(RPOW, std::pow(p0, x)) \
  X(ROUND, cold::round_decimals(x, static_cast<int>(p0))) \
  X(REMAINDER, cold::remainder(x, p0)) \
  X(FMOD, std::fmod(x, p0)) \
  X(LOGIT, cold::logit(x, p0))

/// Binary ops in float: X(BinaryOpType, expression of a and b).
#define FLOAT_BINARY(X) \
  X(ADD, a + b) \
  X(SUB, a - b) \
  X(MUL, a * b) \
  X(DIV, a / b) \
  X(RSUB, b - a) \
  X(GT, a > b ? 1.0f : 0.0f) \
  X(LT, a < b ? 1.0f : 0.0f) \
  X(LE, a <= b ? 1.0f : 0.0f) \
  X(GE, a >= b ? 1.0f : 0.0f) \
  X(EQ, a == b ? 1.0f : 0.0f) \
  X(NE, a != b ? 1.0f : 0.0f) \
  X(SQUARED_DIFFERENCE, (a - b) * (a - b)) \
  X(BIAS_GELU, gelu_lane(a + b)) \
  X(LOGICAL_AND, ((a != 0.0f) & (b != 0.0f)) ? 1.0f : 0.0f) \
  X(LOGICAL_OR, ((a != 0.0f) | (b != 0.0f)) ? 1.0f : 0.0f) \
  X(LOGICAL_XOR, ((a != 0.0f) != (b != 0.0f)) ? 1.0f : 0.0f) \
  X(MAXIMUM, max_lane(a, b)) \
  X(MINIMUM, min_lane(a, b)) \
  X(LDEXP, a * exp_lane(b * 0.693147181f))

#define LIBRARY_BINARY(X) \
  X(LOGADDEXP, cold::logaddexp(a, b)) \
  X(LOGADDEXP2, cold::logaddexp2(a, b)) \
  X(DIV_FLOOR, std::floor(a / b)) \
  X(DIV_TRUNC, std::trunc(a / b)) \
  X(REMAINDER, cold::remainder(a, b)) \
  X(FMOD, std::fmod(a, b)) \
  X(POWER, std::pow(a, b)) \
  X(XLOGY, cold::xlogy(a, b)) \
  X(HYPOT, std::hypot(a, b)) \
  X(ATAN2, std::atan2(a, b)) \
  X(NEXTAFTER, std::nextafter(a, b))
// clang-format on

#define DEFINE_UNARY(NAME, EXPRESSION)                                                             \
  void unary_##NAME(const float* source, float* target, size_t count, const float* params) {       \
    [[maybe_unused]] const float p0 = params[0], p1 = params[1];                                   \
    _Pragma("GCC ivdep") for (size_t i = 0; i < count; ++i) {                                      \
      [[maybe_unused]] const float x = source[i];                                                  \
      target[i] = (EXPRESSION);                                                                    \
    }                                                                                              \
  }
#define DEFINE_BINARY(NAME, EXPRESSION)                                                            \
  void binary_##NAME(const float* left, const float* right, float* target, size_t count) {         \
    _Pragma("GCC ivdep") for (size_t i = 0; i < count; ++i) {                                      \
      const float a = left[i], b = right[i];                                                       \
      target[i] = (EXPRESSION);                                                                    \
    }                                                                                              \
  }

FLOAT_UNARY(DEFINE_UNARY)
LIBRARY_UNARY(DEFINE_UNARY)
FLOAT_BINARY(DEFINE_BINARY)
LIBRARY_BINARY(DEFINE_BINARY)

DEFINE_UNARY(GELU_SHORT, gelu_short_lane(x))

/// sin and cos: the fast reduction for a block whose arguments all lie in its range, the C library otherwise.
template <bool Sine>
void trigonometric(const float* source, float* target, size_t count, const float*) {
  bool in_range = true;
  for (size_t i = 0; i < count; ++i) in_range &= abs_lane(source[i]) <= SIN_LIMIT;
  if (!in_range) {
    for (size_t i = 0; i < count; ++i) target[i] = Sine ? std::sin(source[i]) : std::cos(source[i]);
    return;
  }
#pragma GCC ivdep
  for (size_t i = 0; i < count; ++i) {
    const float x = source[i];
    const SinCos pair = sin_cos(x);
    target[i] = Sine ? (x == 0.0f ? x : pair.sine) : pair.cosine;
  }
}

void fill_tables(UnaryBlock* unary, BinaryBlock* binary) {
#define ENTER_UNARY(NAME, EXPRESSION) unary[static_cast<size_t>(UnaryOpType::NAME)] = unary_##NAME;
#define ENTER_BINARY(NAME, EXPRESSION) binary[static_cast<size_t>(BinaryOpType::NAME)] = binary_##NAME;
  FLOAT_UNARY(ENTER_UNARY)
  LIBRARY_UNARY(ENTER_UNARY)
  FLOAT_BINARY(ENTER_BINARY)
  LIBRARY_BINARY(ENTER_BINARY)
#undef ENTER_UNARY
#undef ENTER_BINARY
  unary[static_cast<size_t>(UnaryOpType::SIN)] = trigonometric<true>;
  unary[static_cast<size_t>(UnaryOpType::COS)] = trigonometric<false>;
}

// ---- row kernels -------------------------------------------------------------------------------------------------------
// Sums use a fixed number of lanes, so that every instruction set adds in the same order.

LANE float fold_sum(const float* lanes) {
  float s[16], t[8];
  for (size_t l = 0; l < 16; ++l) s[l] = lanes[l] + lanes[l + 16];
  for (size_t l = 0; l < 8; ++l) t[l] = s[l] + s[l + 8];
  return ((t[0] + t[4]) + (t[1] + t[5])) + ((t[2] + t[6]) + (t[3] + t[7]));
}

#define DEFINE_SUM(NAME, TERM)                                                                     \
  float NAME(const float* source, size_t count, [[maybe_unused]] float mean) {                     \
    float lanes[LANES] = {};                                                                       \
    size_t i = 0;                                                                                  \
    for (; i + LANES <= count; i += LANES) {                                                       \
      for (size_t l = 0; l < LANES; ++l) {                                                         \
        const float x = source[i + l];                                                             \
        lanes[l] += (TERM);                                                                        \
      }                                                                                            \
    }                                                                                              \
    for (size_t l = 0; i + l < count; ++l) {                                                       \
      const float x = source[i + l];                                                               \
      lanes[l] += (TERM);                                                                          \
    }                                                                                              \
    return fold_sum(lanes);                                                                        \
  }
DEFINE_SUM(sum_row, x)
DEFINE_SUM(sum_squares_row, (x - mean) * (x - mean))

/// Largest value; NaN when there is one; -inf for an empty row.
float max_row(const float* source, size_t count) {
  float lanes[LANES];
  uint32_t nan = 0;
  for (size_t l = 0; l < LANES; ++l) lanes[l] = -INFINITY;
  size_t i = 0;
  for (; i + LANES <= count; i += LANES) {
    for (size_t l = 0; l < LANES; ++l) {
      const float x = source[i + l];
      lanes[l] = x > lanes[l] ? x : lanes[l];
    }
  }
  for (size_t l = 0; i + l < count; ++l) lanes[l] = source[i + l] > lanes[l] ? source[i + l] : lanes[l];
  for (size_t k = 0; k < count; ++k) nan |= source[k] != source[k] ? 1U : 0U;
  float best = lanes[0];
  for (size_t l = 1; l < LANES; ++l) best = lanes[l] > best ? lanes[l] : best;
  return nan != 0 ? NAN : best;
}

/// Largest value, NaN ignored; -inf for an empty row. For softmax, whose sum is NaN anyway when there is one.
float peak_row(const float* source, size_t count) {
  float lanes[LANES];
  for (size_t l = 0; l < LANES; ++l) lanes[l] = -INFINITY;
  size_t i = 0;
  for (; i + LANES <= count; i += LANES) {
    for (size_t l = 0; l < LANES; ++l) lanes[l] = source[i + l] > lanes[l] ? source[i + l] : lanes[l];
  }
  for (size_t l = 0; i + l < count; ++l) lanes[l] = source[i + l] > lanes[l] ? source[i + l] : lanes[l];
  float best = lanes[0];
  for (size_t l = 1; l < LANES; ++l) best = lanes[l] > best ? lanes[l] : best;
  return best;
}

/// target = bfloat16 of factor * source.
void scale_to_bf16_row(const float* source, uint16_t* target, size_t count, float factor) {
#pragma GCC ivdep
  for (size_t i = 0; i < count; ++i) target[i] = to_bf16(source[i] * factor);
}

/// target = exp(scale * source - shift), returns the sum of target.
float exp_sum_row(const float* source, float* target, size_t count, float scale, float shift) {
  float lanes[LANES] = {};
  size_t i = 0;
  for (; i + LANES <= count; i += LANES) {
    for (size_t l = 0; l < LANES; ++l) {
      const float y = exp_lane(mul_add(source[i + l], scale, -shift));
      target[i + l] = y;
      lanes[l] += y;
    }
  }
  for (size_t l = 0; i + l < count; ++l) {
    const float y = exp_lane(mul_add(source[i + l], scale, -shift));
    target[i + l] = y;
    lanes[l] += y;
  }
  return fold_sum(lanes);
}

void scale_row(float* values, size_t count, float factor) {
#pragma GCC ivdep
  for (size_t i = 0; i < count; ++i) values[i] *= factor;
}

/// target = softmax(source); `stable` subtracts the row's maximum.
void softmax_row(const float* source, float* target, size_t count, bool stable) {
  const float shift = stable ? peak_row(source, count) : 0.0f;
  const float sum = exp_sum_row(source, target, count, 1.0f, shift);
  scale_row(target, count, 1.0f / sum);
}

/// target = (source - mean) * rstd * weight + bias; null weight or bias are left out.
void normalize_row(const float* source, float* target, size_t count, float mean, float rstd, const float* weight, const float* bias) {
  if (weight != nullptr && bias != nullptr) {
#pragma GCC ivdep
    for (size_t i = 0; i < count; ++i) target[i] = mul_add((source[i] - mean) * rstd, weight[i], bias[i]);
  } else if (weight != nullptr) {
#pragma GCC ivdep
    for (size_t i = 0; i < count; ++i) target[i] = (source[i] - mean) * rstd * weight[i];
  } else if (bias != nullptr) {
#pragma GCC ivdep
    for (size_t i = 0; i < count; ++i) target[i] = mul_add(source[i] - mean, rstd, bias[i]);
  } else {
#pragma GCC ivdep
    for (size_t i = 0; i < count; ++i) target[i] = (source[i] - mean) * rstd;
  }
}

/// target += factor * source.
void axpy_row(const float* source, float* target, size_t count, float factor) {
#pragma GCC ivdep
  for (size_t i = 0; i < count; ++i) target[i] = mul_add(source[i], factor, target[i]);
}

KernelSet make_set() {
  KernelSet set;
  fill_tables(set.unary.data(), set.binary.data());
  set.unary_bf16 = set.unary;
  set.unary_bf16[static_cast<size_t>(UnaryOpType::GELU)] = unary_GELU_SHORT;
  set.peak_row = peak_row;
  set.scale_to_bf16_row = scale_to_bf16_row;
  set.sum_row = sum_row;
  set.sum_squares_row = sum_squares_row;
  set.max_row = max_row;
  set.exp_sum_row = exp_sum_row;
  set.scale_row = scale_row;
  set.softmax_row = softmax_row;
  set.normalize_row = normalize_row;
  set.axpy_row = axpy_row;
  return set;
}

#undef LANE

}  // namespace KERNEL_NS
}  // namespace ttnn_shim::kernels
