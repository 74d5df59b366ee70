// The `tensix` numerics mode: products accumulate as the FPU's bit model says, not as the host's float32 does. Slow.
//
// The model (docs/numerics.md has it with its sources; it is not verified against silicon):
//   operands   in1 (weights) is SrcA, in0 (activations) SrcB. float32 arrives as TF32 (10 mantissa bits), or as bfloat16 when Dst is 16
//   bits
//              wide; both truncate. Denormals are zero.
//   phases     SrcA gives 5 significant bits per pass (hidden + 4, then the next 5), SrcB 7 (hidden + 6, then the next 4). LoFi runs
//              phase 0, HiFi2 0 and 1, HiFi3 0 to 2, HiFi4 0 to 3: phase 1 is SrcA's low bits, 2 SrcB's, 3 both.
//   order      for each 32-deep tile along K, for each phase, for each 16-deep half: one step on Dst.
//   a step     two groups of 8 products, each aligned to the group's largest exponent (round half up) and summed; both sums and the old
//              Dst value aligned to the largest of the three exponents (round half up), with a 16-bit Dst rounded to 11 bits below it;
//              summed, normalised, rounded half away to bfloat16 or to 24 bits. Underflow is +0, overflow infinity, NaN does not arise.
#pragma once

#include <string_view>

#include "tensor/gemm.hpp"
#include "ttnn/operations/core/compute_kernel/compute_kernel_config.hpp"

namespace ttnn_shim {

enum class Numerics : uint8_t { Fast, Tensix };

/// Of this process: TTNN_SHIM_NUMERICS (fast or tensix) until set. Throws Error(InvalidArgument) for another name.
Numerics numerics();
void set_numerics(std::string_view name);

struct TensixMath {
    ttnn::MathFidelity fidelity = ttnn::MathFidelity::HiFi4;
    bool fp32_dest = false;
    /// Tiles along K whose sum leaves Dst and is added to the earlier ones in L1 (packer_l1_acc); 0: all of K stays in Dst.
    int64_t l1_block_tiles = 0;
};

/// The product of `call` as Dst holds it before packing, in float32 [batch, m, n]; alpha, c and c_dtype are ignored. Bias is added by the
/// FPU (11 significant bits), the activation applied in float32 and rounded to Dst's format.
void tensix_matmul(const MatmulCall& call, const TensixMath& math, float* result);
/// The same for a convolution, as one product with K = (kernel row, kernel column, channel); output and output_dtype are ignored.
void tensix_convolution(const ConvCall& call, const TensixMath& math, float* result);
/// Extents of values that are summed along the middle.
struct SumShape {
    int64_t outer = 1, size = 1, inner = 1;
};
/// Sums along the middle as the FPU makes them: one product of the values (SrcA) with `scaler` (SrcB), in the values' order. [outer, inner]
void tensix_sum(const float* values, const SumShape& shape, float scaler, const TensixMath& math, float* result);
/// An element-wise sum (ELWADD): both on 11 significant bits, rounded to Dst's format.
float tensix_add(float a, float b, bool fp32_dest);
/// A value as Dst holds it after the SFPU or an L1 accumulation wrote it: to nearest even where it is 16 bits wide.
float tensix_nearest(float value, bool fp32_dest);
/// Dst values as the packer writes them, `width` to a row; bfloat8_b and bfloat4_b as bfloat16 that holds the block's values.
void tensix_pack(DataType dtype, const float* values, std::byte* target, size_t count, size_t width);

}  // namespace ttnn_shim
