// C++ functions of eltwise composites, products, convolutions and pooling whose kernels are written against `Call`.
#include "ops/cpp_api/given.hpp"
#include "ttnn/operations/eltwise/binary/binary_composite.hpp"
#include "ttnn/operations/eltwise/ternary/ternary_composite.hpp"
#include "ttnn/operations/eltwise/unary/unary_composite.hpp"
#include "ttnn/operations/experimental/adaptive_pool/adaptive_pools.hpp"
#include "ttnn/operations/experimental/conv3d/conv3d.hpp"
#include "ttnn/operations/experimental/conv3d/prepare_conv3d_weights.hpp"
#include "ttnn/operations/experimental/matmul_decode/matmul_decode.hpp"
#include "ttnn/operations/experimental/minimal_matmul/minimal_matmul.hpp"
#include "ttnn/operations/experimental/minimal_matmul/minimal_matmul_split.hpp"
#include "ttnn/operations/experimental/multi_scale_deformable_attn/multi_scale_deformable_attn.hpp"
#include "ttnn/operations/experimental/reduction/fast_reduce_nc/fast_reduce_nc.hpp"
#include "ttnn/operations/experimental/ssm/repeat_and_interleave_eltwise_mul/repeat_and_interleave_eltwise_mul.hpp"
#include "ttnn/operations/experimental/topk_large_indices/topk_large_indices.hpp"
#include "ttnn/operations/matmul/matmul.hpp"
#include "ttnn/operations/pool/grid_sample/grid_sample.hpp"
#include "ttnn/operations/pool/rotate/rotate.hpp"

using namespace ttnn_shim;

using OptionalMemory = std::optional<MemoryConfig>;

namespace ttnn {

#define OF_ONE_TENSOR(name)                                                                     \
    Tensor name(const Tensor& input, const OptionalMemory& memory_config) {                     \
        return one("ttnn." #name, {{"input_tensor", input}, {"memory_config", memory_config}}); \
    }
OF_ONE_TENSOR(multigammaln)
OF_ONE_TENSOR(normalize_hw)
OF_ONE_TENSOR(normalize_global)
OF_ONE_TENSOR(var_hw)
OF_ONE_TENSOR(std_hw)
#undef OF_ONE_TENSOR

Tensor clamped_silu_glu(
    const Tensor& gate, const Tensor& up, float limit, const OptionalMemory& memory_config,
    const std::optional<CoreRangeSet>& sub_core_grids, const std::optional<SubDeviceId>& sub_device_id) {
    SHIM_SUPPORTED(!sub_device_id, "sub_device_id: the simulated device has no sub-devices");
    return one(
        "ttnn.clamped_silu_glu",
        {{"gate", gate}, {"up", up}, {"limit", limit}, {"memory_config", memory_config}, {"sub_core_grids", sub_core_grids}});
}

Tensor situ_glu(
    const Tensor& gate, const Tensor& up, float beta1, float beta2, const OptionalMemory& memory_config,
    const std::optional<CoreRangeSet>& sub_core_grids, const std::optional<SubDeviceId>& sub_device_id) {
    SHIM_SUPPORTED(!sub_device_id, "sub_device_id: the simulated device has no sub-devices");
    return one(
        "ttnn.situ_glu", {{"gate", gate},
                          {"up", up},
                          {"beta1", beta1},
                          {"beta2", beta2},
                          {"memory_config", memory_config},
                          {"sub_core_grids", sub_core_grids}});
}

Tensor multiply(const Tensor& a, const Tensor& b, bool fast_and_approximate_mode) {
    return multiply(a, b, std::nullopt, std::nullopt, std::nullopt, {}, {}, {}, fast_and_approximate_mode);
}
Tensor multiply(const Tensor& a, operations::binary::ScalarVariant b, bool fast_and_approximate_mode) {
    return multiply(a, b, std::nullopt, std::nullopt, std::nullopt, {}, {}, {}, fast_and_approximate_mode);
}

Tensor snake_beta(
    const Tensor& input, const Tensor& alpha, const Tensor& beta, const OptionalMemory& memory_config,
    const std::optional<Tensor>& output) {
    return one(
        "ttnn.snake_beta",
        {{"input_tensor", input}, {"alpha", alpha}, {"beta", beta}, {"memory_config", memory_config}, {"output_tensor", output}});
}

Tensor operations::grid_sample::grid_sample(
    const Tensor& input, const Tensor& grid, const std::string& mode, const std::string& padding_mode, bool align_corners,
    bool use_precomputed_grid, bool batch_output_channels, const OptionalMemory& memory_config,
    const std::optional<ComputeKernelConfig>& compute_kernel_config) {
    return one(
        "ttnn.grid_sample", {{"input_tensor", input},
                             {"grid", grid},
                             {"mode", mode},
                             {"padding_mode", padding_mode},
                             {"align_corners", align_corners},
                             {"use_precomputed_grid", use_precomputed_grid},
                             {"batch_output_channels", batch_output_channels},
                             {"memory_config", memory_config},
                             {"compute_kernel_config", compute_kernel_config}});
}

Tensor operations::grid_sample::prepare_grid_sample_grid(
    const Tensor& grid, const std::vector<uint32_t>& input_shape, const std::string& mode, const std::string& padding_mode,
    bool align_corners, const std::optional<DataType>& output_dtype) {
    return one(
        "ttnn.operations.pool.prepare_grid_sample_grid", {{"grid", grid},
                                                          {"input_shape", input_shape},
                                                          {"mode", mode},
                                                          {"padding_mode", padding_mode},
                                                          {"align_corners", align_corners},
                                                          {"output_dtype", output_dtype}});
}

Tensor operations::rotate::rotate(
    const Tensor& input, float angle, const std::optional<std::tuple<float, float>>& center, float fill, bool expand,
    const std::string& interpolation_mode, const OptionalMemory& memory_config) {
    std::optional<std::vector<double>> place;
    if (center) place = {std::get<0>(*center), std::get<1>(*center)};
    return one(
        "ttnn.rotate", {{"input_tensor", input},
                        {"angle", angle},
                        {"center", place},
                        {"fill", fill},
                        {"expand", expand},
                        {"interpolation_mode", interpolation_mode},
                        {"memory_config", memory_config}});
}

#define ADAPTIVE_PARAMETERS                                                                                                               \
    const Tensor &input, uint32_t batch_size, uint32_t input_h, uint32_t input_w, uint32_t channels, std::array<uint32_t, 2> output_size, \
        const std::optional<const MemoryConfig>&memory_config, const std::optional<op_slicing::Op2DSliceConfig>&dram_slice_config,        \
        std::optional<const TensorMemoryLayout> applied_shard_scheme
#define ADAPTIVE_ARGUMENTS                                                                                                   \
    {"input_tensor", input}, {"batch_size", batch_size}, {"input_h", input_h}, {"input_w", input_w}, {"channels", channels}, \
        {"output_size", output_size}, {"memory_config", memory_config}, {"dram_slice_config", dram_slice_config},            \
        {"applied_shard_scheme", applied_shard_scheme}, {"deallocate_input", deallocate_input}, {                            \
        "reallocate_output", reallocate_output                                                                               \
    }
namespace operations::experimental::adaptive_pool {
Tensor adaptive_avg_pool2d(
    ADAPTIVE_PARAMETERS, const std::optional<ComputeKernelConfig>& compute_kernel_config, bool deallocate_input, bool reallocate_output) {
    return one("ttnn.adaptive_avg_pool2d", {ADAPTIVE_ARGUMENTS, {"compute_kernel_config", compute_kernel_config}});
}
Tensor adaptive_max_pool2d(ADAPTIVE_PARAMETERS, bool deallocate_input, bool reallocate_output) {
    return one("ttnn.adaptive_max_pool2d", {ADAPTIVE_ARGUMENTS});
}
}  // namespace operations::experimental::adaptive_pool
#undef ADAPTIVE_PARAMETERS
#undef ADAPTIVE_ARGUMENTS

std::vector<Tensor> operations::matmul::matmul_batched_weights(
    const Tensor& a, const std::vector<Tensor>& weights, bool transpose_a, bool transpose_b,
    const std::optional<const MemoryConfig>& memory_config, std::optional<const DataType> dtype,
    const std::optional<const MatmulProgramConfig>& program_config, const std::optional<const Activation>& activation,
    std::optional<const ComputeKernelConfig> compute_kernel_config, std::optional<const CoreGrid> core_grid,
    const std::optional<const Tile>& output_tile, const std::optional<Tensor>& output,
    const std::optional<const tt::tt_metal::experimental::GlobalCircularBuffer>& global_cb,
    const std::optional<SubDeviceId>& sub_device_id) {
    const OpScope scope("ttnn.matmul_batched_weights");
    SHIM_CHECK(memory_config.has_value(), "memory_config must be provided");
    SHIM_SUPPORTED(!output, "optional_output_tensor is not supported; use the results");
    std::vector<Tensor> products;
    for (const Tensor& weight : weights)
        products.push_back(operations::matmul::matmul(
            a, weight, transpose_a, transpose_b, memory_config, dtype, program_config, activation, compute_kernel_config, core_grid,
            output_tile, std::nullopt, global_cb, sub_device_id));
    return products;
}

Tensor operations::experimental::conv3d::prepare_conv3d_weights(
    const Tensor& weight, uint32_t groups, uint32_t C_in_block, uint32_t alignment, MeshDevice* device) {
    return one(
        "ttnn.experimental.prepare_conv3d_weights",
        {{"weight_tensor", weight}, {"groups", groups}, {"C_in_block", C_in_block}, {"alignment", alignment}}, device);
}

}  // namespace ttnn

namespace ttnn::experimental {

Tensor conv3d(
    const Tensor& input, const Tensor& weight, std::optional<MeshDevice*> device, const std::optional<Tensor>& bias,
    const std::optional<prim::Conv3dConfig>& config, DataType dtype, uint32_t output_channels, const std::array<uint32_t, 3>& kernel_size,
    const std::array<uint32_t, 3>& stride, const std::array<uint32_t, 3>& padding, const std::array<uint32_t, 3>& dilation,
    const std::string& padding_mode, uint32_t groups, const OptionalMemory& memory_config,
    std::optional<ComputeKernelConfig> compute_kernel_config, const std::optional<Tensor>& halo_buffer, uint32_t logical_h_mask,
    uint32_t logical_w_mask, const std::optional<Tensor>& pad_offset_tensor, uint32_t output_pad_h, uint32_t output_pad_w,
    const std::optional<Tensor>& weight_lo_tensor) {
    return one(
        "ttnn.experimental.conv3d",
        {{"input_tensor", input},
         {"weight_tensor", weight},
         {"bias_tensor", bias},
         {"config", config},
         {"dtype", dtype},
         {"output_channels", output_channels},
         {"kernel_size", kernel_size},
         {"stride", stride},
         {"padding", padding},
         {"dilation", dilation},
         {"padding_mode", padding_mode},
         {"groups", groups},
         {"memory_config", memory_config},
         {"compute_kernel_config", compute_kernel_config},
         {"halo_buffer", halo_buffer},
         {"logical_h_mask", logical_h_mask},
         {"logical_w_mask", logical_w_mask},
         {"pad_offset_tensor", pad_offset_tensor},
         {"output_pad_h", output_pad_h},
         {"output_pad_w", output_pad_w},
         {"weight_lo_tensor", weight_lo_tensor}},
        device.value_or(nullptr));
}

#define MINIMAL_ARGUMENTS                                                                                                                  \
    {"input_tensor", input}, {"weight_tensor", weight}, {"bias_tensor", bias}, {"fused_activation", fused_activation}, {"config", config}, \
        {"memory_config", memory_config}, {"dtype", dtype}, {"compute_kernel_config", compute_kernel_config}, {                            \
        "fuse_swiglu", fuse_swiglu                                                                                                         \
    }
Tensor minimal_matmul(
    const std::variant<Tensor, std::vector<Tensor>>& input, const Tensor& weight, const std::optional<Tensor>& bias,
    std::optional<operations::unary::UnaryWithParam> fused_activation, const std::optional<const prim::MinimalMatmulConfig>& config,
    const OptionalMemory& memory_config, std::optional<const DataType> dtype, std::optional<ComputeKernelConfig> compute_kernel_config,
    bool fuse_swiglu) {
    return one("ttnn.experimental.minimal_matmul", {MINIMAL_ARGUMENTS});
}
std::vector<Tensor> minimal_matmul_split(
    const Tensor& input, const Tensor& weight, int32_t chunks, int32_t dim, const std::optional<Tensor>& bias,
    std::optional<operations::unary::UnaryWithParam> fused_activation, const std::optional<const prim::MinimalMatmulConfig>& config,
    const OptionalMemory& memory_config, std::optional<const DataType> dtype, std::optional<ComputeKernelConfig> compute_kernel_config,
    bool fuse_swiglu) {
    return several("ttnn.experimental.minimal_matmul_split", {MINIMAL_ARGUMENTS, {"chunks", chunks}, {"dim", dim}});
}
#undef MINIMAL_ARGUMENTS

Tensor reduction::fast_reduce_nc(
    const Tensor& input, ttsl::Span<const int32_t> dims, const std::optional<const Tensor>& output, const MemoryConfig& memory_config,
    std::optional<const ComputeKernelConfig> compute_kernel_config, const std::optional<CoreRangeSet>& sub_core_grids,
    const std::optional<DataType>& dtype, bool) {
    SHIM_SUPPORTED(!dtype || *dtype == input.dtype(), "dtype: expected the input's, got {}", *dtype);
    return one(
        "ttnn.experimental.fast_reduce_nc", {{"input", input},
                                             {"dims", dims},
                                             {"output", output},
                                             {"memory_config", memory_config},
                                             {"compute_kernel_config", compute_kernel_config},
                                             {"sub_core_grids", sub_core_grids}});
}

std::vector<Tensor> reduction::fast_reduce_nc_split(
    const Tensor& input, int32_t dim, uint32_t split_output_width, const MemoryConfig& memory_config,
    std::optional<const ComputeKernelConfig> compute_kernel_config) {
    return several(
        "ttnn.experimental.fast_reduce_nc_split", {{"input", input},
                                                   {"dim", dim},
                                                   {"split_output_width", split_output_width},
                                                   {"memory_config", memory_config},
                                                   {"compute_kernel_config", compute_kernel_config}});
}

Tensor topk_large_indices(
    const Tensor& input, uint32_t k, std::optional<uint32_t> valid_length, const std::optional<Tensor>& valid_length_tensor,
    uint32_t valid_length_offset, const std::optional<SubDeviceId>& subdevice_id, const std::optional<CoreRangeSet>& sub_core_grids,
    const std::optional<Tensor>& valid_end_tensor) {
    SHIM_SUPPORTED(!subdevice_id, "subdevice_id: the simulated device has no sub-devices");
    return one(
        "ttnn.experimental.topk_large_indices", {{"input_tensor", input},
                                                 {"k", k},
                                                 {"valid_length", valid_length},
                                                 {"valid_length_tensor", valid_length_tensor},
                                                 {"valid_length_offset", valid_length_offset},
                                                 {"sub_core_grids", sub_core_grids},
                                                 {"valid_end_tensor", valid_end_tensor}});
}

Tensor repeat_and_interleave_eltwise_mul(
    const Tensor& a, const Tensor& b, const OptionalMemory& memory_config, std::optional<DataType> dtype,
    std::optional<MathFidelity> math_fidelity) {
    return one(
        "ttnn.experimental.repeat_and_interleave_eltwise_mul",
        {{"a", a}, {"b", b}, {"memory_config", memory_config}, {"dtype", dtype}, {"math_fidelity", math_fidelity}});
}

Tensor matmul_decode(
    const Tensor& a, const Tensor& b, bool partial_width_sharded, std::optional<const DataType> dtype,
    const OptionalMemory& output_mem_config) {
    return one(
        "ttnn.experimental.matmul_decode", {{"input_tensor_a", a},
                                            {"input_tensor_b", b},
                                            {"partial_width_sharded", partial_width_sharded},
                                            {"dtype", dtype},
                                            {"output_mem_config", output_mem_config}});
}

Tensor multi_scale_deformable_attn(
    const Tensor& value, const Tensor& grid, const Tensor& attn, const OptionalMemory& memory_config, bool align_corners) {
    return one(
        "ttnn.experimental.multi_scale_deformable_attn",
        {{"value", value}, {"grid", grid}, {"attn", attn}, {"memory_config", memory_config}, {"align_corners", align_corners}});
}

}  // namespace ttnn::experimental
