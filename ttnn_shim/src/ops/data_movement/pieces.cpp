// Cutting and padding: slice, split, chunk, narrow, pad, roll.
#include <algorithm>

#include "ops/core/core_programs.hpp"
#include "ops/data_movement/common.hpp"
#include "ops/eltwise/engine.hpp"
#include "ttnn/operations/copy/typecast/typecast.hpp"
#include "ttnn/operations/core/to_layout/to_layout_op.hpp"
#include "ttnn/operations/core/to_memory_config/to_memory_config_op.hpp"
#include "ttnn/operations/data_movement/chunk/chunk.hpp"
#include "ttnn/operations/data_movement/concat/concat.hpp"
#include "ttnn/operations/data_movement/copy/copy.hpp"
#include "ttnn/operations/data_movement/narrow/narrow.hpp"
#include "ttnn/operations/data_movement/pad/pad.hpp"
#include "ttnn/operations/data_movement/reshape_view/reshape.hpp"
#include "ttnn/operations/data_movement/roll/roll.hpp"
#include "ttnn/operations/data_movement/slice/slice.hpp"
#include "ttnn/operations/data_movement/split/split.hpp"

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
    const MemoryConfig memory = inside ? input.memory_config() : padded_memory(input, memory_config, result);
    const auto write = [&](std::span<const Tensor> outputs) { fill(mutable_raw_data(outputs[0])); };
    const auto padding_program = [&](const Tensor& from, DataType dtype) {
        return launch({.op = "pad", .attrs = {{"padding", flat}}}, {from}, {make_spec(result, dtype, input.layout(), memory)}, write)[0];
    };
    if (!tiled || input.memory_config().is_sharded() || memory.is_sharded()) return padding_program(input, input.dtype());
    // Padding inside tiles is overwritten in place; whole tiles are added after that. Block floats pass through bfloat16 each time.
    const DataType dtype = is_block_float(input.dtype()) ? DataType::BFLOAT16 : input.dtype();
    const auto unpacked = [&](const Tensor& tensor) { return tensor.dtype() == dtype ? tensor : ttnn::typecast(tensor, dtype); };
    const auto packed = [&](const Tensor& tensor) { return input.dtype() == dtype ? tensor : ttnn::typecast(tensor, input.dtype()); };
    Tensor current = input;
    if (input.logical_shape() != input.padded_shape()) {
        const Tensor source = unpacked(input);
        const Shape& filled = inside ? result : shape;
        current = packed(launch(
            {.op = "fill_pad", .name = "FillPadDeviceOperation"}, {source},
            {make_spec(filled, dtype, Layout::TILE, source.memory_config())},
            [&](std::span<const Tensor> outputs) { inside ? write(outputs) : copy_values(source, outputs[0]); })[0]);
    }
    return inside ? current : packed(padding_program(unpacked(current), dtype));
}
Tensor pad(
    const Tensor& input, const ttsl::SmallVector<std::array<uint32_t, 2>>& padding, float value, bool use_multicore,
    const std::optional<MemoryConfig>& memory_config, const std::optional<CoreRangeSet>& grids) {
    ttsl::SmallVector<operations::data_movement::PadSpecDim> pairs;
    for (const auto& [front, back] : padding) pairs.push_back({front, back});
    return pad(input, pairs, value, use_multicore, memory_config, grids);
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
SHIM_OP("ttnn.pad", call_pad);
SHIM_OP("ttnn.roll", call_roll);
