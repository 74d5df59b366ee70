// How every eltwise op runs: blocks of values are loaded in the compute type (float32, or int64 for integer tensors),
// go through a chain of block kernels, and are stored once in the output's dtype.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "ops/argument_types.hpp"
#include "ops/kernels/block_kernels.hpp"
#include "ops/launch.hpp"
#include "ops/registry.hpp"

namespace ttnn_shim {

using kernels::BinaryOpType;
using kernels::UnaryOpType;
using UnarySteps = std::span<const UnaryStep>;

/// Without INT8: TT-NN has no integer programs for it, its unary programs run on real numbers.
constexpr bool is_integer(DataType dtype) {
    return dtype == DataType::INT32 || dtype == DataType::UINT32 || dtype == DataType::UINT16 || dtype == DataType::UINT8;
}
double scalar_value(const Scalar& scalar);
const char* unary_name(UnaryOpType type);
const char* binary_name(BinaryOpType type);

/// output = steps(input). Same volume. Checks that the steps exist for the input's dtype before anything runs.
void run_unary(const Tensor& input, const Tensor& output, UnarySteps steps);
void check_unary_steps(UnarySteps steps, DataType dtype);
/// The same for activations of a binary program, where integers meet fewer restrictions.
void check_chain_steps(UnarySteps steps, DataType dtype);

struct BinaryChains {
    UnarySteps left, right, post;
};
/// output = post(op(left(a), right(b))) with numpy broadcasting of a and b to the output's shape.
void run_binary(const Operand& a, const Operand& b, const Tensor& output, BinaryOpType op, const BinaryChains& chains, bool integer);
bool has_integer_form(BinaryOpType op);

/// Reads any tensor, broadcast to `shape`, as contiguous blocks of T (float or int64_t).
template <typename T>
class BlockReader {
public:
    BlockReader(const Tensor& tensor, const Shape& shape);
    BlockReader(const Shape& tensor_shape, DataType dtype, const std::byte* source, const Shape& shape);
    explicit BlockReader(T value) : constant_(value) {}

    /// Values [begin, begin + count) of the broadcast tensor: in `scratch`, or in place when they are stored that way.
    const T* read(size_t begin, size_t count, T* scratch) const;
    bool linear() const { return dims_.empty() && source_ != nullptr; }

private:
    struct Dim {
        size_t size, stride;
    };
    void load(size_t offset, size_t count, T* target) const;
    T load_one(size_t offset) const;
    DataType dtype_ = DataType::FLOAT32;
    const std::byte* source_ = nullptr;
    std::vector<Dim> dims_;  ///< outer to inner, merged; empty: same shape
    T constant_ = 0;
};

void load_i64(DataType dtype, const void* source, int64_t* target, size_t count);
/// All values of a tensor of integers.
std::vector<int64_t> load_i64(const Tensor& tensor);
/// Integers wrap to the width of `dtype`; float targets convert.
void store_i64(DataType dtype, const int64_t* source, void* target, size_t count);

constexpr size_t BLOCK = 2048;  ///< values per block: float scratch of three blocks stays in L1

/// Calls function(begin, end) in parallel on ranges of [0, count) that begin at multiples of BLOCK.
template <typename Function>
void parallel_blocks(size_t count, Function&& function) {
    parallel_for(
        (count + BLOCK - 1) / BLOCK, 4, [&](size_t first, size_t last) { function(first * BLOCK, std::min(last * BLOCK, count)); });
}

/// Public face of the device ops, used by every public function of the families.
struct UnaryOptions {
    std::optional<MemoryConfig> memory_config = std::nullopt;
    std::optional<Tensor> output = std::nullopt;
    std::optional<DataType> dtype = std::nullopt;
    bool approx = false;
    OptionalCores cores = std::nullopt;
};
Tensor unary_op(const char* op_name, const Tensor& input, std::vector<UnaryStep> steps, const UnaryOptions& options);

/// Dtype that a binary program on such operands makes; throws for pairs that TT-NN refuses.
DataType binary_result_dtype(DataType a, const std::variant<Scalar, DataType>& b, BinaryOpType op);

struct BinaryOptions {
    std::optional<DataType> dtype = std::nullopt;
    std::optional<MemoryConfig> memory_config = std::nullopt;
    std::optional<Tensor> output = std::nullopt;
    UnarySteps post = {}, left = {}, right = {};
    OptionalCores cores = std::nullopt;
};
Tensor binary_op(const char* op_name, const Operand& a, const Operand& b, BinaryOpType op, const BinaryOptions& options);

/// How TT-NN's kernels see the broadcast of two shapes: NONE, ROW_A, COL_B, SCALAR_A, ROW_A_COL_B ...
std::string broadcast_kind(const Shape& a, const Shape& b);

std::optional<UnaryStep> parse_unary_step(const Attr& attr);  ///< "relu", or a record {op_type, params}; nullopt for none
/// Activation names of matmul, linear and conv: relu, gelu, gelu_approx, silu ... throws for an unknown one.
UnaryStep activation_step(std::string_view name);

}  // namespace ttnn_shim
