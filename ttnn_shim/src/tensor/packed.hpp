// What is kept beyond the life of a tensor or a call: packed weights (gemm.cpp) and freed blocks of values (storage.cpp).
#pragma once

#include <cstddef>

namespace ttnn_shim {

class Values;

/// Bytes of packed weights that are kept.
size_t packed_weight_bytes();
/// The most that is kept; 0: a quarter of the machine's memory, as at the start.
void limit_packed_weights(size_t bytes);
/// Called at the end of all values.
void forget_packed_weights(const Values* values);

/// While a device is open, freed blocks are kept for the next tensors; the last one that closes gives them back.
void device_opened();
void device_closed();

}  // namespace ttnn_shim
