// C++ functions of language models whose kernels are written against `Call`.
#include "ops/cpp_api/given.hpp"
#include "ttnn/operations/experimental/paged_cache/paged_cache.hpp"
#include "ttnn/operations/experimental/transformer/nlp_heads.hpp"
#include "ttnn/operations/experimental/transformer/rotary_embedding.hpp"
#include "ttnn/operations/transformer/sdpa/sdpa.hpp"
#include "ttnn/operations/transformer/sdpa_decode/sdpa_decode.hpp"

using namespace ttnn_shim;

using OptionalMemory = std::optional<MemoryConfig>;
using Three = std::tuple<Tensor, Tensor, Tensor>;
using Outputs = std::optional<std::vector<std::optional<Tensor>>>;

namespace ttnn::experimental {

namespace {
Three three(const char* op, std::initializer_list<Given> arguments) {
    const auto parts = several(op, arguments, 3);
    return {parts[0], parts[1], parts[2]};
}
std::tuple<Tensor, Tensor> two(const char* op, std::initializer_list<Given> arguments) {
    const auto parts = several(op, arguments, 2);
    return {parts[0], parts[1]};
}
template <typename Given>
void refuse_outputs(const Given& outputs) {
    SHIM_SUPPORTED(!outputs, "optional_output_tensors are not supported; use the results");
}
}  // namespace

Three nlp_create_qkv_heads_falcon7b(const Tensor& input, const OptionalMemory& memory_config) {
    return three("ttnn.experimental.nlp_create_qkv_heads_falcon7b", {{"input", input}, {"memory_config", memory_config}});
}
#define HEADS(name)                                                                                     \
    Three name(const Tensor& input, const OptionalMemory& memory_config, const Outputs& outputs) {      \
        refuse_outputs(outputs);                                                                        \
        return three("ttnn.experimental." #name, {{"input", input}, {"memory_config", memory_config}}); \
    }
HEADS(nlp_create_qkv_heads_vit)
HEADS(nlp_create_qkv_heads_segformer)
#undef HEADS

Three create_qkv_heads(
    const Tensor& input, uint32_t num_q_heads, std::optional<uint32_t> num_kv_heads, bool transpose_k_heads,
    const OptionalMemory& memory_config, std::optional<std::array<Tensor, 3>> outputs) {
    refuse_outputs(outputs);
    return three(
        "ttnn.experimental.create_qkv_heads", {{"input", input},
                                               {"num_heads", num_q_heads},
                                               {"num_kv_heads", num_kv_heads},
                                               {"transpose_k_heads", transpose_k_heads},
                                               {"memory_config", memory_config}});
}
#define HEADS(name, KV, OUTPUTS)                                                                                                     \
    Three name(                                                                                                                      \
        const Tensor& input, const KV& input_kv, uint32_t num_q_heads, std::optional<uint32_t> num_kv_heads, bool transpose_k_heads, \
        const OptionalMemory& memory_config, const OUTPUTS& outputs) {                                                               \
        refuse_outputs(outputs);                                                                                                     \
        return three(                                                                                                                \
            "ttnn.experimental." #name, {{"input", input},                                                                           \
                                         {"input_kv", input_kv},                                                                     \
                                         {"num_heads", num_q_heads},                                                                 \
                                         {"num_kv_heads", num_kv_heads},                                                             \
                                         {"transpose_k_heads", transpose_k_heads},                                                   \
                                         {"memory_config", memory_config}});                                                         \
    }
using FixedOutputs = std::optional<std::array<Tensor, 3>>;
HEADS(create_qkv_heads_from_separate_tensors, Tensor, FixedOutputs)
HEADS(nlp_create_qkv_heads_boltz, std::optional<Tensor>, Outputs)
#undef HEADS
Three split_query_key_value_and_split_heads(
    const Tensor& input, const CoreCoord& grid, const OptionalMemory& memory_config, uint32_t num_heads, const Outputs& outputs) {
    refuse_outputs(outputs);
    return three(
        "ttnn.experimental.split_query_key_value_and_split_heads",
        {{"input_tensor", input},
         {"compute_with_storage_grid_size", std::array<size_t, 2>{grid.x, grid.y}},
         {"memory_config", memory_config},
         {"num_heads", num_heads}});
}
Tensor concatenate_heads(
    const Tensor& input, const CoreCoord& grid, const OptionalMemory& memory_config, const std::optional<Tensor>& output) {
    return one(
        "ttnn.experimental.concatenate_heads", {{"input_tensor", input},
                                                {"compute_with_storage_grid_size", std::array<size_t, 2>{grid.x, grid.y}},
                                                {"memory_config", memory_config},
                                                {"output_tensor", output}});
}
std::tuple<Tensor, Tensor> nlp_create_q_heads_split(
    const Tensor& input, uint32_t num_heads, uint32_t split_head_dim, const OptionalMemory& memory_config) {
    return two(
        "ttnn.experimental.nlp_create_q_heads_split",
        {{"input", input}, {"num_heads", num_heads}, {"split_head_dim", split_head_dim}, {"memory_config", memory_config}});
}
Tensor nlp_concat_heads_boltz(const Tensor& input, const OptionalMemory& memory_config, std::optional<Tensor> output) {
    return one(
        "ttnn.experimental.nlp_concat_heads_boltz", {{"input_tensor", input}, {"memory_config", memory_config}, {"output_tensor", output}});
}

std::tuple<Tensor, Tensor> paged_fused_update_cache(
    const Tensor& cache1, const Tensor& input1, const Tensor& cache2, const Tensor& input2, const std::vector<uint32_t>& update_idxs,
    const std::optional<const Tensor>& update_idxs_tensor, std::optional<bool> share_cache, const std::optional<const Tensor>& page_table,
    uint32_t batch_offset, std::optional<const ComputeKernelConfig> compute_kernel_config,
    const std::optional<const std::set<MeshCoordinate>>& mesh_coords) {
    SHIM_SUPPORTED(!mesh_coords, "mesh_coords: the simulated mesh has one device; leave it out");
    std::optional<std::vector<uint32_t>> indices;
    if (!update_idxs.empty()) indices = update_idxs;
    return two(
        "ttnn.experimental.paged_fused_update_cache", {{"cache_tensor1", cache1},
                                                       {"input_tensor1", input1},
                                                       {"cache_tensor2", cache2},
                                                       {"input_tensor2", input2},
                                                       {"update_idxs", indices},
                                                       {"update_idxs_tensor", update_idxs_tensor},
                                                       {"share_cache", share_cache},
                                                       {"page_table", page_table},
                                                       {"batch_offset", batch_offset},
                                                       {"compute_kernel_config", compute_kernel_config}});
}
std::tuple<Tensor, Tensor> indexed_fused_update_cache(
    const Tensor& cache1, const Tensor& input1, const Tensor& cache2, const Tensor& input2, const Tensor& physical_update_idxs_tensor) {
    return two(
        "ttnn.experimental.indexed_fused_update_cache", {{"cache_tensor1", cache1},
                                                         {"input_tensor1", input1},
                                                         {"cache_tensor2", cache2},
                                                         {"input_tensor2", input2},
                                                         {"physical_update_idxs_tensor", physical_update_idxs_tensor}});
}

Tensor rotary_embedding_hf(
    const Tensor& input, const Tensor& cos_cache, const Tensor& sin_cache, bool is_decode_mode, const OptionalMemory& memory_config,
    std::optional<const ComputeKernelConfig> compute_kernel_config) {
    return one(
        "ttnn.experimental.rotary_embedding_hf", {{"input_tensor", input},
                                                  {"cos_cache", cos_cache},
                                                  {"sin_cache", sin_cache},
                                                  {"is_decode_mode", is_decode_mode},
                                                  {"memory_config", memory_config},
                                                  {"compute_kernel_config", compute_kernel_config}});
}

std::tuple<Tensor, Tensor> rotary_embedding_llama_fused_qk(
    const Tensor& q, const Tensor& k, const Tensor& cos_cache, const Tensor& sin_cache, const Tensor& trans_mat,
    std::optional<const ComputeKernelConfig> compute_kernel_config) {
    return two(
        "ttnn.experimental.rotary_embedding_llama_fused_qk", {{"q_input_tensor", q},
                                                              {"k_input_tensor", k},
                                                              {"cos_cache", cos_cache},
                                                              {"sin_cache", sin_cache},
                                                              {"trans_mat", trans_mat},
                                                              {"compute_kernel_config", compute_kernel_config}});
}

}  // namespace ttnn::experimental

namespace ttnn::transformer {

std::tuple<Tensor, Tensor> joint_scaled_dot_product_attention(
    const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& joint_q, const Tensor& joint_k, const Tensor& joint_v,
    const std::string& joint_strategy, operations::transformer::SDPAProgramConfig program_config, std::optional<float> scale,
    std::optional<ComputeKernelConfig> compute_kernel_config) {
    const auto parts = several(
        "ttnn.transformer.joint_scaled_dot_product_attention",
        {{"input_tensor_q", q},
         {"input_tensor_k", k},
         {"input_tensor_v", v},
         {"joint_tensor_q", joint_q},
         {"joint_tensor_k", joint_k},
         {"joint_tensor_v", joint_v},
         {"joint_strategy", joint_strategy},
         {"program_config", program_config},
         {"scale", scale},
         {"compute_kernel_config", compute_kernel_config}},
        2);
    return {parts[0], parts[1]};
}

#define LATENT                                                                                                                 \
    {"input_tensor_q", q}, {"input_tensor_k", k}, {"input_tensor_v", v}, {"head_dim_v", head_dim_v}, {"is_causal", is_causal}, \
        {"attn_mask", attn_mask}, {"cur_pos_tensor", cur_pos_tensor}, {"attention_sink", attention_sink}, {"scale", scale},    \
        {"sliding_window_size", sliding_window_size}, {"memory_config", memory_config}, {"program_config", program_config}, {  \
        "compute_kernel_config", compute_kernel_config                                                                         \
    }
Tensor flash_multi_latent_attention_decode(
    const Tensor& q, const Tensor& k, const std::optional<const Tensor>& v, uint32_t head_dim_v, bool is_causal,
    const std::optional<const Tensor>& attn_mask, const std::vector<uint32_t>& cur_pos, const std::optional<const Tensor>& cur_pos_tensor,
    const std::optional<const Tensor>& attention_sink, std::optional<float> scale, std::optional<uint32_t> sliding_window_size,
    const OptionalMemory& memory_config, std::optional<operations::transformer::SDPAProgramConfig> program_config,
    std::optional<ComputeKernelConfig> compute_kernel_config) {
    std::optional<std::vector<uint32_t>> positions;
    if (!cur_pos.empty()) positions = cur_pos;
    return one("ttnn.transformer.flash_multi_latent_attention_decode", {LATENT, {"cur_pos", positions}});
}
Tensor paged_flash_multi_latent_attention_decode(
    const Tensor& q, const Tensor& k, const std::optional<const Tensor>& v, uint32_t head_dim_v, const Tensor& page_table_tensor,
    bool is_causal, const std::optional<const Tensor>& attn_mask, const std::optional<const Tensor>& cur_pos_tensor,
    const std::optional<const Tensor>& attention_sink, std::optional<float> scale, std::optional<uint32_t> sliding_window_size,
    const OptionalMemory& memory_config, std::optional<operations::transformer::SDPAProgramConfig> program_config,
    std::optional<ComputeKernelConfig> compute_kernel_config) {
    return one("ttnn.transformer.paged_flash_multi_latent_attention_decode", {LATENT, {"page_table_tensor", page_table_tensor}});
}
#undef LATENT

}  // namespace ttnn::transformer
