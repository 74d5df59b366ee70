"""Whether a model fits: bytes of a chip, and what is said where it does not fit."""

from __future__ import annotations

from dataclasses import replace

import pytest

from alchemist.errors import OptionError
from alchemist.frontends.base import Mesh
from alchemist.mesh import memory, partition
from tests.partition.test_partition import PLAN, _perceptron


def _made(mesh: Mesh):
    captured = _perceptron()
    return partition(captured, mesh, [PLAN.get(argument.name) for argument in captured.arguments])


def test_cut_weights_and_batches_count_by_the_chip() -> None:
    one = memory.need_on(_made(Mesh(1, 2, "n300")), Mesh(1, 2, "n300"))
    tile = 32 * 32 * 4
    assert one.weight_bytes == 4 * tile
    assert memory.need_on(_made(Mesh(1, 2, "n300")), Mesh(1, 1, "n300")).weight_bytes > one.weight_bytes
    assert "each chip of 1x2 needs" in memory.check_fits(_made(Mesh(1, 2, "n300")))


def test_what_does_not_fit_is_refused_with_a_mesh_that_does(monkeypatch: pytest.MonkeyPatch) -> None:
    made = _made(Mesh(1, 2, "n300"))
    need = memory.need_on(made, Mesh(1, 2, "n300")).total_bytes
    cards = {name: replace(memory.card_of(name), dram_bytes=need - 1) for name in memory.systems()}
    monkeypatch.setattr(memory, "card_of", cards.__getitem__)
    with pytest.raises(OptionError, match="perceptron does not fit on 1x2 chips of a n300") as caught:
        memory.check_fits(made)
    assert caught.value.hint == "mesh=(1, 4) has room"
