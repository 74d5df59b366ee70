// slice and slice_write: values [begin, end) with a step in every dimension.
#include <algorithm>

#include "ops/arguments.hpp"
#include "ops/core/core_programs.hpp"
#include "ops/data_movement/common.hpp"
#include "ops/data_movement/shards.hpp"
#include "ops/eltwise/engine.hpp"
#include "ttnn/operations/core/to_layout/to_layout_op.hpp"
#include "ttnn/operations/data_movement/copy/copy.hpp"
#include "ttnn/operations/data_movement/slice/slice.hpp"

using namespace ttnn_shim;

namespace {

constexpr int64_t TILE_SIDE = 32;

struct Bounds {
    std::vector<int64_t> begins, ends, steps;

    std::vector<uint32_t> extents() const {
        std::vector<uint32_t> result;
        for (size_t i = 0; i < begins.size(); ++i) result.push_back(static_cast<uint32_t>((ends[i] - begins[i] + steps[i] - 1) / steps[i]));
        return result;
    }
};

/// Negative bounds count from the end of their dimension. They are not compared with its extent here.
Bounds wrapped(const Shape& shape, const Bounds& given) {
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
        SHIM_CHECK(bounds.begins[i] >= 0, "starts: {} is outside dimension {} of shape {}", given.begins[i], i, shape);
        SHIM_CHECK(bounds.ends[i] >= 0, "ends: {} is outside dimension {} of shape {}", given.ends[i], i, shape);
        SHIM_CHECK(bounds.begins[i] <= bounds.ends[i], "starts: {} is after the end {} in dimension {}", given.begins[i], given.ends[i], i);
    }
    return bounds;
}

void check_ends(const Bounds& bounds, const Shape& shape) {
    for (size_t i = 0; i < shape.rank(); ++i)
        SHIM_CHECK(bounds.ends[i] <= shape[at(i)], "ends: {} is outside dimension {} of shape {}", bounds.ends[i], i, shape);
}

/// The copy of a slice out of dense values of `shape`. Tiles may be cut in their padding, which is read as zeros.
struct Cut {
    std::vector<StridedDim> dims;
    int64_t offset = 0;
    bool padded = false;

    Cut(const Shape& shape, const Bounds& bounds) {
        const auto extents = bounds.extents();
        const auto strides = signed_strides(shape), target = signed_strides(shape_of(extents));
        for (size_t i = 0; i < extents.size(); ++i) {
            const int64_t there =
                (std::min<int64_t>(bounds.ends[i], shape[at(i)]) - bounds.begins[i] + bounds.steps[i] - 1) / bounds.steps[i];
            const auto size = static_cast<size_t>(std::max<int64_t>(there, 0));
            padded = padded || size != extents[i];
            offset += size == 0 ? 0 : bounds.begins[i] * strides[i];
            dims.push_back({size, strides[i] * bounds.steps[i], target[i]});
        }
    }

    void copy(const Tensor& source, std::byte* target, size_t values) const {
        const size_t bytes = stored_bytes(source.dtype());
        if (padded) fill_elements(bytes, target, values, encode_value(source.dtype(), 0).data());
        strided_copy(bytes, raw_data(source) + offset * static_cast<int64_t>(bytes), target, dims);
    }
};

/// A slice of shards stays on their cores; each core takes an even share of the result's rows and columns.
MemoryConfig shared_out(const MemoryConfig& own, std::vector<uint32_t> extents, bool tiles) {
    const auto& old = *own.shard_spec();
    const auto up = [&](uint64_t extent) {
        return static_cast<uint32_t>(tiles ? std::max<uint64_t>((extent + 31) / 32 * 32, TILE_SIDE) : extent);
    };
    const size_t rank = extents.size();
    extents[rank - 2] = up(extents[rank - 2]);
    extents[rank - 1] = up(extents[rank - 1]);
    uint64_t rows = 1;
    for (size_t i = 0; i + 1 < rank; ++i) rows *= extents[i];
    const auto share = [&](uint64_t extent, uint64_t cores) { return up((extent + cores - 1) / cores); };
    const CoreCoord grid = old.grid.bounding_box().grid_size();
    std::array<uint32_t, 2> shape{static_cast<uint32_t>(rows), extents[rank - 1]};
    switch (own.memory_layout()) {
        case TensorMemoryLayout::HEIGHT_SHARDED: shape[0] = share(rows, old.num_cores()); break;
        case TensorMemoryLayout::WIDTH_SHARDED: shape[1] = share(shape[1], old.num_cores()); break;
        default: shape = {share(rows, grid.y), share(shape[1], grid.x)}; break;
    }
    return MemoryConfig(own.memory_layout(), own.buffer_type(), tt::tt_metal::ShardSpec(old.grid, shape, old.orientation));
}

bool is_split_in_width(const MemoryConfig& config) {
    return config.memory_layout() == TensorMemoryLayout::WIDTH_SHARDED || config.memory_layout() == TensorMemoryLayout::BLOCK_SHARDED;
}

bool has_aligned_rows(const Tensor& input, const MemoryConfig& config) {
    return config.shard_spec()->shape[1] * stored_bytes(input.dtype()) % machine_of(input).machine().l1_alignment == 0;
}

/// Whether TT-NN's programs cannot read rows of these shards, so that the tensor is sliced interleaved.
bool must_gather(const Tensor& input, const MemoryConfig& target, const Bounds& given, bool stepped) {
    const MemoryConfig& own = input.memory_config();
    if (input.layout() != Layout::ROW_MAJOR || !own.shard_spec()) return false;
    const Shape& shape = input.logical_shape();
    const bool ragged_width = shape[-1] % TILE_SIDE != 0;
    if (is_split_in_width(own)) return ragged_width || given.begins.back() != 0 || !has_aligned_rows(input, own);
    const bool stays = target.memory_layout() == TensorMemoryLayout::HEIGHT_SHARDED && target.shard_spec() && !stepped;
    return shape.rank() >= 2 && (ragged_width || shape[-2] % TILE_SIDE != 0) && !stays;
}

Tensor sliced_on_host(const Tensor& input, const Bounds& b, bool whole) {
    check_ends(b, input.logical_shape());
    if (whole) return input;
    const TensorSpec spec = make_spec(shape_of(b.extents()), input.dtype(), input.layout());
    auto values = new_values(spec);
    if (has_values(input)) Cut(input.logical_shape(), b).copy(input, values->data(), spec.logical_shape().volume());
    return make_host_tensor(spec, values);
}

Tensor sliced(
    const Tensor& input, const Bounds& given, const std::optional<MemoryConfig>& memory_config, const std::optional<Tensor>& output,
    const OptionalCores& cores) {
    OpScope scope("ttnn.slice");
    const Shape& shape = input.logical_shape();
    const size_t rank = shape.rank();
    if (rank == 0) return input;
    const Bounds b = wrapped(shape, given);
    const auto extents = b.extents();
    const Shape result = shape_of(extents);
    const bool stepped = std::any_of(b.steps.begin(), b.steps.end(), [](int64_t step) { return step != 1; });
    const bool whole = !stepped && std::all_of(given.begins.begin(), given.begins.end(), [](int64_t begin) { return begin == 0; }) &&
                       std::equal(given.ends.begin(), given.ends.end(), shape.begin());
    if (!is_on_device(input)) return sliced_on_host(input, b, whole);
    check_device_tensor(input, "input_tensor");
    SHIM_CHECK(
        !output || output->dtype() == input.dtype(), "output_tensor: expected {} as the input, got {}", input.dtype(), output->dtype());
    const MemoryConfig asked = output ? output->memory_config() : memory_config.value_or(input.memory_config());
    MemoryConfig target = asked;
    const auto resolved = [&](const Tensor& source) {  // shards that were asked for without saying which
        const MemoryConfig& own = source.memory_config();
        if (!target.is_sharded() || target.shard_spec() || target.nd_shard_spec()) return target;
        return own.memory_layout() == target.memory_layout() && own.shard_spec()
                   ? MemoryConfig(target.memory_layout(), target.buffer_type(), own.shard_spec())
                   : shards_over_grid(source, source.padded_shape(), target);
    };
    const auto delivered = [&](const Tensor& from) {
        const Tensor placed = ttnn::to_memory_config(from, resolved(from));
        const Tensor final = ttnn::to_layout(placed, input.layout(), std::nullopt, std::nullopt, cores);
        return output ? ttnn::copy(final, *output) : final;
    };
    if (whole) return delivered(input);
    const bool aligned = rank >= 2 && b.begins[rank - 1] % TILE_SIDE == 0 && b.begins[rank - 2] % TILE_SIDE == 0;
    const bool by_rows = input.layout() != Layout::TILE || stepped || rank == 1 || !aligned;
    if (!memory_config && !output && input.memory_config().shard_spec() && rank >= 2)
        target = shared_out(input.memory_config(), extents, !by_rows);

    const bool gather = must_gather(input, target, given, stepped);
    const bool scatter = input.layout() == Layout::ROW_MAJOR && is_split_in_width(target) && target.shard_spec() &&
                         (shape[-1] % TILE_SIDE != 0 || !has_aligned_rows(input, target));
    const bool unknown = target.is_sharded() && !target.shard_spec() && !target.nd_shard_spec() &&
                         input.memory_config().memory_layout() != target.memory_layout();
    if (gather || scatter || unknown) {
        const MemoryConfig between(BufferType::L1);
        const Tensor source = gather ? ttnn::to_memory_config(input, between) : input;
        const Tensor part = sliced(source, given, between, std::nullopt, cores);
        return ttnn::to_memory_config(part, resolved(part), std::nullopt, output);
    }

    SHIM_CHECK(
        !stepped || input.layout() != Layout::TILE || !is_block_float(input.dtype()), "steps: a strided slice of {} is not supported",
        input.dtype());
    const bool untilized = by_rows && input.layout() == Layout::TILE;  // TT-NN slices inside tiles by way of row-major
    const Tensor source = untilized ? ttnn::to_layout(input, Layout::ROW_MAJOR, std::nullopt, asked, cores) : input;
    if (result.volume() == 0) {  // no program runs
        if (output) return *output;
        return empty_tensor(
            device_of(input), make_spec(result, input.dtype(), input.layout(), memory_config.value_or(input.memory_config())));
    }
    const Shape& held = source.layout() == Layout::TILE ? source.padded_shape() : shape;
    for (size_t i = 0; i < rank; ++i)
        SHIM_CHECK(b.begins[i] < held[at(i)], "starts: {} is outside dimension {} of shape {}", given.begins[i], i, shape);
    check_ends(b, held);
    const auto height_shards_in_dram = [](const MemoryConfig& config) {
        return config.memory_layout() == TensorMemoryLayout::HEIGHT_SHARDED && config.buffer_type() == BufferType::DRAM;
    };
    SHIM_CHECK(
        source.layout() == Layout::TILE || stepped || !height_shards_in_dram(source.memory_config()) || !height_shards_in_dram(target),
        "input_tensor: rows of height shards must be in L1, got {}", source.memory_config());
    const Cut cut(shape, b);
    const Tensor part = launch(
        {.op = strategy::Slice{.begins = b.begins, .ends = b.ends, .step = b.steps}, .cores = cores}, {source},
        {make_spec(result, source.dtype(), source.layout(), untilized || !output ? resolved(source) : output->memory_config())},
        [=](std::span<const Tensor> outputs) { cut.copy(source, mutable_raw_data(outputs[0]), result.volume()); },
        {untilized ? std::nullopt : output})[0];
    if (!untilized && output) return part;
    const bool widened = part.layout() == Layout::ROW_MAJOR && part.padded_shape()[-1] != result[-1];  // asked-for shards of other rows
    return delivered(widened ? make_view(part, view_spec(part, result)) : part);
}

std::vector<int64_t> values_of(const Tensor& tensor) {
    SHIM_CHECK(is_integer(tensor.dtype()), "starts and ends: expected integer tensors, got {}", tensor.dtype());
    SHIM_CHECK(has_values(tensor), "starts and ends: their values decide the result's shape, which needs data");
    return load_i64(tensor);
}

}  // namespace

namespace ttnn {

template <typename T>
Tensor slice(
    const Tensor& input, ttsl::Span<const T> begins, ttsl::Span<const T> ends, ttsl::Span<const T> step,
    const std::optional<MemoryConfig>& memory_config, const std::optional<Tensor>& output, const std::optional<float>&,
    const std::optional<CoreRangeSet>& grids) {
    return sliced(
        input, {{begins.begin(), begins.end()}, {ends.begin(), ends.end()}, {step.begin(), step.end()}}, memory_config, output, grids);
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
    const std::optional<uint32_t>&, const std::optional<uint32_t>&, const std::optional<CoreRangeSet>& grids) {
    OpScope scope("ttnn.slice");
    std::vector<int64_t> steps(input.logical_shape().rank(), 1);
    if (step) steps.assign(step->begin(), step->end());
    return sliced(input, {values_of(starts), values_of(ends), steps}, memory_config, output, grids);
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
    const Bounds b = wrapped(output.logical_shape(), {{start.begin(), start.end()}, {end.begin(), end.end()}, {step.begin(), step.end()}});
    check_ends(b, output.logical_shape());
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
        {.op = strategy::SliceWrite{.begins = b.begins, .ends = b.ends}}, {input, output}, {output.tensor_spec()},
        [=](std::span<const Tensor> outputs) {
            const auto bytes = static_cast<int64_t>(stored_bytes(input.dtype()));
            strided_copy(static_cast<size_t>(bytes), raw_data(input), mutable_raw_data(outputs[0]) + offset * bytes, dims);
        },
        {output})[0];
}

}  // namespace ttnn

// ---- the Python door -------------------------------------------------------------------------------------------------------

namespace {

std::vector<int64_t> wide(const std::vector<int32_t>& values) { return {values.begin(), values.end()}; }

Tensor call_slice(const arguments::slice& args) {
    const Tensor& input = args.input_tensor;
    const auto& memory_config = args.memory_config;
    const auto& output = args.output_tensor;
    const auto &starts = args.starts ? args.starts : args.slice_start, &ends = args.ends ? args.ends : args.slice_end;
    const auto& steps = args.steps ? args.steps : args.slice_step;
    SHIM_CHECK(starts && ends, "starts and ends: missing");
    std::vector<int64_t> step(input.logical_shape().rank(), 1);
    if (steps) step = wide(*steps);
    if (const auto *first = std::get_if<Tensor>(&*starts), *last = std::get_if<Tensor>(&*ends); first != nullptr || last != nullptr) {
        SHIM_CHECK(first != nullptr && last != nullptr, "starts and ends: expected two tensors, or two lists");
        if (args.slice_dim && args.num_devices) {  // this chip's share of one dimension
            const uint32_t axis = normalize_dim(static_cast<int32_t>(*args.slice_dim), input.logical_shape().rank());
            const int64_t parts = *args.num_devices, extent = input.logical_shape()[at(axis)];
            SHIM_CHECK(parts >= 1 && extent % parts == 0, "num_devices: {} does not divide dimension {} of {} values", parts, axis, extent);
            Bounds share{values_of(*first), values_of(*last), step};
            SHIM_CHECK(
                share.begins.size() > axis && share.ends.size() > axis, "starts and ends: expected {} values",
                input.logical_shape().rank());
            share.ends[axis] = share.begins[axis] + extent / parts;
            for (size_t i = 0; i < share.ends.size(); ++i) {
                if (i != axis) share.begins[i] = 0, share.ends[i] = input.logical_shape()[at(i)];
            }
            return sliced(input, share, memory_config, output, args.sub_core_grids);
        }
        return sliced(input, {values_of(*first), values_of(*last), step}, memory_config, output, args.sub_core_grids);
    }
    return sliced(
        input, {wide(std::get<std::vector<int32_t>>(*starts)), wide(std::get<std::vector<int32_t>>(*ends)), step}, memory_config, output,
        args.sub_core_grids);
}

}  // namespace

SHIM_OP("ttnn.slice", [](const arguments::slice& args) {
    check_device_tensor(args.input_tensor, "input_tensor");
    return call_slice(args);
});
SHIM_OP("ttnn.experimental.slice_write", [](const arguments::experimental::slice_write& args) {
    const auto list = [](const std::vector<uint32_t>& values) { return ttsl::SmallVector<uint32_t>(values.begin(), values.end()); };
    Tensor output = args.output_tensor;
    return ttnn::experimental::slice_write(args.input_tensor, output, list(args.start), list(args.end), list(args.step));
});
