"""Raises the precision of matrix products if an export would fail its own check.

The unedited program's error is known at export. Where it is above the limit of `./run --check`, the program is compiled again with more exact
products, in the order of what they cost on the device: weights that are rounded instead of truncated (float32; nothing per call), then 32-bit
sums at HiFi4 for products of 2,048 terms and more, of 512 and more, and so on. The cheapest setting that passes is found by bisection.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Generic, TypeVar

from alchemist.errors import AccuracyWarning, warn_user
from alchemist.export.unedited import Measured, judge_by_unedited
from alchemist.options import CompilerOptions

WIDE_SUM_TERMS = (2048, 512, 128, 1)
"""Lengths of sums from which on products are wide, from the cheapest setting to the most exact one."""

SECONDS_FACTOR = 1.0
"""No further setting is tried when the trials took this many times the first export: an export that is raised takes twice as long, or one trial more."""

AMPLIFIES_ROUNDING = "the model amplifies rounding"

NAN_CAUSES = {
    "max_pool2d": "ttnn.max_pool2d takes bfloat16, where NaN is stored as infinity",
    "gelu": "ttnn.gelu is inf at inf, where PyTorch has NaN on x86 (pytorch/pytorch#192318)",
}
"""What the library's op does to NaN and infinities otherwise than the framework's, and no precision changes."""

Result = TypeVar("Result")
Write = Callable[[CompilerOptions], tuple[Result, Measured]]
"""Empties the staging directory, compiles with options and fills the directory."""


def more_exact(options: CompilerOptions, is_float32: bool) -> list[CompilerOptions]:
    """Settings with more exact products, each slower than the one before. Empty where the caller chose the precision."""
    if options.wide_sum_terms or options.fp32_dest_acc_en is False or options.precision not in ("model", "bfloat16"):
        return []
    rounded = replace(options, round_weights=is_float32)
    return ([rounded] if is_float32 else []) + [replace(rounded, wide_sum_terms=terms) for terms in WIDE_SUM_TERMS]


def export_within_limits(
    write: Write[Result],
    options: CompilerOptions,
    *,
    is_float32: bool,
    model: str,
    directory: Path,
    moved_by_rounding: Callable[[], Mapping[str, float]] | None = None,
) -> Result:
    """Exports with the cheapest settings whose program passes its own check, or with the caller's options when none passes.

    directory: where `write` writes. moved_by_rounding: by output, as of `FrontendResult`; asked only where no setting passes. An output that
    the framework's own rounding moves beyond the limits is judged by the unedited program alone.

    Warns:
        AccuracyWarning: the program does not agree with the framework at any precision that was tried.
    """
    start_s = time.perf_counter()
    result, first = write(options)
    if not first.disagreement:
        return result
    trials = _Trials(write, more_exact(options, is_float32), (time.perf_counter() - start_s) * SECONDS_FACTOR)
    chosen = trials.cheapest_passing()
    if chosen is None:
        if trials.in_directory is not None:
            result, first = write(options)
        rounding_errors = moved_by_rounding() if moved_by_rounding is not None else {}
        left = judge_by_unedited(directory, rounding_errors) if any(rounding_errors.values()) else first.disagreement
        text = (
            _disagreement(model, left, bool(trials.settings), _nan_causes(directory, left))
            if left
            else _amplified(model, first.disagreement, max(rounding_errors.values()))
        )
        warn_user(text, AccuracyWarning)
        return result
    result, best = trials.written(chosen)
    change = ", ".join(f"{name}={value}" for name, value in trials.settings[chosen].changed().items() if options.changed().get(name) != value)
    cost = best.device_ns / first.device_ns - 1 if first.device_ns else 0.0
    print(
        f"alchemist: {model} would fail its own check ({first.disagreement}); precision raised by {change}: "
        f"{first.device_ns / 1e6:.3f} -> {best.device_ns / 1e6:.3f} ms simulated ({cost:+.1%})",
        file=sys.stderr,
    )
    return result


class _Trials(Generic[Result]):
    """Exports with more exact settings. Each overwrites the one before in the staging directory."""

    def __init__(self, write: Write[Result], settings: list[CompilerOptions], limit_s: float) -> None:
        self.write, self.settings = write, settings
        self.end_s = time.perf_counter() + limit_s
        self.in_directory: int | None = None
        self.results: dict[int, tuple[Result, Measured]] = {}

    def written(self, place: int) -> tuple[Result, Measured]:
        """The export with one of the settings, in the directory."""
        if self.in_directory != place:
            self.results[place] = self.write(self.settings[place])
            self.in_directory = place
        return self.results[place]

    def passes(self, place: int) -> bool:
        return not self.written(place)[1].disagreement

    def cheapest_passing(self) -> int | None:
        """The first setting, if it passes; else by bisection the cheapest that passes, within the time limit; None if the most exact one fails."""
        if not self.settings:
            return None
        if self.passes(0):
            return 0
        low, high = 1, len(self.settings) - 1
        if high < low or not self.passes(high):
            return None
        while low < high and time.perf_counter() < self.end_s:
            middle = (low + high) // 2
            low, high = (low, middle) if self.passes(middle) else (middle + 1, high)
        return high


def _nan_causes(directory: Path, disagreement: str) -> list[str]:
    """Ops of the written program that may be why values are NaN or infinite in one and not in the other."""
    if "NaN or infinite" not in disagreement:
        return []
    program = "".join(file.read_text(encoding="utf-8") for kind in ("*.py", "*.cpp") for file in directory.rglob(kind))
    return [cause for op, cause in NAN_CAUSES.items() if re.search(rf"\bttnn(\.|::){op}\(", program)]


def _disagreement(model: str, disagreement: str, tried: bool, nan_causes: list[str]) -> str:
    advice = "; more exact products (round_weights, wide_sum_terms) did not help" if tried else ""
    if nan_causes:
        advice = f". Possible causes: {'; '.join(nan_causes)}"
    return (
        f"the emitted program of {model} does not agree with the framework: {disagreement}. `./run --check` will fail; "
        f'export_golden="ops" and `./run --check-ops` show the first op that differs{advice}'
    )


def _amplified(model: str, disagreement: str, rounding_error: float) -> str:
    return (
        f"the emitted program of {model} does not agree with the framework: {disagreement}. {AMPLIFIES_ROUNDING}: the framework's own outputs "
        f"move by {rounding_error:.0%} when each of its results is rounded once more, so `./run --check` compares with the unedited program alone. "
        "Judge the program on trained weights, or on inputs whose outputs are less close to each other"
    )
