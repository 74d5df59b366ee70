// Settings of ttnn::experimental::conv3d.
#pragma once

#include <array>
#include <cstdint>

#include "ttnn/types.hpp"

namespace ttnn::experimental::prim {

/// Blocks of the output and of the input channels; 0 channels: all of them. They change the order of weights and the time, not the values.
struct Conv3dConfig {
    Conv3dConfig(
        DataType weights_dtype = DataType::BFLOAT16, Layout output_layout = Layout::ROW_MAJOR, uint32_t T_out_block = 1,
        uint32_t W_out_block = 1, uint32_t H_out_block = 1, uint32_t C_out_block = 0, uint32_t C_in_block = 0,
        std::array<uint32_t, 3> dilation = {1, 1, 1}, uint32_t alignment = 32, CoreCoord compute_with_storage_grid_size = {1, 1})
        : weights_dtype(weights_dtype),
          output_layout(output_layout),
          T_out_block(T_out_block),
          W_out_block(W_out_block),
          H_out_block(H_out_block),
          C_out_block(C_out_block),
          C_in_block(C_in_block),
          dilation(dilation),
          alignment(alignment),
          compute_with_storage_grid_size(compute_with_storage_grid_size) {}

    DataType weights_dtype;
    Layout output_layout;
    uint32_t T_out_block;
    uint32_t W_out_block;
    uint32_t H_out_block;
    uint32_t C_out_block;
    uint32_t C_in_block;
    std::array<uint32_t, 3> dilation;
    uint32_t alignment;
    CoreCoord compute_with_storage_grid_size;
};

}  // namespace ttnn::experimental::prim
