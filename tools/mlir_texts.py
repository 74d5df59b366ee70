"""`python -m tools.mlir_texts DIR`: how many MLIR texts below a directory are read and become programs.

One row per level (StableHLO, TTIR, TTNN, other): files, those that parse and verify, those that generate in each language, and with
`--check` those whose Python export passes `./run --check`. Texts with `// -----` count part by part. A text is negative when its
comments expect an error; it is right when it is refused. `--errors` lists every failing text with its first error.
"""

from __future__ import annotations

import argparse
import random
import re
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

LEVELS = ("stablehlo", "ttir", "ttnn", "other")
STEPS = ("parse", "python", "cpp", "check")
_OPS = re.compile(r'(?m)^[^/\n]*?"?\b(?!ttir\.cpu_module\b)(stablehlo|chlo|ttir|ttnn|ttkernel|ttmetal|d2m|emitc|emitpy|linalg|tosa|vhlo|sdy|llvm)\.\w')
_OTHER = {"ttkernel", "ttmetal", "d2m", "emitc", "emitpy", "linalg", "tosa", "vhlo"}


@dataclass(slots=True)
class Outcome:
    """What became of one text. steps: those that succeeded; error: of the first that did not."""

    name: str
    level: str
    negative: bool
    steps: set[str] = field(default_factory=set)
    error: str = ""


def level_of(text: str) -> str:
    """The dialect at which a text enters: that of its ops, the highest one if there are several. Functions on tensors without such ops count as TTIR."""
    found = set(_OPS.findall(text))
    if found & _OTHER:
        return "other"
    for level, dialects in (("stablehlo", {"stablehlo", "chlo", "sdy"}), ("ttir", {"ttir"}), ("ttnn", {"ttnn"})):
        if found & dialects:
            return level
    return "ttir" if "func.func" in text and "tensor<" in text else "other"


def texts(root: Path) -> Iterator[tuple[str, str, str]]:
    """(name, text, comment lines of the whole file) of every part of every .mlir file below `root`."""
    from alchemist.frontends.mlir.read import parts

    for path in sorted(root.rglob("*.mlir")):
        whole = path.read_text(encoding="utf-8", errors="replace")
        split = parts(whole) if "split-input-file" in whole else [whole]
        run_lines = "\n".join(line for line in whole.splitlines() if "RUN:" in line)
        for index, part in enumerate(split):
            yield f"{path.relative_to(root)}" + (f"#{index}" if len(split) > 1 else ""), part, run_lines


def _too_long(number: int, frame: FrameType | None) -> None:
    raise TimeoutError("more than a minute")


def judge(name: str, text: str, run_lines: str, check: bool) -> Outcome:
    """Reads one text, generates both languages for the mesh of its command line, and runs the export on request; stops after a minute a step."""
    from alchemist.codegen import codegen_mlir, mlir_sources
    from alchemist.frontends.mlir.read import read_module

    whole = f"{run_lines}\n{text}"
    single = "#" not in name
    mesh = re.search(r"\bmesh-shape=(\d+,\d+)", run_lines)
    options = {"mesh_shape": mesh[1]} if mesh and "meshes" not in text else {}
    refused = re.search(r"expected-error|CHECK(?:-\w+)?: error", text)
    errors = bool(refused) if not single else bool(refused or re.search(r"not (?:--crash )?ttmlir-opt|verify-diagnostics", whole))
    found = Outcome(name, level_of(text), errors)
    signal.signal(signal.SIGALRM, _too_long)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{Path(name.partition('#')[0]).stem}.mlir"
        path.write_text(text, encoding="utf-8")

        def run_check() -> None:
            result = codegen_mlir(path, language="python", export_path=Path(folder) / "export", compiler_options=options)
            done = subprocess.run([sys.executable, str(Path(result.path) / "main.py"), "--check"], capture_output=True, text=True, timeout=120, check=False)
            if done.returncode:
                raise RuntimeError((done.stdout + done.stderr).strip().splitlines()[-1])

        actions = {
            "parse": lambda: read_module(text, path.name),
            "python": lambda: mlir_sources(path, language="python", compiler_options=options),
            "cpp": lambda: mlir_sources(path, language="cpp", compiler_options=options),
            "check": run_check,
        }
        for step in STEPS if check else STEPS[:-1]:
            signal.alarm(60)
            try:
                actions[step]()
                found.steps.add(step)
            except Exception as error:  # noqa: BLE001 (whatever it is, it is this text's result)
                found.error = found.error or f"{step}: {type(error).__name__}: " + " ".join(str(error).split())[:220].replace(folder + "/", "")
                break
            finally:
                signal.alarm(0)
    return found


def table(outcomes: list[Outcome], check: bool) -> str:
    """Markdown: a row per level and, under it, how many negative texts are refused."""
    steps = STEPS if check else STEPS[:-1]
    rows = ["| level | texts | " + " | ".join(steps) + " | negative | refused |", "|---" * (len(steps) + 4) + "|"]
    for level in LEVELS:
        positive = [one for one in outcomes if one.level == level and not one.negative]
        negative = [one for one in outcomes if one.level == level and one.negative]
        if positive or negative:
            counts = Counter(step for one in positive for step in one.steps)
            refused = sum("python" not in one.steps for one in negative)
            rows.append(f"| {level} | {len(positive)} | " + " | ".join(str(counts[step]) for step in steps) + f" | {len(negative)} | {refused} |")
    return "\n".join(rows)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.mlir_texts", description=__doc__.partition("\n")[0])
    parser.add_argument("directory", type=Path)
    parser.add_argument("--match", default="", metavar="REGEX", help="only texts whose name matches")
    parser.add_argument("--check", action="store_true", help="also run every Python export with --check")
    parser.add_argument("--errors", action="store_true", help="list every text that fails, with its error")
    parser.add_argument("--level", choices=LEVELS, help="only texts of this level")
    parser.add_argument("--sample", type=int, default=0, metavar="N", help="at most N texts of a level, drawn with seed 7")
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()
    chosen = [one for one in texts(args.directory) if re.search(args.match, one[0])]
    if args.level:
        chosen = [one for one in chosen if level_of(one[1]) == args.level]
    if args.sample:
        by_level = {level: [one for one in chosen if level_of(one[1]) == level] for level in LEVELS}
        draw = random.Random(7)
        chosen = [one for each in by_level.values() for one in (draw.sample(each, args.sample) if len(each) > args.sample else each)]
    with ProcessPoolExecutor(args.jobs) as pool:
        outcomes = list(pool.map(judge, *zip(*chosen, strict=True), [args.check] * len(chosen))) if chosen else []
    print(table(outcomes, args.check))
    if args.errors:
        for one in outcomes:
            if one.error and not one.negative:
                print(f"{one.name}: {one.error}")
            elif one.negative and "python" in one.steps:
                print(f"{one.name}: generates, must not")
    return 0


if __name__ == "__main__":
    sys.exit(main())
