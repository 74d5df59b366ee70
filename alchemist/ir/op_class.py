"""The base of every op class of the dialects: its row in `alchemist/ir/data`, groups of operands, structure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

from xdsl.dialects.builtin import DenseArrayBase, TensorType
from xdsl.ir import Attribute, Operation, OpTraits, SSAValue
from xdsl.utils.exceptions import VerifyException

from alchemist.errors import InternalError
from alchemist.ir.attributes import table

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


def group_sizes(groups: tuple[ValueInfo, ...], count: int, segments: tuple[int, ...] | None) -> tuple[int, ...] | None:
    """Number of values in each group, None if `count` values cannot be divided."""
    if segments is not None:
        fits = (
            len(segments) == len(groups)
            and sum(segments) == count
            and all(size >= 0 and (group.variadic or size == 1 or (group.optional and size == 0)) for group, size in zip(groups, segments, strict=True))
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
    """Base of all generated op classes (`alchemist.ir.dialects`), which check attributes and shapes as well."""

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
        expected = ", ".join(g.name + ("*" if g.variadic else "?" if g.optional else "") for g in self.info.operands)
        got = f"{len(self.operands)}" + (f", segments {list(s)}" if (s := self._segments()) else "")
        return f"operands do not match: expected ({expected}), got {got}"

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


@cache
def op_table(dialect: str) -> Mapping[str, OpInfo]:
    """Full op name -> info, for "ttir", "ttnn" or "ttcore"."""
    infos: dict[str, OpInfo] = {}
    own = {short: record for short, record in table("library_ops").items() if dialect in record["dialects"]}
    for short, record in sorted({**table(f"{dialect}_ops"), **own}.items()):
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


@cache
def named(dialect: str, *traits: str) -> frozenset[str]:
    """Full names of the ops of a dialect that have one of the traits."""
    return frozenset(name for name, info in op_table(dialect).items() if not info.traits.isdisjoint(traits))


def short_names(dialect: str, *traits: str) -> frozenset[str]:
    """The same without the dialect in front."""
    return frozenset(name.partition(".")[2] for name in named(dialect, *traits))


def has_trait(op: Operation, trait: str) -> bool:
    """Whether the table gives `op` this trait ("pure", "elementwise_unary", "broadcastable" ...)."""
    info = getattr(op, "info", None)  # not isinstance(op, TTOp), which is slow for an abstract class
    return info is not None and trait in info.traits


def tensor_type(value: SSAValue) -> TensorType[Attribute]:
    """The tensor type of a value; InternalError for any other type."""
    if not isinstance(value.type, TensorType):
        raise InternalError("a tensor was expected", got=str(value.type))
    return value.type
