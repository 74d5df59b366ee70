// UnaryOpType: the unary eltwise operations of the device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ttnn::operations::unary {

enum class UnaryOpType {
    EXP = 0,
    RECIP = 1,
    GELU = 2,
    GELU_TANH = 3,
    RELU = 4,
    SQRT = 5,
    SIGMOID = 6,
    LOG = 7,
    LOG1P = 8,
    TANH = 9,
    LOG2 = 10,
    LOG10 = 11,
    SIN = 12,
    COS = 13,
    COSH = 14,
    SINH = 15,
    ABS = 16,
    ABS_INT32 = 17,
    SIGN = 18,
    SQUARE = 19,
    EQZ = 20,
    NEZ = 21,
    GTZ = 22,
    LTZ = 23,
    GEZ = 24,
    LEZ = 25,
    RELU_MAX = 26,
    RELU_MIN = 27,
    POWER = 28,
    POWER_ITERATIVE = 29,
    LEAKY_RELU = 30,
    ELU = 31,
    EXP2 = 32,
    HEAVISIDE = 33,
    EXPM1 = 34,
    SIGNBIT = 35,
    ASIN = 36,
    ACOS = 37,
    ACOSH = 38,
    RSQRT = 39,
    RELU6 = 40,
    ATAN = 41,
    ASINH = 42,
    ATANH = 43,
    ERF = 44,
    ERFC = 45,
    ISINF = 46,
    ISPOSINF = 47,
    ISNEGINF = 48,
    ISNAN = 49,
    LOGICAL_NOT_UNARY = 50,
    ISFINITE = 51,
    ERFINV = 52,
    I0 = 53,
    I1 = 54,
    TAN = 55,
    RSUB = 56,
    RDIV = 57,
    SILU = 58,
    SOFTPLUS = 59,
    IDENTITY = 60,
    NEG = 61,
    ADD_UNARY_SFPU = 62,
    SUB_UNARY_SFPU = 63,
    MUL_UNARY_SFPU = 64,
    DIV_UNARY_SFPU = 65,
    UNARY_NE = 66,
    UNARY_EQ = 67,
    UNARY_GT = 68,
    UNARY_LT = 69,
    UNARY_GE = 70,
    UNARY_LE = 71,
    TILED_PROD = 72,
    TYPECAST = 73,
    BITCAST = 74,
    BITWISE_XOR = 75,
    BITWISE_NOT = 76,
    BITWISE_AND = 77,
    BITWISE_OR = 78,
    RIGHT_SHIFT = 79,
    FLOOR = 80,
    CEIL = 81,
    TRUNC = 82,
    FRAC = 83,
    ROUND = 84,
    LEFT_SHIFT = 85,
    REMAINDER = 86,
    FMOD = 87,
    DROPOUT = 88,
    FILL = 89,
    PRELU_SFPU = 90,
    ZERO_POINT = 91,
    ALT_COMPLEX_ROTATE90 = 92,
    MISH = 93,
    HARDMISH = 94,
    MAXIMUM = 95,
    MINIMUM = 96,
    TANHSHRINK = 97,
    THRESHOLD = 98,
    SOFTSHRINK = 99,
    HARDSHRINK = 100,
    HARDTANH = 101,
    HARDSIGMOID = 102,
    HARDSWISH = 103,
    WHERE_TSS = 104,
    MAC_TSS = 105,
    SOFTSIGN = 106,
    CELU = 107,
    CLAMP_TSS = 108,
    SELU = 109,
    RPOW = 110,
    CBRT = 111,
    LOGSIGMOID = 112,
    LOGIT = 113,
    XIELU = 114,
    LGAMMA = 115,
    DIGAMMA = 116,
    POLYGAMMA = 117,
    SOFTCAP = 118
};
inline constexpr size_t UNARY_OP_TYPES = 119;

/// How gelu is computed: exactly (erf), by the device's table (0: here exactly too), or by the tanh formula.
enum class GeluVariant : uint8_t { Accurate = 0, FastLut = 1, Tanh = 2 };
enum class SigmoidMode : uint8_t { FastApproximate = 0, AccurateWithFastExp = 1, Accurate = 2 };
enum class VecMode : int { None = 0, R = 1, C = 2, RC = 4, Invalid = 0xFF };

/// A unary op and its parameters, for fused activations.
template <typename... Params>
struct BasicUnaryWithParam {
    UnaryOpType op_type = UnaryOpType::IDENTITY;
    std::vector<float> params;  ///< values in order; int and uint32 parameters are exact to 2^24

    BasicUnaryWithParam() = default;
    BasicUnaryWithParam(UnaryOpType op_type) : op_type(op_type) {}  // NOLINT: implicit as in TT-NN
    BasicUnaryWithParam(UnaryOpType op_type, std::vector<float> params) : op_type(op_type), params(std::move(params)) {}
    BasicUnaryWithParam(UnaryOpType op_type, float param) : op_type(op_type), params{param} {}
    BasicUnaryWithParam(UnaryOpType op_type, float first, float second) : op_type(op_type), params{first, second} {}
    template <typename... Other>
    BasicUnaryWithParam(const BasicUnaryWithParam<Other...>& other) : op_type(other.op_type), params(other.params) {}

    UnaryOpType type() const { return op_type; }
    bool empty() const { return params.empty(); }
    bool operator==(const BasicUnaryWithParam&) const = default;
};

using UnaryWithParam = BasicUnaryWithParam<float>;
using EltwiseUnaryWithParam = BasicUnaryWithParam<float, int32_t, uint32_t>;

}  // namespace ttnn::operations::unary
