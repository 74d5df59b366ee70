"""Configs that compiler options put on ops."""

from __future__ import annotations

from alchemist.ir.access import struct
from alchemist.ir.attributes import StructAttr
from alchemist.options import CompilerOptions

_FIELDS = ("math_fidelity", "math_approx_mode", "fp32_dest_acc_en", "packer_l1_acc")


def compute_config(options: CompilerOptions) -> StructAttr | None:
    """The compute config that the options ask for; None leaves the choice to the library."""
    values = {name: getattr(options, name) for name in _FIELDS}
    if all(value is None for value in values.values()):
        return None
    return struct("ttnn.device_compute_kernel_config", values)


def wide_sums_config(options: CompilerOptions) -> StructAttr:
    """The options' compute config with sums in float32 where they say nothing of it."""
    values = {name: getattr(options, name) for name in _FIELDS}
    wide = {"math_fidelity": "hifi4", "fp32_dest_acc_en": True}
    return struct("ttnn.device_compute_kernel_config", {name: wide.get(name) if value is None else value for name, value in values.items()})


def weight_dtype(options: CompilerOptions) -> str | None:
    """Block format of matmul weights, None for the model's own."""
    if options.experimental_weight_dtype != "none":
        return options.experimental_weight_dtype
    return "bfp_bf8" if options.precision in ("bfp8", "bfp8_lofi") else None
