"""What the op table says the simulator accepts is accepted."""

from __future__ import annotations

import json
import subprocess
import sys
import zlib

import pytest

from alchemist.ops.table import accepted

pytest.importorskip("ttnn_shim")

PROBING = """
import json, sys, ttnn_shim
ttnn_shim.activate(explicit=True)
from tests.ops import accepted as probing
chosen = set(json.load(sys.stdin))
seen = probing.accepted(probing.all_probes(), {spelling: name for spelling, name in probing.offered().items() if name in chosen})
print(json.dumps({name: {column: sorted(values) for column, values in columns.items()} for name, columns in seen.items()}))
"""


def test_committed_values_are_accepted() -> None:
    """One op in twenty; `python -m tests.ops.accepted` writes the file anew."""
    chosen = {name for name in accepted() if zlib.crc32(name.encode()) % 20 == 0}
    assert len(chosen) > 10
    # A process of its own: the probes open a card that knows times only, and clear its clock.
    done = subprocess.run([sys.executable, "-c", PROBING], input=json.dumps(sorted(chosen)), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout.splitlines()[-1])
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
