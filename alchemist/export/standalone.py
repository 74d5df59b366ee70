"""`--standalone`: copies the simulator into the export directory, so that it runs where alchemist is not installed.

`shim/ttnn_shim/` holds, for Python, the launcher, the `ttnn` package and the compiled extension (numpy and cffi are all that a
machine must have), and `shim/alchemist/tools/`, which `--what-if` and `--check-ops` run; for C++ the headers, the
library and its CMake package (a compiler and cmake). `licenses/` goes with both.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

from ttnn_shim.paths import arch_dir

from alchemist.errors import ToolchainError
from alchemist.options import Language

FOLDER = "shim"
_SKIPPED = shutil.ignore_patterns("__pycache__", "*.pyc", "*.pyi", "emit_extension.py", "README.md", "include", "lib", "licenses", "_native", "_python", "arch")


def bundle(directory: Path, language: Language) -> None:
    """Copies the files that a program in `language` needs to `directory/shim`.

    Raises:
        ToolchainError: the simulator is not installed, or installed without its library.
    """
    package, installed, python = _sources()
    target = directory / FOLDER / "ttnn_shim"
    if language == "python":
        shutil.copytree(package, target, ignore=_SKIPPED)
        shutil.copytree(package / "_native", target / "_native", ignore=_SKIPPED)
        shutil.copytree(arch_dir(), target / "arch", ignore=_SKIPPED)
        for name in ("ttnn", "ttnn_extras"):
            shutil.copytree(python / name, target / "_python" / name, ignore=_SKIPPED)
        shutil.copytree(Path(__file__).resolve().parents[1] / "tools", directory / FOLDER / "alchemist" / "tools", ignore=_SKIPPED)
        for extension in sorted((installed / "_native").glob("_core*.so")):
            shutil.copy2(extension, target / "_native" / extension.name)
    else:
        shutil.copytree(installed / "include", target / "include")
        shutil.copytree(installed / "lib" / "cmake", target / "lib" / "cmake")
    shutil.copytree(installed / "licenses", target / "licenses")
    (target / "lib").mkdir(parents=True, exist_ok=True)
    for pattern in ("*.so*",) if language == "python" else ("*.so*", "*.a"):
        for library in sorted((installed / "lib").glob(pattern)):
            shutil.copy2(library, target / "lib" / library.name)


def _sources() -> tuple[Path, Path, Path]:
    """Folders of the Python package, of the installed half (lib, include, _native), and the one that holds `ttnn`."""
    try:
        import ttnn_shim
    except ImportError as error:
        raise ToolchainError("the simulator is not installed", hint="install the wheel, or run `make` in a clone") from error
    package = Path(ttnn_shim.__file__).resolve().parent
    for installed in _candidates(package):
        if list((installed / "lib").glob("libttnn_shim.so")) and list((installed / "_native").glob("_core*.so")):
            return package, installed, ttnn_shim.python_path()
    raise ToolchainError(
        "the simulator's library is not installed, so it cannot be copied to the export", hint="pip install . (a build tree alone is not enough)"
    )


def _candidates(package: Path) -> Iterator[Path]:
    import ttnn_shim

    yield from map(Path, ttnn_shim.__path__)  # also the installed half of an editable install
    yield package
