// Global semaphores: counters of several cores at one address. Programs of one chip wait for none; they take L1 as on a card.
#pragma once

#include <cstdint>
#include <memory>

#include "ttnn/types.hpp"

namespace tt::tt_metal {

class GlobalSemaphore {
public:
    GlobalSemaphore(ttnn::Tensor storage, const CoreRangeSet& cores) : storage_(std::move(storage)), cores_(cores) {}
    uint64_t address() const { return storage_.buffer_address(); }
    ttnn::MeshDevice* device() const { return storage_.device(); }
    const CoreRangeSet& cores() const { return cores_; }

private:
    ttnn::Tensor storage_;  ///< one word per core
    CoreRangeSet cores_;
};

}  // namespace tt::tt_metal

namespace ttnn {

using tt::tt_metal::GlobalSemaphore;

namespace global_semaphore {

GlobalSemaphore create_global_semaphore(
    MeshDevice* device, const CoreRangeSet& cores, uint32_t initial_value, BufferType buffer_type = BufferType::L1);
uint64_t get_global_semaphore_address(const GlobalSemaphore& semaphore);
void reset_global_semaphore_value(const GlobalSemaphore& semaphore, uint32_t reset_value);

}  // namespace global_semaphore
}  // namespace ttnn
