#pragma once

// The simulator's errors, clock and call stack. A Tenstorrent installation has none of them.
#if __has_include(<ttnn_shim/profile.hpp>)
#include <ttnn_shim/error.hpp>
#include <ttnn_shim/profile.hpp>
#include <ttnn_shim/stack.hpp>
#define ON_SIMULATOR 1
#else
#define ON_SIMULATOR 0
#endif
