// Parts of an interleaved tensor as shards and back (padded_slice, the partial moves), channels first <-> last on shards, and a host
// tensor's shards written for some cores only.
#include <algorithm>
#include <cstring>
#include <limits>

#include "ops/arguments.hpp"
#include "ops/data_movement/common.hpp"
#include "ttnn/operations/core/to_memory_config/to_memory_config_op.hpp"
#include "ttnn/operations/creation/creation.hpp"
#include "ttnn/operations/data_movement/sharded_partial/interleaved_to_sharded_partial/interleaved_to_sharded_partial.hpp"
#include "ttnn/operations/data_movement/sharded_partial/sharded_to_interleaved_partial/sharded_to_interleaved_partial.hpp"
#include "ttnn/operations/experimental/cnn/convert_to_chw/convert_to_chw.hpp"
#include "ttnn/operations/experimental/cnn/convert_to_hwc/convert_to_hwc.hpp"

using namespace ttnn_shim;

namespace {

constexpr uint32_t TILE = 32;
constexpr uint32_t L1_ALIGNMENT_BYTES = 16;

/// A rectangle of rows: `count` rows of `width` values from row `from` of the source to row `to` of the target, columns from `column`.
struct RowCopy {
    size_t from = 0, to = 0, count = 0, column = 0, width = 0;
};
/// Rows of one tensor (of `source_row` values) into rows of another, with one rounding where the dtypes differ.
void copy_rows(const Tensor& source, size_t source_row, const Tensor& target, size_t target_row, const RowCopy& part) {
    const size_t in_bytes = stored_bytes(source.dtype()), out_bytes = stored_bytes(target.dtype());
    const std::byte* in = raw_data(source);
    std::byte* out = mutable_raw_data(target);
    parallel_for(part.count, std::max<size_t>(1, 8192 / std::max<size_t>(1, part.width)), [&](size_t begin, size_t end) {
        std::vector<float> values(part.width);
        for (size_t i = begin; i < end; ++i) {
            const std::byte* from = in + ((part.from + i) * source_row + part.column) * in_bytes;
            std::byte* to = out + (part.to + i) * target_row * out_bytes;
            if (source.dtype() == target.dtype()) {
                std::memcpy(to, from, part.width * in_bytes);
            } else {
                load_f32(source.dtype(), from, values.data(), part.width);
                store_f32(target.dtype(), values.data(), to, part.width);
            }
        }
    });
}
void clear(const Tensor& target) { std::memset(mutable_raw_data(target), 0, target.logical_volume() * stored_bytes(target.dtype())); }

/// Four bounds of a slice, negative ones counted from the end.
std::array<int64_t, 4> bounds(const std::vector<int32_t>& given, const char* name, const Shape& shape) {
    SHIM_CHECK(given.size() == 4, "{}: expected 4 numbers, got {}", name, given.size());
    std::array<int64_t, 4> found{};
    for (size_t i = 0; i < 4; ++i) found[i] = given[i] < 0 ? given[i] + int64_t{shape[static_cast<int32_t>(i)]} : given[i];
    return found;
}

Tensor padded_slice(const arguments::experimental::padded_slice& args) {
    const OpScope scope("ttnn.experimental.padded_slice");
    const Tensor& input = args.input_tensor;
    check_device_tensor(input, "input_tensor");
    const Shape &s = input.logical_shape(), &padded = input.padded_shape();
    SHIM_CHECK(s.rank() == 4, "input_tensor: expected rank 4, got shape {}", s);
    const auto* memory = &args.memory_config;
    SHIM_CHECK(
        memory->is_sharded() && memory->shard_spec() && memory->is_l1(), "memory_config: expected sharded L1 memory with a shard spec");
    SHIM_CHECK(!input.is_sharded(), "input_tensor: expected interleaved memory, got {}", input.memory_config());
    const auto first = bounds(args.padded_slice_start, "padded_slice_start", s),
               last = bounds(args.padded_slice_end, "padded_slice_end", s);
    for (const int32_t step : args.padded_slice_step.has_value() ? (*args.padded_slice_step) : std::vector<int32_t>{})
        SHIM_CHECK(step == 1, "padded_slice_step: only 1 is supported, got {}", step);
    bool whole = true;
    std::vector<uint32_t> extents;
    for (size_t i = 0; i < 4; ++i) {
        const auto axis = static_cast<int32_t>(i);
        SHIM_CHECK(
            first[i] >= 0 && last[i] >= first[i] && first[i] < padded[axis] && last[i] <= padded[axis],
            "padded_slice_start and _end: {} to {} is not a part of {} values (dimension {})", first[i], last[i], s[axis], i);
        extents.push_back(static_cast<uint32_t>(last[i] - first[i]));
        whole = whole && first[i] == 0 && last[i] == s[axis];
    }
    const auto& shard = memory->shard_spec()->shape;
    if (whole && shard[1] == padded[3] && input.layout() == Layout::ROW_MAJOR) return ttnn::to_memory_config(input, *memory, std::nullopt);
    const Shape taken = shape_of(extents);
    if (taken.volume() == 0) return ttnn::empty(taken, input.dtype(), input.layout(), device_of(input), *memory);
    uint32_t rows = extents[0] * extents[1] * extents[2], width = extents[3];
    if (memory->memory_layout() == TensorMemoryLayout::HEIGHT_SHARDED) width = shard[1];
    if (memory->memory_layout() == TensorMemoryLayout::WIDTH_SHARDED) rows = shard[0];
    SHIM_CHECK(
        width >= extents[3] && rows >= extents[0] * extents[1] * extents[2], "memory_config: shards of {} x {} do not hold {}", shard[0],
        shard[1], taken);
    const DataType dtype = input.dtype() == DataType::BFLOAT8_B ? DataType::BFLOAT16 : input.dtype();
    SHIM_CHECK(
        shard[1] * stored_bytes(dtype) % L1_ALIGNMENT_BYTES == 0, "memory_config: rows of {} values are not a multiple of {} bytes",
        shard[1], L1_ALIGNMENT_BYTES);
    const auto listed = [](const std::array<int64_t, 4>& from) { return std::vector<int64_t>(from.begin(), from.end()); };
    return launch(
        {.op = strategy::PaddedSlice{.padded_slice_start = listed(first), .padded_slice_end = listed(last)},
         .name = "PaddedSliceDeviceOperation"},
        {input}, {make_spec(Shape({1, 1, rows, width}), dtype, Layout::ROW_MAJOR, *memory)},
        [=](std::span<const Tensor> outputs) {
            clear(outputs[0]);  // columns that a shard has beyond the slice are zero
            const auto at = [&](size_t i) { return static_cast<size_t>(first[i]); };
            const auto clipped = [&](size_t i) {  // elements of a tiled input beyond its shape are padding
                return std::min<size_t>(extents[i], s[static_cast<int32_t>(i)] - std::min<size_t>(at(i), s[static_cast<int32_t>(i)]));
            };
            for (size_t b = 0; b < clipped(0); ++b) {
                for (size_t y = 0; y < clipped(1); ++y) {
                    const RowCopy part{
                        ((at(0) + b) * s[1] + at(1) + y) * s[2] + at(2), (b * extents[1] + y) * extents[2], clipped(2), at(3), clipped(3)};
                    copy_rows(input, s[3], outputs[0], width, part);
                }
            }
        },
        {args.output_tensor})[0];
}

/// The rows of a partial move: slice `index` of `count` equal parts of the padded rows.
struct RowSlice {
    uint32_t first, rows;
};
RowSlice row_slice(const auto& args, const Tensor& whole, const char* name) {
    const Shape& padded = whole.padded_shape();
    const int32_t count = args.num_slices, index = args.slice_index;
    SHIM_CHECK(padded.rank() == 4, "{}: expected rank 4, got shape {}", name, whole.logical_shape());
    SHIM_CHECK(count > 0 && index >= 0 && index < count, "slice_index: expected 0 to {}, got {}", count - 1, index);
    const auto all = static_cast<uint32_t>(padded.volume() / padded[-1]), slices = static_cast<uint32_t>(count);
    SHIM_CHECK(all % slices == 0, "num_slices: {} does not divide {} rows", count, all);
    SHIM_SUPPORTED(
        all / slices % TILE == 0 || slices == 1, "num_slices: only slices of whole tiles are supported, got {} rows", all / slices);
    return {static_cast<uint32_t>(index) * (all / slices), all / slices};
}

/// Copies padded rows [first, first + rows) of `whole` to or from a tensor that holds just them; rows that are padding are skipped.
template <typename Copy>
void for_real_rows(const Tensor& whole, const RowSlice& slice, Copy&& copy) {
    const Shape &s = whole.logical_shape(), &padded = whole.padded_shape();
    for (uint32_t at = slice.first; at < slice.first + slice.rows;) {
        const uint32_t matrix = at / padded[2], row = at % padded[2];
        const uint32_t run = std::min(padded[2] - row, slice.first + slice.rows - at);
        if (row < s[2]) copy(size_t{matrix} * s[2] + row, size_t{at} - slice.first, std::min(run, s[2] - row));
        at += run;
    }
}

Tensor interleaved_to_sharded_partial(const arguments::interleaved_to_sharded_partial& args) {
    const OpScope scope("ttnn.interleaved_to_sharded_partial");
    const Tensor& input = args.input_tensor;
    check_device_tensor(input, "input_tensor", Layout::TILE);
    SHIM_CHECK(!input.is_sharded(), "input_tensor: expected interleaved memory, got {}", input.memory_config());
    const auto* asked = std::get_if<CoreCoord>(&args.grid);
    const RowSlice slice = row_slice(args, input, "input_tensor");
    const uint32_t width = input.padded_shape()[-1];
    const auto shape = args.shard_shape;
    SHIM_CHECK(asked, "grid: expected a CoreCoord");
    SHIM_CHECK(shape[0] > 0 && shape[1] > 0, "shard_shape: expected positive numbers, got {} x {}", shape[0], shape[1]);
    const CoreCoord device = machine_of(input).grid(), grid(asked->x, asked->y);
    SHIM_CHECK(
        grid.x <= device.x && grid.y <= device.y, "grid: {} x {} is beyond the device's {} x {}", grid.x, grid.y, device.x, device.y);
    const TensorMemoryLayout scheme = args.shard_scheme;
    const uint32_t down = (slice.rows + shape[0] - 1) / shape[0], across = (width + shape[1] - 1) / shape[1];
    TensorMemoryLayout layout = TensorMemoryLayout::BLOCK_SHARDED;
    uint32_t cores = down * across;
    if (scheme == TensorMemoryLayout::HEIGHT_SHARDED) {
        layout = TensorMemoryLayout::HEIGHT_SHARDED;
        cores = down;
    } else if (scheme == TensorMemoryLayout::WIDTH_SHARDED) {
        layout = TensorMemoryLayout::WIDTH_SHARDED;
        cores = across;
    } else {
        SHIM_CHECK(scheme == TensorMemoryLayout::BLOCK_SHARDED, "shard_scheme: expected a sharded layout, got {}", scheme);
    }
    SHIM_CHECK(cores <= grid.x * grid.y, "grid: {} shards need as many cores, {} x {} has fewer", cores, grid.x, grid.y);
    const bool row_wise = args.shard_orientation == tt::tt_metal::ShardOrientation::ROW_MAJOR;
    const tt::tt_metal::ShardSpec shard(
        tt::tt_metal::num_cores_to_corerangeset(cores, grid, row_wise), {shape[0], shape[1]},
        row_wise ? tt::tt_metal::ShardOrientation::ROW_MAJOR : tt::tt_metal::ShardOrientation::COL_MAJOR);
    const MemoryConfig memory(layout, BufferType::L1, shard);
    return launch(
        {.op = strategy::InterleavedToSharded{}, .name = "InterleavedToShardedPartialDeviceOperation"}, {input},
        {make_spec(Shape({1, 1, slice.rows, width}), args.output_dtype.value_or(input.dtype()), Layout::TILE, memory)},
        [=](std::span<const Tensor> outputs) {
            clear(outputs[0]);
            const size_t row = input.logical_shape()[-1];
            for_real_rows(input, slice, [&](size_t whole, size_t part, size_t rows) {
                copy_rows(input, row, outputs[0], width, {whole, part, rows, 0, row});
            });
        })[0];
}

Tensor sharded_to_interleaved_partial(const arguments::sharded_to_interleaved_partial& args) {
    const OpScope scope("ttnn.sharded_to_interleaved_partial");
    const Tensor &input = args.input_tensor, &cache = args.cache_tensor;
    check_device_tensor(input, "input_tensor", Layout::TILE);
    check_device_tensor(cache, "cache_tensor", Layout::TILE);
    SHIM_CHECK(input.is_sharded(), "input_tensor: expected sharded memory, got {}", input.memory_config());
    const RowSlice slice = row_slice(args, cache, "cache_tensor");
    const int32_t slices = args.num_slices;
    const Shape& s = input.logical_shape();
    SHIM_SUPPORTED(
        args.output_dtype.value_or(cache.dtype()) == cache.dtype() && is_floating_point(input.dtype()) == is_floating_point(cache.dtype()),
        "output_dtype: only that of cache_tensor ({}) is supported", cache.dtype());
    SHIM_SUPPORTED(
        s.rank() == 4 && s.volume() == uint64_t{slice.rows} * s[3] && s[3] == cache.padded_shape()[3],
        "input_tensor: expected the {} x {} values of the slice, got shape {}", slice.rows, cache.padded_shape()[3], s);
    return launch(
        {.op = strategy::ShardedToInterleaved{.num_slices = slices}, .name = "ShardedToInterleavedPartialDeviceOperation"}, {input, cache},
        {cache.tensor_spec()},
        [=](std::span<const Tensor> outputs) {
            const size_t row = cache.logical_shape()[-1];
            for_real_rows(cache, slice, [&](size_t whole, size_t part, size_t rows) {
                copy_rows(input, s[3], outputs[0], row, {part, whole, rows, 0, row});
            });
        },
        {cache})[0];
}

/// [1, 1, HW, C] tiles on rows of cores -> [1, 1, C, HW].
Tensor convert_to_chw(const arguments::experimental::convert_to_chw& args) {
    const OpScope scope("ttnn.experimental.convert_to_chw");
    const Tensor& input = args.input;
    check_device_tensor(input, "input", Layout::TILE);
    const Shape& s = input.logical_shape();
    const MemoryConfig& own = input.memory_config();
    SHIM_CHECK(
        own.memory_layout() == TensorMemoryLayout::HEIGHT_SHARDED && own.shard_spec() && own.is_l1(),
        "input: expected height sharded L1 memory, got {}", own);
    SHIM_CHECK(
        s.rank() == 4 && s[0] == 1 && s[1] == 1 && s[2] > 0 && s[2] % TILE == 0 && s[3] > 0 && s[3] <= TILE,
        "input: expected shape [1, 1, a multiple of 32, at most 32 channels], got {}", s);
    SHIM_CHECK(own.shard_spec()->shape[0] % TILE == 0, "input: expected shards of whole tiles, got {}", own);
    const DataType dtype = args.dtype.value_or(input.dtype());
    SHIM_CHECK(
        dtype == DataType::BFLOAT16 || dtype == DataType::FLOAT32, "dtype: expected BFLOAT16 or FLOAT32 (the result is row-major), got {}",
        dtype);
    const tt::tt_metal::ShardSpec shard(own.shard_spec()->grid, {s[3], own.shard_spec()->shape[0]}, own.shard_spec()->orientation);
    return launch(
        {.op = strategy::ConvertToChw{}, .name = "ConvertToCHWDeviceOperation"}, {input},
        {make_spec(
            Shape({1, 1, s[3], s[2]}), dtype, Layout::ROW_MAJOR,
            MemoryConfig(TensorMemoryLayout::WIDTH_SHARDED, own.buffer_type(), shard))},
        [=](std::span<const Tensor> outputs) {
            const F32Values values(input);
            std::vector<float> turned(values.size());
            const size_t channels = s[3], pixels = s[2];
            parallel_for(pixels, 512, [&](size_t begin, size_t end) {
                for (size_t i = begin; i < end; ++i)
                    for (size_t channel = 0; channel < channels; ++channel) turned[channel * pixels + i] = values[i * channels + channel];
            });
            write_f32(outputs[0], turned);
        })[0];
}

/// [1, B, C, HW] rows on columns of cores -> [1, 1, B HW, C], channels filled up with zeros to whole L1 words.
Tensor convert_to_hwc(const arguments::experimental::convert_to_hwc& args) {
    const OpScope scope("ttnn.experimental.convert_to_hwc");
    const Tensor& input = args.input;
    check_device_tensor(input, "input", Layout::ROW_MAJOR);
    const Shape& s = input.logical_shape();
    const MemoryConfig& own = input.memory_config();
    SHIM_CHECK(
        own.memory_layout() == TensorMemoryLayout::WIDTH_SHARDED && own.shard_spec(), "input: expected width sharded memory, got {}", own);
    SHIM_CHECK(
        s.rank() == 4 && s[0] == 1 && s.volume() > 0 && s[2] <= TILE, "input: expected shape [1, B, at most 32 channels, HW], got {}", s);
    SHIM_CHECK(
        input.dtype() == DataType::BFLOAT16 || input.dtype() == DataType::FLOAT32, "input: expected BFLOAT16 or FLOAT32, got {}",
        input.dtype());
    const auto aligned = static_cast<uint32_t>(L1_ALIGNMENT_BYTES / stored_bytes(input.dtype()));
    const uint32_t channels = (s[2] + aligned - 1) / aligned * aligned;
    std::optional<MemoryConfig> memory = args.memory_config;
    SHIM_CHECK(memory || own.is_l1(), "memory_config: required for an input in DRAM");
    if (!memory) {
        const auto& old = *own.shard_spec();
        const tt::tt_metal::ShardSpec shard(old.grid, {old.shape[1] * s[1], channels}, old.orientation);
        memory = MemoryConfig(TensorMemoryLayout::HEIGHT_SHARDED, own.buffer_type(), shard);
    }
    SHIM_CHECK(
        memory->memory_layout() == TensorMemoryLayout::HEIGHT_SHARDED && memory->shard_spec(),
        "memory_config: expected height sharded memory with a shard spec, got {}", *memory);
    const auto& shard = memory->shard_spec()->shape;
    SHIM_CHECK(
        shard[0] % TILE == 0 && shard[1] % aligned == 0, "memory_config: expected shards of multiples of 32 x {}, got {} x {}", aligned,
        shard[0], shard[1]);
    const DataType dtype = args.dtype.value_or(input.dtype());
    SHIM_CHECK(dtype == DataType::BFLOAT16 || dtype == DataType::FLOAT32, "dtype: expected BFLOAT16 or FLOAT32, got {}", dtype);
    return launch(
        {.op = strategy::ConvertToHwc{}, .name = "ConvertToHWCDeviceOperation"}, {input},
        {make_spec(Shape({1, 1, s[1] * s[3], channels}), dtype, Layout::ROW_MAJOR, *memory)}, [=](std::span<const Tensor> outputs) {
            const F32Values values(input);
            const size_t pixels = s[3], real = s[2];
            std::vector<float> turned(outputs[0].logical_volume(), 0.0F);
            parallel_for(size_t{s[1]} * pixels, 512, [&](size_t begin, size_t end) {
                for (size_t i = begin; i < end; ++i)
                    for (size_t channel = 0; channel < real; ++channel)
                        turned[i * channels + channel] = values[(i / pixels * real + channel) * pixels + i % pixels];
            });
            write_f32(outputs[0], turned);
        })[0];
}

/// Which rows and columns of the padded matrix shard `index` holds.
struct ShardPlace {
    size_t row, column;
};
ShardPlace place_of(const Tensor& tensor, const CoreCoord& core, size_t index) {
    const MemoryConfig& memory = tensor.memory_config();
    const auto& shard = *memory.shard_spec();
    const size_t height = shard.shape[0], width = shard.shape[1];
    if (memory.memory_layout() == TensorMemoryLayout::HEIGHT_SHARDED) return {index * height, 0};
    if (memory.memory_layout() == TensorMemoryLayout::WIDTH_SHARDED) return {0, index * width};
    const CoreCoord corner = shard.grid.bounding_box().start_coord;
    const size_t x = core.x - corner.x, y = core.y - corner.y;
    const bool rows = shard.orientation == tt::tt_metal::ShardOrientation::ROW_MAJOR;
    return {(rows ? y : x) * height, (rows ? x : y) * width};
}

void copy_some_shards(const arguments::copy_host_to_device_tensor_partial& args) {
    const OpScope scope("ttnn.copy_host_to_device_tensor_partial");
    const Tensor &host = args.host_tensor, &device = args.device_tensor;
    SHIM_CHECK(!is_on_device(host), "host_tensor: expected a host tensor");
    check_device_tensor(device, "device_tensor");
    SHIM_CHECK(
        host.logical_shape() == device.logical_shape() && host.dtype() == device.dtype() && host.layout() == device.layout(),
        "host_tensor: expected the shape, dtype and layout of device_tensor, got {} and {}", host.tensor_spec(), device.tensor_spec());
    const CoreRangeSet filter = args.logical_core_filter;
    check_not_captured(*device.device(), "Writes");
    if (filter.empty()) return;
    const MemoryConfig& memory = device.memory_config();
    SHIM_CHECK(memory.is_sharded() && memory.shard_spec(), "device_tensor: expected sharded memory, got {}", memory);
    if (!has_values(host) || device.logical_volume() == 0 || mutable_raw_data(device) == nullptr) return;
    const Shape &s = device.logical_shape(), &padded = device.padded_shape();
    const size_t bytes = stored_bytes(device.dtype()), width = s[-1];
    const size_t real = s.rank() < 2 ? 1 : s[-2], rounded = s.rank() < 2 ? 1 : padded[-2], rows = padded.volume() / padded[-1];
    const bool by_rows = memory.shard_spec()->orientation == tt::tt_metal::ShardOrientation::ROW_MAJOR;
    const auto cores = tt::tt_metal::corerange_to_cores(memory.shard_spec()->grid, std::nullopt, by_rows);
    for (size_t index = 0; index < cores.size(); ++index) {
        if (!filter.contains(cores[index])) continue;
        const ShardPlace place = place_of(device, cores[index], index);
        if (place.column >= width) continue;
        const size_t count = std::min<size_t>(memory.shard_spec()->shape[1], width - place.column);
        for (size_t row = place.row; row < std::min<size_t>(rows, place.row + memory.shard_spec()->shape[0]); ++row) {
            if (row % rounded >= real) continue;  // padding between matrices
            const size_t at = ((row / rounded * real + row % rounded) * width + place.column) * bytes;
            std::memcpy(mutable_raw_data(device) + at, raw_data(host) + at, count * bytes);
        }
    }
}

}  // namespace

SHIM_OP("ttnn.experimental.padded_slice", padded_slice);
SHIM_OP("ttnn.interleaved_to_sharded_partial", interleaved_to_sharded_partial);
SHIM_OP("ttnn.sharded_to_interleaved_partial", sharded_to_interleaved_partial);
SHIM_OP("ttnn.experimental.convert_to_chw", convert_to_chw);
SHIM_OP("ttnn.experimental.convert_to_hwc", convert_to_hwc);
SHIM_OP("ttnn.copy_host_to_device_tensor_partial", copy_some_shards);

// ---- the C++ functions ------------------------------------------------------------------------------------------------------

namespace {
/// Counts of slices are 64 bits wide in the C++ API; the largest tensor has fewer.
int32_t slice_number(int64_t value) {
    return static_cast<int32_t>(std::clamp<int64_t>(value, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()));
}
}  // namespace

namespace ttnn {

Tensor interleaved_to_sharded_partial(
    const Tensor& input_tensor, const std::variant<CoreCoord, CoreRangeSet>& grid, const std::array<uint32_t, 2>& shard_shape,
    int64_t& num_slices, int64_t& slice_index, TensorMemoryLayout shard_scheme, ShardOrientation shard_orientation,
    const std::optional<DataType>& output_dtype) {
    return ::interleaved_to_sharded_partial(
        {SHIM_NAMED(input_tensor, grid, shard_shape), .num_slices = slice_number(num_slices), .slice_index = slice_number(slice_index),
         SHIM_NAMED(shard_scheme, shard_orientation, output_dtype)});
}

Tensor sharded_to_interleaved_partial(
    const Tensor& input_tensor, const Tensor& cache_tensor, int64_t num_slices, int64_t slice_index,
    const std::optional<MemoryConfig>& memory_config, const std::optional<DataType>& output_dtype) {
    return ::sharded_to_interleaved_partial(
        {SHIM_NAMED(input_tensor, cache_tensor), .num_slices = slice_number(num_slices), .slice_index = slice_number(slice_index),
         SHIM_NAMED(memory_config, output_dtype)});
}

}  // namespace ttnn

namespace ttnn::experimental {

Tensor convert_to_chw(const Tensor& input, const std::optional<DataType>& dtype) {
    return ::convert_to_chw({.input = input, .dtype = dtype});
}

Tensor convert_to_hwc(const Tensor& input, const std::optional<MemoryConfig>& memory_config, const std::optional<DataType>& dtype) {
    return ::convert_to_hwc({.input = input, .memory_config = memory_config, .dtype = dtype});
}

}  // namespace ttnn::experimental
