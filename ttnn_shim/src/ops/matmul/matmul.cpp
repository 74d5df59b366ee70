// matmul, linear, addmm, outer.
#include "ttnn/operations/creation/creation.hpp"
#include "ttnn/operations/data_movement/unsqueeze/unsqueeze.hpp"
#include "ttnn/operations/data_movement/sharded/sharded_to_interleaved/sharded_to_interleaved.hpp"
#include "ttnn/operations/matmul/matmul.hpp"

#include <algorithm>

#include "ops/arguments.hpp"
#include "ops/clock_state.hpp"
#include "ops/data_movement/common.hpp"
#include "ops/matmul/config_rules.hpp"
#include "ops/matmul/geometry.hpp"
#include "ops/matmul/multiply.hpp"
#include "ops/matmul/product.hpp"
#include "ops/matmul/small_tiles.hpp"
#include "strategy/matmul_config.hpp"
#include "ttnn/operations/core/to_layout/to_layout_op.hpp"
#include "ttnn/operations/data_movement/reshape_view/reshape.hpp"
#include "ttnn/operations/eltwise/binary/binary.hpp"

using namespace ttnn_shim;
using ttnn::operations::matmul::MatmulProgramConfig;

namespace {

/// A weight shared by all batches: the batch of A joins its rows, one large product instead of many.
void fold_batch(Geometry& g, bool transpose_a) {
    if (transpose_a || product(g.batch_b) != 1 || g.batch_a != g.batch) return;
    g.m *= product(g.batch);
    g.batch.clear();
    g.batch_a.clear();
    g.batch_b.clear();
}

struct Fused {
    std::optional<Tensor> bias;
    std::optional<UnaryStep> activation;
};

void matmul_kernel(
    const Tensor& a, const Tensor& b, const Tensor& output, Geometry g, bool transpose_a, bool transpose_b, const Fused& fused,
    const TensixMath& math) {
    fold_batch(g, transpose_a);
    const bool bit_model = numerics() == Numerics::Tensix;
    std::optional<F32Values> bias;
    if (fused.bias) bias.emplace(*fused.bias);
    std::optional<UnaryStep> late;
    std::vector<float> wide;
    MatmulCall call;
    call.batch = g.batch;
    call.batch_a = g.batch_a;
    call.batch_b = g.batch_b;
    call.m = g.m;
    call.k = g.k;
    call.n = g.n;
    call.transpose_a = transpose_a;
    call.transpose_b = transpose_b;
    call.a = {raw_data(a), a.dtype(), a.shim().buffer->values()};
    call.b = {raw_data(b), b.dtype(), b.shim().buffer->values()};
    call.bias = bias ? bias->data() : nullptr;
    call.constant_b = product(g.batch_b) == 1;
    if (fused.activation) {
        if (const auto activation = gemm_activation(*fused.activation)) {
            call.activation = *activation;
        } else {
            late = fused.activation;
        }
    }
    call.c = mutable_raw_data(output);
    call.c_dtype = output.dtype() == DataType::FLOAT32 ? DataType::FLOAT32 : DataType::BFLOAT16;
    if (late || is_integer(output.dtype())) {
        wide.resize(output.logical_volume());
        call.c = wide.data();
        call.c_dtype = DataType::FLOAT32;
    }
    if (g.k == 0) {
        std::vector<float> zeros(output.logical_volume(), 0.0F);
        write_f32(output, zeros);
        return;
    }
    if (output.logical_volume() == 0) return;
    if (bit_model) {
        wide.resize(output.logical_volume());
        tensix_matmul(call, math, wide.data());
    } else {
        multiply(call, math);
    }
    if (!wide.empty()) {
        if (late) {
            const auto block = kernels::kernel_set().unary[static_cast<size_t>(late->op_type)];
            SHIM_SUPPORTED(block != nullptr, "activation {} has no floating point form in the shim", unary_name(late->op_type));
            const float params[2] = {late->params.empty() ? 0.0F : late->params[0], late->params.size() < 2 ? 0.0F : late->params[1]};
            block(wide.data(), wide.data(), wide.size(), params);
        }
        if (bit_model) {
            tensix_pack(output.dtype(), wide.data(), mutable_raw_data(output), wide.size(), static_cast<size_t>(g.n));
        } else {
            write_f32(output, wide);
        }
    }
}

/// A caller's program config as members of the operation, and the activation that it fuses.
void set_config(strategy::Matmul& op, const MatmulProgramConfig& config, std::optional<UnaryStep>& activation) {
    const auto number = [](size_t value) { return static_cast<int64_t>(value); };
    op.program_config = static_cast<strategy::MatmulConfig>(config.index());
    std::visit(
        [&](const auto& c) {
            if constexpr (requires { c.mcast_in0; }) {
                op.mcast_in0 = c.mcast_in0;
                if (c.gather_in0) op.gather_in0 = true;
                SHIM_CHECK(
                    !c.gather_in0 || c.num_global_cb_receivers <= 1, "program_config: num_global_cb_receivers must be 0 or 1, got {}",
                    c.num_global_cb_receivers);
            }
            if constexpr (requires { c.in0_block_w; }) {
                SHIM_CHECK(
                    c.in0_block_w > 0 && c.per_core_M > 0 && c.per_core_N > 0,
                    "program_config: in0_block_w, per_core_M and per_core_N must be positive, got {}, {} and {}", c.in0_block_w,
                    c.per_core_M, c.per_core_N);
                op.in0_block_w = number(c.in0_block_w);
                op.per_core_M = number(c.per_core_M);
                op.per_core_N = number(c.per_core_N);
            }
            if constexpr (requires { c.out_subblock_h; }) {
                SHIM_CHECK(
                    c.out_subblock_h > 0 && c.out_subblock_w > 0 && c.per_core_M % c.out_subblock_h == 0 &&
                        c.per_core_N % c.out_subblock_w == 0,
                    "program_config: out_subblock ({}, {}) must divide per_core ({}, {})", c.out_subblock_h, c.out_subblock_w, c.per_core_M,
                    c.per_core_N);
                op.out_subblock_h = number(c.out_subblock_h);
                op.out_subblock_w = number(c.out_subblock_w);
                op.core_grid = pair_of(c.compute_with_storage_grid_size);
            }
            if constexpr (requires { c.out_block_h; }) {
                SHIM_CHECK(
                    c.out_block_h > 0 && c.out_block_w > 0,
                    "program_config: out_block_h and out_block_w must be positive, got {} and {}. In C++ they do not default to "
                    "per_core_M, per_core_N",
                    c.out_block_h, c.out_block_w);
                op.out_block_h = number(c.out_block_h);
                op.out_block_w = number(c.out_block_w);
                if (!c.fuse_batch) op.fuse_batch = false;
            }
            if constexpr (requires { c.transpose_mcast; }) {
                if (c.transpose_mcast) op.transpose_mcast = true;
            }
            if constexpr (requires { c.fused_activation; }) {
                if (c.fused_activation) activation = *c.fused_activation;
            }
        },
        config);
}

void check_operand(const Tensor& tensor, const char* name) {
    check_device_tensor(tensor, name, Layout::TILE);
    SHIM_CHECK(is_floating_point(tensor.dtype()), "{}: expected a floating point dtype, got {}", name, tensor.dtype());
}

uint64_t batch_of(const Shape& shape) {
    uint64_t batch = 1;
    for (size_t i = 0; i + 2 < shape.rank(); ++i) batch *= shape[at(i)];
    return batch;
}

/// Programs that take a bias: one matrix B for all batches, and a configured program, or a result in DRAM of a sharded A or of operands
/// there.
bool takes_bias(const Tensor& a, const Tensor& b, const MemoryConfig& output, bool configured) {
    const auto in_dram = [](const MemoryConfig& memory) { return memory.buffer_type() == BufferType::DRAM; };
    return batch_of(b.logical_shape()) == 1 &&
           (configured ||
            (in_dram(output) && (a.memory_config().is_sharded() || (in_dram(a.memory_config()) && in_dram(b.memory_config())))));
}

/// A product without values, or of none: zeros in A's layout, whatever dtypes and layouts say, and the bias added by a program of its own.
Tensor multiply_nothing(const char* op_name, const arguments::linear& call) {
    const Tensor& a = call.input_tensor_a;
    const Shape &sa = a.logical_shape(), &sb = call.input_tensor_b.logical_shape();
    const size_t rank = std::max(sa.rank(), sb.rank());
    Shape shape = sa.to_rank(rank);  // the inner dimensions are not even compared
    const Shape wide_b = sb.to_rank(rank);
    for (int32_t i = 0; i + 2 < static_cast<int32_t>(rank); ++i)
        if (shape[i] == 1) shape[i] = wide_b[i];
    shape[-2] = sa[call.transpose_a ? -1 : -2];
    shape[-1] = sb[call.transpose_b ? -2 : -1];
    const auto& output = call.optional_output_tensor;
    const MemoryConfig memory = call.memory_config.value_or(output ? output->memory_config() : MemoryConfig{});
    const Tensor zeros =
        ttnn::full(shape, 0.0F, call.dtype.value_or(a.dtype()), a.layout(), *a.device(), memory, call.bias ? std::nullopt : output);
    return call.bias ? binary_op(op_name, zeros, *call.bias, BinaryOpType::ADD, {.memory_config = memory, .output = output}) : zeros;
}

/// Vectors become a row or a column.
Tensor multiply_vectors(const char* op_name, const arguments::linear& call, const std::optional<strategy::MinimalMatmul>& minimal) {
    const Shape &sa = call.input_tensor_a.logical_shape(), &sb = call.input_tensor_b.logical_shape();
    const bool row = sa.rank() == 1, column = sb.rank() == 1;
    arguments::linear wide = call;
    if (row) wide.input_tensor_a = ttnn::reshape(call.input_tensor_a, Shape({1, sa[0]}));
    if (column) wide.input_tensor_b = ttnn::reshape(call.input_tensor_b, Shape({sb[0], 1}));
    const Tensor product = multiply_tensors(op_name, wide, minimal);
    auto extents = extents_of(product.logical_shape());
    if (column) extents.pop_back();
    if (row) extents.erase(extents.end() - (column ? 1 : 2));
    return ttnn::reshape(product, shape_of(extents));
}

/// Decisions about a product before its program is launched.
struct Settled {
    Geometry g;
    DataType dtype;
    ttnn::ComputeKernelConfig compute;
    strategy::Matmul op;     ///< with its program config, unless all tensors are interleaved and the call names no cores
    MemoryConfig memory;     ///< of the result
    bool adds_bias = false;  ///< the program does
    std::optional<UnaryStep> activation = std::nullopt;  ///< of the program config
};

/// The program config that the library gives a product without one.
void choose_config(Settled& s, const std::vector<Tensor>& inputs) {
    Device& machine = inputs[0].device()->shim();
    strategy::OpConfig config = configuration({.op = s.op, .compute = s.compute}, inputs, s.dtype, s.memory);
    config.l1_free_bytes = static_cast<int64_t>(machine.allocator().circular_buffer_space());
    try {
        const std::lock_guard lock(clock_mutex());
        s.op = strategy::choose_matmul(clock_of(machine).arch, config, s.op);
    } catch (const std::invalid_argument& error) {
        fail(ErrorCode::InvalidArgument, error.what());
    }
}

/// A sharded result lies as the program config says, and what the config does not take is refused.
void follow_config(Settled& s, const arguments::linear& call) {
    const ConfiguredMatmul rules{call.input_tensor_a, call.input_tensor_b, call.bias, s.op, s.memory, s.compute};
    if (!call.optional_output_tensor) s.memory = configured_output(rules);
    check_config(rules);
    // Matrices that cores hold leave results on the cores that the caller asked for, where no config names others.
    const auto& asked = rules.output.shard_spec();
    if (call.program_config || s.op.program_config != strategy::MatmulConfig::Reuse || !asked || call.optional_output_tensor) return;
    const uint32_t blocks = s.memory.shard_spec()->num_cores();
    SHIM_CHECK(
        call.input_tensor_a.is_sharded() || asked->num_cores() <= blocks,
        "memory_config: {} blocks of output leave some of {} cores without work", blocks, asked->num_cores());
    s.memory = s.memory.with_shard_spec(ShardSpec(asked->grid, s.memory.shard_spec()->shape, asked->orientation));
}

Settled settle(const arguments::linear& call, bool minimal) {
    const Tensor &a = call.input_tensor_a, &b = call.input_tensor_b;
    const auto &bias = call.bias, &output = call.optional_output_tensor;
    Geometry g = geometry_of(a.logical_shape(), b.logical_shape(), call.transpose_a, call.transpose_b);
    if (bias) {
        check_device_tensor(*bias, "bias");
        const Shape& shape = bias->logical_shape();
        SHIM_CHECK(
            shape.rank() >= 1 && shape[-1] == static_cast<uint32_t>(g.n), "bias: expected a last dimension of {}, got shape {}", g.n,
            shape);
    }
    const DataType dtype = call.dtype.value_or(output ? output->dtype() : a.dtype());
    SHIM_CHECK(is_floating_point(dtype), "dtype: expected a floating point dtype, got {}", dtype);
    const bool named = call.program_config || call.core_grid, row_bias = bias && bias->logical_volume() == static_cast<uint64_t>(g.n);
    const MemoryConfig memory = call.memory_config.value_or(output ? output->memory_config() : MemoryConfig{});
    Settled s{
        .g = std::move(g),
        .dtype = dtype,
        .compute = matmul_compute_config(a, b, call.compute_kernel_config, dtype, named),
        .op = {.transpose_a = call.transpose_a, .transpose_b = call.transpose_b},
        .memory = memory,
        .adds_bias = row_bias && takes_bias(a, b, memory, named || minimal)};
    if (call.core_grid) s.op.core_grid = pair_of(*call.core_grid);
    const bool b_batched = batch_of(b.logical_shape()) > 1, on_shards = a.is_sharded() || b.is_sharded() || memory.is_sharded();
    SHIM_CHECK(
        !b_batched || a.logical_shape().rank() == b.logical_shape().rank(),
        "a batched matmul requires inputs of the same rank, got shapes {} and {}", a.logical_shape(), b.logical_shape());
    if (call.program_config) {
        set_config(s.op, *call.program_config, s.activation);
    } else if (on_shards || call.core_grid) {
        SHIM_CHECK(
            !b_batched || s.g.batch_a == s.g.batch,
            "input_tensor_a: the program for a batch of matrices takes as many of both, got shapes {} and {}", a.logical_shape(),
            b.logical_shape());
        choose_config(s, s.adds_bias ? std::vector{a, b, *bias} : std::vector{a, b});
    }
    if (s.op.program_config) follow_config(s, call);
    const auto in_dram = [](const MemoryConfig& other) { return other.is_dram() && !other.is_sharded(); };
    const bool all_dram = in_dram(a.memory_config()) && in_dram(b.memory_config()) && in_dram(s.memory);
    SHIM_CHECK(  // one program reads a single A for all matrices of B
        s.op.program_config || !b_batched || s.g.batch_a == s.g.batch || (all_dram && product(s.g.batch_a) == 1),
        "input_tensor_a: the program for a batch of matrices takes as many of both, got shapes {} and {}", a.logical_shape(),
        b.logical_shape());
    // Operands that are not all in DRAM are transposed by programs of their own; the bias is then held against the shapes before that.
    SHIM_CHECK(
        !bias || s.op.program_config || minimal || all_dram ||
            (a.logical_shape()[-2] == static_cast<uint32_t>(s.g.m) && b.logical_shape()[-1] == static_cast<uint32_t>(s.g.n)),
        "Broadcast error: Invalid dimension: bias {} beside a transposed operand of another extent, {} and {}, not all in DRAM",
        bias ? bias->logical_shape() : Shape(), a.logical_shape(), b.logical_shape());
    return s;
}

/// The program, and those behind it for a bias and an activation that it does not take.
Tensor launch_product(
    const char* op_name, const arguments::linear& call, Settled s, const std::optional<strategy::MinimalMatmul>& minimal) {
    const Tensor &a = call.input_tensor_a, &b = call.input_tensor_b;
    const auto &bias = call.bias, &output = call.optional_output_tensor;
    Fused fused{s.adds_bias ? bias : std::nullopt, s.activation};
    // With a core_grid the program applies the activation, with a program_config a program of its own after the config's own.
    if (call.activation && (call.core_grid || minimal) && !call.program_config) fused.activation = call.activation;
    const bool late_bias = bias && !fused.bias;
    const bool late_activation = call.activation && (call.program_config || !fused.activation || late_bias),
               last = !late_bias && !late_activation;
    if (late_bias) fused.activation = std::nullopt;
    if (fused.activation) {
        s.op.activation = unary_name(fused.activation->op_type);
        if (!fused.activation->params.empty() && fused.activation->params[0] != 0.0F && fused.activation->op_type == UnaryOpType::GELU)
            s.op.activation_approx = true;
    }
    Program program{.op = s.op, .compute = s.compute, .name = "MatmulDeviceOperation"};
    // A fused activation is priced by the program of a matmul: minimal_matmul's equations have none.
    if (minimal && !s.op.activation) program = {.op = *minimal, .compute = s.compute, .name = "MinimalMatmulDeviceOperation"};

    std::vector<Tensor> inputs = {a, b};
    if (fused.bias) inputs.push_back(*fused.bias);
    // A bias of more dimensions gives them to the result.
    const size_t rank = std::max(s.g.shape.rank(), fused.bias ? fused.bias->logical_shape().rank() : 0);
    Tensor result = launch(
        program, inputs, {make_spec(s.g.shape.to_rank(rank), s.dtype, Layout::TILE, s.memory)},
        [=, g = s.g, compute = s.compute, transpose_a = call.transpose_a, transpose_b = call.transpose_b](
            std::span<const Tensor> outputs, const Planned& planned) {
            matmul_kernel(a, b, outputs[0], g, transpose_a, transpose_b, fused, matmul_math(compute, planned.block_k));
        },
        {last ? output : std::nullopt})[0];
    if (late_bias)
        result = binary_op(
            op_name, result, *bias, BinaryOpType::ADD, {.memory_config = s.memory, .output = late_activation ? std::nullopt : output});
    if (late_activation) result = unary_op(op_name, result, {*call.activation}, {s.memory, output});
    return result;
}

}  // namespace

Tensor ttnn_shim::multiply_tensors(
    const char* op_name, const arguments::linear& call, const std::optional<strategy::MinimalMatmul>& minimal) {
    OpScope scope(op_name);
    const Tensor &a = call.input_tensor_a, &b = call.input_tensor_b;
    check_device_tensor(a, "input_tensor_a");
    check_device_tensor(b, "input_tensor_b");
    SHIM_CHECK(
        !call.activation || (!a.is_sharded() && !b.is_sharded()),
        "activation: a sharded matmul takes it in the program_config's fused_activation, got {}", a.memory_config());
    const Shape &shape_a = a.logical_shape(), &shape_b = b.logical_shape();
    for (size_t i = 0; shape_a.rank() > 1 && i + shape_a.rank() < shape_b.rank(); ++i)
        SHIM_CHECK(
            shape_b.view()[i] == 1, "input_tensor_b: dimensions in front of input_tensor_a's must be 1 (shapes {} and {})", shape_a,
            shape_b);
    if ((a.logical_volume() == 0 || b.logical_volume() == 0) && shape_a.rank() > 1 && shape_b.rank() > 1)
        return multiply_nothing(op_name, call);
    check_operand(a, "input_tensor_a");
    check_operand(b, "input_tensor_b");
    SHIM_CHECK(!call.core_grid || shape_b.rank() > 1, "core_grid: not with a vector as input_tensor_b (shape {})", shape_b);
    if (shape_a.rank() == 1 || shape_b.rank() == 1) return multiply_vectors(op_name, call, minimal);
    return launch_product(op_name, call, settle(call, minimal.has_value()), minimal);
}

namespace {

std::optional<UnaryStep> step_of(
    const std::optional<const std::variant<std::string, ttnn::operations::unary::UnaryWithParam>>& activation) {
    if (!activation) return std::nullopt;
    if (const auto* name = std::get_if<std::string>(&*activation)) return activation_step(*name);
    return UnaryStep(std::get<ttnn::operations::unary::UnaryWithParam>(*activation));
}

/// A product of tiles of any size.
Tensor multiply_tiles(const char* op_name, const arguments::linear& call) {
    const ttnn::Tile full;
    const Tensor &a = call.input_tensor_a, &b = call.input_tensor_b;
    const auto& output = call.optional_output_tensor;
    const bool small = has_small_tiles(a) || has_small_tiles(b) || (call.bias && has_small_tiles(*call.bias));
    if (!small && call.output_tile.value_or(full) == full) return multiply_tensors(op_name, call);
    OpScope scope(op_name);
    check_device_tensor(a, "input_tensor_a", Layout::TILE);
    check_device_tensor(b, "input_tensor_b", Layout::TILE);
    const ttnn::Tile tile_a = a.tensor_spec().tile(), tile_b = b.tensor_spec().tile();
    SHIM_SUPPORTED(!call.transpose_a && !call.transpose_b, "transpose_a and transpose_b: not with tiles smaller than 32 x 32");
    SHIM_CHECK(
        !tile_b.get_transpose_of_faces() || tile_b.get_width() == full.get_width(),
        "input_tensor_b: a narrow tile with transpose_tile needs transpose_b, got {} x {} tiles", tile_b.get_height(), tile_b.get_width());
    SHIM_CHECK(
        tile_a.get_width() == tile_b.get_height(), "tiles of input_tensor_a are {} values wide, those of input_tensor_b {} high",
        tile_a.get_width(), tile_b.get_height());
    const std::array<uint32_t, 2> block = {tile_a.get_height(), tile_b.get_width()};
    const ttnn::Tile tile = call.output_tile ? *call.output_tile : output ? output->tensor_spec().tile() : ttnn::Tile(block);
    SHIM_CHECK(
        tile.get_height() == block[0] && tile.get_width() % block[1] == 0,
        "output_tile: expected a height of {} and a multiple of {} as width, got {} x {}", block[0], block[1], tile.get_height(),
        tile.get_width());
    arguments::linear wide = call;
    wide.input_tensor_a = in_full_tiles(a);
    wide.input_tensor_b = in_full_tiles(b);
    if (call.bias) wide.bias = in_full_tiles(*call.bias, true);
    if (output && !wide.memory_config) wide.memory_config = output->memory_config();
    if (wide.memory_config) wide.memory_config = in_full_tiles(*wide.memory_config, ttnn::Tile(block));
    wide.optional_output_tensor = std::nullopt;
    const Geometry g = geometry_of(a.logical_shape(), b.logical_shape(), false, false);
    return in_small_tiles(multiply_tensors(op_name, wide), {tile, block, static_cast<uint32_t>(g.m), static_cast<uint32_t>(g.n)}, output);
}

/// Arguments that the simulated chip has one value for.
void check_one_chip(bool prefetched, const std::optional<ttnn::SubDeviceId>& sub_device_id) {
    SHIM_SUPPORTED(!prefetched, "global_cb and prefetcher_pipes are not supported; leave them out");
    SHIM_SUPPORTED(!sub_device_id || **sub_device_id == 0, "sub_device_id: the simulated device has sub-device 0 only");
}

}  // namespace

namespace ttnn::operations::matmul {

Tensor matmul(
    const Tensor& a, const Tensor& b, bool transpose_a, bool transpose_b, const std::optional<const MemoryConfig>& memory_config,
    std::optional<const DataType> dtype, const std::optional<const MatmulProgramConfig>& program_config,
    const std::optional<const std::variant<std::string, unary::UnaryWithParam>>& activation,
    std::optional<const ComputeKernelConfig> compute_kernel_config, std::optional<const CoreGrid> core_grid,
    const std::optional<const Tile>& output_tile, std::optional<Tensor> optional_output_tensor,
    const std::optional<const tt::tt_metal::experimental::GlobalCircularBuffer>& global_cb, const std::optional<SubDeviceId>& sub_device_id,
    const PrefetcherPipes& pipes) {
    OpScope scope("ttnn.matmul");
    check_one_chip(global_cb.has_value() || !pipes.empty(), sub_device_id);
    return multiply_tiles(
        "ttnn.matmul", {a, b, std::nullopt, transpose_a, transpose_b, memory_config, dtype, program_config, step_of(activation),
                        compute_kernel_config, core_grid, output_tile, std::move(optional_output_tensor)});
}

Tensor linear(
    const Tensor& a, const Tensor& b, const std::optional<const Tensor>& bias, bool transpose_a, bool transpose_b,
    const std::optional<const MemoryConfig>& memory_config, std::optional<const DataType> dtype,
    const std::optional<const MatmulProgramConfig>& program_config,
    const std::optional<const std::variant<std::string, unary::UnaryWithParam>>& activation,
    std::optional<const ComputeKernelConfig> compute_kernel_config, std::optional<const CoreGrid> core_grid,
    const std::optional<const Tile>& output_tile, std::optional<Tensor> optional_output_tensor,
    const std::optional<const tt::tt_metal::experimental::GlobalCircularBuffer>& global_cb, const std::optional<SubDeviceId>& sub_device_id,
    const PrefetcherPipes& pipes, std::optional<uint32_t> in0_column_offset) {
    OpScope scope("ttnn.linear");
    check_one_chip(global_cb.has_value() || !pipes.empty(), sub_device_id);
    SHIM_SUPPORTED(!in0_column_offset, "in0_column_offset is not supported; slice input_tensor_a instead");
    return multiply_tiles(
        "ttnn.linear", {a, b, bias, transpose_a, transpose_b, memory_config, dtype, program_config, step_of(activation),
                        compute_kernel_config, core_grid, output_tile, std::move(optional_output_tensor)});
}

Tensor addmm(
    const Tensor& input, const Tensor& mat1, const Tensor& mat2, float alpha, float beta,
    const std::optional<const MemoryConfig>& memory_config, std::optional<const DataType> dtype,
    const std::optional<const MatmulProgramConfig>& program_config, std::optional<const ComputeKernelConfig> compute_kernel_config,
    std::optional<const CoreGrid> core_grid, const std::optional<const Tile>& output_tile, std::optional<Tensor> optional_output_tensor) {
    OpScope scope("ttnn.addmm");
    SHIM_SUPPORTED(!output_tile || *output_tile == Tile(), "output_tile: only 32 x 32 tiles are supported");
    check_one_chip(false, std::nullopt);
    for (const Tensor* tensor : {&input, &mat1, &mat2}) {
        SHIM_CHECK(tensor->logical_shape().rank() >= 2, "expected matrices, got shape {}", tensor->logical_shape());
        SHIM_CHECK(
            is_floating_point(tensor->dtype()) && tensor->dtype() != DataType::BFLOAT4_B,
            "expected BFLOAT16, FLOAT32 or BFLOAT8_B tensors, got {}", tensor->dtype());
    }
    SHIM_CHECK(
        input.logical_shape()[0] == mat1.logical_shape()[0] && input.logical_shape()[1] == mat2.logical_shape()[1],
        "input_tensor: expected the shape of mat1_tensor @ mat2_tensor, got {} for {} and {}", input.logical_shape(), mat1.logical_shape(),
        mat2.logical_shape());
    const std::optional<MemoryConfig> memory = memory_config;
    Tensor result = multiply_tensors(
        "ttnn.addmm", {.input_tensor_a = mat1,
                       .input_tensor_b = mat2,
                       .memory_config = memory,
                       .dtype = dtype,
                       .program_config = program_config,
                       .compute_kernel_config = compute_kernel_config,
                       .core_grid = core_grid});
    if (alpha != 1.0F) result = binary_op("ttnn.addmm", result, Scalar(alpha), BinaryOpType::MUL, {.output = result});
    if (beta == 0.0F) return result;
    const Tensor added = beta == 1.0F ? input : binary_op("ttnn.addmm", input, Scalar(beta), BinaryOpType::MUL, {.memory_config = memory});
    return binary_op(
        "ttnn.addmm", result, added, BinaryOpType::ADD, {.output = optional_output_tensor ? std::move(optional_output_tensor) : result});
}

}  // namespace ttnn::operations::matmul

namespace ttnn {

Tensor outer(const Tensor& a, const Tensor& b, const std::optional<MemoryConfig>& memory_config) {
    OpScope scope("ttnn.outer");
    SHIM_CHECK(a.logical_shape().rank() >= 1 && b.logical_shape().rank() >= 1, "expected tensors of rank 1 or more");
    for (const Tensor* tensor : {&a, &b})
        SHIM_CHECK(
            tensor->dtype() != DataType::BFLOAT4_B && tensor->dtype() != DataType::UINT16 && tensor->dtype() != DataType::UINT8,
            "unsupported dtype {}", tensor->dtype());
    SHIM_CHECK(a.dtype() == b.dtype(), "inputs must have the same dtype, got {} and {}", a.dtype(), b.dtype());
    // The last dimensions multiply, [.., n, 1] x [.., 1, m], out of interleaved memory: two vectors as matrices, others element by element.
    const auto is_vector = [](const Tensor& tensor) {
        const Shape& shape = tensor.logical_shape();
        return std::all_of(shape.begin(), shape.end() - 1, [](uint32_t extent) { return extent == 1; });
    };
    const auto gathered = [](const Tensor& tensor) {
        const MemoryConfig& own = tensor.memory_config();
        return own.is_sharded() ? ttnn::sharded_to_interleaved(tensor, MemoryConfig(own.buffer_type())) : tensor;
    };
    if (a.logical_shape()[-1] == 1 && b.logical_shape()[-1] == 1)  // nothing to spread
        return binary_op("ttnn.outer", unsqueeze(a, -1), unsqueeze(b, -2), BinaryOpType::MUL, {.memory_config = memory_config});
    if (!is_vector(a) || !is_vector(b))
        return binary_op(
            "ttnn.outer", unsqueeze(gathered(a), -1), unsqueeze(gathered(b), -2), BinaryOpType::MUL, {.memory_config = memory_config});
    const auto& shards = b.memory_config().shard_spec();
    SHIM_CHECK(
        b.memory_config().memory_layout() != TensorMemoryLayout::HEIGHT_SHARDED || !shards || shards->grid.num_cores() == 1,
        "input_tensor_b: a vector must not be height sharded, got {}", b.memory_config());
    const Tensor column = to_layout(unsqueeze(gathered(a), -1), Layout::TILE), row = to_layout(unsqueeze(gathered(b), -2), Layout::TILE);
    if (!is_integer(a.dtype()) && a.logical_volume() > 0 && b.logical_volume() > 0)
        return multiply_tensors("ttnn.outer", {.input_tensor_a = column, .input_tensor_b = row, .memory_config = memory_config});
    return binary_op("ttnn.outer", column, row, BinaryOpType::MUL, {.memory_config = memory_config.value_or(MemoryConfig{})});
}

}  // namespace ttnn

// ---- the Python door -------------------------------------------------------------------------------------------------------

namespace {

arguments::linear product_of(const auto& args, const Tensor& b) {
    return {
        args.input_tensor_a,
        b,
        std::nullopt,
        args.transpose_a,
        args.transpose_b,
        args.memory_config,
        args.dtype,
        args.program_config,
        args.activation,
        args.compute_kernel_config,
        args.core_grid,
        args.output_tile,
        args.optional_output_tensor};
}

}  // namespace

SHIM_OP("ttnn.matmul", [](const arguments::matmul& args) {
    OpScope scope("ttnn.matmul");
    return multiply_tiles("ttnn.matmul", product_of(args, args.input_tensor_b));
});
SHIM_OP("ttnn.linear", [](const arguments::linear& args) {
    OpScope scope("ttnn.linear");
    return multiply_tiles("ttnn.linear", args);
});
SHIM_OP("ttnn.addmm", [](const arguments::addmm& args) {
    return ttnn::addmm(
        args.input_tensor, args.mat1_tensor, args.mat2_tensor, args.alpha, args.beta, args.memory_config, args.dtype, args.program_config,
        args.compute_kernel_config, args.core_grid, std::nullopt, args.optional_output_tensor);
});
SHIM_OP("ttnn.outer", [](const arguments::outer& args) {
    return ttnn::outer(args.input_tensor_a, args.input_tensor_b, args.memory_config);
});

namespace {

std::vector<Tensor> multiply_each(const arguments::matmul_batched_weights& args) {
    const OpScope scope("ttnn.matmul_batched_weights");
    SHIM_CHECK(args.memory_config.has_value(), "memory_config must be provided");
    std::vector<Tensor> products;
    for (const Tensor& weight : args.input_tensors_b)
        products.push_back(multiply_tiles("ttnn.matmul_batched_weights", product_of(args, weight)));
    return products;
}

}  // namespace

SHIM_OP("ttnn.matmul_batched_weights", multiply_each);

std::vector<Tensor> ttnn::operations::matmul::matmul_batched_weights(
    const Tensor& a, const std::vector<Tensor>& weights, bool transpose_a, bool transpose_b,
    const std::optional<const MemoryConfig>& memory_config, std::optional<const DataType> dtype,
    const std::optional<const MatmulProgramConfig>& program_config, const std::optional<const Activation>& activation,
    std::optional<const ComputeKernelConfig> compute_kernel_config, std::optional<const CoreGrid> core_grid,
    const std::optional<const Tile>& output_tile, const std::optional<Tensor>& output,
    const std::optional<const tt::tt_metal::experimental::GlobalCircularBuffer>& global_cb,
    const std::optional<SubDeviceId>& sub_device_id) {
    check_one_chip(global_cb.has_value(), sub_device_id);
    SHIM_SUPPORTED(!output, "optional_output_tensor is not supported; use the results");
    return multiply_each(
        {a, weights, transpose_a, transpose_b, memory_config, dtype, program_config, step_of(activation), compute_kernel_config, core_grid,
         output_tile});
}
