// gather, scatter, index_fill, indexed_fill: values picked or placed by index tensors. An index out of range is an error.
#include <algorithm>
#include <cstring>

#include "ops/arguments.hpp"
#include "ops/data_movement/common.hpp"
#include "ops/eltwise/engine.hpp"
#include "ttnn/operations/data_movement/gather/gather.hpp"
#include "ttnn/operations/data_movement/indexed_fill/indexed_fill.hpp"
#include "ttnn/operations/data_movement/scatter/scatter.hpp"

using namespace ttnn_shim;

namespace {

std::vector<int64_t> indices_of(const Tensor& tensor, uint32_t bound, const char* name) {
    std::vector<int64_t> values = load_i64(tensor);
    for (const int64_t value : values)
        SHIM_CHECK(value >= 0 && value < bound, "{}: index {} is outside a dimension of {}", name, value, bound);
    return values;
}

void check_index(const Tensor& index, const Shape& shape, uint32_t axis, const char* name) {
    check_device_tensor(index, name);
    SHIM_CHECK(is_integer(index.dtype()), "{}: expected integer indices, got {}", name, index.dtype());
    const Shape& own = index.logical_shape();
    SHIM_CHECK(own.rank() == shape.rank(), "{}: expected rank {}, got shape {}", name, shape.rank(), own);
    for (size_t i = 0; i < shape.rank(); ++i)
        SHIM_CHECK(i == axis || own[at(i)] <= shape[at(i)], "{}: shape {} exceeds {} outside the dimension", name, own, shape);
}

/// Calls function(flat index position, offset in `shape` with the axis coordinate left out) over all positions of `index`.
template <typename Function>
void walk(const Shape& index, const Shape& shape, uint32_t axis, Function&& function) {
    const auto strides = strides_of(shape);
    const size_t rank = index.rank();
    std::vector<uint32_t> position(rank, 0);
    const uint64_t count = index.volume();
    for (uint64_t flat = 0; flat < count; ++flat) {
        uint64_t offset = 0;
        for (size_t i = 0; i < rank; ++i) offset += i == axis ? 0 : position[i] * strides[i];
        function(flat, offset);
        for (size_t i = rank; i-- > 0;) {
            if (++position[i] < index[at(i)]) break;
            position[i] = 0;
        }
    }
}

enum class Reduce { None, Add, Multiply };

Reduce parse_reduce(const std::optional<std::string>& name) {
    if (!name || name->empty()) return Reduce::None;
    if (*name == "add") return Reduce::Add;
    if (*name == "multiply") return Reduce::Multiply;
    fail(
        ErrorCode::InvalidArgument,
        text("reduce: expected add, multiply or None (amax and amin are named in the library but not implemented), got '{}'", *name));
}

template <typename T>
T reduced_value(Reduce reduce, T old, T value) {
    switch (reduce) {
        case Reduce::Add: return old + value;
        case Reduce::Multiply: return old * value;
        default: return value;
    }
}

Tensor scattered(
    const char* op_name, const Tensor& input, int32_t dim, const Tensor& index, const Tensor& source,
    const std::optional<MemoryConfig>& memory_config, Reduce reduce, const OptionalCores& cores) {
    check_device_tensor(input, "input");
    SHIM_CHECK(!input.memory_config().is_sharded(), "input: sharded tensors are not supported, got {}", input.memory_config());
    OpScope scope(op_name);
    check_device_tensor(input, "input");
    check_device_tensor(source, "src");
    SHIM_CHECK(
        input.dtype() != DataType::FLOAT32 || input.layout() != Layout::TILE,
        "input: FLOAT32 tiles cannot be scattered to; use ROW_MAJOR layout");
    SHIM_CHECK(
        source.dtype() != DataType::FLOAT32 || source.layout() != Layout::TILE,
        "src: FLOAT32 tiles cannot be scattered; use ROW_MAJOR layout");
    SHIM_CHECK(
        input.dtype() != DataType::BFLOAT4_B && source.dtype() != DataType::BFLOAT4_B, "input and src: {} is not supported", input.dtype());
    const bool inside = input.layout() == Layout::TILE && input.logical_shape() != input.padded_shape();
    SHIM_CHECK(!inside || input.dtype() != DataType::UINT8, "input: padded tiles of {} are not supported", input.dtype());
    SHIM_CHECK(!index.is_sharded() && !source.is_sharded(), "index and src: sharded tensors are not supported");
    const Shape& shape = input.logical_shape();
    const uint32_t axis = normalize_dim(dim, shape.rank());
    check_index(index, shape, axis, "index");
    SHIM_CHECK(source.dtype() == input.dtype(), "src: expected {}, got {}", input.dtype(), source.dtype());
    const Shape &is = index.logical_shape(), &ss = source.logical_shape();
    SHIM_CHECK(ss.rank() == is.rank(), "src: expected rank {}, got shape {}", is.rank(), ss);
    for (size_t i = 0; i < is.rank(); ++i) SHIM_CHECK(is[at(i)] <= ss[at(i)], "src: shape {} is smaller than the index's {}", ss, is);
    // TT-NN scatters rows: padded block floats end as it untilized them.
    const DataType dtype = inside && is_block_float(input.dtype()) ? DataType::BFLOAT16 : input.dtype();
    return launch(
        {.op = strategy::Scatter{.dim = axis}, .name = "ScatterDeviceOperation", .cores = cores}, {input, index, source},
        {spec_like(input, dtype, memory_config)}, [=](std::span<const Tensor> outputs) {
            const auto picks = indices_of(index, shape[at(axis)], "index");
            const uint64_t step = strides_of(shape)[axis];
            const auto source_strides = strides_of(ss), index_strides = strides_of(is);
            std::vector<uint64_t> source_at(picks.size());
            for (uint64_t flat = 0; flat < picks.size(); ++flat) {
                uint64_t rest = flat, offset = 0;
                for (size_t i = 0; i < is.rank(); ++i) {
                    offset += rest / index_strides[i] * source_strides[i];
                    rest %= index_strides[i];
                }
                source_at[flat] = offset;
            }
            if (is_integer(input.dtype())) {
                std::vector<int64_t> values(input.logical_volume()), added(source.logical_volume());
                load_i64(input.dtype(), raw_data(input), values.data(), values.size());
                load_i64(source.dtype(), raw_data(source), added.data(), added.size());
                walk(is, shape, axis, [&](uint64_t flat, uint64_t offset) {
                    int64_t& value = values[offset + static_cast<uint64_t>(picks[flat]) * step];
                    value = reduced_value(reduce, value, added[source_at[flat]]);
                });
                store_i64(outputs[0].dtype(), values.data(), mutable_raw_data(outputs[0]), values.size());
            } else {
                const F32Values old(input), added(source);
                std::vector<float> values(old.data(), old.data() + old.size());
                walk(is, shape, axis, [&](uint64_t flat, uint64_t offset) {
                    float& value = values[offset + static_cast<uint64_t>(picks[flat]) * step];
                    value = reduced_value(reduce, value, added[source_at[flat]]);
                });
                write_f32(outputs[0], values);
            }
        })[0];
}

}  // namespace

namespace ttnn {

Tensor gather(
    const Tensor& input, int8_t dim, const Tensor& index, bool, const std::optional<MemoryConfig>& memory_config,
    std::optional<Tensor> output, const std::optional<CoreRangeSet>& grids) {
    OpScope scope("ttnn.gather");
    check_device_tensor(input, "input");
    const Shape& shape = input.logical_shape();
    const uint32_t axis = normalize_dim(dim, shape.rank());
    check_index(index, shape, axis, "index");
    SHIM_CHECK(
        index.dtype() == DataType::UINT32 || index.dtype() == DataType::UINT16, "index: expected UINT32 or UINT16, got {}", index.dtype());
    SHIM_CHECK(shape.rank() > 1 || input.layout() != Layout::TILE, "input: expected rank 2 or more for tiles, got shape {}", shape);
    const bool inside = input.layout() == Layout::TILE && shape != input.padded_shape();
    SHIM_CHECK(
        !inside || (input.dtype() != DataType::UINT8 && input.dtype() != DataType::INT8), "input: padded tiles of {} are not supported",
        input.dtype());
    SHIM_CHECK(index.layout() == input.layout(), "index: expected layout {} as the input's, got {}", input.layout(), index.layout());
    SHIM_CHECK(!output || output->shim().buffer != input.shim().buffer, "output_tensor: it must not be the input's memory");
    const Shape& is = index.logical_shape();
    return launch(
        {.op = strategy::Gather{.dim = axis}, .name = "GatherDeviceOperation", .cores = grids}, {input, index},
        {make_spec(is, input.dtype(), input.layout(), output ? output->memory_config() : memory_config.value_or(input.memory_config()))},
        [=](std::span<const Tensor> outputs) {
            const auto picks = indices_of(index, shape[at(axis)], "index");
            const uint64_t step = strides_of(shape)[axis];
            const size_t bytes = stored_bytes(input.dtype());
            const std::byte* source = raw_data(input);
            std::byte* target = mutable_raw_data(outputs[0]);
            walk(is, shape, axis, [&](uint64_t flat, uint64_t offset) {
                std::memcpy(target + flat * bytes, source + (offset + static_cast<uint64_t>(picks[flat]) * step) * bytes, bytes);
            });
        },
        {output})[0];
}

Tensor scatter(
    const Tensor& input, const int32_t& dim, const Tensor& index, const Tensor& source, const std::optional<MemoryConfig>& memory_config,
    const std::optional<std::string>& reduction, const std::optional<CoreRangeSet>& grids) {
    OpScope scope("ttnn.scatter");
    return scattered("ttnn.scatter", input, dim, index, source, memory_config, parse_reduce(reduction), grids);
}
Tensor scatter_add(
    const Tensor& input, const int32_t& dim, const Tensor& index, const Tensor& source, const std::optional<MemoryConfig>& memory_config,
    const std::optional<CoreRangeSet>& grids) {
    OpScope scope("ttnn.scatter_add");
    return scattered("ttnn.scatter_add", input, dim, index, source, memory_config, Reduce::Add, grids);
}

Tensor indexed_fill(
    const Tensor& batch_id, const Tensor& a, const Tensor& b, const std::optional<MemoryConfig>& memory_config, int64_t dim) {
    OpScope scope("ttnn.indexed_fill");
    check_device_tensor(batch_id, "batch_id");
    check_device_tensor(a, "input_tensor_a");
    check_device_tensor(b, "input_tensor_b");
    SHIM_CHECK(is_integer(batch_id.dtype()), "batch_id: expected integer indices, got {}", batch_id.dtype());
    SHIM_CHECK(
        a.dtype() == b.dtype() && a.logical_shape().rank() == b.logical_shape().rank(),
        "input_tensor_b: expected {} of rank {}, got {} of shape {}", a.dtype(), a.logical_shape().rank(), b.dtype(), b.logical_shape());
    const Shape &sa = a.logical_shape(), &sb = b.logical_shape();
    const uint32_t axis = normalize_dim(dim, sa.rank());
    for (size_t i = 0; i < sa.rank(); ++i)
        SHIM_CHECK(i == axis || sa[at(i)] == sb[at(i)], "input_tensor_b: shape {} differs from {} outside dimension {}", sb, sa, dim);
    SHIM_CHECK(
        batch_id.logical_volume() == sb[at(axis)], "batch_id: expected {} indices, got shape {}", sb[at(axis)], batch_id.logical_shape());
    return launch(
        {.op = strategy::IndexedFill{}, .name = "IndexedFillDeviceOperation"}, {batch_id, a, b},
        {spec_like(a, std::nullopt, memory_config)}, [=](std::span<const Tensor> outputs) {
            const auto picks = indices_of(batch_id, sa[at(axis)], "batch_id");
            const size_t bytes = stored_bytes(a.dtype());
            std::byte* target = mutable_raw_data(outputs[0]);
            std::memcpy(target, raw_data(a), a.logical_volume() * bytes);
            size_t inner = bytes, outer = 1;
            for (size_t i = axis + 1; i < sa.rank(); ++i) inner *= sa[at(i)];
            for (size_t i = 0; i < axis; ++i) outer *= sa[at(i)];
            for (size_t o = 0; o < outer; ++o) {
                for (size_t i = 0; i < picks.size(); ++i) {
                    std::memcpy(
                        target + (o * sa[at(axis)] + static_cast<size_t>(picks[i])) * inner, raw_data(b) + (o * picks.size() + i) * inner,
                        inner);
                }
            }
        })[0];
}

Tensor index_fill(
    const Tensor& input, uint32_t dim, const Tensor& index, std::variant<float, int> value,
    const std::optional<MemoryConfig>& memory_config) {
    OpScope scope("ttnn.index_fill");
    check_device_tensor(input, "input", Layout::ROW_MAJOR);
    check_device_tensor(index, "index");
    SHIM_CHECK(is_integer(index.dtype()), "index: expected integer indices, got {}", index.dtype());
    const Shape& shape = input.logical_shape();
    const uint32_t axis = normalize_dim(dim, shape.rank());
    const double number = std::visit([](auto v) { return static_cast<double>(v); }, value);
    return launch(
        {.op = strategy::IndexFill{.last_dim = axis + 1 == shape.rank()}, .name = "IndexFillDeviceOperation"}, {input, index},
        {spec_like(input, std::nullopt, memory_config)}, [=](std::span<const Tensor> outputs) {
            const auto picks = indices_of(index, shape[at(axis)], "index");
            const size_t bytes = stored_bytes(input.dtype());
            std::byte* target = mutable_raw_data(outputs[0]);
            std::memcpy(target, raw_data(input), input.logical_volume() * bytes);
            size_t inner = 1, outer = 1;
            for (size_t i = axis + 1; i < shape.rank(); ++i) inner *= shape[at(i)];
            for (size_t i = 0; i < axis; ++i) outer *= shape[at(i)];
            const auto encoded = encode_value(input.dtype(), number);
            for (size_t o = 0; o < outer; ++o) {
                for (const int64_t pick : picks)
                    fill_elements(bytes, target + (o * shape[at(axis)] + static_cast<size_t>(pick)) * inner * bytes, inner, encoded.data());
            }
        })[0];
}

}  // namespace ttnn

SHIM_OP("ttnn.gather", [](const arguments::gather& args) {
    return ttnn::gather(
        args.input, static_cast<int8_t>(args.dim), args.index, args.sparse_grad, args.memory_config, args.out, args.sub_core_grids);
});
SHIM_OP("ttnn.scatter", [](const arguments::scatter& args) {
    return ttnn::scatter(args.input, args.dim, args.index, args.src, args.memory_config, args.reduce, args.sub_core_grids);
});
SHIM_OP("ttnn.scatter_add", [](const arguments::scatter_add& args) {
    return ttnn::scatter_add(args.input, args.dim, args.index, args.src, args.memory_config, args.sub_core_grids);
});
SHIM_OP("ttnn.indexed_fill", [](const arguments::indexed_fill& args) {
    return ttnn::indexed_fill(args.batch_id, args.input_tensor_a, args.input_tensor_b, args.memory_config, args.dim);
});
SHIM_OP("ttnn.index_fill", [](const arguments::index_fill& args) {
    return ttnn::index_fill(args.input, args.dim, args.index, args.value, args.memory_config);
});
SHIM_OP("ttnn.index_fill_new", [](const arguments::index_fill_new& args) {
    return ttnn::index_fill(args.input, args.dim, args.index, args.value, args.memory_config);
});

// ---- the C++ functions ------------------------------------------------------------------------------------------------------

namespace ttnn {

Tensor index_fill_new(
    const Tensor& input, uint32_t dim, const Tensor& index, std::variant<float, int> value,
    const std::optional<MemoryConfig>& memory_config) {
    return index_fill(input, dim, index, value, memory_config);
}

}  // namespace ttnn
