// NaN in bfloat16 results, as the packer makes it.
#pragma once

#include <span>

#include "strategy/operations.hpp"
#include "tensor/access.hpp"

namespace ttnn_shim {

/// What a program's bfloat16 and block float results hold where IEEE arithmetic gives NaN. The packer has no NaN (tt-metal issues 51557,
/// 52141, 31406: measured on cards).
enum class NanRule : uint8_t {
    Kept,      ///< the program copies bytes, or TTNN_SHIM_NAN=ieee
    Sign,      ///< an infinity of the NaN's sign: values pass the packer as they are
    Positive,  ///< infinity: the SFPU's NaN has no sign (0 / 0, infinity / infinity, the negative of NaN)
    Fpu,  ///< the FPU reads an infinity as a large number: 0 for infinity - infinity and infinity * 0, infinity for a NaN that was read
};

NanRule nan_rule(const strategy::Operation& operation);
/// Rewrites NaN in those of `outputs` that the rule is about. `inputs`: what the program read.
void apply_nan_rule(NanRule rule, std::span<const Tensor> inputs, std::span<const Tensor> outputs);

}  // namespace ttnn_shim
