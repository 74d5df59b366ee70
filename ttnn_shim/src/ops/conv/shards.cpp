#include "ops/conv/shards.hpp"

#include <array>

namespace ttnn_shim {
namespace {

constexpr uint32_t TILE_EDGE = 32;

uint64_t round_up(uint64_t value, uint64_t multiple) { return (value + multiple - 1) / multiple * multiple; }
uint32_t div_up(uint64_t value, uint64_t by) { return static_cast<uint32_t>((value + by - 1) / by); }

/// parts_with_padding, where each part is a multiple of `multiple`.
uint32_t parts_of_blocks(uint32_t units, uint32_t limit, uint32_t multiple) {
    uint32_t parts = std::max(1U, limit);
    while (parts > 1) {
        const uint64_t padded = round_up(units, uint64_t{parts} * multiple);
        if (padded - units < padded / parts) break;
        --parts;
    }
    return parts;
}

uint32_t common_divisor_up_to(uint32_t first, uint32_t second, uint32_t limit) {
    uint32_t divisor = std::max(1U, limit);
    while (divisor > 1 && (first % divisor != 0 || second % divisor != 0)) --divisor;
    return divisor;
}

/// Channels that a core's shard holds a multiple of.
uint32_t channel_unit(const MemoryConfig& memory, TensorMemoryLayout scheme, Layout layout, bool as_matmul) {
    if (as_matmul || layout != Layout::ROW_MAJOR || scheme == TensorMemoryLayout::WIDTH_SHARDED) return TILE_EDGE;
    constexpr uint32_t STICK = 8;  // 16 bytes of two-byte values
    if (!memory.is_sharded() || !memory.shard_spec()) return STICK;
    const uint32_t width = memory.shard_spec()->shape[1];
    for (const uint32_t unit : {TILE_EDGE, 2 * STICK, STICK})
        if (width % unit == 0) return unit;
    return TILE_EDGE;
}

/// The cores the real package would choose for this scheme.
ShardCores chosen_cores(
    const Convolution& conv, const Conv2dConfig& config, TensorMemoryLayout scheme, CoreCoord grid, uint32_t unit, bool pad) {
    const auto x = static_cast<uint32_t>(grid.x), y = static_cast<uint32_t>(grid.y);
    const uint32_t rows = div_up(uint64_t{conv.window.batch} * conv.out_h() * conv.out_w(), TILE_EDGE);
    const uint32_t block = std::max(1U, config.act_block_h_override / TILE_EDGE);
    const bool columns_first = config.transpose_shards && scheme == TensorMemoryLayout::BLOCK_SHARDED;
    ShardCores cores{{}, scheme, columns_first ? ShardOrientation::COL_MAJOR : ShardOrientation::ROW_MAJOR};
    if (scheme == TensorMemoryLayout::HEIGHT_SHARDED) {
        cores.grid = tt::tt_metal::num_cores_to_corerangeset(parts_of_blocks(rows, x * y, block), grid, true);
    } else if (scheme == TensorMemoryLayout::WIDTH_SHARDED) {
        const uint32_t units = div_up(conv.window.channels, TILE_EDGE);
        cores.grid = tt::tt_metal::num_cores_to_corerangeset(
            pad ? parts_with_padding(units, x * y) : largest_divisor_up_to(units, x * y), grid, true);
    } else {
        const uint32_t along_pixels = parts_of_blocks(rows, columns_first ? x : y, block), limit = columns_first ? y : x;
        const uint32_t units = div_up(conv.window.channels, unit);
        const uint32_t along_channels =
            pad ? parts_with_padding(units, limit) : common_divisor_up_to(div_up(conv.weights.out_channels, TILE_EDGE), units, limit);
        const CoreCoord last =
            columns_first ? CoreCoord{along_pixels - 1, along_channels - 1} : CoreCoord{along_channels - 1, along_pixels - 1};
        cores.grid = CoreRangeSet(CoreRange(CoreCoord{0, 0}, last));
    }
    return cores;
}

/// Whether the activation has to be put onto other shards than it has.
bool must_move(const Convolution& conv, const Conv2dConfig& config, const MemoryConfig& memory, uint32_t unit, bool as_matmul) {
    const auto& spec = memory.shard_spec();
    if (!memory.is_sharded() || !spec) return true;
    const bool by_columns = spec->orientation == ShardOrientation::COL_MAJOR;
    const bool block = memory.memory_layout() == TensorMemoryLayout::BLOCK_SHARDED;
    if ((!block && by_columns) || spec->shape[1] % unit != 0) return true;
    if (as_matmul) {
        const ShardCores cores{spec->grid, memory.memory_layout(), spec->orientation};
        if (block && conv.window.channels != uint64_t{cores.channels()} * spec->shape[1]) return true;
        if (spec->shape[0] % TILE_EDGE != 0) return true;
    }
    if (!config.override_sharding_config) return false;
    return !(*config.core_grid == spec->grid) || *config.shard_layout != memory.memory_layout() ||
           (*config.shard_layout == TensorMemoryLayout::BLOCK_SHARDED && config.transpose_shards != by_columns);
}

MemoryConfig memory_on(const ShardCores& cores, uint64_t rows, uint64_t channels, uint32_t row_unit, uint32_t unit) {
    const uint64_t down = cores.pixels(), across = cores.channels();
    const uint64_t shard_rows = cores.scheme == TensorMemoryLayout::WIDTH_SHARDED ? rows : round_up(rows, down * row_unit) / down;
    const uint64_t shard_channels = round_up(channels, across * unit) / across;
    return MemoryConfig(
        cores.scheme, BufferType::L1,
        tt::tt_metal::ShardSpec(cores.grid, {static_cast<uint32_t>(shard_rows), static_cast<uint32_t>(shard_channels)}, cores.orientation));
}

/// The result's cores: the input's along the pixels; along the channels as many as its own tiles keep busy, unless a matmul makes it.
ShardCores output_cores(const Convolution& conv, const Conv2dConfig& config, const ShardCores& input, CoreCoord grid, bool as_matmul) {
    ShardCores cores = input;
    if (config.override_output_sharding_config) {
        SHIM_CHECK(config.core_grid.has_value(), "conv_config: override_output_sharding_config needs core_grid");
        SHIM_CHECK(
            input.scheme == TensorMemoryLayout::BLOCK_SHARDED,
            "conv_config: override_output_sharding_config is for BLOCK_SHARDED inputs, got {}", input.scheme);
        const CoreCoord asked = config.core_grid->bounding_box().grid_size();
        SHIM_CHECK(
            asked.x <= grid.x && asked.y <= grid.y, "conv_config.core_grid: {} x {} cores are more than the chip's {} x {}", asked.x,
            asked.y, grid.x, grid.y);
        SHIM_CHECK(
            (input.orientation == ShardOrientation::ROW_MAJOR ? asked.y : asked.x) == input.pixels(),
            "conv_config.core_grid: expected {} cores along the pixels as the input has, got {} x {}", input.pixels(), asked.x, asked.y);
        grid = asked;
    }
    if (as_matmul || input.scheme == TensorMemoryLayout::HEIGHT_SHARDED) return cores;
    const uint32_t units = div_up(conv.weights.out_channels, TILE_EDGE);
    if (input.scheme == TensorMemoryLayout::WIDTH_SHARDED) {
        cores.grid = tt::tt_metal::num_cores_to_corerangeset(parts_with_padding(units, static_cast<uint32_t>(grid.x * grid.y)), grid, true);
        return cores;
    }
    const bool by_columns = input.orientation == ShardOrientation::COL_MAJOR;
    const uint32_t across = parts_with_padding(units, static_cast<uint32_t>(by_columns ? grid.y : grid.x)), down = input.pixels();
    cores.grid = CoreRangeSet(CoreRange(CoreCoord{0, 0}, by_columns ? CoreCoord{down - 1, across - 1} : CoreCoord{across - 1, down - 1}));
    return cores;
}

/// The first of the real package's subblocks that divides the block and fits the destination registers.
std::array<uint32_t, 2> largest_subblock(uint32_t height, uint32_t width, uint32_t registers) {
    constexpr std::array<std::array<uint32_t, 2>, 20> SUBBLOCKS = {{{2, 4}, {4, 2}, {1, 8}, {8, 1}, {1, 7}, {7, 1}, {2, 3},
                                                                    {3, 2}, {1, 6}, {6, 1}, {1, 5}, {5, 1}, {2, 2}, {1, 4},
                                                                    {4, 1}, {1, 3}, {3, 1}, {1, 2}, {2, 1}, {1, 1}}};
    for (const auto& [h, w] : SUBBLOCKS)
        if (h * w <= registers && height % h == 0 && width % w == 0 && (w == width || h == 1)) return {h, w};
    return {1, 1};
}

/// What programs on width shards do not take: blocks that do not divide the rows of tiles (one more than the whole tiles of pixels do not
/// hold is cut), and more cores than the result's that are no whole rows of the grid.
void check_width_shards(const ShardPlan& plan, const Conv2dConfig& config, uint32_t wanted, uint64_t pixels, CoreCoord grid) {
    if (wanted > 0) {
        const auto whole = static_cast<uint32_t>(pixels / TILE_EDGE);
        const uint32_t block = whole > 0 ? largest_divisor_up_to(whole, wanted) : wanted;
        SHIM_CHECK(
            block <= plan.rows && plan.rows % block == 0,
            "conv_config: act_block_h_override of {} tiles does not divide the {} rows of tiles", block, plan.rows);
    }
    if (!config.override_sharding_config) return;
    const CoreCoord box = config.core_grid->bounding_box().grid_size();
    SHIM_CHECK(
        box.y == 1 || box.x == grid.x || config.core_grid->num_cores() <= plan.output_cores.grid.num_cores(),
        "conv_config: core_grid {} has more cores than the {} of the result, expected one row of cores or whole rows of the device",
        *config.core_grid, plan.output_cores.grid.num_cores());
}

}  // namespace

uint32_t ShardCores::pixels() const {
    if (scheme == TensorMemoryLayout::WIDTH_SHARDED) return 1;
    const CoreCoord box = grid.bounding_box().grid_size();
    if (scheme == TensorMemoryLayout::HEIGHT_SHARDED) return grid.num_cores();
    return static_cast<uint32_t>(orientation == ShardOrientation::COL_MAJOR ? box.x : box.y);
}

uint32_t ShardCores::channels() const {
    if (scheme == TensorMemoryLayout::HEIGHT_SHARDED) return 1;
    const CoreCoord box = grid.bounding_box().grid_size();
    if (scheme == TensorMemoryLayout::WIDTH_SHARDED) return grid.num_cores();
    return static_cast<uint32_t>(orientation == ShardOrientation::COL_MAJOR ? box.y : box.x);
}

ShardPlan plan_shards(
    const Convolution& conv, const Conv2dConfig& config, const MemoryConfig& memory, Layout layout, uint32_t held_channels, CoreCoord grid,
    bool as_matmul, bool wide_sums) {
    const Window& w = conv.window;
    SHIM_CHECK(
        !config.override_sharding_config || config.shard_layout.has_value(), "conv_config: override_sharding_config needs shard_layout");
    ShardPlan plan;
    uint32_t unit = channel_unit(memory, memory.memory_layout(), layout, as_matmul);
    const bool moves = must_move(conv, config, memory, unit, as_matmul);
    if (const auto& spec = memory.shard_spec()) plan.input_cores = {spec->grid, memory.memory_layout(), spec->orientation};
    plan.input = memory;
    if (moves || config.reshard_if_not_optimal) {
        TensorMemoryLayout scheme =
            config.shard_layout.value_or(memory.is_sharded() ? memory.memory_layout() : TensorMemoryLayout::HEIGHT_SHARDED);
        if (as_matmul && memory.memory_layout() == TensorMemoryLayout::BLOCK_SHARDED && memory.shard_spec() &&
            w.channels != uint64_t{plan.input_cores.channels()} * memory.shard_spec()->shape[1])
            scheme = TensorMemoryLayout::BLOCK_SHARDED;
        ShardCores best = chosen_cores(conv, config, scheme, grid, unit, !as_matmul);
        if (config.override_sharding_config) best.grid = *config.core_grid;
        plan.moves = moves || !(best == plan.input_cores);
        if (plan.moves) {
            plan.input_cores = best;
            const uint32_t target_unit = channel_unit({}, scheme, layout, as_matmul);
            const bool rows = scheme == TensorMemoryLayout::WIDTH_SHARDED && layout == Layout::ROW_MAJOR;
            plan.input = memory_on(best, w.in_pixels(), held_channels, rows ? 1 : TILE_EDGE, target_unit);
            if (scheme == TensorMemoryLayout::WIDTH_SHARDED && !rows)
                plan.input = memory_on(best, round_up(w.in_pixels(), TILE_EDGE), held_channels, TILE_EDGE, target_unit);
        }
    }
    unit = channel_unit(plan.input, plan.input.memory_layout(), layout, as_matmul);
    plan.output_cores = output_cores(conv, config, plan.input_cores, grid, as_matmul);
    const uint64_t pixels = uint64_t{w.batch} * conv.out_h() * conv.out_w();
    const bool whole_tiles = config.output_layout == Layout::TILE && plan.output_cores.scheme == TensorMemoryLayout::WIDTH_SHARDED;
    plan.output =
        memory_on(plan.output_cores, whole_tiles ? round_up(pixels, TILE_EDGE) : pixels, conv.weights.out_channels, TILE_EDGE, TILE_EDGE);
    const auto& shard = plan.output.shard_spec()->shape;
    plan.rows = div_up(shard[0], TILE_EDGE);
    plan.columns = div_up(shard[1], TILE_EDGE);
    const uint32_t wanted = config.act_block_h_override / TILE_EDGE;
    if (plan.input_cores.scheme == TensorMemoryLayout::WIDTH_SHARDED) check_width_shards(plan, config, wanted, pixels, grid);
    plan.block_h = wanted > 0 ? largest_divisor_up_to(plan.rows, wanted) : plan.rows;
    const uint32_t across = plan.input_cores.channels();
    const uint64_t channels = round_up(w.channels, uint64_t{across} * unit) / across;
    const uint64_t window = plan.input_cores.scheme == TensorMemoryLayout::HEIGHT_SHARDED
                                ? uint64_t{w.kernel_w} * (config.enable_activation_reuse ? w.kernel_h : 1)
                                : uint64_t{w.kernel_w} * (config.full_inner_dim ? w.kernel_h : 1);
    plan.block_w = plan.input_cores.scheme == TensorMemoryLayout::WIDTH_SHARDED
                       ? std::max(1U, div_up(channels * w.kernel_h * w.kernel_w / std::max(1U, config.act_block_w_div), TILE_EDGE))
                       : div_up(channels * window, TILE_EDGE);
    const auto [subblock_h, subblock_w] = largest_subblock(plan.block_h, plan.columns, wide_sums ? 4 : 8);
    plan.subblock_h = subblock_h;
    plan.subblock_w = subblock_w;
    return plan;
}

}  // namespace ttnn_shim
