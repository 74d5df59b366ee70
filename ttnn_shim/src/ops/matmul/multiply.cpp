#include "ops/matmul/multiply.hpp"

#include <mutex>
#include <vector>

#include "strategy/matmul_config.hpp"

namespace ttnn_shim {

std::optional<Activation> gemm_activation(const UnaryStep& step) {
    switch (step.op_type) {
        case UnaryOpType::RELU: return Activation::Relu;
        case UnaryOpType::GELU: return Activation::Gelu;
        case UnaryOpType::GELU_TANH: return Activation::GeluTanh;
        case UnaryOpType::SILU: return Activation::Silu;
        case UnaryOpType::SIGMOID: return Activation::Sigmoid;
        case UnaryOpType::TANH: return Activation::Tanh;
        default: return std::nullopt;
    }
}

namespace {

size_t volume(const std::vector<int64_t>& batch) {
    size_t count = 1;
    for (const int64_t extent : batch) count *= static_cast<size_t>(extent);
    return count;
}

/// Which bits of a significand an operand keeps: masks on the float32 pattern (tables of hardware.md 3.3).
constexpr uint32_t SRC_A_HIGH = 0xfff80000U;  // hidden bit and 4 more
constexpr uint32_t SRC_B_HIGH = 0xfffe0000U;  // hidden bit and 6 more

struct Cut {
    std::shared_ptr<Values> values;
    Matrix matrix;
};

/// The operand with only the bits of `mask`, or only the others when `low`.
Cut cut(const Matrix& matrix, size_t count, uint32_t mask, bool low) {
    const size_t bytes = stored_bytes(matrix.dtype);
    Cut result{Values::allocate(count * bytes), matrix};
    std::byte* target = result.values->data();
    parallel_for(count, 32768, [&](size_t begin, size_t end) {
        if (bytes == 2) {
            const auto* source = static_cast<const uint16_t*>(matrix.data);
            auto* out = reinterpret_cast<uint16_t*>(target);
            const auto keep = static_cast<uint16_t>(mask >> 16);
            if (!low) {
                for (size_t i = begin; i < end; ++i) out[i] = source[i] & keep;
            } else {
                for (size_t i = begin; i < end; ++i) {
                    const float whole = std::bit_cast<float>(uint32_t{source[i]} << 16);
                    const float high = std::bit_cast<float>(uint32_t{static_cast<uint16_t>(source[i] & keep)} << 16);
                    out[i] = static_cast<uint16_t>(std::bit_cast<uint32_t>(whole - high) >> 16);
                }
            }
        } else {
            const auto* source = static_cast<const uint32_t*>(matrix.data);
            auto* out = reinterpret_cast<uint32_t*>(target);
            for (size_t i = begin; i < end; ++i) {
                const uint32_t value = source[i] & 0xffffe000U;  // operands reach the multiplier as TF32
                const uint32_t high = value & mask;
                out[i] = low ? std::bit_cast<uint32_t>(std::bit_cast<float>(value) - std::bit_cast<float>(high)) : high;
            }
        }
    });
    result.matrix.data = target;
    result.matrix.values = nullptr;  // a temporary: nothing to keep packed
    return result;
}

/// The high bits of a first operand, kept until another one is cut: projections of one activation (query, key and value; gate and up)
/// follow one another.
Cut cut_activation(const Matrix& matrix, size_t count) {
    constexpr size_t MOST_BYTES = size_t{64} << 20U;
    struct Kept {
        std::mutex lock;
        std::weak_ptr<Values> block;
        uint64_t version = 0;
        const void* data = nullptr;
        size_t count = 0;
        Cut result;
    };
    static auto* kept = new Kept;
    const size_t bytes = count * stored_bytes(matrix.dtype);
    if (!matrix.values || bytes > MOST_BYTES) return cut(matrix, count, SRC_B_HIGH, false);
    const std::lock_guard guard(kept->lock);
    const bool same = kept->block.lock() == matrix.values && kept->version == matrix.values->version() && kept->data == matrix.data &&
                      kept->count == count && kept->result.matrix.dtype == matrix.dtype;
    if (!same) {
        kept->block.reset();
        kept->result = {};  // its memory serves the new one
        kept->result = cut(matrix, count, SRC_B_HIGH, false);
        kept->block = matrix.values;
        kept->version = matrix.values->version();
        kept->data = matrix.data;
        kept->count = count;
    }
    return kept->result;
}

}  // namespace

void multiply(MatmulCall call, ttnn::MathFidelity fidelity) {
    using ttnn::MathFidelity;
    if (fidelity == MathFidelity::HiFi4 || fidelity == MathFidelity::Invalid) return matmul(call);
    const size_t count_a = volume(call.batch_a) * static_cast<size_t>(call.m * call.k);
    const size_t count_b = volume(call.batch_b) * static_cast<size_t>(call.k * call.n);
    const Matrix whole_a = call.a, whole_b = call.b;
    const Cut high_a = cut_activation(whole_a, count_a);
    call.a = high_a.matrix;
    if (fidelity == MathFidelity::HiFi2) return matmul(call);
    const Cut high_b = cut(whole_b, count_b, SRC_A_HIGH, false);
    if (fidelity == MathFidelity::LoFi) {
        call.b = high_b.matrix;
        call.constant_b = false;
        return matmul(call);
    }
    // HiFi3: high(a) * b + low(a) * high(b), summed in float32 before bias and activation
    const size_t rows = volume(call.batch) * static_cast<size_t>(call.m), columns = static_cast<size_t>(call.n);
    const size_t count = rows * columns;
    std::vector<float> first(count), second(count);
    MatmulCall part = call;
    part.bias = nullptr;
    part.activation = Activation::None;
    part.c_dtype = DataType::FLOAT32;
    part.c = first.data();
    matmul(part);
    const Cut low_a = cut(whole_a, count_a, SRC_B_HIGH, true);
    part.a = low_a.matrix;
    part.b = high_b.matrix;
    part.constant_b = false;
    part.c = second.data();
    matmul(part);
    kernels::UnaryBlock activation = nullptr;
    const float params[2] = {0, 0};
    for (const auto type :
         {UnaryOpType::RELU, UnaryOpType::GELU, UnaryOpType::GELU_TANH, UnaryOpType::SILU, UnaryOpType::SIGMOID, UnaryOpType::TANH}) {
        if (call.activation != Activation::None && gemm_activation(type) == call.activation)
            activation = kernels::kernel_set().unary[static_cast<size_t>(type)];
    }
    auto* target = static_cast<std::byte*>(call.c);
    parallel_for(rows, std::max<size_t>(1, 16384 / std::max<size_t>(1, columns)), [&](size_t begin, size_t end) {
        for (size_t row = begin; row < end; ++row) {
            float* values = first.data() + row * columns;
            const float* add = second.data() + row * columns;
            for (size_t i = 0; i < columns; ++i) values[i] += add[i] + (call.bias != nullptr ? call.bias[i] : 0.0F);
            if (activation != nullptr) activation(values, values, columns, params);
            store_f32(call.c_dtype, values, target + row * columns * stored_bytes(call.c_dtype), columns);
        }
    });
}

TensixMath tensix_math(const ttnn::ComputeKernelConfig& compute) { return {compute.math_fidelity, compute.fp32_dest_acc_en, 0}; }

TensixMath tensix_math(const Program& matmul, const std::vector<Tensor>& inputs, const TensorSpec& output) {
    TensixMath math = tensix_math(*matmul.compute);
    if (matmul.compute->packer_l1_acc) {
        const auto config = describe(matmul, inputs, {output});
        const auto arch = sim::make_arch(machine_of(inputs[0]).machine().card);
        math.l1_block_tiles = strategy::select_matmul(arch, config, strategy::matmul_shape(config)).block_k;
    }
    return math;
}

ttnn::ComputeKernelConfig matmul_compute_config(const Tensor& a, const Tensor& b, const std::optional<ttnn::ComputeKernelConfig>& given) {
    using ttnn::MathFidelity;
    const auto arch = device_of(a)->arch();
    const bool exact = a.dtype() == DataType::FLOAT32 && b.dtype() == DataType::FLOAT32;
    const auto fidelity = is_block_float(a.dtype()) && is_block_float(b.dtype()) ? MathFidelity::LoFi
                          : exact ? (arch == tt::ARCH::BLACKHOLE ? MathFidelity::HiFi4 : MathFidelity::HiFi3)
                                  : MathFidelity::HiFi2;
    std::optional<const ttnn::ComputeKernelConfig> config;
    if (given) config.emplace(*given);
    return ttnn::init_device_compute_kernel_config(arch, config, fidelity, false, exact, !exact);
}

ttnn::MathFidelity kernel_fidelity(const Tensor& a, const ttnn::ComputeKernelConfig& config, bool given) {
    return a.dtype() == DataType::FLOAT32 && !given ? ttnn::MathFidelity::HiFi4 : config.math_fidelity;
}

}  // namespace ttnn_shim
