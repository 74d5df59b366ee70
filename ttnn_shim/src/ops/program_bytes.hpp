// What a program takes of L1, before it is launched.
#pragma once

#include "ops/launch.hpp"

namespace ttnn_shim {

/// Bytes of circular buffers per core of a program on tensors of these specs: what its launch checks against the free L1.
uint64_t circular_buffer_bytes(
    MeshDevice* device, const Program& program, const std::vector<TensorSpec>& inputs, const std::vector<TensorSpec>& outputs);

}  // namespace ttnn_shim
