"""Subblocks that a program config does not state, and the cores that it names for products of a batch."""

from __future__ import annotations

import pytest
from ttnn_shim.simlib import Simulator

from tests.sim.test_model import price, sharded, tensor

SCORES = [([8, 12, 384, 64], (768, 64)), ([8, 12, 64, 384], (128, 384)), ([8, 12, 384, 384], (768, 384))]


@pytest.mark.parametrize(
    ("block", "sharded_output", "fp32", "chosen", "not_chosen"),
    [
        ((4, 4), True, False, (1, 4), (2, 4)),  # whole rows of a shard, one at a time
        ((8, 12), True, False, (1, 1), (8, 1)),  # no row fits: single tiles
        ((8, 12), True, False, (1, 1), (1, 6)),
        ((4, 8), True, False, (1, 8), (1, 1)),
        ((4, 8), True, True, (1, 1), (1, 8)),  # Dst holds four tiles of 32 bits
        ((4, 4), False, False, (4, 2), (2, 2)),
        ((4, 4), False, True, (2, 2), (4, 1)),
        ((7, 5), False, False, (7, 1), (1, 5)),
    ],
)
def test_a_subblock_that_a_config_leaves_open(
    block: tuple[int, int], sharded_output: bool, fp32: bool, chosen: tuple[int, int], not_chosen: tuple[int, int]
) -> None:
    """The library's own choice, by what it costs."""
    rows, columns = block
    x = sharded([1, 1, 256 * rows, 1024], (32 * rows, 128), 64, (8, 8), "block_sharded")
    shape = [1, 1, 256 * rows, 256 * columns]
    y = sharded(shape, (32 * rows, 32 * columns), 64, (8, 8), "block_sharded") if sharded_output else tensor(shape, buffer="l1")
    config = {"program_config": "MatmulMultiCoreReuseMultiCastProgramConfig", "in0_block_w": 4, "per_core_M": rows, "per_core_N": columns}

    def ns(subblock: dict[str, int]) -> float:
        compute = {"fidelity": "HiFi2", "fp32_dest_acc": fp32}
        inputs = [x, tensor([1, 1, 1024, 256 * columns], "bfloat8_b", buffer="l1")]
        return price(Simulator(), {"op": "matmul", "inputs": inputs, "outputs": [y], "attrs": config | subblock, "compute": compute}, "n150").ns

    left_open, wanted, other = (ns(each) for each in ({}, *({"out_subblock_h": h, "out_subblock_w": w} for h, w in (chosen, not_chosen))))
    assert left_open == wanted != other


@pytest.mark.parametrize("card", ["n150", "p150"])
def test_products_of_a_batch_stay_on_the_grid_of_their_config(card: str) -> None:
    """Scores of an attention on Blackhole: a config that divides 96 matrices among 48 cores was priced on 96 of the chip's 130."""
    q, k, scores = (sharded(shape, shard, 48, (6, 8), "height_sharded") for shape, shard in SCORES)
    attrs = {"program_config": "MatmulMultiCoreReuseProgramConfig", "in0_block_w": 2, "per_core_M": 24, "per_core_N": 12, "core_grid": [6, 8]}
    config = {"op": "matmul", "inputs": [q, k], "outputs": [scores], "attrs": attrs, "compute": {"fidelity": "LoFi"}}
    assert price(Simulator(), config, card).cores == 48
