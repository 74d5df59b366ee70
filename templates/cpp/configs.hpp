// Configs of which a program has several: functions of the fields in which they differ.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "ttnn/operations/conv/conv2d/conv2d.hpp"
#include "ttnn/operations/matmul/matmul.hpp"
#include "ttnn/types.hpp"

namespace utils {

using Tiles = std::array<std::size_t, 2>;  // height, width

inline ttnn::CoreRangeSet cores_of(const ttnn::CoreRangeSet& cores) { return cores; }
inline ttnn::CoreRangeSet cores_of(const ttnn::CoreGrid& grid) {
    return ttnn::CoreRangeSet(ttnn::CoreRange(ttnn::CoreCoord(0, 0), ttnn::CoreCoord(grid.x - 1, grid.y - 1)));
}

// Shards of `shape` in L1, one on each of the cores, row by row.
template <typename Cores>
ttnn::MemoryConfig l1_shards(
    ttnn::TensorMemoryLayout layout, const std::array<uint32_t, 2>& shape, const Cores& cores) {
    const ttnn::ShardSpec shards(cores_of(cores), shape, ttnn::ShardOrientation::ROW_MAJOR);
    return ttnn::MemoryConfig(layout, ttnn::BufferType::L1, shards);
}
template <typename Cores>
ttnn::MemoryConfig block_shards(const std::array<uint32_t, 2>& shape, const Cores& cores) {
    return l1_shards(ttnn::TensorMemoryLayout::BLOCK_SHARDED, shape, cores);
}
template <typename Cores>
ttnn::MemoryConfig height_shards(const std::array<uint32_t, 2>& shape, const Cores& cores) {
    return l1_shards(ttnn::TensorMemoryLayout::HEIGHT_SHARDED, shape, cores);
}
template <typename Cores>
ttnn::MemoryConfig width_shards(const std::array<uint32_t, 2>& shape, const Cores& cores) {
    return l1_shards(ttnn::TensorMemoryLayout::WIDTH_SHARDED, shape, cores);
}

// A product whose result is cut by rows (mcast_in0 = false) or by columns.
inline ttnn::operations::matmul::MatmulMultiCoreReuseMultiCast1DProgramConfig matmul_1d(
    ttnn::CoreCoord grid,
    std::size_t in0_block_w,
    Tiles out_subblock,
    Tiles per_core,
    bool mcast_in0,
    std::optional<ttnn::operations::unary::UnaryWithParam> fused_activation = std::nullopt) {
    return {
        .compute_with_storage_grid_size = grid,
        .in0_block_w = in0_block_w,
        .out_subblock_h = out_subblock[0],
        .out_subblock_w = out_subblock[1],
        .out_block_h = per_core[0],
        .out_block_w = per_core[1],
        .per_core_M = per_core[0],
        .per_core_N = per_core[1],
        .fuse_batch = true,
        .fused_activation = fused_activation,
        .mcast_in0 = mcast_in0,
    };
}

// A product whose result is cut by rows and by columns.
inline ttnn::operations::matmul::MatmulMultiCoreReuseMultiCastProgramConfig matmul_2d(
    ttnn::CoreCoord grid,
    std::size_t in0_block_w,
    Tiles out_subblock,
    Tiles per_core,
    std::optional<ttnn::operations::unary::UnaryWithParam> fused_activation = std::nullopt) {
    return {
        .compute_with_storage_grid_size = grid,
        .in0_block_w = in0_block_w,
        .out_subblock_h = out_subblock[0],
        .out_subblock_w = out_subblock[1],
        .out_block_h = per_core[0],
        .out_block_w = per_core[1],
        .per_core_M = per_core[0],
        .per_core_N = per_core[1],
        .transpose_mcast = false,
        .fused_activation = fused_activation,
    };
}

// A convolution of shards: it frees its input, and rows of neighbouring shards stay where the convolution copies them.
inline ttnn::Conv2dConfig sharded_conv(
    ttnn::DataType weights_dtype,
    std::optional<ttnn::operations::unary::UnaryWithParam> activation = std::nullopt,
    bool weights_double_buffer = false,
    bool act_double_buffer = false,
    bool full_inner_dim = false,
    uint32_t act_block_h_override = 0) {
    return {
        .weights_dtype = weights_dtype,
        .activation = activation,
        .deallocate_activation = true,
        .reallocate_halo_output = false,
        .act_block_h_override = act_block_h_override,
        .enable_act_double_buffer = act_double_buffer,
        .enable_weights_double_buffer = weights_double_buffer,
        .full_inner_dim = full_inner_dim,
    };
}

}  // namespace utils
