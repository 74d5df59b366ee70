// The planners: for every operation that has one, a `plan` in its family's file.
#pragma once
#include "strategy/common.hpp"

namespace ttnn_shim::strategy {

#define PLANNER(Op) DeviceProgram plan(const Arch& arch, const OpConfig& config, const Op& op);

// eltwise.cpp
PLANNER(Unary)
PLANNER(Binary)
PLANNER(Ternary)
PLANNER(Typecast)
PLANNER(Copy)
PLANNER(Clone)
PLANNER(Fill)
PLANNER(BatchNorm)
// norm.cpp
PLANNER(Softmax)
PLANNER(LayerNorm)
PLANNER(GroupNorm)
PLANNER(Reduce)
PLANNER(Accumulation)
PLANNER(IntImg)
PLANNER(FillPad)
// select.cpp
PLANNER(ArgMax)
PLANNER(TopK)
PLANNER(Sort)
// move.cpp
PLANNER(Transpose)
PLANNER(Permute)
PLANNER(Reshape)
PLANNER(Slice)
PLANNER(Concat)
PLANNER(Split)
PLANNER(Pad)
PLANNER(Repeat)
PLANNER(Upsample)
PLANNER(GridSample)
PLANNER(Embedding)
// layout.cpp
PLANNER(Tilize)
PLANNER(TilizeWithValPadding)
PLANNER(Untilize)
PLANNER(UntilizeWithUnpadding)
// shard.cpp
PLANNER(ShardedToInterleaved)
PLANNER(InterleavedToSharded)
PLANNER(Move)
PLANNER(Reshard)
PLANNER(PaddedSlice)
PLANNER(SliceWrite)
// matmul.cpp
PLANNER(Matmul)
PLANNER(MinimalMatmul)
// conv.cpp
PLANNER(Halo)
PLANNER(Conv2d)
PLANNER(Pool2d)
// transformer.cpp
PLANNER(CreateHeads)
PLANNER(ConcatHeads)
PLANNER(Rotary)
PLANNER(UpdateCache)
PLANNER(Sdpa)
PLANNER(SdpaDecode)

#undef PLANNER

}  // namespace ttnn_shim::strategy
