// The one kernel behind every op that only moves values: a copy between two strided views.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tensor/access.hpp"

namespace ttnn_shim {

struct StridedDim {
    size_t size;
    int64_t source_stride;  ///< in elements; 0 repeats, negative walks backwards
    int64_t target_stride;
};

/// target[sum i_k * target_stride_k] = source[sum i_k * source_stride_k] for all i, elements of `element_bytes` (1, 2 or 4). Threaded.
void strided_copy(size_t element_bytes, const std::byte* source, std::byte* target, std::vector<StridedDim> dims);

/// Dims for a dense target of `shape` read through `source_strides`.
std::vector<StridedDim> dense_target(const Shape& shape, const std::vector<int64_t>& source_strides);
/// Sets elements [0, count) to one value.
void fill_elements(size_t element_bytes, std::byte* target, size_t count, const std::byte* value);
/// `value` in the storage of `dtype`, in the first bytes of the result.
std::array<std::byte, 8> encode_value(DataType dtype, double value);

}  // namespace ttnn_shim
