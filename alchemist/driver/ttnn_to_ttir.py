"""`--convert-ttnn-to-ttir`: replaces TTNN ops by equivalent TTIR ops. Types keep their layouts; further attributes are kept, too."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import DenseArrayBase, ModuleOp
from xdsl.ir import Operation, SSAValue

from alchemist.errors import LoweringError
from alchemist.ir.attributes import DeviceType, to_python
from alchemist.ir.builder import Builder
from alchemist.ir.dialects import SEGMENTS, TTOp, group_sizes, has_trait, op_classes
from alchemist.ir.location import place_of, set_place, sources_of

_NAMES = {"divide": "div", "pow_tensor": "pow"}
"""TTNN op -> TTIR op with the same operands, where the names differ."""
_CHOICES = ("compute_config", "matmul_program_config", "conv2d_config", "program_config", "memory_config", "dtype", "layout")
"""Attributes that choose how TT-NN computes an op or stores its result. TTIR has none of them."""


def convert(module: ModuleOp) -> ModuleOp:
    """The module with TTIR ops, in place.

    Raises:
        LoweringError: an op without a TTIR op of its own, such as one over prepared weights.
    """
    for op in list(module.walk()):
        if op.name.startswith("ttnn.") and isinstance(op, TTOp):
            _convert(op, op.name.partition(".")[2])
    for op in list(module.walk()):
        if op.name == "ttnn.get_device":
            _erase(op, [])
    return module


def _convert(op: TTOp, name: str) -> None:
    if has_trait(op, "bookkeeping"):
        if name == "deallocate":
            _erase(op, [])
        return
    operands = [value for value in op.operands if not isinstance(value.type, DeviceType)]
    b = Builder.before(op)
    b.source = sources_of(op) or None
    if has_trait(op, "placement"):
        types = [result.type for result in op.results]
        _erase(op, [b.op("ttir.to_layout", [operands[0], b.op("ttir.empty", [], {}, types)], {}, types)])
        return
    cls = op_classes().get(f"ttir.{_NAMES.get(name, name)}")
    segments = op.properties.get(SEGMENTS)
    sizes = tuple(int(size) for size in segments.get_values()) if isinstance(segments, DenseArrayBase) else None
    own = {key: value for key, value in op.properties.items() if key not in _CHOICES}
    if cls is None or group_sizes(cls.info.operands, len(operands), sizes) is None or not set(own) <= {*cls.info.attributes, SEGMENTS}:
        raise LoweringError("the op has no equivalent TTIR op", op=op.name, location=place_of(op))
    types = [result.type for result in op.results]
    if cls.info.segmented or any(group.variadic for group in cls.info.operands):
        new_op = b.insert(cls.create(operands=operands, result_types=types, properties=own, location=op.location))
    else:
        new_op = b.make(cls.name, operands, {key: to_python(value) for key, value in own.items()}, types)
    new_op.attributes.update(op.attributes)
    set_place(new_op, place_of(op))
    _erase(op, list(new_op.results))


def _erase(op: Operation, values: Sequence[SSAValue]) -> None:
    for result, value in zip(op.results, values, strict=False):
        result.replace_all_uses_with(value)
    op.detach()  # type: ignore[no-untyped-call]
    op.erase()
