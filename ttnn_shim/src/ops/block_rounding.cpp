#include "ops/block_rounding.hpp"

#include <utility>

#include "tensor/block_round.hpp"
#include "tensor/convert.hpp"

namespace ttnn_shim {

namespace {
thread_local bool blocks_rounded = false;
}

void mark_blocks_rounded() { blocks_rounded = true; }
bool take_blocks_rounded() { return std::exchange(blocks_rounded, false); }

BlockRounder::BlockRounder(const Tensor& output) : dtype_(output.dtype()) {
    const Shape& shape = output.logical_shape();
    active_ = is_block_float(dtype_) && shape.rank() > 0 && shape[-1] % VALUES_PER_BLOCK == 0;
    if (!active_) return;
    values_ = mutable_raw_data(output);
    mark_blocks_rounded();
}

void BlockRounder::round(size_t begin, size_t count) const { round_blocks(dtype_, reinterpret_cast<bfloat16*>(values_) + begin, 1, count); }

}  // namespace ttnn_shim
