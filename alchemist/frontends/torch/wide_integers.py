"""int64 values beyond 32 bits: the device has none, so that a model whose results depend on one is refused, with its line.

The device computes modulo 2^32. A value beyond 32 bits may thus appear between ops that commute with that (`WRAPPING`): a hash
`(a * 31 + b) % 1024` is exact although the product is not.
"""

from __future__ import annotations

import traceback
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any
from weakref import WeakValueDictionary

import torch
from torch import fx
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

from alchemist.errors import FrontendError
from alchemist.frontends.torch.lowering import SHAPE_ONLY
from alchemist.frontends.torch.node_locations import is_framework, relative_file

_WIDE = (torch.int64, torch.uint64)
_HIGHEST = (1 << 31) - 1
_BESIDE = 1 << 30
"""How far from an extreme of int64 a value counts as "no value" too: the device has the same distance from the extreme of int32."""

WRAPPING = frozenset(
    "add sub rsub mul neg square sum prod cumsum bitwise_and bitwise_or bitwise_xor bitwise_not __and__ __or__ __xor__ matmul mm bmm mv dot addmm "
    "view _unsafe_view reshape permute transpose t expand slice select unsqueeze squeeze clone alias detach cat stack flip roll index_select index gather "
    "tril triu unbind split chunk repeat where".split()
)
"""Ops whose low 32 bits depend on the low 32 bits of their integer operands alone."""


def checked(inputs: Any, graph: fx.Graph) -> AbstractContextManager[Any]:
    """The check while a model runs; none for models with branches or loops as ops, which torch compiles when a mode is active."""
    higher = any(isinstance(node.target, torch._ops.HigherOrderOperator) for node in graph.nodes)
    return nullcontext() if higher else WideIntegersRefused(inputs)


class WideIntegersRefused(TorchDispatchMode):  # type: ignore[misc]
    """Checks during the run on example inputs that values computed from `inputs` do not depend on more than 32 bits.

    int64's extremes, which stand for "no value", become int32's and may be there. So may sums of them and small numbers: the bucket of a distance adds
    to the integer of log(0), and a `where` drops it. Constants are computed at export, in 64 bits.

    Raises:
        FrontendError: an op reads or gives a value beyond, and is not exact modulo 2^32.
    """

    def __init__(self, inputs: Any) -> None:
        super().__init__()
        self._computed: WeakValueDictionary[int, torch.Tensor] = WeakValueDictionary()
        self._first: FrontendError | None = None
        self._note(inputs)

    def _note(self, tree: Any) -> None:
        for leaf in pytree.tree_leaves(tree):
            if isinstance(leaf, torch.Tensor):
                self._computed[id(leaf)] = leaf

    def __torch_dispatch__(self, func: Any, types: Sequence[type], args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None) -> Any:
        tensors = [leaf for leaf in pytree.tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]
        inputs = [leaf for leaf in tensors if id(leaf) in self._computed]
        constants = [leaf for leaf in tensors if id(leaf) not in self._computed]
        wraps = _wraps(func.overloadpacket.__name__, args, kwargs or {}) and not any(_beyond("", leaf) for leaf in constants)
        if self._first is not None and not wraps:
            self.refuse_wide(inputs)
        result = func(*args, **(kwargs or {}))
        if func.overloadpacket.__name__ in SHAPE_ONLY:  # `empty_like` holds what was in memory before
            return result
        if any(isinstance(leaf, torch.Tensor) and leaf.dtype.is_floating_point for leaf in pytree.tree_leaves(result)):
            self.refuse_wide(inputs)
        if inputs:
            self._note(result)
            for leaf in pytree.tree_leaves(result):
                error = _beyond(str(func), leaf) if isinstance(leaf, torch.Tensor) else None
                if error is not None and not wraps:
                    raise error
                self._first = self._first or error
        return result

    def refuse_wide(self, values: Any) -> None:
        """Raises the error of the first op that gave a value beyond, if one is among `values`."""
        if self._first is not None and any(_beyond("", leaf) is not None for leaf in pytree.tree_leaves(values) if isinstance(leaf, torch.Tensor)):
            raise self._first


def _wraps(name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
    """Whether the op is exact modulo 2^32 with these numbers."""
    numbers = [leaf for leaf in pytree.tree_leaves((args[1:], kwargs)) if isinstance(leaf, int)]
    if any(not -_HIGHEST - 1 <= number <= _HIGHEST for number in numbers) and name not in ("slice", "expand", "view"):
        return False
    if name in ("remainder", "bitwise_left_shift", "__lshift__"):
        number = args[1] if len(args) > 1 and isinstance(args[1], int) else 0
        return number > 0 and (number & (number - 1) == 0 if name == "remainder" else number < 32)
    if name == "_to_copy":
        return kwargs.get("dtype") in (torch.int8, torch.int16, torch.int32, torch.uint8)
    return name in WRAPPING


def _beyond(op: str, value: torch.Tensor) -> FrontendError | None:
    if value.dtype not in _WIDE or not value.numel():
        return None
    bounds = torch.iinfo(value.dtype)
    beyond = ((value > _HIGHEST) & (value < bounds.max - _BESIDE)) | ((value < -_HIGHEST - 1) & (value > bounds.min + _BESIDE))
    if not bool(beyond.any()):
        return None
    return FrontendError(
        "integers beyond 32 bits",
        op=op,
        location=_line(),
        expected="values from -2147483648 to 2147483647: TT-NN has no 64-bit integers",
        got=f"{int(value[beyond].reshape(-1)[0])}, {str(value.dtype).removeprefix('torch.')}",
        hint="split the values into two tensors, or compute in float32 if 24 bits are enough",
    )


def _line() -> str:
    """The innermost frame of the model's own code."""
    frames = [frame for frame in traceback.extract_stack() if not is_framework(frame.filename)]
    outer = [frame for frame in frames if not relative_file(frame.filename).startswith("alchemist/")]
    return f"{relative_file(outer[-1].filename)}:{outer[-1].lineno}" if outer else ""
