"""Entry points of language models: a prompt as a whole, then a token at a time, over caches that both write."""

from __future__ import annotations

import importlib
from typing import Any

from alchemist.entry_points import EntryPoint
from alchemist.errors import FrontendError, OptionError, explained, quoted

TILE_EDGE = 32


@explained
def text_generation(model: Any, *, prompt_tokens: int = 128, total_tokens: int = 1024, users: int = 1) -> dict[str, EntryPoint]:
    """Entry points that generate text with a model of transformers, for `codegen_py(model, entry_points=...)`; `./run --generate` then loops.

    A model that only decodes gets `prefill` (a prompt, shorter ones are filled up) and `decode` (a token at a position), one with an encoder
    `encode` (a text of exactly `prompt_tokens`) and `decode`. Caches are static, [users, heads, total_tokens, head size], float type of the model.

    Args:
        prompt_tokens: of `prefill` or `encode`; of `prefill` best a multiple of 32, whose rows go into the caches in place.
        total_tokens: positions of the caches: prompt and answer; a multiple of 32.
        users: prompts at a time.

    Raises:
        OptionError: sizes that do not fit. FrontendError: no model of transformers, or one without static caches.
    """
    for name, value, least in (("prompt_tokens", prompt_tokens, 1), ("total_tokens", total_tokens, 1), ("users", users, 1)):
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise OptionError(f"bad {name}", expected=f"a whole number from {least}", got=quoted(value))
    config = getattr(model, "config", None)
    if config is None or not hasattr(model, "generation_config"):
        raise FrontendError("not a language model of transformers", expected="a model with `generate`, such as LlamaForCausalLM", got=type(model).__name__)
    encoded = bool(getattr(config, "is_encoder_decoder", False))
    if not encoded and prompt_tokens >= total_tokens:
        raise OptionError("the prompt leaves no room in the caches", expected=f"prompt_tokens below total_tokens, {total_tokens}", got=quoted(prompt_tokens))
    if total_tokens % TILE_EDGE:
        raise OptionError("bad total_tokens", expected="a multiple of 32, because the program updates caches tile by tile", got=quoted(total_tokens))
    made: dict[str, EntryPoint] = importlib.import_module("alchemist.generation_torch").entry_points(model, encoded, prompt_tokens, total_tokens, users)
    return made
