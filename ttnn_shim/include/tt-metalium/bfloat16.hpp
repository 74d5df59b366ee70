// bfloat16: the upper half of a float32. Conversion from float32 rounds to nearest, ties to even.
#pragma once

#include <bit>
#include <cstdint>

class bfloat16 {
public:
    constexpr bfloat16() = default;
    constexpr bfloat16(float value) : bits_(from_float(value)) {}
    constexpr operator float() const { return std::bit_cast<float>(static_cast<uint32_t>(bits_) << 16); }

    static constexpr bfloat16 from_bits(uint16_t bits) {
        bfloat16 result;
        result.bits_ = bits;
        return result;
    }
    constexpr uint16_t to_bits() const { return bits_; }

    static constexpr uint16_t from_float(float value) {
        const auto bits = std::bit_cast<uint32_t>(value);
        if ((bits & 0x7fffffffU) > 0x7f800000U) {
            return static_cast<uint16_t>((bits >> 16) | 0x40U);  // a NaN stays a NaN, made quiet
        }
        return static_cast<uint16_t>((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16);
    }

private:
    uint16_t bits_ = 0;
};

static_assert(sizeof(bfloat16) == 2);
