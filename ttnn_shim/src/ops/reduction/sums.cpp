// Sums along a dimension as the FPU makes them: a product of the values (SrcA) with a scaler (SrcB).
#include <bit>

#include "ops/matmul/dst_rounding.hpp"
#include "ops/reduction/values.hpp"

namespace ttnn_shim::reduction {
namespace {

bool stored_as_bf16(DataType dtype) { return dtype == DataType::BFLOAT16 || is_block_float(dtype); }

/// The scaler as its tile holds it: float32 for float32 inputs, else bfloat16, cut.
float stored_scaler(float factor, DataType dtype) {
    return std::bit_cast<float>(std::bit_cast<uint32_t>(factor) & (dtype == DataType::FLOAT32 ? 0xffffffffU : 0xffff0000U));
}

float row_sum(DataType dtype, const std::byte* source, size_t count, const Matrix& format, std::vector<float>& scratch) {
    const auto& kernel = kernels::kernel_set();
    if (stored_as_bf16(dtype)) {
        const auto* row = reinterpret_cast<const uint16_t*>(source);
        return format.is_cut() ? kernel.sum_cut_row_bf16(row, count, format.kept_bits) : kernel.sum_row_bf16(row, count, 0.0F);
    }
    const auto* row = reinterpret_cast<const float*>(source);
    if (dtype != DataType::FLOAT32) {
        scratch.resize(count);
        load_f32(dtype, source, scratch.data(), count);
        row = scratch.data();
    }
    return kernel.sum_cut_row(row, count, format.kept_bits);
}

/// into[i] = sum of column i of `rows` rows of `count` values, `stride` apart.
void column_sums(
    DataType dtype, const std::byte* source, size_t stride, size_t rows, float* into, size_t count, const Matrix& format,
    std::vector<float>& scratch) {
    const auto& kernel = kernels::kernel_set();
    std::fill_n(into, count, 0.0F);
    if (stored_as_bf16(dtype)) {
        const auto* values = reinterpret_cast<const uint16_t*>(source);
        if (format.is_cut()) return kernel.add_cut_rows_bf16(values, stride, rows, into, count, format.kept_bits);
        return kernel.add_rows.bf16(values, stride, rows, into, count);
    }
    if (dtype == DataType::FLOAT32)
        return kernel.add_cut_rows(reinterpret_cast<const float*>(source), stride, rows, into, count, format.kept_bits);
    scratch.resize(count);
    for (size_t i = 0; i < rows; ++i) {
        load_f32(dtype, source + i * stride * stored_bytes(dtype), scratch.data(), count);
        kernel.add_cut_rows(scratch.data(), count, 1, into, count, format.kept_bits);
    }
}

void plain_sums(DataType dtype, const std::byte* source, const Middle& m, const Matrix& format, float* sums) {
    const size_t bytes = stored_bytes(dtype);
    if (m.inner == 1) {
        parallel_for(m.outer, std::max<size_t>(1, 8192 / std::max<size_t>(1, m.size)), [&](size_t begin, size_t end) {
            std::vector<float> scratch;
            for (size_t o = begin; o < end; ++o) sums[o] = row_sum(dtype, source + o * m.size * bytes, m.size, format, scratch);
        });
        return;
    }
    over_strips<std::vector<float>>(m, [&](size_t o, size_t first, size_t count, std::vector<float>& scratch) {
        const std::byte* strip = source + (o * m.size * m.inner + first) * bytes;
        column_sums(dtype, strip, m.inner, m.size, sums + o * m.inner + first, count, format, scratch);
    });
}

}  // namespace

void sum_block(DataType dtype, const std::byte* source, const Middle& m, float factor, const TensixMath& math, float* sums) {
    const float scaler = stored_scaler(factor, dtype);
    const size_t count = m.outer * m.inner;
    if (numerics() == Numerics::Tensix) {
        std::vector<float> values(count * m.size);
        load_f32(dtype, source, values.data(), values.size());
        const auto extent = [](size_t size) { return static_cast<int64_t>(size); };
        return tensix_sum(values.data(), {extent(m.outer), extent(m.size), extent(m.inner)}, scaler, math, sums);
    }
    plain_sums(dtype, source, m, Matrix{source, dtype, nullptr, source_a_bits(math)}, sums);
    const float multiplied = std::bit_cast<float>(std::bit_cast<uint32_t>(scaler) & source_b_bits(math));
    const bool power_of_two = (std::bit_cast<uint32_t>(scaler) & 0x007fffffU) == 0;
    const DstRounding law = dst_rounding(math, dtype, static_cast<int64_t>(m.size), power_of_two);
    constexpr size_t RUN = 4096;  // sums that are looked at together
    parallel_for((count + RUN - 1) / RUN, 4, [&](size_t begin, size_t end) {
        for (size_t run = begin; run < end; ++run) {
            const size_t width = std::min(RUN, count - run * RUN);
            kernels::kernel_set().scale_row(sums + run * RUN, width, multiplied);
            kernels::kernel_set().settle_row(sums + run * RUN, width, law);
        }
    });
}

void sum_values(const Tensor& input, const Tensor& output, const Middle& m, float factor, const TensixMath& math) {
    std::vector<float> sums(m.outer * m.inner);
    sum_block(input.dtype(), raw_data(input), m, factor, math, sums.data());
    if (numerics() == Numerics::Tensix) {
        const size_t width = output.logical_shape().rank() == 0 ? 1 : output.logical_shape()[-1];
        return tensix_pack(output.dtype(), sums.data(), mutable_raw_data(output), sums.size(), width);
    }
    write_f32(output, sums);
}

}  // namespace ttnn_shim::reduction
