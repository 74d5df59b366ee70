"""What is fitted (constants of the clock, with their priors) and what it is fitted to (measured times and the programs that took them)."""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from ttnn_shim.simlib import Simulator

Vector = NDArray[np.float64]
FAMILIES = ("wormhole_b0", "blackhole")
TABLES = ("ops", "gemm", "eltwise_exp", "matmul_height_sharded")
CALLS = "singles"
"""The table of published calls: each row is a call of ttnn, one program or several."""
# Expected log error of a row (repeat noise and what the equations leave out), and how much a table counts beside the others.
NOISE = {"ops": 0.07, "gemm": 0.02, "gemm_wall": 0.02, "eltwise_exp": 0.006, "matmul_height_sharded": 0.01, CALLS: 0.07}
SHARE = {"ops": 1.0, "gemm": 1.0, "gemm_wall": 1.0, "eltwise_exp": 0.08, "matmul_height_sharded": 0.2, CALLS: 1.0}
SFPU = "sfpu."
SWEEPS = ("eltwise_exp", "matmul_height_sharded")
"""Thousands of rows of one call."""
THIN = 12
STEP = 0.02
REFRESH = 4
FOLDS = 5


@dataclass(frozen=True)
class Parameter:
    """One fitted number: a constant on one chip family, or on both at once (tied).

    followers: names of constants that keep a ratio to this one, with the ratio.
    """

    name: str
    families: tuple[str, ...]
    start: float
    sigma: float
    followers: tuple[tuple[str, float], ...] = ()

    @property
    def label(self) -> str:
        return self.name if len(self.families) == 2 else f"{self.name} [{self.families[0]}]"


@dataclass
class Observation:
    """One measured number and the handles that price it: the sum of its programs and of a time that no constant changes."""

    row_id: str
    table: str
    op: str
    family: str
    trace: str
    group: str
    truth: float
    size: float
    parts: tuple[tuple[int, int], ...]
    column: int
    fixed_ns: float = 0.0
    rating: str = ""


@dataclass
class Problem:
    """All observations with the simulator that prices them."""

    sim: Simulator
    observations: list[Observation]
    archs: dict[str, list[int]]
    jobs: list[tuple[int, int]] = field(default_factory=list)
    part_job: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    part_of: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    part_column: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    fixed_ns: Vector = field(default_factory=lambda: np.zeros(0))
    truth: Vector = field(default_factory=lambda: np.zeros(0))
    noise: Vector = field(default_factory=lambda: np.zeros(0))
    share: Vector = field(default_factory=lambda: np.zeros(0))

    def __post_init__(self) -> None:
        index: dict[tuple[int, int], int] = {}
        parts = [(i, o.column, index.setdefault(part, len(index))) for i, o in enumerate(self.observations) for part in o.parts]
        self.part_of, self.part_column, self.part_job = (np.array(column) for column in zip(*parts, strict=True))
        self.jobs = list(index)
        self.fixed_ns = np.array([o.fixed_ns for o in self.observations])
        self.truth = np.array([o.truth for o in self.observations])
        self.noise = np.array([NOISE[o.table] for o in self.observations])
        self.share = np.array([SHARE[o.table] for o in self.observations])

    def set(self, parameters: Sequence[Parameter], values: Vector) -> None:
        """Put fitted values into the simulator."""
        for parameter, value in zip(parameters, values, strict=True):
            for family in parameter.families:
                for name, ratio in ((parameter.name, 1.0), *parameter.followers):
                    self.sim.set(self.archs[family], name, float(value) * ratio)

    def predict(self, only: NDArray[np.bool_] | None = None) -> Vector:
        """Predicted ns per observation (NaN outside `only`, a mask over jobs)."""
        chosen = np.arange(len(self.jobs)) if only is None else np.flatnonzero(only)
        priced = self.sim.price_many([self.jobs[i][0] for i in chosen], [self.jobs[i][1] for i in chosen])
        table = np.full((len(self.jobs), 3), np.nan)
        if len(chosen):
            table[chosen] = np.array(priced)
        result = self.fixed_ns.copy()
        np.add.at(result, self.part_of, table[self.part_job, self.part_column])
        return result

    def jobs_of(self, chosen: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Mask over jobs: the programs of the chosen observations."""
        mask = np.zeros(len(self.jobs), bool)
        mask[self.part_job[chosen[self.part_of]]] = True
        return mask


def read_constants(arch_dir: Path) -> list[dict[str, str]]:
    """Rows of constants.csv, and of sfpu.csv as constants "sfpu.EXP"."""
    with open(arch_dir / "constants.csv", newline="", encoding="utf-8") as handle:
        constants = list(csv.DictReader(handle))
    with open(arch_dir / "sfpu.csv", newline="", encoding="utf-8") as handle:
        return constants + [{"name": SFPU + row["op"], **row} for row in csv.DictReader(handle)]


def parameters_of(constants: Sequence[dict[str, str]]) -> list[Parameter]:
    """The fitted numbers behind the constants table. A row that is fitted "as OTHER" follows a row of the same file that is fitted as "shared"."""
    out: list[Parameter] = []
    followers: dict[str, list[tuple[str, float]]] = {}
    starts = {row["name"]: float(row["start_blackhole"]) for row in constants}
    for row in constants:
        if row["fitted"].startswith("as "):
            leader = (SFPU if row["name"].startswith(SFPU) else "") + row["fitted"].removeprefix("as ")
            if not any(other["name"] == leader and other["fitted"] == "shared" for other in constants):
                raise ValueError(f"{row['name']}: fitted {row['fitted']!r}: no row {leader!r} that is fitted as 'shared'")
            followers.setdefault(leader, []).append((row["name"], starts[row["name"]] / starts[leader]))
    for row in constants:
        sigma = float(row["sigma"])
        match row["fitted"]:
            case "no":
                continue
            case follower if follower.startswith("as "):
                continue
            case "both":
                out += [Parameter(row["name"], (family,), float(row[f"start_{family}"]), sigma) for family in FAMILIES]
            case "shared":
                out.append(Parameter(row["name"], FAMILIES, float(row["start_blackhole"]), sigma, tuple(followers.get(row["name"], ()))))
            case ("wormhole_b0" | "blackhole") as family:
                out.append(Parameter(row["name"], (family,), float(row[f"start_{family}"]), sigma))
            case other:
                raise ValueError(f"constants.csv: {row['name']}: fitted must be no, both, shared, a family or 'as NAME', not {other!r}")
    return out


def fold_of(group: str) -> int:
    """Fold of a configuration group, the same in every table and run."""
    return int(hashlib.sha1(group.encode()).hexdigest(), 16) % FOLDS


def mask_of(problem: Problem, **want: str) -> NDArray[np.bool_]:
    """Observations whose fields have these values."""
    return np.array([all(getattr(o, key) == value for key, value in want.items()) for o in problem.observations])


def thin(problem: Problem) -> NDArray[np.bool_]:
    """All rows but those of the two large sweeps, of which every `THIN`-th is kept."""
    return np.array([o.table not in SWEEPS or i % THIN == 0 for i, o in enumerate(problem.observations)])


def reset(problem: Problem, constants: Sequence[dict[str, str]]) -> None:
    """All constants as the table has them."""
    for row in constants:
        for family in FAMILIES:
            problem.sim.set(problem.archs[family], row["name"], float(row[family]))
