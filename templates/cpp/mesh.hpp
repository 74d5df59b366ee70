// The mesh of the export, and tensors whose parts its chips have: the same file in every emitted program.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "files.hpp"
#include "ttnn/tensor/tensor.hpp"
#include "ttnn/types.hpp"

namespace utils {

// Rows and columns of chips.
std::vector<std::size_t> mesh_extents();
bool several_chips();
// The dimension of a tensor that each axis of the mesh cuts, none where all chips along it have the same.
std::vector<std::optional<int>> placement(const Json& entry);
// The parts of the chips joined on the host; along an axis that only repeats, the first speaks for all.
ttnn::Tensor whole(const ttnn::Tensor& tensor, const Json& entry);
// A whole host tensor as the parts of the chips.
ttnn::Tensor distributed(const ttnn::Tensor& tensor, const Json& entry, ttnn::MeshDevice& device);

}  // namespace utils
