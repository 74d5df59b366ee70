// Splitting projections into heads and joining them again: strided copies.
#include "ops/arguments.hpp"
#include "ops/data_movement/common.hpp"
#include "ops/trace_values.hpp"
#include "ops/transformer/grouped_heads.hpp"
#include "ttnn/operations/core/to_memory_config/to_memory_config_op.hpp"
#include "ttnn/operations/experimental/transformer/nlp_heads.hpp"
#include "ttnn/operations/transformer/concatenate_heads/concatenate_heads.hpp"
#include "ttnn/operations/transformer/split_query_key_value_and_split_heads/split_query_key_value_and_split_heads.hpp"

using namespace ttnn_shim;

namespace {

struct Split {
    uint32_t batch, sequence, heads, kv_heads, depth;
    bool transpose_key;
    bool kv_tied = false;
};

/// Heads [B, heads, S, D] (or [B, heads, D, S]) out of rows of `row` values, starting at `offset` in each row.
void extract(const Tensor& source, const Tensor& target, const Split& s, uint32_t heads, int64_t row, int64_t offset, bool transposed) {
    const int64_t depth = s.depth, sequence = s.sequence;
    std::vector<StridedDim> dims = {{s.batch, sequence * row, heads * sequence * depth}, {heads, depth, sequence * depth}};
    if (transposed) {
        dims.push_back({s.depth, 1, sequence});
        dims.push_back({s.sequence, row, 1});
    } else {
        dims.push_back({s.sequence, row, depth});
        dims.push_back({s.depth, 1, 1});
    }
    const size_t bytes = stored_bytes(source.dtype());
    strided_copy(bytes, raw_data(source) + offset * static_cast<int64_t>(bytes), mutable_raw_data(target), dims);
}

std::tuple<Tensor, Tensor, Tensor> split_heads(
    const Tensor& input, const std::optional<Tensor>& input_kv, const Split& s, const std::optional<MemoryConfig>& memory_config,
    const std::vector<OptionalTensor>& preallocated = {}) {
    const MemoryConfig memory = memory_config.value_or(
        input.memory_config().is_sharded() ? MemoryConfig(input.memory_config().buffer_type()) : input.memory_config());
    const Shape q({s.batch, s.heads, s.sequence, s.depth}), v({s.batch, s.kv_heads, s.sequence, s.depth});
    const Shape k = s.transpose_key ? Shape({s.batch, s.kv_heads, s.depth, s.sequence}) : v;
    std::vector<Tensor> inputs = {input};
    if (input_kv) inputs.push_back(*input_kv);
    auto spec = [&](const Shape& shape) { return make_spec(shape, input.dtype(), Layout::TILE, memory); };
    const auto parts = launch(
        {.op = strategy::CreateHeads{.num_heads = s.heads, .num_kv_heads = s.kv_heads, .transpose_k_heads = s.transpose_key},
         .name = "NlpCreateHeadsDeviceOperation"},
        inputs, {spec(q), spec(k), spec(v)},
        [=](std::span<const Tensor> outputs) {
            const int64_t width = int64_t{s.heads} * s.depth, kv = int64_t{s.kv_heads} * s.depth;
            const Tensor& pairs = input_kv ? *input_kv : input;
            const int64_t row = input.logical_shape()[-1], kv_row = pairs.logical_shape()[-1], start = input_kv ? 0 : width;
            extract(input, outputs[0], s, s.heads, row, 0, false);
            extract(pairs, outputs[1], s, s.kv_heads, kv_row, start, s.transpose_key);
            extract(pairs, outputs[2], s, s.kv_heads, kv_row, s.kv_tied ? start : start + kv, false);
        },
        preallocated);
    return {parts[0], parts[1], parts[2]};
}

Split check_split(const Tensor& input, const std::optional<Tensor>& input_kv, uint32_t num_heads, uint32_t kv_heads, bool kv_tied) {
    check_device_tensor(input, "input_tensor", Layout::TILE);
    SHIM_CHECK(is_floating_point(input.dtype()), "input_tensor: expected a floating point dtype, got {}", input.dtype());
    SHIM_CHECK(input.dtype() != DataType::BFLOAT4_B, "input_tensor: expected FLOAT32, BFLOAT16 or BFLOAT8_B, got {}", input.dtype());
    SHIM_CHECK(num_heads > 0 && kv_heads > 0, "num_heads and num_kv_heads: expected positive numbers, got {} and {}", num_heads, kv_heads);
    const Shape& shape = input.logical_shape();
    const uint32_t width = shape[-1], shares = input_kv ? num_heads : num_heads + (kv_tied ? 1 : 2) * kv_heads;
    SHIM_CHECK(width % shares == 0, "input_tensor: the last dimension {} does not divide into {} heads of q, k and v", width, shares);
    Split split{shape[0], shape[-2], num_heads, kv_heads, width / shares, true, kv_tied};
    SHIM_CHECK(
        split.depth % 32 == 0, "Head size must be a multiple of 32, got {} (last dimension {}, {} heads in all)", split.depth, width,
        shares);
    if (input_kv) {
        check_device_tensor(*input_kv, "kv_input_tensor", Layout::TILE);
        const Shape& kv = input_kv->logical_shape();
        SHIM_CHECK(
            kv.rank() == shape.rank() && kv[0] == shape[0] && kv[-2] == shape[-2],
            "kv_input_tensor: expected the batch and sequence of {}, got shape {}", shape, kv);
        SHIM_CHECK(
            kv[-1] == (kv_tied ? 1 : 2) * kv_heads * split.depth, "kv_input_tensor: expected a last dimension of {}, got {}",
            2 * kv_heads * split.depth, kv[-1]);
    }
    return split;
}

Tensor join_heads(const Tensor& input, const Shape& result, const std::optional<MemoryConfig>& memory_config) {
    const Shape& s = input.logical_shape();
    const int64_t heads = s[1], sequence = s[2], depth = s[3];
    return moved(
        {.op = strategy::ConcatHeads{}, .name = "NLPConcatHeadsDeviceOperation"}, input, result, memory_config,
        {{s[0], heads * sequence * depth, heads * sequence * depth},
         {s[2], depth, heads * depth},
         {s[1], sequence * depth, depth},
         {s[3], 1, 1}});
}

/// Where joined heads lie: in the shards of the heads, as wide as those of a shard together. Throws for shards that cut heads.
MemoryConfig joined_memory(const Tensor& input, const MemoryConfig& wanted) {
    const MemoryConfig& own = input.memory_config();
    if (!own.is_sharded()) {
        SHIM_CHECK(!wanted.is_sharded(), "memory_config: expected INTERLEAVED memory for an interleaved input_tensor, got {}", wanted);
        return wanted;
    }
    const Shape padded = input.padded_shape();
    SHIM_CHECK(
        own.memory_layout() != TensorMemoryLayout::WIDTH_SHARDED && own.shard_spec() && own.shard_spec()->shape[1] == padded[-1] &&
            own.shard_spec()->shape[0] % padded[-2] == 0 && padded[1] % (own.shard_spec()->shape[0] / padded[-2]) == 0,
        "input_tensor: expected shards of whole heads of {} x {}, got {}", padded[-2], padded[-1], own);
    SHIM_CHECK(
        wanted.memory_layout() != TensorMemoryLayout::HEIGHT_SHARDED, "memory_config: joined heads are not HEIGHT_SHARDED, got {}", wanted);
    SHIM_CHECK(wanted.is_sharded(), "memory_config: expected sharded memory for the heads of {}, got {}", own, wanted);
    const auto& shard = *own.shard_spec();
    const uint32_t heads = shard.shape[0] / padded[-2];
    return wanted.with_shard_spec(tt::tt_metal::ShardSpec(shard.grid, {shard.shape[0] / heads, shard.shape[1] * heads}, shard.orientation));
}

void check_heads(const Tensor& input) {
    check_device_tensor(input, "input_tensor", Layout::TILE);
    const DataType dtype = input.dtype();
    SHIM_CHECK(
        dtype == DataType::FLOAT32 || dtype == DataType::BFLOAT16 || dtype == DataType::BFLOAT8_B,
        "input_tensor: expected FLOAT32, BFLOAT16 or BFLOAT8_B, got {}", dtype);
    SHIM_CHECK(
        input.logical_shape().rank() == 4, "input_tensor: expected shape [batch, heads, sequence, head size], got {}",
        input.logical_shape());
}

}  // namespace

namespace ttnn {

std::tuple<Tensor, Tensor, Tensor> transformer::split_query_key_value_and_split_heads(
    const Tensor& input, const std::optional<Tensor>& input_kv, uint32_t num_heads, std::optional<uint32_t> num_kv_heads,
    bool transpose_key, const std::optional<MemoryConfig>& memory_config, bool use_falcon7b_backend) {
    OpScope scope("ttnn.transformer.split_query_key_value_and_split_heads");
    SHIM_SUPPORTED(!use_falcon7b_backend, "use_falcon7b_backend is not supported");
    SHIM_CHECK(
        input.logical_shape().rank() == 3, "input_tensor: expected rank 3 ([batch, sequence, hidden]), got shape {}",
        input.logical_shape());
    Split split = check_split(input, input_kv, num_heads, num_kv_heads.value_or(num_heads), false);
    split.transpose_key = transpose_key;
    if (input.is_sharded()) {
        SHIM_CHECK(!input_kv, "kv_input_tensor: not beside a sharded input_tensor");
        return as_tuple<3>(split_sharded_heads(input, split.heads, split.kv_heads, transpose_key, memory_config));
    }
    SHIM_CHECK(!(memory_config && memory_config->is_sharded()), "memory_config: expected interleaved memory");
    return split_heads(input, input_kv, split, memory_config);
}

Tensor transformer::concatenate_heads(const Tensor& input, const std::optional<MemoryConfig>& memory_config) {
    OpScope scope("ttnn.transformer.concatenate_heads");
    check_heads(input);
    const Shape& s = input.logical_shape();
    SHIM_CHECK(s[3] % 32 == 0, "input_tensor: the head size must be a multiple of 32, got {}", s[3]);
    const MemoryConfig wanted = memory_config.value_or(input.memory_config());
    const Tensor heads =
        input.is_sharded() && !wanted.is_sharded() ? ttnn::to_memory_config(input, MemoryConfig(wanted.buffer_type())) : input;
    return join_heads(heads, Shape({s[0], s[2], s[1] * s[3]}), joined_memory(heads, wanted));
}

std::tuple<Tensor, Tensor, Tensor> experimental::nlp_create_qkv_heads(
    const Tensor& input, const std::optional<Tensor>& input_kv, uint32_t num_q_heads, std::optional<uint32_t> num_kv_heads,
    bool transpose_k_heads, bool kv_tied, const std::optional<MemoryConfig>& memory_config,
    const std::optional<std::vector<std::optional<Tensor>>>& optional_outputs) {
    OpScope scope("ttnn.experimental.nlp_create_qkv_heads");
    SHIM_CHECK(
        input.logical_shape().rank() == 4 && input.logical_shape()[1] == 1, "input: expected shape [batch, 1, sequence, hidden], got {}",
        input.logical_shape());
    Split split = check_split(input, input_kv, num_q_heads, num_kv_heads.value_or(num_q_heads), kv_tied);
    split.transpose_key = transpose_k_heads;
    return split_heads(input, input_kv, split, memory_config, optional_outputs.value_or(std::vector<std::optional<Tensor>>{}));
}

Tensor experimental::nlp_concat_heads(const Tensor& input, const std::optional<MemoryConfig>& memory_config) {
    OpScope scope("ttnn.experimental.nlp_concat_heads");
    check_heads(input);
    const Shape& s = input.logical_shape();
    return join_heads(input, Shape({s[0], 1, s[2], s[1] * s[3]}), joined_memory(input, memory_config.value_or(input.memory_config())));
}

}  // namespace ttnn

SHIM_OP(
    "ttnn.transformer.split_query_key_value_and_split_heads",
    [](const arguments::transformer::split_query_key_value_and_split_heads& args) {
        return ttnn::transformer::split_query_key_value_and_split_heads(
            args.input_tensor, args.kv_input_tensor, args.num_heads, args.num_kv_heads, args.transpose_key, args.memory_config,
            args.use_falcon7b_backend);
    });
SHIM_OP("ttnn.transformer.concatenate_heads", [](const arguments::transformer::concatenate_heads& args) {
    return ttnn::transformer::concatenate_heads(args.input_tensor, args.memory_config);
});
SHIM_OP("ttnn.experimental.nlp_create_qkv_heads", [](const arguments::experimental::nlp_create_qkv_heads& args) {
    return ttnn::experimental::nlp_create_qkv_heads(
        args.input, args.input_kv, args.num_heads, args.num_kv_heads, args.transpose_k_heads, args.kv_tied, args.memory_config);
});
SHIM_OP("ttnn.experimental.nlp_concat_heads", [](const arguments::experimental::nlp_concat_heads& args) {
    return ttnn::experimental::nlp_concat_heads(args.input_tensor, args.memory_config);
});

namespace {
/// Fused q, k and v of a fixed number of heads of 64 values.
std::tuple<Tensor, Tensor, Tensor> fixed_heads(const auto& args, const char* name, uint32_t heads, uint32_t kv_heads) {
    const OpScope scope(name);
    const Tensor& input = args.input;
    check_device_tensor(input, "input", Layout::TILE);
    const Shape& s = input.logical_shape();
    constexpr uint32_t DEPTH = 64;
    SHIM_CHECK(
        s.rank() == 4 && s[1] == 1 && s[3] == (heads + 2 * kv_heads) * DEPTH, "input: expected shape [B, 1, S, {}], got {}",
        (heads + 2 * kv_heads) * DEPTH, s);
    return ttnn::experimental::nlp_create_qkv_heads(input, std::nullopt, heads, kv_heads, false, false, args.memory_config);
}
}  // namespace

static auto run_nlp_create_qkv_heads_vit(const arguments::experimental::nlp_create_qkv_heads_vit& args) {
    return fixed_heads(args, "ttnn.experimental.nlp_create_qkv_heads_vit", 12, 12);
}
SHIM_OP("ttnn.experimental.nlp_create_qkv_heads_vit", run_nlp_create_qkv_heads_vit);
static auto run_nlp_create_qkv_heads_falcon7b(const arguments::experimental::nlp_create_qkv_heads_falcon7b& args) {
    return fixed_heads(args, "ttnn.experimental.nlp_create_qkv_heads_falcon7b", 71, 1);
}
SHIM_OP("ttnn.experimental.nlp_create_qkv_heads_falcon7b", run_nlp_create_qkv_heads_falcon7b);
static auto run_nlp_create_qkv_heads_segformer(const arguments::experimental::nlp_create_qkv_heads_segformer& args) {
    // Heads of 32 values out of q alone: the real op makes three tensors and writes the first; the others hold the same here.
    const OpScope scope("ttnn.experimental.nlp_create_qkv_heads_segformer");
    const Tensor& input = args.input;
    check_device_tensor(input, "input", Layout::TILE);
    const Shape& s = input.logical_shape();
    constexpr uint32_t DEPTH = 32;
    SHIM_CHECK(s.rank() == 4 && s[1] == 1 && s[3] % DEPTH == 0, "input: expected shape [B, 1, S, a multiple of {}], got {}", DEPTH, s);
    const uint32_t heads = s[3] / DEPTH;
    const Shape result({s[0], heads, s[2], DEPTH});
    const int64_t row = s[3];
    std::vector<Tensor> results{moved(
        {.op = strategy::CreateHeads{.num_heads = heads}, .name = "NlpCreateHeadsSegformerDeviceOperation"}, input, result,
        args.memory_config, dense_target(result, {row * s[2], DEPTH, row, 1}))};
    for (int i = 0; i < 2; ++i) {
        const Tensor q = results[0];
        results.push_back(make_device_tensor(device_of(q), q.tensor_spec()));
        on_values(
            [q](std::span<const Tensor> outputs) { outputs[0].shim().buffer->set_values(q.shim().buffer->values()); }, {q},
            {results.back()});
    }
    return results;
}
SHIM_OP("ttnn.experimental.nlp_create_qkv_heads_segformer", run_nlp_create_qkv_heads_segformer);

// ---- the C++ functions ------------------------------------------------------------------------------------------------------

namespace {
void refuse_outputs(const auto& outputs) { SHIM_SUPPORTED(!outputs, "optional_output_tensors are not supported; use the results"); }
}  // namespace

namespace ttnn::experimental {

std::tuple<Tensor, Tensor, Tensor> nlp_create_qkv_heads_falcon7b(const Tensor& input, const std::optional<MemoryConfig>& memory_config) {
    return ::run_nlp_create_qkv_heads_falcon7b({.input = input, .memory_config = memory_config});
}

std::tuple<Tensor, Tensor, Tensor> nlp_create_qkv_heads_vit(
    const Tensor& input, const std::optional<MemoryConfig>& memory_config,
    const std::optional<std::vector<std::optional<Tensor>>>& outputs) {
    refuse_outputs(outputs);
    return ::run_nlp_create_qkv_heads_vit({.input = input, .memory_config = memory_config});
}

std::tuple<Tensor, Tensor, Tensor> nlp_create_qkv_heads_segformer(
    const Tensor& input, const std::optional<MemoryConfig>& memory_config,
    const std::optional<std::vector<std::optional<Tensor>>>& outputs) {
    refuse_outputs(outputs);
    return as_tuple<3>(::run_nlp_create_qkv_heads_segformer({.input = input, .memory_config = memory_config}));
}

}  // namespace ttnn::experimental
