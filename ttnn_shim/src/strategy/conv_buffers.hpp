// The circular buffers of a convolution's program.
#pragma once

#include "strategy/common.hpp"

namespace ttnn_shim::strategy {

/// Buffers of the program on one core, without those that stand on its tensors.
std::vector<CircularBuffer> conv_buffers(const Arch& arch, const OpConfig& c, const Conv2d& op);

}  // namespace ttnn_shim::strategy
