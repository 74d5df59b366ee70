// What ttnn::bcast computes and along which dimensions its second operand repeats.
#pragma once

namespace ttnn {

enum class BcastOpMath { ADD, SUB, MUL };
enum class BcastOpDim { H, W, HW };

}  // namespace ttnn
