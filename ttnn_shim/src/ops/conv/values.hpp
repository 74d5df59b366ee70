// The values of a convolution, whatever device programs it runs as.
#pragma once

#include "ops/conv/convolution.hpp"
#include "ops/eltwise/engine.hpp"
#include "ops/matmul/multiply.hpp"

namespace ttnn_shim {

/// Values of the whole convolution into `output`. input: its values count, not where they are.
void compute_conv(
    const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias, const Convolution& conv,
    const std::vector<UnaryStep>& steps, const TensixMath& math, const Tensor& output);

}  // namespace ttnn_shim
