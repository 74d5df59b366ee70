// ttnn::grid_sample of [N, H, W, C].
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ttnn/operations/core/compute_kernel/compute_kernel_config.hpp"
#include "ttnn/types.hpp"

namespace ttnn {
namespace operations::grid_sample {

/// `grid` [N, H, W, 2 K]: places x, y from -1 to 1 across the image; K places per position side by side, or in channels.
Tensor grid_sample(
    const Tensor& input_tensor, const Tensor& grid, const std::string& mode = "bilinear", const std::string& padding_mode = "zeros",
    bool align_corners = false, bool use_precomputed_grid = false, bool batch_output_channels = false,
    const std::optional<MemoryConfig>& memory_config = std::nullopt,
    const std::optional<ComputeKernelConfig>& compute_kernel_config = std::nullopt);

/// A grid on the host with the weights and places that grid_sample needs, for images of `input_shape`.
Tensor prepare_grid_sample_grid(
    const Tensor& grid, const std::vector<uint32_t>& input_shape, const std::string& mode = "bilinear",
    const std::string& padding_mode = "zeros", bool align_corners = false, const std::optional<DataType>& output_dtype = std::nullopt);

}  // namespace operations::grid_sample
using operations::grid_sample::grid_sample;
using operations::grid_sample::prepare_grid_sample_grid;
}  // namespace ttnn
