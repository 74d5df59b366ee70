// The program config that TT-NN makes for a product whose caller gives none: by the shards of the operands and of the result, a caller's
// core_grid, and the free memory of a core.
#pragma once

#include <optional>

#include "ops/launch.hpp"
#include "ttnn/operations/matmul/matmul_program_configs.hpp"

namespace ttnn_shim {

/// A product without program config; `output` is where the result is wanted.
struct AutomaticMatmul {
    const Tensor& a;
    const Tensor& b;
    bool transpose_a = false, transpose_b = false;
    MemoryConfig output;
    DataType dtype = DataType::BFLOAT16;  ///< of the result
    ttnn::ComputeKernelConfig compute;
    std::optional<ttnn::CoreGrid> core_grid = std::nullopt;
    size_t bias_tile_bytes = 0;  ///< of a bias that the program adds
};

/// The config of ttnn 0.81.1 (matmul_program_config.cpp of tt-metal). Throws what the real package refuses while it chooses: shards that
/// no program takes, and blocks that it makes and then finds invalid.
ttnn::operations::matmul::MatmulProgramConfig automatic_config(const AutomaticMatmul& call);

}  // namespace ttnn_shim
