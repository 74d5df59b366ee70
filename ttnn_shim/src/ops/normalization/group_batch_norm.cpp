// batch_norm over NCHW and group_norm over [N, 1, H*W, C].
#include <cmath>

#include "ops/arguments.hpp"
#include "ops/data_movement/common.hpp"
#include "ops/eltwise/engine.hpp"
#include "ops/kernels/block_kernels.hpp"
#include "ttnn/operations/normalization/batch_norm/batch_norm.hpp"
#include "ttnn/operations/normalization/groupnorm/groupnorm.hpp"

using namespace ttnn_shim;

namespace {

void check_channels(const std::optional<Tensor>& tensor, const char* name, uint32_t channels) {
    if (!tensor) return;
    check_device_tensor(*tensor, name);
    const Shape& shape = tensor->logical_shape();
    SHIM_CHECK(
        shape.rank() == 4 && shape[0] == 1 && shape[1] == channels && shape[2] == 1 && shape[3] == 1,
        "{}: expected shape [1, {}, 1, 1], got {}", name, channels, shape);
    SHIM_CHECK(is_floating_point(tensor->dtype()), "{}: expected a floating point dtype, got {}", name, tensor->dtype());
}

struct Statistics {
    double mean = 0, variance = 0;  ///< biased
};

Statistics statistics(const float* values, size_t planes, size_t plane, size_t plane_stride) {
    const auto& kernel = kernels::kernel_set();
    Statistics s;
    const double count = static_cast<double>(planes) * static_cast<double>(plane);
    for (size_t i = 0; i < planes; ++i) s.mean += kernel.sum_row(values + i * plane_stride, plane, 0.0F);
    s.mean /= count;
    for (size_t i = 0; i < planes; ++i) s.variance += kernel.sum_squares_row(values + i * plane_stride, plane, static_cast<float>(s.mean));
    s.variance /= count;
    return s;
}

}  // namespace

namespace ttnn {

Tensor batch_norm(
    const Tensor& input, std::optional<Tensor> running_mean, std::optional<Tensor> running_var, bool training, float eps, float momentum,
    const std::optional<Tensor>& weight, const std::optional<Tensor>& bias, const std::optional<Tensor>& output,
    const std::optional<MemoryConfig>& memory_config, const std::optional<ComputeKernelConfig>& compute) {
    OpScope scope("ttnn.batch_norm");
    check_device_tensor(input, "input", Layout::TILE);
    const Shape& shape = input.logical_shape();
    SHIM_CHECK(shape.rank() == 4, "input: expected rank 4 (NCHW), got shape {}", shape);
    SHIM_CHECK(is_floating_point(input.dtype()), "input: expected a floating point dtype, got {}", input.dtype());
    SHIM_CHECK(!is_block_float(input.dtype()), "input: expected BFLOAT16 or FLOAT32, got {}", input.dtype());
    SHIM_CHECK(
        !input.memory_config().is_sharded() && !(memory_config && memory_config->is_sharded()),
        "input and memory_config: expected interleaved memory");
    for (const auto* tensor : {&weight, &bias}) {
        if (*tensor) check_device_tensor(**tensor, tensor == &weight ? "weight" : "bias", Layout::TILE);
    }
    const uint32_t channels = shape[1];
    SHIM_CHECK(training || (running_mean && running_var), "running_mean and running_var: needed when training is False");
    check_channels(running_mean, "running_mean", channels);
    check_channels(running_var, "running_var", channels);
    check_channels(weight, "weight", channels);
    check_channels(bias, "bias", channels);
    std::vector<Tensor> inputs = {input};
    for (const auto& tensor : {running_mean, running_var, weight, bias}) {
        if (tensor) inputs.push_back(*tensor);
    }
    return launch(
        {.op = strategy::BatchNorm{.training = training}, .compute = compute, .name = "BatchNormOperation", .constants = {eps}}, inputs,
        {spec_like(input, std::nullopt, memory_config)},
        [=](std::span<const Tensor> outputs) {
            const F32Values values(input);
            const size_t batch = shape[0], plane = size_t{shape[2]} * shape[3];
            std::optional<F32Values> mean, variance, gamma, beta;
            if (running_mean) mean.emplace(*running_mean);
            if (running_var) variance.emplace(*running_var);
            if (weight) gamma.emplace(*weight);
            if (bias) beta.emplace(*bias);
            std::vector<float> scale(channels), shift(channels), new_mean(channels), new_var(channels);
            parallel_for(channels, 1, [&](size_t begin, size_t end) {
                for (size_t c = begin; c < end; ++c) {
                    Statistics s;
                    if (training) {
                        s = statistics(values.data() + c * plane, batch, plane, channels * plane);
                        const double count = static_cast<double>(batch * plane);
                        if (mean) new_mean[c] = static_cast<float>((1.0 - momentum) * (*mean)[c] + momentum * s.mean);
                        if (variance)
                            new_var[c] = static_cast<float>(
                                (1.0 - momentum) * (*variance)[c] + momentum * s.variance * (count > 1 ? count / (count - 1) : 1.0));
                    } else {
                        s = {(*mean)[c], (*variance)[c]};
                    }
                    const double factor = (gamma ? (*gamma)[c] : 1.0) / std::sqrt(s.variance + eps);
                    scale[c] = static_cast<float>(factor);
                    shift[c] = static_cast<float>((beta ? (*beta)[c] : 0.0) - s.mean * factor);
                }
            });
            std::byte* target = mutable_raw_data(outputs[0]);
            const DataType to = outputs[0].dtype();
            parallel_for(batch * channels, std::max<size_t>(1, 8192 / std::max<size_t>(1, plane)), [&](size_t begin, size_t end) {
                std::vector<float> row(plane);
                for (size_t i = begin; i < end; ++i) {
                    const float a = scale[i % channels], b = shift[i % channels];
                    for (size_t k = 0; k < plane; ++k) row[k] = values[i * plane + k] * a + b;
                    store_f32(to, row.data(), target + i * plane * stored_bytes(to), plane);
                }
            });
            if (training && running_mean) write_f32(*running_mean, new_mean);
            if (training && running_var) write_f32(*running_var, new_var);
        },
        {output})[0];
}

namespace {
void check_image(const Tensor& input, int num_groups, const std::optional<CoreGrid>& core_grid) {
    check_device_tensor(input, "input_tensor");
    const Shape& shape = input.logical_shape();
    SHIM_CHECK(shape.rank() == 4 && shape[1] == 1, "input_tensor: expected shape [N, 1, H*W, C], got {}", shape);
    SHIM_CHECK(
        input.memory_config().memory_layout() != TensorMemoryLayout::WIDTH_SHARDED, "input_tensor: width sharded memory is not supported");
    SHIM_CHECK(
        input.layout() == Layout::TILE || input.is_sharded() || device_of(input)->arch() != tt::ARCH::BLACKHOLE,
        "input_tensor: on Blackhole an interleaved input needs TILE layout");
    if (const auto& shard = input.memory_config().shard_spec(); shard && core_grid) {
        const CoreCoord box = shard->grid.bounding_box().grid_size();
        SHIM_CHECK(
            box.x <= core_grid->x && box.y <= core_grid->y, "core_grid: {} x {} cores cannot hold shards on {} x {}", core_grid->x,
            core_grid->y, box.x, box.y);
    }
    const uint32_t channels = shape[3];
    SHIM_CHECK(
        num_groups > 0 && channels % static_cast<uint32_t>(num_groups) == 0, "num_groups: {} does not divide the {} channels", num_groups,
        channels);
    SHIM_CHECK(channels % 32 == 0, "input_tensor: the channels must be a multiple of 32, got {}", channels);
    SHIM_CHECK((shape[0] * shape[2]) % 32 == 0, "input_tensor: N * H * W must be a multiple of 32, got {}", shape[0] * shape[2]);
    SHIM_CHECK(
        input.dtype() == DataType::BFLOAT16 || input.dtype() == DataType::FLOAT32, "input_tensor: expected BFLOAT16 or FLOAT32, got {}",
        input.dtype());
}
}  // namespace

Tensor group_norm(
    const Tensor& input, int num_groups, float epsilon, const std::optional<Tensor>& input_mask, const std::optional<Tensor>& weight,
    const std::optional<Tensor>& bias, const std::optional<MemoryConfig>& memory_config, std::optional<DataType> dtype,
    std::optional<CoreGrid> core_grid, std::optional<bool> inplace, std::optional<Layout> output_layout, std::optional<int>,
    std::optional<ComputeKernelConfig> compute, const std::optional<Tensor>&, bool) {
    OpScope scope("ttnn.group_norm");
    check_image(input, num_groups, core_grid);
    const Shape& shape = input.logical_shape();
    const uint32_t channels = shape[3];
    // Each core reads whole rows of 32: its channels may be followed by padding up to the next row.
    const auto& shards = input.memory_config().shard_spec();
    const uint32_t part = shards ? std::min(shards->shape[1], channels) : channels;
    const uint32_t parts = (channels + part - 1) / part, padded_part = (part + 31) / 32 * 32;
    std::vector<Tensor> inputs = {input};
    for (const auto* tensor : {&weight, &bias}) {
        if (!*tensor) continue;
        check_device_tensor(**tensor, tensor == &weight ? "weight" : "bias");
        SHIM_CHECK(
            (*tensor)->logical_shape()[-1] == 32,
            "weight and bias: expected rows of 32 values (create_group_norm_weight_bias_rm), got shape {}", (*tensor)->logical_shape());
        SHIM_CHECK(
            (*tensor)->logical_volume() == channels || (*tensor)->logical_volume() == parts * padded_part,
            "weight and bias: expected {} values, or {} of them for each of {} shards (create_group_norm_weight_bias_rm), got shape {}",
            channels, padded_part, parts, (*tensor)->logical_shape());
        inputs.push_back(**tensor);
    }
    if (input_mask) inputs.push_back(*input_mask);
    strategy::GroupNorm norm{.num_groups = num_groups, .out_row_major = output_layout == Layout::ROW_MAJOR};
    if (core_grid) norm.grid = pair_of(*core_grid);
    const Program program{.op = norm, .compute = compute, .name = "GroupNormDeviceOperation"};
    const Layout layout = output_layout.value_or(input.layout());
    SHIM_CHECK(
        !inplace.value_or(false) || (input.is_sharded() && input.layout() == Layout::ROW_MAJOR && layout == input.layout()),
        "inplace: only for row-major shards and a result of their layout: pass inplace=False");
    const bool same = layout == input.layout() && (!dtype || *dtype == input.dtype());
    std::vector<OptionalTensor> preallocated(1);
    if (inplace.value_or(false) && input.memory_config().is_sharded() && same) preallocated[0] = input;
    const MemoryConfig memory = result_memory(input, memory_config.value_or(MemoryConfig()), shape);  // DRAM, wherever the input is
    SHIM_CHECK(
        preallocated[0] || !input.memory_config().is_sharded() || memory.is_l1(), "memory_config: shards need a result in L1, got {}",
        memory);
    return launch(
        program, inputs, {make_spec(shape, dtype.value_or(input.dtype()), layout, preallocated[0] ? input.memory_config() : memory)},
        [=](std::span<const Tensor> outputs) {
            const F32Values values(input);
            std::optional<F32Values> gamma, beta;
            if (weight) gamma.emplace(*weight);
            if (bias) beta.emplace(*bias);
            const auto of_channel = [=](const F32Values& given, size_t c) {
                return given.size() == channels ? given[c] : given[c / part * padded_part + c % part];
            };
            const size_t rows = shape[2], groups = static_cast<size_t>(num_groups), width = channels / groups;
            std::vector<float> scale(size_t{shape[0]} * channels), shift(scale.size());
            parallel_for(shape[0] * groups, 1, [&](size_t begin, size_t end) {
                for (size_t i = begin; i < end; ++i) {
                    const size_t n = i / groups, g = i % groups;
                    const auto s = statistics(values.data() + n * rows * channels + g * width, rows, width, channels);
                    for (size_t c = g * width; c < (g + 1) * width; ++c) {
                        const double factor = (gamma ? of_channel(*gamma, c) : 1.0) / std::sqrt(s.variance + epsilon);
                        scale[n * channels + c] = static_cast<float>(factor);
                        shift[n * channels + c] = static_cast<float>((beta ? of_channel(*beta, c) : 0.0) - s.mean * factor);
                    }
                }
            });
            std::byte* target = mutable_raw_data(outputs[0]);
            const DataType to = outputs[0].dtype();
            parallel_for(size_t{shape[0]} * rows, std::max<size_t>(1, 8192 / channels), [&](size_t begin, size_t end) {
                std::vector<float> row(channels);
                for (size_t r = begin; r < end; ++r) {
                    const float* a = &scale[r / rows * channels];
                    const float* b = &shift[r / rows * channels];
                    for (size_t c = 0; c < channels; ++c) row[c] = values[r * channels + c] * a[c] + b[c];
                    store_f32(to, row.data(), target + r * channels * stored_bytes(to), channels);
                }
            });
        },
        preallocated)[0];
}

}  // namespace ttnn

SHIM_OP("ttnn.batch_norm", [](const arguments::batch_norm& args) {
    return ttnn::batch_norm(
        args.input, args.running_mean, args.running_var, args.training, args.eps, args.momentum, args.weight, args.bias, args.output,
        args.memory_config, args.compute_kernel_config);
});
SHIM_OP("ttnn.group_norm", [](const arguments::group_norm& args) {
    return ttnn::group_norm(
        args.input_tensor, args.num_groups, args.epsilon, args.input_mask, args.weight, args.bias, args.memory_config, args.dtype,
        args.core_grid, args.inplace, args.output_layout, args.num_out_blocks, args.compute_kernel_config, args.negative_mask,
        args.use_welford);
});
