// Values and buffers behind ttnn::Tensor.
//
// Values are dense, logical, row-major: no padding and no tile order. Layout, padding, sharding and address are metadata.
// Several buffers may share one Values block until one of them is written (copy on write), so to_layout, reshape and
// to_device cost nothing. Tensors that share a Buffer (copies, views) see each other's writes, as on the device.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "tensor/device.hpp"
#include "tensor/dtype.hpp"
#include "ttnn/tensor/tensor.hpp"

namespace ttnn_shim {

using tt::tt_metal::TensorSpec;
using tt::tt_metal::distributed::MeshDevice;
using ttnn::Tensor;

/// A block of values, 64-byte aligned. Owns its memory, or keeps the owner of borrowed memory alive.
class Values {
public:
    static std::shared_ptr<Values> allocate(size_t bytes);
    static std::shared_ptr<Values> borrow(void* data, size_t bytes, std::shared_ptr<void> owner);
    ~Values();
    Values(const Values&) = delete;
    Values& operator=(const Values&) = delete;

    std::byte* data() const { return data_; }
    size_t bytes() const { return bytes_; }
    /// Grows with every writing access: (block, version) names unchanging contents, for caches of derived data.
    uint64_t version() const { return version_.load(std::memory_order_relaxed); }
    void touch() { version_.fetch_add(1, std::memory_order_relaxed); }

private:
    Values(std::byte* data, size_t bytes, std::shared_ptr<void> owner) : data_(data), bytes_(bytes), owner_(std::move(owner)) {}
    std::byte* data_;
    size_t bytes_;
    std::shared_ptr<void> owner_;
    std::atomic<uint64_t> version_{0};
};

/// Memory of one tensor: on the host, or an allocation on a device that is given back with the last reference.
class Buffer {
public:
    Buffer(const TensorSpec& spec, std::shared_ptr<Values> values);
    Buffer(std::shared_ptr<MeshDevice> device, const TensorSpec& spec, std::shared_ptr<Values> values);
    /// In the place of another buffer, with values of its own.
    Buffer(std::shared_ptr<Buffer> place, const TensorSpec& spec, std::shared_ptr<Values> values);
    ~Buffer();
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;

    bool is_allocated() const { return place_ ? place_->is_allocated() : allocated_; }
    void release();
    const std::shared_ptr<MeshDevice>& device() const { return device_; }
    uint64_t address() const { return address_; }
    uint64_t bytes_per_bank() const { return bytes_per_bank_; }

    /// Whose memory this is, when it is another's.
    const std::shared_ptr<Buffer>& place() const { return place_; }

    const std::shared_ptr<Values>& values() const { return values_; }
    void set_values(std::shared_ptr<Values> values) { values_ = std::move(values); }
    /// Bytes for writing: made at the first call, copied first when another buffer shares them. Null in estimate mode.
    std::byte* writable();

    /// Whether the kernel that wrote the values last rounded their blocks itself: its launch leaves them as they are.
    bool blocks_rounded() const { return blocks_rounded_; }
    void set_blocks_rounded(bool rounded) { blocks_rounded_ = rounded; }

private:
    std::shared_ptr<MeshDevice> device_;
    std::shared_ptr<Buffer> place_;  ///< whose memory this is, when it is another's
    std::shared_ptr<Values> values_;
    BufferType buffer_type_ = BufferType::DRAM;
    uint64_t address_ = 0;
    uint64_t bytes_per_bank_ = 0;
    size_t value_bytes_ = 0;
    bool allocated_ = true;
    bool blocks_rounded_ = false;
};

struct TensorAttributes {
    TensorSpec spec;
    std::shared_ptr<Buffer> buffer;
    uint64_t id;  ///< unique, for reports
};

/// Gives the memory of a tensor back; without `force` only when nobody but the caller, who has `own` references to it, and kept kernels
/// refer to it. Nothing for an empty tensor.
void deallocate(const std::shared_ptr<TensorAttributes>& tensor, bool force, long own);
/// Throws Error(InvalidArgument) while a trace is captured: the host writes to the device, or reads from it. what: "Writes" or "Reads".
void check_not_captured(const MeshDevice& device, const char* what);
/// A host tensor; `values` may be null (no data).
Tensor make_host_tensor(const TensorSpec& spec, std::shared_ptr<Values> values);
/// A device tensor: allocates device memory. `values` null: made when first written (never in estimate mode).
Tensor make_device_tensor(MeshDevice* device, const TensorSpec& spec, std::shared_ptr<Values> values = nullptr);
/// Gives a device tensor without values zeros (not in estimate mode).
void ensure_values(const Tensor& tensor);
/// A tensor of `spec` in the memory of `tensor`, with values of its own (none yet): what a program that grows a tensor into the padding of
/// its tiles returns. Freeing one frees both.
Tensor make_in_place(const Tensor& tensor, const TensorSpec& spec);
/// Another spec of the same memory (a view). Volumes must agree.
Tensor make_view(const Tensor& tensor, const TensorSpec& spec);
/// A tensor of host values (dense, row-major, of `dtype`), rounded as the host rounds; on `device` when one is given.
Tensor from_host_values(const void* values, DataType dtype, const TensorSpec& spec, MeshDevice* device);
/// New uninitialised values for `spec`.
std::shared_ptr<Values> new_values(const TensorSpec& spec);

/// At least `bytes` zeros that nobody may write in place (copy on write sees to it); costs no memory until read. For programs
/// whose outputs are only described, never read (halo).
std::shared_ptr<Values> zero_values(size_t bytes);

bool is_on_device(const Tensor& tensor);
/// The device of a device tensor; throws Error(InvalidArgument) for a host or deallocated tensor.
MeshDevice* device_of(const Tensor& tensor);
inline Device& machine_of(const Tensor& tensor) { return device_of(tensor)->shim(); }
/// False in estimate mode.
bool has_values(const Tensor& tensor);

}  // namespace ttnn_shim
