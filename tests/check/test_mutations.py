"""The mutation table of docs/check.md, model by model: what changes the mathematics is caught, what does not is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.check import mutations
from tests.check.edited_models import MODELS


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_edits_are_judged_rightly(name: str, tmp_path: Path) -> None:
    (tmp_path / name).mkdir()
    outcomes = list(mutations.run_model(name, ["py"], wrong=40, harmless=20, root=tmp_path))
    _, changing, caught, harmless, alarms = mutations.counts(outcomes)
    assert changing >= 10 and harmless == 20
    assert caught >= 0.95 * changing, mutations.table(outcomes)
    assert alarms == 0, mutations.table(outcomes)
