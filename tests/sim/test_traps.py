"""The table of wrong prices and traps: it is today's, and what is far from a published figure says why."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sim.traps import BEFORE, FARTHEST, PAGE, ROWS, Row, before, priced, section


@pytest.fixture(scope="module")
def now() -> dict[str, dict[str, Any]]:
    return priced()


def test_the_page_has_todays_prices(now: dict[str, dict[str, Any]]) -> None:
    assert section(now) in PAGE.read_text(), "run python -m tests.sim.traps --write"
    assert before().keys() >= {row.call for row in ROWS}, f"{BEFORE.name} lacks a call"


@pytest.mark.parametrize("row", [row for row in ROWS if row.published is not None], ids=lambda row: f"{row.call}_{row.fact}_{row.over}")
def test_prices_near_published_figures(row: Row, now: dict[str, dict[str, Any]]) -> None:
    if row.fact == "refused":
        assert row.value(now)
    elif isinstance(row.published, str):
        assert row.value(now) == row.published
    else:
        ratio = row.ratio(now)
        assert ratio is not None
        assert 1 / FARTHEST < ratio < FARTHEST or ";" in row.note, "say why in the row's note"
        if row.over and isinstance(row.published, float) and row.published > 1.15:
            assert float(row.value(now) or 0) > 1, "the wrong one of two configurations is faster"
