// bitcast: the same bits under another dtype of the same width.
#include <algorithm>
#include <cstring>

#include "ops/arguments.hpp"
#include "ops/eltwise/engine.hpp"
#include "ops/eltwise/placement.hpp"
#include "ttnn/operations/eltwise/unary/unary.hpp"

using namespace ttnn_shim;

namespace ttnn {

Tensor bitcast(
    const Tensor& input, const DataType& dtype, const std::optional<MemoryConfig>& memory_config, const std::optional<Tensor>& output,
    const std::optional<CoreRangeSet>& grids) {
    OpScope scope("ttnn.bitcast");
    check_device_tensor(input, "input_tensor");
    const TensorSpec spec = spec_like(input, dtype, memory_config);
    check_unary_shards(input, spec.memory_config());
    return launch(
        {.op = strategy::Unary{.ops = {"BITCAST"}}, .name = "UnaryDeviceOperation", .cores = grids}, {input}, {spec},
        [=](std::span<const Tensor> outputs) {
            // Each element's low bits: of wider dtypes the rest is cut, narrower ones are extended by zeros.
            std::byte* target = mutable_raw_data(outputs[0]);
            const std::byte* source = raw_data(input);
            const size_t from = stored_bytes(input.dtype()), to = stored_bytes(dtype), common = std::min(from, to);
            if (from == to) {
                std::memcpy(target, source, input.logical_volume() * to);
                return;
            }
            for (size_t i = 0; i < input.logical_volume(); ++i) {
                std::memset(target + i * to, 0, to);
                std::memcpy(target + i * to, source + i * from, common);
            }
        },
        {output})[0];
}

}  // namespace ttnn

SHIM_OP("ttnn.bitcast", [](const arguments::bitcast& args) {
    return ttnn::bitcast(args.input_tensor, args.dtype, args.memory_config, args.output_tensor, args.sub_core_grids);
});
