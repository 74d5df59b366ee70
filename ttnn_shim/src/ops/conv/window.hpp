// Geometry and placement shared by convolutions and pools: output extents, the cores that share the work, sharded specs.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <variant>

#include "ops/launch.hpp"
#include "ops/argument_types.hpp"
#include "ttnn/operations/sliding_window/op_slicing/op_slicing.hpp"

namespace ttnn_shim {

using Pads = std::variant<std::array<uint32_t, 2>, std::array<uint32_t, 4>>;

/// A 2-D window over [batch, h, w, channels]. Paddings in elements.
struct Window {
    uint32_t batch = 1, in_h = 1, in_w = 1, channels = 1;
    uint32_t kernel_h = 1, kernel_w = 1, stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1;
    uint32_t top = 0, bottom = 0, left = 0, right = 0;
    bool ceil_mode = false;
    uint32_t spread_h = 1, spread_w = 1;  ///< only every so many pixels are of the input, those between are zeros (transposed convolutions)

    uint32_t out_h() const { return out(in_h, top + bottom, kernel_h, stride_h, dilation_h, top); }
    uint32_t out_w() const { return out(in_w, left + right, kernel_w, stride_w, dilation_w, left); }
    uint64_t in_pixels() const { return uint64_t{batch} * in_h * in_w; }
    uint64_t out_pixels() const { return uint64_t{batch} * out_h() * out_w(); }
    /// Throws Error(InvalidArgument) for zero extents, strides of zero, or a window larger than the padded input.
    void check() const;

private:
    uint32_t out(uint32_t extent, uint32_t padding, uint32_t kernel, uint32_t stride, uint32_t dilation, uint32_t before) const;
};

/// Padding [h, w] means the same on both sides; [top, bottom, left, right] otherwise.
Window window_of(
    uint32_t batch, uint32_t h, uint32_t w, uint32_t channels, std::array<uint32_t, 2> kernel, std::array<uint32_t, 2> stride,
    const Pads& padding, std::array<uint32_t, 2> dilation, bool ceil_mode = false);
/// The call's argument `padding`: 2 or 4 integers.
Pads pads_of(const std::vector<uint32_t>& padding);
/// A sharded layout by its name; none for an empty one.
std::optional<TensorMemoryLayout> shard_scheme(std::string_view argument, std::string_view name);
/// The same of a layout.
std::optional<TensorMemoryLayout> shard_scheme(std::string_view argument, const std::optional<TensorMemoryLayout>& layout);

/// Largest divisor of `number` that is at most `limit` (TT-NN's rule for cores along a dimension).
uint32_t largest_divisor_up_to(uint32_t number, uint32_t limit);

/// How the pixels (and channels) of a windowed op are dealt to cores.
struct Placement {
    TensorMemoryLayout scheme = TensorMemoryLayout::HEIGHT_SHARDED;
    uint32_t cores_nhw = 1;
    uint32_t cores_c = 1;
    CoreCoord grid{8, 8};
    std::optional<CoreRangeSet> own = std::nullopt;  ///< the cores of an input that is sharded already

    uint32_t cores() const { return cores_nhw * cores_c; }
    /// L1 memory config for `rows` x `channels`, each rounded up to the given multiples.
    MemoryConfig memory_config(uint64_t rows, uint32_t channels, uint32_t row_multiple, uint32_t channel_multiple) const;
};

/// Parts that `units` are dealt to, from `limit` down: the first number that leaves less than one part empty (TT-NN's rule with padding).
uint32_t parts_with_padding(uint32_t units, uint32_t limit);

/// Cores for an op with `rows` output rows (pixels) and `in_channels` -> `out_channels`; `unit` is 32 for tiled outputs, 1 for sticks.
/// channel_unit: input channels that stay together in block sharding.
Placement place_window(
    CoreCoord grid, uint64_t rows, uint32_t in_channels, uint32_t out_channels, uint32_t unit, std::optional<TensorMemoryLayout> scheme,
    uint32_t channel_unit = 32);

/// The placement of an input that is sharded already.
Placement placement_of(const MemoryConfig& sharded, CoreCoord grid);

using SliceConfig = ttnn::operations::op_slicing::Op2DSliceConfig;
/// Slices that a config asks for, 0 for as few as fit. Refuses what TT-NN refuses: slices of an input that is not in DRAM.
uint32_t slices_asked(const std::optional<SliceConfig>& config, const Tensor& input);
/// Output rows (or columns) of each of `slices` slices, the larger ones first. Columns of a tiled result are cut at whole tiles.
std::vector<uint32_t> slice_extents(uint32_t extent, uint32_t slices, bool whole_tiles);

/// The part of `window` that output rows (or columns) [first, end) read.
Window part_of(const Window& window, bool rows, uint32_t first, uint32_t end);
/// The part of an image in DRAM as shards on the cores of one slice. Values are not arranged.
Tensor padded_slice(const Tensor& source, const Window& part, const Placement& placement);

/// Rows of the padded image (sticks) that the outputs of one core touch: the most of any core.
uint64_t halo_sticks(const Window& window, const Placement& placement, uint32_t unit);

/// An image on the cores of a windowed op; one that is sharded stays where it is.
Tensor image_shards(const Tensor& input, const Window& window, const Placement& placement);
/// The input of a windowed op, sharded in L1 with its neighbours' rows beside each shard: interleaved-to-sharded (unless
/// sharded already), halo and, with `move`, the defragmenting move, each as its own device program. Values are not arranged. `pool`: for a
/// pooling window, whose program holds more buffers.
Tensor gather_halo(
    const Tensor& input, const Window& window, const Placement& placement, uint32_t unit, bool move, bool config_in_dram,
    bool pool = false);

}  // namespace ttnn_shim
