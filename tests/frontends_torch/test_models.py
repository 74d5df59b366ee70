"""Whole architectures with tiny configurations and random weights, against the models themselves."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch_checking import check, names

from tests.used_later import used_later

os.environ |= {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_VERBOSITY": "error"}
transformers = used_later("transformers")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

SIZES: dict[str, Any] = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}
TEXT = {**SIZES, "vocab_size": 100}
GROUPED = {**TEXT, "num_key_value_heads": 2}
VISION = {**SIZES, "image_size": 32, "patch_size": 8}
STAGES = {"hidden_sizes": [8, 16, 16, 16], "depths": [1, 1, 1, 1]}
SEQ2SEQ = {
    "d_model": 32, "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 4, "decoder_attention_heads": 4,
    "encoder_ffn_dim": 64, "decoder_ffn_dim": 64,
}  # fmt: skip
IDS = torch.randint(3, 99, (2, 12), generator=torch.Generator().manual_seed(1))
MASK = torch.tensor([[1] * 12, [1] * 8 + [0] * 4])
NO_CACHE = {"use_cache": False}


def image(size: int = 32, batch: int = 1) -> torch.Tensor:
    return torch.randn(batch, 3, size, size, generator=torch.Generator().manual_seed(2))


Make = Callable[[], tuple[Any, tuple[Any, ...], dict[str, Any]]]


def text(kind: str, config: dict[str, Any], *, of: str = "Model", **kwargs: Any) -> Make:
    def make() -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
        built = getattr(transformers, kind + of)(getattr(transformers, kind + "Config")(**config))
        return built.eval(), (IDS,), kwargs

    return make


def vision(kind: str, config: dict[str, Any], *, of: str = "Model", size: int = 32, **kwargs: Any) -> Make:
    def make() -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
        built = getattr(transformers, kind + of)(getattr(transformers, kind + "Config")(**config))
        return built.eval(), (image(size),), kwargs

    return make


def seq2seq(kind: str, config: dict[str, Any], *, of: str = "Model", **inputs: Any) -> Make:
    def make() -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
        built = getattr(transformers, kind + of)(getattr(transformers, kind + "Config")(**config))
        return built.eval(), (), {"decoder_input_ids": IDS[:, :5], "use_cache": False, **inputs}

    return make


def clip() -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    ids = {"eos_token_id": 98, "bos_token_id": 1, "pad_token_id": 0}
    config = transformers.CLIPConfig(
        text_config={**TEXT, "projection_dim": 16, "max_position_embeddings": 20, **ids},
        vision_config={**VISION, "projection_dim": 16},
        projection_dim=16,
    )
    return transformers.CLIPModel(config).eval(), (IDS,), {"pixel_values": image(batch=2), "attention_mask": MASK}


def detr() -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    backbone = transformers.ResNetConfig(embedding_size=8, **STAGES, out_features=["stage4"])
    options = {"use_timm_backbone": False, "use_pretrained_backbone": False, "backbone": None}
    config = transformers.DetrConfig(backbone_config=backbone, **options, **SEQ2SEQ, num_queries=6)
    model = transformers.DetrForObjectDetection(config).eval()
    return model, (image(64),), {"pixel_mask": torch.ones(1, 64, 64, dtype=torch.long)}


def bert_bf16() -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    model = transformers.BertModel(transformers.BertConfig(**TEXT)).eval().to(torch.bfloat16)
    return model, (IDS,), {"attention_mask": MASK}


WAV2VEC2 = {
    **TEXT, "vocab_size": 32, "conv_dim": (16, 16), "conv_stride": (5, 2), "conv_kernel": (10, 3),
    "num_feat_extract_layers": 2, "num_conv_pos_embeddings": 8, "num_conv_pos_embedding_groups": 4,
}  # fmt: skip


def wav2vec2() -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    model = transformers.Wav2Vec2Model(transformers.Wav2Vec2Config(**WAV2VEC2)).eval()
    return model, (torch.randn(1, 400),), {}


WHISPER = {
    **SEQ2SEQ, "vocab_size": 100, "num_mel_bins": 8, "max_source_positions": 20, "pad_token_id": 0, "bos_token_id": 0,
    "eos_token_id": 0, "decoder_start_token_id": 0,
}  # fmt: skip
DEBERTA = {
    **TEXT, "relative_attention": True, "pos_att_type": ["p2c", "c2p"], "position_buckets": 8, "max_relative_positions": 16
}  # fmt: skip
T5 = {"d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4, "vocab_size": 100}
GPT2 = {"n_embd": 32, "n_layer": 2, "n_head": 4, "vocab_size": 100}
SWIN = {"image_size": 32, "patch_size": 2, "embed_dim": 16, "depths": [2, 2], "num_heads": [2, 4], "window_size": 4}
SEGFORMER = {**STAGES, "num_attention_heads": [1, 2, 2, 2], "decoder_hidden_size": 16}
MIXTRAL = {**GROUPED, "num_local_experts": 4, "num_experts_per_tok": 2}
MOBILEVIT = {
    "image_size": 64, "hidden_sizes": [16, 16, 16], "neck_hidden_sizes": [8, 8, 8, 16, 16, 16, 32], "num_attention_heads": 4
}  # fmt: skip

MODELS: dict[str, Make] = {
    "bert": text("Bert", TEXT, attention_mask=MASK),
    "bert_bf16": bert_bf16,
    "bert_eager": text("Bert", {**TEXT, "attn_implementation": "eager"}, attention_mask=MASK),
    "distilbert": text("DistilBert", {"dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 64, "vocab_size": 100}),
    "roberta": text("Roberta", TEXT, attention_mask=MASK),
    "albert": text("Albert", {**TEXT, "embedding_size": 16}, attention_mask=MASK),
    "electra": text("Electra", {**TEXT, "embedding_size": 16}),
    "deberta_v2": text("DebertaV2", DEBERTA, attention_mask=MASK),
    "mpnet": text("MPNet", TEXT, attention_mask=MASK),
    "modernbert": text("ModernBert", {**TEXT, "pad_token_id": 0}, attention_mask=MASK),
    "gpt2": text("GPT2", GPT2, of="LMHeadModel", **NO_CACHE),
    "gpt2_mask": text("GPT2", GPT2, of="LMHeadModel", attention_mask=MASK, **NO_CACHE),
    "gpt2_cache_out": text("GPT2", GPT2, of="LMHeadModel"),
    "bloom": text("Bloom", {"hidden_size": 32, "n_layer": 2, "n_head": 4, "vocab_size": 100}, of="ForCausalLM", **NO_CACHE),
    "gpt_neox": text("GPTNeoX", TEXT, of="ForCausalLM", **NO_CACHE),
    "llama": text("Llama", GROUPED, of="ForCausalLM", attention_mask=MASK, **NO_CACHE),
    "qwen2": text("Qwen2", GROUPED, of="ForCausalLM", **NO_CACHE),
    "qwen3": text("Qwen3", {**GROUPED, "head_dim": 8}, of="ForCausalLM", **NO_CACHE),
    "mistral": text("Mistral", {**GROUPED, "sliding_window": 4}, of="ForCausalLM", **NO_CACHE),
    "gemma2": text("Gemma2", {**GROUPED, "head_dim": 8, "sliding_window": 4}, of="ForCausalLM", **NO_CACHE),
    "phi3": text("Phi3", {**GROUPED, "pad_token_id": 0}, of="ForCausalLM", **NO_CACHE),
    "falcon": text("Falcon", TEXT, of="ForCausalLM", **NO_CACHE),
    "mixtral": text("Mixtral", MIXTRAL, of="ForCausalLM", **NO_CACHE),
    "mamba": text("Mamba", {"hidden_size": 32, "num_hidden_layers": 2, "vocab_size": 100, "state_size": 4}, **NO_CACHE),
    "t5": seq2seq("T5", T5, of="ForConditionalGeneration", input_ids=IDS, attention_mask=MASK),
    "bart": seq2seq("Bart", {**SEQ2SEQ, "vocab_size": 100}, input_ids=IDS),
    "whisper": seq2seq("Whisper", WHISPER, input_features=torch.randn(2, 8, 40)),
    "wav2vec2": wav2vec2,
    "vit": vision("ViT", VISION, of="ForImageClassification"),
    "beit": vision("Beit", {**VISION, "vocab_size": 100, "use_relative_position_bias": True}),
    "dinov2": vision("Dinov2", {key: value for key, value in VISION.items() if key != "intermediate_size"}),
    "siglip": vision("SiglipVision", VISION),
    "swin": vision("Swin", SWIN, of="ForImageClassification"),
    "swin_v2": vision("Swinv2", SWIN),
    "convnext": vision("ConvNext", STAGES, of="ForImageClassification", size=64),
    "resnet": vision("ResNet", {"embedding_size": 8, **STAGES}, of="ForImageClassification", size=64),
    "regnet": vision("RegNet", {"embedding_size": 8, **STAGES, "groups_width": 4}, size=64),
    "mobilenet_v2": vision("MobileNetV2", {"depth_multiplier": 0.25}, size=64),
    "mobilevit": vision("MobileViT", MOBILEVIT, size=64),
    "segformer": vision("Segformer", SEGFORMER, of="ForSemanticSegmentation", size=64),
    "yolos": vision("Yolos", {**VISION, "image_size": [32, 32], "num_detection_tokens": 5}, of="ForObjectDetection"),
    "clip": clip,
    "detr": detr,
}


@pytest.mark.parametrize("name", MODELS)
def test_model(name: str) -> None:
    model, args, kwargs = MODELS[name]()
    result = check(model, args, kwargs, tolerance=5e-2 if name.endswith("bf16") else 2e-4)
    assert result.made_from["transformers"] == transformers.__version__
    assert result.outputs[0].name not in ("output", "output_0")  # the names of the model's own output class


def test_bert_reads_like_its_source() -> None:
    model, args, kwargs = MODELS["bert"]()
    counts = {name: names(result).count(name) for result in [check(model, args, kwargs)] for name in set(names(result))}
    assert counts["scaled_dot_product_attention"] == 2
    assert counts["linear"] == 13
    assert counts["layer_norm"] == 5
    assert counts["where"] == 1  # one additive mask for all layers
    assert counts["embedding"] == 1  # positions and token types are slices of their tables
    assert sum(counts.values()) <= 62  # with a sink for each attention, whose mask may leave a row without keys


def test_causal_masks_become_flags() -> None:
    model, args, kwargs = MODELS["gpt2"]()
    assert not {"where", "le", "logical_and", "cumsum"} & set(names(check(model, args, kwargs)))


@pytest.mark.parametrize("kind", ["Llama", "Qwen2"])
def test_static_cache(kind: str) -> None:
    from transformers.integrations.executorch import TorchExportableModuleWithStaticCache

    model = getattr(transformers, kind + "ForCausalLM")(getattr(transformers, kind + "Config")(**GROUPED)).eval()
    model.generation_config = transformers.GenerationConfig(
        use_cache=True,
        cache_implementation="static",
        max_length=16,
        cache_config={"batch_size": 1, "max_cache_len": 16},
    )
    wrapped = TorchExportableModuleWithStaticCache(model, batch_size=1, max_cache_len=16, device=torch.device("cpu"))
    result = check(wrapped, (), {"input_ids": torch.tensor([[5]]), "cache_position": torch.tensor([3])})
    written = {output.mutates for output in result.outputs if output.mutates}
    assert {f"{what}_cache_{layer}" for what in ("key", "value") for layer in (0, 1)} <= written
    assert written <= {argument.name for argument in result.arguments}


def test_diffusion_unet_and_vae() -> None:
    diffusers = pytest.importorskip("diffusers")
    unet = diffusers.UNet2DConditionModel(
        block_out_channels=(8, 16), layers_per_block=1, sample_size=8, in_channels=4, out_channels=4,
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"), up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
        cross_attention_dim=16, attention_head_dim=4, norm_num_groups=4,
    ).eval()  # fmt: skip
    check(unet, (torch.randn(1, 4, 8, 8), torch.tensor(3), torch.randn(1, 5, 16)))
    vae = diffusers.AutoencoderKL(
        block_out_channels=(8, 16), layers_per_block=1, down_block_types=("DownEncoderBlock2D",) * 2,
        up_block_types=("UpDecoderBlock2D",) * 2, latent_channels=4, norm_num_groups=4, sample_size=16,
    ).eval()  # fmt: skip
    check(vae.decode, (torch.randn(1, 4, 8, 8),))
