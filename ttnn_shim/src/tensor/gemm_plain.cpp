#include "tensor/gemm_plain.hpp"

#include <bit>
#include <cmath>

#include "tensor/access.hpp"
#include "tensor/packed.hpp"

namespace ttnn_shim {

namespace plain {

namespace {

std::vector<float> widened(const Matrix& matrix, int64_t count) {
    std::vector<float> result(static_cast<size_t>(count));
    load_f32(matrix.dtype, matrix.data, result.data(), result.size());
    if (matrix.is_cut()) {
        for (float& value : result) value = std::bit_cast<float>(std::bit_cast<uint32_t>(value) & matrix.kept_bits);
    }
    return result;
}

void store(void* target, DataType dtype, int64_t index, const float* values, size_t count) {
    store_f32(dtype, values, static_cast<std::byte*>(target) + static_cast<size_t>(index) * stored_bytes(dtype), count);
}

}  // namespace

void matmul(const MatmulCall& call) {
    const int64_t batches = volume(call.batch);
    const auto a = widened(call.a, volume(call.batch_a) * call.m * call.k);
    const auto b = widened(call.b, volume(call.batch_b) * call.k * call.n);
    parallel_for(static_cast<size_t>(batches * call.m), 1, [&](size_t begin, size_t end) {
        std::vector<float> row(static_cast<size_t>(call.n));
        for (size_t at = begin; at < end; ++at) {
            const auto batch = static_cast<int64_t>(at) / call.m;
            const auto i = static_cast<int64_t>(at) % call.m;
            const float* left = a.data() + batch_index(batch, call.batch, call.batch_a) * call.m * call.k;
            const float* right = b.data() + batch_index(batch, call.batch, call.batch_b) * call.k * call.n;
            std::fill(row.begin(), row.end(), 0.0F);
            for (int64_t k = 0; k < call.k; ++k) {
                const float x = call.transpose_a ? left[k * call.m + i] : left[i * call.k + k];
                for (int64_t j = 0; j < call.n; ++j) {
                    row[static_cast<size_t>(j)] += x * (call.transpose_b ? right[j * call.k + k] : right[k * call.n + j]);
                }
            }
            for (int64_t j = 0; j < call.n; ++j) {
                float& value = row[static_cast<size_t>(j)];
                if (call.accumulate) value += static_cast<const float*>(call.c)[static_cast<int64_t>(at) * call.n + j];
                value = activate(call.alpha * value + (call.bias != nullptr ? call.bias[j] : 0.0F), call.activation);
            }
            store(call.c, call.c_dtype, static_cast<int64_t>(at) * call.n, row.data(), row.size());
        }
    });
}

void convolution(const ConvCall& call) {
    const int64_t in_per_group = call.in_channels / call.groups;
    const int64_t out_per_group = call.out_channels / call.groups;
    const auto input = widened(call.input, call.batch * call.in_h * call.in_w * call.in_channels);
    const auto weight = widened(call.weight, call.out_channels * in_per_group * call.kernel_h * call.kernel_w);
    parallel_for(static_cast<size_t>(call.batch * call.out_h), 1, [&](size_t begin, size_t end) {
        std::vector<float> pixel(static_cast<size_t>(call.out_channels));
        for (size_t at = begin; at < end; ++at) {
            const auto image = static_cast<int64_t>(at) / call.out_h;
            const auto oh = static_cast<int64_t>(at) % call.out_h;
            for (int64_t ow = 0; ow < call.out_w; ++ow) {
                for (int64_t o = 0; o < call.out_channels; ++o) {
                    pixel[static_cast<size_t>(o)] = call.bias != nullptr ? call.bias[o] : 0.0F;
                }
                for (int64_t kh = 0; kh < call.kernel_h; ++kh) {
                    for (int64_t kw = 0; kw < call.kernel_w; ++kw) {
                        int64_t ih = oh * call.stride_h + kh * call.dilation_h - call.pad_top;
                        int64_t iw = ow * call.stride_w + kw * call.dilation_w - call.pad_left;
                        if (call.transposed) {
                            ih = oh + call.pad_top - kh * call.dilation_h;
                            iw = ow + call.pad_left - kw * call.dilation_w;
                            if (ih % call.stride_h != 0 || iw % call.stride_w != 0) {
                                continue;
                            }
                            ih /= call.stride_h;
                            iw /= call.stride_w;
                        }
                        if (ih < 0 || ih >= call.in_h || iw < 0 || iw >= call.in_w) {
                            continue;
                        }
                        const float* source = input.data() + ((image * call.in_h + ih) * call.in_w + iw) * call.in_channels;
                        for (int64_t o = 0; o < call.out_channels; ++o) {
                            const int64_t group = o / out_per_group;
                            for (int64_t i = 0; i < in_per_group; ++i) {
                                const int64_t matrix =
                                    call.transposed ? (group * in_per_group + i) * out_per_group + o % out_per_group : o * in_per_group + i;
                                const int64_t index = (matrix * call.kernel_h + kh) * call.kernel_w + kw;
                                pixel[static_cast<size_t>(o)] += source[group * in_per_group + i] * weight[static_cast<size_t>(index)];
                            }
                        }
                    }
                }
                for (float& value : pixel) {
                    value = activate(value, call.activation);
                }
                store(
                    call.output, call.output_dtype, (static_cast<int64_t>(at) * call.out_w + ow) * call.out_channels, pixel.data(),
                    pixel.size());
            }
        }
    });
}

}  // namespace plain

#ifndef TTNN_SHIM_HAS_ONEDNN

void matmul(const MatmulCall& call) { plain::matmul(call); }
void matmul_in_thread(const MatmulCall& call) { plain::matmul(call); }
void convolution(const ConvCall& call) { plain::convolution(call); }

const char* gemm_library() { return "plain loops"; }
bool gemm_has_bf16() { return false; }
const char* gemm_instruction_set() { return "AVX2"; }
void clear_gemm_cache() {}
size_t packed_weight_bytes() { return 0; }
void limit_packed_weights(size_t /*bytes*/) {}
void forget_packed_weights(const Values* /*values*/) {}

#endif  // TTNN_SHIM_HAS_ONEDNN

}  // namespace ttnn_shim
