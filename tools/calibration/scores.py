"""How good predictions are: percentiles of the error and the rank correlation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tools.calibration.problem import Problem, Vector


def quantile(values: Sequence[float], q: float) -> float:
    """Linear-interpolated quantile."""
    return float(np.quantile(np.array(values), q)) if len(values) else math.nan


def spearman(a: Vector, b: Vector) -> float:
    """Rank correlation (ties get mean ranks)."""

    def ranks(x: Vector) -> Vector:
        order = np.argsort(x, kind="stable")
        out = np.empty(len(x))
        values = x[order]
        i = 0
        while i < len(x):
            j = i
            while j + 1 < len(x) and values[j + 1] == values[i]:
                j += 1
            out[order[i : j + 1]] = (i + j) / 2
            i = j + 1
        return out

    if len(a) < 3:
        return math.nan
    return float(np.corrcoef(ranks(a), ranks(b))[0, 1])


@dataclass(frozen=True)
class Score:
    """Error of a set of predictions: percent, rank correlation."""

    n: int
    median: float
    p90: float
    rho: float

    def __str__(self) -> str:
        return f"{self.n} | {self.median:.1f} | {self.p90:.1f} | {self.rho:.3f}"


def score(problem: Problem, predictions: Vector, mask: NDArray[np.bool_]) -> Score:
    """Score of the predictions where `mask` holds."""
    truth, made = problem.truth[mask], predictions[mask]
    ape = list(100 * np.abs(made / truth - 1))
    return Score(len(ape), quantile(ape, 0.5), quantile(ape, 0.9), spearman(truth, made))
