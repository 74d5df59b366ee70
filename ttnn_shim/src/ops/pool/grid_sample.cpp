// grid_sample and rotate: pixels of [N, H, W, C] read at computed positions, zero (or a fill value) outside.
#include <cmath>
#include <numbers>

#include "ops/launch.hpp"
#include "ops/registry.hpp"

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

Tensor grid_sample(const Call& c) {
    const OpScope scope("ttnn.grid_sample");
    const Tensor &input = c.tensor("input_tensor"), &grid = c.tensor("grid");
    check_image(input);
    check_device_tensor(grid, "grid", Layout::ROW_MAJOR);
    const std::string mode = c.text("mode", "bilinear"), padding = c.text("padding_mode", "zeros");
    SHIM_CHECK(mode == "bilinear" || mode == "nearest", "mode: expected bilinear or nearest, got '{}'", mode);
    SHIM_CHECK(padding == "zeros", "padding_mode: only zeros is supported, got '{}'", padding);
    const bool precomputed = c.boolean("use_precomputed_grid", false);
    SHIM_CHECK(precomputed || mode == "bilinear", "mode: nearest needs use_precomputed_grid=True");
    SHIM_SUPPORTED(!precomputed, "use_precomputed_grid: not supported; pass the grid itself");
    const Shape &shape = input.logical_shape(), &points = grid.logical_shape();
    SHIM_CHECK(
        points.rank() == 4 && points[0] == shape[0] && points[3] % 2 == 0 && points[3] > 0, "grid: expected shape [{}, H, W, 2 K], got {}",
        shape[0], points);
    SHIM_CHECK(is_floating_point(grid.dtype()), "grid: expected a floating point dtype, got {}", grid.dtype());
    const uint32_t folded = points[3] / 2;  // several points per grid position: side by side in width, or in channels
    const bool in_channels = c.boolean("batch_output_channels", false), corners = c.boolean("align_corners", false);
    const Shape result = in_channels ? Shape({shape[0], points[1], points[2], shape[3] * folded})
                                     : Shape({shape[0], points[1], points[2] * folded, shape[3]});
    const MemoryConfig memory = c.memory_config("memory_config").value_or(MemoryConfig(input.memory_config().buffer_type()));
    return launch(
        {.op = "grid_sample", .compute = c.compute_config("compute_kernel_config"), .name = "GridSampleOperation"}, {input, grid},
        {make_spec(result, input.dtype(), Layout::ROW_MAJOR, memory)}, [&](std::span<const Tensor> outputs) {
            const F32Values values(input), places(grid);
            const auto height = static_cast<float>(shape[1]), width = static_cast<float>(shape[2]);
            const size_t channels = shape[3], per_image = size_t{points[1]} * points[2] * folded;
            std::vector<float> out(result.volume());
            parallel_for(per_image * shape[0], std::max<size_t>(1, 4096 / channels), [&](size_t begin, size_t end) {
                for (size_t i = begin; i < end; ++i) {
                    const float gx = places[2 * i], gy = places[2 * i + 1];
                    const float x = corners ? (gx + 1) * 0.5F * (width - 1) : ((gx + 1) * width - 1) * 0.5F;
                    const float y = corners ? (gy + 1) * 0.5F * (height - 1) : ((gy + 1) * height - 1) * 0.5F;
                    const Image image{
                        values.data() + i / per_image * shape[1] * shape[2] * channels, shape[1], shape[2], static_cast<int64_t>(channels)};
                    image.bilinear(y, x, out.data() + i * channels, 0.0F);
                }
            });
            write_f32(outputs[0], out);
        })[0];
}

Tensor rotate(const Call& c) {
    const OpScope scope("ttnn.rotate");
    const Tensor& input = c.tensor("input_tensor");
    check_image(input);
    const std::string mode = c.text("interpolation_mode", "nearest");
    SHIM_CHECK(mode == "bilinear" || mode == "nearest", "interpolation_mode: expected nearest or bilinear, got '{}'", mode);
    SHIM_CHECK(!c.boolean("expand", false), "expand: only False is supported");
    const Shape& shape = input.logical_shape();
    const auto center = c.has("center") ? c.f32s("center") : std::vector<float>{};
    SHIM_CHECK(center.empty() || center.size() == 2, "center: expected (x, y), got {} values", center.size());
    const float cx = center.empty() ? static_cast<float>(shape[2] - 1) * 0.5F : center[0];
    const float cy = center.empty() ? static_cast<float>(shape[1] - 1) * 0.5F : center[1];
    const float angle = c.f32("angle", 0) * std::numbers::pi_v<float> / 180.0F, fill = c.f32("fill", 0);
    const MemoryConfig memory = c.memory_config("memory_config").value_or(MemoryConfig(input.memory_config().buffer_type()));
    return launch(
        {.op = "grid_sample", .name = "RotateDeviceOperation"}, {input}, {make_spec(shape, input.dtype(), Layout::ROW_MAJOR, memory)},
        [&](std::span<const Tensor> outputs) {
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
