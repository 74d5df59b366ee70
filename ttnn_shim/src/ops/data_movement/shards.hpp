// Which shards the results of data movement have.
#pragma once

#include "ops/data_movement/common.hpp"

namespace ttnn_shim {

/// The shards with each side scaled as the tensor's side goes from `from` to `to`; nothing where that does not come out even.
std::optional<tt::tt_metal::ShardSpec> exactly_scaled(const tt::tt_metal::ShardSpec& shards, const Shape& from, const Shape& to);

/// `config` with shards of whole tiles for a tensor of `padded` shape, over all cores of the device.
MemoryConfig shards_over_grid(const Tensor& tensor, const Shape& padded, const MemoryConfig& config);

/// Result of repeat of a sharded tensor: the same scheme and orientation, spread anew over the cores that it needs.
MemoryConfig spread_memory(const Tensor& input, const std::optional<MemoryConfig>& requested, const Shape& shape);

/// Spec of a view of `tensor` as `shape`: shards of whole rows take the new row length. Refuses other shards whose rows change.
TensorSpec view_spec(const Tensor& tensor, const Shape& shape);

/// A tensor of no values, made without a program.
Tensor empty_tensor(MeshDevice* device, const TensorSpec& spec);

}  // namespace ttnn_shim
