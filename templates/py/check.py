"""How outputs are judged: the same file in every emitted program. The rules are those of `check.cpp` in C++ programs.

An error is relative to the size of the framework's output, so that a verdict does not depend on its scale. Three bounds:

- outer: PCC and relative L2 error of the manifest ("pcc", "rel_l2"), whatever the program did at export; none for an output
  that the framework's own rounding moves further ("moved_by_rounding"): the unedited program alone judges it;
- error: `tolerance` times that of the unedited program, as the export measured it on the simulator, or the data type's own
  rounding ("noise") where that is more;
- drift, on the simulator alone: distance to the unedited program's output, half as far as the error may go, and for each
  single value `tolerance` times the largest error; a smaller one if the error grew with it, which rounding does not do, and a
  tenth of the unedited error if the edits keep every op and exchange operands or numbers only: that rounds as before, on the
  same kind of processor.
"""

import ast
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

TOLERANCE = 4.0
# PCC says something when the output varies by so many times its error; below, the mean decides it.
_SPREAD = 32.0
# What bfloat16 rounds by.
_ROUNDING = 2.0**-8
# Single values are rounded coarser than the output as a whole.
_PEAK = 4.0
# Rounding in other places leaves an error about as large as it was; the less values, the more by chance.
_GROWTH, _CHANCE = 1.15, 3.0
# The same ops with other operands or numbers round as before: so much of the unedited error, or of the data type's rounding.
_EXACT, _EXACT_NOISE = 0.1, 1 / 32
# A card rounds otherwise than the simulator: its bounds are so much wider, and never below this error.
_CARD, _CARD_NOISE = 2.0, 2e-2


def compare(
    actual: np.ndarray,
    expected: np.ndarray,
    limits: Mapping[str, Any],
    unedited: np.ndarray | None = None,
    tolerance: float = TOLERANCE,
    on_card: bool = False,
    same_ops: bool = False,
) -> dict[str, Any]:
    """One output against the framework's own `expected`; `why` is empty when it passes.

    limits: "pcc", "rel_l2", "noise"; "unedited_rel_l2" and "unedited_max_abs_err" where known; "moved_by_rounding" (relative L2
    error, of whole numbers the share that differs) and "unedited_wrong" (how many) where no rounding program can agree.
    unedited: that program's output.
    same_ops: the edits keep every op (`only_values_changed`).
    """
    row: dict[str, Any] = {"pcc": None, "rel_l2": None, "max_abs_err": None, "passed": False, "why": ""}
    if actual.shape != expected.shape:
        row["why"] = f"shape {list(actual.shape)} instead of {list(expected.shape)}"
        return row
    judge = _whole_numbers if expected.dtype.kind in "iub" else _floats
    row["why"] = judge(row, actual, expected, _Terms(limits, unedited, tolerance, on_card, same_ops))
    row["passed"] = not row["why"]
    return row


class _Terms(NamedTuple):
    """What an output is judged by: the arguments of `compare`."""

    limits: Mapping[str, Any]
    unedited: np.ndarray | None
    tolerance: float
    on_card: bool
    same_ops: bool


def _whole_numbers(row: dict[str, Any], actual: np.ndarray, expected: np.ndarray, terms: _Terms) -> str:
    limits, unedited, tolerance, on_card, same_ops = terms
    difference = np.abs(actual.astype(np.float64) - expected.astype(np.float64)).ravel()
    wrong = int(np.count_nonzero(~(difference == 0)))  # a NaN is wrong too
    if np.isfinite(difference).all():
        largest = float(difference.max(initial=0.0))
        row["max_abs_err"] = int(largest) if largest.is_integer() else largest
    if "moved_by_rounding" not in limits:
        return f"{wrong} of {difference.size} whole numbers differ" if wrong else ""
    before = int(limits["unedited_wrong"])
    if wrong > tolerance * (_CARD if on_card else 1.0) * before:
        return f"{wrong} of {difference.size} whole numbers differ, were {before}"
    if unedited is None or on_card or unedited.size != actual.size:
        return ""
    moved = int(np.count_nonzero(actual.ravel() != unedited.ravel()))
    if moved > (tolerance / TOLERANCE * _EXACT if same_ops else tolerance / 2) * before:
        return f"{moved} of {difference.size} whole numbers differ from the unedited program's, of which {before} were wrong"
    return ""


def _floats(row: dict[str, Any], actual: np.ndarray, expected: np.ndarray, terms: _Terms) -> str:
    limits, unedited, tolerance, on_card, same_ops = terms
    a, e = (_without_subnormals(one) for one in (actual, expected))
    finite = np.isfinite(e)
    wrong = int(np.count_nonzero(~finite & ~((a == e) | (np.isnan(a) & np.isnan(e))))) + int(np.count_nonzero(finite & ~np.isfinite(a)))
    if wrong:
        return f"{wrong} of {e.size} values are NaN or infinite in one and not in the other"
    if not finite.any():
        return ""
    a, e = a[finite], e[finite]
    size, largest = float(np.linalg.norm(e)), float(np.abs(e).max())
    error = float(np.linalg.norm(a - e))
    row["max_abs_err"] = float(np.abs(a - e).max())
    if size or not error:
        row["rel_l2"] = error / size if size else 0.0
    before, before_peak = limits.get("unedited_rel_l2"), limits.get("unedited_max_abs_err")
    noise = float(limits.get("noise", 0.0))
    amplified = "moved_by_rounding" in limits

    spread = float(np.linalg.norm(e - e.mean()))
    if spread > 1e-12 * size:
        row["pcc"] = _correlation(a, e)
        if spread > _SPREAD * max(noise, min(before or 0.0, _ROUNDING)) * size and row["pcc"] < limits["pcc"] and not amplified:
            return f"pcc {row['pcc']:.6f} is below {limits['pcc']}; relative error {_was(before, row['rel_l2'])}"
    if size and row["rel_l2"] > limits["rel_l2"] and not amplified:
        return f"relative error {_was(before, row['rel_l2'])}, above {limits['rel_l2']}"

    room = tolerance * (_CARD if on_card else 1.0)
    if not size:  # no scale but the unedited program's own error
        bound = room * (before_peak or 0.0)
        return f"max error {_was(before_peak, row['max_abs_err'], bound)}, all expected values are 0" if row["max_abs_err"] > bound else ""
    if before is None:
        return ""
    limit = max(room * before, _CARD_NOISE if on_card else noise)
    if row["rel_l2"] > limit:
        return f"relative error {_was(before, row['rel_l2'], limit)}"
    if unedited is None or on_card or unedited.size != actual.size:
        return ""
    moved = a - unedited.astype(np.float64).ravel()[finite]
    drift, peak = float(np.linalg.norm(moved)) / size, float(np.abs(moved).max())
    if drift > max(tolerance / 2 * before, noise):
        return f"moved by {drift:.1e} from the unedited program, whose error was {before:.1e}"
    if same_ops and drift > max(tolerance / TOLERANCE * _EXACT * before, _EXACT_NOISE * noise):
        return f"moved by {drift:.1e} from the unedited program, by other operands or numbers in the same ops"
    grown = _GROWTH + _CHANCE / np.sqrt(2 * e.size)
    explained = max(tolerance / 4 * grown * before, noise)
    if drift > max(tolerance / 8 * before, noise / 2) and row["rel_l2"] > explained:
        return f"relative error {_was(before, row['rel_l2'], explained)}, more than other rounding explains"
    if peak > max(tolerance * (before_peak or 0.0), _PEAK * noise * largest):
        return f"a value moved by {peak:.3g} from the unedited program, whose largest error was {before_peak or 0.0:.3g}"
    return ""


def _without_subnormals(values: np.ndarray) -> np.ndarray:
    """Zeros for numbers below float32's smallest normal one, of which the device has none."""
    wide = values.astype(np.float64).ravel()
    return np.where(np.abs(wide) < np.finfo(np.float32).tiny, 0.0, wide)


def _correlation(a: np.ndarray, e: np.ndarray) -> float:
    """Pearson's; 1 for equal values, 0 where one does not vary."""
    a, e = a - a.mean(), e - e.mean()
    both = float(np.linalg.norm(a)) * float(np.linalg.norm(e))
    return min(1.0, max(-1.0, float(a @ e) / both)) if both else 0.0


def _was(before: float | None, now: float, limit: float | None = None) -> str:
    """The error before and after the edit, with their ratio and the largest ratio that passes."""
    if before is None:
        return f"{now:.1e}"
    both = f"was {before:.1e}, now {now:.1e}"
    return f"{both} ({now / before:.3g}x{'' if limit is None else f', limit {limit / before:.3g}x'})" if before else both


# ----------------------------------------------------------------------------------------------------- what was edited


def changed_functions(here: Path) -> list[str]:
    """Functions that differ from the sources at export (golden/unedited), as "name in file"; comments and layout do not count."""
    found = []
    for name, old, new in _sources(here):
        before, now = _functions(old), _functions(new)
        for function in dict.fromkeys([*now, *before]):
            if not new:
                found.append(f"{name} (missing)")
                break
            if function not in now:
                found.append(f"{function} in {name} (removed)")
            elif before.get(function) != now[function]:
                found.append(f"{function} in {name}" + ("" if function in before else " (new)"))
    return found


def only_values_changed(here: Path) -> bool:
    """Whether all edits exchange operands and numbers only: every op, its options and its configs are those at export, in that order."""
    return all(_functions(old, skeleton=True) == _functions(new, skeleton=True) for _, old, new in _sources(here))


def instructions() -> str:
    """The instruction sets by which this processor multiplies: others add in another order."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return ""
    flags = next((line.partition(":")[2].split() for line in text.splitlines() if line.startswith("flags")), [])
    return " ".join(sorted({flag for flag in flags if flag.startswith(("avx", "amx", "fma"))}))


def _sources(here: Path) -> list[tuple[str, str, str]]:
    """Name, text at export and text now ("" for none) of each source."""
    files = sorted((here / "golden" / "unedited").glob("*.py"))
    return [(file.name, file.read_text(), (here / file.name).read_text() if (here / file.name).is_file() else "") for file in files]


def _functions(text: str, skeleton: bool = False) -> dict[str, str]:
    """Syntax of each top-level function and class by name; of all else as "top level". skeleton: without operands and numbers."""
    found: dict[str, str] = {"top level": ""}
    for node in ast.parse(text).body:
        name = getattr(node, "name", "top level")
        if isinstance(node, ast.FunctionDef) and ast.get_docstring(node) is not None:
            node.body = node.body[1:]
        if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
            found[name] = found.get(name, "") + ast.dump(_Skeleton().visit(node) if skeleton else node)
    return found


class _Skeleton(ast.NodeTransformer):
    """Local names, numbers and texts become one mark. What decides how values are rounded stays: ops, data types, configs."""

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return node if node.id.isupper() else ast.Name("_", node.ctx)

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        return node if isinstance(node.value, bool) or node.value is None else ast.Constant("_")

    def visit_keyword(self, node: ast.keyword) -> ast.AST:
        return node if (node.arg or "").endswith(("config", "grid", "dtype", "layout")) else self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name.endswith(("Config", "Grid", "Coord", "Range", "Set", "Spec")):
            return node
        rest = ast.Call(node.func, [self.visit(each) for each in node.args], [self.visit(each) for each in node.keywords])
        return rest if isinstance(node.func, (ast.Name, ast.Attribute)) else self.generic_visit(rest)


# ------------------------------------------------------------------------------------------------------- own inputs


def missing_inputs(directory: Path, stems: list[str], partial: bool) -> str:
    """What is wrong with the files of --inputs, "" if nothing. stems: file names of the inputs, without suffix."""
    there = sorted(path.name for path in directory.iterdir() if path.suffix in (".npy", ".tensorbin") and path.is_file())
    found = {Path(name).stem for name in there}
    strangers = [name for name in there if Path(name).stem not in stems]
    missing = [stem for stem in stems if stem not in found]
    lines = []
    for name in strangers:
        near = nearest(Path(name).stem, stems)
        lines.append(f"{name} is no input of this program" + (f"; did you mean {near}{Path(name).suffix}?" if near else ""))
    if missing and not partial:
        lines.append(f"missing: {', '.join(missing)} (--partial-inputs takes the example input for what is missing)")
    twice = [stem for stem in stems if f"{stem}.npy" in there and f"{stem}.tensorbin" in there]
    lines += [f"both {stem}.npy and {stem}.tensorbin are there" for stem in twice]
    if not lines:
        return ""
    expected = ", ".join(stems) or "none"
    return "\n".join(
        [f"--inputs {directory}:", *(f"  {line}" for line in lines), f"  expected {expected} (.npy or .tensorbin); found {', '.join(there) or 'none'}"]
    )


def nearest(name: str, names: list[str]) -> str:
    """The one with the fewest edits to `name`, "" if more than half of it would change."""
    best = min(names, key=lambda other: _edits(name.lower(), other.lower()), default="")
    return best if best and _edits(name.lower(), best.lower()) * 2 <= max(len(name), len(best)) else ""


def _edits(one: str, two: str) -> int:
    """Levenshtein distance."""
    row = list(range(len(two) + 1))
    for i, letter in enumerate(one, 1):
        before, row[0] = row[0], i
        for j, other in enumerate(two, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (letter != other))
    return row[-1]
