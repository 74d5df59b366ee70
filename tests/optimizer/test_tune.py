"""`tune`: levels, precisions and cards beside each other."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from modules import mlp

from alchemist import cli, codegen_py, tune
from alchemist.errors import FileError, InputError, OptionError
from alchemist.tuning import Tuned, Tuning, tune_source


def model() -> torch.nn.Module:
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(256, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 256)).to(torch.bfloat16)


INPUT = torch.ones(512, 256, dtype=torch.bfloat16)


def test_the_table_has_every_combination() -> None:
    found = tune(model(), INPUT, cards=("n150", "p150"), levels=(0, 2), precisions=("model", "bfp8_lofi"), max_pcc_loss=0.02)
    assert {(row.card, row.precision, row.level) for row in found.rows} == {
        (card, precision, level) for card in ("n150", "p150") for precision in ("model", "bfp8_lofi") for level in (0, 2)
    }
    times = {(row.card, row.precision, row.level): row for row in found.rows}
    plain, fast = times["n150", "model", 0], times["n150", "bfp8_lofi", 2]
    assert fast.device_ms < times["n150", "model", 2].device_ms < plain.device_ms
    assert plain.least_pcc is not None and fast.least_pcc is not None and 0.97 < fast.least_pcc < plain.least_pcc
    assert fast.weight_bytes < 0.6 * plain.weight_bytes
    assert fast.pareto and times["n150", "model", 2].pareto and not plain.pareto
    assert found.picked == fast and found.picked.options == {"arch": "n150", "precision": "bfp8_lofi", "optimization_level": 2}
    assert "> n150" in str(found) and "bfp8_lofi" in str(found)
    none_lost = tune(model(), INPUT, levels=(2,), precisions=("model", "bfp8_lofi"), max_pcc_loss=0.0)
    assert none_lost.picked is not None and none_lost.picked.precision == "model"


def sources(tmp_path: Path) -> dict[str, Path]:
    text = tmp_path / "mlp.mlir"
    text.write_text(mlp(256, 128, 256))
    script = tmp_path / "script.py"
    (tmp_path / "beside_the_script.py").write_text("WIDE = 64\n")
    script.write_text(
        "import argparse\nimport torch\nfrom alchemist import codegen_py\nfrom beside_the_script import WIDE\nargparse.ArgumentParser().parse_args()\n"
        "codegen_py(torch.nn.Linear(WIDE, 64), torch.ones(32, WIDE), export_path='never', compiler_options={'disable': 'fuse-linear'})\n"
    )
    codegen_py(torch.nn.Linear(64, 64), torch.ones(32, 64), export_path=tmp_path / "export")
    return {"mlir": text, "script": script, "export": tmp_path / "export"}


@pytest.mark.parametrize("kind", ["mlir", "script", "export"])
def test_the_command(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, result = sources(tmp_path)[kind], tmp_path / "result.json"
    assert cli.main(["tune", str(source), "--levels", "0,1", "--precisions", "model", "--json", str(result), "--max-pcc-loss", "0.01"]) == 0
    shown = capsys.readouterr().out
    assert "PCC" in shown and "n150" in shown and "optimization_level" in shown
    rows: list[dict[str, Any]] = json.loads(result.read_text())
    assert len(rows) == 2 and all(row["device_ms"] > 0 and row["pcc"] for row in rows)
    assert not (tmp_path / "never").exists()


@pytest.mark.parametrize(
    ("named", "match"),
    [
        ({"cards": ("n151",)}, "n150"), ({"levels": (3,)}, "0, 1, 2"), ({"precisions": ("fp4",)}, "bfp8"), ({"max_pcc_loss": 2.0}, "0 to 1"),
        *(({name: ()}, "nothing to try") for name in ("cards", "levels", "precisions")),
    ],
)  # fmt: skip
def test_bad_wishes(named: dict[str, Any], match: str) -> None:
    with pytest.raises(OptionError, match=match):
        tune(model(), INPUT, **named)


def test_a_script_without_a_model(tmp_path: Path) -> None:
    from alchemist.tuning import tune_source

    (tmp_path / "empty.py").write_text("x = 1\n")
    with pytest.raises(InputError, match="calls none of"):
        tune_source(tmp_path / "empty.py")


def test_what_cannot_be_tuned(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="no export with irs/"):
        tune_source(tmp_path)
    text = mlp(32, 32, 32)
    (tmp_path / "two.mlir").write_text(text + "\n// -----\n" + text)
    with pytest.raises(InputError, match="2 programs in the file"):
        tune_source(tmp_path / "two.mlir")


def test_a_choice_that_does_not_run_has_its_reason_in_the_table() -> None:
    good = Tuned("n150", "model", 0, device_ms=2.0, l1_peak_bytes=2048, weight_bytes=3_000_000, pcc={"y": 0.5, "z": 0.75})
    bad = Tuned("n150", "model", 2, failure="too large")
    head, first, second, legend = str(Tuning((good, bad))).splitlines()
    assert [first.split(), second.split()] == [["n150", "model", "0", "2.000", "1.00x", "0.500000", "2", "3.0"], ["n150", "model", "2", "too", "large"]]
    assert head.split()[0] == "card" and legend.startswith("* no other choice")
