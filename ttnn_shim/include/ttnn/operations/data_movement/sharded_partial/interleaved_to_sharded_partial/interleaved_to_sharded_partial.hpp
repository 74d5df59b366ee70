// A slice of the rows of an interleaved tensor, sharded.
#pragma once

#include <array>
#include <optional>
#include <variant>

#include "ttnn/types.hpp"

namespace ttnn {

/// Slice `slice_index` of `num_slices`.
Tensor interleaved_to_sharded_partial(
    const Tensor& input_tensor, const std::variant<CoreCoord, CoreRangeSet>& grid, const std::array<uint32_t, 2>& shard_shape,
    int64_t& num_slices, int64_t& slice_index, TensorMemoryLayout shard_scheme, ShardOrientation shard_orientation,
    const std::optional<DataType>& data_type_arg = std::nullopt);

}  // namespace ttnn
