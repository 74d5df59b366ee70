"""The library's default compute configs, written out. A convolution's needs not be: no other config of its call changes it.

A bfloat16 matmul with `program_config` or `core_grid` but no compute config drops from HiFi2 to LoFi (`create_matmul_attributes`,
tt-metal #55889). So every program config comes with the compute config of level 0, which keeps the numerics.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from alchemist.ir import access
from alchemist.ir.access import struct
from alchemist.ir.attributes import StructAttr
from alchemist.ir.dialects import has_trait
from alchemist.ir.layout import layout_of

_BLOCK = ("bfp_bf8", "bfp_bf4")
_FIELD, ATTENTION_FIELD = "compute_config", "alchemist.compute_config"
_ATTENTION = "ttnn.scaled_dot_product_attention"
"""Decoding's has another default."""


def _config(fidelity: str, approx: bool, fp32: bool, packer: bool) -> StructAttr:
    values: Mapping[str, Any] = {"math_fidelity": fidelity, "math_approx_mode": approx, "fp32_dest_acc_en": fp32, "packer_l1_acc": packer}
    return struct("ttnn.device_compute_kernel_config", values)


def _dtype(value: SSAValue) -> str:
    layout = layout_of(value.type)
    return layout.dtype if layout is not None else ""


def of_matmul(op: Operation, architecture: str) -> StructAttr:
    """The default of `create_matmul_attributes` in ttnn 0.81.1 without program config: input dtypes select the fidelity, the result's the accumulation."""
    a, b = _dtype(op.operands[0]), _dtype(op.operands[1])
    wide = _dtype(op.results[0]) == "f32"
    if a in _BLOCK and b in _BLOCK:
        fidelity = "lofi"
    elif a == "f32" and b == "f32":
        fidelity = "hifi4" if architecture == "blackhole" else "hifi3"
    else:
        fidelity = "hifi2"
    return _config(fidelity, False, wide, not wide)


def of_attention() -> StructAttr:
    return _config("hifi2", True, False, False)


def of_norm() -> StructAttr:
    return _config("hifi4", True, True, False)


def given(op: Operation, name: str) -> bool:
    """Whether the op has a compute config already, from the compiler options or the text."""
    return access.attr(op, name) is not None


def repeat_for_equal_calls(func: FuncOp, architecture: str) -> None:
    """Products, norms and attention without a compute config get the default that another one has written out: who edits the constant changes all of them."""
    defaults = {op: default for op in func.walk() if (default := _default(op, architecture)) is not None}
    written = [default for op, default in defaults.items() if access.attr(op, _field(op)) == default.python()]
    for op, default in defaults.items():
        if default in written and not given(op, _field(op)):
            access.set_attr(op, _field(op), default)


def _field(op: Operation) -> str:
    return ATTENTION_FIELD if op.name == _ATTENTION else _FIELD


def _default(op: Operation, architecture: str) -> StructAttr | None:
    """What the library takes for a product, norm or attention without a compute config; None for other ops."""
    if has_trait(op, "product"):
        return of_matmul(op, architecture)
    if op.name == _ATTENTION:
        return of_attention()
    return of_norm() if has_trait(op, "row_norm") else None
