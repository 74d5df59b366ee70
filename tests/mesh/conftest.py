"""The simulator's `ttnn` with systems of several chips."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import ttnn_shim

ttnn_shim.activate(explicit=True)


@contextlib.contextmanager
def opened(system: str, rows: int, columns: int, fabric: str = "FABRIC_1D") -> Iterator[Any]:
    """A mesh of a system, for a `with` block; before it nothing is open."""
    import ttnn

    from ttnn_shim import session

    before = session.settings.card
    session.settings.card = system
    try:
        ttnn.set_fabric_config(getattr(ttnn.FabricConfig, fabric))
        mesh = ttnn.open_mesh_device(ttnn.MeshShape(rows, columns))
        try:
            yield mesh
        finally:
            ttnn.close_mesh_device(mesh)
    finally:
        ttnn.set_fabric_config(ttnn.FabricConfig.DISABLED)
        session.settings.card = before


@pytest.fixture
def open_mesh() -> Callable[..., Any]:
    return opened


@pytest.fixture
def t3000() -> Iterator[Any]:
    with opened("t3000", 2, 4) as mesh:
        yield mesh
