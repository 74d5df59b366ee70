"""Recorded calls of several chips: the share that gives the recorded spec or message, per system."""

from __future__ import annotations

import pytest

from tools.conformance import mesh_calls


@pytest.mark.parametrize("system", ["n300", "t3000", "p150_x8", "galaxy"])
def test_calls_agree_with_the_record(system: str) -> None:
    result = mesh_calls.run_in_process(system)
    total = len(mesh_calls.record()[system]["calls"])
    assert result["same"] >= 0.95 * total, result["differ"]
