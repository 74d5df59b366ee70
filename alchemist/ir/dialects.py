"""The ttir, ttnn and ttcore dialects: one op class per row of `alchemist/ir/data/<dialect>_ops.json`, made at import.

Op classes are plain xDSL operations with a table-driven verifier; attributes that the table declares live in
`op.properties`, anything else in `op.attributes`. Use `alchemist.ir.builder` to make ops and `alchemist.ir.access` to read them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, DenseArrayBase, TensorType
from xdsl.dialects.func import Func
from xdsl.ir import Attribute, Dialect, Operation, OpTraits, SSAValue
from xdsl.traits import IsolatedFromAbove, NoTerminator, OpTrait, Pure, SymbolTable
from xdsl.utils.exceptions import VerifyException

from alchemist.errors import InternalError
from alchemist.ir.attributes import DeviceType, TileType, TTAttr, attribute_classes, table

SEGMENTS = "operandSegmentSizes"


@dataclass(frozen=True, slots=True)
class ValueInfo:
    """An operand or result group of the table."""

    name: str
    type: str = "AnyRankedTensor"
    optional: bool = False
    variadic: bool = False


@dataclass(frozen=True, slots=True)
class AttributeInfo:
    """An attribute of the table: declared type name ("SI32Attr"), default as C++ text or None."""

    name: str
    type: str
    optional: bool = False
    default: str | None = None

    @property
    def required(self) -> bool:
        return not self.optional and self.default is None


@dataclass(frozen=True, slots=True)
class OpInfo:
    """One op of the table. traits: see `alchemist/ir/README.md`."""

    name: str
    operands: tuple[ValueInfo, ...]
    attributes: Mapping[str, AttributeInfo]
    results: tuple[ValueInfo, ...]
    traits: frozenset[str]
    regions: int = 0
    custom_format: bool = False

    @property
    def segmented(self) -> bool:
        return "segments" in self.traits


def group_sizes(
    groups: tuple[ValueInfo, ...], count: int, segments: tuple[int, ...] | None
) -> tuple[int, ...] | None:
    """Number of values in each group, None if `count` values cannot be divided."""
    if segments is not None:
        fits = (
            len(segments) == len(groups)
            and sum(segments) == count
            and all(
                size >= 0 and (group.variadic or size == 1 or (group.optional and size == 0))
                for group, size in zip(groups, segments, strict=True)
            )
        )
        return segments if fits else None
    flexible = [group for group in groups if group.variadic or group.optional]
    fixed = len(groups) - len(flexible)
    if len(flexible) == 1 and flexible[0].variadic:
        return tuple(count - fixed if group.variadic else 1 for group in groups) if count >= fixed else None
    # optional values are filled from the left: what tt-mlir's ops with a single optional group mean
    missing = len(groups) - count
    if any(group.variadic for group in groups) or not 0 <= missing <= len(flexible):
        return None
    absent = set(map(id, flexible[len(flexible) - missing :])) if missing else set()
    return tuple(0 if id(group) in absent else 1 for group in groups)


class TTOp(Operation):
    """Base of all generated op classes."""

    info: ClassVar[OpInfo]
    name = "tt.op"
    traits = OpTraits(lambda: ())

    def operand_sizes(self) -> tuple[int, ...]:
        """Number of operands of each group of the table."""
        sizes = group_sizes(self.info.operands, len(self.operands), self._segments())
        if sizes is None:
            raise VerifyException(self._operand_message())
        return sizes

    def _segments(self) -> tuple[int, ...] | None:
        if not self.info.segmented:
            return None
        declared = self.properties.get(SEGMENTS)
        if isinstance(declared, DenseArrayBase):
            return tuple(int(size) for size in declared.get_values())
        # without the attribute: unambiguous when every optional value is there
        return None

    def _operand_message(self) -> str:
        wanted = ", ".join(
            g.name + ("*" if g.variadic else "?" if g.optional else "") for g in self.info.operands
        )
        given = f"{len(self.operands)}" + (f", segments {list(s)}" if (s := self._segments()) else "")
        return f"operands do not match: expected ({wanted}), got {given}"

    def verify_(self) -> None:
        info = self.info
        self.operand_sizes()
        if group_sizes(info.results, len(self.results), None) is None:
            raise VerifyException(f"expected {len(info.results)} results, got {len(self.results)}")
        missing = [a.name for a in info.attributes.values() if a.required and a.name not in self.properties]
        if missing:
            raise VerifyException(f"missing required attribute {', '.join(missing)}")
        if len(self.regions) != info.regions:
            raise VerifyException(f"expected {info.regions} regions, got {len(self.regions)}")
        from alchemist.ir.verify import verify_attributes, verify_shapes

        verify_attributes(self)
        verify_shapes(self)


@cache
def op_table(dialect: str) -> Mapping[str, OpInfo]:
    """Full op name -> info, for "ttir", "ttnn" or "ttcore"."""
    infos: dict[str, OpInfo] = {}
    for short, record in table(f"{dialect}_ops").items():
        name = f"{dialect}.{short}"
        infos[name] = OpInfo(
            name,
            tuple(ValueInfo(**value) for value in record["operands"]),
            {a["name"]: AttributeInfo(**a) for a in record["attributes"]},
            tuple(ValueInfo(**value) for value in record["results"]),
            frozenset(record["traits"]),
            record.get("regions", 0),
            record.get("custom_format", False),
        )
    return infos


_TRAITS: dict[str, tuple[OpTrait, ...]] = {
    "pure": (Pure(),),
    "isolated": (IsolatedFromAbove(),),
    "no_terminator": (NoTerminator(),),
    "symbol_table": (SymbolTable(),),
}


def _constant(traits: tuple[OpTrait, ...]) -> Callable[[], tuple[OpTrait, ...]]:
    return lambda: traits


@cache
def op_classes() -> Mapping[str, type[TTOp]]:
    """Full op name -> class, all three dialects."""
    classes: dict[str, type[TTOp]] = {}
    for dialect in ("ttir", "ttnn", "ttcore"):
        for name, info in op_table(dialect).items():
            found = tuple(trait for key in sorted(info.traits) for trait in _TRAITS.get(key, ()))
            traits = OpTraits(_constant(found))
            label = "".join(part.title() for part in name.split(".")[1].split("_")) + "Op"
            members: dict[str, Any] = {"name": name, "info": info, "traits": traits, "__module__": __name__}
            classes[name] = type(label, (TTOp,), members)
    return classes


def op_info(name: str) -> OpInfo:
    """Table row of an op; InternalError for a name that no table has."""
    try:
        return op_classes()[name].info
    except KeyError:
        raise InternalError(f"no such op: {name}", op=name) from None


def has_trait(op: Operation, trait: str) -> bool:
    """Whether the table gives `op` this trait ("pure", "elementwise_unary", "broadcastable" ...)."""
    return isinstance(op, TTOp) and trait in op.info.traits


@cache
def dialects() -> tuple[Dialect, ...]:
    ops = op_classes()
    attributes: dict[str, list[type[Attribute]]] = {"ttir": [], "ttnn": [DeviceType], "ttcore": [TileType]}
    for name, cls in attribute_classes().items():
        attributes[name.split(".")[0]].append(cls)
    return tuple(
        Dialect(d, [cls for name, cls in ops.items() if name.startswith(d + ".")], attributes[d])
        for d in ("ttcore", "ttir", "ttnn")
    )


def context() -> Context:
    """xDSL context with builtin, func, ttcore, ttir and ttnn."""
    ctx = Context(allow_unregistered=False)
    ctx.load_dialect(Builtin)
    ctx.load_dialect(Func)
    for dialect in dialects():
        ctx.load_dialect(dialect)
    return ctx


def tensor_type(value: SSAValue) -> TensorType[Attribute]:
    """The tensor type of a value; InternalError for any other type."""
    if not isinstance(value.type, TensorType):
        raise InternalError("a tensor was expected", got=str(value.type))
    return value.type


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
    "op_classes",
    "op_info",
    "op_table",
    "tensor_type",
]
