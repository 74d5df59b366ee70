"""TOSA: every op of the table against NumPy, in its own assembly; programs in both languages; what has no form in TTIR."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from alchemist import cli
from alchemist.codegen import mlir_sources
from alchemist.errors import LoweringError
from alchemist.frontends.mlir.load import load
from alchemist.ops import evaluate
from alchemist.toolchain.tosa import OPS

F, N, B = "tensor<4x6xf32>", "tensor<4x6xi32>", "tensor<4x6xi1>"
_ERF = np.vectorize(math.erf)


def _pooled(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """2x2 windows with steps of 2 over channels-last images, two rows below padded."""
    wide = np.pad(x, ((0, 0), (0, 2), (0, 0), (0, 0)), constant_values=-np.inf)
    n, h, w, c = wide.shape
    return wide.reshape(n, h // 2, 2, w // 2, 2, c).max((2, 4))


Row = tuple[str, list[str], str, Callable[..., Any]]
ROWS: list[Row] = [
    *((f"%r = tosa.{name} %0 : ({F}) -> {F}", [F], F, ref) for name, ref in {
        "abs": np.abs, "ceil": np.ceil, "cos": np.cos, "erf": _ERF, "exp": np.exp, "floor": np.floor, "log": np.log, "reciprocal": lambda x: 1 / x,
        "rsqrt": lambda x: 1 / np.sqrt(x), "sigmoid": lambda x: 1 / (1 + np.exp(-x)), "sin": np.sin, "tanh": np.tanh,
    }.items()),
    *((f"%r = tosa.{name} %0, %1 : ({F}, {F}) -> {F}", [F, F], F, ref) for name, ref in {
        "add": np.add, "maximum": np.maximum, "minimum": np.minimum, "pow": np.power, "sub": np.subtract}.items()),
    *((f"%r = tosa.{name} %0, %1 : ({N}, {N}) -> {N}", [N, N], N, getattr(np, name)) for name in ("bitwise_and", "bitwise_or", "bitwise_xor")),
    (f"%r = tosa.bitwise_not %0 : ({N}) -> {N}", [N], N, np.bitwise_not),
    *((f"%r = tosa.{name} %0, %1 : ({B}, {B}) -> {B}", [B, B], B, getattr(np, name)) for name in ("logical_and", "logical_or", "logical_xor")),
    (f"%r = tosa.logical_not %0 : ({B}) -> {B}", [B], B, np.logical_not),
    *((f"%r = tosa.{name} %0, %1 : ({F}, {F}) -> {B}", [F, F], B, getattr(np, name)) for name in ("equal", "greater", "greater_equal")),
    (f"%r = tosa.select %0, %1, %2 : ({B}, {F}, {F}) -> {F}", [B, F, F], F, np.where),
    (f"%r = tosa.cast %0 : ({F}) -> {N}", [F], N, lambda x: x.astype(np.int32)),
    (f"%s = tosa.const_shape {{values = dense<[3, 8]> : tensor<2xindex>}} : () -> !tosa.shape<2>\n%r = tosa.reshape %0, %s : ({F}, !tosa.shape<2>) -> tensor<3x8xf32>",
        [F], "tensor<3x8xf32>", lambda x: x.reshape(3, 8)),
    (f"%r = tosa.reshape %0 {{new_shape = array<i64: 3, 8>}} : ({F}) -> tensor<3x8xf32>", [F], "tensor<3x8xf32>", lambda x: x.reshape(3, 8)),
    (f"%r = tosa.mul %0, %1 {{shift = 0 : i8}} : ({F}, {F}) -> {F}", [F, F], F, np.multiply),
    (f'%s = "tosa.const"() <{{values = dense<0> : tensor<1xi8>}}> : () -> tensor<1xi8>\n%r = tosa.mul %0, %1, %s : ({F}, {F}, tensor<1xi8>) -> {F}',
        [F, F], F, np.multiply),
    (f'%z = "tosa.const"() {{values = dense<0.0> : tensor<1xf32>}} : () -> tensor<1xf32>\n%r = tosa.negate %0, %z, %z : ({F}, tensor<1xf32>, tensor<1xf32>) -> {F}',
        [F], F, np.negative),
    ("%r = tosa.matmul %0, %1 : (tensor<2x4x6xf32>, tensor<2x6x3xf32>) -> tensor<2x4x3xf32>", ["tensor<2x4x6xf32>", "tensor<2x6x3xf32>"],
        "tensor<2x4x3xf32>", np.matmul),
    (f"%r = tosa.clamp %0 {{min_val = 1.0 : f32, max_val = 1.5 : f32}} : ({F}) -> {F}", [F], F, lambda x: np.clip(x, 1, 1.5)),
    (f"%r = tosa.clamp %0 {{min_fp = 1.0 : f32, max_fp = 1.5 : f32, min_int = 3 : i64, max_int = 4 : i64}} : ({F}) -> {F}", [F], F,
        lambda x: np.clip(x, 1, 1.5)),
    (f"%r = tosa.clamp %0 {{min_val = 2 : i32, max_val = 5 : i32}} : ({N}) -> {N}", [N], N, lambda x: np.clip(x, 2, 5)),
    (f"%r = tosa.concat %0, %1 {{axis = 1 : i32}} : ({F}, {F}) -> tensor<4x12xf32>", [F, F], "tensor<4x12xf32>", lambda *x: np.concatenate(x, 1)),
    *((f"%r = tosa.{name} %0 {{axis = 1 : i32}} : ({F}) -> tensor<4x1xf32>", [F], "tensor<4x1xf32>", ref) for name, ref in {
        "reduce_max": lambda x: x.max(1, keepdims=True), "reduce_min": lambda x: x.min(1, keepdims=True),
        "reduce_product": lambda x: x.prod(1, keepdims=True), "reduce_sum": lambda x: x.sum(1, keepdims=True)}.items()),
    ("%r = tosa.max_pool2d %0 {kernel = array<i64: 2, 2>, pad = array<i64: 0, 2, 0, 0>, stride = array<i64: 2, 2>} "
        ": (tensor<1x4x6x32xf32>) -> tensor<1x3x3x32xf32>", ["tensor<1x4x6x32xf32>"], "tensor<1x3x3x32xf32>", _pooled),
    (f"%r = tosa.transpose %0 {{perms = array<i32: 1, 0>}} : ({F}) -> tensor<6x4xf32>", [F], "tensor<6x4xf32>", np.transpose),
    (f'%p = "tosa.const"() <{{value = dense<[1, 0]> : tensor<2xi32>}}> : () -> tensor<2xi32>\n%r = tosa.transpose %0, %p : ({F}, tensor<2xi32>) -> tensor<6x4xf32>',
        [F], "tensor<6x4xf32>", np.transpose),
    (f'%c = "tosa.const"() <{{values = dense<2.0> : tensor<1x6xf32>}}> : () -> tensor<1x6xf32>\n%r = tosa.add %0, %c : ({F}, tensor<1x6xf32>) -> {F}',
        [F], F, lambda x: x + 2),
]  # fmt: skip


def _text(body: str, arguments: list[str], result: str) -> str:
    for index in range(len(arguments)):
        body = body.replace(f"%{index}", f"%a{index}")
    return f"func.func @f({', '.join(f'%a{i}: {t}' for i, t in enumerate(arguments))}) -> {result} {{\n{body}\nreturn %r : {result}\n}}"


def _value(type_: str, seed: int) -> np.ndarray[Any, Any]:
    *dims, element = type_.removeprefix("tensor<").rstrip(">").split("x")
    draw = np.random.default_rng(seed)
    sizes = tuple(int(dim) for dim in dims)
    if element == "f32":
        return draw.uniform(0.5, 2, sizes).astype(np.float32)
    return draw.integers(0, 9, sizes).astype(np.int32) if element == "i32" else draw.integers(0, 2, sizes).astype(np.bool_)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0].partition("%r = tosa.")[2].split()[0])
def test_an_op_computes_what_numpy_does(row: Row) -> None:
    body, arguments, result, reference = row
    values = [_value(type_, seed) for seed, type_ in enumerate(arguments)]
    (found,) = evaluate.run(load(_text(body, arguments, result)).module, values)
    np.testing.assert_allclose(np.asarray(found, np.float64), np.asarray(reference(*values), np.float64), rtol=1e-5)


def test_every_op_of_the_table_is_tried() -> None:
    assert {f"tosa.{word.split()[0].strip(chr(34) + '()')}" for body, *_ in ROWS for word in body.split("tosa.")[1:] if not word.startswith("shape<")} == OPS


def test_a_layer_in_both_languages_and_as_ttir(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "layer.mlir"
    path.write_text("""func.func @layer(%x: tensor<32x64xf32>, %w: tensor<128x64xf32>, %b: tensor<128xf32>) -> tensor<32x128xf32> {
  %wt = tosa.transpose %w {perms = array<i32: 1, 0>} : (tensor<128x64xf32>) -> tensor<64x128xf32>
  %l = tosa.reshape %x {new_shape = array<i64: 1, 32, 64>} : (tensor<32x64xf32>) -> tensor<1x32x64xf32>
  %r = tosa.reshape %wt {new_shape = array<i64: 1, 64, 128>} : (tensor<64x128xf32>) -> tensor<1x64x128xf32>
  %m = tosa.matmul %l, %r : (tensor<1x32x64xf32>, tensor<1x64x128xf32>) -> tensor<1x32x128xf32>
  %f = tosa.reshape %m {new_shape = array<i64: 32, 128>} : (tensor<1x32x128xf32>) -> tensor<32x128xf32>
  %c = tosa.reshape %b {new_shape = array<i64: 1, 128>} : (tensor<128xf32>) -> tensor<1x128xf32>
  %0 = tosa.add %c, %f : (tensor<1x128xf32>, tensor<32x128xf32>) -> tensor<32x128xf32>
  return %0 : tensor<32x128xf32>
}""")
    assert cli.main(["opt", "--convert-tosa-to-ttir", str(path)]) == 0
    out = capsys.readouterr().out
    assert "tosa." not in out and '"ttir.matmul"' in out
    for language, call in (("python", "ttnn."), ("cpp", "ttnn::")):
        assert any(f"{call}matmul(" in source or f"{call}linear(" in source for source in mlir_sources(path, language=language).values())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("body", "arguments", "message"),
    [
        (f'%s = "tosa.const"() <{{values = dense<2> : tensor<1xi8>}}> : () -> tensor<1xi8>\n%r = tosa.mul %0, %1, %s : ({N}, {N}, tensor<1xi8>) -> {N}',
            [N, N], "tosa.mul: a shift"),
        (f"%r = tosa.mul %0, %1, %2 : ({N}, {N}, tensor<1xi8>) -> {N}", [N, N, "tensor<1xi8>"], "the shift must be a tosa.const"),
        (f"%r = tosa.clamp %0 : ({N}) -> {N}", [N], "min_val"),
        (f"%r = tosa.transpose %0 {{perms = array<i32: 1, 1>}} : ({N}) -> {N}", [N], "does not fit the rank"),
        (f"%r = tosa.concat %0, %0 : ({N}, {N}) -> {N}", [N], "missing attribute axis"),
        (f"%r = tosa.table %0, %0 : ({N}, {N}) -> {N}", [N], "tosa.table: the op has no form in TTIR"),
    ],
    ids=["shift", "open shift", "no bounds", "permutation", "axis", "no row"],
)  # fmt: skip
def test_refusals_name_the_op(body: str, arguments: list[str], message: str) -> None:
    with pytest.raises(LoweringError) as error:
        load(_text(body, arguments, N))
    assert message in str(error.value)
