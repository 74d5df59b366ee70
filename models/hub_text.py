"""Text architectures of transformers beyond those of hub.py: encoders, decoders, encoder-decoders, state-space models."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from models.hub import DEBERTA, GPT2, GROUPED, LM, SEQ2SEQ, SIZES, T5, TEXT, Built, _of, ids, mask

HEADS = {"d_model": 64, "n_layers": 2, "n_heads": 2, "vocab_size": 100}
EXPERTS = {**GROUPED, "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32}
MLA = {
    **TEXT, "num_attention_heads": 4, "num_key_value_heads": 4, "q_lora_rank": 32, "kv_lora_rank": 32, "qk_rope_head_dim": 16, "qk_nope_head_dim": 16,
    "v_head_dim": 32, "n_routed_experts": 4, "n_shared_experts": 1, "moe_intermediate_size": 32, "first_k_dense_replace": 1,
    "n_group": 2, "topk_group": 1, "num_experts_per_tok": 2,
}  # fmt: skip
NARROW = {**TEXT, "num_attention_heads": 2, "num_key_value_heads": 2, "head_dim": 32}
PAD = {"pad_token_id": 0}
FEW: dict[str, Any] = {**LM, "input_ids": lambda: ids()[:1, :8]}


def decoder_ids() -> torch.Tensor:
    return ids()[:, :8]


def boxes() -> torch.Tensor:
    corner = torch.randint(0, 400, (2, 32, 2))
    return torch.cat([corner, corner + 100], dim=-1)


PAIR: dict[str, Any] = {"input_ids": ids, "decoder_input_ids": decoder_ids, "use_cache": False}
MODELS: dict[str, Callable[[], Built]] = {
    "bert_masked_lm": _of("Bert", TEXT, "ForMaskedLM", input_ids=ids, attention_mask=mask),
    "bert_question_answering": _of("Bert", TEXT, "ForQuestionAnswering", input_ids=ids, attention_mask=mask),
    "electra_classifier_bf16": _of("Electra", {**TEXT, "embedding_size": 32}, "ForSequenceClassification", bf16=True, input_ids=ids),
    "camembert": _of("Camembert", TEXT, "ForTokenClassification", input_ids=ids, attention_mask=mask),
    "xlm_roberta": _of("XLMRoberta", TEXT, input_ids=ids, attention_mask=mask),
    "deberta": _of("Deberta", {**DEBERTA, "pos_att_type": ["c2p", "p2c"]}, input_ids=ids, attention_mask=mask),
    "deberta_v2_classifier": _of("DebertaV2", DEBERTA, "ForSequenceClassification", input_ids=ids, attention_mask=mask),
    "ernie": _of("Ernie", TEXT, input_ids=ids),
    "megatron_bert": _of("MegatronBert", TEXT, input_ids=ids),
    "rembert": _of("RemBert", {**TEXT, "input_embedding_size": 32}, input_ids=ids),
    "roformer": _of("RoFormer", TEXT, input_ids=ids, attention_mask=mask),
    "nomic_bert": _of("NomicBert", TEXT, input_ids=ids),
    "convbert": _of("ConvBert", {**TEXT, "embedding_size": 32, "num_attention_heads": 4, "head_ratio": 2}, input_ids=ids),
    "mobilebert": _of("MobileBert", {**TEXT, "embedding_size": 32, "intra_bottleneck_size": 32, "true_hidden_size": 32, "num_feedforward_networks": 2}, input_ids=ids, attention_mask=mask),
    "squeezebert": _of("SqueezeBert", {**TEXT, "embedding_size": 64}, input_ids=ids, attention_mask=mask),
    "ibert": _of("IBert", TEXT, input_ids=ids),
    "funnel": _of("Funnel", {"block_sizes": [1, 1], "num_decoder_layers": 1, "d_model": 64, "n_head": 2, "d_head": 32, "d_inner": 128, "vocab_size": 100}, input_ids=ids),
    "big_bird": _of("BigBird", {**TEXT, "attention_type": "original_full"}, input_ids=ids),
    "canine": _of("Canine", {**SIZES, "local_transformer_stride": 32}, input_ids=ids),
    "layoutlm": _of("LayoutLM", TEXT, input_ids=ids, bbox=boxes, attention_mask=mask),
    "lilt": _of("Lilt", {**TEXT, "hidden_size": 96, "channel_shrink_ratio": 2}, input_ids=ids, bbox=boxes),
    "splinter": _of("Splinter", TEXT, input_ids=ids),
    "luke": _of("Luke", {**TEXT, "entity_vocab_size": 10, "entity_emb_size": 32}, input_ids=ids),
    "esm": _of("Esm", {**TEXT, "pad_token_id": 1, "mask_token_id": 2, "position_embedding_type": "rotary"}, input_ids=ids),
    "data2vec_text": _of("Data2VecText", TEXT, input_ids=ids),
    "modernbert_masked_lm": _of("ModernBert", {**TEXT, **PAD}, "ForMaskedLM", input_ids=ids, attention_mask=mask),
    "xlnet": _of("XLNet", {"d_model": 64, "n_layer": 2, "n_head": 2, "d_inner": 128, "vocab_size": 100}, input_ids=ids, attention_mask=mask),
    "openai_gpt": _of("OpenAIGPT", GPT2, input_ids=ids),
    "gpt2_classifier": _of("GPT2", {**GPT2, **PAD}, "ForSequenceClassification", input_ids=lambda: ids()[:1]),
    "gpt_neo": _of("GPTNeo", {"hidden_size": 64, "num_layers": 2, "num_heads": 2, "vocab_size": 100, "window_size": 8, "attention_types": [[["global", "local"], 1]]}, **LM),
    "gptj": _of("GPTJ", {**GPT2, "rotary_dim": 16}, **LM),
    "gpt_bigcode": _of("GPTBigCode", GPT2, **LM),
    "codegen": _of("CodeGen", {**GPT2, "n_head": 4, "rotary_dim": 8}, **LM),
    "ctrl": _of("CTRL", {"n_embd": 64, "n_layer": 2, "n_head": 2, "dff": 128, "vocab_size": 100}, input_ids=ids, use_cache=False),
    "mpt": _of("Mpt", HEADS, **LM),
    "biogpt": _of("BioGpt", TEXT, **LM),
    "xglm": _of("XGLM", {"d_model": 64, "num_layers": 2, "attention_heads": 2, "ffn_dim": 128, "vocab_size": 100}, **LM),
    "gemma": _of("Gemma", GROUPED, **LM),
    "gemma3": _of("Gemma3Text", {**GROUPED, "sliding_window": 8, "sliding_window_pattern": 2}, "Model", input_ids=ids, use_cache=False),
    "phi": _of("Phi", TEXT, **LM),
    "stablelm": _of("StableLm", {**TEXT, "num_key_value_heads": 2, "partial_rotary_factor": 0.5}, **LM),
    "persimmon": _of("Persimmon", TEXT, **LM),
    "olmo": _of("Olmo", GROUPED, **LM),
    "olmo2": _of("Olmo2", GROUPED, **LM),
    "cohere": _of("Cohere", GROUPED, **LM),
    "cohere2": _of("Cohere2", {**GROUPED, "sliding_window": 8}, **LM),
    "starcoder2": _of("Starcoder2", GROUPED, **LM),
    "granite": _of("Granite", GROUPED, **LM),
    "glm": _of("Glm", {**GROUPED, **PAD}, **LM),
    "glm4": _of("Glm4", {**GROUPED, **PAD}, **LM),
    "helium": _of("Helium", NARROW, **LM),
    "nemotron": _of("Nemotron", GROUPED, **LM),
    "smollm3": _of("SmolLM3", {**GROUPED, **PAD}, **LM),
    "ministral": _of("Ministral", {**GROUPED, **PAD}, **LM),
    "exaone4": _of("Exaone4", {**GROUPED, "sliding_window": 8, "sliding_window_pattern": 2}, **LM),
    "falcon_alibi": _of("Falcon", {**TEXT, "alibi": True, "new_decoder_architecture": False, "multi_query": False}, **LM),
    "bitnet": _of("BitNet", NARROW, **LM),
    "qwen2_bf16_masked": _of("Qwen2", GROUPED, bf16=True, attention_mask=mask, **LM),
    "mistral_bf16": _of("Mistral", GROUPED, bf16=True, **LM),
    "gemma2_bf16": _of("Gemma2", {**GROUPED, "sliding_window": 8}, bf16=True, **LM),
    "qwen2_moe": _of("Qwen2Moe", {**EXPERTS, "shared_expert_intermediate_size": 32}, **LM),
    "qwen3_moe": _of("Qwen3Moe", EXPERTS, **LM),
    "olmoe": _of("Olmoe", {**EXPERTS, **NARROW}, **LM),
    "phimoe": _of("Phimoe", {**GROUPED, "num_local_experts": 4, "num_experts_per_tok": 2}, **LM),
    "granite_moe": _of("GraniteMoe", {**GROUPED, "num_local_experts": 4, "num_experts_per_tok": 2}, **LM),
    "gpt_oss": _of("GptOss", {**GROUPED, "num_local_experts": 4, "num_experts_per_tok": 2, "sliding_window": 8}, **LM),
    "gpt_oss_bf16": _of("GptOss", {**GROUPED, "num_local_experts": 4, "num_experts_per_tok": 2, "sliding_window": 8}, bf16=True, **LM),
    "deepseek_v2": _of("DeepseekV2", {**MLA, "topk_method": "greedy"}, **LM),
    "deepseek_v3": _of("DeepseekV3", MLA, **LM),
    "mamba2": _of("Mamba2", {"hidden_size": 64, "num_hidden_layers": 1, "vocab_size": 100, "state_size": 16, "num_heads": 4, "head_dim": 32, "n_groups": 1, "chunk_size": 8}, **FEW),
    "falcon_mamba": _of("FalconMamba", {"hidden_size": 64, "num_hidden_layers": 1, "vocab_size": 100, "state_size": 4}, **FEW),
    "rwkv_hf": _of("Rwkv", {"rescale_every": 0, "hidden_size": 64, "num_hidden_layers": 2, "attention_hidden_size": 64, "vocab_size": 100}, **FEW),
    "recurrent_gemma": _of("RecurrentGemma", {**GROUPED, "lru_width": 64, "attention_window_size": 16, "num_hidden_layers": 3}, **FEW),
    "jamba": _of("Jamba", {**GROUPED, "num_experts": 2, "attn_layer_period": 2, "attn_layer_offset": 1, "expert_layer_period": 2, "mamba_d_state": 4, "mamba_dt_rank": 4, "use_mamba_kernels": False}, **FEW),
    "lfm2": _of("Lfm2", {**GROUPED, "layer_types": ["conv", "full_attention"]}, **LM),
    "qwen3_next": _of("Qwen3Next", {**EXPERTS, "linear_num_key_heads": 2, "linear_num_value_heads": 2, "linear_key_head_dim": 16, "linear_value_head_dim": 16, "shared_expert_intermediate_size": 32, "layer_types": ["linear_attention", "full_attention"]}, **FEW),
    "xlstm": _of("xLSTM", {"hidden_size": 64, "num_hidden_layers": 1, "num_heads": 2, "vocab_size": 100, "chunk_size": 8}, **FEW),
    "t5_bf16": _of("T5", T5, bf16=True, **PAIR),
    "t5_encoder": _of("T5", T5, "EncoderModel", input_ids=ids, attention_mask=mask),
    "flan_t5": _of("T5", {**T5, "feed_forward_proj": "gated-gelu"}, "ForConditionalGeneration", **PAIR),
    "umt5": _of("UMT5", T5, **PAIR),
    "long_t5": _of("LongT5", {**T5, "local_radius": 7}, input_ids=ids, attention_mask=mask, decoder_input_ids=decoder_ids, use_cache=False),
    "bart_classifier": _of("Bart", {**SEQ2SEQ, "vocab_size": 100, "eos_token_id": 2}, "Model", bf16=True, **PAIR),
    "mbart": _of("MBart", {**SEQ2SEQ, "vocab_size": 100}, "ForConditionalGeneration", **PAIR),
    "pegasus": _of("Pegasus", {**SEQ2SEQ, "vocab_size": 100}, **PAIR),
    "marian": _of("Marian", {**SEQ2SEQ, "vocab_size": 100, **PAD, "decoder_start_token_id": 0}, **PAIR),
    "blenderbot": _of("Blenderbot", {**SEQ2SEQ, "vocab_size": 100}, **PAIR),
    "m2m_100": _of("M2M100", {**SEQ2SEQ, "vocab_size": 100}, **PAIR),
    "prophetnet": _of("ProphetNet", {"hidden_size": 64, "num_encoder_layers": 1, "num_decoder_layers": 1, "num_encoder_attention_heads": 2, "num_decoder_attention_heads": 2, "encoder_ffn_dim": 128, "decoder_ffn_dim": 128, "vocab_size": 100}, **PAIR),
}
