"""One of the two checkouts: its product, a key of the product's text, and how Python runs on it."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PRODUCT = ("alchemist", "emit_py", "emit_cpp", "templates", "ttnn_shim")
"""Folders that decide what a checkout answers."""
SIMULATOR = ("ttnn_shim",)
QUESTIONS = ("tests", "tools", "models")
"""Folders whose Python is HEAD's on both sides: the same question is put twice."""


def git(*words: str) -> str:
    """What git writes to stdout in this checkout. Raises CalledProcessError."""
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout


def cache_folder() -> Path:
    """Shared by all worktrees of a repository, not in git: $ALCHEMIST_BEHAVIOUR_CACHE, or build/behaviour_diff of the main checkout."""
    if given := os.environ.get("ALCHEMIST_BEHAVIOUR_CACHE"):
        return Path(given)
    return (ROOT / git("rev-parse", "--git-common-dir").strip()).resolve().parent / "build" / "behaviour_diff"


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """One process at a time, of all worktrees."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def key_of(folders: tuple[str, ...], commit: str | None = None) -> str:
    """Hash of the text in these folders, without Markdown, at a commit or in the working tree (None)."""
    parts = [line for line in git("ls-tree", "-r", commit or "HEAD", "--", *folders).splitlines() if not line.endswith(".md")]
    if commit is None:
        what = ("--", *folders, ":(exclude)*.md")
        if changed := git("diff", "HEAD", "--binary", *what):
            parts.append(changed)
        for name in sorted(git("ls-files", "--others", "--exclude-standard", *what).splitlines()):
            parts.append(f"{name} {hashlib.sha256((ROOT / name).read_bytes()).hexdigest()}")
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Side:
    """python, environment: for processes that import this side's product, and HEAD's `tests`, `tools` and `models`."""

    title: str
    key: str
    root: Path
    python: Path
    environment: Mapping[str, str]
    start: Path
    """Where its processes start: `tests`, `tools` and `models` there are HEAD's."""
    own_start: Path
    """The same with its own, for questions that reach into a product which has moved since."""

    @property
    def folder(self) -> Path:
        """Its rows in the cache."""
        return cache_folder() / "rows" / self.key


def _environment(**more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "TTNN_SHIM_LIBRARY", "TTSIM_LIBRARY")}
    return {**kept, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "JAX_DISABLE_MOST_OPTIMIZATIONS": "1", "PYTHONHASHSEED": "0", **more}


def _start(folder: Path, tests: Path, tools: Path) -> Path:
    """A folder where these are found by their names."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, target in (("tests", tests), ("tools", tools), ("models", tests.parent / "models")):
        link = folder / name
        if not link.is_symlink() or link.readlink() != target:
            link.unlink(missing_ok=True)
            link.symlink_to(target)
    return folder


def head() -> Side:
    """The working tree, with what its environment has installed: run `make setup` first."""
    folder = _start(ROOT / "build" / "behaviour_start", ROOT / "tests", ROOT / "tools")
    return Side("head", key_of(PRODUCT), ROOT, Path(sys.executable), _environment(), folder, folder)


def base(commit: str) -> Side:
    """Another commit: its files are unpacked into the cache, its core is built there unless HEAD's is the same.

    The packages are those of HEAD's environment.
    """
    full = git("rev-parse", f"{commit}^{{commit}}").strip()
    work = cache_folder() / "trees" / full[:12]
    tree = work / "tree"
    with locked(work / "lock"):
        if not (work / "unpacked").exists():
            shutil.rmtree(tree, ignore_errors=True)
            tree.mkdir(parents=True)
            archive = subprocess.Popen(["git", "archive", full], cwd=ROOT, stdout=subprocess.PIPE)
            subprocess.run(["tar", "-x"], cwd=tree, stdin=archive.stdout, check=True)
            if archive.wait():
                raise SystemExit(f"git archive {full} failed")
            (work / "unpacked").touch()
        python = _python(work / f"python_{hashlib.sha256(sys.prefix.encode()).hexdigest()[:8]}", tree)
        library = _library(work / "core", tree, full)
    # oneDNN: the environment that the core was built in may be gone.
    environment = _environment(TTNN_SHIM_LIBRARY=str(library), LD_LIBRARY_PATH=f"{sys.prefix}/lib")
    tools = tree / "tools" if (tree / "tools" / "behaviour_diff").is_dir() else ROOT / "tools"
    start, own = work / f"start_{hashlib.sha256(str(ROOT).encode()).hexdigest()[:8]}", work / "start_own"
    return Side("base", key_of(PRODUCT, full), tree, python, environment, _start(start, ROOT / "tests", ROOT / "tools"), _start(own, tree / "tests", tools))


def _python(folder: Path, tree: Path) -> Path:
    """An environment without an editable install: the tree's packages come first, then the packages of the running one."""
    python = folder / "bin" / "python"
    if not (folder / "made").exists():
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", "--clear", str(folder)], check=True)
        inside = subprocess.run([python, "-c", "import site; print(site.getsitepackages()[0])"], capture_output=True, text=True, check=True).stdout.strip()
        packages = [path for path in sys.path if path.endswith("site-packages")]
        (Path(inside) / "base.pth").write_text("".join(f"{path}\n" for path in (tree, tree / "ttnn_shim" / "python", *packages)))
        (folder / "made").touch()
    return python


def _library(build: Path, tree: Path, commit: str) -> Path:
    """A build tree with the commit's core. HEAD's own where the sources are the same."""
    mine = sorted(ROOT.glob("build/editable-*/libttnn_shim.so"), key=lambda path: path.stat().st_mtime)
    if mine and not git("diff", "--name-only", commit, "--", "ttnn_shim/src", "ttnn_shim/include", "ttnn_shim/CMakeLists.txt", "ttnn_shim/cmake"):
        return mine[-1].parent
    if not (build / "made").exists():
        print(f"building the core of {commit[:12]} in {build}", file=sys.stderr, flush=True)
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        environment = {**os.environ, "PATH": path}
        options = (f"-DPython_EXECUTABLE={sys.executable}", "-DTTNN_SHIM_TESTS=OFF", "-DTTNN_SHIM_WERROR=OFF", "-DCMAKE_BUILD_TYPE=RelWithDebInfo")
        for words in (["cmake", "-S", str(tree / "ttnn_shim"), "-B", str(build), "-G", "Ninja", *options], ["cmake", "--build", str(build)]):
            done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
            if done.returncode:
                raise SystemExit(f"{' '.join(words)}:\n{(done.stdout + done.stderr)[-3000:]}")
        (build / "made").touch()
    return build
