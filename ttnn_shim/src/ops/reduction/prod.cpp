// prod: TT-NN multiplies along the first two of four dimensions, or everything at once; other dimensions are turned there and back.
#include <algorithm>
#include <numeric>

#include "ops/arguments.hpp"
#include "ops/reduction/values.hpp"
#include "ttnn/operations/copy/typecast/typecast.hpp"
#include "ttnn/operations/core/core.hpp"
#include "ttnn/operations/data_movement/clone/clone.hpp"
#include "ttnn/operations/data_movement/permute/permute.hpp"
#include "ttnn/operations/data_movement/reshape_view/reshape.hpp"
#include "ttnn/operations/data_movement/slice/slice.hpp"
#include "ttnn/operations/data_movement/squeeze/squeeze.hpp"
#include "ttnn/operations/reduction/generic/generic_reductions.hpp"

using namespace ttnn_shim;
using namespace ttnn_shim::reduction;

namespace {

using Order = ttsl::SmallVector<int64_t>;

/// One program over all values, which fills a tile; its first value is the result.
Tensor product_of_all(const Tensor& input, const Shape& result, const MemoryConfig& memory) {
    const Tensor value = tilized(input, input.memory_config());
    const bool blocks = is_block_float(value.dtype());
    SHIM_CHECK(
        blocks || value.dtype() == DataType::BFLOAT16 || value.dtype() == DataType::FLOAT32,
        "input_tensor: expected a floating point dtype, got {}", value.dtype());
    SHIM_CHECK(!value.is_sharded(), "the product of all values takes interleaved memory, got {}", value.memory_config());
    const DataType dtype = blocks ? DataType::BFLOAT16 : value.dtype();
    (void)make_spec(Shape({1, 1, 1, tt::constants::TILE_HW}), dtype, Layout::TILE, memory);
    const Tensor product = launch(
        {.op = strategy::Reduce{.op = "PROD", .dim = "HW"}, .name = "ProdAllDeviceOperation"}, {value},
        {make_spec(result, dtype, Layout::TILE, memory)}, [=](std::span<const Tensor> outputs) {
            reduce_values(value, outputs[0], {.outer = 1, .size = value.logical_volume(), .inner = 1}, Kind::Prod, 1.0F);
        })[0];
    return blocks ? ttnn::typecast(product, value.dtype()) : product;
}

/// Dimension 0 or 1 of four becomes 1.
Tensor product_outer(const Tensor& input, uint32_t axis, const MemoryConfig& memory) {
    const Tensor value = tilized(input, input.memory_config());
    SHIM_CHECK(
        value.dtype() == DataType::BFLOAT16 || value.dtype() == DataType::FLOAT32 || value.dtype() == DataType::BFLOAT8_B,
        "input_tensor: expected a floating point dtype, got {}", value.dtype());
    auto extents = extents_of(value.logical_shape());
    extents[axis] = 1;
    const TensorSpec spec = make_spec(shape_of(extents), value.dtype(), Layout::TILE, memory);
    check_result_cores(input, memory, spec.padded_shape().volume() / tt::constants::TILE_HW);
    return launch(
        {.op = strategy::Reduce{.op = "PROD", .dim = "NC"}, .name = "ProdNcDeviceOperation"}, {value}, {spec},
        [=](std::span<const Tensor> outputs) {
            reduce_values(value, outputs[0], middle_of(value.logical_shape(), axis), Kind::Prod, 1.0F);
        })[0];
}

Tensor cut(const Tensor& input, uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
    return ttnn::slice(
        input, ttsl::SmallVector<uint32_t>{0, 0, 0, 0}, ttsl::SmallVector<uint32_t>{a, b, c, d}, ttsl::SmallVector<uint32_t>{1, 1, 1, 1});
}

/// More than four dimensions: `axis` trades places with the third last, and those before it are folded.
Tensor product_of_many(const Tensor& input, uint32_t axis, const MemoryConfig& memory) {
    const Shape& shape = input.logical_shape();
    const size_t third = shape.rank() - 3;
    Order order(shape.rank());
    std::iota(order.begin(), order.end(), 0);
    std::swap(order[third], order[axis]);
    const bool turned = axis != third;
    const Tensor product = product_outer(to_rank_4(turned ? ttnn::permute(input, order, memory) : input), 1, memory);
    auto extents = extents_of(shape);
    extents[axis] = extents[third];
    extents[third] = 1;
    const Tensor result = ttnn::reshape(product, shape_of(extents));
    return turned ? ttnn::permute(result, order, memory) : result;
}

Tensor product_along(const Tensor& input, uint32_t axis, const MemoryConfig& memory) {
    const size_t rank = input.logical_shape().rank();
    if (rank > 4) return product_of_many(input, axis, memory);
    const Tensor four = ttnn::unsqueeze_to_4D(input);
    const Shape& shape = four.logical_shape();
    const auto place = static_cast<uint32_t>(4 - rank + axis);
    const auto back = [rank](const Tensor& value) { return ttnn::squeeze_from_4D(value, static_cast<int>(rank)); };
    if (place < 2) return back(product_outer(four, place, memory));
    const Order forward = place == 2 ? Order{2, 0, 1, 3} : Order{3, 0, 1, 2};
    const Tensor turned = ttnn::permute(four, forward, memory);  // held until the end, as every step
    const Tensor product = product_outer(turned, 0, memory);
    const Tensor rows = cut(ttnn::permute(product, Order{1, 2, 0, 3}, memory), shape[0], shape[1], 1, place == 2 ? shape[3] : shape[2]);
    return back(place == 2 ? rows : ttnn::permute(rows, Order{0, 1, 3, 2}, memory));
}

}  // namespace

namespace ttnn {

Tensor prod(const Tensor& input, ::std::optional<int64_t> dim, bool keepdim, const ::std::optional<MemoryConfig>& memory_config) {
    OpScope scope("ttnn.prod");
    check_device_tensor(input, "input_tensor");
    const Shape& shape = input.logical_shape();
    const size_t rank = shape.rank();
    const MemoryConfig memory = memory_config.value_or(input.memory_config());
    std::vector<uint32_t> axes;
    if (rank == 0) SHIM_CHECK(!dim || *dim == 0 || *dim == -1, "dim {} out of range for rank 0", *dim);
    for (uint32_t i = 0; i < rank; ++i) {
        if (!dim || normalize_dim(*dim, rank) == i) axes.push_back(i);
    }
    const Shape result = without(shape, axes, keepdim);
    const Tensor value = fill_tile_padding(input);
    if (rank > 0 && shape.volume() == 0) return filled(input, result, 1.0F, input.layout(), memory);
    if (rank == 0) return ttnn::clone(value, std::nullopt, memory, std::nullopt);
    if (!dim || rank == 1) return product_of_all(value, result, memory);
    SHIM_CHECK(input.dtype() != DataType::BFLOAT4_B, "input_tensor: {} only for the product of all values", input.dtype());
    const Tensor product = product_along(value, axes[0], memory);
    return keepdim ? product : ttnn::squeeze(product, static_cast<int>(axes[0]));
}

}  // namespace ttnn

SHIM_OP("ttnn.prod", [](const arguments::prod& args) { return ttnn::prod(args.input_tensor, args.dim, args.keepdim, args.memory_config); });
