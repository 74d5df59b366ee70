"""What is shipped and installed: licence texts, bounds of dependencies, locks with hashes."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from scikit_build_core.build._pathutil import packages_to_file_mapping

from alchemist.export.standalone import bundle
from alchemist.verify import environment

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
# Lock -> the requirement files that it answers.
LOCKS = {
    ROOT / "requirements/build.lock": [ROOT / "requirements/build.txt"],
    ROOT / "requirements/dev.lock": [ROOT / "requirements/build.txt", ROOT / "requirements/dev.txt"],
    ROOT / "requirements/models.lock": [ROOT / "requirements/models.txt"],
    ROOT / "requirements/site.lock": [ROOT / "requirements/site.txt"],
    environment.LOCK: [environment.LOCK.with_suffix(".txt")],
}


def locked(path: Path) -> list[tuple[Requirement, list[str]]]:
    """(pinned requirement, its hashes) of a lock."""
    text = path.read_text().replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return [(Requirement(line.split(" --hash")[0]), re.findall(r"--hash=sha256:([0-9a-f]{64})\b", line)) for line in lines]


def wanted(path: Path) -> list[Requirement]:
    lines = [line.split("#")[0].strip() for line in path.read_text().splitlines()]
    return [Requirement(line) for line in lines if line]


@pytest.mark.parametrize("path", LOCKS, ids=lambda path: path.name)
def test_lock_answers_its_requirements(path: Path) -> None:
    rows = locked(path)
    for pin, hashes in rows:
        assert hashes, f"{pin.name} has no hash"
        assert [item.operator for item in pin.specifier] == ["=="]
    for need in [need for source in LOCKS[path] for need in wanted(source)]:
        pins = [pin for pin, _ in rows if canonicalize_name(pin.name) == canonicalize_name(need.name)]
        assert pins, f"{need} is not in {path.name}: make lock"
        for pin in pins:
            assert need.specifier.contains(next(iter(pin.specifier)).version), f"{pin} is not {need}: make lock"


def test_the_core_is_compiled_with_what_stays_installed() -> None:
    assert set(map(str, dict(locked(ROOT / "requirements/build.lock")))) <= set(map(str, dict(locked(ROOT / "requirements/dev.lock"))))


def test_users_dependencies_are_bounded_and_locked() -> None:
    """Also that what the tests run with is what pyproject allows users; neither the viewers of `reports` (tests/reports installs them) nor what scripts import are part of it."""
    extras = PROJECT["project"]["optional-dependencies"]
    assert {"torch", "jax", "onnx", "mesh", "verify", "reports", "scripts"} == set(extras)
    others = [Requirement(row) for name in ("reports", "scripts") for row in extras[name]]
    assert all({item.operator for item in need.specifier} & {"<"} for need in others)
    groups = [rows for name, rows in extras.items() if name not in ("reports", "scripts")]
    needs = [
        Requirement(text) for text in [*PROJECT["project"]["dependencies"], *PROJECT["build-system"]["requires"], *(row for group in groups for row in group)]
    ]
    pins = {canonicalize_name(pin.name): pin for pin, _ in locked(ROOT / "requirements/dev.lock")}
    pins |= {need.name: need for need in wanted(ROOT / "requirements/torch.txt")}
    pins |= {pin.name: pin for pin, _ in locked(environment.LOCK) if pin.name == "ttnn"}
    for need in needs:
        assert {item.operator for item in need.specifier} & {"==", "<"}, f"{need} has no upper bound"
        assert need.specifier.contains(next(iter(pins[canonicalize_name(need.name)].specifier)).version)


def test_the_licence_is_the_declared_one() -> None:
    assert PROJECT["project"]["license"] == "Apache-2.0"
    assert "Apache License" in (ROOT / "LICENSE").read_text()
    for pattern in PROJECT["project"]["license-files"]:
        assert list(ROOT.glob(pattern)), pattern


@pytest.mark.parametrize("language", ["python", "cpp"])
def test_standalone_exports_hold_licence_texts(language: str, tmp_path: Path) -> None:
    bundle(tmp_path, language)  # type: ignore[arg-type]
    shipped = tmp_path / "shim/ttnn_shim"
    names = ["LICENSE", "THIRD-PARTY-NOTICES.md"]
    if list(shipped.glob("lib/libdnnl*")):
        names += ["onednn/LICENSE", "onednn/THIRD-PARTY-PROGRAMS"]
    for name in names:
        source = ROOT / name if "/" not in name else ROOT / "licenses" / name
        assert (shipped / "licenses" / name).read_bytes() == source.read_bytes()


PROGRAM = """
import sys
from pathlib import Path
import ttnn, ttnn.graph_report
device = ttnn.open_device(device_id=0)
session = sys.modules["ttnn_shim.session"]
session.watch_ops(Path(__file__).parent, lambda tensor: tensor.to_numpy())
session.begin_forward()
ttnn.exp(ttnn.zeros([32, 32], dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=device))
session.end_forward()
print(*(call.op for call in session._watch.calls))
print(*(sys.modules[name].__file__ for name in ("ttnn", "ttnn_extras", "ttnn_shim.machine", "alchemist.tools.check_ops")), sep="\\n")
ttnn.close_device(device)
"""


def test_standalone_exports_need_nothing_of_the_installation(tmp_path: Path) -> None:
    bundle(tmp_path, "python")
    (tmp_path / "main.py").write_text(PROGRAM)
    packages = [path for path in sys.path if path.endswith("site-packages")]  # numpy and cffi; -S: without the editable install
    start = f"import runpy, sys; sys.path[:1] = [{str(tmp_path / 'shim')!r}, *{packages}]; sys.argv = ['', 'run', 'main.py']; "
    command = [sys.executable, "-S", "-c", start + "runpy.run_module('ttnn_shim', run_name='__main__', alter_sys=True)"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    ops, *files = done.stdout.splitlines()
    assert ops.split()[-1] == "ttnn.exp"
    assert len(files) == 4
    assert all(Path(file).is_relative_to(tmp_path / "shim") for file in files), files


def test_standalone_exports_hold_the_libraries_that_their_cmake_package_names(tmp_path: Path) -> None:
    bundle(tmp_path, "cpp")
    package = "".join(path.read_text() for path in tmp_path.rglob("*.cmake"))
    named = set(re.findall(r"lib/(lib[\w.]+)", package))
    assert {"libttnn_shim.so", "libttnn_program.a"} <= named
    assert named <= {path.name for path in (tmp_path / "shim/ttnn_shim/lib").iterdir()}


def test_verify_installs_by_hash(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    commands: list[list[str]] = []
    monkeypatch.setattr(environment, "available_python", lambda: Path("python3"))
    monkeypatch.setattr(environment.subprocess, "call", lambda command: commands.append(command) or 0)
    (tmp_path / "venv").mkdir()
    environment._python_with_wheel(tmp_path)
    assert commands[-1][3:] == ["install", "-q", "--require-hashes", "-r", str(environment.LOCK)]
    assert str(environment.TTNN_WHEEL) in [str(pin) for pin, _ in locked(environment.LOCK)]


LEFT_OUT_OF_THE_WHEEL = {"emit_extension.py", "calibrate.py", "published_signs.py", "README.md"}
"""Files that only a build or a development tree needs."""


def test_the_wheel_has_every_file_of_its_packages() -> None:
    """By the build's own rules: templates, tables and C++ texts are data, which nothing imports before a user needs it."""
    settings = PROJECT["tool"]["scikit-build"]
    mapping = packages_to_file_mapping(
        packages=settings["wheel"]["packages"], platlib_dir=Path("wheel"), include=[], src_exclude=settings["sdist"]["exclude"],
        target_exclude=settings["wheel"]["exclude"], build_dir="build", mode="default",
    )  # fmt: skip
    shipped = {str(Path(source)) for source in mapping}
    folders = ("alchemist/", "emit_py/", "emit_cpp/", "templates/", "ttnn_shim/arch/", "ttnn_shim/python/*/")
    tracked = subprocess.run(["git", "ls-files", *folders], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    missing = [name for name in tracked if name not in shipped and Path(name).name not in LEFT_OUT_OF_THE_WHEEL]
    assert missing == []
