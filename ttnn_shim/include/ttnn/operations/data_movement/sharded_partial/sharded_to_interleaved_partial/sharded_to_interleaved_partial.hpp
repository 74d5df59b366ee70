// A sharded slice back into the interleaved tensor it is of.
#pragma once

#include <optional>

#include "ttnn/types.hpp"

namespace ttnn {

/// Writes slice `slice_index` of `num_slices` of `cache_tensor`, which is also the result.
Tensor sharded_to_interleaved_partial(
    const Tensor& input_tensor, const Tensor& cache_tensor, int64_t num_slices, int64_t slice_index,
    const std::optional<MemoryConfig>& memory_config = std::nullopt, const std::optional<DataType>& output_dtype = std::nullopt);

}  // namespace ttnn
