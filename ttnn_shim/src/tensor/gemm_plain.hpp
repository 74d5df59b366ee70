// Plain threaded loops with what gemm.hpp promises: right, and slow. Builds without oneDNN run them, all builds test them.
#pragma once

#include "tensor/gemm.hpp"

namespace ttnn_shim::plain {

void matmul(const MatmulCall& call);
void convolution(const ConvCall& call);

}  // namespace ttnn_shim::plain
