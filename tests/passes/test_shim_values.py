"""Every lowering case as a Python program on the shim: op records, lowering and kernels agree with the TTIR references."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from flat_emit import FlatProgram
from ttir_cases import CASES, Case
from xdsl.dialects.func import FuncOp

from alchemist.ir.layout import layout_of
from alchemist.ops.evaluate import run as run_ttir
from alchemist.passes import lower_to_ttnn

ttnn_shim = pytest.importorskip("ttnn_shim")

NUMPY = {"f32": np.float32, "bf16": np.float32, "si32": np.int32, "u32": np.uint32, "u16": np.uint16, "u8": np.uint8}
NAMES = {"f32": "float32", "bf16": "bfloat16", "si32": "int32", "u32": "uint32", "u16": "uint16", "u8": "uint8"}


@pytest.fixture(scope="session")
def ttnn() -> Any:
    ttnn_shim.activate()
    import ttnn as module

    return module


@pytest.fixture(scope="session")  # other folders' tests share device 0 and run in between
def device(ttnn: Any) -> Iterator[Any]:
    opened = ttnn.open_device(device_id=0, l1_small_size=32768)
    yield opened
    ttnn.close_device(opened)


def _host(ttnn: Any, tensor: Any) -> np.ndarray[Any, Any]:
    tensor = ttnn.from_device(tensor)
    if tensor.dtype == ttnn.bfloat16:
        tensor = ttnn.to_dtype(tensor, ttnn.float32)
    return np.asarray(tensor.to_numpy()).reshape(tuple(tensor.shape))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_values_on_the_shim(case: Case, ttnn: Any, device: Any) -> None:
    module, arguments = case.module(), case.arguments()
    lowered = lower_to_ttnn(module)
    forward = next(op for op in lowered.module.ops if isinstance(op, FuncOp) and op.sym_name.data == "forward")
    program = FlatProgram(lowered.module)
    text = program.text().splitlines()[2 + len(forward.args) : -1]
    names: dict[str, Any] = {"ttnn": ttnn, "device": device}
    for argument, value in zip(forward.args, [*arguments, *lowered.constants.values()], strict=True):
        layout = layout_of(argument.type)
        assert layout is not None
        array = np.ascontiguousarray(value).astype(NUMPY[layout.dtype])
        tensor = ttnn.to_device(ttnn.Tensor(array, getattr(ttnn, NAMES[layout.dtype])), device)
        names[program.names[argument]] = ttnn.to_layout(tensor, ttnn.TILE_LAYOUT) if layout.page == "tile" else tensor
    try:
        exec("\n".join(text), names)
    except Exception as error:
        if "no kernel for this op yet" in str(error):
            pytest.skip(str(error).splitlines()[0])
        raise
    last = forward.body.block.last_op
    assert last is not None
    for value, want in zip(last.operands, run_ttir(module, arguments), strict=True):
        have = _host(ttnn, names[program.names[value]]).astype(np.float64)
        assert have.shape == want.shape
        error = np.linalg.norm(have - want) / max(float(np.linalg.norm(want.astype(np.float64))), 1e-9)
        assert error < 5e-3
