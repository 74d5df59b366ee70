#include "tensor/convert.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "tensor/block_round.hpp"
#include "tensor/clones.hpp"

namespace ttnn_shim {

static_assert(std::endian::native == std::endian::little, "values are stored little-endian");

SHIM_CLONES void f32_to_bf16(const float* source, bfloat16* target, size_t count) {
    const auto* bits = reinterpret_cast<const uint32_t*>(source);
    auto* out = reinterpret_cast<uint16_t*>(target);
    for (size_t i = 0; i < count; ++i) {
        const uint32_t value = bits[i];
        const uint32_t rounded = (value + 0x7fffU + ((value >> 16) & 1U)) >> 16;
        const uint32_t quiet = (value >> 16) | 0x40U;
        out[i] = static_cast<uint16_t>((value & 0x7fffffffU) > 0x7f800000U ? quiet : rounded);
    }
}

SHIM_CLONES void bf16_to_f32(const bfloat16* source, float* target, size_t count) {
    const auto* in = reinterpret_cast<const uint16_t*>(source);
    auto* out = reinterpret_cast<uint32_t*>(target);
    for (size_t i = 0; i < count; ++i) {
        out[i] = static_cast<uint32_t>(in[i]) << 16;
    }
}

namespace {

template <typename Integer>
Integer saturate(float value) {
    if (std::isnan(value)) {
        return 0;
    }
    constexpr auto low = static_cast<double>(std::numeric_limits<Integer>::min());
    constexpr auto high = static_cast<double>(std::numeric_limits<Integer>::max());
    return static_cast<Integer>(std::clamp(std::trunc(static_cast<double>(value)), low, high));
}

/// As x86-64 converts: out of range and NaN are INT32_MIN.
int32_t host_int32(float value) { return std::abs(value) < 0x1p31F ? static_cast<int32_t>(value) : std::numeric_limits<int32_t>::min(); }

/// The real package's host conversions are vectorised loops whose last values, less than a vector, go through scalar code: what does not
/// fit comes out differently there. Vectors clamp narrow types (of an int32) and put uint32 together from two int32 conversions.
template <typename Integer>
Integer host_integer(float value) {
    const int32_t whole = host_int32(value);
    if constexpr (std::is_same_v<Integer, uint32_t>) {
        return static_cast<uint32_t>(whole | (host_int32(value - 0x1p31F) & (whole >> 31)));
    } else {
        return static_cast<Integer>(std::clamp<int32_t>(whole, std::numeric_limits<Integer>::min(), std::numeric_limits<Integer>::max()));
    }
}
/// Scalar code keeps the low bits of an int32, for uint32 of an int64.
template <typename Integer>
Integer host_integer_tail(float value) {
    if constexpr (std::is_same_v<Integer, uint32_t>) {
        return std::abs(value) < 0x1p63F ? static_cast<uint32_t>(static_cast<int64_t>(value)) : 0;
    } else {
        return static_cast<Integer>(host_int32(value));
    }
}

float infinity_for_nan(float value) { return std::isnan(value) ? std::copysign(std::numeric_limits<float>::infinity(), value) : value; }

/// As the typecast kernels of the device compute it (ckernel_sfpu_typecast.h of the real package): uint16 rounds half away from zero and
/// clamps, uint32 and int32 cut off and clamp (NaN as the infinity of its sign), 8-bit types keep the low byte of what is cut off, 0 from
/// 2^31 on.
template <typename Integer>
Integer kernel_integer(float value) {
    if constexpr (std::is_same_v<Integer, uint16_t>) {
        return static_cast<uint16_t>(std::clamp(std::round(infinity_for_nan(value)), 0.0F, 65535.0F));
    } else if constexpr (sizeof(Integer) == 1) {
        return std::abs(value) < 0x1p31F ? static_cast<Integer>(static_cast<int32_t>(value)) : 0;
    } else {
        return saturate<Integer>(infinity_for_nan(value));
    }
}

enum class Rule { Store, Kernel, Host };

/// vector: values that the host's loops convert at once.
template <Rule Conversion, typename To>
void from_floats(const float* source, To* target, size_t count, size_t vector = HOST_VECTOR) {
    if constexpr (std::is_same_v<To, float>) {
        std::memcpy(target, source, count * sizeof(To));
    } else if constexpr (std::is_same_v<To, bfloat16>) {
        f32_to_bf16(source, target, count);
    } else {
        [[maybe_unused]] const size_t vectors_end = count / vector * vector;
        for (size_t i = 0; i < count; ++i) {
            if constexpr (std::is_integral_v<To> && Conversion == Rule::Host) {
                target[i] = i < vectors_end ? host_integer<To>(source[i]) : host_integer_tail<To>(source[i]);
            } else if constexpr (std::is_integral_v<To> && Conversion == Rule::Kernel) {
                target[i] = kernel_integer<To>(source[i]);
            } else if constexpr (std::is_integral_v<To>) {
                target[i] = saturate<To>(source[i]);
            } else {
                target[i] = To(source[i]);
            }
        }
    }
}

template <typename From>
void to_floats(const From* source, float* target, size_t count) {
    if constexpr (std::is_same_v<From, float>) {
        std::memcpy(target, source, count * sizeof(float));
    } else if constexpr (std::is_same_v<From, bfloat16>) {
        bf16_to_f32(source, target, count);
    } else {
        for (size_t i = 0; i < count; ++i) target[i] = static_cast<float>(source[i]);
    }
}

/// Integers keep their low bits.
template <typename From>
void to_integers(const From* source, DataType to, void* target, size_t count) {
    visit_dtype(to, [&]<typename To>(To) {
        if constexpr (std::is_integral_v<To>)
            for (size_t i = 0; i < count; ++i) static_cast<To*>(target)[i] = static_cast<To>(source[i]);
    });
}
/// The device's typecast clamps.
template <typename From>
void to_uint16(const From* source, uint16_t* target, size_t count) {
    for (size_t i = 0; i < count; ++i)
        target[i] = static_cast<uint16_t>(std::clamp<int64_t>(source[i], 0, std::numeric_limits<uint16_t>::max()));
}

bool is_whole(DataType dtype) {
    return visit_dtype(dtype, []<typename T>(T) { return std::is_integral_v<T>; });
}

}  // namespace

void load_f32(DataType dtype, const void* source, float* target, size_t count) {
    visit_dtype(dtype, [&]<typename T>(T) { to_floats(static_cast<const T*>(source), target, count); });
}

void store_f32(DataType dtype, const float* source, void* target, size_t count) {
    visit_dtype(dtype, [&]<typename T>(T) { from_floats<Rule::Store>(source, static_cast<T*>(target), count); });
}

namespace {

/// All pairs but those of integers go through floats, a chunk at a time: a loop for each pair of types would be half a minute of compiling.
template <Rule Conversion>
void convert_by(DataType from, const void* source, DataType to, void* target, size_t count) {
    constexpr size_t CHUNK = 2048;
    static_assert(CHUNK % HOST_VECTOR == 0);
    if (from == to || (stores<bfloat16>(from) && stores<bfloat16>(to))) {
        std::memcpy(target, source, count * stored_bytes(from));
        return;
    }
    if (is_whole(from) && is_whole(to)) {
        visit_dtype(from, [&]<typename From>(From) {
            if constexpr (std::is_integral_v<From>) {
                const auto* values = static_cast<const From*>(source);
                if (Conversion == Rule::Kernel && to == DataType::UINT16) return to_uint16(values, static_cast<uint16_t*>(target), count);
                to_integers(values, to, target, count);
            }
        });
        return;
    }
    const bool plain = from == DataType::FLOAT32;
    const size_t vector = plain && to == DataType::UINT16 ? HOST_VECTOR / 2 : HOST_VECTOR;
    if (to == DataType::FLOAT32) return load_f32(from, source, static_cast<float*>(target), count);
    std::array<float, CHUNK> wide;
    for (size_t at = 0; at < count; at += CHUNK) {
        const size_t some = std::min(CHUNK, count - at);
        const float* values = plain ? static_cast<const float*>(source) + at : wide.data();
        if (!plain) load_f32(from, static_cast<const std::byte*>(source) + at * stored_bytes(from), wide.data(), some);
        visit_dtype(to, [&]<typename To>(To) { from_floats<Conversion>(values, static_cast<To*>(target) + at, some, vector); });
    }
}

}  // namespace

void convert(DataType from, const void* source, DataType to, void* target, size_t count) {
    convert_by<Rule::Kernel>(from, source, to, target, count);
}

void convert_on_host(DataType from, const void* source, DataType to, void* target, size_t count) {
    convert_by<Rule::Host>(from, source, to, target, count);
}

namespace {

constexpr uint32_t exponent_of(uint32_t bits) { return (bits >> 23) & 0xffU; }

/// Sign-magnitude mantissa of one value under a shared exponent; the sign is bit `mantissa_bits`.
inline uint32_t quantize(uint32_t bits, uint32_t shared_exponent, uint32_t mantissa_bits) {
    const uint32_t exponent = exponent_of(bits);
    const uint32_t significand = exponent == 0 ? 0 : (bits & 0x7fffffU) | 0x800000U;
    const uint32_t shift = std::min<uint32_t>(shared_exponent - exponent, 24);
    const uint32_t aligned = exponent == 0 ? 0 : significand >> shift;  // dropped bits are not sticky
    const uint32_t drop = 24 - mantissa_bits;
    const uint32_t rounded = (aligned + (1U << (drop - 1)) - 1 + ((aligned >> drop) & 1U)) >> drop;
    const uint32_t magnitude = std::min(rounded, (1U << mantissa_bits) - 1);
    return magnitude == 0 ? 0 : magnitude | ((bits >> 31) << mantissa_bits);
}

inline float power_of_two(int power) { return std::bit_cast<float>(static_cast<uint32_t>(power + 127) << 23); }

/// Exact value of a mantissa: magnitude * 2^(exponent - 127 - (mantissa_bits - 1)). Built from bits, no rounding.
inline float dequantize(uint32_t mantissa, uint32_t exponent, uint32_t mantissa_bits) {
    const uint32_t magnitude = mantissa & ((1U << mantissa_bits) - 1);
    const auto sign = (mantissa >> mantissa_bits) << 31;
    const auto scaled = static_cast<float>(magnitude);
    // 2^(exponent - 127 - (m - 1)) in two factors, so that neither leaves the float32 range.
    const int power = static_cast<int>(exponent) - 127 - static_cast<int>(mantissa_bits - 1);
    const int half = power / 2;
    const float value = scaled * power_of_two(half) * power_of_two(power - half);
    return std::bit_cast<float>(std::bit_cast<uint32_t>(value) | sign);
}

constexpr size_t BLOCK = 16;

/// What a block's values become, quantized and back. The loops are plain integer and float steps, which vectorise; results have so few bits
/// that cutting them to bfloat16 is exact.
template <uint32_t MantissaBits>
inline void round_block(const uint32_t* bits, bfloat16* target, size_t count) {
    uint32_t shared = 0;
    for (size_t i = 0; i < count; ++i) {
        shared = std::max(shared, exponent_of(bits[i]));
    }
    const int power = static_cast<int>(shared) - 127 - static_cast<int>(MantissaBits - 1), half = power / 2;
    const float first = power_of_two(half), second = power_of_two(power - half);
    auto* out = reinterpret_cast<uint16_t*>(target);
    for (size_t i = 0; i < count; ++i) {
        const uint32_t mantissa = quantize(bits[i], shared, MantissaBits);
        const uint32_t sign = (mantissa >> MantissaBits) << 31;
        const float value = static_cast<float>(static_cast<int32_t>(mantissa & ((1U << MantissaBits) - 1))) * first * second;
        out[i] = static_cast<uint16_t>((std::bit_cast<uint32_t>(value) | sign) >> 16);
    }
}

template <uint32_t MantissaBits>
void round_rows(const float* source, bfloat16* target, size_t rows, size_t width) {
    for (size_t row = 0; row < rows; ++row) {
        for (size_t at = 0; at < width; at += BLOCK) {
            std::array<uint32_t, BLOCK> bits;
            const size_t count = std::min(BLOCK, width - at);
            std::memcpy(bits.data(), source + row * width + at, count * sizeof(float));
            if (count == BLOCK) {
                round_block<MantissaBits>(bits.data(), target + row * width + at, BLOCK);
            } else {
                round_block<MantissaBits>(bits.data(), target + row * width + at, count);
            }
        }
    }
}

// Clones of the two instantiations: the templates above are inlined into them.
__attribute__((flatten)) SHIM_CLONES void round_rows_7(const float* s, bfloat16* t, size_t rows, size_t width) {
    round_rows<7>(s, t, rows, width);
}
__attribute__((flatten)) SHIM_CLONES void round_rows_3(const float* s, bfloat16* t, size_t rows, size_t width) {
    round_rows<3>(s, t, rows, width);
}

}  // namespace

namespace {

/// One row of blocks at a time: whole ones by vectors, those with extreme exponents and a last part by `round_rows_*`.
template <typename Fast, typename Slow>
void round_by_blocks(size_t rows, size_t width, Fast fast, Slow slow) {
    const bool joined = width % BLOCK == 0;  // then rows follow each other without a gap
    const size_t length = joined ? rows * width : width;
    for (size_t row = 0; row < (joined ? 1 : rows); ++row) {
        const size_t first = row * width, whole = length / BLOCK;
        for (size_t block = 0; block < whole;) {
            block += fast(first + block * BLOCK, whole - block);
            if (block < whole) slow(first + block++ * BLOCK, BLOCK);
        }
        if (length % BLOCK != 0) slow(first + whole * BLOCK, length % BLOCK);
    }
}

}  // namespace

void round_blocks_f32(DataType dtype, const float* source, bfloat16* target, size_t rows, size_t width) {
    SHIM_ASSERT(is_block_float(dtype));
    const bool eight = dtype == DataType::BFLOAT8_B;
    round_by_blocks(
        rows, width,
        [&](size_t at, size_t blocks) {
            return round_whole_blocks(
                reinterpret_cast<const uint32_t*>(source + at), reinterpret_cast<uint16_t*>(target + at), blocks, eight ? 7 : 3);
        },
        [&](size_t at, size_t count) { (eight ? round_rows_7 : round_rows_3)(source + at, target + at, 1, count); });
}

void round_blocks(DataType dtype, bfloat16* values, size_t rows, size_t width) {
    SHIM_ASSERT(is_block_float(dtype));
    const bool eight = dtype == DataType::BFLOAT8_B;
    round_by_blocks(
        rows, width,
        [&](size_t at, size_t blocks) { return round_whole_blocks(reinterpret_cast<uint16_t*>(values + at), blocks, eight ? 7 : 3); },
        [&](size_t at, size_t count) {
            std::array<float, BLOCK> wide;
            bf16_to_f32(values + at, wide.data(), count);
            (eight ? round_rows_7 : round_rows_3)(wide.data(), values + at, 1, count);
        });
}

uint8_t encode_block(const float* values, size_t count, int mantissa_bits, uint8_t* mantissas) {
    uint32_t shared = 0;
    for (size_t i = 0; i < count; ++i) {
        shared = std::max(shared, exponent_of(std::bit_cast<uint32_t>(values[i])));
    }
    for (size_t i = 0; i < count; ++i) {
        mantissas[i] = static_cast<uint8_t>(quantize(std::bit_cast<uint32_t>(values[i]), shared, static_cast<uint32_t>(mantissa_bits)));
    }
    return static_cast<uint8_t>(shared);
}

float decode_block_value(uint8_t exponent, uint8_t mantissa, int mantissa_bits) {
    return dequantize(mantissa, exponent, static_cast<uint32_t>(mantissa_bits));
}

}  // namespace ttnn_shim
