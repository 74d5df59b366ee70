// ttnn::global_avg_pool2d: the mean over the pixels of each image.
#include "ops/arguments.hpp"
#include "ops/registry.hpp"
#include "ops/data_movement/common.hpp"
#include "ttnn/operations/core/to_memory_config/to_memory_config_op.hpp"
#include "ttnn/operations/data_movement/reshape_view/reshape.hpp"
#include "ttnn/operations/pool/generic/generic_pools.hpp"
#include "ttnn/operations/pool/global_avg_pool/global_avg_pool.hpp"

using namespace ttnn_shim;

namespace ttnn {

Tensor global_avg_pool2d(
    const Tensor& input, const std::optional<MemoryConfig>& memory_config, const std::optional<DataType>& output_dtype) {
    const OpScope scope("ttnn.global_avg_pool2d");
    check_device_tensor(input, "input");
    const size_t rank = input.logical_shape().rank();
    SHIM_CHECK(rank >= 2 && rank <= 4, "input: expected rank 2, 3 or 4, got shape {}", input.logical_shape());
    if (input.is_sharded()) {
        const MemoryConfig interleaved(TensorMemoryLayout::INTERLEAVED, input.memory_config().buffer_type());
        return ttnn::global_avg_pool2d(ttnn::to_memory_config(input, interleaved), memory_config, output_dtype);
    }
    if (rank < 4) {  // a matrix has one channel, a stack of rows one image
        auto extents = extents_of(input.logical_shape());
        extents.insert(extents.begin(), 4 - rank, 1);
        if (rank == 2) extents = {1, input.logical_shape()[0], input.logical_shape()[1], 1};
        return ttnn::global_avg_pool2d(ttnn::reshape(input, shape_of(extents)), memory_config, output_dtype);
    }
    const Shape shape = input.logical_shape();
    const Tensor mean = ttnn::avg_pool2d(
        input, shape[0], shape[1], shape[2], shape[3], {shape[1], shape[2]}, {1, 1}, std::array<uint32_t, 2>{0, 0}, false, true,
        std::nullopt, memory_config, std::nullopt, std::nullopt, std::nullopt, false, true, output_dtype.value_or(DataType::BFLOAT16),
        Layout::TILE);
    return ttnn::reshape(mean, Shape({shape[0], 1, 1, shape[3]}));
}

}  // namespace ttnn

SHIM_OP("ttnn.global_avg_pool2d", [](const arguments::global_avg_pool2d& args) {
    return ttnn::global_avg_pool2d(args.input_tensor, args.memory_config, args.dtype);
});
