"""Values that a boolean mask selects (`x[mask]`). Their number depends on data, so ops on them become ops on whole tensors.

An op that treats each selected row alone is the op on all rows. A reduction over the rows leaves the other rows out, and so does a write to them:
`x[mask].mean()` -> `where(mask, x, 0).sum() / mask.sum()`, `x[mask] = f(x[mask])` -> `where(mask, f(x), x)`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
import torch.nn.functional as F
from xdsl.ir import OpResult, SSAValue

from alchemist.frontends.torch.dtypes import limits
from alchemist.frontends.torch.emitter import Tensor

if TYPE_CHECKING:
    from alchemist.frontends.torch.lowering import Lowering

_DEEPEST = 16
"""Ops behind two masks that are compared."""
_SAME_ROWS = frozenset("to _to_copy clone contiguous detach alias linear matmul layer_norm rms_norm".split())
"""Ops that treat each row of their first operand alone, whatever their other arguments are."""
_ALONG = frozenset("softmax log_softmax _softmax _log_softmax argmax argmin sum mean amax amin logsumexp".split())
"""Ops along dimensions, each row alone where these are behind the mask's."""
_REDUCTIONS = frozenset("sum mean amax amin max min any all prod var std logsumexp linalg_vector_norm".split())
_LOSSES = frozenset("mse_loss l1_loss smooth_l1_loss huber_loss binary_cross_entropy binary_cross_entropy_with_logits kl_div".split())
_NONE, _MEAN, _SUM = 0, 1, 2
"""How ATen numbers the reductions of losses."""


@dataclass(frozen=True)
class Masked:
    """`tensor[:, mask]`: the rows of `tensor` where `mask` holds, as one dimension. dim: the mask's first dimension. line: of the model."""

    tensor: Tensor
    mask: Tensor
    line: str
    dim: int = 0

    @property
    def trailing(self) -> int:
        """Dimensions behind those of the mask."""
        return self.tensor.rank - self.dim - self.mask.rank

    def has_rows_of(self, other: Masked) -> bool:
        return self.dim == other.dim and _equal(self.mask, other.mask)

    def with_tensor(self, tensor: Tensor) -> Masked:
        return Masked(tensor, self.mask, self.line, self.dim)

    def wide_mask(self, c: Lowering) -> Tensor:
        """The mask in the shape of the tensor."""
        return c.expand(c.reshape(self.mask, [*[1] * self.dim, *self.mask.shape, *[1] * self.trailing]), self.tensor.shape)

    def whole_dims(self, dims: Sequence[int]) -> list[int]:
        """The tensor's dimensions for dimensions of the selection, in which those of the mask are one."""
        found: list[int] = []
        for dim in dims or range(self.dim + 1 + self.trailing):
            place = dim % (self.dim + 1 + self.trailing)
            found += range(self.dim, self.dim + self.mask.rank) if place == self.dim else [place + (self.mask.rank - 1) * (place > self.dim)]
        return found


@dataclass(frozen=True)
class MaskIndex:
    """One of the index tensors of `mask.nonzero(as_tuple=True)`: that of the mask's dimension `place`."""

    mask: Tensor
    place: int
    line: str


def select(c: Lowering, x: Any, indices: Sequence[Any], *, is_open: bool = True) -> Masked | None:
    """`x[indices]` for one boolean mask, or for all index tensors of its `nonzero`; None for other indices.

    is_open: whether the number of selected rows is open in the graph; else a mask of known values is an index like others.
    """
    place = _mask_of(indices, is_open)
    if place is None or not isinstance(x, Tensor) or place[1].shape != x.shape[place[0] : place[0] + place[1].rank]:
        return None
    return Masked(x, place[1], c.location(), place[0])


def write(c: Lowering, x: Tensor, indices: Sequence[Any], values: Any, accumulate: bool) -> Tensor | None:
    """`x[indices] = values`, or `+=`, for an index as in `select`; None where it has no form of fixed shape."""
    target = select(c, x, indices, is_open=isinstance(values, Masked))
    if target is None:
        return None
    if isinstance(values, Masked):
        if not values.has_rows_of(target):
            return None
        new = values.tensor
    elif values.rank <= target.trailing or values.shape[target.dim] == 1 == len(values.shape) - target.trailing:
        new = values if values.rank <= target.trailing else c.reshape(values, values.shape[1:])
    elif target.dim or accumulate or values.rank != 1 + target.trailing:
        return None
    else:  # row i of the values for selected row i
        return c.apply(torch.masked_scatter, x, target.wide_mask(c), c.cast(values, x.dtype))  # type: ignore[no-any-return]
    new = c.expand(c.cast(new, x.dtype), x.shape)
    return c.where(target.wide_mask(c), c.binary("add", x, new) if accumulate else new, x)


def computed(c: Lowering, op: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """The result of an ATen op that is given a `Masked`; None where it has no form of fixed shape."""
    name = op._schema.name.removeprefix("aten::").removesuffix("_")
    if name == "broadcast_tensors":
        return list(args[0]) if _alike(args[0]) else None
    given = {argument.name: value for argument, value in zip(op._schema.arguments, args, strict=False)} | dict(kwargs)
    first = next((value for value in given.values() if isinstance(value, Masked)), None)
    if first is None:
        return None
    if name in ("cross_entropy_loss", "nll_loss", "nll_loss_nd"):
        return _of_classes(c, name, given)
    if name in _LOSSES:
        rows = _elementwise(c, op, given | {"reduction": _NONE})
        reduction = {_MEAN: "mean", _SUM: "sum"}.get(given.get("reduction", _MEAN))
        return rows if rows is None or reduction is None else _reduced(c, reduction, rows, {})
    if torch.Tag.pointwise in op.tags:
        return _elementwise(c, op, given)
    if given[op._schema.arguments[0].name] is not first or any(isinstance(value, Masked) for value in list(given.values())[1:]):
        return None
    if name in _SAME_ROWS:
        return _elementwise(c, op, given, only_rows=first.trailing > 0)
    dims = given.get("dim")
    dims = [] if dims is None else [dims] if isinstance(dims, int) else list(dims)
    if name in _ALONG and dims and not given.get("keepdim") and min(whole := first.whole_dims(dims)) >= first.dim + first.mask.rank:
        moved = whole if isinstance(given["dim"], list | tuple) else whole[0]
        return _elementwise(c, op, given | {"dim": moved}, only_rows=True)
    return _reduced(c, name, first, given | {"dim": dims}) if name in _REDUCTIONS else None


def count(c: Lowering, masked: Masked) -> Tensor:
    """The number of selected rows."""
    rows: Tensor = c.apply(torch.sum, masked.mask)
    return rows


def _mask_of(indices: Sequence[Any], is_open: bool) -> tuple[int, Tensor] | None:
    """(first dimension, mask) of an index that is one mask. is_open: as in `select`."""
    given = [(dim, index) for dim, index in enumerate(indices) if index is not None]
    if len(given) == 1 and isinstance(given[0][1], Tensor) and given[0][1].dtype == torch.bool and (is_open or given[0][1].const is None):
        return given[0]
    if not given or not all(isinstance(index, MaskIndex) and index.mask is given[0][1].mask for _, index in given):
        return None
    dim, mask = given[0][0], given[0][1].mask
    return (dim, mask) if [(place, index.place) for place, index in given] == [(dim + i, i) for i in range(mask.rank)] else None


def _alike(parts: Sequence[Any]) -> bool:
    """Whether all are the same rows of tensors of one shape."""
    return all(isinstance(part, Masked) and part.has_rows_of(parts[0]) and part.tensor.shape == parts[0].tensor.shape for part in parts)


def _equal(a: Tensor, b: Tensor) -> bool:
    if a is b:
        return True
    if a.const is not None and b.const is not None:
        return bool(torch.equal(a.const, b.const))
    return a.const is None and b.const is None and a.shape == b.shape and _equal_values(a.ssa, b.ssa, _DEEPEST)


def _equal_values(a: SSAValue, b: SSAValue, depth: int) -> bool:
    """Whether equal ops on equal operands make both: the model writes `x > 0` twice."""
    if a is b or not isinstance(a, OpResult) or not isinstance(b, OpResult) or not depth:
        return a is b
    return (
        (a.op.name, a.index, a.op.properties, len(a.op.operands)) == (b.op.name, b.index, b.op.properties, len(b.op.operands))
        and a.type == b.type
        and all(_equal_values(one, other, depth - 1) for one, other in zip(a.op.operands, b.op.operands, strict=True))
    )


def _elementwise(c: Lowering, op: Any, given: Mapping[str, Any], only_rows: bool = False) -> Masked | None:
    """The op on whole tensors. Other tensors broadcast along dimensions behind the mask's; only_rows: they are no rows (weights)."""
    masked = [value for value in given.values() if isinstance(value, Masked)]
    if not _alike(masked):
        return None
    if not only_rows and any(isinstance(value, Tensor) and value.rank > masked[0].trailing for value in given.values()):
        return None
    whole = {name: value.tensor if isinstance(value, Masked) else value for name, value in given.items()}
    keywords = {name: value for name, value in whole.items() if not isinstance(value, Tensor)}
    tensors = {name: value for name, value in whole.items() if isinstance(value, Tensor)}
    return masked[0].with_tensor(c.apply(Call(op, tuple(tensors), keywords), *tensors.values()))


def _reduced(c: Lowering, name: str, masked: Masked, given: Mapping[str, Any]) -> Tensor | None:
    dims = masked.whole_dims(given.get("dim") or [])
    if masked.dim not in dims or given.get("dtype") is not None:
        return None
    correction = given.get("correction", given.get("unbiased", True))
    reduction = _Reduction(name, tuple(dims), bool(given.get("keepdim")), 1 if correction is None else correction, given.get("ord", 2))
    result: Tensor = c.apply(reduction, masked.tensor, masked.wide_mask(c))
    return result


def _of_classes(c: Lowering, name: str, given: Mapping[str, Any]) -> Tensor | None:
    """A loss of rows of scores and their classes: the other rows get the class that the loss ignores."""
    scores, classes, weight = given["self"], given["target"], given.get("weight")
    if not isinstance(scores, Masked) or not isinstance(classes, Masked) or not classes.has_rows_of(scores) or scores.dim or weight is not None:
        return None
    if (scores.trailing, classes.trailing) != (1, 0) or classes.tensor.dtype.is_floating_point or given.get("reduction", _MEAN) == _NONE:
        return None
    options = (given.get("reduction", _MEAN), given.get("ignore_index", -100), given.get("label_smoothing", 0.0))
    result: Tensor = c.apply(_ClassLoss(name == "cross_entropy_loss", *options), scores.tensor, classes.tensor, scores.mask)
    return result


@dataclass(frozen=True)
class Call:
    """An op in its functional form as a function of the tensors among its arguments. names: of these."""

    op: Any
    names: tuple[str, ...]
    kwargs: Mapping[str, Any]

    def __hash__(self) -> int:
        return hash((self.op, self.names, str(self.kwargs)))

    def __call__(self, *tensors: Any) -> Any:
        op = self.op
        if op._schema.is_mutable:
            packet = getattr(torch.ops.aten, op._schema.name.removeprefix("aten::").removesuffix("_"))
            op = getattr(packet, op._overloadname)
        given = dict(self.kwargs) | dict(zip(self.names, tensors, strict=True))
        places = [argument for argument in op._schema.arguments if not argument.kwarg_only]
        last = max(place for place, argument in enumerate(places) if argument.name in given)
        positional = [given.pop(argument.name, argument.default_value) for argument in places[: last + 1]]
        return op(*positional, **given)


@dataclass(frozen=True)
class _Reduction:
    """A reduction of the values where a mask holds, over dimensions among which are the mask's."""

    name: str
    dims: tuple[int, ...]
    keepdim: bool
    correction: int | bool
    order: float

    def __call__(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        low, high = (False, True) if x.dtype == torch.bool else limits(x.dtype)
        others = {"amax": low, "max": low, "amin": high, "min": high, "all": True, "prod": 1, "logsumexp": low}.get(self.name, 0)
        kept = torch.where(mask, x, torch.tensor(others, dtype=x.dtype))
        along = {"dim": self.dims, "keepdim": self.keepdim}
        match self.name:
            case "mean":
                return kept.sum(**along) / mask.sum(**along)
            case "var" | "std":
                rows = mask.sum(self.dims, keepdim=True)
                centred = torch.where(mask, x - kept.sum(self.dims, keepdim=True) / rows, 0)
                variance = centred.square().sum(**along) / (mask.sum(**along) - int(self.correction))
                return variance.sqrt() if self.name == "std" else variance
            case "max" | "min":
                return kept.amax() if self.name == "max" else kept.amin()
            case "any" | "all":
                return getattr(torch, self.name)(kept)
            case "prod":
                return kept.prod()
            case "linalg_vector_norm":
                return torch.linalg.vector_norm(kept, self.order, **along)
        return getattr(torch, self.name)(kept, **along)


@dataclass(frozen=True)
class _ClassLoss:
    takes_scores: bool
    reduction: int
    ignored: int
    smoothing: float

    def __call__(self, scores: torch.Tensor, classes: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        rows = scores.reshape(-1, scores.shape[-1])
        wanted = torch.where(mask, classes, self.ignored).reshape(-1)
        reduction = "mean" if self.reduction == _MEAN else "sum"
        if self.takes_scores:
            return F.cross_entropy(rows, wanted, ignore_index=self.ignored, reduction=reduction, label_smoothing=self.smoothing)
        return F.nll_loss(rows, wanted, ignore_index=self.ignored, reduction=reduction)
