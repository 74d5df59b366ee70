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

// Noise is a multiple of 2^16 in [-2^31, 2^31), uniform: in parts of its standard deviation it is NOISE_UNIT (sqrt(3) / 2^31) times that.
constexpr float NOISE_UNIT = 1.7320508f * 4.656612873e-10f;
constexpr uint32_t NOISE_FACTOR = 40503;  // 2^16 / golden ratio: neighbours are far apart

RowRounding row_rounding(const float* source, size_t count, const DstRounding& law) {
  // Of many values some hundreds are enough for a mean and a mean square: blocks of lanes, an odd number of blocks apart, which meets all
  // columns of widths that are powers of 2.
  constexpr size_t ENOUGH = 512;
  const size_t step = LANES * (count < 2 * ENOUGH ? 1 : (count / ENOUGH) | 1U);
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
  // Partial sums grow to the sum (own) by way of sums of the row's size.
  const float amplitude = NOISE_UNIT * spread;
  return {
    1.0f + law.drift * (1.0f - alike) + law.drift_alike * alike, amplitude * (known ? 0.62f : 1.0f),
    known ? amplitude * 0.43f * __builtin_sqrtf(power) : 0.0f, law.inexact, law.kept_bits, (~law.kept_bits >> 1) + (~law.kept_bits & 1U)};
}

/// The law for sums that were not looked at: errors of their own size only.
LANE RowRounding own_rounding(const DstRounding& law) {
  return {1.0f + law.drift, NOISE_UNIT * law.spread, 0.0f, law.inexact, law.kept_bits, (~law.kept_bits >> 1) + (~law.kept_bits & 1U)};
}

/// The noise of a sum as an integer, of 13 bits of its mantissa and 3 of its exponent. The last bits of a float32 sum depend on the order of
/// additions: they have no say in it.
LANE float settled(float s, const RowRounding& r) {
  const uint32_t bits = float_to_bits(s);
  const uint32_t mixed = (((bits + 0x200U) >> 10) * NOISE_FACTOR) << 16;
  const float noise = static_cast<float>(static_cast<int32_t>(mixed));
  const float y = mul_add(s, mul_add(noise, r.own, r.scale), noise * r.row);
  const uint32_t rounded = (float_to_bits(y) + r.half) & r.kept_bits;
  return (bits & r.inexact) == 0 || s != s ? s : bits_to_float(rounded);
}

#ifdef KERNEL_AVX512
/// `settled` of 16 values.
class Settler {
public:
  explicit Settler(const RowRounding& r)
      : scale_(_mm512_set1_ps(r.scale)), own_(_mm512_set1_ps(r.own)), row_(_mm512_set1_ps(r.row)), inexact_(set1(r.inexact)),
        kept_(set1(r.kept_bits)), half_(set1(r.half)) {}

  LANE __m512 operator()(__m512 s) const {
    const __m512i bits = _mm512_castps_si512(s);
    const __m512i upper = _mm512_slli_epi32(_mm512_add_epi32(bits, set1(0x200U)), 6);
    const __m512 noise = _mm512_cvtepi32_ps(_mm512_mullo_epi16(upper, set1(NOISE_FACTOR << 16)));
    const __m512 y = _mm512_fmadd_ps(s, _mm512_fmadd_ps(noise, own_, scale_), _mm512_mul_ps(noise, row_));
    const __mmask16 rounds = _mm512_mask_test_epi32_mask(_mm512_cmp_ps_mask(s, s, _CMP_ORD_Q), bits, inexact_);
    return _mm512_castsi512_ps(_mm512_mask_and_epi32(bits, rounds, _mm512_add_epi32(_mm512_castps_si512(y), half_), kept_));
  }

private:
  LANE static __m512i set1(uint32_t value) { return _mm512_set1_epi32(static_cast<int>(value)); }
  __m512 scale_, own_, row_;
  __m512i inexact_, kept_, half_;
};

LANE __mmask16 first_lanes(size_t count) { return count >= 16 ? 0xffff : static_cast<__mmask16>((1U << count) - 1U); }

void settle_row(float* values, size_t count, const DstRounding& law) {
  const Settler settle(row_rounding(values, count, law));
  for (size_t i = 0; i < count; i += 16) {
    const __mmask16 mask = first_lanes(count - i);
    _mm512_mask_storeu_ps(values + i, mask, settle(load_lanes(values + i, mask)));
  }
}

void settle_to_bf16_row(const float* source, uint16_t* target, size_t count, const RowRounding& rounding, const float* bias, float least, float most) {
  const Settler settle(rounding);
  const __m512 low = _mm512_set1_ps(least), high = _mm512_set1_ps(most);
  const auto bounded = [&](__m512 y) { return _mm512_min_ps(high, _mm512_max_ps(low, y)); };  // of a NaN the second operand is left
  size_t i = 0;
  if (bias == nullptr) {
    // Two vectors become one: the upper halves of the second stay, those of the first move down.
    alignas(64) static constexpr auto ORDER = [] {
      std::array<uint16_t, 32> order{};
      for (size_t l = 0; l < 16; ++l) order[l] = static_cast<uint16_t>(2 * l), order[16 + l] = static_cast<uint16_t>(2 * l + 1);
      return order;
    }();
    const __m512i order = _mm512_load_si512(ORDER.data());
    for (; i + 32 <= count; i += 32) {
      const __m512i first = _mm512_castps_si512(bounded(settle(_mm512_loadu_ps(source + i))));
      const __m512i second = _mm512_castps_si512(bounded(settle(_mm512_loadu_ps(source + i + 16))));
      const __m512i both = _mm512_mask_blend_epi16(0xaaaaaaaaU, _mm512_srli_epi32(first, 16), second);
      _mm512_storeu_si512(target + i, _mm512_permutexvar_epi16(order, both));
    }
    for (; i < count; i += 16) {
      const __mmask16 mask = first_lanes(count - i);
      const __m512i y = _mm512_castps_si512(bounded(settle(load_lanes(source + i, mask))));
      _mm256_mask_storeu_epi16(target + i, mask, _mm512_cvtepi32_epi16(_mm512_srli_epi32(y, 16)));
    }
    return;
  }
  const __m512i upper = _mm512_set1_epi32(static_cast<int>(0xffff0000U));
  for (; i < count; i += 16) {
    const __mmask16 mask = first_lanes(count - i);
    const __m512 added = _mm512_castsi512_ps(_mm512_and_si512(_mm512_castps_si512(load_lanes(bias + i, mask)), upper));
    store_lanes(target + i, mask, bounded(_mm512_add_ps(settle(load_lanes(source + i, mask)), added)));
  }
}

float settle_peak_row(float* values, size_t count, const DstRounding& law) {
  const Settler settle(own_rounding(law));
  __m512 peak = _mm512_set1_ps(-INFINITY);
  for (size_t i = 0; i < count; i += 16) {
    const __mmask16 mask = first_lanes(count - i);
    const __m512 y = settle(load_lanes(values + i, mask));
    _mm512_mask_storeu_ps(values + i, mask, y);
    peak = _mm512_mask_max_ps(peak, mask, y, peak);  // of a NaN the second is left
  }
  return _mm512_reduce_max_ps(peak);
}
#else
void settle_row(float* values, size_t count, const DstRounding& law) {
  const RowRounding r = row_rounding(values, count, law);
#pragma GCC ivdep
  for (size_t i = 0; i < count; ++i) values[i] = settled(values[i], r);
}

void settle_to_bf16_row(const float* source, uint16_t* target, size_t count, const RowRounding& rounding, const float* bias, float least, float most) {
  const RowRounding r = rounding;
  if (bias == nullptr) {
#pragma GCC ivdep
    for (size_t i = 0; i < count; ++i) {
      const float y = settled(source[i], r);
      const float raised = y < least ? least : y;
      target[i] = static_cast<uint16_t>(float_to_bits(raised > most ? most : raised) >> 16);
    }
    return;
  }
#pragma GCC ivdep
  for (size_t i = 0; i < count; ++i) {
    const float y = settled(source[i], r) + bits_to_float(float_to_bits(bias[i]) & 0xffff0000U);
    const float raised = y < least ? least : y;
    target[i] = to_bf16(raised > most ? most : raised);
  }
}

float settle_peak_row(float* values, size_t count, const DstRounding& law) {
  const RowRounding r = own_rounding(law);
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
#endif

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
