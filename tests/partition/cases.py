"""Random ops with random placements: a row per op, whose function draws shapes and attributes."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from alchemist.frontends.base import Argument, FrontendResult, Mesh, Output, Placement
from alchemist.ir import access
from alchemist.ir.attributes import tensor
from alchemist.ir.builder import Builder
from alchemist.mesh import lockstep, partition
from alchemist.ops import evaluate

Shape = tuple[int, ...]
Drawn = tuple[list[Shape], dict[str, Any]]
MESHES = (Mesh(1, 2), Mesh(2, 2), Mesh(2, 4))
SIZES = (4, 8, 8, 8, 16, 6, 1)


@dataclass
class Case:
    """An op with its operands' shapes ("i32" first operands hold indices below `below`), attributes and placements."""

    name: str
    shapes: Sequence[Shape]
    attributes: dict[str, Any]
    placements: Sequence[Placement | None]
    mesh: Mesh
    result: Shape | None = None
    below: int = 0

    def captured(self, seed: int) -> FrontendResult:
        rng = np.random.default_rng(seed)
        values = [rng.standard_normal(shape, np.float32) for shape in self.shapes]
        if self.below:
            place = int(self.name == "gather")
            values[place] = rng.integers(0, self.below, self.shapes[place], np.int32)
        kinds = [tensor(value.shape, "i32" if value.dtype.kind == "i" else "f32") for value in values]
        b = Builder.module("forward", [(f"x{place}", kind, "parameter", None) for place, kind in enumerate(kinds)])
        types = None if self.result is None else [tensor(self.result or (), "i32" if self.name == "argmax" else "f32")]
        operands: list[Any] = [list(b.args)] if self.name == "concat" else list(b.args)
        made = b.op(f"ttir.{self.name}", operands, self.attributes, types)
        outputs = made if isinstance(made, tuple) else (made,)
        b.ret(outputs)
        arguments = [Argument(f"x{place}", "parameter", value.shape, value.dtype.name, partial(np.asarray, value)) for place, value in enumerate(values)]
        results = [Output(f"y{place}", access.shape(output), "float32") for place, output in enumerate(outputs)]
        return FrontendResult(b.module_op, "mlir", "case", arguments, results, None)

    def compare(self, seed: int) -> FrontendResult:
        """The partitioned module. Raises: UserError where it is refused, AssertionError where its values are not the whole one's."""
        captured = self.captured(seed)
        values = [argument.value() for argument in captured.arguments]
        expected = evaluate.run(captured.module, values)
        made = partition(captured, self.mesh, self.placements)
        for want, got in zip(expected, lockstep.run(made), strict=True):
            np.testing.assert_allclose(got, want, rtol=2e-5, atol=2e-5, err_msg=str(self))
        return made


def _shape(rng: random.Random, rank: int | None = None) -> Shape:
    return tuple(rng.choice(SIZES) for _ in range(rank or rng.randint(1, 4)))


def _broadcast(rng: random.Random, dims: Shape) -> Shape:
    return tuple(1 if rng.random() < 0.25 else size for size in dims[rng.randint(0, len(dims) - 1) :])


def _binary(rng: random.Random) -> Drawn:
    dims = _shape(rng)
    return [dims, _broadcast(rng, dims)], {}


def _unary(rng: random.Random) -> Drawn:
    return [_shape(rng)], {}


def _product(rng: random.Random, bias: bool = False) -> Drawn:
    batch, (rows, depth, columns) = _shape(rng, rng.randint(1, 3))[1:], _shape(rng, 3)
    turned = [rng.random() < 0.3 for _ in range(2)]
    left, right = [(rows, depth), (depth, rows)][turned[0]], [(depth, columns), (columns, depth)][turned[1]]
    operands = [batch + left, (batch if rng.random() < 0.5 else ()) + right]
    return operands + ([(columns,)] if bias else []), {"transpose_a": turned[0], "transpose_b": turned[1]}


def _dot_general(rng: random.Random) -> Drawn:
    batch, (rows, depth, columns) = rng.choice(SIZES), _shape(rng, 3)
    return [(batch, rows, depth), (depth, batch, columns)], {"batch_dims_lhs": [0], "contract_dims_lhs": [2], "batch_dims_rhs": [1], "contract_dims_rhs": [0]}


def _reshape(rng: random.Random) -> Drawn:
    dims = _shape(rng, rng.randint(2, 4))
    if rng.random() < 0.5:  # two are joined
        place = rng.randint(0, len(dims) - 2)
        made = (*dims[:place], dims[place] * dims[place + 1], *dims[place + 2 :])
    else:
        place = rng.randint(0, len(dims) - 1)
        split = rng.choice([size for size in range(1, dims[place] + 1) if dims[place] % size == 0])
        made = (*dims[:place], split, dims[place] // split, *dims[place + 1 :])
    return [dims], {"shape": made}


def _permute(rng: random.Random) -> Drawn:
    dims = _shape(rng)
    return [dims], {"permutation": rng.sample(range(len(dims)), len(dims))}


def _stretched(rng: random.Random) -> Drawn:
    dims = _shape(rng)
    place = rng.randrange(len(dims))
    return [(*dims[:place], 1, *dims[place + 1 :])], {"broadcast_dimensions": [size if dim == place else 1 for dim, size in enumerate(dims)]}


def _concat(rng: random.Random) -> Drawn:
    dims, dim = _shape(rng), 0
    dim = rng.randrange(len(dims))
    return [dims, (*dims[:dim], rng.choice(SIZES), *dims[dim + 1 :])], {"dim": dim}


def _slice(rng: random.Random) -> Drawn:
    dims = _shape(rng)
    begins = [0 if rng.random() < 0.6 else rng.randrange(size) for size in dims]
    ends = [size if begin == 0 and rng.random() < 0.8 else rng.randint(begin + 1, size) for begin, size in zip(begins, dims, strict=True)]
    return [dims], {"begins": begins, "ends": ends, "step": [1] * len(dims)}


def _pad(rng: random.Random) -> Drawn:
    dims = _shape(rng)
    return [dims], {"padding": [rng.choice((0, 0, 0, 2)) for _ in range(2 * len(dims))], "value": 0.5}


def _reduction(rng: random.Random) -> Drawn:
    dims = _shape(rng)
    return [dims], {"dim_arg": rng.sample(range(len(dims)), rng.randint(1, len(dims))), "keep_dim": rng.random() < 0.5}


def _one_dim(rng: random.Random, name: str = "dim") -> Drawn:
    dims = _shape(rng)
    return [dims], {name: rng.randrange(len(dims))}


def _argmax(rng: random.Random) -> Drawn:
    dims = _shape(rng)
    return [dims], {"dim_arg": [rng.randrange(len(dims))], "keep_dim": True}


def _norm(rng: random.Random) -> Drawn:
    dims = _shape(rng, rng.randint(2, 4))
    return [dims, (dims[-1],), (dims[-1],)], {"normalized_shape": [dims[-1]], "epsilon": 1e-5}


def _look_up(rng: random.Random) -> Drawn:
    return [_shape(rng, rng.randint(1, 2)), (rng.choice((8, 16, 6)), rng.choice(SIZES))], {}


def _gather(rng: random.Random) -> Drawn:
    dims, dim = _shape(rng, rng.randint(1, 3)), 0
    dim = rng.randrange(len(dims))
    return [dims, (*dims[:dim], rng.choice(SIZES), *dims[dim + 1 :])], {"dim": dim}


def _attention(rng: random.Random) -> Drawn:
    """Also of other rows (cross attention, decode steps) and of values of another width than the keys'."""
    users, pairs, group, depth = rng.choice((1, 4)), rng.choice((1, 2, 4)), rng.choice((1, 2)), rng.choice((4, 8))
    rows, columns, width = rng.choice((4, 8)), rng.choice((4, 8)), rng.choice((4, 8))
    query, key, value = (users, pairs * group, rows, depth), (users, pairs, columns, depth), (users, pairs, columns, width)
    mask = [(rng.choice((1, users)), rng.choice((1, pairs * group)), rows, columns)] if rng.random() < 0.5 else []
    return [query, key, value, *mask], {"is_causal": not mask and rows == columns and rng.random() < 0.5, "scale": 0.5}


def _conv(rng: random.Random) -> Drawn:
    images, (channels, made) = rng.choice((2, 4, 8)), _shape(rng, 2)
    given = {"stride": [1, 1], "padding": [1, 1, 1, 1], "dilation": [1, 1], "groups": 1}
    return [(images, 8, 8, channels), (made, channels, 3, 3), (1, 1, 1, made)], given


def _pool(rng: random.Random) -> Drawn:
    given = {"kernel": [2, 2], "stride": [2, 2], "padding": [0, 0, 0, 0], "dilation": [1, 1], "ceil_mode": False}
    return [(rng.choice((2, 4, 8)), 8, 8, rng.choice(SIZES))], given


ROWS: dict[str, Callable[[random.Random], Drawn]] = {
    "add": _binary, "multiply": _binary, "maximum": _binary, "div": _binary,
    "relu": _unary, "gelu": _unary, "exp": _unary, "typecast": _unary,
    "matmul": _product, "linear": partial(_product, bias=True), "dot_general": _dot_general,
    "reshape": _reshape, "permute": _permute, "broadcast": _stretched, "concat": _concat, "slice_static": _slice, "pad": _pad,
    "sum": _reduction, "mean": _reduction, "max": _reduction, "argmax": _argmax,
    "softmax": partial(_one_dim, name="dimension"), "cumsum": _one_dim, "sort": _one_dim, "layer_norm": _norm, "rms_norm": _norm,
    "embedding": _look_up, "gather": _gather, "scaled_dot_product_attention": _attention, "conv2d": _conv, "max_pool2d": _pool,
    "reverse": lambda rng: ([_shape(rng, 2)], {"dimensions": [rng.randrange(2)]}),
}  # fmt: skip


def _placement(rng: random.Random, dims: Shape, mesh: Mesh) -> Placement:
    """Whole, or a cut that mostly divides the dimension."""
    made: list[int | None] = []
    for chips in mesh.extents:
        fit = [dim for dim, size in enumerate(dims) if size % chips == 0 and dim not in made]
        any_ = [dim for dim in range(len(dims)) if dim not in made]
        choices = any_ if rng.random() < 0.02 else fit
        made.append(rng.choice(choices) if choices and chips > 1 and rng.random() < 0.7 else None)
    return made[0], made[1]


def _result(name: str, shapes: Sequence[Shape], attributes: dict[str, Any]) -> Shape | None:
    """The result's shape of an op that does not say it."""
    dims = shapes[0]
    if name == "argmax":
        return tuple(1 if dim in attributes["dim_arg"] else size for dim, size in enumerate(dims))
    if name == "conv2d":
        return (*dims[:3], shapes[1][0])
    if name == "dot_general":
        return (*dims[:2], shapes[1][2])
    if name == "typecast":
        return dims
    return None


def draw(rng: random.Random, name: str = "") -> Case:
    """A case; name: of that op."""
    name = name or rng.choice(list(ROWS))
    shapes, attributes = ROWS[name](rng)
    mesh = rng.choice(MESHES)
    placements: list[Placement | None] = [_placement(rng, dims, mesh) if rng.random() < 0.5 else None for dims in shapes]
    while placements and not any(one not in (None, (None, None)) for one in placements):  # something is cut
        place = rng.randrange(len(shapes))
        placements[place] = _placement(rng, shapes[place], mesh)
    below = shapes[1][0] if name == "embedding" else shapes[0][attributes["dim"]] if name == "gather" else 0
    return Case(name, shapes, attributes, placements, mesh, _result(name, shapes, attributes), below)
