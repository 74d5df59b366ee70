// C++ functions of language models whose kernels are written against `Call`.
#include "ops/cpp_api/given.hpp"
#include "ttnn/operations/experimental/transformer/nlp_heads.hpp"
#include "ttnn/operations/experimental/transformer/rotary_embedding.hpp"
#include "ttnn/operations/transformer/sdpa/sdpa.hpp"

using namespace ttnn_shim;

using OptionalMemory = std::optional<MemoryConfig>;

namespace ttnn::experimental {

namespace {
std::tuple<Tensor, Tensor, Tensor> heads_of(const char* op, const Tensor& input, const OptionalMemory& memory_config) {
    const auto parts = several(op, {{"input", input}, {"memory_config", memory_config}}, 3);
    return {parts[0], parts[1], parts[2]};
}
}  // namespace

std::tuple<Tensor, Tensor, Tensor> nlp_create_qkv_heads_falcon7b(const Tensor& input, const OptionalMemory& memory_config) {
    return heads_of("ttnn.experimental.nlp_create_qkv_heads_falcon7b", input, memory_config);
}
#define HEADS(name)                                                                                             \
    std::tuple<Tensor, Tensor, Tensor> name(                                                                    \
        const Tensor& input, const OptionalMemory& memory_config,                                               \
        const std::optional<std::vector<std::optional<Tensor>>>& optional_output_tensors) {                     \
        SHIM_SUPPORTED(!optional_output_tensors, "optional_output_tensors are not supported; use the results"); \
        return heads_of("ttnn.experimental." #name, input, memory_config);                                      \
    }
HEADS(nlp_create_qkv_heads_vit)
HEADS(nlp_create_qkv_heads_segformer)
#undef HEADS

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
    const auto parts = several(
        "ttnn.experimental.rotary_embedding_llama_fused_qk",
        {{"q_input_tensor", q},
         {"k_input_tensor", k},
         {"cos_cache", cos_cache},
         {"sin_cache", sin_cache},
         {"trans_mat", trans_mat},
         {"compute_kernel_config", compute_kernel_config}},
        2);
    return {parts[0], parts[1]};
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

}  // namespace ttnn::transformer
