"""`python -m tools.prose [FILE ...]`: long sentences, long lines and words of a private dialect in Markdown pages.

    python -m tools.prose README.md     every finding, with its line
    python -m tools.prose --check       no page has more findings than tests/data/prose_budget.csv allows (part of `make check`)
    python -m tools.prose --write       lowers the budget to what the pages have now; a new page starts with none allowed

The rules: a sentence has at most 30 words, a line at most 100 characters, and the textbook's word comes before a private one (CONTRIBUTING.md).
Code, tables, links' targets and generated blocks do not count. The budget holds findings of older pages and only shrinks.
"""

from __future__ import annotations

import argparse
import csv
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUDGET = ROOT / "tests" / "data" / "prose_budget.csv"
LONGEST_SENTENCE_WORDS = 30
LONGEST_LINE_CHARACTERS = 100
KINDS = ("sentence", "line", "word")

DIALECT = re.compile(
    r"\b(is|are|was) (said|told|turned|alike|wanted|meant)\b|\bgives? back\b|\bwhat lies\b|\blies? in\b|\bstands? in front\b"
    r"|\bin front of all\b|\bone more of\b|\bthe given\b|\bits like\b|\ball that\b|\bwhat is (cut|made|read|held)\b",
    re.IGNORECASE,
)
"""Everyday verbs in the place of technical terms, as they were found in these pages."""

SKIPPED_BLOCK = re.compile(r"^```.*?^```\s*$|<!-- shown: .*?<!-- /shown -->|<!--.*?-->", re.DOTALL | re.MULTILINE)
SENTENCE_END = re.compile(r"(?<=[.!?:;])\s+(?=[A-Z`*\[(\"])")


def pages() -> list[str]:
    """Markdown files that git tracks, but for data, licences and lists that a command writes."""
    listed = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    return [path for path in listed if not path.startswith(("tests/data/", "licenses/", ".github/"))]


def findings(text: str) -> Iterator[tuple[int, str, str]]:
    """(line number, kind, what) of a page."""
    blanked = SKIPPED_BLOCK.sub(lambda block: "\n" * block[0].count("\n"), text)
    paragraph: list[tuple[int, str]] = []
    for number, line in enumerate([*blanked.splitlines(), ""], 1):
        is_prose = bool(line.strip()) and not line.lstrip().startswith(("|", "#", "![")) and not line.startswith("    ")
        starts_item = re.match(r"\s*([-*]|\d+\.) ", line)
        if paragraph and (not is_prose or starts_item):
            yield from _sentences(paragraph)
            paragraph = []
        if is_prose:
            paragraph.append((number, line.strip()))
            if len(line) > LONGEST_LINE_CHARACTERS and not re.fullmatch(r"\S*\]\(\S+\)\S*", line.strip()):
                yield number, "line", f"{len(line)} characters"
            for match in DIALECT.finditer(re.sub(r"`[^`]*`", "", line)):
                yield number, "word", match[0]


def _sentences(paragraph: list[tuple[int, str]]) -> Iterator[tuple[int, str, str]]:
    """Sentences that are too long, by the line that the paragraph starts at."""
    text = re.sub(r"\]\([^)]*\)", "]", " ".join(line for _, line in paragraph))
    for sentence in SENTENCE_END.split(text):
        words = len(re.findall(r"[\w'`./-]+", sentence))
        if words > LONGEST_SENTENCE_WORDS:
            yield paragraph[0][0], "sentence", f"{words} words: {sentence[:60]} ..."


def counts(path: str) -> dict[str, int]:
    found = [kind for _, kind, _ in findings((ROOT / path).read_text(encoding="utf-8"))]
    return {kind: found.count(kind) for kind in KINDS}


def read_budget() -> dict[str, dict[str, int]]:
    with BUDGET.open(newline="", encoding="utf-8") as file:
        return {row["page"]: {kind: int(row[kind]) for kind in KINDS} for row in csv.DictReader(file)}


def write_budget(allowed: dict[str, dict[str, int]]) -> None:
    with BUDGET.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["page", *KINDS])
        writer.writerows([page, *(row[kind] for kind in KINDS)] for page, row in sorted(allowed.items()) if any(row.values()))


def over_budget(present: dict[str, dict[str, int]], allowed: dict[str, dict[str, int]]) -> list[str]:
    """What to say of pages that have more findings than allowed."""
    lines = []
    for page, row in present.items():
        limits = allowed.get(page, dict.fromkeys(KINDS, 0))
        more = [f"{kind} {row[kind]} (allowed {limits[kind]})" for kind in KINDS if row[kind] > limits[kind]]
        if more:
            lines.append(f"{page}: {', '.join(more)}; `python -m tools.prose {page}` lists them")
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare with the budget; exit 1 where a page has more findings")
    parser.add_argument("--write", action="store_true", help="lower the budget to what the pages have now")
    parser.add_argument("files", nargs="*", help="pages to list the findings of (default: all)")
    options = parser.parse_args()
    if options.check or options.write:
        present, allowed = {page: counts(page) for page in pages()}, read_budget() if BUDGET.is_file() else None
        if options.write:
            lowered = present if allowed is None else {p: {k: min(row[k], allowed[p][k]) for k in KINDS} for p, row in present.items() if p in allowed}
            write_budget(lowered)
            return 0
        failed = over_budget(present, allowed or {})
        print("\n".join(failed))
        return 1 if failed else 0
    for page in options.files or pages():
        for number, kind, what in findings((ROOT / page).read_text(encoding="utf-8")):
            print(f"{page}:{number}: {kind}: {what}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
