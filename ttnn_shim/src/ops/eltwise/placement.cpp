#include "ops/eltwise/placement.hpp"

#include <algorithm>

#include "ops/launch.hpp"
#include "ttnn/operations/copy/typecast/typecast.hpp"

namespace ttnn_shim {

namespace {

constexpr uint32_t TILE_EXTENT = 32;

uint32_t rounded_up(uint64_t value, uint64_t step) { return static_cast<uint32_t>((value + step - 1) / step * step); }

/// Rows and columns of a padded shape as shards see it.
std::pair<uint64_t, uint64_t> matrix_of(const Shape& padded) {
    uint64_t height = 1;
    for (size_t dim = 0; dim + 1 < padded.rank(); ++dim) height *= padded.view()[dim];
    return {height, padded[-1]};
}

/// Padded shape that a result of `shape` has in the layout (and row width) of `like`.
Shape padded_like(const Tensor& like, const Shape& shape) {
    if (like.layout() == Layout::TILE) return make_spec(shape, DataType::BFLOAT16, Layout::TILE).padded_shape();
    const auto& shard = like.memory_config().shard_spec();
    Shape padded = shape.rank() == 0 ? Shape{1} : shape;
    if (shard) padded[-1] = rounded_up(padded[-1], shard->shape[1]);
    return padded;
}

ShardSpec stretched_shards(const Tensor& tensor, const Shape& shape) {
    ShardSpec shard = *tensor.memory_config().shard_spec();
    const auto [from_height, from_width] = matrix_of(tensor.padded_shape());
    const auto [to_height, to_width] = matrix_of(padded_like(tensor, shape));
    SHIM_CHECK(
        from_height > 0 && from_width > 0, "a sharded operand of no values has no shard to adjust to shape {}, got {}", shape,
        tensor.tensor_spec());
    shard.shape[0] = std::max(static_cast<uint32_t>(shard.shape[0] * to_height / from_height), TILE_EXTENT);
    shard.shape[1] = std::max(static_cast<uint32_t>(shard.shape[1] * to_width / from_width), TILE_EXTENT);
    return shard;
}

bool has_legacy_shards(const Tensor* tensor) {
    return tensor != nullptr && tensor->is_sharded() && tensor->memory_config().shard_spec().has_value();
}

ShardSpec even_shards(const Tensor& like, const Shape& shape, TensorMemoryLayout layout) {
    const CoreCoord grid = like.device()->compute_with_storage_grid_size();
    const auto [height, width] = matrix_of(padded_like(like, shape));
    const uint64_t cores = uint64_t{grid.x} * grid.y;
    const auto part = [](uint64_t size, uint64_t parts) {
        return std::max(rounded_up((size + parts - 1) / parts, TILE_EXTENT), TILE_EXTENT);
    };
    const auto count = [](uint64_t size, uint32_t step) { return static_cast<uint32_t>(std::max<uint64_t>((size + step - 1) / step, 1)); };
    if (layout == TensorMemoryLayout::HEIGHT_SHARDED) {
        const uint32_t rows = part(height, cores);
        const auto used = tt::tt_metal::num_cores_to_corerangeset(count(height, rows), grid, true);
        return {used, {rows, static_cast<uint32_t>(width)}};
    }
    if (layout == TensorMemoryLayout::WIDTH_SHARDED) {
        const uint32_t columns = part(width, cores);
        const auto used = tt::tt_metal::num_cores_to_corerangeset(count(width, columns), grid, true);
        return {used, {static_cast<uint32_t>(height), columns}};
    }
    const uint32_t rows = part(height, grid.y), columns = part(width, grid.x);
    const CoreCoord end{count(width, columns) - 1, count(height, rows) - 1};
    return {CoreRangeSet(CoreRange(CoreCoord{0, 0}, end)), {rows, columns}};
}

}  // namespace

MemoryConfig stretched_memory(const Tensor& tensor, const Shape& shape) {
    const MemoryConfig& config = tensor.memory_config();
    return has_legacy_shards(&tensor) ? config.with_shard_spec(stretched_shards(tensor, shape)) : config;
}

MemoryConfig with_shards(const MemoryConfig& config, const Tensor& like, const Shape& shape, std::initializer_list<const Tensor*> from) {
    if (!config.is_sharded() || config.shard_spec() || config.nd_shard_spec()) return config;
    for (const Tensor* tensor : from)
        if (has_legacy_shards(tensor)) return config.with_shard_spec(stretched_shards(*tensor, shape));
    return config.with_shard_spec(even_shards(like, shape, config.memory_layout()));
}

MemoryConfig binary_memory(
    const Tensor& a, const Tensor* b, const Shape& shape, const std::optional<MemoryConfig>& given, const std::optional<Tensor>& output) {
    if (b == nullptr) {
        if (given) return with_shards(*given, a, shape, {&a});
        return output ? output->memory_config() : a.memory_config();
    }
    MemoryConfig found = stretched_memory(a, shape);  // computed whatever is given: a sharded operand of no values is refused
    if (given) {
        if (!given->is_sharded() || given->shard_spec() || given->nd_shard_spec()) return *given;
        // An operand's shards bring their memory layout with them.
        if (has_legacy_shards(&a)) return found;
        return has_legacy_shards(b) ? stretched_memory(*b, shape) : with_shards(*given, a, shape, {});
    }
    if (output) return output->memory_config();
    if (!has_legacy_shards(b)) return found;
    const bool leads =
        a.is_sharded() ? has_legacy_shards(&a) && b->memory_config().shard_spec()->num_cores() > a.memory_config().shard_spec()->num_cores()
                       : a.memory_config().buffer_type() == BufferType::DRAM;
    return leads ? stretched_memory(*b, shape) : found;
}

MemoryConfig ternary_memory(
    std::initializer_list<const Tensor*> operands, const Shape& shape, const std::optional<MemoryConfig>& given,
    const std::optional<Tensor>& output) {
    const Tensor& a = **operands.begin();
    if (output && !given) return output->memory_config();
    const MemoryConfig found = stretched_memory(a, shape);
    if (given) return with_shards(*given, a, shape, operands);
    const Tensor* best = nullptr;
    uint32_t most = 0;
    for (const Tensor* tensor : operands) {
        if (!has_legacy_shards(tensor) || tensor->memory_config().shard_spec()->num_cores() <= most) continue;
        best = tensor;
        most = tensor->memory_config().shard_spec()->num_cores();
    }
    return best != nullptr ? stretched_memory(*best, shape) : found;
}

void check_unary_shards(const Tensor& input, const MemoryConfig& memory) {
    if (!input.is_sharded() || !memory.is_sharded()) return;
    SHIM_CHECK(
        input.padded_shape().rank() >= 2, "input_tensor: shards of a row-major tensor of rank 1 are not supported, got {}",
        input.tensor_spec());
    const auto &from = input.memory_config().shard_spec(), &to = memory.shard_spec();
    const bool in_place = input.layout() == Layout::TILE && input.memory_config().is_l1() && memory.is_l1() &&
                          input.memory_config().memory_layout() == memory.memory_layout() && (!from || !to || from->grid == to->grid);
    SHIM_CHECK(
        input.logical_volume() > 0 || !in_place, "input_tensor: a shard of no bytes cannot hold the program's buffers, got {}",
        input.tensor_spec());
}

TensorSpec output_spec(const Tensor& output, const Shape& shape) {
    const Shape& given = output.logical_shape();
    const size_t rank = std::max(given.rank(), shape.rank());
    SHIM_CHECK(given.to_rank(rank) == shape.to_rank(rank), "output_tensor: expected shape {}, got {}", shape, output.tensor_spec());
    return output.tensor_spec();
}

void check_unary_output(const Tensor& input, DataType dtype, const std::optional<Tensor>& output) {
    if (!output) return;
    const auto mixes = [](DataType type) { return is_floating_point(type) && type != DataType::BFLOAT4_B; };
    SHIM_CHECK(
        output->dtype() == dtype || (mixes(output->dtype()) && mixes(dtype)),
        "output_tensor: dtype {} is not compatible with the input's, {}", output->dtype(), dtype);
    SHIM_CHECK(
        output->layout() == input.layout(), "output_tensor: expected the input's layout {}, got {}", input.layout(), output->layout());
}

void check_empty_shards(const Tensor& a, const Tensor* b, const MemoryConfig& result) {
    if (a.logical_volume() > 0 || !result.is_sharded() || !result.shard_spec()) return;
    const auto in_grid = [&](const Tensor& tensor) {
        return !has_legacy_shards(&tensor) || tensor.memory_config().shard_spec()->grid == result.shard_spec()->grid;
    };
    const bool in_l1 = a.memory_config().is_l1() && result.is_l1();
    const bool native = b == nullptr
                            ? in_l1 && a.is_sharded() && in_grid(a)
                            : in_l1 && a.logical_shape() == b->logical_shape() && a.memory_config() == b->memory_config() && in_grid(a);
    SHIM_CHECK(!native, "operands of no values have no shard to adjust to the result's, got {}", a.tensor_spec());
}

Tensor to_real(const Tensor& tensor) {
    check_unary_shards(tensor, tensor.memory_config());
    return ttnn::typecast(tensor, DataType::FLOAT32);
}

namespace {
uint32_t extent(const Shape& shape, size_t back) { return shape.rank() >= back ? shape[-static_cast<int32_t>(back)] : 1U; }
}  // namespace

void check_binary_broadcast(const Shape& a, const Shape& b) {
    const uint32_t ah = extent(a, 2), aw = extent(a, 1), bh = extent(b, 2), bw = extent(b, 1);
    SHIM_CHECK(
        (ah == bh && aw == bw) || ah == 1 || aw == 1 || bh == 1 || bw == 1, "no kernel broadcasts the last dimensions of shapes {} and {}",
        a, b);
    for (size_t back = 7; back <= std::max(a.rank(), b.rank()); ++back)
        SHIM_CHECK(
            extent(a, back) == extent(b, back), "broadcast is supported up to rank 6, shapes {} and {} differ in dimension -{}", a, b,
            back);
}

TernaryBroadcast ternary_broadcast(std::initializer_list<const Shape*> shapes) {
    const Shape& first = **shapes.begin();
    uint32_t height = 0, width = 0;
    bool equal = true, same_height = true, same_width = true;
    for (const Shape* shape : shapes) {
        equal = equal && *shape == first;
        same_height = same_height && extent(*shape, 2) == extent(first, 2);
        same_width = same_width && extent(*shape, 1) == extent(first, 1);
        height = std::max(height, extent(*shape, 2));
        width = std::max(width, extent(*shape, 1));
    }
    if (equal) return TernaryBroadcast::None;
    if (same_height && same_width) return TernaryBroadcast::Outer;
    bool rows = false, columns = false, whole_or_one = true, one = false;
    for (const Shape* shape : shapes) {
        const bool row = extent(*shape, 2) == 1 && height > 1, column = extent(*shape, 1) == 1 && width > 1;
        rows = rows || row;
        columns = columns || column;
        one = one || (row && column);
        whole_or_one = whole_or_one && ((row && column) || (extent(*shape, 2) == height && extent(*shape, 1) == width));
    }
    if (!same_height && !same_width) {
        // Two operands: one of them is a single value. Three: each is a single value or whole.
        return (shapes.size() == 2 ? one : whole_or_one) ? TernaryBroadcast::Scalar : TernaryBroadcast::Invalid;
    }
    if (!same_height && rows) return TernaryBroadcast::Row;
    return !same_width && columns ? TernaryBroadcast::Column : TernaryBroadcast::Invalid;
}

}  // namespace ttnn_shim
