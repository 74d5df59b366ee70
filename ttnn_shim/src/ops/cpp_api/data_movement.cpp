// C++ functions of data movement whose kernels are written against `Call`.
#include "ops/cpp_api/given.hpp"
#include "ttnn/operations/data_movement/bcast/bcast.hpp"
#include "ttnn/operations/data_movement/fill_pad/fill_pad.hpp"
#include "ttnn/operations/data_movement/fill_rm/fill_rm.hpp"
#include "ttnn/operations/data_movement/fold/fold.hpp"
#include "ttnn/operations/data_movement/gather/tosa/gather_tosa.hpp"
#include "ttnn/operations/data_movement/indexed_fill/indexed_fill.hpp"
#include "ttnn/operations/data_movement/non_zero_indices/non_zero_indices.hpp"
#include "ttnn/operations/data_movement/pad/pad.hpp"
#include "ttnn/operations/data_movement/reshape_on_device/reshape.hpp"
#include "ttnn/operations/data_movement/scatter/tosa_scatter.hpp"
#include "ttnn/operations/data_movement/sharded_partial/interleaved_to_sharded_partial/interleaved_to_sharded_partial.hpp"
#include "ttnn/operations/data_movement/sharded_partial/sharded_to_interleaved_partial/sharded_to_interleaved_partial.hpp"
#include "ttnn/operations/experimental/cnn/convert_to_chw/convert_to_chw.hpp"
#include "ttnn/operations/experimental/cnn/convert_to_hwc/convert_to_hwc.hpp"
#include "ttnn/operations/experimental/copy/typecast/typecast.hpp"
#include "ttnn/operations/experimental/isin/isin.hpp"
#include "ttnn/operations/experimental/plusone/plusone.hpp"
#include "ttnn/operations/experimental/reduction/integral_image/intimg.hpp"
#include "ttnn/operations/experimental/reshape/view.hpp"
#include "ttnn/operations/experimental/transformer/nlp_kv_cache_load_slice/nlp_kv_cache_load_slice.hpp"

using namespace ttnn_shim;

using OptionalMemory = std::optional<MemoryConfig>;

namespace ttnn {

Tensor fold(
    const Tensor& input, uint32_t stride_h, uint32_t stride_w, bool use_transpose_as_fold, const std::optional<const Shape>& output_shape,
    std::variant<std::array<uint32_t, 2>, std::array<uint32_t, 4>, std::array<uint32_t, 6>> padding,
    const std::optional<CoreRangeSet>& core_grid, const OptionalMemory& override_memory_config, bool collapse_output) {
    return one(
        "ttnn.fold", {{"input", input},
                      {"stride_h", stride_h},
                      {"stride_w", stride_w},
                      {"use_transpose_as_fold", use_transpose_as_fold},
                      {"output_shape", output_shape},
                      {"padding", padding},
                      {"grid_size", core_grid},
                      {"override_memory_config", override_memory_config},
                      {"collapse_output", collapse_output}});
}

std::vector<Tensor> nonzero(const Tensor& input, const OptionalMemory& memory_config) {
    return several("ttnn.nonzero", {{"input_tensor", input}, {"memory_config", memory_config}}, 2);
}

Tensor fill_rm(
    uint32_t N, uint32_t C, uint32_t H, uint32_t W, uint32_t hFill, uint32_t wFill, const Tensor& any, float val_hi, float val_lo,
    const OptionalMemory& memory_config) {
    return one(
        "ttnn.fill_rm", {{"N", N},
                         {"C", C},
                         {"H", H},
                         {"W", W},
                         {"hOnes", hFill},
                         {"wOnes", wFill},
                         {"any", any},
                         {"val_hi", val_hi},
                         {"val_lo", val_lo},
                         {"memory_config", memory_config}});
}

Tensor fill_ones_rm(
    uint32_t N, uint32_t C, uint32_t H, uint32_t W, uint32_t hOnes, uint32_t wOnes, const Tensor& any,
    const OptionalMemory& memory_config) {
    return fill_rm(N, C, H, W, hOnes, wOnes, any, 1.0F, 0.0F, memory_config);
}

Tensor fill_implicit_tile_padding(const Tensor& input, std::variant<uint32_t, float> fill_value, const OptionalMemory& memory_config) {
    return one("ttnn.fill_implicit_tile_padding", {{"input_tensor", input}, {"fill_value", fill_value}, {"memory_config", memory_config}});
}

Tensor tosa_scatter(const Tensor& input, const Tensor& index, const Tensor& src, const OptionalMemory& memory_config) {
    return one("ttnn.tosa_scatter", {{"input", input}, {"index", index}, {"src", src}, {"memory_config", memory_config}});
}

Tensor tosa::gather(const Tensor& input, const Tensor& index, const OptionalMemory& memory_config) {
    return one("ttnn.tosa_gather", {{"input", input}, {"index", index}, {"memory_config", memory_config}});
}

Tensor index_fill_new(
    const Tensor& input, uint32_t dim, const Tensor& index, std::variant<float, int> value, const OptionalMemory& memory_config) {
    return index_fill(input, dim, index, value, memory_config);
}

Tensor reshape_on_device(const Tensor& input, ttsl::Span<const int32_t> shape, const OptionalMemory& memory_config) {
    SHIM_CHECK(shape.size() == 4, "shape: expected 4 values, got {}", shape.size());
    return one(
        "ttnn.reshape_on_device",
        {{"input_tensor", input}, {"W", shape[0]}, {"Z", shape[1]}, {"Y", shape[2]}, {"X", shape[3]}, {"memory_config", memory_config}});
}
Tensor reshape_on_device(const Tensor& input, const Shape& shape, const OptionalMemory& memory_config) {
    const std::vector<int32_t> extents(shape.view().begin(), shape.view().end());
    return reshape_on_device(input, ttsl::Span<const int32_t>(extents), memory_config);
}
Tensor reshape_on_device(const Tensor& input, const Shape& logical_shape, const Shape& padded_shape, const OptionalMemory& memory_config) {
    SHIM_SUPPORTED(logical_shape == padded_shape, "padded_shape: expected the logical shape {}, got {}", logical_shape, padded_shape);
    return reshape_on_device(input, logical_shape, memory_config);
}

Tensor bcast(
    const Tensor& a, const Tensor& b, BcastOpMath math, BcastOpDim dim, const OptionalMemory& memory_config,
    const std::optional<Tensor>& output) {
    static constexpr const char* MATH[] = {"ADD", "SUB", "MUL"};
    static constexpr const char* DIMS[] = {"H", "W", "HW"};
    return one(
        "ttnn.bcast", {{"input_a", a},
                       {"input_b", b},
                       {"math_op", MATH[static_cast<size_t>(math)]},
                       {"dim", DIMS[static_cast<size_t>(dim)]},
                       {"memory_config", memory_config},
                       {"output_tensor", output}});
}

Tensor pad(
    const Tensor& input, const std::array<uint32_t, 4>& padded, const std::array<uint32_t, 4>& start, float value, bool,
    const OptionalMemory& memory_config, const std::optional<CoreRangeSet>& sub_core_grids) {
    return one(
        "ttnn.pad", {{"input_tensor", input},
                     {"output_padded_shape", padded},
                     {"input_tensor_start", start},
                     {"value", value},
                     {"memory_config", memory_config},
                     {"sub_core_grids", sub_core_grids}});
}
Tensor pad(const Tensor& input, const Shape& padded, const Shape& start, float value) {
    return one("ttnn.pad", {{"input_tensor", input}, {"output_padded_shape", padded}, {"input_tensor_start", start}, {"value", value}});
}

Tensor interleaved_to_sharded_partial(
    const Tensor& input, const std::variant<CoreCoord, CoreRangeSet>& grid, const std::array<uint32_t, 2>& shard_shape, int64_t& num_slices,
    int64_t& slice_index, TensorMemoryLayout shard_scheme, ShardOrientation shard_orientation, const std::optional<DataType>& dtype) {
    return one(
        "ttnn.interleaved_to_sharded_partial", {{"input_tensor", input},
                                                {"grid", grid},
                                                {"shard_shape", shard_shape},
                                                {"num_slices", num_slices},
                                                {"slice_index", slice_index},
                                                {"shard_scheme", shard_scheme},
                                                {"shard_orientation", to_string(shard_orientation)},
                                                {"output_dtype", dtype}});
}
Tensor sharded_to_interleaved_partial(
    const Tensor& input, const Tensor& cache_tensor, int64_t num_slices, int64_t slice_index, const OptionalMemory& memory_config,
    const std::optional<DataType>& output_dtype) {
    return one(
        "ttnn.sharded_to_interleaved_partial", {{"input_tensor", input},
                                                {"cache_tensor", cache_tensor},
                                                {"num_slices", num_slices},
                                                {"slice_index", slice_index},
                                                {"memory_config", memory_config},
                                                {"output_dtype", output_dtype}});
}

}  // namespace ttnn

namespace ttnn::operations::experimental {

Tensor plus_one(const Tensor& input, const std::optional<CoreRangeSet>& sub_core_grids, bool skip_negative_entries) {
    return one(
        "ttnn.plus_one", {{"input_tensor", input}, {"sub_core_grids", sub_core_grids}, {"skip_negative_entries", skip_negative_entries}});
}
Tensor transpose_rm(const Tensor& input) { return one("ttnn.experimental.transpose_rm", {{"input", input}}); }

}  // namespace ttnn::operations::experimental

namespace ttnn::experimental {

Tensor isin(
    const Tensor& elements, const Tensor& test_elements, bool assume_unique, bool invert, const std::optional<Tensor>& optional_out) {
    return one(
        "ttnn.experimental.isin", {{"elements", elements},
                                   {"test_elements", test_elements},
                                   {"assume_unique", assume_unique},
                                   {"invert", invert},
                                   {"out", optional_out}});
}

Tensor intimg(const Tensor& input) { return one("ttnn.experimental.intimg", {{"input_tensor", input}}); }

Tensor typecast(
    const Tensor& input, const DataType& dtype, const OptionalMemory& memory_config, const std::optional<Tensor>& optional_output_tensor) {
    return one(
        "ttnn.experimental.typecast",
        {{"input_tensor", input}, {"dtype", dtype}, {"memory_config", memory_config}, {"optional_output_tensor", optional_output_tensor}});
}

Tensor nlp_kv_cache_load_slice(
    const Tensor& input, uint32_t seq_len_start, uint32_t seq_len_end, const OptionalMemory& memory_config,
    const std::optional<Tensor>& optional_output_tensor) {
    return one(
        "ttnn.experimental.nlp_kv_cache_load_slice", {{"input_tensor", input},
                                                      {"seq_len_start", seq_len_start},
                                                      {"seq_len_end", seq_len_end},
                                                      {"memory_config", memory_config},
                                                      {"output_tensor", optional_output_tensor}});
}

Tensor view(const Tensor& input, ttsl::Span<const int32_t> shape) {
    return one("ttnn.experimental.view", {{"input_tensor", input}, {"shape", shape}});
}
Tensor view(const Tensor& input, int N, int C, int H, int W) {
    const std::array<int32_t, 4> shape{N, C, H, W};
    return view(input, ttsl::Span<const int32_t>(shape));
}
Tensor view(const Tensor& input, const Shape& shape) { return one("ttnn.experimental.view", {{"input_tensor", input}, {"shape", shape}}); }
Tensor view(const Tensor& input, const Shape& logical_shape, const Shape& padded_shape) {
    SHIM_SUPPORTED(logical_shape == padded_shape, "padded_shape: expected the logical shape {}, got {}", logical_shape, padded_shape);
    return view(input, logical_shape);
}
Tensor view(const Tensor& input, const ttsl::SmallVector<int32_t>& shape) {
    return view(input, ttsl::Span<const int32_t>(shape.data(), shape.size()));
}

Tensor convert_to_chw(const Tensor& input, const std::optional<DataType>& dtype) {
    return one("ttnn.experimental.convert_to_chw", {{"input", input}, {"dtype", dtype}});
}
Tensor convert_to_hwc(const Tensor& input, const OptionalMemory& memory_config, const std::optional<DataType>& dtype) {
    return one("ttnn.experimental.convert_to_hwc", {{"input", input}, {"memory_config", memory_config}, {"dtype", dtype}});
}

}  // namespace ttnn::experimental
