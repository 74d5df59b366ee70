"""From a model to a checked `./run`, in both languages, and what happens when something is wrong."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from alchemist import codegen_cpp, codegen_py
from alchemist.errors import AlchemistError, ExportDirectoryError, FrontendError, OptionError, UnsupportedOpError
from tests.e2e.models import LARGE, SMALL, torch_mlp
from tests.running import check, run
from tests.shared import small_export

os.environ["HF_HUB_OFFLINE"] = "1"


@pytest.fixture(scope="module")
def mlp(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An exported MLP that tests copy before they change it."""
    return small_export(tmp_path_factory, "torch_mlp", codegen_py)


def copy_of(directory: Path, target: Path) -> Path:
    shutil.copytree(directory, target)
    return target


@pytest.mark.parametrize("name", SMALL)
def test_small_model_python(name: str, tmp_path: Path) -> None:
    model, args, kwargs = SMALL[name]()
    result = codegen_py(model, *args, export_path=tmp_path / "out", **kwargs)
    assert {"main.py", "utils.py", "run", "README.md", "manifest.json"} <= set(result.files)
    assert re.fullmatch(rf"CodegenResult\('{re.escape(str(result.path))}', {len(result.files)} files, {len(result.arguments)} tensors, [\d.]+ s\)", str(result))
    report = check(result.path)
    assert report["outputs"][0]["passed"] is True
    assert report["ops"] > 0
    assert report["device_ns"] > 0
    assert report["cycles"] > 0
    assert (report["arch"], report["card"]) == ("wormhole_b0", "n150")


NIGHTLY = [
    pytest.param(name, marks=pytest.mark.slow) for name in ("torch_attention", "torch_mlp", "torch_cnn", "jax_mlp")
]  # test_cpp_of_a_level compares one of them at level 2 by day


def same_values(name: str, folder: Path, **options: Any) -> Path:
    """The C++ export of a model, after both languages' programs have passed their checks with equal bits."""
    model, args, kwargs = SMALL[name]()
    outputs = {}
    for language, codegen in (("py", codegen_py), ("cpp", codegen_cpp)):
        made = codegen(model, *args, export_path=folder / language / "out", **options, **kwargs).path
        report = check(made, "--outputs", str(folder / language / "values"))
        assert report["ops"] > 0
        assert all(output["passed"] for output in report["outputs"])
        outputs[language] = {row["name"]: np.load(folder / language / "values" / f"{row['name']}.npy") for row in report["outputs"]}
    built = {file.name for file in (made / "build").rglob("*.cpp.o")}
    assert built - {"consteval.cpp.o", "place.cpp.o"} == {"model.cpp.o", "main.cpp.o"}  # what all programs share comes built with the simulator
    assert outputs["py"].keys() == outputs["cpp"].keys()
    for key, value in outputs["py"].items():
        np.testing.assert_array_equal(value, outputs["cpp"][key])
    return made


@pytest.mark.parametrize("name", NIGHTLY)
def test_python_and_cpp_are_bit_equal(name: str, tmp_path: Path) -> None:
    same_values(name, tmp_path)


@pytest.mark.parametrize(("name", "level", "config"), [pytest.param("torch_mlp", 1, "", marks=pytest.mark.slow), ("torch_cnn", 2, "ttnn::Conv2dConfig")])
def test_cpp_of_a_level_compiles_and_passes_its_check(name: str, level: int, config: str, tmp_path: Path) -> None:
    """Configs and shards are other C++ than calls without them."""
    made = same_values(name, tmp_path, compiler_options={"optimization_level": level})
    text = (made / "model.cpp").read_text()
    assert config in text and "MatmulMultiCoreReuse" in text


@pytest.mark.slow
@pytest.mark.parametrize("language", ["py", "cpp"])
@pytest.mark.parametrize("name", LARGE)
def test_large_model(name: str, language: str, tmp_path: Path) -> None:
    model, args, kwargs = LARGE[name]()
    codegen = codegen_py if language == "py" else codegen_cpp
    result = codegen(model, *args, export_path=tmp_path / "out", **kwargs)
    report = check(result.path)
    assert all(row["pcc"] >= 0.99 for row in report["outputs"])


def test_run_options(mlp: Path, tmp_path: Path) -> None:
    """--estimate needs no values, --inputs takes own ones, --loops repeats, --arch changes the chip."""
    estimate = run(mlp, "--estimate", "--json", str(tmp_path / "estimate.json"))
    assert estimate.returncode == 0, estimate.stderr
    own = tmp_path / "own"
    own.mkdir()
    np.save(own / "input.npy", np.zeros((3, 40), np.float32))
    report = check(mlp, "--loops", "3")
    assert json.loads((tmp_path / "estimate.json").read_text())["device_ns"] == report["device_ns"]
    blackhole = check(mlp, "--arch", "p150")
    assert (blackhole["arch"], blackhole["card"]) == ("blackhole", "p150")
    assert blackhole["device_ns"] != report["device_ns"]
    with_own = run(mlp, "--inputs", str(own), "--outputs", str(tmp_path / "values"))
    assert with_own.returncode == 0, with_own.stderr
    (value,) = [np.load(path) for path in (tmp_path / "values").glob("*.npy")]
    assert np.allclose(value[0], value[1])
    # The same numbers in another byte and memory order; misspelt, missing and unreadable files are refused.
    array = np.random.default_rng(0).standard_normal((3, 40)).astype(np.float32)
    values = []
    for form in (array, array.astype(">f8"), np.asfortranarray(array)):
        np.save(own / "input.npy", form)
        assert run(mlp, "--inputs", str(own), "--outputs", str(tmp_path / "values")).returncode == 0
        values += [np.load(path) for path in (tmp_path / "values").glob("*.npy")]
    assert np.array_equal(values[0], values[1]) and np.array_equal(values[0], values[2])
    (own / "input.npy").write_bytes(b"no array")
    assert "input.npy is no .npy file; write it with numpy.save(file, array)" in run(mlp, "--inputs", str(own)).stderr
    (own / "input.npy").rename(own / "inputs.npy")
    refused = run(mlp, "--inputs", str(own))
    assert refused.returncode != 0
    assert "did you mean input.npy?" in refused.stderr and "missing: input" in refused.stderr
    assert run(mlp, "--inputs", str(own), "--partial-inputs").returncode != 0  # still no input of this program
    (own / "inputs.npy").unlink()
    assert run(mlp, "--inputs", str(own), "--partial-inputs").returncode == 0


@pytest.mark.parametrize("language", ["py", "cpp"])
def test_zeros_are_no_scalar_loss(language: str, tmp_path: Path) -> None:
    """The result is small, not near zero: returning zeros fails in both languages."""
    import torch

    def loss(x: torch.Tensor) -> torch.Tensor:
        return (x * x).mean() * 0.02

    torch.manual_seed(0)
    codegen = codegen_py if language == "py" else codegen_cpp
    out = codegen(loss, torch.randn(8, 32), export_path=tmp_path / "out").path
    main = out / ("main.py" if language == "py" else "model.cpp")
    before = main.read_text()
    main.write_text(before.replace(", 0.02", ", 0.0").replace("0.02f", "0.0f"))
    assert main.read_text() != before
    done = run(out, "--check")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "FAILED: relative error" in done.stdout


def test_wrong_weight_fails_the_check(mlp: Path, tmp_path: Path) -> None:
    out = copy_of(mlp, tmp_path / "out")
    weight = next((out / "tensors").glob("0.weight*"))
    data = bytearray(weight.read_bytes())
    data[-4000:] = bytes(4000)
    weight.write_bytes(data)
    result = run(out, "--check")
    assert result.returncode == 1
    assert "FAILED" in result.stdout


@pytest.mark.parametrize("language", ["py", "cpp"])
def test_damaged_tensor_file(mlp: Path, tmp_path: Path, language: str) -> None:
    """Both languages refuse a truncated and a garbled file in the project's error shape, and name the file."""
    if language == "py":
        out = copy_of(mlp, tmp_path / "out")
    else:
        model, args, kwargs = torch_mlp()
        out = codegen_cpp(model, *args, export_path=tmp_path / "out", **kwargs).path
    weight = next((out / "tensors").glob("0.weight*"))
    whole = weight.read_bytes()
    for damaged in (whole[:300], b"\xff" * 5000):
        weight.write_bytes(damaged)
        result = run(out)
        assert result.returncode == 1
        assert result.stderr.startswith("error[SHIM-000"), result.stderr
        assert "ttnn.load_tensor" in result.stderr.replace("::", ".")
        assert "Traceback" not in result.stderr
        assert weight.name in result.stderr


def test_edit_with_wrong_shapes_points_to_the_line(mlp: Path, tmp_path: Path) -> None:
    out = copy_of(mlp, tmp_path / "out")
    text = (out / "main.py").read_text()
    lines = text.splitlines()
    number = next(i for i, line in enumerate(lines) if "ttnn.linear(" in line)
    name = (lines[number].split("ttnn.linear(")[1] or lines[number + 1]).split(",")[0].strip()
    indent = lines[number][: len(lines[number]) - len(lines[number].lstrip())]
    lines.insert(number, f"{indent}ttnn.matmul({name}, {name})")
    (out / "main.py").write_text("\n".join(lines) + "\n")
    result = run(out)
    assert result.returncode == 1
    assert result.stderr.startswith("error[SHIM-0001] ttnn.matmul: ")
    assert f"main.py:{number + 1}" in result.stderr


def test_missing_compiler_says_what_to_install(tmp_path: Path) -> None:
    model, args, kwargs = torch_mlp()
    result = codegen_cpp(model, *args, export_path=tmp_path / "out", **kwargs)
    bare = tmp_path / "bin"
    bare.mkdir()
    for program in ("bash", "dirname", "env"):
        (bare / program).symlink_to(shutil.which(program) or program)
    done = subprocess.run([str(bare / "bash"), str(result.path / "run")], env={"PATH": str(bare)}, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "install" in done.stderr


def test_unsupported_ops_are_listed_at_once(tmp_path: Path) -> None:
    import torch

    class Odd(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y = torch.linalg.eigvalsh(x @ x.T)
            return torch.special.bessel_j0(y)

    with pytest.raises(UnsupportedOpError) as caught:
        codegen_py(Odd(), torch.randn(4, 4), export_path=tmp_path / "out")
    text = str(caught.value)
    assert "linalg_eigh" in text or "eigvalsh" in text
    assert "bessel_j0" in text
    assert "test_codegen.py" in text
    assert not (tmp_path / "out").exists()


def test_data_dependent_control_flow(tmp_path: Path) -> None:
    import torch

    class Branch(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x * 2 if x.sum() > 0 else x

    with pytest.raises(FrontendError) as caught:
        codegen_py(Branch(), torch.randn(4), export_path=tmp_path / "out")
    assert caught.value.hint
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("path", "options", "error"),
    [
        ("file/out", {}, ExportDirectoryError),
        ("file", {}, ExportDirectoryError),
        ("out", {"compiler_options": {"mathfidelity": "lofi"}}, OptionError),
        ("out", {"compiler_options": {"optimization_level": 7}}, OptionError),
        ("out", {"export_golden": "all"}, OptionError),
    ],
)
def test_bad_calls_leave_nothing(path: str, options: dict[str, Any], error: type[AlchemistError], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("precious")
    model, args, _ = torch_mlp()
    with pytest.raises(error):
        codegen_py(model, *args, export_path=tmp_path / path, **options)
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


def test_wrong_arguments(tmp_path: Path) -> None:
    import torch

    model, _, _ = torch_mlp()
    for args in ((torch.randn(3, 41),), (), (torch.randn(3, 40), torch.randn(3, 40)), ("text",)):
        with pytest.raises(AlchemistError) as caught:
            codegen_py(model, *args, export_path=tmp_path / "out")
        assert caught.value.code.startswith("ALC-01")
    assert list(tmp_path.iterdir()) == []


def test_options_are_no_keywords(tmp_path: Path) -> None:
    """A model that takes any keyword, as those of transformers do, would take an option in silence; a parameter of the model's own is the model's."""
    import torch

    class AnyKeyword(torch.nn.Module):
        def forward(self, x: torch.Tensor, precision: float = 1.0, **kwargs: Any) -> torch.Tensor:
            return x * precision

    with pytest.raises(OptionError, match="keyword arguments go to the model") as caught:
        codegen_py(AnyKeyword(), torch.ones(2, 2), export_path=tmp_path / "out", optimization_level=2)
    assert "compiler_options={'optimization_level': 2}" in str(caught.value)
    assert not (tmp_path / "out").exists()
    assert check(codegen_py(AnyKeyword(), torch.ones(2, 2), export_path=tmp_path / "own", precision=2.0).path)["outputs"][0]["passed"] is True


def test_without_tensors(tmp_path: Path) -> None:
    model, args, _ = torch_mlp()
    result = codegen_py(model, *args, export_path=tmp_path / "out", export_tensors=False, export_golden="none")
    assert not [file for file in result.files if file.startswith(("tensors/", "golden/"))]
    assert run(result.path).returncode == 0


def test_both_languages_in_one_process_and_no_shared_directory(tmp_path: Path) -> None:
    model, args, _ = torch_mlp()
    codegen_py(model, *args, export_path=tmp_path / "out")
    codegen_cpp(model, *args, export_path=tmp_path / "out")
    assert (tmp_path / "out" / "model.cpp").exists()
    assert not (tmp_path / "out" / "main.py").exists()


def test_profile_reports_add_up(mlp: Path, tmp_path: Path) -> None:
    """A profile tells what edits would gain; an estimate does not, as these run with values."""
    import csv

    done = run(mlp, "--check", "--json", str(tmp_path / "report.json"), "--profile", str(tmp_path / "profile"))
    assert done.returncode == 0 and "gain us" in done.stdout, done.stdout + done.stderr
    assert "gain us" not in run(mlp, "--estimate", "--profile", str(tmp_path / "estimate")).stdout
    report = json.loads((tmp_path / "report.json").read_text())
    with open(tmp_path / "profile" / "performance" / "ops_perf_results.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == report["ops"]
    total_ns = sum(float(row["DEVICE KERNEL DURATION [ns]"]) + float(row["OP TO OP LATENCY [ns]"]) for row in rows)
    assert total_ns == pytest.approx(report["device_ns"], abs=len(rows))
    assert all(row["SOURCE LINE"].startswith("main.py:") for row in rows)
    assert "<svg" in (tmp_path / "profile" / "report.html").read_text()
    json.loads((tmp_path / "profile" / "trace.json").read_text())


def test_integers_beyond_32_bits(tmp_path: Path) -> None:
    """int64's extremes serve as "no value" and are kept as int32's; other numbers beyond 32 bits take two words, but no output."""
    import torch

    class Chosen(torch.nn.Module):
        def __init__(self, other: int) -> None:
            super().__init__()
            self.other = other

        def forward(self, index: torch.Tensor) -> torch.Tensor:
            return torch.where(index > 1, torch.full_like(index, self.other), index).argmin() + torch.zeros(3)

    extreme = codegen_py(Chosen(torch.iinfo(torch.int64).max), torch.tensor([5, 9, 1, 7]), export_path=tmp_path / "extreme")
    assert check(extreme.path)["outputs"][0]["passed"] is True
    chosen = codegen_py(Chosen(2**40), torch.tensor([5, 9, 1, 7]), export_path=tmp_path / "words")
    assert check(chosen.path)["outputs"][0]["passed"] is True
    with pytest.raises(AlchemistError, match="32 bits"):
        codegen_py(lambda index: index + 2**40, torch.arange(4), export_path=tmp_path / "beyond")
    assert not (tmp_path / "beyond").exists()
