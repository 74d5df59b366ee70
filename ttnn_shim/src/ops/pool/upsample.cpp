// upsample: nearest and bilinear.
#include "ttnn/operations/pool/upsample/upsample.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/arguments.hpp"
#include "ops/conv/window.hpp"
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

/// Sides of a result and the factors that lead to it.
struct Scales {
    std::array<float, 2> by;
    bool whole;  ///< both factors are whole numbers
};

Scales scales_of(const std::variant<int, std::array<int, 2>, float, std::array<float, 2>>& factor) {
    const auto by = std::visit(
        [](const auto& s) -> std::array<float, 2> {
            if constexpr (requires { s[0]; }) {
                return {static_cast<float>(s[0]), static_cast<float>(s[1])};
            } else {
                return {static_cast<float>(s), static_cast<float>(s)};
            }
        },
        factor);
    SHIM_CHECK(
        by[0] > 0 && by[1] > 0 && by[0] < 65536 && by[1] < 65536, "scale_factor: expected positive factors, got {} and {}", by[0], by[1]);
    return {by, std::floor(by[0]) == by[0] && std::floor(by[1]) == by[1]};
}

/// The input's shards with another number of rows each.
MemoryConfig with_rows(const MemoryConfig& own, uint64_t rows) {
    const auto& shard = *own.shard_spec();
    SHIM_CHECK(rows <= std::numeric_limits<uint32_t>::max(), "scale_factor: {} rows in one shard", rows);
    return MemoryConfig(
        own.memory_layout(), own.buffer_type(),
        tt::tt_metal::ShardSpec(shard.grid, {static_cast<uint32_t>(rows), shard.shape[1]}, shard.orientation));
}

/// Where a nearest result lies. Whole factors: each core enlarges its own rows; otherwise the rows are dealt out anew.
MemoryConfig nearest_memory(const Tensor& input, const Shape& result, const Scales& scales, const std::optional<MemoryConfig>& requested) {
    const MemoryConfig& own = input.memory_config();
    if (!own.is_sharded() || !own.shard_spec()) {
        SHIM_CHECK(!requested || !requested->is_sharded(), "memory_config: an interleaved input_tensor has no sharded result");
        return requested.value_or(own);
    }
    if (requested && !requested->is_sharded()) return *requested;
    const auto& shard = *own.shard_spec();
    if (scales.whole && own.memory_layout() != TensorMemoryLayout::WIDTH_SHARDED)
        return with_rows(own, uint64_t{shard.shape[0]} * static_cast<uint64_t>(scales.by[0]) * static_cast<uint64_t>(scales.by[1]));
    uint64_t cores = 1;
    if (own.memory_layout() == TensorMemoryLayout::HEIGHT_SHARDED) cores = shard.grid.num_cores();
    if (own.memory_layout() == TensorMemoryLayout::BLOCK_SHARDED) {
        const CoreCoord box = shard.grid.bounding_box().grid_size();
        cores = shard.orientation == ShardOrientation::ROW_MAJOR ? box.y : box.x;
    }
    const uint64_t rows = uint64_t{result[0]} * result[1] * result[2];
    return with_rows(own, (rows + cores - 1) / cores);
}

/// The input of a bilinear program: rows dealt to cores (by TT-NN's sharding first, if interleaved) with their neighbours.
Tensor bilinear_rows(const Tensor& input, const Shape& shape) {
    const Window window{
        .batch = shape[0],
        .in_h = shape[1],
        .in_w = shape[2],
        .channels = shape[3],
        .kernel_h = 2,
        .kernel_w = 2,
        .top = 1,
        .bottom = 1,
        .left = 1,
        .right = 1};
    const CoreCoord grid = machine_of(input).grid();
    if (input.is_sharded()) return gather_halo(input, window, placement_of(input.memory_config(), grid), 1, false, false, true);
    const auto all = static_cast<uint32_t>(grid.x * grid.y), rows = static_cast<uint32_t>(window.in_pixels());
    const uint32_t each = (rows + all - 1) / all;
    SHIM_CHECK(input.layout() != Layout::TILE || each % ttnn::TILE_SIZE == 0, "input_tensor: {} rows per core are no whole tiles", each);
    return gather_halo(input, window, {TensorMemoryLayout::HEIGHT_SHARDED, (rows + each - 1) / each, 1, grid}, 1, false, false, true);
}

void upsample_kernel(const Tensor& input, const Tensor& output, const Shape& shape, const Scales& scales, bool nearest) {
    const Shape& result = output.logical_shape();
    const size_t height = result[1], width = result[2], channels = shape[3];
    const auto rows = taps(shape[1], height, scales.by[0], nearest), columns = taps(shape[2], width, scales.by[1], nearest);
    const size_t from = stored_bytes(input.dtype()), to = stored_bytes(output.dtype());
    const bool same = input.dtype() == output.dtype();
    const std::byte* source = raw_data(input);
    std::byte* target = mutable_raw_data(output);
    parallel_for(
        size_t{shape[0]} * height, std::max<size_t>(1, 16384 / std::max<size_t>(1, channels * width)), [&](size_t begin, size_t end) {
            std::vector<float> sum(channels), pixel(channels);
            for (size_t line = begin; line < end; ++line) {
                const size_t n = line / height;
                const Tap& y = rows[line % height];
                for (size_t ox = 0; ox < width; ++ox) {
                    const Tap& x = columns[ox];
                    std::byte* out = target + (line * width + ox) * channels * to;
                    auto at = [&](size_t row, size_t column) {
                        return source + ((n * shape[1] + row) * shape[2] + column) * channels * from;
                    };
                    if (nearest && same) {
                        std::copy_n(at(y.first, x.first), channels * to, out);
                        continue;
                    }
                    std::fill(sum.begin(), sum.end(), 0.0F);
                    const float wy[2] = {1 - y.weight, y.weight}, wx[2] = {1 - x.weight, x.weight};
                    for (size_t i = 0; i < (nearest ? 1U : 4U); ++i) {
                        load_f32(input.dtype(), at(i < 2 ? y.first : y.second, i % 2 == 0 ? x.first : x.second), pixel.data(), channels);
                        kernels::kernel_set().axpy_row(pixel.data(), sum.data(), channels, wy[i / 2] * wx[i % 2]);
                    }
                    store_f32(output.dtype(), sum.data(), out, channels);
                }
            }
        });
}

}  // namespace

namespace ttnn::operations::upsample {

Tensor upsample(
    const Tensor& input, std::variant<int, std::array<int, 2>, float, std::array<float, 2>> scale_factor, const std::string& mode,
    const std::optional<MemoryConfig>& memory_config, const std::optional<ComputeKernelConfig>& compute) {
    OpScope scope("ttnn.upsample");
    check_device_tensor(input, "input_tensor");
    SHIM_CHECK(mode == "nearest" || mode == "bilinear", "mode: expected nearest or bilinear, got '{}'", mode);
    const bool nearest = mode == "nearest", tiled = input.layout() == Layout::TILE;
    const Shape& given = input.logical_shape();
    SHIM_CHECK(given.rank() >= 4, "input_tensor: expected shape [N, H, W, C], got {}", given);
    const Shape shape({given[0], given[1], given[2], given[3]});  // further dimensions are not looked at
    SHIM_CHECK(given.volume() == shape.volume() || given.rank() > 4, "input_tensor: expected shape [N, H, W, C], got {}", given);
    const Scales scales = scales_of(scale_factor);
    SHIM_CHECK(
        !tiled || input.padded_shape() == given, "input_tensor: tiles must be whole, got shape {} padded to {}", given,
        input.padded_shape());
    SHIM_CHECK(!tiled || given.volume() > 0, "input_tensor: no tiles in shape {}", given);
    const auto height = static_cast<uint32_t>(std::floor(static_cast<float>(shape[1]) * scales.by[0])),
               width = static_cast<uint32_t>(std::floor(static_cast<float>(shape[2]) * scales.by[1]));
    const Shape result({shape[0], height, width, shape[3]});
    const DataType dtype = input.dtype() == DataType::BFLOAT8_B ? DataType::BFLOAT16 : input.dtype();
    Tensor source = input;
    MemoryConfig memory;
    if (nearest) {
        SHIM_CHECK(
            !tiled || (scales.whole && !input.is_sharded()), "input_tensor: tiles need whole factors and an interleaved input, got {}",
            input.memory_config());
        memory = nearest_memory(input, result, scales, memory_config);
    } else {
        SHIM_CHECK(scales.whole, "scale_factor: bilinear needs whole factors, got {} and {}", scales.by[0], scales.by[1]);
        SHIM_CHECK(input.dtype() == DataType::BFLOAT16, "input_tensor: bilinear expects dtype BFLOAT16, got {}", input.dtype());
        SHIM_CHECK(
            shape[3] % ttnn::TILE_SIZE == 0, "input_tensor: bilinear needs channels divisible by {}, got shape {}", ttnn::TILE_SIZE, shape);
        source = bilinear_rows(input, shape);
        const auto& shard = *source.memory_config().shard_spec();
        const uint64_t cores = source.memory_config().memory_layout() == TensorMemoryLayout::HEIGHT_SHARDED ? shard.grid.num_cores() : 1;
        const uint64_t rows = input.is_sharded() ? input.memory_config().shard_spec()->shape[0]
                                                 : (uint64_t{shape[0]} * shape[1] * shape[2] + cores - 1) / cores;
        memory = memory_config.value_or(
            with_rows(source.memory_config(), rows * static_cast<uint64_t>(scales.by[0]) * static_cast<uint64_t>(scales.by[1])));
    }
    return launch(
        {.op =
             strategy::Upsample{
                 .scale_hw = strategy::Pair{static_cast<int64_t>(std::ceil(scales.by[0])), static_cast<int64_t>(std::ceil(scales.by[1]))},
                 .mode = mode},
         .compute = nearest ? std::nullopt : compute,
         .name = "UpsampleOperation"},
        {source}, {make_spec(result, dtype, Layout::ROW_MAJOR, memory)},
        [=](std::span<const Tensor> outputs) { upsample_kernel(input, outputs[0], shape, scales, nearest); })[0];
}

}  // namespace ttnn::operations::upsample

SHIM_OP("ttnn.upsample", [](const arguments::upsample& args) {
    const auto& values = args.scale_factor;
    SHIM_CHECK(values.size() == 1 || values.size() == 2, "scale_factor: expected one or two values, got {}", values.size());
    return ttnn::upsample(
        args.input_tensor, std::array<float, 2>{values[0], values.back()}, args.mode, args.memory_config, args.compute_kernel_config);
});
