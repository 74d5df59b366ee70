"""Sums over chips that only a residual stream reads: each chip keeps its columns of the stream, and what reads them whole gathers them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from alchemist.ir import access
from alchemist.ir.attributes import tensor
from alchemist.ir.builder import Builder
from alchemist.ir.edit import erase, functions
from alchemist.ir.edit import replace as replace_op
from alchemist.ir.layout import TILE_EDGE
from alchemist.ops import POINTWISE
from alchemist.ops.spec import CUT_RESIDUALS
from alchemist.passes.registry import Pass, register

SUM = "ttir.all_reduce"
NORM = "ttir.rms_norm"


@register("cut-residuals")
class CutResiduals(Pass):
    """Sums over chips become scattered ones along a residual stream, norms work on its parts (for a plan that asks for it)."""

    def run(self, module: ModuleOp) -> None:
        if (chips := module.attributes.pop(CUT_RESIDUALS, None)) is not None:
            for func in functions(module):
                for axis, count in enumerate(int(size) for size in chips.data.split("x")):  # type: ignore[attr-defined]
                    if count > 1:
                        _Stream(func, axis, count).cut()


class _Stream:
    """Values of a width along which sums over an axis of chips are cut into `chips` parts."""

    def __init__(self, func: FuncOp, axis: int, chips: int) -> None:
        self.func, self.axis, self.chips = func, axis, chips
        sums = [op for op in func.body.block.ops if op.name == SUM and access.attr(op, "cluster_axis") == axis]
        widths = Counter(access.shape(op.results[0])[-1] for op in sums if len(access.shape(op.results[0])) > 1)
        self.width = max(widths, key=lambda width: widths[width], default=0)
        self.sums = [op for op in sums if self._has_width(op.results[0])]
        self.parts: dict[SSAValue, SSAValue] = {}
        self.wholes: dict[SSAValue, SSAValue] = {}

    def cut(self) -> None:
        if self.width % (self.chips * TILE_EDGE):
            return
        followed = set(self._followed())
        starts = [op for op in self.sums if all(use.operation in followed for use in op.results[0].uses)]
        if not any(op.name == NORM for op in followed):
            return
        for op in list(self.func.body.block.ops):
            if op in starts:
                self._scatter(op)
            elif op in followed and any(value in self.parts for value in op.operands):
                self._follow(op)
            else:
                for place, value in enumerate(op.operands):
                    if value in self.parts:
                        op.operands[place] = self._whole(value)
        for op in reversed([*self.func.body.block.ops]):
            if (op in followed or op in starts) and not any(list(result.uses) for result in op.results):
                erase(op)

    def _has_width(self, value: SSAValue) -> bool:
        dims = access.shape(value)
        return len(dims) > 1 and dims[-1] == self.width

    def _followed(self) -> Iterator[Operation]:
        """Ops that work on columns by themselves, or norm rows, behind the sums."""
        values = {op.results[0] for op in self.sums}
        for op in self.func.body.block.ops:
            is_norm = op.name == NORM and tuple(access.attr(op, "normalized_shape")) == (self.width,) and op.operands[0] in values
            is_norm = is_norm and all(access.element_type(value) == "bf16" for value in (op.operands[0], op.results[0]))
            if (is_norm and len(op.operands) < 3) or (op.name in POINTWISE and self._has_width(op.results[0]) and values.intersection(op.operands)):
                if not is_norm:
                    values.add(op.results[0])
                yield op

    def _type(self, value: SSAValue, width: int) -> Any:
        return tensor((*access.shape(value)[:-1], width), access.element_type(value))

    def _part(self, value: SSAValue, before: Operation) -> SSAValue:
        """The columns of a chip."""
        dims = access.shape(value)
        if not dims or dims[-1] != self.width:
            return value
        if value not in self.parts:
            b, attributes = Builder.before(before), {"dim": len(dims) - 1, "cluster_axis": self.axis}
            self.parts[value] = b.value("ttir.mesh_partition", [value], attributes, [self._type(value, self.width // self.chips)])
        return self.parts[value]

    def _whole(self, value: SSAValue) -> SSAValue:
        """All columns, of a value that has parts: gathered behind them once; what was whole before stays as it is."""
        part = self.parts[value]
        if part.owner.name == "ttir.mesh_partition":  # type: ignore[union-attr]
            return value
        if value not in self.wholes:
            self.wholes[value] = self._gather(Builder.after(part.owner), part)  # type: ignore[arg-type]
        return self.wholes[value]

    def _gather(self, b: Builder, part: SSAValue) -> SSAValue:
        attributes = {"all_gather_dim": len(access.shape(part)) - 1, "cluster_axis": self.axis}
        return b.value("ttir.all_gather", [part], attributes, [self._type(part, self.width)])

    def _scatter(self, op: Operation) -> None:
        result = op.results[0]
        attributes = {"reduce_type": "sum", "scatter_dim": len(access.shape(result)) - 1, "cluster_axis": self.axis}
        kind = self._type(result, self.width // self.chips)
        self.parts[result] = Builder.in_place_of(op).value("ttir.reduce_scatter", [op.operands[0]], attributes, [kind])

    def _follow(self, op: Operation) -> None:
        result, b = op.results[0], Builder.in_place_of(op)
        kind = self._type(result, self.width // self.chips)
        operands = [self._part(value, op) for value in op.operands]
        if op.name != NORM:
            self.parts[result] = b.value(op.name, operands, access.declared(op), [kind])
            return
        attributes = {"epsilon": access.attr(op, "epsilon"), "cluster_axis": self.axis}
        replace_op(op, [self._gather(b, b.value("ttir.distributed_rms_norm", operands, attributes, [kind]))])
