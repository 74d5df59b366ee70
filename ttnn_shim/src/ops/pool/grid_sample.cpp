// grid_sample, its prepared grids, deformable attention and rotate: pixels of [N, H, W, C] read at computed positions, zero (or a fill
// value) outside.
#include <bit>
#include <cmath>
#include <numbers>

#include "ops/arguments.hpp"
#include "ops/launch.hpp"
#include "ops/registry.hpp"
#include "ttnn/operations/experimental/multi_scale_deformable_attn/multi_scale_deformable_attn.hpp"
#include "ttnn/operations/pool/grid_sample/grid_sample.hpp"
#include "ttnn/operations/pool/rotate/rotate.hpp"

using namespace ttnn_shim;

namespace {

/// Reads a row-major image stack in float32 at fractional positions.
struct Image {
    const float* values;
    int64_t height, width, channels;

    /// target = the pixel nearest to (y, x), or `fill` outside.
    void nearest(float y, float x, float* target, float fill) const {
        const auto row = static_cast<int64_t>(std::floor(y + 0.5F)), column = static_cast<int64_t>(std::floor(x + 0.5F));
        const bool inside = row >= 0 && row < height && column >= 0 && column < width;
        const float* source = values + (inside ? (row * width + column) * channels : 0);
        for (int64_t c = 0; c < channels; ++c) target[c] = inside ? source[c] : fill;
    }
    /// target = four pixels from (row, column) on with given weights; those outside count as zero.
    void weighted(int64_t row, int64_t column, const float* weights, float* target) const {
        std::fill_n(target, channels, 0.0F);
        for (int64_t corner = 0; corner < 4; ++corner) {
            const int64_t y = row + corner / 2, x = column + corner % 2;
            if (y < 0 || y >= height || x < 0 || x >= width || weights[corner] == 0) continue;
            const float* source = values + (y * width + x) * channels;
            for (int64_t c = 0; c < channels; ++c) target[c] += weights[corner] * source[c];
        }
    }
    /// target = the four pixels around (y, x), weighted; those outside count as `fill`.
    void bilinear(float y, float x, float* target, float fill) const {
        const float top = std::floor(y), left = std::floor(x), dy = y - top, dx = x - left;
        std::fill_n(target, channels, 0.0F);
        for (int corner = 0; corner < 4; ++corner) {
            const float wanted_row = top + static_cast<float>(corner / 2), wanted_column = left + static_cast<float>(corner % 2);
            const float weight = (corner / 2 == 0 ? 1 - dy : dy) * (corner % 2 == 0 ? 1 - dx : dx);
            if (!(weight > 0)) continue;
            const bool inside = wanted_row >= 0 && wanted_row < static_cast<float>(height) && wanted_column >= 0 &&
                                wanted_column < static_cast<float>(width);
            const float* source =
                values + (inside ? (static_cast<int64_t>(wanted_row) * width + static_cast<int64_t>(wanted_column)) * channels : 0);
            for (int64_t c = 0; c < channels; ++c) target[c] += weight * (inside ? source[c] : fill);
        }
    }
};

void check_image(const Tensor& input) {
    check_device_tensor(input, "input_tensor", Layout::ROW_MAJOR);
    SHIM_CHECK(
        input.dtype() == DataType::BFLOAT16 || input.dtype() == DataType::FLOAT32, "input_tensor: expected BFLOAT16 or FLOAT32, got {}",
        input.dtype());
    SHIM_CHECK(
        input.logical_shape().rank() == 4 && input.logical_volume() > 0, "input_tensor: expected shape [N, H, W, C], got {}",
        input.logical_shape());
}

/// A pixel position of a prepared grid: int16 bits in a bfloat16.
int64_t stored_position(bfloat16 value) { return std::bit_cast<int16_t>(std::bit_cast<uint16_t>(value)); }

/// How a grid names points: pairs (x, y) in [-1, 1], or what prepare_grid_sample_grid made of them.
struct Grid {
    bool nearest = false, prepared = false, corners = false;
    uint32_t numbers() const { return prepared && !nearest ? 6 : 2; }  ///< per point
};

/// Where a normalised coordinate lies among `size` pixels.
float pixel_of(float coordinate, float size, bool corners) {
    return corners ? (coordinate + 1) * 0.5F * (size - 1) : ((coordinate + 1) * size - 1) * 0.5F;
}

/// Memory of the result: rows of a sharded grid keep their cores, nearest points are dealt to all cores.
MemoryConfig sampled_memory(
    const Tensor& input, const Tensor& grid, const Grid& how, const MemoryConfig& asked, uint32_t folded, bool in_channels) {
    if (!how.nearest && !grid.is_sharded() && !asked.is_sharded()) return asked;
    if (asked.shard_spec() && !grid.is_sharded()) return asked;
    CoreRangeSet cores;
    auto orientation = tt::tt_metal::ShardOrientation::ROW_MAJOR;
    uint32_t points = 0;
    if (grid.is_sharded()) {
        cores = grid.memory_config().shard_spec()->grid;
        orientation = grid.memory_config().shard_spec()->orientation;
        points = grid.memory_config().shard_spec()->shape[0];
    } else {
        const auto all = static_cast<uint32_t>(grid.logical_volume() / grid.logical_shape()[3]);
        const CoreCoord device = machine_of(input).grid();
        const uint32_t used = std::max(1U, std::min(all, static_cast<uint32_t>(device.x * device.y)));
        const auto rows = static_cast<uint32_t>(device.y);  // whole columns of cores, then a part of one
        std::vector<CoreRange> ranges;
        if (used / rows > 0) ranges.emplace_back(CoreCoord(0, 0), CoreCoord(used / rows - 1, rows - 1));
        if (used % rows > 0) ranges.emplace_back(CoreCoord(used / rows, 0), CoreCoord(used / rows, used % rows - 1));
        cores = CoreRangeSet(ranges);
        points = (all + used - 1) / used;
    }
    const uint32_t channels = input.logical_shape()[3];
    const tt::tt_metal::ShardSpec shard(
        cores, {in_channels ? points : points * folded, in_channels ? channels * folded : channels}, orientation);
    return MemoryConfig(TensorMemoryLayout::HEIGHT_SHARDED, BufferType::L1, shard);
}

void check_rows(const MemoryConfig& memory, const char* name) {
    SHIM_CHECK(
        !memory.is_sharded() || memory.memory_layout() == TensorMemoryLayout::HEIGHT_SHARDED,
        "{}: expected interleaved or height sharded, got {}", name, memory);
}

Tensor grid_sample(const arguments::grid_sample& args) {
    const OpScope scope("ttnn.grid_sample");
    const Tensor &input = args.input_tensor, &grid = args.grid;
    check_image(input);
    check_device_tensor(grid, "grid", Layout::ROW_MAJOR);
    const std::string mode = args.mode, padding = args.padding_mode;
    SHIM_CHECK(mode == "bilinear" || mode == "nearest", "mode: expected bilinear or nearest, got '{}'", mode);
    SHIM_CHECK(padding == "zeros", "padding_mode: only zeros is supported, got '{}'", padding);
    const Grid how{mode == "nearest", args.use_precomputed_grid, args.align_corners};
    SHIM_CHECK(how.prepared || !how.nearest, "mode: nearest needs use_precomputed_grid=True");
    const Shape &shape = input.logical_shape(), &points = grid.logical_shape();
    SHIM_CHECK(shape[3] % 32 == 0, "input_tensor: expected a multiple of 32 channels, got {}", shape[3]);
    const uint32_t numbers = how.numbers();
    SHIM_CHECK(
        points.rank() == 4 && points[0] == shape[0] && points[3] % numbers == 0 && points.volume() > 0,
        "grid: expected shape [{}, H, W, {} K], got {}", shape[0], numbers, points);
    SHIM_CHECK(
        grid.dtype() == DataType::BFLOAT16 || (grid.dtype() == DataType::FLOAT32 && !how.prepared), "grid: expected BFLOAT16{}, got {}",
        how.prepared ? "" : " or FLOAT32", grid.dtype());
    const uint32_t folded = points[3] / numbers;  // several points per grid position: side by side in width, or in channels
    const bool in_channels = args.batch_output_channels;
    SHIM_CHECK(!in_channels || folded > 1, "batch_output_channels: expected several points per grid position");
    const Shape result = in_channels ? Shape({shape[0], points[1], points[2], shape[3] * folded})
                                     : Shape({shape[0], points[1], points[2] * folded, shape[3]});
    const MemoryConfig asked = args.memory_config.value_or(MemoryConfig(input.memory_config().buffer_type()));
    for (const auto& [memory, name] :
         {std::pair(&input.memory_config(), "input_tensor"), std::pair(&grid.memory_config(), "grid"), std::pair(&asked, "memory_config")})
        check_rows(*memory, name);
    return launch(
        {.op = strategy::GridSample{.nearest = how.nearest, .prepared = how.prepared},
         .compute = args.compute_kernel_config,
         .name = "GridSampleOperation"},
        {input, grid}, {make_spec(result, input.dtype(), Layout::ROW_MAJOR, sampled_memory(input, grid, how, asked, folded, in_channels))},
        [=](std::span<const Tensor> outputs) {
            const F32Values values(input), places(grid);
            const auto stored = how.prepared ? data<bfloat16>(grid) : std::span<const bfloat16>{};
            const auto height = static_cast<float>(shape[1]), width = static_cast<float>(shape[2]);
            const size_t channels = shape[3], per_image = size_t{points[1]} * points[2] * folded;
            std::vector<float> out(result.volume());
            parallel_for(per_image * shape[0], std::max<size_t>(1, 4096 / channels), [&](size_t begin, size_t end) {
                for (size_t i = begin; i < end; ++i) {
                    const Image image{
                        values.data() + i / per_image * shape[1] * shape[2] * channels, shape[1], shape[2], static_cast<int64_t>(channels)};
                    const float* numbers_of = places.data() + numbers * i;
                    float* target = out.data() + i * channels;
                    if (!how.prepared) {
                        image.bilinear(
                            pixel_of(numbers_of[1], height, how.corners), pixel_of(numbers_of[0], width, how.corners), target, 0.0F);
                        continue;
                    }
                    const int64_t row = stored_position(stored[numbers * i]), column = stored_position(stored[numbers * i + 1]);
                    if (how.nearest) {
                        image.nearest(static_cast<float>(row), static_cast<float>(column), target, 0.0F);
                    } else {
                        image.weighted(row, column, numbers_of + 2, target);
                    }
                }
            });
            write_f32(outputs[0], out);
        })[0];
}

/// Host grid [N, H, W, 2] in float32 -> positions (and weights of the four pixels) as grid_sample's program reads them.
Tensor prepare_grid(const arguments::prepare_grid_sample_grid& args) {
    const OpScope scope("ttnn.operations.pool.prepare_grid_sample_grid");
    const Tensor& grid = args.grid;
    SHIM_CHECK(!is_on_device(grid), "grid: expected a host tensor");
    const Shape& s = grid.logical_shape();
    SHIM_CHECK(
        grid.layout() == Layout::ROW_MAJOR && grid.dtype() == DataType::FLOAT32, "grid: expected row-major FLOAT32, got {}",
        grid.tensor_spec());
    SHIM_CHECK(s.rank() == 4 && s[3] == 2, "grid: expected shape [N, H, W, 2], got {}", s);
    const auto image = args.input_shape;
    SHIM_CHECK(image.size() == 4, "input_shape: expected [N, H, W, C], got {} numbers", image.size());
    SHIM_CHECK(args.padding_mode == "zeros", "padding_mode: only zeros is supported, got '{}'", args.padding_mode);
    const DataType dtype = args.output_dtype.value_or(DataType::BFLOAT16);
    SHIM_CHECK(dtype == DataType::BFLOAT16, "output_dtype: only BFLOAT16 is supported, got {}", dtype);
    const Grid how{args.mode == "nearest", true, args.align_corners};
    const TensorSpec spec = make_spec(Shape({s[0], s[1], s[2], how.numbers()}), dtype, Layout::ROW_MAJOR);
    auto values = new_values(spec);
    if (!has_values(grid)) return make_host_tensor(spec, values);
    const auto from = data<float>(grid);
    auto* to = reinterpret_cast<bfloat16*>(values->data());
    const auto kept = [](float position) {  // as int16 bits
        const float held = position < -32768.0F ? -32768.0F : (position > 32767.0F ? 32767.0F : position);
        return std::bit_cast<bfloat16>(static_cast<uint16_t>(static_cast<int16_t>(std::isnan(position) ? -1.0F : held)));
    };
    const auto inside = [](float position, uint32_t size) { return position >= 0 && position < static_cast<float>(size); };
    for (size_t i = 0; i < s.volume() / 2; ++i, to += how.numbers()) {
        const float y = pixel_of(from[2 * i + 1], static_cast<float>(image[1]), how.corners);
        const float x = pixel_of(from[2 * i], static_cast<float>(image[2]), how.corners);
        if (how.nearest) {
            const float row = how.corners ? std::round(y) : std::floor(y + 0.5F),
                        column = how.corners ? std::round(x) : std::floor(x + 0.5F);
            const bool real = inside(row, image[1]) && inside(column, image[2]);
            to[0] = kept(real ? row : -1.0F);
            to[1] = kept(real ? column : -1.0F);
            continue;
        }
        const float top = std::floor(y), left = std::floor(x), dy = y - top, dx = x - left;
        to[0] = kept(top);
        to[1] = kept(left);
        for (int corner = 0; corner < 4; ++corner) {
            const bool lower = corner / 2 == 1, right = corner % 2 == 1;
            const bool real = inside(top + (lower ? 1.0F : 0.0F), image[1]) && inside(left + (right ? 1.0F : 0.0F), image[2]);
            to[2 + corner] = bfloat16(real ? (lower ? dy : 1 - dy) * (right ? dx : 1 - dx) : 0.0F);
        }
    }
    return make_host_tensor(spec, values);
}

/// Deformable attention of one level: for each query, P sampled pixels weighted by `attn`.
Tensor deformable_attention(const arguments::experimental::multi_scale_deformable_attn& args) {
    const OpScope scope("ttnn.experimental.multi_scale_deformable_attn");
    const Tensor &value = args.value, &grid = args.grid, &attn = args.attn;
    for (const auto& [tensor, name] : {std::pair(&value, "value"), std::pair(&grid, "grid"), std::pair(&attn, "attn")}) {
        check_device_tensor(*tensor, name, Layout::ROW_MAJOR);
        SHIM_CHECK(tensor->dtype() == DataType::BFLOAT16, "{}: expected BFLOAT16, got {}", name, tensor->dtype());
        SHIM_CHECK(tensor->logical_volume() > 0, "{}: it is empty (shape {})", name, tensor->logical_shape());
    }
    const Shape &sv = value.logical_shape(), &sg = grid.logical_shape(), &sa = attn.logical_shape();
    SHIM_CHECK(sv.rank() == 4 && sv[3] % 16 == 0, "value: expected shape [N, H, W, a multiple of 16], got {}", sv);
    SHIM_CHECK(sa.rank() == 3 && sa[0] == sv[0], "attn: expected shape [{}, Q, P], got {}", sv[0], sa);
    SHIM_CHECK(
        sg.rank() == 4 && sg[0] == sv[0] && uint64_t{sg[1]} == uint64_t{sa[1]} * sa[2] && sg[2] == 1 && sg[3] == 2,
        "grid: expected shape [{}, {}, 1, 2], got {}", sv[0], uint64_t{sa[1]} * sa[2], sg);
    const MemoryConfig memory = args.memory_config.value_or(MemoryConfig(value.memory_config().buffer_type()));
    const Shape result({sv[0], sa[1], sv[3]});
    const bool corners = args.align_corners;
    return launch(
        {.op = strategy::GridSample{}, .name = "MultiScaleDeformableAttnDeviceOperation"}, {value, grid, attn},
        {make_spec(result, DataType::BFLOAT16, Layout::ROW_MAJOR, memory)}, [=](std::span<const Tensor> outputs) {
            const F32Values values(value), places(grid), weights(attn);
            const size_t channels = sv[3], samples = sa[2], queries = sa[1];
            std::vector<float> out(result.volume(), 0.0F);
            parallel_for(queries * sv[0], std::max<size_t>(1, 1024 / channels), [&](size_t begin, size_t end) {
                std::vector<float> pixel(channels);
                for (size_t i = begin; i < end; ++i) {
                    const Image image{values.data() + i / queries * sv[1] * sv[2] * channels, sv[1], sv[2], static_cast<int64_t>(channels)};
                    for (size_t p = i * samples; p < (i + 1) * samples; ++p) {
                        image.bilinear(
                            pixel_of(places[2 * p + 1], static_cast<float>(sv[1]), corners),
                            pixel_of(places[2 * p], static_cast<float>(sv[2]), corners), pixel.data(), 0.0F);
                        for (size_t channel = 0; channel < channels; ++channel) out[i * channels + channel] += weights[p] * pixel[channel];
                    }
                }
            });
            write_f32(outputs[0], out);
        })[0];
}

Tensor rotate(const arguments::rotate& args) {
    const OpScope scope("ttnn.rotate");
    const Tensor& input = args.input_tensor;
    check_image(input);
    const std::string mode = args.interpolation_mode;
    SHIM_CHECK(mode == "bilinear" || mode == "nearest", "interpolation_mode: expected nearest or bilinear, got '{}'", mode);
    SHIM_CHECK(!args.expand, "expand: only False is supported");
    const Shape& shape = input.logical_shape();
    const auto center = args.center.has_value() ? (*args.center) : std::vector<float>{};
    SHIM_CHECK(center.empty() || center.size() == 2, "center: expected (x, y), got {} values", center.size());
    const float cx = center.empty() ? static_cast<float>(shape[2] - 1) * 0.5F : center[0];
    const float cy = center.empty() ? static_cast<float>(shape[1] - 1) * 0.5F : center[1];
    const float angle = args.angle * std::numbers::pi_v<float> / 180.0F, fill = args.fill;
    const MemoryConfig memory = args.memory_config.value_or(MemoryConfig(input.memory_config().buffer_type()));
    return launch(
        {.op = strategy::GridSample{}, .name = "RotateDeviceOperation"}, {input},
        {make_spec(shape, input.dtype(), Layout::ROW_MAJOR, memory)}, [=](std::span<const Tensor> outputs) {
            const F32Values values(input);
            const float cosine = std::cos(angle), sine = std::sin(angle);
            const size_t channels = shape[3], per_image = size_t{shape[1]} * shape[2];
            std::vector<float> out(shape.volume());
            parallel_for(per_image * shape[0], std::max<size_t>(1, 4096 / channels), [&](size_t begin, size_t end) {
                for (size_t i = begin; i < end; ++i) {
                    // where the output pixel comes from: the inverse rotation (counter-clockwise angles, y downwards)
                    const float dx = static_cast<float>(i % shape[2]) - cx, dy = static_cast<float>(i % per_image / shape[2]) - cy;
                    const float x = cosine * dx - sine * dy + cx, y = sine * dx + cosine * dy + cy;
                    const Image image{
                        values.data() + i / per_image * per_image * channels, shape[1], shape[2], static_cast<int64_t>(channels)};
                    float* target = out.data() + i * channels;
                    mode == "nearest" ? image.nearest(y, x, target, fill) : image.bilinear(y, x, target, fill);
                }
            });
            write_f32(outputs[0], out);
        })[0];
}

}  // namespace

SHIM_OP("ttnn.grid_sample", grid_sample);
SHIM_OP("ttnn.rotate", rotate);
SHIM_OP("ttnn.operations.pool.prepare_grid_sample_grid", prepare_grid);
SHIM_OP("ttnn.experimental.multi_scale_deformable_attn", deformable_attention);

// ---- the C++ functions ------------------------------------------------------------------------------------------------------

namespace ttnn {

Tensor operations::grid_sample::grid_sample(
    const Tensor& input_tensor, const Tensor& grid, const std::string& mode, const std::string& padding_mode, bool align_corners,
    bool use_precomputed_grid, bool batch_output_channels, const std::optional<MemoryConfig>& memory_config,
    const std::optional<ComputeKernelConfig>& compute_kernel_config) {
    return ::grid_sample({SHIM_NAMED(
        input_tensor, grid, mode, padding_mode, align_corners, use_precomputed_grid, batch_output_channels, memory_config,
        compute_kernel_config)});
}

Tensor operations::grid_sample::prepare_grid_sample_grid(
    const Tensor& grid, const std::vector<uint32_t>& input_shape, const std::string& mode, const std::string& padding_mode,
    bool align_corners, const std::optional<DataType>& output_dtype) {
    return ::prepare_grid({SHIM_NAMED(grid, input_shape, mode, padding_mode, align_corners, output_dtype)});
}

Tensor operations::rotate::rotate(
    const Tensor& input_tensor, float angle, const std::optional<std::tuple<float, float>>& center, float fill, bool expand,
    const std::string& interpolation_mode, const std::optional<MemoryConfig>& memory_config) {
    std::optional<std::vector<float>> place;
    if (center) place = {std::get<0>(*center), std::get<1>(*center)};
    return ::rotate({SHIM_NAMED(input_tensor, angle), .center = place, SHIM_NAMED(fill, expand, interpolation_mode, memory_config)});
}

}  // namespace ttnn

namespace ttnn::experimental {

Tensor multi_scale_deformable_attn(
    const Tensor& value, const Tensor& grid, const Tensor& attn, const std::optional<MemoryConfig>& memory_config, bool align_corners) {
    return ::deformable_attention(
        {.value = value, .grid = grid, .attn = attn, .memory_config = memory_config, .align_corners = align_corners});
}

}  // namespace ttnn::experimental
