"""Image, multimodal, speech and diffusion architectures of transformers and diffusers beyond those of hub.py."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import transformers

from models.hub import SEQ2SEQ, SIZES, STAGES, SWIN, TEXT, VISION, WAV2VEC2, Built, _of, _settle, ids, image, mask, redraw, steady

POINTS: dict[str, Any] = {"pixel_values": lambda: image(64)}
SPEECH: dict[str, Any] = {"input_values": lambda: torch.randn(1, 400)}
DINO = {key: value for key, value in VISION.items() if key != "intermediate_size"}
PYRAMID = {"hidden_sizes": [16, 32, 32, 32], "depths": [1, 1, 1, 1], "num_attention_heads": [1, 1, 2, 2], "sequence_reduction_ratios": [8, 4, 2, 1]}


def diffusers_(
    kind: str, config: dict[str, Any], method: str = "", *, redrawn: bool = False, **inputs: Callable[[], torch.Tensor]
) -> Callable[[], Built]:
    """Builder of a diffusers model, called or one of its methods called with `inputs`."""

    def build() -> Built:
        import diffusers

        torch.manual_seed(0)
        model = getattr(diffusers, kind)(**config).eval()
        if redrawn:
            redraw(model)
        kwargs = {name: one() for name, one in inputs.items()} | {"return_dict": False}
        return getattr(model, method) if method else model, (), kwargs

    return build


def upernet() -> Built:
    backbone = transformers.ConvNextConfig(**STAGES, out_features=["stage1", "stage2", "stage3", "stage4"])
    config = transformers.UperNetConfig(backbone_config=backbone, hidden_size=32, auxiliary_in_channels=32, auxiliary_channels=16, auxiliary_num_convs=1, num_labels=5)
    torch.manual_seed(0)
    model = transformers.UperNetForSemanticSegmentation(config).eval()
    inputs = {"pixel_values": image(64)}
    _settle(model, inputs)
    return model, (), inputs


def depth_anything() -> Built:
    backbone = transformers.Dinov2Config(**DINO, out_features=["stage1", "stage2"], reshape_hidden_states=False, apply_layernorm=True)
    config = transformers.DepthAnythingConfig(
        backbone_config=backbone, reassemble_hidden_size=64, patch_size=8, neck_hidden_sizes=[16, 32],
        reassemble_factors=[2, 1], fusion_hidden_size=16, head_hidden_size=8,
    )  # fmt: skip
    torch.manual_seed(0)
    return transformers.DepthAnythingForDepthEstimation(config).eval(), (), {"pixel_values": image(32)}


def blip() -> Built:
    config = transformers.BlipConfig(
        text_config={**TEXT, "encoder_hidden_size": 64, "max_position_embeddings": 40}, vision_config=VISION, projection_dim=32
    )
    torch.manual_seed(0)
    model = transformers.BlipForImageTextRetrieval(config).eval()
    return model, (), {"input_ids": ids(), "pixel_values": torch.randn(2, 3, 32, 32), "attention_mask": mask()}


def llava() -> Built:
    from models.hub import GROUPED

    config = transformers.LlavaConfig(
        vision_config=transformers.CLIPVisionConfig(**VISION), text_config=transformers.LlamaConfig(**GROUPED), image_token_index=99, vision_feature_layer=-1
    )
    torch.manual_seed(0)
    tokens = torch.randint(3, 98, (1, 32))
    tokens[:, 4:20] = 99
    return transformers.LlavaForConditionalGeneration(config).eval(), (), {"input_ids": tokens, "pixel_values": image(), "use_cache": False}


def siglip() -> Built:
    config = transformers.SiglipConfig(text_config={**TEXT, "max_position_embeddings": 40, "projection_size": 64}, vision_config=VISION)
    torch.manual_seed(0)
    return transformers.SiglipModel(config).eval(), (), {"input_ids": ids(), "pixel_values": torch.randn(2, 3, 32, 32)}


def maskformer() -> Built:
    backbone = transformers.SwinConfig(**SWIN | {"image_size": 64, "depths": [1, 1, 1, 1], "num_heads": [1, 2, 2, 2]}, out_features=["stage1", "stage2", "stage3", "stage4"])
    decoder = transformers.DetrConfig(**SEQ2SEQ, num_queries=6, use_timm_backbone=False, use_pretrained_backbone=False, backbone_config=transformers.ResNetConfig(embedding_size=16, **STAGES))
    config = transformers.MaskFormerConfig(fpn_feature_size=32, mask_feature_size=32, backbone_config=backbone, decoder_config=decoder)
    torch.manual_seed(0)
    return transformers.MaskFormerForInstanceSegmentation(config).eval(), (), {"pixel_values": image(64)}


def vision_encoder_decoder() -> Built:
    config = transformers.VisionEncoderDecoderConfig.from_encoder_decoder_configs(
        transformers.ViTConfig(**VISION), transformers.TrOCRConfig(d_model=64, decoder_layers=1, decoder_attention_heads=2, decoder_ffn_dim=128, vocab_size=100, cross_attention_hidden_size=64)
    )
    torch.manual_seed(0)
    return transformers.VisionEncoderDecoderModel(config).eval(), (), {"pixel_values": image(), "decoder_input_ids": torch.randint(3, 99, (1, 8)), "use_cache": False}


BLOCKS = {"block_out_channels": (32, 64), "layers_per_block": 1, "norm_num_groups": 4}
LATENT = {"sample_size": 8, "in_channels": 4, "out_channels": 4}
SDXL = {
    **BLOCKS, **LATENT, "down_block_types": ("DownBlock2D", "CrossAttnDownBlock2D"), "up_block_types": ("CrossAttnUpBlock2D", "UpBlock2D"),
    "cross_attention_dim": 32, "attention_head_dim": (1, 2), "use_linear_projection": True, "transformer_layers_per_block": (1, 1),
}  # fmt: skip
JOINT = {"num_attention_heads": 2, "attention_head_dim": 32, "num_layers": 2}


def latent() -> torch.Tensor:
    return torch.randn(1, 4, 8, 8)


def step() -> torch.Tensor:
    return torch.tensor([3])


MODELS: dict[str, Callable[[], Built]] = {
    "vit_mae": _of("ViTMAE", {**VISION, "decoder_hidden_size": 32, "decoder_num_hidden_layers": 1, "decoder_num_attention_heads": 2, "decoder_intermediate_size": 64, "mask_ratio": 0.0}, pixel_values=image, noise=lambda: torch.rand(1, 16)),
    "vit_msn": _of("ViTMSN", VISION, pixel_values=image),
    "vit_bf16": _of("ViT", {**VISION, "num_labels": 16}, "ForImageClassification", bf16=True, pixel_values=image),
    "dinov2_registers": _of("Dinov2WithRegisters", DINO, pixel_values=image),
    "dinov3_vit": _of("DINOv3ViT", VISION, pixel_values=image),
    "dinov3_convnext": _of("DINOv3ConvNext", STAGES, pixel_values=lambda: image(64)),
    "ijepa": _of("IJepa", VISION, pixel_values=image),
    "beit_classifier_bf16": _of("Beit", {**VISION, "vocab_size": 100, "use_shared_relative_position_bias": True}, "ForImageClassification", bf16=True, pixel_values=image),
    "data2vec_vision": _of("Data2VecVision", {**VISION, "use_relative_position_bias": True}, pixel_values=image),
    "convnext_v2": _of("ConvNextV2", STAGES, "ForImageClassification", **POINTS),
    "convnext_bf16": _of("ConvNext", STAGES, "ForImageClassification", bf16=True, **POINTS),
    "swin_bf16": _of("Swin", SWIN, "ForImageClassification", bf16=True, pixel_values=image),
    "swin2sr": _of("Swin2SR", {"image_size": 16, "embed_dim": 24, "depths": [2], "num_heads": [2], "window_size": 4, "upscale": 2}, "ForImageSuperResolution", pixel_values=lambda: image(16)),
    "mobilenet_v1": steady(_of("MobileNetV1", {"depth_multiplier": 0.25}, "ForImageClassification", **POINTS), "normalization", shift=2.0),
    "efficientnet": steady(_of("EfficientNet", {"image_size": 64, "hidden_dim": 320, "width_coefficient": 0.25, "depth_coefficient": 0.1, "depthwise_padding": []}, redrawn=True, **POINTS), "project_bn", scale=0.3),
    "mobilevit_v2": steady(_of("MobileViTV2", {"image_size": 64, "width_multiplier": 0.25}, **POINTS), "reduce_1x1.normalization", scale=0.3),
    "bit": _of("Bit", {"embedding_size": 16, "num_groups": 4, **STAGES}, "ForImageClassification", **POINTS),
    "cvt": _of("Cvt", {"embed_dim": [16, 32, 32], "num_heads": [1, 1, 2], "depth": [1, 2, 3]}, **POINTS),
    "levit": steady(_of("Levit", {"image_size": 64, "hidden_sizes": [32, 48, 64], "num_attention_heads": [2, 3, 4], "depths": [1, 1, 1], "key_dim": [16, 16, 16]}, **POINTS), ("projection.batch_norm", "linear_down.batch_norm"), scale=0.3),
    "poolformer": _of("PoolFormer", {"hidden_sizes": [16, 32, 32, 32], "depths": [1, 1, 1, 1]}, **POINTS),
    "pvt": _of("Pvt", {**PYRAMID, "image_size": 64, "mlp_ratios": [2, 2, 2, 2]}, "ForImageClassification", **POINTS),
    "pvt_v2": _of("PvtV2", {"image_size": 64, "hidden_sizes": [16, 32, 32, 32], "depths": [1, 1, 1, 1], "num_attention_heads": [1, 1, 2, 2], "mlp_ratios": [2, 2, 2, 2]}, "ForImageClassification", **POINTS),
    "focalnet": _of("FocalNet", {"image_size": 32, "embed_dim": 16, "depths": [1, 1], "patch_size": 4, "focal_levels": [2, 2], "focal_windows": [3, 3]}, pixel_values=image),
    "hiera": _of("Hiera", {"image_size": [64, 64], "embed_dim": 16, "depths": [1, 1, 1, 1], "num_heads": [1, 1, 2, 2]}, **POINTS),
    "hgnet_v2": steady(_of("HGNetV2", {"embedding_size": 16, "stem_channels": [3, 8, 16], "stage_in_channels": [16, 32, 32, 32], "stage_mid_channels": [8, 8, 8, 8], "stage_out_channels": [32, 32, 32, 32], "stage_num_blocks": [1, 1, 1, 1], "stage_numb_of_layers": [2, 2, 2, 2], "hidden_sizes": [32, 32, 32, 32], "depths": [1, 1, 1, 1], "num_labels": 16}, "ForImageClassification", **POINTS), ("normalization",), shift=0.5),
    # The features: two logits of near zero are a difference of rounding.
    "swiftformer": _of("SwiftFormer", {"image_size": 64, "depths": [1, 1, 1, 1], "embed_dims": [16, 32, 32, 32]}, **POINTS),
    "textnet": steady(_of("TextNet", {}, "Model", **POINTS), ("main_batch_norm", "vertical_batch_norm", "horizontal_batch_norm"), shift=1.0),
    "imagegpt": _of("ImageGPT", {"n_embd": 64, "n_layer": 2, "n_head": 2, "vocab_size": 100}, input_ids=ids, use_cache=False),
    "videomae": _of("VideoMAE", {**VISION, "num_frames": 4, "tubelet_size": 2}, "ForVideoClassification", pixel_values=lambda: torch.randn(1, 4, 3, 32, 32)),
    "timesformer": _of("Timesformer", {**VISION, "num_frames": 2}, pixel_values=lambda: torch.randn(1, 2, 3, 32, 32)),
    "vivit": _of("Vivit", {**SIZES, "image_size": 32, "num_frames": 4, "tubelet_size": [2, 8, 8]}, pixel_values=lambda: torch.randn(1, 4, 3, 32, 32)),
    "segformer_bf16": _of("Segformer", {**STAGES, "num_attention_heads": [1, 1, 1, 1], "decoder_hidden_size": 32}, "ForImageClassification", bf16=True, **POINTS),
    "glpn": _of("GLPN", {**STAGES, "num_attention_heads": [1, 1, 1, 1], "decoder_hidden_size": 16}, "ForDepthEstimation", **POINTS),
    "dpt": _of("DPT", {**VISION, "num_hidden_layers": 4, "backbone_out_indices": [0, 1, 2, 3], "neck_hidden_sizes": [16, 16, 32, 32], "fusion_hidden_size": 16, "is_hybrid": False, "readout_type": "project"}, "ForDepthEstimation", pixel_values=image),
    "depth_anything": depth_anything,
    "upernet": upernet,
    "sam_vision": _of("SamVision", {**SIZES, "output_channels": 32, "image_size": 64, "patch_size": 8, "window_size": 4, "global_attn_indexes": [1], "num_pos_feats": 16, "mlp_dim": 128}, redrawn=True, **POINTS),
    "vitdet": _of("VitDet", {**{k: v for k, v in SIZES.items() if k != "intermediate_size"}, "image_size": 64, "patch_size": 8, "pretrain_image_size": 64, "window_block_indices": [0], "window_size": 4, "use_relative_position_embeddings": True}, **POINTS),
    "conditional_detr": lambda: _detr("ConditionalDetr"),
    "table_transformer": lambda: _detr("TableTransformer"),
    "deformable_detr": lambda: _detr("DeformableDetr"),
    "maskformer": maskformer,
    "owlvit_vision": _of("OwlViTVision", VISION, pixel_values=image),
    "clip_text": _of("CLIPText", {**TEXT, "max_position_embeddings": 40, "eos_token_id": 98, "bos_token_id": 1, "pad_token_id": 0}, input_ids=ids),
    "clip_vision_bf16": _of("CLIPVision", VISION, bf16=True, pixel_values=image),
    "siglip_pair": siglip,
    "blip": blip,
    "llava": llava,
    "visual_bert": _of("VisualBert", {**TEXT, "visual_embedding_dim": 32}, input_ids=ids, visual_embeds=lambda: torch.randn(2, 4, 32)),
    "layoutlmv3": _of("LayoutLMv3", {**TEXT, "input_size": 32, "patch_size": 8, "coordinate_size": 11, "shape_size": 10}, input_ids=lambda: ids()[:1], bbox=lambda: torch.randint(0, 99, (1, 32, 4)).sort().values, pixel_values=image),
    "lxmert": _of("Lxmert", {**TEXT, "l_layers": 1, "x_layers": 1, "r_layers": 1, "visual_feat_dim": 32}, input_ids=ids, visual_feats=lambda: torch.randn(2, 4, 32), visual_pos=lambda: torch.rand(2, 4, 4)),
    "trocr": vision_encoder_decoder,
    "donut_swin": _of("DonutSwin", SWIN, pixel_values=image),
    "hubert": _of("Hubert", WAV2VEC2, **SPEECH),
    "wavlm": _of("WavLM", WAV2VEC2, **SPEECH),
    "data2vec_audio": _of("Data2VecAudio", {**WAV2VEC2, "conv_pos_kernel_size": 3, "num_conv_pos_embeddings": 2}, **SPEECH),
    "sew": _of("SEW", {**WAV2VEC2, "squeeze_factor": 2}, **SPEECH),
    "unispeech": _of("UniSpeech", WAV2VEC2, **SPEECH),
    "wav2vec2_ctc": _of("Wav2Vec2", {**WAV2VEC2, "feat_extract_norm": "layer", "do_stable_layer_norm": True}, "ForCTC", **SPEECH),
    "wav2vec2_conformer": _of("Wav2Vec2Conformer", {**WAV2VEC2, "conv_depthwise_kernel_size": 3}, **SPEECH),
    "speech_to_text": _of("Speech2Text", {**SEQ2SEQ, "vocab_size": 100, "input_feat_per_channel": 8, "conv_channels": 32, "max_source_positions": 40, "max_target_positions": 40}, input_features=lambda: torch.randn(1, 32, 8), decoder_input_ids=lambda: ids()[:1, :5], use_cache=False),
    "audio_spectrogram": _of("AST", {**SIZES, "patch_size": 8, "max_length": 32, "num_mel_bins": 16, "frequency_stride": 8, "time_stride": 8}, input_values=lambda: torch.randn(1, 32, 16)),
    "clap_audio": _of("ClapAudio", {"patch_embeds_hidden_size": 16, "depths": [1, 1], "num_attention_heads": [1, 2], "hidden_size": 32, "spec_size": 32, "num_mel_bins": 8, "window_size": 4, "patch_size": 4, "enable_fusion": False}, input_features=lambda: torch.randn(1, 1, 128, 8)),
    "moonshine": _of("Moonshine", {"hidden_size": 64, "intermediate_size": 128, "encoder_num_hidden_layers": 1, "decoder_num_hidden_layers": 1, "encoder_num_attention_heads": 2, "decoder_num_attention_heads": 2, "vocab_size": 100}, input_values=lambda: torch.randn(1, 1200), decoder_input_ids=lambda: ids()[:1, :5], use_cache=False),
    "patchtst": _of("PatchTST", {"num_input_channels": 2, "context_length": 32, "patch_length": 8, "patch_stride": 8, "d_model": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "ffn_dim": 64}, past_values=lambda: torch.randn(2, 32, 2)),
    "patchtsmixer": _of("PatchTSMixer", {"num_input_channels": 2, "context_length": 32, "patch_length": 8, "patch_stride": 8, "d_model": 16, "num_layers": 1}, past_values=lambda: torch.randn(2, 32, 2)),
    "decision_transformer": _of("DecisionTransformer", {"hidden_size": 64, "n_layer": 1, "n_head": 2, "state_dim": 8, "act_dim": 4, "max_ep_len": 32}, states=lambda: torch.randn(1, 6, 8), actions=lambda: torch.randn(1, 6, 4), rewards=lambda: torch.randn(1, 6, 1), returns_to_go=lambda: torch.randn(1, 6, 1), timesteps=lambda: torch.arange(6)[None]),
    "perceiver": _of("Perceiver", {"num_latents": 8, "d_latents": 32, "d_model": 32, "num_blocks": 1, "num_self_attends_per_block": 1, "num_self_attention_heads": 2, "num_cross_attention_heads": 2}, inputs=lambda: torch.randn(1, 16, 32)),
    "unet2d": diffusers_("UNet2DModel", {**BLOCKS, "sample_size": 16, "down_block_types": ("DownBlock2D", "AttnDownBlock2D"), "up_block_types": ("AttnUpBlock2D", "UpBlock2D"), "attention_head_dim": 32}, sample=lambda: image(16), timestep=step),
    "sdxl_unet": diffusers_("UNet2DConditionModel", SDXL, sample=latent, timestep=step, encoder_hidden_states=lambda: torch.randn(1, 5, 32)),
    "controlnet": diffusers_("ControlNetModel", {**{k: v for k, v in SDXL.items() if k not in ("up_block_types", "out_channels", "sample_size")}, "conditioning_embedding_out_channels": (8, 16)}, redrawn=True, sample=latent, timestep=step, encoder_hidden_states=lambda: torch.randn(1, 5, 32), controlnet_cond=lambda: image(16)),
    "vae_encoder": diffusers_("AutoencoderKL", {"block_out_channels": (32, 32), "layers_per_block": 1, "down_block_types": ("DownEncoderBlock2D",) * 2, "up_block_types": ("UpDecoderBlock2D",) * 2, "latent_channels": 4, "norm_num_groups": 4}, sample=lambda: image(16)),
    "tiny_autoencoder": diffusers_("AutoencoderTiny", {"encoder_block_out_channels": (16, 16), "decoder_block_out_channels": (16, 16), "num_encoder_blocks": (1, 1), "num_decoder_blocks": (1, 1)}, sample=lambda: image(16)),
    "vq_model": diffusers_("VQModel", {"block_out_channels": (32,), "norm_num_groups": 4, "num_vq_embeddings": 16}, sample=lambda: image(16)),
    "dit": diffusers_("DiTTransformer2DModel", {**JOINT, "in_channels": 4, "out_channels": 8, "sample_size": 8, "patch_size": 2, "num_embeds_ada_norm": 10}, hidden_states=latent, timestep=step, class_labels=step),
    "pixart": diffusers_("PixArtTransformer2DModel", {**JOINT, "in_channels": 4, "sample_size": 8, "cross_attention_dim": 64, "caption_channels": 32, "use_additional_conditions": False}, hidden_states=latent, timestep=step, encoder_hidden_states=lambda: torch.randn(1, 5, 32)),
    "sd3": diffusers_("SD3Transformer2DModel", {**JOINT, "in_channels": 4, "out_channels": 4, "sample_size": 8, "patch_size": 2, "joint_attention_dim": 32, "caption_projection_dim": 64, "pooled_projection_dim": 64, "pos_embed_max_size": 8}, hidden_states=latent, timestep=step, encoder_hidden_states=lambda: torch.randn(1, 5, 32), pooled_projections=lambda: torch.randn(1, 64)),
    "flux": diffusers_("FluxTransformer2DModel", {"in_channels": 16, "num_layers": 1, "num_single_layers": 1, "attention_head_dim": 16, "num_attention_heads": 2, "joint_attention_dim": 32, "pooled_projection_dim": 32, "axes_dims_rope": (4, 4, 8)}, hidden_states=lambda: torch.randn(1, 16, 16), timestep=lambda: torch.tensor([0.5]), encoder_hidden_states=lambda: torch.randn(1, 5, 32), pooled_projections=lambda: torch.randn(1, 32), img_ids=lambda: torch.randn(16, 3), txt_ids=lambda: torch.zeros(5, 3)),
    "sana": diffusers_("SanaTransformer2DModel", {**JOINT, "in_channels": 4, "out_channels": 4, "num_cross_attention_heads": 2, "cross_attention_head_dim": 32, "cross_attention_dim": 64, "caption_channels": 32, "sample_size": 8}, hidden_states=latent, timestep=step, encoder_hidden_states=lambda: torch.randn(1, 5, 32)),
    "aura_flow": diffusers_("AuraFlowTransformer2DModel", {"sample_size": 8, "num_mmdit_layers": 1, "num_single_dit_layers": 1, "attention_head_dim": 32, "num_attention_heads": 2, "joint_attention_dim": 32, "caption_projection_dim": 64, "pos_embed_max_size": 16}, hidden_states=latent, timestep=step, encoder_hidden_states=lambda: torch.randn(1, 5, 32)),
    "prior_transformer": diffusers_("PriorTransformer", {"num_attention_heads": 2, "attention_head_dim": 32, "num_layers": 1, "embedding_dim": 32, "num_embeddings": 5, "additional_embeddings": 4}, hidden_states=lambda: torch.randn(1, 32), timestep=step, proj_embedding=lambda: torch.randn(1, 32), encoder_hidden_states=lambda: torch.randn(1, 5, 32)),
    "unet3d": diffusers_("UNet3DConditionModel", {**BLOCKS, **LATENT, "down_block_types": ("CrossAttnDownBlock3D", "DownBlock3D"), "up_block_types": ("UpBlock3D", "CrossAttnUpBlock3D"), "cross_attention_dim": 32, "attention_head_dim": 32}, sample=lambda: torch.randn(1, 4, 2, 8, 8), timestep=step, encoder_hidden_states=lambda: torch.randn(1, 5, 32)),
}


def _detr(kind: str) -> Built:
    backbone = transformers.ResNetConfig(embedding_size=16, **STAGES, out_features=["stage2", "stage3", "stage4"] if kind == "DeformableDetr" else ["stage4"])
    options = {"use_timm_backbone": False, "use_pretrained_backbone": False, "backbone": None}
    config = getattr(transformers, kind + "Config")(backbone_config=backbone, **options, **SEQ2SEQ | {"decoder_layers": 2}, num_queries=6)
    torch.manual_seed(0)
    model = getattr(transformers, kind + "ForObjectDetection")(config).eval()
    return model, (), {"pixel_values": image(64), "pixel_mask": torch.ones(1, 64, 64, dtype=torch.long)}
