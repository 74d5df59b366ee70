"""Which core is loaded, what commands of the package say, and what the simulator's handles refuse."""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ttnn_shim.errors import bounded, printable, user_location
from ttnn_shim.program_query import query_program
from ttnn_shim.run import CARDS, card_name
from ttnn_shim.run import main as run
from ttnn_shim.simlib import SimulatorError, simulator, simulator_library

import ttnn_shim
from ttnn_shim import native, profiles, simlib

LIBRARY = native.library_path()
LOAD = "from ttnn_shim.native import load; ffi, lib, where = load(); print(where, ffi.string(lib.shim_version()).decode())"


def said(*words: str, library: object = None) -> tuple[int, str]:
    """Exit code and output of Python with these words. library: what TTNN_SHIM_LIBRARY names."""
    given = {key: value for key, value in os.environ.items() if key != "TTNN_SHIM_LIBRARY"} | ({"TTNN_SHIM_LIBRARY": str(library)} if library else {})
    done = subprocess.run([sys.executable, *words], env=given, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.skipif(LIBRARY is None, reason="no library beside the package")
def test_the_library_or_the_build_tree_that_is_named_is_loaded() -> None:
    assert LIBRARY is not None
    version = ttnn_shim.native_version()
    assert said("-c", LOAD, library=LIBRARY) == (0, f"{LIBRARY} {version}\n")
    code, text = said("-c", LOAD, library=LIBRARY.parent)
    assert code == 0 and re.fullmatch(rf"{re.escape(str(LIBRARY.parent.resolve()))}/_core\S*\.so {re.escape(version)}\n", text), text


@pytest.mark.parametrize(
    ("machine", "flags", "lacking"),
    [
        ("x86_64", " ".join(native.NEEDED_FLAGS), ""),
        ("x86_64", "sse4_2 avx fma bmi1 bmi2 f16c movbe abm", "lacks avx2"),
        ("x86_64", "sse4_2 popcnt", "lacks avx2, fma, bmi1, bmi2, f16c, movbe, abm"),
        ("aarch64", "", "this one is aarch64"),
    ],
)
def test_a_processor_that_cannot_run_the_core_is_named(machine: str, flags: str, lacking: str) -> None:
    found = native.missing_features(machine, f"processor\t: 0\nflags\t\t: {flags}\nbugs\t\t:\n")
    assert found.endswith(lacking) and bool(found) == bool(lacking)


def test_the_core_names_the_instruction_set_in_effect() -> None:
    script = "from ttnn_shim import build_info; print(build_info()['instruction_set'])"
    capped = subprocess.run([sys.executable, "-c", script], env=os.environ | {"ONEDNN_MAX_CPU_ISA": "AVX2"}, capture_output=True, text=True, check=True)
    assert capped.stdout.strip() == "AVX2"


@pytest.mark.parametrize(
    ("built", "wanted"),
    [
        (["build/editable-cp311/", "build/asan/"], "build/editable-cp311/"),
        (["build/editable-cp311/", "build/wheel-cp311/"], "build/editable-cp311/"),
        (["build/editable-cp311/", "build/dev/"], "build/dev/"),
        (["build/dev/", "build/editable-cp311/"], "build/editable-cp311/"),
        (["ttnn_shim/python/ttnn_shim/lib64/"], "ttnn_shim/python/ttnn_shim/lib64/"),
        (["build/asan/"], ""),
    ],
)
def test_the_newest_library_without_sanitizers_is_found(built: list[str], wanted: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "HERE", tmp_path / "ttnn_shim/python/ttnn_shim")
    for age, folder in enumerate(reversed(built)):
        (tmp_path / folder).mkdir(parents=True)
        library = tmp_path / folder / "libttnn_shim.so"
        library.touch()
        os.utime(library, (1_000_000 - age, 1_000_000 - age))
    assert native.library_path() == (tmp_path / wanted / "libttnn_shim.so" if wanted else None)


def test_a_folder_without_a_core_is_refused(tmp_path: Path) -> None:
    code, text = said("-c", LOAD, library=tmp_path)
    assert code == 1 and f"ImportError: TTNN_SHIM_LIBRARY={tmp_path}: no _core*.so there" in text


def test_marked_regions_of_the_headers() -> None:
    assert "shim_version(void);" in native.cdef_text() and "#include" not in native.cdef_text()
    assert "ttsim_price(" in simlib.header_text() and "#include" not in simlib.header_text()


@pytest.mark.parametrize(
    ("sim", "shim", "wanted"), [("{}/a.so", "", "{}/a.so"), ("", "{}/b.so", "{}/b.so"), ("{}", "", "{}/libttnn_shim.so"), ("{}/a.so", "{}/b.so", "{}/a.so")]
)
def test_where_the_simulator_is(sim: str, shim: str, wanted: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("TTSIM_LIBRARY", sim), ("TTNN_SHIM_LIBRARY", shim)):
        monkeypatch.setenv(name, value.format(tmp_path))
    assert simulator_library() == Path(wanted.format(tmp_path))


@pytest.mark.parametrize(
    ("entries", "explicit", "refused"),
    [
        (["{}/empty"], False, ""),
        (["{own}", "{}/empty", "{}/missing"], False, ""),
        (["{}/empty", "{}/other"], False, "a real ttnn is installed ({}/other/ttnn); call ttnn_shim.activate(explicit=True)"),
        (["{own}", "{}/other"], False, "a real ttnn is installed ({}/other/ttnn); "),
        (["{}/installed"], False, "a real ttnn is installed (distribution ttnn 9.1); "),
        (["{}/other", "{own}", "{}/installed"], True, ""),
    ],
)
def test_another_ttnn_is_not_shadowed_silently(entries: list[str], explicit: bool, refused: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = ttnn_shim.python_path()
    for name in ("empty", "other/ttnn", "installed/ttnn-9.1.dist-info"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "other/ttnn/__init__.py").touch()
    (tmp_path / "installed/ttnn-9.1.dist-info/METADATA").write_text("Metadata-Version: 2.1\nName: ttnn\nVersion: 9.1\n")
    path = [entry.format(tmp_path, own=own) for entry in entries]
    monkeypatch.setattr(sys, "path", path.copy())
    monkeypatch.delitem(sys.modules, "ttnn", raising=False)
    if refused:
        with pytest.raises(ttnn_shim.ActivationError, match=re.escape(refused.format(tmp_path))):
            ttnn_shim.activate(explicit=explicit)
        assert sys.path == path
    else:
        assert ttnn_shim.activate(explicit=explicit) == own
        assert sys.path == [str(own), *(entry for entry in path if entry != str(own))]


@pytest.mark.parametrize("loaded", ["{}/ttnn/__init__.py", None])
def test_another_ttnn_that_is_imported_stays(loaded: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = loaded and loaded.format(tmp_path)
    monkeypatch.setitem(sys.modules, "ttnn", SimpleNamespace(__file__=file))  # type: ignore[arg-type]
    with pytest.raises(ttnn_shim.ActivationError, match=re.escape(f"ttnn is imported already from {file}; ")):
        ttnn_shim.activate(explicit=True)
    path = sys.path.copy()
    monkeypatch.setitem(sys.modules, "ttnn", SimpleNamespace(__file__=str(ttnn_shim.python_path() / "ttnn/__init__.py")))  # type: ignore[arg-type]
    assert (ttnn_shim.activate(), sys.path) == (ttnn_shim.python_path(), path)


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        (["--version"], 0, f"{ttnn_shim.native_version()}\n"),
        (["--python-path"], 0, f"{ttnn_shim.python_path()}\n"),
        (["--help"], 0, "usage: "),
        ([], 2, "usage: "),
        (["--nonsense"], 2, "usage: "),
    ],
)
def test_words_of_the_package(words: list[str], code: int, text: str) -> None:
    done, output = said("-m", "ttnn_shim", *words)
    assert done == code and output.startswith(text), output


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--arch", "n400", "main.py"], "unknown card or architecture 'n400'; known: "),
        (["missing.py"], "no file missing.py"),
        (["--profile", "{}/main.py", "{}/main.py"], "--profile: cannot write "),
    ],
)
def test_what_run_refuses(words: list[str], text: str, tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text("raise AssertionError\n")
    code, output = said("-m", "ttnn_shim", "run", *(word.format(tmp_path) for word in words))
    assert code == 2 and text in output and "AssertionError" not in output, output
    assert run(["--arch", "n400", "main.py"]) == 2


def test_what_handles_refuse() -> None:
    sim = simulator()
    arch = sim.arch("n150")
    assert sim.arch("n150") == arch != sim.arch("n150", (4, 4)) != sim.arch("n150", (4, 4), 6)
    with pytest.raises(SimulatorError):
        sim.arch("n400")
    with pytest.raises(SimulatorError):
        sim.config({"op": 7})
    with pytest.raises(SimulatorError):
        sim.get(arch, "no such constant")
    with pytest.raises(SimulatorError, match="no constant named 'nope'"):
        sim.set([arch], "nope", 1.0)
    with pytest.raises(SimulatorError, match="no such arch handle"):
        sim.get(10_007, "launch_gap")
    assert sim.price_many([], []) == []
    ((ns, _, _),) = sim.price_many([10_007], [10_007])
    assert math.isnan(ns)  # no program fits
    for value in (math.nan, math.inf):
        with pytest.raises(SimulatorError, match="is not finite"):
            sim.set([arch], sim.constant_names()[0], value)
    before = sim.get(arch, "launch_gap")
    with sim.restoring_constants():
        sim.set([arch], "launch_gap", before + 1)
        assert sim.get(arch, "launch_gap") == before + 1
    assert sim.get(arch, "launch_gap") == before


def test_cards_and_places() -> None:
    info = profiles.card_info("n150")
    assert (info["grid_x"], info["grid_y"], info["dram_banks"]) == (8, 8, 12)
    with pytest.raises(ValueError, match="n400"):
        profiles.card_info("n400")
    here = user_location()
    assert here.startswith(f"{__file__}:")
    helper: dict[str, Any] = {"user_location": user_location}
    exec(compile("def locate(*helpers): return user_location(helpers)", "/export/utils.py", "exec"), helper)
    assert helper["locate"]() == "/export/utils.py:1"
    assert helper["locate"]("utils.py").startswith(f"{__file__}:")
    assert printable("a\tb\n") == "a\tb\n"
    assert printable("a\x1b\ud800é") == "a\\x1b\\ud800é"
    refused = query_program("matmul", [], [])
    assert (refused.valid, refused.cycles) == (False, 0) and refused.error


def test_texts_that_fit_stay() -> None:
    assert bounded("0123456789" * 4, 40) == "0123456789" * 4
    assert bounded("0123456789" * 5, 49) == "012345678901 ... 1 characters left out ... 456789"


@pytest.mark.parametrize("most", [0, 5, 31, 32, 40, 50, 60])
def test_long_texts_lose_their_middle(most: int) -> None:
    text = "".join(map(chr, range(200, 300)))
    mark = f" ... {100 - most} characters left out ... "
    kept = max(most - len(mark), 0)
    front, back = kept - kept // 3, kept // 3
    found = bounded(text, most)
    assert len(found) == most
    assert found == text[:front] + mark[: most - kept] + text[100 - back :]


PROGRAMS = {  # name -> (text, code, how the error begins)
    "ends": ("import sys\nassert sys.argv[1:] == ['--a', 'b']\n", 0, ""),
    "exits": ("raise SystemExit\n", 0, ""),
    "fails": ("import sys\nsys.exit(3)\n", 3, ""),
    "says": ("raise SystemExit('run: no such thing')\n", 1, "run: no such thing"),
    "lists": ("raise SystemExit(['odd'])\n", 1, ""),
    "raises": ("import beside\nraise KeyError(beside.NAME)\n", 1, "KeyError: 'lost'"),
    "is refused": ("import ttnn\nttnn.open_device(device_id=0)\nttnn.relu(3)\n", 1, "CallMismatch: ttnn.relu(): "),
    "is refused by the core": (
        "import ttnn\nx = ttnn.ones([2, 2], device=ttnn.open_device(device_id=0))\nttnn.matmul(x, x)\n",
        1,
        "error[SHIM-0001] ttnn.matmul: ",
    ),
    "ends again": ("import sys\nassert 'beside' not in sys.modules\nprint('to nobody')\n", 0, ""),
}


def test_programs_of_a_worker(tmp_path: Path) -> None:
    """One after the other in one process, each with its own folder, modules and devices."""
    requests = []
    for name, (text, _, _) in PROGRAMS.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "main.py").write_text(text)
        (tmp_path / name / "beside.py").write_text("NAME = 'lost'\n")
        requests.append(json.dumps({"program": str(tmp_path / name / "main.py"), "arguments": ["--a", "b"] if name == "ends" else [], "card": "n150"}))
    done = subprocess.run([sys.executable, "-m", "ttnn_shim", "worker"], input="\n".join(requests) + "\n", capture_output=True, text=True, check=True)
    folder, *lines = done.stdout.splitlines()
    assert not Path(folder).exists() and done.stderr == ""
    for (name, (_, code, error)), line in zip(PROGRAMS.items(), lines, strict=True):
        answer = json.loads(line)
        assert answer["code"] == code and answer["error"].startswith(error) and bool(answer["error"]) == bool(error), (name, answer)
        assert answer["rss_bytes"] > 10_000_000
        assert bool(answer["report"]) == bool(error) and (name in ("says", "ends") or not error or "main.py:" in answer["report"]), (name, answer)


def test_arch_takes_architectures_cards_and_systems() -> None:
    cards = {"wormhole_b0": "n150", "wormhole": "n150", "blackhole": "p150"}
    assert {name: card_name(name) for name in CARDS} == {name: cards.get(name, name) for name in CARDS}
