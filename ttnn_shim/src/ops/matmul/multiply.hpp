// Products of tensors with the device's math fidelity, for matmul, linear, attention and conv.
#pragma once

#include "ops/eltwise/engine.hpp"
#include "ops/launch.hpp"
#include "tensor/tensix.hpp"

namespace ttnn_shim {

/// The gemm library's fused form of a unary step, when it has one.
std::optional<Activation> gemm_activation(const UnaryStep& step);

/// Runs `call` (operands filled in) with operands cut to what `fidelity` multiplies: LoFi 5 x 7 bits, HiFi2 8 x 7, HiFi3 adds the
/// missing low bit of the first operand times the high bits of the second, HiFi4 (and Invalid) exact. A is SrcB, B is SrcA.
void multiply(MatmulCall call, ttnn::MathFidelity fidelity);

/// The bit model's parameters for a program that runs with `compute` (of a matmul: with the K blocks of the program that TT-NN picks).
TensixMath tensix_math(const ttnn::ComputeKernelConfig& compute);
TensixMath tensix_math(const Program& matmul, const std::vector<Tensor>& inputs, const TensorSpec& output);

/// The compute config a matmul runs with when the caller gives none, or the caller's.
ttnn::ComputeKernelConfig matmul_compute_config(const Tensor& a, const Tensor& b, const std::optional<ttnn::ComputeKernelConfig>& given);
/// Fidelity that the kernel honours: float32 operands multiply exactly unless the caller chose a fidelity.
ttnn::MathFidelity kernel_fidelity(const Tensor& a, const ttnn::ComputeKernelConfig& config, bool given);

}  // namespace ttnn_shim
