// conv2d, conv1d, conv_transpose2d and their prepared weights.
#include "ttnn/operations/conv/conv2d/conv2d.hpp"

#include <algorithm>
#include <mutex>
#include <unordered_map>

#include "ops/conv/window.hpp"
#include "ops/matmul/multiply.hpp"
#include "ttnn/operations/conv/conv1d/conv1d.hpp"
#include "ttnn/operations/conv/conv_transpose2d/conv_transpose2d.hpp"
#include "ttnn/operations/core/to_layout/to_layout_op.hpp"
#include "ttnn/operations/core/to_memory_config/to_memory_config_op.hpp"
#include "ttnn/operations/data_movement/reshape_view/reshape.hpp"

using namespace ttnn_shim;
using ttnn::Conv2dConfig;
using ttnn::Op2DSliceConfig;
using ttnn::operations::conv::ConvResult;

namespace {

int64_t up(int64_t value, int64_t step) { return (value + step - 1) / step * step; }

/// Everything that decides a convolution.
struct Conv {
  Window window;
  int64_t out_channels = 1, groups = 1;
  bool transposed = false, mirror = true;
  std::array<int64_t, 2> output_padding{0, 0};
  Conv2dConfig config;
  std::optional<DataType> dtype;
  std::optional<ttnn::ComputeKernelConfig> compute;
  std::optional<MemoryConfig> memory_config;
  std::optional<Op2DSliceConfig> slice;
  MeshDevice* device = nullptr;

  int64_t depth() const { return window.kernel[0] * window.kernel[1] * window.channels; }
  bool is_matmul() const {
    return window.kernel == std::array<int64_t, 2>{1, 1} && window.stride == std::array<int64_t, 2>{1, 1} && window.padding == std::array<int64_t, 4>{0, 0, 0, 0} && groups == 1 && !transposed &&
           config.shard_layout != TensorMemoryLayout::WIDTH_SHARDED;
  }
  Shape output_shape() const { return Shape({1, 1, static_cast<uint32_t>(window.out_pixels()), static_cast<uint32_t>(out_channels)}); }
};

void resolve(Conv& conv) {
  Window& w = conv.window;
  SHIM_CHECK(conv.groups > 0 && w.channels % conv.groups == 0 && conv.out_channels % conv.groups == 0, "groups: {} does not divide {} input and {} output channels", conv.groups, w.channels, conv.out_channels);
  SHIM_CHECK(conv.out_channels > 0, "out_channels: expected a positive number, got {}", conv.out_channels);
  if (!conv.transposed) return w.resolve();
  SHIM_CHECK(w.batch > 0 && w.height > 0 && w.width > 0 && w.channels > 0, "batch_size, input size and channels: expected positive numbers");
  const int64_t sizes[2] = {w.height, w.width};
  int64_t out[2];
  for (size_t i = 0; i < 2; ++i) {
    SHIM_CHECK(w.kernel[i] > 0 && w.stride[i] > 0 && w.dilation[i] > 0, "kernel_size, stride and dilation: expected positive numbers");
    out[i] = (sizes[i] - 1) * w.stride[i] - w.padding[2 * i] - w.padding[2 * i + 1] + w.dilation[i] * (w.kernel[i] - 1) + conv.output_padding[i] + 1;
    SHIM_CHECK(out[i] > 0, "padding: the output size {} is not positive", out[i]);
  }
  w.out_height = out[0];
  w.out_width = out[1];
}

// ---- sharding ------------------------------------------------------------------------------------------------------------

struct Candidate {
  Split split;
  int64_t bytes = 0;  ///< estimated L1 per core
};

Candidate candidate(const Conv& conv, TensorMemoryLayout layout, CoreCoord grid) {
  const Window& w = conv.window;
  const int64_t gx = static_cast<int64_t>(grid.x), gy = static_cast<int64_t>(grid.y);
  const int64_t rows = up(w.out_pixels(), 32) / 32, channels8 = up(w.channels, 8);
  Candidate c;
  c.split.layout = layout;
  auto channel_parts = [&](int64_t most) {
    int64_t parts = std::min(channels8 / 8, most);
    while (channels8 / 8 % parts != 0) --parts;
    return parts;
  };
  if (layout == TensorMemoryLayout::HEIGHT_SHARDED) {
    c.split.cores_nhw = parts_without_empty(rows, gx * gy);
    c.split.grid = cores_in_rows(c.split.cores_nhw, gx);
  } else if (layout == TensorMemoryLayout::BLOCK_SHARDED) {
    c.split.cores_nhw = parts_without_empty(rows, gy);
    c.split.cores_c = channel_parts(gx);
    c.split.grid = CoreRangeSet(CoreRange(CoreCoord(0, 0), CoreCoord(static_cast<size_t>(c.split.cores_c - 1), static_cast<size_t>(c.split.cores_nhw - 1))));
  } else {
    c.split.cores_c = channel_parts(gx * gy);
    c.split.grid = cores_in_rows(c.split.cores_c, gx);
  }
  const int64_t m = (rows + c.split.cores_nhw - 1) / c.split.cores_nhw, n = (up(conv.out_channels, 32) / 32 + c.split.cores_c - 1) / c.split.cores_c;
  const int64_t own = channels8 / c.split.cores_c;
  const bool height = layout == TensorMemoryLayout::HEIGHT_SHARDED;
  const int64_t block_w = (height ? up(own * w.kernel[1], 32) : up(own * w.kernel[0] * w.kernel[1], 32)) / 32;
  const int64_t weights = block_w * n * (height ? w.kernel[0] : 1) * 2048;
  const int64_t input = w.in_pixels() / c.split.cores_nhw * own * 2;
  c.bytes = m * n * 2048 + m * block_w * 2048 * 2 + weights + input * 2;
  return c;
}

Split choose_split(const Conv& conv, const Tensor& input) {
  const auto grid = conv.device->compute_with_storage_grid_size();
  if (input.memory_config().is_sharded() && input.memory_config().shard_spec() && !conv.config.reshard_if_not_optimal) {
    const auto& spec = *input.memory_config().shard_spec();
    Split split;
    split.layout = input.memory_config().memory_layout();
    split.grid = spec.grid;
    const auto box = spec.grid.bounding_box();
    const int64_t cores = spec.num_cores();
    if (split.layout == TensorMemoryLayout::HEIGHT_SHARDED) split.cores_nhw = cores;
    if (split.layout == TensorMemoryLayout::WIDTH_SHARDED) split.cores_c = cores;
    if (split.layout == TensorMemoryLayout::BLOCK_SHARDED) {
      split.cores_c = static_cast<int64_t>(box.end_coord.x - box.start_coord.x + 1);
      split.cores_nhw = static_cast<int64_t>(box.end_coord.y - box.start_coord.y + 1);
      if (spec.orientation == ShardOrientation::COL_MAJOR) std::swap(split.cores_c, split.cores_nhw);
    }
    return split;
  }
  if (conv.config.shard_layout) return candidate(conv, *conv.config.shard_layout, grid).split;
  Candidate best = candidate(conv, TensorMemoryLayout::HEIGHT_SHARDED, grid);
  if (conv.groups == 1) {  // grouped convolutions stay height sharded
    for (const auto layout : {TensorMemoryLayout::BLOCK_SHARDED, TensorMemoryLayout::WIDTH_SHARDED}) {
      const Candidate other = candidate(conv, layout, grid);
      if (other.split.cores_c > 1 && other.bytes < best.bytes) best = other;
    }
  }
  return best.split;
}

// ---- weights -------------------------------------------------------------------------------------------------------------

bool is_prepared(const Tensor& weight) { return is_on_device(weight); }

void check_weight(const Tensor& weight, const Conv& conv) {
  const Shape& shape = weight.logical_shape();
  const Window& w = conv.window;
  if (is_prepared(weight)) {
    const Shape expected({1, 1, static_cast<uint32_t>(conv.depth()), static_cast<uint32_t>(conv.out_channels)});
    SHIM_CHECK(weight.layout() == Layout::TILE && shape == expected, "weight_tensor: expected prepared weights {} in TILE layout or OIHW weights on the host, got {} in {} layout on the device", expected, shape,
               weight.layout());
    return;
  }
  const Shape expected = conv.transposed
                             ? Shape({static_cast<uint32_t>(w.channels), static_cast<uint32_t>(conv.out_channels / conv.groups), static_cast<uint32_t>(w.kernel[0]), static_cast<uint32_t>(w.kernel[1])})
                             : Shape({static_cast<uint32_t>(conv.out_channels), static_cast<uint32_t>(w.channels / conv.groups), static_cast<uint32_t>(w.kernel[0]), static_cast<uint32_t>(w.kernel[1])});
  SHIM_CHECK(shape == expected, "weight_tensor: expected shape {}, got {}", expected, shape);
  SHIM_CHECK(is_floating_point(weight.dtype()), "weight_tensor: expected a floating point dtype, got {}", weight.dtype());
}

/// Strided view of OIHW weights (or IOHW of a transposed convolution) as [group, o, i, kh, kw].
struct WeightStrides {
  int64_t group, o, i, kh, kw;
};
WeightStrides weight_strides(const Conv& conv) {
  const int64_t kw = conv.window.kernel[1], area = conv.window.kernel[0] * kw;
  const int64_t og = conv.out_channels / conv.groups, ig = conv.window.channels / conv.groups;
  if (conv.transposed) return {ig * og * area, area, og * area, kw, 1};
  return {og * ig * area, ig * area, area, kw, 1};
}

/// Padded rows of the prepared matrix: kernel rows are aligned to tiles, per core when the channels are split.
int64_t padded_depth(const Conv& conv, const Split& split) {
  const Window& w = conv.window;
  const int64_t channels8 = up(w.channels, 8);
  if (conv.is_matmul()) return up(w.channels, 32);
  if (split.layout == TensorMemoryLayout::HEIGHT_SHARDED) return w.kernel[0] * up(w.kernel[1] * channels8, 32);
  return split.cores_c * up(w.kernel[0] * w.kernel[1] * channels8 / split.cores_c, 32);
}

Tensor prepare_weights(const Tensor& weight, const Conv& conv, const Split& split) {
  check_weight(weight, conv);
  const Window& w = conv.window;
  const DataType dtype = conv.config.weights_dtype.value_or(weight.dtype() == DataType::FLOAT32 && conv.dtype != DataType::FLOAT32 ? DataType::FLOAT32 : weight.dtype());
  const Shape shape({1, 1, static_cast<uint32_t>(conv.depth()), static_cast<uint32_t>(conv.out_channels)});
  TensorSpec spec = make_spec(shape, dtype, Layout::TILE);
  const auto rows = static_cast<uint32_t>(padded_depth(conv, split));
  if (rows != spec.padded_shape()[-2]) spec = spec.with_padded_shape(Shape({1, 1, rows, spec.padded_shape()[-1]}));
  Tensor prepared = make_device_tensor(conv.device, spec);
  if (conv.device->shim().estimate() || !has_values(weight)) return prepared;
  const size_t bytes = stored_bytes(weight.dtype());
  const int64_t o = conv.out_channels, og = o / conv.groups, ig = w.channels / conv.groups, kh = w.kernel[0], kw = w.kernel[1];
  std::vector<std::byte> moved(static_cast<size_t>(conv.depth() * o) * bytes, std::byte{0});
  const WeightStrides s = weight_strides(conv);
  // rows (kh, kw, channel), columns o; a group's channels meet only its own columns
  auto size = [](int64_t value) { return static_cast<size_t>(value); };
  strided_copy(bytes, raw_data(weight), moved.data(),
               {{size(conv.groups), s.group, ig * o + og}, {size(kh), s.kh, kw * w.channels * o}, {size(kw), s.kw, w.channels * o}, {size(ig), s.i, o}, {size(og), s.o, 1}});
  convert(weight.dtype(), moved.data(), dtype, mutable_raw_data(prepared), static_cast<size_t>(conv.depth() * o));
  if (is_block_float(dtype)) round_blocks(dtype, reinterpret_cast<bfloat16*>(mutable_raw_data(prepared)), size(conv.depth()), size(o));
  return prepared;
}

Tensor prepare_bias(const Tensor& bias, const Conv& conv) {
  SHIM_CHECK(bias.logical_volume() == static_cast<uint64_t>(conv.out_channels), "bias_tensor: expected {} values, got shape {}", conv.out_channels, bias.logical_shape());
  if (is_on_device(bias)) return bias.layout() == Layout::TILE ? bias : ttnn::to_layout(bias, Layout::TILE);
  const DataType dtype = conv.config.weights_dtype.value_or(bias.dtype());
  Tensor prepared = make_device_tensor(conv.device, make_spec(Shape({1, 1, 1, static_cast<uint32_t>(conv.out_channels)}), dtype, Layout::TILE));
  if (conv.device->shim().estimate() || !has_values(bias)) return prepared;
  convert(bias.dtype(), raw_data(bias), dtype, mutable_raw_data(prepared), bias.logical_volume());
  if (is_block_float(dtype)) round_blocks(dtype, reinterpret_cast<bfloat16*>(mutable_raw_data(prepared)), 1, bias.logical_volume());
  return prepared;
}

/// Prepared weights back in the order of the convolution library, kept as long as the prepared block lives unchanged.
std::shared_ptr<Values> library_weights(const Tensor& prepared, const Conv& conv, DataType dtype) {
  struct Entry {
    std::weak_ptr<Values> source;
    uint64_t version = 0;
    std::shared_ptr<Values> made;
  };
  static std::mutex mutex;
  static std::unordered_map<std::string, Entry> cache;
  const auto source = prepared.shim().buffer->values();
  const std::string key = text("{}/{}/{}/{}/{}", static_cast<const void*>(source.get()), static_cast<int>(dtype), conv.groups, conv.window.kernel[1], conv.transposed);
  const std::lock_guard lock(mutex);
  if (const auto found = cache.find(key); found != cache.end() && found->second.source.lock() == source && found->second.version == source->version()) return found->second.made;
  std::erase_if(cache, [](const auto& entry) { return entry.second.source.expired(); });
  const Window& w = conv.window;
  const size_t bytes = stored_bytes(prepared.dtype());
  const int64_t o = conv.out_channels, og = o / conv.groups, ig = w.channels / conv.groups, kh = w.kernel[0], kw = w.kernel[1];
  const auto count = static_cast<size_t>(conv.groups * og * ig * kh * kw);
  auto ordered = Values::allocate(count * bytes);
  const WeightStrides s = weight_strides(conv);
  auto size = [](int64_t value) { return static_cast<size_t>(value); };
  strided_copy(bytes, raw_data(prepared), ordered->data(),
               {{size(conv.groups), ig * o + og, s.group}, {size(kh), kw * w.channels * o, s.kh}, {size(kw), w.channels * o, s.kw}, {size(ig), o, s.i}, {size(og), 1, s.o}});
  if (stored_bytes(dtype) != bytes) {
    auto converted = Values::allocate(count * stored_bytes(dtype));
    convert(prepared.dtype(), ordered->data(), dtype, converted->data(), count);
    ordered = converted;
  }
  cache[key] = {source, source->version(), ordered};
  return ordered;
}

// ---- the kernel ------------------------------------------------------------------------------------------------------------

void conv_kernel(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias, const Tensor& output, const Conv& conv) {
  const Window& w = conv.window;
  const bool single = input.dtype() == DataType::FLOAT32 || weight.dtype() == DataType::FLOAT32;
  const DataType compute = single ? DataType::FLOAT32 : DataType::BFLOAT16;
  std::optional<F32Values> wide, offsets;
  if (single && input.dtype() != DataType::FLOAT32) wide.emplace(input);
  if (bias) offsets.emplace(*bias);
  const auto weights = library_weights(weight, conv, compute);
  ConvCall call;
  call.batch = w.batch;
  call.in_h = w.height;
  call.in_w = w.width;
  call.in_channels = w.channels;
  call.out_h = w.out_height;
  call.out_w = w.out_width;
  call.out_channels = conv.out_channels;
  call.kernel_h = w.kernel[0];
  call.kernel_w = w.kernel[1];
  call.stride_h = w.stride[0];
  call.stride_w = w.stride[1];
  call.dilation_h = w.dilation[0];
  call.dilation_w = w.dilation[1];
  call.pad_top = w.padding[0];
  call.pad_bottom = w.padding[1];
  call.pad_left = w.padding[2];
  call.pad_right = w.padding[3];
  call.groups = conv.groups;
  call.transposed = conv.transposed;
  call.input = {wide ? static_cast<const void*>(wide->data()) : raw_data(input), compute, nullptr};
  call.weight = {weights->data(), compute, weights};
  call.bias = offsets ? offsets->data() : nullptr;
  std::optional<UnaryStep> late;
  if (conv.config.activation) {
    const UnaryStep step(*conv.config.activation);
    if (const auto fused = gemm_activation(step)) {
      call.activation = *fused;
    } else {
      late = step;
    }
  }
  std::vector<float> buffer;
  call.output = mutable_raw_data(output);
  call.output_dtype = output.dtype() == DataType::FLOAT32 ? DataType::FLOAT32 : DataType::BFLOAT16;
  if (late) {
    buffer.resize(output.logical_volume());
    call.output = buffer.data();
    call.output_dtype = DataType::FLOAT32;
  }
  convolution(call);
  if (late) {
    const auto block = kernels::kernel_set().unary[static_cast<size_t>(late->op_type)];
    SHIM_SUPPORTED(block != nullptr, "activation {} has no floating point form in the shim", unary_name(late->op_type));
    const float params[2] = {late->params.empty() ? 0.0F : late->params[0], late->params.size() < 2 ? 0.0F : late->params[1]};
    block(buffer.data(), buffer.data(), buffer.size(), params);
    write_f32(output, buffer);
  }
}

// ---- the op ----------------------------------------------------------------------------------------------------------------

struct Outcome {
  Tensor output;
  Tensor weight;
  std::optional<Tensor> bias;
};

Outcome run_conv(const char* op_name, const Tensor& given, const Tensor& weight, const std::optional<Tensor>& bias, Conv conv) {
  OpScope scope(op_name);
  resolve(conv);
  SHIM_CHECK(conv.device != nullptr, "device: missing");
  check_pixels(given, conv.window);
  SHIM_CHECK(is_floating_point(given.dtype()), "input_tensor: expected a floating point dtype, got {}", given.dtype());
  check_weight(weight, conv);
  const Window& w = conv.window;
  Tensor input = is_on_device(given) ? given : given.to_device(conv.device);
  const Split split = choose_split(conv, input);
  const Tensor prepared = is_prepared(weight) ? weight : prepare_weights(weight, conv, split);
  std::optional<Tensor> offsets;
  if (bias) offsets = prepare_bias(*bias, conv);
  const bool from_dram = !input.memory_config().is_sharded() && input.memory_config().is_dram();
  const DataType dtype = conv.dtype.value_or(input.dtype());
  const Layout layout = is_block_float(dtype) ? Layout::TILE : conv.config.output_layout;
  const Shape shape = conv.output_shape();
  std::optional<const ttnn::ComputeKernelConfig> compute;
  if (conv.compute) compute.emplace(*conv.compute);
  const auto config = ttnn::init_device_compute_kernel_config(conv.device->arch(), compute, ttnn::MathFidelity::HiFi4, true, false, false);
  const bool estimate = conv.device->shim().estimate();
  auto kernel = [&](std::span<const Tensor> outputs) { conv_kernel(given, prepared, offsets, outputs[0], conv); };
  SHIM_ASSERT(estimate || has_values(given));
  std::vector<Tensor> operands = {prepared};
  if (offsets) operands.push_back(*offsets);
  Tensor output;
  if (conv.is_matmul()) {
    Tensor tiles = input.layout() == Layout::TILE ? input : ttnn::to_layout(input, Layout::TILE);
    tiles = ttnn::reshape(tiles, Shape({1, 1, static_cast<uint32_t>(w.in_pixels()), static_cast<uint32_t>(w.channels)}));
    operands.insert(operands.begin(), tiles);
    MemoryConfig memory = from_dram || !input.memory_config().is_sharded() ? input.memory_config() : MemoryConfig(split.layout, BufferType::L1, shards_of(split, w.out_pixels(), conv.out_channels, true, 32));
    output = launch({.op = "matmul", .compute = config, .name = "MatmulDeviceOperation"}, operands, {make_spec(shape, dtype, Layout::TILE, memory)}, kernel)[0];
    if (layout == Layout::ROW_MAJOR) output = ttnn::to_layout(output, layout);
  } else {
    const bool sliced = from_dram && ((conv.slice && conv.slice->num_slices > 1) || candidate(conv, split.layout, conv.device->compute_with_storage_grid_size()).bytes > 1200000);
    const Tensor gathered = gather_windows(input, w, split, layout == Layout::TILE, sliced, conv.config.config_tensors_in_dram);
    operands.insert(operands.begin(), gathered);
    const int64_t m = (up(w.out_pixels(), 32) / 32 + split.cores_nhw - 1) / split.cores_nhw, n = (up(conv.out_channels, 32) / 32 + split.cores_c - 1) / split.cores_c;
    const bool height = split.layout == TensorMemoryLayout::HEIGHT_SHARDED;
    const int64_t own = up(w.channels, 8) / split.cores_c;
    const int64_t block_w = std::max<int64_t>(1, up(own * w.kernel[1] * (height ? 1 : w.kernel[0]), 32) / 32 / (height ? 1 : conv.config.act_block_w_div));
    int64_t block_h = conv.config.act_block_h_override > 0 ? std::max<int64_t>(1, conv.config.act_block_h_override / 32) : m;
    while (m % block_h != 0) --block_h;
    int64_t sub_w = std::min<int64_t>(n, 8);
    while (n % sub_w != 0) --sub_w;
    int64_t sub_h = std::max<int64_t>(1, std::min(block_h, 8 / sub_w));
    while (block_h % sub_h != 0) --sub_h;
    const MemoryConfig memory = sliced ? MemoryConfig(BufferType::DRAM) : MemoryConfig(split.layout, BufferType::L1, shards_of(split, w.out_pixels(), conv.out_channels, true, 32));
    auto ints = [](auto... values) { return std::vector<int64_t>{values...}; };
    output = launch({.op = "conv2d",
                     .attrs = {{"act_block_h", block_h}, {"act_block_w", block_w}, {"subblock_h", sub_h}, {"subblock_w", sub_w}, {"per_core_m", m}, {"per_core_n", n},
                               {"window_h", w.kernel[0]}, {"window_w", w.kernel[1]}, {"window_hw", ints(w.kernel[0], w.kernel[1])}, {"stride", ints(w.stride[0], w.stride[1])}, {"num_cores_nhw", split.cores_nhw},
                               {"num_cores_c_in", split.cores_c}, {"num_cores_c_out", split.cores_c}, {"untilize_out", layout == Layout::ROW_MAJOR}, {"groups", conv.groups},
                               {"act_double_buffer", conv.config.enable_act_double_buffer}, {"weights_double_buffer", conv.config.enable_weights_double_buffer}},
                     .compute = config,
                     .name = "Conv2dDeviceOperation"},
                    operands, {make_spec(shape, dtype, layout, memory)}, kernel)[0];
    if (from_dram && !conv.memory_config && !sliced) output = ttnn::to_memory_config(output, ttnn::DRAM_MEMORY_CONFIG);
  }
  if (conv.memory_config && *conv.memory_config != output.memory_config()) output = ttnn::to_memory_config(output, *conv.memory_config);
  if (conv.config.deallocate_activation && is_on_device(given) && given.memory_config().is_l1()) {
    Tensor spent = given;
    spent.deallocate(true);
  }
  return {output, prepared, offsets};
}

ConvResult result_of(const Outcome& outcome, const Conv& resolved, bool with_size, bool with_weights) {
  const ttnn::operations::conv::OutputSize size{static_cast<uint32_t>(resolved.window.out_height), static_cast<uint32_t>(resolved.window.out_width)};
  const ttnn::operations::conv::PreparedWeights weights{outcome.weight, outcome.bias};
  if (with_size && with_weights) return std::make_tuple(outcome.output, size, weights);
  if (with_size) return std::make_tuple(outcome.output, size);
  if (with_weights) return std::make_tuple(outcome.output, weights);
  return outcome.output;
}

template <typename T>
std::optional<T> plain(const std::optional<const T>& value) {
  return value ? std::optional<T>(*value) : std::nullopt;
}

std::array<int64_t, 2> wide(std::array<uint32_t, 2> pair) { return {pair[0], pair[1]}; }

}  // namespace

namespace ttnn {

ConvResult conv2d(const Tensor& input, const Tensor& weight, MeshDevice* device, uint32_t in_channels, uint32_t out_channels, uint32_t batch_size, uint32_t input_height, uint32_t input_width,
                  std::array<uint32_t, 2> kernel_size, std::array<uint32_t, 2> stride, operations::conv::Padding padding, std::array<uint32_t, 2> dilation, uint32_t groups,
                  const std::optional<const DataType>& dtype, const std::optional<const Tensor>& bias, const std::optional<const Conv2dConfig>& conv_config,
                  const std::optional<const ComputeKernelConfig>& compute_config, const std::optional<const MemoryConfig>& memory_config, const std::optional<const Op2DSliceConfig>& slice_config,
                  bool return_output_dim, bool return_weights_and_bias) {
  OpScope scope("ttnn.conv2d");
  Conv conv;
  conv.window = {batch_size, input_height, input_width, in_channels, wide(kernel_size), wide(stride), wide(dilation), four_paddings(padding)};
  conv.out_channels = out_channels;
  conv.groups = groups;
  conv.config = conv_config ? *conv_config : Conv2dConfig{};
  conv.dtype = plain(dtype);
  conv.compute = plain(compute_config);
  conv.memory_config = plain(memory_config);
  conv.slice = plain(slice_config);
  conv.device = device;
  const Outcome outcome = run_conv("ttnn.conv2d", input, weight, plain(bias), conv);
  resolve(conv);
  return result_of(outcome, conv, return_output_dim, return_weights_and_bias);
}

ConvResult conv_transpose2d(const Tensor& input, const Tensor& weight, MeshDevice* device, uint32_t in_channels, uint32_t out_channels, uint32_t batch_size, uint32_t input_height,
                            uint32_t input_width, std::array<uint32_t, 2> kernel_size, std::array<uint32_t, 2> stride, operations::conv::Padding padding, std::array<uint32_t, 2> output_padding,
                            std::array<uint32_t, 2> dilation, uint32_t groups, const std::optional<const DataType>& dtype, const std::optional<const Tensor>& bias,
                            const std::optional<const Conv2dConfig>& conv_config, const std::optional<const ComputeKernelConfig>& compute_config,
                            const std::optional<const MemoryConfig>& memory_config, const std::optional<const Op2DSliceConfig>& slice_config, bool mirror_kernel, bool return_output_dim,
                            bool return_weights_and_bias) {
  OpScope scope("ttnn.conv_transpose2d");
  SHIM_SUPPORTED(mirror_kernel, "mirror_kernel=False is not supported; give the weight as torch's conv_transpose2d has it");
  Conv conv;
  conv.window = {batch_size, input_height, input_width, in_channels, wide(kernel_size), wide(stride), wide(dilation), four_paddings(padding)};
  conv.out_channels = out_channels;
  conv.groups = groups;
  conv.transposed = true;
  conv.output_padding = wide(output_padding);
  conv.config = conv_config ? *conv_config : Conv2dConfig{};
  conv.dtype = plain(dtype);
  conv.compute = plain(compute_config);
  conv.memory_config = plain(memory_config);
  conv.slice = plain(slice_config);
  conv.device = device;
  const Outcome outcome = run_conv("ttnn.conv_transpose2d", input, weight, plain(bias), conv);
  resolve(conv);
  return result_of(outcome, conv, return_output_dim, return_weights_and_bias);
}

namespace operations::conv::conv2d {

Tensor prepare_conv_weights(const Tensor& weight, const MemoryConfig& input_memory_config, Layout input_layout, const std::string& weights_format, uint32_t in_channels, uint32_t out_channels,
                            uint32_t batch_size, uint32_t input_height, uint32_t input_width, std::array<uint32_t, 2> kernel_size, std::array<uint32_t, 2> stride, Padding padding,
                            std::array<uint32_t, 2> dilation, bool, uint32_t groups, MeshDevice* device, DataType input_dtype, const std::optional<const DataType>& output_dtype,
                            const std::optional<const Conv2dConfig>& conv_config, const std::optional<const ComputeKernelConfig>&, const std::optional<const Op2DSliceConfig>&) {
  OpScope scope("ttnn.prepare_conv_weights");
  SHIM_CHECK(!is_on_device(weight), "weight_tensor: expected a tensor on the host");
  SHIM_CHECK(weights_format == "OIHW", "weights_format: expected OIHW, got '{}'; permute the weight to OIHW", weights_format);
  Conv conv;
  conv.window = {batch_size, input_height, input_width, in_channels, wide(kernel_size), wide(stride), wide(dilation), four_paddings(padding)};
  conv.out_channels = out_channels;
  conv.groups = groups;
  conv.config = conv_config ? *conv_config : Conv2dConfig{};
  conv.dtype = plain(output_dtype);
  conv.device = device;
  resolve(conv);
  // the split that conv2d will choose for such an input
  const Tensor stand_in = make_host_tensor(make_spec(Shape({1, 1, static_cast<uint32_t>(conv.window.in_pixels()), in_channels}), input_dtype, input_layout,
                                                     input_memory_config.is_sharded() && !input_memory_config.shard_spec() ? MemoryConfig(input_memory_config.buffer_type()) : input_memory_config),
                                           nullptr);
  return prepare_weights(weight, conv, choose_split(conv, stand_in));
}

Tensor prepare_conv_bias(const Tensor& bias, const MemoryConfig&, Layout, uint32_t, uint32_t out_channels, uint32_t, uint32_t, uint32_t, std::array<uint32_t, 2>, std::array<uint32_t, 2>, Padding,
                         std::array<uint32_t, 2>, uint32_t, MeshDevice* device, DataType, const std::optional<const DataType>&, const std::optional<const Conv2dConfig>& conv_config,
                         const std::optional<const ComputeKernelConfig>&, const std::optional<const Op2DSliceConfig>&) {
  OpScope scope("ttnn.prepare_conv_bias");
  SHIM_CHECK(!is_on_device(bias), "bias_tensor: expected a tensor on the host");
  Conv conv;
  conv.out_channels = out_channels;
  conv.config = conv_config ? *conv_config : Conv2dConfig{};
  conv.device = device;
  return prepare_bias(bias, conv);
}

}  // namespace operations::conv::conv2d

std::variant<Tensor, std::tuple<Tensor, uint32_t>, std::tuple<Tensor, operations::conv::PreparedWeights>, std::tuple<Tensor, uint32_t, operations::conv::PreparedWeights>> conv1d(
    const Tensor& input, const Tensor& weight, MeshDevice* device, uint32_t in_channels, uint32_t out_channels, uint32_t batch_size, uint32_t input_length, uint32_t kernel_size, uint32_t stride,
    std::variant<std::array<uint32_t, 2>, uint32_t> padding, uint32_t dilation, uint32_t groups, const std::optional<const DataType>& dtype, const std::optional<const Tensor>& bias,
    const std::optional<const Conv1dConfig>& conv_config, const std::optional<const ComputeKernelConfig>& compute_config, const std::optional<const MemoryConfig>& memory_config,
    const std::optional<const Op2DSliceConfig>& slice_config, bool return_output_dim, bool return_weights_and_bias) {
  OpScope scope("ttnn.conv1d");
  std::array<uint32_t, 4> four{0, 0, 0, 0};
  if (const auto* one = std::get_if<uint32_t>(&padding)) {
    four[0] = four[1] = *one;
  } else {
    four[0] = std::get<std::array<uint32_t, 2>>(padding)[0];
    four[1] = std::get<std::array<uint32_t, 2>>(padding)[1];
  }
  // a sequence is an image of width 1
  const Tensor image = ttnn::reshape(input, Shape({batch_size, input_length, 1, in_channels}));
  const Tensor kernel = is_on_device(weight) ? weight : ttnn::reshape(weight, Shape({out_channels, in_channels / std::max<uint32_t>(1, groups), kernel_size, 1}));
  const auto full = std::get<3>(conv2d(image, kernel, device, in_channels, out_channels, batch_size, input_length, 1, {kernel_size, 1}, {stride, 1}, four, {dilation, 1}, groups, dtype, bias, conv_config,
                                       compute_config, memory_config, slice_config, true, true));
  const uint32_t length = std::get<0>(std::get<1>(full));
  if (return_output_dim && return_weights_and_bias) return std::make_tuple(std::get<0>(full), length, std::get<2>(full));
  if (return_output_dim) return std::make_tuple(std::get<0>(full), length);
  if (return_weights_and_bias) return std::make_tuple(std::get<0>(full), std::get<2>(full));
  return std::get<0>(full);
}

}  // namespace ttnn

// ---- the Python door -------------------------------------------------------------------------------------------------------

namespace {

Conv2dConfig parse_conv_config(const Call& c) {
  Conv2dConfig config;
  const auto record = c.record("conv_config");
  if (!record) return config;
  SHIM_CHECK(record->type == "Conv2dConfig" || record->type == "Conv1dConfig", "conv_config: expected Conv2dConfig, got {}", record->type);
  if (const auto name = record->text("weights_dtype"); !name.empty()) config.weights_dtype = parse_dtype(name);
  if (const Attr* attr = record->find("activation")) {
    if (const auto step = parse_unary_step(*attr)) config.activation.emplace(*step);
  }
  config.deallocate_activation = record->boolean("deallocate_activation", false);
  config.config_tensors_in_dram = record->boolean("config_tensors_in_dram", false);
  config.act_block_h_override = static_cast<uint32_t>(std::max<int64_t>(0, record->integer("act_block_h_override", 0)));
  config.act_block_w_div = static_cast<uint32_t>(std::max<int64_t>(1, record->integer("act_block_w_div", 1)));
  config.reshard_if_not_optimal = record->boolean("reshard_if_not_optimal", false);
  if (const auto name = record->text("shard_layout"); !name.empty()) {
    config.shard_layout = name == "BLOCK_SHARDED" ? TensorMemoryLayout::BLOCK_SHARDED : (name == "WIDTH_SHARDED" ? TensorMemoryLayout::WIDTH_SHARDED : TensorMemoryLayout::HEIGHT_SHARDED);
    SHIM_CHECK(name == "BLOCK_SHARDED" || name == "WIDTH_SHARDED" || name == "HEIGHT_SHARDED", "conv_config.shard_layout: {} is not a sharding", name);
  }
  if (const auto name = record->text("output_layout"); !name.empty()) config.output_layout = parse_layout(name);
  config.enable_act_double_buffer = record->boolean("enable_act_double_buffer", false);
  config.enable_weights_double_buffer = record->boolean("enable_weights_double_buffer", false);
  SHIM_SUPPORTED(record->text("padding_mode", "Zeros") == "Zeros" || record->integer("padding_mode", 0) == 0, "conv_config.padding_mode: only Zeros is supported");
  return config;
}

Conv parse_conv(const Call& c) {
  Conv conv;
  const auto kernel = pair_of(c, "kernel_size", {1, 1}), stride = pair_of(c, "stride", {1, 1}), dilation = pair_of(c, "dilation", {1, 1});
  conv.window = {c.i32("batch_size"), c.i32("input_height"), c.i32("input_width"), c.i32("in_channels"), wide(kernel), wide(stride), wide(dilation), four_paddings(padding_of(c, "padding"))};
  conv.out_channels = c.i32("out_channels");
  conv.groups = c.i32("groups", 1);
  conv.config = parse_conv_config(c);
  conv.dtype = c.dtype("dtype");
  conv.compute = c.compute_config("compute_config");
  conv.memory_config = c.memory_config("memory_config");
  for (const char* name : {"slice_config", "dram_slice_config"}) {
    if (const auto record = c.record(name)) {
      conv.slice = Op2DSliceConfig{};
      conv.slice->num_slices = static_cast<uint32_t>(std::max<int64_t>(0, record->integer("num_slices", 0)));
    }
  }
  conv.device = c.device();
  return conv;
}

Result conv_reply(const char* name, const Call& c, Conv conv, bool one_dimension) {
  OpScope scope(name);
  const Tensor input = c.tensor("input_tensor"), weight = c.tensor("weight_tensor");
  const Outcome outcome = one_dimension && !is_prepared(weight)
                              ? run_conv(name, ttnn::reshape(input, Shape({static_cast<uint32_t>(conv.window.batch), static_cast<uint32_t>(conv.window.height), 1, static_cast<uint32_t>(conv.window.channels)})),
                                         ttnn::reshape(weight, Shape({weight.logical_shape()[0], weight.logical_shape()[1], static_cast<uint32_t>(conv.window.kernel[0]), 1})), c.optional_tensor("bias_tensor"), conv)
                              : run_conv(name, input, weight, c.optional_tensor("bias_tensor"), conv);
  resolve(conv);
  Result result;
  append(result, outcome.output);
  if (c.boolean("return_weights_and_bias", false)) {
    append(result, outcome.weight);
    append(result, outcome.bias);
  }
  if (c.boolean("return_output_dim", false)) {
    result.ints.push_back(conv.window.out_height);
    if (!one_dimension) result.ints.push_back(conv.window.out_width);
  }
  return result;
}

}  // namespace

SHIM_OP("ttnn.conv2d", [](const Call& c) { return conv_reply("ttnn.conv2d", c, parse_conv(c), false); });
SHIM_OP("ttnn.conv_transpose2d", [](const Call& c) {
  SHIM_SUPPORTED(c.boolean("mirror_kernel", true), "mirror_kernel=False is not supported; give the weight as torch's conv_transpose2d has it");
  Conv conv = parse_conv(c);
  conv.transposed = true;
  conv.output_padding = wide(pair_of(c, "output_padding", {0, 0}));
  return conv_reply("ttnn.conv_transpose2d", c, conv, false);
});
SHIM_OP("ttnn.conv1d", [](const Call& c) {
  OpScope scope("ttnn.conv1d");
  Conv conv;
  std::array<int64_t, 4> padding{0, 0, 0, 0};
  if (c.has("padding")) {
    const auto values = c.u32s("padding");
    SHIM_CHECK(values.size() == 1 || values.size() == 2, "padding: expected one or two integers, got {}", values.size());
    padding[0] = values[0];
    padding[1] = values.back();
  }
  conv.window = {c.i32("batch_size"), c.i32("input_length"), 1, c.i32("in_channels"), {c.i32("kernel_size"), 1}, {c.i32("stride", 1), 1}, {c.i32("dilation", 1), 1}, padding};
  conv.out_channels = c.i32("out_channels");
  conv.groups = c.i32("groups", 1);
  conv.config = parse_conv_config(c);
  conv.dtype = c.dtype("dtype");
  conv.compute = c.compute_config("compute_config");
  conv.memory_config = c.memory_config("memory_config");
  conv.device = c.device();
  return conv_reply("ttnn.conv1d", c, conv, true);
});

namespace {
Tensor call_prepare_weights(const Call& c, bool transposed) {
  OpScope scope(transposed ? "ttnn.prepare_conv_transpose2d_weights" : "ttnn.prepare_conv_weights");
  const Tensor weight = c.tensor("weight_tensor");
  SHIM_CHECK(!is_on_device(weight), "weight_tensor: expected a tensor on the host");
  const auto format = c.text("weights_format", transposed ? "IOHW" : "OIHW");
  SHIM_CHECK(format == (transposed ? "IOHW" : "OIHW"), "weights_format: expected {}, got '{}'; permute the weight", transposed ? "IOHW" : "OIHW", format);
  Conv conv = parse_conv(c);
  conv.transposed = transposed;
  conv.output_padding = wide(pair_of(c, "output_padding", {0, 0}));
  if (!conv.dtype) conv.dtype = c.dtype("output_dtype");
  resolve(conv);
  const auto memory = c.memory_config("input_memory_config").value_or(MemoryConfig{});
  const auto input_dtype = c.dtype("input_dtype").value_or(DataType::BFLOAT16);
  const Tensor stand_in = make_host_tensor(make_spec(Shape({1, 1, static_cast<uint32_t>(conv.window.in_pixels()), static_cast<uint32_t>(conv.window.channels)}), input_dtype,
                                                     c.layout("input_layout").value_or(Layout::ROW_MAJOR), memory.is_sharded() && !memory.shard_spec() ? MemoryConfig(memory.buffer_type()) : memory),
                                           nullptr);
  return prepare_weights(weight, conv, choose_split(conv, stand_in));
}
Tensor call_prepare_bias(const Call& c, const char* name) {
  OpScope scope(name);
  const Tensor bias = c.tensor("bias_tensor");
  SHIM_CHECK(!is_on_device(bias), "bias_tensor: expected a tensor on the host");
  Conv conv;
  conv.out_channels = c.i32("out_channels");
  conv.config = parse_conv_config(c);
  conv.device = c.device();
  return prepare_bias(bias, conv);
}
}  // namespace

SHIM_OP("ttnn.prepare_conv_weights", [](const Call& c) { return call_prepare_weights(c, false); });
SHIM_OP("ttnn.prepare_conv_transpose2d_weights", [](const Call& c) { return call_prepare_weights(c, true); });
SHIM_OP("ttnn.prepare_conv_bias", [](const Call& c) { return call_prepare_bias(c, "ttnn.prepare_conv_bias"); });
SHIM_OP("ttnn.prepare_conv_transpose2d_bias", [](const Call& c) { return call_prepare_bias(c, "ttnn.prepare_conv_transpose2d_bias"); });
