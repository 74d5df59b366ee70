// Kernels of reductions, and what prepares their inputs and describes their results.
#include "ops/reduction/values.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ttnn/operations/copy/typecast/typecast.hpp"
#include "ttnn/operations/core/core.hpp"
#include "ttnn/operations/creation/creation.hpp"
#include "ttnn/operations/data_movement/reshape_view/reshape.hpp"
#include "ttnn/operations/data_movement/tilize_with_val_padding/tilize_with_val_padding.hpp"

namespace ttnn_shim::reduction {
namespace {

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
            for (size_t i = 0; i < count; ++i) into[i] = product(into[i], values[i]);
            break;
        default:
            for (size_t i = 0; i < count; ++i) into[i] += values[i];
    }
}

bool stored_as_bf16(DataType dtype) { return dtype == DataType::BFLOAT16 || is_block_float(dtype); }

/// One row in its own storage; `scratch` is for conversions.
float reduce_row(Kind kind, DataType dtype, const std::byte* source, size_t count, std::vector<float>& scratch) {
    const auto& kernel = kernels::kernel_set();
    const bool extremes = kind == Kind::Max || kind == Kind::Min;
    if (stored_as_bf16(dtype) && extremes) {
        const auto* row = reinterpret_cast<const uint16_t*>(source);
        return kind == Kind::Max ? kernel.max_row_bf16(row, count) : kernel.min_row_bf16(row, count);
    }
    const float* row = reinterpret_cast<const float*>(source);
    if (dtype != DataType::FLOAT32) {
        scratch.resize(count);
        load_f32(dtype, source, scratch.data(), count);
        row = scratch.data();
    }
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
        if (kind == Kind::Max || kind == Kind::Min) {
            const kernels::RowFold& rule = kind == Kind::Max ? kernel.max_rows : kernel.min_rows;
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
    struct Scratch {
        std::vector<T> sum, row;
    };
    over_strips<Scratch>(m, [&](size_t o, size_t first, size_t count, Scratch& scratch) {
        const std::byte* strip = source + (o * m.size * m.inner + first) * stored_bytes(input.dtype());
        scratch.sum.resize(count);
        reduce_columns(kind, input.dtype(), strip, m.inner, m.size, scratch.sum.data(), count, scratch.row);
        scale(scratch.sum.data(), count);
        store_values(output.dtype(), target, o * m.inner + first, scratch.sum.data(), count);
    });
}

uint32_t tiles_up(uint64_t extent) { return static_cast<uint32_t>((extent + 31) / 32); }

}  // namespace

void reduce_values(const Tensor& input, const Tensor& output, const Middle& m, Kind kind, float factor) {
    SHIM_ASSERT(is_integer(input.dtype()) || (kind != Kind::Sum && kind != Kind::Mean));
    if (is_integer(input.dtype())) {
        reduce_kernel<int64_t>(input, output, m, kind, factor);
    } else {
        reduce_kernel<float>(input, output, m, kind, factor);
    }
}

Tensor fill_tile_padding(const Tensor& input) {
    const Shape& shape = input.logical_shape();
    const uint32_t height = shape.rank() >= 2 ? shape[-2] : 1, width = shape.rank() >= 1 ? shape[-1] : 1;
    if (input.layout() != Layout::TILE || (height % 32 == 0 && width % 32 == 0)) return input;
    if (is_block_float(input.dtype())) return ttnn::typecast(fill_tile_padding(ttnn::typecast(input, DataType::BFLOAT16)), input.dtype());
    SHIM_CHECK(stored_bytes(input.dtype()) > 1, "input_tensor: the padding of {} tiles cannot be filled", input.dtype());
    if (input.is_sharded() && input.memory_config().is_l1()) {
        const uint64_t matrices = height == 0 || width == 0 ? middle_of(shape, shape.rank() - std::min<size_t>(2, shape.rank()), 2).outer
                                                            : shape.volume() / (uint64_t{height} * width);
        SHIM_CHECK(matrices == 1, "input_tensor: the padding of {} matrices in shards cannot be filled, got shape {}", matrices, shape);
        SHIM_CHECK(height > 0 && width > 0, "input_tensor: no core holds a tile of shape {}", shape);
    }
    if (shape.volume() == 0) return input;
    return launch(
        {.op = strategy::FillPad{}, .name = "FillPadDeviceOperation"}, {input}, {input.tensor_spec()}, [](std::span<const Tensor>) {},
        {input})[0];
}

Tensor filled(const Tensor& input, const Shape& shape, float value, Layout layout, const MemoryConfig& memory) {
    const float stored = is_integer(input.dtype()) && std::isnan(value) ? 0.0F : value;
    return ttnn::full(shape, stored, input.dtype(), layout, *input.device(), memory);
}

Shape without(const Shape& shape, const std::vector<uint32_t>& axes, bool keepdim) {
    std::vector<uint32_t> extents;
    for (uint32_t i = 0; i < shape.rank(); ++i) {
        const bool gone = std::binary_search(axes.begin(), axes.end(), i);
        if (!gone || keepdim) extents.push_back(gone ? 1 : shape[at(i)]);
    }
    return shape_of(extents);
}

TensorSpec reduced_spec(const Tensor& input, const Shape& shape, DataType dtype, Layout layout, const MemoryConfig& memory) {
    const auto refused = [](const MemoryConfig& config) {
        return config.memory_layout() == TensorMemoryLayout::BLOCK_SHARDED && config.is_dram();
    };
    SHIM_CHECK(!refused(input.memory_config()) && !refused(memory), "blocks in DRAM cannot be reduced, got {}", input.memory_config());
    if (!memory.is_sharded() || memory.memory_layout() == TensorMemoryLayout::ND_SHARDED) return make_spec(shape, dtype, layout, memory);
    const auto& given = memory.shard_spec() ? memory.shard_spec() : input.memory_config().shard_spec();
    SHIM_CHECK(given, "memory_config: {} needs a shard spec", memory);
    SHIM_CHECK(
        memory.shard_spec() || memory.buffer_type() == input.memory_config().buffer_type(),
        "memory_config: {} needs a shard spec of its own", memory);
    const Shape padded = make_spec(shape, dtype, layout).padded_shape();
    const uint64_t width = padded[-1], height = padded.volume() / std::max<uint64_t>(1, width);
    const bool by_rows = given->orientation == ShardOrientation::ROW_MAJOR;
    const CoreCoord box = given->grid.bounding_box().grid_size();
    uint64_t down = 1, across = 1;
    switch (memory.memory_layout()) {
        case TensorMemoryLayout::HEIGHT_SHARDED: down = given->grid.num_cores(); break;
        case TensorMemoryLayout::WIDTH_SHARDED: across = given->grid.num_cores(); break;
        default:
            SHIM_CHECK(given->grid.ranges().size() == 1, "memory_config: blocks need one rectangle of cores, got {}", memory);
            down = by_rows ? box.y : box.x;
            across = by_rows ? box.x : box.y;
    }
    const uint32_t rows = tiles_up((height + down - 1) / down) * 32, columns = tiles_up((width + across - 1) / across) * 32;
    // Rows and columns of shards are described without a scheme and named after what they hold: all rows, or whole rows.
    TensorMemoryLayout scheme = memory.memory_layout();
    if (scheme != TensorMemoryLayout::BLOCK_SHARDED)
        scheme = rows == height ? TensorMemoryLayout::WIDTH_SHARDED : TensorMemoryLayout::HEIGHT_SHARDED;
    return make_spec(
        shape, dtype, layout,
        MemoryConfig(scheme, memory.buffer_type(), tt::tt_metal::ShardSpec(given->grid, {rows, columns}, given->orientation)));
}

void check_result_cores(const Tensor& input, const MemoryConfig& memory, uint64_t units) {
    if (!memory.shard_spec()) return;
    const CoreCoord grid = machine_of(input).grid();
    const auto cores = static_cast<uint32_t>(std::clamp<uint64_t>(units, 1, grid.x * grid.y));
    SHIM_CHECK(
        tt::tt_metal::num_cores_to_corerangeset(cores, grid).contains(memory.shard_spec()->grid),
        "memory_config: its shards lie outside the {} cores of the program", cores);
}

Tensor to_rank_4(const Tensor& input) {
    const Shape& shape = input.logical_shape();
    if (shape.rank() < 4) return ttnn::unsqueeze_to_4D(input);
    if (shape.rank() == 4) return input;
    uint32_t first = 1;
    for (size_t i = 0; i + 3 < shape.rank(); ++i) first *= shape[at(i)];
    return ttnn::reshape(input, Shape({first, shape[-3], shape[-2], shape[-1]}));
}

Tensor tilized(const Tensor& input, const MemoryConfig& memory) {
    if (input.layout() == Layout::TILE) return input;
    SHIM_CHECK(
        stored_bytes(input.dtype()) > 1 || input.dtype() == DataType::FP8_E4M3 || input.logical_volume() == 0,
        "input_tensor: {} cannot be tilized here", input.dtype());
    auto padded = extents_of(input.padded_shape());
    for (size_t i = 0; i < std::min<size_t>(2, padded.size()); ++i) {
        uint32_t& extent = padded[padded.size() - 1 - i];
        extent = tiles_up(extent) * 32;
    }
    MemoryConfig place = memory;
    if (input.memory_config().memory_layout() == TensorMemoryLayout::WIDTH_SHARDED && input.memory_config().shard_spec()) {
        auto shard = *input.memory_config().shard_spec();  // its columns keep their cores, higher by the padding
        shard.shape[0] = static_cast<uint32_t>(shape_of(padded).volume() / std::max(1U, padded.back()));
        place = MemoryConfig(memory.memory_layout(), memory.buffer_type(), shard);
    }
    return ttnn::tilize_with_val_padding(input, shape_of(padded), 0.0F, place);
}

}  // namespace ttnn_shim::reduction
