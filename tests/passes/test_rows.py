"""Rows of several samples or heads in one product, and chains of reshapes and permutes without detours."""

from __future__ import annotations

from typing import Any

from pass_graphs import F, Graph, W, build, check_change, check_unchanged
from xdsl.dialects.builtin import ModuleOp

from alchemist.ir.access import entry_function
from alchemist.passes.views import tiles_moved
from tests.tables import table

Dims = tuple[int, ...]


def block(g: Graph, x: Any, w: Any, *, table: Dims | None = None) -> Any:
    """exp(x) times a matrix, a second time with what went in added. table: of a value that is added first, broadcast to samples."""
    dims = (*x.type.get_shape()[:-1], 32)
    hidden = g("exp", x)
    if table:
        hidden = g("add", hidden, g.number(2.0, table))
    return g("add", g("matmul", hidden, w, out=dims, transpose_b=True), g("linear", g("tanh", hidden), w, out=dims, transpose_b=True))


def samples(dims: Dims, **given: Any) -> ModuleOp:
    return build(lambda g, x, w: block(g, x, w, **given), (dims, F, "input"), W)


def beside(g: Graph, x: Any, y: Any) -> Any:
    def turn(value: Any) -> Any:
        return g("permute", value, out=(4, 4, 8), permutation=[1, 0, 2])

    return turn(g("add", turn(x), y))


def shared(a: Dims, b: Dims, out: Dims) -> ModuleOp:
    return build(lambda g, x, y: g("matmul", x, y, out=out), (a, F, "input"), (b, F, "input"))


def chain(start: Dims, *steps: tuple[str, Dims]) -> ModuleOp:
    """Reshapes to dims and permutes by orders."""

    def net(g: Graph, x: Any) -> Any:
        for name, given in steps:
            dims = tuple(x.type.get_shape()[place] for place in given) if name == "permute" else given
            x = g(name, x, out=dims, **{"permutation" if name == "permute" else "shape": list(given)})
        return g("exp", x)

    return build(net, (start, F, "input"))


def projected(*, parts: int = 1, heads: bool = True) -> ModuleOp:
    """Tokens [2, 20, 64] by position, times a matrix, cut into parts and heads by samples, as `nn.MultiheadAttention` does it."""

    def net(g: Graph, x: Any, w: Any) -> Any:
        y = g("matmul", g("permute", x, out=(20, 2, 64), permutation=[1, 0, 2]), w, out=(20, 2, 32), transpose_b=True)
        if not heads:
            return g("exp", y)
        width = 32 // parts
        split = (20, 2, parts, width)
        y = g("permute", g("reshape", y, out=split, shape=split), out=(parts, 20, 2, width), permutation=[2, 0, 1, 3])
        found = []
        for part in range(parts):
            bounds = {"begins": [part, 0, 0, 0], "ends": [part + 1, 20, 2, width], "step": [1] * 4}
            each = y if parts == 1 else g("slice_static", y, out=(1, 20, 2, width), **bounds)
            dims, turned, last = (20, 8, width // 4), (8, 20, width // 4), (2, 4, 20, width // 4)
            each = g("permute", g("reshape", each, out=dims, shape=dims), out=turned, permutation=[1, 0, 2])
            found.append(g("exp", g("reshape", each, out=last, shape=last)))
        return found[0] if parts == 1 else g("add", *found)

    return build(net, ((2, 20, 64), F, "input"), W)


def joined_heads() -> ModuleOp:
    """Heads [2, 4, 20, 16] joined by position, times a matrix, by samples again."""

    def net(g: Graph, x: Any, w: Any) -> Any:
        y = g("permute", x, out=(20, 2, 4, 16), permutation=[2, 0, 1, 3])
        y = g("matmul", g("reshape", y, out=(20, 2, 64), shape=(20, 2, 64)), w, out=(20, 2, 32), transpose_b=True)
        return g("exp", g("permute", y, out=(2, 20, 32), permutation=[1, 0, 2]))

    return build(net, ((2, 4, 20, 16), F, "input"), W)


def reduced(name: str, axes: list[int], out: Dims) -> ModuleOp:
    """Products [3, 32, 32] reduced; over each row, what that gives is added to them."""

    def net(g: Graph, x: Any, w: Any) -> Any:
        y = g("matmul", g("exp", x), w, out=(3, 32, 32), transpose_b=True)
        made = g(name, y, out=out, dim_arg=axes, keep_dim=len(out) == 3)
        return g("add", y, made) if out[:-1] == (3, 32) else g("exp", made)

    return build(net, ((3, 32, 64), F, "input"), W)


def turned(a: Dims, b: Dims, out: Dims, order: tuple[int, ...], *, twice: bool = False, **given: bool) -> ModuleOp:
    def net(g: Graph, x: Any, y: Any) -> Any:
        product = g("matmul", x, y, out=out, **given)
        moved = g("permute", product, out=tuple(out[place] for place in order), permutation=list(order))
        return g("add", moved, g("exp", product)) if twice else g("exp", moved)

    return build(net, (a, F, "input"), (b, F, "input"))


def steps(ranks: tuple[int, ...]) -> ModuleOp:
    """Vectors of 8 times a scalar, which is given as many dims as `ranks` say."""

    def net(g: Graph, x: Any, size: Any) -> Any:
        for rank in ranks:
            x = g("multiply", g("exp", x), g("reshape", size, out=(1,) * rank, shape=[1] * rank))
        return x

    return build(net, ((4, 8), F, "input"), ((), F, "input"))


BLOCK = ["reshape", "exp", "matmul", "tanh", "linear", "add", "reshape"]
CHANGES: dict[str, tuple[str, ModuleOp, list[str]]] = {
    "samples of whole tiles": ("batches-as-rows", samples((3, 32, 64)), BLOCK),
    "samples of four dims: products alone": (
        "batches-as-rows",
        samples((2, 3, 64, 64)),
        ["exp", "reshape", "matmul", "reshape", "tanh", "reshape", "linear", "reshape", "add"],
    ),
    "a table that samples share": ("batches-as-rows", samples((3, 32, 64), table=(1, 32, 64)), ["exp", "full", "add", "reshape", *BLOCK[2:]]),
    "what is added to each row": ("batches-as-rows", reduced("mean", [2], (3, 32, 1)), ["reshape", "exp", "matmul", "mean", "add", "reshape"]),
    "a sum of all rows": ("batches-as-rows", reduced("sum", [0, 1], (1, 1, 32)), ["reshape", "exp", "matmul", "sum", "exp"]),
    "a sum of all rows, a vector": ("batches-as-rows", reduced("sum", [0, 1], (32,)), ["reshape", "exp", "matmul", "sum", "exp"]),
    "sums of samples": ("batches-as-rows", reduced("sum", [1], (3, 1, 32)), ["reshape", "exp", "matmul", "reshape", "sum", "exp"]),
    "a product that is turned": ("turned-products", turned((8, 64), (8, 32), (64, 32), (1, 0), transpose_a=True), ["matmul", "exp"]),
    "heads that are turned and moved": (
        "turned-products",
        turned((2, 4, 32, 16), (2, 4, 16, 8), (2, 4, 32, 8), (0, 3, 1, 2)),
        ["matmul", "permute", "exp"],
    ),
    "a scalar of several ranks": ("implicit-broadcast", steps((2, 1, 2)), ["exp", "reshape", "multiply", "exp", "multiply", "exp", "multiply"]),
    "heads of tokens by position": ("heads-of-rows", projected(), ["matmul", "reshape", "permute", "exp"]),
    "keys and values of such tokens": (
        "heads-of-rows",
        projected(parts=2),
        ["matmul", *["slice_static", "reshape", "permute"] * 2, "exp", "exp", "add"],
    ),
    "heads that are joined by position": ("undo-rows", joined_heads(), ["permute", "reshape", "matmul", "exp"]),
    "heads with one matrix": ("shared-factors", shared((2, 4, 32, 16), (2, 1, 16, 8), (2, 4, 32, 8)), ["reshape", "reshape", "matmul", "reshape"]),
    "heads of a row": (
        "shared-factors",
        shared((2, 4, 6, 1, 16), (2, 1, 6, 16, 8), (2, 4, 6, 1, 8)),
        ["permute", "reshape", "reshape", "matmul", "reshape", "permute"],
    ),
    "a matrix for all": ("shared-factors", shared((2, 4, 32, 16), (1, 1, 16, 8), (2, 4, 32, 8)), ["reshape", "reshape", "matmul", "reshape"]),
    "a dim of size 1 on the way": (
        "fewer-moves",
        chain((64, 64), ("reshape", (32, 2, 2, 32, 1)), ("permute", (1, 2, 3, 0, 4)), ("reshape", (4, 32, 32))),
        ["reshape", "permute", "exp"],
    ),
    "there and back": ("fewer-moves", chain((4, 32, 8), ("permute", (0, 2, 1)), ("reshape", (4, 8, 32, 1)), ("permute", (0, 2, 1, 3))), ["reshape", "exp"]),
}
UNCHANGED: dict[str, tuple[str, ModuleOp]] = {
    "rows beside rows of another value": ("undo-rows", build(beside, ((4, 4, 8), F, "input"), ((4, 4, 8), F, "input"))),
    "tokens by position that nothing rearranges": ("heads-of-rows", projected(heads=False)),
    "one sample": ("batches-as-rows", samples((1, 32, 64))),
    "samples that end within a tile": ("batches-as-rows", samples((3, 30, 64))),
    "samples without a product": ("batches-as-rows", build(lambda g, x: g("tanh", g("exp", x)), ((3, 32, 64), F, "input"))),
    "a matrix per sample": ("batches-as-rows", shared((3, 32, 64), (3, 64, 32), (3, 32, 32))),
    "a product that is read as it is, too": ("turned-products", turned((8, 16), (16, 8), (8, 8), (1, 0), twice=True)),
    "heads that move": ("turned-products", turned((2, 4, 32, 16), (2, 4, 16, 8), (2, 4, 32, 8), (0, 2, 1, 3))),
    "a matrix per head": ("shared-factors", shared((2, 4, 32, 16), (2, 4, 16, 8), (2, 4, 32, 8))),
    "rows that would move into as many tiles": ("shared-factors", shared((2, 4, 6, 30, 16), (2, 1, 6, 16, 8), (2, 4, 6, 30, 8))),
    "channels that go to the end": ("fewer-moves", chain((2, 64, 4, 4), ("permute", (0, 2, 3, 1)), ("reshape", (2, 16, 64)))),
    "a permute between reshapes that join nothing": (
        "fewer-moves",
        chain((64, 64), ("reshape", (32, 2, 64)), ("permute", (1, 0, 2)), ("reshape", (64, 64))),
    ),
}


@table("case", CHANGES, ids=str)
def test_fewer_tiles(case: str) -> None:
    name, before, expected = CHANGES[case]
    check_change(before, expected, name, "fold")


@table("case", UNCHANGED, ids=str)
def test_rows_stay(case: str) -> None:
    name, before = UNCHANGED[case]
    check_unchanged(before, name)


@table(
    ("start", "step", "tiles"),
    [
        ((2, 32, 64), ("reshape", (64, 64)), 0),  # rows of whole tiles stay where they are
        ((2, 3, 64), ("reshape", (1, 2, 3, 64)), 0),  # as many rows in each matrix
        ((64,), ("reshape", (1, 64)), 0),
        ((2, 3, 64), ("reshape", (6, 64)), 4 + 2),
        ((2, 48, 64), ("reshape", (96, 64)), 8 + 6),  # some end within a tile
        ((96, 64), ("reshape", (2, 48, 64)), 6 + 8),
        ((2, 32, 64), ("reshape", (32, 128)), 4 + 4),
        ((33, 32), ("reshape", (33, 32, 1)), 2 + 33),
        ((3, 64, 32), ("permute", (0, 2, 1)), 6 + 6),
        ((32, 33), ("permute", (1, 0)), 2 + 2),
        ((64,), ("reshape", (64, 1)), 2 + 2),
    ],
)
def test_tiles_that_a_move_takes(start: Dims, step: tuple[str, Dims], tiles: int) -> None:
    (move, _, _) = entry_function(chain(start, step)).body.block.ops
    assert tiles_moved([move]) == tiles
