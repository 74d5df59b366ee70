#include "tensor/storage.hpp"

#include <atomic>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include <sys/mman.h>

#include "tensor/packed.hpp"

namespace ttnn_shim {

namespace {

// Freed blocks of at least this size are kept for reuse: fresh pages cost a fault per 4 KiB, more than many ops themselves.
constexpr size_t POOLED_BYTES = 64 * 1024;
constexpr size_t HUGE_PAGE_BYTES = 2 * 1024 * 1024;
constexpr size_t POOL_LIMIT_BYTES = size_t{1} << 30;
constexpr size_t CHECKED_BYTES = size_t{1} << 30;  // requests of this size are compared with the memory that the host has

/// Sizes are rounded up to an eighth of their power of two, so that similar requests share blocks.
size_t rounded(size_t bytes) {
    bytes = std::max<size_t>(bytes, 64);
    const size_t step = std::max<size_t>(std::bit_floor(bytes) / 8, 64);
    return (bytes + step - 1) / step * step;
}

/// What /proc/meminfo calls MemAvailable; without limit where the file does not say.
size_t available_host_bytes() {
    std::ifstream file("/proc/meminfo");
    for (std::string name; file >> name;) {
        if (size_t kilobytes = 0; name == "MemAvailable:" && file >> kilobytes) {
            return kilobytes * 1024;
        }
        file.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
    }
    return std::numeric_limits<size_t>::max();
}

class Pool {
public:
    std::byte* take(size_t bytes) {
        if (bytes >= POOLED_BYTES) {
            const std::lock_guard lock(mutex_);
            auto& list = free_[bytes];
            if (!list.empty()) {
                std::byte* block = list.back();
                list.pop_back();
                kept_bytes_ -= bytes;
                return block;
            }
        }
        require_host_memory(bytes);
        const size_t alignment = bytes >= HUGE_PAGE_BYTES ? HUGE_PAGE_BYTES : 64;
        void* block = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
        if (block == nullptr) {
            fail(ErrorCode::OutOfMemory, text("the host has no {} bytes of memory left", bytes));
        }
        if (bytes >= HUGE_PAGE_BYTES) {
            madvise(block, bytes, MADV_HUGEPAGE);
        }
        return static_cast<std::byte*>(block);
    }

    void give(std::byte* block, size_t bytes) {
        if (bytes >= POOLED_BYTES) {
            const std::lock_guard lock(mutex_);
            if (devices_ > 0 && kept_bytes_ + bytes <= POOL_LIMIT_BYTES) {
                free_[bytes].push_back(block);
                kept_bytes_ += bytes;
                return;
            }
        }
        std::free(block);
    }

    void device_opened() {
        const std::lock_guard lock(mutex_);
        ++devices_;
    }

    void device_closed() {
        const std::lock_guard lock(mutex_);
        if (--devices_ == 0) {
            for (auto& [bytes, list] : free_) {
                for (std::byte* block : list) {
                    std::free(block);
                }
            }
            free_.clear();
            kept_bytes_ = 0;
        }
    }

private:
    std::mutex mutex_;
    int devices_ = 0;
    std::unordered_map<size_t, std::vector<std::byte*>> free_;
    size_t kept_bytes_ = 0;
};

Pool& pool() {
    static Pool* instance = new Pool;  // never destroyed: tensors may outlive static destruction
    return *instance;
}

uint64_t next_tensor_id() {
    static std::atomic<uint64_t> counter{0};
    return ++counter;
}

}  // namespace

std::shared_ptr<Values> Values::allocate(size_t bytes) {
    return std::shared_ptr<Values>(new Values(pool().take(rounded(bytes)), bytes, nullptr));
}

std::shared_ptr<Values> Values::borrow(void* data, size_t bytes, std::shared_ptr<void> owner) {
    return std::shared_ptr<Values>(new Values(static_cast<std::byte*>(data), bytes, std::move(owner)));
}

void device_opened() { pool().device_opened(); }
void device_closed() { pool().device_closed(); }

Values::~Values() {
    forget_packed_weights(this);
    if (!owner_) {
        pool().give(data_, rounded(bytes_));
    }
}

namespace {

constexpr uint64_t MOST_BYTES = uint64_t{1} << 48;  // the address space of a process

size_t value_bytes_of(const TensorSpec& spec) {
    const uint64_t volume = spec.logical_shape().volume();
    if (volume > MOST_BYTES / stored_bytes(spec.data_type())) {
        fail(ErrorCode::OutOfMemory, text("a tensor of shape {} is larger than any memory", spec.logical_shape()));
    }
    return volume * stored_bytes(spec.data_type());
}

}  // namespace

Buffer::Buffer(const TensorSpec& spec, Contents contents) : contents_(std::move(contents)), value_bytes_(value_bytes_of(spec)) {}

Buffer::Buffer(std::shared_ptr<MeshDevice> device, const TensorSpec& spec, Contents contents)
    : device_(std::move(device)),
      contents_(std::move(contents)),
      buffer_type_(spec.memory_config().buffer_type()),
      value_bytes_(value_bytes_of(spec)) {
    Allocator& allocator = device_->shim().allocator();
    bytes_per_bank_ = allocator.bytes_per_bank(spec);
    address_ = allocator.allocate(spec, buffer_type_, bytes_per_bank_);
}

Buffer::Buffer(std::shared_ptr<Buffer> place, const TensorSpec& spec, Contents contents)
    : device_(place->device()),
      place_(std::move(place)),
      contents_(std::move(contents)),
      buffer_type_(place_->buffer_type_),
      address_(place_->address_),
      bytes_per_bank_(place_->bytes_per_bank_),
      value_bytes_(value_bytes_of(spec)) {}

Buffer::~Buffer() {
    if (!place_) release();
}

void Buffer::release() {
    if (place_) {
        contents_ = {};
        place_->release();
        return;
    }
    if (!allocated_) {
        return;
    }
    allocated_ = false;
    contents_ = {};
    if (device_) {
        device_->shim().allocator().free(buffer_type_, address_);
    }
}

std::byte* Buffer::writable() {
    std::shared_ptr<Values>& values = contents_.differ() || chips_at_work() != ALL_CHIPS ? block_at_work() : contents_.values;
    if (!values) {
        if (device_ && device_->shim().estimate()) {
            return nullptr;
        }
        values = Values::allocate(value_bytes_);
    } else if (values.use_count() > 1) {
        auto copy = Values::allocate(value_bytes_);
        std::memcpy(copy->data(), values->data(), std::min(value_bytes_, values->bytes()));
        values = std::move(copy);
    }
    values->touch();
    return values->data();
}

void require_host_memory(size_t bytes) {
    if (bytes >= CHECKED_BYTES && bytes > available_host_bytes()) {
        fail(ErrorCode::OutOfMemory, text("the host has no {} bytes of memory left", bytes));
    }
}

std::shared_ptr<Values> new_values(const TensorSpec& spec) { return Values::allocate(value_bytes_of(spec)); }

std::shared_ptr<Values> zero_values(size_t bytes) {
    static auto* mutex = new std::mutex;
    static auto* kept = new std::shared_ptr<Values>;  // the largest so far: a second owner, so every writer copies
    const std::lock_guard lock(*mutex);
    if (!*kept || (*kept)->bytes() < bytes) {
        const size_t size = std::max<size_t>(std::bit_ceil(bytes), HUGE_PAGE_BYTES);
        void* block = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (block == MAP_FAILED) {
            fail(ErrorCode::OutOfMemory, text("the host has no {} bytes of memory left", bytes));
        }
        *kept = Values::borrow(block, size, std::shared_ptr<void>(block, [size](void* at) { munmap(at, size); }));
    }
    return *kept;
}

void ensure_values(const Tensor& tensor) {
    if (!has_values(tensor)) {
        if (std::byte* target = tensor.shim().buffer->writable()) {
            std::memset(target, 0, value_bytes_of(tensor.tensor_spec()));
        }
    }
}

Tensor make_host_tensor(const TensorSpec& spec, Contents contents, std::shared_ptr<const Topology> topology) {
    return Tensor(std::make_shared<TensorAttributes>(
        TensorAttributes{spec, std::make_shared<Buffer>(spec, std::move(contents)), next_tensor_id(), std::move(topology)}));
}

void check_not_captured(const MeshDevice& device, const char* what) {
    const TensorKeeper* keeper = device.shim().keeper();
    if (keeper == nullptr || !keeper->capturing()) return;
    fail(
        ErrorCode::InvalidArgument, text("{} are not supported during trace capture.", what),
        std::string_view(what) == "Writes" ? "make the tensor before begin_trace_capture, and keep it" : "read after execute_trace");
}

namespace {
Tensor on_device(const TensorSpec& spec, std::shared_ptr<Buffer> buffer, std::shared_ptr<const Topology> topology) {
    auto attributes = std::make_shared<TensorAttributes>(TensorAttributes{spec, std::move(buffer), next_tensor_id(), std::move(topology)});
    const auto& device = attributes->buffer->device();
    if (device && device->shim().keeper() != nullptr) device->shim().keeper()->made(attributes);
    return Tensor(std::move(attributes));
}

/// DRAM banks are one row: shards may only use cores (x, 0). Cores of a block grid that get no shard do not count.
void check_dram_shards(const Shape& padded, const MemoryConfig& config, uint64_t banks) {
    const auto& shard = *config.shard_spec();
    if (padded.volume() == 0 || shard.grid.empty()) return;
    const uint64_t width = padded[-1], rows = (padded.volume() / width + shard.shape[0] - 1) / shard.shape[0];
    const uint64_t columns = (width + shard.shape[1] - 1) / shard.shape[1];
    const CoreCoord grid = shard.grid.bounding_box().grid_size();
    const bool block = config.memory_layout() == TensorMemoryLayout::BLOCK_SHARDED;
    const bool one_row = block ? (shard.orientation == ShardOrientation::ROW_MAJOR ? rows : columns) <= 1 : grid.y == 1;
    SHIM_CHECK(one_row, "Invalid DRAM shard grid: {} is not on row 0 alone; DRAM banks are 1D", config);
    SHIM_CHECK(
        shard.grid.bounding_box().end_coord.x < banks || grid.y > 1, "Invalid shard grid: {} goes beyond the {} DRAM banks", config, banks);
}
}  // namespace

Tensor make_device_tensor(MeshDevice* device, const TensorSpec& spec, Contents contents, std::shared_ptr<const Topology> topology) {
    SHIM_CHECK(device != nullptr, "expected a device, got none");
    auto owner = device->weak_from_this().lock();
    SHIM_CHECK(owner && device->shim().is_open(), "the device is closed");
    SHIM_CHECK(
        spec.data_type() != DataType::FP8_E4M3 || device->shim().arch() == tt::ARCH::BLACKHOLE, "FP8_E4M3 is not supported on {}",
        device->shim().machine().card);
    const MemoryConfig& config = spec.memory_config();
    SHIM_CHECK(
        !config.is_sharded() || config.shard_spec() || config.nd_shard_spec(),
        "a tensor cannot be allocated with a sharded memory config that has no shard spec: {}", config);
    if (config.buffer_type() == BufferType::DRAM && config.shard_spec())
        check_dram_shards(spec.padded_shape(), config, device->shim().machine().dram_banks);
    return on_device(spec, std::make_shared<Buffer>(std::move(owner), spec, std::move(contents)), std::move(topology));
}

Tensor make_in_place(const Tensor& tensor, const TensorSpec& spec) {
    return on_device(spec, std::make_shared<Buffer>(tensor.shim().buffer, spec, Contents()), tensor.shim().topology);
}

Tensor make_view(const Tensor& tensor, const TensorSpec& spec) {
    SHIM_CHECK(tensor.is_allocated(), "the tensor {} was deallocated", tensor.tensor_spec());
    SHIM_CHECK(
        spec.logical_shape().volume() == tensor.logical_volume(), "cannot view shape {} as {}: the volumes differ", tensor.logical_shape(),
        spec.logical_shape());
    return on_device(spec, tensor.shim().buffer, tensor.shim().topology);
}

bool is_on_device(const Tensor& tensor) { return tensor.shim().buffer->device() != nullptr; }

MeshDevice* device_of(const Tensor& tensor) {
    const auto& buffer = tensor.shim().buffer;
    SHIM_CHECK(buffer->device() != nullptr, "expected a tensor on a device, got a host tensor {}", tensor.tensor_spec());
    SHIM_CHECK(buffer->is_allocated(), "the tensor {} was deallocated", tensor.tensor_spec());
    return buffer->device().get();
}

bool has_values(const Tensor& tensor) {
    const Buffer& buffer = *tensor.shim().buffer;
    return chips_at_work() == ALL_CHIPS ? buffer.contents().present() : buffer.values() != nullptr;
}

}  // namespace ttnn_shim
