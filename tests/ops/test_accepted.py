"""What the op table says the simulator accepts is accepted."""

from __future__ import annotations

import zlib

import pytest

from alchemist.ops.table import accepted

pytest.importorskip("ttnn_shim")


def test_committed_values_are_accepted() -> None:
    """A tenth of the ops; `python -m tests.ops.accepted` writes the file anew."""
    import ttnn_shim

    ttnn_shim.activate()
    from tests.ops import accepted as probing

    names = probing.offered()
    chosen = {name for name in accepted() if zlib.crc32(name.encode()) % 10 == 0}
    seen = probing.accepted(probing.all_probes(), {spelling: name for spelling, name in names.items() if name in chosen})
    assert len(chosen) > 20
    missing = {
        (name, column, value)
        for name in chosen
        for column, values in accepted()[name].items()
        for value in set(values) - set(seen.get(name, {}).get(column, ()))
    }
    assert not missing, "python -m tests.ops.accepted, then make docs"


def test_every_offered_op_is_listed() -> None:
    import ttnn_shim

    ttnn_shim.activate()
    from tests.ops import accepted as probing

    assert set(probing.offered().values()) == set(accepted()), "python -m tests.ops.accepted, then make docs"
