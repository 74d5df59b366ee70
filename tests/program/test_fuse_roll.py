"""Slices joined the other way round are ttnn.roll: when, when not, with the same values, and not if switched off."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from alchemist import codegen_py, load_codegen_py


class Shifted(torch.nn.Module):
    def __init__(self, function: object) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.function(x) * 2.0  # type: ignore[operator,no-any-return]


ROLLED = {
    "one dimension": (lambda x: torch.cat([x[:, 3:], x[:, :3]], 1), "shifts=[-3], dim=[1]"),
    "the shorter way": (lambda x: torch.cat([x[:, 7:], x[:, :7]], 1), "shifts=[1], dim=[1]"),
    "two dimensions": (lambda x: torch.roll(x, (-3, 5), (1, 2)), "shifts=[-3, 5], dim=[1, 2]"),
    "the last dimension": (lambda x: torch.roll(x, 2, -1), "shifts=[2], dim=[3]"),
}
KEPT = {
    "parts do not meet": lambda x: torch.cat([x[:, 3:], x[:, :2]], 1),
    "parts overlap": lambda x: torch.cat([x[:, 3:], x[:, :4]], 1),
    "of two values": lambda x: torch.cat([x[:, 3:], (x + 1.0)[:, :3]], 1),
    "joined along another dimension": lambda x: torch.cat([x[:, 4:], x[:, :4]], 2),
    "in the same order": lambda x: torch.cat([x[:, :3], x[:, 3:] * 3.0], 1),
}


def check(function: object, directory: Path, **options: object) -> str:
    model, x = Shifted(function), torch.randn(2, 8, 12, 32)
    made = codegen_py(model, x, export_path=directory, **options)  # type: ignore[arg-type]
    found = load_codegen_py(model, x, load_path=directory)
    torch.testing.assert_close(found, model(x))
    return (made.path / "main.py").read_text()


@pytest.mark.parametrize("case", ROLLED)
def test_rolled(case: str, tmp_path: Path) -> None:
    function, wanted = ROLLED[case]
    text = check(function, tmp_path / "made")
    assert f"ttnn.roll(x, {wanted}, memory_config=DRAM)" in text
    assert "ttnn.concat" not in text
    irs = "\n".join(path.read_text() for path in (tmp_path / "made" / "irs").glob("*_ttnn.mlir"))
    assert ("ttnn.roll" in irs, "ttnn.concat" in irs) == (True, False)
    for name, options in {"disabled": {"disable": ("fuse-roll",)}, "no fusing": {"enable_fusing": False}}.items():
        plain = check(function, tmp_path / name, compiler_options=options)
        assert "ttnn.roll" not in plain
        assert "ttnn.concat" in plain


@pytest.mark.parametrize("case", KEPT)
def test_not_rolled(case: str, tmp_path: Path) -> None:
    assert "ttnn.roll" not in check(KEPT[case], tmp_path / "made")
