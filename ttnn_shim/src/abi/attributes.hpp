// Attribute blobs (format: include/ttnn_shim/abi.h) <-> Record.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ops/registry.hpp"

namespace ttnn_shim {

/// Throws Error(InvalidArgument) when the blob is malformed.
Record decode_attributes(std::span<const uint8_t> blob);
/// A blob with one record "memory_config".
std::string encode_memory_config(const MemoryConfig& config);
/// Ranges of cores as x0, y0, x1, y1 each.
std::vector<int64_t> corners(const CoreRangeSet& grid);

}  // namespace ttnn_shim
