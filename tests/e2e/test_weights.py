"""What becomes of weights: left out, block formats, compute configs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from alchemist import codegen_cpp, codegen_py
from tests.e2e.models import SMALL
from tests.e2e.test_codegen import check, run


def export(path: Path, language: str = "py", model: str = "torch_attention", **options: Any) -> str:
    """Source text of the model, both files."""
    built, args, kwargs = SMALL[model]()
    codegen = codegen_py if language == "py" else codegen_cpp
    result = codegen(built, *args, export_path=path, compiler_options=options, **kwargs)
    sources = ("main.py", "consteval.py") if language == "py" else ("main.cpp", "consteval.cpp")
    return "\n".join((result.path / name).read_text() for name in sources if name in result.files)


@pytest.mark.parametrize(("kind", "dtype", "pcc"), [("bfp_bf8", "bfloat8_b", 0.99), ("bfp_bf4", "bfloat4_b", 0.9)])
def test_weight_formats(kind: str, dtype: str, pcc: float, tmp_path: Path) -> None:
    text = export(tmp_path / "out", experimental_weight_dtype=kind)
    assert f"ttnn.{dtype}" in text
    done = run(tmp_path / "out", "--json", str(tmp_path / "result.json"))
    assert done.returncode == 0, done.stderr
    reached = json.loads((tmp_path / "result.json").read_text())["outputs"][0]["pcc"]
    assert pcc <= reached < 1
    assert dtype.upper() in export(tmp_path / "cpp", "cpp", experimental_weight_dtype=kind).upper()


def test_weight_formats_are_coarser_and_faster(tmp_path: Path) -> None:
    export(tmp_path / "plain", experimental_weight_dtype="none")
    export(tmp_path / "bf4", experimental_weight_dtype="bfp_bf4")
    rows = []
    for name in ("plain", "bf4"):
        run(tmp_path / name, "--json", str(tmp_path / "result.json"))
        rows.append(json.loads((tmp_path / "result.json").read_text()))
    assert rows[1]["outputs"][0]["pcc"] < rows[0]["outputs"][0]["pcc"]
    assert rows[1]["device_ns"] <= rows[0]["device_ns"]


@pytest.mark.parametrize("language", ["py", "cpp"])
def test_compute_configs(language: str, tmp_path: Path) -> None:
    text = export(tmp_path / "out", language, math_fidelity="hifi4", fp32_dest_acc_en=True)
    assert "HiFi4" in text
    assert "fp32_dest_acc_en" in text
    assert "HiFi4" not in export(tmp_path / "plain", language)
    if language == "py":
        check(tmp_path / "out")


def test_fidelity_changes_device_time(tmp_path: Path) -> None:
    times = []
    for fidelity in ("lofi", "hifi4"):
        export(tmp_path / fidelity, math_fidelity=fidelity)
        run(tmp_path / fidelity, "--estimate", "--json", str(tmp_path / "result.json"))
        times.append(json.loads((tmp_path / "result.json").read_text())["device_ns"])
    assert times[0] <= times[1]


@pytest.mark.parametrize("model", ["torch_attention", "torch_cnn", "jax_mlp"])
def test_without_tensors(model: str, tmp_path: Path) -> None:
    """The program runs on ones: its constants are still there, its weights are not."""
    built, args, kwargs = SMALL[model]()
    result = codegen_py(built, *args, export_path=tmp_path / "out", export_tensors=False, **kwargs)
    manifest = json.loads((result.path / "manifest.json").read_text())
    assert all("file" not in entry for entry in manifest["tensors"].values() if entry["kind"] != "constant")
    done = run(result.path)
    assert done.returncode == 0, done.stderr
    assert "ttnn.ones" in (result.path / "utils.py").read_text()
