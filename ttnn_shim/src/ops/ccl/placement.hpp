// Partial sums: tensors of which each chip of an axis has a summand. TT-NN takes them for parts or whole tensors as they come; here calls
// that do so are named. What is partial follows from what differs by chip: a product whose two operands differ along an axis of the mesh
// sums over a dimension that is cut along it.
#pragma once

#include <string>
#include <vector>

#include "ops/launch.hpp"

namespace ttnn_shim {

/// Looks at a program that ran on a mesh of several chips: marks results that are partial sums, warns where such are used as whole. What is
/// computed from a tensor that a warning was given for is not warned of again.
void watch_placements(const Program& program, const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs);
/// A sum over the chips of an axis (0, 1): `output` is partial no longer; warns where all chips have computed the same (not
/// where the host wrote it: a program that adds such a tensor means it), and where the partial sums are those of the other axis.
void watch_sum(const Tensor& input, const Tensor& output, uint32_t axis);
/// Parts that are joined, with this many along each axis: warns of partial sums, and of parts that are left out.
void watch_join(const Tensor& host, const std::vector<uint32_t>& extents);
/// The warnings of this thread since the last call, one a line.
std::string take_warnings();

}  // namespace ttnn_shim
