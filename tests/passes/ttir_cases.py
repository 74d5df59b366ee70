"""One small TTIR op per case, in every form that lowering distinguishes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from alchemist.ir.attributes import tensor
from alchemist.ir.builder import Builder
from alchemist.ops.eltwise_binary import BINARY, COMPARISONS, TTIR_NAMES
from alchemist.ops.eltwise_unary import UNARY
from alchemist.ops.evaluate import storage_dtype

Typed = tuple[tuple[int, ...], str]


@dataclass(frozen=True)
class Case:
    """operands: (shape, element type, kind) with kind "input" or "parameter". results: (shape, element type)."""

    op: str
    operands: tuple[tuple[tuple[int, ...], str, str], ...]
    results: tuple[Typed, ...]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    low: float = -2.0
    high: float = 2.0
    note: str = ""

    @property
    def name(self) -> str:
        shapes = ",".join("x".join(map(str, s)) + e + ("p" if k == "parameter" else "") for s, e, k in self.operands)
        return f"{self.op}({shapes}){self.note}"

    def module(self) -> ModuleOp:
        inputs = [(f"a{i}", tensor(s, e), k, None) for i, (s, e, k) in enumerate(self.operands)]
        b = Builder.module("forward", inputs)
        types = [tensor(s, e) for s, e in self.results]
        operands: Sequence[Any] = [list(b.args)] if self.op == "concat" else list(b.args)
        made = b.make(f"ttir.{self.op}", operands, self.attributes, types)
        b.ret(list(made.results))
        return b.module_op

    def arguments(self) -> list[np.ndarray[Any, Any]]:
        rng = np.random.default_rng(0)
        found = []
        for dims, element, _ in self.operands:
            dtype = storage_dtype(element)
            if dtype == np.bool_:
                found.append(rng.integers(0, 2, dims).astype(bool))
            elif dtype.kind in "iu":
                least = int(self.low) if self.low < -2 else max(0, int(self.low))  # most ops that read integers want indices
                whole = rng.integers(least, max(2, int(self.high)), dims)
                found.append((whole + (whole == 0) if least < 0 else whole).astype(dtype))
            else:
                found.append(rng.uniform(self.low, self.high, dims).astype(np.float32))
        return found


def one(op: str, dims: tuple[int, ...], out: tuple[int, ...], element: str = "f32", **attributes: Any) -> Case:
    return Case(op, ((dims, element, "input"),), ((out, element),), attributes)


def many(op: str, shapes: Sequence[tuple[int, ...]], out: tuple[int, ...], element: str = "f32", **attributes: Any) -> Case:
    return Case(op, tuple((s, element, "input") for s in shapes), ((out, element),), attributes)


def _cases() -> list[Case]:
    cases: list[Case] = []
    for name, *_ in UNARY:
        low = 0.1 if name in ("log", "log1p", "sqrt", "rsqrt", "reciprocal") else -0.9
        element = "i32" if name == "bitwise_not" else "f32"
        out = "i1" if name in COMPARISONS else element
        cases.append(Case(name, (((2, 31, 33), element, "input"),), (((2, 31, 33), out),), low=low, high=0.9))
    for name in ("gelu", "sigmoid", "frac", "trunc", "signbit", "softsign", "square", "selu"):
        out = "i1" if name == "signbit" else "f32"
        cases.append(Case(name, (((31, 33), "f32", "input"),), (((31, 33), out),)))
    cases += [
        one("leaky_relu", (31, 33), (31, 33), parameter=0.125),
        one("clamp_scalar", (31, 33), (31, 33), min=-0.5, max=0.75),
        one("dropout", (31, 33), (31, 33), prob=0.5),
    ]
    for name, dtype, _ in BINARY:
        element = "i32" if dtype == "int32" else "f32"
        out = "i1" if name in COMPARISONS else element
        op = TTIR_NAMES.get(name, name)
        for a, b, shape in (
            ((2, 31, 33), (2, 31, 33), (2, 31, 33)),
            ((2, 31, 33), (33,), (2, 31, 33)),
            ((4, 1, 7), (5, 1), (4, 5, 7)),
        ):
            cases.append(Case(op, ((a, element, "input"), (b, element, "input")), ((shape, out),), low=0.5, high=4))
    for name in ("add", "subtract", "multiply", "maximum", "eq", "lt"):
        out = "i1" if name in COMPARISONS else "i64"
        cases.append(Case(name, (((3, 8), "i64", "input"), ((3, 8), "i64", "input")), (((3, 8), out),), low=0, high=9))
    cases += [
        Case("div", (((3, 8), "i32", "input"), ((3, 8), "i32", "input")), (((3, 8), "i32"),), low=-9, high=9),
        Case("div", (((3, 8), "ui16", "input"), ((3, 8), "ui16", "input")), (((3, 8), "ui16"),), low=1, high=9),
        Case("pow", (((3, 8), "f32", "input"), ((3, 8), "f32", "input")), (((3, 8), "f32"),), low=0.5),
        Case("pow", (((3, 8), "si32", "input"), ((3, 8), "si32", "input")), (((3, 8), "si32"),), low=0, high=6),
        Case(
            "right_shift",
            (((3, 8), "i32", "input"), ((3, 8), "i32", "input")),
            (((3, 8), "i32"),),
            low=-9,
            high=40,
        ),
        *(
            Case(name, (((3, 8), element, "input"), ((3, 8), element, "input")), (((3, 8), element),), low=-128 if element == "i8" else 1, high=128)
            for element in ("i8", "ui8", "ui16")
            for name in ("add", "multiply", "logical_right_shift", "maximum")
        ),
        *(Case("neg", (((3, 8), element, "input"),), (((3, 8), element),), high=99) for element in ("ui8", "ui16", "ui32")),
        Case("logical_and", (((3, 8), "i1", "input"), ((3, 8), "i1", "input")), (((3, 8), "i1"),)),
        Case(
            "where",
            (((1, 1, 8), "i1", "input"), ((4, 3, 8), "f32", "input"), ((8,), "f32", "input")),
            (((4, 3, 8), "f32"),),
        ),
        Case(
            "where",
            (((3, 8), "i1", "input"), ((3, 8), "i32", "input"), ((3, 8), "i32", "input")),
            (((3, 8), "i32"),),
            high=9,
        ),
        # a column of the mask beside a row: one program only if what is known before the first call is made whole, leading dims apart
        *(
            Case("where", ((mask, "i1", "input"), (yes, "f32", kind), (no, "f32", other)), ((np.broadcast_shapes(mask, yes, no), "f32"),))
            for mask, yes, no, kind, other in (
                ((2, 64, 1), (40,), (2, 64, 40), "parameter", "input"),
                ((2, 64, 1), (2, 64, 40), (3, 1, 1, 1), "input", "parameter"),
                ((2, 64, 1), (40,), (64, 1), "parameter", "parameter"),
                ((2, 64, 1), (40,), (2, 64, 40), "input", "input"),
                ((2, 64, 1), (40,), (1,), "parameter", "input"),
                ((2, 64, 40), (1, 1), (2, 64, 40), "parameter", "input"),
            )
        ),
        many("clamp_tensor", [(31, 33)] * 3, (31, 33)),
    ]
    for source, target in (
        ("f32", "bf16"),
        ("bf16", "f32"),
        ("f32", "i32"),
        ("i64", "f32"),
        ("i1", "f32"),
        ("f32", "i1"),
        ("i64", "i32"),
        ("i1", "i64"),
        ("i64", "i1"),
        ("ui8", "f32"),
        ("ui8", "i16"),
    ):
        cases.append(Case("typecast", (((3, 40), source, "input"),), (((3, 40), target),), high=5))
    for source, target in (("i32", "i8"), ("i32", "ui16"), ("f32", "ui8"), ("i8", "ui16")):
        cases.append(Case("typecast", (((3, 40), source, "input"),), (((3, 40), target),), low=-300, high=300))
    for source, target, low, high in (
        ("f32", "i32", -2, 2),
        ("f32", "ui32", 0.5, 2),
        ("i32", "f32", 0x3F000000, 0x41000000),  # bits of 0.5 to 8
        ("ui32", "i32", 0, 9),
        ("bf16", "ui16", 0.5, 2),
        ("ui16", "bf16", 0x3F00, 0x4100),
    ):
        cases.append(Case("bitcast_convert", (((3, 40), source, "input"),), (((3, 40), target),), low=low, high=high))
    for name in ("sum", "mean", "max", "min"):
        cases += [
            one(name, (2, 31, 33), (2, 31, 1), keep_dim=True, dim_arg=[-1]),
            one(name, (2, 31, 33), (2, 33), keep_dim=False, dim_arg=[1]),
            one(name, (2, 3, 31, 33), (2, 3), keep_dim=False, dim_arg=[2, 3]),
            one(name, (2, 31, 33), (), keep_dim=False),
        ]
    for name in ("reduce_and", "reduce_or"):
        cases.append(Case(name, (((3, 40), "i1", "input"),), (((3,), "i1"),), {"keep_dim": False, "dim_arg": [1]}))
    cases += [
        one("prod", (3, 10), (3, 1), keep_dim=True, dim_arg=[1]),
        one("prod", (2, 3, 10), (3,), keep_dim=False, dim_arg=[0, 2]),
        one("cumsum", (3, 10), (3, 10), dim=1),
        one("cumprod", (3, 10), (3, 10), dim=0),
        Case("argmax", (((3, 40), "f32", "input"),), (((3,), "i32"),), {"keep_dim": False, "dim_arg": [1]}),
        Case("argmax", (((3, 40), "f32", "input"),), (((1, 40), "i64"),), {"keep_dim": True, "dim_arg": [0]}),
        Case("argmax", (((3, 40), "f32", "input"),), (((), "i32"),), {"keep_dim": False}),
        Case(
            "sort",
            (((3, 40), "f32", "input"),),
            (((3, 40), "f32"), ((3, 40), "i32")),
            {"dim": -1, "descending": True},
        ),
        Case("topk", (((3, 64), "f32", "input"),), (((3, 5), "f32"), ((3, 5), "i64")), {"k": 5, "dim": -1}),
        many("matmul", [(31, 33), (33, 7)], (31, 7)),
        many("matmul", [(2, 3, 31, 33), (33, 7)], (2, 3, 31, 7)),
        many("matmul", [(2, 3, 31, 33), (2, 3, 33, 7)], (2, 3, 31, 7)),
        many("matmul", [(2, 3, 31, 33), (3, 33, 7)], (2, 3, 31, 7)),
        many("matmul", [(2, 3, 31, 33), (1, 3, 33, 7)], (2, 3, 31, 7)),
        many("matmul", [(2, 31, 33), (2, 7, 33)], (2, 31, 7), transpose_b=True),
        Case(
            "linear",
            (((2, 31, 33), "f32", "input"), ((7, 33), "f32", "parameter"), ((7,), "f32", "parameter")),
            (((2, 31, 7), "f32"),),
            {"transpose_b": True},
        ),
        Case("linear", (((31, 33), "bf16", "input"), ((33, 7), "bf16", "parameter")), (((31, 7), "bf16"),)),
        many(
            "dot_general",
            [(2, 31, 33), (33, 7)],
            (2, 31, 7),
            batch_dims_lhs=[],
            batch_dims_rhs=[],
            contract_dims_lhs=[2],
            contract_dims_rhs=[0],
        ),
        many(
            "dot_general",
            [(2, 16, 4, 8), (2, 20, 4, 8)],
            (2, 4, 16, 20),
            batch_dims_lhs=[0, 2],
            batch_dims_rhs=[0, 2],
            contract_dims_lhs=[3],
            contract_dims_rhs=[3],
        ),
        many(
            "dot_general",
            [(5, 4, 8), (4, 8, 6)],
            (5, 6),
            batch_dims_lhs=[],
            batch_dims_rhs=[],
            contract_dims_lhs=[1, 2],
            contract_dims_rhs=[0, 1],
        ),
        one("softmax", (2, 31, 33), (2, 31, 33), dimension=-1),
        one("softmax", (2, 31, 33), (2, 31, 33), dimension=1),
        Case(
            "layer_norm",
            (((2, 31, 33), "f32", "input"), ((33,), "f32", "parameter"), ((33,), "f32", "parameter")),
            (((2, 31, 33), "f32"),),
            {"normalized_shape": [33], "epsilon": 1e-5},
        ),
        one("layer_norm", (2, 5, 33), (2, 5, 33), normalized_shape=[5, 33], epsilon=1e-5),
        Case(
            "rms_norm",
            (((2, 31, 33), "f32", "input"), ((33,), "f32", "parameter")),
            (((2, 31, 33), "f32"),),
            {"normalized_shape": [33], "epsilon": 1e-5},
        ),
        Case(
            "batch_norm_inference",
            (((2, 16, 5, 7), "f32", "input"), *((((16,), "f32", "parameter"),) * 4)),
            (((2, 16, 5, 7), "f32"),),
            {"dimension": 1, "epsilon": 1e-5},
            low=0.5,
        ),
        Case(
            "group_norm",
            (((2, 5, 7, 16), "f32", "input"),),
            (((2, 5, 7, 16), "f32"),),
            {"num_groups": 4, "epsilon": 1e-5},
        ),
        *(
            Case(
                "group_norm",
                ((dims, "f32", "input"), *((((dims[channel],), "f32", "parameter"),) * 2)),
                ((dims, "f32"),),
                {"num_groups": 4, "epsilon": 1e-5, "channel_dim": channel},
                note=f"channels {channel}",
            )
            for dims, channel in (((2, 33, 32), 2), ((2, 16, 33), 1), ((2, 5, 16, 7), 2), ((1, 2, 3, 4, 16), 4))
        ),
        one("reshape", (2, 31, 33), (62, 33), shape=[62, 33]),
        one("reshape", (2, 31, 33), (2, 31, 3, 11), shape=[2, 31, 3, 11]),
        one("permute", (2, 31, 33), (31, 2, 33), permutation=[1, 0, 2]),
        one("permute", (1, 3, 8, 9), (1, 8, 9, 3), permutation=[0, 2, 3, 1]),
        one("transpose", (2, 31, 33), (2, 33, 31), dim0=-2, dim1=-1),
        one("squeeze", (2, 1, 33), (2, 33), dim=1),
        one("unsqueeze", (2, 33), (2, 1, 33), dim=1),
        one("broadcast", (1, 1, 33), (2, 31, 33), broadcast_dimensions=[2, 31, 1]),
        one("repeat", (2, 31), (4, 31), repeat_dimensions=[2, 1]),
        one("repeat_interleave", (1, 4, 31, 33), (1, 12, 31, 33), repeats=3, dim=1),
        many("concat", [(2, 31), (2, 33)], (2, 64), dim=1),
        many("concat", [(5,), (7,)], (12,), dim=0),
        many("concat", [(2, 3), (2, 4)], (2, 7), "i32", dim=1),
        one("reshape", (2, 31, 33), (62, 33), "ui8", shape=[62, 33]),
        one("slice_static", (4, 31, 33), (2, 5, 33), "ui16", begins=[1, 3, 0], ends=[3, 13, 33], step=[1, 2, 1]),
        one("slice_static", (4, 31, 33), (2, 5, 33), begins=[1, 3, 0], ends=[3, 13, 33], step=[1, 2, 1]),
        one("slice_static", (4, 40), (4, 3), begins=[0, -3], ends=[4, 40], step=[1, 1]),
        one("index", (4, 40), (4, 8), dim=1, begin=2, end=18, step=2),
        one("index_select", (4, 40), (4, 12), dim=1, begin=2, length=4, stride=16),
        one("index_select", (4, 40), (4, 5), dim=1, begin=2, length=5),
        one("reverse", (4, 5), (4, 5), dimensions=[0, 1]),
        one("rearrange", (2, 3, 5), (5, 6), pattern="a b c -> c (a b)"),
        one("pad", (3, 40), (5, 43), padding=[1, 1, 0, 3], value=0.5),
        one("pad", (3, 40), (3, 43), padding=[0, 0, 0, 3], value=0.0),
        Case(
            "gather",
            (((3, 40), "f32", "input"), ((3, 5), "i64", "input")),
            (((3, 5), "f32"),),
            {"dim": 1},
            low=0,
            high=40,
        ),
        Case(
            "scatter",
            (((3, 40), "f32", "input"), ((3, 1), "i64", "input"), ((3, 1), "f32", "input")),
            (((3, 40), "f32"),),
            {"dim": 1, "scatter_reduce_type": "invalid"},
            low=0,
            high=40,
        ),
        Case(
            "embedding",
            (((2, 31), "i64", "input"), ((50, 40), "f32", "parameter")),
            (((2, 31, 40), "f32"),),
            low=0,
            high=50,
        ),
        Case(
            "embedding",
            (((2, 3, 4), "i64", "input"), ((50, 32), "bf16", "parameter")),
            (((2, 3, 4, 32), "bf16"),),
            low=0,
            high=50,
        ),
    ]
    for h, s, t, d, extra in (
        (4, 33, 33, 32, {"is_causal": True}),
        (4, 33, 40, 32, {"is_causal": False, "scale": 0.3}),
        (2, 7, 7, 12, {"is_causal": True}),
    ):
        cases.append(
            many(
                "scaled_dot_product_attention",
                [(2, h, s, d), (2, h, t, d), (2, h, t, d)],
                (2, h, s, d),
                **extra,
            )
        )
    cases += [
        many(
            "scaled_dot_product_attention",
            [(2, 4, 33, 32), (2, 2, 33, 32), (2, 2, 33, 32), (2, 1, 1, 33)],
            (2, 4, 33, 32),
            is_causal=False,
        ),
        many(
            "scaled_dot_product_attention",
            [(1, 4, 9, 12), (1, 2, 9, 12), (1, 2, 9, 12), (1, 1, 9, 9)],
            (1, 4, 9, 12),
            is_causal=False,
        ),
        one("concatenate_heads", (2, 4, 33, 32), (2, 33, 128)),
        one("concatenate_heads", (2, 4, 33, 12), (2, 33, 48)),
        Case(
            "split_query_key_value_and_split_heads",
            (((2, 33, 384), "f32", "input"),),
            (((2, 4, 33, 32), "f32"),) * 3,
            {"num_heads": 4, "transpose_key": False},
        ),
        *_images(),
        Case("full", (), (((3, 40), "f32"),), {"shape": [3, 40], "fill_value": 1.5}),
        Case("zeros", (), (((3, 40), "i32"),), {"shape": [3, 40]}),
        Case("ones", (), (((3, 40), "bf16"),), {"shape": [3, 40]}),
        Case("arange", (), (((5, 8), "i64"),), {"start": 0, "end": 8, "step": 1, "arange_dimension": 1}),
        Case("constant", (), (((2, 3), "f32"),), {"value": np.arange(6, dtype=np.float32).reshape(2, 3)}),
        Case(
            "constant",
            (),
            (((8, 9), "f32"),),
            {"value": np.arange(72, dtype=np.float32).reshape(8, 9)},
            note="big",
        ),
        Case("constant", (), (((2, 3), "i64"),), {"value": np.arange(6).reshape(2, 3)}),
        Case("get_dimension_size", (((3, 40), "f32", "input"),), (((1,), "ui32"),), {"dimension": 1}),
        Case(
            "quantize_unrolled",
            (((3, 40), "f32", "input"), ((1,), "f32", "parameter"), ((1,), "i32", "parameter")),
            (((3, 40), "i32"),),
            low=1,
        ),
        Case(
            "dequantize_unrolled",
            (((3, 40), "i32", "input"), ((1,), "f32", "parameter"), ((1,), "i32", "parameter")),
            (((3, 40), "f32"),),
            low=1,
        ),
    ]
    return cases


def _images() -> list[Case]:
    nchw = {"batch_dim": 0, "channel_dim": 1, "height_dim": 2, "width_dim": 3}
    geometry = {"stride": [1, 1], "padding": [1, 1], "dilation": [1, 1], "groups": 1}
    pool = {"kernel": [2, 2], "stride": [2, 2], "dilation": [1, 1], "padding": [0, 0], "ceil_mode": False}
    return [
        Case(
            "conv2d",
            (
                ((2, 3, 8, 8), "f32", "input"),
                ((16, 3, 3, 3), "f32", "parameter"),
                ((1, 1, 1, 16), "f32", "parameter"),
            ),
            (((2, 16, 8, 8), "f32"),),
            geometry | nchw,
        ),
        Case(
            "conv2d",
            (((2, 8, 9, 32), "bf16", "input"), ((64, 32, 1, 1), "bf16", "parameter")),
            (((2, 4, 5, 64), "bf16"),),
            geometry | {"stride": [2, 2], "padding": [0, 0]},
        ),
        Case(
            "conv2d",
            (((1, 8, 8, 32), "f32", "input"), ((32, 1, 3, 3), "f32", "parameter")),
            (((1, 8, 8, 32), "f32"),),
            geometry | {"groups": 32},
        ),
        Case(
            "conv2d",
            (((1, 8, 8, 16), "f32", "input"), ((16, 16, 3, 3), "f32", "parameter")),
            (((1, 7, 8, 16), "f32"),),
            geometry | {"padding": [0, 1, 1, 1]},
        ),
        Case(  # patches become rows of a linear
            "conv2d",
            (((2, 3, 16, 24), "f32", "input"), ((32, 3, 8, 8), "f32", "parameter"), ((1, 32, 1, 1), "f32", "parameter")),
            (((2, 32, 2, 3), "f32"),),
            geometry | nchw | {"stride": [8, 8], "padding": [0, 0]},
        ),
        Case(
            "conv2d",
            (((1, 16, 8, 3), "bf16", "input"), ((32, 3, 16, 8), "bf16", "parameter")),
            (((1, 1, 1, 32), "bf16"),),
            geometry | {"stride": [16, 8], "padding": [0, 0]},
        ),
        Case(
            "conv_transpose2d",
            (
                ((1, 8, 8, 32), "f32", "input"),
                ((32, 16, 2, 2), "f32", "parameter"),
                ((1, 1, 1, 16), "f32", "parameter"),
            ),
            (((1, 16, 16, 16), "f32"),),
            geometry | {"stride": [2, 2], "padding": [0, 0], "output_padding": [0, 0]},
        ),
        Case(
            "conv1d",
            (((2, 16, 8), "f32", "input"), ((32, 8, 3), "f32", "parameter")),
            (((2, 16, 32), "f32"),),
            {"stride": 1, "padding": 1, "dilation": 1, "groups": 1},
        ),
        Case(  # a tall kernel in groups: along the height
            "conv1d",
            (((2, 9, 8), "f32", "input"), ((8, 4, 64), "f32", "parameter")),
            (((2, 5, 8), "f32"),),
            {"stride": 2, "padding": 32, "dilation": 1, "groups": 2},
        ),
        one("max_pool2d", (1, 8, 8, 32), (1, 4, 4, 32), **pool),
        one("max_pool2d", (1, 9, 9, 32), (1, 5, 5, 32), "bf16", **(pool | {"ceil_mode": True})),
        one(
            "max_pool2d",
            (2, 14, 14, 16),
            (2, 7, 7, 16),
            "bf16",
            **(pool | {"kernel": [3, 3], "padding": [1, 1]}),
        ),
        one("max_pool2d", (1, 8, 8, 32), (1, 4, 4, 32), "bf16", **(pool | {"kernel": [3, 3], "padding": [0, 2, 2, 0]})),
        one("avg_pool2d", (1, 8, 8, 32), (1, 5, 5, 32), "bf16", **(pool | {"padding": [2, 0, 0, 2]})),
        one("avg_pool2d", (1, 8, 8, 32), (1, 4, 4, 32), **pool),
        one("avg_pool2d", (2, 7, 7, 16), (2, 1, 1, 16), **(pool | {"kernel": [7, 7], "stride": [1, 1]})),
        one(
            "avg_pool2d",
            (1, 8, 8, 32),
            (1, 4, 4, 32),
            **(pool | {"kernel": [3, 3], "padding": [1, 1], "count_include_pad": False}),
        ),
        one("global_avg_pool2d", (2, 7, 7, 16), (2, 1, 1, 16)),
        one("upsample2d", (1, 4, 4, 32), (1, 8, 8, 32), scale_factor=[2, 2]),
        one("upsample2d", (1, 4, 4, 32), (1, 8, 8, 32), "bf16", scale_factor=2, mode="bilinear"),
        many("grid_sample", [(2, 6, 10, 32), (2, 5, 7, 2)], (2, 5, 7, 32)),
        Case(  # places in float32: rounded ones are other places
            "grid_sample",
            (((1, 9, 5, 3), "bf16", "input"), ((1, 1, 33, 2), "f32", "input")),
            (((1, 1, 33, 3), "bf16"),),
            {"align_corners": True},
        ),
    ]


CASES = _cases()


def _numbered(cases: Sequence[Case]) -> dict[str, Case]:
    """By name; names of several cases get numbers."""
    seen: dict[str, int] = {}
    found = {}
    for case in cases:
        seen[case.name] = seen.get(case.name, 0) + 1
        found[case.name if seen[case.name] == 1 else f"{case.name} {seen[case.name]}"] = case
    return found


NAMED = _numbered(CASES)
