"""What becomes of weights: left out, block formats, compute configs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from alchemist import codegen_cpp, codegen_py
from alchemist.errors import InputError
from tests.e2e.models import SMALL
from tests.running import check, run


def export(path: Path, language: str = "py", model: str = "torch_attention", **options: Any) -> str:
    """Source text of the model, both files."""
    built, args, kwargs = SMALL[model]()
    codegen = codegen_py if language == "py" else codegen_cpp
    result = codegen(built, *args, export_path=path, compiler_options=options, **kwargs)
    sources = ("main.py", "consteval.py") if language == "py" else ("model.cpp", "consteval.cpp")
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


@pytest.mark.parametrize("on_meta", [True, False])
def test_a_model_without_values_is_exported_without_tensors(on_meta: bool, tmp_path: Path) -> None:
    """Weights on the meta device: the program is written all the same; asking for its tensors is refused."""
    model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.GELU()).eval().to("meta")
    x = torch.zeros(32, 64, device="meta" if on_meta else "cpu")
    if not on_meta:
        model = model.to_empty(device="cpu")
    result = codegen_py(model, x, export_path=tmp_path / "out", export_tensors=False)
    assert not [name for name in result.files if name.startswith("golden/")]
    done = run(result.path)
    assert done.returncode == 0, done.stderr
    if on_meta:
        with pytest.raises(InputError, match="meta device") as raised:
            codegen_py(model, x, export_path=tmp_path / "again")
        assert "export_tensors=False" in str(raised.value)
        assert not (tmp_path / "again").exists()


def test_exports_side_by_side_have_files_of_their_own(tmp_path: Path) -> None:
    """Equal tensors share blocks at most: an in-place edit of one export's file changes no other's, nor what the next export gets."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.GELU()).eval()
    for length in (32, 64):
        codegen_py(model, torch.randn(length, 64), export_path=tmp_path / f"length_{length}")
    files = [tmp_path / f"length_{length}" / "tensors" / "0.weight.tensorbin" for length in (32, 64)]
    assert files[0].stat().st_size > 4096
    assert not files[0].samefile(files[1])
    with open(files[0], "r+b") as opened:
        opened.write(b"edited")
    files[1].parents[1].joinpath("tensors", "input.tensorbin").unlink()
    codegen_py(model, torch.randn(96, 64), export_path=tmp_path / "length_96")
    assert files[1].read_bytes() == (tmp_path / "length_96" / "tensors" / "0.weight.tensorbin").read_bytes() != files[0].read_bytes()
