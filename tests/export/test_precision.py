"""An export whose program would fail its own check gets more exact products: the cheapest that pass, and says so."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from alchemist.errors import AccuracyWarning
from alchemist.export.precision import WIDE_SUM_TERMS, export_within_limits, more_exact
from alchemist.export.unedited import Measured
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

    return export_within_limits(write, CompilerOptions(), is_float32=True, model="Model"), written


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


def test_a_model_that_amplifies_rounding_is_named_as_the_cause() -> None:
    def write(options: CompilerOptions) -> tuple[None, Measured]:
        return None, Measured("output: relative error", 1e6)

    with pytest.warns(AccuracyWarning, match="amplifies rounding: the framework's own outputs move by 84%"):
        export_within_limits(write, CompilerOptions(), is_float32=True, model="Model", moved_by_rounding=lambda: 0.84)
    with pytest.warns(AccuracyWarning, match="more exact products .* did not help"):
        export_within_limits(write, CompilerOptions(), is_float32=True, model="Model", moved_by_rounding=lambda: 0.01)


def test_how_far_rounding_moves_a_model() -> None:
    import torch

    from alchemist.frontends import torch as front_end

    def steady(x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x @ x.T) + 1

    def cancelling(x: torch.Tensor) -> torch.Tensor:
        return (x + 30.0) - 30.0

    x = torch.linspace(-1, 1, 64).reshape(8, 8)
    for dtype, unit in ((torch.float32, 2**-11), (torch.bfloat16, 2**-8)):
        moved = {f: front_end.capture(f, (x.to(dtype),)).moved_by_rounding for f in (steady, cancelling)}
        assert 0 < moved[steady]() < 3 * unit and moved[cancelling]() > 10 * unit  # type: ignore[misc]


def test_rounded_weights_give_right_products_on_average(tmp_path: Path) -> None:
    import numpy as np
    import torch

    from alchemist import codegen_py, load_codegen_py

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
    import torch
    from torch import nn

    from alchemist import codegen_py

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
    import torch
    from torch import nn

    from alchemist import codegen_py

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
