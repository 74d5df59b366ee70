#include "ops/conv/weights.hpp"

#include <cstring>
#include <mutex>
#include <unordered_map>

#include "tensor/access.hpp"

namespace ttnn_shim {
namespace {

/// Visits (dense offset, prepared offset) of every weight that was given; the dense ones have `second_channels` for each first one.
template <typename Function>
void for_each_weight(const WeightShape& s, size_t second_channels, Function&& function) {
    const uint32_t in_channels = s.channels();
    const uint32_t in_per_group = in_channels / s.groups;
    const uint32_t out_per_group = s.out_channels / s.groups;
    const size_t given = s.transposed ? s.second() : in_per_group;
    const size_t area = size_t{s.kernel_h} * s.kernel_w;
    parallel_for(s.first(), 8, [&](size_t begin, size_t end) {
        for (size_t first = begin; first < end; ++first) {
            for (size_t second = 0; second < given; ++second) {
                const size_t group = first / (s.transposed ? in_per_group : out_per_group);
                const size_t in = s.transposed ? first : group * in_per_group + second;
                const size_t out = s.transposed ? group * out_per_group + second : first;
                for (size_t k = 0; k < area; ++k) {
                    function((first * second_channels + second) * area + k, (k * in_channels + in) * s.out_channels + out);
                }
            }
        }
    });
}

Shape prepared_shape(const WeightShape& s) { return Shape({1, 1, s.kernel_h * s.kernel_w * s.channels(), s.out_channels}); }

struct Cached {
    std::weak_ptr<Values> source;
    uint64_t version = 0;
    WeightShape shape;
    std::shared_ptr<Values> dense;
};

std::mutex cache_mutex;
std::unordered_map<const Values*, Cached> cache;

template <typename T>
std::shared_ptr<Values> gather(const Values& prepared, const WeightShape& shape) {
    const size_t bytes = sizeof(T) * shape.first() * shape.second() * shape.kernel_h * shape.kernel_w;
    auto dense = Values::allocate(bytes);
    if (shape.given_channels != 0) std::memset(dense->data(), 0, bytes);
    const T* from = reinterpret_cast<const T*>(prepared.data());
    T* to = reinterpret_cast<T*>(dense->data());
    for_each_weight(shape, shape.second(), [&](size_t at, size_t source) { to[at] = from[source]; });
    return dense;
}

void check_dtype(DataType dtype) {
    SHIM_CHECK(
        dtype == DataType::FLOAT32 || dtype == DataType::UINT32 || stores<bfloat16>(dtype),
        "weights must be BFLOAT16, FLOAT32, BFLOAT8_B or BFLOAT4_B, got {}", dtype);
}

}  // namespace

WeightShape shape_given(const Tensor& weight, WeightShape shape) {
    const Shape& own = weight.logical_shape();
    shape.given_channels = 0;
    if (own.rank() != 4 || shape.groups != 1 || shape.transposed) return shape;
    const uint32_t area = shape.kernel_h * shape.kernel_w;
    const bool prepared = is_on_device(weight) && own[0] == 1 && own[1] == 1 && own[3] == shape.out_channels && own[2] % area == 0;
    const uint32_t channels = prepared ? own[2] / area : own[1];
    if (channels < shape.in_channels) shape.given_channels = channels;
    return shape;
}

bool is_prepared(const Tensor& weight, const WeightShape& shape) {
    return weight.logical_shape() == prepared_shape(shape_given(weight, shape));
}

Tensor prepare_weights(
    const Tensor& weight, const WeightShape& wanted, DataType dtype, MeshDevice* device, uint32_t rows, uint32_t columns) {
    SHIM_CHECK(
        !is_on_device(weight), "weight_tensor must be on the host, got a device tensor {}; use ttnn.from_device", weight.tensor_spec());
    const WeightShape shape = shape_given(weight, wanted);
    const uint32_t second = shape.transposed ? shape.second() : shape.channels() / shape.groups;
    const Shape expected({shape.first(), second, shape.kernel_h, shape.kernel_w});
    SHIM_CHECK(weight.logical_shape() == expected, "weight_tensor: expected shape {}, got {}", expected, weight.logical_shape());
    check_dtype(dtype);
    const TensorSpec dense = make_spec(prepared_shape(shape), dtype, Layout::TILE);
    Shape padded = dense.padded_shape();
    padded[2] = std::max(padded[2], rows);
    padded[3] = std::max(padded[3], columns);
    const TensorSpec spec = dense.with_padded_shape(padded);
    check_not_captured(*device, "Writes");
    if (device->shim().estimate() || !has_values(weight)) {
        return make_device_tensor(device, spec);
    }
    const F32Values values(weight);
    std::vector<float> prepared(spec.logical_shape().volume(), 0.0F);
    const size_t area = size_t{shape.kernel_h} * shape.kernel_w;
    for_each_weight(shape, second, [&](size_t at, size_t target) {
        const size_t tap = at % area;
        prepared[target] = values[shape.flipped ? at - tap + (area - 1 - tap) : at];
    });
    return from_host_values(prepared.data(), DataType::FLOAT32, spec, device);
}

std::shared_ptr<Values> dense_weights(const Tensor& weight, const WeightShape& wanted) {
    const WeightShape shape = shape_given(weight, wanted);
    const std::shared_ptr<Values>& values = weight.shim().buffer->values();
    if (!is_prepared(weight, shape)) {
        return values;
    }
    const std::lock_guard lock(cache_mutex);
    auto found = cache.find(values.get());
    if (found != cache.end() && found->second.source.lock() == values && found->second.version == values->version() &&
        found->second.shape == shape) {
        return found->second.dense;
    }
    std::erase_if(cache, [](const auto& entry) { return entry.second.source.expired(); });
    auto dense = stored_bytes(weight.dtype()) == 4 ? gather<float>(*values, shape) : gather<bfloat16>(*values, shape);
    cache[values.get()] = {values, values->version(), shape, dense};
    return dense;
}

Tensor prepare_bias(const Tensor& bias, uint32_t out_channels, DataType dtype, MeshDevice* device, uint32_t columns) {
    SHIM_CHECK(!is_on_device(bias), "bias_tensor must be on the host, got a device tensor {}; use ttnn.from_device", bias.tensor_spec());
    const Shape expected({1, 1, 1, out_channels});
    SHIM_CHECK(bias.logical_shape() == expected, "bias_tensor: expected shape {}, got {}", expected, bias.logical_shape());
    check_dtype(dtype);
    TensorSpec spec = make_spec(expected, dtype, Layout::TILE);
    Shape padded = spec.padded_shape();
    padded[3] = std::max(padded[3], columns);
    spec = spec.with_padded_shape(padded);
    check_not_captured(*device, "Writes");
    if (device->shim().estimate() || !has_values(bias)) {
        return make_device_tensor(device, spec);
    }
    const F32Values values(bias);
    return from_host_values(values.data(), DataType::FLOAT32, spec, device);
}

}  // namespace ttnn_shim
