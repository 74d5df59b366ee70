// Weights of conv3d in the order in which its kernel reads them.
#pragma once

#include <cstdint>

#include "ttnn/types.hpp"

namespace ttnn::operations::experimental::conv3d {

/// Host weights [out, in, D, H, W] -> [D * H * W * in, out], channels padded to `alignment`; on the device when one is given.
Tensor prepare_conv3d_weights(
    const Tensor& weight_tensor, uint32_t groups = 1, uint32_t C_in_block = 0, uint32_t alignment = 32, MeshDevice* device = nullptr);

}  // namespace ttnn::operations::experimental::conv3d
