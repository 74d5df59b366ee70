// BinaryOpType: the binary eltwise operations of the device.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ttnn::operations::binary {

enum class BinaryOpType {
    ADD = 0,
    SUB = 1,
    MUL = 2,
    GT = 3,
    LT = 4,
    LE = 5,
    GE = 6,
    EQ = 7,
    NE = 8,
    SQUARED_DIFFERENCE = 9,
    BIAS_GELU = 10,
    LOGADDEXP = 11,
    LOGICAL_AND = 12,
    LOGICAL_OR = 13,
    LOGICAL_XOR = 14,
    LDEXP = 15,
    LOGADDEXP2 = 16,
    DIV = 17,
    DIV_FLOOR = 18,
    DIV_TRUNC = 19,
    REMAINDER = 20,
    FMOD = 21,
    RSUB = 22,
    POWER = 23,
    BITWISE_XOR = 24,
    BITWISE_AND = 25,
    BITWISE_OR = 26,
    LEFT_SHIFT = 27,
    RIGHT_SHIFT = 28,
    LOGICAL_RIGHT_SHIFT = 29,
    QUANT = 30,
    REQUANT = 31,
    DEQUANT = 32,
    MAXIMUM = 33,
    MINIMUM = 34,
    GCD = 35,
    LCM = 36,
    ADDALPHA = 37,
    SUBALPHA = 38,
    XLOGY = 39,
    HYPOT = 40,
    ATAN2 = 41,
    NEXTAFTER = 42,
    WHERE_TST = 43,
    WHERE_TTS = 44,
    ISCLOSE = 45,
    SITU_GLU = 46
};
inline constexpr size_t BINARY_OP_TYPES = 47;

}  // namespace ttnn::operations::binary
