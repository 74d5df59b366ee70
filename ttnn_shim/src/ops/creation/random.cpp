// rand, randn, uniform, bernoulli, dropout: a counter-based generator, so that threads do not change the values of a seed.
#include "ops/arguments.hpp"
#include "ops/creation/random.hpp"

#include <atomic>
#include <cmath>

#include "ops/data_movement/common.hpp"
#include "ops/eltwise/engine.hpp"
#include "ttnn/operations/rand/rand.hpp"
#include "ttnn/operations/core/to_layout/to_layout_op.hpp"
#include "ttnn/operations/copy/typecast/typecast.hpp"

using namespace ttnn_shim;

uint64_t ttnn_shim::sequence(uint32_t seed) {
    static std::atomic<uint64_t> next{1};
    return seed != 0 ? seed : (next.fetch_add(1) << 32);
}

namespace {

/// output[i] = function(i) in float32, stored with one rounding.
template <typename Function>
void generate(const Tensor& output, Function&& function) {
    std::byte* target = mutable_raw_data(output);
    parallel_for(output.logical_volume(), 4 * BLOCK, [&](size_t begin, size_t end) {
        float values[BLOCK];
        for (size_t at = begin; at < end; at += BLOCK) {
            const size_t n = std::min(BLOCK, end - at);
            for (size_t i = 0; i < n; ++i) values[i] = function(at + i);
            store_f32(output.dtype(), values, target + at * stored_bytes(output.dtype()), n);
        }
    });
}

}  // namespace

namespace ttnn {

Tensor rand(
    const Shape& shape, MeshDevice& device, DataType dtype, Layout layout, const MemoryConfig& memory_config, float low, float high,
    uint32_t seed, const std::optional<tt::tt_metal::distributed::MeshMapperConfig>&) {
    OpScope scope("ttnn.rand");
    SHIM_CHECK(low <= high, "low and high: expected low <= high, got {} and {}", low, high);
    SHIM_CHECK(dtype != DataType::UINT8, "dtype: {} is not supported", dtype);
    const uint64_t stream = sequence(seed);
    const DataType drawn = dtype == DataType::BFLOAT16 ? dtype : DataType::FLOAT32;  // the seeds that the program has
    Tensor made = launch_on(
        &device, {.op = strategy::Fill{}, .name = "RandDeviceOperation"}, {}, {make_spec(shape, drawn, Layout::TILE, memory_config)},
        [=](std::span<const Tensor> outputs) {
            generate(outputs[0], [&](size_t i) { return low + (high - low) * uniform_at(stream, i); });
        })[0];
    if (dtype != drawn) made = ttnn::typecast(made, dtype);
    return ttnn::to_layout(made, layout);  // TT-NN makes tiles
}

Tensor randn(
    const Shape& shape, MeshDevice& device, DataType dtype, Layout layout, const MemoryConfig& memory_config,
    const std::optional<ComputeKernelConfig>& compute, std::optional<uint32_t> seed) {
    OpScope scope("ttnn.randn");
    SHIM_CHECK(is_floating_point(dtype), "dtype: expected a floating point dtype, got {}", dtype);
    const uint64_t stream = sequence(seed.value_or(0));
    return launch_on(
        &device, {.op = strategy::Fill{}, .compute = compute, .name = "RandnDeviceOperation"}, {},
        {make_spec(shape, dtype, layout, memory_config)}, [=](std::span<const Tensor> outputs) {
            generate(outputs[0], [&](size_t i) {  // Box and Muller; 1 - u is never 0
                const float radius = std::sqrt(-2.0F * std::log(1.0F - uniform_at(stream, 2 * i)));
                return radius * std::cos(6.28318531F * uniform_at(stream, 2 * i + 1));
            });
        })[0];
}

Tensor uniform(
    const Tensor& input, float from, float to, uint32_t seed, const std::optional<MemoryConfig>&,
    const std::optional<ComputeKernelConfig>& compute) {
    OpScope scope("ttnn.uniform");
    check_device_tensor(input, "input", Layout::TILE);
    SHIM_CHECK(
        input.dtype() == DataType::BFLOAT16 || input.dtype() == DataType::FLOAT32, "input: expected FLOAT32 or BFLOAT16, got {}",
        input.dtype());
    SHIM_CHECK(from < to, "from and to: expected from < to, got {} and {}", from, to);
    const uint64_t stream = sequence(seed);
    return launch(
        {.op = strategy::Fill{}, .compute = compute, .name = "UniformDeviceOperation"}, {input}, {input.tensor_spec()},
        [=](std::span<const Tensor> outputs) {
            generate(outputs[0], [&](size_t i) { return from + (to - from) * uniform_at(stream, i); });
        },
        {input})[0];
}

Tensor bernoulli(
    const Tensor& input, uint32_t seed, const std::optional<Tensor>& output, const std::optional<DataType>& dtype,
    const std::optional<MemoryConfig>& memory_config, const std::optional<ComputeKernelConfig>& compute) {
    OpScope scope("ttnn.bernoulli");
    check_device_tensor(input, "input", Layout::TILE);
    SHIM_CHECK(is_floating_point(input.dtype()), "input: expected a floating point dtype, got {}", input.dtype());
    SHIM_CHECK(
        !output || ((output->dtype() == DataType::BFLOAT16 || output->dtype() == DataType::FLOAT32) && output->layout() == Layout::TILE &&
                    output->dtype() == dtype.value_or(output->dtype()) && output->logical_shape() == input.logical_shape()),
        "output: expected shape {} of BFLOAT16 or FLOAT32 in TILE layout, got {}", input.logical_shape(), output->tensor_spec());
    const uint64_t stream = sequence(seed);
    return launch(
        {.op = strategy::Unary{.ops = {"BERNOULLI"}}, .compute = compute, .name = "BernoulliDeviceOperation"}, {input},
        {output ? output->tensor_spec() : spec_like(input, dtype.value_or(DataType::FLOAT32), memory_config)},
        [=](std::span<const Tensor> outputs) {
            const F32Values chance(input);
            generate(outputs[0], [&](size_t i) { return uniform_at(stream, i) < chance[i] ? 1.0F : 0.0F; });
        },
        {output})[0];
}

Tensor experimental::dropout(
    const Tensor& input, float probability, float scale, uint32_t seed, bool, const std::optional<MemoryConfig>& memory_config,
    const std::optional<Tensor>& output) {
    OpScope scope("ttnn.experimental.dropout");
    check_device_tensor(input, "input_tensor", Layout::TILE);
    SHIM_CHECK(probability >= 0.0F && probability <= 1.0F, "probability: expected a value from 0 to 1, got {}", probability);
    const DataType result = output ? output->dtype() : DataType::BFLOAT16;
    SHIM_CHECK(input.dtype() == result, "input_tensor: expected {} (the result's dtype), got {}", result, input.dtype());
    SHIM_CHECK(!output || output->layout() == Layout::TILE, "output_tensor: expected TILE layout, got {}", output->layout());
    SHIM_CHECK(
        !memory_config || memory_config->memory_layout() == input.memory_config().memory_layout(),
        "memory_config: expected the input's memory layout, got {}", *memory_config);
    return launch(
        {.op = strategy::Unary{.ops = {"DROPOUT"}}, .name = "DropoutDeviceOperation", .constants = {probability, scale}}, {input},
        {spec_like(input, std::nullopt, memory_config)},
        [=](std::span<const Tensor> outputs) {
            const F32Values values(input);
            generate(outputs[0], [&](size_t i) { return uniform_at(uint64_t{seed} + 1, i) < probability ? 0.0F : values[i] * scale; });
        },
        {output})[0];
}

}  // namespace ttnn

SHIM_OP("ttnn.rand", [](const arguments::rand& args) {
    return ttnn::rand(args.shape, *args.device, args.dtype, args.layout, args.memory_config, args.low, args.high, args.seed);
});
SHIM_OP("ttnn.randn", [](const arguments::randn& args) {
    return ttnn::randn(args.shape, *args.device, args.dtype, args.layout, args.memory_config, args.compute_kernel_config, args.seed);
});
SHIM_OP("ttnn.uniform", [](const arguments::uniform& args) { return ttnn::uniform(args.input, args.from, args.to, args.seed); });
SHIM_OP("ttnn.bernoulli", [](const arguments::bernoulli& args) {
    return ttnn::bernoulli(args.input, args.seed, args.output, args.dtype, args.memory_config, args.compute_kernel_config);
});
SHIM_OP("ttnn.experimental.dropout", [](const arguments::experimental::dropout& args) {
    return ttnn::experimental::dropout(
        args.input_tensor, args.probability, args.scale, args.seed, true, args.memory_config, args.output_tensor);
});
