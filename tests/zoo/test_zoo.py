"""Every model of the zoo through `codegen_py` and `./run --check`, some through C++; a whole run writes docs/lab/models.md."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path

import pytest

os.environ["HF_HUB_OFFLINE"] = "1"
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

from alchemist.verify import RealTtnn  # noqa: E402
from alchemist.verify.environment import is_ready  # noqa: E402
from models.families import KNOWN  # noqa: E402
from models.sizes import LIMIT, MODELS, lines  # noqa: E402
from models.tables import CPP, everything, table  # noqa: E402
from tools.zoo.document import write  # noqa: E402
from tools.zoo.run import ARCHS, Row, referee, run_guarded  # noqa: E402

RUNS = [(name, "py") for name in everything()] + [(name, "cpp") for name in CPP]
BOUNDS = {"fp32": (0.999, 0.05), "bf16": (0.99, 0.15)}


def _record(entry: Row | tuple[str, int], shared: Path) -> None:
    """Adds a run to those of the session's other processes; whoever adds the last one writes docs/lab/models.md."""
    with (shared / "zoo.jsonl").open("a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.write(json.dumps(asdict(entry) if isinstance(entry, Row) else entry) + "\n")
        file.seek(0)
        entries = [json.loads(line) for line in file]
        rows = {(one["model"], one["language"]): Row(**one) for one in entries if isinstance(one, dict)}
        sizes = dict(one for one in entries if isinstance(one, list))
        if set(rows) == set(RUNS) and set(sizes) == set(MODELS):
            write([rows[key] for key in RUNS], {name: sizes[name] for name in MODELS})


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One directory for all processes of the session: pytest-xdist gives each worker a folder in it."""
    base = tmp_path_factory.getbasetemp()
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base


@pytest.fixture(scope="session")
def wheels() -> Iterator[dict[str, RealTtnn]]:
    """The real ttnn, where `make referee` has installed it; without it docs/lab/models.md says "not run"."""
    with ExitStack() as stack:
        yield {arch: stack.enter_context(referee(arch)) for arch in ARCHS} if is_ready() else {}


def test_the_zoo_is_large_enough() -> None:
    assert len(table()) >= 60
    assert len(set(CPP)) >= 20
    assert set(CPP) <= set(table())
    assert len({framework for framework, _ in table().values()}) == 2


@pytest.mark.parametrize(("name", "language"), RUNS, ids=[f"{name}-{language}" for name, language in RUNS])
def test_model(name: str, language: str, shared: Path, wheels: dict[str, RealTtnn], tmp_path: Path) -> None:
    row = run_guarded(name, language, tmp_path / "out", wheels)
    _record(row, shared)
    if name in KNOWN:
        assert KNOWN[name] in row.result, row.result
        return
    assert row.result == "ok", row.result
    assert row.ops > 0
    assert row.device_us > 0
    if row.dtype in BOUNDS and row.pcc is not None and row.rel_l2 is not None:
        pcc, rel_l2 = BOUNDS[row.dtype]
        assert row.pcc >= pcc
        assert row.rel_l2 <= rel_l2
    assert not row.rejections, row.rejections


@pytest.mark.parametrize("name", MODELS)
def test_length_of_main(name: str, shared: Path, tmp_path: Path) -> None:
    count = lines(name, tmp_path / "out")
    _record((name, count), shared)
    assert count < LIMIT
