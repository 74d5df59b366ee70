// Eltwise kernels on integers: values of every integer dtype computed as int64, wrapped to the dtype's width when stored.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ops/kernels/block_kernels.hpp"

namespace ttnn_shim {

using IntUnaryBlock = void (*)(const int64_t* source, int64_t* target, size_t count, const int64_t* params);
using IntBinaryBlock = void (*)(const int64_t* left, const int64_t* right, int64_t* target, size_t count);

/// Null when the op is not defined on integers.
IntUnaryBlock int_unary_block(kernels::UnaryOpType type);
IntBinaryBlock int_binary_block(kernels::BinaryOpType type);

}  // namespace ttnn_shim
