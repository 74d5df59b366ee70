"""The class of every structured attribute of the dialects: those written by hand, and one per row of `alchemist/ir/data/attributes.json`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from alchemist.errors import InternalError
from alchemist.ir.attributes import (
    CoreCoordAttr,
    CoreRangeAttr,
    CoreRangeSetAttr,
    EnumAttr,
    MemoryConfigAttr,
    ShapeAttr,
    ShardSpecAttr,
    StructAttr,
    TTAttr,
    table,
)
from alchemist.ir.layout import TTNNLayout


def _camel(mnemonic: str) -> str:
    return "".join(part.title() for part in mnemonic.replace(".", "_").split("_"))


FURTHER_FIELDS: Mapping[str, tuple[tuple[str, str], ...]] = {"ttnn.conv2d_config": (("full_inner_dim", "BoolAttr"),)}
"""Fields that the library's class has beside those of the dialect's table."""


@cache
def attribute_classes() -> Mapping[str, type[TTAttr]]:
    """Full mnemonic ("ttnn.shape") -> class, for all structured attributes and types."""
    classes: dict[str, type[TTAttr]] = {
        cls.name: cls for cls in (ShapeAttr, CoreCoordAttr, CoreRangeAttr, CoreRangeSetAttr, ShardSpecAttr, MemoryConfigAttr, TTNNLayout)
    }
    data = table("attributes")
    for record in data["attrs"].values():
        name = record["name"]
        if name in classes:
            continue
        if "enum" in record:
            namespace: dict[str, Any] = {"name": name, "cases": tuple(data["enums"][record["enum"]])}
            classes[name] = type(_camel(name) + "Attr", (EnumAttr,), namespace)
        elif "fields" in record:
            namespace = {"name": name, "fields": (*((field[0], field[1]) for field in record["fields"]), *FURTHER_FIELDS.get(name, ()))}
            classes[name] = type(_camel(name) + "Attr", (StructAttr,), namespace)
    fields = (("op_type", "UnaryOpType"), ("params", "ArrayRef<FloatAttr>"))
    classes["ttnn.unary_with_param"] = type("TtnnUnaryWithParamAttr", (StructAttr,), {"name": "ttnn.unary_with_param", "fields": fields})
    return classes


def enum(name: str, case: str) -> EnumAttr:
    """`enum("ttcore.reduce_type", "sum")`."""
    cls = attribute_classes()[name]
    if not issubclass(cls, EnumAttr) or case not in cls.cases:
        raise InternalError(f"#{name} has no case {case!r}")
    return cls(case)
