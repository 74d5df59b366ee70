"""Values that a model reads from its tensors: numbers (`.item()`, a 0-d index) and selections by a mask (`p[mask] *= 0`).

torch.export leaves them open. A number of a buffer that nothing writes is known; others have forms of fixed shape: a 0-d index gathers a row, a
number takes part in arithmetic as the tensor that it was read from, and an elementwise op on `p[mask]` is one on all of `p` whose other
results nobody reads.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import fx

from alchemist.errors import FrontendError
from alchemist.frontends.torch.aliasing import mutated_argument
from alchemist.frontends.torch.emitter import Tensor
from alchemist.frontends.torch.masked_values import Masked, MaskIndex, computed, count, select, write
from alchemist.frontends.torch.registry import RULES

if TYPE_CHECKING:
    from alchemist.frontends.torch.lowering import Lowering

KNOWN_LIMIT = 1 << 20
"""Values up to which ops between a buffer and the number that is read from it are computed at export."""
_READS = ("aten.item.default", "aten._local_scalar_dense.default")
_ARITHMETIC = {operator.add: "add", operator.sub: "subtract", operator.mul: "multiply", operator.neg: "neg"}
HINT = "every shape must be known at export: replace nonzero, boolean indexing and .item() by masks (torch.where)"
UNKNOWN = object()
"""The answer of `resolve` where the value has no form of fixed shape."""


@dataclass(frozen=True)
class Read:
    """A number known only at run time: its 0-d tensor, and the model's line that reads it."""

    tensor: Tensor
    line: str


OPEN = (Read, Masked, MaskIndex)
"""Values whose shape or number depends on data."""


def refuse_open(values: Iterable[Any]) -> None:
    """Raises FrontendError for an output whose shape or number depends on data."""
    for value in values:
        if isinstance(value, OPEN):
            description = "a number that the model reads from a tensor (.item())" if isinstance(value, Read) else "values selected by a boolean mask"
            raise FrontendError(f"an output depends on data: {description}", location=value.line, hint=HINT)


def known_value(node: Any, values: Mapping[fx.Node, torch.Tensor]) -> torch.Tensor | None:
    """The values of a node that depends on buffers alone, None for others and for large ones."""
    if not isinstance(node, fx.Node):
        return None
    if node in values:
        return values[node] if values[node].numel() <= KNOWN_LIMIT else None
    if node.op != "call_function" or not isinstance(node.target, torch._ops.OpOverload) or mutated_argument(node) is not None:
        return None
    if torch.Tag.nondeterministic_seeded in node.target.tags or any(user.op == "call_function" and mutated_argument(user) is node for user in node.users):
        return None
    values_of = {source: known_value(source, values) for source in node.all_input_nodes}
    if not values_of or any(value is None for value in values_of.values()):
        return None
    args, kwargs = fx.node.map_arg((node.args, node.kwargs), lambda source: values_of[source])
    with torch.no_grad():
        result = node.target(*args, **kwargs)
    return result if isinstance(result, torch.Tensor) and result.numel() <= KNOWN_LIMIT else None


def resolve(c: Lowering, node: fx.Node, target: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The value of a node whose shape or number depends on data, UNKNOWN where it must be refused."""
    if target in _READS and isinstance(args[0], Tensor):
        number = known_value(node.args[0], c.values) if args[0].const is None else args[0].const
        return Read(args[0], c.location()) if number is None else number.item()
    if not isinstance(node.target, torch._ops.OpOverload):
        if not any(isinstance(part, Tensor | Read | Masked | MaskIndex) for part in args):
            return node.target(*args, **kwargs)
        if node.target in _ARITHMETIC and not kwargs:
            first, *rest = (part.tensor if isinstance(part, Read) else part for part in args)
            name = _ARITHMETIC[node.target]
            if not isinstance(first, Tensor):
                first = c.full((), first, rest[0].dtype)
            return Read(c.binary(name, first, *rest) if rest else c.unary(name, first), c.location())
        return UNKNOWN
    if target in ("aten.nonzero_numpy.default", "aten.where.default") and isinstance(args[0], Tensor) and args[0].dtype == torch.bool:
        return [MaskIndex(args[0], place, c.location()) for place in range(args[0].rank)]
    if target == "aten.sym_size.int" and isinstance(args[0], Masked) and args[1] % (args[0].dim + 1 + args[0].trailing) == args[0].dim:
        return Read(count(c, args[0]), c.location())
    if target in ("aten.index.Tensor", "aten.masked_select.default"):
        found = select(c, args[0], args[1] if isinstance(args[1], list | tuple) else [args[1]])
    else:
        found = computed(c, node.target, [_plain(part) for part in args], kwargs)
    return UNKNOWN if found is None else found


def with_reads(c: Lowering, node: fx.Node, target: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The result of an op of known shape that is given a `Read` or a `Masked`, UNKNOWN where there is no form of it."""
    if target == "aten.select.int" and isinstance(args[2], Read):
        dim = args[1] % args[0].rank
        row = RULES["aten.index.Tensor"](c, args[0], [*[None] * dim, c.reshape(args[2].tensor, [1])])
        return c.reshape(row, c.out_shape)
    if target == "aten.select_scatter.default" and isinstance(args[3], Read):
        x, source, dim, place = args[0], args[1], args[2] % args[0].rank, args[3].tensor
        return c.apply(_scattered, x, source, dim, place)
    if target.startswith("aten.index_put"):
        written = write(c, args[0], args[1], args[2], args[3] if len(args) > 3 else kwargs.get("accumulate", False))
        return UNKNOWN if written is None else written
    if any(isinstance(part, Masked) for part in args):
        found = computed(c, node.target, [_plain(part) for part in args], kwargs)
        return UNKNOWN if found is None else found
    if torch.Tag.pointwise in node.target.tags:
        plain = tuple(part.tensor if isinstance(part, Read) else part for part in args)
        return c.apply_node(node, target, plain, kwargs)
    return UNKNOWN


def _plain(part: Any) -> Any:
    return part.tensor if isinstance(part, Read) else part


def _scattered(x: torch.Tensor, source: torch.Tensor, dim: int, place: torch.Tensor) -> torch.Tensor:
    rows = torch.arange(x.shape[dim]).reshape([-1, *[1] * (x.dim() - dim - 1)])
    return torch.where(rows == torch.remainder(place, x.shape[dim]), source.unsqueeze(dim), x)
