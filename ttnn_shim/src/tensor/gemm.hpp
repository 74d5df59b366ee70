// Matrix multiplication and convolution for kernels: oneDNN behind a plain C++ face, plain threaded loops where there is none.
//
// Values are bfloat16 or float32; accumulation is float32; one rounding at the store. Primitives and packed weights are cached
// per process, keyed by shape (and, for weights, by the values block they came from).
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "tensor/storage.hpp"

namespace ttnn_shim {

enum class Activation : uint8_t { None, Relu, Relu6, Gelu, GeluTanh, Silu, Sigmoid, Tanh };
/// One value, for loops that do not go through oneDNN.
inline float activate(float x, Activation activation) {
    switch (activation) {
        case Activation::None: return x;
        case Activation::Relu: return std::max(x, 0.0F);
        case Activation::Relu6: return std::clamp(x, 0.0F, 6.0F);
        case Activation::Gelu: return 0.5F * x * (1.0F + std::erf(x * 0.70710678F));
        case Activation::GeluTanh: return 0.5F * x * (1.0F + std::tanh(0.79788456F * (x + 0.044715F * x * x * x)));
        case Activation::Silu: return x / (1.0F + std::exp(-x));
        case Activation::Sigmoid: return 1.0F / (1.0F + std::exp(-x));
        case Activation::Tanh: return std::tanh(x);
    }
    return x;
}

/// A row-major matrix operand, or a stack of them. `values` may be null; when it names the block that `data` points into and
/// the operand is a constant (weights), the packed form is kept as long as the block lives.
struct Matrix {
    const void* data = nullptr;
    DataType dtype = DataType::FLOAT32;  ///< FLOAT32, BFLOAT16 or a block float (stored as bfloat16)
    std::shared_ptr<Values> values = nullptr;
    uint32_t kept_bits = ALL_BITS;  ///< of each value's float32 pattern; the others count as zero

    static constexpr uint32_t ALL_BITS = 0xffffffffU;
    /// Whether some value of this dtype has bits that are not kept.
    bool is_cut() const {
        switch (dtype) {
            case DataType::BFLOAT16: return (~kept_bits & 0xffff0000U) != 0;
            case DataType::BFLOAT8_B: return (~kept_bits & 0xfffe0000U) != 0;  // magnitudes of 7 bits
            case DataType::BFLOAT4_B: return (~kept_bits & 0xffe00000U) != 0;  // of 3
            default: return kept_bits != ALL_BITS;
        }
    }
};

struct MatmulCall {
    // C[batch, m, n] = act(alpha * A[batch, m, k] x B[batch, k, n] + bias)
    std::vector<int64_t> batch;    ///< batch extents of C; empty for one matrix
    std::vector<int64_t> batch_a;  ///< same rank as `batch`, extents equal or 1
    std::vector<int64_t> batch_b;
    int64_t m = 1, k = 1, n = 1;
    bool transpose_a = false;  ///< A is stored [k, m]
    bool transpose_b = false;  ///< B is stored [n, k]
    Matrix a, b;
    const float* bias = nullptr;  ///< n values, or null
    float alpha = 1.0F;
    Activation activation = Activation::None;
    void* c = nullptr;
    DataType c_dtype = DataType::FLOAT32;  ///< FLOAT32 or BFLOAT16 (block floats: give BFLOAT16)
    bool constant_b = false;               ///< pack B once and keep it
    bool accumulate = false;               ///< adds to what C holds (FLOAT32, no bias, alpha or activation)
};

/// Product of extents.
inline int64_t volume(const std::vector<int64_t>& extents) {
    int64_t result = 1;
    for (const int64_t extent : extents) result *= extent;
    return result;
}
/// Index of an operand's matrix for batch number `index`; extents of 1 broadcast.
inline int64_t batch_index(int64_t index, const std::vector<int64_t>& batch, const std::vector<int64_t>& own) {
    int64_t result = 0, step = 1;
    for (size_t dim = batch.size(); dim-- > 0;) {
        result += own[dim] == 1 ? 0 : index % batch[dim] * step;
        index /= batch[dim];
        step *= own[dim];
    }
    return result;
}

void matmul(const MatmulCall& call);
/// The same inside a parallel_for body: runs in the calling thread alone, with caches of its own, so threads do not wait for each
/// other. Operands bfloat16 or float32 of one kind, no packed weights (`values` is ignored).
void matmul_in_thread(const MatmulCall& call);

struct ConvCall {
    // NHWC activations, OIHW weights (I = in_channels / groups). out[n, oh, ow, o]
    int64_t batch = 1, in_h = 1, in_w = 1, in_channels = 1;
    int64_t out_h = 1, out_w = 1, out_channels = 1;
    int64_t kernel_h = 1, kernel_w = 1, stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1;
    int64_t pad_top = 0, pad_bottom = 0, pad_left = 0, pad_right = 0;
    int64_t groups = 1;
    bool transposed = false;  ///< transposed convolution; weights are [in, out / groups, kh, kw]
    Matrix input, weight;
    const float* bias = nullptr;  ///< out_channels values, or null
    Activation activation = Activation::None;
    void* output = nullptr;
    DataType output_dtype = DataType::FLOAT32;
};

void convolution(const ConvCall& call);

/// "oneDNN 3.2.0" or "plain loops".
const char* gemm_library();
/// True when bfloat16 operands are multiplied as bfloat16 (AVX-512); else they are widened to float32 first.
bool gemm_has_bf16();
/// The widest instruction set that products use on this machine, after the cap of ONEDNN_MAX_CPU_ISA, by the names that the variable takes.
const char* gemm_instruction_set();
/// Drops cached primitives and packed weights.
void clear_gemm_cache();

}  // namespace ttnn_shim
