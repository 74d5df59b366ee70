"""Times of collectives: the formula's error on rows that it has not seen, and the core's sum against the fit's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tools.calibration import collectives


def test_rows_left_out_of_the_fit() -> None:
    rows = collectives.measured()
    off = collectives.out_of_fold(rows)
    small = np.array([int(row["size_bytes"]) <= collectives.SMALL_BYTES for row in rows])
    assert np.median(off) <= 0.04 and np.quantile(off, 0.9) <= 0.18
    assert np.median(off[small]) <= 0.10 and np.quantile(off[small], 0.9) <= 0.25


CALLS: dict[str, Callable[[Any], Any]] = {
    "all_gather": lambda x: _ttnn().all_gather(x, 3, cluster_axis=1),
    "reduce_scatter": lambda x: _ttnn().reduce_scatter(x, 3, cluster_axis=1),
    "all_reduce": lambda x: _ttnn().all_reduce(x, cluster_axis=1),
    "all_to_all": lambda x: _ttnn().experimental.all_to_all_async_generic(x, 2, 3, cluster_axis=1),
}


def _ttnn() -> Any:
    import ttnn

    return ttnn


@pytest.mark.parametrize(("mesh", "fabric"), [((1, 2), "FABRIC_1D"), ((2, 4), "FABRIC_1D"), ((1, 8), "FABRIC_1D"), ((1, 8), "FABRIC_1D_RING")])
def test_the_core_prices_what_was_fitted(mesh: tuple[int, int], fabric: str, open_mesh: Callable[..., Any]) -> None:
    """Of Wormhole's rows: the programs of a call together, without the gaps between them."""
    import ttnn

    rows, chips = collectives.measured(), mesh[1]
    with open_mesh("t3000", *mesh, fabric) as device:
        for op, call in CALLS.items():
            model = collectives.fit([row for row in rows if (row["arch"], row["op"]) == ("wormhole_b0", op)])
            for width in (256, 8192):
                x = ttnn.zeros([1, 1, 256, width], dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=device)
                size = 256 * width * 2 * (chips if op == "all_gather" else 1)
                row = {"op": op, "n_chips": str(chips), "size_bytes": str(size), "config": "ring" if "RING" in fabric else "line", "num_links": "1"}
                wanted = float((collectives.design([row], model[1]) @ model[0])[0])
                device.clock_reset()
                call(x)
                found = sum(ns for _, _, ns in device.clock_by_op())
                assert found == pytest.approx(wanted, rel=0.01), (op, width)
