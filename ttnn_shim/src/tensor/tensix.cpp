#include "tensor/tensix.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <functional>

#include "tensor/access.hpp"
#include "tensor/check.hpp"
#include "tensor/clones.hpp"

namespace ttnn_shim {

namespace {

constexpr int64_t TILE = 32, HALF = 16, GROUP = 8;
constexpr int32_t BIAS = 127, HIGHEST = 255;
constexpr int32_t SIGNIFICAND_BITS = 24;  // of a 32-bit Dst, hidden bit included
constexpr int32_t BF16_BITS = 8;
constexpr int32_t PRODUCT_SHIFT = 13;  // a product has 10 fractional bits, Dst's significand 23

Numerics parse(std::string_view name) {
    if (name == "tensix") return Numerics::Tensix;
    SHIM_CHECK(
        name.empty() || name == "fast", "numerics (TTNN_SHIM_NUMERICS or settings.set_numerics): expected fast or tensix, got {}", name);
    return Numerics::Fast;
}

std::atomic<int>& chosen() {
    static std::atomic<int> mode{-1};
    return mode;
}

/// An operand as one register file sees it, tiles padded with zeros: [depth][width] or [height][depth].
struct Planes {
    std::vector<int32_t> exponent, sign, high, low;  // sign: 0 or -1; exponent 0: the value is zero
    bool special = false;                            // some exponent is 255
    explicit Planes(size_t count) : exponent(count, 0), sign(count, 0), high(count, 0), low(count, 0) {}

    template <bool SourceA>
    void put(size_t at, float value, bool to_bf16) {
        const uint32_t bits = std::bit_cast<uint32_t>(value) & (to_bf16 ? 0xffff0000U : 0xffffe000U);
        const auto e = static_cast<int32_t>(bits >> 23 & 0xff);
        if (e == 0) return;
        exponent[at] = e;
        sign[at] = -static_cast<int32_t>(bits >> 31);
        const auto mantissa = static_cast<int32_t>(bits & 0x7fffff);
        if constexpr (SourceA) {
            high[at] = 1 << 4 | mantissa >> 19;
            low[at] = mantissa >> 14 & 0x1f;
        } else {
            high[at] = 1 << 6 | mantissa >> 17;
            low[at] = mantissa >> 10 & 0x7f;
        }
        special = special || e == HIGHEST;
    }
};

/// One row of a tile in Dst: value = significand * 2^(exponent - 127 - 23), the significand signed and of at most 24 bits.
struct Dst {
    std::array<int32_t, TILE> exponent{}, significand{};
    std::array<int32_t, TILE> infinite{};  // 0, 1 or -1
};

inline int32_t rounded_shift(int32_t magnitude, int32_t shift) { return (magnitude + ((1 << shift) >> 1)) >> shift; }

inline int32_t aligned(int32_t value, int32_t distance) {
    const int32_t sign = value >> 31;
    const int32_t magnitude = rounded_shift((value ^ sign) - sign, std::min(distance, 30));
    return (magnitude ^ sign) - sign;
}

inline int32_t to_multiple(int32_t value) {  // of 2^13: the resolution of a term in a 16-bit Dst
    const int32_t sign = value >> 31;
    const int32_t magnitude = rounded_shift((value ^ sign) - sign, PRODUCT_SHIFT) << PRODUCT_SHIFT;
    return (magnitude ^ sign) - sign;
}

/// Normalises and rounds half away from zero. `total` in units of 2^(exponent - 127 - 23).
inline void encode(int32_t total, int32_t exponent, bool fp32, int32_t& out_exponent, int32_t& out_significand, int32_t& infinite) {
    if (total == 0) {
        out_exponent = out_significand = 0;
        return;
    }
    const int32_t sign = total >> 31;
    auto magnitude = static_cast<uint32_t>((total ^ sign) - sign);
    const int32_t keep = fp32 ? SIGNIFICAND_BITS : BF16_BITS;
    const int32_t top = 31 - std::countl_zero(magnitude);
    exponent += top - (SIGNIFICAND_BITS - 1);
    const int32_t drop = top + 1 - keep;
    if (drop > 0) {
        magnitude = (magnitude + (1U << drop >> 1)) >> drop;
        if (magnitude >> keep != 0) {
            magnitude >>= 1;
            ++exponent;
        }
        magnitude <<= SIGNIFICAND_BITS - keep;
    } else {
        magnitude <<= SIGNIFICAND_BITS - 1 - top;
    }
    if (exponent <= 0) {
        out_exponent = out_significand = 0;
        return;
    }
    if (exponent >= HIGHEST) infinite = sign == 0 ? 1 : -1;
    out_exponent = exponent;
    out_significand = (static_cast<int32_t>(magnitude) ^ sign) - sign;
}

float value_of(const Dst& dst, size_t lane) {
    if (dst.infinite[lane] != 0) return static_cast<float>(dst.infinite[lane]) * INFINITY;
    const int32_t significand = dst.significand[lane];
    const uint32_t sign = significand < 0 ? 0x80000000U : 0;
    const auto magnitude = static_cast<uint32_t>(std::abs(significand));
    if (magnitude == 0) return 0.0F;
    return std::bit_cast<float>(sign | static_cast<uint32_t>(dst.exponent[lane]) << 23 | (magnitude & 0x7fffff));
}

/// Views of 16 values along K: one row of SrcB, 16 rows of a tile of SrcA.
struct Step {
    const Planes& b;  // in0
    size_t b_at;
    const Planes& a;  // in1
    size_t a_at, a_stride;
    int phase;
};

/// Dst += the 16 products of each lane.
SHIM_CLONES void multiply_step(const Step& s, bool fp32, Dst& dst) {
    const auto& b_bits = (s.phase & 2) != 0 ? s.b.low : s.b.high;
    const auto& a_bits = (s.phase & 1) != 0 ? s.a.low : s.a.high;
    const int32_t offset = -BIAS - ((s.phase & 1) != 0 ? 5 : 0) - ((s.phase & 2) != 0 ? 7 : 0);
    std::array<std::array<int32_t, TILE>, 2> largest, sum;
    for (size_t g = 0; g < 2; ++g) {
        largest[g].fill(INT32_MIN);
        sum[g].fill(0);
        for (size_t k = g * GROUP; k < (g + 1) * GROUP; ++k) {
            const int32_t e = s.b.exponent[s.b_at + k];
            const int32_t* other = s.a.exponent.data() + s.a_at + k * s.a_stride;
            for (size_t j = 0; j < TILE; ++j) largest[g][j] = std::max(largest[g][j], e + other[j]);
        }
        for (size_t k = g * GROUP; k < (g + 1) * GROUP; ++k) {
            const int32_t e = s.b.exponent[s.b_at + k], m = b_bits[s.b_at + k], sign = s.b.sign[s.b_at + k];
            const size_t row = s.a_at + k * s.a_stride;
            const int32_t *other = s.a.exponent.data() + row, *bits = a_bits.data() + row, *signs = s.a.sign.data() + row;
            for (size_t j = 0; j < TILE; ++j) {
                const int32_t shift = std::min(largest[g][j] - e - other[j], 30);
                const int32_t magnitude = rounded_shift(m * bits[j], shift), flip = sign ^ signs[j];
                sum[g][j] += (magnitude ^ flip) - flip;
            }
        }
    }
    for (size_t j = 0; j < TILE; ++j) {
        const int32_t first = largest[0][j] + offset, second = largest[1][j] + offset;
        const int32_t old = dst.significand[j] == 0 ? std::min(first, second) : dst.exponent[j];
        const int32_t top = std::max({first, second, old});
        int32_t one = aligned(sum[0][j] << PRODUCT_SHIFT, top - first), two = aligned(sum[1][j] << PRODUCT_SHIFT, top - second),
                three = aligned(dst.significand[j], top - old);
        if (!fp32) {
            one = to_multiple(one);
            two = to_multiple(two);
            three = to_multiple(three);
        }
        encode(one + two + three, top, fp32, dst.exponent[j], dst.significand[j], dst.infinite[j]);
    }
}

/// Infinity times anything but zero is infinity; the first one of a lane stays.
void note_infinities(const Step& s, Dst& dst) {
    for (size_t k = 0; k < HALF; ++k) {
        const int32_t e = s.b.exponent[s.b_at + k];
        for (size_t j = 0; j < TILE; ++j) {
            const size_t at = s.a_at + k * s.a_stride + j;
            const int32_t other = s.a.exponent[at];
            const bool infinite = (e == HIGHEST && other != 0) || (other == HIGHEST && e != 0);
            if (infinite && dst.infinite[j] == 0) dst.infinite[j] = s.b.sign[s.b_at + k] == s.a.sign[at] ? 1 : -1;
        }
    }
}

int phases_of(ttnn::MathFidelity fidelity) {
    switch (fidelity) {
        case ttnn::MathFidelity::LoFi: return 1;
        case ttnn::MathFidelity::HiFi2: return 2;
        case ttnn::MathFidelity::HiFi3: return 3;
        default: return 4;
    }
}

float to_bf16_nearest_even(float value) { return static_cast<float>(bfloat16(value)); }

/// Conversion to a source register: TF32 (or bfloat16) by truncation, denormals zero.
float truncated(float value, bool to_bf16) {
    const uint32_t bits = std::bit_cast<uint32_t>(value) & (to_bf16 ? 0xffff0000U : 0xffffe000U);
    return (bits >> 23 & 0xff) == 0 ? 0.0F : std::bit_cast<float>(bits);
}

/// ELWADD: 11-bit significands aligned to the larger exponent, rounded half up, summed, encoded as a product's step is.
float add_step(float a, float b, bool fp32) {
    if (std::isinf(a) || std::isnan(a)) return a;
    if (std::isinf(b) || std::isnan(b)) return b;
    auto parts = [&](float value, int32_t& exponent) {
        const auto bits = std::bit_cast<uint32_t>(truncated(value, !fp32));
        exponent = static_cast<int32_t>(bits >> 23 & 0xff);
        const int32_t magnitude = exponent == 0 ? 0 : static_cast<int32_t>(1 << 10 | (bits >> 13 & 0x3ff));
        return bits >> 31 != 0 ? -magnitude : magnitude;
    };
    int32_t ea = 0, eb = 0;
    const int32_t ma = parts(a, ea), mb = parts(b, eb), top = std::max(ea, eb);
    const int32_t total = aligned(ma, top - ea) + aligned(mb, top - eb);
    Dst dst;
    encode(total << PRODUCT_SHIFT, top, fp32, dst.exponent[0], dst.significand[0], dst.infinite[0]);
    return value_of(dst, 0);
}

size_t padded(int64_t extent) { return static_cast<size_t>((extent + TILE - 1) / TILE * TILE); }

/// Element (row, column) of an operand.
using Reader = std::function<float(int64_t, int64_t)>;

struct Product {
    int64_t m, k, n;
    const float* bias;
    Activation activation;
};

/// result[m, n]: rows are independent, so threads share them.
void product(const Product& p, const Reader& in0, const Reader& in1, const TensixMath& math, float* result) {
    const size_t depth = padded(p.k), width = padded(p.n);
    Planes a(depth * width);
    for (int64_t k = 0; k < p.k; ++k) {
        for (int64_t j = 0; j < p.n; ++j) a.put<true>(static_cast<size_t>(k) * width + static_cast<size_t>(j), in1(k, j), !math.fp32_dest);
    }
    const int phases = phases_of(math.fidelity);
    const auto tiles = static_cast<int64_t>(depth) / TILE, block = math.l1_block_tiles > 0 ? math.l1_block_tiles : tiles;
    parallel_for(static_cast<size_t>(p.m), 1, [&](size_t begin, size_t end) {
        for (size_t i = begin; i < end; ++i) {
            Planes b(depth);
            for (int64_t k = 0; k < p.k; ++k) b.put<false>(static_cast<size_t>(k), in0(static_cast<int64_t>(i), k), !math.fp32_dest);
            for (size_t column = 0; column < width; column += TILE) {
                std::array<float, TILE> total{};
                for (int64_t first = 0; first < tiles; first += block) {
                    Dst dst;
                    for (int64_t tile = first; tile < std::min(first + block, tiles); ++tile) {
                        for (int phase = 0; phase < phases; ++phase) {
                            for (int64_t half = 0; half < TILE; half += HALF) {
                                const auto k = static_cast<size_t>(tile * TILE + half);
                                const Step step{b, k, a, k * width + column, width, phase};
                                if (a.special || b.special) note_infinities(step, dst);
                                multiply_step(step, math.fp32_dest, dst);
                            }
                        }
                    }
                    for (size_t j = 0; j < TILE; ++j) {
                        const float part = value_of(dst, j);
                        total[j] = first == 0 ? part : math.fp32_dest ? total[j] + part : to_bf16_nearest_even(total[j] + part);
                    }
                }
                const auto columns = std::min<size_t>(TILE, static_cast<size_t>(p.n) - column);
                float* row = result + i * static_cast<size_t>(p.n) + column;
                for (size_t j = 0; j < columns; ++j) {
                    float value = p.bias != nullptr ? add_step(total[j], p.bias[column + j], math.fp32_dest) : total[j];
                    if (p.activation != Activation::None) {
                        value = activate(value, p.activation);
                        if (!math.fp32_dest) value = to_bf16_nearest_even(value);
                    }
                    row[j] = value;
                }
            }
        }
    });
}

std::vector<float> widened(const Matrix& matrix, int64_t count) {
    std::vector<float> result(static_cast<size_t>(count));
    load_f32(matrix.dtype, matrix.data, result.data(), result.size());
    return result;
}

}  // namespace

Numerics numerics() {
    int mode = chosen().load(std::memory_order_relaxed);
    if (mode < 0) {
        const char* given = std::getenv("TTNN_SHIM_NUMERICS");
        mode = static_cast<int>(parse(given == nullptr ? "" : given));
        chosen().store(mode, std::memory_order_relaxed);
    }
    return static_cast<Numerics>(mode);
}

void set_numerics(std::string_view name) { chosen().store(static_cast<int>(parse(name)), std::memory_order_relaxed); }

void tensix_matmul(const MatmulCall& call, const TensixMath& math, float* result) {
    const auto a = widened(call.a, volume(call.batch_a) * call.m * call.k), b = widened(call.b, volume(call.batch_b) * call.k * call.n);
    for (int64_t batch = 0; batch < volume(call.batch); ++batch) {
        const float* left = a.data() + batch_index(batch, call.batch, call.batch_a) * call.m * call.k;
        const float* right = b.data() + batch_index(batch, call.batch, call.batch_b) * call.k * call.n;
        product(
            {call.m, call.k, call.n, call.bias, call.activation},
            [&](int64_t i, int64_t k) { return call.transpose_a ? left[k * call.m + i] : left[i * call.k + k]; },
            [&](int64_t k, int64_t j) { return call.transpose_b ? right[j * call.k + k] : right[k * call.n + j]; }, math,
            result + batch * call.m * call.n);
    }
}

void tensix_convolution(const ConvCall& call, const TensixMath& math, float* result) {
    const int64_t in_group = call.in_channels / call.groups, out_group = call.out_channels / call.groups;
    const auto input = widened(call.input, call.batch * call.in_h * call.in_w * call.in_channels);
    const auto weight = widened(call.weight, call.out_channels * in_group * call.kernel_h * call.kernel_w);
    const int64_t pixels = call.batch * call.out_h * call.out_w, depth = call.kernel_h * call.kernel_w * in_group;
    std::vector<float> part(static_cast<size_t>(pixels * out_group));
    for (int64_t group = 0; group < call.groups; ++group) {
        const Reader window = [&](int64_t pixel, int64_t k) {
            const int64_t c = k % in_group, kw = k / in_group % call.kernel_w, kh = k / in_group / call.kernel_w;
            const int64_t ow = pixel % call.out_w, oh = pixel / call.out_w % call.out_h, image = pixel / call.out_w / call.out_h;
            int64_t ih = oh * call.stride_h + kh * call.dilation_h - call.pad_top,
                    iw = ow * call.stride_w + kw * call.dilation_w - call.pad_left;
            if (call.transposed) {
                ih = oh + call.pad_top - kh * call.dilation_h;
                iw = ow + call.pad_left - kw * call.dilation_w;
                if (ih % call.stride_h != 0 || iw % call.stride_w != 0) return 0.0F;
                ih /= call.stride_h;
                iw /= call.stride_w;
            }
            if (ih < 0 || ih >= call.in_h || iw < 0 || iw >= call.in_w) return 0.0F;
            return input[static_cast<size_t>(((image * call.in_h + ih) * call.in_w + iw) * call.in_channels + group * in_group + c)];
        };
        const Reader filter = [&](int64_t k, int64_t o) {
            const int64_t c = k % in_group, kw = k / in_group % call.kernel_w, kh = k / in_group / call.kernel_w;
            const int64_t matrix = call.transposed ? (group * in_group + c) * out_group + o : (group * out_group + o) * in_group + c;
            return weight[static_cast<size_t>((matrix * call.kernel_h + kh) * call.kernel_w + kw)];
        };
        product(
            {pixels, depth, out_group, call.bias == nullptr ? nullptr : call.bias + group * out_group, call.activation}, window, filter,
            math, part.data());
        for (int64_t pixel = 0; pixel < pixels; ++pixel)
            std::copy_n(part.data() + pixel * out_group, out_group, result + pixel * call.out_channels + group * out_group);
    }
}

void tensix_sum(const float* values, const SumShape& shape, float scaler, const TensixMath& math, float* result) {
    const Reader ones = [&](int64_t, int64_t) { return scaler; };
    if (shape.inner == 1) {
        const Reader rows = [&](int64_t k, int64_t j) { return values[j * shape.size + k]; };
        return product({1, shape.size, shape.outer, nullptr, Activation::None}, ones, rows, math, result);
    }
    for (int64_t outer = 0; outer < shape.outer; ++outer) {
        const float* block = values + outer * shape.size * shape.inner;
        const Reader columns = [&](int64_t k, int64_t j) { return block[k * shape.inner + j]; };
        product({1, shape.size, shape.inner, nullptr, Activation::None}, ones, columns, math, result + outer * shape.inner);
    }
}

float tensix_add(float a, float b, bool fp32_dest) { return add_step(a, b, fp32_dest); }
float tensix_nearest(float value, bool fp32_dest) { return fp32_dest ? value : to_bf16_nearest_even(value); }

void tensix_pack(DataType dtype, const float* values, std::byte* target, size_t count, size_t width) {
    if (!is_block_float(dtype) && dtype != DataType::BFLOAT16) return store_f32(dtype, values, target, count);
    auto* out = reinterpret_cast<uint16_t*>(target);
    // round half away from zero; a denormal is 0, a NaN infinity
    auto half_away = [](float value) {
        const auto bits = std::bit_cast<uint32_t>(value);
        if ((bits >> 23 & 0xff) == 0xff) return static_cast<uint16_t>(bits >> 31 << 15 | 0x7f80);
        return (bits >> 23 & 0xff) == 0 ? uint16_t{0} : static_cast<uint16_t>((bits + 0x8000) >> 16);
    };
    if (dtype == DataType::BFLOAT16) {
        for (size_t i = 0; i < count; ++i) out[i] = half_away(values[i]);
        return;
    }
    // The 16 values of a face's row share their largest exponent; 7 magnitude bits rounded half up, of which bfloat4_b keeps the top 3.
    constexpr size_t BLOCK = 16;
    for (size_t row = 0; row < count; row += width) {
        for (size_t at = row; at < row + width; at += BLOCK) {
            const size_t last = std::min(at + BLOCK, row + width);
            uint32_t shared = 0;
            for (size_t i = at; i < last; ++i) shared = std::max(shared, std::bit_cast<uint32_t>(values[i]) >> 23 & 0xff);
            for (size_t i = at; i < last; ++i) {
                const auto bits = std::bit_cast<uint32_t>(values[i]);
                const uint32_t exponent = bits >> 23 & 0xff, shift = shared - exponent;
                uint32_t magnitude = exponent == 0 ? 0 : 1U << 7 | (bits >> 16 & 0x7f);
                magnitude = shift >= 8 ? 0 : std::min((magnitude + (1U << shift)) >> (shift + 1), 127U);
                if (dtype == DataType::BFLOAT4_B) magnitude &= 0x70;
                const float value = std::ldexp(static_cast<float>(magnitude), static_cast<int>(shared) - 127 - 6);
                out[i] = static_cast<uint16_t>(std::bit_cast<uint32_t>(bits >> 31 != 0 && magnitude != 0 ? -value : value) >> 16);
            }
        }
    }
}

}  // namespace ttnn_shim
