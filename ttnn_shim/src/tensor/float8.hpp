// The 8-bit float of DataType::FP8_E4M3: 4 exponent bits with bias 7, 3 mantissa bits, no infinity, one NaN (OCP OFP8 E4M3).
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace ttnn_shim {

/// Conversion from float as the real package does it on the host: to nearest even; beyond 448 and infinity become 448; what is smaller than
/// the smallest normal value, 2^-6, becomes a zero of its sign; NaN loses its sign.
class Float8E4M3 {
public:
    constexpr Float8E4M3() = default;
    constexpr explicit Float8E4M3(float value) : bits_(from_float(value)) {}
    constexpr explicit operator float() const {
        if ((bits_ & 0x7fU) == 0x7fU) return std::bit_cast<float>(0x7fc00000U);
        const uint32_t sign = static_cast<uint32_t>(bits_ & 0x80U) << 24;
        const uint32_t exponent = (bits_ >> 3) & 0xfU, mantissa = bits_ & 7U;
        if (exponent == 0) {
            const float small = static_cast<float>(mantissa) * 0x1p-9F;
            return sign != 0 ? -small : small;
        }
        return std::bit_cast<float>(sign | ((exponent + 120) << 23) | (mantissa << 20));
    }

private:
    static constexpr uint8_t from_float(float value) {
        const auto bits = std::bit_cast<uint32_t>(value);
        const uint32_t magnitude = bits & 0x7fffffffU;
        if (magnitude > 0x7f800000U) return 0x7f;
        const auto sign = static_cast<uint8_t>((bits >> 24) & 0x80U);
        if (magnitude < std::bit_cast<uint32_t>(0x1p-6F)) return sign;
        const uint32_t rounded = (magnitude + 0x7ffffU + ((magnitude >> 20) & 1U)) >> 20;
        const uint32_t largest = std::bit_cast<uint32_t>(448.0F) >> 20;
        return static_cast<uint8_t>(sign | ((rounded < largest ? rounded : largest) - (120U << 3)));
    }

    uint8_t bits_ = 0;
};

static_assert(sizeof(Float8E4M3) == 1);

}  // namespace ttnn_shim
