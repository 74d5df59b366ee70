// layer_norm and rms_norm in two steps, for rows that lie in parts on several chips: sums of one part, then its normalisation with the
// sums of all parts. Statistics are tiles of which the first column counts: sums of squares and, for layer_norm, sums behind them.
#include <cmath>

#include "ops/arguments.hpp"
#include "ops/normalization/rows.hpp"
#include "ttnn/operations/normalization/layernorm_distributed/layernorm_post_all_gather.hpp"
#include "ttnn/operations/normalization/layernorm_distributed/layernorm_pre_all_gather.hpp"
#include "ttnn/operations/normalization/rmsnorm_distributed/rmsnorm_post_all_gather.hpp"
#include "ttnn/operations/normalization/rmsnorm_distributed/rmsnorm_pre_all_gather.hpp"

using namespace ttnn_shim;

namespace {

using OptionalConst = std::optional<const Tensor>;
using ProgramConfig = std::optional<const ttnn::prim::LayerNormProgramConfig>;
constexpr uint32_t TILE = 32;

void check_part(const Tensor& input, const char* name) {
    check_device_tensor(input, name, Layout::TILE);
    SHIM_CHECK(
        is_floating_point(input.dtype()) && input.dtype() != DataType::BFLOAT4_B, "{}: expected FLOAT32, BFLOAT16 or BFLOAT8_B, got {}",
        name, input.dtype());
    SHIM_CHECK(
        input.logical_shape().rank() >= 1 && input.logical_volume() > 0, "{}: expected values, got shape {}", name, input.logical_shape());
    SHIM_SUPPORTED(!input.memory_config().is_sharded(), "{}: sharded memory is not supported, got {}", name, input.memory_config());
}

Shape with_width(const Shape& shape, uint32_t width) {
    Shape::Container extents(shape.view().begin(), shape.view().end());
    extents.back() = width;
    return Shape(extents);
}

Program program_of(const char* name, bool rms, const Tensor& input, const std::optional<const ttnn::ComputeKernelConfig>& compute) {
    Program program{.op = strategy::LayerNorm{.rms = rms}, .name = name};
    program.compute = ttnn::init_device_compute_kernel_config(device_of(input)->arch(), compute, ttnn::MathFidelity::HiFi4, true, false);
    return program;
}

/// FLOAT32 tensors need sums in float32, which is not the default.
void check_accumulation(const Program& program, const Tensor& tensor, const char* name) {
    SHIM_CHECK(
        tensor.dtype() != DataType::FLOAT32 || program.compute->fp32_dest_acc_en,
        "{}: FLOAT32 needs a compute_kernel_config with fp32_dest_acc_en, got one without", name);
}

Tensor statistics(
    const char* op, bool rms, const Tensor& input, DataType dtype, const OptionalConst& residual,
    const std::optional<const ttnn::ComputeKernelConfig>& compute, const ProgramConfig& config,
    const std::optional<MemoryConfig>& memory_config) {
    const OpScope scope(op);
    check_part(input, "input_tensor");
    SHIM_SUPPORTED(!residual, "residual_input_tensor is not supported for interleaved tensors; add it to input_tensor");
    SHIM_CHECK(
        !config || std::holds_alternative<ttnn::prim::LayerNormDefaultProgramConfig>(*config),
        "program_config: a sharded program needs a sharded input_tensor");
    SHIM_CHECK(is_floating_point(dtype), "dtype: expected a floating point dtype, got {}", dtype);
    SHIM_CHECK(input.logical_shape().rank() == 4, "input_tensor: expected rank 4, got shape {}", input.logical_shape());
    const MemoryConfig memory = memory_config.value_or(input.memory_config());
    SHIM_CHECK(!memory.is_sharded(), "memory_config: expected interleaved memory, got {}", memory);
    Program program = program_of("LayerNormPreAllGatherDeviceOperation", rms, input, compute);
    check_accumulation(program, input, "input_tensor");
    const size_t width = input.logical_shape()[-1], out = rms ? TILE : 2 * TILE;
    const Shape shape = with_width(input.logical_shape(), static_cast<uint32_t>(out));
    return launch(std::move(program), {input}, {make_spec(shape, dtype, Layout::TILE, memory)}, [=](std::span<const Tensor> outputs) {
        const F32Values values(input);
        std::vector<float> sums(shape.volume(), 0.0F);
        const auto& kernel = kernels::kernel_set();
        parallel_for(values.size() / width, std::max<size_t>(1, 4096 / width), [&](size_t begin, size_t end) {
            for (size_t r = begin; r < end; ++r) {
                sums[r * out] = kernel.sum_squares_row(values.data() + r * width, width, 0.0F);
                if (!rms) sums[r * out + TILE] = kernel.sum_row(values.data() + r * width, width, 0.0F);
            }
        });
        write_f32(outputs[0], sums);
    })[0];
}

Tensor normalised(
    const char* op, bool rms, const Tensor& input, const Tensor& stats, float epsilon, const OptionalConst& weight,
    const OptionalConst& bias, const std::optional<MemoryConfig>& memory_config,
    const std::optional<const ttnn::ComputeKernelConfig>& compute, const ProgramConfig& config,
    const std::optional<const DataType>& dtype) {
    const OpScope scope(op);
    check_part(input, "input_tensor");
    check_part(stats, "stats");
    SHIM_CHECK(
        !config || std::holds_alternative<ttnn::prim::LayerNormDefaultProgramConfig>(*config),
        "program_config: a sharded program needs a sharded input_tensor");
    const Shape &shape = input.logical_shape(), &rows = stats.logical_shape();
    const uint32_t width = shape[-1], stride = rms ? TILE : 2 * TILE, parts = rows[-1] / stride;
    SHIM_CHECK(
        rows[-1] % stride == 0 && rows == with_width(shape, rows[-1]),
        "stats: expected {} columns per part and the rows of {}, got shape {}", stride, shape, rows);
    std::vector<Tensor> inputs{input, stats};
    for (const auto& [vector, name] : {std::pair{&weight, "weight"}, std::pair{&bias, "bias"}}) {
        if (!*vector) continue;
        check_device_tensor(**vector, name);
        SHIM_CHECK(
            (*vector)->logical_volume() == width, "{}: expected {} values (the input's last dimension), got shape {}", name, width,
            (*vector)->logical_shape());
        inputs.push_back(**vector);
    }
    Program program = program_of("LayerNormPostAllGatherDeviceOperation", rms, input, compute);
    check_accumulation(program, input, "input_tensor");
    check_accumulation(program, stats, "stats");
    TensorSpec spec = spec_like(input, dtype ? std::optional<DataType>(*dtype) : std::nullopt, memory_config);
    return launch(std::move(program), inputs, {std::move(spec)}, [=](std::span<const Tensor> outputs) {
        const F32Values sums(stats);
        std::optional<F32Values> gamma, beta;
        if (weight) gamma.emplace(*weight);
        if (bias) beta.emplace(*bias);
        const float count = static_cast<float>(width) * static_cast<float>(parts);
        const auto& kernel = kernels::kernel_set();
        for_each_row(input, outputs[0], width, [&](size_t index, float* row) {
            const float* own = sums.data() + index * rows[-1];
            float squares = 0, sum = 0;
            for (uint32_t part = 0; part < parts; ++part) {
                squares += own[part * stride];
                if (!rms) sum += own[part * stride + TILE];
            }
            const float mean = sum / count, variance = squares / count - mean * mean;
            kernel.normalize_row(
                row, row, width, mean, 1.0F / std::sqrt(variance + epsilon), gamma ? gamma->data() : nullptr,
                beta ? beta->data() : nullptr);
        });
    })[0];
}

void check_grid(const std::optional<bool>& use_2d_core_grid) {
    SHIM_SUPPORTED(!use_2d_core_grid.value_or(false), "use_2d_core_grid: only False is supported");
}
Tensor call_statistics(const auto& args, const char* op, bool rms) {
    const OpScope scope(op);
    if constexpr (requires { args.use_2d_core_grid; }) check_grid(args.use_2d_core_grid);
    return statistics(
        op, rms, args.input_tensor, args.dtype, args.residual_input_tensor, args.compute_kernel_config, args.program_config,
        args.memory_config);
}
Tensor call_normalised(const auto& args, const char* op, bool rms) {
    const OpScope scope(op);
    if constexpr (requires { args.use_2d_core_grid; }) check_grid(args.use_2d_core_grid);
    return normalised(
        op, rms, args.input_tensor, args.stats, args.epsilon, args.weight, args.bias, args.memory_config, args.compute_kernel_config,
        args.program_config, args.dtype);
}

}  // namespace

namespace ttnn {

Tensor layer_norm_pre_all_gather(
    const Tensor& input, DataType dtype, const OptionalConst& residual, std::optional<const ComputeKernelConfig> compute,
    const ProgramConfig& config, const std::optional<MemoryConfig>& memory_config, const OptionalConst& recip_tensor, bool) {
    SHIM_SUPPORTED(!recip_tensor, "recip_tensor is not supported; leave it out");
    return statistics("ttnn.layer_norm_pre_all_gather", false, input, dtype, residual, compute, config, memory_config);
}
Tensor rms_norm_pre_all_gather(
    const Tensor& input, DataType dtype, const OptionalConst& residual, std::optional<const ComputeKernelConfig> compute,
    const ProgramConfig& config, const std::optional<MemoryConfig>& memory_config, const std::optional<bool>& use_2d_core_grid, bool) {
    check_grid(use_2d_core_grid);
    return statistics("ttnn.rms_norm_pre_all_gather", true, input, dtype, residual, compute, config, memory_config);
}
Tensor layer_norm_post_all_gather(
    const Tensor& input, const Tensor& stats, float epsilon, const OptionalConst& weight, const OptionalConst& bias,
    const std::optional<MemoryConfig>& memory_config, std::optional<const ComputeKernelConfig> compute, const ProgramConfig& config,
    const std::optional<const DataType>& dtype) {
    return normalised("ttnn.layer_norm_post_all_gather", false, input, stats, epsilon, weight, bias, memory_config, compute, config, dtype);
}
Tensor rms_norm_post_all_gather(
    const Tensor& input, const Tensor& stats, float epsilon, const OptionalConst& weight, const OptionalConst& bias,
    const std::optional<MemoryConfig>& memory_config, std::optional<const ComputeKernelConfig> compute, const ProgramConfig& config,
    const std::optional<const DataType>& dtype, const std::optional<bool>& use_2d_core_grid) {
    check_grid(use_2d_core_grid);
    return normalised("ttnn.rms_norm_post_all_gather", true, input, stats, epsilon, weight, bias, memory_config, compute, config, dtype);
}

}  // namespace ttnn

SHIM_OP("ttnn.layer_norm_pre_all_gather", [](const arguments::layer_norm_pre_all_gather& args) {
    return call_statistics(args, "ttnn.layer_norm_pre_all_gather", false);
});
SHIM_OP("ttnn.rms_norm_pre_all_gather", [](const arguments::rms_norm_pre_all_gather& args) {
    return call_statistics(args, "ttnn.rms_norm_pre_all_gather", true);
});
SHIM_OP("ttnn.layer_norm_post_all_gather", [](const arguments::layer_norm_post_all_gather& args) {
    return call_normalised(args, "ttnn.layer_norm_post_all_gather", false);
});
SHIM_OP("ttnn.rms_norm_post_all_gather", [](const arguments::rms_norm_post_all_gather& args) {
    return call_normalised(args, "ttnn.rms_norm_post_all_gather", true);
});
