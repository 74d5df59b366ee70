// Moving tensors: host <-> device, DRAM <-> L1, shardings, and giving memory back.
#include "ops/arguments.hpp"
#include "ops/core/core_programs.hpp"
#include "ops/launch.hpp"
#include "ops/registry.hpp"
#include "ops/trace_values.hpp"
#include "ttnn/core.hpp"
#include "ttnn/operations/core/core.hpp"
#include "ttnn/operations/data_movement/clone/clone.hpp"
#include "ttnn/operations/data_movement/copy/copy.hpp"
#include "ttnn/operations/data_movement/move/move.hpp"
#include "ttnn/operations/data_movement/sharded/interleaved_to_sharded/interleaved_to_sharded.hpp"
#include "ttnn/operations/data_movement/sharded/reshard/reshard.hpp"
#include "ttnn/operations/data_movement/sharded/sharded_to_interleaved/sharded_to_interleaved.hpp"

using namespace ttnn_shim;

namespace ttnn {

namespace {

/// One program that copies `input` into `memory_config` (and dtype).
Tensor move_program(
    const strategy::Operation& op, const char* name, const Tensor& input, const MemoryConfig& memory_config, std::optional<DataType> dtype,
    const std::optional<Tensor>& output) {
    return launch(
        {.op = op, .name = name}, {input}, {spec_like(input, dtype, memory_config)},
        [=](std::span<const Tensor> outputs) { copy_values(input, outputs[0]); }, {output})[0];
}

void check_sharded(const MemoryConfig& config, const char* what) {
    SHIM_CHECK(config.is_sharded(), "{} must be sharded, got {}", what, config);
    SHIM_CHECK(config.shard_spec() || config.nd_shard_spec(), "{} has no shard spec: {}", what, config);
}

Tensor copy_program(
    const Tensor& input, const MemoryConfig& memory_config, std::optional<DataType> dtype, const std::optional<Tensor>& output) {
    SHIM_CHECK(input.dtype() != DataType::INT8, "{} tensors cannot be copied", input.dtype());
    return move_program(strategy::Copy{}, "CopyDeviceOperation", input, memory_config, dtype, output);
}

/// Whether rows of the shards start on a boundary of L1, which the programs between shards and pages need.
bool has_aligned_rows(const Tensor& tensor, const MemoryConfig& config) {
    const bool rows = tensor.layout() == Layout::ROW_MAJOR && config.shard_spec().has_value();
    return !rows || config.shard_spec()->shape[1] * stored_bytes(tensor.dtype()) % machine_of(tensor).machine().l1_alignment == 0;
}

/// A grid of shards in DRAM's row of banks: no program of the real package takes it.
bool is_block_in_dram(const MemoryConfig& config) {
    return config.buffer_type() == BufferType::DRAM && config.memory_layout() == TensorMemoryLayout::BLOCK_SHARDED &&
           !config.nd_shard_spec();
}

}  // namespace

Tensor interleaved_to_sharded(
    const Tensor& input_tensor, const MemoryConfig& sharded_memory_config, const std::optional<DataType>& data_type_arg,
    const std::optional<bool>& keep_l1_aligned, const std::optional<Tensor>& preallocated_output) {
    OpScope scope("ttnn.interleaved_to_sharded");
    (void)keep_l1_aligned;
    check_device_tensor(input_tensor, "input_tensor");
    SHIM_CHECK(!input_tensor.memory_config().is_sharded(), "the input must be interleaved, got {}", input_tensor.memory_config());
    check_sharded(sharded_memory_config, "the output memory config");
    SHIM_CHECK(
        !data_type_arg || *data_type_arg == input_tensor.dtype() || input_tensor.layout() == Layout::TILE,
        "dtype can only change in TILE layout");
    SHIM_CHECK(has_aligned_rows(input_tensor, sharded_memory_config), "rows of the shards of {} are not aligned", sharded_memory_config);
    return move_program(
        strategy::InterleavedToSharded{}, "InterleavedToShardedDeviceOperation", input_tensor, sharded_memory_config, data_type_arg,
        preallocated_output);
}

Tensor interleaved_to_sharded(
    const Tensor& input_tensor, const std::variant<CoreCoord, CoreRangeSet>& grid, std::array<uint32_t, 2> shard_shape,
    TensorMemoryLayout shard_scheme, ShardOrientation shard_orientation, const std::optional<DataType>& data_type_arg,
    const std::optional<bool>& keep_l1_aligned) {
    OpScope scope("ttnn.interleaved_to_sharded");
    CoreRangeSet cores;
    if (const auto* size = std::get_if<CoreCoord>(&grid)) {
        const size_t rows = input_tensor.physical_volume() / std::max<uint32_t>(input_tensor.padded_shape()[-1], 1);
        const size_t columns = input_tensor.padded_shape()[-1];
        const auto parts = [](size_t extent, size_t shard) { return static_cast<uint32_t>((extent + shard - 1) / shard); };
        SHIM_CHECK(shard_shape[0] > 0 && shard_shape[1] > 0, "shard shape must not be zero");
        switch (shard_scheme) {
            case TensorMemoryLayout::HEIGHT_SHARDED:
                cores = tt::tt_metal::num_cores_to_corerangeset(parts(rows, shard_shape[0]), *size, true);
                break;
            case TensorMemoryLayout::WIDTH_SHARDED:
                cores = tt::tt_metal::num_cores_to_corerangeset(parts(columns, shard_shape[1]), *size, true);
                break;
            default: cores = CoreRangeSet(CoreRange({0, 0}, {size->x - 1, size->y - 1})); break;
        }
    } else {
        cores = std::get<CoreRangeSet>(grid);
    }
    return interleaved_to_sharded(
        input_tensor, MemoryConfig(shard_scheme, BufferType::L1, tt::tt_metal::ShardSpec(cores, shard_shape, shard_orientation)),
        data_type_arg, keep_l1_aligned);
}

Tensor sharded_to_interleaved(const Tensor& input_tensor, const MemoryConfig& memory_config, const std::optional<DataType>& output_dtype) {
    OpScope scope("ttnn.sharded_to_interleaved");
    check_device_tensor(input_tensor, "input_tensor");
    if (!input_tensor.is_sharded()) return input_tensor;  // whatever memory_config and dtype say, as in the real package
    SHIM_CHECK(!memory_config.is_sharded(), "the output memory config must be interleaved, got {}", memory_config);
    const MemoryConfig& own = input_tensor.memory_config();
    SHIM_CHECK(
        !own.shard_spec() || (own.buffer_type() == BufferType::L1 && has_aligned_rows(input_tensor, own)),
        "the input must have shards of aligned rows in L1, got {}", own);
    return move_program(
        strategy::ShardedToInterleaved{}, "ShardedToInterleavedDeviceOperation", input_tensor, memory_config, output_dtype, std::nullopt);
}

Tensor reshard(const Tensor& input_tensor, const MemoryConfig& memory_config, const std::optional<Tensor>& optional_output_tensor) {
    OpScope scope("ttnn.reshard");
    check_device_tensor(input_tensor, "input_tensor");
    SHIM_CHECK(input_tensor.is_sharded(), "the input must be sharded, got {}", input_tensor.memory_config());
    check_sharded(memory_config, "the output memory config");
    SHIM_CHECK(
        !is_block_in_dram(memory_config) && !is_block_in_dram(input_tensor.memory_config()), "block shards in DRAM are not supported");
    return move_program(strategy::Reshard{}, "ReshardDeviceOperation", input_tensor, memory_config, std::nullopt, optional_output_tensor);
}

Tensor to_memory_config(
    const Tensor& tensor, const MemoryConfig& memory_config, std::optional<DataType> dtype, const std::optional<Tensor>& output_tensor) {
    OpScope scope("ttnn.to_memory_config");
    check_device_tensor(tensor, "tensor");
    if (tensor.memory_config() == memory_config && !output_tensor) return tensor;  // whatever dtype is asked for, as in TT-NN
    if (output_tensor) {
        SHIM_CHECK(
            output_tensor->layout() == tensor.layout() && output_tensor->dtype() == dtype.value_or(tensor.dtype()) &&
                output_tensor->memory_config() == memory_config,
            "output_tensor: expected {} {} in {}, got {}", dtype.value_or(tensor.dtype()), tensor.layout(), memory_config,
            output_tensor->tensor_spec());
    }
    SHIM_CHECK(
        !dtype || *dtype == tensor.dtype() || tensor.layout() == Layout::TILE, "Only tile layout supports dtype conversion, got {} in {}",
        tensor.dtype(), tensor.layout());
    const MemoryConfig& own = tensor.memory_config();
    const bool from_sharded = own.is_sharded();
    SHIM_CHECK(!is_block_in_dram(own) && !is_block_in_dram(memory_config), "block shards in DRAM are not supported");
    if (memory_config.is_sharded()) {
        check_sharded(memory_config, "memory_config");
        const bool legacy = memory_config.shard_spec().has_value() && (!from_sharded || tensor.memory_config().shard_spec().has_value());
        if (!legacy) {
            return copy_program(tensor, memory_config, dtype, output_tensor);
        }
        if (from_sharded) {
            const bool cuts_rows = tensor.layout() == Layout::ROW_MAJOR && own.memory_layout() != memory_config.memory_layout() &&
                                   own.shard_spec()->shape[1] != memory_config.shard_spec()->shape[1];
            if (cuts_rows && own.is_l1() && memory_config.is_l1() && !output_tensor)  // sticks of another width go through DRAM
                return to_memory_config(to_memory_config(tensor, MemoryConfig{}), memory_config);
            return dtype ? copy_program(tensor, memory_config, dtype, output_tensor) : reshard(tensor, memory_config, output_tensor);
        }
        if (!has_aligned_rows(tensor, memory_config)) return copy_program(tensor, memory_config, dtype, output_tensor);
        return interleaved_to_sharded(tensor, memory_config, dtype, std::nullopt, output_tensor);
    }
    if (from_sharded && !output_tensor && own.shard_spec() && own.buffer_type() == BufferType::L1 && has_aligned_rows(tensor, own)) {
        return sharded_to_interleaved(tensor, memory_config, dtype);
    }
    return copy_program(tensor, memory_config, dtype, output_tensor);
}

Tensor clone(
    const Tensor& input, const std::optional<DataType>& dtype, const std::optional<MemoryConfig>& memory_config,
    const std::optional<ComputeKernelConfig>& compute_kernel_config) {
    OpScope scope("ttnn.clone");
    check_device_tensor(input, "input");
    SHIM_CHECK(
        !dtype || *dtype == input.dtype() || (input.layout() == Layout::TILE && (input.logical_volume() > 0 || input.is_sharded())),
        "clone changes the dtype only in TILE layout, and of values that are there");
    SHIM_CHECK(
        !dtype || !is_floating_point(*dtype) || input.dtype() != DataType::INT8, "clone cannot convert {} to {}", input.dtype(), *dtype);
    if (memory_config && (memory_config->is_sharded() || input.is_sharded())) {
        const MemoryConfig& own = input.memory_config();
        SHIM_CHECK(
            own.memory_layout() == memory_config->memory_layout() &&
                (!memory_config->shard_spec() || own.shard_spec() == memory_config->shard_spec()),
            "memory_config: expected the input's shards {}, got {}", own, *memory_config);
    }
    return launch(
        {.op = strategy::Clone{}, .compute = compute_kernel_config, .name = "CloneOperation"}, {input},
        {spec_like(input, dtype, memory_config)}, [=](std::span<const Tensor> outputs) { copy_values(input, outputs[0]); })[0];
}

Tensor copy(const Tensor& src_tensor, const Tensor& dst_tensor) {
    OpScope scope("ttnn.copy");
    check_device_tensor(src_tensor, "input_a");
    check_device_tensor(dst_tensor, "input_b");
    SHIM_CHECK(
        src_tensor.logical_shape() == dst_tensor.logical_shape() && src_tensor.layout() == dst_tensor.layout(),
        "expected equal shapes and layouts, got {} and {}", src_tensor.tensor_spec(), dst_tensor.tensor_spec());
    return copy_program(src_tensor, dst_tensor.memory_config(), dst_tensor.dtype(), dst_tensor);
}

Tensor assign(
    const Tensor& input, const MemoryConfig& output_mem_config, std::optional<const DataType> output_dtype,
    const std::optional<Tensor>& optional_output_tensor) {
    OpScope scope("ttnn.assign");
    check_device_tensor(input, "input_tensor");
    const auto dtype = output_dtype ? std::optional<DataType>(*output_dtype) : std::nullopt;
    SHIM_CHECK(
        !dtype || *dtype == input.dtype() || input.layout() == Layout::TILE, "dtype can only change in TILE layout, got {} in {}",
        input.dtype(), input.layout());
    return copy_program(input, output_mem_config, dtype, optional_output_tensor);
}

Tensor assign(const Tensor& input_a, const Tensor& input_b) {
    OpScope scope("ttnn.assign");
    return copy(input_a, input_b);
}

void copy_to_device(const Tensor& host_tensor, Tensor& device_tensor, std::optional<QueueId>) {
    OpScope scope("ttnn.copy_host_to_device_tensor");
    SHIM_CHECK(!is_on_device(host_tensor), "host_tensor must be on the host");
    check_device_tensor(device_tensor, "device_tensor");
    check_not_captured(*device_tensor.device(), "Writes");
    SHIM_CHECK(
        host_tensor.logical_shape() == device_tensor.logical_shape() && host_tensor.dtype() == device_tensor.dtype() &&
            host_tensor.layout() == device_tensor.layout(),
        "expected equal shape, dtype and layout, got {} and {}", host_tensor.tensor_spec(), device_tensor.tensor_spec());
    device_tensor.shim().buffer->set_contents(host_tensor.shim().buffer->contents());
}

Tensor move(const Tensor& input_tensor, const std::optional<MemoryConfig>& memory_config) {
    OpScope scope("ttnn.move");
    check_device_tensor(input_tensor, "input_tensor");
    // The values survive the buffer: it is freed first, so that the result may take its place.
    std::optional<MemoryConfig> to = memory_config;
    if (input_tensor.is_sharded() && to) {  // shards stay as they are
        SHIM_CHECK(to->is_sharded(), "memory_config: expected a sharded one for a sharded tensor, got {}", *to);
        SHIM_CHECK(
            to->buffer_type() == input_tensor.memory_config().buffer_type(),
            "memory_config: a sharded tensor cannot move to another memory");
        to = MemoryConfig(to->memory_layout(), to->buffer_type(), input_tensor.memory_config().shard_spec());
    }
    const TensorSpec spec = spec_like(input_tensor, std::nullopt, to);
    const Contents values = input_tensor.shim().buffer->contents();
    const Kernel carry = [=](std::span<const Tensor> outputs) {
        outputs[0].shim().buffer->set_contents(
            values.present() ? values : input_tensor.shim().buffer->contents());  // a replay has new ones
    };
    MeshDevice* device = device_of(input_tensor);
    const uint64_t place = input_tensor.buffer_address();
    input_tensor.shim().buffer->release();
    if (spec.memory_config().is_l1() == input_tensor.memory_config().is_l1()) {
        if (const Tensor moved = make_device_tensor(device, spec, values); moved.buffer_address() == place) {  // nothing to move
            if (!values.present()) on_values(carry, {moved}, {moved});
            return moved;
        }
    }
    return launch_on(
        device, {.op = strategy::Move{}, .released = {input_tensor.tensor_spec()}, .name = "MoveDeviceOperation"}, {}, {spec}, carry)[0];
}

namespace core {

bool has_storage_type_of(const Tensor& tensor, const StorageType& storage_type) { return tensor.storage_type() == storage_type; }

std::optional<MemoryConfig> get_memory_config(const Tensor& tensor) {
    return is_on_device(tensor) ? std::optional(tensor.memory_config()) : std::nullopt;
}

}  // namespace core

namespace operations::core {

Tensor squeeze_from_4D(const Tensor& tensor, int rank) {
    OpScope scope("ttnn.squeeze_from_4D");
    SHIM_CHECK(
        tensor.logical_shape().rank() == 4 && rank >= 1 && rank <= 4, "expected a rank 4 tensor and a rank from 1 to 4, got {} and {}",
        tensor.logical_shape().rank(), rank);
    return tensor.reshape(tensor.logical_shape().to_rank(static_cast<size_t>(rank)));
}

Tensor to_device(
    const Tensor& tensor, MeshDevice* mesh_device, const std::optional<MemoryConfig>& memory_config, std::optional<QueueId> cq_id) {
    OpScope scope("ttnn.to_device");
    // Not the memory it may have come from: without an argument it goes to DRAM.
    const MemoryConfig memory = memory_config.value_or(MemoryConfig(TensorMemoryLayout::INTERLEAVED, BufferType::DRAM));
    return tensor.to_device(mesh_device, memory, cq_id);
}

Tensor from_device(const Tensor& tensor, bool blocking, std::optional<QueueId> cq_id) {
    OpScope scope("ttnn.from_device");
    return tensor.cpu(blocking, cq_id);
}

void deallocate(Tensor& tensor, bool force) {
    OpScope scope("ttnn.deallocate");
    tensor.deallocate(force);
}

Tensor reallocate(const Tensor& input_tensor, const std::optional<MemoryConfig>& memory_config) {
    OpScope scope("ttnn.reallocate");
    return move(input_tensor, memory_config);
}

}  // namespace operations::core
}  // namespace ttnn

SHIM_OP("ttnn.to_memory_config", [](const arguments::to_memory_config& args) {
    return ttnn::to_memory_config(args.tensor, args.memory_config, args.dtype, args.output_tensor);
});
SHIM_OP("ttnn.interleaved_to_sharded", [](const arguments::interleaved_to_sharded& args) {
    if (args.sharded_memory_config)
        return ttnn::interleaved_to_sharded(
            args.input_tensor, *args.sharded_memory_config, args.output_dtype, args.keep_l1_aligned, args.preallocated_output);
    return ttnn::interleaved_to_sharded(
        args.input_tensor, args.grid, args.shard_shape, args.shard_scheme.value_or(TensorMemoryLayout::INTERLEAVED), args.shard_orientation,
        args.output_dtype, args.keep_l1_aligned);
});
SHIM_OP("ttnn.sharded_to_interleaved", [](const arguments::sharded_to_interleaved& args) {
    return ttnn::sharded_to_interleaved(args.input_tensor, args.memory_config.value_or(MemoryConfig()), args.output_dtype);
});
SHIM_OP("ttnn.reshard", [](const arguments::reshard& args) {
    return ttnn::reshard(args.input_tensor, args.output_memory_config, args.output_tensor);
});
SHIM_OP("ttnn.to_device", [](const arguments::to_device& args) { return ttnn::to_device(args.tensor, args.device, args.memory_config); });
SHIM_OP("ttnn.from_device", [](const arguments::from_device& args) { return ttnn::from_device(args.tensor); });
SHIM_OP("ttnn.deallocate", [](const arguments::deallocate& args) {
    deallocate(args.tensor.shim_pointer(), args.force, 3);  // the caller's handle, the call's list of inputs, its arguments
});
SHIM_OP("ttnn.clone", [](const arguments::clone& args) {
    return ttnn::clone(args.input, args.dtype, args.memory_config, args.compute_kernel_config);
});
SHIM_OP("ttnn.copy", [](const arguments::copy& args) { return ttnn::copy(args.input_a, args.input_b); });
SHIM_OP("ttnn.assign", [](const arguments::assign& args) {
    if (args.input_b.has_value()) {
        return ttnn::assign((*args.input_a), (*args.input_b));
    }
    const auto dtype = args.dtype;
    return ttnn::assign(
        (*args.input_tensor), args.memory_config.value_or(MemoryConfig()), dtype ? std::optional<const DataType>(*dtype) : std::nullopt,
        args.output_tensor);
});
SHIM_OP("ttnn.move", [](const arguments::move& args) { return ttnn::move(args.input_tensor, args.memory_config); });
SHIM_OP("ttnn.reallocate", [](const arguments::reallocate& args) { return ttnn::reallocate(args.tensor, args.memory_config); });
SHIM_OP("ttnn.copy_host_to_device_tensor", [](const arguments::copy_host_to_device_tensor& args) {
    Tensor device = args.device_tensor;
    ttnn::copy_to_device(args.host_tensor, device);
});
SHIM_OP("ttnn.copy_device_to_host_tensor", [](const arguments::copy_device_to_host_tensor& args) {
    const Tensor& device = args.device_tensor;
    const Tensor& host = args.host_tensor;
    SHIM_CHECK(!is_on_device(host), "host_tensor must be on the host");
    check_device_tensor(device, "device_tensor");
    check_not_captured(*device.device(), "Reads");
    SHIM_CHECK(
        host.logical_shape() == device.logical_shape() && host.dtype() == device.dtype(), "expected equal shape and dtype, got {} and {}",
        host.tensor_spec(), device.tensor_spec());
    host.shim().buffer->set_contents(device.shim().buffer->contents());
});
