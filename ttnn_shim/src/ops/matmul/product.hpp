// A product of two tensors with bias and activation, as matmul, linear and minimal_matmul launch it.
#pragma once

#include "ops/arguments.hpp"
#include "ops/launch.hpp"

namespace ttnn_shim {

/// A product of tiles of 32 x 32, on the program that the call or the library chooses. minimal: minimal_matmul's program instead.
Tensor multiply_tensors(
    const char* op_name, const arguments::linear& call, const std::optional<strategy::MinimalMatmul>& minimal = std::nullopt);

}  // namespace ttnn_shim
