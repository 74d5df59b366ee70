// bitcast: the same bits under another dtype of the same width.
#include <cstring>

#include "ops/eltwise/engine.hpp"
#include "ttnn/operations/eltwise/unary/unary.hpp"

using namespace ttnn_shim;

namespace ttnn {

Tensor bitcast(
    const Tensor& input, const DataType& dtype, const std::optional<MemoryConfig>& memory_config, const std::optional<Tensor>& output,
    const std::optional<CoreRangeSet>&) {
    OpScope scope("ttnn.bitcast");
    check_device_tensor(input, "input_tensor");
    SHIM_CHECK(!is_block_float(input.dtype()) && !is_block_float(dtype), "dtype: block floats have no values of their own to reinterpret");
    SHIM_CHECK(
        stored_bytes(input.dtype()) == stored_bytes(dtype), "dtype: expected one of {} bytes as {}, got {}", stored_bytes(input.dtype()),
        input.dtype(), dtype);
    return launch(
        {.op = "unary", .attrs = {{"ops", std::vector<std::string>{"BITCAST"}}}, .name = "UnaryDeviceOperation"}, {input},
        {spec_like(input, dtype, memory_config)},
        [&](std::span<const Tensor> outputs) {
            std::byte* target = mutable_raw_data(outputs[0]);
            std::memcpy(target, raw_data(input), input.logical_volume() * stored_bytes(dtype));
        },
        {output})[0];
}

}  // namespace ttnn

SHIM_OP("ttnn.bitcast", [](const Call& c) {
    const auto dtype = c.dtype("dtype");
    SHIM_CHECK(dtype.has_value(), "dtype: missing");
    return ttnn::bitcast(
        c.tensor("input_tensor"), *dtype, c.memory_config("memory_config"), c.optional_tensor("output_tensor"),
        c.core_range_set("sub_core_grids"));
});
