"""`python -m tools.lit_share DIR`: tt-mlir's own tests below a directory under `lit` and `filecheck`, with our scripts in the place of its commands.

Prints a page: per directory how many tests pass, fail and need what is not here (TTMetal, EmitC and EmitPy dialects, a card, libraries of its
build), then the causes of the failures, each with the tests. Nothing of the directory is changed: the tests run in a copy.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from pathlib import Path

CONFIG = """
import lit.formats
config.name = "tt-mlir"
config.suffixes = [".mlir"]
config.excludes = ["Inputs"]
config.test_format = lit.formats.ShTest(False)
config.targets = {{"n150"}}
config.available_features.update(["stablehlo", "n150", "wormhole_b0"])
lit_config.parallelism_groups["opmodel"] = 1
config.environment["PATH"] = {path!r}
config.environment["SYSTEM_DESC_PATH"] = {descriptor!r}
config.environment["OMP_NUM_THREADS"] = "1"
config.substitutions += [("%system_desc_path%", {descriptor!r}), ("FileCheck", "filecheck")]
"""
ABSENT = re.compile(
    r"RUN:.*(?:d2m|ttmetal|ttkernel|linalg)|\b(?:d2m|ttmetal|ttkernel|emitc|emitpy)\.\w|%models|%ttmlir_(?:libs|tools|test_root|scripts_root)|%shlibext|%python"
)
"""Texts of dialects that have no form here, RUN lines that lower to them, and those that take something from a build of tt-mlir."""
CAUSES = {
    "several chips": r"several chips|one chip|mesh",
    "TTMetal, D2M, TTKernel": r"TTMetal|d2m|ttmetal|ttkernel|2025-09-25",
    "a pass without a form here": r"no pass, pipeline or option|unknown argument|unrecognized arguments|no compiler option",
    "an error in other words": r"Couldn't match .*error: |unexpected error|expected error",
    "a text that is not read": r"error\[ALC-0[27]\d\d\]",
    "an op that is not lowered": r"error\[ALC-0[13]\d\d\]",
    "a program that is not made": r"error\[ALC-",
    "other text than its CHECK lines": r"error: (?:Couldn't match|\S*-?(?:NOT|SAME|NEXT|DAG|COUNT)?\S*)|CHECK",
}
"""Cause -> pattern in the output of a failed test, the first one counts."""


def cause_of(output: str) -> str:
    return next((cause for cause, pattern in CAUSES.items() if re.search(pattern, output)), "other")


def chosen_tests(root: Path, match: str, sample: int, seed: int) -> list[Path]:
    """Tests with RUN lines below `root`, relative to it."""
    found = [path.relative_to(root) for path in sorted(root.rglob("*.mlir")) if "// RUN:" in path.read_text(encoding="utf-8", errors="replace")]
    found = [path for path in found if re.search(match, str(path))]
    return sorted(random.Random(seed).sample(found, sample)) if 0 < sample < len(found) else found


def run(root: Path, tests: list[Path], jobs: int, folder: Path) -> list[dict[str, str]]:
    """lit's record of every test: `name`, `code` (PASS, FAIL, UNSUPPORTED, XFAIL, XPASS), `output`."""
    tree, scripts = folder / "tests", Path(sys.executable).parent
    shutil.copytree(root, tree)
    subprocess.run([scripts / "ttrt", "query", "--card", "n150", "--output", folder / "n150.ttsys", "--quiet"], check=True, cwd=folder)
    words = {"path": f"{scripts}:/usr/bin:/bin", "descriptor": str(folder / "n150.ttsys")}
    (tree / "lit.cfg.py").write_text(CONFIG.format(**words))
    for test in tests:
        text = (tree / test).read_text(encoding="utf-8", errors="replace")
        if ABSENT.search(text):
            (tree / test).write_text(f"// UNSUPPORTED: true\n{text}")
    results = folder / "results.json"
    command = [scripts / "lit", "-q", "-j", str(jobs), "--timeout", "600", "-o", results, *(tree / test for test in tests)]
    subprocess.run(command, check=False, stdout=subprocess.DEVNULL)
    return list(json.loads(results.read_text())["tests"])


def page(records: list[dict[str, str]]) -> str:
    """Markdown: a row per directory, then causes."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    causes: dict[str, list[str]] = defaultdict(list)
    for record in records:
        name, code = record["name"].partition(" :: ")[2], record["code"]
        kind = "pass" if code in ("PASS", "XFAIL") else "unsupported" if code == "UNSUPPORTED" else "fail"
        for directory in ("/".join(Path(name).parts[:2][: max(len(Path(name).parts) - 1, 1)]), "all"):
            counts[directory][kind] += 1
        if kind == "fail":
            special = {"XPASS": "an error that it expects and that does not come", "TIMEOUT": "ten minutes"}
            causes[special[code] if code in special else cause_of(record["output"])].append(name)
    rows = ["| directory | pass | fail | unsupported | share |", "|---|---|---|---|---|"]
    for directory, row in sorted(counts.items(), key=lambda pair: (pair[0] == "all", pair[0])):
        able = row["pass"] + row["fail"]
        share = f"{row['pass'] / able:.0%}" if able else ""
        rows.append(f"| {directory} | {row['pass']} | {row['fail']} | {row['unsupported']} | {share} |")
    rows += ["", "| cause | tests |", "|---|---|"]
    rows += [f"| {cause} | {len(names)}: {', '.join(names)} |" for cause, names in sorted(causes.items(), key=lambda pair: -len(pair[1]))]
    return "\n".join(rows)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.lit_share", description=__doc__.partition("\n")[0])
    parser.add_argument("directory", type=Path)
    parser.add_argument("--match", default="", metavar="REGEX", help="only tests whose path matches")
    parser.add_argument("--sample", type=int, default=0, metavar="N", help="N tests, drawn at random")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--outputs", type=Path, metavar="FILE", help="what lit says of each failed test")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        records = run(args.directory, chosen_tests(args.directory, args.match, args.sample, args.seed), args.jobs, Path(name))
    print(page(records))
    if args.outputs:
        args.outputs.write_text("\n\n".join(f"=== {one['name']}: {one['code']}\n{one['output']}" for one in records if one["code"] in ("FAIL", "XPASS")))
    return 0


if __name__ == "__main__":
    sys.exit(main())
