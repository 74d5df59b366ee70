"""The environment of `alchemist verify`, made beside a stand-in for the wheel."""

from __future__ import annotations

import re
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from alchemist.errors import ToolchainError
from alchemist.verify import MACHINES, environment
from alchemist.verify.environment import MockRuntime

CORES = {"blackhole": ("brisc", "drisc"), "wormhole": ("brisc", "erisc")}


@pytest.fixture
def python(tmp_path: Path) -> Path:
    """An interpreter that says where its ttnn lies; one of the three folders with firmware is of no architecture we know."""
    wheel = tmp_path / "wheel" / "ttnn"
    for arch, cores in {**CORES, "quasar": ("brisc",)}.items():
        for core in cores:
            folder = wheel / "tt_metal" / "pre-compiled" / arch[::-1] / core
            folder.mkdir(parents=True)
            (folder / f"{core}.elf").write_text(f"{arch} {core}")
    for name in ("ttnn", "tools", "runtime/hw"):
        (wheel / name).mkdir(parents=True)
    found = tmp_path / "python"
    found.write_text(f"#!/bin/sh\necho {wheel}\n")
    found.chmod(0o755)
    return found


def test_runtime_holds_the_wheel_with_stand_ins(python: Path, tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "tools").mkdir(parents=True)  # what is there already stays
    for _ in range(2):
        environment._link_runtime(python, root)
        wheel = tmp_path / "wheel" / "ttnn"
        links = {name: (root / name).resolve() for name in ("tt_metal", "ttnn", "runtime/hw")}
        assert links == {name: wheel / name for name in links}
        assert not (root / "tools").is_symlink()
        assert (root / "runtime/sfpi/include").is_dir()
        assert sorted(path.name for path in (root / "stand-ins").iterdir()) == sorted(CORES)
        for arch, cores in CORES.items():
            files = {path.name for path in (root / "stand-ins" / arch).iterdir()}
            assert files == {name for core in cores for name in (f"{core}.elf", f"kernel_{core}.elf")}
            assert (root / "stand-ins" / arch / "brisc.elf").read_text() == f"{arch} brisc"
        (compiler,) = (root / "runtime/sfpi/compiler/bin").iterdir()
        assert "stand-in" in subprocess.run([compiler, "--version"], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize(
    ("words", "made", "status"),
    [
        (["-c", "a.cc", "-o", "a.o"], {"a.o": "", "a.d": "a.o:\n"}, 0),
        (["-c", "a.cc", "-MF", "b.d", "-o", "a.o"], {"a.o": "", "b.d": "a.o:\n"}, 0),
        (["-x", "c++-header", "a.h", "-o", "a.h.gch"], {"a.h.gch": ""}, 0),
        (["a.o", "-o", "brisc.elf"], {"brisc.elf": "wormhole brisc"}, 0),
        (["a.o", "-mcpu=tt-bh-tensix", "-o", "drisc.elf"], {"drisc.elf": "blackhole drisc"}, 0),
        (["a.o", "-o", "nothing.elf"], {}, 1),
    ],
    ids=lambda x: " ".join(x) if isinstance(x, list) else "",
)
def test_stand_in_compiler(words: list[str], made: dict[str, str], status: int, python: Path, tmp_path: Path) -> None:
    root, there = tmp_path / "root", tmp_path / "objects"
    environment._link_runtime(python, root)
    there.mkdir()
    done = subprocess.run([root / "runtime/sfpi/compiler/bin/riscv-tt-elf-g++", *words], cwd=there, capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stderr
    assert {path.name: path.read_text() for path in there.iterdir()} == made


def test_stand_in_kernel_is_an_executable(tmp_path: Path) -> None:
    """By binutils, which read every field of the file."""
    file = tmp_path / "kernel.elf"
    file.write_bytes(environment._kernel_executable())
    if shutil.which("readelf") is None:
        pytest.skip("no binutils")
    done = subprocess.run(["readelf", "--wide", "-h", "-l", "-S", "-s", file], capture_output=True, text=True, check=True)
    assert not done.stderr
    told = " ".join(done.stdout.split())
    address = f"{environment._KERNEL_ADDRESS:08x}"
    for said in (
        "Magic: 7f 45 4c 46 01 01 01 00 00 00 00 00 00 00 00 00", "Start of program headers: 52 (bytes", "Flags: 0x0", "Size of this header: 52 (bytes)",
        "Size of program headers: 32 (bytes)", "Number of program headers: 1", "Size of section headers: 40 (bytes)", "Section header string table index: 5",
        "Version: 0x1", "[ 0] NULL 00000000 000000 000000 00 0 0 0",
        "Type: EXEC", "Machine: RISC-V", f"Entry point address: 0x{environment._KERNEL_ADDRESS:x}", "Number of section headers: 6",
        f".text PROGBITS {address} 000060 000010 00 AX 0 0 4", ".rela.text RELA 00000000 0000a0 000000 0c I 3 1 4",
        ".symtab SYMTAB 00000000 000070 000030 10 4 2 4", ".strtab STRTAB 00000000 0000a0 000008 00 0 0 1",
        ".shstrtab STRTAB 00000000 0000a8 00002c 00 0 0 1", f"LOAD 0x000060 0x{address} 0x{address} 0x00010 0x00010 R E 0x10",
        f"1: {address} 0 SECTION LOCAL DEFAULT 1", f"2: {address} 4 FUNC GLOBAL DEFAULT 1 _start",
    ):  # fmt: skip
        assert said in told, f"{said}\n{done.stdout}"
    (headers,) = re.findall(r"Start of section headers: (\d+)", told)
    assert int(headers) == 0xD4, "aligned as its fields are, behind the names"
    assert file.stat().st_size == 0xD4 + 6 * 40
    code = file.read_bytes()[0x60:0x70]
    assert struct.unpack("<4I", code) == (0x00008067,) * 4, "jalr zero, 0(ra): return"


def test_child_environment_and_mock_chips(python: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(environment, "_python_with_wheel", lambda _state: python)
    assert not environment.is_ready()
    runtime = MockRuntime.prepare()
    state = tmp_path / "cache" / "alchemist" / "verify"
    for arch in MACHINES:
        variables = runtime.environment(arch)
        text = Path(variables["TT_METAL_MOCK_CLUSTER_DESC_PATH"]).read_text()
        chips = {"n300": 2, "t3000": 8, "p300": 2, "p150_x4": 4, "p150_x8": 8, "galaxy": 32}.get(arch, 1)
        assert text.splitlines()[0].count("_b0" if "wormhole" in text else "blackhole") == chips
        assert all(0 <= int(chip) < chips for chip in re.findall(r"chip: (\d+)", text))
        assert Path(variables["TT_METAL_RUNTIME_ROOT"]) == state / "root"
        assert variables == {
            "TT_METAL_RUNTIME_ROOT": str(state / "root"), "TT_METAL_CACHE": str(state / "cache"), "TT_METAL_LOGS_PATH": str(state / "cache"),
            "TT_METAL_MOCK_CLUSTER_DESC_PATH": str(state / f"{arch}.yaml"), "TT_METAL_DISABLE_BACKTRACE": "1", "TT_METAL_INSPECTOR": "0",
            "TT_LOGGER_LEVEL": "off", "LOGURU_LEVEL": "ERROR",
        }  # fmt: skip


@pytest.mark.parametrize("ready", [True, False])
def test_a_ready_environment_is_taken_as_it_is(ready: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(environment, "_is_here", lambda: False)
    monkeypatch.setattr(environment, "available_python", lambda: None)
    state = tmp_path / "alchemist" / "verify"
    if ready:
        (state / "venv").mkdir(parents=True)
        (state / "venv" / "ready").touch()
        assert environment.is_ready()
        assert environment._python_with_wheel(state) == state / "venv" / "bin" / "python"
    else:
        assert not environment.is_ready()
        with pytest.raises(ToolchainError, match=r"3\.12 or 3\.10"):
            environment._python_with_wheel(state)


def test_an_interpreter_without_venv_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = tmp_path / "broken"
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(0o755)
    candidates = {"3.12": [str(broken)], "3.10": [sys.executable]}
    monkeypatch.setattr(environment, "_candidates", lambda version: iter(candidates[version]))
    assert environment.available_python() == Path(sys.executable)
    candidates["3.10"] = [str(broken)]
    assert environment.available_python() is None


BASE = """\
#!/bin/sh
echo "$0 $*" >> {log}
case "$*" in
  *venv*import*|*import*venv*) exit 0 ;;
  *"-m venv"*) mkdir -p {venv}/bin && cp "$0" {venv}/bin/python && exit {venv_status} ;;
esac
exit {pip_status}
"""


@pytest.mark.parametrize(("venv_status", "pip_status"), [(0, 0), (1, 0), (0, 1)], ids=["all well", "no venv", "no wheel"])
def test_the_wheel_is_installed_once(
    venv_status: int, pip_status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With a stand-in for Python that notes what it is asked: nothing is downloaded."""
    state, log = tmp_path / "cache" / "verify", tmp_path / "log"
    (tmp_path / "bin").mkdir()
    base = tmp_path / "bin" / "python3.10"
    base.write_text(BASE.format(log=log, venv=state / "venv", venv_status=venv_status, pip_status=pip_status))
    base.chmod(0o755)
    monkeypatch.setattr(environment, "_is_here", lambda: False)
    monkeypatch.setattr(environment.Path, "home", lambda: tmp_path)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    monkeypatch.setattr(environment.shutil, "which", lambda name: str(base) if name == "python3.10" else None)
    python = state / "venv" / "bin" / "python"
    asked = [f"{base} -c import venv", f"{base} -m venv --clear {state / 'venv'}", f"{python} -m pip install -q --require-hashes -r {environment.LOCK}"]
    if venv_status or pip_status:
        with pytest.raises(ToolchainError, match="could not be installed"):
            environment._python_with_wheel(state)
        assert not (state / "venv" / "ready").exists(), "the next start tries again"
        assert log.read_text().splitlines() == asked[: 2 + pip_status]
        return
    for _ in range(2):
        assert environment._python_with_wheel(state) == python
        assert log.read_text().splitlines() == asked, "once"
    assert capsys.readouterr().err == f"installing {environment.TTNN_WHEEL} into {state / 'venv'} (once)\n"


def test_interpreters_are_looked_for_on_the_path_and_in_pyenv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment.Path, "home", lambda: tmp_path)
    monkeypatch.setattr(environment.shutil, "which", {"python3.12": "/somewhere/python3.12"}.get)
    for version in ("3.12.4", "3.12.1", "3.10.2", "3.11.9"):
        (tmp_path / ".pyenv" / "versions" / version / "bin").mkdir(parents=True)
        (tmp_path / ".pyenv" / "versions" / version / "bin" / "python").touch()
    pyenv = [str(tmp_path / ".pyenv" / "versions" / version / "bin" / "python") for version in ("3.12.1", "3.12.4", "3.10.2")]
    assert list(environment._candidates("3.12")) == ["/somewhere/python3.12", *pyenv[:2]]
    assert list(environment._candidates("3.10")) == pyenv[2:]


@pytest.mark.parametrize(("version", "here"), [("0.81.1", True), ("0.80.0", False), (None, False)])
def test_this_environment_may_have_the_wheel(version: str | None, here: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def installed(name: str) -> str:
        assert name == "ttnn"
        if version is None:
            raise environment.importlib.metadata.PackageNotFoundError(name)
        return version

    monkeypatch.setattr(environment.importlib.metadata, "version", installed)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert environment._is_here() is here
    assert environment.is_ready() is here
    if here:
        for _ in range(2):
            assert environment._python_with_wheel(tmp_path / "made" / "state") == Path(sys.executable)
        assert (tmp_path / "made" / "state").is_dir()
