#include "ops/conv/window.hpp"

#include <algorithm>
#include <limits>

#include "ttnn/operations/core/to_memory_config/to_memory_config_op.hpp"
#include "ttnn/operations/data_movement/move/move.hpp"
#include "ttnn/operations/data_movement/sharded/interleaved_to_sharded/interleaved_to_sharded.hpp"

namespace ttnn_shim {
namespace {

constexpr uint32_t TILE_EDGE = 32;

uint64_t round_up(uint64_t value, uint64_t multiple) { return (value + multiple - 1) / multiple * multiple; }
uint32_t div_up(uint64_t value, uint64_t by) { return static_cast<uint32_t>((value + by - 1) / by); }

}  // namespace

uint32_t Window::out(uint32_t extent, uint32_t padding, uint32_t kernel, uint32_t stride, uint32_t dilation, uint32_t before) const {
    const uint64_t reach = uint64_t{dilation} * (kernel - 1) + 1;
    const uint64_t free = uint64_t{extent} + padding - reach;
    uint64_t count = free / stride + 1;
    if (ceil_mode && free % stride != 0) {
        // The last window must start inside the input or its leading padding.
        if (count * stride < uint64_t{extent} + before) {
            ++count;
        }
    }
    return static_cast<uint32_t>(count);
}

void Window::check() const {
    SHIM_CHECK(
        batch > 0 && in_h > 0 && in_w > 0 && channels > 0, "expected extents above 0, got batch {}, height {}, width {}, channels {}",
        batch, in_h, in_w, channels);
    SHIM_CHECK(
        kernel_h > 0 && kernel_w > 0 && stride_h > 0 && stride_w > 0 && dilation_h > 0 && dilation_w > 0,
        "expected kernel, stride and dilation above 0");
    const auto fits = [](uint64_t extent, uint64_t padding, uint64_t kernel, uint64_t dilation) {
        return extent + padding >= dilation * (kernel - 1) + 1;
    };
    SHIM_CHECK(
        fits(in_h, uint64_t{top} + bottom, kernel_h, dilation_h) && fits(in_w, uint64_t{left} + right, kernel_w, dilation_w),
        "the window {} x {} is larger than the padded input {} x {}", kernel_h, kernel_w, uint64_t{in_h} + top + bottom,
        uint64_t{in_w} + left + right);
    const uint64_t limit = std::numeric_limits<uint32_t>::max();
    SHIM_CHECK(
        uint64_t{in_h} + top + bottom < limit && uint64_t{in_w} + left + right < limit && uint64_t{in_h} * in_w < limit / batch,
        "the input is too large");
}

namespace {

void set_padding(Window& window, const Pads& padding) {
    if (const auto* both = std::get_if<std::array<uint32_t, 2>>(&padding)) {
        window.top = window.bottom = (*both)[0];
        window.left = window.right = (*both)[1];
        return;
    }
    const auto& sides = std::get<std::array<uint32_t, 4>>(padding);
    window.top = sides[0];
    window.bottom = sides[1];
    window.left = sides[2];
    window.right = sides[3];
}

}  // namespace

Window window_of(
    uint32_t batch, uint32_t h, uint32_t w, uint32_t channels, std::array<uint32_t, 2> kernel, std::array<uint32_t, 2> stride,
    const Pads& padding, std::array<uint32_t, 2> dilation, bool ceil_mode) {
    Window window{
        .batch = batch,
        .in_h = h,
        .in_w = w,
        .channels = channels,
        .kernel_h = kernel[0],
        .kernel_w = kernel[1],
        .stride_h = stride[0],
        .stride_w = stride[1],
        .dilation_h = dilation[0],
        .dilation_w = dilation[1],
        .ceil_mode = ceil_mode};
    set_padding(window, padding);
    return window;
}

Pads pads_of(const std::vector<uint32_t>& values) {
    SHIM_CHECK(values.size() == 2 || values.size() == 4, "padding: expected 2 or 4 integers, got {}", values.size());
    if (values.size() == 2) return std::array<uint32_t, 2>{values[0], values[1]};
    return std::array<uint32_t, 4>{values[0], values[1], values[2], values[3]};
}

std::optional<TensorMemoryLayout> shard_scheme(std::string_view argument, std::string_view name) {
    if (name.empty()) return std::nullopt;
    if (name == "HEIGHT_SHARDED") return TensorMemoryLayout::HEIGHT_SHARDED;
    if (name == "WIDTH_SHARDED") return TensorMemoryLayout::WIDTH_SHARDED;
    SHIM_CHECK(name == "BLOCK_SHARDED", "{}: expected a sharded layout, got {}", argument, name);
    return TensorMemoryLayout::BLOCK_SHARDED;
}

std::optional<TensorMemoryLayout> shard_scheme(std::string_view argument, const std::optional<TensorMemoryLayout>& layout) {
    using enum TensorMemoryLayout;
    SHIM_CHECK(
        !layout || *layout == HEIGHT_SHARDED || *layout == WIDTH_SHARDED || *layout == BLOCK_SHARDED,
        "{}: expected a sharded layout, got {}", argument, *layout);
    return layout;
}

uint32_t largest_divisor_up_to(uint32_t number, uint32_t limit) {
    uint32_t divisor = std::max<uint32_t>(1, std::min(number, limit));
    while (number % divisor != 0) {
        --divisor;
    }
    return divisor;
}

uint32_t parts_with_padding(uint32_t units, uint32_t limit) {
    uint32_t parts = std::max<uint32_t>(1, limit);
    while (parts > 1 && div_up(units, parts) * uint64_t{parts} - units >= div_up(units, parts)) {
        --parts;
    }
    return parts;
}

Placement placement_of(const MemoryConfig& sharded, CoreCoord grid) {
    const auto& spec = *sharded.shard_spec();
    const CoreCoord box = spec.grid.bounding_box().grid_size();
    const auto cores = static_cast<uint32_t>(spec.grid.num_cores());
    Placement placement{sharded.memory_layout(), cores, 1, grid, spec.grid};
    if (sharded.memory_layout() == TensorMemoryLayout::WIDTH_SHARDED) {
        std::swap(placement.cores_nhw, placement.cores_c);
    } else if (sharded.memory_layout() == TensorMemoryLayout::BLOCK_SHARDED) {
        placement.cores_nhw = static_cast<uint32_t>(box.y);
        placement.cores_c = static_cast<uint32_t>(box.x);
        if (spec.orientation == ShardOrientation::COL_MAJOR) std::swap(placement.cores_nhw, placement.cores_c);
    }
    return placement;
}

MemoryConfig Placement::memory_config(uint64_t rows, uint32_t channels, uint32_t row_multiple, uint32_t channel_multiple) const {
    const auto shard_rows =
        static_cast<uint32_t>(round_up(div_up(rows, scheme == TensorMemoryLayout::WIDTH_SHARDED ? 1 : cores_nhw), row_multiple));
    const auto shard_channels =
        static_cast<uint32_t>(round_up(div_up(channels, scheme == TensorMemoryLayout::HEIGHT_SHARDED ? 1 : cores_c), channel_multiple));
    CoreRangeSet cores;
    if (own) {
        cores = *own;
    } else if (scheme == TensorMemoryLayout::BLOCK_SHARDED) {
        cores = CoreRangeSet(CoreRange(CoreCoord{0, 0}, CoreCoord{cores_c - 1, cores_nhw - 1}));
    } else {
        cores = tt::tt_metal::num_cores_to_corerangeset(this->cores(), grid, true);
    }
    return MemoryConfig(scheme, BufferType::L1, tt::tt_metal::ShardSpec(cores, {shard_rows, shard_channels}));
}

Placement place_window(
    CoreCoord grid, uint64_t rows, uint32_t in_channels, uint32_t out_channels, uint32_t unit, std::optional<TensorMemoryLayout> scheme,
    uint32_t channel_unit) {
    const auto all = static_cast<uint32_t>(grid.x * grid.y);
    const uint32_t row_units = div_up(rows, unit);
    const uint32_t in_units = div_up(in_channels, TILE_EDGE);
    const uint32_t out_units = div_up(out_channels, TILE_EDGE);
    const auto common_divisor = [&](uint32_t limit) {
        uint32_t divisor = std::min({limit, in_units, out_units});
        while (divisor > 1 && (in_units % divisor != 0 || out_units % divisor != 0)) {
            --divisor;
        }
        return std::max<uint32_t>(1, divisor);
    };
    // The fewest cores that hold as many units each as the whole grid would.
    const auto cores_for = [](uint32_t units, uint32_t limit) { return div_up(units, div_up(units, limit)); };
    const Placement height{TensorMemoryLayout::HEIGHT_SHARDED, cores_for(row_units, all), 1, grid};
    const Placement block{
        TensorMemoryLayout::BLOCK_SHARDED, cores_for(row_units, static_cast<uint32_t>(grid.y)),
        cores_for(div_up(in_channels, channel_unit), static_cast<uint32_t>(grid.x)), grid};
    const Placement width{TensorMemoryLayout::WIDTH_SHARDED, 1, common_divisor(all), grid};
    if (scheme) {
        return *scheme == TensorMemoryLayout::BLOCK_SHARDED ? block : (*scheme == TensorMemoryLayout::WIDTH_SHARDED ? width : height);
    }
    // Height sharding unless splitting the channels too keeps more cores busy (TT-NN's automatic choice).
    Placement best = height;
    if (height.cores() < all && block.cores_c > 1 && block.cores() > best.cores()) {
        best = block;
    }
    if (width.cores() > best.cores()) {
        best = width;
    }
    return best;
}

uint64_t halo_sticks(const Window& window, const Placement& placement, uint32_t unit) {
    const uint64_t pixels = window.out_pixels(), per_core = round_up(div_up(pixels, placement.cores_nhw), unit);
    const uint64_t width = uint64_t{window.in_w} + window.left + window.right;
    const uint64_t height = uint64_t{window.in_h} + window.top + window.bottom;
    const uint64_t out_w = window.out_w(), image = out_w * window.out_h();
    const auto first_stick = [&](uint64_t pixel) {  // where the window of an output pixel starts
        const uint64_t within = pixel % image;
        return (pixel / image * height + within / out_w * window.stride_h) * width + within % out_w * window.stride_w;
    };
    const uint64_t reach =
        uint64_t{window.dilation_h} * (window.kernel_h - 1) * width + uint64_t{window.dilation_w} * (window.kernel_w - 1);
    uint64_t most = 0;
    for (uint64_t first = 0; first < pixels; first += per_core) {
        const uint64_t last = std::min(first + per_core, pixels) - 1;
        most = std::max(most, first_stick(last) + reach + 1 - first_stick(first));
    }
    return most;
}

SliceConfig ArgumentType<SliceConfig>::read(const Call& call, std::string_view name) {
    const auto record = call.record(name);
    using Type = SliceConfig::SliceType;
    const std::string type = record->text("slice_type", "DRAMSliceWidth");
    SliceConfig config{.slice_type = Type::DRAM_WIDTH, .num_slices = static_cast<uint32_t>(record->integer("num_slices", 0))};
    if (type == "L1Full") config.slice_type = Type::L1_FULL;
    if (type == "DRAMSliceHeight") config.slice_type = Type::DRAM_HEIGHT;
    return config;
}

uint32_t slices_asked(const std::optional<SliceConfig>& config, const Tensor& input) {
    if (!config || config->slice_type == SliceConfig::SliceType::L1_FULL) return 0;
    SHIM_CHECK(
        !input.is_sharded() && !input.memory_config().is_l1(), "input_tensor: slices are read from interleaved DRAM, got {}",
        input.memory_config());
    return config->num_slices;
}

std::vector<uint32_t> slice_extents(uint32_t extent, uint32_t slices, bool whole_tiles) {
    const uint32_t unit = whole_tiles ? TILE_EDGE : 1, units = div_up(extent, unit);
    SHIM_CHECK(slices <= units, "num_slices: expected at most {}, got {}", units, slices);
    std::vector<uint32_t> sizes;
    for (uint32_t i = 0, left = extent; i < slices; ++i) {
        sizes.push_back(std::min(left, (units / slices + (i < units % slices ? 1 : 0)) * unit));
        left -= sizes.back();
    }
    return sizes;
}

Window part_of(const Window& window, bool rows, uint32_t first, uint32_t end) {
    Window part = window;
    const auto cut = [&](uint32_t& extent, uint32_t& before, uint32_t& after, uint32_t stride, uint32_t dilation, uint32_t kernel) {
        const int64_t from = int64_t{first} * stride - before;
        const int64_t last = int64_t{end - 1} * stride - before + int64_t{dilation} * (kernel - 1);
        const int64_t low = std::clamp<int64_t>(from, 0, int64_t{extent} - 1), high = std::clamp<int64_t>(last, low, int64_t{extent} - 1);
        before = static_cast<uint32_t>(std::max<int64_t>(0, low - from));
        after = static_cast<uint32_t>(std::max<int64_t>(0, last - high));
        extent = static_cast<uint32_t>(high - low + 1);
    };
    if (rows) {
        cut(part.in_h, part.top, part.bottom, window.stride_h, window.dilation_h, window.kernel_h);
    } else {
        cut(part.in_w, part.left, part.right, window.stride_w, window.dilation_w, window.kernel_w);
    }
    return part;
}

Tensor padded_slice(const Tensor& source, const Window& part, const Placement& placement) {
    const DataType dtype = is_block_float(source.dtype()) ? DataType::BFLOAT16 : source.dtype();
    const Shape shape({1, 1, static_cast<uint32_t>(part.in_pixels()), part.channels});
    return launch(
        {.op = strategy::PaddedSlice{}, .name = "PaddedSliceDeviceOperation"}, {source},
        {make_spec(shape, dtype, Layout::ROW_MAJOR, placement.memory_config(part.in_pixels(), part.channels, 1, 8))},
        [](std::span<const Tensor> outputs) {
            outputs[0].shim().buffer->set_values(zero_values(outputs[0].logical_volume() * stored_bytes(outputs[0].dtype())));
        })[0];
}

namespace {
/// The tables of a halo lie in L1_SMALL while it runs; their sizes follow from its runs of rows and are not modelled, only that they need
/// room. Throws Error(OutOfMemory) on a device without it.
void check_tables(const Tensor& sharded) {
    const auto& shard = sharded.memory_config().shard_spec();
    if (!shard) return;
    constexpr uint32_t TABLES = 4, ENTRIES = 16;
    const auto cores = static_cast<uint32_t>(shard->grid.num_cores());
    const MemoryConfig memory(
        TensorMemoryLayout::HEIGHT_SHARDED, BufferType::L1_SMALL, tt::tt_metal::ShardSpec(shard->grid, {1, TABLES * ENTRIES}));
    make_device_tensor(device_of(sharded), make_spec(Shape({cores, TABLES * ENTRIES}), DataType::UINT16, Layout::ROW_MAJOR, memory));
}
}  // namespace

Tensor image_shards(const Tensor& input, const Window& window, const Placement& placement) {
    if (input.is_sharded()) return input;
    const uint32_t multiple = input.layout() == Layout::TILE ? TILE_EDGE : 1;
    const MemoryConfig config =
        placement.memory_config(window.in_pixels(), window.channels, multiple, multiple == TILE_EDGE ? TILE_EDGE : 8);
    return launch(
        {.op = strategy::InterleavedToSharded{}, .name = "InterleavedToShardedDeviceOperation"}, {input},
        {make_spec(input.logical_shape(), input.dtype(), input.layout(), config)},
        [=](std::span<const Tensor> outputs) { outputs[0].shim().buffer->set_values(input.shim().buffer->values()); })[0];
}

Tensor gather_halo(
    const Tensor& input, const Window& window, const Placement& placement, uint32_t unit, bool move, bool config_in_dram, bool pool) {
    Tensor sharded = image_shards(input, window, placement);
    const bool width_split = placement.scheme != TensorMemoryLayout::HEIGHT_SHARDED;
    const auto& own = input.memory_config().shard_spec();  // shards keep their width
    const uint32_t channels = own ? own->shape[1] : width_split ? div_up(window.channels, placement.cores_c) : window.channels;
    const uint64_t sticks = halo_sticks(window, placement, unit);
    const uint64_t total = sticks * placement.cores_nhw;
    SHIM_CHECK(total < std::numeric_limits<uint32_t>::max(), "the input is too large for one call: {} rows with halo", total);
    const Shape halo_shape({1, 1, static_cast<uint32_t>(total), window.channels});
    const MemoryConfig halo_config(
        sharded.memory_config().memory_layout(), BufferType::L1,
        tt::tt_metal::ShardSpec(
            sharded.memory_config().shard_spec() ? sharded.memory_config().shard_spec()->grid
                                                 : placement.memory_config(1, 1, 1, 1).shard_spec()->grid,
            {static_cast<uint32_t>(sticks), static_cast<uint32_t>(round_up(channels, 8))},
            own ? own->orientation : ShardOrientation::ROW_MAJOR));
    const DataType dtype = is_block_float(sharded.dtype()) ? DataType::BFLOAT16 : sharded.dtype();
    const TensorSpec halo_spec = make_spec(halo_shape, dtype, Layout::ROW_MAJOR, halo_config);
    // The kernels that follow read the input itself: the gathered rows have a description and an address, but no values of their own.
    const Kernel nothing = [](std::span<const Tensor> outputs) {
        outputs[0].shim().buffer->set_values(zero_values(outputs[0].logical_volume() * stored_bytes(outputs[0].dtype())));
    };
    if (!config_in_dram) check_tables(sharded);
    Tensor halo = launch(
        {.op =
             strategy::Halo{
                 .batch = window.batch,
                 .input_hw = {window.in_h, window.in_w},
                 .window_hw = {window.kernel_h, window.kernel_w},
                 .stride_hw = {window.stride_h, window.stride_w},
                 .dilation_hw = {window.dilation_h, window.dilation_w},
                 .padding = {window.top, window.bottom, window.left, window.right},
                 .num_cores_nhw = placement.cores_nhw,
                 .is_out_tiled = unit == TILE_EDGE,
                 .config_in_dram = config_in_dram,
                 .pool = pool,
                 .spread_hw = window.spread_h * window.spread_w > 1 ? std::optional<strategy::Pair>({window.spread_h, window.spread_w})
                                                                    : std::nullopt},
         .name = "HaloDeviceOperation"},
        {sharded}, {halo_spec}, nothing)[0];
    if (!move) return halo;
    sharded = Tensor();  // the shards are deallocated first
    return ttnn::move(halo);
}

}  // namespace ttnn_shim
