#include "ops/block_rounding.hpp"

#include <algorithm>
#include <vector>

#include "tensor/block_round.hpp"
#include "tensor/convert.hpp"

namespace ttnn_shim {

namespace {
thread_local std::vector<uint64_t> rounded_tensors;  // their ids
}

void mark_blocks_rounded(const Tensor& output) { rounded_tensors.push_back(output.shim().id); }
bool blocks_are_rounded(const Tensor& output) {
    return std::find(rounded_tensors.begin(), rounded_tensors.end(), output.shim().id) != rounded_tensors.end();
}
void forget_rounded_blocks() { rounded_tensors.clear(); }

BlockRounder::BlockRounder(const Tensor& output) : dtype_(output.dtype()) {
    const Shape& shape = output.logical_shape();
    active_ = is_block_float(dtype_) && shape.rank() > 0 && shape[-1] % VALUES_PER_BLOCK == 0;
    if (!active_) return;
    values_ = mutable_raw_data(output);
    mark_blocks_rounded(output);
}

void BlockRounder::round(size_t begin, size_t count) const { round_blocks(dtype_, reinterpret_cast<bfloat16*>(values_) + begin, 1, count); }

}  // namespace ttnn_shim
