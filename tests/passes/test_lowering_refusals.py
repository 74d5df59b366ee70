"""What lowering refuses, with its words, and the nearest form of each that it takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from pass_graphs import CONV, Graph, build
from ttnn_numpy import run as run_ttnn
from xdsl.dialects.builtin import ModuleOp

from alchemist.driver.opt import run_pipeline
from alchemist.errors import UserError
from alchemist.ir.access import elements
from alchemist.ir.attributes import tensor
from alchemist.ir.text import parse
from tests.tables import table

Input = tuple[tuple[int, ...], str, str]
POOL = {"kernel": [3, 3], "stride": [1, 1], "dilation": [1, 1], "padding": [1, 1, 1, 1], "ceil_mode": False}


def constant(g: Graph, values: Any, of: str = "i32") -> Any:
    array = np.asarray(values, np.int32)
    return g.b.op("ttir.constant", [], {"value": elements(array, of)}, [tensor(array.shape, of)])


def x(*dims: int, of: str = "f32", kind: str = "input") -> Input:
    return dims, of, kind


def cut(g: Graph, a: Any, begins: Any, ends: Any) -> Any:
    return g("slice_dynamic", a, begins, ends, out=(3, 32), step=[1, 1])


def pool(name: str, out: tuple[int, int] = (6, 6), **attributes: Any) -> Callable[..., Any]:
    return lambda g, a: g(name, a, out=(1, *out, 32), **POOL | attributes)


def indices(g: Graph, a: Any, padding: list[int]) -> Any:
    types = [tensor((1, 6, 6, 32), "bf16"), tensor((1, 6, 6, 32), "i32")]
    return tuple(g.b.make("ttir.max_pool2d_with_indices", [a], POOL | {"padding": padding}, types).results)


def turned_pool(g: Graph, a: Any, k: Any, order: tuple[int, ...]) -> Any:
    """Of an image whose dims are named anew."""
    image = g("conv2d", a, k, out=(1, 32, 6, 6), **CONV)
    return g(
        "max_pool2d",
        g("permute", image, out=tuple((1, 32, 6, 6)[i] for i in order), permutation=list(order)),
        out=tuple((1, 32, 6, 6)[i] for i in order),
        **POOL,
    )


def heads(g: Graph, a: Any, size: int) -> Any:
    types = [tensor((2, 2, 4, size), "bf16")] * 3
    return tuple(g.b.make("ttir.split_query_key_value_and_split_heads", [a, None], {"num_heads": 2, "transpose_key": False}, types).results)


def conv(g: Graph, a: Any, k: Any, **attributes: Any) -> Any:
    return g("conv2d", a, k, out=(1, 16, 6, 6), **CONV | attributes)


def wave(g: Graph, a: Any, k: Any) -> Any:
    return g("conv1d", a, k, out=(1, 16, 6), stride=[1], padding=[1, 1], dilation=[1], groups=1, batch_dim=0, length_dim=2, channel_dim=1)


def cache(g: Graph, a: Any, update: Any, at: Any) -> Any:
    return g("update_cache", a, update, at, batch_offset=0)


CONV_IN, KERNEL = x(1, 8, 6, 6), ((16, 8, 3, 3), "f32", "parameter")
REFUSED: dict[str, tuple[ModuleOp, str, str]] = {
    "bounds": (build(cut, x(4, 32), x(2, of="i32"), x(2, of="i32")), "slice bounds that are computed at run time", ""),
    "a reverse": (build(lambda g, a: g("reverse", a, dimensions=[0]), x(65, 32)), "reversing a long dimension", "65"),
    "an extreme": (build(lambda g, a, i, s: g("scatter", a, i, s, dim=0, scatter_reduce_type="max"), x(4, 32), x(4, 32, of="i32"), x(4, 32)), "a scatter of this size that keeps the maximum", "[4, 32]"),
    "positions": (build(cache, x(2, 4, 64, 32), x(2, 4, 3, 32), x(2, of="i32")), "a cache update of several positions", "[2, 4, 3, 32]"),
    "dilation": (build(pool("avg_pool2d", (4, 4), dilation=[2, 2], count_include_pad=True), x(1, 6, 6, 32, of="bf16")), "a dilated average pool", "[2, 2]"),
    "padding that counts not": (build(pool("avg_pool2d", (8, 8), padding=[2, 2, 2, 2], count_include_pad=False), x(1, 6, 6, 32, of="bf16")), "a avg_pool2d whose padding is larger than half of its window", "2"),
    "padding of indices": (build(lambda g, a: indices(g, a, [2, 0, 0, 2]), x(1, 6, 6, 32, of="bf16")), "a max_pool2d_with_indices whose padding is larger", "2"),
    "a mean of volumes": (
        build(lambda g, a: g("global_avg_pool2d", a, out=(1, 2, 1, 1, 8)), x(1, 2, 4, 4, 8)), "a mean over an image of another rank", "[1, 2, 4, 4, 8]",
    ),
    "heads": (build(lambda g, a: heads(g, a, 16), x(2, 4, 96, of="bf16")), "heads that are no whole tiles", "16"),
    "weights": (build(conv, CONV_IN, x(16, 8, 3, 3)), "a convolution whose weights are not parameters", ""),
    "weights of a wave": (build(wave, x(1, 8, 6), x(16, 8, 3)), "a convolution whose weights are not parameters", ""),
    "bits": (build(lambda g, a: g("bitcast_convert", a, of="f32"), x(4, 32, of="i64")), "the device does not hold these bits", "i64 as f32"),
    "a type": (build(lambda g, a: g("abs", a, of="i4"), x(4, 32, of="i4")), "no device data type for i4", ""),
}  # fmt: skip


@table("case", REFUSED)
def test_refused(case: str) -> None:
    module, message, got = REFUSED[case]
    with pytest.raises(UserError) as caught:
        run_pipeline(module, "ttir-to-ttnn")
    assert message in caught.value.message and got in caught.value.got


TAKEN: dict[str, ModuleOp] = {
    "known bounds": build(lambda g, a: cut(g, a, constant(g, [1, 0]), constant(g, [4, 32])), x(4, 32)),
    "a reverse": build(lambda g, a: g("reverse", a, dimensions=[0]), x(64, 3)),
    "a reverse of one": build(lambda g, a: g("reverse", a, dimensions=[0, 1]), x(1, 3)),
    "two of three dims": build(lambda g, a: g("argmax", a, out=(3,), of="i32", dim_arg=[0, 2], keep_dim=False), x(2, 3, 4)),
    "all dims": build(lambda g, a: g("argmax", a, out=(), of="i32", dim_arg=[0, 1, 2], keep_dim=False), x(2, 3, 4)),
    "a negative dim": build(lambda g, a: g("argmax", a, out=(2, 3, 1), of="i32", dim_arg=[-1], keep_dim=True), x(2, 3, 4)),
    "half of the window": build(pool("avg_pool2d", count_include_pad=False), x(1, 6, 6, 32, of="bf16")),
    "a pool of what is no image": build(lambda g, a, k: turned_pool(g, a, k, (0, 1, 2, 3)), CONV_IN, ((32, 8, 3, 3), "f32", "parameter")),
    "a pool of pixels": build(lambda g, a, k: turned_pool(g, a, k, (0, 2, 3, 1)), CONV_IN, ((32, 8, 3, 3), "f32", "parameter")),
    "bits": build(lambda g, a: g("bitcast_convert", a, of="f32"), x(4, 32, of="i32")),
}


@table("case", TAKEN)
def test_taken(case: str) -> None:
    from alchemist.ops.evaluate import run as run_ttir

    module = TAKEN[case]
    rng = np.random.default_rng(0)
    given = []
    for argument in next(iter(module.ops)).body.block.args:  # type: ignore[attr-defined]
        values = rng.uniform(-1, 1, argument.type.get_shape())
        given.append((values * 100).astype(np.int32) if "i32" in str(argument.type) else values.astype(np.float32))
    wanted = run_ttir(module, given)
    for want, have in zip(wanted, run_ttnn(run_pipeline(module, "ttir-to-ttnn"), given), strict=True):
        np.testing.assert_allclose(np.asarray(have, np.float64), np.asarray(want, np.float64), rtol=2e-2, atol=2e-2)


@pytest.mark.parametrize(
    ("users", "update", "at", "ops"),
    [
        (1, (1, 4, 1, 32), 5, "update_cache"),
        (2, (2, 4, 1, 32), None, "permute to_memory_config paged_update_cache"),
        (2, (1, 4, 2, 32), None, "permute to_memory_config paged_update_cache"),
    ],
)
def test_positions_of_caches(users: int, update: tuple[int, ...], at: int | None, ops: str) -> None:
    """A number where the position is known, else a tensor with one for each user, who comes first or third in the update."""

    def net(g: Graph, a: Any, new: Any, *positions: Any) -> Any:
        return cache(g, a, new, positions[0] if positions else constant(g, [at]))

    made = run_pipeline(build(net, x(users, 4, 64, 32), (update, "f32", "input"), *([x(users, of="i32")] if at is None else [])), "ttir-to-ttnn")
    names = [op.name.removeprefix("ttnn.") for op in made.walk() if op.name.startswith("ttnn.")]
    assert " ".join(name for name in names if name not in ("to_layout", "constant", "get_device", "full", "typecast")).startswith(ops)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ('%0 = "ttir.all_to_all"(%a) <{split_dim = 0 : si32, concat_dim = 0 : si32, split_count = 1 : si32, replica_groups = dense<0> : tensor<1x1xi64>}> : (tensor<32x32xf32>) -> tensor<32x32xf32>', "these ops have no TTNN form"),
        ('%0 = "ttnn.abs"(%a) : (tensor<32x32xf32>) -> tensor<32x32xf32>', "a TTNN op on tensors without a layout"),
        ('%0 = func.call @g(%a) : (tensor<32x32xf32>) -> tensor<32x32xf32>', "a call cannot be lowered"),
    ],
)  # fmt: skip
def test_ops_without_a_form(body: str, message: str) -> None:
    inner = "func.func private @g(%a: tensor<32x32xf32>) -> tensor<32x32xf32> { return %a : tensor<32x32xf32> }" if "@g" in body else ""
    module = parse(f"module {{ {inner}\nfunc.func @f(%a: tensor<32x32xf32>) -> tensor<32x32xf32> {{ {body}\nreturn %0 : tensor<32x32xf32> }} }}")
    with pytest.raises(UserError) as caught:
        run_pipeline(module, "ttir-to-ttnn")
    assert message in caught.value.message
