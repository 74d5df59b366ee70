// The device memory allocator: one address for all banks of a buffer type ("lockstep"), first fit.
//
// DRAM grows from the bottom, L1 tensors come from the top, L1_SMALL is a region of its own at the top of L1, circular
// buffers of a running program start at the bottom of L1 and must not meet a tensor.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "tensor/machine.hpp"
#include "ttnn/tensor/tensor_spec.hpp"

namespace ttnn_shim {

struct MemoryBlock {
    uint64_t address = 0;
    uint64_t bytes = 0;  ///< per bank
    bool allocated = false;
};

/// Statistics of one memory, per bank.
struct MemoryView {
    uint32_t num_banks = 0;
    uint64_t total_bytes_per_bank = 0;
    uint64_t total_bytes_allocated_per_bank = 0;
    uint64_t total_bytes_free_per_bank = 0;
    uint64_t largest_contiguous_bytes_free_per_bank = 0;
    uint64_t peak_bytes_per_bank = 0;
    std::vector<MemoryBlock> blocks;
};

struct LiveBuffer {
    tt::tt_metal::TensorSpec spec;
    uint64_t address = 0;
    uint64_t bytes_per_bank = 0;
};

class Arena {
public:
    Arena() = default;
    Arena(uint64_t base, uint64_t bytes, uint32_t alignment, bool top_down);

    /// First fit from the growing end. Returns false when there is no hole of `bytes` (rounded to the alignment).
    bool allocate(uint64_t bytes, uint64_t& address);
    void free(uint64_t address);

    uint64_t capacity() const { return bytes_; }
    uint64_t allocated() const { return allocated_; }
    uint64_t peak() const { return peak_; }
    uint64_t largest_free() const;
    /// Lowest allocated address, or the end of the arena when nothing is allocated.
    uint64_t lowest_allocated() const;
    std::vector<MemoryBlock> blocks() const;

private:
    uint64_t base_ = 0;
    uint64_t bytes_ = 0;
    uint32_t alignment_ = 1;
    bool top_down_ = false;
    uint64_t allocated_ = 0;
    uint64_t peak_ = 0;
    std::map<uint64_t, uint64_t> used_;  // address -> bytes
};

class Allocator {
public:
    Allocator(const MachineMemory& machine, uint64_t l1_small_bytes, uint64_t trace_region_bytes);

    /// Bytes per bank that a tensor of `spec` takes: pages dealt round robin to the banks, or shards to their cores.
    uint64_t bytes_per_bank(const tt::tt_metal::TensorSpec& spec) const;
    /// Address of a new buffer. Throws Error(OutOfMemory) that names the running op, the sizes and the largest hole.
    uint64_t allocate(const tt::tt_metal::TensorSpec& spec, BufferType buffer_type, uint64_t bytes_per_bank);
    void free(BufferType buffer_type, uint64_t address);

    /// Throws Error(OutOfMemory) when circular buffers of `bytes` per core would reach an allocated L1 tensor.
    void check_circular_buffers(uint64_t bytes) const;
    uint64_t circular_buffer_space() const;  ///< bytes per core below the lowest L1 tensor

    MemoryView view(BufferType buffer_type) const;
    std::vector<LiveBuffer> live() const;              ///< every allocated buffer of a tensor, by memory and address
    uint64_t allocated(BufferType buffer_type) const;  ///< per bank
    uint32_t banks(BufferType buffer_type) const;

private:
    Arena& arena(BufferType buffer_type);
    const Arena& arena(BufferType buffer_type) const;

    using Place = std::pair<BufferType, uint64_t>;

    mutable std::mutex mutex_;  // tensors may be made and freed on any thread
    MachineMemory machine_;
    Arena dram_;
    Arena l1_;
    Arena l1_small_;
    Arena trace_;
    std::map<Place, std::pair<tt::tt_metal::TensorSpec, uint64_t>> live_;
};

}  // namespace ttnn_shim
