"""Models of transformers, unedited, on 1x2, 2x2 and 2x4: values in lock step, and how often chips exchange something."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from alchemist.frontends.base import Mesh
from alchemist.frontends.torch import capture
from alchemist.ir import access
from alchemist.ir.edit import all_ops
from alchemist.mesh import lockstep
from alchemist.mesh.plan import on_mesh
from models.on_meshes import GATHERS, MESHES, MODELS, SUMS

pytest.importorskip("transformers")
pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", MODELS)
def test_a_model_is_equal_on_every_mesh_and_exchanges_no_more_than_sums(name: str) -> None:
    model, args, kwargs = MODELS[name]()
    captured = capture(model, args, kwargs)
    golden = captured.golden() if captured.golden is not None else []
    for mesh in (Mesh(*extents) for extents in MESHES):
        made = on_mesh(captured, model, mesh, "auto")
        counts = Counter(op.name for op in all_ops(made.module) if access.attr(op, "cluster_axis") is not None)
        gathers = GATHERS.get(name, 0) if mesh.rows > 1 else 0
        assert counts.pop("ttir.all_reduce") == SUMS[name] + 2 * gathers, mesh
        assert not counts - Counter({"ttir.mesh_partition": 3, "ttir.all_gather": gathers}), mesh  # a mask or a position, taken from what all chips have
        for want, got in zip(golden, lockstep.run(made), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-3, atol=1e-4 * float(np.abs(want).max()), err_msg=str(mesh))
