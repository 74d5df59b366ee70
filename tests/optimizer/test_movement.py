"""Data movement that optimization levels 1 and 2 rewrite: same values, by the program's own check."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from alchemist import codegen_py
from alchemist.frontends.torch import capture
from alchemist.options import CompilerOptions
from alchemist.passes import lower_to_ttnn
from tests import running

# Each with calls that must and must not be in the program.
MODELS = {
    "a window of odd rows over pairs": (torch.nn.Conv2d(3, 32, 7, stride=2, padding=3), 64, ("[1, 2, 6, 2048]", "kernel_size=[4, 7]", "stride=[1, 2]")),
    "a small window over pairs": (torch.nn.Conv2d(3, 16, 3, stride=2, padding=1, bias=False), 64, ("kernel_size=[2, 3]", "padding=[1, 0, 1, 1]")),
    "no padding, three rows": (torch.nn.Conv2d(4, 16, 5, stride=3), 96, ("kernel_size=[2, 5]", "stride=[1, 3]")),
    "patches": (torch.nn.Conv2d(3, 32, 8, stride=8), 64, ("[16, 1, 24, 64]", "[2, 64, 192]", "ttnn.fold(", "ttnn.linear")),
    "patches on shards": (torch.nn.Conv2d(3, 32, 8, stride=8), 256, ("[64, 1, 24, 256]", "ttnn.fold(", "HEIGHT_", "ttnn.linear")),
}


@pytest.mark.parametrize("level", [0, pytest.param(1, marks=pytest.mark.slow), 2])
@pytest.mark.parametrize("mean", [torch.nn.AdaptiveAvgPool2d(1), torch.nn.AvgPool2d(7)], ids=["adaptive", "a window"])
def test_means_of_images_are_collected_by_ones(mean: torch.nn.Module, level: int, tmp_path: Path) -> None:
    """Images of 7 x 7 share tiles: from level 1 on no row is moved for their means."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Conv2d(32, 256, 1), torch.nn.ReLU(), mean, torch.nn.Flatten(), torch.nn.Linear(256, 32))
    images = torch.randn(16, 32, 7, 7, dtype=torch.bfloat16)
    codegen_py(model.to(torch.bfloat16).eval(), images, export_path=tmp_path / "out", compiler_options={"optimization_level": level})
    text = (tmp_path / "out/main.py").read_text()
    assert ("rows_of_images" in text) == (level > 0) and ("ttnn.mean" in text) == (level == 0), text
    done = running.run(tmp_path / "out", "--check")
    assert done.returncode == 0, done.stdout + done.stderr


class Users(torch.nn.Module):
    """A row per user, as a decoder's last step has it."""

    def __init__(self, users: int, words: int) -> None:
        super().__init__()
        self.users, self.head = users, torch.nn.Linear(64, words)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(x).reshape(self.users, 1, -1)


@pytest.mark.parametrize(
    ("users", "words", "level", "rows"),
    [(32, 512, 0, False), (32, 4096, 0, True), (32, 512, 1, True), (32, 4096, 2, True), (1, 4096, 0, False), (1, 4096, 2, False)],
)
def test_a_result_is_returned_in_rows_where_tiles_would_be_moved(users: int, words: int, level: int, rows: bool, tmp_path: Path) -> None:
    torch.manual_seed(0)
    x = torch.randn(users, 64, dtype=torch.bfloat16)
    codegen_py(Users(users, words).to(torch.bfloat16).eval(), x, export_path=tmp_path / "out", compiler_options={"optimization_level": level})
    assert ("ttnn.ROW_MAJOR_LAYOUT" in (tmp_path / "out/main.py").read_text()) == rows
    done = running.run(tmp_path / "out", "--check")
    assert done.returncode == 0, done.stdout + done.stderr


class Steps(torch.nn.Module):
    """A recurrence over one dim, as a scan token by token has it."""

    def __init__(self, dim: int, count: int) -> None:
        super().__init__()
        self.dim, self.count = dim, count

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        state = x.select(self.dim, 0)
        for step in range(1, self.count):
            state = state * 0.5 + x.select(self.dim, step)
        return state


@pytest.mark.parametrize(
    ("shape", "dim", "count", "level", "moved"),
    [
        ((2, 64, 16, 64), 2, 16, 1, True),
        ((2, 64, 16, 64), 2, 16, 2, True),
        ((2, 64, 16, 64), 2, 16, 0, False),
        ((2, 64, 16, 64), 2, 1, 1, False),
        ((16, 64, 64), 0, 4, 1, False),
    ],
    ids=["rows", "rows at level 2", "level 0", "one step", "in front already"],
)
def test_steps_of_a_scan_go_in_front_once(shape: tuple[int, ...], dim: int, count: int, level: int, moved: bool, tmp_path: Path) -> None:
    torch.manual_seed(0)
    x = torch.randn(shape, dtype=torch.bfloat16)
    codegen_py(Steps(dim, count).eval(), x, export_path=tmp_path / "out", compiler_options={"optimization_level": level})
    text = (tmp_path / "out/main.py").read_text()
    assert text.count("ttnn.permute(") == int(moved), text
    done = running.run(tmp_path / "out", "--check")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", MODELS)
def test_rewritten_images_have_the_same_values(name: str, tmp_path: Path) -> None:
    model, size, parts = MODELS[name]
    torch.manual_seed(0)
    channels = model.in_channels
    codegen_py(
        model.to(torch.bfloat16).eval(),
        torch.randn(2, channels, size, size, dtype=torch.bfloat16),
        export_path=tmp_path / "out",
        compiler_options={"optimization_level": 1},
    )
    text = (tmp_path / "out/main.py").read_text()
    for part in parts:
        assert part in text, text
    done = running.run(tmp_path / "out", "--check")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(("images", "size", "taken"), [(1, 7, False), (2, 7, True), (16, 8, False), (73, 7, True), (74, 7, False)])
def test_ones_that_collect_rows_are_few(images: int, size: int, taken: bool) -> None:
    """One image has no neighbour in its tiles, whole tiles none either; 74 images of 49 pixels would take a matrix of more than 2^18 ones."""
    model = torch.nn.Sequential(torch.nn.Conv2d(32, 256, 3, padding=1), torch.nn.AdaptiveAvgPool2d(1)).to(torch.bfloat16).eval()
    captured = capture(model, (torch.randn(images, 32, size, size, dtype=torch.bfloat16),))
    lowered = lower_to_ttnn(captured.module, CompilerOptions(optimization_level=1)).module
    assert any(op.name == "ttnn.matmul" for op in lowered.walk()) == taken
