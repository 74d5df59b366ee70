// The lines of chips along an axis of a mesh, and what collectives make of the chips' values.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "ops/launch.hpp"
#include "tensor/mesh.hpp"

namespace ttnn_shim {

/// Chips that take part together, by number.
using Line = std::vector<size_t>;

/// The axis of a call. `lines` cover the mesh; all have `chips` chips.
struct Axis {
    std::vector<Line> lines;
    uint32_t chips = 1;
    bool ring = false;
    uint32_t links = 1;

    strategy::Collective program(const char* op) const { return {.op = op, .chips = chips, .links = links, .ring = ring}; }
};

MeshDevice* mesh_of(const Tensor& input);
/// Throws Error(InvalidArgument) for a mesh that was opened without a fabric.
void check_fabric(const MeshDevice& mesh);
/// One axis; nothing: all chips as one line.
Axis axis_of(const MeshDevice& mesh, std::optional<uint32_t> axis);
/// Axes of more than one chip that a call is about: the named one, or all.
std::vector<uint32_t> axes_of(const MeshDevice& mesh, std::optional<uint32_t> axis);

using Blocks = std::vector<std::shared_ptr<Values>>;
/// Fills `output`: `exchange` gives, from the blocks of a line's chips, those that its chips get. Lines of the same blocks are computed
/// once.
void exchange(const Tensor& input, const Tensor& output, const Axis& axis, const std::function<Blocks(const Blocks&)>& exchange);

/// Dense blocks of `shape` joined along a dimension.
std::shared_ptr<Values> joined(const Blocks& blocks, const Shape& shape, size_t dim, size_t element_bytes);
/// Part `index` of `count` of a dense block of `shape` along a dimension.
std::shared_ptr<Values> part_of(const Values& block, const Shape& shape, size_t dim, size_t index, size_t count, size_t element_bytes);
/// The sum of blocks of a dtype: added in float32, chips in order, with one rounding; integers wrap.
std::shared_ptr<Values> sum_of(const Blocks& blocks, DataType dtype);
/// A shape whose dimension is `extent`.
Shape with_extent(const Shape& shape, size_t dim, uint32_t extent);

}  // namespace ttnn_shim
