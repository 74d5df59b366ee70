// Block kernels that round as the chip does: operands cut to the multipliers' bits, sums as Dst holds them, attention weights.
// Included by block_kernels.inl.

LANE float cut_lane(float x, uint32_t kept) { return bits_to_float(float_to_bits(x) & kept); }

template <typename Source>
float sum_cut_row(const Source* source, size_t count, uint32_t kept) {
  float lanes[LANES] = {};
  size_t i = 0;
  for (; i + LANES <= count; i += LANES) {
    for (size_t l = 0; l < LANES; ++l) lanes[l] += cut_lane(widened(source[i + l]), kept);
  }
  for (size_t l = 0; i + l < count; ++l) lanes[l] += cut_lane(widened(source[i + l]), kept);
  return fold_sum(lanes);
}

template <typename Source>
void add_cut_rows(const Source* source, size_t stride, size_t rows, float* into, size_t count, uint32_t kept) {
  constexpr size_t TOGETHER = 8;
  for (; rows >= TOGETHER; rows -= TOGETHER, source += TOGETHER * stride) {
#pragma GCC ivdep
    for (size_t i = 0; i < count; ++i) {
      float result = into[i];
      for (size_t r = 0; r < TOGETHER; ++r) result += cut_lane(widened(source[r * stride + i]), kept);
      into[i] = result;
    }
  }
  for (; rows > 0; --rows, source += stride) {
#pragma GCC ivdep
    for (size_t i = 0; i < count; ++i) into[i] += cut_lane(widened(source[i]), kept);
  }
}

RowRounding row_rounding(const float* source, size_t count, const DstRounding& law) {
  // Of many values every third block of lanes is enough for a mean and a mean square (odd: it meets all columns of widths that are powers of 2).
  constexpr size_t MANY = 1024;
  const size_t step = count < MANY ? LANES : 3 * LANES;
  float sum = 0.0f, squares = 0.0f;
  size_t looked_at = 0;
  {
    float sums[LANES] = {}, powers[LANES] = {};
    size_t i = 0;
    for (; i + LANES <= count; i += step, looked_at += LANES) {
      for (size_t l = 0; l < LANES; ++l) {
        sums[l] += source[i + l];
        powers[l] = mul_add(source[i + l], source[i + l], powers[l]);
      }
    }
    for (size_t l = 0; i + l < count; ++l, ++looked_at) {
      sums[l] += source[i + l];
      powers[l] = mul_add(source[i + l], source[i + l], powers[l]);
    }
    sum = fold_sum(sums);
    squares = fold_sum(powers);
  }
  const float n = static_cast<float>(looked_at), mean = sum / n, power = squares / n;
  const bool known = power > 0.0f && power < INFINITY && count > 1;  // one sum says nothing about its like
  // The square of the mean in the mean square, less what chance gives.
  const float share = known ? (mean * mean - (power - mean * mean) / (n - 1.0f)) / power : 0.0f;
  const float alike = share > 0.0f ? share : 0.0f;
  const float spread = __builtin_sqrtf(law.spread * law.spread * (1.0f - alike) + law.spread_alike * law.spread_alike * alike);
  // Uniform noise of [-1, 1) has a standard deviation of 1 / sqrt(3). Partial sums grow to the sum (own) by way of sums of the row's size.
  const float amplitude = 1.7320508f * spread;
  return {
    law.drift * (1.0f - alike) + law.drift_alike * alike, amplitude * (known ? 0.62f : 1.0f),
    known ? amplitude * 0.43f * __builtin_sqrtf(power) : 0.0f, law.inexact, law.kept_bits, (~law.kept_bits >> 1) + (~law.kept_bits & 1U)};
}

LANE float settled(float s, const RowRounding& r) {
  const uint32_t bits = float_to_bits(s);
  // The last bits of a float32 sum depend on the order of additions: they have no say in the noise.
  const uint32_t mixed = ((bits + 0x200U) >> 10) * 2654435769U;
  const float noise = static_cast<float>(static_cast<int32_t>(mixed)) * 4.656612873e-10f;
  const float y = mul_add(noise, mul_add(abs_lane(s), r.own, r.row), mul_add(s, r.drift, s));
  const uint32_t rounded = (float_to_bits(y) + r.half) & r.kept_bits;
  return (bits & r.inexact) == 0 || (bits & 0x7f800000U) == 0x7f800000U ? s : bits_to_float(rounded);
}

void settle_row(float* values, size_t count, const DstRounding& law) {
  const RowRounding r = row_rounding(values, count, law);
#pragma GCC ivdep
  for (size_t i = 0; i < count; ++i) values[i] = settled(values[i], r);
}

void settle_to_bf16_row(const float* source, uint16_t* target, size_t count, const RowRounding& rounding, const float* bias, bool relu) {
  const RowRounding r = rounding;
  const float least = relu ? 0.0f : -INFINITY;
  if (bias == nullptr) {
#pragma GCC ivdep
    for (size_t i = 0; i < count; ++i) {
      const float y = settled(source[i], r);
      target[i] = static_cast<uint16_t>(float_to_bits(y < least ? least : y) >> 16);
    }
    return;
  }
#pragma GCC ivdep
  for (size_t i = 0; i < count; ++i) {
    const float y = settled(source[i], r) + bits_to_float(float_to_bits(bias[i]) & 0xffff0000U);
    target[i] = to_bf16(y < least ? least : y);
  }
}

float settle_peak_row(float* values, size_t count, const DstRounding& law) {
  const RowRounding r{law.drift, 1.7320508f * law.spread, 0.0f, law.inexact, law.kept_bits, (~law.kept_bits >> 1) + (~law.kept_bits & 1U)};
  float lanes[LANES];
  for (size_t l = 0; l < LANES; ++l) lanes[l] = -INFINITY;
  size_t i = 0;
  for (; i + LANES <= count; i += LANES) {
    for (size_t l = 0; l < LANES; ++l) {
      const float y = settled(values[i + l], r);
      values[i + l] = y;
      lanes[l] = y > lanes[l] ? y : lanes[l];
    }
  }
  for (size_t l = 0; i + l < count; ++l) {
    const float y = settled(values[i + l], r);
    values[i + l] = y;
    lanes[l] = y > lanes[l] ? y : lanes[l];
  }
  return fold_peak(lanes);
}

#ifdef KERNEL_AVX512
/// target = exp(scale * (source - peak)), returns the sum before values were rounded.
float weights_row(const float* source, uint16_t* target, size_t count, float scale, float peak, const WeightRounding& rounding) {
  __m512 sums[2] = {_mm512_setzero_ps(), _mm512_setzero_ps()};
  const __m512 factor = _mm512_set1_ps(scale), top = _mm512_set1_ps(peak);
  const __m512i half = _mm512_set1_epi32(rounding.narrow_difference ? 0x8000 : 0);
  const __m512i kept = _mm512_set1_epi32(rounding.narrow_difference ? static_cast<int>(0xffff0000U) : -1);
  const __m512i nearest = _mm512_set1_epi32(rounding.truncated ? 0 : 0x7fff), one = _mm512_set1_epi32(rounding.truncated ? 0 : 1);
  const __m256i stored = _mm256_set1_epi16(static_cast<short>(rounding.kept_bits));
  const auto step = [&](size_t i, size_t which, __mmask16 mask) {
    const __m512i bits = _mm512_castps_si512(_mm512_sub_ps(load_lanes(source + i, mask), top));
    const __m512 difference = _mm512_castsi512_ps(_mm512_and_si512(_mm512_add_epi32(bits, half), kept));
    const __m512 y = _mm512_maskz_mov_ps(mask, exp_lanes(_mm512_mul_ps(difference, factor)));
    const __m512i pattern = _mm512_castps_si512(y);
    const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(pattern, 16), one);
    const __m512i rounded = _mm512_add_epi32(_mm512_add_epi32(pattern, odd), nearest);
    _mm256_mask_storeu_epi16(target + i, mask, _mm256_and_si256(_mm512_cvtepi32_epi16(_mm512_srli_epi32(rounded, 16)), stored));
    sums[which] = _mm512_add_ps(sums[which], y);
  };
  size_t i = 0;
  for (; i + LANES <= count; i += LANES) {
    step(i, 0, 0xffff);
    step(i + 16, 1, 0xffff);
  }
  for (size_t which = 0; i < count; i += 16, ++which) step(i, which, count - i >= 16 ? 0xffff : static_cast<__mmask16>((1U << (count - i)) - 1U));
  float lanes[LANES];
  _mm512_storeu_ps(lanes, sums[0]);
  _mm512_storeu_ps(lanes + 16, sums[1]);
  return fold_sum(lanes);
}
#else
/// target = exp(scale * (source - peak)), returns the sum before values were rounded.
float weights_row(const float* source, uint16_t* target, size_t count, float scale, float peak, const WeightRounding& rounding) {
  const uint32_t half = rounding.narrow_difference ? 0x8000U : 0U, kept = rounding.narrow_difference ? 0xffff0000U : 0xffffffffU;
  float lanes[LANES] = {};
  const auto step = [&](size_t i, size_t l) {
    const float difference = bits_to_float((float_to_bits(source[i + l] - peak) + half) & kept);
    const float y = exp_lane(difference * scale);
    const uint16_t pattern = rounding.truncated ? static_cast<uint16_t>(float_to_bits(y) >> 16) : to_bf16(y);
    target[i + l] = pattern & rounding.kept_bits;
    lanes[l] += y;
  };
  size_t i = 0;
  for (; i + LANES <= count; i += LANES) {
    for (size_t l = 0; l < LANES; ++l) step(i, l);
  }
  for (size_t l = 0; i + l < count; ++l) step(i, l);
  return fold_sum(lanes);
}
#endif
