// rotary_embedding, rotary_embedding_llama, rotate_half.
#include <functional>
#include <cstring>

#include "ops/arguments.hpp"
#include "ops/eltwise/engine.hpp"
#include "ops/normalization/rows.hpp"
#include "ttnn/operations/core/to_layout/to_layout_op.hpp"
#include "ttnn/operations/experimental/transformer/rotary_embedding.hpp"

using namespace ttnn_shim;

namespace {

void check_caches(const Tensor& input, const Tensor& cosine, const Tensor& sine, bool any_dtype = false) {
    check_device_tensor(input, "input_tensor", Layout::TILE);
    check_device_tensor(cosine, "cos_cache", Layout::TILE);
    check_device_tensor(sine, "sin_cache", Layout::TILE);
    const Shape& shape = input.logical_shape();
    SHIM_CHECK(any_dtype || is_floating_point(input.dtype()), "input_tensor: expected a floating point dtype, got {}", input.dtype());
    SHIM_CHECK(
        shape.rank() == 4 && cosine.logical_shape().rank() == 4, "input_tensor and cos_cache: expected rank 4, got shapes {} and {}", shape,
        cosine.logical_shape());
    SHIM_CHECK(
        cosine.logical_shape() == sine.logical_shape(), "cos_cache and sin_cache: expected one shape, got {} and {}",
        cosine.logical_shape(), sine.logical_shape());
    SHIM_CHECK(
        cosine.logical_shape()[-1] == shape[-1], "cos_cache: expected a last dimension of {}, got shape {}", shape[-1],
        cosine.logical_shape());
}

/// Turns the two halves of each row by the angles of the cache row that `row_of(row index)` names.
template <typename RowOf>
void turn_halves(const Tensor& input, const Tensor& output, const Tensor& cos_cache, const Tensor& sin_cache, const RowOf& row_of) {
    const F32Values cosine(cos_cache), sine(sin_cache);
    const size_t width = input.logical_shape()[-1], half = width / 2;
    for_each_row(input, output, width, [&](size_t index, float* row) {
        const size_t at = row_of(index);
        const float *c = cosine.data() + at * width, *s = sine.data() + at * width;
        for (size_t i = 0; i < half; ++i) {
            const float a = row[i], b = row[i + half];
            row[i] = a * c[i] - b * s[i];
            row[i + half] = b * c[i + half] + a * s[i + half];
        }
    });
}

/// A sharded result of an interleaved input is dealt to the cores anew, row by row of tiles.
std::optional<MemoryConfig> rotary_memory(const Tensor& input, const std::optional<MemoryConfig>& requested) {
    if (!requested || !requested->is_sharded() || input.memory_config().is_sharded()) return requested;
    const Shape& padded = input.padded_shape();
    const auto rows = static_cast<uint32_t>(padded.volume() / padded[-1] / 32);
    const CoreCoord grid = machine_of(input).grid();
    const auto all = static_cast<uint32_t>(grid.x * grid.y), each = (rows + all - 1) / all;
    const CoreRangeSet cores = tt::tt_metal::num_cores_to_corerangeset((rows + each - 1) / each, grid, true);
    return MemoryConfig(requested->memory_layout(), requested->buffer_type(), tt::tt_metal::ShardSpec(cores, {each * 32, padded[-1]}));
}

}  // namespace

namespace {

struct LlamaTables {
    const Tensor &cosine, &sine, &turn;
};

/// Each row times its row of cosines, plus the row turned by 32 x 32 blocks times its row of sines; `row_of` a row's number in the tables.
void turn_tiles(const Tensor& input, const Tensor& output, const LlamaTables& tables, const std::function<size_t(size_t)>& row_of) {
    const F32Values cosine(tables.cosine), sine(tables.sine), turn(tables.turn);
    const size_t width = input.logical_shape()[-1];
    for_each_row(input, output, width, [&](size_t index, float* row) {
        const size_t at = row_of(index);
        const float *c = cosine.data() + at * width, *s = sine.data() + at * width;
        float turned[32];
        for (size_t block = 0; block < width; block += 32) {
            for (size_t j = 0; j < 32; ++j) {
                float sum = 0.0F;
                for (size_t i = 0; i < 32; ++i) sum += row[block + i] * turn[i * 32 + j];
                turned[j] = sum;
            }
            for (size_t j = 0; j < 32; ++j) row[block + j] = row[block + j] * c[block + j] + turned[j] * s[block + j];
        }
    });
}

}  // namespace

namespace ttnn::experimental {

Tensor rotary_embedding(
    const Tensor& given, const Tensor& given_cos, const Tensor& given_sin, std::optional<uint32_t> token_index,
    const std::optional<MemoryConfig>& memory_config, std::optional<const ComputeKernelConfig> compute) {
    OpScope scope("ttnn.experimental.rotary_embedding");
    const auto tiles = [](const Tensor& tensor, const char* name) {  // row-major operands are tilized first
        check_device_tensor(tensor, name);
        return tensor.layout() == Layout::TILE ? tensor : ttnn::to_layout(tensor, Layout::TILE);
    };
    const Tensor input = tiles(given, "input_tensor"), cos_cache = tiles(given_cos, "cos_cache"), sin_cache = tiles(given_sin, "sin_cache");
    check_caches(input, cos_cache, sin_cache, true);
    const MemoryConfig& own = input.memory_config();
    SHIM_CHECK(
        !own.is_sharded() || own.memory_layout() == TensorMemoryLayout::HEIGHT_SHARDED ||
            own.memory_layout() == TensorMemoryLayout::BLOCK_SHARDED,
        "input_tensor: width sharded tensors are not supported");
    SHIM_CHECK(
        !own.shard_spec() || own.shard_spec()->shape[1] == input.padded_shape()[-1], "input_tensor: shards must hold whole rows, got {}",
        own);
    const Shape &shape = input.logical_shape(), &cache = cos_cache.logical_shape();
    SHIM_CHECK(shape[-1] % 64 == 0, "input_tensor: the last dimension must be a multiple of 64 (two tiles), got {}", shape[-1]);
    SHIM_CHECK(cache[0] == 1 && cache[1] == 1, "cos_cache: expected shape [1, 1, S, {}], got {}", shape[-1], cache);
    SHIM_CHECK(
        token_index ? *token_index < cache[2] : cache[2] >= shape[2], "cos_cache: {} rows do not hold {}", cache[2],
        token_index ? *token_index + 1 : shape[2]);
    return launch(
        {.op = strategy::Rotary{.decode = token_index.has_value()},
         .compute = compute ? std::optional<ComputeKernelConfig>(*compute) : std::nullopt,
         .name = "RotaryEmbeddingDeviceOperation"},
        {input, cos_cache, sin_cache}, {spec_like(input, std::nullopt, rotary_memory(input, memory_config))},
        [=](std::span<const Tensor> outputs) {
            const size_t rows = shape[2];
            turn_halves(input, outputs[0], cos_cache, sin_cache, [&](size_t index) { return token_index ? *token_index : index % rows; });
        })[0];
}

Tensor rotary_embedding_llama(
    const Tensor& input, const Tensor& cos_cache, const Tensor& sin_cache, const Tensor& trans_mat, bool is_decode_mode,
    const std::optional<MemoryConfig>& memory_config, std::optional<const ComputeKernelConfig> compute) {
    OpScope scope("ttnn.experimental.rotary_embedding_llama");
    check_caches(input, cos_cache, sin_cache);
    check_device_tensor(trans_mat, "trans_mat", Layout::TILE);
    for (const auto& [tensor, name] :
         {std::pair(&input, "input_tensor"), std::pair(&cos_cache, "cos_cache"), std::pair(&sin_cache, "sin_cache"),
          std::pair(&trans_mat, "trans_mat")})
        SHIM_CHECK(tensor->dtype() == DataType::BFLOAT16, "{}: expected BFLOAT16, got {}", name, tensor->dtype());
    const Shape &shape = input.logical_shape(), &cache = cos_cache.logical_shape(), &mat = trans_mat.logical_shape();
    const bool repeated = is_decode_mode && trans_mat.is_sharded();  // the same tile on every core
    SHIM_CHECK(
        mat.rank() == 4 && mat[-1] == 32 && (mat[-2] == 32 || (repeated && mat[-2] % 32 == 0 && mat[0] == 1 && mat[1] == 1)),
        "trans_mat: expected tiles of 32 x 32, got shape {}", mat);
    SHIM_CHECK(shape[-1] % 32 == 0, "input_tensor: the last dimension must be a multiple of 32, got {}", shape[-1]);
    SHIM_CHECK(shape[-1] <= 256, "input_tensor: the last dimension must be at most 256, got {}", shape[-1]);
    if (is_decode_mode) {
        SHIM_CHECK(cache[1] == shape[1], "cos_cache: expected one row of values per user ({}), got shape {}", shape[1], cache);
        const auto check_tall = [](const Tensor& tensor, const char* name) {
            SHIM_CHECK(
                tensor.memory_config().memory_layout() == TensorMemoryLayout::HEIGHT_SHARDED && tensor.memory_config().shard_spec(),
                "{}: expected height sharded memory in decode mode, got {}", name, tensor.memory_config());
        };
        check_tall(input, "input_tensor");
        check_tall(cos_cache, "cos_cache");
        check_tall(sin_cache, "sin_cache");
        check_tall(trans_mat, "trans_mat");
        SHIM_CHECK(
            trans_mat.memory_config().shard_spec()->shape[0] == 32, "trans_mat: expected shards of one tile, got {}",
            trans_mat.memory_config());
    } else {
        SHIM_CHECK(
            cache[0] == 1 && (cache[1] == 1 || cache[1] == shape[1]) && cache[2] >= shape[2],
            "cos_cache: expected shape [1, 1 or {}, {} or more, {}], got {}", shape[1], shape[2], shape[-1], cache);
    }
    return launch(
        {.op = strategy::Rotary{.llama = true, .decode = is_decode_mode},
         .compute = compute ? std::optional<ComputeKernelConfig>(*compute) : std::nullopt,
         .name = "RotaryEmbeddingLlamaDeviceOperation"},
        {input, cos_cache, sin_cache, trans_mat}, {spec_like(input, std::nullopt, memory_config)}, [=](std::span<const Tensor> outputs) {
            const size_t rows = shape[2], heads = shape[1];
            turn_tiles(input, outputs[0], {cos_cache, sin_cache, trans_mat}, [&](size_t index) {
                const size_t head = index / rows % heads, r = index % rows;
                return is_decode_mode ? head * cache[2] : (cache[1] == 1 ? 0 : head * cache[2]) + r;
            });
        })[0];
}

Tensor rotate_half(const Tensor& input, const std::optional<MemoryConfig>& memory_config) {
    OpScope scope("ttnn.experimental.rotate_half");
    check_device_tensor(input, "input");
    if (input.layout() != Layout::TILE) return rotate_half(ttnn::to_layout(input, Layout::TILE), memory_config);
    const Shape& shape = input.logical_shape();
    SHIM_CHECK(
        shape.rank() == 4 && shape[-1] % 64 == 0, "input: expected rank 4 and a last dimension that is a multiple of 64, got shape {}",
        shape);
    return launch(
        {.op = strategy::RotateHalf{}, .name = "RotateHalfDeviceOperation"}, {input}, {spec_like(input, std::nullopt, memory_config)},
        [=](std::span<const Tensor> outputs) {
            const size_t width = shape[-1], half = width / 2;
            for_each_row(input, outputs[0], width, [&](size_t, float* row) {
                for (size_t i = 0; i < half; ++i) {
                    const float a = row[i];
                    row[i] = -row[i + half];
                    row[i + half] = a;
                }
            });
        })[0];
}

}  // namespace ttnn::experimental

namespace {}  // namespace

SHIM_OP("ttnn.experimental.rotary_embedding", [](const arguments::experimental::rotary_embedding& args) {
    return ttnn::experimental::rotary_embedding(
        args.input_tensor, args.cos_cache, args.sin_cache, args.token_index, args.memory_config, args.compute_kernel_config);
});
SHIM_OP("ttnn.experimental.rotary_embedding_llama", [](const arguments::experimental::rotary_embedding_llama& args) {
    return ttnn::experimental::rotary_embedding_llama(
        args.input_tensor, args.cos_cache, args.sin_cache, args.trans_mat, args.is_decode_mode, args.memory_config,
        args.compute_kernel_config);
});
SHIM_OP("ttnn.experimental.rotate_half", [](const arguments::experimental::rotate_half& args) {
    return ttnn::experimental::rotate_half(args.input, args.memory_config);
});
static auto run_rotary_embedding_hf(const arguments::experimental::rotary_embedding_hf& args) {
    const OpScope scope("ttnn.experimental.rotary_embedding_hf");
    const Tensor &input = args.input_tensor, &cosine = args.cos_cache, &sine = args.sin_cache;
    check_caches(input, cosine, sine, true);
    const bool decode = args.is_decode_mode;
    const Shape &shape = input.logical_shape(), &cache = cosine.logical_shape();
    SHIM_CHECK(
        shape[-1] == 32 || shape[-1] % 64 == 0, "input_tensor: the last dimension must be 32 or a multiple of 64, got {}", shape[-1]);
    const auto memory = rotary_memory(input, args.memory_config);
    if (decode) {
        for (const auto& [tensor, name] :
             {std::pair(&input, "input_tensor"), std::pair(&cosine, "cos_cache"), std::pair(&sine, "sin_cache")})
            SHIM_CHECK(tensor->is_sharded(), "{}: expected sharded memory in decode mode, got {}", name, tensor->memory_config());
        SHIM_CHECK(cache[1] == shape[1], "cos_cache: expected values for each of {} users, got shape {}", shape[1], cache);
        SHIM_CHECK(!memory || memory->is_sharded(), "memory_config: expected sharded memory in decode mode, got {}", *memory);
    } else {
        SHIM_CHECK(cache[0] == 1 && cache[1] == 1, "cos_cache: expected shape [1, 1, S, {}], got {}", shape[-1], cache);
        SHIM_CHECK(cache[2] >= shape[2], "cos_cache: {} rows do not hold {}", cache[2], shape[2]);
    }
    return launch(
        {.op = strategy::Rotary{.decode = decode}, .compute = args.compute_kernel_config, .name = "RotaryEmbeddingHfDeviceOperation"},
        {input, cosine, sine}, {spec_like(input, std::nullopt, memory)}, [=](std::span<const Tensor> outputs) {
            const size_t rows = shape[2], users = shape[1];
            turn_halves(input, outputs[0], cosine, sine, [&](size_t index) {  // a user's first row, or the row of the position
                return decode ? index / rows % users * cache[2] : index % rows;
            });
        })[0];
}
SHIM_OP("ttnn.experimental.rotary_embedding_hf", run_rotary_embedding_hf);
/// Queries and keys of one token per user on cores apart: the tables hold the users' rows for the queries, then those for the keys.
static auto run_rotary_embedding_llama_fused_qk(const arguments::experimental::rotary_embedding_llama_fused_qk& args) {
    const OpScope scope("ttnn.experimental.rotary_embedding_llama_fused_qk");
    const Tensor &q = args.q_input_tensor, &k = args.k_input_tensor, &cosine = args.cos_cache, &sine = args.sin_cache;
    for (const auto& [tensor, name] :
         {std::pair(&q, "q_input_tensor"), std::pair(&k, "k_input_tensor"), std::pair(&cosine, "cos_cache"), std::pair(&sine, "sin_cache"),
          std::pair(&args.trans_mat, "trans_mat")}) {
        check_device_tensor(*tensor, name, Layout::TILE);
        const MemoryConfig& memory = tensor->memory_config();
        SHIM_CHECK(
            memory.memory_layout() == TensorMemoryLayout::HEIGHT_SHARDED && memory.shard_spec(),
            "{}: expected height sharded memory, got {}", name, memory);
        SHIM_CHECK(tensor->dtype() == DataType::BFLOAT16, "{}: expected BFLOAT16, got {}", name, tensor->dtype());
        SHIM_CHECK(tensor->logical_shape().rank() == 4, "{}: expected rank 4, got shape {}", name, tensor->logical_shape());
    }
    const Shape &sq = q.logical_shape(), &sk = k.logical_shape(), &cache = cosine.logical_shape();
    SHIM_CHECK(sq[0] == 1 && sk[0] == 1, "q_input_tensor and k_input_tensor: expected one token per user, got shapes {} and {}", sq, sk);
    SHIM_CHECK(
        sq[3] == sk[3] && sq[3] % 32 == 0, "q_input_tensor and k_input_tensor: expected one head size, a multiple of 32, got {} and {}",
        sq[3], sk[3]);
    SHIM_CHECK(
        sq[3] <= 128 || !args.compute_kernel_config || !args.compute_kernel_config->fp32_dest_acc_en,
        "compute_kernel_config: fp32_dest_acc_en only for head sizes up to 128, got {}", sq[3]);
    SHIM_CHECK(
        sq[1] == sk[1] && sq[1] <= 32, "q_input_tensor and k_input_tensor: expected at most 32 users in both, got {} and {}", sq[1], sk[1]);
    const auto &q_cores = q.memory_config().shard_spec()->grid, &k_cores = k.memory_config().shard_spec()->grid;
    SHIM_CHECK(
        q_cores.subtract(k_cores).num_cores() == q_cores.num_cores(), "k_input_tensor: its cores must not be those of the queries, got {}",
        k.memory_config());
    const uint32_t cores = q_cores.num_cores() + k_cores.num_cores();
    SHIM_CHECK(cores <= 64, "q_input_tensor and k_input_tensor: expected at most 64 cores together, got {}", cores);
    SHIM_CHECK(cache == sine.logical_shape(), "cos_cache and sin_cache: expected one shape, got {} and {}", cache, sine.logical_shape());
    SHIM_CHECK(
        cache[1] == sq[1] + sk[1] && cache[3] == sq[3], "cos_cache: expected rows for the {} queries and as many keys, got shape {}", sq[1],
        cache);
    const auto& turn_shards = *args.trans_mat.memory_config().shard_spec();
    SHIM_CHECK(
        turn_shards.grid.num_cores() >= cores && turn_shards.shape == (std::array<uint32_t, 2>{32, 32}),
        "trans_mat: expected a tile on each of the {} cores, got {}", cores, args.trans_mat.memory_config());
    return launch(
        {.op = strategy::Rotary{.llama = true, .decode = true, .fused_qk = true},
         .compute = args.compute_kernel_config,
         .name = "RotaryEmbeddingLlamaFusedQKDeviceOperation"},
        {q, cosine, sine, args.trans_mat, k}, {spec_like(q, std::nullopt, std::nullopt), spec_like(k, std::nullopt, std::nullopt)},
        [=](std::span<const Tensor> outputs) {
            const auto turn = [&](const Tensor& input, const Tensor& output, size_t first) {
                const size_t heads = input.logical_shape()[2], users = input.logical_shape()[1];
                turn_tiles(input, output, {cosine, sine, args.trans_mat}, [&, heads, users, first](size_t index) {
                    return (first + index / heads % users) * cache[2];
                });
            };
            turn(q, outputs[0], 0);
            turn(k, outputs[1], sq[1]);
        });
}
SHIM_OP("ttnn.experimental.rotary_embedding_llama_fused_qk", run_rotary_embedding_llama_fused_qk);

// ---- the C++ functions ------------------------------------------------------------------------------------------------------

namespace ttnn::experimental {

Tensor rotary_embedding_hf(
    const Tensor& input_tensor, const Tensor& cos_cache, const Tensor& sin_cache, bool is_decode_mode,
    const std::optional<MemoryConfig>& memory_config, std::optional<const ComputeKernelConfig> compute_kernel_config) {
    return ::run_rotary_embedding_hf(
        {SHIM_NAMED(input_tensor, cos_cache, sin_cache, is_decode_mode, memory_config, compute_kernel_config)});
}

std::tuple<Tensor, Tensor> rotary_embedding_llama_fused_qk(
    const Tensor& q_input_tensor, const Tensor& k_input_tensor, const Tensor& cos_cache, const Tensor& sin_cache, const Tensor& trans_mat,
    std::optional<const ComputeKernelConfig> compute_kernel_config) {
    return as_tuple<2>(::run_rotary_embedding_llama_fused_qk(
        {SHIM_NAMED(q_input_tensor, k_input_tensor, cos_cache, sin_cache, trans_mat, compute_kernel_config)}));
}

}  // namespace ttnn::experimental
