// The circular buffers of a convolution's program, and who gathers its rows.
#pragma once

#include "strategy/common.hpp"

namespace ttnn_shim::strategy {

/// Whether both data movement cores gather the rows of a convolution, half of them each (ttnn 0.81.1).
bool gathers_with_both(const Arch& arch, const OpConfig& c, const Conv2d& op);

/// Buffers of the program on one core, without those that stand on its tensors.
std::vector<CircularBuffer> conv_buffers(const Arch& arch, const OpConfig& c, const Conv2d& op);

}  // namespace ttnn_shim::strategy
