"""Puts the questions of one kind in a process of one side: `python -m tools.behaviour_diff.ask KIND FILE`, names of rows on standard input.

Rows are appended to FILE as they are made, a JSON list of name and answer in each line.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

Row = tuple[str, str]


def _programs(_: Sequence[str]) -> Iterator[Row]:
    from tests.program import whole

    for name, language in whole.CASES:
        yield f"{name}, {language}", whole.program(name, language)


def _modules(_: Sequence[str]) -> Iterator[Row]:
    import tempfile

    for folder in ("passes", "optimizer"):
        sys.path.insert(0, str(Path("tests", folder).resolve()))
    import test_near_misses
    import ttir_cases

    from alchemist.ir.text import print_module
    from alchemist.passes import lower_to_ttnn
    from tests.cli import pipelines
    from tools.behaviour_diff.questions import levels

    for name, case in ttir_cases.NAMED.items():
        yield f"lowered {name}", print_module(lower_to_ttnn(case.module()).module)
    for name in test_near_misses.NAMES:
        for case, changed in test_near_misses.changes(name):
            yield f"{name} of {case}", print_module(changed)
    for name, card in levels.OFFERED:
        yield f"candidates of {name}, {card}", "\n".join(levels.offered(name, card))
    for name, card, level in levels.CASES:
        yield f"decisions of {name}, {card}, level {level}", "\n".join(levels.decided(name, card, level))
    with tempfile.TemporaryDirectory() as scratch:
        for source in pipelines.SOURCES:
            for language in pipelines.LANGUAGES:
                lowered, program = pipelines.texts(source, language, Path(scratch))
                yield f"pipeline of {source}, {language}", lowered.replace(str(pipelines.DATA), "DATA") + pipelines.own(program)


def _words(_: Sequence[str]) -> Iterator[Row]:
    from tests.cli import commands
    from tests.reports import made_up
    from tools.behaviour_diff.questions import refusals, uses

    for part in commands.sessions():
        title, _, said = part.partition("\n")
        yield title, said
    for line in commands.options():
        title, _, said = line.partition(": ")
        yield title, said
    for name, text in refusals.texts():
        yield f"MLIR {name}", refusals.said(name, text)
    for name, row in uses.rows():
        yield f"what may change in a use of {name}", row
    for title, said in made_up.reports().items():
        yield f"report {title}", said


def _values(_: Sequence[str]) -> Iterator[Row]:
    import ttnn_shim

    ttnn_shim.activate(explicit=True)
    from tools.behaviour_diff.questions import values

    for part in values.text().split("=== ")[1:]:
        title, _, said = part.partition("\n")
        yield title, said


def _calls(card: str) -> Callable[[Sequence[str]], Iterator[Row]]:
    def asked(_: Sequence[str]) -> Iterator[Row]:
        from tools.behaviour_diff.questions import calls

        yield from calls.answers(card)

    return asked


def _answers(_: Sequence[str]) -> Iterator[Row]:
    from tools.behaviour_diff.questions import answers

    for card in answers.CARDS:
        yield from answers.answers(card)


def _prices(_: Sequence[str]) -> Iterator[Row]:
    from tools.behaviour_diff.questions import prices

    yield from prices.prices()


def _exports(names: Sequence[str]) -> Iterator[Row]:
    from tools.behaviour_diff import exports

    yield from exports.export_all(names)


def _made(_: Sequence[str]) -> Iterator[Row]:
    import os
    import subprocess
    import tempfile

    from tools.behaviour_diff.made import FOLDERS

    with tempfile.TemporaryDirectory() as scratch:
        rows = Path(scratch) / "rows.jsonl"
        settings = ("-c", str(Path(__file__).resolve().parents[2] / "pyproject.toml"), "--rootdir", ".", "--continue-on-collection-errors", "-m", "not slow")
        words = [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", "-p", "no:cacheprovider", "-p", "tools.behaviour_diff.made", *settings, *FOLDERS]
        subprocess.run(words, env=os.environ | {"BEHAVIOUR_ROWS": str(rows)}, stdout=sys.stderr, check=False)
        for line in rows.read_text(encoding="utf-8").splitlines():
            name, text = json.loads(line)
            yield name, text


ASKED: dict[str, Callable[[Sequence[str]], Iterator[Row]]] = {
    "programs": _programs,
    "modules": _modules,
    "words": _words,
    "values": _values,
    "answers": _answers,
    "calls_n150": _calls("n150"),
    "calls_p150": _calls("p150"),
    "prices": _prices,
    "exports": _exports,
    "made": _made,
}


def main() -> None:
    warnings.simplefilter("ignore")
    kind, path = sys.argv[1:]
    names = sys.stdin.read().splitlines()
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    with open(path, "a", encoding="utf-8") as file:
        for row in ASKED[kind](names):
            file.write(json.dumps(row) + "\n")
            file.flush()


if __name__ == "__main__":
    main()
