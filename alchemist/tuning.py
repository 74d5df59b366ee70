"""`tune`: simulated time, memory and accuracy of a model over optimization levels, precisions and cards."""

from __future__ import annotations

import json
import math
import runpy
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ttnn_shim.dtypes import tile_bytes

import alchemist
from alchemist.codegen import export_captured
from alchemist.errors import AlchemistError, FileError, InputError, OptionError, UserError, explained
from alchemist.frontends.base import FrontendResult
from alchemist.ir import access
from alchemist.ir.layout import layout_of
from alchemist.model_files import FileCall, mlir_loader
from alchemist.ops.library_names import DTYPES
from alchemist.options import CARDS, CompilerOptions, about, choice
from alchemist.pipeline import capture, detect_framework
from alchemist.progress import Progress
from alchemist.spreading import timed

LEVELS = (0, 1, 2)
COUNTS_AS_ACCURATE = 0.01
"""Loss of PCC from which on a row is listed after the more accurate ones, unless `max_pcc_loss` says another."""
PRECISIONS: tuple[str, ...] = about(CompilerOptions.__dataclass_fields__["precision"]).choices


@dataclass(frozen=True, slots=True)
class Tuned:
    """One combination. device_ms: simulated, of a forward pass. l1_peak_bytes: of tensors, per core. weight_bytes: in DRAM, as prepared.

    device_ms and l1_peak_bytes are those of `./run --estimate`.
    pcc: by output against the framework, None where it was not measured. It is measured once per precision and architecture, at the highest level
    of the table. Levels change neither dtypes nor fidelity, but they may split an op, which rounds one more result.
    pareto: no other combination of the card is at least as fast and as accurate. failure: why there is no time.
    """

    card: str
    precision: str
    level: int
    device_ms: float = math.nan
    l1_peak_bytes: int = 0
    weight_bytes: int = 0
    pcc: Mapping[str, float] | None = None
    pareto: bool = False
    picked: bool = False
    failure: str = ""

    @property
    def least_pcc(self) -> float | None:
        return min(self.pcc.values()) if self.pcc else None

    @property
    def options(self) -> dict[str, Any]:
        """What to give to `compiler_options`."""
        return {"arch": self.card, "precision": self.precision, "optimization_level": self.level}


@dataclass(frozen=True, slots=True)
class Tuning:
    """rows: all combinations, by card and time; after them those that lose too much accuracy, then those that failed. `str()` is the table."""

    rows: tuple[Tuned, ...]

    @property
    def picked(self) -> Tuned | None:
        """The fastest combination within `max_pcc_loss`, of the first card."""
        return next((row for row in self.rows if row.picked), None)

    def __str__(self) -> str:
        head = f"  {'card':6s}{'precision':11s}{'level':>5s}{'ms':>10s}{'gain':>8s}{'PCC':>11s}{'L1 KB/core':>12s}{'weights MB':>12s}"
        lines = [head]
        for row in self.rows:
            plain = next((each.device_ms for each in self.rows if (each.card, each.precision, each.level) == (row.card, "model", 0)), math.nan)
            mark = "> " if row.picked else "* " if row.pareto else "  "
            place = f"{mark}{row.card:6s}{row.precision:11s}{row.level:5d}"
            if row.failure:
                lines.append(f"{place}  {row.failure}")
                continue
            gain = "" if math.isnan(plain) else f"{plain / row.device_ms:.2f}x"
            pcc = "" if row.least_pcc is None else f"{row.least_pcc:.6f}"
            lines.append(f"{place}{row.device_ms:10.3f}{gain:>8s}{pcc:>11s}{row.l1_peak_bytes / 1024:12.0f}{row.weight_bytes / 1e6:12.1f}")
        lines.append("* no other choice of the card is as fast and as accurate" + ("; > picked" if self.picked else ""))
        return "\n".join(lines)

    def as_json(self) -> str:
        names = ("card", "precision", "level", "device_ms", "l1_peak_bytes", "weight_bytes", "pareto", "picked", "failure")
        rows = [{name: getattr(row, name) for name in names} | {"pcc": dict(row.pcc) if row.pcc else None} for row in self.rows]
        for row in rows:
            if math.isnan(row["device_ms"]):
                row["device_ms"] = None
        return json.dumps(rows, indent=1)


@explained
def tune(
    model_or_fn: Any,
    *args: Any,
    cards: Sequence[str] = ("n150",),
    levels: Sequence[int] = LEVELS,
    precisions: Sequence[str] = PRECISIONS,
    max_pcc_loss: float | None = None,
    compiler_options: Mapping[str, Any] | None = None,
    **kwargs: Any,
) -> Tuning:
    """What each optimization level, precision and card gives: `print(tune(model, *inputs))`.

    Args:
        model_or_fn, args, kwargs: as in `codegen_py`.
        cards, levels, precisions: what is tried; every combination is compiled and timed, every precision is run once per architecture for its PCC.
        max_pcc_loss: picks the fastest combination of the first card whose least PCC is at most this much below that of precision "model".
        compiler_options: others, for all combinations.

    Raises:
        OptionError: an unknown card, level or precision, a bad loss. Others as `codegen_py`.
    """
    wanted = _Wanted.checked(cards, levels, precisions, max_pcc_loss, compiler_options)

    def front_end() -> FrontendResult:
        return capture(model_or_fn, args, kwargs, detect_framework(model_or_fn, args, kwargs))

    return _tuned(wanted, front_end)


@explained
def tune_source(
    source: str | Path,
    *,
    arguments: Sequence[str] = (),
    cards: Sequence[str] = ("n150",),
    levels: Sequence[int] = LEVELS,
    precisions: Sequence[str] = PRECISIONS,
    max_pcc_loss: float | None = None,
    compiler_options: Mapping[str, Any] | None = None,
) -> Tuning:
    """`tune` of an MLIR file, of an export with its tensors, or of a script that calls `codegen_py`, `codegen_cpp` or `tune`.

    arguments: what the script finds in `sys.argv[1:]`.

    Raises:
        FileError: no such file; a directory that is no export with `irs/`. InputError: a script that calls none of them. UserError: a script that raises.
    Others as `tune`.
    """
    more = {"cards": cards, "levels": levels, "precisions": precisions, "max_pcc_loss": max_pcc_loss, "compiler_options": compiler_options}
    path = Path(source)
    if path.suffix == ".py" and path.is_file():
        return _tune_script(path, arguments, more)
    if arguments:
        raise OptionError("arguments for a script, but the source is not a script", expected="a .py file", got=str(path))
    inputs: Path | None = None
    if path.is_dir():
        texts = sorted((path / "irs").glob("*_ttir.mlir"))
        if not texts:
            raise FileError("no export with irs/", location=str(path), hint="export with dump_irs=true, or pass the .mlir file or the script")
        inputs = path / "tensors" if (path / "tensors").is_dir() else None
        path = texts[0]
    wanted = _Wanted.checked(cards, levels, precisions, max_pcc_loss, compiler_options)

    def front_end() -> FrontendResult:
        programs = mlir_loader(FileCall.checked(path, inputs=inputs), "")()
        if len(programs) != 1:
            raise InputError(f"{len(programs)} programs in the file", location=str(path), expected="one public function")
        return next(iter(programs.values()))

    return _tuned(wanted, front_end)


class _Ended(BaseException):
    """Ends the script, whatever it catches. found: the answer, or what `tune` raised."""

    def __init__(self, found: Tuning | Exception) -> None:
        self.found = found


def _tune_script(path: Path, arguments: Sequence[str], more: Mapping[str, Any]) -> Tuning:
    """Runs the script up to its first call of ours, with `tune` in its place."""

    def instead(model_or_fn: Any, *args: Any, **kwargs: Any) -> Any:
        for name in ("export_path", "export_tensors", "export_golden", "overwrite"):
            kwargs.pop(name, None)
        own = kwargs.pop("compiler_options", None)
        given = dict(more)
        if given["compiler_options"] is None and isinstance(own, Mapping):
            given["compiler_options"] = {name: value for name, value in own.items() if name not in ("arch", "precision", "optimization_level")}
        try:
            found = tune(model_or_fn, *args, **{name: value for name, value in kwargs.items() if name not in given}, **given)
        except Exception as error:
            raise _Ended(error) from error
        raise _Ended(found)

    names = ("codegen_py", "codegen_cpp", "tune")
    words, places = sys.argv, sys.path
    try:
        for name in names:
            setattr(alchemist, name, instead)
        sys.argv, sys.path = [str(path), *arguments], [str(path.resolve().parent), *places]  # as `python SCRIPT ARGUMENTS` does
        runpy.run_path(str(path), run_name="__main__")
    except _Ended as ended:
        if isinstance(ended.found, Exception):
            raise ended.found from None
        return ended.found
    except Exception as error:  # the script's own, before it calls us
        frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
        hint = f"arguments for the script go after --: alchemist tune {path.name} -- ARGUMENTS" if not arguments else ""
        raise UserError(
            "the script fails before it calls alchemist",
            location=f"{path}:{frames[-1].lineno}" if frames else str(path),
            got=f"{type(error).__name__}: {error}",
            hint=hint or f"test the script first: python {path.name} {' '.join(arguments)}",
        ) from error
    finally:
        sys.argv, sys.path = words, places
        for name in names:
            delattr(alchemist, name)  # the module loads its own at the next use
    raise InputError(f"{path.name} calls none of {', '.join(names)}", location=str(path), hint="pass the script that exports the model")


@dataclass(frozen=True, slots=True)
class _Wanted:
    cards: tuple[str, ...]
    levels: tuple[int, ...]
    precisions: tuple[str, ...]
    max_pcc_loss: float | None
    others: Mapping[str, Any]

    @staticmethod
    def checked(
        cards: Iterable[str], levels: Iterable[int], precisions: Iterable[str], max_pcc_loss: float | None, others: Mapping[str, Any] | None
    ) -> _Wanted:
        """Raises: OptionError."""
        found = _Wanted(
            tuple(CARDS[choice("cards", card, sorted(CARDS))][1] for card in cards),
            tuple(int(choice("levels", level, LEVELS)) for level in levels),
            tuple(str(choice("precisions", each, PRECISIONS)) for each in precisions),
            max_pcc_loss,
            dict(others or {}),
        )
        if max_pcc_loss is not None and not 0 <= max_pcc_loss <= 1:
            raise OptionError("bad value for max_pcc_loss", expected="a number from 0 to 1", got=str(max_pcc_loss))
        if not (found.cards and found.levels and found.precisions):
            raise OptionError("nothing to compare", expected="at least one card, level and precision")
        return found


def _tuned(wanted: _Wanted, front_end: Callable[[], FrontendResult]) -> Tuning:
    progress = Progress()
    combinations = [(card, precision, level) for card in wanted.cards for precision in wanted.precisions for level in wanted.levels]
    with progress.stage("capture"):
        captured = front_end()
    rows: list[Tuned] = []
    measured: dict[tuple[str, str], _Measured] = {}
    for number, (card, precision, level) in enumerate(combinations, 1):
        row = Tuned(card, precision, level)
        with progress.stage("tune", f"{number} of {len(combinations)}: {card}, {precision}, level {level}"):
            key = (CARDS[card][0], precision)
            if key not in measured:
                progress.say(f"running {precision} on {card} for its PCC")
                measured[key] = _measured(replace(row, level=max(wanted.levels)), captured, wanted.others)
            rows.append(replace(_timed(row, captured, {**wanted.others, **measured[key].raised}), pcc=measured[key].pcc))
    rows = [replace(row, pareto=_is_pareto(row, rows)) for row in rows]
    limits = {card: _least_pcc_allowed(rows, card, COUNTS_AS_ACCURATE if wanted.max_pcc_loss is None else wanted.max_pcc_loss) for card in wanted.cards}
    if wanted.max_pcc_loss is not None:
        best = _pick(rows, wanted.cards[0], limits[wanted.cards[0]])
        rows = [replace(row, picked=row is best) for row in rows]
    order = {card: number for number, card in enumerate(wanted.cards)}

    def place(row: Tuned) -> tuple[int, bool, bool, float]:
        return order[row.card], bool(row.failure), row.least_pcc is not None and row.least_pcc < limits[row.card], row.device_ms

    return Tuning(tuple(sorted(rows, key=place)))


def _timed(row: Tuned, captured: FrontendResult, others: Mapping[str, Any]) -> Tuned:
    """Time and memory as `./run --estimate` reports them: the emitted program, run with the clock alone."""
    from alchemist.ir.edit import functions, is_const_eval

    totals, compiled = timed(captured, CompilerOptions.parse({**others, **row.options}))
    if totals.failure or compiled is None:
        return replace(row, failure=totals.failure)
    forward = next(func for func in functions(compiled.ttnn) if not is_const_eval(func))
    weights = [value for op in forward.body.block.ops if op.name == "ttcore.load_cached" for value in op.results]
    weight_bytes = sum(map(_tensor_bytes, weights))
    return replace(row, device_ms=totals.device_ns / 1e6, l1_peak_bytes=totals.l1_peak_bytes, weight_bytes=weight_bytes)


def _tensor_bytes(value: Any) -> int:
    layout = layout_of(value.type)
    shape = access.shape(value)
    if layout is None or not shape:
        return 0
    of_tile = tile_bytes(DTYPES[layout.dtype])
    *outer, rows, columns = (1, *shape) if len(shape) == 1 else shape
    if layout.page == "tile":
        return math.prod(outer) * -(-rows // 32) * -(-columns // 32) * of_tile
    return math.prod(shape) * of_tile // 1024


@dataclass(frozen=True, slots=True)
class _Measured:
    """pcc: by output of the program's own run; None where it does not run or has no float outputs. raised: options that the export chose to pass its check."""

    pcc: Mapping[str, float] | None = None
    raised: Mapping[str, Any] = field(default_factory=dict)


def _measured(row: Tuned, captured: FrontendResult, others: Mapping[str, Any]) -> _Measured:
    with tempfile.TemporaryDirectory(prefix="alchemist-tune-") as scratch:
        target, result = Path(scratch) / "program", Path(scratch) / "result.json"
        try:
            export_captured(captured, target, CompilerOptions.parse({**others, **row.options}))
        except OptionError:
            raise
        except AlchemistError:  # the row of this combination gives the reason
            return _Measured()
        chosen = json.loads((target / "manifest.json").read_text())["options"]
        raised = {name: chosen[name] for name in ("round_weights", "wide_sum_terms") if name in chosen}
        subprocess.run([sys.executable, str(target / "main.py"), "--json", str(result)], capture_output=True, check=False)
        if not result.exists():
            return _Measured(None, raised)
        found = {each["name"]: float(each["pcc"]) for each in json.loads(result.read_text())["outputs"] if each["pcc"] is not None}
    return _Measured(found or None, raised)


def _is_pareto(row: Tuned, rows: Sequence[Tuned]) -> bool:
    if row.failure:
        return False

    def worth(each: Tuned) -> tuple[float, float]:
        return each.device_ms, -(each.least_pcc if each.least_pcc is not None else -1.0)

    mine = worth(row)
    for other in rows:
        theirs = worth(other)
        if other.card == row.card and not other.failure and theirs != mine and theirs[0] <= mine[0] and theirs[1] <= mine[1]:
            return False
    return True


def _least_pcc_allowed(rows: Sequence[Tuned], card: str, loss: float) -> float:
    """`loss` below what the card's programs of the model's own precision have (else below the best)."""
    measured = [row for row in rows if row.card == card and row.least_pcc is not None]
    plain = [row.least_pcc for row in measured if row.precision == "model"] or [row.least_pcc for row in measured]
    return max((pcc for pcc in plain if pcc is not None), default=0.0) - loss


def _pick(rows: Sequence[Tuned], card: str, limit: float) -> Tuned | None:
    """The fastest of the card whose accuracy was measured and is at least `limit`."""
    near = [row for row in rows if row.card == card and row.least_pcc is not None and row.least_pcc >= limit and not row.failure]
    return min(near, key=lambda row: row.device_ms, default=None)


__all__ = ["Tuned", "Tuning", "tune", "tune_source"]
