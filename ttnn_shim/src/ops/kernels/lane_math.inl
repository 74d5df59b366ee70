// Lane functions: float -> float, branch-free where they are hot, so that the loops around them vectorise.
// Included once per instruction set by block_kernels.inl, inside its namespace. Polynomials are our own weighted minimax
// fits (relative error of each below 1e-8 before rounding); special values (nan, infinities, signed zero) are IEEE.
// Cold functions call the C library.

#define LANE [[gnu::always_inline]] inline

LANE float bits_to_float(uint32_t b) { return std::bit_cast<float>(b); }
LANE uint32_t float_to_bits(float f) { return std::bit_cast<uint32_t>(f); }
LANE float mul_add(float a, float b, float c) { return KERNEL_FMA(a, b, c); }
LANE float from_bf16(uint16_t h) { return bits_to_float(static_cast<uint32_t>(h) << 16); }
/// Round to nearest even; a NaN stays a quiet NaN.
LANE uint16_t to_bf16(float f) {
  const uint32_t b = float_to_bits(f);
  const uint32_t rounded = (b + 0x7fffU + ((b >> 16) & 1U)) >> 16;
  const uint32_t quiet = (b >> 16) | 0x40U;
  return static_cast<uint16_t>((b & 0x7fffffffU) > 0x7f800000U ? quiet : rounded);
}
LANE float abs_lane(float x) { return bits_to_float(float_to_bits(x) & 0x7fffffffU); }
LANE float copy_sign(float magnitude, float sign) {
  return bits_to_float((float_to_bits(magnitude) & 0x7fffffffU) | (float_to_bits(sign) & 0x80000000U));
}
/// max and min propagate NaN, as torch does.
LANE float max_lane(float a, float b) { const float m = a > b ? a : b; return a != a ? a : m; }
LANE float min_lane(float a, float b) { const float m = a < b ? a : b; return a != a ? a : m; }
/// Round half to even for |x| < 2^22; exact above.
LANE float round_even(float x) {
  const float magic = copy_sign(8388608.0f, x);
  const float r = copy_sign((x + magic) - magic, x);
  return abs_lane(x) < 8388608.0f ? r : x;
}
LANE float floor_lane(float x) { const float r = round_even(x); return copy_sign(r - (r > x ? 1.0f : 0.0f), x); }
LANE float ceil_lane(float x) { const float r = round_even(x); return copy_sign(r + (r < x ? 1.0f : 0.0f), x); }
LANE float trunc_lane(float x) { const float r = round_even(abs_lane(x)); return copy_sign(r - (r > abs_lane(x) ? 1.0f : 0.0f), x); }

/// 2^n * e^r for |r| <= ln(2) / 2 and n within the range of results.
LANE float scaled_exp(float n, float r) {
  float p = 1.381461100e-03f;
  p = mul_add(p, r, 8.368710035e-03f);
  p = mul_add(p, r, 4.166838741e-02f);
  p = mul_add(p, r, 1.666652069e-01f);
  p = mul_add(p, r, 4.999999345e-01f);
  p = mul_add(p, r * r, r) + 1.0f;
  const int32_t k = static_cast<int32_t>(n);
  const int32_t half = k >> 1;  // scaled in two steps: the first alone would overflow near the ends of the range
  return p * bits_to_float(static_cast<uint32_t>(half + 127) << 23) * bits_to_float(static_cast<uint32_t>(k - half + 127) << 23);
}
constexpr float ROUND_MAGIC = 12582912.0f;  // 1.5 * 2^23: adding it leaves the rounded integer in the low bits
LANE float exp_lane(float x) {
  const float clamped = x < -105.0f ? -105.0f : (x > 89.0f ? 89.0f : x);
  const float n = mul_add(clamped, 1.44269504f, ROUND_MAGIC) - ROUND_MAGIC;
  const float y = scaled_exp(n, mul_add(n, 2.12194440e-4f, mul_add(n, -0.693359375f, clamped)));  // ln 2 in two parts
  return x != x ? x : y;
}
/// Whole x give exact powers.
LANE float exp2_lane(float x) {
  const float clamped = x < -151.0f ? -151.0f : (x > 129.0f ? 129.0f : x);
  const float n = (clamped + ROUND_MAGIC) - ROUND_MAGIC;
  const float y = scaled_exp(n, (clamped - n) * 0.693147181f);
  return x != x ? x : y;
}

LANE float log_lane(float x) {
  const bool tiny = x < 1.17549435e-38f;
  const float scaled = tiny ? x * 8388608.0f : x;
  const uint32_t b = float_to_bits(scaled);
  const int32_t e = static_cast<int32_t>(b - 0x3f3504f3U) >> 23;  // mantissa in [sqrt(1/2), sqrt(2))
  const float f = bits_to_float(b - (static_cast<uint32_t>(e) << 23)) - 1.0f;
  const float n = static_cast<float>(e) - (tiny ? 23.0f : 0.0f);
  float p = 6.746601328e-02f;
  p = mul_add(p, f, -1.167564130e-01f);
  p = mul_add(p, f, 1.188817460e-01f);
  p = mul_add(p, f, -1.240559142e-01f);
  p = mul_add(p, f, 1.421955091e-01f);
  p = mul_add(p, f, -1.666799567e-01f);
  p = mul_add(p, f, 2.000211873e-01f);
  p = mul_add(p, f, -2.500000960e-01f);
  p = mul_add(p, f, 3.333331260e-01f);
  const float f2 = f * f;
  float y = mul_add(p * f, f2, mul_add(n, -2.12194440e-4f, -0.5f * f2));
  y = mul_add(n, 0.693359375f, f + y);
  y = x == 0.0f ? -INFINITY : y;
  y = x < 0.0f ? NAN : y;
  return (x != x || x == INFINITY) ? x : y;
}

LANE float log1p_lane(float x) {
  const float u = 1.0f + x;  // Kahan: the rounding error of 1 + x is corrected by x / (u - 1)
  const float y = log_lane(u) * (x / (u - 1.0f));
  return (u == 1.0f || x == INFINITY) ? x : (u == 0.0f ? -INFINITY : y);
}

LANE float tanh_lane(float x) {
  const float s = x * x;
  float p = -5.717036560e-03f;
  p = mul_add(p, s, 2.065057900e-02f);
  p = mul_add(p, s, -5.374349526e-02f);
  p = mul_add(p, s, 1.333149125e-01f);
  p = mul_add(p, s, -3.333328392e-01f);
  const float small = mul_add(p * s, x, x);
  const float big = copy_sign(1.0f - 2.0f / (exp_lane(2.0f * abs_lane(x)) + 1.0f), x);
  return abs_lane(x) < 0.625f ? small : (x != x ? x : big);
}

/// erfc(t) for t in [1, 10.5]: exp(-t*t) * Q(1 / (1 + t/2)). t*t comes as a rounded square and its rounding error, which exp
/// would otherwise magnify.
LANE float erfc_tail(float t, float square, float square_error) {
  const float u = 1.0f / mul_add(0.5f, t, 1.0f);
  float q = -6.102818853e-02f;
  q = mul_add(q, u, 3.027891731e-01f);
  q = mul_add(q, u, -5.349899233e-01f);
  q = mul_add(q, u, 3.387667437e-01f);
  q = mul_add(q, u, -7.055953599e-02f);
  q = mul_add(q, u, 2.219362968e-01f);
  q = mul_add(q, u, 2.379487800e-01f);
  q = mul_add(q, u, 2.831917800e-01f);
  q = mul_add(q, u, 2.820169865e-01f);
  q = mul_add(q, u, 2.411397792e-06f);
  return exp_lane(-square) * mul_add(-square_error, q, q);
}
LANE float erfc_tail(float t) { const float square = t * t; return erfc_tail(t, square, mul_add(t, t, -square)); }
LANE float erf_small(float x) {
  const float s = x * x;
  float p = 7.853857691e-05f;
  p = mul_add(p, s, -8.010192516e-04f);
  p = mul_add(p, s, 5.188327560e-03f);
  p = mul_add(p, s, -2.685381187e-02f);
  p = mul_add(p, s, 1.128358515e-01f);
  p = mul_add(p, s, -3.761262582e-01f);
  p = mul_add(p, s, 1.128379166e+00f);
  return p * x;
}
LANE float erf_lane(float x) {
  const float t = abs_lane(x);
  const float big = copy_sign(1.0f - erfc_tail(t < 10.0f ? t : 10.0f), x);
  return t < 1.0f ? erf_small(x) : (x != x ? x : big);
}
LANE float erfc_lane(float x) {
  const float t = abs_lane(x);
  const float tail = erfc_tail(t < 10.5f ? t : 10.5f);
  const float big = x < 0.0f ? 2.0f - tail : tail;
  return t < 1.0f ? 1.0f - erf_small(x) : (x != x ? x : big);
}
/// x * Phi(x): the tail below -1.41 comes from erfc, so that nothing cancels.
LANE float gelu_lane(float x) {
  const float ax = abs_lane(x);
  const float capped = ax < 14.5f ? ax : 14.5f;
  const float square = capped * capped;
  const float tail = 0.5f * erfc_tail(0.707106781f * capped, 0.5f * square, 0.5f * mul_add(capped, capped, -square));
  const float middle = mul_add(0.5f, erf_small(0.707106781f * x), 0.5f);
  const float cdf = ax < 1.41421356f ? middle : (x < 0.0f ? tail : 1.0f - tail);
  return x != x ? x : (x == -INFINITY ? NAN : x * cdf);  // -inf * 0, as in torch; so in the lanes below
}
/// The same to 3e-5, for results that are rounded to bfloat16: ln Phi(-a) is a polynomial on [0, 13.6], Phi(-13.6) is below 1e-41.
LANE float gelu_short_lane(float x) {
  const float ax = abs_lane(x);
  const float a = ax < 13.6f ? ax : 13.6f;
  float p = -1.216110480e-09f;
  p = mul_add(p, a, 9.062307311e-08f);
  p = mul_add(p, a, -2.964206891e-06f);
  p = mul_add(p, a, 5.630753821e-05f);
  p = mul_add(p, a, -6.951838811e-04f);
  p = mul_add(p, a, 5.952950542e-03f);
  p = mul_add(p, a, -3.726624810e-02f);
  p = mul_add(p, a, -3.181742260e-01f);
  p = mul_add(p, a, -7.977215498e-01f);
  p = mul_add(p, a, -6.931737615e-01f);
  const float tail = exp_lane(p);
  const float y = x * (x < 0.0f ? tail : 1.0f - tail);
  return x == -INFINITY ? NAN : y;
}
LANE float gelu_tanh_lane(float x) {
  const float inner = 0.797884561f * mul_add(0.044715f * x * x, x, x);
  const float y = x / (1.0f + exp_lane(-2.0f * inner));  // 0.5 x (1 + tanh(inner)) without cancellation
  return x == -INFINITY ? NAN : y;
}
LANE float sigmoid_lane(float x) { return 1.0f / (1.0f + exp_lane(-x)); }
LANE float silu_lane(float x) { const float y = x / (1.0f + exp_lane(-x)); return x == -INFINITY ? NAN : y; }
LANE float softplus_lane(float x, float beta, float threshold) {
  const float z = x * beta;
  const float y = (max_lane(z, 0.0f) + log1p_lane(exp_lane(-abs_lane(z)))) / beta;
  return z > threshold ? x : y;
}
LANE float mish_lane(float x) {
  const float e = exp_lane(x < 20.0f ? x : 20.0f);
  const float n = e * (e + 2.0f);
  const float y = x * (n / (n + 2.0f));
  return x == -INFINITY ? NAN : (x > 20.0f ? x : (x != x ? x : y));
}
LANE float expm1_lane(float x) {
  const float s = x * x;
  const float high = 0.00019841270f + x * (2.4801587e-5f + x * (2.7557319e-6f + x * 2.7557319e-7f));
  const float small = x + s * (0.5f + x * (0.16666667f + x * (0.041666668f + x * (0.0083333333f + x * (0.0013888889f + x * high)))));
  return abs_lane(x) < 0.7f ? small : exp_lane(x) - 1.0f;
}

constexpr float SIN_LIMIT = 8000.0f;
struct SinCos { float sine, cosine; };
/// |x| <= SIN_LIMIT (reduction by pi/2 in four parts of 11 bits, so that their products are exact); the block functions send larger arguments to the C library.
LANE SinCos sin_cos(float x) {
  const float magic = 12582912.0f;
  const float shifted = mul_add(x, 0.636619772f, magic);
  const float n = shifted - magic;
  float r = mul_add(n, -1.5703125f, x);
  r = mul_add(n, -0x1.fb4p-12f, r);
  r = mul_add(n, -0x1.444p-24f, r);
  r = mul_add(n, -2.56334415e-12f, r);
  const float s = r * r;
  float p = 2.718311578e-06f;
  p = mul_add(p, s, -1.983933484e-04f);
  p = mul_add(p, s, 8.333329386e-03f);
  p = mul_add(p, s, -1.666666664e-01f);
  const float sine = mul_add(p * s, r, r);
  float q = 2.443844968e-05f;
  q = mul_add(q, s, -1.388736750e-03f);
  q = mul_add(q, s, 4.166664687e-02f);
  const float cosine = mul_add(q * s, s, mul_add(-0.5f, s, 1.0f));
  const uint32_t quadrant = static_cast<uint32_t>(static_cast<int32_t>(n));
  const bool swapped = (quadrant & 1U) != 0;
  const uint32_t flip_sine = (quadrant & 2U) << 30;
  const uint32_t flip_cosine = ((quadrant + 1U) & 2U) << 30;
  return {bits_to_float(float_to_bits(swapped ? cosine : sine) ^ flip_sine), bits_to_float(float_to_bits(swapped ? sine : cosine) ^ flip_cosine)};
}
