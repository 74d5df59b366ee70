"""`python -m tests.lines [COMMIT ...]`: lines of product code per folder at each commit (default: HEAD), without tests and generated files.

    python -m tests.lines 30a4846 HEAD
    python -m tests.lines --topics 30a4846..HEAD    lines that each commit added and removed, by the word before the colon of its subject

Counted are all lines of .py, .cpp, .hpp, .h, .cmake, CMakeLists.txt and jinja2 templates.
"""

from __future__ import annotations

import argparse
import re
import subprocess
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
PRODUCT = ("alchemist", "emit_py", "emit_cpp", "templates", "ttnn_shim", "examples")
SUFFIXES = (".py", ".cpp", ".hpp", ".h", ".cmake", ".cmake.in", "CMakeLists.txt", ".j2")
# What a tool of ours wrote and older commits hold; the build makes it now.
GENERATED = ("ttnn_shim/src/ops/arguments.hpp", "ttnn_shim/src/ops/eltwise/op_names.cpp", "ttnn_shim/src/sim/arch_tables.cpp")


def git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout


def is_product(path: str) -> bool:
    return path.startswith(tuple(f"{name}/" for name in PRODUCT)) and path.endswith(SUFFIXES) and path not in GENERATED


def folder_of(path: str) -> str:
    """Two levels deep, three in the C++ core."""
    parts = path.split("/")[:-1]
    return "/".join(parts[: 3 if path.startswith("ttnn_shim/") else 2])


def lines_at(commit: str) -> Counter[str]:
    """Folder -> lines."""
    counts: Counter[str] = Counter()
    for row in git("grep", "-c", "", commit, "--", *PRODUCT).splitlines():
        path, _, lines = row.removeprefix(f"{commit}:").rpartition(":")
        if is_product(path):
            counts[folder_of(path)] += int(lines)
    return counts


def topics(commits: str) -> dict[str, tuple[int, int, int]]:
    """First word of the subjects -> commits, lines added, lines removed."""
    found: dict[str, tuple[int, int, int]] = {}
    for part in git("log", "--no-merges", "--numstat", "--format=%x00%s", commits).split("\0")[1:]:
        subject, *rows = part.strip().splitlines()
        topic = re.split(r"[:,]", subject)[0].lower() if ":" in subject else "(none)"
        changes = [row.split("\t") for row in rows if row and is_product(row.split("\t")[2]) and row[0] != "-"]
        number, added, removed = found.get(topic, (0, 0, 0))
        found[topic] = (number + 1, added + sum(int(row[0]) for row in changes), removed + sum(int(row[1]) for row in changes))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.lines", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("commits", nargs="*", default=["HEAD"], metavar="COMMIT")
    parser.add_argument("--topics", metavar="A..B", help="lines by topic of the commits in a range")
    options = parser.parse_args()
    if options.topics:
        print(f"{'topic':40} {'commits':>7} {'added':>7} {'removed':>7} {'net':>7}")
        for topic, (number, added, removed) in sorted(topics(options.topics).items(), key=lambda item: item[1][2] - item[1][1]):
            print(f"{topic[:40]:40} {number:7} {added:7} {removed:7} {added - removed:+7}")
        return
    counts = [lines_at(commit) for commit in options.commits]
    print(f"{'folder':40}" + "".join(f"{commit[:10]:>11}" for commit in options.commits))
    for folder in sorted(set().union(*counts)):
        print(f"{folder:40}" + "".join(f"{count[folder]:11,}" for count in counts))
    print(f"{'all':40}" + "".join(f"{count.total():11,}" for count in counts))


if __name__ == "__main__":
    main()
