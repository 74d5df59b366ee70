// Geometry of a product and where its result goes: the rules of TT-NN's automatic program configs for shards of A and of the result.
#pragma once

#include <optional>
#include <vector>

#include "ops/data_movement/common.hpp"
#include "ops/launch.hpp"
#include "strategy/matmul_config.hpp"

namespace ttnn_shim {

/// batch_a and batch_b: extents in front of the matrices, aligned; batch and shape: those of the result. m, k, n in values.
struct Geometry {
    std::vector<int64_t> batch, batch_a, batch_b;
    int64_t m = 0, k = 0, n = 0;
    Shape shape;
};

/// Throws unless the operands multiply.
Geometry geometry_of(const Shape& a, const Shape& b, bool transpose_a, bool transpose_b);

int64_t product(const std::vector<int64_t>& extents);

/// A sharded output without shard spec takes its shards from the program config or from A.
MemoryConfig output_memory(const MemoryConfig& wanted, const Geometry& g, const strategy::Matmul& matmul, const Tensor& a);

/// The program that TT-NN picks for such operands and result, if one fits.
std::optional<strategy::MatmulProgram> picked_program(
    const strategy::Matmul& matmul, const ttnn::ComputeKernelConfig& compute, const std::vector<Tensor>& inputs, const TensorSpec& output);

/// Shards of the result come from the program, whatever shard spec the call gives: one block of output tiles per core.
MemoryConfig program_shards(const MemoryConfig& wanted, const strategy::MatmulProgram& p, const Geometry& g, const Tensor& a);

/// The memory of an interleaved A's result: a block-sharded one on one row or column of cores is width or height sharded; throws for
/// shards that do not suit a batch.
MemoryConfig checked_output(const MemoryConfig& wanted, const Geometry& g, bool b_batched);

/// Throws for shards of A that no automatic program config fits.
void check_shards(const Tensor& a, const Geometry& g, const MemoryConfig& output, bool b_batched);

}  // namespace ttnn_shim
