// What TT-NN's matmul takes with a caller's program config, and where its result lies then.
#pragma once

#include <optional>

#include "ops/launch.hpp"

namespace ttnn_shim {

/// A product with a program config, in `op`; `output` is where the result is wanted.
struct ConfiguredMatmul {
    const Tensor& a;
    const Tensor& b;
    const std::optional<Tensor>& bias;
    const strategy::Matmul& op;
    MemoryConfig output;
    ttnn::ComputeKernelConfig compute;
};

/// The memory of the result: a sharded one has the program's shards (per_core_M x per_core_N tiles on the config's grid), whatever shard
/// spec the call gives. Throws where the config has no sharded result.
MemoryConfig configured_output(const ConfiguredMatmul& call);

/// Throws what the real package refuses: blocks that do not match the shards or the grid, subblocks that do not divide their block, do not
/// fit the destination registers, or do not suit a sharded result.
void check_config(const ConfiguredMatmul& call);

}  // namespace ttnn_shim
