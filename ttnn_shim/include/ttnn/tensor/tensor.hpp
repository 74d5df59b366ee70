// ttnn::Tensor: a handle to values on the host or on a device. Copies of a handle share the buffer.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tt-metalium/host_buffer.hpp"
#include "tt-metalium/mesh_device.hpp"
#include "tt_stl/optional_reference.hpp"
#include "tt_stl/span.hpp"
#include "tt_stl/strong_type.hpp"
#include "ttnn/tensor/tensor_spec.hpp"
#include "ttnn/tensor/types.hpp"

namespace ttnn_shim {
struct TensorAttributes;
}

namespace tt::tt_metal {

/// How a tensor is spread over a mesh. One chip: replicated.
class TensorTopology {
public:
    bool operator==(const TensorTopology&) const = default;
};

}  // namespace tt::tt_metal

namespace ttnn {

struct QueueIdTag;
using QueueId = ttsl::StrongType<uint8_t, QueueIdTag>;

using tt::tt_metal::DataType;
using tt::tt_metal::Layout;
using tt::tt_metal::MemoryConfig;
using tt::tt_metal::Shape;
using tt::tt_metal::TensorSpec;
using tt::tt_metal::Tile;
using tt::tt_metal::distributed::MeshDevice;

class Tensor {
public:
    Tensor() = default;
    // Defined in the library: programs and ops that pass these by value compile no copies of their own.
    Tensor(const Tensor& other);
    Tensor(Tensor&& other) noexcept;
    Tensor& operator=(const Tensor& other);
    Tensor& operator=(Tensor&& other) noexcept;
    ~Tensor();
    explicit Tensor(std::shared_ptr<ttnn_shim::TensorAttributes> attributes);

    /// A tensor of logical row-major values. T: bfloat16, float, int32_t, uint32_t, uint16_t or uint8_t; floats may
    /// also become BFLOAT16, BFLOAT8_B or BFLOAT4_B (rounded as the host rounds). On `device` when one is given.
    template <typename T>
    static Tensor from_span(
        std::span<const T> values, const TensorSpec& spec, MeshDevice* device = nullptr, std::optional<QueueId> cq_id = std::nullopt,
        T pad_value = T());
    template <typename T>
    static Tensor from_vector(
        const std::vector<T>& values, const TensorSpec& spec, MeshDevice* device = nullptr, std::optional<QueueId> cq_id = std::nullopt,
        T pad_value = T()) {
        return from_span<T>(std::span<const T>(values), spec, device, cq_id, pad_value);
    }
    /// The values in logical row-major order. float reads every floating point type; other T must match the dtype.
    template <typename T>
    std::vector<T> to_vector(std::optional<QueueId> cq_id = std::nullopt) const;
    /// The value of a tensor with one element.
    template <typename T>
    T item(std::optional<QueueId> cq_id = std::nullopt) const;

    const TensorSpec& tensor_spec() const;
    const Shape& logical_shape() const;
    const Shape& padded_shape() const;
    uint64_t logical_volume() const;
    uint64_t physical_volume() const;
    DataType dtype() const;
    Layout layout() const;
    const MemoryConfig& memory_config() const;
    const std::optional<tt::tt_metal::ShardSpec>& shard_spec() const;
    uint32_t element_size() const;
    bool is_sharded() const;
    bool is_scalar() const;
    bool is_allocated() const;
    StorageType storage_type() const;
    MeshDevice* device() const;

    Tensor to_device(
        MeshDevice* device, ttsl::optional_reference<const MemoryConfig> memory_config = std::nullopt,
        std::optional<QueueId> cq_id = std::nullopt) const;
    Tensor cpu(bool blocking = true, std::optional<QueueId> cq_id = std::nullopt) const;
    Tensor to_layout(Layout layout) const;
    Tensor reshape(const Shape& shape) const;
    /// Gives the device memory back: always when forced, else when this is the last handle.
    void deallocate(bool force = false);

    /// Address of the buffer in every bank; 0 for host tensors (ttnn_shim only).
    uint64_t buffer_address() const;
    ttnn_shim::TensorAttributes& shim() const;
    const std::shared_ptr<ttnn_shim::TensorAttributes>& shim_pointer() const { return attributes_; }

private:
    std::shared_ptr<ttnn_shim::TensorAttributes> attributes_;
};

bool is_cpu_tensor(const Tensor& tensor);
bool is_device_tensor(const Tensor& tensor);
/// Values of a host tensor to a device tensor of the same shape, dtype and layout.
void copy_to_device(const Tensor& host_tensor, Tensor& device_tensor, std::optional<QueueId> cq_id = std::nullopt);
Tensor create_device_tensor(
    const TensorSpec& spec, MeshDevice* device, std::optional<tt::tt_metal::TensorTopology> tensor_topology = std::nullopt);

}  // namespace ttnn

namespace tt::tt_metal {
using ttnn::Tensor;

namespace host_buffer {
/// The values of a host tensor; throws for one on a device.
HostBuffer get_host_buffer(const Tensor& tensor);
}  // namespace host_buffer
}  // namespace tt::tt_metal
