"""`python -m tools.prose [FILE ...]`: long sentences, long lines, words of a private dialect and loose figures in Markdown pages; and how long the pages are.

    python -m tools.prose README.md     every finding, with its line
    python -m tools.prose --check       no page has more findings than tests/data/prose_budget.csv allows (part of `make check`)
    python -m tools.prose --write       lowers the budget to what the pages have now; a new page starts with none allowed
    python -m tools.prose --size        bytes that each page of users has by hand, and their sum

The rules: a sentence has at most 30 words, a line at most 100 characters, and the textbook's word comes before a private one (CONTRIBUTING.md).
A measured figure (with %, ms, us, ns, s or x) on a page of users is a link to the page of docs/lab, or its section, that has this number, as in
`[1.9 %](lab/clock.md#collectives)`: so it has one source, and no page contradicts another. The pages of users have at most 80 KB by hand, each at most 8.
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
KINDS = ("sentence", "line", "word", "figure")
ALL_PAGES_BYTES, PAGE_BYTES = 80 << 10, 8 << 10

DIALECT = re.compile(
    r"\b(is|are|was) (said|told|turned|alike|wanted|meant)\b|\bgives? back\b|\bwhat lies\b|\blies? in\b|\bstands? in front\b"
    r"|\bin front of all\b|\bone more of\b|\bthe given\b|\bits like\b|\ball that\b|\bwhat is (cut|made|read|held)\b",
    re.IGNORECASE,
)
"""Everyday verbs in the place of technical terms, as they were found in these pages."""

GENERATED_BLOCK = r"<!-- shown: .*?<!-- /shown -->|<!-- integer ops -->.*?<!-- /integer ops -->"
SKIPPED_BLOCK = re.compile(rf"^```.*?^```\s*$|{GENERATED_BLOCK}|<!--.*?-->", re.DOTALL | re.MULTILINE)
NOT_BY_HAND = re.compile(rf"^```console.*?^```\s*$|{GENERATED_BLOCK}", re.DOTALL | re.MULTILINE)
"""What a command writes, and sessions, which tests replay (tests/docs/sessions.py)."""

FIGURE = re.compile(r"(?<![\w.,-])(\d[\d,]*(?:\.\d+)?)(?:\s(?:to|and)\s\d[\d.]*)?\s?(?:%|ms\b|us\b|µs\b|ns\b|s\b|x\b(?! ?\d))")
REFERENCE = re.compile(r"\[([^\[\]]*)\]\(((?:docs/)?lab/[\w.]+)(?:#([^)]*))?\)")
WRITTEN_BY_COMMANDS = ("docs/ops.md", "docs/onnx.md", "docs/errors.md")
SENTENCE_END = re.compile(r"(?<=[.!?:;])\s+(?=[A-Z`*\[(\"])")


def pages() -> list[str]:
    """Markdown files that git tracks, but for data, licences and lists that a command writes."""
    listed = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    return [path for path in listed if not path.startswith(("tests/data/", "licenses/", ".github/"))]


def is_for_users(path: str) -> bool:
    """README and the pages of docs/ itself, but for the lists that commands write."""
    return path == "README.md" or (path.startswith("docs/") and path.count("/") == 1 and path not in WRITTEN_BY_COMMANDS)


def bytes_by_hand(text: str) -> int:
    return len(NOT_BY_HAND.sub("", text).encode())


def sizes() -> dict[str, int]:
    """Bytes by hand of each page of users."""
    return {path: bytes_by_hand((ROOT / path).read_text(encoding="utf-8")) for path in pages() if is_for_users(path)}


def too_long(present: dict[str, int]) -> list[str]:
    """What to say of pages that are longer than they may be, alone or together."""
    total = sum(present.values())
    lines = [f"{path}: {size} bytes by hand (allowed {PAGE_BYTES})" for path, size in present.items() if size > PAGE_BYTES]
    return lines + ([f"pages of users: {total} bytes by hand (allowed {ALL_PAGES_BYTES})"] if total > ALL_PAGES_BYTES else [])


def loose_figures(text: str, folder: Path) -> Iterator[tuple[int, str, str]]:
    """Measured figures that are no link to a page of docs/lab, or that this page does not have. folder: the links start there."""
    blanked = SKIPPED_BLOCK.sub(lambda block: "\n" * block[0].count("\n"), text)
    blanked = re.sub(r"`[^`]*`|^    .*$", lambda code: "`" + "\n" * code[0].count("\n"), blanked, flags=re.MULTILINE)
    wrong: list[tuple[int, str, str]] = []

    def follow(link: re.Match[str]) -> str:
        page = folder / link[2]
        source = _section(page.read_text(encoding="utf-8"), link[3]) if page.is_file() else ""
        for number in re.findall(r"\d[\d,]*(?:\.\d+)?", link[1] if FIGURE.search(link[1]) else ""):
            if not re.search(rf"(?<![\d.]){re.escape(number)}(?![\d.]*\d)", source):
                wrong.append((blanked[: link.start()].count("\n") + 1, "figure", f"{number} is not in {link[2]}"))
        return "\n" * link[0].count("\n")

    rest = REFERENCE.sub(follow, blanked)
    for found in FIGURE.finditer(rest):
        wrong.append((rest[: found.start()].count("\n") + 1, "figure", f"{found[0]!r} is no link to the page of docs/lab that has it"))
    yield from sorted(wrong, key=lambda one: one[0])


def _section(text: str, anchor: str | None) -> str:
    """The part of a page below the heading that `#anchor` goes to; the page without an anchor."""
    parts = re.split(r"^(#+ .*)$", text, flags=re.MULTILINE)
    below = {re.sub(r"[^\w -]", "", heading.lstrip("# ").lower()).replace(" ", "-"): part for heading, part in zip(parts[1::2], parts[2::2], strict=True)}
    return text if anchor is None else below.get(anchor, "")


def findings(text: str, folder: Path | None = None) -> Iterator[tuple[int, str, str]]:
    """(line number, kind, what) of a page. folder: of a page of users, whose figures are looked up."""
    if folder is not None:
        yield from loose_figures(text, folder)
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


def of_page(path: str) -> Iterator[tuple[int, str, str]]:
    return findings((ROOT / path).read_text(encoding="utf-8"), (ROOT / path).parent if is_for_users(path) else None)


def counts(path: str) -> dict[str, int]:
    found = [kind for _, kind, _ in of_page(path)]
    return {kind: found.count(kind) for kind in KINDS}


def read_budget() -> dict[str, dict[str, int]]:
    with BUDGET.open(newline="", encoding="utf-8") as file:
        return {row["page"]: {kind: int(row.get(kind, 0)) for kind in KINDS} for row in csv.DictReader(file)}


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
    parser.add_argument("--size", action="store_true", help="bytes by hand of each page of users")
    parser.add_argument("files", nargs="*", help="pages to list the findings of (default: all)")
    options = parser.parse_args()
    if options.check or options.write:
        present, allowed = {page: counts(page) for page in pages()}, read_budget() if BUDGET.is_file() else None
        if options.write:
            lowered = present if allowed is None else {p: {k: min(row[k], allowed[p][k]) for k in KINDS} for p, row in present.items() if p in allowed}
            write_budget(lowered)
            return 0
        failed = over_budget(present, allowed or {}) + too_long(sizes())
        print("\n".join(failed))
        return 1 if failed else 0
    if options.size:
        for page, size in (found := sizes()).items():
            print(f"{size:7} {page}")
        print(f"{sum(found.values()):7} of {ALL_PAGES_BYTES}")
        return 0
    for page in options.files or pages():
        for number, kind, what in of_page(page):
            print(f"{page}:{number}: {kind}: {what}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
