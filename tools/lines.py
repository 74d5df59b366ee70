"""`python -m tools.lines [COMMIT ...]`: lines and tokens of code per folder at each commit (default: HEAD), without tests and generated files.

    python -m tools.lines 30a4846 HEAD
    python -m tools.lines --budget                  the working tree against tests/line_budget.csv; 1 if a folder has more than its row
    python -m tools.lines --write-budget            the rows as the working tree is
    python -m tools.lines --topics 30a4846..HEAD    lines that each commit added and removed, by the word before the colon of its subject

Counted are all lines of .py, .cpp, .hpp, .h, .cmake, CMakeLists.txt and jinja2 templates. Tokens are those without comments and docstrings, so that fewer,
longer lines are no saving.
"""

from __future__ import annotations

import argparse
import csv
import io
import re
import subprocess
import sys
import tarfile
import tokenize
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PRODUCT = ("alchemist", "emit_py", "emit_cpp", "templates", "ttnn_shim", "examples", "tools", "models")
BUDGET = ROOT / "tests" / "line_budget.csv"
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


def tokens_of(path: str, text: str) -> int:
    """Without comments, docstrings and line ends."""
    if not path.endswith(".py"):
        return len(re.findall(r"\w+|[^\s\w]", re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.DOTALL)))
    layout = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING, tokenize.ENDMARKER}
    count, starts_statement = 0, True
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        count += token.type not in layout and not (starts_statement and token.type == tokenize.STRING)
        starts_statement = token.type in layout
    return count


def measured(files: Iterable[tuple[str, str]]) -> dict[str, tuple[int, int]]:
    """Folder -> lines, tokens. files: paths with their texts."""
    lines: Counter[str] = Counter()
    tokens: Counter[str] = Counter()
    for path, text in files:
        lines[folder_of(path)] += text.count("\n")
        tokens[folder_of(path)] += tokens_of(path, text)
    return {folder: (lines[folder], tokens[folder]) for folder in sorted(lines)}


def at_commit(commit: str) -> Iterator[tuple[str, str]]:
    roots = [name for name in git("ls-tree", "--name-only", commit).splitlines() if name in PRODUCT]
    archive = subprocess.run(["git", "archive", commit, "--", *roots], cwd=ROOT, capture_output=True, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        for member in tar:
            if member.isfile() and is_product(member.name) and (file := tar.extractfile(member)) is not None:
                yield member.name, file.read().decode()


def in_tree() -> Iterator[tuple[str, str]]:
    for path in git("ls-files", "--cached", "--others", "--exclude-standard", "--", *PRODUCT).splitlines():
        if is_product(path) and (ROOT / path).is_file():
            yield path, (ROOT / path).read_text(encoding="utf-8")


def of_top_folders(counts: dict[str, tuple[int, int]]) -> dict[str, tuple[int, int]]:
    """alchemist by its folders, everything else by its first."""
    tops: dict[str, tuple[int, int]] = {}
    for folder, (lines, tokens) in counts.items():
        top = folder if folder.startswith("alchemist/") else folder.partition("/")[0]
        tops[top] = (tops.get(top, (0, 0))[0] + lines, tops.get(top, (0, 0))[1] + tokens)
    return tops


def over_budget() -> bool:
    """Prints each folder against its row; whether one has more lines or tokens than that."""
    budget = {row["folder"]: (int(row["lines"]), int(row["tokens"])) for row in csv.DictReader(BUDGET.open(encoding="utf-8"))}
    is_over = False
    for folder, counts in of_top_folders(measured(in_tree())).items():
        limits = budget.get(folder, (0, 0))
        more = any(count > limit for count, limit in zip(counts, limits, strict=True))
        is_over |= more
        print(f"{folder:24}{counts[0]:9,} of {limits[0]:7,} lines{counts[1]:11,} of {limits[1]:9,} tokens{'  OVER' if more else ''}")
    if is_over:
        print("a commit that needs more changes the row (python -m tools.lines --write-budget), and its body says what it made superfluous")
    return is_over


def write_budget() -> None:
    rows = [f"{folder},{lines},{tokens}\n" for folder, (lines, tokens) in of_top_folders(measured(in_tree())).items()]
    BUDGET.write_text("folder,lines,tokens\n" + "".join(rows), encoding="utf-8")


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
    parser = argparse.ArgumentParser(prog="python -m tools.lines", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("commits", nargs="*", default=["HEAD"], metavar="COMMIT")
    parser.add_argument("--topics", metavar="A..B", help="lines by topic of the commits in a range")
    parser.add_argument("--budget", action="store_true", help="the working tree against the committed rows")
    parser.add_argument("--write-budget", action="store_true", help="the rows as the working tree is")
    options = parser.parse_args()
    if options.budget:
        sys.exit(over_budget())
    if options.write_budget:
        write_budget()
        return
    if options.topics:
        print(f"{'topic':40} {'commits':>7} {'added':>7} {'removed':>7} {'net':>7}")
        for topic, (number, added, removed) in sorted(topics(options.topics).items(), key=lambda item: item[1][2] - item[1][1]):
            print(f"{topic[:40]:40} {number:7} {added:7} {removed:7} {added - removed:+7}")
        return
    counts = [measured(at_commit(commit)) for commit in options.commits]
    print(f"{'folder':40}" + "".join(f"{commit[:10] + ' lines':>18}{'tokens':>11}" for commit in options.commits))
    for folder in sorted(set().union(*counts)):
        print(f"{folder:40}" + "".join(f"{count.get(folder, (0, 0))[0]:18,}{count.get(folder, (0, 0))[1]:11,}" for count in counts))
    totals = [[sum(of) for of in zip(*count.values(), strict=True)] for count in counts]
    print(f"{'all':40}" + "".join(f"{lines:18,}{tokens:11,}" for lines, tokens in totals))


if __name__ == "__main__":
    main()
