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


def test_a_question_about_a_mesh_has_the_price_of_a_run(open_mesh: Callable[..., Any]) -> None:
    """The optimizer's prices of collectives: also of tensors in L1."""
    import ttnn
    from ttnn_shim.queries import Memory, Spec, query

    assert not query("ttnn.all_reduce", [Spec((32, 256))], cluster_axis=1).accepted  # a card has no links
    for memory, name in ((ttnn.DRAM_MEMORY_CONFIG, "DRAM"), (ttnn.L1_MEMORY_CONFIG, "L1")):
        with open_mesh("t3000", 2, 4, "FABRIC_1D") as device:
            x = ttnn.zeros([32, 256], dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=device, memory_config=memory)
            device.clock_reset()
            ttnn.all_reduce(x, cluster_axis=1, memory_config=memory)
            wanted = sum(ns for _, _, ns in device.clock_by_op())
        answer = query("ttnn.all_reduce", [Spec((32, 256), memory=Memory(name))], card="t3000@2x4", cluster_axis=1, memory_config=Memory(name))
        assert answer.outputs[0] is not None and answer.outputs[0].memory == Memory(name)
        assert answer.ns == pytest.approx(wanted)
