"""Text generation by transformers' models over static caches: the modules behind `alchemist.text_generation`."""

from __future__ import annotations

import copy
from typing import Any

import torch
from transformers import DynamicCache, EncoderDecoderCache, GenerationConfig, StaticCache
from transformers.cache_utils import StaticLayer
from transformers.integrations.executorch import TorchExportableModuleWithStaticCache, get_head_shapes

from alchemist.entry_points import EntryPoint
from alchemist.errors import FrontendError

EXAMPLE_POSITION = 4
"""Position of a decoder's example step: behind a few tokens."""


class CausalText(TorchExportableModuleWithStaticCache):  # type: ignore[misc]
    """A decoder over static caches. Without `cache_position` the tokens are those from position 0 on."""

    def __init__(self, model: Any, users: int, length: int) -> None:
        before = model.generation_config
        model.generation_config = GenerationConfig(use_cache=True, cache_implementation="static")
        try:
            super().__init__(model, batch_size=users, max_cache_len=length, device=model.device)
        finally:
            model.generation_config = before
        self.train(model.training)

    def forward(self, input_ids: torch.Tensor, cache_position: torch.Tensor | None = None) -> torch.Tensor:
        """[users, tokens] ids, position of the first -> logits [users, tokens, vocabulary]."""
        positions = torch.arange(input_ids.shape[1], device=input_ids.device) if cache_position is None else cache_position
        logits: torch.Tensor = super().forward(input_ids, None, positions)
        return logits


class EncodedText(torch.nn.Module):  # type: ignore[misc]
    """An encoder, and a step of its decoder over static caches of the decoder's own tokens."""

    def __init__(self, model: Any, users: int, length: int) -> None:
        super().__init__()
        self.model = model
        decoder = copy.copy(model.config.get_text_config(decoder=True))
        self.caches = StaticCache(config=decoder, max_cache_len=length)
        self.caches.layers = [StaticLayer(length) for _ in self.caches.layers]
        heads, size = get_head_shapes(decoder)
        self.caches.early_initialization(users, heads, size, model.dtype, model.device)
        for number, layer in enumerate(self.caches.layers):
            self.register_buffer(f"key_cache_{number}", layer.keys, persistent=False)
            self.register_buffer(f"value_cache_{number}", layer.values, persistent=False)
            self.register_buffer(f"cumulative_length_{number}", layer.cumulative_length, persistent=False)
        self.train(model.training)

    def encode(self, input_ids: torch.Tensor) -> dict[str, torch.Tensor]:
        """[users, tokens] ids of the text -> hidden states [users, tokens, width]."""
        return {"encoder_hidden_states": self.model.get_encoder()(input_ids=input_ids).last_hidden_state}

    def decode(self, decoder_input_ids: torch.Tensor, encoder_hidden_states: torch.Tensor, cache_position: torch.Tensor) -> torch.Tensor:
        """[users, 1] ids and their position -> logits [users, 1, vocabulary]."""
        for layer in self.caches.layers:
            layer.cumulative_length.copy_(cache_position[0])
        caches = EncoderDecoderCache(self.caches, DynamicCache(config=self.model.config))
        logits: torch.Tensor = self.model(
            encoder_outputs=(encoder_hidden_states,), decoder_input_ids=decoder_input_ids, past_key_values=caches, use_cache=True
        ).logits
        return logits


def _start(model: Any) -> int:
    """The token that an answer begins with, as `generate` finds it."""
    places = (model.generation_config, model.config)
    found = [getattr(place, name, None) for name in ("decoder_start_token_id", "bos_token_id", "pad_token_id") for place in places]
    return next((token for token in found if isinstance(token, int)), 0)


def entry_points(model: Any, encoded: bool, prompt: int, length: int, users: int) -> dict[str, EntryPoint]:
    """As `alchemist.text_generation`, with checked arguments. The caches hold the example prompt, so that the step is judged over filled ones."""
    vocabulary = model.config.get_text_config(decoder=True).vocab_size
    ids = (torch.arange(users * prompt, device=model.device).reshape(users, prompt) * 31 + 7) % vocabulary
    try:
        steps = EncodedText(model, users, length) if encoded else CausalText(model, users, length)
        with torch.no_grad():
            if isinstance(steps, CausalText):
                steps(ids)
                decode = EntryPoint(steps, ids[:, -1:], torch.tensor([prompt], device=model.device))
                return {"prefill": EntryPoint(steps, ids), "decode": decode}
            states = steps.encode(ids)["encoder_hidden_states"]
            start = torch.full((users, 1), _start(model), device=model.device)
            for position in range(EXAMPLE_POSITION):
                steps.decode(start, states, torch.tensor([position], device=model.device))
            return {
                "encode": EntryPoint(steps.encode, ids),
                "decode": EntryPoint(steps.decode, start, states, torch.tensor([EXAMPLE_POSITION], device=model.device)),
            }
    except (AttributeError, NotImplementedError, RuntimeError, TypeError, ValueError) as error:
        raise FrontendError(
            "the model does not run with static caches", got=f"{type(error).__name__}: {error}", hint="export its forward pass without caches instead"
        ) from error
