"""`./run --what-if`: what would make an emitted program faster, each change written into a copy of it and priced by a run of the clock.

A suggestion is an edit of the source text (`alchemist.tools.changes`); its gain is the device time of the program minus that of the edited one, so what
other calls make of the change (an output in L1, another data type) is in it. Values are not computed: `./run --check` says what a change costs in accuracy.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ttnn_shim.command_line import CommandParser, complain
from ttnn_shim.error_bands import relative_error
from ttnn_shim.json_files import read_json
from ttnn_shim.reports.answers import Answer, Batch, Edit, Suggestion, as_data, table
from ttnn_shim.reports.calls import Run, run_of
from ttnn_shim.run import CARDS, card_name

import ttnn_shim
from alchemist.tools import batches
from alchemist.tools.changes import MATMULS, suggestions
from alchemist.tools.clock_run import profile_of
from alchemist.tools.program_text import Source, edited

LINES = 12
"""Lines of the program, by falling time, for which changes are tried."""
TOGETHER = 3
"""Suggestions that are tried in one program."""
LEAST_GAIN = 0.002
"""Share of the device time below which a gain is not told."""
BATCHES = (2, 8)
"""How many times as many inputs at once are tried."""


class Pricer:
    """Runs the program, as it is or edited, with the clock alone. Raises ValueError when the program itself does not run."""

    def __init__(self, program: Path, card: str) -> None:
        self._program, self._card = program, card
        files = [program / name for name in ("main.py", "consteval.py")]
        self.sources = {file.name: Source(file.name, file.read_text(encoding="utf-8")) for file in files if file.is_file()}
        self.run: Run | None = None
        self.grid = (8, 8)

    def price(self, edits: Sequence[Edit] = (), factor: int = 1) -> float | None:
        """Device time in nanoseconds, None where the library refuses the edited program. factor: how many times as many inputs."""
        with tempfile.TemporaryDirectory(prefix="alchemist-what-if-") as name:
            folder = Path(name).resolve()
            for file in self._program.iterdir():
                if file.suffix == ".py" and file.name in self.sources:
                    changes = [edit for edit in edits if edit.file == file.name]
                    (folder / file.name).write_text(edited(self.sources[file.name].text, changes), encoding="utf-8")
                elif file.suffix == ".py":
                    shutil.copy(file, folder / file.name)
                elif file.name in ("manifest.json", "tensors", "golden") and not (file.name == "manifest.json" and factor > 1):
                    (folder / file.name).symlink_to(file)
            if factor > 1:
                (folder / "manifest.json").write_text(json.dumps(batches.with_batch(self._manifest(), factor)), encoding="utf-8")
            result = folder / "result.json"
            with batches.sizes_for(factor) if factor > 1 else contextlib.nullcontext():
                done, profile = profile_of(folder / "main.py", folder, self._card, ["--json", str(result)] if factor > 1 else ())
            if profile is None:
                if not edits and factor == 1:
                    raise ValueError(f"the program does not run: {done['report'] or done['code']}")
                return None
            if factor > 1 and not batches.as_expected(self._manifest(), read_json(result), factor):
                return None
            if not edits and factor == 1:
                self.run, self.grid = run_of(profile, self._program.name), profile.grid
            return profile.device_ns

    def _manifest(self) -> dict[str, object]:
        return dict(read_json(self._program / "manifest.json"))

    def batches(self) -> list[Batch]:
        """The price of several times as many inputs, for programs that have a batch."""
        if not (self._program / "manifest.json").is_file() or not (size := batches.batch_of(self._manifest())):
            return []
        prices = {factor: self.price(factor=factor) for factor in BATCHES}
        return [Batch(size * factor, ns, ns / factor) for factor, ns in prices.items() if ns is not None]


def ask(program: Path, card: str, lines: int = LINES) -> Answer:
    """Prices every suggestion. program: directory of main.py."""
    pricer = Pricer(program, card)
    now_ns = pricer.price()
    assert now_ns is not None
    assert pricer.run is not None
    found, refused = [], 0
    tried = suggestions(pricer.run, pricer.sources, pricer.grid, lines)
    for number, suggestion in enumerate(tried):
        if sys.stderr.isatty():  # one line, written over
            print(
                f"\rwhat-if {number + 1} of {len(tried)}: {suggestion.what[:60]:60}", end="\n" if number + 1 == len(tried) else "", file=sys.stderr, flush=True
            )
        new_ns = pricer.price(suggestion.edits)
        if new_ns is None:
            refused += 1
        elif now_ns - new_ns > LEAST_GAIN * now_ns:
            gain = now_ns - new_ns
            found.append(replace(suggestion, gain_ns=gain, error_ns=gain * _band(suggestion.what, card)))
    found.sort(key=lambda one: -one.gain_ns)
    found = _apart(found)
    together: list[Suggestion] = []
    best_ns = now_ns
    for suggestion in found[: 3 * TOGETHER]:  # what each gains alone, two may not gain together, and L1 may not hold both
        new_ns = pricer.price([edit for one in (*together, suggestion) for edit in one.edits])
        if new_ns is not None and best_ns - new_ns > LEAST_GAIN * now_ns:
            together.append(suggestion)
            best_ns = new_ns
        if len(together) == TOGETHER:
            break
    return Answer(pricer.run, found, together, best_ns, refused, pricer.batches())


def _apart(found: Sequence[Suggestion]) -> list[Suggestion]:
    """Of changes that edit the same place the best alone."""
    out: list[Suggestion] = []
    for suggestion in found:
        if not any(_meet(suggestion, other) for other in out):
            out.append(suggestion)
    return out


def _meet(one: Suggestion, other: Suggestion) -> bool:
    """Whether both change the same argument, or one replaces text that the other edits."""
    return bool(one.touches & other.touches) or any(
        a.file == b.file and a.start < b.end and b.start < a.end and (a.start < a.end or b.start < b.end) for a in one.edits for b in other.edits
    )


def _band(what: str, card: str) -> float:
    """Relative error of the price that a change is about: the matmul's for those of matmuls, else the general one."""
    return relative_error("matmul" if what.startswith(MATMULS) else "conv2d" if what.startswith("ttnn.conv2d") else "", card)


def main(arguments: list[str]) -> int:
    """`python -m ttnn_shim what-if`. Returns the exit code."""
    parser = CommandParser(prog="python -m ttnn_shim what-if", description="Changes that would make an emitted program faster, with their gains.")
    parser.add_argument("program", type=Path, metavar="PROGRAM_DIR")
    parser.add_argument("--arch", default="n150", metavar="NAME", choices=CARDS, help="card or architecture: " + ", ".join(CARDS))
    parser.add_argument("--json", type=Path, metavar="FILE", help="suggestions with their edits, as JSON")
    parser.add_argument("--lines", type=int, default=LINES, metavar="N", help=f"changes are tried for the N slowest lines (default {LINES})")
    options = parser.parse_args(arguments)
    ttnn_shim.activate(explicit=True)
    try:
        answer = ask(options.program.resolve(), card_name(options.arch), options.lines)
    except (OSError, ValueError, SyntaxError) as error:
        complain("what-if", error)
        return 1
    print(table(answer))
    if options.json is not None:
        options.json.write_text(json.dumps(as_data(answer), indent=1) + "\n", encoding="utf-8")
    return 0
