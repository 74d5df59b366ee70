"""Meaning of the TTIR ops that the torch front end emits, in torch, and an interpreter over them.

It shares nothing with the shim or with `alchemist.ops`: it is the tests' own reading of the op definitions. Values keep
their element type (bfloat16 computes in bfloat16), so a missing typecast shows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import torch
import torch.nn.functional as F
from xdsl.dialects.builtin import ModuleOp

from alchemist.frontends.base import FrontendResult
from alchemist.ir.access import attrs, element_type, operand, operands, shape
from alchemist.ir.attributes import element_name
from alchemist.ir.dialects import TTOp
from alchemist.ops.spec import TTIR_OPS

T = torch.Tensor
DTYPES = {
    "f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16, "f64": torch.float64, "i64": torch.int64,
    "i32": torch.int32, "i16": torch.int16, "i8": torch.int8, "ui8": torch.uint8, "i1": torch.bool,
}  # fmt: skip


class Call:
    """An op under evaluation: operands by table name, plain attributes, result shapes and dtypes."""

    def __init__(self, op: TTOp, env: Mapping[Any, T]) -> None:
        self.name = op.name.removeprefix("ttir.")
        self.a = attrs(op)
        self._op, self._env = op, env
        self.shapes = [shape(result) for result in op.results]
        self.dtypes = [DTYPES[element_name(element_type(result))] for result in op.results]

    def __getitem__(self, name: str) -> T:
        value = operand(self._op, name)
        assert value is not None, f"{self.name} lacks {name}"
        return self._env[value]

    def get(self, name: str) -> T | None:
        value = operand(self._op, name)
        return None if value is None else self._env[value]

    def group(self, name: str) -> list[T]:
        return [self._env[value] for value in operands(self._op, name)]


def number(value: float) -> float:
    """An F32 attribute's value (its shortest decimal form may lie beyond the largest float32)."""
    return float(np.float32(value)) if isinstance(value, float) else value


def pair(value: int | Sequence[int], count: int = 2) -> list[int]:
    return [value] * count if isinstance(value, int) else list(value)


UNARY: dict[str, Callable[[T], T]] = {
    "abs": torch.abs, "acos": torch.acos, "asin": torch.asin, "asinh": torch.asinh, "atan": torch.atan,
    "bitwise_not": torch.bitwise_not, "ceil": torch.ceil, "cos": torch.cos, "erf": torch.erf, "erfc": torch.erfc,
    "exp": torch.exp, "exp2": torch.exp2, "expm1": torch.expm1, "floor": torch.floor, "frac": torch.frac,
    "gelu": F.gelu, "hardsigmoid": F.hardsigmoid, "isfinite": torch.isfinite, "log": torch.log, "log1p": torch.log1p,
    "logical_not": torch.logical_not, "mish": F.mish, "neg": torch.neg, "reciprocal": torch.reciprocal, "relu": F.relu,
    "relu6": F.relu6, "rsqrt": torch.rsqrt, "selu": F.selu, "sigmoid": torch.sigmoid, "sign": torch.sign, "signbit": torch.signbit, "silu": F.silu,
    "sin": torch.sin, "sqrt": torch.sqrt, "square": torch.square, "tan": torch.tan, "tanh": torch.tanh, "trunc": torch.trunc,
}  # fmt: skip
BINARY: dict[str, Callable[[T, T], T]] = {
    "add": torch.add, "atan2": torch.atan2, "bitwise_and": torch.bitwise_and, "bitwise_or": torch.bitwise_or,
    "bitwise_xor": torch.bitwise_xor, "div": lambda a, b: torch.div(a, b, rounding_mode=None if a.is_floating_point() else "trunc"), "eq": torch.eq, "ge": torch.ge, "gt": torch.gt, "le": torch.le,
    "logical_and": torch.logical_and, "logical_left_shift": torch.bitwise_left_shift, "logical_or": torch.logical_or,
    "logical_xor": torch.logical_xor, "lt": torch.lt, "maximum": torch.maximum, "minimum": torch.minimum,
    "multiply": torch.mul, "ne": torch.ne, "pow": torch.pow, "remainder": torch.remainder, "right_shift": torch.bitwise_right_shift,
    "subtract": torch.sub,
}  # fmt: skip
REFERENCE: dict[str, Callable[[Call], T | list[T]]] = {}


def reference(name: str) -> Callable[[Callable[[Call], Any]], Callable[[Call], Any]]:
    def add(function: Callable[[Call], Any]) -> Callable[[Call], Any]:
        REFERENCE[name] = function
        return function

    return add


for _name, _function in UNARY.items():
    REFERENCE[_name] = lambda c, f=_function: f(c["input"])


def _binary(function: Callable[[T, T], T]) -> Callable[[Call], T]:
    def run(c: Call) -> T:
        a, b = c["lhs"], c["rhs"]
        assert a.dtype == b.dtype, f"{c.name} of {a.dtype} and {b.dtype}"
        return function(a, b)

    return run


for _name, _other in BINARY.items():
    REFERENCE[_name] = _binary(_other)

REFERENCE |= {
    "leaky_relu": lambda c: F.leaky_relu(c["input"], c.a["parameter"]),
    "clamp_scalar": lambda c: c["input"].clamp(number(c.a["min"]), number(c.a["max"])),
    "where": lambda c: torch.where(c["first"], c["second"], c["third"]),
    "typecast": lambda c: c["input"].to(c.dtypes[0]),
    "bitcast_convert": lambda c: c["input"].view(c.dtypes[0]),
    "reshape": lambda c: c["input"].reshape(list(c.a["shape"])),
    "permute": lambda c: c["input"].permute(*c.a["permutation"]),
    "broadcast": lambda c: c["input"].repeat(*c.a["broadcast_dimensions"]),
    "repeat": lambda c: c["input"].repeat(*c.a["repeat_dimensions"]),
    "repeat_interleave": lambda c: c["input"].repeat_interleave(c.a["repeats"], c.a["dim"]),
    "concat": lambda c: torch.cat(c.group("inputs"), c.a["dim"]),
    "reverse": lambda c: c["input"].flip(list(c.a["dimensions"])),
    "full": lambda c: torch.full(list(c.a["shape"]), number(c.a["fill_value"]), dtype=c.dtypes[0]),
    "arange": lambda c: torch.arange(c.a["start"], c.a["end"], c.a["step"], dtype=c.dtypes[0]),
    "constant": lambda c: from_numpy(np.asarray(c.a["value"])),
    "softmax": lambda c: F.softmax(c["input"], c.a["dimension"]),
    "cumsum": lambda c: c["input"].cumsum(c.a["dim"], dtype=c["input"].dtype),
    "cumprod": lambda c: c["input"].cumprod(c.a["dim"], dtype=c["input"].dtype),
    "sort": lambda c: list(torch.sort(c["input"], dim=c.a["dim"], descending=c.a["descending"], stable=True)),
    "topk": lambda c: list(torch.topk(c["input_tensor"], c.a["k"], c.a["dim"], c.a["largest"], c.a["sorted"])),
    "gather": lambda c: torch.gather(c["input"], c.a["dim"], c["index"]),
    "embedding": lambda c: c["weight"][c["input"]],
    "layer_norm": lambda c: F.layer_norm(
        c["input"], list(c.a["normalized_shape"]), c.get("weight"), c.get("bias"), c.a["epsilon"]
    ),
    "rms_norm": lambda c: F.rms_norm(c["input"], list(c.a["normalized_shape"]), c.get("weight"), c.a["epsilon"]),
    "batch_norm_inference": lambda c: F.batch_norm(
        c["operand"].movedim(c.a["dimension"], 1), c["mean"], c["variance"], c["scale"], c["offset"], False, 0.0, c.a["epsilon"]
    ).movedim(1, c.a["dimension"]),
    "group_norm": lambda c: F.group_norm(
        c["input"].movedim(c.a["channel_dim"], 1), c.a["num_groups"], c.get("weight"), c.get("bias"), c.a["epsilon"]
    ).movedim(1, c.a["channel_dim"]),
    "global_avg_pool2d": lambda c: c["input"].mean((1, 2), keepdim=True),
}  # fmt: skip


def _reduced(function: Callable[..., T]) -> Callable[[Call], T]:
    def run(c: Call) -> T:
        dims = list(c.a["dim_arg"]) if c.a.get("dim_arg") is not None else list(range(c["input"].dim()))
        return function(c["input"], dims, c.a["keep_dim"])

    return run


def _one_by_one(function: Callable[..., T]) -> Callable[..., T]:
    def run(x: T, dims: list[int], keep: bool) -> T:
        for dim in sorted(dims, reverse=True):
            x = function(x, dim, keep)
        return x

    return run


REFERENCE |= {
    "sum": _reduced(lambda x, dims, keep: x.sum(dims, keep, dtype=x.dtype)),
    "mean": _reduced(lambda x, dims, keep: x.mean(dims, keep)),
    "max": _reduced(lambda x, dims, keep: x.amax(dims, keep)),
    "min": _reduced(lambda x, dims, keep: x.amin(dims, keep)),
    "prod": _reduced(_one_by_one(lambda x, dim, keep: x.prod(dim, keep, dtype=x.dtype))),
    "reduce_or": _reduced(_one_by_one(torch.any)),
    "reduce_and": _reduced(_one_by_one(torch.all)),
    "argmax": _reduced(lambda x, dims, keep: x.argmax(dims[0], keep)),
}


@reference("slice_static")
def slice_static(c: Call) -> T:
    spans = zip(c.a["begins"], c.a["ends"], c.a["step"], strict=True)
    return c["input"][tuple(slice(begin, end, step) for begin, end, step in spans)]


@reference("pad")
def pad(c: Call) -> T:
    amounts = list(c.a["padding"])
    pairs = [(amounts[2 * i], amounts[2 * i + 1]) for i in range(len(amounts) // 2)]
    return F.pad(c["input"], [part for low_high in reversed(pairs) for part in low_high], value=c.a["value"])


@reference("scatter")
def scatter(c: Call) -> T:
    kind = {"sum": "sum", "prod": "prod", "max": "amax", "min": "amin"}.get(c.a["scatter_reduce_type"])
    if kind is None:
        return c["input"].scatter(c.a["dim"], c["index"], c["source"])
    return c["input"].scatter_reduce(c.a["dim"], c["index"], c["source"], kind)


def _matrices(c: Call) -> tuple[T, T]:
    a = c["a"].transpose(-1, -2) if c.a["transpose_a"] else c["a"]
    b = c["b"].transpose(-1, -2) if c.a["transpose_b"] else c["b"]
    return a, b


@reference("matmul")
def matmul(c: Call) -> T:
    return torch.matmul(*_matrices(c))


@reference("linear")
def linear(c: Call) -> T:
    bias = c.get("bias")
    out = torch.matmul(*_matrices(c))
    return out if bias is None else out + bias


def _conv(rank: int) -> Callable[[Call], T]:
    def run(c: Call) -> T:
        names = {1: ["length"], 2: ["height", "width"], 3: ["depth", "height", "width"]}[rank]
        order = [c.a["batch_dim"], c.a["channel_dim"], *(c.a[f"{name}_dim"] for name in names)]
        x = c["input"].permute(order)
        padding = pair(c.a["padding"], rank)
        low, high = padding[:rank], padding[-rank:]
        x = F.pad(x, [part for pads in reversed(list(zip(low, high, strict=True))) for part in pads])
        bias = c.get("bias")
        dilation = pair(c.a.get("dilation", 1), rank)
        function = [F.conv1d, F.conv2d, F.conv3d][rank - 1]
        out = function(
            x,
            c["weight"],
            None if bias is None else bias.flatten(),
            pair(c.a["stride"], rank),
            0,
            dilation,
            c.a["groups"],
        )
        return out.permute([order.index(i) for i in range(rank + 2)])

    return run


for _rank in (1, 2, 3):
    REFERENCE[f"conv{_rank}d"] = _conv(_rank)


@reference("conv_transpose2d")
def conv_transpose2d(c: Call) -> T:
    order = [c.a[f"{name}_dim"] for name in ("batch", "channel", "height", "width")]
    bias = c.get("bias")
    out = F.conv_transpose2d(
        c["input"].permute(order), c["weight"], None if bias is None else bias.flatten(), pair(c.a["stride"]),
        pair(c.a["padding"]), pair(c.a["output_padding"]), c.a["groups"], pair(c.a["dilation"]),
    )  # fmt: skip
    return out.permute([order.index(i) for i in range(4)])


@reference("max_pool2d")
def max_pool2d(c: Call) -> T:
    x = c["input"].permute(0, 3, 1, 2)
    a = c.a
    out = F.max_pool2d(x, pair(a["kernel"]), pair(a["stride"]), pair(a["padding"]), pair(a["dilation"]), a["ceil_mode"])
    return out.permute(0, 2, 3, 1)


@reference("avg_pool2d")
def avg_pool2d(c: Call) -> T:
    x = c["input"].permute(0, 3, 1, 2)
    a = c.a
    out = F.avg_pool2d(x, pair(a["kernel"]), pair(a["stride"]), pair(a["padding"]), a["ceil_mode"], a["count_include_pad"])
    return out.permute(0, 2, 3, 1)


@reference("upsample2d")
def upsample2d(c: Call) -> T:
    x = c["input"].permute(0, 3, 1, 2)
    options = {} if c.a["mode"] == "nearest" else {"align_corners": False}
    out = F.interpolate(x, scale_factor=[float(f) for f in pair(c.a["scale_factor"])], mode=c.a["mode"], **options)
    return out.permute(0, 2, 3, 1)


@reference("grid_sample")
def grid_sample(c: Call) -> T:
    """By the table's own formula, so that torch's function is what it is compared with."""
    formula = TTIR_OPS["ttir.grid_sample"].reference
    assert formula is not None
    (out,) = formula([c["input"].float().numpy(), c["grid"].float().numpy()], c.a, c.shapes)
    return torch.from_numpy(np.ascontiguousarray(out)).to(c.dtypes[0])


@reference("scaled_dot_product_attention")
def attention(c: Call) -> T:
    q, k, v, mask = c["query"], c["key"], c["value"], c.get("attention_mask")
    assert not (c.a["is_causal"] and mask is not None)
    if k.shape[1] != q.shape[1]:
        k, v = (part.repeat_interleave(q.shape[1] // part.shape[1], 1) for part in (k, v))
    scale = c.a["scale"] if c.a.get("scale") is not None else 1.0 / math.sqrt(q.shape[-1])
    scores = torch.matmul(q, k.transpose(-1, -2)) * scale
    if c.a["is_causal"]:
        assert q.shape[2] == k.shape[2]
        scores = scores.masked_fill(~torch.ones(scores.shape[-2:], dtype=torch.bool).tril(), -math.inf)
    if mask is not None:
        assert mask.dim() == 4
        assert mask.shape[2:] == scores.shape[2:]
        scores = scores + mask
    if (sink := c.get("attention_sink")) is not None:
        column = (sink * scale).expand(*scores.shape[:3], 1)
        return torch.matmul(F.softmax(torch.cat([scores, column], -1), -1)[..., :-1], v)
    return torch.matmul(F.softmax(scores, -1), v)


def from_numpy(array: np.ndarray[Any, Any]) -> T:
    array = np.array(array, copy=True)
    if array.dtype == ml_dtypes.bfloat16:
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def interpret(module: ModuleOp, inputs: Sequence[T]) -> list[T]:
    """Runs `@forward`; checks that every op's results have the declared shapes and dtypes."""
    func = next(iter(module.body.block.ops))
    block = func.regions[0].block
    env: dict[Any, T] = dict(zip(block.args, inputs, strict=True))
    for op in block.ops:
        if op.name == "func.return":
            return [env[value] for value in op.operands]
        assert isinstance(op, TTOp)
        call = Call(op, env)
        out = REFERENCE[call.name](call)
        results = out if isinstance(out, list) else [out]
        for ssa, value, want_shape, want_dtype in zip(op.results, results, call.shapes, call.dtypes, strict=True):
            assert tuple(value.shape) == tuple(want_shape), f"{op.name}: {tuple(value.shape)} declared {want_shape}"
            assert value.dtype == want_dtype, f"{op.name}: {value.dtype} declared {want_dtype}"
            env[ssa] = value
    raise AssertionError("no return")


def run(result: FrontendResult) -> list[T]:
    """The captured module on the captured arguments."""
    return interpret(result.module, [from_numpy(argument.value()) for argument in result.arguments])
