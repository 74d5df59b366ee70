#include "tensor/allocator.hpp"

#include <algorithm>

#include "tensor/check.hpp"

namespace ttnn_shim {

namespace {

constexpr uint64_t round_up(uint64_t value, uint64_t step) { return (value + step - 1) / step * step; }
constexpr uint64_t ceil_div(uint64_t value, uint64_t by) { return (value + by - 1) / by; }

}  // namespace

Arena::Arena(uint64_t base, uint64_t bytes, uint32_t alignment, bool top_down)
    : base_(round_up(base, alignment)), bytes_(bytes), alignment_(alignment), top_down_(top_down) {}

bool Arena::allocate(uint64_t bytes, uint64_t& address) {
    bytes = std::max<uint64_t>(round_up(bytes, alignment_), alignment_);
    const uint64_t end = base_ + bytes_;
    if (top_down_) {
        uint64_t hole_end = end / alignment_ * alignment_;
        for (auto block = used_.rbegin();; ++block) {
            const uint64_t hole_begin = block == used_.rend() ? base_ : block->first + block->second;
            if (hole_end >= hole_begin && hole_end - hole_begin >= bytes) {
                address = hole_end - bytes;
                break;
            }
            if (block == used_.rend()) {
                return false;
            }
            hole_end = block->first;
        }
    } else {
        uint64_t hole_begin = base_;
        for (auto block = used_.begin();; ++block) {
            const uint64_t hole_end = block == used_.end() ? end : block->first;
            if (hole_end >= hole_begin && hole_end - hole_begin >= bytes) {
                address = hole_begin;
                break;
            }
            if (block == used_.end()) {
                return false;
            }
            hole_begin = block->first + block->second;
        }
    }
    used_.emplace(address, bytes);
    allocated_ += bytes;
    peak_ = std::max(peak_, allocated_);
    return true;
}

void Arena::free(uint64_t address) {
    const auto block = used_.find(address);
    SHIM_ASSERT(block != used_.end());
    allocated_ -= block->second;
    used_.erase(block);
}

uint64_t Arena::largest_free() const {
    uint64_t largest = 0;
    for (const MemoryBlock& block : blocks()) {
        if (!block.allocated) {
            largest = std::max(largest, block.bytes);
        }
    }
    return largest;
}

uint64_t Arena::lowest_allocated() const { return used_.empty() ? base_ + bytes_ : used_.begin()->first; }

std::vector<MemoryBlock> Arena::blocks() const {
    std::vector<MemoryBlock> result;
    uint64_t at = base_;
    for (const auto& [address, bytes] : used_) {
        if (address > at) {
            result.push_back({at, address - at, false});
        }
        result.push_back({address, bytes, true});
        at = address + bytes;
    }
    if (at < base_ + bytes_) {
        result.push_back({at, base_ + bytes_ - at, false});
    }
    return result;
}

Allocator::Allocator(const MachineMemory& machine, uint64_t l1_small_bytes, uint64_t trace_region_bytes) : machine_(machine) {
    const uint64_t l1_bytes = machine.l1_end - machine.l1_base;
    const uint64_t small = round_up(l1_small_bytes, machine.l1_alignment);
    const uint64_t trace = round_up(ceil_div(trace_region_bytes, machine.dram_banks), machine.dram_alignment);
    SHIM_CHECK(small < l1_bytes, "l1_small_size {} does not fit L1 of {} bytes", l1_small_bytes, l1_bytes);
    SHIM_CHECK(trace < machine.dram_bank_bytes, "trace_region_size {} does not fit DRAM", trace_region_bytes);
    dram_ = Arena(machine.dram_base, machine.dram_bank_bytes - trace, machine.dram_alignment, false);
    // Pages in L1 have its own alignment, the buffers that hold them DRAM's.
    l1_ = Arena(machine.l1_base, l1_bytes - small, machine.dram_alignment, true);
    l1_small_ = Arena(machine.l1_end - small, small, machine.dram_alignment, true);
    trace_ = Arena(machine.dram_base + machine.dram_bank_bytes - trace, trace, machine.dram_alignment, false);
}

uint32_t Allocator::banks(BufferType buffer_type) const {
    return buffer_type == BufferType::DRAM || buffer_type == BufferType::TRACE ? machine_.dram_banks : machine_.l1_banks();
}

uint64_t Allocator::bytes_per_bank(const tt::tt_metal::TensorSpec& spec) const {
    if (spec.padded_shape().volume() == 0) return 0;
    const MemoryConfig& config = spec.memory_config();
    const bool in_l1 = config.is_l1();
    const uint64_t page = round_up(spec.compute_page_size_bytes(), in_l1 ? machine_.l1_alignment : machine_.dram_alignment);
    if (const auto& shard = config.shard_spec()) {
        uint64_t pages = shard->shape[0];  // row major: a page is one row of the shard
        if (spec.layout() == Layout::TILE) {
            const auto tile = spec.tile();
            pages = ceil_div(shard->shape[0], tile.get_height()) * ceil_div(shard->shape[1], tile.get_width());
        }
        return pages * page;
    }
    if (const auto& shard = config.nd_shard_spec()) {
        const Shape shard_shape = shard->shard_shape;
        const Shape padded =
            spec.padded_shape().rank() < shard_shape.rank() ? spec.padded_shape().to_rank(shard_shape.rank()) : spec.padded_shape();
        uint64_t shards = 1;
        for (size_t dim = 0; dim < padded.rank(); ++dim) {
            const size_t lead = padded.rank() - shard_shape.rank();
            const uint32_t extent = dim < lead ? 1 : shard_shape.view()[dim - lead];
            shards *= ceil_div(padded.view()[dim], std::max<uint32_t>(extent, 1));
        }
        const uint64_t elements_per_page = spec.layout() == Layout::TILE ? spec.tile().get_tile_hw() : shard_shape[-1];
        const uint64_t per_bank = ceil_div(shards, std::max<uint32_t>(shard->grid.num_cores(), 1));
        return per_bank * ceil_div(shard_shape.volume(), elements_per_page) * page;
    }
    return ceil_div(spec.num_pages(), banks(config.buffer_type())) * page;
}

uint64_t Allocator::allocate(const tt::tt_metal::TensorSpec& spec, BufferType buffer_type, uint64_t bytes_per_bank) {
    if (bytes_per_bank == 0) return 0;  // a tensor without values has no memory
    const auto& shard = spec.memory_config().shard_spec();
    if (shard && spec.memory_config().is_l1()) {
        SHIM_CHECK(
            shard->grid.num_cores() <= machine_.l1_banks() &&
                CoreRange({0, 0}, {machine_.grid.x - 1, machine_.grid.y - 1}).contains(shard->grid.bounding_box()),
            "shard grid {} does not fit the {}x{} worker grid of {}", shard->grid, machine_.grid.x, machine_.grid.y, machine_.card);
    }
    const std::lock_guard lock(mutex_);
    Arena& memory = arena(buffer_type);
    uint64_t address = 0;
    if (!memory.allocate(bytes_per_bank, address)) {
        fail(
            ErrorCode::OutOfMemory,
            text(
                "Out of Memory: Not enough space to allocate {} B {} buffer across {} banks, where each bank needs to "
                "store {} B, but bank size is {} B (allocated: {} B, free: {} B, largest free block: {} B) for tensor {}",
                bytes_per_bank * (shard ? shard->grid.num_cores() : banks(buffer_type)), buffer_type,
                shard ? shard->grid.num_cores() : banks(buffer_type), bytes_per_bank, memory.capacity(), memory.allocated(),
                memory.capacity() - memory.allocated(), memory.largest_free(), spec),
            buffer_type == BufferType::L1         ? "move the tensor to DRAM (ttnn.DRAM_MEMORY_CONFIG) or deallocate others first"
            : buffer_type == BufferType::L1_SMALL ? "open the device with a larger l1_small_size"
                                                  : "deallocate tensors that are no longer needed");
    }
    live_.insert_or_assign({buffer_type, address}, std::pair(spec, bytes_per_bank));
    return address;
}

std::vector<LiveBuffer> Allocator::live() const {
    const std::lock_guard lock(mutex_);
    std::vector<LiveBuffer> result;
    for (const auto& [place, buffer] : live_) result.push_back({buffer.first, place.second, buffer.second});
    return result;
}

void Allocator::free(BufferType buffer_type, uint64_t address) {
    if (address == 0) return;
    const std::lock_guard lock(mutex_);
    live_.erase({buffer_type, address});
    arena(buffer_type).free(address);
}

uint64_t Allocator::allocated(BufferType buffer_type) const {
    const std::lock_guard lock(mutex_);
    return arena(buffer_type).allocated();
}

uint64_t Allocator::circular_buffer_space() const {
    const std::lock_guard lock(mutex_);
    return std::min(l1_.lowest_allocated(), machine_.l1_base + l1_.capacity()) - machine_.l1_base;
}

void Allocator::check_circular_buffers(uint64_t bytes) const {
    // The library compares with tensors alone: where there are none, buffers may reach into the memory of L1_SMALL.
    const uint64_t space = l1_.allocated() == 0 ? machine_.l1_end - machine_.l1_base : circular_buffer_space();
    if (bytes <= space) return;
    const uint64_t end = machine_.l1_base + bytes;
    const std::string hint = "use smaller blocks or fewer L1 tensors, or keep the inputs in DRAM";
    if (bytes > machine_.l1_end - machine_.l1_base) {
        fail(
            ErrorCode::OutOfMemory,
            text("Statically allocated circular buffers grow to {} B which is beyond max L1 size of {} B", end, machine_.l1_end), hint);
    }
    fail(
        ErrorCode::OutOfMemory,
        text(
            "Statically allocated circular buffers clash with L1 buffers: L1 buffer allocated at {} and static circular "
            "buffer region ends at {}",
            l1_.lowest_allocated(), end),
        hint);
}

MemoryView Allocator::view(BufferType buffer_type) const {
    const std::lock_guard lock(mutex_);
    const Arena& memory = arena(buffer_type);
    MemoryView view;
    view.num_banks = banks(buffer_type);
    view.total_bytes_per_bank = memory.capacity();
    view.total_bytes_allocated_per_bank = memory.allocated();
    view.total_bytes_free_per_bank = memory.capacity() - memory.allocated();
    view.largest_contiguous_bytes_free_per_bank = memory.largest_free();
    view.peak_bytes_per_bank = memory.peak();
    view.blocks = memory.blocks();
    return view;
}

Arena& Allocator::arena(BufferType buffer_type) { return const_cast<Arena&>(static_cast<const Allocator&>(*this).arena(buffer_type)); }

const Arena& Allocator::arena(BufferType buffer_type) const {
    switch (buffer_type) {
        case BufferType::DRAM: return dram_;
        case BufferType::L1: return l1_;
        case BufferType::L1_SMALL: return l1_small_;
        case BufferType::TRACE: return trace_;
        default: fail(ErrorCode::InvalidArgument, text("no device memory of type {}", buffer_type));
    }
}

}  // namespace ttnn_shim
