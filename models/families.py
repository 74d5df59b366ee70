"""Further families of transformers, tiny and with random weights, one row each; `KNOWN` says which of them do not pass, and why."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import transformers

from models.hub import GROUPED, LM, SEQ2SEQ, SIZES, T5, TEXT, VISION, WAV2VEC2, Built, _of, ids, image, mask
from models.hub_text import EXPERTS, FEW, MLA, PAD, PAIR

LOCAL = {**GROUPED, "num_local_experts": 4, "num_experts_per_tok": 2}
SLIDING = {**GROUPED, **PAD, "sliding_window": 8}
MLA_EXPERTS = {**MLA, "moe_topk": 2, "num_experts": 4}
WORDS = {**TEXT, "max_position_embeddings": 64, "pad_token_id": 1}
CONTRAST = {**TEXT, "projection_dim": 32, "max_position_embeddings": 40, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 98}
MAMBA = {"mamba_n_heads": 4, "mamba_d_head": 32, "mamba_d_state": 16, "mamba_n_groups": 1, "mamba_chunk_size": 8}
SERIES = {"prediction_length": 8, "context_length": 16, "lags_sequence": [1, 2], "d_model": 64, "encoder_layers": 1, "decoder_layers": 1}
BACKBONE = {"embedding_size": 16, "hidden_sizes": [16, 32, 32, 32], "depths": [1, 1, 1, 1], "layer_type": "basic"}

EXACT = {"math_fidelity": "hifi4", "fp32_dest_acc_en": True}
"""For float32 models that the library's own fidelity takes over a threshold: a token that another expert gets, a PCC of 0.9989."""


def _positions(width: int, limit: int) -> Callable[[], torch.Tensor]:
    return lambda: torch.randint(0, limit, (2, 32, width))


def _series(*shape: int) -> Callable[[], torch.Tensor]:
    return lambda: torch.rand(2, *shape)


def _quads() -> torch.Tensor:
    return torch.rand(2, 32, 4)


def detector(kind: str, of: str, *, levels: int = 1, **config: Any) -> Callable[[], Built]:
    """A detector over the last stages of a small ResNet."""

    def build() -> Built:
        backbone = transformers.ResNetConfig(**BACKBONE, out_features=["stage2", "stage3", "stage4"][-levels:])
        return _of(kind, {"backbone_config": backbone, **config}, of, redrawn=True, pixel_values=lambda: image(64))()

    return build


DETR = {**SEQ2SEQ, "num_queries": 10, "num_labels": 5}
TEXT_MODELS: dict[str, Callable[[], Built]] = {
    "apertus": _of("Apertus", GROUPED, **LM),
    "arcee": _of("Arcee", GROUPED, **LM),
    "afmoe": _of("Afmoe", {**EXPERTS, "num_dense_layers": 1, "num_shared_experts": 1, "sliding_window": 8}, redrawn=True, **LM),
    "axk1": _of("AXK1", MLA_EXPERTS, **LM),
    "bamba": _of("Bamba", {**GROUPED, **MAMBA, "attn_layer_indices": [1]}, **FEW),
    "cohere2_moe": _of("Cohere2Moe", {**EXPERTS, "sliding_window": 8}, **LM),
    "cwm": _of("Cwm", {**SLIDING, "eos_token_id": 98}, **LM),
    "dbrx": _of("Dbrx", {"d_model": 64, "n_heads": 4, "n_layers": 2, "vocab_size": 100, "max_seq_len": 64, "attn_config": {"kv_n_heads": 2, "rope_theta": 10000.0, "clip_qkv": 8.0}, "ffn_config": {"hidden_size": 64, "ffn_hidden_size": 64, "moe_num_experts": 4, "moe_top_k": 2}}, **LM),
    "diffllama": _of("DiffLlama", GROUPED, **LM),
    "doge": _of("Doge", {**TEXT, "num_key_value_heads": 2}, **LM),
    "dots1": _of("Dots1", {**MLA_EXPERTS, "head_dim": 32}, **LM),
    "ernie4_5": _of("Ernie4_5", GROUPED, **LM),
    "ernie4_5_moe": _of("Ernie4_5_Moe", {**EXPERTS, "moe_num_experts": 4, "moe_k": 2, "moe_num_shared_experts": 1, "moe_layer_start_index": 1}, **LM),
    "eurobert": _of("EuroBert", {**GROUPED, **PAD}, input_ids=ids, attention_mask=mask),
    "exaone_moe": _of("ExaoneMoe", {**EXPERTS, "sliding_window": 8, "num_shared_experts": 1, "first_k_dense_replace": 1, "n_group": 1, "topk_group": 1}, **LM),
    "falcon_h1": _of("FalconH1", {**GROUPED, **MAMBA, "mamba_d_ssm": 128}, **FEW),
    "flex_olmo": _of("FlexOlmo", {**EXPERTS, **PAD, "num_attention_heads": 2, "num_key_value_heads": 2}, **LM, compiler_options=EXACT),
    "gemma3n": _of("Gemma3nText", {**GROUPED, "vocab_size_per_layer_input": 100, "hidden_size_per_layer_input": 16, "laurel_rank": 8, "num_kv_shared_layers": 0, "sliding_window": 8, "activation_sparsity_pattern": [0.0, 0.0], "layer_types": ["sliding_attention", "full_attention"]}, "Model", input_ids=ids, use_cache=False),
    "gemma4": _of("Gemma4Text", {**GROUPED, "global_head_dim": 32, "vocab_size_per_layer_input": 100, "hidden_size_per_layer_input": 16, "sliding_window": 8, "layer_types": ["sliding_attention", "full_attention"]}, "Model", input_ids=ids, use_cache=False),
    "glm4_moe": _of("Glm4Moe", {**EXPERTS, "n_routed_experts": 4, "n_shared_experts": 1, "first_k_dense_replace": 1}, **LM),
    "glm4_moe_lite": _of("Glm4MoeLite", MLA_EXPERTS, **LM),
    "gpt_neox_japanese": _of("GPTNeoXJapanese", {**TEXT, "intermediate_multiple_size": 2}, **LM),
    "granite_swa": _of("GraniteSWA", {**SLIDING}, **LM),
    "granitemoe_hybrid": _of("GraniteMoeHybrid", {**LOCAL, **MAMBA, "shared_intermediate_size": 64, "layer_types": ["mamba", "attention"]}, **FEW),
    "granitemoe_shared": _of("GraniteMoeShared", {**LOCAL, "shared_intermediate_size": 64}, **LM),
    "hunyuan_dense": _of("HunYuanDenseV1", {**GROUPED, **PAD}, **LM),
    "hunyuan_moe": _of("HunYuanMoEV1", {**EXPERTS, **PAD, "num_experts": 4, "moe_topk": 2}, **LM),
    "hyperclovax": _of("HyperCLOVAX", GROUPED, **LM),
    "jais2": _of("Jais2", GROUPED, **LM),
    "jetmoe": _of("JetMoe", {"hidden_size": 64, "num_hidden_layers": 2, "num_key_value_heads": 2, "kv_channels": 32, "intermediate_size": 64, "num_local_experts": 4, "num_experts_per_tok": 2, "vocab_size": 100}, **LM),
    "laguna": _of("Laguna", EXPERTS, **LM),
    "lfm2_moe": _of("Lfm2Moe", {**EXPERTS, "num_dense_layers": 1, "layer_types": ["conv", "full_attention"]}, **LM),
    "llama4": _of("Llama4Text", {**GROUPED, "num_local_experts": 4, "num_experts_per_tok": 1, "intermediate_size_mlp": 64, "attention_chunk_size": 8, **PAD}, "Model", input_ids=ids, use_cache=False),
    "longcat_flash": _of("LongcatFlash", {**MLA_EXPERTS, "head_dim": 16, "num_layers": 1, "num_hidden_layers": 2, "ffn_hidden_size": 64, "expert_ffn_hidden_size": 32, "zero_expert_num": 2}, **LM),
    "mellum": _of("Mellum", EXPERTS, **LM),
    "mimo_v2_flash": _of("MiMoV2Flash", {**EXPERTS, "n_routed_experts": 4, "sliding_window": 8, "v_head_dim": 32, "swa_num_attention_heads": 4, "swa_num_key_value_heads": 2, "swa_head_dim": 32, "swa_v_head_dim": 32}, **LM),
    "minicpm3": _of("MiniCPM3", {**TEXT, "q_lora_rank": 32, "kv_lora_rank": 32, "qk_nope_head_dim": 16, "qk_rope_head_dim": 16, "v_head_dim": 32}, **LM),
    "minimax": _of("MiniMax", {**LOCAL, "block_size": 16, "layer_types": ["linear_attention", "full_attention"]}, **LM),
    "minimax_m2": _of("MiniMaxM2", LOCAL, **LM),
    "ministral3": _of("Ministral3", GROUPED, **LM),
    "mistral4": _of("Mistral4", MLA_EXPERTS, **LM),
    "modernbert_decoder": _of("ModernBertDecoder", {**TEXT, **PAD, "local_attention": 16}, **LM),
    "nanochat": _of("NanoChat", GROUPED, **LM),
    "nemotron_h": _of("NemotronH", {**GROUPED, "layers_block_type": ["mamba", "attention"], "ssm_state_size": 16, "mamba_num_heads": 4, "mamba_head_dim": 32, "n_groups": 1, "chunk_size": 8, "use_mamba_kernels": False}, **FEW),
    "olmo3": _of("Olmo3", {**GROUPED, "sliding_window": 8}, **LM),
    "olmo_hybrid": _of("OlmoHybrid", {**GROUPED, **PAD, "layer_types": ["linear_attention", "full_attention"], "linear_num_key_heads": 2, "linear_num_value_heads": 2, "linear_key_head_dim": 16, "linear_value_head_dim": 16}, **FEW),
    "qwen3_5": _of("Qwen3_5Text", {**GROUPED, "layer_types": ["linear_attention", "full_attention"], "linear_num_key_heads": 2, "linear_num_value_heads": 2, "linear_key_head_dim": 16, "linear_value_head_dim": 16}, "Model", input_ids=lambda: ids()[:1, :8], use_cache=False),
    "qwen3_5_moe": _of("Qwen3_5MoeText", {**EXPERTS, "shared_expert_intermediate_size": 32, "layer_types": ["linear_attention", "full_attention"], "linear_num_key_heads": 2, "linear_num_value_heads": 2, "linear_key_head_dim": 16, "linear_value_head_dim": 16}, "Model", input_ids=lambda: ids()[:1, :8], use_cache=False),
    "seed_oss": _of("SeedOss", GROUPED, **LM),
    "solar_open": _of("SolarOpen", {**EXPERTS, "n_routed_experts": 4, "n_shared_experts": 1}, **LM),
    "vaultgemma": _of("VaultGemma", {**GROUPED, "sliding_window": 8}, **LM),
    "youtu": _of("Youtu", MLA_EXPERTS, **LM),
    "zamba2": _of("Zamba2", {**TEXT, "num_key_value_heads": 2, "layers_block_type": ["mamba", "hybrid"], "mamba_d_state": 16, "n_mamba_heads": 4, "chunk_size": 8, "use_mamba_kernels": False, "adapter_rank": 8}, **FEW),
    "bert_generation": _of("BertGeneration", TEXT, "Encoder", input_ids=ids, attention_mask=mask),
    "roberta_prelayernorm": _of("RobertaPreLayerNorm", WORDS, input_ids=ids, attention_mask=mask),
    "roc_bert": _of("RoCBert", {**TEXT, "pronunciation_vocab_size": 20, "shape_vocab_size": 20, "pronunciation_embed_dim": 16, "shape_embed_dim": 16, "enable_pronunciation": False, "enable_shape": False}, input_ids=ids),
    "xlm_roberta_xl": _of("XLMRobertaXL", WORDS, input_ids=ids, attention_mask=mask),
    "xmod": _of("Xmod", {**WORDS, "languages": ["en_XX"], "default_language": "en_XX"}, input_ids=ids),
    "nystromformer": _of("Nystromformer", {**WORDS, "num_landmarks": 32, "segment_means_seq_len": 32, "conv_kernel_size": 5}, input_ids=ids),
    "longformer": _of("Longformer", {**WORDS, "attention_window": 8}, input_ids=ids),
    "markuplm": _of("MarkupLM", {**TEXT, "max_depth": 5, "xpath_unit_hidden_size": 8}, input_ids=ids, xpath_tags_seq=_positions(5, 200), xpath_subs_seq=_positions(5, 900)),
    "tapas": _of("Tapas", TEXT, input_ids=ids, token_type_ids=_positions(7, 2)),
    "bros": _of("Bros", {**TEXT, "dim_bbox": 4}, input_ids=ids, bbox=_quads),
    "gte": _of("Gte", {**WORDS}, input_ids=ids, attention_mask=mask),
    "jina_embeddings_v3": _of("JinaEmbeddingsV3", WORDS, input_ids=ids, attention_mask=mask),
    "esmc": _of("Esmc", {**TEXT, "pad_token_id": 1}, input_ids=ids),
    "ultrabert": _of("Ultrabert", {**TEXT, **PAD, "sliding_window": 8}, input_ids=ids, attention_mask=mask),
    "dpr": _of("DPR", TEXT, "QuestionEncoder", input_ids=ids, attention_mask=mask),
    "openai_privacy_filter": _of("OpenAIPrivacyFilter", {**LOCAL, **PAD, "sliding_window": 8}, input_ids=ids),
    "bigbird_pegasus": _of("BigBirdPegasus", {**SEQ2SEQ, "vocab_size": 100, "attention_type": "original_full"}, **PAIR),
    "blenderbot_small": _of("BlenderbotSmall", {**SEQ2SEQ, "vocab_size": 100}, **PAIR),
    "mvp": _of("Mvp", {**SEQ2SEQ, "vocab_size": 100}, **PAIR),
    "plbart": _of("PLBart", {**SEQ2SEQ, "vocab_size": 100}, **PAIR),
    "led": _of("LED", {**SEQ2SEQ, "vocab_size": 100, "attention_window": 8}, **PAIR),
    "pegasus_x": _of("PegasusX", {**SEQ2SEQ, "vocab_size": 100, "block_size": 16, "num_global_tokens": 4}, **PAIR),
    "nllb_moe": _of("NllbMoe", {**SEQ2SEQ, "vocab_size": 100, "num_experts": 4, "expert_capacity": 8, "encoder_sparse_step": 1, "decoder_sparse_step": 1}, **PAIR),
    "switch_transformers": _of("SwitchTransformers", {**T5, "num_experts": 4, "num_decoder_layers": 2, "num_sparse_encoder_layers": 1, "num_sparse_decoder_layers": 1}, **PAIR),
    "mt5": _of("MT5", T5, **PAIR),
    "fsmt": _of("FSMT", {**SEQ2SEQ, "src_vocab_size": 100, "tgt_vocab_size": 100, "langs": ["en", "de"]}, **PAIR),
}  # fmt: skip
OTHER_MODELS: dict[str, Callable[[], Built]] = {
    "aimv2_vision": _of("Aimv2Vision", VISION, redrawn=True, pixel_values=image),
    "aimv2_text": _of("Aimv2Text", {**CONTRAST}, input_ids=ids),
    "altclip_text": _of("AltCLIPText", {**WORDS, "project_dim": 32}, input_ids=ids),
    "altclip_vision": _of("AltCLIPVision", VISION, pixel_values=image),
    "chinese_clip_vision": _of("ChineseCLIPVision", VISION, pixel_values=image),
    "clipseg_vision": _of("CLIPSegVision", VISION, pixel_values=image),
    "groupvit_text": _of("GroupViTText", CONTRAST, input_ids=ids),
    "metaclip_2_text": _of("MetaClip2Text", CONTRAST, input_ids=ids),
    "metaclip_2_vision": _of("MetaClip2Vision", VISION, pixel_values=image),
    "owlv2_text": _of("Owlv2Text", CONTRAST, input_ids=ids),
    "owlv2_vision": _of("Owlv2Vision", VISION, pixel_values=image),
    "x_clip_text": _of("XCLIPText", CONTRAST, input_ids=ids),
    "siglip2_text": _of("Siglip2Text", CONTRAST, input_ids=ids),
    "blip_2_vision": _of("Blip2Vision", VISION, redrawn=True, pixel_values=image),
    "git_vision": _of("GitVision", VISION, pixel_values=image),
    "align_text": _of("AlignText", TEXT, input_ids=ids, attention_mask=mask),
    "flava_image": _of("FlavaImage", VISION, pixel_values=image),
    "flava_text": _of("FlavaText", TEXT, input_ids=ids),
    "pixio": _of("Pixio", VISION, pixel_values=image),
    "mgp_str": _of("Mgpstr", {**SIZES, "image_size": [32, 64], "patch_size": 8}, pixel_values=lambda: torch.randn(1, 3, 32, 64)),
    "vilt": _of("Vilt", {**TEXT, **VISION, "max_image_length": 16}, input_ids=lambda: ids()[:1], pixel_values=image),
    "vjepa2": _of("VJEPA2", {**SIZES, "patch_size": 8, "crop_size": 32, "frames_per_clip": 4, "pred_hidden_size": 64, "pred_num_attention_heads": 2, "pred_num_hidden_layers": 1, "pred_num_mask_tokens": 2}, pixel_values_videos=lambda: torch.randn(1, 4, 3, 32, 32), skip_predictor=True),
    "sapiens2": _of("Sapiens2", {**VISION, "num_key_value_heads": 2}, redrawn=True, pixel_values=image),
    "superpoint": _of("SuperPoint", {"encoder_hidden_sizes": [16, 16, 32, 32], "decoder_hidden_size": 32}, "ForKeypointDetection", pixel_values=lambda: image(64)),
    "pp_lcnet": _of("PPLCNet", {"scale": 0.25, "class_expand": 64, "num_labels": 5}, "ForImageClassification", redrawn=True, pixel_values=lambda: image(64)),
    "conditional_detr": detector("ConditionalDetr", "ForObjectDetection", **DETR),
    "table_transformer": detector("TableTransformer", "ForObjectDetection", **DETR),
    "dab_detr": detector("DabDetr", "ForObjectDetection", **DETR, hidden_size=64),
    "deformable_detr": detector("DeformableDetr", "ForObjectDetection", **{**DETR, "decoder_layers": 2}, levels=3, num_feature_levels=3),
    "rt_detr": detector("RTDetr", "ForObjectDetection", **DETR, levels=3, encoder_hidden_dim=32, encoder_in_channels=[32, 32, 32], decoder_in_channels=[32, 32, 32]),
    "unispeech_sat": _of("UniSpeechSat", {**WAV2VEC2, "num_clusters": 20}, input_values=lambda: torch.randn(1, 800)),
    "sew_d": _of("SEWD", {**WAV2VEC2, "position_buckets": 8, "squeeze_factor": 2}, input_values=lambda: torch.randn(1, 800)),
    "wav2vec2_bert": _of("Wav2Vec2Bert", {**SIZES, "feature_projection_input_dim": 16, "conv_depthwise_kernel_size": 7}, input_features=lambda: torch.randn(1, 32, 16)),
    "parakeet_encoder": _of("ParakeetEncoder", {**SIZES, "conv_kernel_size": 5, "subsampling_conv_channels": 16, "num_mel_bins": 16}, "", input_features=lambda: torch.randn(1, 64, 16), compiler_options=EXACT),
    "encodec": _of("Encodec", {"num_filters": 8, "hidden_size": 32, "codebook_size": 32, "codebook_dim": 32, "upsampling_ratios": [4, 2], "num_lstm_layers": 1}, input_values=lambda: torch.randn(1, 1, 640)),
    "dac": _of("Dac", {"encoder_hidden_size": 16, "downsampling_ratios": [2, 4], "decoder_hidden_size": 32, "upsampling_ratios": [4, 2], "n_codebooks": 2, "codebook_size": 32, "codebook_dim": 8}, input_values=lambda: torch.randn(1, 1, 320)),
    "univnet": _of("UnivNet", {"model_in_channels": 16, "model_hidden_channels": 16, "num_mel_bins": 16, "resblock_kernel_sizes": [3], "resblock_stride_sizes": [4], "resblock_dilation_sizes": [[1, 3]], "kernel_predictor_hidden_channels": 16}, input_features=lambda: torch.randn(1, 8, 16), noise_sequence=lambda: torch.randn(1, 8, 16)),
    "time_series_transformer": _of("TimeSeriesTransformer", {**SERIES, "num_time_features": 1}, past_values=_series(18), past_time_features=_series(18, 1), past_observed_mask=lambda: torch.ones(2, 18), future_values=_series(8), future_time_features=_series(8, 1)),
    "informer": _of("Informer", {**SERIES, "num_time_features": 1}, past_values=_series(18), past_time_features=_series(18, 1), past_observed_mask=lambda: torch.ones(2, 18), future_values=_series(8), future_time_features=_series(8, 1)),
    "autoformer": _of("Autoformer", {**SERIES, "num_time_features": 1, "moving_average": 5, "label_length": 8}, past_values=_series(18), past_time_features=_series(18, 1), past_observed_mask=lambda: torch.ones(2, 18), future_values=_series(8), future_time_features=_series(8, 1)),
    "timesfm": _of("TimesFm", {**SIZES, "patch_length": 8, "context_length": 32, "head_dim": 32, "horizon_length": 16}, past_values=_series(32), past_values_padding=lambda: torch.zeros(2, 32), freq=lambda: torch.zeros(2, 1, dtype=torch.int64)),
}  # fmt: skip
MODELS = TEXT_MODELS | OTHER_MODELS
_BRANCHES = "the model branches on tensor values"
_SHAPES = "the shape of this value depends on data"
_DRIFT = "FAILED: pcc"
KNOWN: dict[str, str] = {
    # refused in words, at the line of the model: routing by `.item()`, windows that ask whether a token is global, padding of a length that is a tensor
    **dict.fromkeys(("dbrx", "longcat_flash", "longformer", "led", "openai_privacy_filter", "fsmt", "vilt", "encodec"), _BRANCHES),
    **dict.fromkeys(("jetmoe", "xmod", "superpoint"), _SHAPES),
    "informer": "aten.randint.low",  # samples its keys at random
    # torch.export does not trace them: weights swapped while tracing, a mask that is only made outside of it, another length than the trace expects
    **dict.fromkeys(("nllb_moe", "switch_transformers", "autoformer"), "torch.export failed"),
    # float32 models whose random weights enlarge every rounding, at any fidelity: 26 convolutions one behind the other, the choice of the best of nearly
    # equal queries
    **dict.fromkeys(("pp_lcnet", "rt_detr"), _DRIFT),
}
"""What does not pass -> part of the message that says why."""
