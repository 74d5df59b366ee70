// ttnn.experimental.matmul_decode: a product of few rows, both operands width sharded, weights whole or folded into one row of blocks.
#include "ops/arguments.hpp"
#include "ops/launch.hpp"
#include "ops/matmul/multiply.hpp"
#include "ops/registry.hpp"
#include "tensor/gemm.hpp"
#include "ttnn/operations/experimental/matmul_decode/matmul_decode.hpp"

using namespace ttnn_shim;

namespace {

/// How the weights of `batch` matrices [k, n] lie in the second operand: their rows, all matrices below each other, are cut into `blocks`
/// equal parts that stand side by side.
struct Fold {
    uint32_t batch = 1, m = 0, k = 0, n = 0;
    uint32_t blocks = 1;  ///< of the batch (rank 4) or of k (partial), folded into the width
    bool partial = false;
};

Fold fold_of(const Tensor& a, const Tensor& b, bool partial) {
    const Shape &sa = a.logical_shape(), &sb = b.logical_shape();
    Fold fold{.m = sa[-2], .k = sa[-1]};
    const auto& shard = *b.memory_config().shard_spec();
    if (sa.rank() == 4 && sa[0] * sa[1] > 1) {
        fold.batch = sa[0] * sa[1];
        SHIM_CHECK(sb.rank() == 4, "input_tensor_b: {} matrices need weights of rank 4, got shape {}", fold.batch, sb);
        SHIM_CHECK(
            sb[0] == 1 && sb[1] == 1 && sb[2] % fold.k == 0 && fold.batch % (sb[2] / fold.k) == 0 && shard.shape[0] == sb[2],
            "input_tensor_b: expected shape [1, 1, a share of {} matrices x {}, ..] with whole columns in a shard, got {}", fold.batch,
            fold.k, sb);
        fold.blocks = fold.batch / (sb[2] / fold.k);
    } else if (partial) {
        fold.partial = true;
        SHIM_CHECK(
            fold.k % 32 == 0 && shard.shape[0] == sb[-2] && fold.k % sb[-2] == 0 && fold.k / sb[-2] % 2 == 0,
            "input_tensor_b: expected an even number of blocks of the {} rows, got shape {}", fold.k, sb);
        fold.blocks = fold.k / sb[-2];
    } else {
        SHIM_CHECK(sb[-2] == fold.k, "input_tensor_b: expected {} rows, got shape {}", fold.k, sb);
        for (size_t i = 0; sa.rank() > 2 && sb.rank() > 2 && i + 2 < std::min(sa.rank(), sb.rank()); ++i)
            SHIM_CHECK(
                sa[static_cast<int32_t>(i)] == sb[static_cast<int32_t>(i)], "input_tensor_b: expected the leading dimensions of {}, got {}",
                sa, sb);
    }
    SHIM_CHECK(sb[-1] % fold.blocks == 0, "input_tensor_b: {} columns do not hold {} blocks", sb[-1], fold.blocks);
    fold.n = sb[-1] / fold.blocks;
    const auto cores = static_cast<uint32_t>(shard.grid.num_cores());
    SHIM_CHECK(
        cores % fold.blocks == 0 && fold.n % shard.shape[1] == 0 && cores / fold.blocks == fold.n / shard.shape[1],
        "input_tensor_b: {} cores do not hold {} blocks of {} columns in shards of {}", cores, fold.blocks, fold.n, shard.shape[1]);
    return fold;
}

Tensor matmul_decode(const arguments::experimental::matmul_decode& args) {
    const OpScope scope("ttnn.experimental.matmul_decode");
    const Tensor &a = args.input_tensor_a, &b = args.input_tensor_b;
    constexpr uint32_t TILE = 32, MOST_TILE_ROWS = 8;  // a column of output tiles stays in the destination registers
    const auto check = [](const Tensor& tensor, const char* name) {
        check_device_tensor(tensor, name, Layout::TILE);
        SHIM_CHECK(is_floating_point(tensor.dtype()), "{}: expected a floating point dtype, got {}", name, tensor.dtype());
        SHIM_CHECK(
            tensor.logical_shape().rank() >= 2 && tensor.logical_volume() > 0, "{}: expected rank 2 or more, got {}", name,
            tensor.logical_shape());
        const MemoryConfig& memory = tensor.memory_config();
        SHIM_CHECK(
            memory.memory_layout() == TensorMemoryLayout::WIDTH_SHARDED && memory.shard_spec() && memory.is_l1(),
            "{}: expected width sharded L1 memory, got {}", name, memory);
    };
    check(a, "input_tensor_a");
    check(b, "input_tensor_b");
    const Shape& sa = a.logical_shape();
    const Fold fold = fold_of(a, b, args.partial_width_sharded);
    const uint32_t rows = (fold.m + TILE - 1) / TILE;
    SHIM_CHECK(rows <= MOST_TILE_ROWS, "input_tensor_a: expected at most {} rows, got {}", MOST_TILE_ROWS * TILE, fold.m);
    SHIM_CHECK(a.memory_config().shard_spec()->shape[1] % TILE == 0, "input_tensor_a: expected shards of whole tiles");
    const auto requested = args.output_mem_config;
    MemoryConfig memory = requested.value_or(MemoryConfig{});
    if (sa.rank() == 4) {
        SHIM_CHECK(fold.batch > 1 || memory.shard_spec(), "output_mem_config: expected width sharded memory with a shard spec for rank 4");
    } else if (!requested) {
        const auto& weights = *b.memory_config().shard_spec();
        CoreRangeSet cores = weights.grid;
        if (fold.partial) cores = tt::tt_metal::num_cores_to_corerangeset(fold.n / weights.shape[1], machine_of(a).grid(), true);
        const tt::tt_metal::ShardSpec shard(cores, {rows * TILE, (fold.n + cores.num_cores() - 1) / cores.num_cores()});
        memory = MemoryConfig(TensorMemoryLayout::WIDTH_SHARDED, BufferType::L1, shard);
    }
    if (fold.batch == 1) {
        const auto& weights = *b.memory_config().shard_spec();
        SHIM_CHECK(
            memory.shard_spec() && memory.is_l1() && (fold.partial || memory.shard_spec()->grid == weights.grid) &&
                memory.shard_spec()->grid.num_cores() == fold.n / weights.shape[1],
            "output_mem_config: expected width sharded L1 memory on {} cores (those of the weights), got {}", fold.n / weights.shape[1],
            memory);
    }
    std::vector<uint32_t> extents(sa.begin(), sa.end());
    extents.back() = fold.n;
    return launch(
        {.op = strategy::MatmulDecode{.m = fold.m, .k = fold.k, .n = fold.n}, .name = "MatmulDecodeDeviceOperation"}, {a, b},
        {make_spec(Shape(std::span<const uint32_t>(extents)), args.dtype.value_or(a.dtype()), Layout::TILE, memory)},
        [=](std::span<const Tensor> outputs) {
            const F32Values left(a), right(b);
            const TensixMath math = tensix_math(matmul_compute_config(a, b, std::nullopt));
            const size_t columns = size_t{fold.n} * fold.blocks, per_block = fold.batch / (fold.partial ? 1 : fold.blocks);
            std::vector<float> sums(outputs[0].logical_volume(), 0.0F), weights(size_t{fold.k} * fold.n);
            for (size_t matrix = 0; matrix < fold.batch; ++matrix) {
                for (size_t row = 0; row < fold.k; ++row) {  // unfold: row of this matrix -> block and row within the block
                    const size_t height = fold.partial ? fold.k / fold.blocks : per_block * fold.k;
                    const size_t at = fold.partial ? row : matrix * fold.k + row;
                    const float* from = right.data() + at % height * columns + at / height * fold.n;
                    std::copy_n(from, fold.n, weights.data() + row * fold.n);
                }
                MatmulCall call;
                call.m = fold.m;
                call.k = fold.k;
                call.n = fold.n;
                call.a = {left.data() + matrix * fold.m * fold.k, DataType::FLOAT32, nullptr};
                call.b = {weights.data(), DataType::FLOAT32, nullptr};
                call.c = sums.data() + matrix * fold.m * fold.n;
                if (numerics() == Numerics::Tensix) {
                    tensix_matmul(call, math, static_cast<float*>(call.c));
                } else {
                    multiply(call, math);
                }
            }
            write_f32(outputs[0], sums);
        })[0];
}

}  // namespace

SHIM_OP("ttnn.experimental.matmul_decode", matmul_decode);

// ---- the C++ functions ------------------------------------------------------------------------------------------------------

namespace ttnn::experimental {

Tensor matmul_decode(
    const Tensor& input_tensor_a, const Tensor& input_tensor_b, bool partial_width_sharded, std::optional<const DataType> dtype,
    const std::optional<MemoryConfig>& output_mem_config) {
    return ::matmul_decode({SHIM_NAMED(input_tensor_a, input_tensor_b, partial_width_sharded, dtype, output_mem_config)});
}

}  // namespace ttnn::experimental
