#include "ops/data_movement/strided_copy.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace ttnn_shim {

namespace {

/// Drops size-1 dimensions and merges neighbours that are contiguous on both sides. False when there is nothing to copy.
bool simplify(std::vector<StridedDim>& dims) {
    SHIM_CHECK(dims.size() <= 16, "tensors of rank {} are not supported", dims.size());
    std::vector<StridedDim> merged;
    for (const StridedDim& dim : dims) {
        if (dim.size == 0) return false;
        if (dim.size == 1) continue;
        if (!merged.empty()) {
            StridedDim& outer = merged.back();
            const auto size = static_cast<int64_t>(dim.size);
            if (outer.source_stride == dim.source_stride * size && outer.target_stride == dim.target_stride * size) {
                outer = {outer.size * dim.size, dim.source_stride, dim.target_stride};
                continue;
            }
        }
        merged.push_back(dim);
    }
    if (merged.empty()) merged.push_back({1, 1, 1});
    dims = std::move(merged);
    return true;
}

template <typename T>
void copy_row(const T* source, T* target, size_t count, int64_t source_stride, int64_t target_stride) {
    if (source_stride == 1 && target_stride == 1) {
        std::memcpy(target, source, count * sizeof(T));
    } else if (source_stride == 0 && target_stride == 1) {
        std::fill_n(target, count, *source);
    } else {
        for (size_t i = 0; i < count; ++i)
            target[static_cast<int64_t>(i) * target_stride] = source[static_cast<int64_t>(i) * source_stride];
    }
}

#ifdef __x86_64__
/// target[c][r] = source[r][c] of 8 x 8 values.
inline void transpose_8x8(const uint16_t* source, int64_t row_stride, uint16_t* target, size_t target_stride) {
    __m128i r[8], s[8];
    for (int i = 0; i < 8; ++i) r[i] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(source + i * row_stride));
    for (int i = 0; i < 4; ++i) {
        s[2 * i] = _mm_unpacklo_epi16(r[2 * i], r[2 * i + 1]);
        s[2 * i + 1] = _mm_unpackhi_epi16(r[2 * i], r[2 * i + 1]);
    }
    for (int half = 0; half < 2; ++half) {  // s[0..3]: rows 0-3, s[4..7]: rows 4-7; even: columns 0-3, odd: columns 4-7
        const __m128i top_low = _mm_unpacklo_epi32(s[half], s[2 + half]), top_high = _mm_unpackhi_epi32(s[half], s[2 + half]);
        const __m128i end_low = _mm_unpacklo_epi32(s[4 + half], s[6 + half]), end_high = _mm_unpackhi_epi32(s[4 + half], s[6 + half]);
        const auto put = [&](int column, __m128i value) {
            _mm_storeu_si128(reinterpret_cast<__m128i*>(target + static_cast<size_t>(4 * half + column) * target_stride), value);
        };
        put(0, _mm_unpacklo_epi64(top_low, end_low));
        put(1, _mm_unpackhi_epi64(top_low, end_low));
        put(2, _mm_unpacklo_epi64(top_high, end_high));
        put(3, _mm_unpackhi_epi64(top_high, end_high));
    }
}
inline void transpose_8x8(const uint32_t* source, int64_t row_stride, uint32_t* target, size_t target_stride) {
    for (int top = 0; top < 8; top += 4) {
        for (int left = 0; left < 8; left += 4) {
            const auto row = [&](int i) { return _mm_loadu_ps(reinterpret_cast<const float*>(source + (top + i) * row_stride + left)); };
            __m128 a = row(0), b = row(1), c = row(2), d = row(3);
            _MM_TRANSPOSE4_PS(a, b, c, d);
            const auto put = [&](int i, __m128 value) {
                _mm_storeu_ps(reinterpret_cast<float*>(target + static_cast<size_t>(left + i) * target_stride + top), value);
            };
            put(0, a);
            put(1, b);
            put(2, c);
            put(3, d);
        }
    }
}
constexpr bool HAS_TRANSPOSE_8X8 = true;
#else
template <typename T>
void transpose_8x8(const T*, int64_t, T*, size_t) {}
constexpr bool HAS_TRANSPOSE_8X8 = false;
#endif

/// A plane where the source is contiguous along `columns` and the target along `rows`: blocked, so that both sides use whole cache lines.
template <typename T>
void transpose_plane(const T* source, T* target, size_t rows, size_t columns, int64_t row_stride, int64_t column_stride) {
    constexpr size_t EDGE = 32;
    constexpr size_t PANEL = 4 * EDGE;  // columns walked before the next rows: longer reads per row
    alignas(64) T block[EDGE][EDGE];
    for (size_t panel = 0; panel < columns; panel += PANEL) {
        const size_t panel_end = std::min(columns, panel + PANEL);
        for (size_t r0 = 0; r0 < rows; r0 += EDGE) {
            const size_t nr = std::min(EDGE, rows - r0);
            for (size_t c0 = panel; c0 < panel_end; c0 += EDGE) {
                const size_t nc = std::min(EDGE, panel_end - c0);
                const T* corner = source + static_cast<int64_t>(r0) * row_stride + static_cast<int64_t>(c0);
                const bool fast = HAS_TRANSPOSE_8X8 && sizeof(T) > 1 && nr == EDGE && nc == EDGE;
                if constexpr (sizeof(T) > 1) {
                    if (fast) {
                        for (size_t r = 0; r < EDGE; r += 8) {
                            for (size_t c = 0; c < EDGE; c += 8)
                                transpose_8x8(
                                    corner + static_cast<int64_t>(r) * row_stride + static_cast<int64_t>(c), row_stride, &block[c][r],
                                    EDGE);
                        }
                    }
                }
                if (!fast) {
                    for (size_t r = 0; r < nr; ++r) {
                        const T* line = corner + static_cast<int64_t>(r) * row_stride;
                        for (size_t c = 0; c < nc; ++c) block[c][r] = line[c];
                    }
                }
                T* out = target + static_cast<int64_t>(c0) * column_stride + static_cast<int64_t>(r0);
                if (fast) {
                    for (size_t c = 0; c < EDGE; ++c)
                        std::memcpy(out + static_cast<int64_t>(c) * column_stride, block[c], sizeof(block[c]));
                } else {
                    for (size_t c = 0; c < nc; ++c) std::memcpy(out + static_cast<int64_t>(c) * column_stride, block[c], nr * sizeof(T));
                }
            }
        }
    }
}

template <typename T>
void copy_as(const T* source, T* target, const std::vector<StridedDim>& dims) {
    const StridedDim inner = dims.back();
    size_t outer_count = 1;
    for (size_t k = 0; k + 1 < dims.size(); ++k) outer_count *= dims[k].size;

    // a dimension along which the source is contiguous, to pair with the target's contiguous one
    size_t pair = dims.size();
    if (inner.target_stride == 1 && inner.source_stride != 1 && inner.source_stride != 0 && inner.size >= 4) {
        for (size_t k = 0; k + 1 < dims.size(); ++k) {
            if (dims[k].source_stride == 1 && dims[k].size >= 4) pair = k;
        }
    }
    std::vector<StridedDim> outer;
    for (size_t k = 0; k + 1 < dims.size(); ++k) {
        if (k != pair) outer.push_back(dims[k]);
    }
    size_t count = 1;
    for (const StridedDim& dim : outer) count *= dim.size;
    const bool planes = pair < dims.size();
    // few planes: split the plane's columns over the threads instead
    const size_t splits = planes && count < 4 ? std::max<size_t>(1, dims[pair].size / 64) : 1;
    const bool split_row = !planes && count == 1 && inner.size > 65536;
    const size_t row_splits = split_row ? inner.size / 32768 : 1;
    const size_t item = inner.size * (planes ? dims[pair].size : 1) / splits / row_splits;
    parallel_for(count * splits * row_splits, std::max<size_t>(1, 32768 / std::max<size_t>(1, item)), [&](size_t begin, size_t end) {
        int64_t source_offset = 0, target_offset = 0;
        std::array<size_t, 16> at{};
        size_t rest = begin / (splits * row_splits);
        for (size_t k = outer.size(); k-- > 0;) {
            at[k] = rest % outer[k].size;
            rest /= outer[k].size;
            source_offset += static_cast<int64_t>(at[k]) * outer[k].source_stride;
            target_offset += static_cast<int64_t>(at[k]) * outer[k].target_stride;
        }
        const auto advance = [&] {
            for (size_t k = outer.size(); k-- > 0;) {
                source_offset += outer[k].source_stride;
                target_offset += outer[k].target_stride;
                if (++at[k] < outer[k].size) return;
                source_offset -= static_cast<int64_t>(outer[k].size) * outer[k].source_stride;
                target_offset -= static_cast<int64_t>(outer[k].size) * outer[k].target_stride;
                at[k] = 0;
            }
        };
        if (!planes && row_splits == 1) {
            for (size_t index = begin; index < end; ++index, advance()) {
                copy_row(source + source_offset, target + target_offset, inner.size, inner.source_stride, inner.target_stride);
            }
            return;
        }
        for (size_t index = begin; index < end; ++index) {
            if (index != begin && index % (splits * row_splits) == 0) advance();
            if (planes) {
                const size_t part = index % splits;
                const size_t from = dims[pair].size * part / splits, to = dims[pair].size * (part + 1) / splits;
                transpose_plane(
                    source + source_offset + static_cast<int64_t>(from),
                    target + target_offset + static_cast<int64_t>(from) * dims[pair].target_stride, inner.size, to - from,
                    inner.source_stride, dims[pair].target_stride);
            } else {
                const size_t part = index % row_splits;
                const size_t from = inner.size * part / row_splits, to = inner.size * (part + 1) / row_splits;
                copy_row(
                    source + source_offset + static_cast<int64_t>(from) * inner.source_stride,
                    target + target_offset + static_cast<int64_t>(from) * inner.target_stride, to - from, inner.source_stride,
                    inner.target_stride);
            }
        }
    });
}

}  // namespace

void strided_copy(size_t element_bytes, const std::byte* source, std::byte* target, std::vector<StridedDim> dims) {
    if (!simplify(dims)) return;
    switch (element_bytes) {
        case 1: return copy_as(reinterpret_cast<const uint8_t*>(source), reinterpret_cast<uint8_t*>(target), dims);
        case 2: return copy_as(reinterpret_cast<const uint16_t*>(source), reinterpret_cast<uint16_t*>(target), dims);
        case 4: return copy_as(reinterpret_cast<const uint32_t*>(source), reinterpret_cast<uint32_t*>(target), dims);
        default: SHIM_ASSERT(!"element size");
    }
}

std::vector<StridedDim> dense_target(const Shape& shape, const std::vector<int64_t>& source_strides) {
    std::vector<StridedDim> dims(shape.rank());
    int64_t stride = 1;
    for (size_t k = shape.rank(); k-- > 0;) {
        dims[k] = {shape[static_cast<int32_t>(k)], source_strides[k], stride};
        stride *= shape[static_cast<int32_t>(k)];
    }
    return dims;
}

void fill_elements(size_t element_bytes, std::byte* target, size_t count, const std::byte* value) {
    parallel_for(count, 65536, [&](size_t begin, size_t end) {
        switch (element_bytes) {
            case 1: std::memset(target + begin, static_cast<int>(value[0]), end - begin); break;
            case 2: {
                uint16_t v;
                std::memcpy(&v, value, 2);
                std::fill(reinterpret_cast<uint16_t*>(target) + begin, reinterpret_cast<uint16_t*>(target) + end, v);
                break;
            }
            default: {
                uint32_t v;
                std::memcpy(&v, value, 4);
                std::fill(reinterpret_cast<uint32_t*>(target) + begin, reinterpret_cast<uint32_t*>(target) + end, v);
            }
        }
    });
}

std::array<std::byte, 8> encode_value(DataType dtype, double value) {
    std::array<std::byte, 8> bytes{};
    auto put = [&](auto v) { std::memcpy(bytes.data(), &v, sizeof(v)); };
    auto clamped = [&](double low, double high) { return std::isnan(value) ? 0.0 : std::clamp(value, low, high); };
    switch (dtype) {
        case DataType::INT32: put(static_cast<int32_t>(clamped(-2147483648.0, 2147483647.0))); break;
        case DataType::UINT32: put(static_cast<uint32_t>(static_cast<int64_t>(clamped(-2147483648.0, 4294967295.0)))); break;
        case DataType::UINT16: put(static_cast<uint16_t>(clamped(0, 65535))); break;
        case DataType::UINT8: put(static_cast<uint8_t>(clamped(0, 255))); break;
        default: {
            const auto real = static_cast<float>(value);
            store_f32(dtype, &real, bytes.data(), 1);
        }
    }
    return bytes;
}

}  // namespace ttnn_shim
