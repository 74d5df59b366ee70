// ttnn::to_layout and the programs behind it: tilize, untilize and their padding variants.
// Values do not depend on the page layout, so outputs share them; only specs, addresses and time differ.
#include "ops/arguments.hpp"
#include "ops/core/core_programs.hpp"
#include "ops/data_movement/shards.hpp"
#include "ops/launch.hpp"
#include "ops/registry.hpp"
#include "ttnn/operations/core/to_layout/to_layout_op.hpp"
#include "ttnn/operations/data_movement/tilize/tilize.hpp"
#include "ttnn/operations/data_movement/tilize_with_val_padding/tilize_with_val_padding.hpp"
#include "ttnn/operations/data_movement/untilize/untilize.hpp"
#include "ttnn/operations/data_movement/untilize_with_unpadding/untilize_with_unpadding.hpp"

using namespace ttnn_shim;

namespace ttnn {

namespace {

struct Relayout {
    strategy::Operation op;
    const char* name;
    Layout layout;
    Shape logical;
    std::optional<Shape> padded;  ///< when larger than the layout asks for
    DataType dtype;
    MemoryConfig memory_config;
    OptionalCores cores;
};

Tensor run(const Tensor& input, const Relayout& to) {
    check_device_tensor(input, "input_tensor");
    TensorSpec spec = make_spec(to.logical, to.dtype, to.layout, to.memory_config);
    if (to.padded) {
        spec = spec.with_padded_shape(*to.padded);
    }
    return launch({.op = to.op, .name = to.name, .cores = to.cores}, {input}, {spec}, [=](std::span<const Tensor> outputs) {
        copy_values(input, outputs[0]);
    })[0];
}

/// Block floats have no row-major form: the program unpacks them to bfloat16, but only knows BFLOAT8_B.
DataType untilized_dtype(const Tensor& input) {
    SHIM_CHECK(input.dtype() != DataType::BFLOAT4_B, "input_tensor: BFLOAT4_B tensors must have TILE layout");
    return is_block_float(input.dtype()) ? DataType::BFLOAT16 : input.dtype();
}

uint64_t batches(const Shape& padded) {
    uint64_t count = 1;
    for (size_t dim = 0; dim + 2 < padded.rank(); ++dim) count *= padded.view()[dim];
    return count;
}

/// Memory of a result without padding: shards shrink with the rows.
MemoryConfig unpadded_memory(const Tensor& input, const Shape& logical, const MemoryConfig& asked) {
    const MemoryConfig& from = input.memory_config();
    if (!from.is_sharded() || !from.shard_spec()) return asked;
    const TensorMemoryLayout kind = from.memory_layout();
    SHIM_CHECK(
        input.logical_volume() == 0 || batches(input.padded_shape()) == 1 ||
            (kind != TensorMemoryLayout::BLOCK_SHARDED && (kind != TensorMemoryLayout::WIDTH_SHARDED || asked.is_sharded())),
        "can only write unbatched output, got shape {} in {}", input.logical_shape(), from);
    if (!asked.is_sharded() || asked.memory_layout() != kind) return asked;
    SHIM_CHECK(asked.buffer_type() == BufferType::L1, "sharded output must be in L1, got {}", asked);
    tt::tt_metal::ShardSpec shard = *from.shard_spec();
    uint64_t rows = 1;
    for (size_t dim = 0; dim + 1 < logical.rank(); ++dim) rows *= logical.view()[dim];
    if (kind == TensorMemoryLayout::HEIGHT_SHARDED) {
        const uint64_t each = (rows + shard.num_cores() - 1) / shard.num_cores();
        shard.shape = {static_cast<uint32_t>((each + 31) / 32 * 32), logical[-1]};
    } else if (kind == TensorMemoryLayout::WIDTH_SHARDED) {
        shard.shape[0] = static_cast<uint32_t>(rows);
    }
    return MemoryConfig(kind, asked.buffer_type(), shard);
}

/// The last index of every dimension, as untilize_with_unpadding takes it; an empty dimension ends at -1, as unsigned.
Shape last_index(Shape shape) {
    for (size_t dim = 0; dim < shape.rank(); ++dim) shape[static_cast<int32_t>(dim)] -= 1;
    return shape;
}

/// Rows in height shards that do not cover the padded rows are dealt anew to their cores.
MemoryConfig tilized_memory(const Tensor& input, const MemoryConfig& asked, const Shape& padded) {
    if (asked.memory_layout() != TensorMemoryLayout::HEIGHT_SHARDED || !asked.shard_spec() || asked != input.memory_config()) return asked;
    tt::tt_metal::ShardSpec shard = *asked.shard_spec();
    const uint64_t rows = padded.volume() / std::max<uint32_t>(padded[-1], 1), cores = shard.num_cores();
    if (asked.buffer_type() != BufferType::L1 || cores * shard.shape[0] >= rows) return asked;
    shard.shape[0] = static_cast<uint32_t>((rows + cores - 1) / cores);
    return MemoryConfig(asked.memory_layout(), asked.buffer_type(), shard);
}

bool is_aligned(const Tensor& tensor) {
    const Shape& shape = tensor.logical_shape();
    if (shape.volume() == 0) return true;
    return shape.rank() >= 2 && shape[-1] % tt::constants::TILE_WIDTH == 0 && shape[-2] % tt::constants::TILE_HEIGHT == 0;
}

/// TT-NN's programs make tiles of FP8_E4M3 where they need more than one per row.
void check_tiles(const Tensor& input, uint32_t padded_width) {
    SHIM_CHECK(
        input.dtype() != DataType::FP8_E4M3 || padded_width > tt::constants::TILE_WIDTH,
        "FP8_E4M3 needs more than one tile per row, got rows of {} values", padded_width);
}

/// One core without `use_multicore`.
std::optional<CoreRangeSet> cores_of(bool use_multicore, const std::optional<CoreRangeSet>& sub_core_grids) {
    return use_multicore ? sub_core_grids : CoreRangeSet(CoreRange(CoreCoord(0, 0)));
}

}  // namespace

Tensor tilize(
    const Tensor& input_tensor, const std::optional<MemoryConfig>& memory_config, std::optional<DataType> output_dtype, bool use_multicore,
    bool use_low_perf, tt::tt_metal::Tile tile, const std::optional<CoreRangeSet>& sub_core_grids) {
    OpScope scope("ttnn.tilize");
    (void)use_low_perf;
    SHIM_SUPPORTED(tile == tt::tt_metal::Tile(), "tilize supports 32x32 tiles");
    check_device_tensor(input_tensor, "input_tensor");
    if (input_tensor.logical_volume() == 0 && input_tensor.layout() == Layout::TILE) return input_tensor;
    check_device_tensor(input_tensor, "input_tensor", Layout::ROW_MAJOR);
    SHIM_CHECK(
        input_tensor.dtype() != DataType::INT8 || input_tensor.logical_volume() == 0, "tilize does not support {}", input_tensor.dtype());
    SHIM_CHECK(
        is_aligned(input_tensor), "tilize needs the last two dims to be multiples of 32, got {}; use tilize_with_val_padding",
        input_tensor.logical_shape());
    check_tiles(input_tensor, input_tensor.logical_shape()[-1]);
    const DataType dtype = tilized_dtype(input_tensor, output_dtype);
    return run(
        input_tensor, {strategy::Tilize{}, "TilizeDeviceOperation", Layout::TILE, input_tensor.logical_shape(), std::nullopt, dtype,
                       memory_config.value_or(input_tensor.memory_config()), cores_of(use_multicore, sub_core_grids)});
}

namespace {
/// The tilize of a mixture of experts: rows of bfloat16 become shards of one row of tiles, one on each core.
Tensor deepseek_moe_post_combine_tilize(const Tensor& input, const MemoryConfig& memory) {
    const OpScope scope("ttnn.experimental.deepseek_moe_post_combine_tilize");
    check_device_tensor(input, "input_tensor");
    const Shape shape = input.padded_shape();
    SHIM_CHECK(shape.rank() >= 2, "DeepseekMoEPostCombineTilize requires rank >= 2, but has {}", shape.rank());
    SHIM_CHECK(
        input.dtype() == DataType::BFLOAT16, "DeepseekMoEPostCombineTilize requires dtype to be bfloat16, but has {}", input.dtype());
    SHIM_CHECK(!input.memory_config().is_sharded(), "DeepseekMoEPostCombineTilize requires input to be interleaved");
    SHIM_CHECK(input.layout() == Layout::ROW_MAJOR, "DeepseekMoEPostCombineTilize requires input layout to be ROW_MAJOR");
    SHIM_CHECK(memory.is_sharded() && memory.nd_shard_spec(), "DeepseekMoEPostCombineTilize requires sharded output");
    SHIM_CHECK(memory.buffer_type() == BufferType::L1, "DeepseekMoEPostCombineTilize requires L1 output");
    const Shape shard = memory.nd_shard_spec()->shard_shape;
    SHIM_CHECK(shard.rank() == 2, "DeepseekMoEPostCombineTilize requires dimension 2 output shard shape");
    const uint64_t width = shape[-1], rows = width == 0 ? 0 : input.physical_volume() / width;
    SHIM_CHECK(
        shard[-1] != 0 && shard[-1] % tt::constants::TILE_WIDTH == 0 && width % shard[-1] == 0,
        "DeepseekMoEPostCombineTilize requires output shard width to be even multiple of tiles");
    SHIM_CHECK(
        shard[-2] == tt::constants::TILE_HEIGHT && rows % tt::constants::TILE_HEIGHT == 0,
        "DeepseekMoEPostCombineTilize requires output shard height to be a single tile high");
    SHIM_CHECK(
        width / shard[-1] * (rows / tt::constants::TILE_HEIGHT) == memory.nd_shard_spec()->grid.num_cores(),
        "DeepseekMoEPostCombineTilize requires one output shard per core");
    return run(
        input, {strategy::Tilize{}, "DeepseekMoEPostCombineTilizeDeviceOperation", Layout::TILE, shape, std::nullopt, input.dtype(), memory,
                std::nullopt});
}
}  // namespace

Tensor tilize_with_val_padding(
    const Tensor& input_tensor, const tt::tt_metal::Shape& output_padded_shape, std::variant<uint32_t, float> pad_value,
    const std::optional<MemoryConfig>& memory_config, std::optional<DataType> output_dtype, bool use_multicore,
    const std::optional<CoreRangeSet>& sub_core_grids) {
    OpScope scope("ttnn.tilize_with_val_padding");
    (void)pad_value;
    check_device_tensor(input_tensor, "input_tensor");
    const DataType dtype = tilized_dtype(input_tensor, output_dtype);
    const MemoryConfig memory = memory_config.value_or(input_tensor.memory_config());
    if (input_tensor.layout() == Layout::TILE) return input_tensor;
    if (input_tensor.logical_volume() == 0) {  // TT-NN's result of no values has the padded shape, but for one dimension
        const Shape& shape = input_tensor.logical_shape().rank() == 1 ? input_tensor.logical_shape() : output_padded_shape;
        return empty_tensor(device_of(input_tensor), make_spec(shape, dtype, Layout::TILE, memory));
    }
    SHIM_CHECK(
        input_tensor.dtype() != DataType::UINT8 && input_tensor.dtype() != DataType::INT8,
        "tilize with padding supports BFLOAT16, FLOAT32, UINT32, INT32 and UINT16, got {}", input_tensor.dtype());
    SHIM_CHECK(
        output_padded_shape.rank() >= std::max<size_t>(2, input_tensor.logical_shape().rank()) &&
            output_padded_shape[-1] % tt::constants::TILE_WIDTH == 0 && output_padded_shape[-2] % tt::constants::TILE_HEIGHT == 0,
        "output_tensor_shape {} must be tile aligned and have the rank of the input {}", output_padded_shape, input_tensor.logical_shape());
    check_tiles(input_tensor, output_padded_shape[-1]);
    const Shape input_shape = input_tensor.logical_shape().to_rank(output_padded_shape.rank());
    for (size_t dim = 0; dim < input_shape.rank(); ++dim) {
        SHIM_CHECK(
            output_padded_shape.view()[dim] >= input_shape.view()[dim], "output_tensor_shape {} is smaller than the input {}",
            output_padded_shape, input_tensor.logical_shape());
    }
    return run(
        input_tensor,
        {strategy::TilizeWithValPadding{}, "TilizeWithValPaddingDeviceOperation", Layout::TILE, input_tensor.logical_shape(),
         output_padded_shape, dtype, tilized_memory(input_tensor, memory, output_padded_shape), cores_of(use_multicore, sub_core_grids)});
}

Tensor tilize_with_val_padding(
    const Tensor& input_tensor, const SmallVector<uint32_t>& output_padded_shape, std::variant<uint32_t, float> pad_value,
    const std::optional<MemoryConfig>& memory_config, std::optional<DataType> output_dtype, bool use_multicore,
    const std::optional<CoreRangeSet>& sub_core_grids) {
    return tilize_with_val_padding(
        input_tensor, Shape(output_padded_shape), pad_value, memory_config, output_dtype, use_multicore, sub_core_grids);
}

Tensor tilize_with_zero_padding(
    const Tensor& input_tensor, const std::optional<MemoryConfig>& memory_config, std::optional<DataType> output_dtype, bool use_multicore,
    const std::optional<CoreRangeSet>& sub_core_grids) {
    OpScope scope("ttnn.tilize_with_zero_padding");
    const Shape padded = make_spec(input_tensor.logical_shape(), tilized_dtype(input_tensor, output_dtype), Layout::TILE).padded_shape();
    check_device_tensor(input_tensor, "input_tensor");
    if (input_tensor.logical_volume() == 0 && input_tensor.layout() == Layout::TILE)
        return empty_tensor(
            device_of(input_tensor),
            make_spec(
                padded, tilized_dtype(input_tensor, output_dtype), Layout::TILE, memory_config.value_or(input_tensor.memory_config())));
    return tilize_with_val_padding(input_tensor, padded, 0.0F, memory_config, output_dtype, use_multicore, sub_core_grids);
}

Tensor untilize(
    const Tensor& input_tensor, const std::optional<MemoryConfig>& memory_config, bool use_multicore,
    const std::optional<CoreRangeSet>& sub_core_grids) {
    OpScope scope("ttnn.untilize");
    check_device_tensor(input_tensor, "input_tensor", Layout::TILE);
    const MemoryConfig memory = memory_config.value_or(input_tensor.memory_config());
    SHIM_CHECK(
        memory.memory_layout() != TensorMemoryLayout::BLOCK_SHARDED || memory.buffer_type() == BufferType::L1,
        "block shards in DRAM are not supported, got {}", memory);
    const DataType dtype = untilized_dtype(input_tensor);
    SHIM_CHECK(
        input_tensor.logical_shape().rank() <= 4 || input_tensor.logical_shape() == input_tensor.padded_shape(),
        "a padded tensor of more than 4 dimensions leaves pages that do not divide it: {}; use untilize_with_unpadding",
        input_tensor.logical_shape());
    return run(
        input_tensor, {strategy::Untilize{}, "UntilizeDeviceOperation", Layout::ROW_MAJOR, input_tensor.logical_shape(), std::nullopt,
                       dtype, memory_config.value_or(input_tensor.memory_config()), cores_of(use_multicore, sub_core_grids)});
}

Tensor untilize_with_unpadding(
    const Tensor& input_tensor, const Shape& output_tensor_end, const std::optional<MemoryConfig>& memory_config, bool use_multicore,
    const std::optional<CoreRangeSet>& sub_core_grids) {
    OpScope scope("ttnn.untilize_with_unpadding");
    check_device_tensor(input_tensor, "input_tensor", Layout::TILE);
    Shape logical = output_tensor_end;
    SHIM_CHECK(
        logical.rank() == input_tensor.logical_shape().rank(), "output_tensor_end {} must have the rank of the input {}", output_tensor_end,
        input_tensor.logical_shape());
    for (size_t dim = 0; dim < logical.rank(); ++dim) {
        const auto index = static_cast<int32_t>(dim);
        logical[index] += 1;  // -1 is an empty dimension; an end beyond the input is taken
    }
    return run(
        input_tensor,
        {strategy::UntilizeWithUnpadding{}, "UntilizeWithUnpaddingDeviceOperation", Layout::ROW_MAJOR, logical, std::nullopt,
         untilized_dtype(input_tensor), unpadded_memory(input_tensor, logical, memory_config.value_or(input_tensor.memory_config())),
         cores_of(use_multicore, sub_core_grids)});
}

}  // namespace ttnn

namespace ttnn_shim {
Tensor without_padding(const Tensor& tensor, const std::optional<MemoryConfig>& memory_config) {
    return ttnn::untilize_with_unpadding(tensor, ttnn::last_index(tensor.logical_shape()), memory_config, true, std::nullopt);
}
}  // namespace ttnn_shim

namespace ttnn {

Tensor to_layout(
    const Tensor& tensor, Layout layout, const std::optional<DataType>& dtype, const std::optional<MemoryConfig>& memory_config,
    const std::optional<CoreRangeSet>& sub_core_grids, float pad_value) {
    OpScope scope("ttnn.to_layout");
    SHIM_CHECK(layout != Layout::INVALID, "expected layout TILE or ROW_MAJOR");
    if (!is_on_device(tensor)) {
        SHIM_CHECK(tensor.is_allocated(), "the tensor was deallocated");
        SHIM_CHECK(
            layout == Layout::TILE || !is_block_float(tensor.dtype()) || tensor.logical_shape() == tensor.padded_shape(),
            "a padded {} host tensor cannot be made ROW_MAJOR", tensor.dtype());
        // As in TT-NN, dtype is for device tensors, and block floats, which have no row-major form, stay as they are.
        return tensor.layout() == layout || is_block_float(tensor.dtype()) ? tensor : tensor.to_layout(layout);
    }
    if (tensor.layout() == layout) return tensor;  // whatever dtype and memory_config say, as in the real package
    if (layout == Layout::ROW_MAJOR) {
        SHIM_CHECK(!dtype || *dtype == tensor.dtype(), "dtype cannot be specified when converting to ROW_MAJOR_LAYOUT");
        if (tensor.logical_shape() == tensor.padded_shape()) {
            return untilize(tensor, memory_config, true, sub_core_grids);
        }
        return untilize_with_unpadding(tensor, last_index(tensor.logical_shape()), memory_config, true, sub_core_grids);
    }
    if (is_aligned(tensor) && tensor.logical_volume() > 0) {
        return tilize(tensor, memory_config, dtype, true, false, tt::tt_metal::Tile(), sub_core_grids);
    }
    const Shape padded =
        make_spec(
            tensor.logical_shape(), tensor.logical_volume() == 0 ? dtype.value_or(tensor.dtype()) : tilized_dtype(tensor), Layout::TILE)
            .padded_shape();
    return tilize_with_val_padding(tensor, padded, pad_value, memory_config, dtype, true, sub_core_grids);
}

}  // namespace ttnn

namespace {

std::variant<uint32_t, float> pad_value_of(const Scalar& value) {
    return std::visit(
        [](auto number) -> std::variant<uint32_t, float> {
            if constexpr (std::is_same_v<decltype(number), float>) {
                return number;
            } else {
                return static_cast<uint32_t>(number);
            }
        },
        value);
}

}  // namespace

SHIM_OP("ttnn.to_layout", [](const arguments::to_layout& args) {
    return ttnn::to_layout(args.tensor, args.layout, args.dtype, args.memory_config, args.sub_core_grids, args.pad_value);
});
SHIM_OP("ttnn.tilize", [](const arguments::tilize& args) {
    return ttnn::tilize(
        args.input_tensor, args.memory_config, args.dtype, args.use_multicore, false, tt::tt_metal::Tile(), args.sub_core_grids);
});
SHIM_OP("ttnn.experimental.deepseek_moe_post_combine_tilize", [](const arguments::experimental::deepseek_moe_post_combine_tilize& args) {
    return ttnn::deepseek_moe_post_combine_tilize(args.input_tensor, args.output_memory_config);
});
SHIM_OP("ttnn.tilize_with_val_padding", [](const arguments::tilize_with_val_padding& args) {
    return ttnn::tilize_with_val_padding(
        args.input_tensor, args.output_tensor_shape, pad_value_of(args.pad_value), args.memory_config, args.dtype, args.use_multicore,
        args.sub_core_grids);
});
SHIM_OP("ttnn.tilize_with_zero_padding", [](const arguments::tilize_with_zero_padding& args) {
    return ttnn::tilize_with_zero_padding(
        args.input_tensor, args.memory_config, args.output_dtype, args.use_multicore, args.sub_core_grids);
});
SHIM_OP("ttnn.untilize", [](const arguments::untilize& args) {
    return ttnn::untilize(args.input_tensor, args.memory_config, args.use_multicore, args.sub_core_grids);
});
SHIM_OP("ttnn.untilize_with_unpadding", [](const arguments::untilize_with_unpadding& args) {
    return ttnn::untilize_with_unpadding(
        args.input_tensor, args.output_tensor_end, args.memory_config, args.use_multicore, args.sub_core_grids);
});
