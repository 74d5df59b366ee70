#include "ops/eltwise/int_blocks.hpp"

#include <numeric>

#include "ops/eltwise/engine.hpp"

namespace ttnn_shim {

namespace {

// Sums and products wrap around, also where the operands are beyond the 32 bits of a tensor (parameters may be).
int64_t plus(int64_t a, int64_t b) { return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b)); }
int64_t minus(int64_t a, int64_t b) { return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b)); }
int64_t times(int64_t a, int64_t b) { return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b)); }

int64_t floor_div(int64_t a, int64_t b) {
    if (b == 0) return 0;
    if (b == -1) return minus(0, a);  // the least value has no quotient
    const int64_t q = a / b;
    return a % b != 0 && ((a < 0) != (b < 0)) ? q - 1 : q;
}
int64_t floor_mod(int64_t a, int64_t b) { return b == 0 || b == -1 ? 0 : a - floor_div(a, b) * b; }
int64_t power(int64_t base, int64_t exponent) {
    if (exponent < 0) return base == 1 ? 1 : (base == -1 ? (exponent % 2 == 0 ? 1 : -1) : 0);
    uint64_t result = 1, square = static_cast<uint64_t>(base);
    for (auto e = static_cast<uint64_t>(exponent); e != 0; e >>= 1, square *= square) {
        if ((e & 1U) != 0) result *= square;
    }
    return static_cast<int64_t>(result);
}
int64_t shift_left(int64_t a, int64_t by) { return by < 0 || by > 31 ? 0 : static_cast<int64_t>(static_cast<uint64_t>(a) << by); }
int64_t shift_right(int64_t a, int64_t by) { return by < 0 || by > 31 ? (a < 0 ? -1 : 0) : a >> by; }
int64_t shift_right_logical(int64_t a, int64_t by) { return by < 0 || by > 31 ? 0 : static_cast<int64_t>(static_cast<uint32_t>(a) >> by); }

// clang-format off
#define INT_UNARY(X) \
  X(ABS, x < 0 ? minus(0, x) : x) \
  X(ABS_INT32, x < 0 ? minus(0, x) : x) \
  X(NEG, minus(0, x)) \
  X(SQUARE, times(x, x)) \
  X(RELU, x > 0 ? x : 0) \
  X(LEAKY_RELU, x) /* TT-NN takes unsigned tensors only, which have no negative side */ \
  X(RELU6, x > 6 ? 6 : (x > 0 ? x : 0)) \
  X(RELU_MAX, x > p0 ? p0 : (x > 0 ? x : 0)) \
  X(RELU_MIN, x > p0 ? x : p0) \
  X(EQZ, x == 0) \
  X(NEZ, x != 0) \
  X(GTZ, x > 0) \
  X(LTZ, x < 0) \
  X(GEZ, x >= 0) \
  X(LEZ, x <= 0) \
  X(SIGNBIT, x < 0) \
  X(LOGICAL_NOT_UNARY, x == 0) \
  X(BITWISE_NOT, ~x) \
  X(BITWISE_AND, x & p0) \
  X(BITWISE_OR, x | p0) \
  X(BITWISE_XOR, x ^ p0) \
  X(LEFT_SHIFT, shift_left(x, p0)) \
  X(RIGHT_SHIFT, shift_right(x, p0)) \
  X(ADD_UNARY_SFPU, plus(x, p0)) \
  X(SUB_UNARY_SFPU, minus(x, p0)) \
  X(MUL_UNARY_SFPU, times(x, p0)) \
  X(RSUB, minus(p0, x)) \
  X(UNARY_NE, x != p0) \
  X(UNARY_EQ, x == p0) \
  X(UNARY_GT, x > p0) \
  X(UNARY_LT, x < p0) \
  X(UNARY_GE, x >= p0) \
  X(UNARY_LE, x <= p0) \
  X(FILL, x * 0 + p0) \
  X(MAXIMUM, x > p0 ? x : p0) \
  X(MINIMUM, x < p0 ? x : p0) \
  X(HARDTANH, x < p0 ? p0 : (x > p1 ? p1 : x)) \
  X(CLAMP_TSS, x < p0 ? p0 : (x > p1 ? p1 : x)) \
  X(THRESHOLD, x > p0 ? x : p1) \
  X(WHERE_TSS, x != 0 ? p0 : p1) \
  X(POWER, power(x, p0)) \
  X(POWER_ITERATIVE, power(x, p0)) \
  X(REMAINDER, floor_mod(x, p0)) \
  X(FMOD, p0 == 0 || p0 == -1 ? 0 : x % p0)

#define INT_BINARY(X) \
  X(ADD, plus(a, b)) \
  X(SUB, minus(a, b)) \
  X(RSUB, minus(b, a)) \
  X(MUL, times(a, b)) \
  X(DIV_FLOOR, floor_div(a, b)) \
  X(DIV_TRUNC, b == 0 ? 0 : (b == -1 ? minus(0, a) : a / b)) \
  X(REMAINDER, floor_mod(a, b)) \
  X(FMOD, b == 0 || b == -1 ? 0 : a % b) \
  X(GT, a > b) \
  X(LT, a < b) \
  X(LE, a <= b) \
  X(GE, a >= b) \
  X(EQ, a == b) \
  X(NE, a != b) \
  X(SQUARED_DIFFERENCE, times(minus(a, b), minus(a, b))) \
  X(LOGICAL_AND, (a != 0) & (b != 0)) \
  X(LOGICAL_OR, (a != 0) | (b != 0)) \
  X(LOGICAL_XOR, (a != 0) != (b != 0)) \
  X(BITWISE_AND, a & b) \
  X(BITWISE_OR, a | b) \
  X(BITWISE_XOR, a ^ b) \
  X(LEFT_SHIFT, shift_left(a, b)) \
  X(RIGHT_SHIFT, shift_right(a, b)) \
  X(LOGICAL_RIGHT_SHIFT, shift_right_logical(a, b)) \
  X(MAXIMUM, a > b ? a : b) \
  X(MINIMUM, a < b ? a : b) \
  X(POWER, power(a, b)) \
  X(GCD, std::gcd(a, b)) \
  X(LCM, std::lcm(a, b))
// clang-format on

#define DEFINE_UNARY(NAME, EXPRESSION)                                                             \
    void int_##NAME(const int64_t* source, int64_t* target, size_t count, const int64_t* params) { \
        [[maybe_unused]] const int64_t p0 = params[0], p1 = params[1];                             \
        for (size_t i = 0; i < count; ++i) {                                                       \
            const int64_t x = source[i];                                                           \
            target[i] = static_cast<int64_t>(EXPRESSION);                                          \
        }                                                                                          \
    }
#define DEFINE_BINARY(NAME, EXPRESSION)                                                          \
    void int2_##NAME(const int64_t* left, const int64_t* right, int64_t* target, size_t count) { \
        for (size_t i = 0; i < count; ++i) {                                                     \
            const int64_t a = left[i], b = right[i];                                             \
            target[i] = static_cast<int64_t>(EXPRESSION);                                        \
        }                                                                                        \
    }
INT_UNARY(DEFINE_UNARY)
INT_BINARY(DEFINE_BINARY)

}  // namespace

IntUnaryBlock int_unary_block(kernels::UnaryOpType type) {
    switch (type) {
#define ENTRY(NAME, EXPRESSION) \
    case UnaryOpType::NAME: return int_##NAME;
        INT_UNARY(ENTRY)
#undef ENTRY
        default: return nullptr;
    }
}

IntBinaryBlock int_binary_block(kernels::BinaryOpType type) {
    switch (type) {
#define ENTRY(NAME, EXPRESSION) \
    case BinaryOpType::NAME: return int2_##NAME;
        INT_BINARY(ENTRY)
#undef ENTRY
        default: return nullptr;
    }
}

}  // namespace ttnn_shim
