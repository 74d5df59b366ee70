"""Values that take two tensors: the graph of an op as a function of both."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import fx

from alchemist.frontends.torch import decompose
from alchemist.frontends.torch.complex_numbers import Pair
from alchemist.frontends.torch.emitter import Tensor
from alchemist.frontends.torch.errors import Unsupported
from alchemist.frontends.torch.integer_words import Words, split
from alchemist.frontends.torch.wide_integers import beyond

PAIRS = (Pair, Words)


class _Place(NamedTuple):
    """Represents a tensor argument of a trace."""

    position: int


def traced_in_parts(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], lowering: Any) -> tuple[fx.GraphModule, list[Tensor]]:
    """The graph of `function(*args, **kwargs)` with `Pair`s and `Words` of tensors, and its arguments.

    Raises:
        Unsupported: the function has no graph for these arguments.
    """
    tensors: list[Tensor] = []

    def note(leaf: Any) -> Any:
        """Values of two parts as pairs of places in `tensors`, others as places."""
        if isinstance(leaf, Tensor) and leaf.dtype.is_complex:
            if leaf.const is None:
                raise Unsupported("a complex argument")
            leaf = Pair(*(lowering.constant(part) for part in torch.view_as_real(leaf.const.resolve_conj()).unbind(-1)))
        elif isinstance(leaf, Tensor) and leaf.const is not None and beyond(leaf.const) is not None:
            leaf = Words(*map(lowering.constant, split(leaf.const)))
        if isinstance(leaf, PAIRS):
            return type(leaf)(*map(note, leaf))
        if isinstance(leaf, Tensor):
            tensors.append(leaf)
            return _Place(len(tensors) - 1)
        return leaf

    def call(*values: torch.Tensor) -> Any:
        def fill(leaf: Any) -> Any:
            return values[leaf.position] if isinstance(leaf, _Place) else leaf

        return function(*_mapped(places, fill), **_mapped(named, fill))

    places, named = _mapped(args, note), _mapped(kwargs, note)
    traced = decompose.trace(call, tuple(tensors), {}, lowering.fake_mode, is_tensor=lambda leaf: isinstance(leaf, Tensor))
    return traced, tensors


def _mapped(part: Any, change: Callable[[Any], Any]) -> Any:
    """Applies `change` to each leaf of nested tuples, lists and dicts. A pair is one leaf; a pair of places is two."""
    if isinstance(part, PAIRS) and isinstance(part[0], _Place):
        return type(part)(*map(change, part))
    if isinstance(part, (tuple, list)) and not isinstance(part, (torch.Size, _Place, *PAIRS)):
        return type(part)([_mapped(child, change) for child in part])
    if isinstance(part, dict):
        return {key: _mapped(child, change) for key, child in part.items()}
    return change(part)
