"""The fit of the constants, and the fits that leave rows out: folds, traces, large sizes."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tools.calibration.problem import FOLDS, REFRESH, STEP, SWEEPS, THIN, Parameter, Problem, Vector, fold_of, mask_of, reset, thin
from tools.calibration.scores import Score, score


@dataclass
class Fit:
    """Outcome of one fit."""

    values: Vector
    predictions: Vector
    jacobian: Vector
    cost: float


def fit(
    problem: Problem,
    parameters: Sequence[Parameter],
    train: NDArray[np.bool_],
    iterations: int = 12,
    verbose: bool = False,
    every: int = 1,
) -> Fit:
    """Levenberg-Marquardt on log constants over the observations in `train`; predictions are for all observations.

    `every`: how far `train` is thinned (`thin`): the rows of the large sweeps count so many times.
    """
    start = np.log([p.start for p in parameters])
    sigma = np.array([p.sigma for p in parameters])
    theta = start.copy()
    job_mask = problem.jobs_of(train)
    index = np.flatnonzero(train)
    truth, noise = problem.truth[index], problem.noise[index]
    share = problem.share[index] * np.where([problem.observations[i].table in SWEEPS for i in index], every, 1)

    def residuals(at: Vector) -> Vector:
        problem.set(parameters, np.exp(at))
        error = np.log(problem.predict(job_mask)[index] / truth)
        return np.asarray(np.where(np.isfinite(error), error, 3.0) / noise)

    def cost_of(res: Vector, at: Vector) -> float:
        # Robust: quadratic near zero, linear in the tail (median and 90th percentile count, not the worst row).
        return float(np.sum(share * 2 * (np.sqrt(1 + res * res) - 1)) + np.sum(((at - start) / sigma) ** 2))

    res = residuals(theta)
    cost = cost_of(res, theta)
    damping = 1e-2
    jacobian = np.zeros((len(index), len(parameters)))
    moved_jobs = [job_mask] * len(parameters)
    for iteration in range(iterations):
        # Most constants move few configurations; which ones is looked up afresh now and then.
        afresh = iteration % REFRESH == 0
        for j, parameter in enumerate(parameters):
            jobs = job_mask if afresh else moved_jobs[j]
            problem.set([parameter], np.exp(theta[j : j + 1] + STEP))
            error = np.log(problem.predict(jobs)[index] / truth) / noise
            change = np.where(np.isfinite(error), error - res, 0) / STEP
            jacobian[:, j] = change
            if afresh:
                moved = np.zeros(len(train), bool)
                moved[index[change != 0]] = True
                moved_jobs[j] = problem.jobs_of(moved)
            problem.set([parameter], np.exp(theta[j : j + 1]))
        weight = share / np.sqrt(1 + res * res)
        normal = jacobian.T @ (jacobian * weight[:, None]) + np.diag(1 / sigma**2)
        gradient = jacobian.T @ (weight * res) + (theta - start) / sigma**2
        improved = False
        for _ in range(6):
            step = -np.linalg.solve(normal + damping * np.diag(np.diag(normal)), gradient)
            trial = theta + np.clip(step, -0.4, 0.4)
            trial_res = residuals(trial)
            trial_cost = cost_of(trial_res, trial)
            if trial_cost < cost:
                improved = cost - trial_cost > 1e-4 * cost
                theta, res, cost = trial, trial_res, trial_cost
                damping = max(damping / 4, 1e-6)
                break
            damping *= 5
        if verbose:
            print(f"  iteration {iteration}: cost {cost:.1f}", file=sys.stderr, flush=True)
        if not improved:
            break
    problem.set(parameters, np.exp(theta))
    return Fit(np.exp(theta), problem.predict(), jacobian * noise[:, None], cost)


def committed(problem: Problem, parameters: Sequence[Parameter], constants: Sequence[dict[str, str]]) -> Fit:
    """What the constants of the table predict, and how the predictions move with each."""
    reset(problem, constants)
    by_name = {row["name"]: row for row in constants}
    values = np.array([float(by_name[p.name][p.families[0]]) for p in parameters])
    predictions = problem.predict()
    jacobian = np.zeros((len(problem.observations), len(parameters)))
    for j, parameter in enumerate(parameters):
        problem.set([parameter], values[j : j + 1] * math.exp(STEP))
        jacobian[:, j] = np.log(problem.predict() / predictions) / STEP
        problem.set([parameter], values[j : j + 1])
    return Fit(values, predictions, np.nan_to_num(jacobian), math.nan)


def cross_validate(problem: Problem, parameters: Sequence[Parameter], verbose: bool = False) -> tuple[Vector, list[Vector]]:
    """Out-of-fold predictions of every observation, and the constants of each fold.

    Fitted to all rows of the other folds: every `THIN`-th row of a sweep falls on some of its sizes and memories only, and moved the launch times.
    """
    folds = np.array([fold_of(o.group) for o in problem.observations])
    out = np.full(len(folds), np.nan)
    values = []
    for k in range(FOLDS):
        done = fit(problem, parameters, folds != k)
        out[folds == k] = done.predictions[folds == k]
        values.append(done.values)
        if verbose:
            print(f"fold {k}: cost {done.cost:.0f}", file=sys.stderr, flush=True)
    return out, values


def predict_by_folds(problem: Problem, parameters: Sequence[Parameter], folds: Sequence[Vector]) -> Vector:
    """Out-of-fold predictions from the constants of each fold."""
    fold = np.array([fold_of(o.group) for o in problem.observations])
    out = np.full(len(fold), np.nan)
    for k, values in enumerate(folds):
        problem.set(parameters, values)
        out[fold == k] = problem.predict(problem.jobs_of(fold == k))[fold == k]
    return out


def write_folds(path: Path, parameters: Sequence[Parameter], folds: Sequence[Vector]) -> None:
    """The constants of each fold, by label."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps([{p.label: float(v) for p, v in zip(parameters, values, strict=True)} for values in folds], indent=1), encoding="utf-8")


def read_folds(path: Path, parameters: Sequence[Parameter]) -> list[Vector]:
    """What `write_folds` wrote. ValueError where other constants were fitted."""
    folds = json.loads(path.read_text(encoding="utf-8"))
    labels = {p.label for p in parameters}
    if len(folds) != FOLDS or any(set(values) != labels for values in folds):
        raise ValueError(f"{path}: not the fitted constants of {FOLDS} folds; run calibrate --write-folds again")
    return [np.array([values[p.label] for p in parameters]) for values in folds]


def leave_sizes_out(problem: Problem, parameters: Sequence[Parameter], minimum: int = 8) -> dict[str, Score]:
    """The larger half of one op family's rows predicted from its smaller half and everything else."""
    out: dict[str, Score] = {}
    merged = np.full(len(problem.observations), np.nan)
    keep = thin(problem)
    for op in sorted({o.op for o in problem.observations if o.table == "ops"}):
        rows = mask_of(problem, op=op, table="ops")
        if rows.sum() < minimum:
            continue
        middle = float(np.median([o.size for o, m in zip(problem.observations, rows, strict=True) if m]))
        held = rows & np.array([o.size > middle for o in problem.observations])
        done = fit(problem, parameters, keep & ~held, iterations=6, every=THIN)
        out[op] = score(problem, done.predictions, held)
        merged[held] = done.predictions[held]
    out["all"] = score(problem, merged, ~np.isnan(merged))
    return out
