"""Convolutions on flat images [1, 1, N*H*W, C], weights prepared on the host in const-eval."""

from __future__ import annotations

from typing import Any

from xdsl.ir import Operation, SSAValue

from alchemist.ir import access
from alchemist.ir.access import memory_config, operand, shape, struct
from alchemist.ir.attributes import StructAttr
from alchemist.ops.windows import expand, padding_pairs
from alchemist.passes.lower.configs import compute_config
from alchemist.passes.lower.context import ROW_MAJOR, Lowering, layout, rule
from alchemist.passes.lower.eltwise import ACTIVATION

L1_SMALL_BYTES = 1 << 15
"""What sliding-window ops need of every core's L1_SMALL region (halo configs); the size that tt-xla opens devices with."""


def pads(pairs: tuple[tuple[int, int], ...]) -> list[int]:
    """TTNN's order: [height, width] or [top, bottom, left, right]."""
    (top, bottom), (left, right) = pairs
    return [top, left] if top == bottom and left == right else [top, bottom, left, right]


def _config(c: Lowering, op: Operation, weights: str) -> StructAttr:
    return struct("ttnn.conv2d_config", {"weights_dtype": weights, "activation": access.attr(op, ACTIVATION)})


def _page(c: Lowering, value: SSAValue, order: tuple[int, ...]) -> str:
    entry = c._entries.get(value)
    return layout(entry.value).page if entry is not None and entry.order == order else ROW_MAJOR


class _Conv:
    """Geometry of one convolution."""

    def __init__(self, c: Lowering, op: Operation, dims: list[int], transposed: bool) -> None:
        self.c, self.op, self.transposed = c, op, transposed
        source, result = op.operands[0], op.results[0]
        self.order = tuple(dims)
        n, h, w, channels = (shape(source)[i] for i in dims)
        out = [shape(result)[i] for i in dims]
        self.rows, self.out_channels = out[0] * out[1] * out[2], out[3]
        weight = operand(op, "weight")
        assert weight is not None
        self.weight = weight
        kernel = list(shape(weight)[2:])
        self.kernel = kernel
        self.groups = access.attr(op, "groups")
        self.geometry: dict[str, Any] = {
            "in_channels": channels,
            "out_channels": self.out_channels,
            "batch_size": n,
            "input_height": h,
            "input_width": w,
            "kernel_size": kernel,
            "stride": list(expand(access.attr(op, "stride"), 2)),
            "padding": pads(padding_pairs(access.attr(op, "padding"), 2)),
            "dilation": list(expand(access.attr(op, "dilation"), 2)),
            "groups": self.groups,
        }
        if transposed:
            self.geometry["output_padding"] = list(expand(access.attr(op, "output_padding"), 2))

    def lower(self) -> None:
        c, op = self.c, self.op
        result = op.results[0]
        dtype = c.dtype(result)
        if not c.is_constant(self.weight):
            raise c.error("a convolution whose weights are not parameters", hint="weights are prepared once, before the first call")
        name = "conv_transpose2d" if self.transposed else "conv2d"
        page = _page(c, op.operands[0], self.order)
        x = c.flat(op.operands[0], self.order, page, dtype)
        configs = {"conv2d_config": _config(c, op, dtype), "compute_config": compute_config(c.options)}
        prepare: dict[str, Any] = {
            "input_memory_config": memory_config("dram"),
            "input_tensor_layout": page,
            "input_dtype": dtype,
            **configs,
        }
        bias = operand(op, "bias")
        weights, added = self._prepared(name, prepare, bias, dtype)
        made = c.emit(
            name, [x, weights, added, c.device], {**self.geometry, **configs}, (1, 1, self.rows, self.out_channels), dtype
        )
        c.l1_small_bytes = max(c.l1_small_bytes, L1_SMALL_BYTES)
        c.set(result, made, self.order)

    def _prepared(self, name: str, prepare: dict[str, Any], bias: SSAValue | None, dtype: str) -> tuple[SSAValue, SSAValue | None]:
        c = self.c
        geometry = {k: v for k, v in self.geometry.items()}
        host = c.get(self.weight, ROW_MAJOR, dtype, host=True)
        depth = self.kernel[0] * self.kernel[1] * self.geometry["in_channels"]
        weights = c.emit(
            f"prepare_{name}_weights",
            [host, c.device],
            {**prepare, **geometry, "weights_format": "IOHW" if self.transposed else "OIHW", "has_bias": bias is not None},
            (1, 1, depth, self.out_channels),
            dtype,
        )
        if bias is None:
            return weights, None
        geometry.pop("output_padding", None)
        row = c.reshape(c.get(bias, ROW_MAJOR, dtype), (1, 1, 1, self.out_channels))
        row = c.convert(row, ROW_MAJOR, host=True)
        prepared = c.emit(
            f"prepare_{name}_bias", [row, c.device], {**prepare, **geometry}, (1, 1, 1, self.out_channels), dtype
        )
        return weights, prepared


@rule("conv2d", "conv_transpose2d")
def conv2d(c: Lowering, op: Operation) -> None:
    dims = [access.attr(op, name) for name in ("batch_dim", "height_dim", "width_dim", "channel_dim")]
    if access.attr(op, "flattened_compat_info") is not None:
        raise c.error("a convolution that is already flattened", hint="give the op without flattened_compat_info")
    _Conv(c, op, dims, op.name == "ttir.conv_transpose2d").lower()
