// scaled_dot_product_attention (prefill).
#include "ttnn/operations/transformer/sdpa/sdpa.hpp"

#include <cmath>

#include "ops/arguments.hpp"
#include "ops/data_movement/common.hpp"
#include "ops/eltwise/engine.hpp"
#include "ops/transformer/attention.hpp"
#include "ops/transformer/sdpa_common.hpp"

using namespace ttnn_shim;

namespace ttnn_shim {

void check_attention_operand(const Tensor& tensor, const char* name) {
    check_device_tensor(tensor, name, Layout::TILE);
    SHIM_CHECK(
        tensor.dtype() == DataType::BFLOAT16 || is_block_float(tensor.dtype()), "{}: expected BFLOAT16, BFLOAT8_B or BFLOAT4_B, got {}",
        name, tensor.dtype());
    SHIM_CHECK(tensor.logical_shape().rank() == 4, "{}: expected rank 4, got shape {}", name, tensor.logical_shape());
    SHIM_CHECK(!tensor.memory_config().is_sharded(), "{}: sharded tensors are not supported, got {}", name, tensor.memory_config());
    SHIM_CHECK(
        tensor.logical_shape()[3] % 32 == 0, "{}: padding of the head dimension is not supported, expected a multiple of 32, got shape {}",
        name, tensor.logical_shape());
}

std::vector<float> sink_values(const std::optional<Tensor>& sink, size_t heads) {
    std::vector<float> values;
    if (!sink) return values;
    const F32Values all(*sink);
    SHIM_CHECK(all.size() >= heads, "attention_sink: expected one value per head ({}), got shape {}", heads, sink->logical_shape());
    for (size_t h = 0; h < heads; ++h) values.push_back(all[h * (all.size() / heads)]);
    return values;
}

ttnn::operations::transformer::SDPAProgramConfig ArgumentType<ttnn::operations::transformer::SDPAProgramConfig>::read(
    const Call& call, std::string_view name) {
    const auto record = call.record(name);
    SHIM_CHECK(record != nullptr, "missing argument '{}'", name);
    SHIM_CHECK(record->type == "SDPAProgramConfig", "program_config: expected SDPAProgramConfig, got {}", record->type);
    ttnn::operations::transformer::SDPAProgramConfig config;
    config.compute_with_storage_grid_size = record->core_coord("compute_with_storage_grid_size").value_or(CoreCoord(8, 8));
    config.q_chunk_size = static_cast<size_t>(record->integer("q_chunk_size", 32));
    config.k_chunk_size = static_cast<size_t>(record->integer("k_chunk_size", 32));
    config.max_cores_per_head_batch = static_cast<uint32_t>(record->integer("max_cores_per_head_batch", 16));
    return config;
}

}  // namespace ttnn_shim

namespace {
void check_program(const std::optional<ttnn::operations::transformer::SDPAProgramConfig>& config, const Tensor& q) {
    if (!config) return;
    check_attention_grid(config->compute_with_storage_grid_size, q);
    for (const auto& [name, size] : {std::pair{"q_chunk_size", config->q_chunk_size}, std::pair{"k_chunk_size", config->k_chunk_size}})
        SHIM_CHECK(size > 0 && size % 32 == 0, "program_config: {} must be a positive multiple of 32, got {}", name, size);
}

/// One value for each head of queries.
void check_sink(const Tensor& sink, uint32_t heads) {
    check_device_tensor(sink, "attention_sink", Layout::TILE);
    SHIM_CHECK(
        sink.dtype() == DataType::BFLOAT16 || is_block_float(sink.dtype()),
        "attention_sink: expected BFLOAT16, BFLOAT8_B or BFLOAT4_B, got {}", sink.dtype());
    SHIM_CHECK(sink.memory_config().is_dram(), "attention_sink: expected a tensor in DRAM, got {}", sink.memory_config());
    SHIM_CHECK(
        sink.logical_shape() == Shape({1, heads, 1, 1}), "attention_sink: expected shape [1, {}, 1, 1], got {}", heads,
        sink.logical_shape());
}

/// [B, H, S, D] to [B, S, H * D]; line: bytes of a row of a head.
void join_heads(std::span<const std::byte> heads, const Shape& query, size_t line, std::byte* to) {
    const size_t count = query[1], rows = query[2];
    for (size_t at = 0; at < heads.size() / line; ++at) {
        const size_t row = at % rows, head = at / rows % count, batch = at / rows / count;
        std::copy_n(heads.data() + at * line, line, to + ((batch * rows + row) * count + head) * line);
    }
}
/// The mask of queries `sq` and keys `sk`.
void check_mask(const Tensor& attn_mask, const Shape& sq, const Shape& sk) {
    const Shape& sm = attn_mask.logical_shape();
    check_device_tensor(attn_mask, "attn_mask", Layout::TILE);
    SHIM_CHECK(
        attn_mask.dtype() == DataType::BFLOAT16 || is_block_float(attn_mask.dtype()),
        "attn_mask: expected BFLOAT16, BFLOAT8_B or BFLOAT4_B, got {}", attn_mask.dtype());
    SHIM_CHECK(
        attn_mask.memory_config().buffer_type() == BufferType::DRAM, "attn_mask: expected a tensor in DRAM, got {}",
        attn_mask.memory_config());
    SHIM_CHECK(
        sm.rank() == 4 && (sm[0] == 1 || sm[0] == sq[0]) && (sm[1] == 1 || sm[1] == sq[1]),
        "attn_mask: expected shape [1 or {}, 1 or {}, {}, {}], got {}", sq[0], sq[1], sq[2], sk[2], sm);
    SHIM_CHECK(
        sm[2] == sq[2] && sm[3] == sk[2], "attn_mask: expected {} rows and {} columns (no broadcast), got shape {}", sq[2], sk[2], sm);
}

}  // namespace

namespace ttnn::transformer {

Tensor scaled_dot_product_attention(
    const Tensor& q, const Tensor& k, const Tensor& v, const std::optional<Tensor>& attn_mask, bool is_causal, std::optional<float> scale,
    std::optional<uint32_t> sliding_window_size, const std::optional<MemoryConfig>& memory_config,
    std::optional<operations::transformer::SDPAProgramConfig> program_config, std::optional<ComputeKernelConfig> compute,
    const std::optional<Tensor>& attention_sink, const std::optional<Tensor>& cu_window_seqlens, uint32_t,
    const std::optional<Tensor>& windowed_q_token_offset_tensor, bool output_concat_heads,
    const std::optional<Tensor>& attn_mask_block_map) {
    OpScope scope("ttnn.transformer.scaled_dot_product_attention");
    SHIM_SUPPORTED(
        !cu_window_seqlens && !windowed_q_token_offset_tensor && !attn_mask_block_map,
        "windowed attention and mask block maps are not supported; give attn_mask");
    check_attention_operand(q, "input_tensor_q");
    check_attention_operand(k, "input_tensor_k");
    check_attention_operand(v, "input_tensor_v");
    const Shape &sq = q.logical_shape(), &sk = k.logical_shape(), &sv = v.logical_shape();
    SHIM_CHECK(sk[0] == sq[0] && sv[0] == sq[0], "expected one batch size, got shapes {}, {} and {}", sq, sk, sv);
    SHIM_CHECK(
        sk[1] == sv[1] && sk[1] > 0 && sq[1] % sk[1] == 0, "input_tensor_k and _v: {} and {} heads do not divide the {} query heads", sk[1],
        sv[1], sq[1]);
    SHIM_CHECK(sk[2] == sv[2], "input_tensor_k and _v: expected one sequence length, got {} and {}", sk[2], sv[2]);
    SHIM_CHECK(sk[3] == sq[3], "input_tensor_k: expected head dimension {}, got {} (is the key transposed?)", sq[3], sk[3]);
    SHIM_CHECK(sv[3] == sk[3], "K and V hidden dim must match: got {} and {}", sk[3], sv[3]);
    check_program(program_config, q);
    if (attention_sink) check_sink(*attention_sink, sq[1]);
    SHIM_CHECK(!is_causal || !attn_mask, "attn_mask: not allowed when is_causal is True (the default); pass is_causal=False");
    SHIM_CHECK(!is_causal || sq[2] == sk[2], "is_causal: expected equal query and key lengths, got {} and {}", sq[2], sk[2]);
    if (attn_mask) check_mask(*attn_mask, sq, sk);
    const float factor = scale.value_or(1.0F / std::sqrt(static_cast<float>(sq[3])));
    std::vector<Tensor> inputs = {q, k, v};
    std::optional<Tensor> mask = attn_mask;
    if (mask && factor != 1.0F) {  // the device scales after adding, so the mask is divided first: one more program
        mask = binary_op(
            "ttnn.transformer.scaled_dot_product_attention", *attn_mask, Scalar(1.0F / factor), BinaryOpType::MUL,
            {.memory_config = attn_mask->memory_config()});
    }
    if (mask) inputs.push_back(*mask);
    if (attention_sink) inputs.push_back(*attention_sink);
    strategy::Sdpa attention{.is_causal = is_causal, .mask = mask.has_value()};
    std::optional<const ComputeKernelConfig> given;
    if (compute) given.emplace(*compute);
    add_sdpa_config(attention, program_config);
    const Program program{
        .op = attention,
        .compute = init_device_compute_kernel_config(device_of(q)->arch(), given, MathFidelity::HiFi2, true),
        .name = "SDPAOperation",
        .constants = {factor}};
    const Shape shape = output_concat_heads ? Shape({sq[0], 1, sq[2], sq[1] * sv[3]}) : Shape({sq[0], sq[1], sq[2], sv[3]});
    return launch(
        program, inputs, {make_spec(shape, q.dtype(), Layout::TILE, memory_config.value_or(MemoryConfig{}))},
        [=](std::span<const Tensor> outputs) {
            const AttentionShape s{sq[0], sq[1], sk[1], sq[2], sk[2], sq[3], sv[3], is_causal};
            const std::byte* added = mask ? raw_data(*mask) : nullptr;
            const int64_t mask_batches = mask ? mask->logical_shape()[0] : 1, mask_heads = mask ? mask->logical_shape()[1] : 1;
            const std::vector<float> sink = sink_values(attention_sink, sq[1]);
            ScoreMask see;
            if (mask || sliding_window_size) {
                see = [&, s](int64_t batch, int64_t head, int64_t query, const KeyScores& block) {
                    if (added != nullptr) {
                        const int64_t line =
                            ((mask_batches == 1 ? 0 : batch) * mask_heads + (mask_heads == 1 ? 0 : head)) * s.queries + query;
                        const auto* values = reinterpret_cast<const bfloat16*>(added) + line * s.keys + block.first;
                        for (int64_t i = 0; i < block.count; ++i) block.scores[i] += factor * static_cast<float>(values[i]);
                    }
                    const int64_t window = sliding_window_size ? *sliding_window_size : 0;
                    if (window > 0 && is_causal) block.keep(query - window + 1, s.keys);
                    if (window > 0 && !is_causal) block.keep(query - window / 2, query + window / 2 + 1);
                };
            }
            std::vector<std::byte> heads(output_concat_heads ? outputs[0].logical_shape().volume() * stored_bytes(outputs[0].dtype()) : 0);
            std::byte* const written = output_concat_heads ? heads.data() : mutable_raw_data(outputs[0]);
            attend(
                s, attention_math(program, q, k, v), raw_data(q), raw_data(k), raw_data(v), written, outputs[0].dtype(), factor, see,
                sink.empty() ? nullptr : sink.data());
            if (output_concat_heads) join_heads(heads, sq, sv[3] * stored_bytes(outputs[0].dtype()), mutable_raw_data(outputs[0]));
        })[0];
}

}  // namespace ttnn::transformer

SHIM_OP("ttnn.transformer.scaled_dot_product_attention", [](const arguments::transformer::scaled_dot_product_attention& args) {
    OpScope scope("ttnn.transformer.scaled_dot_product_attention");
    return ttnn::transformer::scaled_dot_product_attention(
        args.input_tensor_q, args.input_tensor_k, args.input_tensor_v, args.attn_mask, args.is_causal, args.scale, args.sliding_window_size,
        args.memory_config, args.program_config, args.compute_kernel_config, args.attention_sink, args.cu_window_seqlens,
        args.windowed_q_token_offset, args.windowed_q_token_offset_tensor, args.output_concat_heads, args.attn_mask_block_map);
});

namespace {
/// Attention of two sequences over both, one behind the other.
std::vector<Tensor> joint_attention(const arguments::transformer::joint_scaled_dot_product_attention& args) {
    const OpScope scope("ttnn.transformer.joint_scaled_dot_product_attention");
    const char* const names[6] = {"input_tensor_q", "input_tensor_k", "input_tensor_v",
                                  "joint_tensor_q", "joint_tensor_k", "joint_tensor_v"};
    const std::vector<Tensor> in{args.input_tensor_q, args.input_tensor_k, args.input_tensor_v,
                                 args.joint_tensor_q, args.joint_tensor_k, args.joint_tensor_v};
    for (size_t i = 0; i < in.size(); ++i) check_attention_operand(in[i], names[i]);
    const std::string strategy = args.joint_strategy;
    SHIM_CHECK(strategy == "rear", "joint_strategy: only rear is supported, got '{}'", strategy);
    const Shape &first = in[0].logical_shape(), &second = in[3].logical_shape();
    for (size_t i = 0; i < 6; ++i)
        SHIM_CHECK(
            in[i].logical_shape() == (i < 3 ? first : second) && in[i].dtype() == in[0].dtype(),
            "{}: expected {} of shape {}, got {} of shape {}", names[i], in[0].dtype(), i < 3 ? first : second, in[i].dtype(),
            in[i].logical_shape());
    SHIM_CHECK(
        first[0] == second[0] && first[1] == second[1] && first[3] == second[3],
        "input and joint tensors: expected one batch, head count and head size, got shapes {} and {}", first, second);
    check_program(args.program_config, in[0]);
    const float factor = args.scale.value_or(1.0F / std::sqrt(static_cast<float>(first[3])));
    strategy::Sdpa attention{.is_causal = false, .mask = false};
    add_sdpa_config(attention, args.program_config);
    Program program{.op = attention, .name = "JointSDPADeviceOperation"};
    program.compute = ttnn::init_device_compute_kernel_config(device_of(in[0])->arch(), std::nullopt, ttnn::MathFidelity::HiFi2, true);
    if (const auto compute = args.compute_kernel_config) program.compute = compute;
    const auto spec = [&](const Shape& shape) { return make_spec(shape, in[0].dtype(), Layout::TILE, MemoryConfig{}); };
    return launch(program, in, {spec(first), spec(second)}, [=](std::span<const Tensor> outputs) {
        const size_t depth = first[3], bytes = stored_bytes(in[0].dtype()), heads = size_t{first[0]} * first[1];
        const size_t run = first[2] * depth * bytes, joint = second[2] * depth * bytes;
        const auto joined = [&](const Tensor& a, const Tensor& b) {  // [B, H, N + L, D]
            std::vector<std::byte> both(heads * (run + joint));
            for (size_t h = 0; h < heads; ++h) {
                std::copy_n(raw_data(a) + h * run, run, both.data() + h * (run + joint));
                std::copy_n(raw_data(b) + h * joint, joint, both.data() + h * (run + joint) + run);
            }
            return both;
        };
        const auto keys = joined(in[1], in[4]), values = joined(in[2], in[5]);
        for (size_t part = 0; part < 2; ++part) {
            const Tensor& q = in[part * 3];
            const AttentionShape s{first[0], first[1], first[1], q.logical_shape()[2], int64_t{first[2]} + second[2],
                                   first[3], first[3], false};
            attend(
                s, attention_math(program, q, in[1], in[2]), raw_data(q), keys.data(), values.data(), mutable_raw_data(outputs[part]),
                outputs[part].dtype(), factor, {}, nullptr);
        }
    });
}
}  // namespace

SHIM_OP("ttnn.transformer.joint_scaled_dot_product_attention", joint_attention);

// ---- the C++ functions ------------------------------------------------------------------------------------------------------

namespace ttnn::transformer {

std::tuple<Tensor, Tensor> joint_scaled_dot_product_attention(
    const Tensor& input_tensor_q, const Tensor& input_tensor_k, const Tensor& input_tensor_v, const Tensor& joint_tensor_q,
    const Tensor& joint_tensor_k, const Tensor& joint_tensor_v, const std::string& joint_strategy,
    operations::transformer::SDPAProgramConfig program_config, std::optional<float> scale,
    std::optional<ComputeKernelConfig> compute_kernel_config) {
    const auto parts = ::joint_attention({SHIM_NAMED(
        input_tensor_q, input_tensor_k, input_tensor_v, joint_tensor_q, joint_tensor_k, joint_tensor_v, joint_strategy, program_config,
        scale, compute_kernel_config)});
    return {parts[0], parts[1]};
}

}  // namespace ttnn::transformer
