"""`tune`: levels, precisions and cards beside each other."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from modules import mlp

import alchemist
from alchemist import cli, codegen_cpp, codegen_py, tune, tuning
from alchemist.errors import FileError, FrontendError, InputError, OptionError
from alchemist.generation import text_generation
from alchemist.tuning import Tuned, Tuning, tune_source
from tests.running import run


def model() -> torch.nn.Module:
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(256, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 256)).to(torch.bfloat16)


INPUT = torch.ones(512, 256, dtype=torch.bfloat16)


def test_the_table_has_every_combination() -> None:
    """What is picked where less accuracy may be lost: test_accurate_choices_come_first."""
    found = tune(model(), INPUT, levels=(0, 2), precisions=("model", "bfp8_lofi"), max_pcc_loss=0.02)
    assert {(row.card, row.precision, row.level) for row in found.rows} == {
        ("n150", precision, level) for precision in ("model", "bfp8_lofi") for level in (0, 2)
    }
    times = {(row.card, row.precision, row.level): row for row in found.rows}
    plain, fast = times["n150", "model", 0], times["n150", "bfp8_lofi", 2]
    assert fast.device_ms < times["n150", "model", 2].device_ms < plain.device_ms
    assert plain.least_pcc is not None and fast.least_pcc is not None and 0.97 < fast.least_pcc < plain.least_pcc
    assert fast.weight_bytes < 0.6 * plain.weight_bytes
    assert fast.pareto and times["n150", "model", 2].pareto and not plain.pareto
    assert list(found.rows) == sorted(found.rows, key=lambda row: (row.card, (row.least_pcc or 0) < (plain.least_pcc or 0) - 0.02, row.device_ms))
    for row in found.rows:
        others = [other for other in found.rows if other.card == row.card and other is not row]
        beaten = any(other.device_ms <= row.device_ms and (other.least_pcc or 0) >= (row.least_pcc or 0) for other in others)
        assert row.pareto == (not beaten), row
    tiles = 2 * 8 * 32  # of two weights; the rows of biases are taken as they come
    assert {(row.precision, row.weight_bytes) for row in found.rows} == {("model", tiles * 2048), ("bfp8_lofi", tiles * 1088)}
    assert found.picked == fast and found.picked.options == {"arch": "n150", "precision": "bfp8_lofi", "optimization_level": 2}
    assert "> n150" in str(found) and "bfp8_lofi" in str(found)
    cards = tune(model(), INPUT, cards=("n150", "p150"), levels=(0,), precisions=("model",))
    assert [row.card for row in cards.rows] == ["n150", "p150"] and cards.rows[0].device_ms == plain.device_ms != cards.rows[1].device_ms


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
    assert (alchemist.codegen_py, alchemist.codegen_cpp, alchemist.tune) == (codegen_py, codegen_cpp, tune), "a script runs with others"
    shown = capsys.readouterr().out
    assert "PCC" in shown and "n150" in shown and "optimization_level" in shown
    rows: list[dict[str, Any]] = json.loads(result.read_text())
    assert len(rows) == 2 and all(row["device_ms"] > 0 and row["pcc"] for row in rows)
    assert not (tmp_path / "never").exists()


@pytest.mark.parametrize(
    ("named", "match"),
    [
        ({"cards": ("n151",)}, "n150"), ({"levels": (3,)}, "0, 1, 2"), ({"precisions": ("fp4",)}, "bfp8"), ({"max_pcc_loss": 2.0}, "0 to 1"),
        *(({name: ()}, "nothing to compare") for name in ("cards", "levels", "precisions")),
    ],
)  # fmt: skip
def test_bad_wishes(named: dict[str, Any], match: str) -> None:
    with pytest.raises(OptionError, match=match):
        tune(model(), INPUT, **named)


def test_a_script_has_its_arguments(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import sys\nimport torch\nfrom alchemist import codegen_py\nWIDE = int(sys.argv[1])\ncodegen_py(torch.nn.Linear(WIDE, 8), torch.ones(32, WIDE))\n"
    )
    once = ["tune", str(script), "--levels", "0", "--precisions", "model"]
    assert cli.main([*once, "--", "64"]) == 0
    capsys.readouterr()
    for more, got in (([], "IndexError: list index out of range"), (["--", "wide"], "ValueError: invalid literal")):
        assert cli.main([*once, *more]) == 1
        said = capsys.readouterr().err
        assert f"at {script}:4" in said and got in said and "bug in alchemist" not in said
    assert cli.main(["tune", str(tmp_path / "model.mlir"), "--", "64"]) == 1
    assert "arguments for a script" in capsys.readouterr().err


class Rotary(torch.nn.Module):
    """Pairs of columns of its heads are turned by a matrix that lowering adds, and it writes a cache."""

    def __init__(self) -> None:
        super().__init__()
        self.query = torch.nn.Linear(64, 64, bias=False)
        self.register_buffer("cache", torch.zeros(1, 2, 32, 32))

    def forward(self, x: torch.Tensor, position: torch.Tensor, angle: torch.Tensor) -> torch.Tensor:
        heads = self.query(x).view(1, 1, 2, 32).transpose(1, 2)
        heads = heads * angle.cos() + torch.stack([-heads[..., 1::2], heads[..., ::2]], -1).flatten(-2) * angle.sin()
        self.cache[:, :, position] = heads
        return heads @ self.cache.transpose(2, 3)


@pytest.mark.parametrize("level", [0, 2])
def test_an_export_is_timed_as_its_run_says(level: int, tmp_path: Path) -> None:
    """Also with constants that the compiler has added."""
    torch.manual_seed(0)
    arguments = torch.randn(1, 1, 64), torch.tensor([3]), torch.randn(1, 1, 1, 32)
    made = codegen_py(Rotary().eval(), *arguments, export_path=tmp_path / "out", compiler_options={"optimization_level": level})
    assert [one.name for one in made.arguments if one.kind == "constant" and not one.model_dtype]
    (row,) = tune_source(tmp_path / "out", levels=(level,), precisions=("model",)).rows
    said = run(tmp_path / "out", "--estimate").stdout
    assert f"{row.device_ms:.3f} ms" in said, (row.device_ms, said)


def test_accurate_choices_come_first(monkeypatch: pytest.MonkeyPatch) -> None:
    times = {"model": 3.0, "bfloat16": 2.0, "bfp8_lofi": 1.0}
    monkeypatch.setattr(tuning, "_timed", lambda row, *_: replace(row, device_ms=times[row.precision]))
    monkeypatch.setattr(tuning, "_measured", lambda row, *_: tuning._Measured({"y": {"model": 0.9999, "bfloat16": 0.995, "bfp8_lofi": 0.98}[row.precision]}))
    for loss, order, picked in (
        (None, "bfloat16 model bfp8_lofi", ""),
        (0.001, "model bfp8_lofi bfloat16", "model"),
        (0.1, "bfp8_lofi bfloat16 model", "bfp8_lofi"),
    ):
        found = tune(model(), INPUT, levels=(0,), precisions=tuple(times), max_pcc_loss=loss)
        assert " ".join(row.precision for row in found.rows) == order
        assert (found.picked.precision if found.picked else "") == picked


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


def test_the_table_as_text() -> None:
    rows = (
        Tuned("n150", "bfp8", 2, device_ms=0.5, l1_peak_bytes=102400, weight_bytes=1_060_000, pcc={"y": 0.999}, pareto=True, picked=True),
        Tuned("n150", "model", 1, device_ms=1.0, l1_peak_bytes=1536, weight_bytes=2_000_000, pcc={"y": 0.9999991}, pareto=True),
        Tuned("n150", "model", 0, device_ms=2.0, weight_bytes=2_040_000),
        Tuned("p150", "bfp8", 2, device_ms=0.25),
    )
    assert str(Tuning(rows)).splitlines()[1:] == [
        "> n150  bfp8           2     0.500   4.00x   0.999000         100         1.1",
        "* n150  model          1     1.000   2.00x   0.999999           2         2.0",
        "  n150  model          0     2.000   1.00x                      0         2.0",
        "  p150  bfp8           2     0.250                              0         0.0",
        "* no other choice of the card is as fast and as accurate; > picked",
    ]
    assert Tuning(rows[1:]).picked is None and not str(Tuning(rows[1:])).endswith("picked")
    assert Tuning(rows).picked is rows[0]
    first, *_, last = json.loads(Tuning((*rows, Tuned("n150", "model", 2, failure="no"))).as_json())
    assert first == {"card": "n150", "precision": "bfp8", "level": 2, "device_ms": 0.5, "l1_peak_bytes": 102400, "weight_bytes": 1060000, "pareto": True, "picked": True,
                     "failure": "", "pcc": {"y": 0.999}}  # fmt: skip
    assert (last["device_ms"], last["failure"], last["pcc"]) == (None, "no", None)
    assert Tuned("n150", "model", 0, pcc={"a": 0.5, "b": 0.25}).least_pcc == 0.25 and Tuned("n150", "model", 0, pcc={}).least_pcc is None


@pytest.mark.parametrize(
    ("sizes", "match"),
    [
        ({"prompt_tokens": 0}, "bad prompt_tokens.*a whole number from 1.*got 0"),
        ({"prompt_tokens": True}, "bad prompt_tokens"),
        ({"total_tokens": "64"}, "bad total_tokens.*a whole number from 1"),
        ({"users": 0}, "bad users"),
        ({"users": 1.5}, "bad users"),
        ({"prompt_tokens": 64, "total_tokens": 64}, "the prompt leaves no room in the caches.*below total_tokens, 64.*got 64"),
        ({"prompt_tokens": 65, "total_tokens": 64}, "the prompt leaves no room in the caches"),
        ({"prompt_tokens": 32, "total_tokens": 65}, "bad total_tokens.*a multiple of 32"),
        ({"prompt_tokens": 1, "total_tokens": 33}, "bad total_tokens.*a multiple of 32"),
    ],
)
def test_sizes_of_texts(sizes: dict[str, Any], match: str) -> None:
    language = SimpleNamespace(config=SimpleNamespace(is_encoder_decoder=False), generation_config=None)
    with pytest.raises(OptionError, match=f"(?s){match}"):
        text_generation(language, **sizes)
    with pytest.raises(FrontendError, match="not a language model of transformers"):
        text_generation(model())
    with pytest.raises(FrontendError, match="not a language model"):
        text_generation(SimpleNamespace(config=language.config))
