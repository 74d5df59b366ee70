// Joining: concat, stack.
#include <algorithm>

#include "ops/arguments.hpp"
#include "ops/core/core_programs.hpp"
#include "ops/data_movement/common.hpp"
#include "ttnn/operations/core/to_layout/to_layout_op.hpp"
#include "ttnn/operations/core/to_memory_config/to_memory_config_op.hpp"
#include "ttnn/operations/data_movement/concat/concat.hpp"
#include "ttnn/operations/data_movement/squeeze/squeeze.hpp"
#include "ttnn/operations/data_movement/stack/stack.hpp"
#include "ttnn/operations/data_movement/tilize_with_val_padding/tilize_with_val_padding.hpp"
#include "ttnn/operations/data_movement/transpose/transpose.hpp"
#include "ttnn/operations/data_movement/unsqueeze/unsqueeze.hpp"

using namespace ttnn_shim;

namespace {

/// TT-NN joins tiles inside their padding by way of row-major, in one layout, and refuses what cannot go there.
struct Joined {
    std::vector<Tensor> tensors;
    bool by_sticks = false;
};
Joined joinable(const std::vector<Tensor>& tensors, uint32_t axis) {
    Joined joined{tensors};
    const Tensor& first = tensors[0];
    const size_t rank = first.logical_shape().rank();
    const bool sharded = first.memory_config().is_sharded();
    bool mixed = false, ragged = false;
    for (const Tensor& tensor : tensors) {
        mixed = mixed || tensor.layout() != first.layout();
        ragged = ragged || rank < 2 || tensor.logical_shape()[-1] % 32 != 0 || tensor.logical_shape()[-2] % 32 != 0;
        SHIM_CHECK(
            tensor.memory_config().is_sharded() == sharded, "tensors: all must be sharded or all interleaved, got {} and {}",
            first.memory_config(), tensor.memory_config());
        const bool padded =
            axis + 2 >= rank && tensor.layout() == Layout::TILE && (rank == 1 || tensor.logical_shape()[at(axis)] % 32 != 0);
        joined.by_sticks = joined.by_sticks || padded;
    }
    // Tensors of two layouts meet in the first one's, or in sticks when tiles would be padded.
    const Layout layout = mixed && ragged ? Layout::ROW_MAJOR : first.layout();
    SHIM_CHECK(
        !mixed || !joined.by_sticks, "tensors: {} and {} cannot be joined inside the padding of tiles", Layout::TILE, Layout::ROW_MAJOR);
    for (Tensor& tensor : joined.tensors)
        if (tensor.layout() != layout) tensor = ttnn::to_layout(tensor, layout);
    return joined;
}

/// The tensors in row-major layout, each by a program of its own.
std::vector<Tensor> as_sticks(const std::vector<Tensor>& tensors) {
    std::vector<Tensor> sticks;
    for (const Tensor& tensor : tensors) sticks.push_back(without_padding(tensor));
    return sticks;
}

Tensor as_tiles(const Tensor& sticks) {
    const Shape padded = make_spec(sticks.logical_shape(), sticks.dtype(), Layout::TILE).padded_shape();
    return ttnn::tilize_with_val_padding(sticks, padded, 0.0F, std::nullopt);
}

/// Whether TT-NN's sharded programs apply: values in every shard, and rows that are whole transfers where shards cut them.
void check_shards(const std::vector<Tensor>& tensors, uint32_t axis) {
    const size_t rank = tensors[0].logical_shape().rank();
    for (const Tensor& tensor : tensors) {
        const MemoryConfig& own = tensor.memory_config();
        if (!own.shard_spec()) continue;
        const bool rows = tensor.layout() == Layout::ROW_MAJOR, l1 = own.buffer_type() == BufferType::L1;
        const bool block = own.memory_layout() == TensorMemoryLayout::BLOCK_SHARDED;
        SHIM_CHECK(
            !l1 || tensor.logical_volume() > 0, "tensors: shards of no values cannot be joined, got shape {}", tensor.logical_shape());
        SHIM_CHECK(l1 || !rows || !block, "tensors: block shards of rows must be in L1, got {}", own);
        const uint64_t row_bytes = uint64_t{own.shard_spec()->shape[1]} * stored_bytes(tensor.dtype());
        SHIM_CHECK(
            !rows || !block || axis + 1 == rank || row_bytes % machine_of(tensor).machine().l1_alignment == 0,
            "tensors: rows of block shards must be aligned, got {} bytes", row_bytes);
    }
}

/// Rows that do not start on a transfer boundary of their memory cannot be joined end to end: TT-NN transposes, joins, transposes.
bool any_ragged_rows(const std::vector<Tensor>& tensors) {
    return std::any_of(tensors.begin(), tensors.end(), [](const Tensor& tensor) {
        const MachineMemory& machine = machine_of(tensor).machine();
        const bool l1 = tensor.memory_config().buffer_type() != BufferType::DRAM;
        return tensor.logical_shape()[-1] * stored_bytes(tensor.dtype()) % (l1 ? machine.l1_alignment : machine.dram_alignment) != 0;
    });
}

/// Whether a core has room for the rows of tiles, of all tensors and of the result, that the program for padded rows keeps three deep.
bool padded_rows_fit(const std::vector<Tensor>& tensors, uint64_t total) {
    constexpr uint64_t DEEP = 3, TILE = 32;
    uint64_t tiles = (total + TILE - 1) / TILE;
    for (const Tensor& tensor : tensors) tiles += tensor.padded_shape()[-1] / TILE;
    return DEEP * tiles * tile_bytes(tensors[0].dtype()) <= device_of(tensors[0])->shim().allocator().circular_buffer_space();
}

void join(const std::vector<Tensor>& tensors, uint32_t axis, unsigned int groups, const Tensor& output) {
    const Shape& result = output.logical_shape();
    const uint64_t total = result[at(axis)];
    std::byte* target = mutable_raw_data(output);
    const size_t bytes = stored_bytes(output.dtype());
    const auto strides = signed_strides(result);
    const auto inner = strides[axis];
    const size_t outer = result.volume() == 0 ? 0 : result.volume() / (total * static_cast<uint64_t>(inner));
    int64_t begin = 0;
    for (unsigned int group = 0; group < groups; ++group) {  // groups interleave: part g of every tensor, then part g + 1
        for (const Tensor& tensor : tensors) {
            const auto run = static_cast<int64_t>(tensor.logical_shape()[at(axis)]) / groups * inner;
            const auto row = static_cast<int64_t>(tensor.logical_shape()[at(axis)]) * inner;
            strided_copy(
                bytes, raw_data(tensor) + group * run * static_cast<int64_t>(bytes), target + begin * static_cast<int64_t>(bytes),
                {{outer, row, static_cast<int64_t>(total) * inner}, {static_cast<size_t>(run), 1, 1}});
            begin += run;
        }
    }
}

}  // namespace

namespace ttnn {

Tensor concat(
    const std::vector<Tensor>& given, int dim, const std::optional<MemoryConfig>& memory_config, const std::optional<Tensor>& output,
    unsigned int groups, const std::optional<CoreRangeSet>& grids) {
    OpScope scope("ttnn.concat");
    SHIM_CHECK(!given.empty(), "tensors: expected at least one tensor");
    for (const Tensor& tensor : given) check_device_tensor(tensor, "tensors");
    SHIM_CHECK(!output, "output_tensor: a preallocated result is not supported");
    const Shape shape = given[0].logical_shape();
    const uint32_t axis = normalize_dim(dim, shape.rank());
    uint64_t total = 0;
    for (const Tensor& tensor : given) {
        const Shape& other = tensor.logical_shape();
        SHIM_CHECK(other.rank() == shape.rank(), "tensors: expected the same rank, got shapes {} and {}", shape, other);
        for (size_t i = 0; i < shape.rank(); ++i) {
            SHIM_CHECK(
                i == axis || other[at(i)] == shape[at(i)], "tensors: shapes {} and {} differ outside dimension {}", shape, other, dim);
        }
        total += other[at(axis)];
    }
    SHIM_CHECK(groups >= 1 && total < (uint64_t{1} << 32), "groups: expected at least 1, got {}", groups);
    const Joined joined = joinable(given, axis);
    const std::vector<Tensor>& tensors = joined.tensors;
    const Tensor& first = tensors[0];
    const MemoryConfig &own = first.memory_config(), memory = memory_config.value_or(MemoryConfig{});
    if (tensors.size() == 1) return ttnn::to_memory_config(first, memory);
    const bool last = axis + 1 == shape.rank(), rows = first.layout() == Layout::ROW_MAJOR;
    // Tiles of two dtypes are joined inside the padding of rows by one program.
    const bool known = first.dtype() == DataType::BFLOAT16 || first.dtype() == DataType::FLOAT32;
    const bool native = joined.by_sticks && last && shape.rank() > 1 && known && !own.is_sharded() && !memory.is_sharded() &&
                        padded_rows_fit(tensors, total);
    for (const Tensor& tensor : tensors) {
        const TensorMemoryLayout kind = tensor.memory_config().memory_layout();
        const bool split = kind == TensorMemoryLayout::WIDTH_SHARDED || kind == TensorMemoryLayout::BLOCK_SHARDED;
        const uint64_t row_bytes = tensor.logical_shape()[-1] * stored_bytes(tensor.dtype());
        SHIM_CHECK(
            !joined.by_sticks || !split || !last || shape.rank() == 1 || row_bytes % machine_of(tensor).machine().l1_alignment == 0,
            "tensors: padded rows in pieces cannot be joined end to end, got shape {} in {}", tensor.logical_shape(),
            tensor.memory_config());
    }
    if (joined.by_sticks && groups == 1 && !native) return as_tiles(concat(as_sticks(tensors), dim, memory_config, std::nullopt, 1, grids));
    for (const Tensor& tensor : tensors)
        SHIM_CHECK(tensor.dtype() == first.dtype(), "tensors: expected the same dtype, got {} and {}", first.dtype(), tensor.dtype());
    if (own.is_sharded()) check_shards(tensors, axis);
    const bool ragged = rows && last && groups == 1 && !memory.is_sharded() && any_ragged_rows(tensors);
    if (ragged && shape.rank() == 1) {
        std::vector<Tensor> raised;
        for (const Tensor& tensor : tensors) raised.push_back(unsqueeze(tensor, 0));
        return squeeze(concat(raised, 1, memory_config, std::nullopt, 1, grids), 0);
    }
    if (ragged && !own.is_sharded() && total > 0) {
        std::vector<Tensor> turned;
        for (const Tensor& tensor : tensors) turned.push_back(ttnn::transpose(tensor, -2, -1));
        return ttnn::transpose(concat(turned, -2, memory_config, std::nullopt, 1, grids), -2, -1, memory);
    }
    for (const Tensor& tensor : tensors) {
        SHIM_CHECK(
            tensor.logical_shape()[at(axis)] % groups == 0, "groups: {} does not divide dimension {} of shape {}", groups, dim,
            tensor.logical_shape());
    }
    const TensorMemoryLayout scheme = own.memory_layout();
    const bool below = axis + 2 == shape.rank();
    const bool joins_shards =
        (last && scheme != TensorMemoryLayout::WIDTH_SHARDED) || (below && scheme != TensorMemoryLayout::HEIGHT_SHARDED);
    if (own.is_sharded() && !memory.is_sharded() && !joins_shards && groups == 1 && total > 0 && shape.volume() > 0) {  // laid out first
        std::vector<Tensor> spread;
        for (const Tensor& tensor : tensors) spread.push_back(ttnn::to_memory_config(tensor, MemoryConfig(memory.buffer_type())));
        return concat(spread, dim, memory_config, std::nullopt, 1, grids);
    }
    auto extents = extents_of(shape);
    extents[axis] = static_cast<uint32_t>(total);
    const Shape result = shape_of(extents);
    return launch(
        {.op = strategy::Concat{.dim = axis}, .cores = grids}, tensors, {make_spec(result, first.dtype(), first.layout(), memory)},
        [=](std::span<const Tensor> outputs) { join(tensors, axis, groups, outputs[0]); })[0];
}

Tensor stack(const std::vector<Tensor>& tensors, int dim) {
    OpScope scope("ttnn.stack");
    SHIM_CHECK(!tensors.empty(), "tensors: expected at least one tensor");
    std::vector<Tensor> raised;
    for (const Tensor& tensor : tensors) {
        SHIM_CHECK(
            tensor.logical_shape() == tensors[0].logical_shape(), "tensors: expected the same shape, got {} and {}",
            tensors[0].logical_shape(), tensor.logical_shape());
        raised.push_back(unsqueeze(tensor, dim));
    }
    return concat(raised, dim);
}

}  // namespace ttnn

SHIM_OP("ttnn.concat", [](const arguments::concat& args) {
    return ttnn::concat(args.tensors, args.dim, args.memory_config, args.output_tensor, args.groups, args.sub_core_grids);
});
SHIM_OP("ttnn.stack", [](const arguments::stack& args) { return ttnn::stack(args.input_tensors, args.dim); });
