"""What the export knows of its unedited program, and what `--check` makes of it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import pytest

from alchemist import codegen_cpp, codegen_py
from alchemist.errors import AccuracyWarning
from alchemist.export import unedited, writer
from tests.device import simulated_device
from tests.e2e.models import SMALL
from tests.e2e.test_codegen import copy_of
from tests.running import run
from tests.shared import small_export


def manifest_of(path: Path) -> dict[str, Any]:
    return json.loads((path / "manifest.json").read_text())


@pytest.fixture(scope="module")
def attention(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three layers in bfloat16, without values of single ops."""
    return small_export(tmp_path_factory, "torch_attention", codegen_py)


@pytest.fixture(scope="module")
def attention_ops(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_export(tmp_path_factory, "torch_attention", codegen_py, export_golden="ops")


def replaced(directory: Path, before: str, after: str) -> None:
    text = (directory / "main.py").read_text()
    assert re.search(before, text), text
    (directory / "main.py").write_text(re.sub(before, after, text, count=1))


def test_the_manifest_has_what_check_measures(attention: Path, tmp_path: Path) -> None:
    """The error at export is that of an unedited run, to the last bit, and C++ exports have the same."""
    entry = manifest_of(attention)["outputs"]["output"]
    done = run(attention, "--check", "--json", str(tmp_path / "result.json"))
    assert done.returncode == 0, done.stdout
    assert "changed since export" not in done.stdout
    row = json.loads((tmp_path / "result.json").read_text())["outputs"][0]
    assert entry["unedited_rel_l2"] == row["unedited_rel_l2"] == row["rel_l2"] > 0
    assert entry["unedited_max_abs_err"] == row["max_abs_err"]
    assert manifest_of(attention)["unedited"] == {
        "measured_on": "simulated n150",
        "instructions": json.loads((tmp_path / "result.json").read_text())["instructions"],
    }
    model, args, kwargs = SMALL["torch_attention"]()
    cpp = codegen_cpp(model, *args, export_path=tmp_path / "cpp", **kwargs).path
    assert manifest_of(cpp)["outputs"]["output"] == entry
    assert sorted(path.name for path in (cpp / "golden" / "unedited").iterdir()) == ["consteval.cpp", "main.cpp", "model.cpp", "output.tensorbin"]
    assert (cpp / entry["unedited"]).read_bytes() == (attention / entry["unedited"]).read_bytes()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (r"range\(NUM_BLOCKS\)", "range(NUM_BLOCKS - 1)"),  # a layer dropped
        ('activation="gelu"', 'activation="relu"'),
        ('activation="gelu"', 'activation="silu"'),
        ("hidden_states, attention_output, memory_config", "hidden_states, hidden_states, memory_config"),
    ],
)
def test_small_edits_are_caught(attention: Path, tmp_path: Path, before: str, after: str) -> None:
    out = copy_of(attention, tmp_path / "out")
    replaced(out, before, after)
    done = run(out, "--check")
    assert done.returncode == 1, done.stdout
    assert re.search(r"was \d.\de-\d\d, now \d.\de[-+]\d\d \(\d+(\.\d+)?x(, limit [\d.]+x)?\)", done.stdout), done.stdout
    assert re.search(r"changed since export: \w+ in main.py", done.stdout)


@pytest.mark.parametrize(
    ("before", "after", "code"),
    [
        (r"transformer\.scaled_dot_product_attention\(\s*(\w+), (\w+),", r"transformer.scaled_dot_product_attention(\2, \1,", 1),
        (r"scale=0.2\d*,", "scale=0.4,", 1),
        (r"scale=0.2\d*,", "scale=1.02 * 0.2,", 0),  # another op: as far as rounding goes
    ],
)
def test_edits_that_keep_the_ops_move_nothing(tmp_path: Path, before: str, after: str, code: int) -> None:
    """Attention is nearly uniform here, and little of it reaches the output."""
    import torch

    class Attention(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.qkv = torch.nn.Linear(64, 192)

        def forward(self, hidden: torch.Tensor) -> torch.Tensor:
            query, key, value = self.qkv(hidden).view(1, 32, 3, 2, 32).permute(2, 0, 3, 1, 4).unbind(0)
            context = torch.nn.functional.scaled_dot_product_attention(query, key, value, scale=0.2)
            return hidden + context.transpose(1, 2).reshape(1, 32, 64)

    torch.manual_seed(0)
    model = Attention().to(torch.bfloat16).eval()
    model.qkv.weight.data /= 4
    out = codegen_py(model, torch.randn(1, 32, 64, dtype=torch.bfloat16), export_path=tmp_path / "out").path
    replaced(out, before, after)
    done = run(out, "--check")
    assert done.returncode == code, done.stdout
    assert ("by other operands or numbers in the same ops" in done.stdout) == bool(code)
    text = (out / "manifest.json").read_text()  # another processor adds in another order
    (out / "manifest.json").write_text(text.replace('"instructions": "', '"instructions": "other '))
    assert run(out, "--check").returncode == 0


def test_tolerance(attention: Path, tmp_path: Path) -> None:
    out = copy_of(attention, tmp_path / "out")
    replaced(out, 'activation="gelu"', 'activation="silu"')
    assert run(out, "--check").returncode == 1
    assert run(out, "--check", "--tolerance", "1000").returncode == 0
    for bad in ("0.5", "nan", "inf"):
        assert "--tolerance needs a number from 1" in run(out, "--check", "--tolerance", bad).stderr
    assert "--tolerance" in run(out, "--help").stdout


def test_check_compares_every_op_where_it_can(attention_ops: Path, tmp_path: Path) -> None:
    """One layer of three computes something else, too little for the outer bounds: the op and the turn of the loop are named."""
    rows = json.loads((attention_ops / "golden" / "ops.json").read_text())
    assert all(0 <= row["unedited_rel_l2"] < 0.05 and row["unedited_passed"] for row in rows if "golden" in row)
    done = run(attention_ops, "--check")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "agree" in done.stdout
    out = copy_of(attention_ops, tmp_path / "out")
    text = (out / "main.py").read_text()
    call = re.search(r"\n( +)for i in range\(NUM_BLOCKS\):\n +(\w+) = ", text)
    assert call is not None, text
    indent, name = call.groups()
    body = text[call.start() : text.index("\n\n", call.end())]
    edited = body + f"\n{indent}    if i == 1:\n{indent}        {name} = ttnn.multiply({name}, 1.2)"
    (out / "main.py").write_text(text.replace(body, edited))
    done = run(out, "--check")
    assert done.returncode == 1, done.stdout
    first = re.search(r"check-ops: FAILED: first at (main\.py:\d+ in \w+ \(i = (\d)\))", done.stdout)
    assert first is not None, done.stdout
    assert first[2] in "12", done.stdout


def test_an_open_device_is_not_disturbed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor what the caller has chosen for it; and no file of the program becomes a module of this process."""
    import ttnn

    from ttnn_shim import session

    with simulated_device() as device:
        monkeypatch.setattr(session.settings, "card", "p150")
        kept = ttnn.ones([64, 64], dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=device)
        model, args, kwargs = SMALL["torch_mlp"]()
        modules = set(sys.modules)
        out = codegen_py(model, *args, export_path=tmp_path / "out", **kwargs).path
        assert not {"main", "utils", "check", "consteval"} & (set(sys.modules) - modules)
        assert session.settings.card == "p150" and session.has_device()
        assert float(ttnn.to_torch(ttnn.sum(kept)).flatten()[0]) == 4096
    assert manifest_of(out)["unedited"]["measured_on"] == "simulated n150"


def test_the_process_is_kept_and_replaced(tmp_path: Path) -> None:
    """One process measures many programs; when it dies, the next export starts another."""
    model, args, kwargs = SMALL["torch_mlp"]()
    processes = []
    for number in range(3):
        path = codegen_py(model, *args, export_path=tmp_path / f"out_{number}", **kwargs).path
        assert "unknown" not in manifest_of(path)["unedited"]
        process = unedited._WORKERS._process
        assert process is not None
        processes.append(process)
        if number == 1:
            os.kill(process.pid, signal.SIGKILL)
            assert process.read_line() == "", "it has ended"
    assert processes[0].pid == processes[1].pid != processes[2].pid
    unedited.shutdown_worker()
    assert not processes[2].is_usable


def test_a_process_that_grew_ends_after_its_results_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unedited, "_KEPT_BYTES", 1)
    model, args, kwargs = SMALL["torch_mlp"]()
    path = codegen_py(model, *args, export_path=tmp_path / "out", **kwargs).path
    assert "unknown" not in manifest_of(path)["unedited"]
    assert unedited._WORKERS._process is None


def test_modules_in_the_folder_of_temporary_files_are_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Anybody may write there."""
    shared = tmp_path / "shared"
    shared.mkdir()
    for name in ("nt", "numpy", "ttnn", "utils"):
        (shared / f"{name}.py").write_text("raise SystemExit(3)")
    unedited.shutdown_worker()
    monkeypatch.setattr(tempfile, "tempdir", str(shared))
    model, args, kwargs = SMALL["torch_mlp"]()
    path = codegen_py(model, *args, export_path=tmp_path / "out", **kwargs).path
    unedited.shutdown_worker()
    assert "unknown" not in manifest_of(path)["unedited"]


def test_nothing_stays_of_a_killed_export(tmp_path: Path) -> None:
    """Of one killed while its program runs: the process that runs it ends with it, and takes the folder along."""
    code = """
import os, signal
from alchemist.export.unedited import _WORKERS
with _WORKERS.turn() as folder:
    (folder / "main.py").write_text(f"import os; os.kill({os.getpid()}, {signal.SIGKILL})")
    _WORKERS.run(folder / "main.py", [], "n150", False)
"""
    done = subprocess.run([sys.executable, "-c", code], env=os.environ | {"TMPDIR": str(tmp_path)}, check=False)
    assert done.returncode == -signal.SIGKILL
    deadline = time.monotonic() + 120
    while list(tmp_path.iterdir()) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert list(tmp_path.iterdir()) == []


def test_without_the_simulator_the_error_is_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unedited.importlib.util, "find_spec", lambda name: None)
    model, args, kwargs = SMALL["torch_attention"]()
    out = codegen_py(model, *args, export_path=tmp_path / "out", **kwargs).path
    monkeypatch.undo()
    assert "not installed" in manifest_of(out)["unedited"]["unknown"]
    done = run(out, "--check")
    assert done.returncode == 0
    assert "the unedited program's own error is unknown" in done.stdout
    replaced(out, r"range\(NUM_BLOCKS\)", "range(NUM_BLOCKS - 3)")  # wide bounds are bounds
    assert run(out, "--check").returncode == 1


@pytest.mark.parametrize("options", [{"export_tensors": False}, {"export_golden": "none"}])
def test_exports_without_golden_outputs_are_not_measured(tmp_path: Path, options: dict[str, Any]) -> None:
    model, args, kwargs = SMALL["torch_mlp"]()
    out = codegen_py(model, *args, export_path=tmp_path / "out", **options, **kwargs).path
    assert "unedited" not in manifest_of(out)
    assert not (out / "golden").exists()


def test_a_program_that_disagrees_is_told_at_export(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model that computes something else at each call: what was captured is not what the golden outputs show."""
    import torch

    class Restless(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x * float(os.environ.get("RESTLESS", "1"))

    x = torch.randn(4, 32)
    write_golden = writer._write_golden

    def later(*args: Any) -> Any:
        monkeypatch.setenv("RESTLESS", "3")
        return write_golden(*args)

    monkeypatch.setattr(writer, "_write_golden", later)
    with pytest.warns(AccuracyWarning, match="does not agree with the framework: output.* did not help"):
        out = codegen_py(Restless(), x, export_path=tmp_path / "out").path
    assert run(out, "--check").returncode == 1


def test_unedited_models_raise_no_warning(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", AccuracyWarning)
        for name in ("torch_cnn", "jax_mlp"):
            model, args, kwargs = SMALL[name]()
            assert "unknown" not in manifest_of(codegen_py(model, *args, export_path=tmp_path / name, **kwargs).path)["unedited"]


def test_what_varies_by_little_more_than_its_error_raises_no_warning(tmp_path: Path) -> None:
    """The export judges as `./run --check` will, which knows how good the program was."""
    import torch

    class Wave(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = torch.nn.Linear(64, 64)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return 1 + 0.001 * torch.sin(300 * self.inner(x))

    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", AccuracyWarning)
        out = codegen_py(Wave().eval(), torch.randn(32, 64), export_path=tmp_path / "out").path
    done = run(out, "--check")
    assert done.returncode == 0, done.stdout
    pcc = re.search(r"pcc (0\.\d+)", done.stdout)
    assert pcc is not None
    assert float(pcc[1]) < 0.99
