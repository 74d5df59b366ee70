"""`python -m tools.mutation`: see README.md."""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import random
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.mutation import cpp_reach, forked
from tools.mutation.choose import BLOCK_LINES, SOURCES, failing, reaching, seconds_of_tests
from tools.mutation.edits import Edit, edits
from tools.mutation.known import KNOWN
from tools.mutation.layers import LAYERS, ROOT, layer_of, naming, relevant_tests
from tools.mutation.record import CPP, FOLDER, NOTES

WORK = ROOT / "build" / "mutation"
TREE = WORK / "tree"
CPP_BUILD = WORK / "cpp"
COPIED = ("alchemist", "emit_py", "emit_cpp", "templates", "ttnn_shim", "tests", "tools", "models", "examples", "docs", "licenses", "requirements", "pyproject.toml", "README.md",
          "LICENSE", "THIRD-PARTY-NOTICES.md", "Makefile", ".clang-format")  # fmt: skip
REACHED_S = 90.0  # seconds of tests that reach a Python mutant
NEAREST_S = 150.0  # of tests of its layer, with --nearest
SHIM_TESTS = "shim_tests"
KNOWN_SEED = -1  # of rows of known.py
NO_TESTS, WRONG_USE, TOO_LONG = 5, 4, -1  # exit codes
# Every Python process of the tests takes the copy's modules where an editable install would take the checkout's.
SITE = """\
import sys
def swap(text):
    return (text + "/").replace(%(root)r + "/", %(tree)r + "/", 1).rstrip("/") if %(work)r not in text and "/.venv/" not in text else text
for finder in sys.meta_path:
    for name in ("known_source_files", "submodule_search_locations"):
        table = getattr(finder, name, None)
        for module, place in list((table or {}).items()):
            table[module] = swap(place) if isinstance(place, str) else type(place)(map(swap, place))
sys.path[:] = map(swap, sys.path)
"""
# What a test starts while `--reach` notes.
CHILD_SITE = """\
import importlib.util
spec = importlib.util.spec_from_file_location("mutation_record", %(root)r + "/tools/mutation/record.py")
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
module.record_child()
"""


@dataclass(slots=True)
class Mutant:
    """verdict: caught, survived, or unbuilt (C++ that does not compile: drawn again). by: the test that failed, or what else ended the tests."""

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
        pools.setdefault(layer_name(path), []).extend((path, edit) for edit in edits(path, (ROOT / path).read_text()))
    for pool in pools.values():
        generator.shuffle(pool)
    drawn: list[Mutant] = []
    while len(drawn) < count and any(pools.values()):
        for name in [layer.name for layer in LAYERS if pools.get(layer.name)]:
            if len(drawn) < count:
                drawn.append(Mutant(len(drawn) + 1, name, *pools[name].pop()))
    return drawn


def layer_name(path: str) -> str:
    layer = layer_of(path)
    assert layer is not None
    return layer.name


def prepare() -> None:
    """A fresh copy of the project."""
    TREE.mkdir(parents=True, exist_ok=True)
    for name in COPIED:
        target = TREE / name
        if target.is_dir():
            shutil.rmtree(target)
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, target, ignore=shutil.ignore_patterns("__pycache__", "build"))
        elif (ROOT / name).exists():
            shutil.copy2(ROOT / name, target)
    for words in (["init", "-q"], ["add", "--all"]):  # some tests ask git for the project's files
        subprocess.run(["git", *words], cwd=TREE, check=True)
    (WORK / "site").mkdir(exist_ok=True)
    (WORK / "site" / "sitecustomize.py").write_text(SITE % {"root": str(ROOT), "tree": str(TREE), "work": str(WORK)})


def environment(cpp: bool) -> dict[str, str]:
    """Of child processes. cpp: with the mutant's library instead of the checkout's."""
    values = {**os.environ, "PYTHONPATH": str(WORK / "site"), "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    values |= {"OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "passive", "PYTHONDONTWRITEBYTECODE": "1"}
    library = CPP_BUILD / "libttnn_shim.so"
    built = [library] if cpp and library.exists() else sorted(ROOT.glob("build/editable-*/libttnn_shim.so"))
    if built:  # the copy has no library of its own beside its modules, where the clock's tests look for it
        values["TTSIM_LIBRARY"] = str(built[0])
    return values | {"LD_LIBRARY_PATH": str(CPP_BUILD)} if cpp else values


def build_tree() -> Path:
    """Where `make setup` built the C++ core."""
    found = sorted(ROOT.glob("build/editable-*/compile_commands.json"))
    if not found:
        sys.exit("C++ mutants need the build tree of `make setup`")
    return found[0].parent


def build(path: str) -> bool:
    """The library with the copy's version of one source: that source is compiled as in the checkout's build tree, and linked with its other objects.

    A source that only exports compile is left to their tests.
    """
    folder = build_tree()
    CPP_BUILD.mkdir(parents=True, exist_ok=True)
    rows = json.loads((folder / "compile_commands.json").read_text())
    commands = [row["command"] for row in rows if row["file"] == str(ROOT / path)]
    if not commands:
        shutil.rmtree(CPP_BUILD)  # the last mutant's library goes
        return True
    compile_ = shlex.split(commands[0])
    made = compile_[compile_.index("-o") + 1]
    # Without debug information and most optimisation a file takes 2 s instead of 4; no value depends on them.
    given = {str(ROOT / path): str(TREE / path), made: str(CPP_BUILD / "mutant.o"), "-Werror": "-w", "-O3": "-O1", "-g1": "-g0"}
    listed = subprocess.run(["ninja", "-t", "commands", "libttnn_shim.so"], cwd=folder, capture_output=True, text=True, check=True, env=environment(False))
    link = shlex.split(listed.stdout.strip().splitlines()[-1].removeprefix(": && ").removesuffix(" && :"))
    link.append("-Wl,--strip-debug")
    linked = {made: str(CPP_BUILD / "mutant.o"), "libttnn_shim.so": str(CPP_BUILD / "libttnn_shim.so")}
    return all(run([places.get(word, word) for word in words], False, 3600, folder).returncode == 0 for words, places in ((compile_, given), (link, linked)))


def run(words: Sequence[str], cpp: bool, limit_s: float, folder: Path = TREE) -> subprocess.CompletedProcess[str]:
    """A command; what it started goes with it. returncode: -1 after `limit_s`."""
    process = subprocess.Popen(
        words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", env=environment(cpp), start_new_session=True
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


class Tests:
    """Runs the tests of places in the copy, and knows those that fail there without a mutant."""

    def __init__(self, limit_s: float, workers: int, nearest: bool) -> None:
        self._limit_s = limit_s
        self._nearest = nearest
        self._workers = workers
        self.unreliable = set(failing())

    def passed(self, path: str, line: int) -> tuple[bool, str]:
        """Whether the tests of a line pass, and the first that does not."""
        cpp = path.endswith(".cpp")
        passed, by = self.core_passes() if cpp else (True, "")
        if not passed:
            return passed, by
        tests = reaching(path, line, REACHED_S)
        if tests:
            return self.run(tests, cpp, min(self._limit_s, 60 + 4 * REACHED_S))
        files = relevant_tests(path, TREE)
        names = operations((TREE / path).read_text()) if cpp else []
        if tests is None and self._nearest:
            passed, by = self.run([*(["-k", " or ".join(names)] if names else []), *files], cpp, NEAREST_S)
            return (True, "") if by == "too long" else (passed, by)
        if tests is not None:  # what no test was noted to run may run where nothing is noted
            return self.run(naming(path, files), cpp)
        if names:  # the cases of the file's own ops before all others
            passed, by = self.run(["-k", " or ".join(names), *files], cpp)
            if not passed:
                return passed, by
        return self.run(["-n", str(self._workers), "--dist", "worksteal", *files], cpp)

    def core_passes(self) -> tuple[bool, str]:
        code = run([str(build_tree() / "tests" / "cpp" / "shim_tests")], True, self._limit_s).returncode
        return code == 0, "" if code == 0 else "too long" if code == TOO_LONG else SHIM_TESTS

    def run(self, words: Sequence[str], cpp: bool, limit_s: float = 0.0, *, all_of_them: bool = False) -> tuple[bool, str]:
        """by: every test that fails, one a line, where all are to run."""
        library = CPP_BUILD / "libttnn_shim.so"
        without = [f"--deselect={test}" for test in sorted(self.unreliable)]
        code, output, failed = forked.run(
            [*("-q", "-m", "not slow", "-p", "no:cacheprovider"), *([] if all_of_them else ["-x"]), *without, *words],
            folder=TREE,
            site=WORK / "site",
            environment=environment(cpp),
            library=library if cpp and library.exists() else None,
            seconds=seconds_of_tests(),
            limit_s=limit_s or self._limit_s,
        )
        if code == forked.BROKEN:
            sys.exit(f"the tests could not be started:\n{output[-2000:]}")
        if code == WRONG_USE and not failed:  # cases that were renamed since they were noted
            gone = set(re.findall(r"^ERROR: not found: \S*?/(tests/\S+)$", output, re.MULTILINE))
            kept = [word for word in words if word.partition("[")[0] not in gone]
            if kept and kept != list(words):
                return self.run(kept, cpp, limit_s, all_of_them=all_of_them)
        if code in (0, NO_TESTS):
            return True, ""
        return False, "\n".join(failed if all_of_them else failed[:1]) or ("too long" if code == TOO_LONG else f"pytest ended with {code}")

    def failing_without(self, caught: Sequence[Mutant]) -> set[str]:
        """Tests that caught a mutant and also fail without one: because of the copy, or of a busy machine."""
        bad: set[str] = set()
        for cpp in (False, True):
            by = sorted({mutant.by for mutant in caught if mutant.path.endswith(".cpp") == cpp and mutant.by.startswith("tests/")})
            if cpp:
                shutil.rmtree(CPP_BUILD, ignore_errors=True)  # the last mutant's library goes
            if by:
                passed, failed = self.run(by, cpp, all_of_them=True)
                bad |= set() if passed else set(failed.splitlines())
        return bad


def operations(source: str) -> list[str]:
    """Names of the ops that a C++ file registers, without their modules."""
    return sorted({name.rpartition(".")[2] for name in re.findall(r'SHIM_OP\w*\(\s*"([\w.]+)"', source)})


def judge(mutant: Mutant, tests: Tests) -> None:
    """Puts the mutant into the copy, runs its tests, and puts the source back."""
    file = TREE / mutant.path
    original = file.read_text()
    begun = time.monotonic()
    try:
        file.write_text(mutant.edit.apply(original))
        if mutant.path.endswith(".cpp") and not build(mutant.path):
            mutant.verdict = "unbuilt"
        else:
            passed, mutant.by = tests.passed(mutant.path, mutant.edit.line)
            mutant.verdict = "survived" if passed else "caught"
    finally:
        file.write_text(original)
    if mutant.verdict == "caught" and not mutant.by.startswith("tests/"):  # no test failed: because of the mutant, of a busy machine, of old notes
        shutil.rmtree(CPP_BUILD, ignore_errors=True)
        passed, by = tests.core_passes() if mutant.by == SHIM_TESTS else tests.passed(mutant.path, mutant.edit.line)
        if not passed:
            mutant.verdict, mutant.by = "survived", f"without it as well: {by}"
    mutant.seconds = time.monotonic() - begun


def note_reach(tests: Sequence[str], workers: int) -> int:
    """Runs all fast tests with `reach.py`; only some, in addition to the notes there, when they are named."""
    if not tests:
        shutil.rmtree(NOTES, ignore_errors=True)
    for earlier in NOTES.glob("*"):
        cpp_reach.keep_lines(earlier)
    notes = NOTES / str(1 + max((int(path.name) for path in NOTES.glob("*") if path.is_dir()), default=0))
    cpp_reach.build(environment(False))
    for path in sources(None, [], []):
        (notes / SOURCES / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / path, notes / SOURCES / path)
    (notes / BLOCK_LINES).write_text(json.dumps({path: f"{bits:x}" for path, bits in cpp_reach.known_lines().items()}))
    site = WORK / "reach_site"
    site.mkdir(parents=True, exist_ok=True)
    (site / "sitecustomize.py").write_text(CHILD_SITE % {"root": str(ROOT)})
    words = ["-q", "-n", str(workers), "--dist", "worksteal", "-m", "not slow", "-p", "no:cacheprovider", "-p", "tools.mutation.reach", *(tests or ["tests"])]
    environment_ = {
        **os.environ,
        FOLDER: str(notes),
        "OMP_NUM_THREADS": "1",
        "OMP_WAIT_POLICY": "passive",
        "PYTHONPATH": str(site),
        "LD_LIBRARY_PATH": str(CPP),
        "TTSIM_LIBRARY": str(CPP / "libttnn_shim.so"),  # the clock's tests load it by its path
    }
    code = subprocess.run([sys.executable, "-m", "pytest", *words], cwd=ROOT, env=environment_, check=False).returncode
    cpp_reach.keep_lines(notes)
    return code


def recorded(rows: Path | None, seed: int) -> dict[str, tuple[str, str, float]]:
    """Mutant -> verdict, by, seconds of an earlier run with this seed."""
    lines = [json.loads(line) for line in rows.read_text().splitlines()] if rows is not None and rows.exists() else []
    return {line["mutant"]: (line["verdict"], line["by"], line["seconds"]) for line in lines if line["seed"] == seed}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.mutation", description="How many small faults the tests notice.")
    parser.add_argument("--count", type=int, default=100, help="mutants to judge (default 100)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--floor", type=float, default=0.85, help="share that must be caught (default 0.85)")
    parser.add_argument("--changed", nargs="?", const="main", metavar="COMMIT", help="only files changed since COMMIT (default main)")
    parser.add_argument("--layer", action="append", default=[], choices=[layer.name for layer in LAYERS])
    parser.add_argument("--file", action="append", default=[], metavar="PATH")
    parser.add_argument("--only", type=int, action="append", default=[], metavar="NUMBER", help="these mutants of the seed")
    parser.add_argument("--limit", type=float, default=900, metavar="SECONDS", help="what a mutant's tests may take (default 900)")
    parser.add_argument("--minutes", type=float, default=math.inf, metavar="MINUTES", help="begin no mutant after that; with --rows a later run goes on")
    parser.add_argument("--workers", type=int, default=2, help="processes for --reach and for the tests of C++ mutants (default 2)")
    parser.add_argument(
        "--reach",
        nargs="*",
        metavar="TESTS",
        help="note which tests run which lines, of all or in addition of these (about twice as long as they take); later runs use it",
    )
    parser.add_argument(
        "--nearest", action="store_true", help=f"without records of --reach: the layer's tests for {NEAREST_S:.0f} s, first those that name the module"
    )
    parser.add_argument("--known", action="store_true", help="instead of drawn mutants, the faults of known.py: all must be caught")
    parser.add_argument("--list", action="store_true", help="show the mutants, run nothing")
    parser.add_argument("--rows", type=Path, metavar="FILE", help="a line of JSON per mutant as it is judged; those there already are not judged again")
    args = parser.parse_args(arguments)
    # Half as many again: C++ that does not compile is replaced by the next ones.
    drawn = draw(sources(args.changed, args.layer, args.file), args.count + args.count // 2 + 5, args.seed)
    if args.known:
        drawn = [Mutant(number, layer_name(one.path), one.path, one.edit()) for number, one in enumerate(KNOWN, 1)]
        args.count, args.floor, args.seed = len(drawn), 1.0, KNOWN_SEED
    if args.only:
        drawn = [mutant for mutant in drawn if mutant.number in args.only]
        args.count = len(drawn)
    if args.reach is not None:
        return note_reach(args.reach, args.workers)
    if args.list or not drawn:
        print("\n".join(map(str, drawn[: args.count])) or "no file with mutants")
        return 0
    known = recorded(args.rows, args.seed)
    commit = subprocess.run(["git", "rev-parse", "--short=8", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
    for mutant in drawn:
        mutant.verdict, mutant.by, mutant.seconds = known.get(str(mutant), ("", "", 0.0))
    if any(not mutant.verdict for mutant in drawn[: args.count]):
        prepare()
        forked.warm()
    tests = Tests(args.limit, args.workers, args.nearest)

    def judge_now(mutant: Mutant) -> None:
        judge(mutant, tests)
        print(f"{mutant}  {mutant.verdict} {mutant.by} ({mutant.seconds:.0f} s)", flush=True)
        if args.rows:
            with args.rows.open("a") as file:
                row = {"commit": commit, "seed": args.seed, "mutant": str(mutant), "verdict": mutant.verdict, "by": mutant.by, "seconds": round(mutant.seconds)}
                file.write(json.dumps(row | {"decision": ""}) + "\n")

    judged: list[Mutant] = []
    end = time.monotonic() + 60 * args.minutes
    for mutant in drawn:
        if len(judged) == args.count or (not mutant.verdict and time.monotonic() > end):
            break
        if not mutant.verdict:
            judge_now(mutant)
        if mutant.verdict != "unbuilt":
            judged.append(mutant)
    while bad := tests.failing_without([mutant for mutant in judged if mutant.verdict == "caught" and str(mutant) not in known]):
        tests.unreliable |= bad
        print(f"fail without a mutant, and catch none: {' '.join(sorted(bad))}", flush=True)
        for mutant in judged:
            if mutant.by in bad:
                judge_now(mutant)
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
    if args.rows and args.rows.exists():
        print(summary([json.loads(line) for line in args.rows.read_text().splitlines()]))
    return 0 if share >= args.floor else 1


def summary(rows: Sequence[dict[str, Any]]) -> str:
    """Of all that a file of rows has, over seeds and commits; the last verdict of a mutant counts."""
    last = {(row["seed"], row["mutant"]): row for row in rows if row["verdict"] != "unbuilt"}
    drawn = [row for (seed, _), row in last.items() if seed != KNOWN_SEED]
    survived = [row for row in last.values() if row["verdict"] == "survived"]
    open_ = [row["mutant"] for row in survived if not row["decision"]]
    caught = sum(row["verdict"] == "caught" for row in drawn)
    known = f"known faults: {sum(row['verdict'] == 'caught' for row in last.values()) - caught} of {len(last) - len(drawn)}"
    return "\n".join([f"all rows: {caught} of {len(drawn)} caught; {known}; survivors without a decision: {len(open_)}", *(f"  {name}" for name in open_)])


if __name__ == "__main__":
    sys.exit(main())
