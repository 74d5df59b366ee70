"""`python -m tests.mutation`: see README.md."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.mutation.edits import Edit, edits
from tests.mutation.layers import LAYERS, ROOT, layer_of, relevant_tests

WORK = ROOT / "build" / "mutation"
TREE = WORK / "tree"
CPP_BUILD = TREE / "build" / "mutant"
COPIED = ("alchemist", "emit_py", "emit_cpp", "templates", "ttnn_shim", "tests", "examples", "docs", "licenses", "requirements", "pyproject.toml", "README.md",
          "LICENSE", "THIRD-PARTY-NOTICES.md", "Makefile", ".clang-format")  # fmt: skip
# Every Python process of the tests takes the copy's modules where an editable install would take the checkout's.
SITE = """\
import sys
for finder in sys.meta_path:
    for name in ("known_source_files", "submodule_search_locations"):
        table = getattr(finder, name, None)
        for module, place in list((table or {}).items()):
            swap = lambda text: text.replace(%(root)r + "/", %(tree)r + "/", 1) if %(work)r not in text and "/.venv/" not in text else text
            table[module] = swap(place) if isinstance(place, str) else type(place)(map(swap, place))
"""


@dataclass(slots=True)
class Mutant:
    """verdict: caught, survived, or unbuilt (C++ that does not compile: drawn again)."""

    number: int
    layer: str
    path: str
    edit: Edit
    verdict: str = ""
    by: str = ""
    seconds: float = 0.0

    def __str__(self) -> str:
        return f"{self.number:3} {self.layer:11} {self.path}:{self.edit.line}  {self.edit.what}"


def sources(changed: str | None, layers: Sequence[str], files: Sequence[str]) -> list[str]:
    """Product files with mutants."""
    command = ["git", "ls-files"] if changed is None else ["git", "diff", "--name-only", "--diff-filter=d", changed]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    found = [(path, layer) for path in listed if (layer := layer_of(path)) is not None]
    return [path for path, layer in found if (not layers or layer.name in layers) and (not files or path in files)]


def draw(paths: Sequence[str], count: int, seed: int) -> list[Mutant]:
    """`count` mutants, as many of each layer as there are; within a layer every place is as likely as every other."""
    generator = random.Random(seed)
    pools: dict[str, list[tuple[str, Edit]]] = {}
    for path in sorted(paths):
        layer = layer_of(path)
        assert layer is not None
        pools.setdefault(layer.name, []).extend((path, edit) for edit in edits(path, (ROOT / path).read_text()))
    for pool in pools.values():
        generator.shuffle(pool)
    drawn: list[Mutant] = []
    while len(drawn) < count and any(pools.values()):
        for name in [layer.name for layer in LAYERS if pools.get(layer.name)]:
            if len(drawn) < count:
                drawn.append(Mutant(len(drawn) + 1, name, *pools[name].pop()))
    return drawn


def prepare(cpp: bool) -> None:
    """A fresh copy of the project; the C++ build of an earlier run is kept."""
    TREE.mkdir(parents=True, exist_ok=True)
    for name in COPIED:
        target = TREE / name
        if target.is_dir():
            shutil.rmtree(target)
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, target, ignore=shutil.ignore_patterns("__pycache__", "build"))
        elif (ROOT / name).exists():
            shutil.copy2(ROOT / name, target)
    (WORK / "site").mkdir(exist_ok=True)
    (WORK / "site" / "sitecustomize.py").write_text(SITE % {"root": str(ROOT), "tree": str(TREE), "work": str(WORK)})
    if cpp:
        options = [f"-DPython_EXECUTABLE={sys.executable}", "-DTTNN_SHIM_WERROR=OFF", "-DCMAKE_BUILD_TYPE=RelWithDebInfo"]
        subprocess.run(
            ["cmake", "-S", TREE / "ttnn_shim", "-B", CPP_BUILD, "-G", "Ninja", *options], check=True, stdout=subprocess.DEVNULL, env=environment(False)
        )
        if not build():
            sys.exit("the unchanged C++ does not build")


def environment(cpp: bool) -> dict[str, str]:
    """Of child processes. cpp: with the library built from the copy, else with the checkout's of the beginning."""
    values = {**os.environ, "PYTHONPATH": str(WORK / "site"), "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    values |= {"OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "passive", "PYTHONDONTWRITEBYTECODE": "1"}
    return values | {"TTNN_SHIM_LIBRARY": str(CPP_BUILD)} if cpp else values


def build() -> bool:
    return run(["cmake", "--build", str(CPP_BUILD)], False, 3600).returncode == 0


def run(words: Sequence[str], cpp: bool, limit_s: float) -> subprocess.CompletedProcess[str]:
    """A command in the copy; what it started goes with it. returncode: -1 after `limit_s`."""
    process = subprocess.Popen(
        words, cwd=TREE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", env=environment(cpp), start_new_session=True
    )
    try:
        output, _ = process.communicate(timeout=limit_s)
        return subprocess.CompletedProcess(words, process.returncode, output, "")
    except BaseException as error:  # also an interrupt from the keyboard
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        if not isinstance(error, subprocess.TimeoutExpired):
            raise
        return subprocess.CompletedProcess(words, -1, "", "")


def run_tests(path: str, limit_s: float) -> tuple[bool, str]:
    """Whether the tests of a file pass, and the first that does not. Tests that take longer than `limit_s` do not pass."""
    cpp = path.endswith(".cpp")
    program = CPP_BUILD / "tests" / "cpp" / "shim_tests"
    if cpp and program.exists() and run([str(program)], cpp, limit_s).returncode != 0:
        return False, "shim_tests"
    words = [sys.executable, "-m", "pytest", "-q", "-x", "-n", "2", "--dist", "worksteal", "-m", "not slow", "-p", "no:cacheprovider"]
    done = run([*words, *relevant_tests(path, TREE)], cpp, limit_s)
    failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    reason = "too long" if done.returncode == -1 else f"pytest ended with {done.returncode}" if done.returncode else ""
    return done.returncode == 0, failed[0].split(" - ")[0] if failed else reason


def judge(mutant: Mutant, limit_s: float) -> None:
    """Puts the mutant into the copy, runs its tests, and puts the source back."""
    file = TREE / mutant.path
    original = file.read_text()
    begun = time.monotonic()
    cpp = mutant.path.endswith(".cpp")
    try:
        file.write_text(mutant.edit.apply(original))
        if cpp and not build():
            mutant.verdict = "unbuilt"
        else:
            passed, mutant.by = run_tests(mutant.path, limit_s)
            mutant.verdict = "survived" if passed else "caught"
    finally:
        file.write_text(original)
        mutant.seconds = time.monotonic() - begun


def time_limit(mutant: Mutant, longest_s: float) -> float:
    """Seconds that the tests of a mutant may take: four times what they take without it. 0: they fail without it, and catch nothing."""
    begun = time.monotonic()
    if mutant.path.endswith(".cpp"):
        build()  # the last mutant's library goes
    passed, by = run_tests(mutant.path, longest_s)
    if not passed:
        print(f"{mutant.layer}: tests fail without a mutant ({by}): its mutants are left out", flush=True)
        return 0.0
    return min(longest_s, 60 + 4 * (time.monotonic() - begun))


def recorded(rows: Path | None, seed: int) -> dict[str, tuple[str, str, float]]:
    """Mutant -> verdict, by, seconds of an earlier run with this seed."""
    lines = [json.loads(line) for line in rows.read_text().splitlines()] if rows is not None and rows.exists() else []
    return {line["mutant"]: (line["verdict"], line["by"], line["seconds"]) for line in lines if line["seed"] == seed}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description="How many small faults the tests notice.")
    parser.add_argument("--count", type=int, default=100, help="mutants to judge (default 100)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--floor", type=float, default=0.85, help="share that must be caught (default 0.85)")
    parser.add_argument("--changed", nargs="?", const="main", metavar="COMMIT", help="only files changed since COMMIT (default main)")
    parser.add_argument("--layer", action="append", default=[], choices=[layer.name for layer in LAYERS])
    parser.add_argument("--file", action="append", default=[], metavar="PATH")
    parser.add_argument("--only", type=int, action="append", default=[], metavar="NUMBER", help="these mutants of the seed")
    parser.add_argument("--limit", type=float, default=900, metavar="SECONDS", help="tests that take longer count as failed (default 900)")
    parser.add_argument("--list", action="store_true", help="show the mutants, run nothing")
    parser.add_argument("--rows", type=Path, metavar="FILE", help="a line of JSON per mutant as it is judged; those there already are not judged again")
    args = parser.parse_args(arguments)
    # Half as many again: C++ that does not compile is replaced by the next ones.
    drawn = draw(sources(args.changed, args.layer, args.file), args.count + args.count // 2 + 5, args.seed)
    if args.only:
        drawn = [mutant for mutant in drawn if mutant.number in args.only]
        args.count = len(drawn)
    if args.list or not drawn:
        print("\n".join(map(str, drawn[: args.count])) or "no file with mutants")
        return 0
    known = recorded(args.rows, args.seed)
    for mutant in drawn:
        mutant.verdict, mutant.by, mutant.seconds = known.get(str(mutant), ("", "", 0.0))
    if any(not mutant.verdict for mutant in drawn[: args.count]):
        prepare(any(mutant.path.endswith(".cpp") for mutant in drawn if not mutant.verdict))
    judged: list[Mutant] = []
    limits: dict[tuple[str, bool], float] = {}
    for mutant in drawn:
        if len(judged) == args.count:
            break
        if not mutant.verdict:
            key = (mutant.layer, mutant.path.endswith(".cpp"))
            if key not in limits:
                limits[key] = time_limit(mutant, args.limit)
            if not limits[key]:
                continue
            judge(mutant, limits[key])
            print(f"{mutant}  {mutant.verdict} {mutant.by} ({mutant.seconds:.0f} s)", flush=True)
            if args.rows:
                with args.rows.open("a") as file:
                    file.write(json.dumps({"seed": args.seed, "mutant": str(mutant), **asdict(mutant)}) + "\n")
        if mutant.verdict != "unbuilt":
            judged.append(mutant)
    caught = sum(mutant.verdict == "caught" for mutant in judged)
    share = caught / len(judged) if judged else 0.0
    print(f"\n{caught} of {len(judged)} mutants caught ({share:.0%}), seed {args.seed}")
    for mutant in judged:
        if mutant.verdict == "survived":
            print(f"  survived: {mutant}")
    for layer in LAYERS:
        of_layer = [mutant.verdict == "caught" for mutant in judged if mutant.layer == layer.name]
        if of_layer:
            print(f"  {layer.name:11} {sum(of_layer):3} of {len(of_layer):3}")
    return 0 if share >= args.floor else 1


if __name__ == "__main__":
    sys.exit(main())
