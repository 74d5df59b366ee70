// argmax, topk, sort, cumsum, cumprod: ops that walk one dimension value by value.
#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "ops/arguments.hpp"
#include "ops/data_movement/common.hpp"
#include "ops/eltwise/engine.hpp"
#include "ops/reduction/values.hpp"
#include "ttnn/operations/copy/typecast/typecast.hpp"
#include "ttnn/operations/creation/creation.hpp"
#include "ttnn/operations/data_movement/clone/clone.hpp"
#include "ttnn/operations/data_movement/copy/copy.hpp"
#include "ttnn/operations/data_movement/permute/permute.hpp"
#include "ttnn/operations/data_movement/reshape_view/reshape.hpp"
#include "ttnn/operations/data_movement/sort/sort.hpp"
#include "ttnn/operations/moreh/moreh_cumsum/moreh_cumsum.hpp"
#include "ttnn/operations/data_movement/transpose/transpose.hpp"
#include "ttnn/operations/reduction/accumulation/accumulation.hpp"
#include "ttnn/operations/reduction/argmax/argmax.hpp"
#include "ttnn/operations/reduction/topk/topk.hpp"

using namespace ttnn_shim;

namespace {

/// Lines along `axis`: line l starts at offset(l), its values are `stride` apart.
struct Lines {
    size_t count, size, stride;
    size_t offset(size_t line) const { return line / stride * stride * size + line % stride; }
};
Lines lines_of(const Shape& shape, uint32_t axis) {
    size_t inner = 1;
    for (size_t i = axis + 1; i < shape.rank(); ++i) inner *= shape[at(i)];
    const size_t size = shape[at(axis)];
    return {size * inner == 0 ? 0 : shape.volume() / size, size, inner};
}

void check_real(const Tensor& input, bool block_floats) {
    SHIM_CHECK(
        input.dtype() == DataType::BFLOAT16 || input.dtype() == DataType::FLOAT32 || (block_floats && is_block_float(input.dtype())),
        "input_tensor: expected BFLOAT16{} or FLOAT32, got {}", block_floats ? ", BFLOAT8_B" : "", input.dtype());
}

/// Order of a line's positions: by value, NaN counts as the largest; equal values keep their order.
template <typename T>
void order_line(std::vector<uint32_t>& order, const T* values, bool descending) {
    std::iota(order.begin(), order.end(), 0U);
    auto less = [&](uint32_t a, uint32_t b) {
        if constexpr (std::is_same_v<T, float>) {
            if (std::isnan(values[a]) || std::isnan(values[b])) return !std::isnan(values[a]) && std::isnan(values[b]);
        }
        return values[a] < values[b];
    };
    if (descending) {
        std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return less(b, a); });
    } else {
        std::stable_sort(order.begin(), order.end(), less);
    }
}

void store_index(const Tensor& indices, std::byte* target, size_t offset, uint32_t value) {
    if (indices.dtype() == DataType::UINT16) {
        reinterpret_cast<uint16_t*>(target)[offset] = static_cast<uint16_t>(value);
    } else {
        reinterpret_cast<uint32_t*>(target)[offset] = value;
    }
}

/// The first `k` of every sorted line, with positions (or the entries of `labels` at them).
void sort_lines(
    const Tensor& input, uint32_t axis, size_t k, bool descending, const Tensor& values, const Tensor& indices, const Tensor* labels) {
    const F32Values source(input);
    const Lines in = lines_of(input.logical_shape(), axis), out = lines_of(values.logical_shape(), axis);
    std::byte* target = mutable_raw_data(values);
    std::byte* index_target = mutable_raw_data(indices);
    parallel_for(in.count, std::max<size_t>(1, 2048 / std::max<size_t>(1, in.size)), [&](size_t begin, size_t end) {
        std::vector<float> line(in.size);
        std::vector<uint32_t> order(in.size);
        for (size_t l = begin; l < end; ++l) {
            for (size_t i = 0; i < in.size; ++i) line[i] = source[in.offset(l) + i * in.stride];
            order_line(order, line.data(), descending);
            for (size_t i = 0; i < k; ++i) {
                const size_t place = out.offset(l) + i * out.stride;
                store_f32(values.dtype(), &line[order[i]], target + place * stored_bytes(values.dtype()), 1);
                uint32_t label = order[i];
                if (labels != nullptr) {
                    int64_t given = 0;
                    load_i64(
                        labels->dtype(), raw_data(*labels) + (in.offset(l) + order[i] * in.stride) * stored_bytes(labels->dtype()), &given,
                        1);
                    label = static_cast<uint32_t>(given);
                }
                store_index(indices, index_target, place, label);
            }
        }
    });
}

/// What TT-NN prepares before it sorts: the dimension turned to the end, rank 4, edge tiles filled, at least 64 values a row. Its verdict
/// on the shards of an input is that of these programs.
Tensor rows_to_sort(const Tensor& input, uint32_t axis) {
    constexpr uint32_t NARROWEST_ROW = 64;
    const Shape& shape = input.logical_shape();
    const bool last = axis + 1 == shape.rank();
    const Tensor turned = last ? input : ttnn::transpose(input, axis, -1, input.memory_config());
    const Tensor rows = reduction::fill_tile_padding(reduction::to_rank_4(turned));
    const auto width = static_cast<uint32_t>(rows.padded_shape()[-1]);
    const uint32_t wanted = std::max(NARROWEST_ROW, std::bit_ceil(width));
    if (wanted == width) return rows;
    Shape wide = rows.logical_shape();
    wide[-1] = wanted;
    const MemoryConfig place = scaled_memory(rows, std::nullopt, wide);
    (void)make_spec(wide, rows.dtype(), rows.layout(), place);
    return rows;
}

DataType index_dtype(const Tensor& input, size_t size) {
    constexpr size_t SHORT_INDICES = 65536;
    return input.dtype() == DataType::FLOAT32 || size > SHORT_INDICES ? DataType::UINT32 : DataType::UINT16;
}

DataType sorted_index(const Tensor& input, size_t size) {
    return input.dtype() == DataType::UINT16 ? DataType::UINT32 : index_dtype(input, size);
}

template <typename T>
void accumulate(const Tensor& input, const Tensor& output, uint32_t axis, bool product, bool reverse) {
    const Lines lines = lines_of(input.logical_shape(), axis);
    const std::byte* source = raw_data(input);
    std::byte* target = mutable_raw_data(output);
    const size_t from = stored_bytes(input.dtype()), to = stored_bytes(output.dtype());
    const size_t outer = lines.stride == 0 || lines.size == 0 ? 0 : input.logical_volume() / (lines.size * lines.stride);
    constexpr size_t WIDTH = 512;
    const size_t parts = (lines.stride + WIDTH - 1) / WIDTH;
    parallel_for(outer * parts, 1, [&](size_t begin, size_t end) {
        T row[WIDTH], total[WIDTH];
        for (size_t index = begin; index < end; ++index) {
            const size_t first = index % parts * WIDTH, n = std::min(WIDTH, lines.stride - first);
            std::fill_n(total, n, product ? T(1) : T(0));
            for (size_t i = 0; i < lines.size; ++i) {
                const size_t place = (index / parts * lines.size + (reverse ? lines.size - 1 - i : i)) * lines.stride + first;
                if constexpr (std::is_same_v<T, float>) {
                    load_f32(input.dtype(), source + place * from, row, n);
                } else {
                    load_i64(input.dtype(), source + place * from, row, n);
                }
                for (size_t j = 0; j < n; ++j) total[j] = product ? reduction::product(total[j], row[j]) : total[j] + row[j];
                if constexpr (std::is_same_v<T, float>) {
                    store_f32(output.dtype(), total, target + place * to, n);
                } else {
                    store_i64(output.dtype(), total, target + place * to, n);
                }
            }
        }
    });
}

Tensor accumulated(
    const char* op_name, const Tensor& input, int32_t dim, std::optional<DataType> dtype, bool reverse, const std::optional<Tensor>& out,
    const std::optional<MemoryConfig>& memory_config, bool product) {
    OpScope scope(op_name);
    check_device_tensor(input, "input");
    if (out) {
        check_device_tensor(*out, "out");
        SHIM_CHECK(
            out->logical_shape() == input.logical_shape(), "out: expected shape {}, got {}", input.logical_shape(), out->logical_shape());
    }
    if (input.logical_shape().rank() == 0 || input.logical_volume() == 0) {  // no program, whatever its dimension
        if (!out) return ttnn::clone(input, std::nullopt, memory_config, std::nullopt);
        return input.logical_volume() > 0 ? ttnn::copy(input, *out) : *out;
    }
    check_device_tensor(input, "input", Layout::TILE);
    SHIM_CHECK(!input.memory_config().is_sharded(), "input: sharded tensors are not supported, got {}", input.memory_config());
    const Shape& shape = input.logical_shape();
    const DataType result = dtype.value_or(input.dtype());
    if (out && out->dtype() != result)  // the library returns a tensor of its own, and what it leaves in `out` cannot be read as its dtype
        return accumulated(op_name, input, dim, dtype, reverse, std::nullopt, memory_config, product);
    const uint32_t axis = normalize_dim(dim, shape.rank());
    // The program walks the first of four dimensions; bfloat16 sums also know the last two.
    const bool direct = !product && input.dtype() == DataType::BFLOAT16 && result == input.dtype() && axis + 2 >= shape.rank();
    if (!direct && memory_config && memory_config->is_sharded()) {  // TT-NN runs with the dimension in front, in the result's memory
        auto turned = extents_of(shape);
        turned.insert(turned.begin(), 4 - std::min<size_t>(4, turned.size()), 1);
        std::swap(turned[turned.size() - shape.rank() + axis], turned.front());
        const TensorSpec spec = make_spec(shape_of(turned), result, Layout::TILE, *memory_config);
        const uint64_t tiles = spec.padded_shape().volume() / tt::constants::TILE_HW;
        reduction::check_result_cores(input, *memory_config, tiles / std::max(1U, turned.front()));
    }
    if (!direct && !out && input.logical_volume() > 0 && shape.rank() >= 2 && shape.rank() <= 4 && axis + 4 != shape.rank()) {
        auto four = extents_of(shape);
        four.insert(four.begin(), 4 - four.size(), 1);
        ttsl::SmallVector<int64_t> order{0, 1, 2, 3};
        std::swap(order[0], order[4 - shape.rank() + axis]);
        const Tensor first = result == input.dtype() ? input : ttnn::typecast(input, result);
        Tensor turned = ttnn::permute(ttnn::reshape(first, shape_of(four)), order);
        const Tensor sums = accumulated(op_name, turned, 0, std::nullopt, reverse, std::nullopt, memory_config, product);
        turned = Tensor();  // its place is the result's
        return ttnn::reshape(ttnn::permute(sums, order), shape);
    }
    return launch(
        {.op = strategy::Accumulation{.dim = axis, .op = product ? "PROD" : "SUM"}, .name = "AccumulationDeviceOperation"}, {input},
        {spec_like(input, result, out ? std::optional<MemoryConfig>(out->memory_config()) : memory_config)},
        [=](std::span<const Tensor> outputs) {
            if (is_integer(input.dtype()) && is_integer(result)) {
                accumulate<int64_t>(input, outputs[0], axis, product, reverse);
            } else {
                accumulate<float>(input, outputs[0], axis, product, reverse);
            }
        },
        {out})[0];
}

void argmax_values(const Tensor& input, const Lines& lines, const Tensor& output) {
    auto target = mutable_data<uint32_t>(output);
    auto run = [&](auto zero, auto load) {
        using T = decltype(zero);
        parallel_for(lines.count, std::max<size_t>(1, 8192 / lines.size), [&](size_t begin, size_t end) {
            std::vector<T> line(lines.size);
            for (size_t l = begin; l < end; ++l) {
                load(lines, l, line.data());
                size_t best = 0;
                for (size_t i = 1; i < lines.size; ++i) {
                    const bool nan = line[best] != line[best];
                    if (!nan && (line[i] > line[best] || line[i] != line[i])) best = i;
                }
                target[l] = static_cast<uint32_t>(best);
            }
        });
    };
    const std::byte* source = raw_data(input);
    const size_t bytes = stored_bytes(input.dtype());
    if (is_integer(input.dtype())) {
        run(int64_t{0}, [&](const Lines& s, size_t l, int64_t* line) {
            for (size_t i = 0; i < s.size; ++i) load_i64(input.dtype(), source + (s.offset(l) + i * s.stride) * bytes, line + i, 1);
        });
    } else {
        run(0.0F, [&](const Lines& s, size_t l, float* line) {
            if (s.stride == 1) {
                load_f32(input.dtype(), source + s.offset(l) * bytes, line, s.size);
            } else {
                for (size_t i = 0; i < s.size; ++i) load_f32(input.dtype(), source + (s.offset(l) + i * s.stride) * bytes, line + i, 1);
            }
        });
    }
}

}  // namespace

namespace ttnn {

Tensor argmax(
    const Tensor& input, const std::optional<int>& dim, bool keepdim, const std::optional<CoreRangeSet>& grids,
    const std::optional<MemoryConfig>& memory_config, std::optional<Tensor> output, std::optional<bool>) {
    OpScope scope("ttnn.argmax");
    check_device_tensor(input, "input_tensor");
    if (input.logical_shape().rank() == 0 || input.logical_volume() == 0) {  // no program
        const Shape& shape = input.logical_shape();
        std::vector<uint32_t> axes;
        if (shape.rank() == 0) SHIM_CHECK(!dim || *dim == 0 || *dim == -1, "dim {} out of range for rank 0", *dim);
        for (uint32_t i = 0; i < shape.rank(); ++i) {
            if (dim && normalize_dim(*dim, shape.rank()) != i) continue;
            SHIM_CHECK(shape[at(i)] > 0, "dim: no values along dimension {} of shape {}", i, shape);
            axes.push_back(i);
        }
        return ttnn::full(
            reduction::without(shape, axes, keepdim), 0, DataType::UINT32, input.layout(), *input.device(),
            memory_config.value_or(input.memory_config()));
    }
    SHIM_CHECK(
        !memory_config || !memory_config->is_sharded(), "memory_config: expected interleaved memory, got {}",
        memory_config.value_or(MemoryConfig{}));
    const bool tiled = input.layout() == Layout::TILE;
    SHIM_CHECK(
        !tiled || input.dtype() == DataType::BFLOAT16 || input.dtype() == DataType::FLOAT32,
        "input_tensor: only BFLOAT16, FLOAT32 are supported for inputs with TILE layout, got {}", input.dtype());
    SHIM_CHECK(!is_block_float(input.dtype()), "input_tensor: {} is not supported", input.dtype());
    SHIM_CHECK(stored_bytes(input.dtype()) > 1, "input_tensor: {} is not supported", input.dtype());
    SHIM_CHECK(!input.memory_config().is_sharded(), "input_tensor: expected interleaved memory, got {}", input.memory_config());
    SHIM_CHECK(!tiled || dim, "dim: must be given for inputs with TILE layout");
    SHIM_CHECK(
        tiled || !dim || !is_integer(input.dtype()) ||
            normalize_dim(*dim, input.logical_shape().rank()) + 1 == input.logical_shape().rank(),
        "dim: only the last dimension for {} in ROW_MAJOR layout, got {}", input.dtype(), *dim);
    const Shape& shape = input.logical_shape();
    std::vector<uint32_t> extents;
    uint32_t axis = 0;
    if (dim) {
        axis = normalize_dim(*dim, shape.rank());
        extents = extents_of(shape);
        if (keepdim) {
            extents[axis] = 1;
        } else {
            extents.erase(extents.begin() + axis);
        }
    } else if (keepdim) {
        extents.assign(shape.rank(), 1);
    }
    const Lines lines = dim ? lines_of(shape, axis) : Lines{1, input.logical_volume(), 1};
    return launch(
        {.op = strategy::ArgMax{.dim = axis}, .name = "ArgMaxDeviceOperation", .cores = grids}, {input},
        {make_spec(
            shape_of(extents), DataType::UINT32, Layout::ROW_MAJOR,
            memory_config.value_or(output ? output->memory_config() : MemoryConfig(input.memory_config().buffer_type())))},
        [=](std::span<const Tensor> outputs) { argmax_values(input, lines, outputs[0]); }, {output})[0];
}

std::vector<Tensor> topk(
    const Tensor& input, uint32_t k, int8_t dim, bool largest, bool, const std::optional<MemoryConfig>& memory_config,
    const std::optional<CoreRangeSet>& grids, const std::optional<Tensor>& indices_tensor,
    std::optional<std::tuple<Tensor&, Tensor&>> preallocated, bool) {
    OpScope scope("ttnn.topk");
    check_device_tensor(input, "input_tensor");
    if (input.logical_shape().rank() > 0 && input.logical_volume() == 0) {  // no program: both results have the input's dtype
        auto extents = extents_of(input.logical_shape());
        uint32_t& along = extents[normalize_dim(dim, extents.size())];
        SHIM_CHECK(k <= along, "k: expected at most {}, got {}", along, k);
        along = k;
        const auto empty = [&] {
            return ttnn::zeros(
                shape_of(extents), input.dtype(), input.layout(), *input.device(), memory_config.value_or(input.memory_config()));
        };
        return {empty(), empty()};
    }
    check_device_tensor(input, "input_tensor", Layout::TILE);
    check_real(input, true);
    SHIM_CHECK(input.dtype() != DataType::BFLOAT4_B, "input_tensor: expected BFLOAT16, BFLOAT8_B or FLOAT32, got {}", input.dtype());
    SHIM_CHECK(!memory_config.value_or(input.memory_config()).is_sharded(), "memory_config: a sharded result is not supported");
    const Shape& shape = input.logical_shape();
    const uint32_t axis = normalize_dim(dim, shape.rank());
    SHIM_CHECK(k >= 1 && k <= shape[at(axis)], "k: expected 1 to {} (dimension {} of shape {}), got {}", shape[at(axis)], axis, shape, k);
    if (indices_tensor) {
        SHIM_CHECK(
            indices_tensor->logical_shape() == shape && is_integer(indices_tensor->dtype()),
            "indices_tensor: expected integers of shape {}, got {} of shape {}", shape, indices_tensor->dtype(),
            indices_tensor->logical_shape());
    }
    auto extents = extents_of(shape);
    extents[axis] = k;
    const Shape result = shape_of(extents);
    const bool last = axis + 1 == shape.rank();
    if (input.is_sharded()) (void)rows_to_sort(input, axis);
    const MemoryConfig memory = last ? result_memory(input, memory_config, result) : result_memory(input, std::nullopt, result);
    std::vector<OptionalTensor> outputs(2);
    if (preallocated) outputs = {std::get<0>(*preallocated), std::get<1>(*preallocated)};
    return launch(
        {.op = strategy::TopK{.k = k, .dim = axis}, .name = "TopKDeviceOperation", .cores = grids}, {input},
        {make_spec(result, input.dtype(), Layout::TILE, memory),
         make_spec(result, index_dtype(input, shape[at(axis)]), Layout::TILE, memory)},
        [=](std::span<const Tensor> made) {
            sort_lines(input, axis, k, largest, made[0], made[1], indices_tensor ? &*indices_tensor : nullptr);
        },
        outputs);
}

std::vector<Tensor> sort(
    const Tensor& input, int8_t dim, bool descending, bool, const std::optional<MemoryConfig>& memory_config,
    std::optional<std::tuple<Tensor&, Tensor&>> preallocated) {
    OpScope scope("ttnn.sort");
    check_device_tensor(input, "input_tensor");
    const size_t rank = input.logical_shape().rank();
    if (rank == 0) SHIM_CHECK(dim == 0 || dim == -1, "dim {} out of range for rank 0", int{dim});
    const uint32_t along = rank == 0 ? 1 : input.logical_shape()[at(normalize_dim(dim, rank))];
    if (!preallocated && (input.logical_volume() == 0 || along == 1)) {  // sorted as it is, whatever its dtype
        const Tensor copy = ttnn::clone(input, std::nullopt, memory_config, std::nullopt);
        const Tensor zeros = ttnn::zeros(
            input.logical_shape(), sorted_index(input, 1), input.layout(), *input.device(), memory_config.value_or(input.memory_config()));
        return {copy, zeros};
    }
    constexpr uint32_t NARROWEST_ROW = 32;
    SHIM_CHECK(
        input.layout() == Layout::TILE || std::bit_ceil(along) >= NARROWEST_ROW, "input_tensor: rows of {} values need TILE layout to sort",
        along);
    SHIM_CHECK(
        input.dtype() == DataType::UINT16 || is_floating_point(input.dtype()), "input_tensor: expected BFLOAT16, FLOAT32 or UINT16, got {}",
        input.dtype());
    SHIM_CHECK(!is_block_float(input.dtype()), "input_tensor: expected BFLOAT16, FLOAT32 or UINT16, got {}", input.dtype());
    const Shape& shape = input.logical_shape();
    SHIM_CHECK(shape.rank() >= 1, "input_tensor: expected rank 1 or more");
    const uint32_t axis = normalize_dim(dim, shape.rank());
    // Another dimension is turned back into the input's memory, unless shards were asked for: turning keeps those.
    const auto memory = axis + 1 == shape.rank() || (memory_config && memory_config->is_sharded()) ? memory_config : std::nullopt;
    std::vector<OptionalTensor> outputs(2);
    std::vector<TensorSpec> specs{spec_like(input, std::nullopt, memory), spec_like(input, sorted_index(input, shape[at(axis)]), memory)};
    if (preallocated) {
        outputs = {std::get<0>(*preallocated), std::get<1>(*preallocated)};
        specs = {outputs[0]->tensor_spec(), outputs[1]->tensor_spec()};
        SHIM_CHECK(
            specs[0].logical_shape() == shape && specs[1].logical_shape() == shape, "out: expected two tensors of shape {}, got {} and {}",
            shape, specs[0].logical_shape(), specs[1].logical_shape());
        SHIM_CHECK(
            specs[0].data_type() == input.dtype() && (specs[1].data_type() == DataType::UINT16 || specs[1].data_type() == DataType::UINT32),
            "out: expected values in {} and indices in UINT16 or UINT32, got {} and {}", input.dtype(), specs[0].data_type(),
            specs[1].data_type());
    }
    return launch(
        {.op = strategy::Sort{.dim = axis}, .name = "SortDeviceOperation"}, {input}, specs,
        [=](std::span<const Tensor> made) { sort_lines(input, axis, shape[at(axis)], descending, made[0], made[1], nullptr); }, outputs);
}

Tensor cumsum(
    const Tensor& input, const int32_t& dim, std::optional<DataType> dtype, const bool& reverse_order, std::optional<Tensor> out,
    const std::optional<MemoryConfig>& memory_config, bool) {
    return accumulated("ttnn.cumsum", input, dim, dtype, reverse_order, out, memory_config, false);
}
Tensor moreh_cumsum(
    const Tensor& input, int64_t dim, const std::optional<Tensor>& output, const std::optional<MemoryConfig>& memory_config) {
    const auto memory = memory_config.value_or(input.memory_config());
    return accumulated("ttnn.moreh_cumsum", input, static_cast<int32_t>(dim), input.dtype(), false, output, memory, false);
}
Tensor moreh_cumsum_backward(
    const Tensor& output_grad, int64_t dim, const std::optional<Tensor>& input_grad, const std::optional<MemoryConfig>& memory_config) {
    const auto memory = memory_config.value_or(output_grad.memory_config());
    return accumulated(
        "ttnn.moreh_cumsum_backward", output_grad, static_cast<int32_t>(dim), output_grad.dtype(), true, input_grad, memory, false);
}
Tensor cumprod(
    const Tensor& input, const int32_t& dim, std::optional<DataType> dtype, const bool& reverse_order, std::optional<Tensor> out,
    const std::optional<MemoryConfig>& memory_config) {
    return accumulated("ttnn.cumprod", input, dim, dtype, reverse_order, out, memory_config, true);
}

}  // namespace ttnn

SHIM_OP("ttnn.argmax", [](const arguments::argmax& args) {
    return ttnn::argmax(args.input_tensor, args.dim, args.keepdim, args.sub_core_grids, args.memory_config, args.output_tensor);
});
SHIM_OP("ttnn.topk", [](const arguments::topk& args) {
    OpScope scope("ttnn.topk");
    SHIM_CHECK(args.k >= 1, "k: expected 1 or more, got {}", args.k);
    return ttnn::topk(
        args.input_tensor, args.k, static_cast<int8_t>(args.dim), args.largest, args.sorted, args.memory_config, args.sub_core_grids,
        args.indices_tensor);
});
SHIM_OP("ttnn.sort", [](const arguments::sort& args) {
    if (!args.out) return ttnn::sort(args.input_tensor, static_cast<int8_t>(args.dim), args.descending, args.stable, args.memory_config);
    SHIM_CHECK(args.out->size() == 2, "out: expected values and indices, got {} tensors", args.out->size());
    Tensor values = (*args.out)[0], indices = (*args.out)[1];
    return ttnn::sort(
        args.input_tensor, static_cast<int8_t>(args.dim), args.descending, args.stable, args.memory_config,
        std::tuple<Tensor&, Tensor&>(values, indices));
});
SHIM_OP("ttnn.cumsum", [](const arguments::cumsum& args) {
    return accumulated("ttnn.cumsum", args.input, args.dim, args.dtype, args.reverse_order, args.out, args.memory_config, false);
});
SHIM_OP("ttnn.cumprod", [](const arguments::cumprod& args) {
    return accumulated("ttnn.cumprod", args.input_tensor, args.dim, args.dtype, args.reverse_order, args.out, args.memory_config, true);
});
SHIM_OP("ttnn.moreh_cumsum", [](const arguments::moreh_cumsum& args) {
    return ttnn::moreh_cumsum(args.input, args.dim, args.output, args.memory_config);
});
SHIM_OP("ttnn.moreh_cumsum_backward", [](const arguments::moreh_cumsum_backward& args) {
    return ttnn::moreh_cumsum_backward(args.output_grad, args.dim, args.input_grad, args.memory_config);
});
