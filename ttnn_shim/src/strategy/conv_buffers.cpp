// The circular buffers of a convolution's program (ttnn 0.81.1), and whether both data movement cores gather its rows.
#include "strategy/conv_buffers.hpp"

#include <algorithm>
#include <cmath>

namespace ttnn_shim::strategy {
namespace {

constexpr std::int64_t TILE_EDGE = 32, SCRATCH_BYTES = 64;

/// MB/s of a transfer by its size: from `least` at 16 bytes straight to `peak` at `full` bytes.
struct Rate {
    double full, least, peak;
    double at(double bytes) const { return least + (peak - least) / (full - 16) * (std::clamp(bytes, 16.0, full) - 16); }
};

/// What the real package compares when it decides on the second reader: its own table, not this simulator's clock.
struct ReaderTable {
    double mhz;
    Rate local, dram, multicast;
    double tilize[2][3][2];  ///< cycles per tile by input (float32, bfloat16), output (float32, bfloat16, bfloat8_b), float32 accumulation
};
constexpr ReaderTable WORMHOLE{
    1000, {1024, 868, 27840}, {2048, 436, 28411}, {65536, 318, 25345}, {{{107, 128}, {74, 74}, {74, 70}}, {{92, 117}, {61, 68}, {40, 43}}}};
constexpr ReaderTable BLACKHOLE{
    1350,
    {4096, 1124, 80480},
    {2048, 671, 80885},
    {65536, 182, 57677},
    {{{132, 132}, {132, 80}, {132, 77}}, {{105, 128}, {72, 72}, {60, 60}}}};

bool second_reader_pays(const Arch& arch, const OpConfig& c, const Conv2d& op, double channels, double weight_tile) {
    const ReaderTable& t = arch.family == sim::Family::Wormhole ? WORMHOLE : BLACKHOLE;
    const bool wide = c.inputs[0].dtype == DataType::FLOAT32;
    const double element = wide ? 4 : 2, kw = static_cast<double>(op.window_hw[1]), h = static_cast<double>(op.act_block_h),
                 w = static_cast<double>(op.act_block_w);
    const double unit = element * channels * (op.dilation_w == 1 ? kw : 1);
    const double gather = t.mhz * element * h * TILE_EDGE * channels * kw / t.local.at(unit);
    const double weights = weight_tile * static_cast<double>(op.per_core_n) * w;
    const double fetch = t.mhz * weights * (1 / t.dram.at(weight_tile) + 1 / t.multicast.at(weights));
    const int out = c.outputs[0].dtype == DataType::FLOAT32 ? 0 : c.outputs[0].dtype == DataType::BFLOAT16 ? 1 : 2;
    const double tilize = t.tilize[wide ? 0 : 1][out][c.compute.fp32_dest_acc ? 1 : 0] * w * h;
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
