"""Images that convolutions read: in L1 at level 0 where they fit and where that is faster, colours as pixels on shards from level 1 on."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from modules import bottlenecks, convolutions, decisions, lowered
from test_placement import replayed
from ttnn_shim.queries import CallAnswer
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from alchemist import codegen_cpp, codegen_py
from alchemist.ir import access
from alchemist.ir.edit import functions, is_const_eval
from alchemist.ir.layout import layout_of
from alchemist.optimizer import images, level2
from alchemist.optimizer.apply import apply
from alchemist.optimizer.calls import IN_PLACE, maker_of
from alchemist.optimizer.candidate import SAFE, Priced
from alchemist.optimizer.fewer_moves import overwriting_what_ends
from alchemist.optimizer.graph import L1, forward_of
from alchemist.optimizer.level2 import Placed
from alchemist.optimizer.placement import Choice
from alchemist.optimizer.replaying import Replayed
from alchemist.optimizer.search import Plan, Taken
from alchemist.passes.lower import convolution
from tests import running


def windows(module: ModuleOp) -> list[Operation]:
    return [op for op in module.walk() if op.name == "ttnn.conv2d" and list(access.attr(op, "kernel_size")) == [3, 3]]


def read_from(module: ModuleOp) -> list[str]:
    """Where the 3x3 convolutions' images lie."""
    return [layout.buffer for op in windows(module) if (layout := layout_of(op.operands[0].type)) is not None]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (convolutions(1, 40), ["dram", "l1"]),  # the first reads the input
        (convolutions(16, 128), ["dram", "dram"]),  # more than its part of L1
        (bottlenecks(2, 2, 20), ["l1", "l1"]),
    ],
    ids=["a chain", "a large image", "residual blocks"],
)
def test_images(text: str, wanted: list[str]) -> None:
    module = lowered(text)
    assert read_from(module) == wanted
    kept = lowered(text, disable=("images-in-l1",))
    assert set(read_from(kept)) == {"dram"}
    for card in ("n150", "p150"):
        before, after = (replayed(each, card, 1 << 15) for each in (kept, module))
        assert after < before if "l1" in wanted else after == before


def test_weights_are_prepared_for_it() -> None:
    for op, place in zip(windows(module := lowered(convolutions(1, 40))), read_from(module), strict=True):
        maker = maker_of(op.operands[1])
        assert maker is not None
        assert place in str(access.attr(maker, "input_memory_config"))


def test_what_is_returned_stays_in_dram() -> None:
    module = lowered(bottlenecks(2, 2, 20))
    (forward,) = (func for func in functions(module) if not is_const_eval(func))
    end = forward.get_return_op()
    assert end is not None
    layouts = [layout_of(value.type) for value in end.operands]
    assert [layout.buffer for layout in layouts if layout is not None] == ["dram"]


def test_equal_blocks_are_alike() -> None:
    """Sums of all blocks lie in L1 where one convolution of three colours asks for one of them, so that they stay one function."""
    module = lowered(bottlenecks(3, 2, 20))
    made = [layout.buffer for op in module.walk() if op.name == "ttnn.conv2d" and (layout := layout_of(op.results[0].type)) is not None]
    assert made[0] == made[3] == made[6]


@pytest.mark.parametrize(("factor", "wanted"), [(1.0, "l1"), (1.09, "l1"), (1.12, "dram")])
def test_equal_blocks_are_alike_within_the_error_of_the_clock(factor: float, wanted: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first block's image gains; that of the second, of the same line, takes `factor` times as long in L1."""
    first: list[Operation] = []

    def price(op: Operation, _card: str, _l1_small: int, operands: object, result: object) -> float:
        if op.name == "ttnn.conv2d" and not first:
            first.append(op)
        return 100.0 if not operands and result is None else 90.0 if op in first or operands else 100.0 * (2 * factor - 0.9)

    monkeypatch.setattr(images, "_ns", price)
    places = read_from(lowered(bottlenecks(2, 2, 20)))
    assert places == ["l1", wanted]


@pytest.mark.parametrize("level", [1, 2])
def test_no_level_is_slower(level: int) -> None:
    text = convolutions(1, 40)
    assert replayed(lowered(text, optimization_level=level), "n150", 1 << 15) <= replayed(lowered(text), "n150", 1 << 15)


@pytest.mark.parametrize(("refused", "slower"), [((), 1.0), ((1,), 1.0), ((0, 1), 1.0), ((), 1.02)], ids=["fits", "one does not fit", "none fits", "slower"])
def test_sums_overwrite_where_that_fits(refused: tuple[int, ...], slower: float) -> None:
    """A sum that overwrites an operand lies where that was. Where a later op then has no room, the finished program must not overwrite it either."""
    kind = "tensor<1x1x1024x64xbf16>"
    ops = [f'%{name} = "ttir.{op}"({operands}) : ({kinds}) -> {kind}' for name, op, operands, kinds in (
        ("a", "exp", "%x", kind), ("b", "sin", "%a", kind), ("c", "add", "%a, %b", f"{kind}, {kind}"),
        ("d", "sin", "%c", kind), ("e", "add", "%c, %d", f"{kind}, {kind}"), ("f", "exp", "%e", kind),
    )]  # fmt: skip
    argument = f'%x: {kind} {{ttcore.argument_type = #ttcore.argument_type<input>, ttir.name = "x"}}'
    text = f"module {{ func.func @forward({argument}) -> {kind} {{ {' '.join(ops)} return %f : {kind} }} }}"
    (forward,) = (func for func in functions(lowered(text)) if not is_const_eval(func))
    graph = forward_of(forward)
    sums = [number for number, step in enumerate(graph.steps) if step.op.name == "ttnn.add"]
    candidate = Priced(SAFE, CallAnswer(accepted=True))
    plan = Plan(100.0, {n: Taken(Choice(candidate, (L1,) * len(graph.steps[n].operands), L1, 0), ()) for n in range(len(graph.steps) - 1)})

    def replay(tried: Plan) -> Replayed:
        overwriting = {place for place, number in enumerate(sums) if IN_PLACE in tried.taken[number].choice.priced.candidate.attributes}
        return Replayed(None if overwriting & {*refused} else 100.0 * slower if overwriting else 100.0)

    chosen, done = overwriting_what_ends(graph, plan, Replayed(100.0), {n: n for n in plan.taken}, replay)
    apply(Placed(graph, chosen, 100.0, 100.0, 1))
    made = [op.name for op in forward.body.block.ops if op.name in ("ttnn.add", "ttnn.add_in_place")]
    assert made == ["ttnn.add" if place in refused or slower > 1.01 else "ttnn.add_in_place" for place in range(2)]
    assert done.ns == 100.0


def test_planes_too_large_to_reshape() -> None:
    """A reshape of row-major values holds two rows in L1: planes of 600 x 600 pixels do not fit."""
    assert "Level 0 stays" not in decisions(convolutions(1, 600), optimization_level=1)


def test_what_no_plan_can_run_is_not_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    """The reshape of such planes is refused wherever the other tensors lie."""
    monkeypatch.setattr(convolution, "reshapes_rows", lambda *_: True)
    monkeypatch.setattr(level2, "search", lambda *_: pytest.fail("a search for a plan that cannot run"))
    assert "Level 0 stays" in decisions(convolutions(1, 600), optimization_level=2)


@pytest.mark.parametrize(
    ("text", "memory", "twice"),
    [(bottlenecks(1, 16, 14, 1024, 256), "block_sharded", True), (bottlenecks(1, 8, 56, 256, 64), "height_sharded", False)],
    ids=["operands that travel between cores", "operands of their own"],
)
def test_buffers_that_are_held_twice(text: str, memory: str, twice: bool) -> None:
    (window,) = windows(lowered(text, optimization_level=2))
    layout, config = layout_of(window.operands[0].type), access.attr(window, "conv2d_config")
    assert layout is not None and layout.memory == memory
    assert [bool(config.get(f"enable_{name}_double_buffer")) for name in ("act", "weights")] == [twice] * 2


class Stem(torch.nn.Module):
    """The first convolution of an image model, and a second one that reads its pixels."""

    def __init__(self, kernel: int, stride: int) -> None:
        super().__init__()
        self.first = torch.nn.Conv2d(3, 32, kernel, stride, padding=kernel // 2)
        self.second = torch.nn.Conv2d(32, 32, 3, padding=1)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        return self.second(torch.relu(self.first(image)))


NIGHTLY = (("pairs of rows", 1), ("every row", 1), ("float32", 2), ("uneven shards", 1))


# Shards need as many pixels on each core, in whole tiles: 104 x 104 pixels are 338 tiles, which 26 cores share evenly, or 338.
@pytest.mark.parametrize(
    ("images", "size", "kernel", "stride", "dtype", "on_shards", "level"),
    [
        pytest.param(*case, level, id=f"{name}-{level}", marks=pytest.mark.slow if (name, level) in NIGHTLY else ())
        for level in (1, 2)
        for name, case in {
            "pairs of rows": (2, 64, 7, 2, torch.bfloat16, True),
            "every row": (1, 128, 3, 1, torch.bfloat16, True),
            "float32": (2, 64, 3, 2, torch.float32, False),
            "uneven shards": (1, 104, 7, 2, torch.bfloat16, False),
        }.items()
    ],
)
def test_colours_become_pixels_on_shards(
    images: int, size: int, kernel: int, stride: int, dtype: torch.dtype, on_shards: bool, level: int, tmp_path: Path
) -> None:
    torch.manual_seed(0)
    model, image = Stem(kernel, stride).to(dtype).eval(), torch.randn(images, 3, size, size, dtype=dtype)
    make = codegen_py if level == 2 or not on_shards else codegen_cpp
    out = make(model, image, export_path=tmp_path / "out", compiler_options={"optimization_level": level}).path
    source = (out / ("main.py" if make is codegen_py else "model.cpp")).read_text()
    assert ("convert_to_hwc" in source) == on_shards, source
    done = running.run(out, "--check")
    assert done.returncode == 0, done.stdout + done.stderr
