"""Which constants of front ends are counters along one dimension: an `arange` says them without their values."""

from __future__ import annotations

from typing import Any

import numpy as np

from alchemist.frontends.vocabulary import FOLD_LIMIT, progression
from tests.tables import table

LARGE = 1 << 31


@table(
    ("values", "found"),
    [
        ([3, 5], (0, 3, 2)),
        ([3], None),
        ([], None),
        ([4, 4, 4], None),
        ([0, 1, 3], None),
        ([5, 3, 1], (0, 5, -2)),
        ([[0, 1, 2]] * 2, (1, 0, 1)),
        ([[[7, 7]], [[9, 9]]], (0, 7, 2)),
        ([[7, 7], [9, 8]], None),
        ([[7], [9]], (0, 7, 2)),
        ([[0, 1], [1, 2]], None),
        ([True, False], None),
        ([0.0, 1.0], (0, 0, 1)),
        ([0.0, 0.5], None),
        ([0.0, np.inf], None),
        ([0.0, np.nan], None),
        ([1.0 - LARGE, LARGE - 1.0], (0, 1 - LARGE, 2 * LARGE - 2)),
        ([0.0, float(LARGE)], None),
        ([0.0, -float(LARGE)], None),
        ([0, LARGE], (0, 0, LARGE)),
        (np.arange(10, dtype=np.uint8), (0, 0, 1)),
        (np.arange(FOLD_LIMIT, dtype=np.int32), (0, 0, 1)),
        (np.arange(FOLD_LIMIT + 1, dtype=np.int32), None),
    ],
)
def test_progressions(values: Any, found: tuple[int, int, int] | None) -> None:
    assert progression(np.asarray(values)) == found
