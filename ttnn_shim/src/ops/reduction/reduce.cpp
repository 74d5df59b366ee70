// sum, mean, max, min, var, std: the chains of device programs that TT-NN makes of them.
#include "ttnn/operations/reduction/generic/generic_reductions.hpp"
#include "ttnn/operations/eltwise/unary/unary_composite.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/arguments.hpp"
#include "ops/matmul/multiply.hpp"
#include "ops/reduction/values.hpp"
#include "ttnn/operations/core/to_layout/to_layout_op.hpp"
#include "ttnn/operations/data_movement/clone/clone.hpp"
#include "ttnn/operations/data_movement/permute/permute.hpp"
#include "ttnn/operations/data_movement/reshape_view/reshape.hpp"
#include "ttnn/operations/data_movement/transpose/transpose.hpp"

using namespace ttnn_shim;
using namespace ttnn_shim::reduction;

namespace {

struct Reduction {
    Kind kind;
    ttnn::ReductionDims dim;
    bool keepdim = false;
    std::optional<MemoryConfig> memory_config = std::nullopt;
    std::optional<ttnn::ComputeKernelConfig> compute = std::nullopt;
    float scalar = 1.0F;
    bool correction = true;
    std::optional<Layout> output_layout = std::nullopt;
    OptionalCores cores = std::nullopt;

    bool accumulates() const { return kind == Kind::Sum || kind == Kind::Mean; }
    TensixMath math() const { return compute ? tensix_math(*compute) : TensixMath{.fidelity = MathFidelity::HiFi4, .fp32_dest = true}; }
    /// Sums in float32 unless the caller's config says otherwise.
    bool wide() const { return !compute || compute->fp32_dest_acc_en; }
};

std::vector<int64_t> given_dims(const ttnn::ReductionDims& dim) {
    if (!dim) return {};
    if (const auto* list = std::get_if<ttsl::SmallVector<int>>(&*dim)) return {list->begin(), list->end()};
    return {std::holds_alternative<int>(*dim) ? std::get<int>(*dim) : std::get<int64_t>(*dim)};
}

/// Sorted; all of them when none is given. A single value has dimension 0, or -1.
std::vector<uint32_t> axes_of(const ttnn::ReductionDims& dim, size_t rank) {
    const std::vector<int64_t> given = given_dims(dim);
    std::vector<uint32_t> axes;
    if (given.empty()) {
        for (uint32_t i = 0; i < rank; ++i) axes.push_back(i);
    }
    for (const int64_t value : given) {
        SHIM_CHECK(rank > 0 || value == 0 || value == -1, "dim {} out of range for rank 0", value);
        axes.push_back(rank == 0 ? 0 : normalize_dim(value, rank));
    }
    std::sort(axes.begin(), axes.end());
    SHIM_CHECK(std::adjacent_find(axes.begin(), axes.end()) == axes.end(), "dim: a dimension is given twice");
    return axes;
}

void check_dtype(DataType dtype) {
    SHIM_CHECK(
        dtype == DataType::BFLOAT16 || dtype == DataType::FLOAT32 || dtype == DataType::BFLOAT8_B || dtype == DataType::INT32 ||
            dtype == DataType::UINT32,
        "input_tensor: dtype {} is not supported", dtype);
}

/// One program over a tensor of rank 4: "W", "H" or "HW" becomes 1.
Tensor reduce_program(
    const Tensor& input, const std::string& dim, const Reduction& r, float factor, DataType dtype, const MemoryConfig& memory,
    std::optional<Layout> layout = std::nullopt) {
    check_dtype(input.dtype());
    auto extents = extents_of(input.logical_shape());
    if (dim != "W") extents[2] = 1;
    if (dim != "H") extents[3] = 1;
    return launch(
        {.op = strategy::Reduce{.op = KIND_NAMES[static_cast<int>(r.kind)], .dim = dim},
         .compute = r.compute,
         .name = "ReduceDeviceOperation",
         .cores = r.cores},
        {input}, {reduced_spec(input, shape_of(extents), dtype, layout.value_or(input.layout()), memory)},
        [=](std::span<const Tensor> outputs) {
            const Middle m = middle_of(input.logical_shape(), dim == "W" ? 3 : 2, dim == "HW" ? 2 : 1);
            if (r.accumulates() && !is_integer(input.dtype())) return sum_values(input, outputs[0], m, factor, r.math());
            reduce_values(input, outputs[0], m, r.kind, factor);
        })[0];
}

/// Every `rows` rows of a matrix as one: sums, or extremes.
void reduce_slices(const Tensor& input, const Tensor& output, size_t rows, const Reduction& r) {
    const Shape& shape = input.logical_shape();
    const size_t width = shape[3], height = shape[2], slices = output.logical_shape()[2];
    const std::byte* source = raw_data(input);
    std::vector<float> result(output.logical_volume());
    parallel_for(result.size() / width, 1, [&](size_t begin, size_t end) {
        std::vector<float> values;
        for (size_t i = begin; i < end; ++i) {
            const size_t top = i % slices * rows, count = std::min(rows, height - top);
            const std::byte* slice = source + (i / slices * height + top) * width * stored_bytes(input.dtype());
            float* row = result.data() + i * width;
            if (r.accumulates()) {
                sum_block(input.dtype(), slice, {.outer = 1, .size = count, .inner = width}, 1.0F, r.math(), row);
                continue;
            }
            values.resize(count * width);
            load_f32(input.dtype(), slice, values.data(), values.size());
            std::copy_n(values.data(), width, row);
            const kernels::RowFold& fold = r.kind == Kind::Max ? kernels::kernel_set().max_rows : kernels::kernel_set().min_rows;
            fold.f32(values.data() + width, width, count - 1, row, width);
        }
    });
    write_f32(output, result);
}

/// The last one or two dimensions of any tensor, in one or two programs. `layout` was asked for by the caller.
Tensor reduce_matrix(
    const Tensor& given, const std::string& dim, const Reduction& r, float factor, std::optional<DataType> dtype,
    const MemoryConfig& memory, std::optional<Layout> layout) {
    const Tensor input = to_rank_4(given);
    // Sums and means read rows of interleaved floats as they are.
    const bool floats = input.dtype() == DataType::BFLOAT16 || input.dtype() == DataType::FLOAT32;
    const bool sticks = input.layout() == Layout::ROW_MAJOR && floats && r.accumulates() && dim != "HW" && !input.is_sharded() &&
                        !memory.is_sharded() && !(dim == "W" && layout == Layout::TILE);
    const bool exact = input.dtype() == DataType::FLOAT32 && r.wide();
    const Tensor value = sticks ? input : tilized(input, input.memory_config());
    const DataType result = dtype.value_or(input.dtype());
    const bool cuttable = dim == "H" && !input.is_sharded() && !memory.is_sharded() && !is_integer(input.dtype());
    if (cuttable) {
        // Where columns leave cores idle, tall ones are cut into as many slices as fill the grid, and their results are reduced again.
        const uint64_t least_tiles = sticks ? 16 : 20;
        const Shape& shape = value.logical_shape();
        const uint64_t groups = uint64_t{shape[0]} * shape[1] * ((shape[3] + 31) / 32), tall = (shape[2] + 31) / 32;
        const CoreCoord grid = machine_of(input).grid();
        const uint64_t slices = groups > 0 && tall >= least_tiles ? std::min<uint64_t>(grid.x * grid.y / groups, tall) : 1;
        if (slices >= 2) {
            check_dtype(value.dtype());
            const uint64_t rows = (tall + slices - 1) / slices * 32;
            auto extents = extents_of(shape);
            extents[2] = static_cast<uint32_t>((shape[2] + rows - 1) / rows);
            const DataType half = is_block_float(value.dtype()) ? DataType::BFLOAT16 : value.dtype();
            const DataType partial = r.accumulates() ? DataType::FLOAT32 : half;
            const Tensor parts = launch(
                {.op = strategy::Reduce{.op = KIND_NAMES[static_cast<int>(r.kind)], .dim = "H"},
                 .compute = r.compute,
                 .name = "ReduceDeviceOperation",
                 .cores = r.cores},
                {value}, {make_spec(shape_of(extents), partial, Layout::ROW_MAJOR, memory)},
                [=](std::span<const Tensor> outputs) { reduce_slices(value, outputs[0], rows, r); })[0];
            return reduce_program(parts, dim, r, factor, result, memory, sticks ? layout : Layout::TILE);
        }
    }
    if (dim != "HW") return reduce_program(value, dim, r, factor, result, memory, sticks && dim == "H" ? layout : std::nullopt);
    const bool many = input.padded_shape().volume() > tt::constants::TILE_HW, integer = input.dtype() == DataType::INT32;
    if (!many && !integer && !exact && factor >= 0) return reduce_program(value, dim, r, factor, result, memory);
    const bool keeps_wide = r.kind == Kind::Sum && ((dtype == DataType::BFLOAT16 && value.dtype() == DataType::FLOAT32) ||
                                                    (value.dtype() == DataType::BFLOAT16 && r.wide()));
    const Tensor rows = reduce_program(value, "W", r, 1.0F, keeps_wide ? DataType::FLOAT32 : result, memory);
    return reduce_program(rows, "H", r, factor, result, memory);
}

/// Dimensions before the last two of a sum of 16-bit or block floats: one program each, from the innermost.
Tensor sum_outer(
    const Tensor& input, const std::vector<uint32_t>& axes, const Reduction& r, const MemoryConfig& memory,
    std::optional<DataType> last_dtype) {
    Tensor value = tilized(input, memory);
    for (size_t i = axes.size(); i-- > 0;) {
        auto extents = extents_of(value.logical_shape());
        extents[axes[i]] = 1;
        const DataType dtype = !last_dtype ? input.dtype() : (i > 0 ? DataType::FLOAT32 : *last_dtype);
        value = launch(
            {.op = strategy::Reduce{.op = "SUM", .dim = "NC"},
             .compute = r.compute,
             .name = "FastReduceNCDeviceOperation",
             .cores = r.cores},
            {value}, {make_spec(shape_of(extents), dtype, Layout::TILE, memory)}, [=](std::span<const Tensor> outputs) {
                sum_values(value, outputs[0], middle_of(value.logical_shape(), axes[i]), 1.0F, r.math());
            })[0];
    }
    if (value.padded_shape() == value.logical_shape()) return value;
    // The programs see whole tiles; what was padding is cut off again.
    std::vector<int64_t> ends;
    for (const uint32_t extent : value.logical_shape()) ends.push_back(extent);
    const std::vector<int64_t> begins(ends.size(), 0), step(ends.size(), 1);
    return launch(
        {.op = strategy::Slice{.begins = begins, .ends = ends, .step = step}, .name = "SliceDeviceOperation", .cores = r.cores}, {value},
        {value.tensor_spec()},
        [=](std::span<const Tensor> outputs) { outputs[0].shim().buffer->set_values(value.shim().buffer->values()); })[0];
}

/// The result for a tensor without values: no program, every element the neutral one.
Tensor reduced_nothing(const Tensor& input, const Reduction& r, const std::vector<uint32_t>& axes, const MemoryConfig& memory) {
    for (const uint32_t axis : axes) {
        SHIM_CHECK(
            (r.kind != Kind::Max && r.kind != Kind::Min) || input.logical_shape()[at(axis)] > 0, "input_tensor: {} of no values (shape {})",
            KIND_NAMES[static_cast<int>(r.kind)], input.logical_shape());
    }
    const float value = r.kind == Kind::Sum ? 0.0F : std::numeric_limits<float>::quiet_NaN();
    return filled(input, without(input.logical_shape(), axes, r.keepdim), value, input.layout(), memory);
}

/// `chained`: a sum of several stages that stay in float32 up to the last.
Tensor reduce_all(const Tensor& input, const std::vector<uint32_t>& axes, const Reduction& r, const MemoryConfig& memory, bool chained) {
    const Shape& shape = input.logical_shape();
    const size_t rank = shape.rank();
    if (rank == 0) return ttnn::clone(input, std::nullopt, memory, std::nullopt);
    if (shape.volume() == 0) return reduced_nothing(input, r, axes, memory);
    const auto final_dtype = chained ? std::optional(DataType::BFLOAT16) : std::nullopt;
    uint64_t count = 1;
    for (const uint32_t axis : axes) count *= shape[at(axis)];
    const float mean = r.kind == Kind::Mean ? 1.0F / static_cast<float>(count) : 1.0F;
    if (axes.front() + 2 >= rank) {
        const char* dim = axes.size() == 2 ? "HW" : (axes[0] + 1 == rank ? "W" : "H");
        return reduce_matrix(input, dim, r, r.scalar * mean, final_dtype, memory, r.output_layout);
    }
    // From the last dimension on; those before the last two take the place of the rows meanwhile.
    const bool extreme = r.kind == Kind::Max || r.kind == Kind::Min;
    Reduction step = r;
    if (r.kind == Kind::Mean && axes.size() > 1) step.kind = Kind::Sum;
    Tensor value = input;
    for (size_t i = axes.size(); i-- > 0;) {
        const bool turned = axes[i] + 2 < rank, scaled = extreme ? i == 0 : i + 1 == axes.size();
        if (turned) value = ttnn::transpose(value, axes[i], -2, memory);
        std::optional<DataType> dtype;
        if (chained) dtype = i == 0 ? DataType::BFLOAT16 : DataType::FLOAT32;
        auto extents = extents_of(value.logical_shape());
        extents[turned ? rank - 2 : axes[i]] = 1;
        value = reduce_matrix(value, axes[i] + 1 == rank ? "W" : "H", step, scaled ? r.scalar * mean : 1.0F, dtype, memory, std::nullopt);
        value = ttnn::reshape(value, shape_of(extents));
        if (turned) value = ttnn::transpose(value, axes[i], -2, memory);
    }
    return value;
}

/// Variance or standard deviation along `axes`, in two passes in float32; they become 1.
Tensor spread_program(const Tensor& input, const std::vector<uint32_t>& axes, const Reduction& r, const MemoryConfig& memory) {
    const bool root = r.kind == Kind::Std, correction = r.correction;
    const float scalar = r.scalar;
    const Shape& shape = input.logical_shape();
    uint64_t count = 1;
    for (const uint32_t axis : axes) count *= shape[at(axis)];
    const Shape result = without(shape, axes, true);
    const bool columns = axes.size() == 1 && axes[0] + 2 == shape.rank();
    return launch(
        {.op = strategy::Reduce{.op = root ? "STD" : "VAR", .dim = columns ? "H" : "W"},
         .compute = r.compute,
         .name = "WelfordReduceDeviceOperation",
         .cores = r.cores},
        {input}, {reduced_spec(input, result, input.dtype(), Layout::TILE, memory)}, [=](std::span<const Tensor> outputs) {
            // bring the reduced dimensions innermost
            const F32Values values(input);
            std::vector<StridedDim> kept, reduced;
            const auto strides = signed_strides(shape);
            for (size_t i = 0; i < shape.rank(); ++i) {
                (std::find(axes.begin(), axes.end(), i) == axes.end() ? kept : reduced).push_back({shape[at(i)], strides[i], 0});
            }
            std::vector<StridedDim> dims = kept;
            dims.insert(dims.end(), reduced.begin(), reduced.end());
            int64_t stride = 1;
            for (size_t i = dims.size(); i-- > 0;) {
                dims[i].target_stride = stride;
                stride *= static_cast<int64_t>(dims[i].size);
            }
            std::vector<float> rows(values.size());
            strided_copy(4, reinterpret_cast<const std::byte*>(values.data()), reinterpret_cast<std::byte*>(rows.data()), dims);
            const auto& kernel = kernels::kernel_set();
            std::vector<float> out(result.volume());
            parallel_for(out.size(), std::max<size_t>(1, 8192 / std::max<size_t>(1, count)), [&](size_t begin, size_t end) {
                for (size_t o = begin; o < end; ++o) {
                    const float* row = rows.data() + o * count;
                    const float mean = kernel.sum_row(row, count, 0.0F) / static_cast<float>(count);
                    const float variance =
                        kernel.sum_squares_row(row, count, mean) / (static_cast<float>(count) - (correction ? 1.0F : 0.0F));
                    out[o] = (root ? std::sqrt(variance) : variance) * scalar;
                }
            });
            write_f32(outputs[0], out);
        })[0];
}

Tensor spread(const Tensor& input, const std::vector<uint32_t>& axes, const Reduction& r, const MemoryConfig& memory) {
    const Shape& shape = input.logical_shape();
    const size_t rank = shape.rank();
    uint64_t count = 1;
    for (const uint32_t axis : axes) count *= rank == 0 ? 1 : shape[at(axis)];
    if (count == 1 || rank == 0) {  // one value has no spread
        const float value = r.correction ? std::numeric_limits<float>::quiet_NaN() : 0.0F;
        return filled(input, shape, value, Layout::TILE, memory);
    }
    if (shape.volume() == 0) return reduced_nothing(input, r, axes, memory);
    SHIM_CHECK(
        input.dtype() == DataType::BFLOAT16 || input.dtype() == DataType::FLOAT32 || input.dtype() == DataType::BFLOAT8_B ||
            input.dtype() == DataType::FP8_E4M3,  // tilized to float32
        "input_tensor: expected BFLOAT16, FLOAT32, BFLOAT8_B or FP8_E4M3, got {}", input.dtype());
    // One dimension is brought to the rows' place and back, several to the end.
    Tensor value = rank == 1 ? ttnn::reshape(input, Shape({1, shape[0]})) : input;
    ttsl::SmallVector<int64_t> order;
    std::vector<uint32_t> last;
    if (axes.size() == 1) {
        for (size_t i = 0; i < rank; ++i) order.push_back(static_cast<int64_t>(i));
        if (axes[0] + 2 < rank) std::swap(order[axes[0]], order[rank - 2]);
        last = {static_cast<uint32_t>(rank == 1 || axes[0] + 1 == rank ? value.logical_shape().rank() - 1 : rank - 2)};
        if (axes[0] + 2 < rank) value = ttnn::permute(value, order, memory);
        value = spread_program(tilized(value, memory), last, r, memory);
        return axes[0] + 2 < rank ? ttnn::permute(value, order, memory) : value;
    }
    for (uint32_t i = 0; i < rank; ++i) {
        if (!std::binary_search(axes.begin(), axes.end(), i)) order.push_back(i);
    }
    for (size_t i = 0; i < axes.size(); ++i) {
        last.push_back(static_cast<uint32_t>(order.size()));
        order.push_back(axes[i]);
    }
    if (!std::is_sorted(order.begin(), order.end())) value = ttnn::permute(value, order, memory);
    return spread_program(tilized(value, memory), last, r, memory);
}

Tensor reduced(const char* op_name, const Tensor& input, const Reduction& given) {
    OpScope scope(op_name);
    check_device_tensor(input, "input_tensor");
    Reduction r = given;
    if (r.scalar < 0 && (r.kind == Kind::Max || r.kind == Kind::Min)) r.kind = r.kind == Kind::Max ? Kind::Min : Kind::Max;  // scaled after
    SHIM_CHECK(
        r.kind != Kind::Mean || (input.dtype() != DataType::INT32 && input.dtype() != DataType::UINT32),
        "input_tensor: expected a floating point dtype, got {}", input.dtype());
    const Shape& shape = input.logical_shape();
    const size_t rank = shape.rank();
    const auto axes = axes_of(r.dim, rank);
    const MemoryConfig memory = r.memory_config.value_or(input.memory_config());
    const auto finished = [&](Tensor value) {
        const Shape wanted = rank == 0 ? shape : without(shape, axes, r.keepdim);
        if (value.logical_shape() != wanted) value = ttnn::reshape(value, wanted);
        if (!r.output_layout || *r.output_layout == value.layout()) return value;
        SHIM_CHECK(!is_block_float(value.dtype()), "output_layout: {} needs TILE", value.dtype());
        return ttnn::to_layout(value, *r.output_layout);
    };
    if (r.kind == Kind::Var || r.kind == Kind::Std) return finished(spread(input, axes, r, memory));
    Tensor value = fill_tile_padding(input);
    std::vector<uint32_t> rest = axes;
    const bool half = value.dtype() == DataType::BFLOAT16 || value.dtype() == DataType::BFLOAT8_B;
    const bool chained = r.kind == Kind::Sum && axes.size() > 1 && axes.size() < rank && value.dtype() == DataType::BFLOAT16;
    if (r.kind == Kind::Sum && half && r.scalar == 1.0F && rank > 2 && axes.front() + 2 < rank && shape.volume() > 0) {
        const auto inner = std::find_if(rest.begin(), rest.end(), [&](uint32_t axis) { return axis + 2 >= rank; });
        const std::vector<uint32_t> outer(rest.begin(), inner);
        rest.erase(rest.begin(), inner);
        std::optional<DataType> last;
        if (chained) last = rest.empty() ? DataType::BFLOAT16 : DataType::FLOAT32;
        value = sum_outer(value, outer, r, memory, last);
        if (rest.empty()) return finished(value);
    }
    return finished(reduce_all(value, rest, r, memory, chained));
}

}  // namespace

namespace ttnn {

#define DEFINE_SUM(name, KIND)                                                                                                          \
    Tensor name(                                                                                                                        \
        const Tensor& input, const ReductionDims& dim, bool keepdim, const ::std::optional<MemoryConfig>& memory_config,                \
        const ::std::optional<ComputeKernelConfig>& compute, float scalar, bool correction, const ::std::optional<CoreRangeSet>& grids, \
        bool, const ::std::optional<Layout>& output_layout) {                                                                           \
        return reduced(                                                                                                                 \
            "ttnn." #name, input, {Kind::KIND, dim, keepdim, memory_config, compute, scalar, correction, output_layout, grids});        \
    }
#define DEFINE_MAX(name, KIND)                                                                                                          \
    Tensor name(                                                                                                                        \
        const Tensor& input, const ReductionDims& dim, bool keepdim, const ::std::optional<MemoryConfig>& memory_config,                \
        const ::std::optional<ComputeKernelConfig>& compute, float scalar, bool correction, const ::std::optional<CoreRangeSet>& grids, \
        bool) {                                                                                                                         \
        return reduced("ttnn." #name, input, {Kind::KIND, dim, keepdim, memory_config, compute, scalar, correction, {}, grids});        \
    }
#define DEFINE_VAR(name, KIND)                                                                                                            \
    Tensor name(                                                                                                                          \
        const Tensor& input, const ReductionDims& dim, bool keepdim, const ::std::optional<MemoryConfig>& memory_config,                  \
        const ::std::optional<ComputeKernelConfig>& compute, float scalar, bool correction, const ::std::optional<CoreRangeSet>& grids) { \
        return reduced("ttnn." #name, input, {Kind::KIND, dim, keepdim, memory_config, compute, scalar, correction, {}, grids});          \
    }
DEFINE_SUM(sum, Sum)
DEFINE_SUM(mean, Mean)
DEFINE_MAX(max, Max)
DEFINE_MAX(min, Min)
DEFINE_VAR(var, Var)
DEFINE_VAR(std, Std)
#undef DEFINE_SUM
#undef DEFINE_MAX
#undef DEFINE_VAR

}  // namespace ttnn

namespace {
Tensor call_reduction(const char* name, Kind kind, const auto& args) {
    OpScope scope(name);
    ttnn::ReductionDims dims;
    if (args.dim) dims = ttsl::SmallVector<int>(args.dim->begin(), args.dim->end());
    bool correction = true;
    std::optional<Layout> output_layout;
    if constexpr (requires { args.output_layout; }) output_layout = args.output_layout;
    if constexpr (requires { args.correction.has_value(); }) {
        correction = args.correction.value_or(true);
    } else {
        correction = args.correction;
    }
    return reduced(
        name, args.input_tensor,
        {kind, dims, args.keepdim, args.memory_config, args.compute_kernel_config, args.scalar, correction, output_layout,
         args.sub_core_grids});
}
}  // namespace

#define ENTER(name, KIND) \
    SHIM_OP("ttnn." #name, [](const arguments::name& args) { return call_reduction("ttnn." #name, Kind::KIND, args); });
ENTER(sum, Sum)
ENTER(mean, Mean)
ENTER(max, Max)
ENTER(min, Min)
ENTER(var, Var)
#undef ENTER
SHIM_OP("ttnn.std", [](const arguments::std_& args) { return call_reduction("ttnn.std", Kind::Std, args); });

namespace {
Tensor over_matrix(const char* name, Kind kind, const Tensor& input, const std::optional<MemoryConfig>& memory_config) {
    OpScope scope(name);
    SHIM_CHECK(input.logical_shape().rank() == 4, "input_tensor: expected rank 4, got shape {}", input.logical_shape());
    return reduced(name, input, {kind, ttsl::SmallVector<int>{-2, -1}, true, memory_config, std::nullopt, 1.0F, false});
}
}  // namespace

SHIM_OP("ttnn.var_hw", [](const arguments::var_hw& args) {
    return over_matrix("ttnn.var_hw", Kind::Var, args.input_tensor, args.memory_config);
});
SHIM_OP("ttnn.std_hw", [](const arguments::std_hw& args) {
    return over_matrix("ttnn.std_hw", Kind::Std, args.input_tensor, args.memory_config);
});

// ---- the C++ functions ------------------------------------------------------------------------------------------------------

namespace ttnn {

#define DEFINE(name, KIND)                                                               \
    Tensor name(const Tensor& input, const std::optional<MemoryConfig>& memory_config) { \
        return over_matrix("ttnn." #name, Kind::KIND, input, memory_config);             \
    }
DEFINE(var_hw, Var)
DEFINE(std_hw, Std)
#undef DEFINE

}  // namespace ttnn
