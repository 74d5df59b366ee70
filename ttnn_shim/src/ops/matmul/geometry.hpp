// Extents of a product of two tensors.
#pragma once

#include <vector>

#include "ops/data_movement/common.hpp"

namespace ttnn_shim {

/// batch_a and batch_b: extents in front of the matrices, aligned; batch and shape: those of the result. m, k, n in values.
struct Geometry {
    std::vector<int64_t> batch, batch_a, batch_b;
    int64_t m = 0, k = 0, n = 0;
    Shape shape;
};

/// Throws unless the operands multiply.
Geometry geometry_of(const Shape& a, const Shape& b, bool transpose_a, bool transpose_b);

int64_t product(const std::vector<int64_t>& extents);

}  // namespace ttnn_shim
