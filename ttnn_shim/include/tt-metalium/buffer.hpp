// Where buffers live and how they are cut into shards.
#pragma once

#include "tt-metalium/buffer_types.hpp"  // IWYU pragma: export
#include "tt-metalium/core_coord.hpp"    // IWYU pragma: export
#include "ttnn/tensor/types.hpp"         // IWYU pragma: export
