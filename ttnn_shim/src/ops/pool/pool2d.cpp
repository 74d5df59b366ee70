// ttnn::max_pool2d and ttnn::avg_pool2d: interleaved-to-sharded, halo, move and the pool itself, as in TT-NN.
#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/arguments.hpp"
#include "ops/conv/shards.hpp"
#include "ops/conv/window.hpp"
#include "ops/reduction/values.hpp"
#include "ops/registry.hpp"
#include "ops/trace_values.hpp"
#include "ttnn/operations/core/to_layout/to_layout_op.hpp"
#include "ttnn/operations/core/to_memory_config/to_memory_config_op.hpp"
#include "ttnn/operations/copy/typecast/typecast.hpp"
#include "ttnn/operations/data_movement/move/move.hpp"
#include "ttnn/operations/data_movement/reshape_view/reshape.hpp"
#include "ttnn/operations/experimental/adaptive_pool/adaptive_pools.hpp"
#include "ttnn/operations/pool/generic/generic_pools.hpp"
#include "ttnn/operations/reduction/generic/generic_reductions.hpp"

namespace ttnn_shim {
namespace {

constexpr uint32_t MAX_INDEXED_PIXELS = 1U << 16;  // indices are 16 bits wide

struct PoolSettings {
    bool average = false;
    bool count_include_pad = true;
    std::optional<int32_t> divisor = std::nullopt;
    bool indices = false;
    std::optional<MemoryConfig> memory_config = std::nullopt;
    std::optional<TensorMemoryLayout> scheme = std::nullopt;
    bool deallocate_input = false, reallocate_halo = true, config_in_dram = false;
    DataType dtype = DataType::BFLOAT16;
    Layout layout = Layout::ROW_MAJOR;
    std::optional<ttnn::ComputeKernelConfig> compute = std::nullopt;
    std::optional<SliceConfig> slices = std::nullopt;
};

/// Calls visit(output pixel, first row, first column) with the window's corner in input coordinates (may be negative).
template <typename Visit>
void for_each_window(const Window& w, Visit&& visit) {
    const uint32_t out_h = w.out_h(), out_w = w.out_w();
    parallel_for(w.out_pixels(), std::max<size_t>(1, 8192 / (size_t{w.channels} * w.kernel_h * w.kernel_w)), [&](size_t begin, size_t end) {
        for (size_t pixel = begin; pixel < end; ++pixel) {
            const auto column = static_cast<int64_t>(pixel % out_w) * w.stride_w - w.left;
            const auto row = static_cast<int64_t>(pixel / out_w % out_h) * w.stride_h - w.top;
            visit(pixel, pixel / out_w / out_h, row, column);
        }
    });
}

void max_kernel(const Window& w, const float* in, float* out, uint16_t* indices) {
    const size_t channels = w.channels;
    for_each_window(w, [&](size_t pixel, size_t image, int64_t row, int64_t column) {
        float* target = out + pixel * channels;
        uint16_t* places = indices != nullptr ? indices + pixel * channels : nullptr;
        std::fill_n(target, channels, -std::numeric_limits<float>::infinity());
        for (uint32_t ky = 0; ky < w.kernel_h; ++ky) {
            const int64_t y = row + int64_t{ky} * w.dilation_h;
            if (y < 0 || y >= w.in_h) continue;
            for (uint32_t kx = 0; kx < w.kernel_w; ++kx) {
                const int64_t x = column + int64_t{kx} * w.dilation_w;
                if (x < 0 || x >= w.in_w) continue;
                const auto place = static_cast<size_t>(y) * w.in_w + static_cast<size_t>(x);
                const float* source = in + (image * w.in_h * w.in_w + place) * channels;
                if (places == nullptr) {
                    // A NaN in the window stays in the result.
                    for (size_t c = 0; c < channels; ++c)
                        target[c] = source[c] > target[c] || source[c] != source[c] ? source[c] : target[c];
                    continue;
                }
                for (size_t c = 0; c < channels; ++c) {
                    if (source[c] > target[c] || source[c] != source[c]) {
                        target[c] = source[c];
                        places[c] = static_cast<uint16_t>(place);
                    }
                }
            }
        }
    });
}

void average_kernel(const Window& w, const PoolSettings& settings, const float* in, float* out) {
    const size_t channels = w.channels;
    for_each_window(w, [&](size_t pixel, size_t image, int64_t row, int64_t column) {
        float* target = out + pixel * channels;
        std::fill_n(target, channels, 0.0F);
        int64_t inside = 0;
        for (uint32_t ky = 0; ky < w.kernel_h; ++ky) {
            const int64_t y = row + ky;
            if (y < 0 || y >= w.in_h) continue;
            for (uint32_t kx = 0; kx < w.kernel_w; ++kx) {
                const int64_t x = column + kx;
                if (x < 0 || x >= w.in_w) continue;
                ++inside;
                const float* source = in + (image * w.in_h * w.in_w + static_cast<size_t>(y) * w.in_w + static_cast<size_t>(x)) * channels;
                for (size_t c = 0; c < channels; ++c) target[c] += source[c];
            }
        }
        // Padding counts, but not the part of a ceil-mode window that lies beyond it.
        const int64_t rows = std::min<int64_t>(row + w.kernel_h, int64_t{w.in_h} + w.bottom) - row;
        const int64_t columns = std::min<int64_t>(column + w.kernel_w, int64_t{w.in_w} + w.right) - column;
        const int64_t divisor =
            settings.divisor ? *settings.divisor : (settings.count_include_pad ? rows * columns : std::max<int64_t>(1, inside));
        const float scale = 1.0F / static_cast<float>(divisor);
        for (size_t c = 0; c < channels; ++c) target[c] *= scale;
    });
}

// --- where TT-NN runs a pool ---------------------------------------------------------------------------------------------

struct PoolRequest {
    const Window& window;
    const PoolSettings& settings;
    bool tiled_in, tiled_out;
};

/// Cores of one scheme. Sticks may be half a tile wide; tiles on either side need whole ones.
Placement pool_cores(const PoolRequest& r, CoreCoord grid, TensorMemoryLayout scheme, uint32_t channel_unit) {
    const uint32_t channels = r.window.channels, width_unit = r.tiled_in || r.tiled_out ? 32 : 16;
    const auto rows = static_cast<uint32_t>((r.window.out_pixels() + (r.tiled_out ? 31 : 0)) / (r.tiled_out ? 32 : 1));
    const auto units = [&](uint32_t unit) { return (channels + unit - 1) / unit; };
    const auto all = static_cast<uint32_t>(grid.x * grid.y);
    if (scheme == TensorMemoryLayout::HEIGHT_SHARDED) return {scheme, parts_with_padding(rows, all), 1, grid};
    if (scheme == TensorMemoryLayout::WIDTH_SHARDED) return {scheme, 1, largest_divisor_up_to(units(width_unit), all), grid};
    auto across = static_cast<uint32_t>(grid.x);
    while (units(width_unit) % across != 0 || units(channel_unit) % across != 0) --across;
    return {scheme, parts_with_padding(rows, static_cast<uint32_t>(grid.y)), across, grid};
}

/// L1 bytes per core that TT-NN estimates for a scheme: its circular buffers and the output shard. The smallest scheme wins.
uint64_t pool_l1_bytes(const PoolRequest& r, const Placement& placement) {
    constexpr uint64_t TILE_VALUES = 1024, TILE_BYTES = 2048, BUFFERS = 2, READERS = 2;
    const Window& w = r.window;
    const auto up = [](uint64_t value, uint64_t by) { return (value + by - 1) / by * by; };
    const uint64_t per_core = w.channels / placement.cores_c, window = uint64_t{w.kernel_h} * w.kernel_w;
    const auto pieces = [&](uint64_t width) { return (w.channels + placement.cores_c * width - 1) / (placement.cores_c * width); };
    const bool narrow = per_core % 32 != 0 && per_core % 32 <= 16, large = window > (narrow ? 16U : 32U);
    const uint64_t most_tiles = r.settings.indices ? 1 : (r.settings.average && large ? 4 : 8);
    const uint64_t window_rows = window <= 16 ? window : 32;
    const uint64_t values = r.settings.indices ? most_tiles * TILE_VALUES : std::min(pieces(32), most_tiles) * 32 * window_rows;
    const bool ceil_pads = w.ceil_mode && ((uint64_t{w.out_h()} - 1) * w.stride_h + w.kernel_h > uint64_t{w.in_h} + w.top + w.bottom ||
                                           (uint64_t{w.out_w()} - 1) * w.stride_w + w.kernel_w > uint64_t{w.in_w} + w.left + w.right);
    const bool pads = w.top + w.bottom + w.left + w.right > 0;
    const bool scalars_vary = r.settings.average && !r.settings.divisor && (ceil_pads || (!r.settings.count_include_pad && pads));
    uint64_t bytes = BUFFERS * TILE_BYTES * (scalars_vary ? 2 : 1) + TILE_BYTES + BUFFERS * READERS * 2 * up(values, TILE_VALUES);
    if (r.settings.indices) bytes += 6 * TILE_BYTES;
    const uint64_t rows = placement.scheme == TensorMemoryLayout::WIDTH_SHARDED
                              ? up(w.out_pixels(), r.tiled_out && w.channels <= 16 ? 32 : 1)  // one face wide: a whole tile
                              : up(w.out_pixels(), uint64_t{placement.cores_nhw} * 32) / placement.cores_nhw;
    const uint64_t width = up(w.channels, uint64_t{placement.cores_c} * 32) / placement.cores_c;
    uint64_t output =
        r.tiled_out ? rows * width / TILE_VALUES * tile_bytes(r.settings.dtype) : std::min<uint64_t>(16, width) * 2 * rows * pieces(16);
    bytes += up(output, 32) + (r.settings.indices ? up(output, 32) : 0);
    if (r.tiled_out) bytes += pieces(32) * TILE_BYTES;
    if (r.settings.config_in_dram) bytes += rows * 6 + 2 + (scalars_vary ? rows * 6 : 0);
    return bytes;
}

Placement place_pool(const PoolRequest& r, CoreCoord grid) {
    if (r.settings.scheme) return pool_cores(r, grid, *r.settings.scheme, r.tiled_in ? 32 : 8);
    const Placement height = pool_cores(r, grid, TensorMemoryLayout::HEIGHT_SHARDED, 32);
    const Placement width = pool_cores(r, grid, TensorMemoryLayout::WIDTH_SHARDED, 32);
    const Placement block = pool_cores(r, grid, TensorMemoryLayout::BLOCK_SHARDED, 32);
    const uint64_t tall = pool_l1_bytes(r, height), wide = pool_l1_bytes(r, width), square = pool_l1_bytes(r, block);
    if (tall > wide) return wide > square ? block : width;
    return tall > square ? block : height;
}

// --- means of whole images -----------------------------------------------------------------------------------------------

/// Rows of pixels in tiles with padding between them.
bool padded_rows(const Tensor& input) {
    const Shape& shape = input.logical_shape();
    return input.layout() == Layout::TILE && shape.rank() == 4 && shape[2] % 32 != 0;
}

/// Whether TT-NN takes the mean of each image with a reduction instead of sliding a window.
bool averages_images(const Tensor& input, const Window& w, const PoolSettings& settings) {
    return settings.average && !settings.scheme && !input.is_sharded() && w.kernel_h == w.in_h && w.kernel_w == w.in_w && w.top == 0 &&
           w.bottom == 0 && w.left == 0 && w.right == 0 && w.dilation_h == 1 && w.dilation_w == 1 &&
           !(padded_rows(input) && is_block_float(input.dtype()));
}

/// [1, 1, batch, channels] in the input's dtype.
Tensor average_images(const Tensor& input, const Window& w, const PoolSettings& settings) {
    const MemoryConfig memory = settings.memory_config.value_or(input.memory_config());
    const Shape shape({1, 1, w.batch, w.channels});
    if (input.logical_volume() == 0)
        return ttnn::to_layout(
            reduction::filled(input, shape, std::numeric_limits<float>::quiet_NaN(), input.layout(), memory), settings.layout);
    Tensor value = input.memory_config() == memory ? input : ttnn::to_memory_config(input, memory);
    if (padded_rows(value)) value = ttnn::to_layout(value, Layout::ROW_MAJOR);
    value = ttnn::reshape(value, Shape({w.batch, 1, w.in_h * w.in_w, w.channels}));
    const float scale = 1.0F / static_cast<float>(settings.divisor.value_or(static_cast<int32_t>(w.in_h * w.in_w)));
    value = ttnn::sum(
        value, 2, true, memory, settings.compute, scale, true, std::nullopt, false,
        w.batch == 1 ? std::optional(settings.layout) : std::nullopt);
    if (w.batch > 1) value = ttnn::reshape(value, shape);
    if (settings.layout == Layout::ROW_MAJOR && value.layout() == Layout::TILE && is_block_float(value.dtype()))
        value = ttnn::typecast(value, DataType::BFLOAT16);
    return ttnn::to_layout(value, settings.layout);
}

/// Values of the whole pool.
void pool_kernel(const Tensor& input, const Window& window, const PoolSettings& settings, std::span<const Tensor> made) {
    const F32Values values(input);
    std::vector<float> result(made[0].logical_volume());
    if (settings.average) {
        average_kernel(window, settings, values.data(), result.data());
    } else {
        max_kernel(window, values.data(), result.data(), settings.indices ? mutable_data<uint16_t>(made[1]).data() : nullptr);
    }
    write_f32(made[0], result);
}

/// The pool's own program, on an input with its halo.
std::vector<Tensor> run_pool(
    const Tensor& halo, const Window& window, const PoolSettings& settings, const Placement& placement, const Kernel& kernel) {
    const Shape shape({1, 1, static_cast<uint32_t>(window.out_pixels()), window.channels});
    const uint32_t unit = settings.layout == Layout::TILE ? 32 : 1;
    const MemoryConfig sharded = placement.memory_config(window.out_pixels(), window.channels, unit, unit == 1 ? 16 : 32);
    std::vector<TensorSpec> specs{make_spec(shape, settings.dtype, settings.layout, sharded)};
    if (settings.indices) specs.push_back(make_spec(shape, DataType::UINT16, Layout::ROW_MAJOR, sharded));
    return launch(
        {.op = strategy::Pool2d{.window_hw = {window.kernel_h, window.kernel_w}, .max = !settings.average, .core_count = placement.cores()},
         .compute = settings.compute,
         .name = "Pool2D"},
        {halo}, specs, kernel);
}

/// The image in slices, one after the other, from and to DRAM. The last program computes all values.
Tensor pool_slices(const Tensor& input, const Window& window, const PoolSettings& settings, uint32_t slices) {
    const bool rows = settings.slices->slice_type == SliceConfig::SliceType::DRAM_HEIGHT, tiled = settings.layout == Layout::TILE;
    const uint32_t unit = tiled ? 32 : 1, extent = rows ? window.out_h() : window.out_w();
    const MemoryConfig dram(TensorMemoryLayout::INTERLEAVED, BufferType::DRAM);
    const Shape image({window.batch, window.out_h(), window.out_w(), window.channels});
    const Shape flat({1, 1, static_cast<uint32_t>(window.out_pixels()), window.channels});
    Tensor source = input, output;
    if (input.layout() == Layout::TILE) source = ttnn::reshape(input, Shape({window.batch, window.in_h, window.in_w, window.channels}));
    const Kernel nothing = [](std::span<const Tensor> outputs) {
        outputs[0].shim().buffer->set_values(zero_values(outputs[0].logical_volume() * stored_bytes(outputs[0].dtype())));
    };
    uint32_t end = 0;
    for (const uint32_t size : slice_extents(extent, slices, tiled && !rows)) {
        const Window part = part_of(window, rows, end, end + size);
        end += size;
        const Placement placement = place_pool({part, settings, input.layout() == Layout::TILE, tiled}, machine_of(input).grid());
        Tensor halo = gather_halo(padded_slice(source, part, placement), part, placement, unit, false, settings.config_in_dram, true);
        Tensor piece = run_pool(halo, part, settings, placement, nothing)[0];
        halo = Tensor();
        if (placement.scheme == TensorMemoryLayout::WIDTH_SHARDED)
            piece = launch(
                {.op = strategy::ShardedToInterleaved{}, .name = "ShardedToInterleavedDeviceOperation"}, {piece},
                {make_spec(piece.logical_shape(), settings.dtype, settings.layout, dram)}, nothing)[0];
        const bool last = end == extent;
        const Shape made = last ? (tiled ? image : flat) : piece.logical_shape();
        const Kernel whole = [=](std::span<const Tensor> outputs) { pool_kernel(input, window, settings, outputs); };
        output = launch(
            {.op = strategy::SliceWrite{}, .name = "SliceWriteDeviceOperation"}, {piece},
            {make_spec(made, settings.dtype, settings.layout, dram)}, last ? whole : nothing)[0];
    }
    return output.logical_shape() == flat ? output : ttnn::reshape(output, flat);
}

/// Bytes of L1 per core that TT-NN reckons with for a part of the image: its shards, these with their neighbours' rows, and
/// `pool_l1_bytes`.
uint64_t part_l1_bytes(const Tensor& input, const Window& part, const PoolSettings& settings) {
    const bool tiled_in = input.layout() == Layout::TILE, tiled_out = settings.layout == Layout::TILE;
    const PoolRequest request{part, settings, tiled_in, tiled_out};
    const Placement placement = place_pool(request, machine_of(input).grid());
    const auto up = [](uint64_t value, uint64_t by) { return (value + by - 1) / by * by; };
    const uint64_t unit = tiled_out ? 32 : 1,
                   channels = up(part.channels, uint64_t{placement.cores_c} * (tiled_in ? 32 : 8)) / placement.cores_c;
    const uint64_t pixels = up(part.in_pixels(), uint64_t{placement.cores_nhw} * unit) / placement.cores_nhw;
    const uint64_t element = stored_bytes(is_block_float(input.dtype()) ? DataType::BFLOAT16 : input.dtype());
    return (pixels + halo_sticks(part, placement, static_cast<uint32_t>(unit))) * channels * element + pool_l1_bytes(request, placement);
}

/// TT-NN's own slices of an image in DRAM: as few as leave one of them in the free L1. Columns first, their halo is smaller, except of
/// narrow or tall images; where no number of them fits, the other way. A config that names the way but no number keeps its way.
std::optional<SliceConfig> fitting_slices(const Tensor& input, const Window& window, const PoolSettings& settings) {
    constexpr uint32_t NARROW_TILED = 200, TALL = 3;
    const bool tiled = settings.layout == Layout::TILE;
    const bool rows_first = tiled ? window.in_w < NARROW_TILED || window.in_h > window.in_w : window.in_h > TALL * window.in_w;
    const uint64_t space = device_of(input)->shim().allocator().circular_buffer_space();
    std::vector<bool> ways{rows_first, !rows_first};
    if (settings.slices) ways = {settings.slices->slice_type == SliceConfig::SliceType::DRAM_HEIGHT};
    for (const bool rows : ways) {
        const uint32_t extent = rows ? window.out_h() : window.out_w(), most = tiled && !rows ? (extent + 31) / 32 : extent;
        for (uint32_t slices = 1; slices <= most; ++slices) {
            const uint32_t largest = slice_extents(extent, slices, tiled && !rows).front();
            if (part_l1_bytes(input, part_of(window, rows, 0, largest), settings) <= space)
                return SliceConfig{rows ? SliceConfig::SliceType::DRAM_HEIGHT : SliceConfig::SliceType::DRAM_WIDTH, slices};
        }
    }
    return std::nullopt;
}

std::vector<Tensor> pool(const Tensor& input, Window window, PoolSettings settings) {
    check_device_tensor(input, "input_tensor");
    SHIM_CHECK(!settings.divisor || *settings.divisor != 0, "divisor_override: expected a number other than 0");
    if (averages_images(input, window, settings) && input.logical_volume() == window.in_pixels() * window.channels) {
        return {average_images(input, window, settings)};
    }
    window.check();
    // TT-NN moves 32-bit integers through its halo as they are and pools them as bfloat16.
    SHIM_CHECK(
        input.dtype() == DataType::BFLOAT16 || is_block_float(input.dtype()) || input.dtype() == DataType::INT32 ||
            input.dtype() == DataType::UINT32,
        "input_tensor: expected dtype BFLOAT16 or BFLOAT8_B, got {}", input.dtype());
    SHIM_CHECK(
        input.logical_volume() == window.in_pixels() * window.channels, "input_tensor: expected {} x {} x {} x {} values, got shape {}",
        window.batch, window.in_h, window.in_w, window.channels, input.logical_shape());
    SHIM_CHECK(
        std::max(window.top, window.bottom) <= window.kernel_h / 2 && std::max(window.left, window.right) <= window.kernel_w / 2,
        "padding: expected at most half of the kernel {} x {} on each side, got {}, {}, {} and {}", window.kernel_h, window.kernel_w,
        window.top, window.bottom, window.left, window.right);
    SHIM_CHECK(
        !settings.indices || uint64_t{window.in_h} * window.in_w <= MAX_INDEXED_PIXELS,
        "return_indices: expected at most {} pixels per image, got {}", MAX_INDEXED_PIXELS, uint64_t{window.in_h} * window.in_w);
    SHIM_CHECK(!settings.indices || settings.layout == Layout::ROW_MAJOR, "output_layout: expected ROW_MAJOR with return_indices");
    SHIM_CHECK(
        settings.dtype == DataType::BFLOAT16 || settings.dtype == DataType::BFLOAT8_B || settings.dtype == DataType::BFLOAT4_B,
        "dtype: expected BFLOAT16, BFLOAT8_B or BFLOAT4_B, got {}", settings.dtype);
    SHIM_CHECK(settings.layout == Layout::TILE || settings.dtype == DataType::BFLOAT16, "output_layout: {} needs TILE", settings.dtype);
    const uint32_t unit = settings.layout == Layout::TILE ? 32 : 1;
    const bool legacy = input.is_sharded() && input.memory_config().shard_spec().has_value();
    SHIM_CHECK(!input.is_sharded() || !settings.scheme, "applied_shard_scheme: a sharded input_tensor brings its own");
    const bool in_dram = !input.is_sharded() && !input.memory_config().is_l1();
    const bool number_is_free =
        !settings.slices || (settings.slices->num_slices == 0 && settings.slices->slice_type != SliceConfig::SliceType::L1_FULL);
    if (number_is_free && !settings.indices && in_dram && input.logical_volume() > 0)
        settings.slices = fitting_slices(input, window, settings);
    const uint32_t slices = settings.indices ? 1 : slices_asked(settings.slices, input);  // indices are those of the whole image
    if (slices > 1) {
        return {pool_slices(input, window, settings, slices)};
    }
    const Placement placement =
        legacy ? placement_of(input.memory_config(), machine_of(input).grid())
               : place_pool({window, settings, input.layout() == Layout::TILE, settings.layout == Layout::TILE}, machine_of(input).grid());
    // Shards are held to the end, whoever made them, unless they may be given back: then before the gathered rows move. An interleaved
    // input stays.
    Tensor shards = image_shards(input, window, placement);
    Tensor halo = gather_halo(shards, window, placement, unit, false, settings.config_in_dram, true);
    const bool frees_input = settings.deallocate_input && legacy;
    const bool recording = is_recording(device_of(input)->shim());  // has no values yet
    const Tensor values = frees_input && !recording ? without_place(input, std::nullopt) : input;
    if (settings.deallocate_input || in_dram) shards.deallocate(true);
    if (settings.reallocate_halo) halo = ttnn::move(halo);
    auto outputs = run_pool(halo, window, settings, placement, [=](std::span<const Tensor> made) {
        pool_kernel(frees_input && recording ? without_place(values, std::nullopt) : values, window, settings, made);
    });
    if (settings.memory_config) {
        for (Tensor& output : outputs) {
            if (*settings.memory_config != output.memory_config()) output = ttnn::to_memory_config(output, *settings.memory_config);
        }
    }
    return outputs;
}

std::vector<Tensor> call_pool(const auto& args, bool average) {
    const OpScope scope(average ? "ttnn.avg_pool2d" : "ttnn.max_pool2d");
    PoolSettings settings{
        .average = average,
        .memory_config = args.memory_config,
        .scheme = shard_scheme("applied_shard_scheme", args.applied_shard_scheme),
        .deallocate_input = args.deallocate_input,
        .reallocate_halo = args.reallocate_halo_output,
        .config_in_dram = args.config_tensor_in_dram,
        .dtype = args.dtype,
        .layout = args.output_layout,
        .slices = args.dram_slice_config};
    std::array<uint32_t, 2> dilation{1, 1};
    if constexpr (requires { args.dilation; }) {
        dilation = args.dilation;
        settings.indices = args.return_indices;
    } else {
        settings.count_include_pad = args.count_include_pad;
        settings.divisor = args.divisor_override;
        settings.compute = args.compute_kernel_config;
    }
    const auto window = window_of(
        args.batch_size, args.input_h, args.input_w, args.channels, args.kernel_size, args.stride, pads_of(args.padding), dilation,
        args.ceil_mode);
    return pool(args.input_tensor, window, settings);
}

/// One dimension of an adaptive pool as a plain one: TT-NN takes patterns whose windows have one size and step, apart from shorter ones at
/// the edges, which padding completes.
struct AdaptiveSide {
    uint32_t kernel = 1, stride = 1, before = 0, after = 0;
};
AdaptiveSide adaptive_side(uint32_t in, uint32_t out, const char* name) {
    SHIM_CHECK(out > 0 && out <= in, "output_size: {} of {} {} values", out, in, name);
    std::vector<uint32_t> begins, ends;
    for (uint64_t i = 0; i < out; ++i) {
        begins.push_back(static_cast<uint32_t>(i * in / out));
        ends.push_back(static_cast<uint32_t>(((i + 1) * in + out - 1) / out));
    }
    AdaptiveSide side;
    for (size_t i = 0; i < out; ++i) side.kernel = std::max(side.kernel, ends[i] - begins[i]);
    side.before = side.kernel - (ends.front() - begins.front());
    side.after = side.kernel - (ends.back() - begins.back());
    side.stride = out == 1 ? 1 : ends[1] - ends[0];
    for (size_t i = 0; i < out; ++i) {
        const int64_t expected = static_cast<int64_t>(i * side.stride) - side.before;
        const bool fits = std::max<int64_t>(0, expected) == begins[i] && std::min<int64_t>(in, expected + side.kernel) == ends[i];
        SHIM_CHECK(fits, "Adaptive pooling configuration not supported: {} {} to {} has windows of different sizes", name, in, out);
    }
    return side;
}

Tensor call_adaptive(const auto& args, bool average) {
    const OpScope scope(average ? "ttnn.adaptive_avg_pool2d" : "ttnn.adaptive_max_pool2d");
    const auto& size = args.output_size;
    const uint32_t h = args.input_h, w = args.input_w, batch = args.batch_size, channels = args.channels;
    const uint64_t given = args.input_tensor.logical_volume();
    SHIM_CHECK(
        given > 0 && given == Shape({batch, h, w, channels}).volume(), "input_tensor: expected {} x {} x {} x {} values, got shape {}",
        batch, h, w, channels, args.input_tensor.logical_shape());
    const AdaptiveSide rows = adaptive_side(h, size.front(), "height"), columns = adaptive_side(w, size.back(), "width");
    PoolSettings settings{
        .average = average,
        .count_include_pad = false,
        .memory_config = args.memory_config,
        .scheme = shard_scheme("applied_shard_scheme", args.applied_shard_scheme),
        .deallocate_input = args.deallocate_input,
        .reallocate_halo = args.reallocate_output};
    if constexpr (requires { args.compute_kernel_config; }) settings.compute = args.compute_kernel_config;
    const Pads padding = std::array<uint32_t, 4>{rows.before, rows.after, columns.before, columns.after};
    const Window window =
        window_of(batch, h, w, channels, {rows.kernel, columns.kernel}, {rows.stride, columns.stride}, padding, {1, 1}, false);
    const Tensor& input = args.input_tensor;
    return pool(input, window, settings)[0];
}

/// What both C++ functions take.
PoolSettings pool_settings(
    const std::optional<const MemoryConfig>& memory_config, std::optional<const TensorMemoryLayout> scheme, bool deallocate_input,
    bool reallocate_halo, DataType dtype, Layout layout, bool config_in_dram) {
    PoolSettings settings{
        .deallocate_input = deallocate_input,
        .reallocate_halo = reallocate_halo,
        .config_in_dram = config_in_dram,
        .dtype = dtype,
        .layout = layout};
    if (memory_config) settings.memory_config = *memory_config;
    if (scheme) settings.scheme = *scheme;
    return settings;
}

}  // namespace
}  // namespace ttnn_shim

using namespace ttnn_shim;

namespace ttnn::operations::pool {

std::vector<Tensor> max_pool2d(
    const Tensor& input_tensor, uint32_t batch_size, uint32_t input_h, uint32_t input_w, uint32_t channels,
    std::array<uint32_t, 2> kernel_size, std::array<uint32_t, 2> stride,
    std::variant<std::array<uint32_t, 2>, std::array<uint32_t, 4>> padding, std::array<uint32_t, 2> dilation, bool ceil_mode,
    const std::optional<const MemoryConfig>& memory_config, const std::optional<op_slicing::Op2DSliceConfig>& slices,
    std::optional<const TensorMemoryLayout> applied_shard_scheme, bool deallocate_input, bool reallocate_halo_output, bool return_indices,
    DataType dtype, Layout output_layout, bool config_tensor_in_dram) {
    const OpScope scope("ttnn.max_pool2d");
    PoolSettings settings = pool_settings(
        memory_config, applied_shard_scheme, deallocate_input, reallocate_halo_output, dtype, output_layout, config_tensor_in_dram);
    settings.indices = return_indices;
    settings.slices = slices;
    return ttnn_shim::pool(
        input_tensor, window_of(batch_size, input_h, input_w, channels, kernel_size, stride, padding, dilation, ceil_mode), settings);
}

Tensor avg_pool2d(
    const Tensor& input_tensor, uint32_t batch_size, uint32_t input_h, uint32_t input_w, uint32_t channels,
    std::array<uint32_t, 2> kernel_size, std::array<uint32_t, 2> stride,
    std::variant<std::array<uint32_t, 2>, std::array<uint32_t, 4>> padding, bool ceil_mode, bool count_include_pad,
    std::optional<int32_t> divisor_override, const std::optional<const MemoryConfig>& memory_config,
    const std::optional<op_slicing::Op2DSliceConfig>& slices, std::optional<const TensorMemoryLayout> applied_shard_scheme,
    const std::optional<ComputeKernelConfig>& compute_kernel_config, bool deallocate_input, bool reallocate_halo_output, DataType dtype,
    Layout output_layout, bool config_tensor_in_dram) {
    const OpScope scope("ttnn.avg_pool2d");
    PoolSettings settings = pool_settings(
        memory_config, applied_shard_scheme, deallocate_input, reallocate_halo_output, dtype, output_layout, config_tensor_in_dram);
    settings.average = true;
    settings.count_include_pad = count_include_pad;
    settings.divisor = divisor_override;
    settings.slices = slices;
    settings.compute = compute_kernel_config;
    return ttnn_shim::pool(
        input_tensor, window_of(batch_size, input_h, input_w, channels, kernel_size, stride, padding, {1, 1}, ceil_mode), settings)[0];
}

}  // namespace ttnn::operations::pool

SHIM_OP("ttnn.max_pool2d", [](const arguments::max_pool2d& args) { return call_pool(args, false); });
static auto run_adaptive_max_pool2d(const arguments::adaptive_max_pool2d& args) { return call_adaptive(args, false); }
SHIM_OP("ttnn.adaptive_max_pool2d", run_adaptive_max_pool2d);
static auto run_adaptive_avg_pool2d(const arguments::adaptive_avg_pool2d& args) { return call_adaptive(args, true); }
SHIM_OP("ttnn.adaptive_avg_pool2d", run_adaptive_avg_pool2d);
SHIM_OP("ttnn.avg_pool2d", [](const arguments::avg_pool2d& args) { return call_pool(args, true); });

// ---- the C++ functions ------------------------------------------------------------------------------------------------------

namespace ttnn::operations::experimental::adaptive_pool {

Tensor adaptive_avg_pool2d(
    const Tensor& input_tensor, uint32_t batch_size, uint32_t input_h, uint32_t input_w, uint32_t channels,
    std::array<uint32_t, 2> output_size, const std::optional<const MemoryConfig>& memory_config,
    const std::optional<op_slicing::Op2DSliceConfig>& dram_slice_config, std::optional<const TensorMemoryLayout> applied_shard_scheme,
    const std::optional<ComputeKernelConfig>& compute_kernel_config, bool deallocate_input, bool reallocate_output) {
    return ::run_adaptive_avg_pool2d({SHIM_NAMED(
        input_tensor, batch_size, input_h, input_w, channels, output_size, memory_config, dram_slice_config, applied_shard_scheme,
        compute_kernel_config, deallocate_input, reallocate_output)});
}

Tensor adaptive_max_pool2d(
    const Tensor& input_tensor, uint32_t batch_size, uint32_t input_h, uint32_t input_w, uint32_t channels,
    std::array<uint32_t, 2> output_size, const std::optional<const MemoryConfig>& memory_config,
    const std::optional<op_slicing::Op2DSliceConfig>& dram_slice_config, std::optional<const TensorMemoryLayout> applied_shard_scheme,
    bool deallocate_input, bool reallocate_output) {
    return ::run_adaptive_max_pool2d({SHIM_NAMED(
        input_tensor, batch_size, input_h, input_w, channels, output_size, memory_config, dram_slice_config, applied_shard_scheme,
        deallocate_input, reallocate_output)});
}

}  // namespace ttnn::operations::experimental::adaptive_pool
