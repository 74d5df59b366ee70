#include "ops/data_movement/strided_copy.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace ttnn_shim {

namespace {

/// Drops size-1 dimensions and merges neighbours that are contiguous on both sides. False when there is nothing to copy.
bool simplify(std::vector<StridedDim>& dims) {
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
    for (size_t i = 0; i < count; ++i) target[static_cast<int64_t>(i) * target_stride] = source[static_cast<int64_t>(i) * source_stride];
  }
}

/// A plane where the source is contiguous along `columns` and the target along `rows`: blocked, so that both sides use whole cache lines.
template <typename T>
void transpose_plane(const T* source, T* target, size_t rows, size_t columns, int64_t row_stride, int64_t column_stride) {
  constexpr size_t EDGE = 32;
  T block[EDGE][EDGE];
  for (size_t c0 = 0; c0 < columns; c0 += EDGE) {
    const size_t nc = std::min(EDGE, columns - c0);
    for (size_t r0 = 0; r0 < rows; r0 += EDGE) {
      const size_t nr = std::min(EDGE, rows - r0);
      for (size_t r = 0; r < nr; ++r) {
        const T* line = source + static_cast<int64_t>(r0 + r) * row_stride + static_cast<int64_t>(c0);
        for (size_t c = 0; c < nc; ++c) block[c][r] = line[c];
      }
      for (size_t c = 0; c < nc; ++c) std::memcpy(target + static_cast<int64_t>(c0 + c) * column_stride + static_cast<int64_t>(r0), block[c], nr * sizeof(T));
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
    for (size_t index = begin; index < end; ++index) {
      int64_t source_offset = 0, target_offset = 0;
      size_t rest = index / (splits * row_splits);
      for (size_t k = outer.size(); k-- > 0;) {
        const auto at = static_cast<int64_t>(rest % outer[k].size);
        rest /= outer[k].size;
        source_offset += at * outer[k].source_stride;
        target_offset += at * outer[k].target_stride;
      }
      if (planes) {
        const size_t part = index % splits;
        const size_t from = dims[pair].size * part / splits, to = dims[pair].size * (part + 1) / splits;
        transpose_plane(source + source_offset + static_cast<int64_t>(from), target + target_offset + static_cast<int64_t>(from) * dims[pair].target_stride, inner.size, to - from,
                        inner.source_stride, dims[pair].target_stride);
      } else {
        const size_t part = index % row_splits;
        const size_t from = inner.size * part / row_splits, to = inner.size * (part + 1) / row_splits;
        copy_row(source + source_offset + static_cast<int64_t>(from) * inner.source_stride, target + target_offset + static_cast<int64_t>(from) * inner.target_stride, to - from,
                 inner.source_stride, inner.target_stride);
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
