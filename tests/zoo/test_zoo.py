"""Every model of the zoo through `codegen_py` and `./run --check`, some through C++; a whole run writes docs/models.md."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

os.environ["HF_HUB_OFFLINE"] = "1"
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

from tests.zoo.document import TARGET, document  # noqa: E402
from tests.zoo.models import CPP, table  # noqa: E402
from tests.zoo.run import Row, run_model  # noqa: E402
from tests.zoo.sizes import LIMIT, MODELS, lines  # noqa: E402

RUNS = [(name, "py") for name in table()] + [(name, "cpp") for name in CPP]
BOUNDS = {"fp32": (0.999, 0.05), "bf16": (0.99, 0.15)}


@pytest.fixture(scope="module")
def results() -> Iterator[tuple[list[Row], dict[str, int]]]:
    rows: list[Row] = []
    sizes: dict[str, int] = {}
    yield rows, sizes
    if len(rows) == len(RUNS) and len(sizes) == len(MODELS):
        TARGET.write_text(document(rows, sizes), encoding="utf-8")


def test_the_zoo_is_large_enough() -> None:
    assert len(table()) >= 60
    assert len(set(CPP)) >= 20
    assert set(CPP) <= set(table())
    assert len({framework for framework, _ in table().values()}) == 2


@pytest.mark.parametrize(("name", "language"), RUNS, ids=[f"{name}-{language}" for name, language in RUNS])
def test_model(name: str, language: str, results: tuple[list[Row], dict[str, int]], tmp_path: Path) -> None:
    row = run_model(name, language, tmp_path / "out")
    results[0].append(row)
    assert row.result == "ok", row.result
    assert row.ops > 0
    assert row.device_us > 0
    if row.dtype in BOUNDS and row.pcc is not None and row.rel_l2 is not None:
        pcc, rel_l2 = BOUNDS[row.dtype]
        assert row.pcc >= pcc
        assert row.rel_l2 <= rel_l2


@pytest.mark.parametrize("name", MODELS)
def test_length_of_main(name: str, results: tuple[list[Row], dict[str, int]], tmp_path: Path) -> None:
    results[1][name] = count = lines(name, tmp_path / "out")
    assert count < LIMIT
