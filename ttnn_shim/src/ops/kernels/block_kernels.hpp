// Kernels over contiguous float32 values, one set per instruction set (AVX-512, the library's floor), picked when the library loads.
// An eltwise op on any float dtype loads a block as float32, runs one or more of these on it, and stores it once: one rounding.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "ttnn/operations/eltwise/binary/common/binary_op_types.hpp"
#include "ttnn/operations/eltwise/unary/common/unary_op_types.hpp"

namespace ttnn_shim::kernels {

using ttnn::operations::binary::BinaryOpType;
using ttnn::operations::unary::UnaryOpType;

/// target[i] = op(source[i]); in place is allowed. `params` holds at least two floats.
using UnaryBlock = void (*)(const float* source, float* target, size_t count, const float* params);
/// target[i] = op(left[i], right[i]); target may be left or right.
using BinaryBlock = void (*)(const float* left, const float* right, float* target, size_t count);

/// into[i] takes in value i of each of `rows` rows of `count` values, `stride` apart, in their order.
struct RowFold {
    void (*f32)(const float* source, size_t stride, size_t rows, float* into, size_t count) = nullptr;
    void (*bf16)(const uint16_t* source, size_t stride, size_t rows, float* into, size_t count) = nullptr;
};

struct KernelSet {
    std::array<UnaryBlock, ttnn::operations::unary::UNARY_OP_TYPES> unary{};       ///< null: no float form
    std::array<UnaryBlock, ttnn::operations::unary::UNARY_OP_TYPES> unary_bf16{};  ///< shorter forms for results rounded to bfloat16
    std::array<BinaryBlock, ttnn::operations::binary::BINARY_OP_TYPES> binary{};
    float (*sum_row)(const float* source, size_t count, float unused) = nullptr;
    float (*sum_row_bf16)(const uint16_t* source, size_t count, float unused) = nullptr;
    float (*sum_squares_row)(const float* source, size_t count, float mean) = nullptr;  ///< of (x - mean)
    RowFold add_rows, max_rows, min_rows;
    float (*max_row)(const float* source, size_t count) = nullptr;  ///< NaN if any
    float (*min_row)(const float* source, size_t count) = nullptr;
    float (*max_row_bf16)(const uint16_t* source, size_t count) = nullptr;
    float (*min_row_bf16)(const uint16_t* source, size_t count) = nullptr;
    float (*peak_row)(const float* source, size_t count) = nullptr;  ///< largest, NaN ignored
    void (*scale_to_bf16_row)(const float* source, uint16_t* target, size_t count, float factor) = nullptr;
    float (*exp_sum_row)(const float* source, float* target, size_t count, float scale, float shift) = nullptr;
    /// target = bfloat16 of exp(scale * source - shift); the sum is of the values before they were rounded.
    float (*exp_sum_to_bf16_row)(const float* source, uint16_t* target, size_t count, float scale, float shift) = nullptr;
    void (*scale_row)(float* values, size_t count, float factor) = nullptr;
    void (*softmax_row)(const float* source, float* target, size_t count, bool stable) = nullptr;
    void (*softmax_row_bf16)(const uint16_t* source, float* scratch, uint16_t* target, size_t count, bool stable) = nullptr;
    void (*normalize_row)(
        const float* source, float* target, size_t count, float mean, float rstd, const float* weight, const float* bias) = nullptr;
    void (*axpy_row)(const float* source, float* target, size_t count, float factor) = nullptr;
};

/// The set for this machine.
const KernelSet& kernel_set();

namespace avx512 {
KernelSet make_set();
}
namespace baseline {
KernelSet make_set();
}

/// Functions that are rare enough to be scalar; shared by all sets.
namespace cold {
float erfinv(float x);
float bessel_i0(float x);
float bessel_i1(float x);
float lgamma(float x);
float digamma(float x);
float polygamma(int order, float x);
float round_decimals(float x, int decimals);
float remainder(float a, float b);  ///< sign of the divisor, as Python's %
float logit(float x, float epsilon);
float logaddexp(float a, float b);
float logaddexp2(float a, float b);
float xlogy(float a, float b);
}  // namespace cold

}  // namespace ttnn_shim::kernels
