"""Architectures of transformers and diffusers: their own code, small configurations, random weights."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

os.environ["HF_HUB_OFFLINE"] = "1"

import torch
import transformers

Built = tuple[Any, tuple[Any, ...], dict[str, Any]]
transformers.logging.set_verbosity_error()

SIZES: dict[str, Any] = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 128}
TEXT = {**SIZES, "vocab_size": 100}
GROUPED = {**TEXT, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 32}
VISION = {**SIZES, "image_size": 32, "patch_size": 8}
STAGES = {"hidden_sizes": [16, 32, 32, 32], "depths": [1, 1, 1, 1]}
SEQ2SEQ = {
    "d_model": 64, "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 2, "decoder_attention_heads": 2,
    "encoder_ffn_dim": 128, "decoder_ffn_dim": 128,
}  # fmt: skip
GPT2 = {"n_embd": 64, "n_layer": 2, "n_head": 2, "vocab_size": 100}
T5 = {"d_model": 64, "d_kv": 32, "d_ff": 128, "num_layers": 2, "num_heads": 2, "vocab_size": 100}
SWIN = {"image_size": 32, "patch_size": 2, "embed_dim": 32, "depths": [2, 2], "num_heads": [1, 2], "window_size": 4}
DEBERTA = {**TEXT, "relative_attention": True, "pos_att_type": ["p2c", "c2p"], "position_buckets": 8, "max_relative_positions": 16}
WAV2VEC2 = {
    **TEXT, "vocab_size": 32, "conv_dim": (32, 32), "conv_stride": (5, 2), "conv_kernel": (10, 3),
    "num_feat_extract_layers": 2, "num_conv_pos_embeddings": 8, "num_conv_pos_embedding_groups": 4,
}  # fmt: skip
WHISPER = {
    **SEQ2SEQ, "vocab_size": 100, "num_mel_bins": 8, "max_source_positions": 20, "pad_token_id": 0, "bos_token_id": 0,
    "eos_token_id": 0, "decoder_start_token_id": 0,
}  # fmt: skip
MOBILEVIT = {
    "image_size": 64, "hidden_sizes": [32, 32, 32], "neck_hidden_sizes": [16, 16, 16, 32, 32, 32, 32], "num_attention_heads": 2
}  # fmt: skip


def _of(
    kind: str,
    config: dict[str, Any],
    of: str = "Model",
    *,
    bf16: bool = False,
    redrawn: bool = False,
    **inputs: Callable[[], torch.Tensor] | bool,
) -> Callable[[], Built]:
    """Builder of `<kind><of>(<kind>Config(**config))` called with `inputs` (tensors are made by functions). redrawn: see `redraw`."""

    def build() -> Built:
        torch.manual_seed(0)
        model = getattr(transformers, kind + of)(getattr(transformers, kind + "Config")(**config)).eval()
        if redrawn:
            redraw(model)
        kwargs = {name: one() if callable(one) else one for name, one in inputs.items()}
        if bf16:
            model = model.to(torch.bfloat16)
            kwargs = {name: one.to(torch.bfloat16) if isinstance(one, torch.Tensor) and one.is_floating_point() else one for name, one in kwargs.items()}
        _settle(model, kwargs)
        return model, (), kwargs

    return build


def redraw(model: torch.nn.Module) -> None:
    """New weights where the library's own initial ones (zeros, very small numbers) lead to a constant output."""
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.dim() > 1:
                weight.normal_(std=1.4 / weight[0].numel() ** 0.5)
            elif name.endswith("bias"):
                weight.normal_(std=0.1)
            else:
                weight.uniform_(0.7, 1.3)


def _settle(model: torch.nn.Module, kwargs: dict[str, Any]) -> None:
    """Running statistics of batch norms from the input itself: random weights would otherwise fade to a constant output."""
    norms = [module for module in model.modules() if isinstance(module, torch.nn.modules.batchnorm._BatchNorm)]
    if not norms:
        return
    for norm in norms:
        norm.train()
        norm.momentum = None
    twice = {name: torch.cat([one, one.flip(-1)]) if isinstance(one, torch.Tensor) and one.is_floating_point() else one for name, one in kwargs.items()}
    with torch.no_grad():
        model(**twice)  # two images: a norm behind a global pool needs more than one value
    model.eval()


def steady(build: Callable[[], Built], norms: str | tuple[str, ...], *, scale: float = 1.0, shift: float = 0.0) -> Callable[[], Built]:
    """The model with other weights and biases in the norms whose names end so.

    As drawn, deep stacks of small convolutions and batch norms multiply rounding by hundreds, which no trained network does: PyTorch itself,
    on operands cut to TF32 as the chip cuts them, misses the check. Small last norms of residual blocks (as training starts from), or values
    that lie inside the linear part of relu6, end that.
    """

    def built() -> Built:
        model, args, kwargs = build()
        with torch.no_grad():
            for name, module in model.named_modules():
                if name.endswith(norms) and isinstance(module, torch.nn.modules.batchnorm._BatchNorm):
                    module.weight.mul_(scale)
                    module.bias.add_(shift)
        _settle(model, kwargs)
        return model, args, kwargs

    return built


def ids() -> torch.Tensor:
    return torch.randint(3, 99, (2, 32))


def mask() -> torch.Tensor:
    return torch.tensor([[1] * 32, [1] * 20 + [0] * 12])


def image(size: int = 32) -> torch.Tensor:
    return torch.randn(1, 3, size, size)


def clip() -> Built:
    tokens = {"eos_token_id": 98, "bos_token_id": 1, "pad_token_id": 0}
    config = transformers.CLIPConfig(
        text_config={**TEXT, "projection_dim": 32, "max_position_embeddings": 40, **tokens},
        vision_config={**VISION, "projection_dim": 32},
        projection_dim=32,
    )
    torch.manual_seed(0)
    inputs = {"input_ids": ids(), "pixel_values": torch.randn(2, 3, 32, 32), "attention_mask": mask()}
    return transformers.CLIPModel(config).eval(), (), inputs


def detr() -> Built:
    backbone = transformers.ResNetConfig(embedding_size=16, **STAGES, out_features=["stage4"])
    options = {"use_timm_backbone": False, "use_pretrained_backbone": False, "backbone": None}
    config = transformers.DetrConfig(backbone_config=backbone, **options, **SEQ2SEQ, num_queries=6)
    torch.manual_seed(0)
    model = transformers.DetrForObjectDetection(config).eval()
    return model, (), {"pixel_values": image(64), "pixel_mask": torch.ones(1, 64, 64, dtype=torch.long)}


def static_cache(kind: str) -> Callable[[], Built]:
    """One decode step over a static key/value cache whose new contents are outputs."""

    def build() -> Built:
        from transformers.integrations.executorch import TorchExportableModuleWithStaticCache

        torch.manual_seed(0)
        model = getattr(transformers, kind + "ForCausalLM")(getattr(transformers, kind + "Config")(**GROUPED)).eval()
        model.generation_config = transformers.GenerationConfig(
            use_cache=True,
            cache_implementation="static",
            max_length=32,
            cache_config={"batch_size": 1, "max_cache_len": 32},
        )
        wrapped = TorchExportableModuleWithStaticCache(model, batch_size=1, max_cache_len=32, device=torch.device("cpu"))
        return wrapped, (), {"input_ids": torch.tensor([[5]]), "cache_position": torch.tensor([3])}

    return build


def diffusion_unet() -> Built:
    import diffusers

    torch.manual_seed(0)
    unet = diffusers.UNet2DConditionModel(
        block_out_channels=(32, 64), layers_per_block=1, sample_size=8, in_channels=4, out_channels=4,
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"), up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
        cross_attention_dim=32, attention_head_dim=32, norm_num_groups=4,
    ).eval()  # fmt: skip
    return unet, (torch.randn(1, 4, 8, 8), torch.tensor(3), torch.randn(1, 5, 32)), {}


def vae_decoder() -> Built:
    import diffusers

    torch.manual_seed(0)
    vae = diffusers.AutoencoderKL(
        block_out_channels=(32, 32), layers_per_block=1, down_block_types=("DownEncoderBlock2D",) * 2,
        up_block_types=("UpDecoderBlock2D",) * 2, latent_channels=4, norm_num_groups=4, sample_size=16,
    ).eval()  # fmt: skip
    return vae.decode, (torch.randn(1, 4, 8, 8),), {}


LM = {"of": "ForCausalLM", "input_ids": ids, "use_cache": False}
MODELS: dict[str, Callable[[], Built]] = {
    "bert": _of("Bert", TEXT, input_ids=ids, attention_mask=mask),
    "bert_bf16": _of("Bert", TEXT, bf16=True, input_ids=ids, attention_mask=mask),
    "distilbert": _of("DistilBert", {"dim": 64, "n_layers": 2, "n_heads": 2, "hidden_dim": 128, "vocab_size": 100}, input_ids=ids, attention_mask=mask),
    "roberta_bf16": _of("Roberta", TEXT, "ForSequenceClassification", bf16=True, input_ids=ids, attention_mask=mask),
    "albert": _of("Albert", {**TEXT, "embedding_size": 32}, input_ids=ids, attention_mask=mask),
    "electra": _of("Electra", {**TEXT, "embedding_size": 32}, input_ids=ids),
    "deberta_v2": _of("DebertaV2", DEBERTA, input_ids=ids, attention_mask=mask),
    "mpnet": _of("MPNet", TEXT, input_ids=ids, attention_mask=mask),
    "modernbert": _of("ModernBert", {**TEXT, "pad_token_id": 0}, input_ids=ids, attention_mask=mask),
    "gpt2": _of("GPT2", GPT2, "LMHeadModel", input_ids=ids, use_cache=False),
    "gpt2_bf16": _of("GPT2", GPT2, "LMHeadModel", bf16=True, input_ids=ids, use_cache=False),
    "opt": _of(
        "OPT", {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2, "ffn_dim": 128, "vocab_size": 100, "word_embed_proj_dim": 64}, **LM
    ),
    "bloom": _of("Bloom", {"hidden_size": 64, "n_layer": 2, "n_head": 2, "vocab_size": 100}, **LM),
    "gpt_neox": _of("GPTNeoX", TEXT, **LM),
    "llama": _of("Llama", GROUPED, attention_mask=mask, **LM),
    "llama_bf16": _of("Llama", GROUPED, bf16=True, **LM),
    "llama_decode": static_cache("Llama"),
    "qwen2": _of("Qwen2", GROUPED, **LM),
    "qwen3_bf16": _of("Qwen3", GROUPED, bf16=True, **LM),
    "mistral": _of("Mistral", {**GROUPED, "sliding_window": 8}, **LM),
    "gemma2": _of("Gemma2", {**GROUPED, "sliding_window": 8}, **LM),
    "phi3": _of("Phi3", {**TEXT, "num_key_value_heads": 2, "pad_token_id": 0}, **LM),
    "falcon": _of("Falcon", TEXT, **LM),
    "mixtral": _of("Mixtral", {**GROUPED, "num_local_experts": 4, "num_experts_per_tok": 2}, **LM),
    "mamba": _of("Mamba", {"hidden_size": 64, "num_hidden_layers": 1, "vocab_size": 100, "state_size": 4}, input_ids=lambda: ids()[:1, :8], use_cache=False),
    "t5": _of("T5", T5, "ForConditionalGeneration", input_ids=ids, attention_mask=mask, decoder_input_ids=lambda: ids()[:, :8], use_cache=False),
    "bart": _of("Bart", {**SEQ2SEQ, "vocab_size": 100}, input_ids=ids, decoder_input_ids=lambda: ids()[:, :8], use_cache=False),
    "whisper": _of("Whisper", WHISPER, input_features=lambda: torch.randn(2, 8, 40), decoder_input_ids=lambda: ids()[:, :5], use_cache=False),
    "wav2vec2": _of("Wav2Vec2", WAV2VEC2, input_values=lambda: torch.randn(1, 400)),
    "vit": _of("ViT", {**VISION, "num_labels": 16}, "ForImageClassification", pixel_values=image),
    "deit_bf16": _of("DeiT", VISION, "ForImageClassification", bf16=True, pixel_values=image),
    "beit": _of("Beit", {**VISION, "vocab_size": 100, "use_relative_position_bias": True}, pixel_values=image),
    "dinov2": _of("Dinov2", {key: value for key, value in VISION.items() if key != "intermediate_size"}, pixel_values=image),
    "siglip": _of("SiglipVision", VISION, pixel_values=image),
    "swin": _of("Swin", SWIN, "ForImageClassification", pixel_values=image),
    "swin_v2": _of("Swinv2", SWIN, pixel_values=image),
    "convnext": _of("ConvNext", STAGES, "ForImageClassification", pixel_values=lambda: image(64)),
    "resnet": _of("ResNet", {"embedding_size": 16, **STAGES}, "ForImageClassification", pixel_values=lambda: image(64)),
    "regnet": _of("RegNet", {"embedding_size": 16, **STAGES, "groups_width": 8}, pixel_values=lambda: image(64)),
    "mobilenet_v2": steady(_of("MobileNetV2", {"depth_multiplier": 0.25}, pixel_values=lambda: image(64)), "reduce_1x1.normalization", scale=0.3),
    "mobilevit": _of("MobileViT", MOBILEVIT, pixel_values=lambda: image(64)),
    "segformer": _of(
        "Segformer", {**STAGES, "num_attention_heads": [1, 1, 1, 1], "decoder_hidden_size": 32}, "ForSemanticSegmentation", pixel_values=lambda: image(64)
    ),
    "yolos": _of("Yolos", {**VISION, "image_size": [32, 32], "num_detection_tokens": 5}, "ForObjectDetection", pixel_values=image),
    "clip": clip,
    "detr": detr,
    "diffusion_unet": diffusion_unet,
    "vae_decoder": vae_decoder,
}
