"""What a model's programs take on other meshes than the export's, by the clock alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from torch import nn

from alchemist import codegen_py
from alchemist.cli import main
from alchemist.errors import FileError, OptionError
from alchemist.spreading import scale_source
from tests import running


class Perceptron(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(64, 512), nn.Linear(512, 64)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down(torch.relu(self.up(x)))


@pytest.fixture(scope="module")
def exports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """By name: for one chip, and for two with the first layer's inputs cut, which nobody would choose."""
    torch.manual_seed(0)
    model, x = Perceptron().eval(), torch.randn(64, 64)
    folder = tmp_path_factory.mktemp("scale")
    given = {"one": {}, "two": {"mesh": (1, 2), "shardings": {"up.weight": (None, 1), "x": (None, 1)}}}
    return {name: codegen_py(model, x, export_path=folder / name, export_golden="none", **how).path for name, how in given.items()}


def _device_ns(program: Path, *options: str) -> float:
    done = running.run(program, "--estimate", "--json", str(program.parent / "result.json"), *options)
    assert done.returncode == 0, done.stderr
    return float(json.loads((program.parent / "result.json").read_text())["device_ns"])


def test_rows_are_the_times_of_programs_that_were_exported_for_the_mesh(exports: dict[str, Path], tmp_path: Path) -> None:
    found = scale_source(exports["two"], "1x1,1x2")
    assert [row.plan for row in found.rows] == ["", "export"]
    assert found.rows[1].totals.device_ns == pytest.approx(_device_ns(exports["two"]), abs=1)
    assert 0 < found.rows[1].totals.ccl_ns < found.rows[1].totals.device_ns

    found = scale_source(exports["one"], "1x2,4")
    assert found.rows[0].totals.device_ns == pytest.approx(_device_ns(exports["one"]), abs=1)
    assert [row.chips for row in found.rows] == [1, 2, 4]
    torch.manual_seed(0)
    made = codegen_py(Perceptron().eval(), torch.randn(64, 64), export_path=tmp_path / "data", export_golden="none", mesh=(1, 2), shardings="data").path
    assert (found.rows[1].plan, found.rows[1].totals.ccl_ns) == ("data", 0)
    assert found.rows[1].totals.device_ns == pytest.approx(_device_ns(made), abs=1)
    assert found.speed_up(found.rows[1]) == pytest.approx(found.rows[0].ns / found.rows[1].ns)


def test_the_command_prints_the_table_and_says_what_does_not_fit(exports: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["estimate", str(exports["one"]), "--mesh", "1x8", "--shardings", "tensor", "--json", str(tmp_path / "rows.json")]) == 0
    assert "speed-up" in capsys.readouterr().out
    rows = json.loads((tmp_path / "rows.json").read_text())
    assert (rows[1]["mesh"], rows[1]["system"], rows[1]["plan"]) == ([1, 8], "t3000", "shardings")
    assert rows[1]["ccl_ns"] > 0
    assert main(["estimate", str(exports["one"])]) == 1
    assert "needs a model and meshes" in capsys.readouterr().err
    with pytest.raises(OptionError, match="no mesh"):
        scale_source(exports["one"], "2y4")
    with pytest.raises(OptionError, match="no wormhole_b0 system has a mesh of 3 chips"):
        scale_source(exports["one"], "3")
    with pytest.raises(FileError, match="no export with irs/"):
        scale_source(tmp_path, "1x2")


def test_a_program_is_for_its_mesh_alone(exports: dict[str, Path]) -> None:
    done = running.run_script(exports["two"], "--mesh", "2x2")
    assert done.returncode == 2
    assert "Export again with mesh=(2, 2)" in done.stderr
    assert running.run_script(exports["two"], "--mesh", "1x2", "--estimate").returncode == 0
