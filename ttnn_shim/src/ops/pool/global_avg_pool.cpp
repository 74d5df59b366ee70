// ttnn::global_avg_pool2d: the mean over the pixels of each image.
#include "ops/registry.hpp"
#include "ops/data_movement/common.hpp"
#include "ops/launch.hpp"
#include "ttnn/operations/data_movement/reshape_view/reshape.hpp"
#include "ttnn/operations/core/to_layout/to_layout_op.hpp"
#include "ttnn/operations/pool/global_avg_pool/global_avg_pool.hpp"

using namespace ttnn_shim;

namespace ttnn {

Tensor global_avg_pool2d(
    const Tensor& input, const std::optional<MemoryConfig>& memory_config, const std::optional<DataType>& output_dtype) {
    const OpScope scope("ttnn.global_avg_pool2d");
    check_device_tensor(input, "input");
    const size_t rank = input.logical_shape().rank();
    SHIM_CHECK(rank >= 2 && rank <= 4, "input: expected rank 2, 3 or 4, got shape {}", input.logical_shape());
    if (rank < 4) {  // a matrix has one channel, a stack of rows one image
        auto extents = extents_of(input.logical_shape());
        extents.insert(extents.begin(), 4 - rank, 1);
        if (rank == 2) extents = {1, input.logical_shape()[0], input.logical_shape()[1], 1};
        return ttnn::global_avg_pool2d(ttnn::reshape(input, shape_of(extents)), memory_config, output_dtype);
    }
    const Shape& shape = input.logical_shape();
    SHIM_CHECK(
        is_floating_point(input.dtype()) || input.dtype() == DataType::INT32 || input.dtype() == DataType::UINT32,
        "input: expected a floating point or 32-bit integer dtype, got {}", input.dtype());
    const uint32_t batch = shape[0], pixels = shape[1] * shape[2], channels = shape[3];
    SHIM_CHECK(pixels > 0, "input: expected at least one pixel, got shape {}", shape);
    const Tensor rows =
        ttnn::reshape(input.layout() == Layout::TILE ? input : ttnn::to_layout(input, Layout::TILE), Shape({batch, 1, pixels, channels}));
    const TensorSpec spec = make_spec(
        Shape({batch, 1, 1, channels}), output_dtype.value_or(input.dtype()), Layout::TILE,
        memory_config.value_or(MemoryConfig(TensorMemoryLayout::INTERLEAVED, input.memory_config().buffer_type())));
    return launch(
        {.op = "reduce", .attrs = {{"op", std::string("MEAN")}, {"dim", std::string("H")}}, .name = "ReduceDeviceOperation"}, {rows},
        {spec}, [&](std::span<const Tensor> outputs) {
            const F32Values values(rows);
            std::vector<float> sums(size_t{batch} * channels, 0.0F);
            parallel_for(batch, 1, [&](size_t begin, size_t end) {
                for (size_t image = begin; image < end; ++image) {
                    float* target = sums.data() + image * channels;
                    for (size_t pixel = 0; pixel < pixels; ++pixel) {
                        const float* source = values.data() + (image * pixels + pixel) * channels;
                        for (size_t c = 0; c < channels; ++c) target[c] += source[c];
                    }
                    for (size_t c = 0; c < channels; ++c) target[c] /= static_cast<float>(pixels);
                }
            });
            write_f32(outputs[0], sums);
        })[0];
}

}  // namespace ttnn

SHIM_OP("ttnn.global_avg_pool2d", [](const Call& c) {
    return ttnn::global_avg_pool2d(c.tensor("input_tensor"), c.memory_config("memory_config"), c.dtype("dtype"));
});
