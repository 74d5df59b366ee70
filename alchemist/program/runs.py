"""Items of a function by the source statement that they belong to."""

from __future__ import annotations

import bisect
from collections.abc import Sequence

from alchemist.program.functions import CallItem, Item, LoopItem
from alchemist.program.graph import Node
from alchemist.program.model_source import Statement

FOREVER = 1 << 60


class Finals:
    """Runs of items that belong to one source statement; other items may stand in between, but not many. Those of the backward pass are runs of their own."""

    _GAP = 6

    def __init__(self) -> None:
        self._runs: dict[tuple[str, int], list[list[int]]] = {}
        self._backward: set[tuple[str, int]] = set()

    def add(self, statement: Statement, index: int, *, backward: bool = False) -> None:
        """To be called with growing indices."""
        key = (statement.file, statement.line)
        runs = self._runs.setdefault(key, [])
        if runs and index - runs[-1][1] <= self._GAP and backward == (key in self._backward):
            runs[-1][1] = index
        else:
            runs.append([index, index])
        if backward:
            self._backward.add(key)

    def end(self, statement: Statement, index: int) -> int:
        """Last item of the run around `index`; `index` itself if there is none."""
        return self.run(statement, index)[-1]

    def run(self, statement: Statement, index: int) -> range:
        """From the first to the last item of the run around `index`; `index` alone if there is none."""
        runs = self._runs.get((statement.file, statement.line), [])
        place = bisect.bisect_right(runs, [index, FOREVER]) - 1
        first, last = runs[place] if place >= 0 and runs[place][0] <= index <= runs[place][1] else (index, index)
        return range(first, last + 1)


def flat_items(items: Sequence[Item]) -> list[Node | CallItem]:
    out: list[Node | CallItem] = []
    for item in items:
        out += flat_items(item.body) if isinstance(item, LoopItem) else [item]
    return out
