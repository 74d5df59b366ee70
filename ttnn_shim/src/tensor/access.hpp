// Typed access to a tensor's values: dense logical row-major.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tensor/convert.hpp"
#include "tensor/parallel.hpp"
#include "tensor/storage.hpp"

namespace ttnn_shim {

/// The stored values, read only. T must be the storage type of the dtype (bfloat16 for block floats).
template <typename T>
std::span<const T> data(const Tensor& tensor) {
    SHIM_ASSERT(stores<T>(tensor.dtype()) && has_values(tensor));
    return {reinterpret_cast<const T*>(tensor.shim().buffer->values()->data()), tensor.logical_volume()};
}

/// The stored values for writing; unshares them first. Only for outputs of a launch.
template <typename T>
std::span<T> mutable_data(const Tensor& tensor) {
    SHIM_ASSERT(stores<T>(tensor.dtype()));
    return {reinterpret_cast<T*>(tensor.shim().buffer->writable()), tensor.logical_volume()};
}

inline const std::byte* raw_data(const Tensor& tensor) {
    SHIM_ASSERT(has_values(tensor));
    return tensor.shim().buffer->values()->data();
}
inline std::byte* mutable_raw_data(const Tensor& tensor) { return tensor.shim().buffer->writable(); }

/// All values as float32: a view when they are float32 already, else a converted copy (threaded).
class F32Values {
public:
    explicit F32Values(const Tensor& tensor);
    const float* data() const { return data_; }
    const float& operator[](size_t index) const { return data_[index]; }
    size_t size() const { return size_; }
    std::span<const float> span() const { return {data_, size_}; }

private:
    std::shared_ptr<Values> copy_;
    const float* data_ = nullptr;
    size_t size_ = 0;
};

/// Writes float32 results into `tensor` in its own dtype, one rounding (threaded). Sizes must agree.
void write_f32(const Tensor& tensor, std::span<const float> values);

/// Row-major strides in elements.
std::vector<uint64_t> strides_of(const Shape& shape);
/// Numpy broadcasting of two shapes; throws Error(InvalidArgument) naming both when they do not fit.
Shape broadcast_shapes(const Shape& a, const Shape& b);
/// dim normalised to 0..rank-1; throws Error(InvalidArgument) "dim: expected -4 to 3 for rank 4, got 4".
uint32_t normalize_dim(int64_t dim, size_t rank);

}  // namespace ttnn_shim
