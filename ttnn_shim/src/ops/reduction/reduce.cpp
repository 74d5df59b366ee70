// sum, mean, max, min, prod, var, std: chains of one-dimension reductions, in the order in which TT-NN runs its programs.
#include "ttnn/operations/reduction/generic/generic_reductions.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/data_movement/common.hpp"
#include "ops/eltwise/engine.hpp"
#include "ttnn/operations/core/core.hpp"
#include "ttnn/operations/core/to_layout/to_layout_op.hpp"
#include "ttnn/operations/creation/creation.hpp"
#include "ttnn/operations/data_movement/reshape_view/reshape.hpp"
#include "ttnn/operations/data_movement/transpose/transpose.hpp"

using namespace ttnn_shim;

namespace {

enum class Kind { Sum, Mean, Max, Min, Prod, Var, Std };
constexpr const char* KIND_NAMES[] = {"SUM", "MEAN", "MAX", "MIN", "PROD", "VAR", "STD"};

int32_t at(size_t index) { return static_cast<int32_t>(index); }

/// Values as [outer, size, inner] reduced along the middle.
struct Middle {
    size_t outer = 1, size = 1, inner = 1;
};
Middle middle_of(const Shape& shape, uint32_t axis) {
    Middle m;
    m.size = shape[at(axis)];
    for (size_t i = 0; i < axis; ++i) m.outer *= shape[at(i)];
    for (size_t i = axis + 1; i < shape.rank(); ++i) m.inner *= shape[at(i)];
    return m;
}

template <typename T>
T identity(Kind kind) {
    if (kind == Kind::Prod) return T(1);
    if (kind == Kind::Max) return std::is_same_v<T, float> ? T(-INFINITY) : std::numeric_limits<T>::lowest();
    if (kind == Kind::Min) return std::is_same_v<T, float> ? T(INFINITY) : std::numeric_limits<T>::max();
    return T(0);
}

template <typename T>
void fold(Kind kind, const T* values, T* into, size_t count) {
    switch (kind) {
        case Kind::Max:
            for (size_t i = 0; i < count; ++i) into[i] = values[i] > into[i] || values[i] != values[i] ? values[i] : into[i];
            break;
        case Kind::Min:
            for (size_t i = 0; i < count; ++i) into[i] = values[i] < into[i] || values[i] != values[i] ? values[i] : into[i];
            break;
        case Kind::Prod:
            for (size_t i = 0; i < count; ++i) into[i] *= values[i];
            break;
        default:
            for (size_t i = 0; i < count; ++i) into[i] += values[i];
    }
}

bool stored_as_bf16(DataType dtype) { return dtype == DataType::BFLOAT16 || is_block_float(dtype); }

/// One row in its own storage; `scratch` is for conversions.
float reduce_row(Kind kind, DataType dtype, const std::byte* source, size_t count, std::vector<float>& scratch) {
    const auto& kernel = kernels::kernel_set();
    const bool sums = kind == Kind::Sum || kind == Kind::Mean, extremes = kind == Kind::Max || kind == Kind::Min;
    if (stored_as_bf16(dtype) && (sums || extremes)) {
        const auto* row = reinterpret_cast<const uint16_t*>(source);
        if (sums) return kernel.sum_row_bf16(row, count, 0.0F);
        return kind == Kind::Max ? kernel.max_row_bf16(row, count) : kernel.min_row_bf16(row, count);
    }
    const float* row = reinterpret_cast<const float*>(source);
    if (dtype != DataType::FLOAT32) {
        scratch.resize(count);
        load_f32(dtype, source, scratch.data(), count);
        row = scratch.data();
    }
    if (sums) return kernel.sum_row(row, count, 0.0F);
    if (extremes) return kind == Kind::Max ? kernel.max_row(row, count) : kernel.min_row(row, count);
    float result = identity<float>(kind);
    for (size_t i = 0; i < count; ++i) fold(kind, row + i, &result, 1);
    return result;
}

template <typename T>
void load_values(DataType dtype, const std::byte* source, size_t offset, T* target, size_t count) {
    if constexpr (std::is_same_v<T, float>) {
        load_f32(dtype, source + offset * stored_bytes(dtype), target, count);
    } else {
        load_i64(dtype, source + offset * stored_bytes(dtype), target, count);
    }
}
template <typename T>
void store_values(DataType dtype, std::byte* target, size_t offset, const T* source, size_t count) {
    if constexpr (std::is_same_v<T, float>) {
        store_f32(dtype, source, target + offset * stored_bytes(dtype), count);
    } else {
        store_i64(dtype, source, target + offset * stored_bytes(dtype), count);
    }
}

/// into[i] = the reduction of column i of `rows` rows of `count` values, `stride` apart. `scratch` is for conversions.
template <typename T>
void reduce_columns(
    Kind kind, DataType dtype, const std::byte* source, size_t stride, size_t rows, T* into, size_t count, std::vector<T>& scratch) {
    std::fill_n(into, count, identity<T>(kind));
    if constexpr (std::is_same_v<T, float>) {
        const auto& kernel = kernels::kernel_set();
        const kernels::RowFold* folds[] = {&kernel.add_rows, &kernel.add_rows, &kernel.max_rows, &kernel.min_rows};  // in Kind's order
        if (static_cast<size_t>(kind) < std::size(folds)) {
            const kernels::RowFold& rule = *folds[static_cast<size_t>(kind)];
            if (stored_as_bf16(dtype)) return rule.bf16(reinterpret_cast<const uint16_t*>(source), stride, rows, into, count);
            if (dtype == DataType::FLOAT32) return rule.f32(reinterpret_cast<const float*>(source), stride, rows, into, count);
        }
    }
    scratch.resize(count);
    for (size_t i = 0; i < rows; ++i) {
        load_values(dtype, source, i * stride, scratch.data(), count);
        fold(kind, scratch.data(), into, count);
    }
}

template <typename T>
void reduce_kernel(const Tensor& input, const Tensor& output, const Middle& m, Kind kind, float factor) {
    const std::byte* source = raw_data(input);
    std::byte* target = mutable_raw_data(output);
    const auto scale = [factor](T* values, size_t count) {
        if constexpr (std::is_same_v<T, float>) {
            for (size_t i = 0; i < count; ++i) values[i] *= factor;
        } else if (factor != 1.0F) {
            for (size_t i = 0; i < count; ++i) values[i] = static_cast<T>(static_cast<double>(values[i]) * static_cast<double>(factor));
        }
    };
    if (m.inner == 1) {
        parallel_for(m.outer, std::max<size_t>(1, 8192 / std::max<size_t>(1, m.size)), [&](size_t begin, size_t end) {
            std::vector<T> row;
            for (size_t o = begin; o < end; ++o) {
                T result = identity<T>(kind);
                if constexpr (std::is_same_v<T, float>) {
                    result = reduce_row(kind, input.dtype(), source + o * m.size * stored_bytes(input.dtype()), m.size, row);
                } else {
                    row.resize(m.size);
                    load_values(input.dtype(), source, o * m.size, row.data(), m.size);
                    for (const T value : row) fold(kind, &value, &result, 1);
                }
                scale(&result, 1);
                store_values(output.dtype(), target, o, &result, 1);
            }
        });
        return;
    }
    // Strips of columns: long runs of each row, but enough strips for the threads. A sum's order does not depend on them.
    constexpr size_t LEAST = 64, MOST = 2048;
    const size_t wanted = 4 * static_cast<size_t>(omp_get_max_threads());
    const size_t strips = std::max<size_t>(1, wanted / std::max<size_t>(1, m.outer));
    const size_t width = std::clamp<size_t>((m.inner / strips + LEAST - 1) / LEAST * LEAST, LEAST, MOST);
    const size_t parts = (m.inner + width - 1) / width;
    const size_t grain = std::max<size_t>(1, 8192 / std::max<size_t>(1, m.size * std::min(width, m.inner)));
    parallel_for(m.outer * parts, grain, [&](size_t begin, size_t end) {
        std::vector<T> sum(width), scratch;
        for (size_t index = begin; index < end; ++index) {
            const size_t o = index / parts, first = index % parts * width, count = std::min(width, m.inner - first);
            const std::byte* strip = source + (o * m.size * m.inner + first) * stored_bytes(input.dtype());
            reduce_columns(kind, input.dtype(), strip, m.inner, m.size, sum.data(), count, scratch);
            scale(sum.data(), count);
            store_values(output.dtype(), target, o * m.inner + first, sum.data(), count);
        }
    });
}

/// One program: dimension `axis` becomes 1.
Tensor reduce_axis(
    const Tensor& input, uint32_t axis, Kind kind, float factor, const std::optional<MemoryConfig>& memory_config,
    const std::optional<ttnn::ComputeKernelConfig>& compute) {
    const Shape& shape = input.logical_shape();
    auto extents = extents_of(shape);
    extents[axis] = 1;
    const size_t back = shape.rank() - axis;
    const std::string dim = back == 1 ? "W" : (back == 2 ? "H" : "NC");
    const Shape result = shape_of(extents);
    if (kind != Kind::Prod && input.layout() == Layout::TILE && !input.is_sharded() && input.padded_shape() != input.logical_shape() &&
        !is_block_float(input.dtype()) && !is_integer(input.dtype())) {
        // The padding of edge tiles is overwritten in place with the reduction's neutral value.
        launch(
            {.op = "fill_pad", .name = "FillPadDeviceOperation"}, {input}, {input.tensor_spec()}, [](std::span<const Tensor>) {}, {input});
    }
    const char* name = kind == Kind::Prod ? "ProdNcDeviceOperation" : (back > 2 ? "FastReduceNCDeviceOperation" : "ReduceDeviceOperation");
    return launch(
        {.op = "reduce",
         .attrs = {{"op", std::string(KIND_NAMES[static_cast<int>(kind)])}, {"dim", dim}},
         .compute = compute,
         .name = name},
        {input}, {make_spec(result, input.dtype(), input.layout(), resharded_memory(input, memory_config, result))},
        [&](std::span<const Tensor> outputs) {
            const Middle m = middle_of(shape, axis);
            if (is_integer(input.dtype())) {
                reduce_kernel<int64_t>(input, outputs[0], m, kind, factor);
            } else {
                reduce_kernel<float>(input, outputs[0], m, kind, factor);
            }
        })[0];
}

/// Variance along one axis, two passes in float32.
Tensor variance_axes(
    const Tensor& input, const std::vector<uint32_t>& axes, bool root, bool correction, float scalar,
    const std::optional<MemoryConfig>& memory_config, const std::optional<ttnn::ComputeKernelConfig>& compute) {
    const Shape& shape = input.logical_shape();
    auto extents = extents_of(shape);
    uint64_t count = 1;
    for (const uint32_t axis : axes) {
        count *= extents[axis];
        extents[axis] = 1;
    }
    const Shape result = shape_of(extents);
    return launch(
        {.op = "reduce",
         .attrs =
             {{"op", std::string(root ? "STD" : "VAR")}, {"dim", std::string(axes.size() == 1 && axes[0] + 2 == shape.rank() ? "H" : "W")}},
         .compute = compute,
         .name = "WelfordReduceDeviceOperation"},
        {input}, {make_spec(result, input.dtype(), input.layout(), result_memory(input, memory_config, result))},
        [&](std::span<const Tensor> outputs) {
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

std::vector<int64_t> given_dims(const ttnn::ReductionDims& dim) {
    if (!dim) return {};
    if (const auto* list = std::get_if<ttsl::SmallVector<int>>(&*dim)) return {list->begin(), list->end()};
    return {std::holds_alternative<int>(*dim) ? std::get<int>(*dim) : std::get<int64_t>(*dim)};
}

std::vector<uint32_t> axes_of(const ttnn::ReductionDims& dim, size_t rank) {
    const std::vector<int64_t> given = given_dims(dim);
    std::vector<uint32_t> axes;
    if (given.empty()) {
        for (uint32_t i = 0; i < rank; ++i) axes.push_back(i);
    }
    for (const int64_t value : given) axes.push_back(normalize_dim(value, rank));
    std::sort(axes.begin(), axes.end());
    SHIM_CHECK(std::adjacent_find(axes.begin(), axes.end()) == axes.end(), "dim: a dimension is given twice");
    return axes;
}

struct Reduction {
    Kind kind;
    ttnn::ReductionDims dim;
    bool keepdim = false;
    std::optional<MemoryConfig> memory_config = std::nullopt;
    std::optional<ttnn::ComputeKernelConfig> compute = std::nullopt;
    float scalar = 1.0F;
    bool correction = true;
    std::optional<Layout> output_layout = std::nullopt;
};

/// Turning a dimension next to the last keeps the shards, which must fit the turned tensor.
void check_turned(const Tensor& value, uint32_t axis, const std::optional<MemoryConfig>& requested) {
    const MemoryConfig& memory = requested ? *requested : value.memory_config();
    if (!memory.is_sharded() || !memory.shard_spec()) return;
    auto extents = extents_of(value.logical_shape());
    std::swap(extents[axis], extents[extents.size() - 2]);
    (void)make_spec(shape_of(extents), value.dtype(), Layout::TILE, memory);
}

/// The result for a tensor without values: no program, every element the neutral one.
Tensor reduced_nothing(const Tensor& input, const Reduction& r, const std::vector<uint32_t>& axes) {
    const Shape& shape = input.logical_shape();
    uint64_t count = 1;
    std::vector<uint32_t> extents;
    for (uint32_t i = 0; i < shape.rank(); ++i) {
        const bool gone = std::binary_search(axes.begin(), axes.end(), i);
        if (gone) count *= shape[at(i)];
        if (!gone || r.keepdim) extents.push_back(gone ? 1 : shape[at(i)]);
    }
    SHIM_CHECK(
        count != 0 || (r.kind != Kind::Max && r.kind != Kind::Min), "input_tensor: {} of no values (shape {})",
        KIND_NAMES[static_cast<int>(r.kind)], shape);
    SHIM_CHECK(
        r.kind != Kind::Mean || (input.dtype() != DataType::INT32 && input.dtype() != DataType::UINT32),
        "input_tensor: expected a floating point dtype, got {}", input.dtype());
    const TensorSpec spec = make_spec(
        shape_of(extents), input.dtype(), r.output_layout.value_or(input.layout()), r.memory_config.value_or(input.memory_config()));
    return ttnn::full(
        spec.logical_shape(), r.kind == Kind::Sum || is_integer(input.dtype()) ? 0.0F : std::numeric_limits<float>::quiet_NaN(),
        input.dtype(), spec.layout(), *input.device(), spec.memory_config());
}

Tensor reduced(const char* op_name, const Tensor& input, const Reduction& r) {
    OpScope scope(op_name);
    check_device_tensor(input, "input_tensor");
    const bool integer = is_integer(input.dtype());
    if (input.logical_shape().rank() == 0 && r.dim) {  // dimension 0 or -1 of a single value
        for (const int64_t dim : given_dims(r.dim)) SHIM_CHECK(dim == 0 || dim == -1, "dim {} out of range for rank 0", dim);
        return r.memory_config ? ttnn::to_memory_config(input, *r.memory_config) : input;
    }
    const auto axes = axes_of(r.dim, input.logical_shape().rank());
    if (input.logical_volume() == 0 && r.kind != Kind::Prod) return reduced_nothing(input, r, axes);
    const bool spread = r.kind == Kind::Var || r.kind == Kind::Std;
    const bool single =
        spread && std::all_of(axes.begin(), axes.end(), [&](uint32_t axis) { return input.logical_shape()[at(axis)] == 1; });
    SHIM_CHECK(
        single || !integer || r.kind == Kind::Sum || r.kind == Kind::Max || r.kind == Kind::Min,
        "input_tensor: expected a floating point dtype, got {}", input.dtype());
    const bool generic = r.kind == Kind::Sum || r.kind == Kind::Mean || r.kind == Kind::Max || r.kind == Kind::Min;
    SHIM_CHECK(
        single ||
            (input.dtype() != DataType::BFLOAT4_B && !(generic && (input.dtype() == DataType::UINT16 || input.dtype() == DataType::UINT8))),
        "input_tensor: dtype {} is not supported", input.dtype());
    const Shape& shape = input.logical_shape();
    const bool sums = r.kind == Kind::Sum || r.kind == Kind::Mean;
    Tensor value = input;
    const bool sticks = input.layout() == Layout::ROW_MAJOR && sums && !integer && !input.memory_config().is_sharded();
    if (input.layout() == Layout::ROW_MAJOR && !(sticks && axes.size() == 1 && axes[0] + 1 == shape.rank()))
        value = ttnn::to_layout(input, Layout::TILE);
    if (r.kind == Kind::Var || r.kind == Kind::Std) {
        value = variance_axes(value, axes, r.kind == Kind::Std, r.correction, r.scalar, r.memory_config, r.compute);
    } else {
        const size_t rank = shape.rank();
        auto outer_first = axes;  // sum: outer dimensions first, then W, then H; others: W, H, then outer dimensions by way of a transpose
        auto rank_of = [&](uint32_t axis) {
            const size_t back = rank - axis;
            if (r.kind == Kind::Sum) return back > 2 ? static_cast<int>(axis) : (back == 1 ? 100 : 101);
            return back == 1 ? 0 : (back == 2 ? 1 : 100 - static_cast<int>(axis));
        };
        std::sort(outer_first.begin(), outer_first.end(), [&](uint32_t a, uint32_t b) { return rank_of(a) < rank_of(b); });
        for (size_t i = 0; i < outer_first.size(); ++i) {
            const uint32_t axis = outer_first[i];
            float factor = i + 1 == outer_first.size() ? r.scalar : 1.0F;
            if (r.kind == Kind::Mean) factor /= static_cast<float>(shape[at(axis)]);
            const bool turned = rank - axis > 2 && r.kind != Kind::Sum && r.kind != Kind::Prod;
            if (turned) {
                check_turned(value, axis, r.memory_config);
                value = ttnn::transpose(value, axis, -2, r.memory_config);
                value = reduce_axis(value, static_cast<uint32_t>(rank - 2), r.kind, factor, r.memory_config, r.compute);
                value = ttnn::transpose(value, axis, -2, r.memory_config);
            } else {
                value = reduce_axis(value, axis, r.kind, factor, r.memory_config, r.compute);
            }
        }
    }
    if (!r.keepdim) {
        std::vector<uint32_t> extents;
        for (uint32_t i = 0; i < shape.rank(); ++i) {
            if (!std::binary_search(axes.begin(), axes.end(), i)) extents.push_back(shape[at(i)]);
        }
        value = ttnn::reshape(value, shape_of(extents));
    }
    // TT-NN gives sticks back where the last program of a row-major sum left them.
    const bool rows_only = axes.size() == 1 && axes[0] + 2 == shape.rank(), outer = !axes.empty() && axes[0] + 2 < shape.rank();
    if (sticks && !r.output_layout && value.layout() == Layout::TILE &&
        (rows_only || (outer && (r.kind == Kind::Mean || input.dtype() == DataType::FLOAT32))))
        value = ttnn::to_layout(value, Layout::ROW_MAJOR);
    if (r.output_layout && *r.output_layout != value.layout()) value = ttnn::to_layout(value, *r.output_layout);
    return value;
}

}  // namespace

namespace ttnn {

#define DEFINE_SUM(name, KIND)                                                                                                          \
    Tensor name(                                                                                                                        \
        const Tensor& input, const ReductionDims& dim, bool keepdim, const ::std::optional<MemoryConfig>& memory_config,                \
        const ::std::optional<ComputeKernelConfig>& compute, float scalar, bool correction, const ::std::optional<CoreRangeSet>&, bool, \
        const ::std::optional<Layout>& output_layout) {                                                                                 \
        return reduced("ttnn." #name, input, {Kind::KIND, dim, keepdim, memory_config, compute, scalar, correction, output_layout});    \
    }
#define DEFINE_MAX(name, KIND)                                                                                                            \
    Tensor name(                                                                                                                          \
        const Tensor& input, const ReductionDims& dim, bool keepdim, const ::std::optional<MemoryConfig>& memory_config,                  \
        const ::std::optional<ComputeKernelConfig>& compute, float scalar, bool correction, const ::std::optional<CoreRangeSet>&, bool) { \
        return reduced("ttnn." #name, input, {Kind::KIND, dim, keepdim, memory_config, compute, scalar, correction});                     \
    }
#define DEFINE_VAR(name, KIND)                                                                                                      \
    Tensor name(                                                                                                                    \
        const Tensor& input, const ReductionDims& dim, bool keepdim, const ::std::optional<MemoryConfig>& memory_config,            \
        const ::std::optional<ComputeKernelConfig>& compute, float scalar, bool correction, const ::std::optional<CoreRangeSet>&) { \
        return reduced("ttnn." #name, input, {Kind::KIND, dim, keepdim, memory_config, compute, scalar, correction});               \
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

namespace {
/// TT-NN reduces a product with its dimension in front and turns the result back, both in the result's memory.
void check_prod_memory(const Tensor& input, int64_t dim, const ::std::optional<MemoryConfig>& requested) {
    const MemoryConfig config = requested.value_or(input.memory_config());
    const Shape& shape = input.logical_shape();
    if (!config.is_sharded() || shape.rank() < 2 || shape.volume() == 0) return;
    const uint32_t axis = normalize_dim(dim, shape.rank());
    if (axis + 2 < shape.rank()) return;
    auto turned = extents_of(shape);
    turned.erase(turned.begin() + axis);
    turned.insert(turned.begin(), 1);
    turned.insert(turned.end() - 1, 1);
    (void)make_spec(shape_of(turned), input.dtype(), Layout::TILE, config);
}
}  // namespace

Tensor prod(const Tensor& input, ::std::optional<int64_t> dim, bool keepdim, const ::std::optional<MemoryConfig>& memory_config) {
    OpScope scope("ttnn.prod");
    if (dim) check_prod_memory(input, *dim, memory_config);
    const bool on_shards = input.is_sharded() || (memory_config && memory_config->is_sharded());
    SHIM_CHECK(
        dim || !on_shards || input.logical_volume() == 0, "the product of all values takes interleaved memory, got {}",
        input.memory_config());
    Reduction reduction{.kind = Kind::Prod, .dim = {}, .keepdim = keepdim, .memory_config = memory_config};
    if (dim) reduction.dim.emplace(*dim);
    return reduced("ttnn.prod", input, reduction);
}

}  // namespace ttnn

namespace {
Tensor call_reduction(const char* name, Kind kind, const Call& c) {
    OpScope scope(name);
    ttnn::ReductionDims dims;
    if (c.has("dim")) {
        const auto values = c.i32s("dim");
        dims = ttsl::SmallVector<int>(values.begin(), values.end());
    }
    return reduced(
        name, c.tensor("input_tensor"),
        {kind, dims, c.boolean("keepdim", false), c.memory_config("memory_config"), c.compute_config("compute_kernel_config"),
         c.f32("scalar", 1.0F), c.boolean("correction", true), c.layout("output_layout")});
}
}  // namespace

#define ENTER(name, KIND) SHIM_OP("ttnn." #name, [](const Call& c) { return call_reduction("ttnn." #name, Kind::KIND, c); });
ENTER(sum, Sum)
ENTER(mean, Mean)
ENTER(max, Max)
ENTER(min, Min)
ENTER(var, Var)
ENTER(std, Std)
#undef ENTER
SHIM_OP("ttnn.prod", [](const Call& c) {
    SHIM_SUPPORTED(!c.has("output_tensor"), "prod into an output_tensor is not supported; use the form that returns its result");
    if (c.has("dim")) {
        const auto dims = c.i32s("dim");
        if (dims.size() == 1)
            return ttnn::prod(c.tensor("input_tensor"), dims[0], c.boolean("keepdim", false), c.memory_config("memory_config"));
    }
    return call_reduction("ttnn.prod", Kind::Prod, c);
});
#define ENTER(name, KIND)                                                                                                     \
    SHIM_OP("ttnn." #name, [](const Call& c) {                                                                                \
        OpScope scope("ttnn." #name);                                                                                         \
        SHIM_CHECK(                                                                                                           \
            c.tensor("input_tensor").logical_shape().rank() == 4, "input_tensor: expected rank 4, got shape {}",              \
            c.tensor("input_tensor").logical_shape());                                                                        \
        return reduced(                                                                                                       \
            "ttnn." #name, c.tensor("input_tensor"),                                                                          \
            {Kind::KIND, ttsl::SmallVector<int>{-2, -1}, true, c.memory_config("memory_config"), std::nullopt, 1.0F, false}); \
    });
ENTER(var_hw, Var)
ENTER(std_hw, Std)
#undef ENTER
