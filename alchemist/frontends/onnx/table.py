"""The ops that have a rule, as a page: `alchemist ops --onnx`."""

from __future__ import annotations

from onnx import defs

from alchemist.frontends.onnx import rules as _rules  # noqa: F401 (registers them)
from alchemist.frontends.onnx.registry import FIRST_OPSET, LAST_OPSET, RULES
from alchemist.frontends.onnx.walk import RANDOM

HEAD = f"""\
# ONNX ops

This page lists ops; how to export a model: [bring_a_model.md](bring_a_model.md#onnx). Written by
`alchemist ops --onnx --markdown`. Models of opset {FIRST_OPSET} to {LAST_OPSET}.

Shapes are static: what a shape is computed from (`Shape`, `Gather`, `Concat`, `Range`, `NonZero` of known values) is computed at
export. `If` takes the known branch, or selects on the card. Functions of the model are inlined. Indices computed on the card must
not be negative. Refused, with the node's name: unequal branches, loops of unknown length, sequences, strings, random numbers, other domains
than the standard one.

The numbers are the opsets whose versions of the op are read (13: the version that opset 13 has); "by its definition": the standard's function of simpler ops.

"""


def by_definition() -> list[str]:
    """Ops without a rule that the standard defines by a function of ops that have one, or another such function."""
    names: list[str] = []
    for name in sorted({schema.name for schema in defs.get_all_schemas() if schema.domain == ""} - set(RULES)):
        try:
            schema = defs.get_schema(name, LAST_OPSET, "")
        except defs.SchemaError:
            continue
        if getattr(schema, "has_function", False) and {node.op_type for node in schema.function_body.node} <= {*RULES, "Constant", "Range", *names}:
            names.append(name)
    return [name for name in names if name not in RANDOM]


def rows() -> list[tuple[str, str]]:
    """(op, opsets or "by its definition"), by name."""
    table = []
    for name, versions in RULES.items():
        numbers = sorted({max(since, FIRST_OPSET, _first(name)) for since in versions})
        table.append((name, ", ".join(map(str, numbers))))
    table += [(name, "by its definition") for name in by_definition()]
    table += [(name, "known values") for name in ("Constant", "NonZero", "Range", "Unique")] + [(name, "13") for name in ("If", "Loop", "Scan")]
    return sorted(table)


def _first(name: str) -> int:
    """The opset in which an op appears."""
    return min(schema.since_version for schema in defs.get_all_schemas_with_history() if schema.name == name and schema.domain == "")


def onnx_table(*, markdown: bool) -> str:
    if not markdown:
        return "\n".join(f"{name:<28}{versions}" for name, versions in rows())
    lines = [f"| {name} | {versions} |" for name, versions in rows()]
    return HEAD + "\n".join(["| op | from opset |", "|---|---|", *lines])
