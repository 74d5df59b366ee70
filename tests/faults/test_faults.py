from __future__ import annotations

from pathlib import Path

import pytest

from tools.faults.run import table


@pytest.mark.slow
def test_old_or_new_and_nothing_left_behind(tmp_path: Path) -> None:
    rows = table(40, tmp_path)
    assert [str(row) for row in rows if not row.good] == []
    assert sum(sum(row.ends.values()) for row in rows) > 90
