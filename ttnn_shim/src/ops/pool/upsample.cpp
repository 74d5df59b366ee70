// upsample: nearest and bilinear.
#include "ttnn/operations/pool/upsample/upsample.hpp"

#include <algorithm>
#include <cmath>

#include "ops/data_movement/common.hpp"
#include "ops/kernels/block_kernels.hpp"

using namespace ttnn_shim;

namespace {

struct Tap {
    size_t first, second;
    float weight;  ///< of the second
};

std::vector<Tap> taps(size_t in, size_t out, float scale, bool nearest) {
    std::vector<Tap> result;
    for (size_t o = 0; o < out; ++o) {
        if (nearest) {
            const auto from = std::min(in - 1, static_cast<size_t>(std::floor(static_cast<float>(o) / scale)));
            result.push_back({from, from, 0.0F});
        } else {
            const float at = std::clamp((static_cast<float>(o) + 0.5F) / scale - 0.5F, 0.0F, static_cast<float>(in - 1));
            const auto low = static_cast<size_t>(at);
            result.push_back({low, std::min(in - 1, low + 1), at - static_cast<float>(low)});
        }
    }
    return result;
}

}  // namespace

namespace ttnn::operations::upsample {

Tensor upsample(
    const Tensor& input, std::variant<int, std::array<int, 2>, float, std::array<float, 2>> scale_factor, const std::string& mode,
    const std::optional<MemoryConfig>& memory_config, const std::optional<ComputeKernelConfig>& compute) {
    OpScope scope("ttnn.upsample");
    check_device_tensor(input, "input_tensor");
    const Shape& shape = input.logical_shape();
    SHIM_CHECK(shape.rank() == 4, "input_tensor: expected shape [N, H, W, C], got {}", shape);
    SHIM_CHECK(
        mode != "bilinear" || is_floating_point(input.dtype()), "input_tensor: expected a floating point dtype, got {}", input.dtype());
    SHIM_CHECK(
        input.layout() != Layout::TILE || input.padded_shape() == shape, "input_tensor: tiles must be whole, got shape {} padded to {}",
        shape, input.padded_shape());
    SHIM_CHECK(mode == "nearest" || mode == "bilinear", "mode: expected nearest or bilinear, got '{}'", mode);
    SHIM_CHECK(
        mode != "bilinear" || shape[3] % ttnn::TILE_SIZE == 0, "input_tensor: bilinear needs channels divisible by {}, got shape {}",
        ttnn::TILE_SIZE, shape);
    const auto scales = std::visit(
        [](const auto& s) -> std::array<float, 2> {
            if constexpr (requires { s[0]; }) {
                return {static_cast<float>(s[0]), static_cast<float>(s[1])};
            } else {
                return {static_cast<float>(s), static_cast<float>(s)};
            }
        },
        scale_factor);
    SHIM_CHECK(
        scales[0] > 0 && scales[1] > 0 && scales[0] < 65536 && scales[1] < 65536, "scale_factor: expected positive factors, got {} and {}",
        scales[0], scales[1]);
    SHIM_CHECK(shape[1] > 0 && shape[2] > 0, "input_tensor: no pixels in shape {}", shape);
    const auto height = static_cast<uint32_t>(std::floor(static_cast<float>(shape[1]) * scales[0])),
               width = static_cast<uint32_t>(std::floor(static_cast<float>(shape[2]) * scales[1]));
    const Shape result({shape[0], height, width, shape[3]});
    return launch(
        {.op = "upsample",
         .attrs =
             {{"scale_hw", std::vector<int64_t>{static_cast<int64_t>(std::ceil(scales[0])), static_cast<int64_t>(std::ceil(scales[1]))}},
              {"mode", mode}},
         .compute = compute,
         .name = "UpsampleOperation"},
        {input}, {make_spec(result, input.dtype(), input.layout(), result_memory(input, memory_config, result))},
        [&](std::span<const Tensor> outputs) {
            const bool nearest = mode == "nearest";
            const auto rows = taps(shape[1], height, scales[0], nearest), columns = taps(shape[2], width, scales[1], nearest);
            const size_t channels = shape[3], bytes = stored_bytes(input.dtype());
            const std::byte* source = raw_data(input);
            std::byte* target = mutable_raw_data(outputs[0]);
            parallel_for(
                size_t{shape[0]} * height, std::max<size_t>(1, 16384 / std::max<size_t>(1, channels * width)),
                [&](size_t begin, size_t end) {
                    std::vector<float> sum(channels), pixel(channels);
                    for (size_t line = begin; line < end; ++line) {
                        const size_t n = line / height;
                        const Tap& y = rows[line % height];
                        for (size_t ox = 0; ox < width; ++ox) {
                            const Tap& x = columns[ox];
                            std::byte* out = target + (line * width + ox) * channels * bytes;
                            auto at = [&](size_t row, size_t column) {
                                return source + ((n * shape[1] + row) * shape[2] + column) * channels * bytes;
                            };
                            if (nearest) {
                                std::copy_n(at(y.first, x.first), channels * bytes, out);
                                continue;
                            }
                            std::fill(sum.begin(), sum.end(), 0.0F);
                            const float wy[2] = {1 - y.weight, y.weight}, wx[2] = {1 - x.weight, x.weight};
                            for (size_t i = 0; i < 4; ++i) {
                                load_f32(
                                    input.dtype(), at(i < 2 ? y.first : y.second, i % 2 == 0 ? x.first : x.second), pixel.data(), channels);
                                kernels::kernel_set().axpy_row(pixel.data(), sum.data(), channels, wy[i / 2] * wx[i % 2]);
                            }
                            store_f32(input.dtype(), sum.data(), out, channels);
                        }
                    }
                });
        })[0];
}

}  // namespace ttnn::operations::upsample

SHIM_OP("ttnn.upsample", [](const Call& c) {
    const auto values = c.is_list("scale_factor") ? c.f32s("scale_factor") : std::vector<float>{c.f32("scale_factor", 1)};
    SHIM_CHECK(values.size() == 1 || values.size() == 2, "scale_factor: expected one or two values, got {}", values.size());
    return ttnn::upsample(
        c.tensor("input_tensor"), std::array<float, 2>{values[0], values.back()}, c.text("mode", "nearest"),
        c.memory_config("memory_config"), c.compute_config("compute_kernel_config"));
});
