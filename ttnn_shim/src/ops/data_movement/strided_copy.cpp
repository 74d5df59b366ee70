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

/// Every `Step`-th value, a step that the compiler knows and vectorises.
template <size_t Step, typename T>
void pick(const T* source, T* target, size_t count) {
#pragma GCC ivdep
    for (size_t i = 0; i < count; ++i) target[i] = source[i * Step];
}

template <typename T>
void copy_row(const T* source, T* target, size_t count, int64_t source_stride, int64_t target_stride) {
    if (target_stride == 1) {
        switch (source_stride) {
            case 0: std::fill_n(target, count, *source); return;
            case 1: std::memcpy(target, source, count * sizeof(T)); return;
            case 2: return pick<2>(source, target, count);
            case 3: return pick<3>(source, target, count);
            case 4: return pick<4>(source, target, count);
            default: break;
        }
    }
    for (size_t i = 0; i < count; ++i) target[static_cast<int64_t>(i) * target_stride] = source[static_cast<int64_t>(i) * source_stride];
}

/// `Lines` lines of values, `line_stride` apart, one value of each in turn: colour planes to pixels.
template <size_t Lines, typename T>
void interleave(const T* source, T* target, size_t count, int64_t line_stride) {
#pragma GCC ivdep
    for (size_t i = 0; i < count; ++i) {
        for (size_t line = 0; line < Lines; ++line)
            target[i * Lines + line] = source[static_cast<int64_t>(line) * line_stride + static_cast<int64_t>(i)];
    }
}
/// The other way.
template <size_t Lines, typename T>
void separate(const T* source, T* target, size_t count, int64_t line_stride) {
#pragma GCC ivdep
    for (size_t i = 0; i < count; ++i) {
        for (size_t line = 0; line < Lines; ++line)
            target[static_cast<int64_t>(line) * line_stride + static_cast<int64_t>(i)] = source[i * Lines + line];
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

constexpr size_t LINE = 64;
constexpr size_t GRAIN = 32768;            ///< elements worth a thread
constexpr size_t LARGE_BYTES = 8U << 20U;  ///< results that no core's own cache keeps
constexpr size_t SHORT_ROW_BYTES = 1024;

/// Copies whole lines to an aligned target past the caches: nothing is read before it is overwritten, and a stride of many pages costs no
/// cache sets.
template <typename T>
void stream_lines(const T* source, T* target, size_t bytes) {
#ifdef __x86_64__
    const auto* from = reinterpret_cast<const __m256i*>(source);
    auto* to = reinterpret_cast<__m256i*>(target);
    for (size_t i = 0; i < bytes / sizeof(__m256i); ++i) _mm256_stream_si256(to + i, _mm256_loadu_si256(from + i));
#else
    std::memcpy(target, source, bytes);
#endif
}
/// Makes a thread's streamed values visible to the others.
void finish_streams() {
#ifdef __x86_64__
    _mm_sfence();
#endif
}

// A block of a plane: rows, whose values become runs of the target, by columns. Runs of a cache line where they can be aligned, which makes
// the source's runs long; else long ones, of which the inner lines are whole.
constexpr size_t EDGE = 32, COLUMNS = 128;
constexpr size_t LONG_EDGE = 256, FEW_COLUMNS = 32;

/// target[c][r] = source[r][c] of a block, in 8 x 8 pieces where they are whole.
template <size_t Edge, typename T>
void transpose_block(const T* source, int64_t row_stride, T (*block)[Edge], size_t rows, size_t columns) {
    const bool fast = HAS_TRANSPOSE_8X8 && sizeof(T) > 1;
    const size_t whole_rows = fast ? rows / 8 * 8 : 0, whole_columns = fast ? columns / 8 * 8 : 0;
    if constexpr (sizeof(T) > 1) {
        for (size_t r = 0; r < whole_rows; r += 8) {
            for (size_t c = 0; c < whole_columns; c += 8)
                transpose_8x8(source + static_cast<int64_t>(r) * row_stride + static_cast<int64_t>(c), row_stride, &block[c][r], Edge);
        }
    }
    for (size_t r = 0; r < rows; ++r) {
        const T* line = source + static_cast<int64_t>(r) * row_stride;
        for (size_t c = r < whole_rows ? whole_columns : 0; c < columns; ++c) block[c][r] = line[c];
    }
}

/// Stores a run: whole lines past the caches when `stream`, the rest as usual.
template <typename T>
void store_run(const T* run, T* target, size_t count, bool stream) {
    if (!stream) {
        std::memcpy(target, run, count * sizeof(T));
        return;
    }
    const size_t before = std::min(count, (LINE - reinterpret_cast<uintptr_t>(target) % LINE) % LINE / sizeof(T));
    const size_t lines = (count - before) * sizeof(T) / LINE, inner = lines * LINE / sizeof(T);
    std::memcpy(target, run, before * sizeof(T));
    stream_lines(run + before, target + before, lines * LINE);
    std::memcpy(target + before + inner, run + before + inner, (count - before - inner) * sizeof(T));
}

/// A strip of at most Edge rows of a plane where the source is contiguous along `columns` and the target along the rows.
template <size_t Edge, size_t Columns, typename T>
void transpose_strip(const T* source, T* target, size_t rows, size_t columns, int64_t row_stride, int64_t column_stride, bool stream) {
    alignas(LINE) T block[Columns][Edge];
    for (size_t first = 0; first < columns; first += Columns) {
        const size_t count = std::min(Columns, columns - first);
        transpose_block<Edge>(source + first, row_stride, block, rows, count);
        T* out = target + static_cast<int64_t>(first) * column_stride;
        if (rows == Edge && !stream) {  // a size that the compiler knows
            for (size_t c = 0; c < count; ++c) std::memcpy(out + static_cast<int64_t>(c) * column_stride, block[c], sizeof(block[c]));
        } else {
            for (size_t c = 0; c < count; ++c) store_run(block[c], out + static_cast<int64_t>(c) * column_stride, rows, stream);
        }
    }
}

/// The offsets of a walk over some dimensions, the last one fastest.
class Walk {
public:
    Walk(const std::vector<StridedDim>& dims, size_t index) : dims_(dims) {
        for (size_t k = dims.size(); k-- > 0;) {
            at_[k] = index % dims[k].size;
            index /= dims[k].size;
            source += static_cast<int64_t>(at_[k]) * dims[k].source_stride;
            target += static_cast<int64_t>(at_[k]) * dims[k].target_stride;
        }
    }
    void advance() {
        for (size_t k = dims_.size(); k-- > 0;) {
            source += dims_[k].source_stride;
            target += dims_[k].target_stride;
            if (++at_[k] < dims_[k].size) return;
            source -= static_cast<int64_t>(dims_[k].size) * dims_[k].source_stride;
            target -= static_cast<int64_t>(dims_[k].size) * dims_[k].target_stride;
            at_[k] = 0;
        }
    }
    int64_t source = 0, target = 0;

private:
    const std::vector<StridedDim>& dims_;
    std::array<size_t, 16> at_{};
};

size_t count_of(const std::vector<StridedDim>& dims) {
    size_t count = 1;
    for (const StridedDim& dim : dims) count *= dim.size;
    return count;
}

/// Planes of rows (contiguous in the target) and columns (contiguous in the source), one for each step of `outer`.
template <size_t Edge, size_t Columns, typename T>
void copy_planes(
    const T* source, T* target, const std::vector<StridedDim>& outer, const StridedDim& row, const StridedDim& column, bool stream) {
    const size_t planes = count_of(outer), strips = (row.size + Edge - 1) / Edge;
    // few strips: parts of their columns are items of their own
    const size_t parts = planes * strips >= 16 ? 1 : std::max<size_t>(1, column.size / 1024);
    const size_t item = std::max<size_t>(1, std::min(Edge, row.size) * (column.size / parts));
    parallel_for(planes * parts * strips, std::max<size_t>(1, GRAIN / item), [&](size_t begin, size_t end) {
        Walk at(outer, begin / (parts * strips));
        for (size_t index = begin; index < end; ++index) {
            if (index != begin && index % (parts * strips) == 0) at.advance();
            const size_t part = index / strips % parts, r = index % strips * Edge;
            const size_t from = column.size * part / parts / COLUMNS * COLUMNS;
            const size_t to = part + 1 == parts ? column.size : column.size * (part + 1) / parts / COLUMNS * COLUMNS;
            transpose_strip<Edge, Columns>(
                source + at.source + static_cast<int64_t>(r) * row.source_stride + static_cast<int64_t>(from),
                target + at.target + static_cast<int64_t>(from) * column.target_stride + static_cast<int64_t>(r),
                std::min(Edge, row.size - r), to - from, row.source_stride, column.target_stride, stream);
        }
        if (stream) finish_streams();
    });
}

/// The same of two to four lines on one side: `lines` is the short dimension, `along` the long one.
template <size_t Lines, typename T>
void copy_lines(const T* source, T* target, const std::vector<StridedDim>& outer, const StridedDim& lines, const StridedDim& along) {
    const bool to_pixels = lines.target_stride == 1;
    const size_t parts = std::max<size_t>(1, along.size * Lines / GRAIN);
    parallel_for(count_of(outer) * parts, 1, [&](size_t begin, size_t end) {
        Walk at(outer, begin / parts);
        for (size_t index = begin; index < end; ++index) {
            if (index != begin && index % parts == 0) at.advance();
            const size_t from = along.size * (index % parts) / parts, count = along.size * (index % parts + 1) / parts - from;
            const T* in = source + at.source + static_cast<int64_t>(from) * along.source_stride;
            T* out = target + at.target + static_cast<int64_t>(from) * along.target_stride;
            if (to_pixels) {
                interleave<Lines>(in, out, count, lines.source_stride);
            } else {
                separate<Lines>(in, out, count, lines.target_stride);
            }
        }
    });
}

template <typename T>
bool copy_few_lines(const T* source, T* target, const std::vector<StridedDim>& outer, const StridedDim& inner, const StridedDim& column) {
    const auto size = [](const StridedDim& dim) { return static_cast<int64_t>(dim.size); };
    const bool to_pixels = inner.size <= 4 && column.target_stride == size(inner);
    const bool to_planes = column.size <= 4 && inner.source_stride == size(column);
    if (!to_pixels && !to_planes) return false;
    const StridedDim &lines = to_pixels ? inner : column, &along = to_pixels ? column : inner;
    switch (lines.size) {
        case 2: copy_lines<2>(source, target, outer, lines, along); return true;
        case 3: copy_lines<3>(source, target, outer, lines, along); return true;
        case 4: copy_lines<4>(source, target, outer, lines, along); return true;
        default: return false;
    }
}

template <typename T>
void copy_as(const T* source, T* target, const std::vector<StridedDim>& dims) {
    const StridedDim inner = dims.back();
    std::vector<StridedDim> outer(dims.begin(), dims.end() - 1);
    const size_t bytes = count_of(dims) * sizeof(T);
    if (inner.target_stride == 1 && inner.source_stride != 1 && inner.source_stride != 0) {
        // a dimension along which the source is contiguous, to pair with the target's contiguous one
        for (size_t k = outer.size(); k-- > 0;) {
            if (outer[k].source_stride != 1) continue;
            const StridedDim column = outer[k];
            std::vector<StridedDim> others = outer;
            others.erase(others.begin() + static_cast<int64_t>(k));
            if (copy_few_lines(source, target, others, inner, column)) return;
            if (inner.size < 4 || column.size < 4) continue;
            const auto aligned = [](const StridedDim& dim) { return dim.target_stride % (LINE / sizeof(T)) == 0; };
            const bool lines = sizeof(T) > 1 && reinterpret_cast<uintptr_t>(target) % LINE == 0 && aligned(column) &&
                               std::all_of(others.begin(), others.end(), aligned);
            if (lines || bytes < LARGE_BYTES || inner.size < LONG_EDGE)
                return copy_planes<EDGE, COLUMNS>(source, target, others, inner, column, lines && bytes >= LARGE_BYTES);
            return copy_planes<LONG_EDGE, FEW_COLUMNS>(source, target, others, inner, column, true);
        }
    }
    const size_t count = count_of(outer);
    // short rows of a large copy: read in the source's order, write whole lines past the caches
    const auto apart = [](const StridedDim& dim) { return dim.source_stride >= 0 && dim.target_stride % (LINE / sizeof(T)) == 0; };
    const bool stream = inner.source_stride == 1 && inner.target_stride == 1 && inner.size * sizeof(T) % LINE == 0 &&
                        inner.size * sizeof(T) <= SHORT_ROW_BYTES && reinterpret_cast<uintptr_t>(target) % LINE == 0 &&
                        bytes >= LARGE_BYTES && std::all_of(outer.begin(), outer.end(), apart);
    if (stream) {
        std::stable_sort(
            outer.begin(), outer.end(), [](const StridedDim& a, const StridedDim& b) { return a.source_stride > b.source_stride; });
    }
    const size_t splits = count == 1 && inner.size > 2 * GRAIN ? inner.size / GRAIN : 1;
    parallel_for(count * splits, std::max<size_t>(1, GRAIN / std::max<size_t>(1, inner.size / splits)), [&](size_t begin, size_t end) {
        Walk at(outer, begin / splits);
        if (stream) {
            for (size_t index = begin; index < end; ++index, at.advance())
                stream_lines(source + at.source, target + at.target, inner.size * sizeof(T));
            return finish_streams();
        }
        for (size_t index = begin; index < end; ++index) {
            if (index != begin && index % splits == 0) at.advance();
            const size_t from = inner.size * (index % splits) / splits, to = inner.size * (index % splits + 1) / splits;
            copy_row(
                source + at.source + static_cast<int64_t>(from) * inner.source_stride,
                target + at.target + static_cast<int64_t>(from) * inner.target_stride, to - from, inner.source_stride, inner.target_stride);
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
        case DataType::INT8: put(static_cast<int8_t>(clamped(-128, 127))); break;
        default: {
            const auto real = static_cast<float>(value);
            store_f32(dtype, &real, bytes.data(), 1);
        }
    }
    return bytes;
}

}  // namespace ttnn_shim
