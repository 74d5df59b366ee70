"""The ttir, ttnn and ttcore dialects: one op class per row of `alchemist/ir/data/*_ops.json`, made at import.

Op classes are plain xDSL operations with a table-driven verifier; attributes that the table declares live in
`op.properties`, anything else in `op.attributes`. Use `alchemist.ir.builder` to make ops and `alchemist.ir.access` to read them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import Builtin
from xdsl.dialects.func import Func
from xdsl.ir import Attribute, Dialect, OpTraits
from xdsl.traits import IsolatedFromAbove, NoTerminator, OpTrait, Pure, SymbolTable

from alchemist.errors import InternalError
from alchemist.ir.attribute_classes import attribute_classes
from alchemist.ir.attributes import DeviceType, TileType, TTAttr
from alchemist.ir.op_class import SEGMENTS, AttributeInfo, OpInfo, TTOp, ValueInfo, group_sizes, has_trait, named, op_table, tensor_type
from alchemist.ir.verify import verify_attributes, verify_shapes

_TRAITS: dict[str, tuple[OpTrait, ...]] = {
    "pure": (Pure(),),
    "isolated": (IsolatedFromAbove(),),
    "no_terminator": (NoTerminator(),),
    "symbol_table": (SymbolTable(),),
}


def _constant(traits: tuple[OpTrait, ...]) -> Callable[[], tuple[OpTrait, ...]]:
    return lambda: traits


class _CheckedOp(TTOp):
    def verify_(self) -> None:
        super().verify_()
        verify_attributes(self)
        verify_shapes(self)


@cache
def op_classes() -> Mapping[str, type[TTOp]]:
    """Full op name -> class, all three dialects."""
    classes: dict[str, type[TTOp]] = {}
    for dialect in ("ttir", "ttnn", "ttcore"):
        for name, info in op_table(dialect).items():
            trait_classes = tuple(trait for key in sorted(info.traits) for trait in _TRAITS.get(key, ()))
            traits = OpTraits(_constant(trait_classes))
            label = "".join(part.title() for part in name.split(".")[1].split("_")) + "Op"
            members: dict[str, Any] = {"name": name, "info": info, "traits": traits, "__module__": __name__}
            classes[name] = type(label, (_CheckedOp,), members)
    return classes


def op_info(name: str) -> OpInfo:
    """Table row of an op; InternalError for a name that no table has."""
    try:
        return op_classes()[name].info
    except KeyError:
        raise InternalError(f"no such op: {name}", op=name) from None


@cache
def dialects() -> tuple[Dialect, ...]:
    ops = op_classes()
    attributes: dict[str, list[type[Attribute]]] = {"ttir": [], "ttnn": [DeviceType], "ttcore": [TileType]}
    for name, cls in attribute_classes().items():
        attributes[name.split(".")[0]].append(cls)
    return tuple(Dialect(d, [cls for name, cls in ops.items() if name.startswith(d + ".")], attributes[d]) for d in ("ttcore", "ttir", "ttnn"))


def context() -> Context:
    """xDSL context with builtin, func, ttcore, ttir and ttnn."""
    ctx = Context(allow_unregistered=False)
    ctx.load_dialect(Builtin)
    ctx.load_dialect(Func)
    for dialect in dialects():
        ctx.load_dialect(dialect)
    return ctx


__all__ = [
    "SEGMENTS",
    "AttributeInfo",
    "OpInfo",
    "TTAttr",
    "TTOp",
    "ValueInfo",
    "context",
    "dialects",
    "group_sizes",
    "has_trait",
    "named",
    "op_classes",
    "op_info",
    "op_table",
    "tensor_type",
]
