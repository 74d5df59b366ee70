"""Sliding windows on shards: joined images, halos that stay, uneven shards, convolutions of groups in parts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
from modules import convolutions, lowered
from test_placement import layout, of_forward, replayed
from torch import nn
from ttnn_shim.queries import Memory
from xdsl.dialects.builtin import ModuleOp

from alchemist import codegen_py
from alchemist.ir import access
from alchemist.ir.access import shape
from alchemist.ir.edit import functions, is_const_eval
from alchemist.optimizer.calls import maker_of
from alchemist.optimizer.fewer_moves import without_detours
from alchemist.optimizer.graph import DRAM, forward_of
from alchemist.optimizer.machine import machine
from alchemist.optimizer.placement import Moves, choices, leaving
from alchemist.optimizer.replaying import Replayed
from alchemist.optimizer.search import Plan, Taken
from alchemist.optimizer.sharded import cores_of, height_shards
from alchemist.options import CompilerOptions
from alchemist.passes import lower_to_ttnn
from alchemist.pipeline import capture
from tests import running

SMALL = 1 << 15
PARTS = "groups-in-parts"


class Separable(nn.Module):
    """Products around a convolution of each channel by itself, as in MobileNetV2."""

    def __init__(self, wide: int, batch_norm: bool = True) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 32, 3, stride=2, padding=1)
        self.expand, self.project = nn.Conv2d(32, wide, 1), nn.Conv2d(wide, 32, 1)
        self.depth = nn.Conv2d(wide, wide, 3, padding=1, groups=wide)
        self.norm = nn.BatchNorm2d(wide) if batch_norm else nn.Identity()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.stem(x)
        y = nn.functional.relu6(self.norm(self.expand(x)))
        return self.project(nn.functional.relu6(self.depth(y))) + x


class ReadByNoProduct(Separable):
    """As in HGNet: what is convolved channel by channel is joined with another image."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.stem(x)
        return torch.cat([self.depth(nn.functional.relu6(self.expand(x))), x], 1)


class Joined(nn.Module):
    """A convolution that reads two images side by side."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.both = nn.Conv2d(3, 64, 3, padding=1), nn.Conv2d(64, 64, 3, padding=1), nn.Conv2d(128, 64, 3, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        kept = torch.relu(self.first(x))
        return self.both(torch.cat([torch.relu(self.second(kept)), kept], 1))


def compiled(model: nn.Module, dims: Sequence[int], **options: object) -> ModuleOp:
    torch.manual_seed(0)
    captured = capture(model.to(torch.bfloat16).eval(), (torch.randn(*dims, dtype=torch.bfloat16),), {}, "torch")
    return lower_to_ttnn(captured.module, CompilerOptions.parse(options)).module


@pytest.mark.parametrize(("rows", "cores"), [(980, [49, 35, 62]), (1568, [56, 49, 63]), (2048, [64, 32]), (245, [49, 35, 62])])
def test_uneven_shards_are_offered_where_they_are_lower(rows: int, cores: list[int]) -> None:
    found = list(height_shards(rows, 2, machine("n150")))
    assert [cores_of(memory) for memory in found] == cores
    for memory in found:
        assert memory.shard is not None and memory.shard[0][0] // 32 * cores_of(memory) >= rows


@pytest.mark.parametrize("wide", [192, pytest.param(144, marks=pytest.mark.slow)])
def test_groups_are_convolved_in_parts(wide: int) -> None:
    """The parts are as wide as whole tiles: zeros fill the last one up, and rows of zeros of the product behind it make nothing of them."""
    dims = (10, 3, 112, 112)
    whole = compiled(Separable(wide), dims, optimization_level=2, disable=(PARTS,))
    parts = compiled(Separable(wide), dims, optimization_level=2)
    assert [int(access.attr(op, "groups")) for op in of_forward(whole, "ttnn.conv2d")] == [1, wide]
    groups = [int(access.attr(op, "groups")) for op in of_forward(parts, "ttnn.conv2d")][1:]
    assert len(groups) > 1 and sum(groups) == -(-wide // 32) * 32 and not any(count % 32 for count in groups)
    (joined,) = of_forward(parts, "ttnn.concat")
    assert shape(joined.results[0])[-1] == sum(groups)
    assert replayed(parts, "n150", SMALL) < 0.8 * replayed(whole, "n150", SMALL)


@pytest.mark.parametrize("level", [0, 1])
def test_below_level_2_a_convolution_stays_whole(level: int) -> None:
    assert len(of_forward(compiled(Separable(192), (10, 3, 112, 112), optimization_level=level), "ttnn.conv2d")) in (2, 4)


def test_few_channels_stay_whole() -> None:
    """One tile of channels has no smaller square."""
    module = compiled(Separable(32), (10, 3, 112, 112), optimization_level=2)
    assert [int(access.attr(op, "groups")) for op in of_forward(module, "ttnn.conv2d")] == [1, 32]


@pytest.mark.parametrize("wide", [192, pytest.param(144, marks=pytest.mark.slow)])
def test_parts_read_well_and_give_the_values_of_the_whole(wide: int, tmp_path: Path) -> None:
    """Equal parts are turns of a loop, of product and convolution; one remark says why there are parts, another one what the last part is."""
    torch.manual_seed(0)
    model, images = Separable(wide).to(torch.bfloat16).eval(), torch.randn(10, 3, 112, 112, dtype=torch.bfloat16)
    codegen_py(model, images, export_path=tmp_path / "out", compiler_options={"optimization_level": 2})
    forward, prepare = (re.sub(r"\s+", " ", (tmp_path / "out" / name).read_text()) for name in ("main.py", "consteval.py"))
    assert len(re.findall(rf"# \d+ of {wide} channels at a time: conv2d fills the weights of groups up with zeros", forward)) == 1
    assert ("# the last 16 of 144 channels and 16 of zeros: whole tiles" in forward) == (wide == 144)
    assert re.search(r"for i in range\(\d\): # \d+ of \d+ channels .* ttnn.linear\(.*_part_\{i\}.* ttnn.conv2d\(.*_prepared_part_\{i\}", forward)
    assert re.search(r"\.append\((\w+)\) del \1\b", forward), "the last part stays in L1 when the list is gone"
    assert re.search(r"for i in range\(\d\): .*ttnn.slice\([^)]* \* i, 0, 0, 0\], \[\d+ \* \(i \+ 1\), 1, 3, 3\]", prepare)
    done = running.run(tmp_path / "out", "--check")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("level", [1, 2])
def test_images_are_joined_where_a_window_reads_them(level: int) -> None:
    """On shards at level 2; at level 1 in L1, from DRAM, where what every window makes goes back to."""
    module = compiled(Joined(), (1, 3, 256, 256), optimization_level=level)
    (joined,) = of_forward(module, "ttnn.concat")
    places = [layout(value) for value in (*joined.operands, joined.results[0])]
    assert places[-1].buffer == "l1"
    assert level == 1 or (len({(place.memory, place.grid) for place in places}) == 1 and places[0].is_sharded)
    made = [op for op in of_forward(module, "ttnn.conv2d")][:2]
    read = [user for op in made for use in op.results[0].uses if (user := use.operation).name == "ttnn.to_memory_config"]
    back = [op for op in (*made, *read) if layout(op.results[0]).buffer == "dram"]
    assert len(back) == (2 if level == 1 else 0)


def test_halos_stay_where_they_are() -> None:
    """Moving them up, as the library does by itself, pays only where a result finds no room below; weights are prepared with the same config."""
    module = compiled(Separable(192), (10, 3, 112, 112), optimization_level=2)
    staying = [op for op in of_forward(module, "ttnn.conv2d") if access.attr(op, "conv2d_config").get("reallocate_halo_output") is False]
    assert len(staying) > 1
    for op in staying:
        maker = maker_of(op.operands[1])
        assert maker is not None and access.attr(maker, "conv2d_config") == access.attr(op, "conv2d_config")


def test_groups_whose_zeros_no_product_takes_stay_whole() -> None:
    module = compiled(ReadByNoProduct(144), (2, 3, 112, 112), optimization_level=2)
    assert [int(access.attr(op, "groups")) for op in of_forward(module, "ttnn.conv2d")][-1] == 144


@pytest.mark.parametrize("equal", [False, True], ids=["two convolutions", "two steps of a loop"])
def test_a_result_stays_in_the_shards_that_its_reader_moves_it_to(equal: bool) -> None:
    """Steps of a loop remain equal: what the first of them reads is moved in front of the loop."""
    (forward,) = [func for func in functions(lowered(convolutions())) if not is_const_eval(func)]
    graph, card = forward_of(forward), machine("n150")
    stem, first, second = [number for number, step in enumerate(graph.steps) if step.op.name == "ttnn.conv2d"]
    moves = Moves(card)

    def on_shards(number: int, shards: Memory | None = None) -> Taken:
        listed = choices(graph.steps[number], card, 0.9, {}, 1 << 15)
        choice = next(c for c in listed if c.operands[0].shard is not None and c.operands[0] == c.result and shards in (None, c.result))
        return Taken(leaving(graph, number, [choice], DRAM, moves)[-1], ((0, choice.operands[0]),))

    taken = {first: on_shards(first)}
    shards = taken[first].choice.result
    taken |= {second: on_shards(second, shards), stem: Taken(choices(graph.steps[stem], card, 0.9, {}, 1 << 15)[0], ())}
    groups = {stem: "stem", first: "window", second: "window" if equal else "last"}
    del graph.steps[second + 1 :]
    graph.returned = []
    slower = Plan(0.0, taken)
    plan, done = without_detours(graph, slower, Replayed(2.0), groups, moves, lambda plan: Replayed(1.0))
    assert (plan.taken[first].choice.leaves, plan.taken[second].moves) == (shards, ())
    assert (plan.taken[stem].choice.then, plan.taken[first].moves) == ((shards, ()) if equal else (None, ((0, shards),)))
    assert without_detours(graph, slower, Replayed(2.0), groups, moves, lambda plan: Replayed(None)) == (slower, Replayed(2.0)), "it has to fit"
    assert done.ns == 1.0
