"""While a model is exported: numbers of its buffers are their values, and 0-d tensors may stand as indices of an assignment."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

_AS: dict[str, Callable[[Any], Any]] = {"item": lambda value: value, "__bool__": bool, "__int__": int, "__float__": float, "__index__": operator.index}


@contextmanager
def values_at_export(model: torch.nn.Module | None) -> Iterator[set[str]]:
    """`if self.flag`, `range(self.count)` and `self.scale.item()` read the values of the model's buffers of one element.

    Yields the names of the buffers that were read: those must not be written by the model. Without a model none is read.
    """
    places = _single_values(model) if model is not None else []
    read: set[str] = set()

    def known(tensor: torch.Tensor) -> Any:
        for name, owner, key, value in places:
            if owner._buffers.get(key) is tensor:
                read.add(name)
                return value
        return None

    original = {name: getattr(torch.Tensor, name) for name in (*_AS, "__setitem__")}

    def reader(name: str) -> Callable[..., Any]:
        def call(self: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
            value = known(self)
            return original[name](self, *args, **kwargs) if value is None else _AS[name](value)

        return call

    def assign(self: torch.Tensor, index: Any, value: Any) -> None:
        original["__setitem__"](self, *_with_lists(self, index, value))

    own = {name: name in vars(torch.Tensor) for name in original}
    for name in _AS:
        setattr(torch.Tensor, name, reader(name))
    torch.Tensor.__setitem__ = assign
    try:
        with _MixedIndices():
            yield read
    finally:
        for name, function in original.items():
            if own[name]:
                setattr(torch.Tensor, name, function)
            else:
                delattr(torch.Tensor, name)


def _single_values(model: torch.nn.Module) -> list[tuple[str, torch.nn.Module, str, Any]]:
    """(name, module, key, value) of the buffers of one element."""
    return [
        (f"{path}.{key}" if path else key, module, key, value.item())
        for path, module in model.named_modules()
        for key, value in module._buffers.items()
        if value is not None and value.numel() == 1 and value.device.type != "meta"
    ]


class _MixedIndices(TorchFunctionMode):  # type: ignore[misc]
    """What torch.export cannot trace as PyTorch runs it: 0-d indices beside other tensors, whose values it reads, and covariances."""

    def __torch_function__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None) -> Any:
        if func is torch.Tensor.__getitem__:
            args = (args[0], _with_one_of(args[1]))
        if func in _STATISTICS and not {"fweights", "aweights"} & set(kwargs or {}):
            return _STATISTICS[func](*args, **(kwargs or {}))
        return func(*args, **(kwargs or {}))


def _covariance(x: torch.Tensor, *, correction: int = 1) -> torch.Tensor:
    """torch.cov of rows of samples; its own code branches on the sum of weights, which nobody gave."""
    rows = x if x.dim() == 2 else x.reshape(1, -1)
    centred = rows - rows.mean(1, keepdim=True)
    return (centred @ centred.T / max(rows.shape[1] - correction, 0)).squeeze()


def _correlation(x: torch.Tensor) -> torch.Tensor:
    covariance = _covariance(x)
    if covariance.dim() == 0:
        return covariance / covariance
    deviation = covariance.diagonal().sqrt()
    return (covariance / deviation[:, None] / deviation[None]).clamp(-1, 1)


_STATISTICS = {torch.cov: _covariance, torch.Tensor.cov: _covariance, torch.corrcoef: _correlation, torch.Tensor.corrcoef: _correlation}


def _is_place(index: Any) -> bool:
    return isinstance(index, torch.Tensor) and index.dim() == 0 and index.dtype not in (torch.bool, torch.uint8)


def _with_one_of(index: Any) -> Any:
    """x[rows, step] of tensors side by side, one of them 0-d: that becomes a list of one, which broadcasts with the others."""
    items = list(index) if isinstance(index, tuple) else []
    tensors = [place for place, item in enumerate(items) if isinstance(item, torch.Tensor)]
    if not any(_is_place(items[place]) for place in tensors) or all(_is_place(items[place]) for place in tensors):
        return index
    if tensors != list(range(tensors[0], tensors[0] + len(tensors))) or any(items[place].dtype in (torch.bool, torch.uint8) for place in tensors):
        return index
    return tuple(item.reshape(1) if _is_place(item) else item for item in items)


def _with_lists(x: torch.Tensor, index: Any, value: Any) -> tuple[Any, Any]:
    """The assignment with one 0-d index as a list of one: torch.export asks such an index for its number."""
    items = list(index) if isinstance(index, tuple) else [index]
    places = [i for i, item in enumerate(items) if _is_place(item)]
    others = [item for i, item in enumerate(items) if i not in places]
    if len(places) != 1 or not all(item is None or item is Ellipsis or isinstance(item, slice | int) for item in others):
        return index, value
    place = places[0]
    behind = [item for item in items[place + 1 :] if item is not Ellipsis]
    indexed_count = sum(item is not None for item in items if item is not Ellipsis)
    kept_count = sum(not isinstance(item, int) for item in behind)  # dimensions of the result behind the index
    if Ellipsis not in items[:place]:
        kept_count += x.dim() - indexed_count
    items[place] = items[place].reshape(1)
    if any(isinstance(item, int) for item in others):  # torch would move the list's dimension in front
        items = [slice(item, item + 1 or None) if isinstance(item, int) else item for item in items]
        return tuple(items), _raised(value, items, others, x)
    if isinstance(value, torch.Tensor) and value.dim() > kept_count:
        value = value.unsqueeze(value.dim() - kept_count)
    return tuple(items), value


def _raised(value: Any, items: list[Any], others: list[Any], x: torch.Tensor) -> Any:
    """`value` reshaped to the dimensions that the indexed part has, where it has all of those that numbers do not drop."""
    if not isinstance(value, torch.Tensor) or value.dim() == 0:
        return value
    return value.reshape(x[tuple(items)].shape)
