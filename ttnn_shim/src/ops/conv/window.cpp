#include "ops/conv/window.hpp"

#include <algorithm>

namespace ttnn_shim {

void Window::resolve() {
  SHIM_CHECK(batch > 0 && height > 0 && width > 0 && channels > 0, "batch_size, input size and channels: expected positive numbers, got {} x {} x {} x {}", batch, height, width, channels);
  const int64_t sizes[2] = {height, width};
  int64_t out[2];
  for (size_t i = 0; i < 2; ++i) {
    SHIM_CHECK(kernel[i] > 0 && stride[i] > 0 && dilation[i] > 0, "kernel_size, stride and dilation: expected positive numbers, got {}, {} and {}", kernel[i], stride[i], dilation[i]);
    const int64_t padded = sizes[i] + padding[2 * i] + padding[2 * i + 1], reach = dilation[i] * (kernel[i] - 1) + 1;
    SHIM_CHECK(padded >= reach, "kernel_size: a window of {} does not fit the padded input of {}", reach, padded);
    out[i] = (padded - reach + (ceil_mode ? stride[i] - 1 : 0)) / stride[i] + 1;
    if (ceil_mode && (out[i] - 1) * stride[i] >= sizes[i] + padding[2 * i]) --out[i];  // the last window must start inside
  }
  out_height = out[0];
  out_width = out[1];
}

std::array<int64_t, 4> four_paddings(const ttnn::operations::conv::Padding& padding) {
  if (const auto* two = std::get_if<std::array<uint32_t, 2>>(&padding)) return {(*two)[0], (*two)[0], (*two)[1], (*two)[1]};
  const auto& four = std::get<std::array<uint32_t, 4>>(padding);
  return {four[0], four[1], four[2], four[3]};
}

void check_pixels(const Tensor& input, const Window& window) {
  const Shape& shape = input.logical_shape();
  SHIM_CHECK(shape.rank() == 4, "input_tensor: expected rank 4, got shape {}", shape);
  SHIM_CHECK(shape[3] == window.channels, "input_tensor: expected {} channels in the last dimension, got shape {}", window.channels, shape);
  SHIM_CHECK(static_cast<int64_t>(shape[0]) * shape[1] * shape[2] == window.in_pixels(), "input_tensor: expected {} x {} x {} pixels, got shape {}", window.batch, window.height, window.width, shape);
}

int64_t parts_without_empty(int64_t units, int64_t most) {
  int64_t parts = std::max<int64_t>(1, std::min(units, most));
  while (parts > 1) {
    const int64_t each = (units + parts - 1) / parts;
    if (each * parts - units < each) break;
    --parts;
  }
  return parts;
}

CoreRangeSet cores_in_rows(int64_t count, int64_t width) {
  std::vector<CoreRange> ranges;
  const int64_t full = count / width, rest = count % width;
  if (full > 0) ranges.emplace_back(CoreCoord(0, 0), CoreCoord(static_cast<size_t>(width - 1), static_cast<size_t>(full - 1)));
  if (rest > 0) ranges.emplace_back(CoreCoord(0, static_cast<size_t>(full)), CoreCoord(static_cast<size_t>(rest - 1), static_cast<size_t>(full)));
  return CoreRangeSet(ranges);
}

ShardSpec shards_of(const Split& split, int64_t pixels, int64_t channels, bool tiled, int64_t channel_step) {
  auto up = [](int64_t value, int64_t step) { return (value + step - 1) / step * step; };
  const int64_t row_step = tiled ? 32 : 1;
  const int64_t rows = up((up(pixels, row_step) / row_step + split.cores_nhw - 1) / split.cores_nhw * row_step, row_step);
  const int64_t step = tiled ? 32 : channel_step;
  const int64_t columns = up((channels + split.cores_c - 1) / split.cores_c, step);
  return ShardSpec(split.grid, {static_cast<uint32_t>(rows), static_cast<uint32_t>(columns)});
}

Tensor gather_windows(const Tensor& input, const Window& w, const Split& split, bool output_tiled, bool sliced, bool config_in_dram) {
  const Shape flat({1, 1, static_cast<uint32_t>(w.in_pixels()), static_cast<uint32_t>(w.channels)});
  const Layout layout = input.layout();
  Tensor shards = input;
  if (!input.memory_config().is_sharded()) {
    const MemoryConfig memory = sliced ? MemoryConfig(BufferType::DRAM) : MemoryConfig(split.layout, BufferType::L1, shards_of(split, w.in_pixels(), w.channels, layout == Layout::TILE, 8));
    shards = launch({.op = "interleaved_to_sharded", .name = "InterleavedToShardedDeviceOperation"}, {input}, {make_spec(flat, input.dtype(), layout, memory)}, [](std::span<const Tensor>) {})[0];
  }
  // padded rows that one core's windows touch
  const int64_t padded_width = w.width + w.padding[2] + w.padding[3];
  const int64_t pixels_per_core = (w.out_pixels() + split.cores_nhw - 1) / split.cores_nhw;
  const int64_t rows = (pixels_per_core + w.out_width - 1) / w.out_width * w.stride[0] + w.dilation[0] * (w.kernel[0] - 1) + 1;
  const int64_t sticks = std::max<int64_t>(1, std::min(rows, w.height + w.padding[0] + w.padding[1]) * padded_width);
  const DataType dtype = is_block_float(input.dtype()) ? DataType::BFLOAT16 : input.dtype();
  const int64_t channels = (w.channels + 7) / 8 * 8;
  const Shape gathered({1, 1, static_cast<uint32_t>(sticks * split.cores_nhw), static_cast<uint32_t>(channels)});
  Split out = split;
  const MemoryConfig memory = sliced ? MemoryConfig(BufferType::DRAM) : MemoryConfig(split.layout, BufferType::L1, shards_of(out, sticks * split.cores_nhw, channels, false, 8));
  auto ints = [](auto... values) { return std::vector<int64_t>{values...}; };
  return launch({.op = "halo",
                 .attrs = {{"batch", w.batch}, {"input_hw", ints(w.height, w.width)}, {"window_hw", ints(w.kernel[0], w.kernel[1])}, {"stride_hw", ints(w.stride[0], w.stride[1])},
                           {"padding", ints(w.padding[0], w.padding[1], w.padding[2], w.padding[3])}, {"dilation_hw", ints(w.dilation[0], w.dilation[1])}, {"num_cores_nhw", split.cores_nhw},
                           {"num_cores_c", split.cores_c}, {"is_out_tiled", output_tiled}, {"config_in_dram", config_in_dram}},
                 .name = "HaloDeviceOperation"},
                {shards}, {make_spec(gathered, dtype, Layout::ROW_MAJOR, memory)}, [](std::span<const Tensor>) {})[0];
}

std::array<uint32_t, 2> pair_of(const Call& c, const char* name, std::array<uint32_t, 2> otherwise) {
  if (!c.has(name)) return otherwise;
  const auto values = c.u32s(name);
  SHIM_CHECK(values.size() == 1 || values.size() == 2, "{}: expected one or two integers, got {}", name, values.size());
  return {values[0], values.back()};
}

ttnn::operations::conv::Padding padding_of(const Call& c, const char* name) {
  if (!c.has(name)) return std::array<uint32_t, 2>{0, 0};
  const auto values = c.u32s(name);
  SHIM_CHECK(values.size() == 1 || values.size() == 2 || values.size() == 4, "{}: expected two or four integers, got {}", name, values.size());
  if (values.size() == 4) return std::array<uint32_t, 4>{values[0], values[1], values[2], values[3]};
  return std::array<uint32_t, 2>{values[0], values.back()};
}

}  // namespace ttnn_shim
