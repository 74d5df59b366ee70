// A product of two tensors with bias and activation, as matmul, linear and minimal_matmul launch it.
#pragma once

#include "ops/launch.hpp"
#include "ttnn/operations/matmul/matmul.hpp"

namespace ttnn_shim {

struct ProductOptions {
    bool transpose_a = false, transpose_b = false;
    std::optional<MemoryConfig> memory_config = std::nullopt;
    std::optional<DataType> dtype = std::nullopt;
    std::optional<ttnn::operations::matmul::MatmulProgramConfig> program_config = std::nullopt;
    std::optional<UnaryStep> activation = std::nullopt;
    std::optional<ttnn::ComputeKernelConfig> compute = std::nullopt;
    std::optional<ttnn::CoreGrid> core_grid = std::nullopt;
    std::optional<Tensor> output = std::nullopt;
    std::optional<strategy::MinimalMatmul> minimal = std::nullopt;  ///< minimal_matmul's program instead of a matmul's
};

/// A (of `a` x `b`) in tiles of 32 x 32, on the program that the options or the library choose.
Tensor multiply_tensors(
    const char* op_name, const Tensor& a, const Tensor& b, const std::optional<Tensor>& bias, const ProductOptions& options);

}  // namespace ttnn_shim
