// What rounding in the FPU's destination registers (Dst) does to a sum of products, for the fast numerics mode. The tensix mode does every
// step of it (tensor/tensix.hpp); here the steps' errors are one pseudo-random error with the mean and variance that they have.
#pragma once

#include "ops/kernels/block_kernels.hpp"
#include "tensor/tensix.hpp"

namespace ttnn_shim {

using kernels::DstRounding;

/// The law for sums of `depth` products under `math`. `weights`: dtype of SrcA's operand, whose low bits phases after the first multiply.
/// `by_power_of_two`: the other operand is the same power of two everywhere.
DstRounding dst_rounding(const TensixMath& math, DataType weights, int64_t depth, bool by_power_of_two = false);
/// Bits of a float32 pattern that reach the multipliers: of SrcB (in0, activations) and SrcA (in1, weights).
uint32_t source_b_bits(const TensixMath& math);
uint32_t source_a_bits(const TensixMath& math);

}  // namespace ttnn_shim
