#include "ops/matmul/multiply.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "ops/matmul/dst_rounding.hpp"

namespace ttnn_shim {

std::optional<Activation> gemm_activation(const UnaryStep& step) {
    switch (step.op_type) {
        case UnaryOpType::RELU: return Activation::Relu;
        case UnaryOpType::RELU6: return Activation::Relu6;
        case UnaryOpType::GELU: return Activation::Gelu;
        case UnaryOpType::GELU_TANH: return Activation::GeluTanh;
        case UnaryOpType::SILU: return Activation::Silu;
        case UnaryOpType::SIGMOID: return Activation::Sigmoid;
        case UnaryOpType::TANH: return Activation::Tanh;
        default: return std::nullopt;
    }
}

namespace {

/// `half`: for results that are rounded to bfloat16.
kernels::UnaryBlock activation_kernel(Activation activation, bool half) {
    const auto& kernel = kernels::kernel_set();
    for (const auto type :
         {UnaryOpType::RELU, UnaryOpType::RELU6, UnaryOpType::GELU, UnaryOpType::GELU_TANH, UnaryOpType::SILU, UnaryOpType::SIGMOID,
          UnaryOpType::TANH}) {
        if (gemm_activation(type) != activation) continue;
        const auto index = static_cast<size_t>(type);
        return (half ? kernel.unary_bf16 : kernel.unary)[index];
    }
    return nullptr;
}

/// Rows of exact sums as the packer leaves them: rounded as in Dst, with bias and activation.
struct Settling {
    DstRounding law;
    bool fp32_dest = false;
    const float* bias = nullptr;
    Activation activation = Activation::None;

    /// `sums` [rows, columns] is used up; `target` may be the same memory.
    void operator()(float* sums, size_t rows, size_t columns, DataType dtype, void* target) const {
        const auto& kernel = kernels::kernel_set();
        const kernels::UnaryBlock act = activation_kernel(activation, dtype != DataType::FLOAT32);
        const float params[2] = {0, 0};
        const bool bounds = activation == Activation::Relu || activation == Activation::Relu6;
        const float least = bounds ? 0.0F : -INFINITY, most = activation == Activation::Relu6 ? 6.0F : INFINITY;
        const bool narrow = !fp32_dest && dtype != DataType::FLOAT32 && (act == nullptr || bounds);
        auto* out = static_cast<std::byte*>(target);
        // Short rows are settled together, with as many copies of the bias.
        constexpr size_t LEAST = 2048;
        const size_t together = std::max<size_t>(1, LEAST / std::max<size_t>(1, columns)), runs = (rows + together - 1) / together;
        std::vector<float> biases;
        for (size_t row = 0; narrow && bias != nullptr && together > 1 && row < std::min(together, rows); ++row)
            biases.insert(biases.end(), bias, bias + columns);
        parallel_for(runs, std::max<size_t>(1, 16384 / std::max<size_t>(1, together * columns)), [&](size_t begin, size_t end) {
            for (size_t run = begin; run < end; ++run) {
                const size_t first = run * together, count = std::min(together, rows - first);
                float* values = sums + first * columns;
                std::byte* stored = out + first * columns * stored_bytes(dtype);
                if (narrow) {
                    const kernels::RowRounding rounding = kernel.row_rounding(values, count * columns, law);
                    const float* added = biases.empty() ? bias : biases.data();
                    kernel.settle_to_bf16_row(values, reinterpret_cast<uint16_t*>(stored), count * columns, rounding, added, least, most);
                    continue;
                }
                kernel.settle_row(values, count * columns, law);
                for (size_t row = 0; bias != nullptr && row < count; ++row) add_bias(values + row * columns, columns);
                if (act != nullptr) act(values, values, count * columns, params);
                if (stored != reinterpret_cast<std::byte*>(values)) store_f32(dtype, values, stored, count * columns);
            }
        });
    }

private:
    /// The sum passes a source register again: 11 significant bits of both.
    void add_bias(float* values, size_t columns) const {
        const uint32_t kept = fp32_dest ? 0xffffe000U : 0xffff0000U;
        const auto cut = [kept](float value) { return std::bit_cast<float>(std::bit_cast<uint32_t>(value) & kept); };
        for (size_t i = 0; i < columns; ++i) values[i] = cut(values[i]) + cut(bias[i]);
    }
};

/// Runs `product`, which writes C through (pointer, dtype, bias, activation), and settles it. A 32-bit Dst that is packed to 16 bits loses
/// more there than in its sums.
template <typename Product>
void settled_product(Settling settling, size_t rows, size_t columns, DataType dtype, void* target, Product&& product) {
    // The library's clip would make a number of a NaN.
    if (settling.fp32_dest && dtype != DataType::FLOAT32 && settling.activation != Activation::Relu6)
        return product(target, dtype, settling.bias, settling.activation);
    std::shared_ptr<Values> wide;
    auto* sums = static_cast<float*>(target);
    if (dtype != DataType::FLOAT32) {
        wide = Values::allocate(rows * columns * sizeof(float));
        sums = reinterpret_cast<float*>(wide->data());
    }
    product(sums, DataType::FLOAT32, nullptr, Activation::None);
    settling(sums, rows, columns, dtype, target);
}

constexpr size_t CACHED_BYTES = size_t{3} << 18U;  // of sums: with their operands they fit into a level-2 cache

/// How many rows of a product to make at a time, so that their float32 sums are still in a level-2 cache when they are settled. It depends
/// on the shape alone: results are the same with every number of threads. Reading the second operand again must cost less than it saves.
size_t rows_at_a_time(size_t rows, const MatmulCall& call) {
    constexpr size_t LEAST_ROWS = 64;
    const bool one_matrix = !call.transpose_a && volume(call.batch_b) == 1 && volume(call.batch_a) == volume(call.batch);
    if (!one_matrix) return rows;
    const size_t least = (rows * static_cast<size_t>(call.n) * sizeof(float) + CACHED_BYTES - 1) / CACHED_BYTES;
    for (size_t parts = std::max<size_t>(least, 1); parts <= 4 * least && rows / parts >= LEAST_ROWS; ++parts) {
        if (rows % parts == 0) return static_cast<size_t>(call.k) * (parts - 1) <= 2 * rows ? rows / parts : rows;
    }
    return rows;
}

}  // namespace

void multiply(MatmulCall call, const TensixMath& math, int64_t summed) {
    call.a.kept_bits = source_b_bits(math);
    call.b.kept_bits = source_a_bits(math);
    const Settling settling{dst_rounding(math, call.b.dtype, summed > 0 ? summed : call.k), math.fp32_dest, call.bias, call.activation};
    const size_t rows = static_cast<size_t>(volume(call.batch) * call.m), columns = static_cast<size_t>(call.n);
    const DataType target_dtype = call.c_dtype;
    const bool settles = !math.fp32_dest || target_dtype == DataType::FLOAT32;
    const size_t together = settles ? rows_at_a_time(rows, call) : rows;
    if (together < rows) {
        call.batch.clear();
        call.batch_a.clear();
        call.batch_b.clear();
        call.m = static_cast<int64_t>(together);
        call.a.values = nullptr;  // a part of it is not kept
    }
    const auto* operand = static_cast<const std::byte*>(call.a.data);
    auto* target = static_cast<std::byte*>(call.c);
    for (size_t first = 0; first < rows; first += together) {
        call.a.data = operand + first * static_cast<size_t>(call.k) * stored_bytes(call.a.dtype);
        settled_product(
            settling, together, columns, target_dtype, target + first * columns * stored_bytes(target_dtype),
            [&](void* c, DataType dtype, const float* bias, Activation activation) {
                call.c = c;
                call.c_dtype = dtype;
                call.bias = bias;
                call.activation = activation;
                matmul(call);
            });
    }
}

void multiply(ConvCall call, const TensixMath& math) {
    call.input.kept_bits = source_b_bits(math);
    call.weight.kept_bits = source_a_bits(math);
    const int64_t depth = call.kernel_h * call.kernel_w * (call.in_channels / call.groups);
    const Settling settling{dst_rounding(math, call.weight.dtype, depth), math.fp32_dest, call.bias, call.activation};
    const ConvCall whole = call;
    const bool settles = !math.fp32_dest || whole.output_dtype == DataType::FLOAT32;
    const auto line_values = static_cast<size_t>(whole.out_w * whole.out_channels);
    const size_t image_bytes = static_cast<size_t>(whole.out_h) * line_values * sizeof(float);
    const bool by_image = settles && static_cast<size_t>(whole.batch) * image_bytes > CACHED_BYTES;
    if (by_image) call.input.values = nullptr;  // a part of it is not kept
    // Some lines of an image at a time, or one image, where the sums would leave the cache before they are settled. Each window must see a
    // line of the image: padding is no strip of its own.
    const int64_t reach = whole.dilation_h * (whole.kernel_h - 1);
    const bool cuts = by_image && !whole.transposed && whole.pad_top <= reach && whole.pad_bottom <= reach;
    const auto strips = cuts ? static_cast<int64_t>((image_bytes + CACHED_BYTES - 1) / CACHED_BYTES) : 1;
    const int64_t lines = (whole.out_h + strips - 1) / strips, images = by_image ? 1 : whole.batch;
    const auto input_line = static_cast<size_t>(whole.in_w * whole.in_channels) * stored_bytes(whole.input.dtype);
    const size_t output_line = line_values * stored_bytes(whole.output_dtype);
    const auto* operand = static_cast<const std::byte*>(whole.input.data);
    auto* target = static_cast<std::byte*>(whole.output);
    call.batch = images;
    for (int64_t image = 0; image < whole.batch; image += images) {
        for (int64_t line = 0; line < whole.out_h; line += lines) {
            call.out_h = std::min(lines, whole.out_h - line);
            int64_t first = 0;  // line of the image that the window sees first
            if (strips > 1) {
                const int64_t above = line * whole.stride_h - whole.pad_top;
                const int64_t below = above + (call.out_h - 1) * whole.stride_h + whole.dilation_h * (whole.kernel_h - 1) + 1;
                first = std::max<int64_t>(above, 0);
                call.in_h = std::min(below, whole.in_h) - first;
                call.pad_top = first - above;
                call.pad_bottom = below - first - call.in_h;
            }
            call.input.data = operand + static_cast<size_t>(image * whole.in_h + first) * input_line;
            settled_product(
                settling, static_cast<size_t>(images * call.out_h * whole.out_w), static_cast<size_t>(whole.out_channels),
                whole.output_dtype, target + static_cast<size_t>(image * whole.out_h + line) * output_line,
                [&](void* output, DataType dtype, const float* bias, Activation activation) {
                    call.output = output;
                    call.output_dtype = dtype;
                    call.bias = bias;
                    call.activation = activation;
                    convolution(call);
                });
        }
    }
}

TensixMath tensix_math(const ttnn::ComputeKernelConfig& compute) { return {compute.math_fidelity, compute.fp32_dest_acc_en, 0}; }

TensixMath matmul_math(const ttnn::ComputeKernelConfig& compute, int64_t block_k) {
    TensixMath math = tensix_math(compute);
    if (compute.packer_l1_acc) math.l1_block_tiles = block_k;
    return math;
}

ttnn::ComputeKernelConfig matmul_compute_config(
    const Tensor& a, const Tensor& b, const std::optional<ttnn::ComputeKernelConfig>& given, std::optional<DataType> output,
    bool configured) {
    using ttnn::MathFidelity;
    const auto arch = device_of(a)->arch();
    const bool exact = a.dtype() == DataType::FLOAT32 && b.dtype() == DataType::FLOAT32;
    const bool wide = output ? *output == DataType::FLOAT32 : exact;
    const bool coarse = configured || (is_block_float(a.dtype()) && is_block_float(b.dtype()));
    const auto fidelity = exact    ? (arch == tt::ARCH::BLACKHOLE ? MathFidelity::HiFi4 : MathFidelity::HiFi3)
                          : coarse ? MathFidelity::LoFi
                                   : MathFidelity::HiFi2;
    std::optional<const ttnn::ComputeKernelConfig> config;
    if (given) config.emplace(*given);
    return ttnn::init_device_compute_kernel_config(arch, config, fidelity, false, wide, !wide);
}

}  // namespace ttnn_shim
