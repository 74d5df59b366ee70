"""Every TTIR op: the lowered module computes what the op's reference says."""

from __future__ import annotations

import numpy as np
import pytest
from ttir_cases import NAMED
from ttnn_numpy import run as run_ttnn

from alchemist.driver.opt import run_pipeline
from alchemist.ir.access import entry_function
from alchemist.ir.layout import layout_of
from alchemist.ir.text import parse
from alchemist.ops import TTIR_OPS
from alchemist.ops.evaluate import run as run_ttir
from alchemist.ops.evaluate_ttnn import can_evaluate
from alchemist.optimizer.machine import machine
from alchemist.passes import lower_to_ttnn
from alchemist.passes.lower import RULES
from alchemist.passes.lower.pixels import shards
from tests.tables import table

WITHOUT_LOWERING = {
    "ttir.conv3d": "becomes conv2d before lowering: cases `volume ...` of pass_cases.py",
}
NOT_SAMPLED = {
    "ttir.rand": "random",
    "ttir.sampling": "random: test_shim_values.py runs it where it is not",
    "ttir.empty": "undefined values",
    "ttir.update_cache": "in place",
    "ttir.fill_cache": "in place",
    "ttir.paged_update_cache": "in place",
    "ttir.paged_fill_cache": "in place",
    "ttir.scaled_dot_product_attention_decode": "needs a cache",
    "ttir.paged_scaled_dot_product_attention_decode": "no reference",
    "ttir.chunked_scaled_dot_product_attention": "no reference",
    "ttir.max_pool2d_with_indices": "indices are uint16 on the device",
    "ttir.slice_dynamic": "bounds must be constants, which fold first",
    "ttir.requantize_unrolled": "as quantize",
    "ttir.index": "becomes slice_static in fold",
    "ttir.to_layout": "nothing",
    **dict.fromkeys(
        ("ttir.all_reduce", "ttir.all_gather", "ttir.reduce_scatter", "ttir.mesh_partition", "ttir.distributed_rms_norm"), "of several chips: tests/partition"
    ),
}


@table("name", NAMED)
def test_values(name: str) -> None:
    case = NAMED[name]
    module = case.module()
    arguments = case.arguments()
    wanted = run_ttir(module, arguments)
    lowered = lower_to_ttnn(module)
    found = run_ttnn(lowered.module, [*arguments, *lowered.constants.values()])
    returned = entry_function(lowered.module).get_return_op()
    assert returned is not None
    for want, have, value in zip(wanted, found, returned.operands, strict=True):
        layout = layout_of(value.type)
        assert have.shape == want.shape
        assert layout is not None and (have.dtype.kind == "f") == ("f" in layout.dtype)  # bf16, f32, bfp_bf8; si32, u16
        np.testing.assert_allclose(np.asarray(have, np.float64), np.asarray(want, np.float64), rtol=2e-4, atol=2e-5)


@table("name", NAMED)
def test_lowered_alone(name: str) -> None:
    """`ttir-to-ttnn` by itself takes ops that other passes rewrite before it."""
    case = NAMED[name]
    arguments = case.arguments()
    lowered = run_pipeline(case.module(), "ttir-to-ttnn")
    assert can_evaluate(lowered)
    found = run_ttnn(lowered, arguments)
    for want, have in zip(run_ttir(case.module(), arguments), found, strict=True):
        assert have.shape == want.shape
        np.testing.assert_allclose(np.asarray(have, np.float64), np.asarray(want, np.float64), rtol=2e-4, atol=2e-5)


@table(
    ("card", "images", "planes", "size", "cores"),
    [
        ("n150", 1, 3, 2048, 64), ("n150", 1, 3, 1024, 32), ("n150", 1, 3, 992, None), ("n150", 1, 3, 512, None), ("n150", 2, 3, 512, 32), ("n150", 2, 3, 256, None),
        ("n150", 4, 3, 256, 32), ("n150", 4, 3, 128, None), ("n150", 1, 12, 25088, 56), ("n150", 1, 32, 1024, 32), ("n150", 1, 33, 1024, None),
        ("p150", 1, 3, 4160, 130), ("p150", 1, 3, 2080, 65), ("p150", 1, 3, 2048, None), ("p150", 1, 12, 25088, 112),
        *(("n150", 1, planes, 64 * most, 64) for planes, most in ((3, 22144), (8, 15232), (9, 9728), (32, 3808))),
        *(("n150", 1, planes, 64 * (most + 32), None) for planes, most in ((3, 22144), (8, 15232), (9, 9728), (32, 3808))),
    ],
)  # fmt: skip
def test_pixels_fall_evenly_over_half_the_cores_or_more(card: str, images: int, planes: int, size: int, cores: int | None) -> None:
    """And fit into 0.35 of a core's L1, as planes and in whole words of channels."""
    found = shards(machine(card), images, planes, size)
    assert (found and found.cores) == cores
    if found is not None:
        assert sum((right - left + 1) * (below - above + 1) for (left, above), (right, below) in found.ranges) == cores


@pytest.mark.parametrize(
    "text",
    [
        '%0 = "ttir.rand"() {size = [4 : i32, 32 : i32], low = 0.0 : f32, high = 1.0 : f32, seed = 0 : ui32, dtype = f32} : () -> tensor<4x32xf32>',
        '%0 = "ttir.empty"() : () -> tensor<4x32xf32>',
    ],
)
def test_what_has_no_values(text: str) -> None:
    """Golden values are not made of it."""
    module = parse(f"func.func @f() -> tensor<4x32xf32> {{ {text} return %0 : tensor<4x32xf32> }}")
    assert not can_evaluate(run_pipeline(module, "ttir-to-ttnn"))
    assert not can_evaluate(module)


def test_every_ttir_op_has_a_case() -> None:
    sampled = {f"ttir.{case.op}" for case in NAMED.values()}
    lowerable = {name for name, spec in TTIR_OPS.items() if name in RULES or spec.target}
    assert lowerable - sampled - set(NOT_SAMPLED) == set()
    assert set(TTIR_OPS) - lowerable - set(WITHOUT_LOWERING) == set()
