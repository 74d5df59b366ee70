"""Objects of model libraries that are inputs or outputs: their tensors become leaves of the pytree.

Key-value caches and recurrent states of transformers, the latent distributions that diffusers' encoders return.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Iterator
from typing import Any

import torch
from torch.utils import _pytree as pytree

_DISTRIBUTIONS = ("DiagonalGaussianDistribution", "OobleckDiagonalGaussianDistribution")
_PAIR = ["self_attention_cache", "cross_attention_cache"]


def register() -> None:
    """Registers the cache classes of loaded libraries; transformers' own registration of DynamicCache stays if it was first."""
    _register_distribution()
    module = sys.modules.get("transformers.cache_utils")
    base = getattr(module, "Cache", None)
    if base is None:
        return
    for value in list(vars(module).values()):
        if isinstance(value, type) and issubclass(value, base) and value is not base:
            _register(value, pair=value.__name__ == "EncoderDecoderCache")


def _register_distribution() -> None:
    """The distributions that diffusers' autoencoders encode to: their parameters are the output."""
    for name, module in list(sys.modules.items()):
        if name.startswith("diffusers.models.autoencoders."):
            for kind in list(vars(module).values()):
                if isinstance(kind, type) and kind.__name__ in _DISTRIBUTIONS and kind not in pytree.SUPPORTED_NODES:
                    _register_parameters(kind)


def _register_parameters(kind: Any) -> None:
    def flatten(value: Any) -> tuple[list[Any], Any]:
        return [value.parameters], [["parameters"], value.deterministic]

    pytree.register_pytree_node(
        kind,
        flatten,
        lambda values, context: kind(next(iter(values)), deterministic=context[1]),
        serialized_type_name=f"{kind.__module__}.{kind.__name__}",
        flatten_with_keys_fn=lambda value: _with_keys(*flatten(value)),
    )


def _register(kind: type, pair: bool) -> None:
    if kind in pytree.SUPPORTED_NODES:
        return
    flatten, unflatten = (_flatten_pair, _unflatten_pair) if pair else (_flatten, _unflatten)
    pytree.register_pytree_node(
        kind,
        flatten,
        unflatten,
        serialized_type_name=f"{kind.__module__}.{kind.__name__}",
        flatten_with_keys_fn=lambda cache: _with_keys(*flatten(cache)),
    )


def _with_keys(values: list[Any], context: Any) -> tuple[list[tuple[Any, Any]], Any]:
    names = context if isinstance(context, list) and context and isinstance(context[0], str) else context[0]
    return [(pytree.MappingKey(name), value) for name, value in zip(names, values, strict=True)], context


def _flatten_pair(cache: Any) -> tuple[list[Any], Any]:
    return [getattr(cache, name) for name in _PAIR], _PAIR


def _unflatten_pair(values: Any, context: Any) -> Any:
    from transformers import EncoderDecoderCache

    return EncoderDecoderCache(*values)


class _Shell:
    """A cache without its tensors. Two are equal when their layers have the same types and the same tensors."""

    def __init__(self, cache: Any, places: list[tuple[int, str, Any]]) -> None:
        self.places = places
        self.kinds = [type(layer).__name__ for layer in cache.layers]
        self.cache = _copied(cache)
        for place in places:
            _put(self.cache, place, None)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Shell) and (self.kinds, self.places) == (other.kinds, other.places)

    __hash__ = None  # type: ignore[assignment]


def _copied(cache: Any) -> Any:
    """The cache and its layers anew, holding the same tensors."""
    out = copy.copy(cache)
    out.layers = [copy.copy(layer) for layer in cache.layers]
    for layer in out.layers:
        for name, value in vars(layer).items():
            if isinstance(value, (dict, list)):
                setattr(layer, name, copy.copy(value))
    return out


def _tensors(cache: Any) -> Iterator[tuple[tuple[int, str, Any], torch.Tensor]]:
    """((layer, attribute, key in it or None), tensor) in order."""
    for position, layer in enumerate(cache.layers):
        for name, value in vars(layer).items():
            if isinstance(value, torch.Tensor):
                yield (position, name, None), value
            elif isinstance(value, (dict, list)):
                for key, part in value.items() if isinstance(value, dict) else enumerate(value):
                    if isinstance(part, torch.Tensor):
                        yield (position, name, key), part


def _put(cache: Any, place: tuple[int, str, Any], value: Any) -> None:
    position, name, key = place
    layer = cache.layers[position]
    if key is None:
        setattr(layer, name, value)
    else:
        getattr(layer, name)[key] = value


def _flatten(cache: Any) -> tuple[list[Any], Any]:
    tensors = list(_tensors(cache))
    single = {(position, name) for (position, name, key), _ in tensors if key is not None and key != 0}
    names = [f"{name}.{position}" if key is None or (position, name) not in single else f"{name}.{position}.{key}" for (position, name, key), _ in tensors]
    return [value for _, value in tensors], [names, _Shell(cache, [place for place, _ in tensors])]


def _unflatten(values: Any, context: Any) -> Any:
    shell: _Shell = context[1]
    out = _copied(shell.cache)
    for place, value in zip(shell.places, values, strict=True):
        _put(out, place, value)
    return out
