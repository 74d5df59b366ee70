"""Composites that tt-xla marks by name (`tenstorrent.rms_norm`): one TTIR op each; every other composite is its decomposition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.ir import Operation

from alchemist.frontends.stablehlo.convert import Converter, prop, rule, type_of
from alchemist.frontends.stablehlo.values import Val
from alchemist.ir.attributes import tensor
from alchemist.ir.dialects import op_classes


@dataclass(frozen=True, slots=True)
class Named:
    """The TTIR op of a composite. parameters: its operands after the input, by their number. attributes: composite attribute -> attributes of the op.

    A norm with one parameter may scale or shift: only a count that `parameters` has is taken by name.
    """

    op: str
    parameters: Mapping[int, tuple[str, ...]]
    required: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    fixed: Mapping[str, Any] | None = None
    smallest_rank: int = 0


_BOTH = {0: (), 2: ("weight", "bias")}
COMPOSITES: Mapping[str, Named] = {
    "tenstorrent.gelu": Named("ttir.gelu", {0: ()}),
    "tenstorrent.gelu_tanh": Named("ttir.gelu", {0: ()}, fixed={"alchemist.variant": "Tanh"}),
    "tenstorrent.rms_norm": Named("ttir.rms_norm", {0: (), 1: ("weight",), 2: ("weight", "bias")}, ("normalized_shape",), ("epsilon",)),
    "tenstorrent.layer_norm": Named("ttir.layer_norm", _BOTH, ("normalized_shape",), ("epsilon",)),
    "tenstorrent.group_norm": Named("ttir.group_norm", _BOTH, ("num_groups",), ("epsilon", "channel_dim"), smallest_rank=4),
}
"""Names and operands: LegalizeStableHLOCompositeToTTIR of tt-mlir."""


@rule("stablehlo.composite")
def composite(c: Converter, op: Operation, vals: list[Val]) -> Sequence[Val]:
    row = COMPOSITES.get(str(prop(op, "name", "")))
    results = None if row is None else _by_name(c, op, vals, row)
    return c.call(c.callee(op, "decomposition"), vals, c.e.source) if results is None else [results]


def _by_name(c: Converter, op: Operation, vals: list[Val], row: Named) -> Val | None:
    """The op, or None where the composite is not as the row expects."""
    values: Mapping[str, Any] = prop(op, "composite_attributes") or {}
    names = row.parameters.get(len(vals) - 1)
    if names is None or len(op.results) != 1 or type_of(op.results[0]) != (vals[0].shape, vals[0].of) or any(key not in values for key in row.required):
        return None
    info = op_classes()[row.op].info
    attributes = {key: _plain(values[key]) for key in (*row.required, *row.optional) if key in values} | dict(row.fixed or {})
    shape, of = vals[0].shape, vals[0].of
    padded = shape + (1,) * (row.smallest_rank - len(shape))
    arguments = {info.operands[0].name: c.e.full(vals[0])} | {name: c.e.full(val) for name, val in zip(names, vals[1:], strict=True)}
    if padded != shape:
        arguments[info.operands[0].name] = c.e.b.value("ttir.reshape", [arguments[info.operands[0].name]], {"shape": padded}, [tensor(padded, of)])
    out = c.e.b.value(row.op, [arguments.get(group.name) for group in info.operands], attributes, [tensor(padded, of)])
    return Val(shape, of, out if padded == shape else c.e.b.value("ttir.reshape", [out], {"shape": shape}, [tensor(shape, of)]))


def _plain(value: Any) -> Any:
    """Numbers of an attribute: of a dense tensor too, as tt-xla writes them."""
    if isinstance(value, np.ndarray):
        return value.reshape(-1).tolist() if value.ndim else value.item()
    return list(value) if isinstance(value, tuple) else value
