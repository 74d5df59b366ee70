"""How far the clock is from published timings of calls (singles, layers, pairs): the section of docs/accuracy.md, and a list of the largest errors.

python -m ttnn_shim.published_accuracy [--docs docs/accuracy.md]    # prints the section, or puts it into the page
"""

from __future__ import annotations

import argparse
import csv
import gzip
import hashlib
import io
import math
import statistics
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ttnn_shim.published import ask, requests_of

START, END = "<!-- published calls: start -->", "<!-- published calls: end -->"
WORTH_DECIDING = 1.15
"""Pairs whose published times differ by less are no decision."""
Rows = Sequence[Mapping[str, str]]


def read_rows(data: Path, table: str) -> list[dict[str, str]]:
    """Rows of `table`.train.csv[.gz] with their measured columns."""
    csv.field_size_limit(1 << 30)
    path = next(p for p in (data / f"{table}.train.csv", data / f"{table}.train.csv.gz") if p.exists())
    text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return list(csv.DictReader(io.StringIO(text.decode("utf-8"))))


def quantile(values: Sequence[float], q: float) -> float:
    """Linear-interpolated quantile."""
    ordered = sorted(values)
    place = q * (len(ordered) - 1)
    low = math.floor(place)
    return ordered[low] + (place - low) * (ordered[min(low + 1, len(ordered) - 1)] - ordered[low])


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
    floor_ns: float
    size_bytes: float

    @property
    def off(self) -> float:
        """Factor of the error, at least 1."""
        return max(self.ns / self.truth_ns, self.truth_ns / self.ns)


def rating_of(row: Mapping[str, str]) -> str:
    """high, medium or low; "partial" where the configuration cannot be rebuilt in full."""
    return row["confidence"].split(":")[0] if row["rebuildable"] == "yes" else "partial"


def priced_singles(rows: Rows, answers: Mapping[str, Mapping[str, Any]]) -> list[Row]:
    """The singles that have a price."""
    out = []
    for row in rows:
        answer = answers[row["id"]]
        if "ns" in answer:
            truth_ns = 1000 * float(row["time_us"])
            found = (answer["ns"], max(answer["floor_ns"], 100.0), answer["bytes"])
            out.append(Row(row["id"], row["op"], row["family"], row["arch"], rating_of(row), truth_ns, *found))
    return out


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
            # Normal equations of ns / truth = 1 in (constant, bytes).
            a = sum(1 / r.truth_ns**2 for r in train)
            b = sum(r.size_bytes / r.truth_ns**2 for r in train)
            c = sum(r.size_bytes**2 / r.truth_ns**2 for r in train)
            p, q = sum(1 / r.truth_ns for r in train), sum(r.size_bytes / r.truth_ns for r in train)
            det = a * c - b * b
            constant, slope = ((p * c - q * b) / det, (a * q - b * p) / det) if det > 1e-9 * a * c else (p / a, 0.0)
            out |= {r.row_id: max(constant + slope * r.size_bytes, 100.0) for r in mine if fold[r.row_id] == k}
    return out


def errors_text(pairs: Iterable[tuple[float, float]]) -> str:
    """Median / p90 of the absolute error in percent, of (predicted, measured)."""
    apes = [100 * abs(made / truth - 1) for made, truth in pairs]
    return f"{quantile(apes, 0.5):.0f} / {quantile(apes, 0.9):.0f}" if apes else "-"


def singles_lines(rows: Rows, priced: Sequence[Row]) -> list[str]:
    """The table of singles by chip and rating."""
    lines = [
        "| chip | rating | rows | priced | median / p90 % | off > 1.5x | off > 3x | roofline | least squares |",
        "|---|---|---|---|---|---|---|---|---|",
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
            off = [sum(r.off > limit for r in mine) for limit in (1.5, 3)]
            lines.append(f"| {arch} | {rating} | {count} | {len(mine)} | {own} | {off[0]} | {off[1]} | {roof} | {fitted} |")
    return lines


def pair_lines(rows: Rows, answers: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Signs and log ratio errors of pairs that are not rows of the calibration tables."""
    lines = [
        f"| pairs above {WORTH_DECIDING} | rows | priced | right sign | median of the log ratio's error | right sign by roofline |",
        "|---|---|---|---|---|---|",
    ]
    for rebuildable in ("yes", "partial"):
        chosen = []
        for row in rows:
            ratio = float(row["time_b_us"]) / float(row["time_a_us"])
            if row["rebuildable"] == rebuildable and not row["derived_from_train"] and max(ratio, 1 / ratio) > WORTH_DECIDING:
                chosen.append((row["id"], ratio))
        both = [(answers[i + "a"], answers[i + "b"], ratio) for i, ratio in chosen if "ns" in answers[i + "a"] and "ns" in answers[i + "b"]]
        right = sum((b["ns"] > a["ns"]) == (ratio > 1) for a, b, ratio in both)
        logs = [abs(math.log(b["ns"] / a["ns"] / ratio)) for a, b, ratio in both]
        roof = sum((b["floor_ns"] > a["floor_ns"]) == (ratio > 1) for a, b, ratio in both)
        error = f"{statistics.median(logs):.2f}" if logs else "-"
        lines.append(f"| rebuildable: {rebuildable} | {len(chosen)} | {len(both)} | {right} | {error} | {roof} |")
    return lines


def layer_lines(rows: Rows, answers: Mapping[str, Mapping[str, Any]], counts: Mapping[str, int]) -> list[str]:
    """Totals of the priced ops of each layer."""
    lines = ["| layer | ops | priced | share of the time | total / published |", "|---|---|---|---|---|"]
    for key in dict.fromkeys((r["model"], r["variant"], r["chip"]) for r in rows):
        mine = [r for r in rows if (r["model"], r["variant"], r["chip"]) == key and r["op"] != "TOTAL"]
        priced = [r for r in mine if "ns" in answers[r["id"]]]
        whole, part = sum(float(r["time_us"]) for r in mine), sum(float(r["time_us"]) for r in priced)
        made = sum(answers[r["id"]]["ns"] * counts[r["id"]] / 1000 for r in priced)
        ratio = f"{made / part:.2f}" if part else "-"
        lines.append(f"| {key[0]}, {key[1]} | {len(mine)} | {len(priced)} | {100 * part / whole:.0f} % | {ratio} |")
    return lines


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


def section(data: Path) -> str:
    """The part of the accuracy page about calls."""
    tables = {name: read_rows(data, name) for name in ("singles", "layers", "pairs")}
    asked = {name: requests_of(name, rows) for name, rows in tables.items()}
    made = ask([{**request, "id": f"{name} {request['id']}"} for name, requests in asked.items() for request in requests])
    answers = {name: {request["id"]: made[f"{name} {request['id']}"] for request in requests} for name, requests in asked.items()}
    counts = {request["id"]: request["count"] for request in asked["layers"]}
    priced = priced_singles(tables["singles"], answers["singles"])
    return "\n".join(
        [
            START,
            "## Published calls of ttnn (singles, pairs, layers)",
            "",
            "By `python -m ttnn_shim.published_accuracy --docs docs/accuracy.md`. Each row is a call made on the simulated card without values; rows whose",
            "configuration does not say enough, or whose ops have no model, are left out (`alchemist estimate` prints why). Eltwise dashboards, variances and",
            "reductions of one tile have set `arch/programs.csv` and the SFPU table (in sample: unary, binary, ternary, reduce); no other row set a constant.",
            "",
            *singles_lines(tables["singles"], priced),
            "",
            "Roofline: bytes at the peak of DRAM or the matrix engine's cycles. Least squares: constant and bytes per family and chip, out of fold.",
            "",
            *pair_lines(tables["pairs"], answers["pairs"]),
            "",
            *layer_lines(tables["layers"], answers["layers"], counts),
            "",
            "Largest errors first (families by the sum of their rows' log errors).",
            "",
            *worst_lines(priced),
            END,
            "",
        ]
    )


def with_section(page: str, text: str) -> str:
    """The page with its section about calls replaced, or put before the fitted constants."""
    if START in page and END in page:
        head, rest = page.split(START, 1)
        return head + text.rstrip("\n") + rest.split(END, 1)[1]
    head, mark, tail = page.partition("## Fitted constants")
    return f"{head}{text}\n{mark}{tail}"


def main(argv: Sequence[str] | None = None) -> int:
    """Command line."""
    root = Path(__file__).resolve().parents[3]
    parser = argparse.ArgumentParser(prog="python -m ttnn_shim.published_accuracy", description="accuracy on published timings of calls")
    parser.add_argument("--data", type=Path, default=root / "tests" / "data" / "hardware", help="folder of the *.train.csv[.gz] tables")
    parser.add_argument("--docs", type=Path, help="put the section into this page instead of printing it")
    args = parser.parse_args(argv)
    text = section(args.data)
    if args.docs:
        args.docs.write_text(with_section(args.docs.read_text(encoding="utf-8"), text), encoding="utf-8")
    else:
        print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
