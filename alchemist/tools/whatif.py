"""`./run --what-if`: what would make an emitted program faster, each change written into a copy of it and priced by a run of the clock.

A suggestion is an edit of the source text (`alchemist.tools.changes`); its gain is the device time of the program minus that of the edited one, so what
other calls make of the change (an output in L1, another data type) is in it. Those that gain are then run with values: what fails `--check`, or computes
products at a lower math fidelity, says so and is listed after the others.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ttnn_shim.command_line import CommandParser, complain
from ttnn_shim.error_bands import relative_error
from ttnn_shim.json_files import read_json
from ttnn_shim.reports.answers import Answer, Batch, Edit, Suggestion, as_data, table
from ttnn_shim.reports.calls import Run, run_of
from ttnn_shim.run import CARDS, card_name

import ttnn_shim
from alchemist.tools import batches
from alchemist.tools.changes import MATMULS, suggestions
from alchemist.tools.clock_run import checked, profile_of
from alchemist.tools.program_text import Source, edited

FAILS, NOT_CHECKED = "fails --check", "not checked"
LINES = 12
"""Lines of the program, by falling time, for which changes are tried."""
TOGETHER = 3
"""Suggestions that are tried in one program."""
LEAST_GAIN = 0.002
"""Share of the device time below which a gain is not told."""
CHECKED = 15
"""Suggestions that are run with values: as many as the table shows."""
CHECKS_S = 60.0
"""No further suggestion is checked after so many seconds; it says so."""
FIDELITIES = ("LoFi", "HiFi2", "HiFi3", "HiFi4")
"""From the fewest passes of the matrix engine to the most."""
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
        self.fidelities: Counter[str] = Counter()
        """Device programs by math fidelity, of the program that was priced last."""

    def price(self, edits: Sequence[Edit] = (), factor: int = 1) -> float | None:
        """Device time in nanoseconds, None where the library refuses the edited program. factor: how many times as many inputs."""
        with self._copy(edits, "manifest.json" if factor > 1 else "") as folder:
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
            self.fidelities = Counter(program.fidelity for program in profile.programs)
            return profile.device_ns

    @contextlib.contextmanager
    def _copy(self, edits: Sequence[Edit], without: str = "") -> Iterator[Path]:
        """A folder with the edited program; its data are links."""
        with tempfile.TemporaryDirectory(prefix="alchemist-what-if-") as name:
            folder = Path(name).resolve()
            for file in self._program.iterdir():
                if file.suffix == ".py" and file.name in self.sources:
                    changes = [edit for edit in edits if edit.file == file.name]
                    (folder / file.name).write_text(edited(self.sources[file.name].text, changes), encoding="utf-8")
                elif file.suffix == ".py":
                    shutil.copy(file, folder / file.name)
                elif file.name in ("manifest.json", "tensors", "golden") and file.name != without:
                    (folder / file.name).symlink_to(file)
            yield folder

    def has_golden(self) -> bool:
        """Whether there is something to compare outputs with."""
        return (self._program / "manifest.json").is_file() and any("golden" in entry for entry in dict(self._manifest()["outputs"]).values())

    def check(self, edits: Sequence[Edit]) -> str:
        """What `./run --check` says of the edited program when it does not pass, else ""."""
        with self._copy(edits) as folder:
            done, said = checked(folder / "main.py", self._card)
        if not done["code"]:
            return ""
        reasons = [line.partition("FAILED")[2].strip(" :,") for line in said.splitlines() if "FAILED" in line and not line.startswith("check:")]
        return f"{FAILS}{': ' if reasons else ''}{(reasons or [''])[0]}"

    def _manifest(self) -> dict[str, Any]:
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
    before = pricer.fidelities
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
            cost = lower_fidelity(before, pricer.fidelities)
            found.append(replace(suggestion, gain_ns=gain, error_ns=gain * _band(suggestion.what, card), cost=cost))
    found.sort(key=lambda one: -one.gain_ns)
    found = sorted(_with_checks(pricer, _apart(found)), key=lambda one: (bool(one.cost), -one.gain_ns))
    together: list[Suggestion] = []
    best_ns = now_ns
    safe = [one for one in found if FAILS not in one.cost]
    for suggestion in safe[: 3 * TOGETHER]:  # what each gains alone, two may not gain together, and L1 may not hold both
        new_ns = pricer.price([edit for one in (*together, suggestion) for edit in one.edits])
        if new_ns is not None and best_ns - new_ns > LEAST_GAIN * now_ns:
            together.append(suggestion)
            best_ns = new_ns
        if len(together) == TOGETHER:
            break
    verdict = pricer.check([edit for one in together for edit in one.edits]) if len(together) > 1 and pricer.has_golden() else ""
    return Answer(pricer.run, found, together, best_ns, refused, pricer.batches(), verdict)


def lower_fidelity(before: Mapping[str, int], after: Mapping[str, int]) -> str:
    """ "8 programs at LoFi instead of HiFi2", "" where no program's fidelity falls."""
    fewer = [name for name in FIDELITIES if after.get(name, 0) < before.get(name, 0)]
    lost = fewer[-1] if fewer else FIDELITIES[0]
    lower = [name for name in FIDELITIES[: FIDELITIES.index(lost)] if after.get(name, 0) > before.get(name, 0)]
    counts = [(name, after.get(name, 0) - before.get(name, 0)) for name in lower]
    return "; ".join(f"math fidelity: {count} program{'s' if count > 1 else ''} at {name} instead of {lost}" for name, count in counts)


def _with_checks(pricer: Pricer, found: Sequence[Suggestion]) -> list[Suggestion]:
    """Each with what `--check` says against it."""
    if not pricer.has_golden():
        return [*found]
    out, end_s = [], time.monotonic() + CHECKS_S
    for number, one in enumerate(found):
        in_time = number < CHECKED and time.monotonic() < end_s
        said = pricer.check(one.edits) if in_time else NOT_CHECKED
        out.append(replace(one, cost="; ".join(filter(None, (one.cost, said)))))
    return out


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
    parser = CommandParser(prog="python -m ttnn_shim what-if", description="List changes that make a program faster, with their gains.")
    parser.add_argument("program", type=Path, metavar="PROGRAM_DIR")
    parser.add_argument("--arch", default="n150", metavar="NAME", choices=CARDS, help="card or architecture: " + ", ".join(CARDS))
    parser.add_argument("--json", type=Path, metavar="FILE", help="write suggestions and their edits as JSON")
    parser.add_argument("--lines", type=int, default=LINES, metavar="N", help=f"try changes of the N slowest lines (default {LINES})")
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
