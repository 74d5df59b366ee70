"""`tt_lib.utils`: host tensors padded to whole tiles, and roundings, as older programs call them."""

from __future__ import annotations

from typing import Any

import torch

TILE_EDGE = 32


def divup(a: int, b: int) -> int:
    """a / b, rounded up."""
    return (a + b - 1) // b


def roundup(a: int, b: int) -> int:
    """The multiple of b at or above a."""
    return divup(a, b) * b


def roundup32(a: int) -> int:
    """The multiple of a tile's edge at or above a."""
    return roundup(a, TILE_EDGE)


_nearest_32, _nearest_y = roundup32, roundup  # names that older tests import


def tilize(x: Any) -> Any:
    """The values as they are: tensors arrange them by themselves."""
    return x


untilize = tilize  # as above


def tilize_to_list(x: Any) -> list[float]:
    """All values of a torch tensor in order."""
    values: list[float] = x.reshape(-1).tolist()
    return values


def _padded(x: Any, shape: tuple[int, ...]) -> Any:
    """`x` as `shape`, with zeros behind its last two dimensions up to whole tiles. float32, as in the real package."""
    result = torch.zeros(*shape[:-2], roundup32(shape[-2]), roundup32(shape[-1]))
    result[..., : shape[-2], : shape[-1]] = x.reshape(shape)
    return result


def _check(x: Any) -> None:
    assert isinstance(x, torch.Tensor), "Input to this function must be an instance of torch.Tensor"
    assert 1 <= x.dim() <= 4, "Only tensors with dimension 1-4 supported"


def pad_activation(x: Any) -> Any:
    """A torch tensor padded to tiles, rank 4: a vector [C] becomes [1, 1, 32, C'], rows [N, C] become [N, 1, 32, C'], [N, H, W] gets a channel."""
    _check(x)
    shape = tuple(x.shape)
    leads = {1: (1, 1, 1, *shape), 2: (shape[0], 1, 1, shape[-1]), 3: (shape[0], 1, *shape[1:]), 4: shape}
    return _padded(x, leads[x.dim()])


def pad_weight(x: Any) -> Any:
    """A torch tensor padded to tiles: a vector [C] becomes [1, 1, 32, C'], a matrix [1, 1, R', C'], others keep their rank."""
    _check(x)
    shape = tuple(x.shape)
    leads = {1: (1, 1, 1, *shape), 2: (1, 1, *shape)}
    return _padded(x, leads.get(x.dim(), shape))
