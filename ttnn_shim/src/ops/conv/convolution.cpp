// A convolution's device programs and kernel. With a 1x1 window it is a matmul, as in TT-NN; any other is interleaved-to-sharded, halo,
// move, conv, and back, in slices where one piece does not fit into L1.
#include "ops/conv/convolution.hpp"

#include <cstring>
#include <numeric>

#include "ops/conv/shards.hpp"
#include "ops/conv/values.hpp"
#include "ops/data_movement/strided_copy.hpp"
#include "ops/trace_values.hpp"
#include "ttnn/operations/core/core.hpp"
#include "ttnn/operations/core/to_layout/to_layout_op.hpp"
#include "ttnn/operations/core/to_memory_config/to_memory_config_op.hpp"
#include "ttnn/operations/data_movement/fold/fold.hpp"
#include "ttnn/operations/data_movement/move/move.hpp"
#include "ttnn/operations/data_movement/reshape_view/reshape.hpp"
#include "ttnn/operations/matmul/matmul.hpp"

namespace ttnn_shim {
namespace {

constexpr uint32_t TILE_EDGE = 32;
constexpr uint32_t DEST_TILES = 8;  // tiles of the destination registers; half with float32 accumulation

uint32_t div_up(uint64_t value, uint64_t by) { return static_cast<uint32_t>((value + by - 1) / by); }

MemoryConfig dram() { return MemoryConfig(TensorMemoryLayout::INTERLEAVED, BufferType::DRAM); }

/// Placement of the result: on the input's cores, but on no more columns of them than it has tiles of channels.
Placement result_placement(Placement placement, uint32_t out_channels) {
    if (placement.scheme == TensorMemoryLayout::BLOCK_SHARDED && !placement.own)
        placement.cores_c = std::min(placement.cores_c, div_up(out_channels, TILE_EDGE));
    return placement;
}

/// The given compute config, else the convolution's own: HiFi4 whatever the data types, unlike a product's, also where it runs as one.
ttnn::ComputeKernelConfig compute_config(const Tensor& input, DataType weights_dtype, const Settings& settings) {
    const bool exact = input.dtype() == DataType::FLOAT32 && weights_dtype == DataType::FLOAT32;
    std::optional<const ttnn::ComputeKernelConfig> given;
    if (settings.compute) given.emplace(*settings.compute);
    return ttnn::init_device_compute_kernel_config(device_of(input)->arch(), given, ttnn::MathFidelity::HiFi4, true, exact, false);
}

/// The device program of the convolution itself, on an input whose halo has been gathered. rows: tiles of output pixels.
Program placed_program(
    const Tensor& input, const Tensor& weight, const Convolution& conv, const Placement& placement, uint32_t rows, Layout layout,
    const Settings& settings) {
    const Window& w = conv.window;
    const bool split_channels = placement.scheme != TensorMemoryLayout::HEIGHT_SHARDED;
    const uint32_t per_core_m = div_up(rows, placement.cores_nhw);
    const uint32_t cores_c_out = result_placement(placement, conv.weights.out_channels).cores_c;
    const uint32_t per_core_n = div_up(div_up(conv.weights.out_channels, TILE_EDGE), split_channels ? cores_c_out : 1);
    // TT-NN's default block is all rows of a core by one kernel row of the channels that the core's sticks hold.
    const uint32_t block_h = settings.config.act_block_h_override > 0
                                 ? std::min(per_core_m, std::max(1U, settings.config.act_block_h_override / TILE_EDGE))
                                 : per_core_m;
    const uint32_t stick = input.layout() == Layout::TILE && !input.is_sharded() ? TILE_EDGE : 8;
    const uint32_t channels = div_up(div_up(w.channels, split_channels ? placement.cores_c : 1), stick) * stick;
    const uint32_t inner = div_up(uint64_t{w.kernel_w} * channels, TILE_EDGE);
    const ttnn::ComputeKernelConfig compute = compute_config(input, weight.dtype(), settings);
    const uint32_t limit = compute.fp32_dest_acc_en ? DEST_TILES / 2 : DEST_TILES;
    const uint32_t subblock_w = largest_divisor_up_to(per_core_n, limit);
    const uint32_t subblock_h = largest_divisor_up_to(block_h, std::max(1U, limit / subblock_w));
    const ConvBlocks blocks{
        .rows = per_core_m,
        .columns = per_core_n,
        .block_h = block_h,
        .block_w = std::max(1U, inner / std::max(1U, settings.config.act_block_w_div)),
        .subblock_h = subblock_h,
        .subblock_w = subblock_w};
    return conv_program(
        w, conv.weights.groups, blocks, {placement.cores_nhw, placement.cores_c, cores_c_out}, layout, settings.config, compute);
}

Tensor run_conv(
    const Tensor& input, const Tensor& halo, const Tensor& weight, const std::optional<Tensor>& bias, const Convolution& conv,
    const Placement& placement, const TensorSpec& output_spec, const Settings& settings, const Kernel& kernel) {
    std::vector<Tensor> inputs{halo, weight};
    if (bias) {
        inputs.push_back(*bias);
    }
    const uint32_t rows = div_up(output_spec.logical_shape()[2], TILE_EDGE);
    return launch(placed_program(input, weight, conv, placement, rows, output_spec.layout(), settings), inputs, {output_spec}, kernel)[0];
}

/// How a convolution is cut so that one slice's shards, halo and circular buffers fit into L1.
struct Cut {
    Placement placement;
    uint32_t slices = 1;
    bool rows = true;          ///< slices of output rows, not columns
    uint32_t block_w_div = 1;  ///< parts of the inner dimension that are in L1 one after the other
};

uint64_t rounded(uint64_t value, uint64_t multiple) { return (value + multiple - 1) / multiple * multiple; }

/// Bytes of L1 per core at the worst moment of one slice.
uint64_t core_bytes(
    const Window& part, const Tensor& input, const Tensor& weight, const Convolution& conv, const Placement& placement, DataType dtype,
    const Settings& settings) {
    const uint64_t element = input.dtype() == DataType::FLOAT32 ? 4 : 2;
    const uint64_t stick = input.layout() == Layout::TILE && !input.is_sharded() ? TILE_EDGE : 8;
    const uint64_t channels = rounded(div_up(part.channels, placement.cores_c), stick);
    const uint64_t pixels = rounded(div_up(part.out_pixels(), placement.cores_nhw), TILE_EDGE);
    const uint64_t sticks = halo_sticks(part, placement, TILE_EDGE);
    const uint64_t held = rounded(div_up(part.in_pixels(), placement.cores_nhw), TILE_EDGE) * rounded(channels, TILE_EDGE) * element;
    const uint64_t halo = sticks * channels * element;
    const bool split = placement.scheme != TensorMemoryLayout::HEIGHT_SHARDED;
    const uint64_t out_channels = rounded(div_up(conv.weights.out_channels, split ? placement.cores_c : 1), TILE_EDGE);
    const uint64_t out = pixels * out_channels * (dtype == DataType::FLOAT32 ? 4 : 2);
    const Program program =
        placed_program(input, weight, conv, placement, div_up(part.out_pixels(), TILE_EDGE), settings.config.output_layout, settings);
    const auto& blocks = *program.op.get_if<strategy::Conv2d>();
    const auto integer = [](int64_t value) { return static_cast<uint64_t>(value); };
    const uint64_t block = integer(blocks.act_block_h * blocks.act_block_w), tile = 1024;
    const uint64_t weight_tile = tile * (weight.dtype() == DataType::FLOAT32 ? 4 : 2);
    uint64_t buffers = block * tile * element * (settings.config.enable_act_double_buffer ? 3 : 2);
    buffers += (integer(blocks.act_block_w) * (settings.config.enable_weights_double_buffer ? 2 : 1) + 1) * integer(blocks.per_core_n) *
               weight_tile;
    if (program.compute->fp32_dest_acc_en && dtype != DataType::FLOAT32)
        buffers += integer(blocks.act_block_h) * integer(blocks.per_core_n) * tile * 4;
    // Memory is allocated from the top: outputs that fit reuse the memory freed above the halo.
    if (!settings.config.reallocate_halo_output) {
        return held + halo + (out <= held ? 0 : out) + buffers;
    }
    return std::max(held + halo, (input.is_sharded() ? held : 0) + halo + out + buffers);
}

/// TT-NN's automatic choice: the sharding that needs the least L1; where none fits, more slices. Explicit shardings stay.
Cut fitting_cut(
    const Tensor& input, const Tensor& weight, const Convolution& conv, const Convolution& as_run, DataType dtype, const Settings& settings,
    MeshDevice* device, bool may_slice, uint32_t channel_unit = TILE_EDGE) {
    const CoreCoord grid = device->shim().grid();
    const Window& w = as_run.window;
    const uint32_t asked = settings.slices && may_slice ? settings.slices->num_slices : 0;
    const bool rows = asked > 0 ? settings.slices->slice_type == SliceConfig::SliceType::DRAM_HEIGHT : w.out_h() > 1;
    const uint32_t extent = rows ? w.out_h() : w.out_w();
    const uint64_t space = device->shim().allocator().circular_buffer_space() / 100 * 97;
    std::vector<std::optional<TensorMemoryLayout>> schemes{settings.config.shard_layout};
    if (!settings.config.shard_layout) {
        schemes = {TensorMemoryLayout::HEIGHT_SHARDED, TensorMemoryLayout::BLOCK_SHARDED, TensorMemoryLayout::WIDTH_SHARDED};
    }
    std::optional<Cut> best;
    uint64_t least = 0;
    for (uint32_t slices = std::max(1U, asked); slices <= (may_slice && asked == 0 ? extent : std::max(1U, asked)); slices *= 2) {
        const Window part = part_of(w, rows, 0, div_up(extent, slices));
        for (uint32_t division = 1; division <= 32; division *= 2) {
            Settings tried = settings;
            tried.config.act_block_w_div = settings.config.act_block_w_div * division;
            std::optional<Cut> smallest;
            uint64_t smallest_bytes = 0;
            for (const auto& scheme : schemes) {
                if (smallest && scheme == TensorMemoryLayout::WIDTH_SHARDED) break;  // where nothing else fits
                const Placement placement =
                    place_window(grid, part.out_pixels(), w.channels, conv.weights.out_channels, TILE_EDGE, scheme, channel_unit);
                const uint64_t bytes = core_bytes(part, input, weight, conv, placement, dtype, tried);
                const Cut cut{placement, slices, rows, tried.config.act_block_w_div};
                if (bytes <= space && (!smallest || bytes < smallest_bytes)) {
                    smallest = cut;
                    smallest_bytes = bytes;
                }
                if (!best || bytes < least) {
                    best = cut;
                    least = bytes;
                }
            }
            if (smallest) return *smallest;
        }
    }
    return *best;
}

/// Slices of the image one after the other, as TT-NN does from DRAM: part to shards, halo, conv, part of the DRAM output. The last
/// program computes all values.
Tensor run_sliced(
    const Tensor& source, const Tensor& weight, const std::optional<Tensor>& bias, const Convolution& conv, const Convolution& as_run,
    const Cut& cut, const TensorSpec& output_spec, const Settings& settings, const Kernel& kernel) {
    const Window& w = as_run.window;
    const Layout layout = settings.config.output_layout;
    const uint32_t extent = cut.rows ? w.out_h() : w.out_w();
    const bool whole_tiles = !cut.rows && layout == Layout::TILE && w.out_h() > 1;
    const Kernel nothing = [](std::span<const Tensor> outputs) {
        outputs[0].shim().buffer->set_values(zero_values(outputs[0].logical_volume() * stored_bytes(outputs[0].dtype())));
    };
    Tensor output;
    uint32_t end = 0;
    for (const uint32_t size : slice_extents(extent, cut.slices, whole_tiles)) {
        const Window part = part_of(w, cut.rows, end, end + size);
        end += size;
        Tensor shards = padded_slice(source, part, cut.placement);
        Tensor halo = gather_halo(shards, part, cut.placement, TILE_EDGE, false, settings.config.config_tensors_in_dram);
        shards = Tensor();  // deallocated before the rows move
        if (settings.config.reallocate_halo_output) halo = ttnn::move(halo);
        const Shape made({1, 1, static_cast<uint32_t>(part.out_pixels()), conv.weights.out_channels});
        const MemoryConfig sharded = result_placement(cut.placement, conv.weights.out_channels)
                                         .memory_config(
                                             part.out_pixels(), conv.weights.out_channels, layout == Layout::TILE ? TILE_EDGE : 1,
                                             layout == Layout::TILE ? TILE_EDGE : 8);
        const Tensor piece = run_conv(
            source, halo, weight, bias, conv, cut.placement, make_spec(made, output_spec.data_type(), layout, sharded), settings, nothing);
        halo = Tensor();
        const bool last = end == extent;
        const TensorSpec target = last ? output_spec : make_spec(made, output_spec.data_type(), layout, dram());
        output = launch({.op = strategy::SliceWrite{}, .name = "SliceWriteDeviceOperation"}, {piece}, {target}, last ? kernel : nothing)[0];
    }
    return output;
}

/// The cores of an input that is sharded already. Those of pixels stay; channels of the result may need others.
Placement kept_placement(const Tensor& input, const Convolution& conv, uint64_t pixels, MeshDevice* device) {
    const CoreCoord grid = device->shim().grid();
    if (input.memory_config().memory_layout() == TensorMemoryLayout::HEIGHT_SHARDED && input.memory_config().shard_spec())
        return placement_of(input.memory_config(), grid);
    return place_window(grid, pixels, conv.window.channels, conv.weights.out_channels, TILE_EDGE, input.memory_config().memory_layout());
}

/// The convolution that the device runs for a transposed one: the input with zeros between its pixels.
Convolution run_as(const Convolution& conv) {
    Convolution as_run = conv;
    if (!conv.weights.transposed) return as_run;
    const Window& w = conv.window;
    Window spread = w;
    spread.in_h = (w.in_h - 1) * w.stride_h + 1;
    spread.in_w = (w.in_w - 1) * w.stride_w + 1;
    spread.stride_h = spread.stride_w = 1;
    spread.spread_h = w.stride_h;
    spread.spread_w = w.stride_w;
    spread.top = spread.bottom = std::max(1U, w.dilation_h * (w.kernel_h - 1)) - std::min(w.top, w.dilation_h * (w.kernel_h - 1));
    spread.left = spread.right = std::max(1U, w.dilation_w * (w.kernel_w - 1)) - std::min(w.left, w.dilation_w * (w.kernel_w - 1));
    as_run.window = spread;
    return as_run;
}

/// Whether TT-NN converts non-overlapping windows to rows of a matmul (kernel stride folding).
bool folds(const Convolution& conv, const MemoryConfig& input, const std::optional<bool>& wanted) {
    const Window& w = conv.window;
    const uint32_t down = w.top + w.bottom, across = w.left + w.right;
    const bool height_shards = input.is_l1() && input.memory_layout() == TensorMemoryLayout::HEIGHT_SHARDED && input.shard_spec();
    const bool possible = !conv.weights.transposed && w.kernel_h == w.stride_h && w.kernel_w == w.stride_w && w.kernel_h * w.kernel_w > 1 &&
                          w.dilation_h == 1 && w.dilation_w == 1 && (w.in_h + down) % w.stride_h == 0 &&
                          (w.in_w + across) % w.stride_w == 0;
    const bool padded = down + across > 0;
    SHIM_SUPPORTED(
        !possible || !padded || !height_shards || !wanted.value_or(true),
        "padding: the library folds windows that lie side by side and pads no shards; set enable_kernel_stride_folding=False in "
        "conv_config, or "
        "give an input in DRAM");
    return possible && !padded && wanted.value_or((!input.is_sharded() && !input.is_l1()) || height_shards);
}

/// [1, 1, pixels, C] -> [1, 1, windows, kernel height x kernel width x C] in row-major layout.
Tensor folded(const Tensor& input, const Window& w) {
    const Shape image_shape({w.batch, w.in_h, w.in_w, w.channels});
    Tensor image = input;
    if (input.layout() == Layout::TILE) {  // where the image's rows are whole tiles its reshape moves nothing
        image = ttnn::reshape(input, image_shape);
        if (w.in_w % TILE_EDGE == 0) image = ttnn::to_layout(image, Layout::ROW_MAJOR);
    }
    const uint32_t rows = w.in_h / w.kernel_h, columns = w.in_w / w.kernel_w, stick = w.kernel_w * w.channels;
    const int64_t line = int64_t{w.in_w} * w.channels;
    const Shape result({1, 1, w.batch * rows * columns, w.kernel_h * stick});
    const auto dims = dense_target(
        Shape({w.batch * rows, columns, w.kernel_h, stick}), {line * w.kernel_h, static_cast<int64_t>(stick), line, int64_t{1}});
    const size_t bytes = stored_bytes(input.dtype());
    return launch(
        {.op = strategy::Fold{}, .name = "Fold"}, {image}, {make_spec(result, input.dtype(), Layout::ROW_MAJOR, dram())},
        [=](std::span<const Tensor> outputs) { strided_copy(bytes, raw_data(image), mutable_raw_data(outputs[0]), dims); })[0];
}

/// Sharding of an interleaved activation without a requested one: the one that needs the least L1.
Placement chosen_placement(
    const Convolution& conv, const ExpectedInput& input, DataType weight_dtype, const Settings& settings, MeshDevice* device,
    uint32_t channel_unit) {
    const Shape small({1, 1, TILE_EDGE, TILE_EDGE});  // placeholders: only their dtype and layout count
    const Tensor in = make_device_tensor(device, make_spec(small, input.dtype, input.layout));
    const Tensor weight = make_device_tensor(device, make_spec(small, weight_dtype, Layout::TILE));
    const DataType dtype = settings.dtype.value_or(input.dtype);
    return fitting_cut(in, weight, conv, run_as(conv), dtype, settings, device, !input.memory.is_l1(), channel_unit).placement;
}

/// The sharding that a convolution in L1 gives an interleaved activation: by rows, unless another that keeps the cores busy needs less L1
/// for its buffers, its gathered rows and its result.
TensorMemoryLayout chosen_scheme(
    const Convolution& conv, const Tensor& input, DataType weight_dtype, bool wide_sums, const Settings& settings, MeshDevice* device) {
    const CoreCoord grid = device->shim().grid();
    const bool exact = input.dtype() == DataType::FLOAT32;
    const DataType dtype = settings.dtype.value_or(input.dtype());
    Settings tried = settings;
    TensorMemoryLayout best = TensorMemoryLayout::HEIGHT_SHARDED;
    uint64_t least = 0;
    for (const auto scheme : {TensorMemoryLayout::HEIGHT_SHARDED, TensorMemoryLayout::BLOCK_SHARDED, TensorMemoryLayout::WIDTH_SHARDED}) {
        tried.config.shard_layout = scheme;
        const auto plan = plan_shards(conv, tried.config, {}, input.layout(), conv.window.channels, grid, false, wide_sums);
        const bool block = scheme == TensorMemoryLayout::BLOCK_SHARDED;
        const Window window = run_as(conv).window;
        const Placement placement{scheme, plan.input_cores.pixels(), plan.input_cores.channels(), grid};
        const ConvCores cores{plan.input_cores.pixels(), plan.input_cores.channels(), plan.output_cores.channels()};
        const uint64_t sticks = halo_sticks(window, placement, TILE_EDGE);
        const uint32_t channels = plan.input.shard_spec()->shape[1];
        const Shape result({1, 1, window.batch * conv.out_h() * conv.out_w(), conv.weights.out_channels});
        const uint64_t buffers = conv_buffer_bytes(
            device,
            conv_program(window, conv.weights.groups, plan, cores, settings.config.output_layout, settings.config, *settings.compute),
            {.cores = plan.input_cores.grid,
             .scheme = scheme,
             .input_dtype = exact ? DataType::FLOAT32 : DataType::BFLOAT16,
             .weight_dtype = weight_dtype,
             .sticks = sticks,
             .channels = channels,
             .output = make_spec(result, dtype, settings.config.output_layout, plan.output)});
        const uint64_t bytes = buffers + uint64_t{plan.rows} * plan.columns * tile_bytes(dtype) + sticks * channels * (exact ? 4 : 2);
        const bool busy = !block || std::max(plan.input_cores.grid.num_cores(), plan.output_cores.grid.num_cores()) >= grid.x;
        if (least > 0 && (bytes >= least || !busy)) continue;
        best = scheme;
        least = bytes;
    }
    return best;
}

/// Columns of prepared weights and bias in memory: the tiles of all cores of the result.
uint32_t result_columns(const ShardPlan& plan) { return plan.output_cores.channels() * plan.columns * TILE_EDGE; }

/// Rows of prepared weights in memory: each kernel row of each core's channels ends on a tile, as the blocks of the activation do.
uint32_t weight_rows(
    const Convolution& conv, const ExpectedInput& input, DataType weight_dtype, const Settings& settings, MeshDevice* device) {
    const WeightShape& shape = conv.weights;
    const auto tiles = [](uint64_t value) { return static_cast<uint32_t>(rounded(value, TILE_EDGE)); };
    const bool multiplies = conv.is_matmul() && !settings.config.shard_layout;
    if (multiplies || folds(conv, input.memory, settings.config.enable_kernel_stride_folding))
        return tiles(uint64_t{shape.in_channels} * shape.kernel_h * shape.kernel_w);
    constexpr uint32_t STICK = 8;  // channels; a transposed convolution reads its spread input as sticks
    uint32_t unit = input.layout == Layout::TILE ? TILE_EDGE : STICK;
    const auto& shards = input.memory.shard_spec();
    for (const uint32_t wider : {2 * STICK, TILE_EDGE})
        if (shards && shards->shape[1] % wider == 0) unit = std::max(unit, wider);
    const Placement placement = shards ? placement_of(input.memory, device->shim().grid())
                                       : chosen_placement(conv, input, weight_dtype, settings, device, shape.transposed ? STICK : unit);
    const uint64_t channels = rounded(div_up(shape.in_channels, placement.cores_c), unit);
    if (placement.scheme == TensorMemoryLayout::WIDTH_SHARDED) return tiles(channels * placement.cores_c * shape.kernel_h * shape.kernel_w);
    return placement.cores_c * shape.kernel_h * tiles(channels * shape.kernel_w);
}

/// Weights [O, I / groups, K] for an image of one row are those of a kernel of one row.
Tensor flat_weight(const Tensor& weight, const Convolution& conv) {
    const Shape& shape = weight.logical_shape();
    return shape.rank() == 3 && conv.window.in_h == 1 ? weight.reshape(Shape({shape[0], shape[1], 1, shape[2]})) : weight;
}

/// Weights that are to be prepared, on the host: TT-NN fetches those of a device.
Tensor raw_weights(const Tensor& given, const Convolution& conv) {
    if (conv.weights.transposed) return given;
    return flat_weight(is_on_device(given) ? given.cpu() : given, conv);
}

/// A product with an image of all channels takes weights for all of them.
void check_all_channels(const Tensor& weight, const Convolution& conv) {
    const uint32_t given = shape_given(weight, conv.weights).channels(), area = conv.weights.kernel_h * conv.weights.kernel_w;
    SHIM_CHECK(
        given == conv.weights.in_channels,
        "The width of the first tensor must be equal to the height of the second tensor. Mismatch: width={} height={}",
        conv.weights.in_channels * area, given * area);
}

/// Height shards are folded where they lie and multiplied as the image of the windows. TT-NN does not bring shards that are then no whole
/// tiles to others by itself.
Outcome convolve_folded_shards(
    const Tensor& input, const Tensor& weight_tensor, MeshDevice* device, const Convolution& conv, const std::optional<Tensor>& bias,
    Settings settings, DataType weights_dtype) {
    const Window& w = conv.window;
    const Tensor image = ttnn::reshape(input, Shape({w.batch, w.in_h, w.in_w, w.channels}));
    const Tensor windows = ttnn::fold(image, w.stride_h, w.stride_w);
    if (settings.config.deallocate_activation) Tensor(input).deallocate(true);
    const bool whole_tiles = windows.is_sharded() && windows.memory_config().shard_spec()->shape[0] % TILE_EDGE == 0;
    SHIM_CHECK(
        whole_tiles || settings.config.shard_layout,
        "Conv2d supports Height, Block or Width Sharded Layouts but got TensorMemoryLayout::INTERLEAVED: folded windows of {} x {} on {} "
        "are "
        "no whole tiles; give conv_config a shard_layout, or an input in DRAM",
        w.kernel_h, w.kernel_w, input.memory_config());
    SHIM_CHECK(
        whole_tiles || settings.config.shard_layout == TensorMemoryLayout::HEIGHT_SHARDED,
        "conv_config: shard_layout: shards of folded windows must be tiles, got {}", windows.memory_config());
    const uint32_t depth = w.kernel_h * w.kernel_w * w.channels;
    const Tensor weight = is_prepared(weight_tensor, conv.weights) && is_on_device(weight_tensor)
                              ? weight_tensor
                              : prepare_weights(
                                    raw_weights(weight_tensor, conv), conv.weights, weights_dtype, device,
                                    static_cast<uint32_t>(rounded(depth, TILE_EDGE)), 0);
    const Convolution flat = geometry(
        depth, conv.weights.out_channels, w.batch, w.in_h / w.kernel_h, w.in_w / w.kernel_w, {1, 1}, {1, 1}, Pads(), {1, 1}, 1, false);
    settings.config.deallocate_activation = true;  // the folded windows are nobody else's
    return convolve(windows, weight, device, flat, bias, settings);
}

/// A convolution whose weights are prepared and whose data types are settled.
struct Prepared {
    Convolution conv;
    Settings settings;
    Tensor weight;
    std::optional<Tensor> bias;
    std::vector<UnaryStep> steps;  ///< on the result
    Shape flat_out;                ///< [1, 1, pixels, channels]
    DataType dtype;
    Layout layout;  ///< of the result, where its data type can have it: products of shards are tiles whatever it says
    Shape flat_in;
    bool to_dram = false;  ///< in slices where one piece does not fit

    TensorSpec result(Layout chosen, const MemoryConfig& memory) const { return make_spec(flat_out, dtype, chosen, memory); }
    Kernel kernel(const Tensor& input) const {
        return [=, weight = weight, bias = bias, conv = conv, steps = steps, math = tensix_math(*settings.compute)](
                   std::span<const Tensor> outputs) { compute_conv(input, weight, bias, conv, steps, math, outputs[0]); };
    }
};

/// On the shards of `plan`; `input` is given up, and `halo` is what TT-NN holds until the result lies where memory_config says.
Tensor run_on_shards(Tensor& input, Tensor& halo, const ShardPlan& plan, bool pointwise, const Prepared& p) {
    const auto fewer = p.flat_in[3] == p.conv.window.channels ? std::nullopt : std::optional(p.conv.window.channels);
    const Tensor values = without_place(input, fewer);
    const std::optional<Tensor> captured = is_recording(device_of(input)->shim()) ? std::optional(input) : std::nullopt;  // has none yet
    if (input.logical_shape() != p.flat_in) input = ttnn::reshape(input, p.flat_in);
    Tensor source = on_plan(input, plan, p.settings, pointwise);
    input = Tensor();  // a host activation's shards have no other owner
    if (pointwise) return multiply_shards(std::move(source), p.weight, p.bias, plan, p.dtype, *p.settings.compute, p.settings);
    const TensorSpec spec = p.result(p.layout, plan.output);
    const Kernel kernel = [=, weight = p.weight, bias = p.bias, conv = p.conv, steps = p.steps,
                           math = tensix_math(*p.settings.compute)](std::span<const Tensor> outputs) {
        compute_conv(captured ? without_place(*captured, fewer) : values, weight, bias, conv, steps, math, outputs[0]);
    };
    return convolve_shards(
        std::move(source), halo, p.weight, p.bias, p.conv, run_as(p.conv).window, plan, spec, *p.settings.compute, p.settings, kernel);
}

/// As a product of the pixels, or of the non-overlapping windows.
Tensor run_as_product(const Tensor& input, bool folding, const Prepared& p) {
    const Tensor sticks = folding                              ? folded(input, p.conv.window)
                          : input.logical_shape() == p.flat_in ? input
                                                               : ttnn::reshape(input, p.flat_in);
    std::optional<const std::variant<std::string, ttnn::operations::unary::UnaryWithParam>> activation;
    if (p.settings.config.activation) activation.emplace(*p.settings.config.activation);
    const std::optional<const Tensor> bias = p.bias ? std::optional<const Tensor>(*p.bias) : std::nullopt;
    return ttnn::linear(
        ttnn::to_layout(sticks, Layout::TILE), p.weight, bias, false, false, std::optional<const MemoryConfig>(dram()), p.dtype,
        std::nullopt, activation, p.settings.compute);
}

/// Gathers rows onto the cores that TT-NN chooses and convolves there, in slices where one piece does not fit.
Tensor run_by_windows(const Tensor& input, Tensor& halo, const Prepared& p) {
    const Convolution &conv = p.conv, as_run = run_as(conv);
    const Window& w = conv.window;
    MeshDevice* device = device_of(input);
    Tensor source = input;
    Tensor image;  // TT-NN holds it until the end
    if (input.layout() == Layout::TILE && !input.is_sharded() && !input.memory_config().is_l1() && w.in_pixels() != w.in_h &&
        w.in_w % TILE_EDGE != 0) {
        // TT-NN goes through [N, H, W, C], whose rows are padded to the tile, and back.
        image = ttnn::reshape(input, Shape({w.batch, w.in_h, w.in_w, w.channels}));
        source = ttnn::reshape(image, p.flat_in);
    } else if (input.logical_shape() != p.flat_in) {
        source = ttnn::reshape(input, p.flat_in);
    }
    const uint32_t unit = input.layout() == Layout::TILE ? TILE_EDGE : 8;
    const Cut cut = input.is_sharded() ? Cut{kept_placement(input, conv, p.flat_out[2], device)}
                                       : fitting_cut(source, p.weight, conv, as_run, p.dtype, p.settings, device, p.to_dram, unit);
    Settings chosen = p.settings;
    chosen.config.act_block_w_div = std::max(chosen.config.act_block_w_div, cut.block_w_div);
    // The real package asks for rows only where it slices: a result that one program brings to DRAM is tiles.
    const Layout layout = p.to_dram && cut.slices == 1 ? Layout::TILE : p.layout;
    const bool tiles = layout == Layout::TILE;
    if (cut.slices > 1) {
        // Slices are written into the rows of an image; where those are no whole tiles, they are brought together at last.
        const Shape image_out({w.batch, conv.out_h(), conv.out_w(), conv.weights.out_channels});
        const TensorSpec written = make_spec(tiles && conv.out_w() > 1 ? image_out : p.flat_out, p.dtype, layout, dram());
        const Tensor output = run_sliced(source, p.weight, p.bias, conv, as_run, cut, written, chosen, p.kernel(input));
        return output.logical_shape() == p.flat_out ? output : ttnn::reshape(output, p.flat_out);
    }
    halo = gather_halo(
        source, as_run.window, cut.placement, TILE_EDGE, chosen.config.reallocate_halo_output, chosen.config.config_tensors_in_dram);
    const MemoryConfig sharded = result_placement(cut.placement, p.flat_out[3])
                                     .memory_config(p.flat_out[2], p.flat_out[3], tiles ? TILE_EDGE : 1, tiles ? TILE_EDGE : 8);
    const Tensor output = run_conv(source, halo, p.weight, p.bias, conv, cut.placement, p.result(layout, sharded), chosen, p.kernel(input));
    if (image.is_allocated()) source = Tensor();  // its place is the result's
    if (!p.to_dram) return output;
    return launch(
        {.op = strategy::ShardedToInterleaved{}, .name = "ShardedToInterleavedDeviceOperation"}, {output}, {p.result(layout, dram())},
        [=](std::span<const Tensor> outputs) { outputs[0].shim().buffer->set_values(output.shim().buffer->values()); })[0];
}

/// Weights and bias in the program's form: TT-NN reads unprepared ones back from the device.
void prepare(
    Prepared& p, const Tensor& weight, bool ready, const ExpectedInput& input, DataType dtype, uint32_t columns, MeshDevice* device) {
    const WeightShape& shape = p.conv.weights;
    p.weight = ready
                   ? weight
                   : prepare_weights(
                         raw_weights(weight, p.conv), shape, dtype, device, weight_rows(p.conv, input, dtype, p.settings, device), columns);
    if (!p.bias) return;
    SHIM_CHECK(
        is_on_device(*p.bias) || p.bias->layout() == Layout::ROW_MAJOR,
        "bias_tensor: a bias on the host must have layout ROW_MAJOR, got {}", p.bias->layout());
    if (!is_on_device(*p.bias) || p.bias->layout() != Layout::TILE)
        p.bias = prepare_bias(is_on_device(*p.bias) ? p.bias->cpu() : *p.bias, shape.out_channels, dtype, device, columns);
    SHIM_CHECK(
        p.bias->logical_volume() == shape.out_channels, "bias_tensor: expected {} values, got shape {}", shape.out_channels,
        p.bias->logical_shape());
}

uint32_t out_pixels(const Convolution& conv) {
    const uint64_t pixels = uint64_t{conv.window.batch} * conv.out_h() * conv.out_w();
    SHIM_CHECK(pixels > 0 && pixels < (uint64_t{1} << 32), "the output has {} pixels", pixels);
    return static_cast<uint32_t>(pixels);
}

void check_dtypes(const Tensor& input, DataType dtype) {
    check_device_tensor(input, "input_tensor");
    SHIM_CHECK(
        is_floating_point(input.dtype()) || input.dtype() == DataType::UINT32,
        "input_tensor: expected a floating point dtype or UINT32, got {}", input.dtype());
    SHIM_CHECK(is_floating_point(dtype) || dtype == DataType::UINT32, "dtype: expected a floating point dtype or UINT32, got {}", dtype);
}

/// The real package's checks of a config, for any memory of the activation.
void check_config(const Conv2dConfig& config, CoreCoord grid) {
    SHIM_CHECK(
        config.act_block_h_override % TILE_EDGE == 0, "conv_config: act_block_h_override ({}) must be a multiple of 32 (tile height)",
        config.act_block_h_override);
    SHIM_CHECK(  // height and block shards do not read it
        config.act_block_w_div > 0 || (config.shard_layout && config.shard_layout != TensorMemoryLayout::WIDTH_SHARDED),
        "conv_config: act_block_w_div must be greater than 0");
    if (!config.override_sharding_config) return;
    SHIM_CHECK(config.core_grid.has_value(), "conv_config: override_sharding_config needs core_grid");
    const CoreCoord last = config.core_grid->bounding_box().end_coord;
    SHIM_CHECK(
        last.x < grid.x && last.y < grid.y, "conv_config: core_grid {} is outside the device's {} x {} cores", *config.core_grid, grid.x,
        grid.y);
}

/// A core of width shards reads its channels in act_block_w_div blocks of whole tiles.
void check_parts_of_depth(const Convolution& conv, const Conv2dConfig& config, CoreCoord grid) {
    const uint32_t channel_tiles = div_up(conv.window.channels, TILE_EDGE),
                   depth = conv.window.kernel_h * conv.window.kernel_w *
                           (channel_tiles / largest_divisor_up_to(channel_tiles, static_cast<uint32_t>(grid.x * grid.y)));
    const uint32_t block = depth / config.act_block_w_div;
    SHIM_CHECK(
        block > 0 && depth % block == 0, "conv_config: act_block_w_div {} does not cut the {} tiles of depth of a core into equal blocks",
        config.act_block_w_div, depth);
}

}  // namespace

Outcome convolve(
    Tensor input, const Tensor& weight_tensor, MeshDevice* device, Convolution conv, const std::optional<Tensor>& bias_tensor,
    const Settings& wanted) {
    Settings settings = wanted;
    if (settings.config.enable_activation_reuse)  // it holds all weights, and no second block of rows
        settings.config.enable_act_double_buffer = settings.config.enable_weights_double_buffer = false;
    conv.check();
    const auto [rows_added, columns_added] = conv.output_padding;
    SHIM_SUPPORTED(
        rows_added < std::max(conv.window.stride_h, conv.window.dilation_h) &&
            columns_added < std::max(conv.window.stride_w, conv.window.dilation_w),
        "output_padding {} x {} is not smaller than the stride or the dilation", rows_added, columns_added);
    check_config(settings.config, device->shim().grid());
    if (settings.config.shard_layout == TensorMemoryLayout::WIDTH_SHARDED && !input.is_sharded())
        check_parts_of_depth(conv, settings.config, device->shim().grid());
    if (!is_on_device(input)) {  // TT-NN brings host activations to DRAM first, unless their own memory config says L1
        SHIM_CHECK(input.is_allocated(), "input_tensor: the tensor was deallocated");
        if (whole_in_l1(settings) && settings.config.shard_layout && !conv.weights.transposed)
            return convolve(onto_shards(input, conv, settings, device), weight_tensor, device, std::move(conv), bias_tensor, settings);
        const MemoryConfig memory = input.memory_config().is_l1() ? input.memory_config() : dram();
        return convolve(ttnn::to_device(input, device, memory), weight_tensor, device, std::move(conv), bias_tensor, settings);
    }
    const DataType dtype = settings.dtype.value_or(input.dtype());
    check_dtypes(input, dtype);
    const Window& w = conv.window;
    conv.repeats_edges = settings.config.padding_mode == ttnn::prim::PaddingMode::Replicate;
    std::vector<UnaryStep> steps;
    if (settings.config.activation) {
        steps.emplace_back(*settings.config.activation);
        check_unary_steps(steps, input.dtype());
    }
    const DataType weights_dtype = settings.config.weights_dtype.value_or(weight_tensor.dtype());
    settings.compute = compute_config(input, weights_dtype, settings);
    const bool wide_sums = settings.compute->fp32_dest_acc_en,
               ready = is_prepared(weight_tensor, conv.weights) && is_on_device(weight_tensor);
    SHIM_CHECK(
        ready || weight_tensor.layout() == Layout::ROW_MAJOR,
        "weight_tensor: weights that are not prepared must have layout ROW_MAJOR, got {}", weight_tensor.layout());
    const bool from_l1 = whole_in_l1(settings) || (!settings.slices && input.memory_config().is_l1());
    const bool folding =
        is_floating_point(input.dtype()) && folds(conv, input.memory_config(), settings.config.enable_kernel_stride_folding);
    if (folding || conv.is_matmul()) check_all_channels(weight_tensor, conv);
    if (folding && input.is_sharded()) {
        // The image's rows are whole tiles, or its reshape leaves the shards.
        if (input.layout() == Layout::ROW_MAJOR || w.in_w % TILE_EDGE == 0)
            return convolve_folded_shards(input, weight_tensor, device, conv, bias_tensor, settings, weights_dtype);
        return convolve(ttnn::to_memory_config(input, dram()), weight_tensor, device, std::move(conv), bias_tensor, settings);
    }
    const bool pointwise = conv.is_matmul() && settings.config.shard_layout != TensorMemoryLayout::WIDTH_SHARDED;
    if (from_l1 && !folding && !conv.is_matmul() && !input.is_sharded() && !settings.config.shard_layout)
        settings.config.shard_layout = chosen_scheme(conv, input, weights_dtype, wide_sums, settings, device);
    SHIM_CHECK(
        from_l1 || (input.is_sharded() && !settings.slices) || conv.weights.transposed || !settings.config.override_output_sharding_config,
        "conv_config: override_output_sharding_config is for activations in L1, got {}", input.memory_config());
    const bool on_shards = !folding && (from_l1 || pointwise) && (input.is_sharded() || settings.config.shard_layout);
    const uint32_t held = held_channels(input, w, on_shards && !pointwise);
    std::optional<ShardPlan> plan;
    if (on_shards)
        plan = plan_shards(conv, settings.config, input.memory_config(), input.layout(), held, device->shim().grid(), pointwise, wide_sums);
    const bool whole = settings.slices && settings.slices->slice_type == SliceConfig::SliceType::L1_FULL;
    Prepared p{
        .conv = conv,
        .settings = settings,
        .weight = {},
        .bias = bias_tensor,
        .steps = std::move(steps),
        .flat_out = Shape({1, 1, out_pixels(conv), conv.weights.out_channels}),
        .dtype = dtype,
        .layout = settings.config.output_layout,
        .flat_in = Shape({1, 1, static_cast<uint32_t>(w.in_pixels()), held}),
        .to_dram = !whole && !input.is_sharded() && !input.memory_config().is_l1()};
    prepare(
        p, weight_tensor, ready,
        {input.dtype(), plan && pointwise ? Layout::TILE : input.layout(), plan ? plan->input : input.memory_config()}, weights_dtype,
        plan ? result_columns(*plan) : 0, device);
    (void)slices_asked(settings.slices, input);

    Tensor halo;
    const bool as_matmul = !plan && (folding || (conv.is_matmul() && !(settings.config.shard_layout && !input.is_sharded())));
    if (!plan) (void)p.result(p.layout, dram());  // refused where the dtype has no such layout, though the result may be tiles
    Tensor output = plan        ? run_on_shards(input, halo, *plan, pointwise, p)
                    : as_matmul ? run_as_product(input, folding, p)
                                : run_by_windows(input, halo, p);
    // From DRAM, TT-NN works through slices into an interleaved DRAM output, whatever memory_config says.
    if ((!p.to_dram || as_matmul || plan) && settings.memory_config && *settings.memory_config != output.memory_config())
        output = ttnn::to_memory_config(output, *settings.memory_config);
    if (!plan) free_activation(input, settings);
    if (halo.is_allocated()) free_activation(halo, settings);  // the activation itself where no rows were gathered
    return {output, conv.out_h(), conv.out_w(), p.weight, p.bias};
}

Convolution geometry(
    uint32_t in_channels, uint32_t out_channels, uint32_t batch, uint32_t height, uint32_t width, std::array<uint32_t, 2> kernel,
    std::array<uint32_t, 2> stride, const Pads& padding, std::array<uint32_t, 2> dilation, uint32_t groups, bool transposed) {
    Convolution conv;
    conv.window = window_of(batch, height, width, in_channels, kernel, stride, padding, dilation);
    conv.weights = {
        .in_channels = in_channels,
        .out_channels = out_channels,
        .kernel_h = kernel[0],
        .kernel_w = kernel[1],
        .groups = std::max(1U, groups),  // the real package takes 0 as one group
        .transposed = transposed};
    return conv;
}

Convolution length_of(
    uint32_t in_channels, uint32_t out_channels, uint32_t batch, uint32_t length, uint32_t kernel, uint32_t stride,
    std::array<uint32_t, 2> padding, uint32_t dilation, uint32_t groups) {
    return geometry(
        in_channels, out_channels, batch, length, 1, {kernel, 1}, {stride, 1}, std::array<uint32_t, 4>{padding[0], padding[1], 0, 0},
        {dilation, 1}, groups);
}

std::optional<SliceConfig> length_slices(std::optional<SliceConfig> config) {
    using Type = SliceConfig::SliceType;
    if (!config || config->slice_type == Type::L1_FULL) return config;
    SHIM_CHECK(config->slice_type == Type::DRAM_WIDTH, "slice_config: a one-dimensional convolution is cut along its width");
    config->slice_type = Type::DRAM_HEIGHT;
    return config;
}

Tensor as_2d_weight(const Tensor& weight) {
    const Shape& shape = weight.logical_shape();
    return shape.rank() == 3 ? weight.reshape(Shape({shape[0], shape[1], shape[2], 1})) : weight;
}

namespace {
DataType ready_dtype(const Tensor& tensor, DataType input_dtype, std::optional<DataType> weights_dtype) {
    return weights_dtype.value_or(input_dtype == DataType::FLOAT32 ? DataType::FLOAT32 : tensor.dtype());
}

/// The shards of the program that weights and bias are prepared for, where its input is sharded: it may bring them to other cores first.
std::optional<ShardPlan> shards_of_program(
    const Convolution& conv, const ExpectedInput& input, const Settings& settings, MeshDevice* device) {
    const bool sharded = input.memory.is_l1() && input.memory.is_sharded() && input.memory.shard_spec();
    if (!sharded || conv.weights.transposed || conv.is_matmul() || folds(conv, input.memory, settings.config.enable_kernel_stride_folding))
        return std::nullopt;
    return plan_shards(
        conv, settings.config, input.memory, input.layout, conv.window.channels, device->shim().grid(), false,
        settings.compute && settings.compute->fp32_dest_acc_en);
}
}  // namespace

Tensor ready_weights(
    const Tensor& weight, const Convolution& conv, const std::string& format, const ExpectedInput& input, const Settings& settings,
    MeshDevice* device) {
    const char* expected = conv.weights.transposed ? "IOHW" : "OIHW";
    SHIM_CHECK(format == expected, "weights_format: expected {}, got {}; permute the weights on the host", expected, format);
    conv.check();
    const DataType dtype = ready_dtype(weight, input.dtype, settings.config.weights_dtype);
    ExpectedInput read = input;
    if (read.layout == Layout::ROW_MAJOR && is_block_float(read.dtype)) read.dtype = DataType::BFLOAT16;  // rows have no shared exponents
    const auto plan = shards_of_program(conv, input, settings, device);
    if (plan) read.memory = plan->input;
    return prepare_weights(
        flat_weight(weight, conv), conv.weights, dtype, device, weight_rows(conv, read, dtype, settings, device),
        plan ? result_columns(*plan) : 0);
}

Tensor ready_bias(const Tensor& bias, const Convolution& conv, const ExpectedInput& input, const Settings& settings, MeshDevice* device) {
    conv.check();
    const auto plan = shards_of_program(conv, input, settings, device);
    const DataType dtype = ready_dtype(bias, input.dtype, settings.config.weights_dtype);
    return prepare_bias(bias, conv.weights.out_channels, dtype, device, plan ? result_columns(*plan) : 0);
}

}  // namespace ttnn_shim
