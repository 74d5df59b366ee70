"""While a model is exported: values that depend on its buffers and constants alone are known, and 0-d tensors may stand as indices of an assignment."""

from __future__ import annotations

import itertools
import operator
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from torch._C._functorch import peek_interpreter_stack
from torch.overrides import TorchFunctionMode
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import _disable_current_modes
from torch.utils.weak import WeakTensorKeyDictionary

KNOWN_LIMIT = 1 << 18
"""Elements up to which a value is followed."""
_AS: dict[str, Callable[[Any], Any]] = {
    "item": torch.Tensor.item, "tolist": torch.Tensor.tolist, "__bool__": bool, "__int__": int, "__float__": float, "__index__": operator.index,
}  # fmt: skip
_FACTORIES = frozenset("arange tensor as_tensor zeros ones full eye linspace triu_indices tril_indices".split())
_BY_VALUES = frozenset("nonzero argwhere where unique unique_consecutive bincount".split())
"""Functions whose results have shapes that depend on the values of their operands."""
_RANDOM = re.compile("rand|normal|bernoulli|multinomial|dropout|uniform|exponential|geometric|cauchy|poisson|empty|rrelu")


_SHIFTS = (torch.Tensor.__lshift__, torch.Tensor.__rshift__)
"""torch.export refuses them of booleans, which PyTorch shifts as whole numbers."""


@contextmanager
def values_at_export(model: torch.nn.Module | None) -> Iterator[set[str]]:
    """`if self.flag`, `x[self.mask]`, `range(self.count)` and `lengths.tolist()` read the values of buffers and constants.

    Yields the names of the buffers that were read: those must not be written by the model. Without a model no buffer is read.
    """
    values = _KnownValues(model)
    original = {name: getattr(torch.Tensor, name) for name in (*_AS, "__setitem__")}

    def reader(name: str) -> Callable[..., Any]:
        def call(self: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
            value = values.read_of(self)
            if value is None:
                return original[name](self, *args, **kwargs)
            with _disable_current_modes():
                return original[name](value)

        return call

    def assign(self: torch.Tensor, index: Any, value: Any) -> None:
        original["__setitem__"](self, *_with_lists(self, index, value))

    assign.__name__ = "__setitem__"  # torch hands this function to `_Calls`
    own = {name: name in vars(torch.Tensor) for name in original}
    for name in _AS:
        setattr(torch.Tensor, name, reader(name))
    torch.Tensor.__setitem__ = assign
    try:
        with _Calls(values):
            yield values.read
    finally:
        for name, function in original.items():
            if own[name]:
                setattr(torch.Tensor, name, function)
            else:
                delattr(torch.Tensor, name)


class _Known(NamedTuple):
    """value: a real tensor. buffers: names of the buffers that it is computed from."""

    value: torch.Tensor
    buffers: frozenset[str]


class _KnownValues:
    """The values of the traced tensors that depend on constants and buffers alone: each call on them is computed on real tensors, too."""

    def __init__(self, model: torch.nn.Module | None) -> None:
        self.read: set[str] = set()
        self._known: Any = WeakTensorKeyDictionary()
        self._buffers = [
            (f"{path}.{key}" if path else key, module, key, value)
            for path, module in (model.named_modules() if model is not None else ())
            for key, value in module._buffers.items()
            if value is not None and value.numel() <= KNOWN_LIMIT and value.device.type != "meta"
        ]

    def find(self, tensor: torch.Tensor) -> _Known | None:
        if tensor not in self._known:
            buffer = next((place for place in self._buffers if place[1]._buffers.get(place[2]) is tensor), None)
            with _disable_current_modes():
                self._known[tensor] = None if buffer is None else _Known(buffer[3].detach().clone(), frozenset([buffer[0]]))
        return self._known[tensor]  # type: ignore[no-any-return]

    def read_of(self, tensor: torch.Tensor) -> torch.Tensor | None:
        """The value of a tensor on which the traced program now depends; None where it is not known."""
        known = self.find(tensor)
        if known is None:
            return None
        self.read |= known.buffers
        return known.value

    def constant(self, value: torch.Tensor) -> torch.Tensor:
        """A constant of the traced program."""
        with _disable_current_modes():
            numbers = value.tolist()
        traced = torch.tensor(numbers, dtype=value.dtype)
        self._known[traced] = _Known(value, frozenset())
        return traced

    def follow(self, function: Any, args: Any, kwargs: Any, result: Any) -> None:
        """Computes the values of a call's results where those of its operands are known."""
        name = getattr(function, "__name__", "")
        operands = [leaf for leaf in pytree.tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]
        results = [leaf for leaf in pytree.tree_leaves(result) if isinstance(leaf, torch.Tensor)]
        written = args[:1] if name == "__setitem__" or (name.endswith("_") and not name.endswith("__")) or re.match("__i[a-z]+__$", name) else []
        written = [*written, *(leaf for leaf in pytree.tree_leaves(kwargs.get("out")) if isinstance(leaf, torch.Tensor))]
        if not (results or written) or not (operands or name in _FACTORIES):
            return
        known = [self.find(operand) for operand in operands]
        large = any(leaf.numel() > KNOWN_LIMIT for leaf in results if all(isinstance(size, int) for size in leaf.shape))
        if any(one is None for one in known) or large or _RANDOM.search(name):
            for target in written:
                self._forget(target)
            return
        computed = self.compute(function, args, kwargs)
        parts = [leaf for leaf in pytree.tree_leaves(computed) if isinstance(leaf, torch.Tensor)]
        buffers = frozenset().union(*(one.buffers for one in known if one is not None))
        for leaf, value in zip(results, parts, strict=False):
            self._known[leaf] = _Known(value, buffers)
        if computed is None and name != "__setitem__":
            for target in written:
                self._forget(target)

    def compute(self, function: Any, args: Any, kwargs: Any) -> Any:
        """The call on real tensors; None where PyTorch cannot."""

        def real(leaf: Any) -> Any:
            known = self.find(leaf) if isinstance(leaf, torch.Tensor) else None
            return leaf if known is None else known.value

        args, kwargs = pytree.tree_map(real, (args, kwargs))
        with _disable_current_modes(), torch.no_grad():
            try:
                return function(*args, **kwargs)
            except Exception:  # noqa: BLE001 - the traced call reports it
                return None

    def _forget(self, tensor: torch.Tensor) -> None:
        """Forgets the value of a tensor into which an unknown value was written, and of its views."""
        known = self.find(tensor)
        if known is not None:
            memory = known.value.untyped_storage().data_ptr()
            for other, entry in list(self._known.items()):
                if entry is not None and entry.value.untyped_storage().data_ptr() == memory:
                    self._known[other] = None


class _Calls(TorchFunctionMode):  # type: ignore[misc]
    """What torch.export cannot trace as PyTorch runs it: results whose shape depends on known values, 0-d indices beside other tensors, covariances."""

    def __init__(self, values: _KnownValues) -> None:
        super().__init__()
        self.values = values

    def __torch_function__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None) -> Any:
        kwargs = kwargs or {}
        if peek_interpreter_stack() is not None:  # inside vmap or a gradient, where a real tensor is none of its batch
            return func(*args, **kwargs)
        if func is torch.Tensor.__getitem__:
            args = (args[0], self._with_places(_with_one_of(args[1])))
        if func in _SHIFTS and args[0].dtype is torch.bool:
            args = (args[0].to(torch.result_type(*args[:2])), *args[1:])
        if func in _COMPOSED and not {"fweights", "aweights"} & set(kwargs):
            return _COMPOSED[func](*args, **kwargs)
        if func is torch._assert and isinstance(args[0], torch.Tensor):  # it branches on a value
            return torch._assert_async(args[0], "")
        result = self._known_shape(func, args, kwargs)
        if result is None:
            result = func(*args, **kwargs)
            self.values.follow(func, args, kwargs, result)
        return result

    def _with_places(self, index: Any) -> Any:
        """An index with the places of known masks for the masks."""
        items = list(index) if isinstance(index, tuple) else [index]
        masks = [isinstance(item, torch.Tensor) and item.dtype in (torch.bool, torch.uint8) and item.dim() > 0 for item in items]
        if not any(masks):
            return index
        found: list[Any] = []
        for item, is_mask in zip(items, masks, strict=True):
            value = self.values.read_of(item) if is_mask else None
            if is_mask and value is None:
                return index
            if value is None:
                found.append(item)
                continue
            found += self._places(value, value.shape)
        return tuple(found)

    def _places(self, mask: Any, shape: torch.Size) -> list[torch.Tensor]:
        """The places where a known mask, broadcast to the shape, holds."""
        with _disable_current_modes():
            places = mask.expand(shape).nonzero(as_tuple=True)
        return [self.values.constant(place) for place in places]

    def _known_shape(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The result of a call whose shape depends on operands with known values; None for other calls."""
        name = getattr(func, "__name__", "")
        operands = [leaf for leaf in pytree.tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]
        if name in _BY_VALUES and operands and (name != "where" or len(args) == 1):
            if all(self.values.find(operand) is not None for operand in operands):
                computed = self.values.compute(func, args, kwargs)
                for operand in operands:
                    self.values.read_of(operand)
                return pytree.tree_map(lambda leaf: self.values.constant(leaf) if isinstance(leaf, torch.Tensor) else leaf, computed)
        if name == "masked_select" and len(operands) == 2 and self.values.find(operands[1]) is not None:
            shape = torch.broadcast_shapes(operands[0].shape, operands[1].shape)
            return operands[0].expand(shape)[tuple(self._places(self.values.read_of(operands[1]), shape))]
        if name == "repeat_interleave" and len(operands) == 2 and operands[1].dim() and self.values.find(operands[1]) is not None:
            dim = args[2] if len(args) > 2 else kwargs.get("dim")
            x = operands[0].flatten() if dim is None else operands[0]
            counts = self.values.read_of(operands[1])
            with _disable_current_modes():
                rows = torch.arange(x.shape[dim or 0]).repeat_interleave(counts)
            return x.index_select(dim or 0, self.values.constant(rows))
        return None


def _covariance(x: torch.Tensor, *, correction: int = 1) -> torch.Tensor:
    """torch.cov of rows of samples; its own code branches on the sum of weights, which nobody gave."""
    rows = x if x.dim() == 2 else x.reshape(1, -1)
    rows = rows if x.is_floating_point() or x.is_complex() else rows.float()
    centred = rows - rows.mean(1, keepdim=True)
    return (centred @ centred.T / max(rows.shape[1] - correction, 0)).squeeze()


def _correlation(x: torch.Tensor) -> torch.Tensor:
    covariance = _covariance(x)
    if covariance.dim() == 0:
        return covariance / covariance
    deviation = covariance.diagonal().sqrt()
    return (covariance / deviation[:, None] / deviation[None]).clamp(-1, 1)


def _combinations(x: torch.Tensor, r: int = 2, with_replacement: bool = False) -> torch.Tensor:
    """torch.combinations; its own code selects by a mask, whose count torch.export does not know."""
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    return x[torch.tensor(list(choose(range(x.shape[0]), r)))]


_COMPOSED = {
    torch.cov: _covariance, torch.Tensor.cov: _covariance, torch.corrcoef: _correlation, torch.Tensor.corrcoef: _correlation,
    torch.combinations: _combinations,
}  # fmt: skip


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
