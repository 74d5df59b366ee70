// max_pool2d, avg_pool2d, adaptive pools, global_avg_pool2d.
#include <cmath>
#include <limits>

#include "ops/conv/window.hpp"
#include "ops/eltwise/engine.hpp"
#include "ttnn/operations/core/to_layout/to_layout_op.hpp"
#include "ttnn/operations/core/to_memory_config/to_memory_config_op.hpp"
#include "ttnn/operations/data_movement/reshape_view/reshape.hpp"
#include "ttnn/operations/pool/generic/generic_pools.hpp"
#include "ttnn/operations/pool/global_avg_pool/global_avg_pool.hpp"

using namespace ttnn_shim;
using ttnn::operations::conv::Padding;

namespace {

/// Rows [begin, end) and columns of one output pixel's window, in input coordinates before clipping.
struct Range {
  int64_t begin, end;
};

struct Pool {
  Window window;
  bool max = true;
  bool count_padding = true;
  std::optional<int64_t> divisor;
  bool adaptive = false;
  bool indices = false;
  std::optional<MemoryConfig> memory_config;
  std::optional<TensorMemoryLayout> scheme;
  bool sliced = false;
  bool deallocate_input = false;
  DataType dtype = DataType::BFLOAT16;
  Layout layout = Layout::ROW_MAJOR;
  bool config_in_dram = false;
};

Range range_of(const Pool& pool, size_t axis, int64_t out) {
  const Window& w = pool.window;
  const int64_t size = axis == 0 ? w.height : w.width;
  if (pool.adaptive) {
    const int64_t count = axis == 0 ? w.out_height : w.out_width;
    return {out * size / count, ((out + 1) * size + count - 1) / count};
  }
  const int64_t begin = out * w.stride[axis] - w.padding[2 * axis];
  return {begin, begin + w.dilation[axis] * (w.kernel[axis] - 1) + 1};
}

void pool_kernel(const Tensor& input, const Pool& pool, const Tensor& output, const Tensor* indices) {
  const Window& w = pool.window;
  const auto channels = static_cast<size_t>(w.channels);
  const std::byte* source = raw_data(input);
  std::byte* target = mutable_raw_data(output);
  const size_t in_bytes = stored_bytes(input.dtype()), out_bytes = stored_bytes(output.dtype());
  const bool wide_index = indices != nullptr && indices->dtype() == DataType::UINT32;
  std::byte* index_target = indices != nullptr ? mutable_raw_data(*indices) : nullptr;
  parallel_for(static_cast<size_t>(w.out_pixels()), std::max<size_t>(1, 16384 / channels / static_cast<size_t>(w.kernel[0] * w.kernel[1])), [&](size_t first, size_t last) {
    std::vector<float> sum(channels), pixel(channels);
    std::vector<uint32_t> where(indices != nullptr ? channels : 0);
    for (size_t p = first; p < last; ++p) {
      const auto at = static_cast<int64_t>(p);
      const int64_t n = at / (w.out_height * w.out_width), oy = at / w.out_width % w.out_height, ox = at % w.out_width;
      const Range ry = range_of(pool, 0, oy), rx = range_of(pool, 1, ox);
      std::fill(sum.begin(), sum.end(), pool.max ? -std::numeric_limits<float>::infinity() : 0.0F);
      int64_t inside = 0;
      for (int64_t y = ry.begin; y < ry.end; y += pool.adaptive ? 1 : w.dilation[0]) {
        if (y < 0 || y >= w.height) continue;
        for (int64_t x = rx.begin; x < rx.end; x += pool.adaptive ? 1 : w.dilation[1]) {
          if (x < 0 || x >= w.width) continue;
          ++inside;
          const int64_t place = y * w.width + x;
          load_f32(input.dtype(), source + static_cast<size_t>((n * w.height * w.width + place) * w.channels) * in_bytes, pixel.data(), channels);
          if (!pool.max) {
            for (size_t c = 0; c < channels; ++c) sum[c] += pixel[c];
          } else if (indices == nullptr) {
            for (size_t c = 0; c < channels; ++c) sum[c] = pixel[c] > sum[c] || pixel[c] != pixel[c] ? pixel[c] : sum[c];
          } else {
            for (size_t c = 0; c < channels; ++c) {
              if (pixel[c] > sum[c] || pixel[c] != pixel[c] || inside == 1) {
                sum[c] = pixel[c];
                where[c] = static_cast<uint32_t>(place);
              }
            }
          }
        }
      }
      if (!pool.max) {
        // with padding counted, a window counts what lies inside the padded input
        auto padded = [&](const Range& r, size_t axis) {
          const int64_t size = (axis == 0 ? w.height : w.width) + w.padding[2 * axis + 1];
          int64_t count = 0;
          for (int64_t v = r.begin; v < r.end; v += w.dilation[axis]) count += v < size ? 1 : 0;
          return count;
        };
        const int64_t area = pool.divisor ? *pool.divisor : (pool.count_padding && !pool.adaptive ? padded(ry, 0) * padded(rx, 1) : inside);
        const float factor = 1.0F / static_cast<float>(area);
        for (float& value : sum) value *= factor;
      }
      store_f32(output.dtype(), sum.data(), target + p * channels * out_bytes, channels);
      for (size_t c = 0; c < where.size(); ++c) {
        if (wide_index) {
          reinterpret_cast<uint32_t*>(index_target)[p * channels + c] = where[c];
        } else {
          reinterpret_cast<uint16_t*>(index_target)[p * channels + c] = static_cast<uint16_t>(where[c]);
        }
      }
    }
  });
}

std::vector<Tensor> run_pool(const char* op_name, const Tensor& input, Pool pool) {
  OpScope scope(op_name);
  Window& w = pool.window;
  if (!pool.adaptive) {
    for (size_t i = 0; i < 2; ++i) {
      SHIM_CHECK(w.kernel[i] <= 0 || std::max(w.padding[2 * i], w.padding[2 * i + 1]) * 2 <= w.kernel[i], "padding: {} is more than half of the kernel size {}", std::max(w.padding[2 * i], w.padding[2 * i + 1]), w.kernel[i]);
    }
    w.resolve();
  }
  check_device_tensor(input, "input_tensor");
  check_pixels(input, w);
  SHIM_CHECK(input.dtype() == DataType::BFLOAT16 || is_block_float(input.dtype()), "input_tensor: expected BFLOAT16 or BFLOAT8_B, got {}", input.dtype());
  SHIM_CHECK(pool.dtype == DataType::BFLOAT16 || (is_block_float(pool.dtype) && pool.layout == Layout::TILE), "dtype: expected BFLOAT16, or BFLOAT8_B with output_layout TILE, got {}", pool.dtype);
  const auto grid = device_of(input)->compute_with_storage_grid_size();
  const auto gx = static_cast<int64_t>(grid.x), gy = static_cast<int64_t>(grid.y);
  Split split;
  if (input.memory_config().is_sharded() && input.memory_config().shard_spec()) {
    const auto& spec = *input.memory_config().shard_spec();
    split.layout = input.memory_config().memory_layout();
    split.grid = spec.grid;
    const auto box = spec.grid.bounding_box();
    split.cores_c = split.layout == TensorMemoryLayout::HEIGHT_SHARDED ? 1 : static_cast<int64_t>(split.layout == TensorMemoryLayout::WIDTH_SHARDED ? spec.num_cores() : box.end_coord.x - box.start_coord.x + 1);
    split.cores_nhw = static_cast<int64_t>(spec.num_cores()) / split.cores_c;
  } else {
    split.layout = pool.scheme.value_or(w.out_pixels() <= 32 ? TensorMemoryLayout::WIDTH_SHARDED : TensorMemoryLayout::HEIGHT_SHARDED);
    if (split.layout == TensorMemoryLayout::HEIGHT_SHARDED) {
      split.cores_nhw = parts_without_empty(w.out_pixels(), gx * gy);
    } else {
      split.cores_c = parts_without_empty((w.channels + 31) / 32, split.layout == TensorMemoryLayout::WIDTH_SHARDED ? gx * gy : gx);
      if (split.layout == TensorMemoryLayout::BLOCK_SHARDED) split.cores_nhw = parts_without_empty(w.out_pixels(), gy);
    }
    split.grid = split.layout == TensorMemoryLayout::BLOCK_SHARDED
                     ? CoreRangeSet(CoreRange(CoreCoord(0, 0), CoreCoord(static_cast<size_t>(split.cores_c - 1), static_cast<size_t>(split.cores_nhw - 1))))
                     : cores_in_rows(split.cores_nhw * split.cores_c, gx);
  }
  const int64_t channels8 = (w.channels + 7) / 8 * 8;
  const int64_t per_core = (w.in_pixels() + w.out_pixels() * 2) / split.cores_nhw * channels8 / split.cores_c * 4;
  pool.sliced = pool.sliced || (!input.memory_config().is_sharded() && per_core > 1200000);
  const bool tiled = pool.layout == Layout::TILE;
  const Tensor gathered = gather_windows(input, w, split, tiled, pool.sliced, pool.config_in_dram);
  const Shape shape({1, 1, static_cast<uint32_t>(w.out_pixels()), static_cast<uint32_t>(w.channels)});
  const MemoryConfig memory = pool.sliced ? MemoryConfig(BufferType::DRAM) : MemoryConfig(split.layout, BufferType::L1, shards_of(split, w.out_pixels(), w.channels, tiled, 1));
  std::vector<TensorSpec> specs = {make_spec(shape, pool.dtype, pool.layout, memory)};
  if (pool.indices) specs.push_back(make_spec(shape, w.height * w.width > 65535 ? DataType::UINT32 : DataType::UINT16, pool.layout, memory));
  auto outputs = launch({.op = "pool2d", .attrs = {{"window_hw", std::vector<int64_t>{w.kernel[0], w.kernel[1]}}, {"max", pool.max}}, .name = "Pool2D"}, {gathered}, specs,
                        [&](std::span<const Tensor> made) { pool_kernel(input, pool, made[0], pool.indices ? &made[1] : nullptr); });
  if (pool.memory_config) {
    for (Tensor& output : outputs) {
      if (*pool.memory_config != output.memory_config()) output = ttnn::to_memory_config(output, *pool.memory_config);
    }
  }
  if (pool.deallocate_input) {
    Tensor spent = input;
    spent.deallocate(true);
  }
  return outputs;
}

std::array<int64_t, 2> wide(std::array<uint32_t, 2> pair) { return {pair[0], pair[1]}; }

Tensor adaptive(const char* op_name, bool max, const Tensor& input, Window window, std::array<uint32_t, 2> output_size, const std::optional<MemoryConfig>& memory_config, bool deallocate_input) {
  OpScope scope(op_name);
  SHIM_CHECK(output_size[0] > 0 && output_size[1] > 0 && window.height >= output_size[0] && window.width >= output_size[1], "output_size: {} x {} does not fit the input {} x {}", output_size[0], output_size[1],
             window.height, window.width);
  Pool pool;
  pool.window = window;
  pool.window.out_height = output_size[0];
  pool.window.out_width = output_size[1];
  pool.window.stride = {window.height / output_size[0], window.width / output_size[1]};
  pool.window.kernel = {window.height - (output_size[0] - 1) * pool.window.stride[0], window.width - (output_size[1] - 1) * pool.window.stride[1]};
  pool.max = max;
  pool.adaptive = true;
  pool.memory_config = memory_config;
  pool.deallocate_input = deallocate_input;
  return run_pool(op_name, input, pool)[0];
}

}  // namespace

namespace ttnn {

std::vector<Tensor> operations::pool::max_pool2d(const Tensor& input, uint32_t batch_size, uint32_t input_h, uint32_t input_w, uint32_t channels, std::array<uint32_t, 2> kernel_size,
                                                 std::array<uint32_t, 2> stride, Padding padding, std::array<uint32_t, 2> dilation, bool ceil_mode, const std::optional<const MemoryConfig>& memory_config,
                                                 const std::optional<Op2DSliceConfig>& slices, std::optional<const TensorMemoryLayout> scheme, bool deallocate_input, bool, bool return_indices,
                                                 DataType dtype, Layout output_layout, bool config_tensor_in_dram) {
  Pool pool;
  pool.window = {batch_size, input_h, input_w, channels, wide(kernel_size), wide(stride), wide(dilation), four_paddings(padding), ceil_mode};
  pool.indices = return_indices;
  if (memory_config) pool.memory_config = *memory_config;
  if (scheme) pool.scheme = *scheme;
  pool.sliced = slices && slices->num_slices > 1;
  pool.deallocate_input = deallocate_input;
  pool.dtype = dtype;
  pool.layout = output_layout;
  pool.config_in_dram = config_tensor_in_dram;
  return run_pool("ttnn.max_pool2d", input, pool);
}

Tensor operations::pool::avg_pool2d(const Tensor& input, uint32_t batch_size, uint32_t input_h, uint32_t input_w, uint32_t channels, std::array<uint32_t, 2> kernel_size,
                                    std::array<uint32_t, 2> stride, Padding padding, bool ceil_mode, bool count_include_pad, std::optional<int32_t> divisor_override,
                                    const std::optional<const MemoryConfig>& memory_config, const std::optional<Op2DSliceConfig>& slices, std::optional<const TensorMemoryLayout> scheme,
                                    const std::optional<ComputeKernelConfig>&, bool deallocate_input, bool, DataType dtype, Layout output_layout, bool config_tensor_in_dram) {
  OpScope scope("ttnn.avg_pool2d");
  SHIM_CHECK(!divisor_override || *divisor_override != 0, "divisor_override: expected a value other than 0");
  Pool pool;
  pool.window = {batch_size, input_h, input_w, channels, wide(kernel_size), wide(stride), {1, 1}, four_paddings(padding), ceil_mode};
  pool.max = false;
  pool.count_padding = count_include_pad;
  if (divisor_override) pool.divisor = *divisor_override;
  if (memory_config) pool.memory_config = *memory_config;
  if (scheme) pool.scheme = *scheme;
  pool.sliced = slices && slices->num_slices > 1;
  pool.deallocate_input = deallocate_input;
  pool.dtype = dtype;
  pool.layout = output_layout;
  pool.config_in_dram = config_tensor_in_dram;
  return run_pool("ttnn.avg_pool2d", input, pool)[0];
}

Tensor operations::experimental::adaptive_pool::adaptive_avg_pool2d(const Tensor& input, uint32_t batch_size, uint32_t input_h, uint32_t input_w, uint32_t channels, std::array<uint32_t, 2> output_size,
                                                                    const std::optional<const MemoryConfig>& memory_config, const std::optional<Op2DSliceConfig>&, std::optional<const TensorMemoryLayout>,
                                                                    const std::optional<ComputeKernelConfig>&, bool deallocate_input, bool) {
  return adaptive("ttnn.adaptive_avg_pool2d", false, input, {batch_size, input_h, input_w, channels}, output_size, memory_config ? std::optional<MemoryConfig>(*memory_config) : std::nullopt, deallocate_input);
}
Tensor operations::experimental::adaptive_pool::adaptive_max_pool2d(const Tensor& input, uint32_t batch_size, uint32_t input_h, uint32_t input_w, uint32_t channels, std::array<uint32_t, 2> output_size,
                                                                    const std::optional<const MemoryConfig>& memory_config, const std::optional<Op2DSliceConfig>&, std::optional<const TensorMemoryLayout>,
                                                                    bool deallocate_input, bool) {
  return adaptive("ttnn.adaptive_max_pool2d", true, input, {batch_size, input_h, input_w, channels}, output_size, memory_config ? std::optional<MemoryConfig>(*memory_config) : std::nullopt, deallocate_input);
}

Tensor global_avg_pool2d(const Tensor& input, const std::optional<MemoryConfig>& memory_config, const std::optional<DataType>& output_dtype) {
  OpScope scope("ttnn.global_avg_pool2d");
  check_device_tensor(input, "input_tensor");
  const Shape& shape = input.logical_shape();
  SHIM_CHECK(shape.rank() == 4, "input_tensor: expected shape [N, H, W, C], got {}", shape);
  SHIM_CHECK(is_floating_point(input.dtype()), "input_tensor: expected a floating point dtype, got {}", input.dtype());
  SHIM_CHECK(uint64_t{shape[1]} * shape[2] > 0, "input_tensor: no pixels in shape {}", shape);
  const Tensor rows = input.layout() == Layout::TILE && shape[1] * shape[2] % 32 != 0 ? to_layout(input, Layout::ROW_MAJOR) : input;
  return launch({.op = "reduce", .attrs = {{"op", std::string("MEAN")}, {"dim", std::string("H")}}, .name = "ReduceDeviceOperation"}, {rows},
                {make_spec(Shape({shape[0], 1, 1, shape[3]}), output_dtype.value_or(input.dtype()), Layout::TILE, memory_config.value_or(MemoryConfig(input.memory_config().buffer_type())))},
                [&](std::span<const Tensor> outputs) {
                  const size_t pixels = size_t{shape[1]} * shape[2], channels = shape[3];
                  const std::byte* source = raw_data(input);
                  const size_t bytes = stored_bytes(input.dtype());
                  std::vector<float> sums(size_t{shape[0]} * channels, 0.0F);
                  parallel_for(shape[0], std::max<size_t>(1, 8192 / std::max<size_t>(1, pixels * channels)), [&](size_t begin, size_t end) {
                    std::vector<float> pixel(channels);
                    for (size_t n = begin; n < end; ++n) {
                      float* sum = sums.data() + n * channels;
                      for (size_t p = 0; p < pixels; ++p) {
                        load_f32(input.dtype(), source + (n * pixels + p) * channels * bytes, pixel.data(), channels);
                        for (size_t c = 0; c < channels; ++c) sum[c] += pixel[c];
                      }
                      for (size_t c = 0; c < channels; ++c) sum[c] /= static_cast<float>(pixels);
                    }
                  });
                  write_f32(outputs[0], sums);
                })[0];
}

}  // namespace ttnn

// ---- the Python door -------------------------------------------------------------------------------------------------------

namespace {
Pool parse_pool(const Call& c) {
  Pool pool;
  pool.window = {c.i32("batch_size"), c.i32("input_h"), c.i32("input_w"), c.i32("channels"), wide(pair_of(c, "kernel_size", {1, 1})), wide(pair_of(c, "stride", {1, 1})),
                 wide(pair_of(c, "dilation", {1, 1})), four_paddings(padding_of(c, "padding")), c.boolean("ceil_mode", false)};
  pool.count_padding = c.boolean("count_include_pad", true);
  if (const auto divisor = c.optional_i32("divisor_override")) {
    SHIM_CHECK(*divisor != 0, "divisor_override: expected a value other than 0");
    pool.divisor = *divisor;
  }
  pool.memory_config = c.memory_config("memory_config");
  if (c.is_text("applied_shard_scheme")) {
    const auto name = c.text("applied_shard_scheme");
    pool.scheme = name == "BLOCK_SHARDED" ? TensorMemoryLayout::BLOCK_SHARDED : (name == "WIDTH_SHARDED" ? TensorMemoryLayout::WIDTH_SHARDED : TensorMemoryLayout::HEIGHT_SHARDED);
  }
  if (const auto record = c.record("dram_slice_config")) pool.sliced = record->integer("num_slices", 0) > 1;
  pool.deallocate_input = c.boolean("deallocate_input", false);
  pool.indices = c.boolean("return_indices", false);
  pool.dtype = c.dtype("dtype").value_or(DataType::BFLOAT16);
  pool.layout = c.layout("output_layout").value_or(Layout::ROW_MAJOR);
  pool.config_in_dram = c.boolean("config_tensor_in_dram", false);
  return pool;
}
Tensor call_adaptive(const char* name, bool max, const Call& c) {
  return adaptive(name, max, c.tensor("input_tensor"), {c.i32("batch_size"), c.i32("input_h"), c.i32("input_w"), c.i32("channels")}, pair_of(c, "output_size", {1, 1}), c.memory_config("memory_config"),
                  c.boolean("deallocate_input", false));
}
}  // namespace

SHIM_OP("ttnn.max_pool2d", [](const Call& c) { return run_pool("ttnn.max_pool2d", c.tensor("input_tensor"), parse_pool(c)); });
SHIM_OP("ttnn.avg_pool2d", [](const Call& c) {
  Pool pool = parse_pool(c);
  pool.max = false;
  return run_pool("ttnn.avg_pool2d", c.tensor("input_tensor"), pool)[0];
});
SHIM_OP("ttnn.adaptive_avg_pool2d", [](const Call& c) { return call_adaptive("ttnn.adaptive_avg_pool2d", false, c); });
SHIM_OP("ttnn.adaptive_max_pool2d", [](const Call& c) { return call_adaptive("ttnn.adaptive_max_pool2d", true, c); });
SHIM_OP("ttnn.global_avg_pool2d", [](const Call& c) { return ttnn::global_avg_pool2d(c.tensor("input_tensor"), c.memory_config("memory_config"), c.dtype("dtype")); });
