// Where the results of eltwise programs go: shards adjusted to a broadcast result, memory configs without shard spec, and which
// broadcasts the kernels of binary and ternary programs know.
#pragma once

#include <initializer_list>
#include <optional>

#include "tensor/access.hpp"
#include "ttnn/types.hpp"

namespace ttnn_shim {

/// Memory config of `tensor` with its shard stretched to a result of `shape`. Throws for a sharded tensor of no values.
MemoryConfig stretched_memory(const Tensor& tensor, const Shape& shape);

/// `config`; when it is sharded without a shard spec, with the stretched shards of the first sharded tensor of `from`, or else with even
/// shards over as many cores as they fill. `like` gives the result's layout and device.
MemoryConfig with_shards(const MemoryConfig& config, const Tensor& like, const Shape& shape, std::initializer_list<const Tensor*> from);

/// Memory of a binary program's result: given, the output's, or taken from an operand. A sharded second operand leads when the first
/// lies in DRAM or has fewer cores. `a` and `b` are the operands as the program sees them; `b` is null beside a scalar.
MemoryConfig binary_memory(
    const Tensor& a, const Tensor* b, const Shape& shape, const std::optional<MemoryConfig>& given, const std::optional<Tensor>& output);

/// Memory of a ternary program's result: given, the output's, or that of the operand with the most cores.
MemoryConfig ternary_memory(
    std::initializer_list<const Tensor*> operands, const Shape& shape, const std::optional<MemoryConfig>& given,
    const std::optional<Tensor>& output);

/// Throws for a sharded input that a unary program with a result in `memory` cannot read: a row of rank 1, shards of no bytes.
void check_unary_shards(const Tensor& input, const MemoryConfig& memory);

/// The spec of a preallocated output for a binary result of `shape`, which may differ in leading ones.
TensorSpec output_spec(const Tensor& output, const Shape& shape);

/// Throws for a preallocated output that a unary program on `input`, of `dtype` when it computes, does not write.
void check_unary_output(const Tensor& input, DataType dtype, const std::optional<Tensor>& output);

/// Throws for operands of no values whose binary program would run in the shards of its result.
void check_empty_shards(const Tensor& a, const Tensor* b, const MemoryConfig& result);

/// An integer tensor as FLOAT32, by a unary program.
Tensor to_real(const Tensor& tensor);

/// Throws for two shapes whose last dimensions a binary program cannot broadcast.
void check_binary_broadcast(const Shape& a, const Shape& b);

/// How a ternary program broadcasts its operands over the last two dimensions.
enum class TernaryBroadcast { None, Outer, Row, Column, Scalar, Invalid };
TernaryBroadcast ternary_broadcast(std::initializer_list<const Shape*> shapes);

}  // namespace ttnn_shim
