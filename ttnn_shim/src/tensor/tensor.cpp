// ttnn::Tensor: construction from values, reading back, queries.
#include "ttnn/tensor/tensor.hpp"

#include "tensor/access.hpp"
#include "tensor/mesh.hpp"

namespace ttnn {

Tensor::Tensor(std::shared_ptr<ttnn_shim::TensorAttributes> attributes) : attributes_(std::move(attributes)) {}
Tensor::Tensor(const Tensor& other) = default;
Tensor::Tensor(Tensor&& other) noexcept = default;
Tensor& Tensor::operator=(const Tensor& other) = default;
Tensor& Tensor::operator=(Tensor&& other) noexcept = default;
Tensor::~Tensor() = default;

using namespace ttnn_shim;

namespace {

/// The dtype whose storage type is T.
template <typename T>
constexpr DataType dtype_of() {
    if constexpr (std::is_same_v<T, float>) {
        return DataType::FLOAT32;
    } else if constexpr (std::is_same_v<T, bfloat16>) {
        return DataType::BFLOAT16;
    } else if constexpr (std::is_same_v<T, int32_t>) {
        return DataType::INT32;
    } else if constexpr (std::is_same_v<T, uint32_t>) {
        return DataType::UINT32;
    } else if constexpr (std::is_same_v<T, uint16_t>) {
        return DataType::UINT16;
    } else {
        static_assert(std::is_same_v<T, uint8_t>);
        return DataType::UINT8;
    }
}

}  // namespace

template <typename T>
Tensor Tensor::from_span(std::span<const T> values, const TensorSpec& spec, MeshDevice* device, std::optional<QueueId> cq_id, T pad_value) {
    (void)cq_id;
    (void)pad_value;  // padding has no values here
    SHIM_CHECK(
        values.size() == spec.logical_shape().volume(), "expected {} values for shape {}, got {}", spec.logical_shape().volume(),
        spec.logical_shape(), values.size());
    SHIM_CHECK(
        stores<T>(spec.data_type()) || (is_floating_point(dtype_of<T>()) && is_floating_point(spec.data_type())),
        "values of type {} cannot make a {} tensor", dtype_of<T>(), spec.data_type());
    return from_host_values(values.data(), dtype_of<T>(), spec, device);
}

template <typename T>
std::vector<T> Tensor::to_vector(std::optional<QueueId> cq_id) const {
    (void)cq_id;
    SHIM_CHECK(
        stores<T>(dtype()) || (is_floating_point(dtype_of<T>()) && is_floating_point(dtype())), "a {} tensor cannot be read as {}", dtype(),
        dtype_of<T>());
    if (is_on_device(*this)) check_not_captured(*device(), "Reads");
    SHIM_CHECK(has_values(*this), "the tensor has no values: the device is in estimate mode, or the trace that makes it has not run");
    check_one_part(*this);
    std::vector<T> result(logical_volume());
    convert_on_host(dtype(), raw_data(*this), dtype_of<T>(), result.data(), result.size());
    return result;
}

template <typename T>
T Tensor::item(std::optional<QueueId> cq_id) const {
    SHIM_CHECK(logical_volume() == 1, "item() needs a tensor with one element, got shape {}", logical_shape());
    return to_vector<T>(cq_id)[0];
}

#define INSTANTIATE(T)                                                                                                   \
    template Tensor Tensor::from_span<T>(std::span<const T>, const TensorSpec&, MeshDevice*, std::optional<QueueId>, T); \
    template std::vector<T> Tensor::to_vector<T>(std::optional<QueueId>) const;                                          \
    template T Tensor::item<T>(std::optional<QueueId>) const;
INSTANTIATE(float)
INSTANTIATE(bfloat16)
INSTANTIATE(int32_t)
INSTANTIATE(uint32_t)
INSTANTIATE(uint16_t)
INSTANTIATE(uint8_t)
#undef INSTANTIATE

ttnn_shim::TensorAttributes& Tensor::shim() const {
    SHIM_CHECK(attributes_ != nullptr, "the tensor is empty (default constructed or moved from)");
    return *attributes_;
}

const TensorSpec& Tensor::tensor_spec() const { return shim().spec; }
const Shape& Tensor::logical_shape() const { return shim().spec.logical_shape(); }
const Shape& Tensor::padded_shape() const { return shim().spec.padded_shape(); }
uint64_t Tensor::logical_volume() const { return logical_shape().volume(); }
uint64_t Tensor::physical_volume() const { return padded_shape().volume(); }
DataType Tensor::dtype() const { return shim().spec.data_type(); }
Layout Tensor::layout() const { return shim().spec.layout(); }
const MemoryConfig& Tensor::memory_config() const { return shim().spec.memory_config(); }
const std::optional<tt::tt_metal::ShardSpec>& Tensor::shard_spec() const { return memory_config().shard_spec(); }
uint32_t Tensor::element_size() const { return static_cast<uint32_t>(stored_bytes(dtype())); }
bool Tensor::is_sharded() const { return is_on_device(*this) && memory_config().is_sharded(); }
bool Tensor::is_scalar() const { return logical_shape().rank() == 0 || logical_volume() == 1; }
bool Tensor::is_allocated() const { return attributes_ && attributes_->buffer->is_allocated(); }
StorageType Tensor::storage_type() const { return is_on_device(*this) ? StorageType::DEVICE : StorageType::HOST; }
MeshDevice* Tensor::device() const { return shim().buffer->device().get(); }
uint64_t Tensor::buffer_address() const { return shim().buffer->address(); }

Tensor Tensor::to_device(
    MeshDevice* device, ttsl::optional_reference<const MemoryConfig> memory_config, std::optional<QueueId> cq_id) const {
    (void)cq_id;
    SHIM_CHECK(is_allocated(), "the tensor was deallocated");
    if (is_on_device(*this)) {
        SHIM_CHECK(shim().buffer->device().get() == device, "the tensor is already on another device");
        return *this;  // for any requested memory
    }
    check_not_captured(*device, "Writes");
    const auto& spec = tensor_spec();
    return place_on_mesh(*this, device, memory_config ? spec.with_memory_config(*memory_config) : spec);
}

Tensor Tensor::cpu(bool blocking, std::optional<QueueId> cq_id) const {
    (void)blocking;
    (void)cq_id;
    SHIM_CHECK(is_allocated(), "the tensor was deallocated");
    if (!is_on_device(*this)) {
        return *this;
    }
    check_not_captured(*device(), "Reads");
    return make_host_tensor(tensor_spec(), shim().buffer->contents(), topology_of(*this));
}

Tensor Tensor::to_layout(Layout layout) const {
    SHIM_CHECK(!is_on_device(*this), "Tensor::to_layout works on host tensors; use ttnn::to_layout on the device");
    const TensorSpec& spec = tensor_spec();
    return make_host_tensor(
        TensorSpec(spec.logical_shape(), spec.data_type(), layout, spec.memory_config()), shim().buffer->contents(), shim().topology);
}

Tensor Tensor::reshape(const Shape& shape) const {
    const TensorSpec& spec = tensor_spec();
    return make_view(*this, TensorSpec(shape, spec.tensor_layout()));
}

void Tensor::deallocate(bool force) { ttnn_shim::deallocate(attributes_, force, 1); }

bool is_cpu_tensor(const Tensor& tensor) { return !is_on_device(tensor); }
bool is_device_tensor(const Tensor& tensor) { return is_on_device(tensor); }

Tensor create_device_tensor(const TensorSpec& spec, MeshDevice* device, std::optional<tt::tt_metal::TensorTopology> tensor_topology) {
    (void)tensor_topology;
    const Tensor tensor = make_device_tensor(device, spec);
    ensure_values(tensor);
    return tensor;
}

}  // namespace ttnn

namespace ttnn_shim {

void deallocate(const std::shared_ptr<TensorAttributes>& tensor, bool force, long own) {
    if (!tensor || !tensor->buffer->device()) return;  // as in TT-NN, a host tensor keeps its values
    const TensorKeeper* keeper = tensor->buffer->device()->shim().keeper();
    const long kept = keeper == nullptr ? 0 : keeper->references(*tensor);
    if (force || (tensor.use_count() <= own + kept && tensor->buffer.use_count() == 1)) tensor->buffer->release();
}

}  // namespace ttnn_shim
