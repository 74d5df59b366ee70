"""An export whose program would fail its own check gets more exact products: the cheapest that pass, and says so."""

from __future__ import annotations

import json
import re
import subprocess
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import torch

from alchemist import codegen_py
from alchemist.errors import AccuracyWarning
from alchemist.export.precision import WIDE_SUM_TERMS, export_within_limits, more_exact
from alchemist.export.unedited import Measured, measure_unedited
from alchemist.frontends import torch as front_end
from alchemist.options import CompilerOptions

FLOAT32_SETTINGS = [(True, 0), *((True, terms) for terms in WIDE_SUM_TERMS)]


def exact(options: CompilerOptions) -> tuple[bool, int]:
    return options.round_weights, options.wide_sum_terms


def export_where(passes: Callable[[tuple[bool, int]], bool]) -> tuple[tuple[bool, int], list[tuple[bool, int]]]:
    """What is exported of a float32 model whose settings pass or fail as told, and all settings that were written, in order."""
    written: list[tuple[bool, int]] = []

    def write(options: CompilerOptions) -> tuple[tuple[bool, int], Measured]:
        written.append(exact(options))
        return exact(options), Measured("" if passes(exact(options)) else "output: relative error", 1e6)

    return export_within_limits(write, CompilerOptions(), is_float32=True, model="Model", directory=Path()), written


def test_a_program_that_passes_is_compiled_once() -> None:
    assert export_where(lambda setting: True) == ((False, 0), [(False, 0)])


@pytest.mark.parametrize("needed", FLOAT32_SETTINGS)
def test_the_cheapest_setting_that_passes(needed: tuple[bool, int], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("alchemist.export.precision.SECONDS_FACTOR", 1e9)
    passing = FLOAT32_SETTINGS[FLOAT32_SETTINGS.index(needed) :]
    chosen, written = export_where(lambda setting: setting in passing)
    assert chosen == needed and written[-1] == needed, "the directory holds what is returned"
    assert "Model would fail its own check" in (said := capsys.readouterr().err) and "round_weights=True" in said


def test_little_time_takes_the_most_exact_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("alchemist.export.precision.SECONDS_FACTOR", 0.0)
    assert export_where(lambda setting: setting[1] in (1, 128, 512))[0] == (True, 1)


def test_what_no_setting_mends_is_exported_as_asked_with_a_warning() -> None:
    with pytest.warns(AccuracyWarning, match="does not agree with the framework.*did not help"):
        chosen, written = export_where(lambda setting: False)
    assert chosen == written[-1] == (False, 0)


def test_results_that_memory_does_not_hold_have_no_golden_outputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("alchemist.export.writer.lacking_memory", lambda needed_bytes: f"{needed_bytes} bytes")
    with pytest.warns(AccuracyWarning, match="no golden outputs, ./run --check has nothing to compare with: 256 bytes"):
        path = codegen_py(torch.nn.ReLU(), torch.ones(4, 8), export_path=tmp_path / "out").path
    assert not (path / "golden").exists() and "golden" not in json.loads((path / "manifest.json").read_text())["outputs"]["output"]


@pytest.mark.parametrize("lacking", ["", "too little memory at export"])
def test_a_program_without_room_in_l1_is_named(tmp_path: Path, lacking: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """`./run --check` would stop there too. Where the export has no memory for the program's values, its tensors have addresses all the same."""
    monkeypatch.setattr("alchemist.export.unedited.lacking_memory", lambda needed_bytes: lacking)
    large = "ttnn.to_memory_config(ttnn.repeat(input_, [2048, 512]), ttnn.L1_MEMORY_CONFIG)"  # 134 MB

    def measure(directory: Path, sources: Mapping[str, str], python_sources: Mapping[str, str], *others: Any) -> Measured:
        edited = {name: text.replace("ttnn.relu(input_", f"ttnn.relu({large}") for name, text in python_sources.items()}
        return measure_unedited(directory, sources, edited, *others)

    monkeypatch.setattr("alchemist.export.writer.measure_unedited", measure)
    with pytest.warns(AccuracyWarning, match="does not run on the simulator: .*Out of Memory"):
        path = codegen_py(torch.nn.ReLU(), torch.ones(4, 8), export_path=tmp_path / "out").path
    assert "did not run" in json.loads((path / "manifest.json").read_text())["unedited"]["unknown"]
    monkeypatch.setattr("alchemist.export.writer.measure_unedited", measure_unedited)
    path = codegen_py(torch.nn.ReLU(), torch.ones(4, 8), export_path=tmp_path / "in").path
    assert json.loads((path / "manifest.json").read_text())["unedited"].get("unknown", "") == lacking


def test_a_pool_that_loses_nan_is_named(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text("pooled = ttnn.max_pool2d(x)\n# ttnn.gelu is not called\n")
    lost = Measured("output: 4 of 9 values are NaN or infinite in one and not in the other", 1e6)
    with pytest.warns(AccuracyWarning, match="first op that differs. Possible causes: ttnn.max_pool2d takes bfloat16, where NaN is stored as infinity$"):
        export_within_limits(lambda options: (None, lost), CompilerOptions(), is_float32=True, model="Model", directory=tmp_path)


def test_how_far_rounding_moves_a_model() -> None:
    def measured(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y.add_((x + 30.0).sum() - 30.0 * x.numel())
        return torch.relu(x @ x.T) + 1, (x + 30.0) - 30.0, (x @ x.T * 1e-6 + 1).argmax(-1), torch.argmax(x, -1)

    x = torch.linspace(-1, 1, 64).reshape(8, 8)
    for dtype, unit in ((torch.float32, 2**-11), (torch.bfloat16, 2**-8)):
        measure = front_end.capture(measured, (x.to(dtype), torch.ones(4))).moved_by_rounding
        assert measure is not None
        steady, cancelling, near_ties, largest, written = measure()
        assert 0 < steady < 3 * unit and cancelling > 10 * unit
        assert near_ties > 0.2 and largest == 0.0 and written > unit


def test_two_exports_measure_the_same_and_draw_nothing_from_the_users_random_numbers() -> None:
    torch.manual_seed(0)
    measure = front_end.capture(torch.nn.Linear(8, 8).eval(), (torch.randn(4, 8),)).moved_by_rounding
    assert measure is not None
    state = torch.get_rng_state()
    assert measure() == measure() != [0.0]
    assert torch.equal(torch.get_rng_state(), state)


class NearTies(torch.nn.Module):
    """Scores of nearly equal classes, the best class and the table's row for it."""

    def __init__(self) -> None:
        super().__init__()
        self.scores, self.table = torch.nn.Linear(64, 64), torch.nn.Linear(64, 64)
        self.scores.weight.data = self.scores.weight[:1] + 1e-5 * self.scores.weight
        self.scores.bias.data *= 1e-5

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        scores = self.scores(x)
        best = scores.argmax(-1)
        return scores, best, self.table.weight[best]


def test_what_rounding_decides_is_judged_by_the_unedited_program(tmp_path: Path) -> None:
    torch.manual_seed(0)
    with pytest.warns(AccuracyWarning, match="amplifies rounding: the framework's own outputs move by .* compares with the unedited program alone"):
        made = codegen_py(NearTies().eval(), torch.randn(32, 64), export_path=tmp_path / "out")
    scores, best, rows = json.loads((made.path / "manifest.json").read_text())["outputs"].values()
    assert "moved_by_rounding" not in scores and best["moved_by_rounding"] > 0.5 and best["unedited_wrong"] > 16 and rows["moved_by_rounding"] > 0.5

    def check() -> str:
        return subprocess.run([str(made.path / "run"), "--check"], capture_output=True, text=True, check=False).stdout

    assert "check: passed, 3 outputs" in (said := check()) and said.count("the unedited program is the only measure") == 2
    program = made.path / "main.py"
    text = program.read_text()
    call = next(line.strip() for line in text.splitlines() if "ttnn.argmax(" in line)
    program.write_text(text.replace(call, re.sub(r"ttnn.argmax\(\w+", "ttnn.argmax(x", call)))
    assert program.read_text() != text
    assert "check: FAILED" in check()


def test_numbers_below_the_smallest_normal_one_are_zeros(tmp_path: Path) -> None:
    """A deep network with small first weights computes them; the device has none."""

    class Small(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x * 1e-20 * 1e-21

    with warnings.catch_warnings():
        warnings.simplefilter("error", AccuracyWarning)
        made = codegen_py(Small(), torch.rand(4, 40), export_path=tmp_path / "made")
    done = subprocess.run([made.path / "run", "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_rounded_weights_give_right_products_on_average(tmp_path: Path) -> None:
    import numpy as np

    from alchemist import load_codegen_py

    torch.manual_seed(0)
    model = torch.nn.Linear(512, 256, bias=False).eval()
    x = torch.randn(64, 512)
    gains = {}
    for rounded in (False, True):
        codegen_py(model, x, export_path=tmp_path / str(rounded), compiler_options={"round_weights": rounded})
        have = load_codegen_py(model, x, load_path=tmp_path / str(rounded)).numpy()
        want = model(x).detach().numpy()
        gains[rounded] = float(np.vdot(have, want) / np.vdot(want, want)) - 1
    assert gains[False] < -8e-4 and abs(gains[True]) < 1e-4


def test_every_convolution_rounds_its_weights(tmp_path: Path) -> None:
    """At level 2 a convolution of few channels reads weights in another arrangement; a transposed one has its own way to them."""
    from torch import nn

    layers = {"first": nn.Conv2d(3, 8, 3, stride=2, padding=1), "deep": nn.Conv2d(32, 32, 3), "up": nn.ConvTranspose2d(32, 8, 2, stride=2)}
    for name, layer in layers.items():
        x = torch.randn(1, layer.in_channels, 32, 32)
        for level in (0, 2):
            made = codegen_py(layer.eval(), x, export_path=tmp_path / f"{name}{level}", compiler_options={"round_weights": True, "optimization_level": level})
            assert "16385.0" in (made.path / "consteval.py").read_text(), (name, level)


@pytest.mark.parametrize("given", [{"wide_sum_terms": 64}, {"fp32_dest_acc_en": False}, {"precision": "bfp8"}])
def test_a_precision_that_the_caller_chose_stays(given: dict[str, object]) -> None:
    assert more_exact(CompilerOptions.parse(given), is_float32=True) == []


def test_a_deep_network_in_bfloat16_passes_its_own_check(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Sums of 288 products are rounded to bfloat16 at each step, a little more often away from zero: 28 convolutions make the output too large."""
    from torch import nn

    torch.manual_seed(0)
    layers: list[nn.Module] = []
    for _ in range(28):
        convolution = nn.Conv2d(32, 32, 3, padding=1, bias=False)
        nn.init.kaiming_normal_(convolution.weight)
        layers += [convolution, nn.ReLU()]
    model = nn.Sequential(*layers).eval().to(torch.bfloat16)
    codegen_py(model, torch.rand(1, 32, 4, 4, dtype=torch.bfloat16), export_path=tmp_path / "deep")
    manifest = json.loads((tmp_path / "deep" / "manifest.json").read_text())
    assert 0 < manifest["options"]["wide_sum_terms"] <= 288
    assert manifest["outputs"]["output"]["unedited_rel_l2"] < 0.15
    assert "fp32_dest_acc_en=True" in (tmp_path / "deep" / "main.py").read_text()
    assert "precision raised by wide_sum_terms=" in capfd.readouterr().err
