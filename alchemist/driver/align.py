"""Aligns two sequences of the same run: finds the entries that belong together, in order."""

from __future__ import annotations

from collections.abc import Callable, Sequence

MOST = 4000
"""Entries of each that are aligned: the table is quadratic."""


def in_order(left: Sequence[str], right: Sequence[str], same: Callable[[str, str], bool]) -> list[int | None]:
    """Index in `right` of each entry of `left`: a longest common subsequence."""
    rows, columns = min(len(left), MOST), min(len(right), MOST)
    best = [[0] * (columns + 1) for _ in range(rows + 1)]
    for i in range(rows - 1, -1, -1):
        for j in range(columns - 1, -1, -1):
            step = best[i + 1][j + 1] + 1 if same(left[i], right[j]) else 0
            best[i][j] = max(best[i + 1][j], best[i][j + 1], step)
    partners: list[int | None] = [None] * len(left)
    i = j = 0
    while i < rows and j < columns:
        if same(left[i], right[j]) and best[i][j] == best[i + 1][j + 1] + 1:
            partners[i] = j
            i, j = i + 1, j + 1
        elif best[i + 1][j] >= best[i][j + 1]:
            i += 1
        else:
            j += 1
    return partners
