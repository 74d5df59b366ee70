// The circular buffers of a convolution's program (ttnn 0.81.1), and whether both data movement cores gather its rows.
#include "strategy/conv_buffers.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace ttnn_shim::strategy {
namespace {

constexpr std::int64_t TILE_EDGE = 32, SCRATCH_BYTES = 64;

/// MB/s of a transfer of `bytes`: row = {full, least, peak}, from `least` at 16 bytes straight to `peak` at `full` bytes.
double rate(const std::array<double, 3>& row, double bytes) {
    const auto [full, least, peak] = row;
    return least + (peak - least) / (full - 16) * (std::clamp(bytes, 16.0, full) - 16);
}

bool second_reader_pays(const Arch& arch, const OpConfig& c, const Conv2d& op, double channels, double weight_tile) {
    const sim::LibraryFacts& t = arch.library;
    const double mhz = t.conv_reader_clock[0];
    const bool wide = c.inputs[0].dtype == DataType::FLOAT32;
    const double element = wide ? 4 : 2, kw = static_cast<double>(op.window_hw[1]), h = static_cast<double>(op.act_block_h),
                 w = static_cast<double>(op.act_block_w);
    const double unit = element * channels * (op.dilation_w == 1 ? kw : 1);
    const double gather = mhz * element * h * TILE_EDGE * channels * kw / rate(t.conv_reader_local, unit);
    const double weights = weight_tile * static_cast<double>(op.per_core_n) * w;
    const double fetch = mhz * weights * (1 / rate(t.conv_reader_dram, weight_tile) + 1 / rate(t.conv_reader_multicast, weights));
    const std::size_t out = c.outputs[0].dtype == DataType::FLOAT32 ? 0 : c.outputs[0].dtype == DataType::BFLOAT16 ? 2 : 4;
    const double tilize = (wide ? t.conv_tilize_float32 : t.conv_tilize_bfloat16)[out + (c.compute.fp32_dest_acc ? 1 : 0)] * w * h;
    return gather / 2 + std::max(fetch, tilize) < std::max(gather + tilize, fetch);
}

/// Tiles that hold one line of the result's windows and what each further line adds.
std::int64_t reused_tiles(const Conv2d& op, std::int64_t block_h, std::int64_t channels, std::int64_t element, std::int64_t tile) {
    const std::int64_t line = ceil_div(op.out_width, TILE_EDGE), lines = ceil_div(block_h, line);
    const std::int64_t left_over = op.out_width % TILE_EDGE == 0 ? 0 : TILE_EDGE - op.out_width % TILE_EDGE;
    const std::int64_t bytes = lines * channels * op.window_hw[1] * (1 + left_over * op.window_hw[0]) * element;
    return line * op.act_block_w + ceil_div(bytes, tile);
}

}  // namespace

bool gathers_with_both(const Arch& arch, const OpConfig& c, const Conv2d& op) {
    const TensorDesc &a = c.inputs[0], &weights = c.inputs[1];
    const bool height = a.memory == TensorMemoryLayout::HEIGHT_SHARDED, block = a.memory == TensorMemoryLayout::BLOCK_SHARDED;
    if (!(height || block) || op.act_block_h <= 1) return false;
    if (op.split_reader) return *op.split_reader;
    return block || op.activation_reuse ||
           second_reader_pays(arch, c, op, static_cast<double>(shard_of(arch, a).w), static_cast<double>(weights.tile_bytes()));
}

std::vector<CircularBuffer> conv_buffers(const Arch& arch, const OpConfig& c, const Conv2d& op) {
    const TensorDesc &a = c.inputs[0], &weights = c.inputs[1], &out = c.outputs[0];
    const bool height = a.memory == TensorMemoryLayout::HEIGHT_SHARDED, block = a.memory == TensorMemoryLayout::BLOCK_SHARDED;
    const bool wide = a.dtype == DataType::FLOAT32, bias = c.inputs.size() > 2;
    const std::int64_t element = wide ? 4 : 2, in_tile = element * TILE_EDGE * TILE_EDGE, out_tile = out.tile_bytes();
    const std::int64_t kh = op.window_hw[0], kw = op.window_hw[1];
    const std::int64_t tilized = op.act_block_h * op.act_block_w;
    const bool lone =
        op.num_cores_c_in.value_or(1) == 1 && op.num_cores_c_out.value_or(1) == 1 && (!height || op.num_cores_nhw.value_or(1) == 1);
    const bool split = gathers_with_both(arch, c, op);
    std::int64_t first = tilized, second = 0;
    if (split) {
        const std::int64_t second_rows = op.act_block_h / 2, first_rows = op.act_block_h - second_rows;
        const std::int64_t channels = weights.rows() / (kh * kw);
        const auto tiles = [&](std::int64_t rows) {
            return op.activation_reuse && op.out_width > 0 ? reused_tiles(op, rows, channels, element, in_tile) : rows * op.act_block_w;
        };
        first = tiles(first_rows);
        second = tiles(second_rows);
    }
    std::int64_t weight_tiles = op.per_core_n * op.act_block_w;
    if (height && !op.activation_reuse && ceil_div(op.per_core_m, op.act_block_h) > 1) {
        weight_tiles *= kh;  // all of them stay for the blocks of rows that follow
    } else if (op.weights_double_buffer && !(height && op.activation_reuse)) {
        weight_tiles *= 2;
    }
    const std::int64_t depth = weights.rows() / TILE_EDGE, across = ceil_div(weights.width(), TILE_EDGE);
    const std::int64_t k_blocks =
        std::max<std::int64_t>(1, depth / op.act_block_w) * (block ? std::max<std::int64_t>(1, across / op.per_core_n) : 1);
    const bool l1_sums = c.compute.packer_l1_acc && ((bias && k_blocks > 1) || k_blocks > 2);
    const DataType sums = l1_sums ? (c.compute.fp32_dest_acc ? DataType::FLOAT32 : DataType::BFLOAT16) : out.dtype;
    const bool alike = wide ? out.dtype == DataType::FLOAT32 : out.dtype == DataType::BFLOAT16;
    const bool overlaps = block && alike && !lone;
    if (op.act_double_buffer) {
        first *= 2;
        second *= 2;
    }
    std::vector<CircularBuffer> buffers{{"weights", weight_tiles * weights.tile_bytes()}};
    // Each block of rows leaves its sums before the next one's begin.
    if (op.untilize_out || sums != out.dtype) buffers.push_back({"partials", op.act_block_h * op.per_core_n * bytes_per_tile(sums)});
    buffers.push_back({"act", height ? first * in_tile : lone ? 0 : (first + second) * out_tile});
    if (!overlaps) buffers.push_back({"act_second", second * in_tile});
    buffers.push_back({"act_tilized", tilized * out_tile});
    if (bias) buffers.push_back({"bias", op.per_core_n * weights.tile_bytes()});
    if (a.memory == TensorMemoryLayout::WIDTH_SHARDED) buffers.push_back({"rows", op.act_block_w * 2 * in_tile});
    if (block && !overlaps) buffers.push_back({"rows", first * in_tile});
    buffers.push_back({"scratch", SCRATCH_BYTES});
    return buffers;
}

}  // namespace ttnn_shim::strategy
