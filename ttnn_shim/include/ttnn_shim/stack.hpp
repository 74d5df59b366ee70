// Where errors arise, for C++ programs that name their line.
#pragma once

#include <vector>

namespace ttnn_shim {

/// Whether errors record the calls that led to them; off at first.
void keep_stacks(bool keep);

/// Return addresses of the calls that led to this thread's latest error, innermost first; empty unless they are kept.
const std::vector<void*>& latest_stack();

}  // namespace ttnn_shim
