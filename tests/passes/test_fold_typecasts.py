"""Casts that cancel out, and cutting off fractions that are not there: when, when not, and with the same values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from pass_graphs import Graph, build, names
from ttnn_numpy import run as run_ttnn

from alchemist.frontends.torch import capture
from alchemist.ir.layout import layout_of
from alchemist.ir.text import parse
from alchemist.ops.evaluate import run as run_ttir
from alchemist.options import CompilerOptions
from alchemist.passes import configure, lower_to_ttnn
from alchemist.passes.signs import stored_type
from tests.tables import table

ROWS = ((32, 32), "f32", "input")
WHOLE = ((32, 32), "i32", "input")


def cast(g: Graph, x: Any, to: str) -> Any:
    return g("typecast", x, of=to)


def cut(g: Graph, x: Any) -> Any:
    return g("trunc", x)


CUT = ["abs", "floor", "sign", "multiply"]
CASES = {
    "cut off by the cast": (lambda g, x: cast(g, g("multiply", x, x), "i32"), ROWS, ["multiply", "typecast"]),
    "cut off after floor": (lambda g, x: cut(g, g("floor", x)), ROWS, ["floor"]),
    "cut off after a comparison's sum": (
        lambda g, x: cut(g, g("sum", cast(g, g("gt", x, g("neg", x), of="f32"), "f32"), out=(32,), dim_arg=[1], keep_dim=False)),
        ROWS,
        ["neg", "gt", "sum"],
    ),
    "cut off after whole places in a table": (
        lambda g, x: cut(g, g("add", g("multiply", g("clamp_scalar", g("floor", x), min=0.0, max=7.0), g.number(8.0)), g("ceil", x))),
        ROWS,
        ["floor", "clamp_scalar", "multiply", "ceil", "add"],
    ),
    "cut off after a clamp to halves": (
        lambda g, x: cut(g, g("clamp_scalar", g("floor", x), min=0.0, max=7.5)),
        ROWS,
        ["floor", "clamp_scalar", *CUT],
    ),
    "cut off after a sum with a half": (lambda g, x: cut(g, g("add", g("floor", x), g.number(0.5))), ROWS, ["floor", "add", *CUT]),
    "cut off after a product with fractions": (lambda g, x: cut(g, g("multiply", g("floor", x), x)), ROWS, ["floor", "multiply", *CUT]),
    "cut off after a product": (lambda g, x: cut(g, g("multiply", x, x)), ROWS, ["multiply", *CUT]),
    "there and back of whole numbers": (lambda g, x: g("exp", cast(g, cast(g, g("ceil", x), "i32"), "f32")), ROWS, ["ceil", "exp"]),
    "there and back of fractions": (lambda g, x: g("exp", cast(g, cast(g, x, "i32"), "f32")), ROWS, ["typecast", "typecast", "exp"]),
    "there only": (lambda g, x: g("exp", cast(g, x, "f32")), WHOLE, ["typecast", "exp"]),
}


@table("case", CASES)
def test_casts(case: str) -> None:
    net, given, wanted = CASES[case]
    module = build(net, given)
    lowered = lower_to_ttnn(module)
    made = [name for name in names(lowered.module) if name not in ("get_device", "to_layout", "deallocate", "to_device", "full")]
    assert sorted(made) == sorted(wanted)
    rng = np.random.default_rng(0)
    x = rng.normal(0, 3, given[0]).astype(np.float32) if given[1] == "f32" else rng.integers(-4, 4, given[0]).astype(np.int32)
    for want, have in zip(run_ttir(module, [x]), run_ttnn(lowered.module, [x]), strict=True):
        np.testing.assert_allclose(have, want, rtol=1e-5)


DTYPES = ("bf16", "f32", "u32", "si32", "u16", "u8")
UNDONE = {"bf16 f32", "u32 si32", "si32 u32", "u16 u32", "u16 si32", "u8 u32", "u8 si32"}  # casts that lose nothing


def chain(first: str, *steps: tuple[str, str]) -> list[str]:
    """Names of ops, with types of casts, that stay of a chain of ops (name, data type) on an input; topk and sort give their indices."""

    types = {
        dtype: f"tensor<32x32x{dtype.replace('u', 'ui')}, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, {dtype}>, #dram>, <interleaved>>>"
        for dtype in DTYPES
    }
    lines, value, type_ = [], "%x", types[first]
    for number, (step, dtype) in enumerate(steps):
        name, _, place = step.partition(" ")
        results = [types["bf16"], types[dtype]] if place == "1" else [types[dtype], types["u16"]] if place else [types[dtype]]
        lines.append(f'%v{number}{":2" if place else ""} = "ttnn.{name}"({value}) : ({type_}) -> ({", ".join(results)})')
        value, type_ = f"%v{number}{f'#{place}' if place else ''}", types[dtype]
    head = f"#dram = #ttnn.buffer_type<dram>\nfunc.func @forward(%x: {types[first]}) -> {type_} {{\n"
    module = parse(head + "\n".join(lines) + f"\nreturn {value} : {type_}\n}}", verify=False)
    for one in configure(["fold-typecasts"], CompilerOptions()):
        one.run(module)
    ops = [op for op in module.walk() if op.name.startswith("ttnn.")]
    return [layout_of(op.results[0].type).dtype if op.name == "ttnn.typecast" else op.name.removeprefix("ttnn.") for op in ops]  # type: ignore[union-attr]


@table("first", DTYPES)
@table("middle", DTYPES)
def test_there_and_back(first: str, middle: str) -> None:
    for last in DTYPES:
        kept = [] if first == last and f"{first} {middle}" in UNDONE else [middle, last]
        assert chain(first, ("typecast", middle), ("typecast", last), ("exp", last)) == [*kept, "exp"], last


WHOLE_NUMBERS = "floor ceil sign eq ne lt le gt ge logical_and logical_or logical_not".split()
OF_WHOLE_NUMBERS = "sum cumsum max min abs neg relu reshape permute to_layout".split()


@table(
    ("steps", "whole"),
    [
        *((f"{name}", True) for name in WHOLE_NUMBERS),
        *((f"floor {name}", True) for name in OF_WHOLE_NUMBERS),
        *((f"exp {name}", False) for name in OF_WHOLE_NUMBERS),
        ("exp", False), ("floor exp", False), ("multiply", False), ("floor sum neg", True), ("floor sqrt sum", False), ("relu", False),
        ("typecast/u16 typecast/bf16 exp", False), ("typecast/u16 typecast/bf16", True), ("typecast/f32 typecast/bf16", False),
    ],
)  # fmt: skip
def test_what_gives_whole_numbers(steps: str, whole: bool) -> None:
    """A fraction would be cut off, whole numbers come back as they were."""
    given = [tuple(step.split("/")) if "/" in step else (step, "bf16") for step in steps.split()]
    before = chain("bf16", *given)  # type: ignore[arg-type]
    assert chain("bf16", *given, ("typecast", "si32"), ("typecast", "bf16"), ("exp", "bf16")) == [*before, *([] if whole else ["si32", "bf16"]), "exp"]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("steps", "kept"),
    [
        ([("topk 1", "u32"), ("typecast", "si32"), ("typecast", "f32")], ["topk", "f32"]),  # an index is not negative
        ([("sort 1", "u32"), ("typecast", "si32"), ("typecast", "f32")], ["sort", "f32"]),
        ([("argmax", "u32"), ("typecast", "si32"), ("typecast", "bf16")], ["argmax", "bf16"]),
        ([("argmax", "u32"), ("typecast", "si32"), ("typecast", "u16")], ["argmax", "si32", "u16"]),
        ([("topk 0", "u32"), ("typecast", "si32"), ("typecast", "f32")], ["topk", "si32", "f32"]),
        ([("exp", "u32"), ("typecast", "si32"), ("typecast", "f32")], ["exp", "si32", "f32"]),
        ([("argmax", "u16"), ("typecast", "si32"), ("typecast", "f32")], ["argmax", "si32", "f32"]),
    ],
)
def test_indices_become_fractions_at_once(steps: list[tuple[str, str]], kept: list[str]) -> None:
    assert chain("bf16", *steps, ("exp", steps[-1][1])) == [*kept, "exp"]


IDS = torch.arange(8).reshape(8, 1, 1)


def chosen(x: torch.Tensor, against: torch.Tensor) -> torch.Tensor:
    """1.0 where one of the two largest elements of a row has this index."""
    return (x.topk(2).indices == against).float()


# what the indices are compared with -> casts of indices
COMPARED = {
    "constants": (lambda x: chosen(x, IDS), 0),
    "constants that are negative": (lambda x: chosen(x, IDS - 3), 1),
    "constants of two comparisons": (lambda x: chosen(x, IDS) + chosen(-x, IDS), 0),
    "constants that something else reads": (lambda x: chosen(x, IDS) + (IDS + x.topk(2).indices), 1),
    "other indices": (lambda x: chosen(x, (-x).topk(2).indices), 0),
}


@table("case", COMPARED)
def test_indices_are_compared_as_they_are(case: str) -> None:
    """The constants become unsigned, too, where they can be."""
    model, casts = COMPARED[case]
    module = lower_to_ttnn(capture(model, (torch.rand(32, 8),), {}).module).module
    assert [op.name for op in module.walk() if op.operands and stored_type(op.operands[0]) == "u32"].count("ttnn.typecast") == casts


class Pooled(torch.nn.Module):
    """A convolution whose result a pool reads, and with `skip` a sum, too."""

    def __init__(self, skip: bool) -> None:
        super().__init__()
        self.conv, self.skip = torch.nn.Conv2d(32, 32, 3, padding=1), skip

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.conv(x)
        pooled = torch.nn.functional.max_pool2d(y, 2)
        return pooled + y[:, :, ::2, ::2] if self.skip else pooled


@pytest.mark.parametrize(("skip", "dtype"), [(False, "bf16"), (True, "f32")])
def test_a_convolution_writes_what_a_pool_reads(skip: bool, dtype: str) -> None:
    result = capture(Pooled(skip).eval(), (torch.rand(1, 32, 8, 8),), {})
    (conv,) = (op for op in lower_to_ttnn(result.module).module.walk() if op.name == "ttnn.conv2d")
    layout = layout_of(conv.results[0].type)
    assert layout is not None and layout.dtype == dtype
