// permute and transpose.
#include <array>

#include "ops/arguments.hpp"
#include "ops/data_movement/common.hpp"
#include "ops/data_movement/shards.hpp"
#include "ttnn/operations/copy/typecast/typecast.hpp"
#include "ttnn/operations/core/to_memory_config/to_memory_config_op.hpp"
#include "ttnn/operations/data_movement/permute/permute.hpp"
#include "ttnn/operations/data_movement/transpose/transpose.hpp"

using namespace ttnn_shim;

namespace {

uint64_t rows_of(const Shape& shape) { return shape.rank() == 0 || shape[-1] == 0 ? 0 : shape.volume() / shape[-1]; }

/// Whether rows of these shards cannot be read by TT-NN's programs, so that the tensor is gathered first.
bool is_ragged(const Tensor& input) {
    const Shape& shape = input.logical_shape();
    const TensorMemoryLayout kind = input.memory_config().memory_layout();
    return input.layout() == Layout::ROW_MAJOR &&
           (kind == TensorMemoryLayout::WIDTH_SHARDED || kind == TensorMemoryLayout::BLOCK_SHARDED) && shape.rank() >= 2 &&
           (shape[-1] % 32 != 0 || shape[-2] % 32 != 0);
}

/// The shards of a permuted tensor: scaled with its sides where that comes out even. Else, even height and width shards in L1 end
/// interleaved and others are spread anew. A height-sharded matrix that is transposed becomes width-sharded.
MemoryConfig permuted_memory(
    const Tensor& input, const std::vector<uint32_t>& order, const std::optional<MemoryConfig>& requested, const Shape& result) {
    const MemoryConfig& own = input.memory_config();
    const size_t rank = order.size();
    if (requested || !own.shard_spec()) return result_memory(input, requested, result);
    const auto& old = *own.shard_spec();
    const bool tiled = input.layout() == Layout::TILE;
    const Shape &from = input.padded_shape(), to = make_spec(result, input.dtype(), input.layout()).padded_shape();
    const bool native = own.buffer_type() == BufferType::L1 && own.memory_layout() != TensorMemoryLayout::BLOCK_SHARDED &&
                        from.rank() >= 2 && from.volume() > 0 && rows_of(from) % old.shape[0] == 0 && from[-1] % old.shape[1] == 0 &&
                        (tiled || old.numel() % 1024 == 0);
    const bool matrix =
        rank >= 2 && order[rank - 1] == rank - 2 && order[rank - 2] == rank - 1 && result.volume() == uint64_t{result[-1]} * result[-2];
    if (native && matrix && old.shape[1] == from[-1])
        return MemoryConfig(
            TensorMemoryLayout::WIDTH_SHARDED, own.buffer_type(),
            tt::tt_metal::ShardSpec(old.grid, {old.shape[1], old.shape[0]}, old.orientation));
    const auto scaled = from.rank() == to.rank() ? exactly_scaled(old, from, to) : std::nullopt;
    if (scaled && (!tiled || (scaled->shape[0] % 32 == 0 && scaled->shape[1] % 32 == 0)) && to.volume() > 0)
        return MemoryConfig(own.memory_layout(), own.buffer_type(), scaled);
    if (native) return MemoryConfig(own.buffer_type());
    SHIM_CHECK(
        to.volume() > 0 || own.memory_layout() != TensorMemoryLayout::BLOCK_SHARDED, "input_tensor: no block shards hold the shape {}",
        result);
    return spread_memory(input, requested, result);
}

/// Interleaved BFLOAT8_B becomes bfloat16 and is packed again, but where TT-NN's own transposes take it.
bool by_bfloat16(const Tensor& input) {
    return input.dtype() == DataType::BFLOAT8_B && !input.memory_config().is_sharded() && input.logical_shape().rank() <= 4;
}

/// One program: TT-NN runs a permutation of tiles that swaps two of the last dimensions as a transpose.
Tensor permuted(const Tensor& given, const std::vector<uint32_t>& order, const std::optional<MemoryConfig>& memory_config) {
    SHIM_CHECK(
        given.dtype() != DataType::FP8_E4M3 || order.back() + 1 == order.size() || given.logical_volume() <= 1,
        "input_tensor: TT-NN's program that moves the last dimension does not take FP8_E4M3");
    const Tensor input = is_ragged(given) ? ttnn::to_memory_config(given, MemoryConfig(BufferType::L1)) : given;
    const Shape& shape = input.logical_shape();
    const size_t rank = shape.rank();
    std::vector<uint32_t> extents(rank);
    std::vector<int64_t> strides(rank);
    const auto own = signed_strides(shape);
    std::vector<size_t> changed;
    for (size_t i = 0; i < rank; ++i) {
        extents[i] = shape[static_cast<int32_t>(order[i])];
        strides[i] = own[order[i]];
        if (order[i] != i) changed.push_back(rank - 1 - i);  // counted from the last dimension
    }
    const Shape result = shape_of(extents);
    bool native = false;
    Program program{.op = strategy::Permute{.dims = {order.begin(), order.end()}}};
    if (changed.size() == 2 && rank <= 4 && (input.layout() == Layout::TILE || input.is_sharded())) {
        const std::string kind = changed[1] == 0 && changed[0] == 1
                                     ? "WH"
                                     : (changed[1] == 1 && changed[0] == 2 ? "HC" : (changed[1] == 2 && changed[0] == 3 ? "CN" : ""));
        if (input.layout() != Layout::TILE) {  // sticks: planned as any permutation of them
            if (!kind.empty()) program.name = "TransposeDeviceOperation";
        } else {
            if (!kind.empty()) program = {.op = strategy::Transpose{.dim = kind}};
            native = kind == "WH" || kind == "CN";
        }
    }
    if (!native && by_bfloat16(input) && !(memory_config && memory_config->is_sharded()))
        return ttnn::typecast(permuted(ttnn::typecast(input, DataType::BFLOAT16), order, memory_config), input.dtype());
    return moved(program, input, result, permuted_memory(input, order, memory_config, result), dense_target(result, strides));
}

}  // namespace

namespace ttnn {

Tensor permute(const Tensor& input, const ttsl::SmallVector<int64_t>& dims, const std::optional<MemoryConfig>& memory_config, float) {
    OpScope scope("ttnn.permute");
    check_device_tensor(input, "input_tensor");
    const size_t rank = input.logical_shape().rank();
    SHIM_CHECK(dims.size() == rank, "dims: expected {} dimensions for shape {}, got {}", rank, input.logical_shape(), dims.size());
    std::vector<uint32_t> order;
    std::vector<bool> seen(rank, false);
    bool identity = true;
    for (size_t i = 0; i < rank; ++i) {
        const uint32_t dim = normalize_dim(dims[i], rank);
        SHIM_CHECK(!seen[dim], "dims: dimension {} is given twice", dims[i]);
        seen[dim] = true;
        identity = identity && (dim == i || (input.padded_shape().rank() == rank && input.padded_shape()[static_cast<int32_t>(dim)] == 1 &&
                                             input.padded_shape()[static_cast<int32_t>(i)] == 1));
        order.push_back(dim);
    }
    if (identity) return memory_config && *memory_config != input.memory_config() ? permuted(input, order, memory_config) : input;
    if (input.is_sharded() && !is_ragged(input) && rank >= 3 && rank <= 4 && (rank == 3 || order[0] == 0)) {
        // TT-NN turns the last three dimensions of shards by transposes of neighbours.
        const auto at = [&](size_t i) { return order[rank - 3 + i] + 3 - static_cast<uint32_t>(rank); };
        const auto turned = [&](const Tensor& value, bool rows, bool last) {
            return transpose(value, rows ? -3 : -2, rows ? -2 : -1, last ? memory_config : std::nullopt, 0.0F);
        };
        const std::array<uint32_t, 3> wanted{at(0), at(1), at(2)};
        if (wanted == std::array<uint32_t, 3>{1, 2, 0}) return turned(turned(input, true, false), false, true);
        if (wanted == std::array<uint32_t, 3>{2, 0, 1}) return turned(turned(input, false, false), true, true);
        if (wanted == std::array<uint32_t, 3>{2, 1, 0}) return turned(turned(turned(input, false, false), true, false), false, true);
    }
    return permuted(input, order, memory_config);
}
Tensor permute(const Tensor& input, const ttsl::SmallVector<int64_t>& dims, float pad_value) {
    return permute(input, dims, std::nullopt, pad_value);
}

Tensor transpose(const Tensor& input, int64_t dim1, int64_t dim2, const std::optional<MemoryConfig>& memory_config, float) {
    OpScope scope("ttnn.transpose");
    check_device_tensor(input, "input_tensor");
    const size_t rank = input.logical_shape().rank();
    SHIM_CHECK(rank != 1 || input.layout() != Layout::TILE, "input_tensor: expected rank 2 or more, got shape {}", input.logical_shape());
    const uint32_t a = normalize_dim(dim1, rank), b = normalize_dim(dim2, rank);
    const Shape& padded = input.padded_shape();
    const bool trivial = padded.rank() == rank && padded[static_cast<int32_t>(a)] == 1 && padded[static_cast<int32_t>(b)] == 1;
    if (trivial && !memory_config && a != b) return input;
    if (a == b) return by_bfloat16(input) ? ttnn::typecast(ttnn::typecast(input, DataType::BFLOAT16), input.dtype()) : input;
    std::vector<uint32_t> order(rank);
    for (size_t i = 0; i < rank; ++i) order[i] = static_cast<uint32_t>(i);
    std::swap(order[a], order[b]);
    if (input.is_sharded() && std::max(a, b) - std::min(a, b) == 2 && std::max(a, b) + 1 == rank)  // by transposes of neighbours
        return permute(input, ttsl::SmallVector<int64_t>(order.begin(), order.end()), memory_config, 0.0F);
    return permuted(input, order, memory_config);
}
Tensor transpose(const Tensor& input, int64_t dim1, int64_t dim2, float pad_value) {
    return transpose(input, dim1, dim2, std::nullopt, pad_value);
}

}  // namespace ttnn

SHIM_OP("ttnn.permute", [](const arguments::permute& args) {
    const auto dims = args.dims;
    return ttnn::permute(args.input_tensor, ttsl::SmallVector<int64_t>(dims.begin(), dims.end()), args.memory_config);
});
SHIM_OP("ttnn.transpose", [](const arguments::transpose& args) {
    return ttnn::transpose(args.input_tensor, args.dim1, args.dim2, args.memory_config);
});
