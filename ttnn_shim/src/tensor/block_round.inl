// One instruction set's block rounding: included by block_round.cpp with BLOCK_ROUND_AVX512 set or not.
//
// A magnitude of m bits under exponent e is a multiple of 2^(e - 127 - (m - 1)); adding and taking away 1.5 * 2^23 of those rounds a float
// to one, ties to even, which is what the packer's integer rounding does. The sum is exact while its exponent stays in float32's range.

/// Exponent fields (0xff: infinity and NaN) that the arithmetic below takes; blocks of zeros and denormals are handled apart.
constexpr uint32_t LEAST = 16, MOST = 230;

struct Constants {
    float magic, limit;
};
inline Constants constants_of(uint32_t shared, uint32_t mantissa_bits) {
    const uint32_t ones = (1U << (mantissa_bits - 1)) - 1;
    return {
        std::bit_cast<float>((shared + 24 - mantissa_bits) << 23 | 0x400000U),
        std::bit_cast<float>(shared << 23 | ones << (24 - mantissa_bits))};
}

/// Largest of 16 exponent fields that lie in bits 7 to 14.
inline uint32_t largest_exponent(__m256i fields) {
    const __m128i pairs = _mm_max_epu16(_mm256_castsi256_si128(fields), _mm256_extracti128_si256(fields, 1));
    const __m128i least = _mm_minpos_epu16(_mm_xor_si128(pairs, _mm_set1_epi16(-1)));  // of the complements
    return (~static_cast<uint32_t>(_mm_cvtsi128_si32(least)) & 0x7f80U) >> 7;
}

#ifdef BLOCK_ROUND_AVX512
inline __m256i rounded(__m512i bits, Constants c) {
    const __m512 magic = _mm512_set1_ps(c.magic), limit = _mm512_set1_ps(c.limit), negative = _mm512_set1_ps(-c.limit);
    __m512 value = _mm512_sub_ps(_mm512_add_ps(_mm512_castsi512_ps(bits), magic), magic);
    value = _mm512_min_ps(_mm512_max_ps(value, negative), limit);
    return _mm512_cvtepi32_epi16(_mm512_srli_epi32(_mm512_castps_si512(value), 16));
}
#else
inline __m256i rounded(__m256i low, __m256i high, Constants c) {
    const __m256 magic = _mm256_set1_ps(c.magic), limit = _mm256_set1_ps(c.limit), negative = _mm256_set1_ps(-c.limit);
    const auto half = [&](__m256i bits) {
        __m256 value = _mm256_sub_ps(_mm256_add_ps(_mm256_castsi256_ps(bits), magic), magic);
        value = _mm256_min_ps(_mm256_max_ps(value, negative), limit);
        return _mm256_srli_epi32(_mm256_castps_si256(value), 16);
    };
    return _mm256_permute4x64_epi64(_mm256_packus_epi32(half(low), half(high)), 0xd8);
}
#endif

inline size_t round_bf16(uint16_t* values, size_t blocks, uint32_t mantissa_bits) {
    for (size_t block = 0; block < blocks; ++block) {
        auto* at = reinterpret_cast<__m256i*>(values + block * VALUES_PER_BLOCK);
        const __m256i bits = _mm256_loadu_si256(at);
        _mm_prefetch(reinterpret_cast<const char*>(at) + 4096, _MM_HINT_T0);
        const uint32_t shared = largest_exponent(_mm256_and_si256(bits, _mm256_set1_epi16(0x7f80)));
        if (shared - LEAST > MOST - LEAST) {
            if (shared != 0) return block;
            _mm256_storeu_si256(at, _mm256_setzero_si256());
            continue;
        }
        const Constants c = constants_of(shared, mantissa_bits);
#ifdef BLOCK_ROUND_AVX512
        _mm256_storeu_si256(at, rounded(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16), c));
#else
        const __m256i low = _mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm256_castsi256_si128(bits)), 16);
        const __m256i high = _mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm256_extracti128_si256(bits, 1)), 16);
        _mm256_storeu_si256(at, rounded(low, high, c));
#endif
    }
    return blocks;
}

inline size_t round_f32(const uint32_t* source, uint16_t* target, size_t blocks, uint32_t mantissa_bits) {
    for (size_t block = 0; block < blocks; ++block) {
        const uint32_t* from = source + block * VALUES_PER_BLOCK;
        auto* to = reinterpret_cast<__m256i*>(target + block * VALUES_PER_BLOCK);
#ifdef BLOCK_ROUND_AVX512
        const __m512i bits = _mm512_loadu_si512(from);
        const __m512i fields = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(0x7f80));
        const uint32_t shared = largest_exponent(_mm512_cvtepi32_epi16(fields));
#else
        const __m256i low = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
        const __m256i high = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + 8));
        const __m256i field = _mm256_set1_epi32(0x7f80);
        const __m256i low_fields = _mm256_and_si256(_mm256_srli_epi32(low, 16), field);
        const __m256i high_fields = _mm256_and_si256(_mm256_srli_epi32(high, 16), field);
        const uint32_t shared = largest_exponent(_mm256_packus_epi32(low_fields, high_fields));
#endif
        if (shared - LEAST > MOST - LEAST) {
            if (shared != 0) return block;
            _mm256_storeu_si256(to, _mm256_setzero_si256());
            continue;
        }
        const Constants c = constants_of(shared, mantissa_bits);
        // A value 2^s below the block's exponent loses its last s bits; of those far below nothing that counts is left.
#ifdef BLOCK_ROUND_AVX512
        const __m512i shift = _mm512_srli_epi32(_mm512_sub_epi32(_mm512_set1_epi32(static_cast<int>(shared << 7)), fields), 7);
        const __m512i kept = _mm512_sllv_epi32(_mm512_set1_epi32(-1), shift);
        _mm256_storeu_si256(to, rounded(_mm512_and_si512(bits, kept), c));
#else
        const __m256i top = _mm256_set1_epi32(static_cast<int>(shared << 7)), all = _mm256_set1_epi32(-1);
        const auto cut = [&](__m256i bits, __m256i fields) {
            return _mm256_and_si256(bits, _mm256_sllv_epi32(all, _mm256_srli_epi32(_mm256_sub_epi32(top, fields), 7)));
        };
        _mm256_storeu_si256(to, rounded(cut(low, low_fields), cut(high, high_fields), c));
#endif
    }
    return blocks;
}
