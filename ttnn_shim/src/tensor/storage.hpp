// Values and buffers behind ttnn::Tensor.
//
// Values are dense, logical, row-major: no padding and no tile order. Layout, padding, sharding and address are metadata.
// Several buffers may share one Values block until one of them is written (copy on write), so to_layout, reshape and
// to_device cost nothing. Tensors that share a Buffer (copies, views) see each other's writes, as on the device.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "tensor/chips.hpp"
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

/// What a buffer holds: one block of values that all chips have, or parts, each of some of the chips.
struct Contents {
    struct Part {
        ChipSet chips;
        std::shared_ptr<Values> values;
    };
    Contents() = default;
    Contents(std::shared_ptr<Values> same) : values(std::move(same)) {}
    /// Parts that cover all chips; one of all chips, or equal ones, are one block.
    explicit Contents(std::vector<Part> of_chips);
    bool differ() const { return !parts.empty(); }
    bool present() const { return differ() ? parts.front().values != nullptr : values != nullptr; }
    /// The block of the chips at work (chips.hpp). Throws Error(NotSupported) where they have different ones.
    const std::shared_ptr<Values>& at_work() const;
    /// The block of one chip.
    const std::shared_ptr<Values>& of_chip(size_t chip) const;

    std::shared_ptr<Values> values;
    std::vector<Part> parts;  ///< empty where all chips have the same
};

/// Memory of one tensor: on the host, or an allocation on a device that is given back with the last reference.
class Buffer {
public:
    Buffer(const TensorSpec& spec, Contents contents);
    Buffer(std::shared_ptr<MeshDevice> device, const TensorSpec& spec, Contents contents);
    /// In the place of another buffer, with values of its own.
    Buffer(std::shared_ptr<Buffer> place, const TensorSpec& spec, Contents contents);
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

    /// The values of the chips at work (chips.hpp). Throws Error(NotSupported) where they have different ones.
    const std::shared_ptr<Values>& values() const { return contents_.differ() ? contents_.at_work() : contents_.values; }
    void set_values(std::shared_ptr<Values> values);
    /// Bytes of the chips at work for writing: made at the first call, copied first when another buffer, or another chip, shares them. Null
    /// in estimate mode.
    std::byte* writable();
    const Contents& contents() const { return contents_; }
    void set_contents(Contents contents) { contents_ = std::move(contents); }

    /// Whether the kernel that wrote the values last rounded their blocks itself: its launch leaves them as they are.
    bool blocks_rounded() const { return blocks_rounded_; }
    void set_blocks_rounded(bool rounded) { blocks_rounded_ = rounded; }

private:
    std::shared_ptr<MeshDevice> device_;
    std::shared_ptr<Buffer> place_;  ///< whose memory this is, when it is another's
    std::shared_ptr<Values>& block_at_work();
    Contents contents_;
    BufferType buffer_type_ = BufferType::DRAM;
    uint64_t address_ = 0;
    uint64_t bytes_per_bank_ = 0;
    size_t value_bytes_ = 0;
    bool allocated_ = true;
    bool blocks_rounded_ = false;
};

/// How a tensor was spread over a mesh, as the real package keeps and files it: it says what was meant, no op checks it.
struct Topology {
    std::vector<uint32_t> mesh;                    ///< extents of the mesh
    std::vector<uint32_t> distribution;            ///< those of its mapper: the mesh's, or an override
    std::vector<std::optional<int>> placements{};  ///< of its axes: the dimension that each cuts, or none: the same on all
    bool operator==(const Topology&) const = default;
};

struct TensorAttributes {
    TensorSpec spec;
    std::shared_ptr<Buffer> buffer;
    uint64_t id;                                         ///< unique, for reports
    std::shared_ptr<const Topology> topology = nullptr;  ///< none: the same on all chips of the device, or of one chip on the host
};

/// Gives the memory of a tensor back; without `force` only when nobody but the caller, who has `own` references to it, and kept kernels
/// refer to it. Nothing for an empty tensor.
void deallocate(const std::shared_ptr<TensorAttributes>& tensor, bool force, long own);
/// Throws Error(InvalidArgument) while a trace is captured: the host writes to the device, or reads from it. what: "Writes" or "Reads".
void check_not_captured(const MeshDevice& device, const char* what);
/// A host tensor; it may have no values.
Tensor make_host_tensor(const TensorSpec& spec, Contents contents, std::shared_ptr<const Topology> topology = nullptr);
/// A device tensor: allocates device memory. Without values: made when first written (never in estimate mode).
Tensor make_device_tensor(
    MeshDevice* device, const TensorSpec& spec, Contents contents = {}, std::shared_ptr<const Topology> topology = nullptr);
/// Runs `step` once for all chips, or, where tensors differ by chip, once for each group of chips that have the same of all of them.
void for_equal_chips(std::span<const Tensor> inputs, std::span<const Tensor> outputs, const std::function<void()>& step);
/// Gives a device tensor without values zeros (not in estimate mode).
void ensure_values(const Tensor& tensor);
/// A tensor of `spec` in the memory of `tensor`, with values of its own (none yet): what a program that grows a tensor into the padding of
/// its tiles returns. Freeing one frees both.
Tensor make_in_place(const Tensor& tensor, const TensorSpec& spec);
/// Another spec of the same memory (a view). Volumes must agree.
Tensor make_view(const Tensor& tensor, const TensorSpec& spec);
/// A tensor of host values (dense, row-major, of `dtype`), rounded as the host rounds; on `device` when one is given.
Tensor from_host_values(const void* values, DataType dtype, const TensorSpec& spec, MeshDevice* device);
/// Fails with OutOfMemory for a large request that the host cannot fill: Linux promises more memory than there is, and ends a process that
/// uses it.
void require_host_memory(size_t bytes);

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
