// softmax, scale_mask_softmax and their in-place forms.
#include "ttnn/operations/normalization/softmax/softmax.hpp"

#include <cmath>

#include "ops/arguments.hpp"
#include "ops/eltwise/engine.hpp"
#include "ops/normalization/rows.hpp"
#include "ttnn/operations/core/to_layout/to_layout_op.hpp"
#include "ttnn/operations/creation/creation.hpp"
#include "ttnn/operations/eltwise/binary/binary.hpp"
#include "ttnn/operations/transformer/attention_softmax/attention_softmax.hpp"

using namespace ttnn_shim;

namespace {

using OptionalConst = std::optional<const Tensor>;
using OptionalCompute = std::optional<const ttnn::ComputeKernelConfig>;

struct Softmax {
    int dim = -1;
    std::optional<float> scale = std::nullopt;
    OptionalConst mask = std::nullopt;
    bool causal = false;
    bool stable = true;
    bool in_place = false;
    std::optional<MemoryConfig> memory_config = std::nullopt;
    OptionalCompute compute = std::nullopt;
    bool attention = false;    ///< attention_softmax: its scale needs no mask
    bool matrix_mask = false;  ///< a causal mask of all rows, which only programs on shards take
    std::optional<ttnn::SoftmaxShardedMultiCoreProgramConfig> sharded = std::nullopt;
};

/// Softmax along a dimension that is not the last: columns are gathered into rows, 16 at a time.
void softmax_columns(const Tensor& input, const Tensor& output, size_t size, size_t inner, bool stable) {
    constexpr size_t GROUP = 16;
    const F32Values values(input);
    std::byte* target = mutable_raw_data(output);
    const size_t groups = (inner + GROUP - 1) / GROUP, outer = size * inner == 0 ? 0 : values.size() / (size * inner);
    const auto& kernel = kernels::kernel_set();
    parallel_for(outer * groups, std::max<size_t>(1, 1024 / std::max<size_t>(1, size)), [&](size_t begin, size_t end) {
        std::vector<float> rows(GROUP * size), line(GROUP);
        for (size_t index = begin; index < end; ++index) {
            const size_t first = index % groups * GROUP, count = std::min(GROUP, inner - first);
            const size_t base = index / groups * size * inner + first;
            for (size_t i = 0; i < size; ++i) {
                for (size_t g = 0; g < count; ++g) rows[g * size + i] = values[base + i * inner + g];
            }
            for (size_t g = 0; g < count; ++g) kernel.softmax_row(&rows[g * size], &rows[g * size], size, stable);
            for (size_t i = 0; i < size; ++i) {
                for (size_t g = 0; g < count; ++g) line[g] = rows[g * size + i];
                store_f32(output.dtype(), line.data(), target + (base + i * inner) * stored_bytes(output.dtype()), count);
            }
        }
    });
}

/// Extent `dim` of a shape, or 0 beyond its rank.
uint32_t extent(const Shape& shape, size_t dim) { return dim < shape.rank() ? shape.view()[dim] : 0; }

/// A config for shards: blocks must cover whole rows of the input, whose shards hold them.
void check_sharded_config(const Tensor& input, const Softmax& o) {
    const auto& config = *o.sharded;
    SHIM_CHECK(input.is_sharded() && input.memory_config().shard_spec(), "program_config: the input_tensor is not sharded");
    SHIM_CHECK(o.in_place, "program_config: expected an operation in place");
    const Shape& padded = input.padded_shape();
    SHIM_CHECK(
        config.subblock_w > 0 && config.block_w % config.subblock_w == 0, "program_config: block_w {} is not a multiple of subblock_w {}",
        config.block_w, config.subblock_w);
    SHIM_CHECK(
        config.block_w * tt::constants::TILE_WIDTH == padded[-1], "program_config: block_w {} is not the width of {}", config.block_w,
        padded);
    if (o.matrix_mask) {
        SHIM_CHECK(
            o.mask->layout() == Layout::TILE &&
                input.memory_config().shard_spec()->orientation == tt::tt_metal::ShardOrientation::ROW_MAJOR,
            "mask: expected TILE layout, and row-major shards of the input_tensor");
        SHIM_CHECK(o.scale, "scale: expected with a mask of all rows");
        return;
    }
    const uint64_t blocks = padded.volume() / (config.block_w * config.block_h * tt::constants::TILE_HW);
    const CoreCoord grid = config.compute_with_storage_grid_size;
    SHIM_CHECK(blocks == grid.x * grid.y, "program_config: {} blocks for {} x {} cores", blocks, grid.x, grid.y);
}

/// A program on shards takes blocks that are its shards.
void check_blocks(const MemoryConfig& memory, const ttnn::SoftmaxShardedMultiCoreProgramConfig& config) {
    SHIM_CHECK(memory.shard_spec(), "program_config: SoftmaxShardedMultiCoreProgramConfig expects a sharded result, got {}", memory);
    const auto& shard = memory.shard_spec()->shape;
    SHIM_CHECK(
        config.block_h * 32 == shard[0] && config.block_w * 32 == shard[1],
        "program_config: expected block_h {} and block_w {} (the shard's tiles), got {} and {}", shard[0] / 32, shard[1] / 32,
        config.block_h, config.block_w);
}

/// The kernels read a mask as tiles of the 4D input: in its shards all of it, else one matrix per batch; they do not broadcast further.
void check_mask(const Tensor& input, const Softmax& o) {
    const Shape padded = input.padded_shape().to_rank(4), &mask = o.mask->padded_shape();
    if (!o.in_place) {
        SHIM_CHECK(
            mask[-1] == padded[-1] && extent(mask, 0) == padded[0], "mask: expected the batch and width of {}, got {}", padded, mask);
        SHIM_CHECK(
            mask.rank() >= 2 && (mask[-2] == 1 || mask[-2] == tt::constants::TILE_HEIGHT), "mask: expected one row of tiles, got shape {}",
            mask);
        SHIM_CHECK(extent(mask, 1) == 1, "mask: expected 1 in dimension 1, got shape {}", mask);
    }
    if (o.mask->is_sharded()) {
        SHIM_CHECK(!o.in_place || o.mask->layout() == Layout::TILE, "mask: a sharded mask needs TILE layout");
        SHIM_CHECK(mask == padded, "mask: a sharded mask needs the input's shape {}, got {}", padded, mask);
        return;
    }
    if (o.in_place && o.mask->layout() == Layout::ROW_MAJOR) {
        const Shape expected({extent(mask, 0), 1, padded[-1] / tt::constants::TILE_WIDTH, tt::constants::TILE_HEIGHT});
        SHIM_CHECK(mask == expected, "mask: in ROW_MAJOR layout expected shape {}, got {}", expected, mask);
    }
    SHIM_CHECK(extent(mask, 1) == 1, "mask: expected 1 in dimension 1, got shape {}", mask);
    if (o.sharded) return check_sharded_config(input, o);
    SHIM_CHECK(extent(mask, 0) == padded[0], "mask: expected the batch of {}, got {}", padded, mask);
    SHIM_CHECK(!o.matrix_mask, "mask: a mask of all rows needs a program config for shards");
}

/// Whether a mask is one tile high and its first row is added to all rows of the input.
bool is_one_row(const Tensor& mask, const Shape& shape, bool causal) {
    const Shape& given = mask.logical_shape();
    return !causal && mask.layout() == Layout::TILE && given.rank() >= 2 && shape.rank() >= 2 && given[-2] > 1 && given[-2] <= shape[-2] &&
           given[-2] <= tt::constants::TILE_HEIGHT;
}

Shape with_rows(const Shape& shape, uint32_t rows) {
    std::vector<uint32_t> sizes(shape.begin(), shape.end());
    sizes[sizes.size() - 2] = rows;
    return Shape(sizes);
}

/// A row-major mask of the programs in place holds a batch's row as rows of 32 values, which the program reads as they lie.
Tensor as_rows(const Tensor& mask, const Shape& shape) {
    const Shape& given = mask.logical_shape();
    if (mask.layout() != Layout::ROW_MAJOR || given.rank() != 4 || given[-1] == shape[-1]) return mask;
    const Shape rows({given[0], 1, 1, given[2] * given[3]});
    return make_view(mask, make_spec(rows, mask.dtype(), Layout::ROW_MAJOR, mask.memory_config()));
}

/// A tiled mask as the program of interleaved tensors reads it (reader_unary_interleaved_sm.cpp): page by page from the page where a batch
/// begins, whatever the mask's own rows and columns are. Without `causal`, a batch has one row of tiles, whose first row is added to all
/// rows; with it, rows of tiles repeat as in a square mask. Pages behind the mask are read as zeros.
class MaskPages {
public:
    MaskPages(const Tensor& mask, const Shape& scores, bool causal)
        : values_(mask), mask_(mask.logical_shape().to_rank(4)), scores_(scores), causal_(causal) {}

    const float* read(size_t row, std::vector<float>& line) const {
        const size_t side = tt::constants::TILE_WIDTH, tiles = div_up(line.size(), side), rows = scores_[2];
        const size_t across = div_up(mask_[3], side), down = div_up(mask_[2], side);
        const size_t head = row / rows, batch = head / scores_[1];
        const size_t tile_row = head % scores_[1] * div_up(rows, side) + row % rows / side;
        const size_t first = causal_ ? batch * across * down + tile_row % tiles * tiles : batch * tiles;
        std::fill(line.begin(), line.end(), 0.0F);
        for (size_t tile = 0; tile < tiles; ++tile) {
            const size_t page = first + tile, column = page % across * side, matrix = page / across / down;
            const size_t line_of_mask = page / across % down * side + (causal_ ? row % rows % side : 0);
            if (matrix >= size_t{mask_[0]} * mask_[1] || line_of_mask >= mask_[2]) continue;
            const size_t count = std::min({side, mask_[3] - column, line.size() - tile * side});
            std::copy_n(values_.data() + (matrix * mask_[2] + line_of_mask) * mask_[3] + column, count, line.data() + tile * side);
        }
        return line.data();
    }

private:
    static size_t div_up(size_t value, size_t unit) { return (value + unit - 1) / unit; }
    F32Values values_;
    Shape mask_, scores_;
    bool causal_;
};

/// No values, or no dimensions: no program but a fill.
Tensor softmax_of_nothing(const Tensor& input, const Softmax& o, bool plain) {
    if (!o.in_place) {
        const auto memory = plain ? std::optional(o.memory_config.value_or(input.memory_config())) : o.memory_config;
        return ttnn::full(input.logical_shape(), o.scale.value_or(1.0F), input.dtype(), input.layout(), *input.device(), memory);
    }
    SHIM_CHECK(input.dtype() != DataType::UINT8, "input_tensor: expected a dtype that can be filled, got {}", input.dtype());
    SHIM_CHECK(
        input.layout() != Layout::TILE || !input.is_sharded() || !input.memory_config().is_l1(), "input_tensor: shards hold no tile of {}",
        input.logical_shape());
    return input;
}

/// read_as: the shape that the rows of the mask are broadcast to.
void softmax_values(
    const Tensor& input, uint32_t dim, const Softmax& o, const std::optional<Tensor>& rows_of_mask, const Shape& read_as, bool paged,
    const Tensor& output) {
    const Shape& shape = input.logical_shape();
    const auto& kernel = kernels::kernel_set();
    const size_t size = shape[static_cast<int32_t>(dim)];
    size_t inner = 1;
    for (size_t i = dim + 1; i < shape.rank(); ++i) inner *= shape[static_cast<int32_t>(i)];
    if (inner != 1) return softmax_columns(input, output, size, inner, o.stable);
    const auto half = [](const Tensor& tensor) { return tensor.dtype() == DataType::BFLOAT16 || is_block_float(tensor.dtype()); };
    if (half(input) && half(output) && !o.scale && !o.mask && !o.causal && size != 0) {
        auto* target = reinterpret_cast<uint16_t*>(mutable_raw_data(output));  // first: in place, it may move the values
        const auto* source = reinterpret_cast<const uint16_t*>(raw_data(input));
        parallel_for(input.logical_volume() / size, std::max<size_t>(1, 4096 / size), [&](size_t begin, size_t end) {
            std::vector<float> scratch(size);
            for (size_t r = begin; r < end; ++r)
                kernel.softmax_row_bf16(source + r * size, scratch.data(), target + r * size, size, o.stable);
        });
        return;
    }
    std::optional<BlockReader<float>> mask;
    std::optional<MaskPages> pages;
    if (paged) {
        pages.emplace(*o.mask, shape.to_rank(4), o.causal);
    } else if (rows_of_mask)
        mask.emplace(*rows_of_mask, read_as.to_rank(std::max(shape.rank(), rows_of_mask->logical_shape().rank())));
    const size_t rows = shape.rank() >= 2 ? shape[-2] : 1, mask_rows = shape.rank() >= 2 ? read_as[-2] : 1;
    for_each_row(input, output, size, [&](size_t index, float* row) {
        if (o.scale) kernel.scale_row(row, size, *o.scale);
        thread_local std::vector<float> scratch;
        scratch.resize(size);
        if (pages) kernel.axpy_row(pages->read(index, scratch), row, size, 1.0F);
        if (mask) {
            const size_t read = mask_rows == rows ? index : index / rows * mask_rows;
            kernel.axpy_row(mask->read(read * size, size, scratch.data()), row, size, 1.0F);
        }
        if (o.causal && !o.mask) {
            for (size_t i = index % rows + 1; i < size; ++i) row[i] = -INFINITY;
        }
        kernel.softmax_row(row, row, size, o.stable);
    });
}

Tensor run_softmax(const char* op_name, const Tensor& input, const Softmax& o) {
    OpScope scope(op_name);
    check_device_tensor(input, "input_tensor");
    const bool plain = !o.attention && std::string_view(op_name).find("scale") == std::string_view::npos;
    if (input.logical_shape().rank() == 0) SHIM_CHECK(!plain || o.dim == 0 || o.dim == -1, "dim {} out of range for rank 0", o.dim);
    if (!o.attention && (input.logical_shape().rank() == 0 || input.logical_volume() == 0)) {
        if (plain && input.logical_shape().rank() > 0) (void)normalize_dim(o.dim, input.logical_shape().rank());
        return softmax_of_nothing(input, o, plain);
    }
    SHIM_CHECK(
        !(o.in_place || o.mask || !plain) || input.logical_shape().rank() <= 4, "input_tensor: rank {} is greater than 4",
        input.logical_shape().rank());
    SHIM_CHECK(
        !o.in_place || !plain || input.logical_shape().rank() == 4, "dim: in place only the last of 4 dimensions, got shape {}",
        input.logical_shape());
    SHIM_CHECK(
        is_floating_point(input.dtype()) && input.dtype() != DataType::BFLOAT4_B,
        "input_tensor: expected FLOAT32, BFLOAT16 or BFLOAT8_B, got {}", input.dtype());
    const Shape& shape = input.logical_shape();
    SHIM_CHECK(shape.rank() >= 1, "input_tensor: expected rank 1 or more");
    const uint32_t dim = normalize_dim(o.dim, shape.rank());
    SHIM_CHECK(!o.scale || o.mask || o.attention, "scale: not without a mask");
    if (o.mask && !is_on_device(*o.mask)) check_device_tensor(*o.mask, "mask");
    if (o.mask && !o.in_place) check_mask(input, o);
    if (input.layout() == Layout::ROW_MAJOR && !o.in_place && o.mask && shape.rank() <= 4) {
        Softmax tiled = o;
        if (o.mask->layout() != Layout::TILE) tiled.mask.emplace(ttnn::to_layout(*o.mask, Layout::TILE));
        return run_softmax(op_name, ttnn::to_layout(input, Layout::TILE), tiled);
    }
    if (input.layout() == Layout::ROW_MAJOR && !o.in_place && !o.mask && shape.rank() <= 4) {
        // TT-NN's general softmax tilizes its input where the dimension is the last of four or was moved there
        const bool general = (shape.rank() == 4 && dim == 3) || (shape.rank() == 3 && dim == 1);
        if (general) return run_softmax(op_name, ttnn::to_layout(input, Layout::TILE), o);
    }
    check_device_tensor(input, "input_tensor", Layout::TILE);
    std::vector<Tensor> inputs = {input};
    std::optional<Tensor> rows_of_mask;
    bool paged = false;
    Shape read_as = shape;  // what the mask is broadcast to: the input, or a matrix of whose rows only the first is used
    if (o.mask) {
        check_device_tensor(*o.mask, "mask");
        SHIM_CHECK(is_floating_point(o.mask->dtype()), "mask: expected a floating point dtype, got {}", o.mask->dtype());
        if (o.in_place) check_mask(input, o);
        rows_of_mask = as_rows(*o.mask, shape);
        if (is_one_row(*o.mask, shape, o.causal)) read_as = with_rows(shape, o.mask->logical_shape()[-2]);
        paged = o.mask->layout() == Layout::TILE && !o.mask->is_sharded() && (!o.sharded || !o.causal) && shape.rank() <= 4;
        const Shape& added = rows_of_mask->logical_shape();
        SHIM_CHECK(
            (paged && (o.in_place || o.causal)) || broadcast_shapes(added, read_as).to_rank(4) == read_as.to_rank(4),
            "mask: shape {} does not broadcast to {}", added, shape);
        inputs.push_back(*o.mask);
    }
    strategy::Softmax attributes{
        .dim = int64_t{dim} - static_cast<int64_t>(shape.rank()),
        .numeric_stable = o.stable,
        .inplace = o.in_place,
        .mask = o.mask.has_value()};
    const ttnn::ComputeKernelConfig compute = ttnn::init_device_compute_kernel_config(
        device_of(input)->arch(), o.compute, ttnn::MathFidelity::HiFi4, true, input.dtype() == DataType::FLOAT32);
    if (o.compute && !compute.fp32_dest_acc_en) attributes.step = 8;
    // Row by row a causal mask is read ahead; one of all rows is not, and a sharded one lies in L1 already.
    if (o.sharded) attributes.mask_depth = !o.mask || o.mask->is_sharded() ? 0 : o.causal && !o.matrix_mask ? 2 : 1;
    std::vector<OptionalTensor> preallocated(1);
    if (o.in_place) preallocated[0] = input;
    const TensorSpec spec = spec_like(input, std::nullopt, o.memory_config);
    if (o.sharded) check_blocks(spec.memory_config(), *o.sharded);
    // The program sees whole tiles; rows of shards are cut back to their length only where a shard holds them whole.
    if (const auto& shard = spec.memory_config().shard_spec(); shard && plain && !o.in_place) {
        const Shape& padded = spec.padded_shape();
        SHIM_CHECK(
            shape[-1] == padded[-1] || shard->shape[1] == padded[-1],
            "memory_config: rows of {} values, {} with padding, do not end in shards of width {}", shape[-1], padded[-1], shard->shape[1]);
    }
    return launch(
        {.op = std::move(attributes), .compute = compute, .name = "SoftmaxDeviceOperation", .constants = {o.scale.value_or(1.0F)}}, inputs,
        {spec}, [=](std::span<const Tensor> outputs) { softmax_values(input, dim, o, rows_of_mask, read_as, paged, outputs[0]); },
        preallocated)[0];
}

std::optional<ttnn::SoftmaxShardedMultiCoreProgramConfig> for_shards(const ttnn::SoftmaxProgramConfig& config) {
    const auto* sharded = std::get_if<ttnn::SoftmaxShardedMultiCoreProgramConfig>(&config);
    return sharded != nullptr ? std::optional(*sharded) : std::nullopt;
}
ttnn::SoftmaxProgramConfig config_of(const auto& args) { return args.program_config.value_or(ttnn::SoftmaxDefaultProgramConfig{}); }

}  // namespace

ttnn::SoftmaxProgramConfig ttnn_shim::ArgumentType<ttnn::SoftmaxProgramConfig>::read(const Call& call, std::string_view name) {
    const auto record = call.record(name);
    if (record->type != "SoftmaxShardedMultiCoreProgramConfig") return ttnn::SoftmaxDefaultProgramConfig{};
    const auto size = [&](const char* name) { return static_cast<size_t>(std::max<int64_t>(1, record->integer(name, 1))); };
    return ttnn::SoftmaxShardedMultiCoreProgramConfig{
        record->core_coord("compute_with_storage_grid_size").value_or(CoreCoord(1, 1)), size("subblock_w"), size("block_h"),
        size("block_w")};
}

namespace ttnn {

Tensor softmax(
    const Tensor& input, int dim, const std::optional<MemoryConfig>& memory_config, OptionalCompute compute, bool numeric_stable) {
    return run_softmax("ttnn.softmax", input, {.dim = dim, .stable = numeric_stable, .memory_config = memory_config, .compute = compute});
}
Tensor softmax_in_place(
    const Tensor& input, int dim, const SoftmaxProgramConfig& program_config, OptionalCompute compute, bool numeric_stable) {
    SHIM_CHECK(
        dim == -1 || dim == static_cast<int>(input.logical_shape().rank()) - 1, "dim: expected the last dimension of {}, got {}",
        input.logical_shape(), dim);
    return run_softmax(
        "ttnn.softmax_in_place", input,
        {.dim = dim, .stable = numeric_stable, .in_place = true, .compute = compute, .sharded = for_shards(program_config)});
}
Tensor scale_mask_softmax(
    const Tensor& input, std::optional<float> scale, const OptionalConst& mask, const std::optional<MemoryConfig>& memory_config,
    bool is_causal_mask, OptionalCompute compute, bool numeric_stable) {
    return run_softmax(
        "ttnn.scale_mask_softmax", input,
        {.scale = scale,
         .mask = mask,
         .causal = is_causal_mask,
         .stable = numeric_stable,
         .memory_config = memory_config,
         .compute = compute});
}
Tensor scale_mask_softmax_in_place(
    const Tensor& input, std::optional<float> scale, const OptionalConst& mask, const SoftmaxProgramConfig& program_config,
    bool is_causal_mask, OptionalCompute compute, bool numeric_stable) {
    return run_softmax(
        "ttnn.scale_mask_softmax_in_place", input,
        {.scale = scale,
         .mask = mask,
         .causal = is_causal_mask,
         .stable = numeric_stable,
         .in_place = true,
         .compute = compute,
         .sharded = for_shards(program_config)});
}
Tensor scale_causal_mask_hw_dims_softmax_in_place(
    const Tensor& input, std::optional<float> scale, const OptionalConst& mask, const SoftmaxProgramConfig& program_config,
    OptionalCompute compute, bool numeric_stable) {
    return run_softmax(
        "ttnn.scale_causal_mask_hw_dims_softmax_in_place", input,
        {.scale = scale,
         .mask = mask,
         .causal = true,
         .stable = numeric_stable,
         .in_place = true,
         .compute = compute,
         .matrix_mask = true,
         .sharded = for_shards(program_config)});
}

namespace transformer {

namespace {
Tensor attention(
    const char* name, Tensor& tensor, const std::optional<int>& head_size, const OptionalConst& mask, bool causal, bool in_place,
    const std::optional<MemoryConfig>& memory_config) {
    const float scale = head_size ? 1.0F / std::sqrt(static_cast<float>(*head_size)) : 1.0F;
    if (!mask) {
        const OpScope scope(name);
        SHIM_CHECK(!in_place, "attention_mask: expected one, in place scores are not scaled without");
        check_device_tensor(tensor, "tensor");
        return ttnn::softmax(ttnn::multiply(tensor, scale), -1, memory_config.value_or(tensor.memory_config()), std::nullopt, true);
    }
    // The real op subtracts no maximum where it masks (its own issue 28525), whatever softmax's default is.
    return run_softmax(
        name, tensor,
        {.scale = scale,
         .mask = mask,
         .causal = causal,
         .stable = false,
         .in_place = in_place,
         .memory_config = memory_config,
         .attention = true});
}
}  // namespace

Tensor attention_softmax(
    Tensor& tensor, const std::optional<int>& head_size, const OptionalConst& attention_mask, const SoftmaxProgramConfig&,
    std::optional<bool> causal_mask, const std::optional<MemoryConfig>& memory_config) {
    return attention(
        "ttnn.transformer.attention_softmax", tensor, head_size, attention_mask, causal_mask.value_or(false), false, memory_config);
}
Tensor attention_softmax_(
    Tensor& tensor, const std::optional<int>& head_size, const OptionalConst& attention_mask, const SoftmaxProgramConfig&,
    std::optional<bool> causal_mask, const std::optional<MemoryConfig>&) {
    return attention(
        "ttnn.transformer.attention_softmax_", tensor, head_size, attention_mask, causal_mask.value_or(false), true, std::nullopt);
}

}  // namespace transformer
}  // namespace ttnn

SHIM_OP("ttnn.softmax", [](const arguments::softmax& args) {
    return ttnn::softmax(args.input_tensor, args.dim, args.memory_config, args.compute_kernel_config, args.numeric_stable);
});
SHIM_OP("ttnn.softmax_in_place", [](const arguments::softmax_in_place& args) {
    return ttnn::softmax_in_place(args.input_tensor, args.dim, config_of(args), args.compute_kernel_config, args.numeric_stable);
});
SHIM_OP("ttnn.scale_mask_softmax", [](const arguments::scale_mask_softmax& args) {
    return ttnn::scale_mask_softmax(
        args.input_tensor, args.scale, args.mask, args.memory_config, args.is_causal_mask, args.compute_kernel_config, args.numeric_stable);
});
SHIM_OP("ttnn.scale_mask_softmax_in_place", [](const arguments::scale_mask_softmax_in_place& args) {
    return ttnn::scale_mask_softmax_in_place(
        args.input_tensor, args.scale, args.mask, config_of(args), args.is_causal_mask, args.compute_kernel_config, args.numeric_stable);
});
SHIM_OP("ttnn.scale_causal_mask_hw_dims_softmax_in_place", [](const arguments::scale_causal_mask_hw_dims_softmax_in_place& args) {
    return ttnn::scale_causal_mask_hw_dims_softmax_in_place(
        args.input_tensor, args.scale, args.mask, config_of(args), args.compute_kernel_config, args.numeric_stable);
});
SHIM_OP("ttnn.transformer.attention_softmax", [](const arguments::transformer::attention_softmax& args) {
    Tensor tensor = args.tensor;
    return ttnn::transformer::attention_softmax(tensor, args.head_size, args.attention_mask, {}, args.causal_mask, args.memory_config);
});
SHIM_OP("ttnn.transformer.attention_softmax_", [](const arguments::transformer::attention_softmax_& args) {
    Tensor tensor = args.tensor;
    return ttnn::transformer::attention_softmax_(tensor, args.head_size, args.attention_mask, {}, args.causal_mask, std::nullopt);
});
