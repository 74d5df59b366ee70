"""Every lowering case as a Python program on the shim: op records, lowering and kernels agree with the TTIR references."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from flat_emit import FlatProgram
from ttir_cases import CASES, Case
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from alchemist.ir.attributes import tensor
from alchemist.ir.builder import Builder
from alchemist.ir.layout import layout_of
from alchemist.ops.evaluate import run as run_ttir
from alchemist.passes import lower_to_ttnn
from tests.device import simulated_device
from tests.tables import table

ttnn_shim = pytest.importorskip("ttnn_shim")

NUMPY = {"f32": np.float32, "bf16": np.float32, "si32": np.int32, "u32": np.uint32, "u16": np.uint16, "u8": np.uint8}
# What the bit model says of the cases whose sums are in a 16-bit Dst: products of bfloat16, and attention, which float32 is lowered to with bfloat16.
# The default numerics stay within twice of it (docs/numerics.md).
BIT_MODEL_ERRORS = {
    "sum(2x31x33f32)": 3.75e-3,
    "linear(31x33bf16,33x7bf16p)": 4.7e-3,
    "conv2d(2x8x9x32bf16,64x32x1x1bf16p)": 4.7e-3,
    "conv2d(1x16x8x3bf16,32x3x16x8bf16p)": 5.4e-3,
    "scaled_dot_product_attention(2x4x33x32f32,2x4x33x32f32,2x4x33x32f32)": 7.2e-3,
    "scaled_dot_product_attention(2x4x33x32f32,2x4x40x32f32,2x4x40x32f32)": 1.15e-2,
    "scaled_dot_product_attention(2x4x33x32f32,2x2x33x32f32,2x2x33x32f32,2x1x1x33f32)": 9.6e-3,
}
NAMES = {"f32": "float32", "bf16": "bfloat16", "si32": "int32", "u32": "uint32", "u16": "uint16", "u8": "uint8"}


@pytest.fixture(scope="session")
def ttnn() -> Any:
    ttnn_shim.activate()
    import ttnn as module

    return module


@pytest.fixture(scope="session")  # other folders' tests share device 0 and run in between
def device(ttnn: Any) -> Iterator[Any]:
    with simulated_device() as opened:
        yield opened


def _host(ttnn: Any, tensor: Any) -> np.ndarray[Any, Any]:
    tensor = ttnn.from_device(tensor)
    if tensor.dtype == ttnn.bfloat16:
        tensor = ttnn.to_dtype(tensor, ttnn.float32)
    return np.asarray(tensor.to_numpy()).reshape(tuple(tensor.shape))


def _run(ttnn: Any, device: Any, module: ModuleOp, arguments: list[np.ndarray[Any, Any]]) -> list[np.ndarray[Any, Any]]:
    """Results of a module's lowered program on the shim."""
    lowered = lower_to_ttnn(module)
    forward = next(op for op in lowered.module.ops if isinstance(op, FuncOp) and op.sym_name.data == "forward")
    program = FlatProgram(lowered.module)
    text = program.text().splitlines()[2 + len(forward.args) : -1]
    names: dict[str, Any] = {"ttnn": ttnn, "device": device}
    for argument, value in zip(forward.args, [*arguments, *lowered.constants.values()], strict=True):
        layout = layout_of(argument.type)
        assert layout is not None
        array = np.ascontiguousarray(value).astype(NUMPY[layout.dtype])
        tensor = ttnn.Tensor(array, getattr(ttnn, NAMES[layout.dtype]))
        tensor = ttnn.to_layout(tensor, ttnn.TILE_LAYOUT) if layout.page == "tile" else tensor
        names[program.names[argument]] = ttnn.to_device(tensor, device)
    exec("\n".join(text), names)
    last = forward.body.block.last_op
    assert last is not None
    return [_host(ttnn, names[program.names[value]]) for value in last.operands]


@table("case", CASES, ids=lambda case: case.name)
def test_values_on_the_shim(case: Case, ttnn: Any, device: Any) -> None:
    module, arguments = case.module(), case.arguments()
    wanted = run_ttir(module, arguments)
    for have, want in zip(_run(ttnn, device, module, arguments), wanted, strict=True):
        assert have.shape == want.shape
        error = np.linalg.norm(have.astype(np.float64) - want) / max(float(np.linalg.norm(want.astype(np.float64))), 1e-9)
        assert error < max(5e-3, 2 * BIT_MODEL_ERRORS.get(case.name, 0.0))


@pytest.mark.parametrize("rank", [2, 4])
def test_sampling_of_the_best_candidate(rank: int, ttnn: Any, device: Any) -> None:
    """k = 1 leaves one candidate: the greatest value's index, whatever the seed."""
    rng = np.random.default_rng(1)
    dims = (32, 64) if rank == 2 else (1, 1, 32, 64)
    values = rng.permuted(np.tile(np.arange(64, dtype=np.float32), 32).reshape(dims), axis=-1)
    labels = rng.integers(0, 30000, dims).astype(np.int32)
    one = np.ones(32, np.float32)
    kinds = [(dims, "bf16"), (dims, "i32"), ((32,), "ui32"), ((32,), "bf16"), ((32,), "bf16")]
    b = Builder.module("forward", [(f"a{i}", tensor(shape, of), "input", None) for i, (shape, of) in enumerate(kinds)])
    b.ret(list(b.make("ttir.sampling", list(b.args), {"seed": 7}, [tensor((32,), "i32")]).results))
    (found,) = _run(ttnn, device, b.module_op, [values, labels, one, one, one])
    best = np.take_along_axis(labels, values.argmax(-1, keepdims=True), -1).reshape(-1)
    assert (found == best).all()
