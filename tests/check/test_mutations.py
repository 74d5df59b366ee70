"""The mutation table of docs/lab/check.md, model by model: what changes the mathematics is caught, what does not is not."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

from alchemist import codegen_cpp, codegen_py
from tests.check import edits, mutations
from tests.check.edited_models import MODELS, build


@pytest.mark.parametrize("name", ["gru", "mlp_loss"])
def test_edits_are_the_same_in_both_languages(name: str, tmp_path: Path) -> None:
    """What is edited in `main.py` is found in `model.cpp`, else the table of C++ would be made of nothing."""
    model, args, kwargs = build(name)
    python, cpp = (
        (codegen(model, *args, export_path=tmp_path / file, export_golden="none", **kwargs).path / file).read_text()
        for codegen, file in ((codegen_py, "main.py"), (codegen_cpp, "model.cpp"))
    )
    assert [site.name for site in edits.sites(python)] == [site.name for site in edits.sites(cpp)]
    proposed = list(edits.proposals(python, MODELS[name][0]))
    applied = 0
    for edit in proposed:
        with contextlib.suppress(edits.NotApplicable):
            assert edits.apply(cpp, edit) != cpp
            applied += 1
    assert applied > 0.8 * len(proposed) > 30


@pytest.mark.slow
@pytest.mark.parametrize("language", ["py", "cpp"])
@pytest.mark.parametrize("name", MODELS)
def test_edits_are_judged_rightly(name: str, language: str, tmp_path: Path) -> None:
    (tmp_path / name).mkdir()
    outcomes = list(mutations.run_model(name, [language], wrong=40, harmless=20, root=tmp_path))
    _, changing, caught, harmless, alarms = mutations.counts(outcomes)
    assert changing >= 10 and harmless == 20
    assert caught >= 0.9 * changing, mutations.table(outcomes)
    # What moves an output by less than twice the unedited error may pass (rule 7 of docs/check.md).
    assert all((outcome.effect or 0.0) < 2 for outcome in outcomes if outcome.missed), mutations.table(outcomes)
    assert alarms == 0, mutations.table(outcomes)
