// Cutting and joining: slice, split, chunk, narrow, concat, stack, pad, repeat, repeat_interleave, expand, roll.
#include <algorithm>

#include "ops/data_movement/common.hpp"
#include "ops/eltwise/engine.hpp"
#include "ttnn/operations/core/to_layout/to_layout_op.hpp"
#include "ttnn/operations/core/to_memory_config/to_memory_config_op.hpp"
#include "ttnn/operations/data_movement/chunk/chunk.hpp"
#include "ttnn/operations/data_movement/concat/concat.hpp"
#include "ttnn/operations/data_movement/copy/copy.hpp"
#include "ttnn/operations/data_movement/expand/expand.hpp"
#include "ttnn/operations/data_movement/narrow/narrow.hpp"
#include "ttnn/operations/data_movement/pad/pad.hpp"
#include "ttnn/operations/data_movement/repeat/repeat.hpp"
#include "ttnn/operations/data_movement/repeat_interleave/repeat_interleave.hpp"
#include "ttnn/operations/data_movement/reshape_view/reshape.hpp"
#include "ttnn/operations/data_movement/roll/roll.hpp"
#include "ttnn/operations/data_movement/slice/slice.hpp"
#include "ttnn/operations/data_movement/split/split.hpp"
#include "ttnn/operations/data_movement/stack/stack.hpp"
#include "ttnn/operations/data_movement/unsqueeze/unsqueeze.hpp"

using namespace ttnn_shim;

namespace {

int32_t at(size_t index) { return static_cast<int32_t>(index); }

struct Bounds {
    std::vector<int64_t> begins, ends, steps;
};

Bounds check_bounds(const Shape& shape, const Bounds& given) {
    const size_t rank = shape.rank();
    SHIM_CHECK(
        given.begins.size() == rank && given.ends.size() == rank && given.steps.size() == rank,
        "starts, ends and steps: expected {} values each for shape {}, got {}, {} and {}", rank, shape, given.begins.size(),
        given.ends.size(), given.steps.size());
    Bounds bounds = given;
    for (size_t i = 0; i < rank; ++i) {
        const int64_t extent = shape[at(i)];
        SHIM_CHECK(given.steps[i] >= 1, "steps: expected at least 1, got {} in dimension {}", given.steps[i], i);
        if (bounds.begins[i] < 0) bounds.begins[i] += extent;
        if (bounds.ends[i] < 0) bounds.ends[i] += extent;
        SHIM_CHECK(
            bounds.begins[i] >= 0 && bounds.begins[i] <= extent, "starts: {} is outside dimension {} of shape {}", given.begins[i], i,
            shape);
        SHIM_CHECK(
            bounds.ends[i] >= 0 && bounds.ends[i] <= extent, "ends: {} is outside dimension {} of shape {}", given.ends[i], i, shape);
        SHIM_CHECK(bounds.begins[i] <= bounds.ends[i], "starts: {} is after the end {} in dimension {}", given.begins[i], given.ends[i], i);
    }
    return bounds;
}

Tensor sliced(
    const Tensor& input, const Bounds& given, const std::optional<MemoryConfig>& memory_config, const std::optional<Tensor>& output) {
    OpScope scope("ttnn.slice");
    const Shape& shape = input.logical_shape();
    const Bounds b = check_bounds(shape, given);
    std::vector<uint32_t> extents;
    std::vector<int64_t> strides = signed_strides(shape);
    int64_t offset = 0;
    bool whole = true, stepped = false, aligned = true;
    for (size_t i = 0; i < shape.rank(); ++i) {
        extents.push_back(static_cast<uint32_t>((b.ends[i] - b.begins[i] + b.steps[i] - 1) / b.steps[i]));
        offset += b.begins[i] * strides[i];
        strides[i] *= b.steps[i];
        whole = whole && b.begins[i] == 0 && b.ends[i] == shape[at(i)] && b.steps[i] == 1;
        stepped = stepped || b.steps[i] != 1;
        if (i + 2 >= shape.rank()) aligned = aligned && b.begins[i] % 32 == 0;
    }
    const Shape result = shape_of(extents);
    if (whole && !output && (!memory_config || *memory_config == input.memory_config())) return input;
    if (!is_on_device(input)) {
        const TensorSpec spec = make_spec(result, input.dtype(), input.layout());
        auto values = new_values(spec);
        if (has_values(input))
            strided_copy(
                stored_bytes(input.dtype()), raw_data(input) + offset * static_cast<int64_t>(stored_bytes(input.dtype())), values->data(),
                dense_target(result, strides));
        return make_host_tensor(spec, values);
    }
    check_device_tensor(input, "input_tensor");
    SHIM_CHECK(!stepped || !is_block_float(input.dtype()), "steps: a strided slice of {} is not supported", input.dtype());
    const Program program{.op = "slice", .attrs = {{"begins", b.begins}, {"ends", b.ends}, {"step", b.steps}}};
    SHIM_CHECK(
        input.layout() != Layout::TILE || aligned || input.dtype() != DataType::BFLOAT4_B, "starts: {} tiles can be cut only between tiles",
        input.dtype());
    if (input.layout() == Layout::TILE && (stepped || !aligned || (shape.rank() == 1 && !is_block_float(input.dtype())))) {
        // TT-NN slices inside tiles by way of row-major
        const Tensor rows = ttnn::to_layout(input, Layout::ROW_MAJOR);
        const Tensor cut = moved(program, rows, result, scaled_memory(rows, memory_config, result), dense_target(result, strides), offset);
        return ttnn::to_layout(cut, Layout::TILE);
    }
    return moved(program, input, result, scaled_memory(input, memory_config, result), dense_target(result, strides), offset, output);
}

/// Result of pad: the input's shards, as wide as the result where they are rows of it; what does not fit is refused with the spec.
MemoryConfig padded_memory(const Tensor& input, const std::optional<MemoryConfig>& requested, const Shape& result) {
    const MemoryConfig& own = input.memory_config();
    if (requested || !own.is_sharded() || !own.shard_spec()) return result_memory(input, requested, result);
    auto shard = *own.shard_spec();
    if (own.memory_layout() == TensorMemoryLayout::HEIGHT_SHARDED) {
        const bool tiled = input.layout() == Layout::TILE;
        const Shape to = make_spec(result, input.dtype(), input.layout()).padded_shape(),
                    from = tiled ? input.padded_shape() : input.logical_shape();
        const uint64_t rows = to.volume() / to[-1], rows_before = from.volume() / from[-1];
        // Wider rows are dealt anew when that comes out even; more rows alone are not.
        if (to[-1] != from[-1] && shard.shape[0] * rows % (rows_before * (tiled ? 32 : 1)) == 0)
            shard.shape[0] = static_cast<uint32_t>(shard.shape[0] * rows / rows_before);
        shard.shape[1] = to[-1];
    }
    return MemoryConfig(own.memory_layout(), own.buffer_type(), shard);
}

std::vector<int64_t> values_of(const Tensor& tensor) {
    SHIM_CHECK(is_integer(tensor.dtype()), "starts and ends: expected integer tensors, got {}", tensor.dtype());
    SHIM_CHECK(has_values(tensor), "starts and ends: their values decide the result's shape, which needs data");
    std::vector<int64_t> values(tensor.logical_volume());
    load_i64(tensor.dtype(), raw_data(tensor), values.data(), values.size());
    return values;
}

}  // namespace

namespace ttnn {

template <typename T>
Tensor slice(
    const Tensor& input, ttsl::Span<const T> begins, ttsl::Span<const T> ends, ttsl::Span<const T> step,
    const std::optional<MemoryConfig>& memory_config, const std::optional<Tensor>& output, const std::optional<float>&,
    const std::optional<CoreRangeSet>&) {
    return sliced(input, {{begins.begin(), begins.end()}, {ends.begin(), ends.end()}, {step.begin(), step.end()}}, memory_config, output);
}
template Tensor slice<int32_t>(
    const Tensor&, ttsl::Span<const int32_t>, ttsl::Span<const int32_t>, ttsl::Span<const int32_t>, const std::optional<MemoryConfig>&,
    const std::optional<Tensor>&, const std::optional<float>&, const std::optional<CoreRangeSet>&);
template Tensor slice<uint32_t>(
    const Tensor&, ttsl::Span<const uint32_t>, ttsl::Span<const uint32_t>, ttsl::Span<const uint32_t>, const std::optional<MemoryConfig>&,
    const std::optional<Tensor>&, const std::optional<float>&, const std::optional<CoreRangeSet>&);

template <typename T>
Tensor slice(
    const Tensor& input, const Tensor& starts, const Tensor& ends, const std::optional<ttsl::SmallVector<T>>& step,
    const std::optional<MemoryConfig>& memory_config, const std::optional<Tensor>& output, const std::optional<float>&,
    const std::optional<uint32_t>&, const std::optional<uint32_t>&, const std::optional<CoreRangeSet>&) {
    OpScope scope("ttnn.slice");
    std::vector<int64_t> steps(input.logical_shape().rank(), 1);
    if (step) steps.assign(step->begin(), step->end());
    return sliced(input, {values_of(starts), values_of(ends), steps}, memory_config, output);
}
template Tensor slice<int32_t>(
    const Tensor&, const Tensor&, const Tensor&, const std::optional<ttsl::SmallVector<int32_t>>&, const std::optional<MemoryConfig>&,
    const std::optional<Tensor>&, const std::optional<float>&, const std::optional<uint32_t>&, const std::optional<uint32_t>&,
    const std::optional<CoreRangeSet>&);
template Tensor slice<uint32_t>(
    const Tensor&, const Tensor&, const Tensor&, const std::optional<ttsl::SmallVector<uint32_t>>&, const std::optional<MemoryConfig>&,
    const std::optional<Tensor>&, const std::optional<float>&, const std::optional<uint32_t>&, const std::optional<uint32_t>&,
    const std::optional<CoreRangeSet>&);

Tensor experimental::slice_write(
    const Tensor& input, Tensor& output, const ttsl::SmallVector<uint32_t>& start, const ttsl::SmallVector<uint32_t>& end,
    const ttsl::SmallVector<uint32_t>& step) {
    OpScope scope("ttnn.experimental.slice_write");
    check_device_tensor(input, "input_tensor");
    check_device_tensor(output, "output_tensor");
    SHIM_CHECK(
        input.dtype() == output.dtype(), "expected the same dtype for input and output, got {} and {}", input.dtype(), output.dtype());
    const Bounds b =
        check_bounds(output.logical_shape(), {{start.begin(), start.end()}, {end.begin(), end.end()}, {step.begin(), step.end()}});
    const Shape& shape = input.logical_shape();
    SHIM_CHECK(shape.rank() == b.begins.size(), "expected ranks to agree, got shapes {} and {}", shape, output.logical_shape());
    std::vector<int64_t> target = signed_strides(output.logical_shape());
    const std::vector<int64_t> source = signed_strides(shape);
    std::vector<StridedDim> dims;
    int64_t offset = 0;
    for (size_t i = 0; i < shape.rank(); ++i) {
        const int64_t extent = (b.ends[i] - b.begins[i] + b.steps[i] - 1) / b.steps[i];
        SHIM_CHECK(extent == shape[at(i)], "the region holds {} values in dimension {}, the input {}", extent, i, shape[at(i)]);
        offset += b.begins[i] * target[i];
        dims.push_back({shape[at(i)], source[i], target[i] * b.steps[i]});
    }
    return launch(
        {.op = "slice_write", .attrs = {{"begins", b.begins}, {"ends", b.ends}}}, {input, output}, {output.tensor_spec()},
        [&](std::span<const Tensor> outputs) {
            const auto bytes = static_cast<int64_t>(stored_bytes(input.dtype()));
            strided_copy(static_cast<size_t>(bytes), raw_data(input), mutable_raw_data(outputs[0]) + offset * bytes, dims);
        },
        {output})[0];
}

std::vector<Tensor> split(
    const Tensor& input, const ttsl::SmallVector<int64_t>& split_sizes, int64_t dim, const std::optional<MemoryConfig>& memory_config) {
    OpScope scope("ttnn.split");
    check_device_tensor(input, "input_tensor");
    const Shape& shape = input.logical_shape();
    const uint32_t axis = normalize_dim(dim, shape.rank());
    int64_t total = 0;
    for (const int64_t size : split_sizes) {
        SHIM_CHECK(size > 0, "split_size: expected positive sizes, got {}", size);
        total += size;
    }
    SHIM_CHECK(
        total == shape[at(axis)], "split_size: the sizes add to {}, dimension {} of shape {} has {}", total, dim, shape, shape[at(axis)]);
    std::vector<Tensor> parts;
    Bounds bounds{std::vector<int64_t>(shape.rank(), 0), {shape.begin(), shape.end()}, std::vector<int64_t>(shape.rank(), 1)};
    int64_t begin = 0;
    for (const int64_t size : split_sizes) {
        bounds.begins[axis] = begin;
        bounds.ends[axis] = begin += size;
        // TT-NN's split of tiles ends in interleaved DRAM where the shards cannot be cut evenly
        auto extents = extents_of(shape);
        extents[axis] = static_cast<uint32_t>(size);
        const bool inside = axis + 2 >= shape.rank() && size % 32 != 0;
        const bool uneven =
            input.layout() == Layout::TILE && input.memory_config().shard_spec() && (inside || !scales_evenly(input, shape_of(extents)));
        parts.push_back(sliced(input, bounds, memory_config || !uneven ? memory_config : MemoryConfig{}, std::nullopt));
    }
    return parts;
}
std::vector<Tensor> split(const Tensor& input, int64_t split_size, int64_t dim, const std::optional<MemoryConfig>& memory_config) {
    OpScope scope("ttnn.split");
    SHIM_CHECK(split_size > 0, "split_size: expected a positive size, got {}", split_size);
    const int64_t extent = input.logical_shape()[at(normalize_dim(dim, input.logical_shape().rank()))];
    ttsl::SmallVector<int64_t> sizes;
    for (int64_t done = 0; done < extent; done += split_size) sizes.push_back(std::min(split_size, extent - done));
    return split(input, sizes, dim, memory_config);
}
std::vector<Tensor> chunk(const Tensor& input, uint32_t chunks, int dim) {
    OpScope scope("ttnn.chunk");
    SHIM_CHECK(chunks > 0, "chunks: expected a positive number, got {}", chunks);
    const uint32_t extent = input.logical_shape()[at(normalize_dim(dim, input.logical_shape().rank()))];
    return split(input, static_cast<int64_t>(std::max<uint32_t>(1, (extent + chunks - 1) / chunks)), dim);
}
Tensor narrow(const Tensor& input, int dim, int start, uint32_t length) {
    OpScope scope("ttnn.narrow");
    const Shape& shape = input.logical_shape();
    const uint32_t axis = normalize_dim(dim, shape.rank());
    // TT-NN's narrow is a view of the pages: whole tiles, and of an interleaved tensor one run of pages
    SHIM_CHECK(
        input.layout() != Layout::TILE || axis + 2 < shape.rank() || (start % 32 == 0 && length % 32 == 0),
        "start and length: narrowing tiles needs multiples of 32, got {} and {}", start, length);
    for (uint32_t i = 0; i < axis && !input.memory_config().is_sharded(); ++i)
        SHIM_CHECK(
            shape[at(i)] == 1, "dim: narrowing dimension {} of an interleaved tensor needs extents of 1 before it, got shape {}", axis,
            shape);
    if (start < 0) start += static_cast<int>(shape[at(axis)]);
    SHIM_CHECK(
        start >= 0 && static_cast<uint64_t>(start) + length <= shape[at(axis)],
        "start {} and length {} do not fit dimension {} of shape {}", start, length, dim, shape);
    Bounds bounds{std::vector<int64_t>(shape.rank(), 0), {shape.begin(), shape.end()}, std::vector<int64_t>(shape.rank(), 1)};
    bounds.begins[axis] = start;
    bounds.ends[axis] = start + static_cast<int64_t>(length);
    return sliced(input, bounds, std::nullopt, std::nullopt);
}

namespace {
/// TT-NN joins tiles inside their padding by way of row-major, in one layout, and refuses what cannot go there.
struct Joined {
    std::vector<Tensor> tensors;
    bool by_sticks = false;
};
Joined joinable(const std::vector<Tensor>& tensors, uint32_t axis) {
    Joined joined{tensors};
    const Tensor& first = tensors[0];
    const size_t rank = first.logical_shape().rank();
    const bool sharded = first.memory_config().is_sharded();
    bool mixed = false, ragged = false;
    for (const Tensor& tensor : tensors) {
        mixed = mixed || tensor.layout() != first.layout();
        ragged = ragged || rank < 2 || tensor.logical_shape()[-1] % 32 != 0 || tensor.logical_shape()[-2] % 32 != 0;
        SHIM_CHECK(
            tensor.memory_config().is_sharded() == sharded, "tensors: all must be sharded or all interleaved, got {} and {}",
            first.memory_config(), tensor.memory_config());
        const bool padded = axis + 2 >= rank && tensor.layout() == Layout::TILE && tensor.logical_shape()[at(axis)] % 32 != 0;
        joined.by_sticks = joined.by_sticks || padded;
    }
    // Tensors of two layouts meet in the first one's, or in sticks when tiles would be padded.
    const Layout layout = mixed && ragged ? Layout::ROW_MAJOR : first.layout();
    SHIM_CHECK(
        !mixed || !joined.by_sticks, "tensors: {} and {} cannot be joined inside the padding of tiles", Layout::TILE, Layout::ROW_MAJOR);
    for (Tensor& tensor : joined.tensors) {
        if (joined.by_sticks) {
            SHIM_CHECK(
                tensor.dtype() != DataType::BFLOAT4_B && tensor.dtype() != DataType::UINT8,
                "tensors: {} tiles cannot be joined inside their padding", tensor.dtype());
        }
        if (tensor.layout() != layout) tensor = ttnn::to_layout(tensor, layout);
    }
    return joined;
}
}  // namespace

Tensor concat(
    const std::vector<Tensor>& given, int dim, const std::optional<MemoryConfig>& memory_config, const std::optional<Tensor>& output,
    unsigned int groups, const std::optional<CoreRangeSet>&) {
    OpScope scope("ttnn.concat");
    SHIM_CHECK(!given.empty(), "tensors: expected at least one tensor");
    for (const Tensor& tensor : given) check_device_tensor(tensor, "tensors");
    const Shape shape = given[0].logical_shape();
    const uint32_t axis = normalize_dim(dim, shape.rank());
    uint64_t total = 0;
    for (const Tensor& tensor : given) {
        const Shape& other = tensor.logical_shape();
        SHIM_CHECK(other.rank() == shape.rank(), "tensors: expected the same rank, got shapes {} and {}", shape, other);
        SHIM_CHECK(tensor.dtype() == given[0].dtype(), "tensors: expected the same dtype, got {} and {}", given[0].dtype(), tensor.dtype());
        for (size_t i = 0; i < shape.rank(); ++i) {
            SHIM_CHECK(
                i == axis || other[at(i)] == shape[at(i)], "tensors: shapes {} and {} differ outside dimension {}", shape, other, dim);
        }
        total += other[at(axis)];
    }
    SHIM_CHECK(groups >= 1 && total < (uint64_t{1} << 32), "groups: expected at least 1, got {}", groups);
    const Joined joined = joinable(given, axis);
    const std::vector<Tensor>& tensors = joined.tensors;
    const Tensor& first = tensors[0];
    const DataType dtype = joined.by_sticks && is_block_float(first.dtype()) ? DataType::BFLOAT16 : first.dtype();
    if (tensors.size() == 1 && !output)
        return memory_config && *memory_config != first.memory_config() ? ttnn::to_memory_config(first, *memory_config) : first;
    for (const Tensor& tensor : tensors) {
        SHIM_CHECK(
            tensor.logical_shape()[at(axis)] % groups == 0, "groups: {} does not divide dimension {} of shape {}", groups, dim,
            tensor.logical_shape());
    }
    auto extents = extents_of(shape);
    extents[axis] = static_cast<uint32_t>(total);
    const Shape result = shape_of(extents);
    return launch(
        {.op = "concat", .attrs = {{"dim", int64_t{axis}}}}, tensors,
        {make_spec(result, dtype, first.layout(), output ? output->memory_config() : memory_config.value_or(MemoryConfig{}))},
        [&](std::span<const Tensor> outputs) {
            std::byte* target = mutable_raw_data(outputs[0]);
            const size_t bytes = stored_bytes(first.dtype());
            const auto strides = signed_strides(result);
            const auto inner = strides[axis];
            const size_t outer = result.volume() == 0 ? 0 : result.volume() / (total * static_cast<uint64_t>(inner));
            int64_t begin = 0;
            for (unsigned int group = 0; group < groups; ++group) {  // groups interleave: part g of every tensor, then part g + 1
                for (const Tensor& tensor : tensors) {
                    const auto run = static_cast<int64_t>(tensor.logical_shape()[at(axis)]) / groups * inner;
                    const auto row = static_cast<int64_t>(tensor.logical_shape()[at(axis)]) * inner;
                    strided_copy(
                        bytes, raw_data(tensor) + group * run * static_cast<int64_t>(bytes), target + begin * static_cast<int64_t>(bytes),
                        {{outer, row, static_cast<int64_t>(total) * inner}, {static_cast<size_t>(run), 1, 1}});
                    begin += run;
                }
            }
        },
        {output})[0];
}

Tensor stack(const std::vector<Tensor>& tensors, int dim) {
    OpScope scope("ttnn.stack");
    SHIM_CHECK(!tensors.empty(), "tensors: expected at least one tensor");
    std::vector<Tensor> raised;
    for (const Tensor& tensor : tensors) {
        SHIM_CHECK(
            tensor.logical_shape() == tensors[0].logical_shape(), "tensors: expected the same shape, got {} and {}",
            tensors[0].logical_shape(), tensor.logical_shape());
        raised.push_back(unsqueeze(tensor, dim));
    }
    return concat(raised, dim);
}

Tensor pad(
    const Tensor& input, const ttsl::SmallVector<operations::data_movement::PadSpecDim>& padding, float value, bool,
    const std::optional<MemoryConfig>& memory_config, const std::optional<CoreRangeSet>&) {
    OpScope scope("ttnn.pad");
    if (!is_on_device(input) && input.layout() == Layout::TILE) {  // TT-NN leaves tiles on the host as they are
        for (const auto& side : padding) SHIM_CHECK(side.before_elements == 0, "padding: tiles take no padding in front");
        return input;
    }
    const Shape& shape = input.logical_shape();
    const bool tiled = input.layout() == Layout::TILE;
    SHIM_CHECK(padding.size() <= shape.rank(), "padding: got {} pairs for shape {}", padding.size(), shape);
    SHIM_CHECK(!is_block_float(input.dtype()) || value == value, "value: expected a number");
    const size_t missing = shape.rank() - padding.size();
    auto extents = extents_of(shape);
    std::vector<int64_t> before(shape.rank(), 0);
    std::vector<int64_t> flat;
    bool any = false;
    for (size_t i = 0; i < padding.size(); ++i) {
        const auto [front, back] = padding[i];
        const uint64_t extent = uint64_t{extents[missing + i]} + front + back;
        SHIM_CHECK(extent < (uint64_t{1} << 32), "padding: dimension {} grows beyond 2^32", missing + i);
        SHIM_CHECK(front == 0 || !tiled, "padding: tiles take no padding in front, got {} in dimension {}", front, missing + i);
        extents[missing + i] = static_cast<uint32_t>(extent);
        before[missing + i] = front;
        any = any || front + back > 0;
        flat.insert(flat.end(), {front, back});
    }
    if (!any) return memory_config && *memory_config != input.memory_config() ? ttnn::to_memory_config(input, *memory_config) : input;
    const Shape result = shape_of(extents);
    const auto fill = [&](std::byte* target) {
        const size_t bytes = stored_bytes(input.dtype());
        fill_elements(bytes, target, result.volume(), encode_value(input.dtype(), value).data());
        const auto strides = signed_strides(result), own = signed_strides(shape);
        std::vector<StridedDim> dims;
        int64_t offset = 0;
        for (size_t i = 0; i < shape.rank(); ++i) {
            offset += before[i] * strides[i];
            dims.push_back({shape[at(i)], own[i], strides[i]});
        }
        strided_copy(bytes, raw_data(input), target + offset * static_cast<int64_t>(bytes), dims);
    };
    if (!is_on_device(input)) {
        const TensorSpec spec = make_spec(result, input.dtype(), input.layout());
        auto values = new_values(spec);
        if (has_values(input)) fill(values->data());
        return make_host_tensor(spec, values);
    }
    check_device_tensor(input, "input_tensor");
    const bool inside = tiled && make_spec(result, input.dtype(), Layout::TILE).padded_shape() == input.padded_shape();
    SHIM_CHECK(
        !tiled || (input.dtype() != DataType::UINT8 && (inside || input.dtype() != DataType::BFLOAT4_B)),
        "input_tensor: tiles of {} cannot be padded", input.dtype());
    return launch(
        {.op = "pad", .attrs = {{"padding", flat}}}, {input},
        {make_spec(
            result, input.dtype(), input.layout(),
            inside ? input.memory_config() : padded_memory(input, memory_config, result))},  // inside the padding: filled in place

        [&](std::span<const Tensor> outputs) { fill(mutable_raw_data(outputs[0])); })[0];
}
Tensor pad(
    const Tensor& input, const ttsl::SmallVector<std::array<uint32_t, 2>>& padding, float value, bool use_multicore,
    const std::optional<MemoryConfig>& memory_config, const std::optional<CoreRangeSet>& grids) {
    ttsl::SmallVector<operations::data_movement::PadSpecDim> pairs;
    for (const auto& [front, back] : padding) pairs.push_back({front, back});
    return pad(input, pairs, value, use_multicore, memory_config, grids);
}

Tensor repeat(
    const Tensor& input, const ttsl::SmallVector<uint32_t>& repetitions, const std::optional<MemoryConfig>& memory_config,
    const std::optional<Tensor>& output) {
    OpScope scope("ttnn.repeat");
    check_device_tensor(input, "input_tensor");
    auto own = extents_of(input.logical_shape());
    std::vector<uint32_t> times(repetitions.begin(), repetitions.end());
    if (times.size() < own.size()) times.insert(times.begin(), own.size() - times.size(), 1);
    if (own.size() < times.size()) own.insert(own.begin(), times.size() - own.size(), 1);
    const auto strides = signed_strides(shape_of(own));
    std::vector<uint32_t> extents, paired;
    std::vector<int64_t> paired_strides;
    bool plain = true;
    for (size_t i = 0; i < own.size(); ++i) {
        const uint64_t extent = uint64_t{own[i]} * times[i];
        SHIM_CHECK(extent < (uint64_t{1} << 32), "repeat_dims: dimension {} grows beyond 2^32", i);
        extents.push_back(static_cast<uint32_t>(extent));
        paired.insert(paired.end(), {times[i], own[i]});
        paired_strides.insert(paired_strides.end(), {0, strides[i]});
        plain = plain && times[i] == 1;
    }
    const Shape result = shape_of(extents);
    if (plain && !output) return reshape(input, result);
    for (size_t i = own.size() < 2 ? 0 : own.size() - 2; input.layout() == Layout::TILE && i < own.size(); ++i) {
        SHIM_CHECK(
            times[i] == 1 || own[i] % 32 == 0 ||
                (input.dtype() != DataType::BFLOAT4_B &&
                 (input.dtype() != DataType::UINT8 || (extents.back() % 32 == 0 && extents[own.size() - 2] % 32 == 0))),
            "input_tensor: {} tiles cannot be repeated inside their padding", input.dtype());
    }
    return moved(
        {.op = "repeat"}, input, result, spread_memory(input, memory_config, result), dense_target(shape_of(paired), paired_strides), 0,
        output);
}
Tensor repeat(const Tensor& input, const Shape& repetitions, const std::optional<Tensor>& output) {
    return repeat(input, ttsl::SmallVector<uint32_t>(repetitions.begin(), repetitions.end()), std::nullopt, output);
}

Tensor repeat_interleave(const Tensor& input, uint32_t repeats, int32_t dim, const std::optional<MemoryConfig>& memory_config) {
    OpScope scope("ttnn.repeat_interleave");
    check_device_tensor(input, "input_tensor");
    const Shape& shape = input.logical_shape();
    const uint32_t axis = normalize_dim(dim, shape.rank());
    SHIM_CHECK(repeats >= 1, "repeats: expected at least 1, got {}", repeats);
    auto extents = extents_of(shape), walked = extents;
    auto strides = signed_strides(shape);
    SHIM_CHECK(uint64_t{extents[axis]} * repeats < (uint64_t{1} << 32), "repeats: {} is too many", repeats);
    extents[axis] *= repeats;
    walked.insert(walked.begin() + axis + 1, repeats);
    strides.insert(strides.begin() + axis + 1, 0);
    const bool sharded = input.memory_config().is_sharded();
    return moved(
        {.op = "repeat"}, input, shape_of(extents), memory_config.value_or(sharded ? MemoryConfig{} : input.memory_config()),
        dense_target(shape_of(walked), strides));
}

Tensor expand(const Tensor& input, ttsl::Span<const int32_t> output_shape, const std::optional<MemoryConfig>& memory_config) {
    OpScope scope("ttnn.expand");
    check_device_tensor(input, "input_tensor");
    const Shape& shape = input.logical_shape();
    SHIM_CHECK(
        output_shape.size() >= shape.rank(), "output_shape: expected at least {} dimensions for shape {}, got {}", shape.rank(), shape,
        output_shape.size());
    const size_t extra = output_shape.size() - shape.rank();
    const auto own = signed_strides(shape);
    std::vector<uint32_t> extents;
    std::vector<int64_t> strides;
    for (size_t i = 0; i < output_shape.size(); ++i) {
        const uint32_t have = i < extra ? 1 : shape[at(i - extra)];
        SHIM_CHECK(output_shape[i] >= 0 || (output_shape[i] == -1 && i >= extra), "output_shape: {} is not an extent", output_shape[i]);
        const uint32_t want = output_shape[i] == -1 ? have : static_cast<uint32_t>(output_shape[i]);
        SHIM_CHECK(have == want || have == 1, "output_shape: dimension {} has {} values and cannot become {}", i, have, want);
        extents.push_back(want);
        strides.push_back(have == 1 || i < extra ? 0 : own[i - extra]);
    }
    const Shape result = shape_of(extents);
    if (result.volume() == input.logical_volume()) return reshape(input, result, memory_config);
    return moved({.op = "repeat"}, input, result, spread_memory(input, memory_config, result), dense_target(result, strides));
}
Tensor experimental::broadcast_to(
    const Tensor& input, const Shape& output_shape, const std::optional<MemoryConfig>& memory_config, const std::optional<Tensor>&) {
    const std::vector<int32_t> extents(output_shape.begin(), output_shape.end());
    return expand(input, std::span<const int32_t>(extents), memory_config);
}

Tensor roll(
    const Tensor& input, const ttsl::SmallVector<int>& shifts, const ttsl::SmallVector<int>& dims,
    const std::optional<MemoryConfig>& memory_config) {
    OpScope scope("ttnn.roll");
    SHIM_CHECK(
        shifts.size() == dims.size() && !shifts.empty(), "shifts and dim: expected lists of one length, got {} and {}", shifts.size(),
        dims.size());
    Tensor result = input;
    for (size_t i = 0; i < shifts.size(); ++i) {  // two slices and a concat per dimension, as in TT-NN
        const Shape& shape = result.logical_shape();
        const uint32_t axis = normalize_dim(dims[i], shape.rank());
        const int64_t extent = shape[at(axis)];
        if (extent == 0) continue;
        const int64_t shift = ((shifts[i] % extent) + extent) % extent;
        if (shift == 0) continue;
        const auto parts = split(result, ttsl::SmallVector<int64_t>{extent - shift, shift}, axis, memory_config);
        result = concat({parts[1], parts[0]}, static_cast<int>(axis), memory_config);
    }
    return result;
}
Tensor roll(const Tensor& input, int shift, int dim, const std::optional<MemoryConfig>& memory_config) {
    return roll(input, ttsl::SmallVector<int>{shift}, ttsl::SmallVector<int>{dim}, memory_config);
}
Tensor roll(const Tensor& input, int shift, const std::optional<MemoryConfig>& memory_config) {
    OpScope scope("ttnn.roll");
    const Shape shape = input.logical_shape();
    const std::vector<int32_t> flat{1, -1};
    return reshape(roll(reshape(input, std::span<const int32_t>(flat)), shift, 1, memory_config), shape);
}

}  // namespace ttnn

// ---- the Python door -------------------------------------------------------------------------------------------------------

namespace {

std::vector<int64_t> wide(const std::vector<int32_t>& values) { return {values.begin(), values.end()}; }

Tensor call_slice(const Call& c) {
    const Tensor input = c.tensor("input_tensor");
    const auto memory_config = c.memory_config("memory_config");
    const auto output = c.optional_tensor("output_tensor");
    const char* starts = c.has("starts") ? "starts" : "slice_start";
    const char* ends = c.has("ends") ? "ends" : "slice_end";
    const char* steps = c.has("steps") ? "steps" : "slice_step";
    std::vector<int64_t> step(input.logical_shape().rank(), 1);
    if (c.has(steps)) step = wide(c.i32s(steps));
    if (c.is_tensor(starts)) {
        SHIM_CHECK(c.is_tensor(ends), "ends: expected a tensor, as for starts");
        if (c.has("slice_dim") && c.has("num_devices")) {  // this chip's share of one dimension
            const uint32_t axis = normalize_dim(c.i32("slice_dim"), input.logical_shape().rank());
            const int64_t parts = c.i32("num_devices"), extent = input.logical_shape()[at(axis)];
            SHIM_CHECK(parts >= 1 && extent % parts == 0, "num_devices: {} does not divide dimension {} of {} values", parts, axis, extent);
            Bounds share{values_of(c.tensor(starts)), values_of(c.tensor(ends)), step};
            SHIM_CHECK(
                share.begins.size() > axis && share.ends.size() > axis, "starts and ends: expected {} values",
                input.logical_shape().rank());
            share.ends[axis] = share.begins[axis] + extent / parts;
            for (size_t i = 0; i < share.ends.size(); ++i) {
                if (i != axis) share.begins[i] = 0, share.ends[i] = input.logical_shape()[at(i)];
            }
            return sliced(input, share, memory_config, output);
        }
        return sliced(input, {values_of(c.tensor(starts)), values_of(c.tensor(ends)), step}, memory_config, output);
    }
    return sliced(input, {wide(c.i32s(starts)), wide(c.i32s(ends)), step}, memory_config, output);
}

/// (before, after) pairs, given as a list of lists.
ttsl::SmallVector<std::array<uint32_t, 2>> pairs_of(const Call& c, const char* name) {
    ttsl::SmallVector<std::array<uint32_t, 2>> pairs;
    for (const Attr& item : c.items(name)) {
        std::vector<int64_t> values;
        if (const auto* integers = std::get_if<std::vector<int64_t>>(&item.value)) {
            values = *integers;
        } else if (const auto* list = std::get_if<std::shared_ptr<const Attr::List>>(&item.value)) {
            for (const Attr& entry : **list) values.push_back(std::get<int64_t>(entry.value));
        }
        SHIM_CHECK(values.size() == 2, "{}: expected pairs (before, after)", name);
        SHIM_CHECK(
            values[0] >= 0 && values[1] >= 0 && values[0] < (int64_t{1} << 32) && values[1] < (int64_t{1} << 32),
            "{}: expected counts of 0 or more, got ({}, {})", name, values[0], values[1]);
        pairs.push_back({static_cast<uint32_t>(values[0]), static_cast<uint32_t>(values[1])});
    }
    return pairs;
}

Tensor call_pad(const Call& c) {
    const Tensor input = c.tensor("input_tensor");
    const float value = c.f32("value", 0);
    if (c.has("padding")) return ttnn::pad(input, pairs_of(c, "padding"), value, true, c.memory_config("memory_config"));
    const auto extents = c.u32s("output_padded_shape"), start = c.u32s("input_tensor_start");
    const Shape& shape = input.logical_shape();
    SHIM_CHECK(
        extents.size() == shape.rank() && start.size() == shape.rank(),
        "output_padded_shape and input_tensor_start: expected {} values each", shape.rank());
    ttsl::SmallVector<std::array<uint32_t, 2>> pairs;
    for (size_t i = 0; i < extents.size(); ++i) {
        SHIM_CHECK(
            uint64_t{start[i]} + shape[at(i)] <= extents[i], "output_padded_shape: dimension {} needs at least {}, got {}", i,
            uint64_t{start[i]} + shape[at(i)], extents[i]);
        pairs.push_back({start[i], extents[i] - start[i] - shape[at(i)]});
    }
    return ttnn::pad(input, pairs, value, true, c.memory_config("memory_config"));
}

Tensor call_roll(const Call& c) {
    const Tensor input = c.tensor("input_tensor");
    const auto memory_config = c.memory_config("memory_config");
    const auto shifts = c.i32s("shifts");
    if (!c.has("dim")) {
        SHIM_CHECK(shifts.size() == 1, "shifts: expected one value without dim, got {}", shifts.size());
        return ttnn::roll(input, shifts[0], memory_config);
    }
    const auto dims = c.i32s("dim");
    return ttnn::roll(
        input, ttsl::SmallVector<int>(shifts.begin(), shifts.end()), ttsl::SmallVector<int>(dims.begin(), dims.end()), memory_config);
}

}  // namespace

SHIM_OP("ttnn.slice", [](const Call& c) {
    check_device_tensor(c.tensor("input_tensor"), "input_tensor");
    return call_slice(c);
});
SHIM_OP("ttnn.experimental.slice_write", [](const Call& c) {
    auto list = [&](const char* name) {
        const auto v = c.u32s(name);
        return ttsl::SmallVector<uint32_t>(v.begin(), v.end());
    };
    Tensor output = c.tensor("output_tensor");
    return ttnn::experimental::slice_write(c.tensor("input_tensor"), output, list("start"), list("end"), list("step"));
});
SHIM_OP("ttnn.split", [](const Call& c) {
    if (!c.is_list("split_size"))
        return ttnn::split(c.tensor("input_tensor"), int64_t{c.i32("split_size")}, c.i32("dim", 0), c.memory_config("memory_config"));
    const auto sizes = c.i32s("split_size");
    return ttnn::split(
        c.tensor("input_tensor"), ttsl::SmallVector<int64_t>(sizes.begin(), sizes.end()), c.i32("dim", 0),
        c.memory_config("memory_config"));
});
SHIM_OP("ttnn.chunk", [](const Call& c) { return ttnn::chunk(c.tensor("input_tensor"), c.u32("chunks", 1), c.i32("dim")); });
SHIM_OP("ttnn.narrow", [](const Call& c) {
    return ttnn::narrow(c.tensor("input_tensor"), c.i32("dim"), c.i32("start"), c.u32("length", 0));
});
SHIM_OP("ttnn.concat", [](const Call& c) {
    return ttnn::concat(
        c.tensors("tensors"), c.i32("dim", 0), c.memory_config("memory_config"), c.optional_tensor("output_tensor"), c.u32("groups", 1));
});
SHIM_OP("ttnn.stack", [](const Call& c) { return ttnn::stack(c.tensors("input_tensors"), c.i32("dim")); });
SHIM_OP("ttnn.pad", call_pad);
SHIM_OP("ttnn.repeat", [](const Call& c) {
    const auto times = c.u32s("repeat_dims");
    return ttnn::repeat(
        c.tensor("input_tensor"), ttsl::SmallVector<uint32_t>(times.begin(), times.end()), c.memory_config("memory_config"),
        c.optional_tensor("optional_output_tensor"));
});
SHIM_OP("ttnn.repeat_interleave", [](const Call& c) {
    return ttnn::repeat_interleave(c.tensor("input_tensor"), c.u32("repeats", 1), c.i32("dim"), c.memory_config("memory_config"));
});
SHIM_OP("ttnn.expand", [](const Call& c) {
    const auto extents = c.i32s("output_shape");
    return ttnn::expand(c.tensor("input_tensor"), std::span<const int32_t>(extents), c.memory_config("memory_config"));
});
SHIM_OP("ttnn.experimental.broadcast_to", [](const Call& c) {
    const auto extents = c.i32s("output_shape");
    check_device_tensor(c.tensor("input"), "input", Layout::TILE);
    const Tensor result = ttnn::expand(c.tensor("input"), std::span<const int32_t>(extents), c.memory_config("memory_config"));
    return c.has("output") ? ttnn::copy(result, c.tensor("output")) : result;
});
SHIM_OP("ttnn.roll", call_roll);
