// Shared by the data movement ops.
#pragma once

#include "ops/data_movement/strided_copy.hpp"
#include "ops/launch.hpp"
#include "ops/registry.hpp"

namespace ttnn_shim {

inline Shape shape_of(const std::vector<uint32_t>& extents) { return Shape(std::span<const uint32_t>(extents)); }
inline std::vector<uint32_t> extents_of(const Shape& shape) { return {shape.begin(), shape.end()}; }
inline std::vector<int64_t> signed_strides(const Shape& shape) {
    const auto strides = strides_of(shape);
    return {strides.begin(), strides.end()};
}

/// Memory config of a result whose shape may differ: the requested one, else the input's; a sharded input's spec fits its own shape only.
inline MemoryConfig result_memory(const Tensor& input, const std::optional<MemoryConfig>& requested, const Shape& shape) {
    if (requested) {
        if (requested->is_sharded() && !requested->shard_spec() && !requested->nd_shard_spec() &&
            input.memory_config().memory_layout() == requested->memory_layout()) {
            return MemoryConfig(requested->memory_layout(), requested->buffer_type(), input.memory_config().shard_spec());
        }
        return *requested;
    }
    const MemoryConfig& own = input.memory_config();
    return own.is_sharded() && !(shape == input.logical_shape()) ? MemoryConfig(own.buffer_type()) : own;
}

/// Result of slice, permute and reshape without a requested memory config: the input's cores keep the result, each side of the shard
/// scaled as the tensor's side (rounded up; whole tiles in TILE layout).
inline MemoryConfig scaled_memory(const Tensor& input, const std::optional<MemoryConfig>& requested, const Shape& shape) {
    const MemoryConfig& own = input.memory_config();
    if (requested || !own.is_sharded() || !own.shard_spec() || shape.rank() == 0 || shape.volume() == 0 || input.logical_volume() == 0)
        return result_memory(input, requested, shape);
    const auto& old = *own.shard_spec();
    const bool tiled = input.layout() == Layout::TILE;
    const Shape from = tiled ? input.padded_shape() : input.logical_shape();
    const Shape to = tiled ? make_spec(shape, input.dtype(), Layout::TILE).padded_shape() : shape;
    const auto side = [&](uint64_t shard, uint64_t now, uint64_t before) {
        const uint64_t scaled = std::max<uint64_t>(1, (shard * now + before - 1) / before);
        return static_cast<uint32_t>(tiled ? (scaled + 31) / 32 * 32 : scaled);
    };
    const uint32_t rows = side(old.shape[0], to.volume() / to[-1], from.volume() / from[-1]);
    return MemoryConfig(
        own.memory_layout(), own.buffer_type(),
        tt::tt_metal::ShardSpec(old.grid, {rows, side(old.shape[1], to[-1], from[-1])}, old.orientation));
}

/// One program that only moves values: `dims` describe the copy into a dense output of `shape`, from `source_offset`.
inline Tensor moved(
    const Program& program, const Tensor& input, const Shape& shape, const MemoryConfig& memory_config, const std::vector<StridedDim>& dims,
    int64_t source_offset = 0, const std::optional<Tensor>& output = std::nullopt) {
    const size_t bytes = stored_bytes(input.dtype());
    return launch(
        program, {input}, {make_spec(shape, input.dtype(), input.layout(), output ? output->memory_config() : memory_config)},
        [=](std::span<const Tensor> outputs) {
            std::byte* target = mutable_raw_data(outputs[0]);
            strided_copy(bytes, raw_data(input) + source_offset * static_cast<int64_t>(bytes), target, dims);
        },
        {output})[0];
}

inline Tensor moved(
    const Program& program, const Tensor& input, const Shape& shape, const std::optional<MemoryConfig>& memory_config,
    const std::vector<StridedDim>& dims, int64_t source_offset = 0, const std::optional<Tensor>& output = std::nullopt) {
    return moved(program, input, shape, result_memory(input, memory_config, shape), dims, source_offset, output);
}

/// Shape whose -1 is inferred from the volume.
Shape resolve_shape(std::span<const int32_t> extents, uint64_t volume);

}  // namespace ttnn_shim
