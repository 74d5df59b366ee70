// The fused tile program of `ttnn_jit`: clock and memory of one program, values of the ops that it replaces.
#include <cstring>

#include "ops/launch.hpp"
#include "ops/registry.hpp"

using namespace ttnn_shim;

namespace {

/// Parts of a text between commas.
std::vector<std::string> parts_of(const std::string& text) {
    std::vector<std::string> parts;
    for (size_t begin = 0; begin <= text.size();) {
        const size_t end = std::min(text.find(',', begin), text.size());
        parts.push_back(text.substr(begin, end - begin));
        begin = end + 1;
    }
    return parts;
}

/// inputs: what the program reads; functions: as `strategy::Unary::ops` has them, between commas; shape, dtype, memory_config: of the
/// result; values: a host tensor of that shape and dtype, absent in estimate mode.
Tensor fused_eltwise(const Call& call) {
    const OpScope scope("ttnn_jit.jit");
    const std::vector<Tensor> inputs = call.tensors("inputs");
    SHIM_CHECK(!inputs.empty(), "inputs: expected at least one tensor");
    const std::optional<Tensor> values = call.optional_tensor("values");
    const TensorSpec spec =
        make_spec(call.shape("shape").value(), call.dtype("dtype").value(), Layout::TILE, call.required_memory_config("memory_config"));
    SHIM_CHECK(
        !values || (values->dtype() == spec.data_type() && values->logical_shape() == spec.logical_shape()),
        "values: expected shape {} and dtype {}, got {}", spec.logical_shape(), spec.data_type(), values->tensor_spec());
    ttnn::ComputeKernelConfig compute{};
    compute.math_fidelity = parse_math_fidelity(call.text("math_fidelity", "HiFi4"));
    return launch(
        {.op = strategy::Unary{.ops = parts_of(call.required_text("functions"))}, .compute = compute, .name = "GenericOpDeviceOperation"},
        inputs, {spec}, [=](std::span<const Tensor> outputs) {
            SHIM_CHECK(values && has_values(*values), "values are absent although the device computes values");
            std::memcpy(mutable_raw_data(outputs[0]), raw_data(*values), values->logical_volume() * stored_bytes(values->dtype()));
        })[0];
}

SHIM_OP("ttnn_shim.fused_eltwise", fused_eltwise);

}  // namespace
