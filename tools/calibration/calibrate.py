"""Fit the constants marked as fitted in arch/constants.csv and arch/sfpu.csv to the measured training tables, and report how well that generalises.

Maximum a posteriori fit: robust squared log error of the predictions plus a log-normal prior around each constant's starting value (its
published or first-principles value). Folds are taken by `split_group`, so near-duplicates never straddle. Needs numpy.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from ttnn_shim.estimate import configure, recognise
from ttnn_shim.simlib import Simulator, simulator

from tools.calibration.accuracy import accuracy_page, other_sections
from tools.calibration.calls import observed_calls
from tools.calibration.fit import committed, cross_validate, fit, predict_by_folds, read_folds, write_folds
from tools.calibration.problem import FAMILIES, NOISE, TABLES, Observation, Parameter, Problem, Vector, mask_of, parameters_of, read_constants, reset
from tools.calibration.rows import ARCH, HARDWARE, is_left_out, read_rows
from tools.calibration.scores import score


def load(data: Path, sim: Simulator, calls: bool = False) -> Problem:
    """Observations of the four training tables; `calls`: of the published calls too, whose programs are found by making them (some seconds)."""
    observations: list[Observation] = []
    archs: dict[str, set[int]] = {family: set() for family in FAMILIES}
    for table in TABLES:
        rows = [row for row in read_rows(data, table) if not is_left_out(row, table)]
        kind = recognise(list(rows[0]))
        for index, row in enumerate(rows, 1):
            done = configure(row, index, kind)
            arch = sim.arch(done.card, done.grid, done.dram_banks)
            config = sim.config(done.config)
            archs[row["arch"]].add(arch)
            size = float(row.get("total_bytes") or 0) + float(row.get("flops") or 0) / 1000

            def add(
                name: str,
                truth: str,
                column: int,
                row: dict[str, str] = row,
                arch: int = arch,
                config: int = config,
                size: float = size,
            ) -> None:
                observations.append(
                    Observation(
                        row["id"],
                        name,
                        row["op"],
                        row["arch"],
                        row.get("source_file", ""),
                        row["split_group"],
                        float(truth),
                        size,
                        ((arch, config),),
                        column,
                    )
                )

            add(table, row.get("kernel_ns") or row["trisc1_avg_ns"], 1 if table == "gemm" else 0)
            if row.get("wall_trace_ns"):
                add("gemm_wall", row["wall_trace_ns"], 2)
    if calls:
        for made in observed_calls(data, sim):
            observations.append(made)
            archs[made.family].update(arch for arch, _ in made.parts)
    return Problem(sim, observations, {family: sorted(handles) for family, handles in archs.items()})


def write_constants(arch_dir: Path, constants: Sequence[dict[str, str]], parameters: Sequence[Parameter], values: Vector) -> None:
    """Fitted values back into constants.csv and sfpu.csv."""
    by_name = {row["name"]: row for row in constants}
    for parameter, value in zip(parameters, values, strict=True):
        for name, ratio in ((parameter.name, 1.0), *parameter.followers):
            for family in parameter.families:
                by_name[name][family] = f"{value * ratio:.5g}"
    for name, key in (("constants.csv", "name"), ("sfpu.csv", "op")):
        rows = [row for row in constants if ("op" in row) == (key == "op")]
        with open(arch_dir / name, "w", newline="", encoding="utf-8") as handle:
            writer = csv.DictWriter(handle, fieldnames=[k for k in rows[0] if key == "name" or k != "name"], lineterminator="\n")
            writer.writeheader()
            writer.writerows({k: row[k] for k in writer.fieldnames} for row in rows)


def write_predictions(path: Path, problem: Problem, predictions: Vector) -> None:
    """id,predicted_ns,predicted_wall_ns as the scorer reads it."""
    wall = {o.row_id: p for o, p in zip(problem.observations, predictions, strict=True) if o.table == "gemm_wall"}
    with open(path, "w", newline="", encoding="utf-8") as handle:
        writer = csv.writer(handle, lineterminator="\n")
        writer.writerow(("id", "predicted_ns", "predicted_wall_ns"))
        for o, p in zip(problem.observations, predictions, strict=True):
            if o.table != "gemm_wall":
                writer.writerow((o.row_id, f"{p:.1f}", f"{wall[o.row_id]:.1f}" if o.row_id in wall else ""))


def main(argv: Sequence[str] | None = None) -> int:
    """Command line."""
    parser = argparse.ArgumentParser(prog="python -m tools.calibration.calibrate", description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--data", type=Path, default=HARDWARE, help="folder of the *.train.csv[.gz] tables")
    parser.add_argument("--arch", type=Path, default=ARCH, help="folder of constants.csv")
    parser.add_argument("--write", action="store_true", help="write the fitted constants back (then rebuild)")
    parser.add_argument("--predictions", type=Path, help="write out-of-fold predictions of the training rows and calls here")
    parser.add_argument("--docs", type=Path, help="write the accuracy page here (takes some minutes)")
    parser.add_argument("--quick", action="store_true", help="full fit only, no cross-validation")
    parser.add_argument("--keep", action="store_true", help="no full fit: the committed constants are judged")
    folds_of = parser.add_mutually_exclusive_group()
    folds_of.add_argument("--write-folds", type=Path, help="write the constants fitted without each fold here")
    folds_of.add_argument("--folds", type=Path, help="read them from here, instead of fitting them")
    args = parser.parse_args(argv)
    with simulator().restoring_constants():
        _calibrate(args)
    return 0


def _calibrate(args: argparse.Namespace) -> None:
    problem = load(args.data, simulator(), calls=True)
    constants = read_constants(args.arch)
    reset(problem, constants)
    parameters = parameters_of(constants)
    print(
        f"{len(problem.observations)} observations, {len(problem.jobs)} configurations, {len(parameters)} fitted numbers",
        file=sys.stderr,
    )
    everything = np.ones(len(problem.observations), bool)
    full = committed(problem, parameters, constants) if args.keep else fit(problem, parameters, everything, verbose=True)
    for table in NOISE:
        print(f"in sample  {table:24s} {score(problem, full.predictions, mask_of(problem, table=table))}")
    if not args.quick:
        if args.folds:
            folds = read_folds(args.folds, parameters)
            out_of_fold = predict_by_folds(problem, parameters, folds)
            reset(problem, constants)
        else:
            out_of_fold, folds = cross_validate(problem, parameters, verbose=True)
        if args.write_folds:
            write_folds(args.write_folds, parameters, folds)
        for table in NOISE:
            print(f"out of fold {table:23s} {score(problem, out_of_fold, mask_of(problem, table=table))}")
        if args.predictions:
            write_predictions(args.predictions, problem, out_of_fold)
        if args.docs:
            kept = other_sections(args.docs.read_text(encoding="utf-8")) if args.docs.exists() else ""
            args.docs.write_text(accuracy_page(problem, constants, parameters, full, out_of_fold, folds, args.data) + kept, encoding="utf-8")
    if args.write and not args.keep:
        write_constants(args.arch, constants, parameters, full.values)


if __name__ == "__main__":
    sys.exit(main())
