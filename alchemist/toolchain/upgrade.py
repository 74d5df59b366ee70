"""Applies the table of older spellings (`changes.py`) to a parsed module, before it is verified."""

from __future__ import annotations

import warnings
from collections.abc import Mapping

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp
from xdsl.ir import Operation

from alchemist.toolchain.changes import Row, rows_of
from alchemist.toolchain.edits import Edits, LowerStableHLO
from alchemist.toolchain.rewrites import MAKERS, writes_argument
from alchemist.toolchain.spellings import Applied

_MOST_STEPS = 20
_KEYS = {"tt.system_desc": "ttcore.system_desc", "tt.argument_type": "ttcore.argument_type", "tt.arg_alloc": "", "tt.device": ""}
"""Attributes of modules and arguments: today's name, "" for those that say nothing to a program that opens its own device."""


class Upgrade(Edits):
    """One run over one module."""

    def __init__(self, applied: Applied, lower: LowerStableHLO | None = None) -> None:
        super().__init__(lower, min((until for until, _, _ in applied.counts), default=""))
        self.applied = applied

    def run(self, module: ModuleOp) -> None:
        table = rows_of()
        everywhere = table["*"]
        self.fills = any(_is_destination(use.operation, op) for op in module.walk() if op.name in MAKERS for use in op.results[0].uses)
        self._arguments_written(module)
        for op in list(module.walk()):
            if op.name == "builtin.module" or op.name == "func.func":
                self._keys(op)
            elif op.parent is not None and op.name.startswith(("ttir.", "ttnn.")):
                self._op(op, table, everywhere)
        self._sweep(module)

    def _arguments_written(self, module: ModuleOp) -> None:
        """Texts whose results are written to arguments: each op has an operand more than today, an argument that nothing else reads."""
        ops = [op for op in module.walk() if op.name.startswith("ttir.") and op.operands]
        if self.fills or not ops or not all(writes_argument(op) for op in ops):
            return
        self.fills = True
        names = ", ".join(dict.fromkeys(op.name for op in ops))
        warnings.warn(f"{names}: the last operand is a tensor that the result is written to, as in tt-mlir until 2025-11-27; no op reads it", stacklevel=2)

    def _op(self, op: Operation, table: Mapping[str, tuple[Row, ...]], everywhere: tuple[Row, ...]) -> None:
        self.current = op
        if op.name in table:  # `{...}` behind the operands held what `<{...}>` holds
            for key in [key for key in op.attributes if "." not in key]:
                op.properties.setdefault(key, op.attributes.pop(key))
        for _ in range(_MOST_STEPS):
            place = self.current
            if place is None:
                return
            row = next((row for row in (*table.get(place.name, ()), *everywhere) if row.action is not None and row.action(self, place)), None)
            if row is None:
                return
            self.applied.add(row.until, row.old, row.new)

    def _keys(self, op: Operation) -> None:
        for key in [key for key in op.attributes if key in _KEYS]:
            value = op.attributes.pop(key)
            if _KEYS[key]:
                op.attributes[_KEYS[key]] = value
            self.applied.add("2025-06-17", key, _KEYS[key])
        attributes = op.properties.get("arg_attrs")
        if isinstance(attributes, ArrayAttr) and any(key in _KEYS for part in attributes.data for key in part.data):
            parts = [{_KEYS.get(key, key): value for key, value in part.data.items() if _KEYS.get(key, key)} for part in attributes.data]
            op.properties["arg_attrs"] = ArrayAttr([DictionaryAttr(part) for part in parts])
            self.applied.add("2025-06-17", "tt.argument_type", "ttcore.argument_type")

    def _sweep(self, module: ModuleOp) -> None:
        """Erases the tensors that nothing is written to any more; the others are today's `ttir.empty`."""
        for op in list(module.walk()):
            if op.name not in MAKERS or op.parent is None or (op.results and any(result.first_use for result in op.results)):
                if op.name == "tensor.empty" and op.parent is not None and not op.operands:
                    self.replace(op, "ttir.empty", [], {})
                    self.applied.add("2025-03-26", "tensor.empty", "ttir.empty")
                continue
            if op in self.dead or op.name == "tensor.empty":
                self.erase(op)
                self.applied.add("2025-03-26" if op.name == "tensor.empty" else "2025-11-27", f"{op.name} that nothing reads", "")


def _is_destination(op: Operation, new_op: Operation) -> bool:
    """Whether the last operand, a new tensor, is one that the result is written to."""
    return len(op.operands) > 1 and op.operands[-1] is new_op.results[0] and len(op.results) == 1 and op.results[0].type == new_op.results[0].type


def upgrade(module: ModuleOp, applied: Applied, lower: LowerStableHLO | None = None) -> None:
    """Brings every op of a module to today's spelling, in place; `applied` counts the rows."""
    Upgrade(applied, lower).run(module)
