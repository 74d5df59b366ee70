"""Every story in examples/ runs as its README says."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.running import check
from tests.zoo.scripts import run_script

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


# Each script runs in a process of its own, forked from one that has imported what most of them import (most of their time).
PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(["torch.export", "torch._dynamo", "transformers.modeling_utils", "alchemist.codegen", "alchemist.frontends.torch"])


def script(name: str, *arguments: str) -> str:
    with tempfile.NamedTemporaryFile("w+") as output:
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        process = PROCESSES.Process(target=run_script, args=(EXAMPLES / name, arguments, output.name, path))
        process.start()
        process.join(900)
        process.kill()  # nothing once it has ended
        process.join()
        printed = output.read()
        assert process.exitcode == 0, printed
        return printed


@pytest.mark.parametrize("name", ["jax_mlp/jax_mlp.py", "torch_custom_module/custom_module.py", "resnet/resnet.py", "bert/bert.py", "gpt/gpt.py"])
def test_example(name: str, tmp_path: Path) -> None:
    script(name, str(tmp_path / "out"))
    assert all(row["pcc"] > 0.99 for row in check(tmp_path / "out")["outputs"])


def test_llama_generates_what_torch_does(tmp_path: Path) -> None:
    text = script("llama_static_cache/llama.py", str(tmp_path / "out"))
    assert "alchemist" in text
    check(tmp_path / "out" / "decode")


def test_stitching(tmp_path: Path) -> None:
    assert script("stitching/stitching.py", str(tmp_path)).count("copies through the host: 0") == 2


@pytest.mark.slow
def test_stitching_in_cpp(tmp_path: Path) -> None:
    """The script builds, runs and compares; its own exit code says whether the results are right."""
    script("stitching/stitching_cpp.py", str(tmp_path))
    assert len(list(tmp_path.glob("*.npy"))) == 2


def test_edit_and_check(tmp_path: Path) -> None:
    text = script("edit_and_check/edit_and_check.py", str(tmp_path / "out"))
    assert "check-ops: FAILED: first at main.py:" in text


def run_script_of(name: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "ttnn_shim", "run", str(EXAMPLES / name)]
    return subprocess.run(command, cwd=folder, env=os.environ | {"OMP_NUM_THREADS": "1"}, capture_output=True, text=True, check=True)


def built_and_run(source: Path, build: Path, name: str) -> str:
    """What the program `name` of a CMake project prints."""
    found = subprocess.run([sys.executable, "-m", "ttnn_shim", "--cmake-dir"], capture_output=True, text=True, check=True)
    cmake = shutil.which("cmake", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    assert cmake is not None
    for command in (
        [cmake, "-S", str(source), "-B", str(build), f"-DTT-NN_DIR={found.stdout.strip()}"],
        [cmake, "--build", str(build)],
        [str(build / name)],
    ):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_trace(tmp_path: Path) -> None:
    assert run_script_of("trace/trace.py", tmp_path).stdout.count("the replay equals the plain call") == 3


@pytest.mark.slow
def test_trace_in_cpp(tmp_path: Path) -> None:
    assert built_and_run(EXAMPLES / "trace", tmp_path / "build", "trace").count("the replay equals the plain call") == 3


def test_ttnn_jit(tmp_path: Path) -> None:
    done = run_script_of("ttnn_jit/ttnn_jit_swiglu.py", tmp_path)
    rows = [line for line in done.stdout.splitlines() if line.endswith("values equal")]
    assert [row.split(",")[1] for row in rows] == [" 6 programs", " 6 programs", " 2 programs"]
    assert "modelled fused kernel" in done.stderr


@pytest.mark.slow
def test_cpp_in_cmake_project(tmp_path: Path) -> None:
    out = tmp_path / "out"
    script("cpp_in_cmake_project/export.py", str(out))
    first, second = (line.partition(": ")[2] for line in built_and_run(out, out / "build", "app").splitlines())
    assert first == second
    assert first.startswith("[32, 10] float32 TILE DRAM")
    assert len((EXAMPLES / "cpp_in_cmake_project" / "app.cpp").read_text().splitlines()) == 10


def test_every_folder_has_a_readme_and_a_test() -> None:
    folders = sorted(path.name for path in EXAMPLES.iterdir() if path.is_dir() and path.name != "demo")
    assert folders == [
        "bert",
        "cpp_in_cmake_project",
        "edit_and_check",
        "gpt",
        "jax_mlp",
        "llama_static_cache",
        "resnet",
        "stitching",
        "torch_custom_module",
        "trace",
        "ttnn_jit",
    ]
    assert all((EXAMPLES / name / "README.md").is_file() for name in folders)
