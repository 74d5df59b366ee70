"""TTNN: fuses several ops into one op of the library, which runs as one device program."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from xdsl.ir import Operation, SSAValue

from alchemist.ir.access import attr, operand, shape
from alchemist.ir.builder import Builder
from alchemist.ir.layout import layout_of
from alchemist.ir.location import sources_of
from alchemist.ops.spec import NOTE, inline_scalar
from alchemist.rewrite.driver import Rule, Rules
from alchemist.rewrite.match import Exact, Maybe, Num, Once, Op, V

STABLE_THRESHOLD = 20.0
"""softplus(x) = x for x above this in every format, as log(1 + exp(-20)) is 2e-9. Default of torch and the library."""

x, alpha, threshold = V("x"), Num("alpha"), Num("threshold")
scaled = x * Num("beta")
low = Op("expm1", Op("minimum", x, 0.0) | Op("where", Op("gt", x, 0.0), 0.0, x))  # the second is how JAX keeps large arguments from expm1
soft = Op("log1p", Op("exp", Op("minimum", scaled, threshold)))

PIECEWISE = Rules(
    "ttnn",
    Rule(
        "elu",
        Op("where", Op("gt", x, 0.0), x, low * alpha) | Op("relu", x) + low * alpha,
        Op("elu", x, alpha=alpha),
        guard=lambda bound: bound["alpha"] > 0,
        dead=True,
        samples=None,
    ),
    Rule(
        "softplus",
        Op("where", Op("gt", scaled, threshold), x, soft * Num("inverse")),
        Op("softplus", x, beta=Num("beta"), threshold=threshold),
        guard=lambda bound: abs(bound["beta"] * bound["inverse"] - 1) < 1e-6,
        dead=True,
        samples=None,
    ),
    Rule(
        "stable softplus",
        Op("relu", x) + Op("log1p", Op("exp", -Op("abs", x))),
        Op("softplus", x, beta=1.0, threshold=STABLE_THRESHOLD),
        dead=True,
        samples=None,
    ),
)


def _module(op: Operation) -> str:
    """Returns the path of the innermost module of the model (not of the framework) that created the op."""
    scopes = [scope for info in sources_of(op)[:1] for scope in info.scopes if not scope.class_name.startswith("torch.nn.")]
    return scopes[-1].path if scopes else ""


def _is_residual(bound: Mapping[str, Any]) -> bool:
    """Whether the norm's input is a sum of equally typed tensors and both ops are of one module: else an op would leave its module's function."""
    total = bound["sum"].results[0]
    if "alchemist.activations" in bound["sum"].attributes or _module(bound["sum"]) != _module(bound["norm"]):
        return False
    return all(inline_scalar(value) is None and value.type == total.type for value in bound["sum"].operands)


def _residual_norm(b: Builder, bound: Mapping[str, Any]) -> SSAValue:
    norm = bound["norm"]
    attributes = {"epsilon": attr(norm, "epsilon"), "compute_config": norm.properties.get("compute_config")}
    operands = [*bound["sum"].operands, operand(norm, "weight"), operand(norm, "bias")]
    return b.value(norm.name.replace(".", ".add_"), operands, attributes, [norm.results[0].type])


RESIDUAL_NORM = Rules(
    "ttnn",
    Rule(
        "residual norm",  # layer_norm(add(x, y)) -> add_layer_norm(x, y)
        Exact("layer_norm|rms_norm", Once(Exact("add", x, V("y"), name="sum")), Maybe(V("w")), Maybe(V("b")), name="norm"),
        _residual_norm,
        guard=_is_residual,
    ),
)


def _is_plain(op: Operation) -> bool:
    """Whether operands and result are interleaved tiles in DRAM of one dtype that addcmul supports, and the op has no fused activation."""
    layouts = [layout_of(value.type) for value in (*op.operands, op.results[0])]
    if any(of is None or inline_scalar(value) is not None for of, value in zip(layouts, op.operands, strict=False)) or not shape(op.results[0]):
        return False
    kinds = {(of.page, of.buffer, of.is_sharded, of.dtype) for of in layouts if of is not None}
    return kinds in ({("tile", "dram", False, "bf16")}, {("tile", "dram", False, "f32")}) and not any(name.endswith("activations") for name in op.attributes)


def _addcmul(value: float, b: Builder, bound: Mapping[str, Any]) -> SSAValue:
    return b.value("ttnn.addcmul", [bound["x"], bound["y"], bound["z"]], {"value": value}, [bound["sum"].results[0].type])


ADDCMUL = Rules(
    "ttnn",
    *(
        Rule(
            f"{name} of a product",  # x + y * z -> addcmul(x, y, z, value=1); x - y * z with value=-1
            Exact(name, x, Once(Exact("multiply", V("y"), V("z"), name="product")), name="sum"),
            partial(_addcmul, value),
            guard=lambda bound: _is_plain(bound["sum"]) and _is_plain(bound["product"]),
            when_faster=True,
        )
        for name, value in (("add", 1.0), ("subtract", -1.0))
    ),
)


def _rolled(b: Builder, bound: Mapping[str, Any]) -> SSAValue | None:
    """concat(x[k:], x[:k]) -> roll(x, -k); None if the slices are not such a pair."""
    dims, joined = shape(bound["x"]), bound["joined"]
    (first, last, steps), (start, stop, others) = ([attr(bound[part], name) for name in ("begins", "ends", "step")] for part in ("end", "beginning"))
    dim, length = next(((dim, size) for dim, size in enumerate(dims) if (first[dim], last[dim]) != (0, size)), (0, 0))
    cut = first[dim]
    parts = [[cut if place == dim else 0 for place in range(len(dims))], list(dims), [cut if place == dim else size for place, size in enumerate(dims)]]
    if [list(first), list(last), list(stop)] != parts or any(start) or {*steps, *others} != {1} or attr(joined, "dim") % len(dims) != dim or not cut:
        return None
    shift = -cut if 2 * cut <= length else length - cut
    return _roll(b, bound["x"], [shift], [dim], bound["end"], bound["beginning"], joined)


def _rolls(b: Builder, bound: Mapping[str, Any]) -> SSAValue:
    shifts, dims = ([*attr(bound["first"], name), *attr(bound["second"], name)] for name in ("shifts", "dim"))
    return _roll(b, bound["x"], shifts, dims, bound["first"], bound["second"])


def _roll(b: Builder, value: SSAValue, shifts: list[int], dims: list[int], *replaced: Operation) -> SSAValue:
    notes = dict.fromkeys(note for op in replaced if (note := attr(op, NOTE, "")))
    return b.value("ttnn.roll", [value], {"shifts": shifts, "dim": dims, NOTE: "; ".join(notes) or None})


ROLLS = Rules(
    "ttnn",
    Rule(
        "roll",  # concat(x[k:], x[:k]) -> roll(x, -k)
        Exact("concat", Once(Exact("slice_static", x, name="end")), Once(Exact("slice_static", x, name="beginning")), name="joined"),
        _rolled,
        guard=lambda bound: bound["x"].type == bound["joined"].results[0].type,
    ),
    Rule("rolls", Exact("roll", Once(Exact("roll", x, name="first")), name="second"), _rolls),  # of several dims
)


def _centred(b: Builder, bound: Mapping[str, Any]) -> SSAValue:
    return b.value("ttnn.subtract", [bound["left"].results[0], bound["error"].results[0]], {}, [bound["centred"].results[0].type])


CENTRED = Rules(
    "ttnn",
    Rule(
        "centred values",  # x - (m + mean(x - m)) -> (x - m) - mean(x - m)
        Exact("subtract", x, Once(Exact("add", V("m"), Once(Exact("mean", Exact("subtract", x, V("m"), name="left"), name="error")))), name="centred"),
        _centred,
        guard=lambda bound: bound["left"].results[0].type == bound["centred"].results[0].type,
    ),
)
