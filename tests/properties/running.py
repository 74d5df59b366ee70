"""A captured program on the simulator, in this process: one call per TTNN op."""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.dialects.func import FuncOp

from alchemist.errors import InternalError, UserError
from alchemist.frontends.base import FrontendResult
from alchemist.ir.layout import layout_of
from alchemist.passes import lower_to_ttnn
from tests.device import simulated_device
from tests.passes.flat_emit import FlatProgram

Array = np.ndarray[Any, Any]
_NUMPY = {"f32": np.float32, "bf16": np.float32, "si32": np.int32, "u32": np.uint32, "u16": np.uint16, "u8": np.uint8}
_NAMES = {"f32": "float32", "bf16": "bfloat16", "si32": "int32", "u32": "uint32", "u16": "uint16", "u8": "uint8"}


@dataclass(frozen=True, slots=True)
class Verdict:
    """kind: right, refused, wrong or failed (an error that is not the user's)."""

    kind: str
    text: str = ""


def outputs(result: FrontendResult) -> list[Array]:
    """Values of a captured model's outputs, with its own arguments."""
    import ttnn_shim

    ttnn_shim.activate()
    import ttnn

    lowered = lower_to_ttnn(result.module)
    forward = next(op for op in lowered.module.ops if isinstance(op, FuncOp) and op.sym_name.data == "forward")
    program = FlatProgram(lowered.module)
    text = program.text().splitlines()[2 + len(forward.args) : -1]
    values = [argument.value() for argument in result.arguments]
    with simulated_device() as device:
        names: dict[str, Any] = {"ttnn": ttnn, "device": device}
        for argument, value in zip(forward.args, [*values, *lowered.constants.values()], strict=True):
            layout = layout_of(argument.type)
            assert layout is not None
            array = np.ascontiguousarray(value).astype(_NUMPY[layout.dtype])
            tensor = ttnn.Tensor(array, getattr(ttnn, _NAMES[layout.dtype]))
            tensor = ttnn.to_layout(tensor, ttnn.TILE_LAYOUT) if layout.page == "tile" else tensor
            names[program.names[argument]] = ttnn.to_device(tensor, device)
        with contextlib.redirect_stdout(io.StringIO()):
            exec("\n".join(text), names)
        last = forward.body.block.last_op
        assert last is not None
        return [_host(ttnn, names[program.names[value]]) for value in last.operands]


def _host(ttnn: Any, tensor: Any) -> Array:
    tensor = ttnn.from_device(tensor)
    tensor = ttnn.to_dtype(tensor, ttnn.float32) if tensor.dtype == ttnn.bfloat16 else tensor
    return np.asarray(tensor.to_numpy()).reshape(tuple(tensor.shape))


def judged(capture: Any, model: Any, arguments: Sequence[Any], tolerance: float) -> Verdict:
    """Runs a model and compares it with itself. tolerance: of floats, of the largest one; whole numbers are equal."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = capture(model, arguments)
            wanted = result.golden()
            found = outputs(result)
    except InternalError as error:
        return Verdict("failed", f"{type(error).__name__}: {error}")
    except UserError as error:
        return Verdict("refused", str(error))
    except Exception as error:  # noqa: BLE001 - whatever is raised is a finding
        return Verdict("failed", f"{type(error).__name__}: {error}")
    for place, (have, want) in enumerate(zip(found, wanted, strict=True)):
        if have.shape != want.shape:
            return Verdict("wrong", f"output {place}: shape {have.shape}, expected {want.shape}")
        if want.dtype.kind in "iub":
            same = have.astype(np.int64) == want.astype(np.int64)
        else:
            scale = float(np.max(np.abs(want[np.isfinite(want)]), initial=1e-3))
            with np.errstate(invalid="ignore"):
                same = (np.abs(have - want) <= tolerance * scale) | (have == want) | (np.isnan(have) & np.isnan(want))
        if not same.all():
            where = tuple(int(n) for n in np.argwhere(~same)[0])
            return Verdict("wrong", f"output {place}: {int((~same).sum())} of {same.size} differ, first at {where}: {have[where]}, expected {want[where]}")
    return Verdict("right")
