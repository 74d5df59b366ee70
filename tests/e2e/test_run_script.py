"""The `run` script: a card only with the real package, programs that were copied or moved, results beside the program."""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from alchemist import codegen_cpp, codegen_py
from alchemist.errors import ExportDirectoryError
from alchemist.export.writer import _run_script
from alchemist.resources import render, template_text
from emit_cpp import COMMON, SUPPORT
from tests import running
from tests.e2e.models import torch_mlp
from tests.running import run

PROGRAM = '#include "files.hpp"\n#include <iostream>\nint main() { std::cout << utils::manifest().at("model").text << "\\n"; }\n'


def write_program(folder: Path, language: str, model: str = "original") -> Path:
    """The frame of an export around a program that says its name; a build takes a few seconds."""
    folder.mkdir(parents=True)
    (folder / "manifest.json").write_text(json.dumps({"model": model, "files": {}}))
    (folder / "main.py").write_text("import json\nprint(json.load(open('manifest.json'))['model'])\n")
    (folder / "main.cpp").write_text(PROGRAM)
    (folder / "model.cpp").write_text("")
    for name in SUPPORT:
        (folder / name).write_text(template_text(f"cpp/{name}"))
    (folder / "CMakeLists.txt").write_text(render("cpp/CMakeLists.txt.j2", consteval=False, module=False, generation=False, trace=False))
    (folder / "run").write_text(_run_script("python" if language == "py" else "cpp", "wormhole_b0", standalone=False))
    (folder / ".interpreter").write_text(f"{sys.executable}\n")
    (folder / "run").chmod(0o755)
    return folder


def start(folder: Path, *options: str, path: Path | None = None, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {"HOME": "/", "PATH": (f"{path}:" if path else "") + os.environ["PATH"], **variables}
    command = [str(folder / "run"), *options]
    return subprocess.run(command, cwd="/", env=environment, capture_output=True, text=True, check=False, timeout=300)


def test_what_other_tests_run_is_what_the_script_runs(tmp_path: Path) -> None:
    """`running.run` leaves the script out: the same exit code, text and report."""
    model, args, kwargs = torch_mlp()
    out = codegen_py(model, *args, export_path=tmp_path / "out", **kwargs).path
    options: tuple[list[str], ...] = (["--check", "--loops", "2"], ["--estimate", "--arch", "p150"], ["--tolerance", "0"], ["--generate", "1"], ["--unknown"])
    for given in options:
        said = []
        for way in (running.run, running.run_script):
            done = way(out, *given, "--json", str(tmp_path / "report.json"))
            text = re.sub(r"host [\d.]+ s", "", done.stdout)
            report = json.loads((tmp_path / "report.json").read_text()) if done.returncode == 0 else {}
            said.append((done.returncode, text, done.stderr, {key: value for key, value in report.items() if not key.startswith("host")}))
        assert said[0] == said[1], given


def with_card(folder: Path, tmp_path: Path) -> Path:
    """As on a machine with a card: the script looks at a folder with a device node. (The script itself has no such switch.)"""
    nodes = tmp_path / "nodes"
    nodes.mkdir()
    (nodes / "0").symlink_to("/dev/null")
    script = (folder / "run").read_text()
    assert "/dev/tenstorrent/*" in script
    (folder / "run").write_text(script.replace("/dev/tenstorrent/*", f"{nodes}/*"))
    return folder


def python_with(tmp_path: Path, folder: Path) -> Path:
    """A folder for PATH whose python3 finds the packages in `folder` first."""
    binaries = tmp_path / "bin"
    binaries.mkdir()
    (binaries / "python3").write_text(f'#!/bin/sh\nPYTHONPATH="{folder}" exec "{sys.executable}" "$@"\n')
    (binaries / "python3").chmod(0o755)
    return binaries


@pytest.mark.skipif(any(map(stat.S_ISCHR, (path.stat().st_mode for path in Path("/dev/tenstorrent").glob("*")))), reason="has a card")
@pytest.mark.parametrize("language", ["py", "cpp"])
def test_no_card_no_run(language: str, tmp_path: Path) -> None:
    folder = write_program(tmp_path / "out", language)
    done = start(folder, "--device", "--check")
    assert (done.returncode, done.stdout) == (3, "")
    assert "no Tenstorrent card" in done.stderr
    assert "without --device" in done.stderr
    assert not (folder / "build").exists()


@pytest.mark.parametrize("option", [["--estimate"], ["--profile", "report"]])
@pytest.mark.parametrize("language", ["py", "cpp"])
def test_options_of_the_simulator_are_refused_on_a_card(language: str, option: list[str], tmp_path: Path) -> None:
    folder = with_card(write_program(tmp_path / "out", language), tmp_path)
    done = start(folder, "--device", *option)
    assert done.returncode == 2
    assert "simulator" in done.stderr


def test_the_simulators_package_is_not_taken_for_the_real_one(tmp_path: Path) -> None:
    import ttnn_shim

    folder = with_card(write_program(tmp_path / "out", "py"), tmp_path)
    for variables in ({}, {"PYTHONPATH": str(ttnn_shim.python_path())}):
        done = start(folder, "--device", **variables)
        assert (done.returncode, done.stdout) == (3, "")
        assert "simulator's package does not count" in done.stderr
        assert "pip install ttnn" in done.stderr


@pytest.mark.parametrize("place", ["path", ".venv", "TT_METAL_HOME"])
def test_the_interpreter_with_the_real_package_is_found(place: str, tmp_path: Path) -> None:
    """Though the interpreter that made the export comes first, and finds the simulator's."""
    folder = with_card(write_program(tmp_path / "out", "py"), tmp_path)
    (tmp_path / "site" / "ttnn").mkdir(parents=True)
    (tmp_path / "site" / "ttnn" / "__init__.py").write_text("real = True\n")
    (folder / "main.py").write_text("import ttnn\nprint('real', ttnn.real)\n")
    binaries = python_with(tmp_path, tmp_path / "site")
    if place == "path":
        done = start(folder, "--device", path=binaries)
    else:
        home = folder / ".venv" if place == ".venv" else tmp_path / "metal" / "python_env"
        (home / "bin").mkdir(parents=True)
        shutil.copy(binaries / "python3", home / "bin" / "python")
        done = start(folder, "--device", TT_METAL_HOME=str(tmp_path / "metal"))
    assert (done.returncode, done.stdout) == (0, "real True\n"), done.stderr


def test_a_card_needs_the_real_cmake_package(tmp_path: Path) -> None:
    import ttnn_shim

    folder = with_card(write_program(tmp_path / "out", "cpp"), tmp_path)
    simulator = str(ttnn_shim.cmake_dir().parents[2])
    done = start(folder, "--device", CMAKE_PREFIX_PATH=simulator)
    assert done.returncode == 3
    assert "simulator's package does not count" in done.stderr
    real = tmp_path / "real" / "lib" / "cmake" / "TT-NN"
    real.mkdir(parents=True)
    for name in COMMON:  # there is no library to link
        (folder / name).write_text("")
    (folder / "main.cpp").write_text("int main() {}\n")
    (real / "tt-nn-config.cmake").write_text("add_library(TTNN::TTNN INTERFACE IMPORTED)\nmessage(STATUS REAL)\n")
    done = start(folder, "--device", CMAKE_PREFIX_PATH=f"{simulator}:{tmp_path / 'real'}")
    assert done.returncode == 0, done.stderr
    assert "REAL" in (folder / "build" / "device" / "configure.log").read_text()


def test_a_copied_or_moved_cpp_program_is_its_own(tmp_path: Path) -> None:
    """Also with the build folder that came along: sources, files and binary are those of the new place."""
    first = write_program(tmp_path / "first", "cpp")
    assert start(first).stdout.splitlines()[-1] == "original"
    binary = (first / "build" / "simulator" / "main").read_bytes()
    assert str(first).encode() not in binary
    copy = tmp_path / "a copy"
    shutil.copytree(first, copy)
    (copy / "manifest.json").write_text(json.dumps({"model": "copied"}))
    (copy / "main.cpp").write_text(PROGRAM.replace('"\\n"', '" edited\\n"'))
    assert start(copy).stdout.splitlines()[-1] == "copied edited"
    moved = first.rename(tmp_path / "moved")
    assert start(moved).stdout.splitlines()[-1] == "original"


@pytest.mark.slow
def test_edited_support_files_are_built_with_the_program(tmp_path: Path) -> None:
    """The simulator brings them built, from the text that they have in every export."""
    folder = write_program(tmp_path / "out", "cpp")
    assert start(folder).stdout.splitlines()[-1] == "original"
    objects = folder / "build" / "simulator" / "CMakeFiles" / "model.dir"
    assert not (objects / "files.cpp.o").exists()
    files = folder / "files.cpp"
    edited = files.read_text().replace('"manifest.json"', '"other.json"')
    assert edited != files.read_text()
    files.write_text(edited)
    for name in set(COMMON) - {files.name}:
        (folder / name).write_text("")
    (folder / "other.json").write_text(json.dumps({"model": "other"}))
    assert start(folder).stdout.splitlines()[-1] == "other"
    assert (objects / "files.cpp.o").exists()


def test_a_recorded_interpreter_that_vanished(tmp_path: Path) -> None:
    folder = write_program(tmp_path / "out", "py")
    script = (folder / "run").read_text()
    (folder / "run").write_text(script.replace(sys.executable, "/vanished/python"))
    binaries = tmp_path / "bin"
    binaries.mkdir()
    (binaries / "python3").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    (binaries / "python3").chmod(0o755)
    done = start(folder.rename(tmp_path / "moved"), path=binaries)
    assert (done.returncode, done.stdout) == (0, "original\n"), done.stderr


def test_results_inside_the_export_are_no_edits(tmp_path: Path) -> None:
    model, args, kwargs = torch_mlp()
    out = codegen_py(model, *args, export_path=tmp_path / "out", **kwargs).path
    for options in (["--estimate", "--profile", "deep/report"], ["--profile", "report", "--outputs", "my values", "--json", "r[1].json"], ["--outputs", "."]):
        done = subprocess.run(["./run", *options], cwd=out, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    before = {path.relative_to(out) for path in out.rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    assert Path("report/report.html") in before
    codegen_py(model, *args, export_path=out, **kwargs)
    assert {path.relative_to(out) for path in out.rglob("*") if path.is_file()} == before
    (out / "report" / "notes.txt").write_text("mine")
    with pytest.raises(ExportDirectoryError, match=r"report/notes\.txt"):
        codegen_py(model, *args, export_path=out, **kwargs)


def test_main_by_itself_says_that_it_is_simulated(tmp_path: Path) -> None:
    """`python main.py` where the simulator's ttnn is importable."""
    import ttnn_shim

    model, args, kwargs = torch_mlp()
    out = codegen_py(model, *args, export_path=tmp_path / "out", **kwargs).path
    environment = {**os.environ, "PYTHONPATH": str(ttnn_shim.python_path())}
    done = subprocess.run([sys.executable, "main.py"], cwd=out, env=environment, capture_output=True, text=True, check=False)
    assert "(simulated n150)" in done.stdout, done.stdout + done.stderr


@pytest.mark.slow
def test_a_copied_export_checks_its_own_tensors(tmp_path: Path) -> None:
    model, args, kwargs = torch_mlp()
    out = codegen_cpp(model, *args, export_path=tmp_path / "out", **kwargs).path
    assert run(out, "--check").returncode == 0
    copy = tmp_path / "copy"
    shutil.copytree(out, copy)
    weight = next((copy / "tensors").glob("0.weight*"))
    weight.write_bytes(weight.read_bytes()[:-4000] + bytes(4000))
    assert run(copy, "--check").returncode == 1
    assert run(out.rename(tmp_path / "moved"), "--check").returncode == 0
