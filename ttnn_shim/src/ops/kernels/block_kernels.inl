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
  X(EXP2, exp2_lane(x)) \
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
  X(HARDMISH, x * (min_lane(max_lane(x + 2.0f, 0.0f), 2.0f) * 0.5f)) \
  X(MAXIMUM, max_lane(x, p0)) \
  X(MINIMUM, min_lane(x, p0)) \
  X(TANHSHRINK, x - tanh_lane(x)) \
  X(THRESHOLD, x <= p0 ? p1 : x) \
  X(SOFTSHRINK, x > p0 ? x - p0 : (x < -p0 ? x + p0 : (x != x ? x : 0.0f))) \
  X(HARDSHRINK, (x > p0 || x < -p0 || x != x) ? x : 0.0f) \
  X(HARDTANH, min_lane(max_lane(x, p0), p1)) \
  X(CLAMP_TSS, min_lane(max_lane(x, p0), p1)) \
  X(HARDSIGMOID, min_lane(max_lane(x / 6.0f + 0.5f, 0.0f), 1.0f)) \
  X(HARDSWISH, x * min_lane(max_lane(x / 6.0f + 0.5f, 0.0f), 1.0f)) \
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
  X(LDEXP, a * exp2_lane(b))

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
// Sums use a fixed number of lanes, so that every instruction set adds in the same order. Source is float or bfloat16 (uint16_t).

LANE float widened(float x) { return x; }
LANE float widened(uint16_t x) { return from_bf16(x); }
LANE void store_lane(float& target, float x) { target = x; }
LANE void store_lane(uint16_t& target, float x) { target = to_bf16(x); }

LANE float fold_sum(const float* lanes) {
  float s[16], t[8];
  for (size_t l = 0; l < 16; ++l) s[l] = lanes[l] + lanes[l + 16];
  for (size_t l = 0; l < 8; ++l) t[l] = s[l] + s[l + 8];
  return ((t[0] + t[4]) + (t[1] + t[5])) + ((t[2] + t[6]) + (t[3] + t[7]));
}

/// The largest of LANES values, NaN ignored.
LANE float fold_peak(const float* lanes) {
  float s[16], t[8];
  for (size_t l = 0; l < 16; ++l) s[l] = lanes[l] > lanes[l + 16] ? lanes[l] : lanes[l + 16];
  for (size_t l = 0; l < 8; ++l) t[l] = s[l] > s[l + 8] ? s[l] : s[l + 8];
  float best = t[0];
  for (size_t l = 1; l < 8; ++l) best = t[l] > best ? t[l] : best;
  return best;
}

#define DEFINE_SUM(NAME, TERM)                                                                     \
  template <typename Source>                                                                       \
  float NAME(const Source* source, size_t count, [[maybe_unused]] float mean) {                    \
    float lanes[LANES] = {};                                                                       \
    size_t i = 0;                                                                                  \
    for (; i + LANES <= count; i += LANES) {                                                       \
      for (size_t l = 0; l < LANES; ++l) {                                                         \
        const float x = widened(source[i + l]);                                                    \
        lanes[l] += (TERM);                                                                        \
      }                                                                                            \
    }                                                                                              \
    for (size_t l = 0; i + l < count; ++l) {                                                       \
      const float x = widened(source[i + l]);                                                      \
      lanes[l] += (TERM);                                                                          \
    }                                                                                              \
    return fold_sum(lanes);                                                                        \
  }
DEFINE_SUM(sum_row, x)
DEFINE_SUM(sum_squares_row, (x - mean) * (x - mean))

struct AddFold { LANE static float apply(float value, float so_far) { return so_far + value; } };
struct MaxFold { LANE static float apply(float value, float so_far) { return max_lane(value, so_far); } };
struct MinFold { LANE static float apply(float value, float so_far) { return min_lane(value, so_far); } };

/// into[i] takes in source[0][i], then source[1][i] and so on: rows of `count` values, `stride` apart.
template <typename Fold, typename Source>
void fold_rows(const Source* source, size_t stride, size_t rows, float* into, size_t count) {
  constexpr size_t TOGETHER = 8;
  for (; rows >= TOGETHER; rows -= TOGETHER, source += TOGETHER * stride) {
#pragma GCC ivdep
    for (size_t i = 0; i < count; ++i) {
      float result = into[i];
      for (size_t r = 0; r < TOGETHER; ++r) result = Fold::apply(widened(source[r * stride + i]), result);
      into[i] = result;
    }
  }
  for (; rows > 0; --rows, source += stride) {
#pragma GCC ivdep
    for (size_t i = 0; i < count; ++i) into[i] = Fold::apply(widened(source[i]), into[i]);
  }
}

/// Largest (MaxFold) or least value; NaN when there is one; an infinity for an empty row.
template <typename Fold>
float extreme_row(const float* source, size_t count) {
  float lanes[LANES];
  for (size_t l = 0; l < LANES; ++l) lanes[l] = Fold::apply(INFINITY, -INFINITY) > 0.0f ? -INFINITY : INFINITY;
  size_t i = 0;
  for (; i + LANES <= count; i += LANES) {
    for (size_t l = 0; l < LANES; ++l) lanes[l] = Fold::apply(source[i + l], lanes[l]);
  }
  for (size_t l = 0; i + l < count; ++l) lanes[l] = Fold::apply(source[i + l], lanes[l]);
  float best = lanes[0];
  for (size_t l = 1; l < LANES; ++l) best = Fold::apply(lanes[l], best);
  return best;
}

/// The same of bfloat16 (Sign 0: largest, 0x8000: least, as the largest negative). Patterns with the magnitude of negative ones inverted
/// are ordered as the values are, NaN outside the infinities.
template <uint16_t Sign>
float extreme_row_bf16(const uint16_t* source, size_t count) {
  constexpr size_t WIDE = 2 * LANES;
  constexpr int16_t LEAST = -0x7f81, MOST = 0x7f80;  // the infinities
  int16_t high[WIDE], low[WIDE];
  for (size_t l = 0; l < WIDE; ++l) high[l] = low[l] = LEAST;
  const auto ordered = [](int16_t bits) { return static_cast<int16_t>(bits ^ ((bits >> 15) & 0x7fff)); };
  const auto take = [&](size_t at, size_t width) {
    for (size_t l = 0; l < width; ++l) {
      const int16_t key = ordered(static_cast<int16_t>(source[at + l] ^ Sign));
      high[l] = key > high[l] ? key : high[l];
      low[l] = key < low[l] ? key : low[l];
    }
  };
  for (size_t i = 0; i + WIDE <= count; i += WIDE) take(i, WIDE);
  if (count >= WIDE) take(count - WIDE, WIDE);  // the rest, with some again
  else take(0, count);
  int16_t top[8], bottom[8];
  for (size_t l = 0; l < 8; ++l) {
    top[l] = bottom[l] = LEAST;
    for (size_t k = 0; k < WIDE; k += 8) {
      top[l] = high[l + k] > top[l] ? high[l + k] : top[l];
      bottom[l] = low[l + k] < bottom[l] ? low[l + k] : bottom[l];
    }
  }
  int16_t best = LEAST, least = LEAST;
  for (size_t l = 0; l < 8; ++l) {
    best = top[l] > best ? top[l] : best;
    least = bottom[l] < least ? bottom[l] : least;
  }
  return best > MOST || least < LEAST ? NAN : from_bf16(static_cast<uint16_t>(static_cast<uint16_t>(ordered(best)) ^ Sign));
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
  return fold_peak(lanes);
}

#ifdef KERNEL_AVX512
/// exp_lane of 16 values, bit for bit: scalef is its two-step scaling in one instruction. The operand order of max and min keeps NaN.
LANE __m512 exp_lanes(__m512 x) {
#define ALL(VALUE) _mm512_set1_ps(VALUE)
  const __m512 clamped = _mm512_min_ps(ALL(89.0f), _mm512_max_ps(ALL(-105.0f), x));
  const __m512 magic = ALL(12582912.0f);
  const __m512 n = _mm512_sub_ps(_mm512_fmadd_ps(clamped, ALL(1.44269504f), magic), magic);
  const __m512 r = _mm512_fmadd_ps(n, ALL(2.12194440e-4f), _mm512_fmadd_ps(n, ALL(-0.693359375f), clamped));
  __m512 p = _mm512_fmadd_ps(ALL(1.381461100e-03f), r, ALL(8.368710035e-03f));
  p = _mm512_fmadd_ps(p, r, ALL(4.166838741e-02f));
  p = _mm512_fmadd_ps(p, r, ALL(1.666652069e-01f));
  p = _mm512_fmadd_ps(p, r, ALL(4.999999345e-01f));
  p = _mm512_add_ps(_mm512_fmadd_ps(p, _mm512_mul_ps(r, r), r), ALL(1.0f));
#undef ALL
  return _mm512_scalef_ps(p, n);
}
LANE __m512 load_lanes(const float* source, __mmask16 mask) { return _mm512_maskz_loadu_ps(mask, source); }
LANE __m512 load_lanes(const uint16_t* source, __mmask16 mask) {
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(mask, source)), 16));
}
LANE void store_lanes(float* target, __mmask16 mask, __m512 values) { _mm512_mask_storeu_ps(target, mask, values); }
/// As to_bf16; a NaN stays one only while its low half is empty, as that of an invalid operation or of a bfloat16 is.
LANE void store_lanes(uint16_t* target, __mmask16 mask, __m512 values) {
  const __m512i bits = _mm512_castps_si512(values);
  const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
  const __m512i rounded = _mm512_add_epi32(_mm512_add_epi32(bits, odd), _mm512_set1_epi32(0x7fff));
  _mm256_mask_storeu_epi16(target, mask, _mm512_cvtepi32_epi16(_mm512_srli_epi32(rounded, 16)));
}

/// target = exp(scale * source - shift), returns the sum (of the values before they are rounded to a bfloat16 target).
template <typename Source, typename Target>
float exp_sum_row(const Source* source, Target* target, size_t count, float scale, float shift) {
  static_assert(LANES == 32);
  __m512 sums[2] = {_mm512_setzero_ps(), _mm512_setzero_ps()};
  const __m512 factor = _mm512_set1_ps(scale), offset = _mm512_set1_ps(-shift);
  const auto step = [&](size_t i, size_t half, __mmask16 mask) {
    const __m512 y = _mm512_maskz_mov_ps(mask, exp_lanes(_mm512_fmadd_ps(load_lanes(source + i, mask), factor, offset)));
    store_lanes(target + i, mask, y);
    sums[half] = _mm512_add_ps(sums[half], y);
  };
  size_t i = 0;
  for (; i + LANES <= count; i += LANES) {
    step(i, 0, 0xffff);
    step(i + 16, 1, 0xffff);
  }
  for (size_t half = 0; i < count; i += 16, ++half) step(i, half, count - i >= 16 ? 0xffff : static_cast<__mmask16>((1U << (count - i)) - 1U));
  float lanes[LANES];
  _mm512_storeu_ps(lanes, sums[0]);
  _mm512_storeu_ps(lanes + 16, sums[1]);
  return fold_sum(lanes);
}

/// target = bfloat16 of factor * source.
void scale_to_bf16_row(const float* source, uint16_t* target, size_t count, float factor) {
  const __m512 scale = _mm512_set1_ps(factor);
  for (size_t i = 0; i < count; i += 16) {
    const __mmask16 mask = count - i >= 16 ? 0xffff : static_cast<__mmask16>((1U << (count - i)) - 1U);
    store_lanes(target + i, mask, _mm512_mul_ps(load_lanes(source + i, mask), scale));
  }
}
#else
/// target = bfloat16 of factor * source.
void scale_to_bf16_row(const float* source, uint16_t* target, size_t count, float factor) {
#pragma GCC ivdep
  for (size_t i = 0; i < count; ++i) target[i] = to_bf16(source[i] * factor);
}

/// target = exp(scale * source - shift), returns the sum (of the values before they are rounded to a bfloat16 target).
template <typename Source, typename Target>
float exp_sum_row(const Source* source, Target* target, size_t count, float scale, float shift) {
  float lanes[LANES] = {};
  size_t i = 0;
  for (; i + LANES <= count; i += LANES) {
    for (size_t l = 0; l < LANES; ++l) {
      const float y = exp_lane(mul_add(widened(source[i + l]), scale, -shift));
      store_lane(target[i + l], y);
      lanes[l] += y;
    }
  }
  for (size_t l = 0; i + l < count; ++l) {
    const float y = exp_lane(mul_add(widened(source[i + l]), scale, -shift));
    store_lane(target[i + l], y);
    lanes[l] += y;
  }
  return fold_sum(lanes);
}

#endif

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

/// The same from and to bfloat16, with one rounding; `scratch` holds `count` values.
void softmax_row_bf16(const uint16_t* source, float* scratch, uint16_t* target, size_t count, bool stable) {
  const float shift = stable ? extreme_row_bf16<0>(source, count) : 0.0f;
  const float sum = exp_sum_row(source, scratch, count, 1.0f, shift);
  scale_to_bf16_row(scratch, target, count, 1.0f / sum);
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

#include "ops/kernels/rounding_kernels.inl"

KernelSet make_set() {
  KernelSet set;
  fill_tables(set.unary.data(), set.binary.data());
  set.unary_bf16 = set.unary;
  set.unary_bf16[static_cast<size_t>(UnaryOpType::GELU)] = unary_GELU_SHORT;
  set.peak_row = peak_row;
  set.scale_to_bf16_row = scale_to_bf16_row;
  set.sum_row = sum_row<float>;
  set.sum_row_bf16 = sum_row<uint16_t>;
  set.sum_squares_row = sum_squares_row<float>;
  set.add_rows = {fold_rows<AddFold, float>, fold_rows<AddFold, uint16_t>};
  set.max_rows = {fold_rows<MaxFold, float>, fold_rows<MaxFold, uint16_t>};
  set.min_rows = {fold_rows<MinFold, float>, fold_rows<MinFold, uint16_t>};
  set.max_row = extreme_row<MaxFold>;
  set.min_row = extreme_row<MinFold>;
  set.max_row_bf16 = extreme_row_bf16<0>;
  set.min_row_bf16 = extreme_row_bf16<0x8000>;
  set.exp_sum_row = exp_sum_row<float, float>;
  set.weights_row = weights_row;
  set.softmax_row_bf16 = softmax_row_bf16;
  set.scale_row = scale_row;
  set.softmax_row = softmax_row;
  set.normalize_row = normalize_row;
  set.sum_cut_row = sum_cut_row<float>;
  set.sum_cut_row_bf16 = sum_cut_row<uint16_t>;
  set.add_cut_rows = add_cut_rows<float>;
  set.add_cut_rows_bf16 = add_cut_rows<uint16_t>;
  set.settle_row = settle_row;
  set.row_rounding = row_rounding;
  set.settle_to_bf16_row = settle_to_bf16_row;
  set.settle_peak_row = settle_peak_row;
  set.axpy_row = axpy_row;
  return set;
}

#undef LANE

}  // namespace KERNEL_NS
}  // namespace ttnn_shim::kernels
