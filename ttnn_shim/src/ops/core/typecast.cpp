// ttnn::typecast (device) and ttnn::to_dtype (host).
#include "ops/arguments.hpp"
#include "ops/core/core_programs.hpp"
#include "ops/launch.hpp"
#include "ops/registry.hpp"
#include "tensor/mesh.hpp"
#include "ttnn/operations/copy/typecast/typecast.hpp"
#include "ttnn/operations/core/to_dtype/to_dtype_op.hpp"

using namespace ttnn_shim;

namespace ttnn {

Tensor typecast(
    const Tensor& input, const DataType& output_dtype, const std::optional<MemoryConfig>& memory_config,
    const std::optional<Tensor>& optional_output_tensor, const std::optional<CoreRangeSet>& sub_core_grids) {
    OpScope scope("ttnn.typecast");
    if (!is_on_device(input)) return to_dtype(input, output_dtype);  // as TT-NN: on the host it is a conversion
    check_device_tensor(input, "input_tensor");
    SHIM_CHECK(
        !memory_config || memory_config->memory_layout() == input.memory_config().memory_layout(),
        "memory_config: typecast keeps the memory layout {}, got {}", input.memory_config().memory_layout(), *memory_config);
    SHIM_CHECK(input.layout() == Layout::TILE || !is_block_float(output_dtype), "{} needs TILE layout", output_dtype);
    const auto& shards = input.memory_config().shard_spec();
    const bool rows = input.layout() == Layout::ROW_MAJOR;
    SHIM_CHECK(
        !rows || !shards || input.padded_shape()[-1] == 0 ||
            shards->shape[1] * stored_bytes(input.dtype()) % machine_of(input).machine().l1_alignment == 0,
        "input_tensor: rows of shards must be aligned, got {}", input.memory_config());
    SHIM_CHECK(!rows || shards || input.logical_volume() > 0, "input_tensor: no rows to convert in shape {}", input.logical_shape());
    if (optional_output_tensor) {
        SHIM_CHECK(
            optional_output_tensor->dtype() == output_dtype, "output_tensor has dtype {}, expected {}", optional_output_tensor->dtype(),
            output_dtype);
    }
    return launch(
        {.op = strategy::Typecast{}, .name = "TypecastDeviceOperation", .cores = sub_core_grids}, {input},
        {spec_like(input, output_dtype, memory_config)}, [=](std::span<const Tensor> outputs) { copy_values(input, outputs[0]); },
        {optional_output_tensor})[0];
}

Tensor typecast(
    const Tensor& input, const DataType& input_dtype, const DataType& output_dtype, const std::optional<MemoryConfig>& memory_config,
    const std::optional<Tensor>& optional_output_tensor, const std::optional<CoreRangeSet>& sub_core_grids) {
    OpScope scope("ttnn.typecast");
    SHIM_CHECK(input_dtype == input.dtype(), "input_dtype is {}, but the tensor has {}", input_dtype, input.dtype());
    return typecast(input, output_dtype, memory_config, optional_output_tensor, sub_core_grids);
}

Tensor to_dtype(const Tensor& input_tensor, const DataType& dtype) {
    OpScope scope("ttnn.to_dtype");
    SHIM_CHECK(!is_on_device(input_tensor), "to_dtype works on host tensors; use ttnn.typecast on the device");
    if (input_tensor.dtype() == dtype) {
        return input_tensor;
    }
    const bool eight_bit_float = input_tensor.dtype() == DataType::FP8_E4M3 || dtype == DataType::FP8_E4M3;
    SHIM_CHECK(
        !eight_bit_float || input_tensor.dtype() == DataType::FLOAT32 || dtype == DataType::FLOAT32,
        "dtype: FP8_E4M3 is converted from and to FLOAT32 only, got {} to {}", input_tensor.dtype(), dtype);
    const TensorSpec& spec = input_tensor.tensor_spec();
    const Layout layout = is_block_float(dtype) ? Layout::TILE : spec.layout();
    const TensorSpec result(spec.logical_shape(), dtype, layout, spec.memory_config());
    return convert_parts(input_tensor, result, [&](const std::shared_ptr<Values>& values) {
        return from_host_values(values->data(), input_tensor.dtype(), result, nullptr).shim().buffer->values();
    });
}

}  // namespace ttnn

SHIM_OP("ttnn.typecast", [](const arguments::typecast& args) {
    if (const auto input_dtype = args.input_dtype) {
        return ttnn::typecast(
            args.input_tensor, *input_dtype, args.output_dtype.value_or(DataType::INVALID), args.memory_config, args.output_tensor,
            args.sub_core_grids);
    }
    return ttnn::typecast(
        args.input_tensor, args.dtype.value_or(DataType::INVALID), args.memory_config, args.output_tensor, args.sub_core_grids);
});
SHIM_OP("ttnn.to_dtype", [](const arguments::to_dtype& args) { return ttnn::to_dtype(args.tensor, args.dtype); });
