#include "ops/block_rounding.hpp"

#include "tensor/block_round.hpp"
#include "tensor/convert.hpp"

namespace ttnn_shim {

BlockRounder::BlockRounder(const Tensor& output) : dtype_(output.dtype()) {
    const Shape& shape = output.logical_shape();
    active_ = is_block_float(dtype_) && shape.rank() > 0 && shape[-1] % VALUES_PER_BLOCK == 0;
    if (!active_) return;
    values_ = mutable_raw_data(output);
    output.shim().buffer->set_blocks_rounded(true);
}

void BlockRounder::round(size_t begin, size_t count) const { round_blocks(dtype_, reinterpret_cast<bfloat16*>(values_) + begin, 1, count); }

void round_blocks_of(const Tensor& tensor) {
    const Shape& shape = tensor.logical_shape();
    const size_t width = shape.rank() == 0 ? 1 : shape[-1];
    if (tensor.logical_volume() == 0) {
        return;
    }
    auto values = mutable_data<bfloat16>(tensor);
    parallel_for(values.size() / width, 16384 / width + 1, [&](size_t begin, size_t end) {
        round_blocks(tensor.dtype(), values.data() + begin * width, end - begin, width);
    });
}

}  // namespace ttnn_shim
