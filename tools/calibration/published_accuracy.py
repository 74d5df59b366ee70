"""How far the clock is from published timings of calls (singles, layers, pairs): the section of docs/lab/accuracy.md, and a list of the largest errors.

python -m tools.calibration.published_accuracy [--docs docs/lab/accuracy.md]    # prints the section or writes it, with the committed constants alone
python -m tools.calibration.published_accuracy --folds build/folds.json     # also with what `make calibrate` fitted without each fold
"""

from __future__ import annotations

import argparse
import hashlib
import math
import statistics
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ttnn_shim.published import ask, requests_of
from ttnn_shim.published_words import ACROSS_CHIPS
from ttnn_shim.simlib import simulator

from tools.calibration.calls import out_of_fold
from tools.calibration.fit import read_folds
from tools.calibration.problem import Parameter, Vector, parameters_of, read_constants
from tools.calibration.published_reasons import EXPLAINED
from tools.calibration.rows import ARCH, HARDWARE, Rows, rating_of, read_rows
from tools.calibration.scores import quantile

START, END = "<!-- published calls: start -->", "<!-- published calls: end -->"
WORTH_DECIDING = 1.15
"""Pairs whose published times differ by less are no decision."""


@dataclass(frozen=True)
class Row:
    """One priced single: what it is, the measured and the predicted ns, and simple predictors."""

    row_id: str
    op: str
    family: str
    arch: str
    rating: str
    truth_ns: float
    ns: float
    unseen_ns: float
    """Predicted by constants fitted without the row's group; nan where that was not asked."""
    floor_ns: float
    size_bytes: float

    @property
    def off(self) -> float:
        """Factor of the error out of fold, at least 1."""
        made = self.ns if math.isnan(self.unseen_ns) else self.unseen_ns
        return max(made / self.truth_ns, self.truth_ns / made)


def priced_singles(rows: Rows, answers: Mapping[str, Mapping[str, Any]], unseen: Mapping[str, float]) -> list[Row]:
    """The singles that have a price; unseen: prices out of fold by id."""
    out = []
    for row in rows:
        answer = answers[row["id"]]
        if "ns" in answer:
            truth_ns = 1000 * float(row["time_us"])
            found = (answer["ns"], unseen.get(row["id"], math.nan), max(answer["floor_ns"], 100.0), answer["bytes"])
            out.append(Row(row["id"], row["op"], row["family"], row["arch"], rating_of(row), truth_ns, *found))
    return out


def line_through(rows: Sequence[Row]) -> tuple[float, float]:
    """Constant and ns per byte with the least relative error: the normal equations of ns / truth = 1."""
    a = sum(1 / r.truth_ns**2 for r in rows)
    b = sum(r.size_bytes / r.truth_ns**2 for r in rows)
    c = sum(r.size_bytes**2 / r.truth_ns**2 for r in rows)
    p, q = sum(1 / r.truth_ns for r in rows), sum(r.size_bytes / r.truth_ns for r in rows)
    det = a * c - b * b
    return ((p * c - q * b) / det, (a * q - b * p) / det) if det > 1e-9 * a * c else (p / a, 0.0)


def least_squares(rows: Sequence[Row], folds: int = 5) -> dict[str, float]:
    """Out-of-fold predictions of a line (constant and bytes, relative error) per family and chip."""
    out: dict[str, float] = {}
    for key in {(r.family, r.arch) for r in rows}:
        mine = [r for r in rows if (r.family, r.arch) == key]
        fold = {r.row_id: int(hashlib.sha1(f"{r.op} {r.size_bytes}".encode()).hexdigest(), 16) % folds for r in mine}
        for k in range(folds):
            train = [r for r in mine if fold[r.row_id] != k]
            if not train:
                continue
            constant, slope = line_through(train)
            out |= {r.row_id: max(constant + slope * r.size_bytes, 100.0) for r in mine if fold[r.row_id] == k}
    return out


class LinePerOp:
    """A simple predictor: constant and bytes per device operation and chip, fitted to the priced singles (relative error). An operation that none of
    them runs gets the line of the chip."""

    def __init__(self, singles: Sequence[Row], answers: Mapping[str, Mapping[str, Any]]) -> None:
        self.lines: dict[tuple[str, str], tuple[float, float]] = {}
        groups: dict[tuple[str, str], list[Row]] = {}
        for row in singles:
            groups.setdefault((main_operation(answers[row.row_id]), row.arch), []).append(row)
            groups.setdefault(("", row.arch), []).append(row)
        for key, mine in groups.items():
            self.lines[key] = line_through(mine)

    def ns(self, answer: Mapping[str, Any], arch: str) -> float:
        """Predicted ns of a call."""
        constant, slope = self.lines.get((main_operation(answer), arch)) or self.lines["", arch]
        return max(constant + slope * float(answer["bytes"]), 100.0)


def main_operation(answer: Mapping[str, Any]) -> str:
    """The device operation that takes most of a call's time."""
    times = [float(text.split()[-2]) for text in answer["programs"]]
    return str(answer["ops"][times.index(max(times))][0])


def errors_text(pairs: Iterable[tuple[float, float]]) -> str:
    """Median / p90 of the absolute error in percent, of (predicted, measured)."""
    apes = [100 * abs(made / truth - 1) for made, truth in pairs if not math.isnan(made)]
    return f"{quantile(apes, 0.5):.0f} / {quantile(apes, 0.9):.0f}" if apes else "-"


def singles_lines(rows: Rows, priced: Sequence[Row]) -> list[str]:
    """The table of singles by chip and rating."""
    lines = [
        "| chip | rating | rows | priced | in sample: median / p90 % | out of fold | off > 1.5x (out of fold) | off > 3x | roofline | least squares |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    line = least_squares(priced)
    for arch in ("wormhole_b0", "blackhole"):
        for rating in ("high", "medium", "low", "partial"):
            count = sum(r["arch"] == arch and rating_of(r) == rating for r in rows)
            mine = [r for r in priced if (r.arch, r.rating) == (arch, rating)]
            if not count:
                continue
            own = errors_text((r.ns, r.truth_ns) for r in mine)
            roof = errors_text((r.floor_ns, r.truth_ns) for r in mine)
            fitted = errors_text((line[r.row_id], r.truth_ns) for r in mine if r.row_id in line)
            unseen = errors_text((r.unseen_ns, r.truth_ns) for r in mine)
            off = [sum(r.off > limit for r in mine) for limit in (1.5, 3)]
            lines.append(f"| {arch} | {rating} | {count} | {len(mine)} | {own} | {unseen} | {off[0]} | {off[1]} | {roof} | {fitted} |")
    return lines


def pair_lines(rows: Rows, answers: Mapping[str, Mapping[str, Any]], unseen: Mapping[str, float], line: LinePerOp) -> list[str]:
    """Signs and log ratio errors of pairs that are not rows of the calibration tables."""
    lines = [
        f"| pairs above {WORTH_DECIDING} | rows | priced | right sign in sample | out of fold | median of the log ratio's error | out of fold "
        "| roofline: right sign | its log error | least squares: right sign | its log error |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for rebuildable in ("yes", "partial"):
        chosen = []
        for row in rows:
            ratio = float(row["time_b_us"]) / float(row["time_a_us"])
            if row["rebuildable"] == rebuildable and not row["derived_from_train"] and max(ratio, 1 / ratio) > WORTH_DECIDING:
                chosen.append((row["id"], ratio, row["arch"]))
        both = [(i, answers[i + "a"], answers[i + "b"], ratio, arch) for i, ratio, arch in chosen if "ns" in answers[i + "a"] and "ns" in answers[i + "b"]]
        cells = []
        for times in (
            [(a["ns"], b["ns"]) for _, a, b, *_ in both],
            [(unseen.get(i + "a", math.nan), unseen.get(i + "b", math.nan)) for i, *_ in both],
            [(max(a["floor_ns"], 100.0), max(b["floor_ns"], 100.0)) for _, a, b, *_ in both],
            [(line.ns(a, arch), line.ns(b, arch)) for _, a, b, _, arch in both],
        ):
            known = [(a, b, ratio) for (a, b), (*_, ratio, _) in zip(times, both, strict=True) if not math.isnan(a + b)]
            right = sum((b > a) == (ratio > 1) for a, b, ratio in known)
            logs = [abs(math.log(b / a / ratio)) for a, b, ratio in known]
            cells.append((str(right) if known else "-", f"{statistics.median(logs):.3f}" if logs else "-"))
        (sign, error), (sign_unseen, error_unseen), *simple = cells
        rest = " | ".join(" | ".join(cell) for cell in simple)
        lines.append(f"| rebuildable: {rebuildable} | {len(chosen)} | {len(both)} | {sign} | {sign_unseen} | {error} | {error_unseen} | {rest} |")
    return lines


def layer_lines(rows: Rows, answers: Mapping[str, Mapping[str, Any]], counts: Mapping[str, int], line: LinePerOp) -> list[str]:
    """Totals of the priced ops of each layer, beside what simple predictors make of them."""
    lines = [
        "| layer | ops | priced | share of the time | across chips | not stated enough | total / published | roofline | least squares |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    priced = {r["id"]: r for r in rows if "ns" in answers[r["id"]]}
    predictors = {
        "clock": {i: answers[i]["ns"] * counts[i] / 1000 for i in priced},
        "roofline": {i: max(answers[i]["floor_ns"], 100.0) * counts[i] / 1000 for i in priced},
        "least squares": {i: line.ns(answers[i], r["arch"]) * counts[i] / 1000 for i, r in priced.items()},
    }
    for key in dict.fromkeys((r["model"], r["variant"], r["chip"]) for r in rows):
        mine = [r for r in rows if (r["model"], r["variant"], r["chip"]) == key and r["op"] != "TOTAL"]
        known = [r for r in mine if r["id"] in priced]
        apart = [r for r in mine if ACROSS_CHIPS in answers[r["id"]].get("reason", "")]
        whole, part, across = (sum(float(r["time_us"]) for r in some) for some in (mine, known, apart))
        shares = " | ".join(f"{100 * share / whole:.0f} %" for share in (part, across, whole - part - across))
        ratios = " | ".join(f"{sum(made[r['id']] for r in known) / part:.2f}" if part else "-" for made in predictors.values())
        lines.append(f"| {key[0]}, {key[1]} | {len(mine)} | {len(known)} | {shares} | {ratios} |")
    single = ", ".join(f"{name} {errors_text((made[i], float(r['time_us'])) for i, r in priced.items())}" for name, made in predictors.items())
    return [*lines, "", f"Single rows of these layers ({len(priced)} priced), median / p90 of the error in %: {single}."]


def worst_lines(priced: Sequence[Row], most: int = 25) -> list[str]:
    """Families by the sum of their rows' log errors, with the rows that are furthest off."""
    lines = ["| family | chip | rows | median of predicted / measured | furthest off |", "|---|---|---|---|---|"]
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in priced:
        groups.setdefault((row.family, row.arch), []).append(row)
    ranked = sorted(groups.items(), key=lambda g: -sum(math.log(r.off) for r in g[1]))
    for (family, arch), mine in ranked[:most]:
        worst = sorted(mine, key=lambda r: -r.off)[:3]
        text = ", ".join(f"{r.op} {r.truth_ns / 1000:.4g} us priced {r.ns / 1000:.4g}" for r in worst)
        lines.append(f"| {family} | {arch} | {len(mine)} | {statistics.median(r.ns / r.truth_ns for r in mine):.2f} | {text} |")
    return lines


FAR = 1.5
"""Rows that are further off get a line with the reason."""


def far_lines(priced: Sequence[Row]) -> list[str]:
    """Rows rated high or medium that are more than `FAR` times off, in sample or out of fold, with what is known of the reason."""
    lines = ["| row | chip | rating | op | measured, us | priced | out of fold | why |", "|---|---|---|---|---|---|---|---|"]
    for row in sorted(priced, key=lambda r: -r.off):
        inside = max(row.ns / row.truth_ns, row.truth_ns / row.ns)
        if row.rating in ("high", "medium") and max(row.off, inside) > FAR:
            unseen = "-" if math.isnan(row.unseen_ns) else f"{row.unseen_ns / 1000:.4g}"
            why = EXPLAINED.get(row.row_id, "not known")
            lines.append(f"| {row.row_id} | {row.arch} | {row.rating} | {row.op} | {row.truth_ns / 1000:.4g} | {row.ns / 1000:.4g} | {unseen} | {why} |")
    return lines


def section(data: Path, parameters: Sequence[Parameter] = (), folds: Sequence[Vector] = ()) -> str:
    """The part of the accuracy page about calls; `folds`: constants fitted without each fold (`calibrate.cross_validate`), for the columns out of fold."""
    tables = {name: read_rows(data, name) for name in ("singles", "layers", "pairs")}
    asked = {name: requests_of(name, rows) for name, rows in tables.items()}
    made = ask([{**request, "id": f"{name} {request['id']}"} for name, requests in asked.items() for request in requests])
    answers = {name: {request["id"]: made[f"{name} {request['id']}"] for request in requests} for name, requests in asked.items()}
    counts = {request["id"]: request["count"] for request in asked["layers"]}
    unseen: dict[str, dict[str, float]] = {"singles": {}, "pairs": {}}
    if folds:
        for name, columns in (("singles", {"": "config"}), ("pairs", {"a": "variant_a", "b": "variant_b"})):
            unseen[name] = out_of_fold(tables[name], columns, answers[name], simulator(), parameters, folds)
        # A side of a pair that is a single too was left out with that single.
        unseen["pairs"] |= {i: ns for i, ns in unseen["singles"].items() if i in unseen["pairs"]}
    priced = priced_singles(tables["singles"], answers["singles"], unseen["singles"])
    line = LinePerOp(priced, answers["singles"])
    return "\n".join(
        [
            START,
            "## Published calls of ttnn (singles, pairs, layers)",
            "",
            "By `python -m tools.calibration.published_accuracy --folds build/folds.json --docs docs/lab/accuracy.md`. Each row is a call made on the",
            "simulated card without values; rows whose configuration does not say enough, or whose ops have no model, are left out",
            "(`alchemist estimate` prints why). Singles rated high and medium are rows of the calibration like those of the tables above.",
            "*Out of fold*: predicted by constants fitted",
            "without rows of the same op, chip and sizes.",
            "",
            *singles_lines(tables["singles"], priced),
            "",
            "Roofline: bytes at the peak of DRAM or the matrix engine's cycles. Least squares: constant and bytes per family and chip, out of fold.",
            "",
            *pair_lines(tables["pairs"], answers["pairs"], unseen["pairs"], line),
            "",
            "Here and below, least squares: constant and bytes per device operation and chip, fitted to the priced singles.",
            "",
            *layer_lines(tables["layers"], answers["layers"], counts, line),
            "",
            "*Across chips*: collectives, and programs that contain one (a norm that gathers its statistics, a product that scatters its sums): one chip is",
            "simulated, and its part of them waits for the others. *Not stated enough*: the row names the program, but no shapes or data types that decide",
            "its time. Total / published is that of the priced rows.",
            "",
            "Largest errors first (families by the sum of their rows' log errors).",
            "",
            *worst_lines(priced),
            "",
            f"Rows rated high or medium that are more than {FAR} times off, in sample or out of fold, and why:",
            "",
            *far_lines(priced),
            END,
            "",
        ]
    )


def folds_from(path: Path, arch_dir: Path) -> tuple[list[Parameter], list[Vector]]:
    """The fitted numbers and their values without each fold, as `calibrate --write-folds` wrote them."""
    parameters = parameters_of(read_constants(arch_dir))
    return parameters, read_folds(path, parameters)


def with_section(page: str, text: str) -> str:
    """The page with its section about calls replaced, or put before the fitted constants."""
    if START in page and END in page:
        head, rest = page.split(START, 1)
        return head + text.rstrip("\n") + rest.split(END, 1)[1]
    head, mark, tail = page.partition("## Fitted constants")
    return f"{head}{text}\n{mark}{tail}"


def main(argv: Sequence[str] | None = None) -> int:
    """Command line."""
    parser = argparse.ArgumentParser(prog="python -m tools.calibration.published_accuracy", description="accuracy on published timings of calls")
    parser.add_argument("--data", type=Path, default=HARDWARE, help="folder of the *.train.csv[.gz] tables")
    parser.add_argument("--docs", type=Path, help="put the section into this page instead of printing it")
    parser.add_argument("--arch", type=Path, default=ARCH, help="folder of constants.csv and sfpu.csv")
    parser.add_argument("--folds", type=Path, help="columns out of fold, by the constants fitted without each fold (calibrate --write-folds)")
    args = parser.parse_args(argv)
    with simulator().restoring_constants():
        parameters, folds = folds_from(args.folds, args.arch) if args.folds else ([], [])
        text = section(args.data, parameters, folds)
    if args.docs:
        args.docs.write_text(with_section(args.docs.read_text(encoding="utf-8"), text), encoding="utf-8")
    else:
        print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
