"""Custom calls of tt-xla and JAX."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, SymbolRefAttr
from xdsl.ir import Operation

from alchemist.frontends.stablehlo.attention_calls import WRITTEN_OUT
from alchemist.frontends.stablehlo.convert import Converter, prop, rule, type_of
from alchemist.frontends.stablehlo.rules_eltwise import UNARY, unary
from alchemist.frontends.stablehlo.rules_mesh import sharding_call
from alchemist.frontends.stablehlo.rules_reduce import top_values
from alchemist.frontends.stablehlo.values import Unsupported, Val
from alchemist.ir.attributes import tensor
from alchemist.ir.dialects import op_classes
from alchemist.ir.parser import foreign_class

_SHARDINGS = {"Sharding", "tt.sharding_constraint", "xla.sdy.FuncResultSharding", "SPMDFullToShardShape", "SPMDShardToFullShape"}


def _smallest_first(c: Converter, op: Operation) -> bool:
    """Whether the comparison that a call names says so."""
    named = op.properties.get("called_computations")
    names = [one.root_reference.data for one in named.data if isinstance(one, SymbolRefAttr)] if isinstance(named, ArrayAttr) else []
    found = [
        str(prop(inner, "comparison_direction"))
        for name in names
        if name in c.functions
        for inner in c.functions[name].walk()
        if inner.name == "stablehlo.compare"
    ]
    if not found:
        raise Unsupported("a choice of values without a comparison")
    return any(direction.rstrip(">").split()[-1].startswith("L") for direction in found)


@rule("stablehlo.custom_call")
def custom_call(c: Converter, op: Operation, vals: list[Val]) -> Sequence[Val]:
    target = str(prop(op, "call_target_name", ""))
    if target in ("annotate_device_placement", "tt.mark_argument"):
        return vals
    if target in _SHARDINGS:
        return [sharding_call(c, op, vals[0])]
    if target in WRITTEN_OUT:
        return WRITTEN_OUT[target](c, op, vals)
    if target.startswith("tt.") and (name := f"ttir.{target[3:]}") in op_classes():  # with the same operands in the same order
        return [_named(c, op, vals, name)]
    for name in (f"chlo.{target[5:]}", f"stablehlo.{target[5:]}") if target.startswith("mhlo.") and len(vals) == 1 else ():
        if name in UNARY:
            made = unary(c, foreign_class(name).create(result_types=op.result_types), vals)
            return [made] if isinstance(made, Val) else made
    if target in ("tenstorrent.gather_dim", "mhlo.topk"):
        attributes: Mapping[str, Any] = prop(op, "tt.composite_attributes") or prop(op, "mhlo.attributes") or {}
        if target == "mhlo.topk":
            return list(top_values(c, op, vals[0], len(vals[0].shape) - 1, bool(attributes.get("largest", True))))
        axis = int(attributes.get("dim", 0)) % max(len(vals[0].shape), 1)
        return [c.e.make("ttir.gather", [c.e.full(val) for val in vals], {"dim": axis})]
    if target == "ApproxTopK" and len(op.results) == 2:
        shape, _ = type_of(op.results[0])
        differing = [i for i, (a, b) in enumerate(zip(shape, vals[0].shape, strict=True)) if a != b]
        return list(top_values(c, op, vals[0], differing[0] if differing else len(shape) - 1, not _smallest_first(c, op)))
    if "callback" in target and not op.results:  # jax.debug.print and jax.debug.callback: nothing reads what they do
        warnings.warn("jax.debug calls do not run on the device: they are left out", stacklevel=2)
        return []
    if "callback" in target:
        raise Unsupported("a call back into Python (jax.pure_callback, io_callback)", hint="compute it with jax.numpy, or on the host and pass it as input")
    if target.startswith("lapack_") or "cusolver" in target or "Eigh" in target:
        raise Unsupported(f"a matrix factorisation ({target})", hint="there is none on the device: factorise on the host and pass the result as input")
    raise Unsupported(f"custom call {target}")


def _named(c: Converter, op: Operation, vals: list[Val], name: str) -> Val:
    """The TTIR op `name`. `has_<operand> = "True"|"False"` says which optional operands are there, other texts are attributes."""
    info = op_classes()[name].info
    given: Mapping[str, Any] = prop(op, "mhlo.frontend_attributes") or {}
    present = {group.name: _flag(given.get(f"has_{group.name}")) for group in info.operands if group.optional}
    undecided = [group for group, known in present.items() if known is None]
    free = len(vals) - sum(not group.optional or bool(present[group.name]) for group in info.operands if group.name != "output")
    taken: dict[str, Any] = {}
    left = list(vals)
    shape, of = type_of(op.results[0])
    for group in sorted(info.operands, key=lambda group: group.optional):  # calls have those in front that are always there
        if group.name == "output":  # where the result was written to in older files
            taken[group.name] = c.e.b.value("ttir.empty", [], {}, [tensor(shape, of)])
            continue
        there = not group.optional or present[group.name] or (present[group.name] is None and undecided.index(group.name) < free)
        taken[group.name] = c.e.full(left.pop(0)) if there and left else None
    operands = [taken[group.name] for group in info.operands]
    if left:
        raise Unsupported(f"{len(vals)} operands of {name}")
    attributes: dict[str, Any] = {}
    for key, declared in info.attributes.items():
        text = given.get(key)
        if text is None:
            if declared.required:
                attributes[key] = 0  # the first user of a cache
        elif declared.type == "BoolAttr":
            attributes[key] = bool(_flag(text))
        elif key != "nnz" or text != "0":
            try:
                attributes[key] = float(text) if declared.type == "F32Attr" else int(text)
            except ValueError:
                raise Unsupported(f"{key} = {text!r} is no number") from None
    if not info.results:  # a cache, changed in place
        c.e.b.make(name, operands, attributes, [])
        return Val(vals[0].shape, vals[0].of, operands[0])
    return Val(shape, of, c.e.b.value(name, operands, attributes, [tensor(shape, of)]))


def _flag(text: Any) -> bool | None:
    return None if text is None else str(text).lower() in ("true", "1")


@rule("stablehlo.get_dimension_size")
def get_dimension_size(c: Converter, op: Operation, vals: list[Val]) -> Val:
    """Shapes are static: a constant."""
    return c.e.const(np.asarray(vals[0].shape[prop(op, "dimension")]), *type_of(op.results[0]))


@rule("stablehlo.rng")
def rng(c: Converter, op: Operation, vals: list[Val]) -> Val:
    """Uniform numbers between two constants, from the device's generator."""
    low, high = vals[0].scalar(), vals[1].scalar()
    shape, of = type_of(op.results[0])
    if "UNIFORM" not in str(op.properties.get("rng_distribution")) or low is None or high is None or not of.startswith(("f", "bf")):
        raise Unsupported("random numbers", hint="uniform floats between two constants have a TTIR form; or pass them as input")
    return c.e.make("ttir.rand", [], {"size": shape, "low": float(low), "high": float(high), "seed": 0}, of)
