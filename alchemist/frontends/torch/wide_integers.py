"""int64 values beyond 32 bits, which the device does not have: which ops of a model give them on its example inputs.

The device computes modulo 2^32. A value beyond 32 bits may thus appear between ops that commute with that (`WRAPPING`): a hash
`(a * 31 + b) % 1024` is exact although the product is not. Where results depend on more bits, `wide_nodes` finds the ops, which then compute with
two words (`integer_words`); what it does not find is refused with its line when the model runs for its expected outputs.
"""

from __future__ import annotations

import operator
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
from alchemist.frontends.torch.aliasing import mutated_argument
from alchemist.frontends.torch.emitter import SHAPE_ONLY
from alchemist.frontends.torch.integer_words import CASTS
from alchemist.frontends.torch.node_locations import is_framework, relative_file
from alchemist.frontends.wide_values import BESIDE, EXPECTED, HIGHEST, HINT

_WIDE = (torch.int64, torch.uint64)

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
        wraps = _wraps(func.overloadpacket.__name__, args, kwargs or {}) and not any(beyond(leaf) for leaf in constants)
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
                first = beyond(leaf) if isinstance(leaf, torch.Tensor) else None
                if first is None:
                    continue
                error = refused(str(func), _line(), f"{first}, {str(leaf.dtype).removeprefix('torch.')}")
                if not wraps:
                    raise error
                self._first = self._first or error
        return result

    def refuse_wide(self, values: Any) -> None:
        """Raises the error of the first op that gave a value beyond, if one is among `values`."""
        if self._first is not None and any(beyond(leaf) is not None for leaf in pytree.tree_leaves(values) if isinstance(leaf, torch.Tensor)):
            raise self._first


def _wraps(name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
    """Whether the op is exact modulo 2^32 with these numbers."""
    numbers = [leaf for leaf in pytree.tree_leaves((args[1:], kwargs)) if isinstance(leaf, int)]
    if any(not -HIGHEST - 1 <= number <= HIGHEST for number in numbers) and name not in ("slice", "expand", "view"):
        return False
    if name in ("remainder", "bitwise_left_shift", "__lshift__"):
        number = args[1] if len(args) > 1 and isinstance(args[1], int) else 0
        return number > 0 and (number & (number - 1) == 0 if name == "remainder" else number < 32)
    if name == "_to_copy":
        return kwargs.get("dtype") in (torch.int8, torch.int16, torch.int32, torch.uint8)
    return name in WRAPPING


def beyond(value: torch.Tensor) -> int | None:
    """The first number beyond 32 bits; None if there is none. The extremes of int64 and numbers near them count as "no value"."""
    if value.dtype not in _WIDE or not value.numel():
        return None
    bounds = torch.iinfo(value.dtype)
    where = ((value > HIGHEST) & (value < bounds.max - BESIDE)) | ((value < -HIGHEST - 1) & (value > bounds.min + BESIDE))
    return int(value[where].reshape(-1)[0]) if bool(where.any()) else None


def refused(op: str, location: str, got: str, hint: str = HINT) -> FrontendError:
    """The error for values that have no place on the device. got: a value and its dtype, or what has no lowering."""
    return FrontendError("integers beyond 32 bits", op=op, location=location, expected=EXPECTED, got=got, hint=hint)


def _line() -> str:
    """The innermost frame of the model's own code."""
    frames = [frame for frame in traceback.extract_stack() if not is_framework(frame.filename)]
    outer = [frame for frame in frames if not relative_file(frame.filename).startswith("alchemist/")]
    return f"{relative_file(outer[-1].filename)}:{outer[-1].lineno}" if outer else ""


# --- before the lowering --------------------------------------------------------------------------------------------------------

_GROWING = frozenset("mul multiply square pow prod cumprod sum cumsum bitwise_left_shift __lshift__ matmul mm bmm dot mv".split())
"""Ops whose result may need many more bits than their operands."""
_GROWING_BY_A_BIT = frozenset(("add", "sub", "rsub", "neg", "abs"))
"""Judged where all before them are integers, which are quickly computed."""
UNWRITTEN = ("empty", "empty_like", "new_empty", "empty_permuted", "empty_strided")
"""Ops that leave memory as it is, which holds no value of the model's."""
_SHORT_SUM = 1 << 15
"""So many numbers of 16 bits have a sum of 31 bits."""


def wide_nodes(graph_module: fx.GraphModule, values: Sequence[Any]) -> frozenset[fx.Node]:
    """Ops that give integers beyond 32 bits if the placeholders have these values, and whose further bits a result depends on.

    Runs what the ops need that might give such integers, and the whole graph if one of them does.
    """
    nodes = [node for node in graph_module.graph.nodes if node.op != "output"]
    given = dict(zip((node for node in nodes if node.op == "placeholder"), values, strict=True))
    unknown = any(isinstance(value, torch.Tensor) and value.device.type == "meta" for value in values)
    if unknown or any(isinstance(node.target, torch._ops.HigherOrderOperator) for node in nodes):
        return frozenset()
    large = {node for node, value in given.items() if isinstance(value, torch.Tensor) and beyond(value) is not None}
    of_floats: set[fx.Node] = set()
    for node in nodes:
        if _has_floats(node) or not of_floats.isdisjoint(node.all_input_nodes):
            of_floats.add(node)
    suspects = [node for node in nodes if node.op == "call_function" and _may_grow(node, large, node not in of_floats)]
    found = _beyond_in(graph_module, values, _ancestors(suspects)) if suspects else set()
    if not found & set(suspects):
        return frozenset()
    found = _beyond_in(graph_module, values, set(nodes)) - large
    if any(_name(node) in CASTS and any(_is_float64(inner) for inner in node.all_input_nodes) for node in found):
        return frozenset()  # the device's float32 lacks their last digits: refused when the model runs
    if any(mutated_argument(node) is not None for node in found):  # other names of what they write to read it too
        return frozenset(found)
    needed: set[fx.Node] = set()
    for node in reversed(nodes):
        if node in found and any(user in needed or not _keeps_low_words(user, large) for user in node.users):
            needed.add(node)
    return frozenset(needed)


def _has_floats(node: fx.Node) -> bool:
    return any(isinstance(val, torch.Tensor) and val.is_floating_point() for val in pytree.tree_leaves(node.meta.get("val")))


def _is_float64(node: fx.Node) -> bool:
    val = node.meta.get("val")
    return isinstance(val, torch.Tensor) and val.dtype == torch.float64


def _may_grow(node: fx.Node, large: set[fx.Node], cheap: bool) -> bool:
    """cheap: no float has to be computed to know."""
    val = node.meta.get("val")
    if not isinstance(val, torch.Tensor) or val.dtype != torch.int64:
        return False
    operands = [inner.meta.get("val") for inner in node.all_input_nodes]
    tensors = [operand for operand in operands if isinstance(operand, torch.Tensor)]
    name = _name(node)
    if name.endswith("sum") and all(torch.iinfo(t.dtype).bits <= 16 if t.dtype != torch.bool else True for t in tensors if not t.dtype.is_floating_point):
        return any(t.numel() > _SHORT_SUM for t in tensors)
    numbers = [leaf for leaf in pytree.tree_leaves((node.args, dict(node.kwargs))) if isinstance(leaf, int)]
    extra = name not in ("slice", "expand", "view") and any(not -HIGHEST - 1 <= number <= HIGHEST for number in numbers)
    return name in _GROWING or extra or (cheap and name in _GROWING_BY_A_BIT) or any(inner in large for inner in node.all_input_nodes)


def _name(node: fx.Node) -> str:
    name: str = node.target.overloadpacket.__name__ if isinstance(node.target, torch._ops.OpOverload) else getattr(node.target, "__name__", "")
    return name[:-1] if name.endswith("_") and not name.endswith("__") else name


def _keeps_low_words(user: fx.Node, large: set[fx.Node]) -> bool:
    """Whether the low words of the result depend on the low words of the operands alone; an item of a tuple is judged by its own users."""
    if user.op == "output":
        return False
    if user.target is operator.getitem:
        return all(_keeps_low_words(inner, large) for inner in user.users)
    if _has_floats(user):
        return False
    return _wraps(_name(user), user.args, user.kwargs) and not any(inner in large for inner in user.all_input_nodes)


def _ancestors(nodes: Sequence[fx.Node]) -> set[fx.Node]:
    out, todo = set(), list(nodes)
    while todo:
        node = todo.pop()
        if node not in out:
            out.add(node)
            todo.extend(node.all_input_nodes)
    return out


def _beyond_in(graph_module: fx.GraphModule, values: Sequence[Any], wanted: set[fx.Node]) -> set[fx.Node]:
    """The nodes among `wanted` with integers beyond 32 bits. Empty if the graph does not run, which the model's own run reports."""
    found: set[fx.Node] = set()

    class Run(fx.Interpreter):  # type: ignore[misc]
        def run_node(self, n: fx.Node) -> Any:
            if n.op != "placeholder" and n not in wanted:
                return None
            value = super().run_node(n)
            unwritten = n.op == "call_function" and _name(n) in UNWRITTEN
            if not unwritten and any(isinstance(leaf, torch.Tensor) and beyond(leaf) is not None for leaf in pytree.tree_leaves(value)):
                found.add(n)
            return value

    with torch.no_grad():
        try:
            Run(graph_module).run(*[value.detach().clone() if isinstance(value, torch.Tensor) else value for value in values])
        except (RuntimeError, TypeError, ValueError, IndexError):
            return set()
    return found
