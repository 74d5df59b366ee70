"""The environment in which the real ttnn wheel runs without a card: a venv, a mock chip, stand-ins for its compiler and kernels."""

from __future__ import annotations

import importlib.metadata
import os
import shutil
import struct
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from alchemist.errors import ToolchainError
from alchemist.verify.mock_systems import descriptions

TTNN_WHEEL = "ttnn==0.81.1"
# The wheel and all it needs, exact versions with hashes (`make lock`): what is downloaded here is run.
LOCK = Path(__file__).with_name("ttnn.lock")
PYTHON_VERSIONS = ("3.12", "3.10")  # those that the wheel is built for
_KERNEL_ADDRESS = 0x5000  # any address in a core's L1 that the loader accepts as kernel text
_RISCV_RETURN = 0x00008067

# Accepts every compile, and "links" by copying a stand-in executable for the core that is asked for.
_COMPILER = """\
#!/bin/bash
if [[ $1 == --version ]]; then echo "riscv-tt-elf-g++ (stand-in) 15.1.0"; exit 0; fi
root=${0%/runtime/*}/stand-ins
arch=wormhole output= dependencies= compiles= header= kernel=
while (($#)); do
  case $1 in
    -o) output=$2; shift ;;
    -MF) dependencies=$2; shift ;;
    -c) compiles=1 ;;
    c++-header) header=1 ;;
    -mcpu=tt-bh*) arch=blackhole ;;
    *--emit-relocs*) kernel=kernel_ ;;
  esac
  shift
done
if [[ -n $compiles$header ]]; then
  : > "$output"
  if [[ -n $dependencies ]]; then echo "$output:" > "$dependencies"; elif [[ -n $compiles ]]; then echo "$output:" > "${output%.o}.d"; fi
  exit 0
fi
name=${output##*/}
source=$root/$arch/$kernel${name%%.*}.elf
[[ -e $source ]] && exec cat "$source" > "$output"
echo "no stand-in for $output" >&2
exit 1
"""


@dataclass(frozen=True, slots=True)
class MockRuntime:
    """python: interpreter with the wheel. root: the library's runtime root with our stand-ins."""

    python: Path
    root: Path

    @staticmethod
    def prepare() -> MockRuntime:
        """Makes the environment on first use (a download of the wheel), later only checks that it is there.

        Raises:
            ToolchainError: no Python 3.12 or 3.10, or the wheel cannot be installed.
        """
        state = _state()
        python = _python_with_wheel(state)
        root = state / "root"
        _link_runtime(python, root)
        for machine, text in descriptions().items():
            (state / f"{machine}.yaml").write_text(text)
        return MockRuntime(python, root)

    def environment(self, machine: str) -> dict[str, str]:
        """Variables for the child process. machine: one of `mock_systems.descriptions`."""
        state = self.root.parent
        return {
            "TT_METAL_RUNTIME_ROOT": str(self.root),
            "TT_METAL_CACHE": str(state / "cache"),
            "TT_METAL_LOGS_PATH": str(state / "cache"),
            "TT_METAL_MOCK_CLUSTER_DESC_PATH": str(state / f"{machine}.yaml"),
            "TT_METAL_DISABLE_BACKTRACE": "1",
            "TT_METAL_INSPECTOR": "0",
            "TT_LOGGER_LEVEL": "off",
            "LOGURU_LEVEL": "ERROR",
        }


def _state() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache"))) / "alchemist" / "verify"


def is_ready() -> bool:
    """Whether the wheel is installed already."""
    return _is_here() or (_state() / "venv" / "ready").exists()


def _is_here() -> bool:
    """Whether this very environment has the wheel (extra `verify`)."""
    name, _, version = TTNN_WHEEL.partition("==")
    try:
        return importlib.metadata.version(name) == version
    except importlib.metadata.PackageNotFoundError:
        return False


def available_python() -> Path | None:
    """An interpreter that the wheel supports, or None."""
    for version in PYTHON_VERSIONS:
        for candidate in _candidates(version):
            if subprocess.call([candidate, "-c", "import venv"], stderr=subprocess.DEVNULL) == 0:
                return Path(candidate)
    return None


def _candidates(version: str) -> Iterator[str]:
    found = shutil.which(f"python{version}")
    if found:
        yield found
    yield from (str(path) for path in sorted(Path.home().glob(f".pyenv/versions/{version}*/bin/python")))


def _python_with_wheel(state: Path) -> Path:
    if _is_here():
        state.mkdir(parents=True, exist_ok=True)
        return Path(sys.executable)
    venv = state / "venv"
    python, ready = venv / "bin" / "python", venv / "ready"
    if ready.exists():
        return python
    base = available_python()
    if base is None:
        raise ToolchainError(
            f"the real {TTNN_WHEEL} needs Python {' or '.join(PYTHON_VERSIONS)}", hint="install one of these versions in addition to this Python"
        )
    print(f"installing {TTNN_WHEEL} into {venv} (once)", file=sys.stderr)
    state.mkdir(parents=True, exist_ok=True)
    for command in ([base, "-m", "venv", "--clear", venv], [python, "-m", "pip", "install", "-q", "--require-hashes", "-r", LOCK]):
        if subprocess.call([str(word) for word in command]) != 0:
            raise ToolchainError(f"{TTNN_WHEEL} could not be installed", hint="check the network and pip's configuration")
    ready.touch()
    return python


def _link_runtime(python: Path, root: Path) -> None:
    """The wheel's own runtime tree with the compiler and every kernel executable replaced by stand-ins."""
    find = "import importlib.util as u; print(u.find_spec('ttnn').submodule_search_locations[0])"
    wheel = Path(subprocess.check_output([str(python), "-c", find], text=True).strip())
    compiler = root / "runtime/sfpi/compiler/bin/riscv-tt-elf-g++"
    compiler.parent.mkdir(parents=True, exist_ok=True)
    (root / "runtime/sfpi/include").mkdir(parents=True, exist_ok=True)
    for name in ("tt_metal", "ttnn", "build", "tools", "runtime/hw"):
        link = root / name
        if not link.is_symlink() and not link.exists():
            link.symlink_to(wheel / name)
    fresh = compiler.with_name(f"{compiler.name}.{os.getpid()}")  # another verification may be running the present one
    fresh.write_text(_COMPILER)
    fresh.chmod(0o755)
    fresh.replace(compiler)
    # Firmware executables come with the wheel, one directory per architecture; what is in it tells which.
    for folder in sorted((wheel / "tt_metal/pre-compiled").iterdir()):
        arch = "blackhole" if (folder / "drisc").is_dir() else "wormhole" if (folder / "erisc").is_dir() else ""
        target = root / "stand-ins" / arch
        if not arch or target.exists():
            continue
        target.mkdir(parents=True)
        for core in folder.iterdir():
            (target / f"{core.name}.elf").symlink_to(core / f"{core.name}.elf")
            (target / f"kernel_{core.name}.elf").write_bytes(_kernel_executable())


def _kernel_executable() -> bytes:
    """A RISC-V ELF32 executable that returns at once: one text segment, the (empty) relocation and symbol sections the
    library's loader asks for. Field order as in the ELF specification."""
    text = struct.pack("<I", _RISCV_RETURN) * 4
    names = b"\0.text\0.rela.text\0.symtab\0.strtab\0.shstrtab\0"
    symbol_names = b"\0_start\0"
    symbols = bytes(16) + struct.pack("<IIIBBH", 0, _KERNEL_ADDRESS, 0, 3, 0, 1)
    symbols += struct.pack("<IIIBBH", 1, _KERNEL_ADDRESS, 4, 0x12, 0, 1)
    at_text = 52 + 32 + 12
    at_symbols = at_text + len(text)
    at_symbol_names = at_symbols + len(symbols)
    at_names = at_symbol_names + len(symbol_names)
    at_sections = -(-(at_names + len(names)) // 4) * 4

    def section(name: bytes, *fields: int) -> bytes:
        offset = names.index(b"\0" + name + b"\0") + 1 if name else 0
        return struct.pack("<10I", offset, *fields)

    # type, flags, address, offset, size, link, info, alignment, entry size
    sections = [
        section(b"", 0, 0, 0, 0, 0, 0, 0, 0, 0),
        section(b".text", 1, 6, _KERNEL_ADDRESS, at_text, len(text), 0, 0, 4, 0),
        section(b".rela.text", 4, 0x40, 0, at_symbol_names, 0, 3, 1, 4, 12),
        section(b".symtab", 2, 0, 0, at_symbols, len(symbols), 4, 2, 4, 16),
        section(b".strtab", 3, 0, 0, at_symbol_names, len(symbol_names), 0, 0, 1, 0),
        section(b".shstrtab", 3, 0, 0, at_names, len(names), 0, 0, 1, 0),
    ]
    header = b"\x7fELF\x01\x01\x01" + bytes(9)
    header += struct.pack("<HHIIIIIHHHHHH", 2, 243, 1, _KERNEL_ADDRESS, 52, at_sections, 0, 52, 32, 1, 40, len(sections), 5)
    segment = struct.pack("<8I", 1, at_text, _KERNEL_ADDRESS, _KERNEL_ADDRESS, len(text), len(text), 5, 16)
    body = (header + segment).ljust(at_text, b"\0") + text + symbols + symbol_names + names
    return body.ljust(at_sections, b"\0") + b"".join(sections)


if __name__ == "__main__":
    # Exit code 0 where there is an interpreter that the wheel supports: `make test-all` asks.
    sys.exit(available_python() is None)
