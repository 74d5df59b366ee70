"""int64 values beyond 32 bits: the device has none, so that a model that computes some is refused, with its line."""

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


def checked(inputs: Any, graph: fx.Graph) -> AbstractContextManager[Any]:
    """The check while a model runs; none for models with branches or loops as ops, which torch compiles when a mode is active."""
    higher = any(isinstance(node.target, torch._ops.HigherOrderOperator) for node in graph.nodes)
    return nullcontext() if higher else WideIntegersRefused(inputs)


class WideIntegersRefused(TorchDispatchMode):  # type: ignore[misc]
    """While the model runs on its example inputs: values that come from `inputs` must fit 32 bits.

    int64's extremes, which stand for "no value", become int32's and may be there. Constants are computed at export, in 64 bits.

    Raises:
        FrontendError: an op that gives a value beyond.
    """

    def __init__(self, inputs: Any) -> None:
        super().__init__()
        self._computed: WeakValueDictionary[int, torch.Tensor] = WeakValueDictionary()
        self._note(inputs)

    def _note(self, tree: Any) -> None:
        for leaf in pytree.tree_leaves(tree):
            if isinstance(leaf, torch.Tensor):
                self._computed[id(leaf)] = leaf

    def __torch_dispatch__(self, func: Any, types: Sequence[type], args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if func.overloadpacket.__name__ in SHAPE_ONLY:  # `empty_like` holds what was in memory before
            return result
        if any(isinstance(leaf, torch.Tensor) and id(leaf) in self._computed for leaf in pytree.tree_leaves((args, kwargs))):
            self._note(result)
            for leaf in pytree.tree_leaves(result):
                if isinstance(leaf, torch.Tensor) and leaf.dtype in _WIDE and leaf.numel():
                    _check(str(func), leaf)
        return result


def _check(op: str, value: torch.Tensor) -> None:
    bounds = torch.iinfo(value.dtype)
    beyond = ((value > _HIGHEST) & (value != bounds.max)) | ((value < -_HIGHEST - 1) & (value != bounds.min))
    if bool(beyond.any()):
        raise FrontendError(
            "integers beyond 32 bits",
            op=op,
            location=_line(),
            expected="values from -2147483648 to 2147483647: TT-NN has no 64-bit integers",
            got=f"{int(value[beyond].reshape(-1)[0])}, {str(value.dtype).removeprefix('torch.')}",
            hint="keep the parts in two tensors, or compute in float32 where 24 bits are enough",
        )


def _line() -> str:
    """The innermost frame of the model's own code."""
    frames = [frame for frame in traceback.extract_stack() if not is_framework(frame.filename)]
    outer = [frame for frame in frames if not relative_file(frame.filename).startswith("alchemist/")]
    return f"{relative_file(outer[-1].filename)}:{outer[-1].lineno}" if outer else ""
