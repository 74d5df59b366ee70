// layer_norm and rms_norm.
#include "ttnn/operations/normalization/layernorm/layernorm.hpp"

#include <algorithm>
#include <cmath>

#include "ops/arguments.hpp"
#include "ops/normalization/rows.hpp"
#include "ttnn/operations/data_movement/clone/clone.hpp"
#include "ttnn/operations/normalization/rmsnorm/rmsnorm.hpp"

using namespace ttnn_shim;

namespace {

using OptionalConst = std::optional<const Tensor>;

/// Weight or bias: TILE with the input's width in tiles, or ROW_MAJOR in rows of 32.
void check_vector(const OptionalConst& tensor, const char* name, uint32_t width) {
    if (!tensor) return;
    check_device_tensor(*tensor, name);
    const Shape& shape = tensor->logical_shape();
    SHIM_CHECK(
        is_floating_point(tensor->dtype()) && tensor->dtype() != DataType::BFLOAT4_B, "{}: expected BFLOAT16, BFLOAT8_B or FLOAT32, got {}",
        name, tensor->dtype());
    if (tensor->layout() == Layout::TILE) {
        const bool fits = shape.rank() >= 1 && tensor->logical_volume() == shape[-1] && (shape[-1] + 31) / 32 == (width + 31) / 32;
        SHIM_CHECK(fits, "{}: expected {} values (the input's last dimension), got shape {}", name, width, shape);
    } else {
        SHIM_CHECK(
            tensor->logical_volume() == width, "{}: expected {} values (the input's last dimension), got shape {}", name, width, shape);
        SHIM_CHECK(
            shape.rank() >= 1 && shape[-1] == 32,
            "{}: in ROW_MAJOR layout expected rows of 32 values ([.., {}, 32]), got shape {}; or give it in TILE layout", name, width / 32,
            shape);
    }
}

/// Values of a weight or bias; beyond its end the tile's padding, zeros.
std::optional<std::vector<float>> values_of(const OptionalConst& tensor, uint32_t width) {
    if (!tensor) return std::nullopt;
    const F32Values held(*tensor);
    std::vector<float> values(width, 0.0F);
    std::copy_n(held.data(), std::min<size_t>(held.size(), width), values.begin());
    return values;
}

/// Programs on shards need one for each of the input's cores, in L1, and leave a result in shards of the same scheme.
void check_shards(const Tensor& input, const std::optional<MemoryConfig>& memory_config) {
    const MemoryConfig& own = input.memory_config();
    if (!own.is_sharded() || !own.shard_spec()) return;
    SHIM_CHECK(own.is_l1(), "input_tensor: expected shards in L1, got {}", own);
    SHIM_CHECK(
        !memory_config || (memory_config->is_sharded() && memory_config->memory_layout() != TensorMemoryLayout::HEIGHT_SHARDED),
        "memory_config: expected shards as the input's, got {}", *memory_config);
    const auto& shard = *own.shard_spec();
    const Shape padded = input.padded_shape();
    const uint64_t width = padded[-1], height = padded.volume() / width, cores = shard.grid.num_cores();
    const uint64_t down = (height + shard.shape[0] - 1) / shard.shape[0], across = (width + shard.shape[1] - 1) / shard.shape[1];
    SHIM_CHECK(down * across == cores, "input_tensor: {} x {} shards on {} cores", down, across, cores);
    const CoreCoord box = shard.grid.bounding_box().grid_size();
    SHIM_CHECK(
        own.memory_layout() != TensorMemoryLayout::WIDTH_SHARDED || shard.orientation == tt::tt_metal::ShardOrientation::ROW_MAJOR ||
            box.y > 1 || box.x == 1,
        "input_tensor: shards on one row of cores go by rows, got {}", own);
}

/// A config for shards: its blocks are the shards, and their grid lies within its own.
void check_config(
    const ttnn::prim::LayerNormShardedMultiCoreProgramConfig& config, const Tensor& input, const OptionalConst& residual,
    const std::optional<MemoryConfig>& memory_config, const ttnn::ComputeKernelConfig& compute) {
    SHIM_CHECK(input.memory_config().is_sharded(), "program_config: LayerNormShardedMultiCoreProgramConfig expects a sharded input_tensor");
    const MemoryConfig &own = input.memory_config(), &result = memory_config ? *memory_config : own;
    SHIM_CHECK(
        own.buffer_type() == result.buffer_type() && own.memory_layout() == result.memory_layout(),
        "memory_config: expected the memory layout of the input, {}, got {}", own, result);
    SHIM_CHECK(
        config.subblock_w > 0 && config.block_w % config.subblock_w == 0, "program_config: block_w {} is not a multiple of subblock_w {}",
        config.block_w, config.subblock_w);
    const auto& shard = own.shard_spec();
    if (!shard) return;
    const Shape padded = input.padded_shape();
    const auto up = [](uint64_t value, uint64_t part) { return (value + part - 1) / part; };
    const uint64_t columns = padded[-1] / 32, rows = padded.volume() / padded[-1] / 32;
    const CoreCoord box = shard->grid.bounding_box().grid_size(), grid = config.compute_with_storage_grid_size;
    SHIM_CHECK(
        box.x <= grid.x && box.y <= grid.y, "program_config: shards on {} x {} cores do not fit its grid of {} x {}", box.x, box.y, grid.x,
        grid.y);
    uint64_t block_w = up(columns, shard->num_cores()), block_h = rows;
    if (rows != config.block_h) {
        const bool by_rows = shard->orientation == tt::tt_metal::ShardOrientation::ROW_MAJOR;
        block_w = up(columns, by_rows ? box.x : box.y);
        block_h = up(rows, by_rows ? box.y : box.x);
    }
    SHIM_CHECK(
        config.block_w == block_w && config.block_h == block_h,
        "program_config: expected block_h {} and block_w {} (tiles of a core), got {} and {}", block_h, block_w, config.block_h,
        config.block_w);
    SHIM_CHECK(
        config.block_h * 32 == shard->shape[0] && config.block_w * 32 == shard->shape[1],
        "program_config: block_h {} and block_w {} are not the shards of {}", config.block_h, config.block_w, own);
    SHIM_CHECK(
        !residual || residual->memory_config() == own, "residual_input_tensor: expected the input's shards, {}, got {}", own,
        residual->memory_config());
    const size_t registers = (compute.dst_full_sync_en ? 16 : 8) / (compute.fp32_dest_acc_en ? 2 : 1);
    SHIM_CHECK(config.subblock_w <= registers, "program_config: subblock_w {} does not fit {} registers", config.subblock_w, registers);
}

void check_input(const Tensor& input, bool rms, bool residual) {
    SHIM_CHECK(
        is_floating_point(input.dtype()) && input.dtype() != DataType::BFLOAT4_B,
        "input_tensor: expected FLOAT32, BFLOAT16 or BFLOAT8_B, got {}", input.dtype());
    const Shape& shape = input.logical_shape();
    SHIM_CHECK(shape.rank() >= 1, "input_tensor: expected rank 1 or more");
    SHIM_CHECK(
        input.memory_config().memory_layout() != TensorMemoryLayout::HEIGHT_SHARDED,
        "input_tensor: height sharded inputs are not supported");
    SHIM_CHECK(
        input.layout() == Layout::TILE || (!rms && !input.memory_config().is_sharded() && !residual),
        "input_tensor: expected TILE layout (ROW_MAJOR only for layer_norm of an interleaved tensor without residual), got {}",
        input.layout());
    SHIM_CHECK(
        input.layout() == Layout::TILE || shape[-1] % tt::constants::TILE_WIDTH == 0,
        "input_tensor: rows in ROW_MAJOR layout need a multiple of 32 values, got shape {}", shape);
}

Tensor normalize(
    const char* op_name, bool rms, const Tensor& input, float epsilon, const OptionalConst& weight, const OptionalConst& bias,
    const OptionalConst& residual, const std::optional<MemoryConfig>& memory_config,
    const std::optional<const ttnn::prim::LayerNormProgramConfig>& program_config,
    const std::optional<const ttnn::ComputeKernelConfig>& compute) {
    OpScope scope(op_name);
    check_device_tensor(input, "input_tensor");
    SHIM_CHECK(!rms || input.layout() == Layout::TILE, "input_tensor: expected TILE layout, got {}", input.layout());
    if (input.logical_volume() == 0 && input.logical_shape().rank() > 0)  // no program
        return ttnn::clone(input, std::nullopt, memory_config, std::nullopt);
    check_input(input, rms, residual.has_value());
    const Shape& shape = input.logical_shape();
    check_shards(input, memory_config);
    SHIM_CHECK(
        !weight || !bias || weight->layout() == bias->layout(), "weight and bias: expected one layout, got {} and {}", weight->layout(),
        bias->layout());
    const uint32_t width = shape[-1];
    check_vector(weight, "weight", width);
    check_vector(bias, "bias", width);
    std::vector<Tensor> inputs = {input};
    if (residual) {
        check_device_tensor(*residual, "residual_input_tensor", input.layout());
        SHIM_CHECK(
            residual->memory_config().is_sharded() || !input.memory_config().is_sharded(),
            "residual_input_tensor: expected sharded memory as the input's, got {}", residual->memory_config());
        SHIM_CHECK(
            residual->logical_shape() == shape, "residual_input_tensor: expected shape {}, got {}", shape, residual->logical_shape());
        inputs.push_back(*residual);
    }
    if (weight) inputs.push_back(*weight);
    if (bias) inputs.push_back(*bias);
    strategy::LayerNorm norm{.rms = rms, .residual = residual.has_value(), .weight = weight.has_value(), .bias = bias.has_value()};
    const auto compute_config = ttnn::init_device_compute_kernel_config(
        device_of(input)->arch(), compute, ttnn::MathFidelity::HiFi4, true, !rms);  // layer norm's default accumulates in float32
    std::vector<OptionalTensor> preallocated(1);
    if (program_config) {
        if (const auto* sharded = std::get_if<ttnn::prim::LayerNormShardedMultiCoreProgramConfig>(&*program_config)) {
            check_config(*sharded, input, residual, memory_config, compute_config);
            norm.block_h = sharded->block_h;
            norm.block_w = sharded->block_w;
            norm.subblock_w = sharded->subblock_w;
            if (sharded->inplace) preallocated[0] = input;
        } else {
            SHIM_CHECK(
                !input.memory_config().is_sharded(),
                "program_config: expected LayerNormShardedMultiCoreProgramConfig (or none) for a sharded input_tensor");
            SHIM_CHECK(
                !memory_config || !memory_config->is_sharded() || memory_config->shard_spec(),
                "memory_config: LayerNormDefaultProgramConfig expects a shard spec, got {}", *memory_config);
        }
    }
    Program program{.op = norm, .compute = compute_config, .name = "LayerNormDeviceOperation", .constants = {epsilon}};
    return launch(
        program, inputs, {spec_like(input, std::nullopt, preallocated[0] ? std::nullopt : memory_config)},
        [=](std::span<const Tensor> outputs) {
            const auto& kernel = kernels::kernel_set();
            const auto gamma = values_of(weight, width), beta = values_of(bias, width);
            const float* w = gamma ? gamma->data() : nullptr;
            const float* b = beta ? beta->data() : nullptr;
            const std::byte* added = residual ? raw_data(*residual) : nullptr;
            const size_t added_bytes = residual ? stored_bytes(residual->dtype()) : 0;
            for_each_row(input, outputs[0], width, [&](size_t index, float* row) {
                if (added != nullptr) {
                    thread_local std::vector<float> other;
                    other.resize(width);
                    load_f32(residual->dtype(), added + index * width * added_bytes, other.data(), width);
                    kernel.axpy_row(other.data(), row, width, 1.0F);
                }
                const float mean = rms ? 0.0F : kernel.sum_row(row, width, 0.0F) / static_cast<float>(width);
                const float variance = kernel.sum_squares_row(row, width, mean) / static_cast<float>(width);
                kernel.normalize_row(row, row, width, mean, 1.0F / std::sqrt(variance + epsilon), w, b);
            });
        },
        preallocated)[0];
}

}  // namespace

ttnn::prim::LayerNormProgramConfig ttnn_shim::ArgumentType<ttnn::prim::LayerNormProgramConfig>::read(
    const Call& call, std::string_view name) {
    const auto record = call.record(name);
    if (record->type == "LayerNormDefaultProgramConfig") return ttnn::prim::LayerNormDefaultProgramConfig{};
    SHIM_CHECK(
        record->type == "LayerNormShardedMultiCoreProgramConfig", "program_config: {} is not a layer norm program config", record->type);
    auto size = [&](const char* name) { return static_cast<size_t>(std::max<int64_t>(1, record->integer(name, 1))); };
    return ttnn::prim::LayerNormShardedMultiCoreProgramConfig{
        record->core_coord("compute_with_storage_grid_size").value_or(CoreCoord(8, 8)), size("subblock_w"), size("block_h"),
        size("block_w"), record->boolean("inplace", false)};
}

namespace ttnn {

Tensor layer_norm(
    const Tensor& input, float epsilon, const OptionalConst& weight, const OptionalConst& bias, const OptionalConst& residual,
    const std::optional<MemoryConfig>& memory_config, const std::optional<const prim::LayerNormProgramConfig>& program_config,
    std::optional<const ComputeKernelConfig> compute, const OptionalConst&) {
    return normalize("ttnn.layer_norm", false, input, epsilon, weight, bias, residual, memory_config, program_config, compute);
}
Tensor rms_norm(
    const Tensor& input, float epsilon, const OptionalConst& weight, const OptionalConst& bias, const OptionalConst& residual,
    const std::optional<MemoryConfig>& memory_config, const std::optional<const prim::LayerNormProgramConfig>& program_config,
    std::optional<const ComputeKernelConfig> compute) {
    return normalize("ttnn.rms_norm", true, input, epsilon, weight, bias, residual, memory_config, program_config, compute);
}

}  // namespace ttnn

SHIM_OP("ttnn.layer_norm", [](const arguments::layer_norm& args) {
    return normalize(
        "ttnn.layer_norm", false, args.input_tensor, args.epsilon, args.weight, args.bias, args.residual_input_tensor, args.memory_config,
        args.program_config, args.compute_kernel_config);
});
SHIM_OP("ttnn.rms_norm", [](const arguments::rms_norm& args) {
    return normalize(
        "ttnn.rms_norm", true, args.input_tensor, args.epsilon, args.weight, args.bias, args.residual_input_tensor, args.memory_config,
        args.program_config, args.compute_kernel_config);
});
