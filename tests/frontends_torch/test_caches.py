"""Caches of transformers as outputs and inputs, and batches padded on the left."""

from __future__ import annotations

import os
from typing import Any

import pytest
import torch
from torch_checking import check

from alchemist.frontends.torch import capture
from tests.used_later import used_later

os.environ |= {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_VERBOSITY": "error"}
transformers = used_later("transformers")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

TEXT: dict[str, Any] = {
    "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 64, "vocab_size": 100
}  # fmt: skip
T5 = {"d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4, "vocab_size": 100}
IDS = torch.randint(3, 99, (2, 12), generator=torch.Generator().manual_seed(1))


def decoder(kind: str = "Llama", **config: Any) -> torch.nn.Module:
    torch.manual_seed(0)
    return getattr(transformers, kind + "ForCausalLM")(getattr(transformers, kind + "Config")(**TEXT, **config)).eval()


def test_cache_of_encoder_and_decoder_is_an_output() -> None:
    model = transformers.T5ForConditionalGeneration(transformers.T5Config(**T5)).eval()
    result = check(model, (), {"input_ids": IDS, "decoder_input_ids": IDS[:, :5]}, tolerance=2e-4)
    names = {output.name for output in result.outputs}
    assert {f"past_key_values.{part}_attention_cache.keys.{layer}" for part in ("self", "cross") for layer in (0, 1)} <= names


def test_growing_cache_is_an_input_and_stays_as_it_was() -> None:
    model = decoder()
    with torch.no_grad():
        past = model(IDS, use_cache=True).past_key_values
    kwargs = {"input_ids": IDS[:, :1], "past_key_values": past, "use_cache": True}
    result = check(model, (), kwargs, tolerance=2e-4)
    assert past.get_seq_length() == 12
    shapes = {output.name: output.shape for output in result.outputs}
    assert shapes["past_key_values.keys.0"] == (2, 2, 13, 8)


@pytest.mark.parametrize("length", [1, 4])
def test_static_cache_as_an_input_is_written(length: int) -> None:
    model = decoder()
    cache = transformers.StaticCache(config=model.config, max_cache_len=16)
    with torch.no_grad():
        model(IDS[:1, :6], past_key_values=cache, use_cache=True)
    before = cache.layers[0].keys.clone()
    kwargs = {"input_ids": IDS[:1, 6 : 6 + length], "past_key_values": cache, "position_ids": torch.arange(6, 6 + length)[None]}
    result = check(model, (), kwargs, tolerance=2e-4)
    assert torch.equal(cache.layers[0].keys, before)
    assert {"past_key_values.keys.0", "past_key_values.values.1"} <= {output.mutates for output in result.outputs}


def test_states_of_recurrent_layers_are_outputs() -> None:
    config = transformers.MambaConfig(hidden_size=32, num_hidden_layers=1, vocab_size=100, state_size=4)
    result = check(transformers.MambaForCausalLM(config).eval(), (), {"input_ids": IDS[:1, :8]}, tolerance=2e-4)
    assert [output.name for output in result.outputs[1:]] == ["cache_params.conv_states.0", "cache_params.recurrent_states.0"]


def test_rows_without_a_key_give_zeros_as_in_torch() -> None:
    mask = torch.tensor([[1] * 12, [0] * 5 + [1] * 7])
    check(decoder(), (), {"input_ids": IDS, "attention_mask": mask, "use_cache": False}, tolerance=2e-4)


def test_masks_of_whole_columns_need_no_check_of_rows() -> None:
    config = transformers.BertConfig(**{key: value for key, value in TEXT.items() if key != "num_key_value_heads"})
    result = capture(transformers.BertModel(config).eval(), (), {"input_ids": IDS, "attention_mask": torch.ones_like(IDS)})
    assert "reduce_or" not in {op.name.removeprefix("ttir.") for op in result.module.walk()}
