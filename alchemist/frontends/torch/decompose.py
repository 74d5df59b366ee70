"""Small graphs for ops without a rule: recipes and torch's decompositions, traced on fake tensors."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import torch
from torch import fx
from torch._decomp import core_aten_decompositions, decomposition_table
from torch._subclasses.fake_tensor import FakeTensorMode
from torch._subclasses.functional_tensor import dispatch_functionalize
from torch.fx.experimental.proxy_tensor import make_fx

from alchemist.frontends.torch.aliasing import needs_functionalisation
from alchemist.frontends.torch.errors import Unsupported


@cache
def _core() -> dict[Any, Callable[..., Any]]:
    return dict(core_aten_decompositions())


@cache
def _overload(target: str) -> Any:
    """`aten.relu.default` -> the overload, None when there is no such op."""
    try:
        overload: Any = torch.ops
        for part in target.split("."):
            overload = getattr(overload, part)
        return overload
    except AttributeError:
        return None


def decomposition(op: Any, functional: str) -> Callable[..., Any]:
    """torch's decomposition of an op (its functional form for in-place ops); Unsupported when it has none."""
    for candidate in (op, _overload(functional)):
        if not isinstance(candidate, torch._ops.OpOverload):
            continue
        function: Callable[..., Any] | None = _core().get(candidate) or decomposition_table.get(candidate)
        if function is not None:
            return function
        if candidate._can_decompose():
            function = candidate.decompose
        elif candidate is not op:
            function = candidate
        if function is not None:
            return function
    raise Unsupported("no rule and no decomposition")


def fake_mode() -> FakeTensorMode:
    return FakeTensorMode(allow_non_fake_inputs=True)


def along_its_only_dim(op: Any, args: Sequence[Any], kwargs: Mapping[str, Any], is_tensor: Callable[[Any], bool]) -> bool:
    """Whether the op names dims of a tensor without dims: torch counts its one value as a dim there."""
    if op._schema.name == "aten::unsqueeze" or not any(not leaf.shape for leaf in list(filter(is_tensor, args))[:1]):
        return False
    for place, argument in enumerate(op._schema.arguments):
        if argument.name in ("dim", "dims"):
            value = args[place] if place < len(args) else kwargs.get(argument.name, argument.default_value)
            return isinstance(value, int) if not isinstance(value, (list, tuple)) else len(value) > 0
    return False


def of_one_value(op: Any, results: Any) -> Callable[..., Any]:
    """`op` with its tensors without dims as rows of one value. results: what it gives, with the shapes that torch says."""

    def call(*args: Any, **kwargs: Any) -> Any:
        rows = [leaf.reshape(1) if isinstance(leaf, torch.Tensor) and leaf.dim() == 0 else leaf for leaf in args]
        on_rows = op(*rows, **kwargs)
        if isinstance(on_rows, torch.Tensor):
            return on_rows.reshape(results.shape)
        return tuple(part.reshape(result.shape) for part, result in zip(on_rows, results, strict=True))

    return call


def trace(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    mode: FakeTensorMode,
    is_tensor: Callable[[Any], bool],
    stack_traces: bool = False,
) -> fx.GraphModule:
    """Graph of `function(*args, **kwargs)` whose placeholders are the tensor leaves in order.

    `is_tensor` tells the leaves that stand for tensors: they have `.shape` and `.dtype`. stack_traces: nodes know their lines.
    """

    def fill(part: Any, values: Any) -> Any:
        if is_tensor(part):
            return next(values)
        if isinstance(part, (tuple, list)) and not isinstance(part, torch.Size):
            return type(part)([fill(child, values) for child in part])
        if isinstance(part, dict):
            return {key: fill(child, values) for key, child in part.items()}
        return part

    def call(*tensors: torch.Tensor) -> Any:
        values = iter(tensors)
        filled_args, filled_kwargs = fill(args, values), fill(kwargs, values)
        return plain(function(*filled_args, **filled_kwargs))

    def plain(out: Any) -> Any:
        """Named results would appear as calls in the graph."""
        return (tuple if isinstance(out, tuple) else list)(map(plain, out)) if isinstance(out, (tuple, list)) else out

    leaves: list[Any] = []

    def collect(part: Any) -> None:
        if is_tensor(part):
            leaves.append(part)
        elif isinstance(part, (tuple, list)):
            for child in part:
                collect(child)
        elif isinstance(part, dict):
            for child in part.values():
                collect(child)

    collect((args, kwargs))
    with torch.no_grad(), mode, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fakes = [torch.empty(leaf.shape, dtype=leaf.dtype) for leaf in leaves]
        try:
            traced = _graph_of(call, fakes, stack_traces)
            if needs_functionalisation(traced.graph):
                traced = _graph_of(dispatch_functionalize(call), fakes, stack_traces)
        except (RuntimeError, NotImplementedError, TypeError, ValueError) as error:
            raise Unsupported(f"its decomposition failed: {str(error).splitlines()[0] if str(error) else error!r}") from error
    return traced


def _graph_of(function: Callable[..., Any], fakes: list[torch.Tensor], stack_traces: bool) -> fx.GraphModule:
    graph_module: fx.GraphModule = make_fx(function, decomposition_table={}, tracing_mode="real", record_stack_traces=stack_traces)(*fakes)
    return graph_module
