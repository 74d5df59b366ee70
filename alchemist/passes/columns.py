"""Columns of a value that slices, concatenations, reshapes and negations choose, as one list: the normal form in which spellings of a choice are equal."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from alchemist.ir import access
from alchemist.ir.access import shape
from alchemist.ops.constants import FixedValues
from alchemist.ops.spec import inline_scalar

MOVES = ("ttnn.slice_static", "ttnn.concat", "ttnn.reshape", "ttnn.permute", "ttnn.transpose", "ttnn.to_layout", "ttnn.neg", "ttnn.multiply")
_MOST_ROOTS = 4
"""Values behind a value that its columns are told of, the nearest ones."""

Integers = np.ndarray[Any, np.dtype[np.int64]]
Matrix = np.ndarray[Any, np.dtype[np.float32]]


@dataclass(frozen=True, slots=True)
class Columns:
    """Rows of `root` with other columns. rows: the dims in front, as many elements as the root's own. picked: what stands in each of the dims behind them:
    1 for the root's first column, -1 for its negative. cut: begins and ends of the root's dims in front, where not all of its rows are here."""

    root: SSAValue
    rows: tuple[int, ...]
    picked: Integers
    cut: tuple[tuple[int, int], ...] | None = None

    @staticmethod
    def whole(root: SSAValue) -> Columns:
        dims = shape(root)
        return Columns(root, dims[:-1], np.arange(1, dims[-1] + 1))

    def reshape(self, dims: Sequence[int]) -> Columns | None:
        wanted = math.prod(self.rows)
        ahead = next((count for count in range(len(dims) + 1) if math.prod(dims[:count]) == wanted), None)
        if ahead is None or math.prod(dims[ahead:]) != self.picked.size:  # without elements anything fits
            return None
        return replace(self, rows=tuple(dims[:ahead]), picked=self.picked.reshape(tuple(dims[ahead:])))

    def permute(self, order: Sequence[int]) -> Columns | None:
        ahead = len(self.rows)
        if list(order[:ahead]) != list(range(ahead)):
            return None
        return replace(self, picked=self.picked.transpose([place - ahead for place in order[ahead:]]))

    def slice(self, begins: Sequence[int], ends: Sequence[int], steps: Sequence[int]) -> Columns | None:
        cuts = [slice(*cut) for cut in zip(begins, ends, steps, strict=True)]
        ahead = len(self.rows)
        kept = replace(self, picked=self.picked[tuple(cuts[ahead:])])
        if all((cut.start, cut.stop, cut.step) == (0, size, 1) for cut, size in zip(cuts, self.rows, strict=False)):
            return kept
        if self.cut is not None or self.rows != shape(self.root)[:-1] or any(cut.step != 1 for cut in cuts[:ahead]):
            return None
        rows = tuple((cut.start, cut.stop) for cut in cuts[:ahead])
        return replace(kept, rows=tuple(end - begin for begin, end in rows), cut=rows)

    @staticmethod
    def concat(parts: Sequence[Columns], dim: int) -> Columns | None:
        first = parts[0]
        if dim < len(first.rows) or any(not part.has_rows_of(first) for part in parts):
            return None
        return replace(first, picked=np.concatenate([part.picked for part in parts], axis=dim - len(first.rows)))

    def negative(self) -> Columns:
        return replace(self, picked=-self.picked)

    def has_rows_of(self, other: Columns) -> bool:
        return self.root is other.root and self.rows == other.rows and self.cut == other.cut

    def matrix(self) -> Matrix:
        """[columns of the root, columns here]"""
        picked = self.picked.reshape(-1)
        found = np.zeros((shape(self.root)[-1], picked.size), dtype=np.float32)
        found[np.abs(picked) - 1, np.arange(picked.size)] = np.sign(picked)
        return found


class ColumnViews:
    """Columns of each value of a function in those of the values behind it."""

    def __init__(self, func: FuncOp, fixed: FixedValues) -> None:
        self._found: dict[SSAValue, dict[SSAValue, Columns]] = {}
        for op in func.body.block.ops:
            moves = op.name in MOVES and all(shape(value) for value in op.operands if inline_scalar(value) is None)
            if moves and op.results[0] not in fixed and (found := self._step(op)):
                self._found[op.results[0]] = found

    def behind(self, value: SSAValue) -> list[Columns]:
        """`value` in columns of each value behind it that is known, the furthest one first."""
        return list(self._found.get(value, {}).values())

    def of(self, value: SSAValue) -> dict[SSAValue, Columns]:
        """The same by the value behind, and as itself."""
        return {**self._found.get(value, {}), value: Columns.whole(value)}

    def _step(self, op: Operation) -> dict[SSAValue, Columns]:
        sources = [self.of(value) for value in op.operands if inline_scalar(value) is None]
        found: dict[SSAValue, Columns] = {}
        for root in sources[0]:
            made = _moved(op, [source[root] for source in sources]) if all(root in source for source in sources) else None
            if made is not None:
                found[root] = made
        return dict(list(found.items())[-_MOST_ROOTS:])


def _moved(op: Operation, parts: Sequence[Columns]) -> Columns | None:
    first = parts[0]
    if op.name == "ttnn.slice_static":
        begins, ends, steps = (access.attr(op, name) for name in ("begins", "ends", "step"))
        return first.slice(begins, ends, steps)
    if op.name == "ttnn.concat":
        return Columns.concat(parts, access.attr(op, "dim") % len(shape(op.results[0])))
    if op.name == "ttnn.reshape":
        return first.reshape(shape(op.results[0]))
    if op.name == "ttnn.permute":
        return first.permute(access.attr(op, "permutation"))
    if op.name == "ttnn.transpose":
        order = list(range(len(shape(op.operands[0]))))
        one, other = access.attr(op, "dim0"), access.attr(op, "dim1")
        order[one], order[other] = order[other], order[one]
        return first.permute(order)
    if op.name == "ttnn.to_layout":
        return first
    return first.negative() if op.name == "ttnn.neg" or (len(parts) == 1 and inline_scalar(op.operands[1]) == -1) else None
