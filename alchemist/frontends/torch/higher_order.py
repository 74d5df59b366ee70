"""Higher-order ops: bodies lowered in place, branches by selection, loops over known lengths unrolled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import fx

from alchemist.errors import FrontendError
from alchemist.frontends.torch import decompose
from alchemist.frontends.torch.emitter import Tensor

if TYPE_CHECKING:
    from alchemist.frontends.torch.lowering import Lowering

_BODY = {"wrap_with_set_grad_enabled": 1, "tag_activation_checkpoint": 0, "checkpoint": 0}
"""Ops that only wrap a body: its position among the arguments; the body's own arguments follow it."""


MOST_STEPS = 4096
"""Of a while loop that is unrolled."""


def lower(c: Lowering, name: str, args: tuple[Any, ...]) -> Any:
    """The op's results; FrontendError for control flow that depends on data."""
    if name in _BODY:
        return c.expand_body(args[_BODY[name]], args[_BODY[name] + 1 :])
    rule = _KINDS.get(name)
    if rule is None:
        raise FrontendError(
            f"control flow in the graph ({name})",
            op=name,
            location=c.location(),
            hint="use Python loops with fixed counts, which the export unrolls, and branch on Python values",
        )
    return rule(c, *args)


def _autocast(c: Lowering, device: str, dtype: torch.dtype | None, enabled: bool, cache: bool | None, body: fx.GraphModule, *args: Any) -> Any:
    """Under autocast the body is traced again, so that the casts that torch makes while running stand in the graph."""
    if not enabled:
        return c.expand_body(body, args)

    def run(*tensors: torch.Tensor) -> Any:
        with torch.autocast(device, dtype, enabled), fx.traceback.preserve_node_meta():
            return fx.Interpreter(body).run(*tensors)

    traced = decompose.trace(run, args, {}, c.fake_mode, is_tensor=lambda leaf: isinstance(leaf, Tensor))
    return c.expand_body(traced, [arg for arg in args if isinstance(arg, Tensor)])


def _cond(c: Lowering, predicate: Any, then: fx.GraphModule, other: fx.GraphModule, operands: Sequence[Any] = ()) -> Any:
    """Both branches are computed and the predicate selects; a known predicate leaves one branch."""
    constant = predicate.uniform if isinstance(predicate, Tensor) else predicate
    if constant is not None:
        return c.expand_body(then if constant else other, operands)
    pairs = zip(c.expand_body(then, operands), c.expand_body(other, operands), strict=True)
    return [a if a is b else _selected(c, predicate, a, b) for a, b in pairs]


def _selected(c: Lowering, predicate: Tensor, a: Tensor, b: Tensor) -> Tensor:
    mask = c.expand(c.reshape(c.cast(predicate, torch.bool), [1] * a.rank), a.shape)
    return c.where(mask, a, b)


def _scan(c: Lowering, body: fx.GraphModule, init: Sequence[Any], xs: Sequence[Tensor], extra: Sequence[Any] = ()) -> Any:
    """Runs the body once per index of the first dimension of `xs`, unrolled."""
    carry, rows = list(init), []
    for step in range(xs[0].shape[0]):
        results = list(c.expand_body(body, [*carry, *_step(c, xs, step), *extra]))
        carry, row = results[: len(carry)], results[len(carry) :]
        rows.append(row)
    return [*carry, *_stacked(c, rows)]


def _map(c: Lowering, body: fx.GraphModule, xs: Sequence[Tensor], extra: Sequence[Any] = ()) -> Any:
    rows = [list(c.expand_body(body, [*_step(c, xs, step), *extra])) for step in range(xs[0].shape[0])]
    return _stacked(c, rows)


def _while(c: Lowering, condition: fx.GraphModule, body: fx.GraphModule, carried: Sequence[Any], extra: Sequence[Any] = ()) -> Any:
    """Unrolls the body as long as the condition is known at export: a count from a known start."""
    carry = list(carried)
    for _ in range(MOST_STEPS):
        expanded = c.expand_body(condition, [*carry, *extra])
        going = expanded[0] if isinstance(expanded, list | tuple) else expanded
        constant = going.uniform if isinstance(going, Tensor) else going
        if constant is None:
            break
        if not constant:
            return carry
        carry = list(c.expand_body(body, [*carry, *extra]))
    raise FrontendError(
        "a while loop whose number of steps depends on data",
        op="while_loop",
        location=c.location(),
        expected=f"a number of steps that is known at export, at most {MOST_STEPS}",
        hint="use a fixed number of steps (the export unrolls the loop), and keep the results of finished rows with torch.where",
    )


def _step(c: Lowering, xs: Sequence[Tensor], step: int) -> list[Tensor]:
    return [c.reshape(c.slice(x, 0, step, step + 1), x.shape[1:]) for x in xs]


def _stacked(c: Lowering, rows: Sequence[Sequence[Tensor]]) -> list[Tensor]:
    return [c.concat([c.reshape(part, [1, *part.shape]) for part in column], 0) for column in zip(*rows, strict=True)]


_KINDS: dict[str, Callable[..., Any]] = {"wrap_with_autocast": _autocast, "cond": _cond, "scan": _scan, "map_impl": _map, "while_loop": _while}
