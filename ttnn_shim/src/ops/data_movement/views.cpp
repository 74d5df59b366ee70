// reshape, view, squeeze, unsqueeze: the values keep their row-major order.
#include "ops/data_movement/common.hpp"
#include "ttnn/operations/core/core.hpp"
#include "ttnn/operations/data_movement/reshape_view/reshape.hpp"
#include "ttnn/operations/data_movement/squeeze/squeeze.hpp"
#include "ttnn/operations/data_movement/unsqueeze/unsqueeze.hpp"
#include "ttnn/operations/data_movement/view/view.hpp"

using namespace ttnn_shim;

namespace ttnn_shim {

Shape resolve_shape(std::span<const int32_t> extents, uint64_t volume) {
    std::vector<uint32_t> shape;
    uint64_t known = 1;
    int64_t hole = -1;
    for (size_t i = 0; i < extents.size(); ++i) {
        SHIM_CHECK(extents[i] >= -1, "shape: extents must be positive or -1, got {}", extents[i]);
        if (extents[i] == -1) {
            SHIM_CHECK(hole < 0, "shape: only one extent may be -1");
            hole = static_cast<int64_t>(i);
        } else {
            known *= static_cast<uint64_t>(extents[i]);
            SHIM_CHECK(known <= (uint64_t{1} << 48), "shape: too large");
        }
        shape.push_back(static_cast<uint32_t>(extents[i]));
    }
    if (hole >= 0) {
        SHIM_CHECK(known != 0 && volume % known == 0, "shape: cannot infer -1: {} values do not divide by {}", volume, known);
        shape[static_cast<size_t>(hole)] = static_cast<uint32_t>(volume / known);
    }
    return shape_of(shape);
}

namespace {

uint32_t back(const Shape& shape, int32_t index) { return shape.rank() >= static_cast<size_t>(-index) ? shape[index] : 1; }

uint64_t volume_of(const Shape& shape) {
    uint64_t volume = 1;
    for (const uint32_t extent : shape.view()) {
        volume *= extent;
        SHIM_CHECK(volume <= (uint64_t{1} << 48), "shape: {} is too large", shape);
    }
    return volume;
}

/// TT-NN's rule for a reshape that changes no page.
bool pages_agree(const Tensor& tensor, const Shape& shape) {
    const Shape& own = tensor.logical_shape();
    if (back(own, -1) != back(shape, -1)) return false;
    if (tensor.layout() == Layout::ROW_MAJOR) return true;
    return back(own, -2) == back(shape, -2) || (back(own, -2) % 32 == 0 && back(shape, -2) % 32 == 0);
}

/// The shards of a reshape that moves data: scaled, in whole tiles where TT-NN's 2-D grid would be cut, on the cores they need.
MemoryConfig reshaped_memory(const Tensor& tensor, const std::optional<MemoryConfig>& requested, const Shape& shape) {
    const MemoryConfig config = scaled_memory(tensor, requested, shape);
    if (requested || !config.is_sharded() || !config.shard_spec() || shape.volume() == 0) return config;
    auto shard = *config.shard_spec();
    const Shape padded = make_spec(shape, tensor.dtype(), tensor.layout()).padded_shape();
    const uint64_t height = padded.volume() / padded[-1];
    if (config.memory_layout() == TensorMemoryLayout::HEIGHT_SHARDED && tensor.layout() == Layout::TILE && shard.shape[0] >= height)
        return MemoryConfig(TensorMemoryLayout::WIDTH_SHARDED, config.buffer_type(), shard);  // one shard holds all
    if (config.memory_layout() == TensorMemoryLayout::BLOCK_SHARDED) {
        shard.shape[1] = (shard.shape[1] + 31) / 32 * 32;
        const auto parts = [](uint64_t extent, uint64_t by) { return (extent + by - 1) / by; };
        const CoreCoord first = shard.grid.bounding_box().start_coord;
        const CoreCoord grid = shard.grid.bounding_box().grid_size();
        const CoreCoord needed{
            std::min<size_t>(grid.x, parts(padded[-1], shard.shape[1])), std::min<size_t>(grid.y, parts(height, shard.shape[0]))};
        shard.grid = CoreRangeSet(CoreRange(first, {first.x + needed.x - 1, first.y + needed.y - 1}));
        return MemoryConfig(config.memory_layout(), config.buffer_type(), shard);
    }
    return config;
}

Tensor reshaped(const Tensor& tensor, const Shape& shape, const std::optional<MemoryConfig>& memory_config) {
    OpScope scope("ttnn.reshape");
    SHIM_CHECK(
        volume_of(shape) == tensor.logical_volume(), "shape: {} holds {} values, the tensor {} holds {}", shape, volume_of(shape),
        tensor.logical_shape(), tensor.logical_volume());
    const bool same_memory = !memory_config || *memory_config == tensor.memory_config();
    if (tensor.logical_shape() == shape && same_memory) return tensor;
    if (!is_on_device(tensor)) return tensor.reshape(shape);
    if (same_memory && pages_agree(tensor, shape)) {
        return make_view(tensor, make_spec(shape, tensor.dtype(), tensor.layout(), tensor.memory_config()));
    }
    SHIM_CHECK(
        tensor.layout() != Layout::TILE || (tensor.dtype() != DataType::UINT16 && tensor.dtype() != DataType::UINT8),
        "input_tensor: a reshape that moves tiles takes BFLOAT16, FLOAT32, UINT32, INT32 or block floats, got {}", tensor.dtype());
    return launch(
        {.op = "reshape", .name = "ReshapeViewDeviceOperation"}, {tensor},
        {make_spec(shape, tensor.dtype(), tensor.layout(), reshaped_memory(tensor, memory_config, shape))},
        [&](std::span<const Tensor> outputs) { outputs[0].shim().buffer->set_values(tensor.shim().buffer->values()); })[0];
}

}  // namespace
}  // namespace ttnn_shim

namespace ttnn {

Tensor reshape(
    const Tensor& tensor, const Shape& shape, const std::optional<MemoryConfig>& memory_config, const std::optional<PadValue>&,
    TileReshapeMapMode, const std::optional<CoreRangeSet>& grids, bool) {
    const CoreLimit limit(grids);
    return reshaped(tensor, shape, memory_config);
}
Tensor reshape(
    const Tensor& tensor, const Shape& logical_shape, const Shape& padded_shape, const std::optional<MemoryConfig>& memory_config,
    const std::optional<PadValue>&, TileReshapeMapMode, const std::optional<CoreRangeSet>& grids, bool) {
    const CoreLimit limit(grids);
    OpScope scope("ttnn.reshape");
    const Tensor result = reshaped(tensor, logical_shape, memory_config);
    SHIM_CHECK(
        result.padded_shape() == padded_shape, "padded_shape: {} does not fit the layout; expected {}", padded_shape,
        result.padded_shape());
    return result;
}
Tensor reshape(
    const Tensor& tensor, ttsl::Span<const int32_t> shape_vector, const std::optional<MemoryConfig>& memory_config,
    const std::optional<PadValue>&, TileReshapeMapMode, const std::optional<CoreRangeSet>& grids, bool) {
    const CoreLimit limit(grids);
    OpScope scope("ttnn.reshape");
    return reshaped(tensor, resolve_shape(shape_vector, tensor.logical_volume()), memory_config);
}

Tensor view(const Tensor& tensor, const Shape& shape) {
    OpScope scope("ttnn.view");
    SHIM_CHECK(
        volume_of(shape) == tensor.logical_volume(), "shape: {} holds {} values, the tensor {} holds {}", shape, volume_of(shape),
        tensor.logical_shape(), tensor.logical_volume());
    if (!is_on_device(tensor)) return tensor.reshape(shape);
    SHIM_CHECK(
        tensor.logical_shape() == shape || pages_agree(tensor, shape),
        "shape: a view from {} to {} in {} layout would change pages; use reshape", tensor.logical_shape(), shape, tensor.layout());
    return make_view(tensor, make_spec(shape, tensor.dtype(), tensor.layout(), tensor.memory_config()));
}
Tensor view(const Tensor& tensor, ttsl::Span<const int32_t> shape_vector) {
    OpScope scope("ttnn.view");
    return view(tensor, resolve_shape(shape_vector, tensor.logical_volume()));
}

Tensor squeeze(const Tensor& input, const ttsl::SmallVector<int>& dims) {
    OpScope scope("ttnn.squeeze");
    const Shape& shape = input.logical_shape();
    std::vector<bool> drop(shape.rank(), false);
    for (const int dim : dims) drop[normalize_dim(dim, shape.rank())] = true;
    std::vector<uint32_t> extents;
    for (size_t i = 0; i < shape.rank(); ++i) {
        if (!drop[i] || shape[static_cast<int32_t>(i)] != 1) extents.push_back(shape[static_cast<int32_t>(i)]);
    }
    return reshape(input, shape_of(extents));
}
Tensor squeeze(const Tensor& input, int dim) { return squeeze(input, ttsl::SmallVector<int>{dim}); }
Tensor squeeze(const Tensor& input) {
    ttsl::SmallVector<int> all;
    for (size_t i = 0; i < input.logical_shape().rank(); ++i) all.push_back(static_cast<int>(i));
    return squeeze(input, all);
}

Tensor unsqueeze(const Tensor& input, int dim) {
    OpScope scope("ttnn.unsqueeze");
    auto extents = extents_of(input.logical_shape());
    const uint32_t at = normalize_dim(dim, extents.size() + 1);
    extents.insert(extents.begin() + at, 1);
    return reshape(input, shape_of(extents));
}
namespace operations::core {
Tensor unsqueeze_to_4D(const Tensor& input) {
    OpScope scope("ttnn.unsqueeze_to_4D");
    auto extents = extents_of(input.logical_shape());
    SHIM_CHECK(extents.size() <= 4, "expected rank 4 or less, got shape {}", input.logical_shape());
    extents.insert(extents.begin(), 4 - extents.size(), 1);
    return ttnn::reshape(input, shape_of(extents));
}
}  // namespace operations::core

}  // namespace ttnn

namespace {
Tensor call_reshape(const Call& c) {
    const Tensor input = c.tensor("input_tensor");
    const auto memory_config = c.memory_config("memory_config");
    if (c.has("logical_shape")) {
        const auto logical = c.shape("logical_shape"), padded = c.shape("padded_shape");
        SHIM_CHECK(logical && padded, "logical_shape and padded_shape: expected both");
        return ttnn::reshape(input, *logical, *padded, memory_config);
    }
    const auto extents = c.i32s("shape");
    return ttnn::reshape(input, std::span<const int32_t>(extents), memory_config);
}
}  // namespace

SHIM_OP("ttnn.reshape", call_reshape);
SHIM_OP("ttnn.view", [](const Call& c) {
    const auto extents = c.i32s("shape");
    return ttnn::view(c.tensor("input_tensor"), std::span<const int32_t>(extents));
});
SHIM_OP("ttnn.experimental.view", [](const Call& c) {
    const OpScope scope("ttnn.experimental.view");
    const auto extents = c.has("shape") ? c.i32s("shape") : std::vector<int32_t>{c.i32("N"), c.i32("C"), c.i32("H"), c.i32("W")};
    const Tensor& tensor = c.tensor("input_tensor");
    const Shape shape = resolve_shape(std::span<const int32_t>(extents), tensor.logical_volume());
    if (!is_on_device(tensor)) return ttnn::view(tensor, std::span<const int32_t>(extents));
    // Pages are not compared, only that they fit into the buffer: the caller answers for what they hold.
    const auto& shard = tensor.memory_config().shard_spec();
    const bool widens = shape.rank() == 0 || tensor.logical_shape().rank() == 0 || shape[-1] != tensor.logical_shape()[-1];
    SHIM_CHECK(
        !shard || !widens || shard->shape[1] == tensor.padded_shape()[-1], "shape: shards do not hold whole rows, got {} in {}", shape,
        tensor.memory_config());
    const TensorSpec spec = make_spec(shape, tensor.dtype(), tensor.layout(), tensor.memory_config());
    SHIM_CHECK(
        spec.compute_packed_buffer_size_bytes() <= tensor.tensor_spec().compute_packed_buffer_size_bytes(),
        "shape: {} needs more pages than {} has", shape, tensor.logical_shape());
    return make_view(tensor, spec);
});
SHIM_OP("ttnn.reshape_on_device", [](const Call& c) {
    const DataType dtype = c.tensor("input_tensor").dtype();
    const std::vector<int32_t> extents{c.i32("W"), c.i32("Z"), c.i32("Y"), c.i32("X")};
    const Shape shape = resolve_shape(extents, c.tensor("input_tensor").logical_volume());
    SHIM_CHECK(
        dtype == DataType::BFLOAT16 || dtype == DataType::FLOAT32 || pages_agree(c.tensor("input_tensor"), shape),
        "input_tensor: expected BFLOAT16 or FLOAT32 where pages change, got {}", dtype);
    return ttnn::reshape(c.tensor("input_tensor"), std::span<const int32_t>(extents), c.memory_config("memory_config"));
});
SHIM_OP("ttnn.squeeze", [](const Call& c) {
    const Tensor input = c.tensor("input_tensor");
    if (!c.has("dim")) return ttnn::squeeze(input);
    const auto dims = c.i32s("dim");
    return ttnn::squeeze(input, ttsl::SmallVector<int>(dims.begin(), dims.end()));
});
SHIM_OP("ttnn.unsqueeze", [](const Call& c) { return ttnn::unsqueeze(c.tensor("input_tensor"), c.i32("dim")); });
SHIM_OP("ttnn.unsqueeze_to_4D", [](const Call& c) { return ttnn::unsqueeze_to_4D(c.tensor("tensor")); });
