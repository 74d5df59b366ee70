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

/// What rounding in the destination registers does to a sum (see ops/matmul/dst_rounding.hpp). Relative to the sum itself or, for the
/// second of a pair, to the root mean square of its row. A row whose sums are alike (all of one sign and size) has laws of its own.
struct DstRounding {
    float spread = 0, spread_alike = 0;  ///< standard deviation of the error
    float drift = 0, drift_alike = 0;    ///< its mean
    uint32_t inexact = 0;                ///< bits of a float32 sum; where all are 0 no partial sum was rounded
    uint32_t kept_bits = 0xffffffffU;    ///< of the result, after rounding half away from zero

    explicit operator bool() const { return inexact != 0; }
};

/// The law for sums that were looked at together: s * (scale + noise * own) + noise * row, then rounded. The noise is an integer.
struct RowRounding {
    float scale = 1, own = 0, row = 0;
    uint32_t inexact = 0, kept_bits = 0xffffffffU, half = 0;
};

/// How attention weights are stored.
struct WeightRounding {
    uint16_t kept_bits = 0xffff;     ///< of their bfloat16 patterns: what the multipliers take
    bool truncated = false;          ///< to bfloat16, not rounded to nearest
    bool narrow_difference = false;  ///< source - peak is rounded to bfloat16 first, halves away from zero
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
    /// target = exp(scale * (source - peak)) in the bits that `rounding` leaves; the sum is of the values before they lost them.
    float (*weights_row)(const float* source, uint16_t* target, size_t count, float scale, float peak, const WeightRounding& rounding) =
        nullptr;
    void (*scale_row)(float* values, size_t count, float factor) = nullptr;
    void (*softmax_row)(const float* source, float* target, size_t count, bool stable) = nullptr;
    void (*softmax_row_bf16)(const uint16_t* source, float* scratch, uint16_t* target, size_t count, bool stable) = nullptr;
    void (*normalize_row)(
        const float* source, float* target, size_t count, float mean, float rstd, const float* weight, const float* bias) = nullptr;
    /// A row of exact sums -> the sums as the destination registers hold them. The errors are pseudo-random functions of the sums.
    void (*settle_row)(float* values, size_t count, const DstRounding& law) = nullptr;
    RowRounding (*row_rounding)(const float* sums, size_t count, const DstRounding& law) = nullptr;
    /// Sums of a 16-bit Dst, with a bias of as many values (or null), cut to [least, most]. A NaN stays.
    void (*settle_to_bf16_row)(
        const float* source, uint16_t* target, size_t count, const RowRounding& rounding, const float* bias, float least,
        float most) = nullptr;
    /// The same without a look at the whole row first; returns the largest, NaN ignored.
    float (*settle_peak_row)(float* values, size_t count, const DstRounding& law) = nullptr;
    /// Sums and folds of rows whose values are cut to the bits `kept` of their float32 patterns first.
    float (*sum_cut_row)(const float* source, size_t count, uint32_t kept) = nullptr;
    float (*sum_cut_row_bf16)(const uint16_t* source, size_t count, uint32_t kept) = nullptr;
    void (*add_cut_rows)(const float* source, size_t stride, size_t rows, float* into, size_t count, uint32_t kept) = nullptr;
    void (*add_cut_rows_bf16)(const uint16_t* source, size_t stride, size_t rows, float* into, size_t count, uint32_t kept) = nullptr;
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
