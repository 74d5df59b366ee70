#include "ttnn/tensor/tensor_spec.hpp"

#include <array>
#include <vector>

#include "tensor/check.hpp"
#include "tensor/dtype.hpp"

namespace tt::tt_metal {

namespace {

constexpr uint32_t round_up(uint32_t value, uint32_t step) { return (value + step - 1) / step * step; }

Shape pad_shape(const Shape& logical, const TensorLayout& layout) {
    if (layout.get_layout() != Layout::TILE) {
        if (logical.rank() == 0) return Shape{1};
        // Row-major shards are whole: the rows are padded to the width of a shard.
        const auto& shard = layout.get_memory_config().shard_spec();
        if (!shard || logical[-1] % shard->shape[1] == 0) return logical;
        Shape padded = logical;
        padded[-1] = round_up(padded[-1], shard->shape[1]);
        return padded;
    }
    Shape padded = logical.rank() < 2 ? logical.to_rank(2) : logical;
    const Tile tile = layout.get_tile();
    padded[-2] = round_up(padded[-2], tile.get_height());
    padded[-1] = round_up(padded[-1], tile.get_width());
    return padded;
}

/// Pieces of n-dimensional shards that two-dimensional ones give as well, to the same cores, are described by those: whole columns,
/// whole rows, or a grid of blocks. Other layouts of shards stay as they are.
TensorLayout in_two_dimensions(const Shape& logical, TensorLayout layout) {
    const MemoryConfig& config = layout.get_memory_config();
    const auto& given = config.nd_shard_spec();
    if (!given || logical.rank() == 0) return layout;
    const Shape padded = pad_shape(logical, layout);
    const size_t rank = given->shard_shape.rank();
    if (layout.get_layout() == Layout::TILE) {
        const Tile tile = layout.get_tile();
        const Shape sides = rank < 2 ? given->shard_shape.to_rank(2) : given->shard_shape;
        SHIM_CHECK(
            sides[-2] % tile.get_height() == 0 && sides[-1] % tile.get_width() == 0, "physical shard shape {} must be tile {} sized",
            given->shard_shape, to_string(Shape{tile.get_height(), tile.get_width()}));
    }
    std::vector<uint64_t> whole(rank, 1);  // dimensions before those of a shard count as its first
    for (size_t dim = 0; dim < padded.rank(); ++dim)
        whole[dim + rank < padded.rank() ? 0 : dim + rank - padded.rank()] *= padded.view()[dim];
    const std::vector<uint64_t> shard(given->shard_shape.begin(), given->shard_shape.end());
    if (layout.get_layout() == Layout::ROW_MAJOR) whole.back() = (whole.back() + shard.back() - 1) / shard.back() * shard.back();
    uint64_t height = 1, shard_height = 1, down = 1, before = 1;
    bool split = false, flat = true;  // flat: a shard's rows follow one another
    for (size_t dim = 0; dim + 1 < rank; ++dim) {
        flat = flat && (!split || shard[dim] == whole[dim]);
        if (!split && shard[dim] != 1) {
            split = true;
            flat = before == 1 || whole[dim] % shard[dim] == 0;
        }
        before *= whole[dim];
        height *= whole[dim];
        shard_height *= shard[dim];
        down *= (whole[dim] + shard[dim] - 1) / shard[dim];
    }
    const uint64_t across = (whole.back() + shard.back() - 1) / shard.back();
    const bool one_row = logical.rank() == 1 && layout.get_layout() == Layout::ROW_MAJOR;
    if (!flat || (one_row && shard_height != 1) || down * across > given->grid.num_cores()) return layout;
    const CoreCoord box = given->grid.bounding_box().grid_size();
    const bool in_turn = given->shard_distribution_strategy == ShardDistributionStrategy::ROUND_ROBIN_1D;
    const bool by_rows = given->orientation == ShardOrientation::ROW_MAJOR;
    const uint64_t along_x = by_rows ? across : down, along_y = by_rows ? down : across;
    TensorMemoryLayout kind = TensorMemoryLayout::BLOCK_SHARDED;
    if (in_turn && shard_height == height)
        kind = TensorMemoryLayout::WIDTH_SHARDED;
    else if (in_turn && shard.back() == whole.back())
        kind = TensorMemoryLayout::HEIGHT_SHARDED;
    else if (given->grid.ranges().size() != 1 || along_x > box.x || along_y > box.y || (in_turn && along_x != box.x))
        return layout;
    const std::array sides{static_cast<uint32_t>(shard_height), static_cast<uint32_t>(shard.back())};
    return layout.with_memory_config(MemoryConfig(kind, config.buffer_type(), ShardSpec(given->grid, sides, given->orientation)));
}

void validate(const TensorLayout& layout) {
    SHIM_CHECK(ttnn_shim::stored_bytes(layout.get_data_type()) != 0, "data type {} is not supported", layout.get_data_type());
    SHIM_CHECK(layout.get_layout() != Layout::INVALID, "expected layout TILE or ROW_MAJOR");
    SHIM_CHECK(
        layout.get_layout() == Layout::TILE || !is_block_float(layout.get_data_type()), "{} tensors must have TILE layout",
        layout.get_data_type());
    SHIM_CHECK(
        layout.get_layout() == Layout::ROW_MAJOR || layout.get_data_type() != DataType::FP8_E4M3,
        "FP8_E4M3 tensors must have ROW_MAJOR layout");
    const auto& shard = layout.get_memory_config().shard_spec();
    if (shard && layout.get_layout() == Layout::TILE) {
        const Tile tile = layout.get_tile();
        SHIM_CHECK(
            shard->shape[0] % tile.get_height() == 0 && shard->shape[1] % tile.get_width() == 0,
            "physical shard shape ({}, {}) must be tile {} sized", shard->shape[0], shard->shape[1],
            to_string(Shape{tile.get_height(), tile.get_width()}));
    }
    SHIM_CHECK(!shard || (shard->shape[0] > 0 && shard->shape[1] > 0), "shard shape must not be zero");
}

/// The shards of a legacy shard spec must cover the padded tensor, and each must have its core.
void check_shards_fit(const Shape& logical, const Shape& padded, Layout layout, const MemoryConfig& config) {
    const auto& shard = config.shard_spec();
    if (!shard || padded.rank() == 0) return;
    const bool rows_only = layout == Layout::ROW_MAJOR && logical.rank() < 2 && config.is_sharded();
    SHIM_CHECK(!rows_only || shard->shape[0] == 1, "Shard shape must be 1D for 1D tensor, got ({}, {})", shard->shape[0], shard->shape[1]);
    uint64_t height = 1;
    for (size_t dim = 0; dim + 1 < padded.rank(); ++dim) height *= padded.view()[dim];
    const uint64_t width = padded[-1];
    const uint64_t rows = (height + shard->shape[0] - 1) / shard->shape[0], columns = (width + shard->shape[1] - 1) / shard->shape[1];
    const uint64_t cores = shard->grid.num_cores();
    switch (config.memory_layout()) {
        case TensorMemoryLayout::HEIGHT_SHARDED:
            SHIM_CHECK(width == shard->shape[1], "Shard width {} must match physical width {} for height sharded", shard->shape[1], width);
            SHIM_CHECK(rows <= cores, "Number of shards along height {} must not exceed number of cores {}", rows, cores);
            break;
        case TensorMemoryLayout::WIDTH_SHARDED:
            SHIM_CHECK(
                height == shard->shape[0], "Shard height {} must match physical height {} for width sharded", shard->shape[0], height);
            SHIM_CHECK(columns <= cores, "Number of shards along width {} must not exceed number of cores {}", columns, cores);
            break;
        case TensorMemoryLayout::BLOCK_SHARDED: {
            SHIM_CHECK(shard->grid.ranges().size() == 1, "Shard grid must be one full rectangular grid for block sharded!");
            const CoreCoord grid = shard->grid.bounding_box().grid_size();
            const bool by_rows = shard->orientation == ShardOrientation::ROW_MAJOR;
            const char* order = by_rows ? "row" : "column";
            SHIM_CHECK(
                rows <= (by_rows ? grid.y : grid.x),
                "Number of shards along height {} must not exceed number of {} {} for {} major orientation!", rows,
                by_rows ? "rows" : "columns", by_rows ? grid.y : grid.x, order);
            SHIM_CHECK(
                columns <= (by_rows ? grid.x : grid.y),
                "Number of shards along width {} must not exceed number of {} {} for {} major orientation!", columns,
                by_rows ? "columns" : "rows", by_rows ? grid.x : grid.y, order);
            break;
        }
        default: break;
    }
}

}  // namespace

TensorSpec::TensorSpec(const TensorSpec& other) = default;
TensorSpec::TensorSpec(TensorSpec&& other) noexcept = default;
TensorSpec& TensorSpec::operator=(const TensorSpec& other) = default;
TensorSpec& TensorSpec::operator=(TensorSpec&& other) noexcept = default;
TensorSpec::~TensorSpec() = default;

TensorSpec::TensorSpec(Shape logical_shape, TensorLayout tensor_layout)
    : logical_shape_(std::move(logical_shape)), tensor_layout_(in_two_dimensions(logical_shape_, std::move(tensor_layout))) {
    validate(tensor_layout_);
    padded_shape_ = pad_shape(logical_shape_, tensor_layout_);
    check_shards_fit(logical_shape_, padded_shape_, tensor_layout_.get_layout(), tensor_layout_.get_memory_config());
}

TensorSpec::TensorSpec(Shape logical_shape, DataType dtype, Layout layout, MemoryConfig memory_config)
    : TensorSpec(std::move(logical_shape), TensorLayout(dtype, PageConfig(layout), std::move(memory_config))) {}

TensorSpec TensorSpec::with_memory_config(MemoryConfig memory_config) const {
    TensorSpec result(logical_shape_, tensor_layout_.with_memory_config(std::move(memory_config)));
    result.padded_shape_ = padded_shape_;
    return result;
}

TensorSpec TensorSpec::with_padded_shape(Shape padded_shape) const {
    TensorSpec result = *this;
    result.padded_shape_ = std::move(padded_shape);
    return result;
}

size_t TensorSpec::compute_page_size_bytes() const {
    if (layout() == Layout::TILE) {
        return ttnn_shim::tile_bytes(data_type(), tile().get_tile_hw());
    }
    const auto& config = memory_config();
    const size_t width = config.shard_spec()      ? config.shard_spec()->shape[1]
                         : config.nd_shard_spec() ? config.nd_shard_spec()->shard_shape[-1]
                                                  : padded_shape_[-1];
    return width * ttnn_shim::stored_bytes(data_type());
}

size_t TensorSpec::num_pages() const {
    if (layout() == Layout::TILE) {
        return padded_shape_.volume() / tile().get_tile_hw();
    }
    const size_t row_bytes = size_t{padded_shape_[-1]} * ttnn_shim::stored_bytes(data_type());
    const size_t page_bytes = compute_page_size_bytes();
    if (row_bytes == 0 || page_bytes == 0) {
        return 0;
    }
    return padded_shape_.volume() / padded_shape_[-1] * ((row_bytes + page_bytes - 1) / page_bytes);
}

size_t TensorSpec::compute_packed_buffer_size_bytes() const { return num_pages() * compute_page_size_bytes(); }

std::string to_string(const TensorSpec& spec) {
    return ttnn_shim::text("{} {} {} {}", spec.logical_shape(), spec.data_type(), spec.layout(), to_string(spec.memory_config()));
}

}  // namespace tt::tt_metal
