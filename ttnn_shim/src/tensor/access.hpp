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

/// Elements converted at a time by map_f32 kernels: small enough for the L1 cache.
inline constexpr size_t MAP_CHUNK = 2048;

/// output[i] = fn(input[i]) in float32, one rounding at the end; threads and chunks inside. The chunk form
/// fn(const float* in, float* out, size_t n) lets the compiler vectorise. The guide's op (ttnn_shim/README.md) is made with it.
template <typename Function>
void map_f32(const Tensor& input, const Tensor& output, Function&& function) {
    SHIM_ASSERT(input.logical_volume() == output.logical_volume());
    const auto* source = raw_data(input);
    auto* target = mutable_raw_data(output);
    const size_t source_bytes = stored_bytes(input.dtype());
    const size_t target_bytes = stored_bytes(output.dtype());
    parallel_for(input.logical_volume(), 4 * MAP_CHUNK, [&](size_t begin, size_t end) {
        std::array<float, MAP_CHUNK> in;
        std::array<float, MAP_CHUNK> out;
        for (size_t at = begin; at < end; at += MAP_CHUNK) {
            const size_t count = std::min(MAP_CHUNK, end - at);
            load_f32(input.dtype(), source + at * source_bytes, in.data(), count);
            function(static_cast<const float*>(in.data()), out.data(), count);
            store_f32(output.dtype(), out.data(), target + at * target_bytes, count);
        }
    });
}

/// Row-major strides in elements.
std::vector<uint64_t> strides_of(const Shape& shape);
/// Numpy broadcasting of two shapes; throws Error(InvalidArgument) naming both when they do not fit.
Shape broadcast_shapes(const Shape& a, const Shape& b);
/// dim normalised to 0..rank-1; throws Error(InvalidArgument) "dim: expected -4 to 3 for rank 4, got 4".
uint32_t normalize_dim(int64_t dim, size_t rank);

}  // namespace ttnn_shim
