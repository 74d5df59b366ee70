// minimal_matmul and minimal_matmul_split.
#include "ttnn/operations/experimental/minimal_matmul/minimal_matmul.hpp"
#include "ttnn/operations/data_movement/split/split.hpp"
#include "ttnn/operations/experimental/minimal_matmul/minimal_matmul_split.hpp"

#include "ops/arguments.hpp"
#include "ops/matmul/product.hpp"

using namespace ttnn_shim;

/// Default rows, depth and columns of minimal_matmul's blocks without a config (ttnn 0.81.1).
constexpr uint32_t DEFAULT_BLOCK_TILES = 8;

ttnn::experimental::prim::MinimalMatmulConfig ttnn_shim::ArgumentType<ttnn::experimental::prim::MinimalMatmulConfig>::read(
    const Call& call, std::string_view name) {
    const auto record = call.record(name);
    const auto block = [&](const char* field) { return static_cast<uint32_t>(record->integer(field, DEFAULT_BLOCK_TILES)); };
    return {.M_block_size = block("M_block_size"), .K_block_size = block("K_block_size"), .N_block_size = block("N_block_size")};
}

namespace {
/// minimal_matmul sizes its buffers by its blocks, for matrices of any size: 8 x 8 x 8 tiles without a config.
void check_minimal_blocks(const auto& args, const Tensor& a, const Tensor& b, DataType output) {
    const auto config = args.config.value_or(ttnn::experimental::prim::MinimalMatmulConfig{
        .M_block_size = DEFAULT_BLOCK_TILES, .K_block_size = DEFAULT_BLOCK_TILES, .N_block_size = DEFAULT_BLOCK_TILES});
    const uint64_t m = config.M_block_size, k = config.K_block_size, n = config.N_block_size;
    uint64_t bytes = 2 * m * k * tile_bytes(a.dtype()) + 2 * k * n * tile_bytes(b.dtype()) + m * n * tile_bytes(DataType::FLOAT32) +
                     2 * m * n * tile_bytes(output);
    if (args.bias_tensor) bytes += n * tile_bytes(args.bias_tensor->dtype());
    device_of(a)->shim().allocator().check_circular_buffers(bytes);
}

/// Matmul, bias and activation in one program, outputs interleaved.
Tensor minimal(const auto& args, const Tensor& a, const char* name) {
    const OpScope scope(name);
    SHIM_SUPPORTED(!args.fuse_swiglu, "fuse_swiglu is not supported; call ttnn.swiglu on the result");
    const Tensor& b = args.weight_tensor;
    check_device_tensor(a, "input_tensor", Layout::TILE);
    check_device_tensor(b, "weight_tensor", Layout::TILE);
    check_minimal_blocks(args, a, b, args.dtype.value_or(a.dtype()));
    strategy::MinimalMatmul blocks;
    if (args.config) blocks = {args.config->M_block_size, args.config->N_block_size, args.config->K_block_size};
    return multiply_tensors(
        name,
        {.input_tensor_a = a,
         .input_tensor_b = b,
         .bias = args.bias_tensor,
         .memory_config = args.memory_config,
         .dtype = args.dtype,
         .activation = args.fused_activation,
         .compute_kernel_config = args.compute_kernel_config},
        blocks);
}

Tensor minimal_matmul(const arguments::experimental::minimal_matmul& args) {
    SHIM_SUPPORTED(args.input_tensor.size() == 1, "input_tensor: a list of tensors is not supported; concatenate them");
    return minimal(args, args.input_tensor[0], "ttnn.experimental.minimal_matmul");
}
std::vector<Tensor> minimal_matmul_split(const arguments::experimental::minimal_matmul_split& args) {
    const OpScope scope("ttnn.experimental.minimal_matmul_split");
    const Tensor whole = minimal(args, args.input_tensor, "ttnn.experimental.minimal_matmul_split");
    const int32_t chunks = args.chunks, dim = args.dim;
    const uint32_t width = whole.logical_shape()[-1];
    SHIM_CHECK(dim == -1, "dim: only the last dimension (-1) is supported, got {}", dim);
    SHIM_CHECK(
        chunks > 0 && width % (static_cast<uint32_t>(chunks) * 32) == 0, "chunks: {} do not divide {} columns into tiles", chunks, width);
    return ttnn::split(whole, int64_t{width / static_cast<uint32_t>(chunks)}, -1, args.memory_config);
}
}  // namespace

SHIM_OP("ttnn.experimental.minimal_matmul", minimal_matmul);
SHIM_OP("ttnn.experimental.minimal_matmul_split", minimal_matmul_split);

// ---- the C++ functions ------------------------------------------------------------------------------------------------------

namespace ttnn::experimental {

Tensor minimal_matmul(
    const std::variant<Tensor, std::vector<Tensor>>& input, const Tensor& weight_tensor, const std::optional<Tensor>& bias_tensor,
    std::optional<operations::unary::UnaryWithParam> fused_activation, const std::optional<const prim::MinimalMatmulConfig>& config,
    const std::optional<MemoryConfig>& memory_config, std::optional<const DataType> dtype,
    std::optional<ComputeKernelConfig> compute_kernel_config, bool fuse_swiglu) {
    const auto* several = std::get_if<std::vector<Tensor>>(&input);
    const std::vector<Tensor> tensors = several != nullptr ? *several : std::vector<Tensor>{std::get<Tensor>(input)};
    return ::minimal_matmul(
        {.input_tensor = tensors,
         SHIM_NAMED(weight_tensor, bias_tensor, fused_activation, config, memory_config, dtype, compute_kernel_config, fuse_swiglu)});
}

std::vector<Tensor> minimal_matmul_split(
    const Tensor& input_tensor, const Tensor& weight_tensor, int32_t chunks, int32_t dim, const std::optional<Tensor>& bias_tensor,
    std::optional<operations::unary::UnaryWithParam> fused_activation, const std::optional<const prim::MinimalMatmulConfig>& config,
    const std::optional<MemoryConfig>& memory_config, std::optional<const DataType> dtype,
    std::optional<ComputeKernelConfig> compute_kernel_config, bool fuse_swiglu) {
    return ::minimal_matmul_split({SHIM_NAMED(
        input_tensor, weight_tensor, chunks, dim, bias_tensor, fused_activation, config, memory_config, dtype, compute_kernel_config,
        fuse_swiglu)});
}

}  // namespace ttnn::experimental
