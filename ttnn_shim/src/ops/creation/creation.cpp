// full, zeros, ones, empty, arange: made on the host and moved, as in TT-NN, so they are no device programs. Those like tiles of the device
// are.
#include "ttnn/operations/creation/creation.hpp"

#include <cmath>
#include <string_view>

#include "ops/arguments.hpp"
#include "ops/data_movement/common.hpp"
#include "ops/eltwise/engine.hpp"

using namespace ttnn_shim;

namespace {

struct Where {
    std::optional<DataType> dtype;
    std::optional<Layout> layout;
    MeshDevice* device = nullptr;
    std::optional<MemoryConfig> memory_config;
};

constexpr size_t LAZY_ZERO_BYTES = size_t{64} << 20;  // zeros of this size take host memory when they are written
constexpr uint64_t MOST_VALUES = uint64_t{1} << 36;

TensorSpec spec_of(const Shape& shape, const Where& where) {
    uint64_t volume = 1;
    for (const uint32_t extent : shape.view()) {
        volume *= extent;
        if (volume > MOST_VALUES) fail(ErrorCode::OutOfMemory, text("Out of Memory: shape {} is larger than any memory", shape));
    }
    const DataType dtype = where.dtype.value_or(DataType::BFLOAT16);
    const Layout layout = where.layout.value_or(is_block_float(dtype) ? Layout::TILE : Layout::ROW_MAJOR);
    return make_spec(shape, dtype, layout, where.memory_config.value_or(MemoryConfig{}));
}

Tensor place(const TensorSpec& spec, MeshDevice* device, double value) {
    if (device != nullptr) check_not_captured(*device, "Writes");
    const bool estimate = device != nullptr && device->shim().estimate();
    std::shared_ptr<Values> values;
    if (device != nullptr && !estimate) {
        const size_t bytes = spec.logical_shape().volume() * stored_bytes(spec.data_type());
        if (value == 0 && !std::signbit(value) && bytes >= LAZY_ZERO_BYTES) return make_device_tensor(device, spec, zero_values(bytes));
        // allocate device memory first: a tensor that does not fit must fail before host memory is filled
        Tensor tensor = make_device_tensor(device, spec);
        std::byte* target = mutable_raw_data(tensor);
        fill_elements(stored_bytes(spec.data_type()), target, tensor.logical_volume(), encode_value(spec.data_type(), value).data());
        if (is_block_float(spec.data_type()) && tensor.logical_volume() > 0) {
            const size_t width = spec.logical_shape().rank() == 0 ? 1 : spec.logical_shape()[-1];
            round_blocks(spec.data_type(), reinterpret_cast<bfloat16*>(target), tensor.logical_volume() / width, width);
        }
        return tensor;
    }
    if (estimate) return make_device_tensor(device, spec);
    values = new_values(spec);
    fill_elements(
        stored_bytes(spec.data_type()), values->data(), spec.logical_shape().volume(), encode_value(spec.data_type(), value).data());
    return make_host_tensor(spec, values);
}

Tensor filled(const char* name, const Shape& shape, double value, const Where& where, const std::optional<Tensor>& output = std::nullopt) {
    OpScope scope(name);
    const bool written = !std::string_view(name).starts_with("ttnn.empty");
    SHIM_CHECK(
        where.dtype != DataType::FP8_E4M3 || !written, "dtype: FP8_E4M3 tensors cannot be made by filling, make them with ttnn.to_dtype");
    if (output) {
        check_device_tensor(*output, "optional_tensor");
        SHIM_CHECK(output->logical_shape() == shape, "optional_tensor: expected shape {}, got {}", shape, output->logical_shape());
        if (has_values(*output))
            fill_elements(
                stored_bytes(output->dtype()), mutable_raw_data(*output), output->logical_volume(),
                encode_value(output->dtype(), value).data());
        return *output;
    }
    if (!written && where.device != nullptr && where.device->shim().estimate())
        return make_device_tensor(where.device, spec_of(shape, where));
    Where here = where;
    if (where.device == nullptr) here.memory_config.reset();  // a tensor filled on the host does not remember the memory
    return place(spec_of(shape, here), where.device, value);
}

Where like(const Tensor& tensor, Where where) {
    if (!where.dtype) where.dtype = tensor.dtype();
    if (!where.layout) where.layout = tensor.layout();
    if (where.device == nullptr && is_on_device(tensor)) where.device = tensor.device();
    if (!where.memory_config && is_on_device(tensor)) where.memory_config = tensor.memory_config();
    return where;
}

/// A tensor like `tensor`. TT-NN makes tiles of floats from tiles on the device by a program over the tensor, others by a write.
Tensor filled_like(const char* name, const Tensor& tensor, double value, const Where& asked, const std::optional<Tensor>& output) {
    const DataType dtype = output ? output->dtype() : asked.dtype.value_or(tensor.dtype());
    const Layout layout = output ? output->layout() : asked.layout.value_or(tensor.layout());
    const bool has_program = dtype == DataType::BFLOAT16 || dtype == DataType::FLOAT32 || dtype == DataType::BFLOAT8_B;
    if (!has_program || dtype != tensor.dtype() || tensor.layout() != Layout::TILE || layout != Layout::TILE || !is_on_device(tensor))
        return filled(name, tensor.logical_shape(), value, like(tensor, asked), output);
    const OpScope scope(name);
    check_device_tensor(tensor, "tensor");
    SHIM_CHECK(
        asked.memory_config || tensor.logical_volume() > 0 || !tensor.memory_config().shard_spec() || !tensor.memory_config().is_l1(),
        "tensor: shards of no values cannot be filled, got shape {}", tensor.logical_shape());
    if (output)
        SHIM_CHECK(
            output->logical_shape() == tensor.logical_shape(), "optional_tensor: expected shape {}, got {}", tensor.logical_shape(),
            output->logical_shape());
    const TensorSpec spec = output ? output->tensor_spec() : spec_like(tensor, std::nullopt, asked.memory_config);
    return launch(
        {.op = strategy::Unary{.ops = {"FILL"}}, .constants = {value}}, {tensor}, {spec},
        [=](std::span<const Tensor> outputs) {
            fill_elements(
                stored_bytes(dtype), mutable_raw_data(outputs[0]), outputs[0].logical_volume(), encode_value(dtype, value).data());
        },
        {output})[0];
}

MeshDevice* pointer(const std::optional<std::reference_wrapper<MeshDevice>>& device) { return device ? &device->get() : nullptr; }

Tensor range(int64_t start, int64_t end, int64_t step, const Where& where) {
    OpScope scope("ttnn.arange");
    const DataType asked = where.dtype.value_or(DataType::BFLOAT16);
    SHIM_CHECK(!is_block_float(asked) && asked != DataType::UINT8 && asked != DataType::FP8_E4M3, "dtype: {} is not supported", asked);
    SHIM_CHECK(step != 0, "step: expected a value other than 0");
    SHIM_CHECK(
        (step > 0 && start <= end) || (step < 0 && start >= end), "start {} and end {} do not fit the sign of step {}", start, end, step);
    const auto count = static_cast<uint64_t>((end - start + step + (step > 0 ? -1 : 1)) / step);
    SHIM_CHECK(count <= 0xffffffffU, "the range holds too many values: {}", count);
    const TensorSpec spec = spec_of(Shape({static_cast<uint32_t>(count)}), where);
    if (where.device != nullptr) check_not_captured(*where.device, "Writes");
    auto values = new_values(spec);
    const DataType dtype = spec.data_type();
    parallel_for(count, 65536, [&](size_t begin, size_t last) {
        if (is_integer(dtype)) {
            for (size_t i = begin; i < last; ++i) {
                const int64_t value = start + static_cast<int64_t>(i) * step;
                store_i64(dtype, &value, values->data() + i * stored_bytes(dtype), 1);
            }
        } else {
            for (size_t i = begin; i < last; ++i) {
                const auto value = static_cast<float>(start + static_cast<int64_t>(i) * step);
                store_f32(dtype, &value, values->data() + i * stored_bytes(dtype), 1);
            }
        }
    });
    if (where.device != nullptr) return make_device_tensor(where.device, spec, where.device->shim().estimate() ? nullptr : values);
    return make_host_tensor(spec, values);
}

}  // namespace

namespace ttnn {

template <typename Value>
    requires std::is_same_v<Value, int> || std::is_same_v<Value, float>
Tensor full(
    const Shape& shape, Value fill_value, const std::optional<DataType>& dtype, const std::optional<Layout>& layout,
    std::optional<std::reference_wrapper<MeshDevice>> device, const std::optional<MemoryConfig>& memory_config,
    std::optional<Tensor> output) {
    return filled("ttnn.full", shape, fill_value, {dtype, layout, pointer(device), memory_config}, output);
}
template <typename Value>
    requires std::is_same_v<Value, int> || std::is_same_v<Value, float>
Tensor full_like(
    const Tensor& tensor, Value fill_value, const std::optional<DataType>& dtype, const std::optional<Layout>& layout,
    std::optional<std::reference_wrapper<MeshDevice>> device, const std::optional<MemoryConfig>& memory_config,
    std::optional<Tensor> output) {
    return filled_like("ttnn.full_like", tensor, fill_value, {dtype, layout, pointer(device), memory_config}, output);
}
#define INSTANTIATE(Value)                                                                                             \
    template Tensor full<Value>(                                                                                       \
        const Shape&, Value, const std::optional<DataType>&, const std::optional<Layout>&,                             \
        std::optional<std::reference_wrapper<MeshDevice>>, const std::optional<MemoryConfig>&, std::optional<Tensor>); \
    template Tensor full_like<Value>(                                                                                  \
        const Tensor&, Value, const std::optional<DataType>&, const std::optional<Layout>&,                            \
        std::optional<std::reference_wrapper<MeshDevice>>, const std::optional<MemoryConfig>&, std::optional<Tensor>);
INSTANTIATE(int)
INSTANTIATE(float)
#undef INSTANTIATE

Tensor zeros(
    const Shape& shape, const std::optional<DataType>& dtype, const std::optional<Layout>& layout,
    std::optional<std::reference_wrapper<MeshDevice>> device, const std::optional<MemoryConfig>& memory_config) {
    return filled("ttnn.zeros", shape, 0, {dtype, layout, pointer(device), memory_config});
}
Tensor ones(
    const Shape& shape, const std::optional<DataType>& dtype, const std::optional<Layout>& layout,
    std::optional<std::reference_wrapper<MeshDevice>> device, const std::optional<MemoryConfig>& memory_config) {
    return filled("ttnn.ones", shape, 1, {dtype, layout, pointer(device), memory_config});
}
Tensor zeros_like(
    const Tensor& tensor, const std::optional<DataType>& dtype, const std::optional<Layout>& layout,
    std::optional<std::reference_wrapper<MeshDevice>> device, const std::optional<MemoryConfig>& memory_config,
    const std::optional<Tensor>& output) {
    return filled_like("ttnn.zeros_like", tensor, 0, {dtype, layout, pointer(device), memory_config}, output);
}
Tensor ones_like(
    const Tensor& tensor, const std::optional<DataType>& dtype, const std::optional<Layout>& layout,
    std::optional<std::reference_wrapper<MeshDevice>> device, const std::optional<MemoryConfig>& memory_config,
    const std::optional<Tensor>& output) {
    return filled_like("ttnn.ones_like", tensor, 1, {dtype, layout, pointer(device), memory_config}, output);
}
Tensor empty(const Shape& shape, const DataType& dtype, const Layout& layout, MeshDevice* device, const MemoryConfig& memory_config) {
    return filled("ttnn.empty", shape, 0, {dtype, layout, device, memory_config});
}
Tensor empty_like(
    const Tensor& tensor, const std::optional<DataType>& dtype, const std::optional<Layout>& layout,
    std::optional<std::reference_wrapper<MeshDevice>> device, const std::optional<MemoryConfig>& memory_config) {
    return filled("ttnn.empty_like", tensor.logical_shape(), 0, like(tensor, {dtype, layout, pointer(device), memory_config}));
}
Tensor arange(
    int64_t start, int64_t end, int64_t step, DataType dtype, std::optional<std::reference_wrapper<MeshDevice>> device,
    const MemoryConfig& memory_config, Layout layout) {
    return range(start, end, step, {dtype, layout, pointer(device), memory_config});
}
Tensor arange(
    int64_t end, DataType dtype, std::optional<std::reference_wrapper<MeshDevice>> device, const MemoryConfig& memory_config,
    Layout layout) {
    return range(0, end, 1, {dtype, layout, pointer(device), memory_config});
}

}  // namespace ttnn

namespace {

/// A device program without inputs, unlike ttnn.full.
Tensor filled_by_program(const char* name, const Shape& shape, double value, const Where& where) {
    const OpScope scope(name);
    const DataType dtype = *where.dtype;
    SHIM_CHECK(
        dtype == DataType::BFLOAT16 || dtype == DataType::INT32 || dtype == DataType::FLOAT32,
        "dtype: expected BFLOAT16, FLOAT32 or INT32, got {}", dtype);
    SHIM_CHECK(shape.rank() > 1 && shape.volume() > 0, "shape: expected at least two extents, none of them 0, got {}", shape);
    const TensorSpec spec = make_spec(shape, dtype, *where.layout, *where.memory_config);
    return launch_on(
        where.device, {.op = strategy::Fill{}, .name = "FullDeviceOperation"}, {}, {spec}, [=](std::span<const Tensor> outputs) {
            fill_elements(stored_bytes(dtype), mutable_raw_data(outputs[0]), shape.volume(), encode_value(dtype, value).data());
        })[0];
}

/// Creation without device stays on the host.
Where located(const auto& args) { return {args.dtype, args.layout, args.device, args.memory_config}; }

}  // namespace

SHIM_OP("ttnn.full", [](const arguments::full& args) {
    return filled("ttnn.full", args.shape, scalar_value(args.fill_value), located(args), args.optional_tensor);
});
SHIM_OP("ttnn.zeros", [](const arguments::zeros& args) { return filled("ttnn.zeros", args.shape, 0, located(args)); });
SHIM_OP("ttnn.ones", [](const arguments::ones& args) { return filled("ttnn.ones", args.shape, 1, located(args)); });
SHIM_OP("ttnn.empty", [](const arguments::empty& args) { return filled("ttnn.empty", args.shape, 0, located(args)); });
SHIM_OP("ttnn.full_like", [](const arguments::full_like& args) {
    return filled_like("ttnn.full_like", args.tensor, scalar_value(args.fill_value), located(args), args.optional_tensor);
});
SHIM_OP("ttnn.zeros_like", [](const arguments::zeros_like& args) {
    return filled_like("ttnn.zeros_like", args.tensor, 0, located(args), args.optional_tensor);
});
SHIM_OP("ttnn.ones_like", [](const arguments::ones_like& args) {
    return filled_like("ttnn.ones_like", args.tensor, 1, located(args), args.optional_tensor);
});
SHIM_OP("ttnn.empty_like", [](const arguments::empty_like& args) {
    return filled("ttnn.empty_like", args.tensor.logical_shape(), 0, like(args.tensor, located(args)));
});
SHIM_OP("ttnn.arange", [](const arguments::arange& args) { return range(args.start.value_or(0), args.end, args.step, located(args)); });
SHIM_OP("ttnn.moreh_full", [](const arguments::moreh_full& args) {
    std::vector<uint32_t> extents;
    for (const auto extent : args.shape) extents.push_back(static_cast<uint32_t>(extent));
    return filled_by_program(
        "ttnn.moreh_full", Shape(extents), scalar_value(args.fill_value), {args.dtype, args.layout, args.device, args.memory_config});
});
SHIM_OP("ttnn.moreh_full_like", [](const arguments::moreh_full_like& args) {
    check_device_tensor(args.input, "input");
    const Tensor& input = args.input;
    const Where where{
        args.dtype.value_or(input.dtype()), args.layout.value_or(input.layout()), input.device(),
        args.memory_config.value_or(input.memory_config())};
    return filled_by_program("ttnn.moreh_full_like", input.logical_shape(), scalar_value(args.fill_value), where);
});
