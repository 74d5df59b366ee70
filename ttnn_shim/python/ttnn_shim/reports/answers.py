"""Suggestions of `./run --what-if` as data, and as the table of the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ttnn_shim.reports.calls import Run


@dataclass(frozen=True, slots=True)
class Edit:
    """Replaces text[start:end] (characters) of a source file."""

    file: str
    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A change and its gain. line: "main.py:62", "" for several lines; write: the code; touches: what two changes may not both edit.

    cost: what it changes in accuracy ("fails --check: ...", "math fidelity: 8 programs at LoFi instead of HiFi2"), "" where nothing was found.
    """

    what: str
    line: str
    write: str
    edits: tuple[Edit, ...]
    touches: frozenset[str]
    gain_ns: float = 0.0
    error_ns: float = 0.0
    cost: str = ""


@dataclass(frozen=True, slots=True)
class Batch:
    """The program for `size` inputs at once: its device time, and its share of each of as many inputs as the program takes now."""

    size: int
    device_ns: float
    each_ns: float


@dataclass(frozen=True, slots=True)
class Answer:
    """device_ns: of the program as it is; together: three that add up best, one after the other; together_ns: the program with them.

    batches: larger ones, for programs that can be priced so. verdict: what `--check` says against the three together.
    """

    run: Run
    suggestions: Sequence[Suggestion]
    together: Sequence[Suggestion]
    together_ns: float
    refused: int
    batches: Sequence[Batch] = ()
    verdict: str = ""

    @property
    def device_ns(self) -> float:
        return self.run.device_ns


def table(answer: Answer, most: int = 15) -> str:
    """Gain, new device time, change and the code to write."""
    run = answer.run
    lines = [f"what-if: {run.model} on simulated {run.card}: {answer.device_ns / 1e3:,.1f} us now, gaps included", ""]
    if not answer.suggestions:
        refused = f"; TT-NN refuses {answer.refused} of them" if answer.refused else ""
        return "\n".join([*lines, f"no edit that was tried makes it faster{refused}", *batch_lines(answer)])
    lines.append(f"{'gain us':>9} {'+-':>7} {'new us':>10}  change")
    for one in answer.suggestions[:most]:
        place = f"{one.line} " if one.line else ""
        lines.append(f"{one.gain_ns / 1e3:9.1f} {one.error_ns / 1e3:7.1f} {(answer.device_ns - one.gain_ns) / 1e3:10.1f}  {place}{one.what}")
        lines += [f"{'':30}! {one.cost}"] if one.cost else []
        lines += [f"{'':30}{row}" for row in one.write.split("\n")]
    if len(answer.suggestions) > most:
        lines.append(f"{'':30}({len(answer.suggestions) - most} more)")
    if answer.together:
        lines += _together(answer)
    lines += batch_lines(answer)
    return "\n".join([*lines, "each gain is the simulated time of the program with that edit; ! marks what it costs in accuracy"])


def _together(answer: Answer) -> list[str]:
    gain = answer.device_ns - answer.together_ns
    lines = ["", f"best {len(answer.together)} together: {gain / 1e3:,.1f} us less, {answer.together_ns / 1e3:,.1f} us ({-gain / answer.device_ns:+.1%})"]
    lines += [f"{'':9} ! {answer.verdict}"] if answer.verdict else []
    for one in answer.together:
        lines += [f"{'':9} {(one.line or 'main.py') + ':' if number == 0 else '':13} {row}" for number, row in enumerate(one.write.split("\n"))]
    return lines


def batch_lines(answer: Answer) -> list[str]:
    """A sentence per larger batch."""
    return [
        f"batch {batch.size}: {batch.device_ns / 1e3:,.1f} us, {batch.each_ns / 1e3:,.1f} us in place of {answer.device_ns / 1e3:,.1f} us"
        f" ({batch.each_ns / answer.device_ns - 1:+.1%}): export again with inputs of {batch.size} along their first dimension"
        for batch in answer.batches
    ]


def as_data(answer: Answer) -> dict[str, object]:
    rows, together = ([{**asdict(one), "touches": sorted(one.touches)} for one in some] for some in (answer.suggestions, answer.together))
    batches = [asdict(batch) for batch in answer.batches]
    totals = {"device_ns": answer.device_ns, "refused": answer.refused, "together_ns": answer.together_ns, "verdict": answer.verdict}
    return {**totals, "together": together, "suggestions": rows, "batches": batches}


def from_data(data: Mapping[str, Any], run: Run) -> Answer:
    """The answer that `as_data` wrote."""

    def read(row: Mapping[str, Any]) -> Suggestion:
        return Suggestion(**{**row, "edits": tuple(Edit(**edit) for edit in row["edits"]), "touches": frozenset(row["touches"])})

    found = [read(row) for row in data["suggestions"]]
    together = [one for one in found if one in [read(row) for row in data["together"]]]
    return Answer(run, found, together, float(data["together_ns"]), int(data["refused"]), [Batch(**batch) for batch in data["batches"]], str(data["verdict"]))
