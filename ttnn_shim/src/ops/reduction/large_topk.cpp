// topk_large_indices and fast_reduce_nc_split.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "ops/arguments.hpp"
#include "ops/launch.hpp"
#include "ops/registry.hpp"
#include "ttnn/operations/experimental/reduction/fast_reduce_nc/fast_reduce_nc.hpp"
#include "ttnn/operations/experimental/topk_large_indices/topk_large_indices.hpp"

using namespace ttnn_shim;

namespace {

/// The one number of a device tensor of bounds.
uint32_t bound_of(const Tensor& tensor) { return data<uint32_t>(tensor)[0]; }

void check_bound(const std::optional<Tensor>& tensor, const char* name) {
    if (!tensor) return;
    check_device_tensor(*tensor, name, Layout::ROW_MAJOR);
    SHIM_CHECK(
        tensor->dtype() == DataType::UINT32 && tensor->logical_volume() == 1 && tensor->memory_config().is_dram(),
        "{}: expected one UINT32 in DRAM, got {}", name, tensor->tensor_spec());
}

/// Positions of the k largest values of each row, largest first; -inf and places without a value hold 0xFFFFFFFF.
Tensor topk_large_indices(const arguments::experimental::topk_large_indices& args) {
    const OpScope scope("ttnn.experimental.topk_large_indices");
    const Tensor& input = args.input_tensor;
    const uint32_t k = args.k;
    constexpr uint32_t MOST = 2048, STEP = 16, NOTHING = 0xffffffff, TILE = 32;
    check_device_tensor(input, "input_tensor", Layout::ROW_MAJOR);
    SHIM_CHECK(k > 0 && k <= MOST && k % STEP == 0, "k: expected a multiple of 16 up to 2048, got {}", k);
    SHIM_CHECK(device_of(input)->arch() == tt::ARCH::BLACKHOLE, "there is a program for Blackhole only");
    SHIM_CHECK(
        input.dtype() == DataType::BFLOAT16 && !input.is_sharded(), "input_tensor: expected interleaved BFLOAT16, got {}",
        input.tensor_spec());
    const Shape& shape = input.logical_shape();
    SHIM_CHECK(
        shape.rank() > 0 && shape.volume() > 0 && shape[-1] >= k, "input_tensor: expected rows of {} values or more, got shape {}", k,
        shape);
    const uint32_t width = shape[-1], offset = args.valid_length_offset;
    const auto length = args.valid_length;
    const auto length_tensor = args.valid_length_tensor, end_tensor = args.valid_end_tensor;
    SHIM_CHECK(!length || *length <= width, "valid_length: {} is beyond rows of {}", length.value_or(0), width);
    SHIM_CHECK(!length || !length_tensor, "valid_length and valid_length_tensor: expected one of them");
    SHIM_CHECK(offset == 0 || length_tensor, "valid_length_offset: expected with valid_length_tensor only");
    SHIM_CHECK(!end_tensor || length_tensor, "valid_end_tensor: expected with valid_length_tensor only");
    check_bound(length_tensor, "valid_length_tensor");
    check_bound(end_tensor, "valid_end_tensor");
    std::vector<Tensor> inputs = {input};
    if (length_tensor) inputs.push_back(*length_tensor);
    if (end_tensor) inputs.push_back(*end_tensor);
    std::vector<uint32_t> extents(shape.begin(), shape.end());
    extents.back() = k;
    return launch(
        {.op = strategy::TopkLargeIndices{.k = k}, .name = "TopkLargeIndicesDeviceOperation", .cores = args.sub_core_grids}, inputs,
        {make_spec(Shape(std::span<const uint32_t>(extents)), DataType::UINT32, Layout::ROW_MAJOR, input.memory_config())},
        [=](std::span<const Tensor> outputs) {
            uint64_t searched = length.value_or(width);
            if (length_tensor) searched = uint64_t{bound_of(*length_tensor)} + offset;
            if (end_tensor) searched = std::min<uint64_t>(searched, (uint64_t{bound_of(*end_tensor)} + TILE - 1) / TILE * TILE);
            searched = std::min<uint64_t>(searched, width);
            const F32Values values(input);
            const auto found = mutable_data<uint32_t>(outputs[0]);
            const size_t kept = std::min<uint64_t>(k, searched);
            parallel_for(shape.volume() / width, 1, [&](size_t begin, size_t end) {
                std::vector<uint32_t> order(searched);
                for (size_t row = begin; row < end; ++row) {
                    const float* own = values.data() + row * width;
                    std::iota(order.begin(), order.end(), 0U);
                    const auto larger = [&](uint32_t a, uint32_t b) {  // NaN is the largest; equal values keep their order
                        const float x = std::isnan(own[a]) ? std::numeric_limits<float>::infinity() : own[a];
                        const float y = std::isnan(own[b]) ? std::numeric_limits<float>::infinity() : own[b];
                        return x != y ? x > y : a < b;
                    };
                    std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(kept), order.end(), larger);
                    for (size_t i = 0; i < k; ++i) {
                        const bool real = i < kept && own[order[i]] != -std::numeric_limits<float>::infinity();
                        found[row * k + i] = real ? order[i] : NOTHING;
                    }
                }
            });
        })[0];
}

/// A sum over dimension 0 or 1 of rank 4, its columns in two tensors.
std::vector<Tensor> fast_reduce_nc_split(const arguments::experimental::fast_reduce_nc_split& args) {
    const OpScope scope("ttnn.experimental.fast_reduce_nc_split");
    const Tensor& input = args.input;
    check_device_tensor(input, "input", Layout::TILE);
    const DataType dtype = input.dtype();
    SHIM_CHECK(
        dtype == DataType::BFLOAT16 || dtype == DataType::BFLOAT8_B || dtype == DataType::FLOAT32,
        "input: expected BFLOAT16, BFLOAT8_B or FLOAT32, got {}", dtype);
    const Shape &shape = input.logical_shape(), &padded = input.padded_shape();
    const int32_t dim = args.dim;
    SHIM_CHECK(
        shape.rank() == 4 && shape.volume() > 0 && (dim == 0 || dim == 1), "dim: expected 0 or 1 of rank 4, got {} of shape {}", dim,
        shape);
    const uint32_t first = args.split_output_width, width = shape[3];
    constexpr uint32_t TILE = 32;
    SHIM_CHECK(
        width % TILE == 0 && first > 0 && first < width && first % TILE == 0,
        "split_output_width: expected a multiple of 32 within {} columns (themselves a multiple of 32), got {}", width, first);
    const MemoryConfig memory = args.memory_config;
    SHIM_CHECK(!input.is_sharded() && !memory.is_sharded(), "input and memory_config: expected interleaved memory");
    const auto spec = [&](uint32_t columns) {  // the result has the padded rows as its own
        return make_spec(Shape({dim == 0 ? 1 : shape[0], dim == 1 ? 1 : shape[1], padded[2], columns}), dtype, Layout::TILE, memory);
    };
    return launch(
        {.op = strategy::Reduce{.op = "SUM", .dim = "NC"}, .compute = args.compute_kernel_config, .name = "FastReduceNCDeviceOperation"},
        {input}, {spec(first), spec(width - first)}, [=](std::span<const Tensor> outputs) {
            const F32Values values(input);
            const size_t kept = dim == 0 ? shape[1] : shape[0], count = shape[dim];
            const size_t matrix = size_t{shape[2]} * width, step = dim == 0 ? shape[1] * matrix : matrix,
                         stride = dim == 0 ? matrix : shape[1] * matrix;
            std::array<std::vector<float>, 2> sums;
            for (size_t part = 0; part < 2; ++part) sums[part].assign(outputs[part].logical_volume(), 0.0F);
            parallel_for(kept * shape[2], std::max<size_t>(1, 4096 / width), [&](size_t begin, size_t end) {
                for (size_t at = begin; at < end; ++at) {
                    const size_t outer = at / shape[2], row = at % shape[2], to = outer * padded[2] + row;
                    for (size_t n = 0; n < count; ++n) {
                        const float* from = values.data() + outer * stride + n * step + row * width;
                        for (size_t i = 0; i < first; ++i) sums[0][to * first + i] += from[i];
                        for (size_t i = first; i < width; ++i) sums[1][to * (width - first) + i - first] += from[i];
                    }
                }
            });
            for (size_t part = 0; part < 2; ++part) write_f32(outputs[part], sums[part]);
        });
}

}  // namespace

SHIM_OP("ttnn.experimental.topk_large_indices", topk_large_indices);
SHIM_OP("ttnn.experimental.fast_reduce_nc_split", fast_reduce_nc_split);

// ---- the C++ functions ------------------------------------------------------------------------------------------------------

namespace ttnn::experimental {

std::vector<Tensor> reduction::fast_reduce_nc_split(
    const Tensor& input, int32_t dim, uint32_t split_output_width, const MemoryConfig& memory_config,
    std::optional<const ComputeKernelConfig> compute_kernel_config) {
    return ::fast_reduce_nc_split({SHIM_NAMED(input, dim, split_output_width, memory_config, compute_kernel_config)});
}

Tensor topk_large_indices(
    const Tensor& input_tensor, uint32_t k, std::optional<uint32_t> valid_length, const std::optional<Tensor>& valid_length_tensor,
    uint32_t valid_length_offset, const std::optional<SubDeviceId>& subdevice_id, const std::optional<CoreRangeSet>& sub_core_grids,
    const std::optional<Tensor>& valid_end_tensor) {
    SHIM_SUPPORTED(!subdevice_id, "subdevice_id: the simulated device has no sub-devices");
    return ::topk_large_indices(
        {SHIM_NAMED(input_tensor, k, valid_length, valid_length_tensor, valid_length_offset, sub_core_grids, valid_end_tensor)});
}

}  // namespace ttnn::experimental
