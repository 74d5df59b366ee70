// Where a convolution in L1 wants its input and puts its result, when its input is sharded already or the config names a sharding.
#pragma once

#include "ops/conv/program.hpp"

namespace ttnn_shim {

/// Cores that share pixels (and channels), as shards of that scheme lie on them.
struct ShardCores {
    CoreRangeSet grid;
    TensorMemoryLayout scheme = TensorMemoryLayout::HEIGHT_SHARDED;
    ShardOrientation orientation = ShardOrientation::ROW_MAJOR;

    uint32_t pixels() const;    ///< cores along the pixels
    uint32_t channels() const;  ///< cores along the channels
    bool operator==(const ShardCores&) const = default;
};

/// input: where the activation has to be (its own memory if it may stay).
struct ShardPlan : ConvBlocks {
    ShardCores input_cores, output_cores;
    bool moves = false;  ///< the input is not there yet
    MemoryConfig input, output;
};

/// The rules of the real package for an activation in L1 (ttnn 0.81.1). as_matmul: a 1x1 window. `memory` is the activation's, and
/// held_channels what it holds per pixel: channels behind those of the convolution are padding, which meets weights of zero.
/// Throws Error(InvalidArgument) for a core grid that the config needs and does not have.
ShardPlan plan_shards(
    const Convolution& conv, const Conv2dConfig& config, const MemoryConfig& memory, Layout layout, uint32_t held_channels, CoreCoord grid,
    bool as_matmul, bool wide_sums);

/// Channels that the input holds per pixel: those of the window, or with `padded` more, which TT-NN takes on shards alone.
/// Throws Error(InvalidArgument) for another number of values.
uint32_t held_channels(const Tensor& input, const Window& w, bool padded);
/// The same values without device memory, so that the activation can be freed before they are used. channels: the first ones of each pixel.
Tensor without_place(const Tensor& input, std::optional<uint32_t> channels);
/// Gives back what a call may overwrite: an activation in L1 that the config frees.
void free_activation(const Tensor& activation, const Settings& settings);
/// Whether the slice config keeps the whole convolution in L1.
bool whole_in_l1(const Settings& settings);
/// A host activation in the shards that the convolution reads.
Tensor onto_shards(const Tensor& input, const Convolution& conv, const Settings& settings, MeshDevice* device);
/// The activation on the plan's shards.
Tensor on_plan(const Tensor& input, const ShardPlan& plan, const Settings& settings, bool as_matmul);
/// A 1x1 window on shards: a multicast matmul whose config follows from the shards.
Tensor multiply_shards(
    Tensor input, const Tensor& weight, const std::optional<Tensor>& bias, const ShardPlan& plan, DataType dtype,
    const ttnn::ComputeKernelConfig& compute, const Settings& settings);
/// A window on shards: halo, move, conv; all in L1. w: as the device runs it, over the spread input of a transposed convolution. The
/// gathered rows stay in `halo`, which the caller frees.
Tensor convolve_shards(
    Tensor input, Tensor& halo, const Tensor& weight, const std::optional<Tensor>& bias, const Convolution& conv, const Window& w,
    const ShardPlan& plan, const TensorSpec& output_spec, const ttnn::ComputeKernelConfig& compute, const Settings& settings,
    const Kernel& kernel);

}  // namespace ttnn_shim
