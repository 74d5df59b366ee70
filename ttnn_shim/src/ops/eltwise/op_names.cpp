// Names of the eltwise op types, as the strategy and the reports print them.
#include "ops/eltwise/engine.hpp"

namespace ttnn_shim {

const char* unary_name(UnaryOpType type) {
  static constexpr const char* NAMES[] = {
      "EXP", "RECIP", "GELU", "GELU_TANH", "RELU", "SQRT", "SIGMOID", "LOG", "LOG1P", "TANH", "LOG2", "LOG10", "SIN",
      "COS", "COSH", "SINH", "ABS", "ABS_INT32", "SIGN", "SQUARE", "EQZ", "NEZ", "GTZ", "LTZ", "GEZ", "LEZ", "RELU_MAX",
      "RELU_MIN", "POWER", "POWER_ITERATIVE", "LEAKY_RELU", "ELU", "EXP2", "HEAVISIDE", "EXPM1", "SIGNBIT", "ASIN",
      "ACOS", "ACOSH", "RSQRT", "RELU6", "ATAN", "ASINH", "ATANH", "ERF", "ERFC", "ISINF", "ISPOSINF", "ISNEGINF",
      "ISNAN", "LOGICAL_NOT_UNARY", "ISFINITE", "ERFINV", "I0", "I1", "TAN", "RSUB", "RDIV", "SILU", "SOFTPLUS",
      "IDENTITY", "NEG", "ADD_UNARY_SFPU", "SUB_UNARY_SFPU", "MUL_UNARY_SFPU", "DIV_UNARY_SFPU", "UNARY_NE", "UNARY_EQ",
      "UNARY_GT", "UNARY_LT", "UNARY_GE", "UNARY_LE", "TILED_PROD", "TYPECAST", "BITCAST", "BITWISE_XOR", "BITWISE_NOT",
      "BITWISE_AND", "BITWISE_OR", "RIGHT_SHIFT", "FLOOR", "CEIL", "TRUNC", "FRAC", "ROUND", "LEFT_SHIFT", "REMAINDER",
      "FMOD", "DROPOUT", "FILL", "PRELU_SFPU", "ZERO_POINT", "ALT_COMPLEX_ROTATE90", "MISH", "HARDMISH", "MAXIMUM",
      "MINIMUM", "TANHSHRINK", "THRESHOLD", "SOFTSHRINK", "HARDSHRINK", "HARDTANH", "HARDSIGMOID", "HARDSWISH",
      "WHERE_TSS", "MAC_TSS", "SOFTSIGN", "CELU", "CLAMP_TSS", "SELU", "RPOW", "CBRT", "LOGSIGMOID", "LOGIT", "XIELU",
      "LGAMMA", "DIGAMMA", "POLYGAMMA", "SOFTCAP"};
  return NAMES[static_cast<size_t>(type)];
}

const char* binary_name(BinaryOpType type) {
  static constexpr const char* NAMES[] = {
      "ADD", "SUB", "MUL", "GT", "LT", "LE", "GE", "EQ", "NE", "SQUARED_DIFFERENCE", "BIAS_GELU", "LOGADDEXP",
      "LOGICAL_AND", "LOGICAL_OR", "LOGICAL_XOR", "LDEXP", "LOGADDEXP2", "DIV", "DIV_FLOOR", "DIV_TRUNC", "REMAINDER",
      "FMOD", "RSUB", "POWER", "BITWISE_XOR", "BITWISE_AND", "BITWISE_OR", "LEFT_SHIFT", "RIGHT_SHIFT",
      "LOGICAL_RIGHT_SHIFT", "QUANT", "REQUANT", "DEQUANT", "MAXIMUM", "MINIMUM", "GCD", "LCM", "ADDALPHA", "SUBALPHA",
      "XLOGY", "HYPOT", "ATAN2", "NEXTAFTER", "WHERE_TST", "WHERE_TTS", "ISCLOSE", "SITU_GLU"};
  return NAMES[static_cast<size_t>(type)];
}

}  // namespace ttnn_shim
