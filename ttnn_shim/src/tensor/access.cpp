#include "tensor/access.hpp"

namespace ttnn_shim {

namespace {
constexpr size_t GRAIN = 64 * 1024;
}

F32Values::F32Values(const Tensor& tensor) : size_(tensor.logical_volume()) {
    const std::byte* source = raw_data(tensor);
    if (tensor.dtype() == DataType::FLOAT32) {
        copy_ = tensor.shim().buffer->values();  // keeps the view alive if the tensor is freed
        data_ = reinterpret_cast<const float*>(source);
        return;
    }
    copy_ = Values::allocate(size_ * sizeof(float));
    auto* target = reinterpret_cast<float*>(copy_->data());
    const size_t bytes = stored_bytes(tensor.dtype());
    parallel_for(
        size_, GRAIN, [&](size_t begin, size_t end) { load_f32(tensor.dtype(), source + begin * bytes, target + begin, end - begin); });
    data_ = target;
}

void write_f32(const Tensor& tensor, std::span<const float> values) {
    SHIM_ASSERT(values.size() == tensor.logical_volume());
    auto* target = mutable_raw_data(tensor);
    const size_t bytes = stored_bytes(tensor.dtype());
    parallel_for(values.size(), GRAIN, [&](size_t begin, size_t end) {
        store_f32(tensor.dtype(), values.data() + begin, target + begin * bytes, end - begin);
    });
}

Tensor from_host_values(const void* values, DataType dtype, const TensorSpec& spec, MeshDevice* device) {
    if (device != nullptr) check_not_captured(*device, "Writes");
    auto stored = new_values(spec);
    const auto* source = static_cast<const std::byte*>(values);
    const size_t source_bytes = stored_bytes(dtype);
    const size_t target_bytes = stored_bytes(spec.data_type());
    const size_t volume = spec.logical_shape().volume();
    const size_t width = spec.logical_shape().rank() == 0 ? 1 : spec.logical_shape()[-1];
    if (is_block_float(spec.data_type()) && !is_block_float(dtype) && volume > 0) {
        parallel_for(volume / width, GRAIN / width + 1, [&](size_t begin, size_t end) {
            std::vector<float> row(width);
            for (size_t i = begin; i < end; ++i) {
                load_f32(dtype, source + i * width * source_bytes, row.data(), width);
                round_blocks_f32(spec.data_type(), row.data(), reinterpret_cast<bfloat16*>(stored->data()) + i * width, 1, width);
            }
        });
    } else {
        parallel_for((volume + HOST_VECTOR - 1) / HOST_VECTOR, GRAIN / HOST_VECTOR, [&](size_t first, size_t last) {
            const size_t begin = first * HOST_VECTOR, end = std::min(last * HOST_VECTOR, volume);
            convert_on_host(dtype, source + begin * source_bytes, spec.data_type(), stored->data() + begin * target_bytes, end - begin);
        });
    }
    return device == nullptr ? make_host_tensor(spec, std::move(stored)) : make_device_tensor(device, spec, std::move(stored));
}

std::vector<uint64_t> strides_of(const Shape& shape) {
    std::vector<uint64_t> strides(shape.rank());
    uint64_t step = 1;
    for (size_t dim = shape.rank(); dim-- > 0;) {
        strides[dim] = step;
        step *= shape.view()[dim];
    }
    return strides;
}

Shape broadcast_shapes(const Shape& a, const Shape& b) {
    const size_t rank = std::max(a.rank(), b.rank());
    const Shape wide_a = a.to_rank(rank);
    const Shape wide_b = b.to_rank(rank);
    Shape result = wide_a;
    for (size_t dim = 0; dim < rank; ++dim) {
        const uint32_t x = wide_a.view()[dim];
        const uint32_t y = wide_b.view()[dim];
        SHIM_CHECK(x == y || x == 1 || y == 1, "shapes {} and {} do not broadcast: dim {} is {} and {}", a, b, dim, x, y);
        result[static_cast<int32_t>(dim)] = x == 1 ? y : x;
    }
    return result;
}

uint32_t normalize_dim(int64_t dim, size_t rank) {
    const auto count = static_cast<int64_t>(rank);
    SHIM_CHECK(dim >= -count && dim < count, "dim: expected {} to {} for rank {}, got {}", -count, count - 1, rank, dim);
    return static_cast<uint32_t>(dim < 0 ? dim + count : dim);
}

}  // namespace ttnn_shim
