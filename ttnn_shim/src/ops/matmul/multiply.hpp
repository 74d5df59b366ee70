// Products of tensors with the device's math fidelity, for matmul, linear, attention and conv.
#pragma once

#include "ops/eltwise/engine.hpp"
#include "ops/launch.hpp"
#include "tensor/tensix.hpp"

namespace ttnn_shim {

/// The gemm library's fused form of a unary step, when it has one.
std::optional<Activation> gemm_activation(const UnaryStep& step);

/// Runs `call` (operands filled in) in the fast numerics mode: operands cut to what `math` multiplies (A is SrcB, B is SrcA), sums rounded
/// as its destination registers round them (dst_rounding.hpp). HiFi3 counts as HiFi4: the product of low bits that it leaves out is below
/// the alignment error of either.
/// `summed`: how many of the K products are not zero by construction, where that is fewer than K.
void multiply(MatmulCall call, const TensixMath& math, int64_t summed = 0);
/// The same for a convolution.
void multiply(ConvCall call, const TensixMath& math);

/// The numerics of a program that runs with `compute`, all of K in Dst.
TensixMath tensix_math(const ttnn::ComputeKernelConfig& compute);
/// Of the running matmul program, with the K blocks that it adds in L1: call inside its kernel.
TensixMath matmul_math(const ttnn::ComputeKernelConfig& compute, int64_t block_k);

/// The compute config a matmul runs with when the caller gives none, or the caller's.
/// A program_config or a core_grid (`configured`) means LoFi unless the call says otherwise; a float32 result accumulates in float32.
ttnn::ComputeKernelConfig matmul_compute_config(
    const Tensor& a, const Tensor& b, const std::optional<ttnn::ComputeKernelConfig>& given, std::optional<DataType> output = std::nullopt,
    bool configured = false);

}  // namespace ttnn_shim
