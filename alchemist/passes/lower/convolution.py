"""Convolutions on flat images [1, 1, N*H*W, C], weights prepared on the host in const-eval."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from xdsl.ir import Operation, SSAValue

from alchemist.ir import access
from alchemist.ir.access import memory_config, operand, shape, struct
from alchemist.ir.attributes import StructAttr
from alchemist.ir.layout import TILE_EDGE
from alchemist.ops.spec import NOTE
from alchemist.ops.windows import expand, padding_pairs
from alchemist.optimizer.machine import machine
from alchemist.optimizer.movement import device_ns, reshapes_rows
from alchemist.passes.lower import pixels
from alchemist.passes.lower.configs import convolution_config, pointwise_config, product_config, weight_dtype
from alchemist.passes.lower.context import ROW_MAJOR, TILE, Lowering, layout, rule
from alchemist.passes.lower.eltwise import ACTIVATION
from alchemist.passes.lower.patches import rows_of_patches

L1_SMALL_BYTES = 1 << 15
"""What sliding-window ops need of every core's L1_SMALL region (halo configs); the size that tt-xla opens devices with."""


SHORT_STICK = 4
LARGE_PLANE = 1 << 12
"""Channels up to which, and pixels from which on, an image goes to conv2d in tiles, from level 1 on."""
PATCH_AREA = 64
"""Smallest kernel area whose non-overlapping windows become rows of a linear."""
_PIXELS_FIRST = (0, 2, 3, 1)
"""Axes of weights (O I H W) where the channels of a pixel lie side by side."""
TALL_KERNEL = 64
"""Grouped convolutions over a length with kernels from here on run along the height: conv2d splits its work along kernel rows,
while one row of all of a wide kernel's weights (wav2vec 2.0: 128 x 768 channels) does not fit into L1 in float32."""


def pads(pairs: tuple[tuple[int, int], ...]) -> list[int]:
    """TTNN's order: [height, width] or [top, bottom, left, right]."""
    (top, bottom), (left, right) = pairs
    return [top, left] if top == bottom and left == right else [top, bottom, left, right]


def _config(c: Lowering, op: Operation, weights: str) -> StructAttr:
    return struct("ttnn.conv2d_config", {"weights_dtype": weights, "activation": access.attr(op, ACTIVATION)})


def conv_weight_dtype(c: Lowering, dtype: str) -> str:
    """Weights of windows are in blocks where `precision` says so."""
    return weight_dtype(c.options) or dtype if c.options.precision != "model" else dtype


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
        self.prepared_from: SSAValue | None = None  # weights that are prepared, where they differ from the op's own
        kernel = list(shape(weight)[2:])
        self.kernel = kernel
        self.groups = access.attr(op, "groups")
        self.note = ""  # what a reader of the source does not expect of the call
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
        if self._is_patches() and not self._is_image_of_tiles():
            self._lower_patches(dtype)
            return
        if c.options.optimization_level and self._is_pointwise():
            self._lower_pointwise(dtype)
            return
        name = "conv_transpose2d" if self.transposed else "conv2d"
        page = c.flat_page(op.operands[0], self.order)
        terms = self.kernel[0] * self.kernel[1] * self.geometry["in_channels"] // self.groups
        configs = {"conv2d_config": _config(c, op, conv_weight_dtype(c, dtype)), "compute_config": convolution_config(c.options, dtype, terms)}

        def call(x: SSAValue, page: str) -> SSAValue:
            prepare: dict[str, Any] = {"input_memory_config": access.memory_config_of(layout(x)), "input_tensor_layout": page, "input_dtype": dtype, **configs}
            weights, added = self._prepared(name, prepare, operand(op, "bias"), dtype)
            return c.emit(name, [x, weights, added, c.device], {**self.geometry, **configs}, (1, 1, self.rows, self.out_channels), dtype, note=self.note)

        if c.options.optimization_level and self._has_short_sticks(dtype):
            step, weight = self._join_rows(dtype) if self._steps_over_rows() else (1, None)
            lowered = self._on_pixel_shards(step, weight, dtype, call) if dtype == "bf16" else None
            if lowered is None:
                self.prepared_from = weight
                lowered = call(self._planes_as_tiles(step, dtype), TILE)
        else:
            ways = [lambda: self._by_rows_of_pixels(dtype)] if self._is_patches() else []
            pixels_in = c.flat(op.operands[0], self.order, page)
            lowered = c.fastest(pixels_in, *ways, lambda: call(c.convert(pixels_in, page, dtype), page))
            if isinstance(lowered.owner, Operation) and lowered.owner.name != f"ttnn.{name}":
                c.set(result, lowered, self.order)
                return
        c.l1_small_bytes = max(c.l1_small_bytes, L1_SMALL_BYTES)
        c.set(result, lowered, self.order)

    def _is_patches(self) -> bool:
        """A big kernel that steps by its own size: halos and shards of conv2d would not fit into L1 for nothing."""
        h, w = self.kernel
        g = self.geometry
        return (
            not self.transposed and self.groups == 1 and h * w >= PATCH_AREA and g["stride"] == self.kernel
            and not any(g["padding"]) and g["dilation"] == [1, 1] and g["input_height"] % h == g["input_width"] % w == 0
        )  # fmt: skip

    def _is_image_of_tiles(self) -> bool:
        """Pixels with whole tiles of channels, channels last: no permute stands in front of conv2d, and a window's pixels are few."""
        source = self.op.operands[0]
        last = self.c.is_image(source) == self.order or self.c.pixels_of(source, self.order) is not None
        return last and self.geometry["in_channels"] % TILE_EDGE == 0

    def _has_short_sticks(self, dtype: str) -> bool:
        """Planes of pixels with fewer channels than a stick of a few bytes is worth moving: colours of an image. The library's reshape holds whole planes."""
        images, height, width, channels = (shape(self.op.operands[0])[i] for i in self.order)
        return (
            not self.transposed and self.order == (0, 2, 3, 1) and self.c.is_image(self.op.operands[0]) is None
            and channels <= SHORT_STICK and height * width % 32 == 0 and height * width >= LARGE_PLANE
            and (self._steps_over_rows() or reshapes_rows((images, channels, height, width), (images, channels, height * width), dtype, self.c.options.card))
        )  # fmt: skip

    def _on_pixel_shards(self, step: int, weight: SSAValue | None, dtype: str, call: Callable[[SSAValue, str], SSAValue]) -> SSAValue | None:
        """The convolution on pixels of a few channels, made on shards out of planes on shards: no pixel is filled up to a tile of channels.
        None where shards do not come out even or the library has no room for them."""
        c, g = self.c, self.geometry
        n, channels, height, width = shape(self.op.operands[0])
        where = pixels.shards(machine(c.options.card), n, channels * step, height // step * width)
        if where is None:
            return None
        before = dict(g)
        planes = channels * step
        x = c.get(self.op.operands[0], ROW_MAJOR, dtype)
        if step > 1:
            x = c.permute(c.reshape(x, (n, channels, height // step, step, width)), (0, 1, 3, 2, 4))
        rows = pixels.on_shards(c, c.reshape(x, (1, n, planes, height // step * width)), where, dtype)
        weight = weight if weight is not None else c.get(self.weight, ROW_MAJOR, dtype)
        dims = list(shape(weight))
        dims[1] = shape(rows)[-1]
        weight = c.emit("pad", [weight], {"padding": [0, 0, 0, dims[1] - planes, 0, 0, 0, 0], "value": 0.0, "use_multicore": True}, dims, dtype, ROW_MAJOR)
        self.prepared_from = weight
        g["in_channels"] = dims[1]
        result = call(rows, ROW_MAJOR)
        assert isinstance(result.owner, Operation)
        assert isinstance(rows.owner, Operation)
        if pixels.fit_blocks(result.owner, self.rows // where.cores, c.options.card, L1_SMALL_BYTES) and device_ns([rows.owner], c.options.card) < math.inf:
            return result
        self.geometry = before
        return None

    def _planes_as_tiles(self, step: int, dtype: str) -> SSAValue:
        """[N, C, H, W] -> [1, 1, N*H*W/step, C*step] in tiles by a transpose of whole planes: moving pixels of a few bytes one by one takes far longer."""
        c = self.c
        n, channels, height, width = shape(self.op.operands[0])
        x = c.get(self.op.operands[0], ROW_MAJOR, dtype)
        if step > 1:
            x = c.permute(c.reshape(x, (n, channels, height // step, step, width)), (0, 2, 1, 3, 4))
            x = c.reshape(x, (n * (height // step), channels * step, width))
        else:
            x = c.reshape(x, (n, channels, height * width))
        return c.reshape(c.permute(c.convert(x, TILE), (0, 2, 1)), (1, 1, n * height * width // step, channels * step))

    def _steps_over_rows(self) -> bool:
        """A stride whose rows, taken together as channels of one pixel, still fill less than a tile."""
        g = self.geometry
        step, height, width = int(g["stride"][0]), int(g["input_height"]), int(g["input_width"])
        fits = step * int(g["in_channels"]) <= 32 and height % step == 0 and width % 32 == 0
        return step > 1 and fits and self.groups == 1 and g["dilation"] == [1, 1]

    def _join_rows(self, dtype: str) -> tuple[int, SSAValue]:
        """The S rows that the window steps over become channels, which a tile or a word pads anyway: [N, C, H, W] is read as [N, C*S, H/S, W]. The window
        then steps by 1 along the height; its first and last row may hold zeros. Changes the geometry; S and the weights."""
        c, g = self.c, self.geometry
        (kernel_h, kernel_w), (step, step_w) = g["kernel_size"], g["stride"]
        (top, bottom), (left, right) = padding_pairs(access.attr(self.op, "padding"), 2)
        channels, height = g["in_channels"], g["input_height"]
        out_h = (height + top + bottom - kernel_h) // step + 1
        groups_above = -(-top // step)
        zeros = groups_above * step - top  # rows of the first group that the window does not see
        taps = -(-(zeros + kernel_h) // step)
        weight = c.get(self.weight, ROW_MAJOR, dtype)
        rest = taps * step - zeros - kernel_h
        if zeros or rest:
            dims = (self.out_channels, channels, taps * step, kernel_w)
            weight = c.emit("pad", [weight], {"padding": [0, 0, 0, 0, zeros, rest, 0, 0], "value": 0.0, "use_multicore": True}, dims, dtype, ROW_MAJOR)
        weight = c.permute(c.reshape(weight, (self.out_channels, channels, taps, step, kernel_w)), (0, 1, 3, 2, 4))
        weight = c.reshape(weight, (self.out_channels, channels * step, taps, kernel_w))
        before, after = f"{kernel_h}x{kernel_w} window of stride {step}", f"{taps}x{kernel_w}, stride 1 along the height"
        self.note = f"{step} rows as {channels * step} channels: the {before} becomes {after}"
        g |= {
            "in_channels": channels * step,
            "input_height": height // step,
            "kernel_size": [taps, kernel_w],
            "stride": [1, step_w],
            "padding": pads(((groups_above, out_h - height // step - groups_above + taps - 1), (left, right))),
        }
        return step, weight

    def _is_pointwise(self) -> bool:
        """Every pixel by itself: a matmul on the flat image, whose program can be chosen and whose activation is part of it."""
        g = self.geometry
        return not self.transposed and self.groups == 1 and self.kernel == [1, 1] and g["stride"] == [1, 1] and not any(g["padding"])

    def _lower_pointwise(self, dtype: str) -> None:
        x = self.c.flat(self.op.operands[0], self.order, TILE, dtype)
        self._lower_rows(x, self.geometry["in_channels"], dtype, compute=pointwise_config(self.c.options, dtype, self.geometry["in_channels"]))

    def _lower_patches(self, dtype: str) -> None:
        """Patches as rows [1, 1, N*H'*W', C*KH*KW] times the weights as a matrix."""
        c, op = self.c, self.op
        if c.options.optimization_level and self.order == (0, 2, 3, 1) and c.is_image(op.operands[0]) is None:
            self._lower_patches_by_lines(dtype)
            return
        if c.is_image(op.operands[0]) == self.order or c.pixels_of(op.operands[0], self.order) is not None:
            c.set(op.results[0], self._by_rows_of_pixels(dtype), self.order)
            return
        dims = shape(op.operands[0])
        h, w = self.kernel
        axes: dict[int, list[int]] = {}
        split: list[int] = []
        for i, size in enumerate(dims):
            axes[i] = [len(split)] if i in (self.order[0], self.order[3]) else [len(split), len(split) + 1]
            split += [size] if len(axes[i]) == 1 else [size // (h if i == self.order[1] else w), h if i == self.order[1] else w]
        batch, rows, columns, channel = (axes[i] for i in self.order)
        x = c.reshape(c.get(op.operands[0], ROW_MAJOR, dtype), split)
        x = c.permute(x, (batch[0], rows[0], columns[0], channel[0], rows[1], columns[1]))
        depth = self.geometry["in_channels"] * h * w
        self._lower_rows(c.convert(c.reshape(x, (1, 1, self.rows, depth)), TILE), depth, dtype)

    def _by_rows_of_pixels(self, dtype: str) -> SSAValue:
        """The same where channels come last already: a patch's pixels come in the order row, column, channel, and so do the weights."""
        c, g = self.c, self.geometry
        h, w = self.kernel
        n, height, width, channels = g["batch_size"], g["input_height"], g["input_width"], g["in_channels"]
        x = c.convert(c.flat(self.op.operands[0], self.order), ROW_MAJOR, dtype)
        x = c.permute(c.reshape(x, (n * (height // h), h, width // w, w * channels)), (0, 2, 1, 3))
        x = c.convert(c.reshape(x, (1, 1, self.rows, h * w * channels)), TILE)
        return c.reshape(self._times_weights(x, shape(x)[-1], dtype, _PIXELS_FIRST), (1, 1, self.rows, self.out_channels))

    def _lower_patches_by_lines(self, dtype: str) -> None:
        """The same for planes of pixels, with lines of the image kept whole until one transpose: a patch's pixels come in the order column,
        channel, row, and so do the weights."""
        c = self.c
        x = rows_of_patches(c, c.get(self.op.operands[0], ROW_MAJOR, dtype), (self.kernel[0], self.kernel[1]))
        self._lower_rows(c.convert(x, TILE), shape(x)[-1], dtype, (0, 3, 1, 2))

    def _lower_rows(self, x: SSAValue, depth: int, dtype: str, taps: tuple[int, ...] | None = None, compute: StructAttr | None = None) -> None:
        product = self._times_weights(x, depth, dtype, taps, compute)
        self.c.set(self.op.results[0], self.c.reshape(product, (1, 1, self.rows, self.out_channels)), self.order)

    def _times_weights(self, x: SSAValue, depth: int, dtype: str, taps: tuple[int, ...] | None = None, compute: StructAttr | None = None) -> SSAValue:
        """x [..., depth], a row per pixel, times the weights as a matrix [depth, channels]. taps: the order of the weights' axes in x's columns."""
        c, op = self.c, self.op
        weight = c.get(self.weight, ROW_MAJOR, dtype)
        if taps is not None:
            weight = c.permute(weight, taps)
        matrix = c.permute(c.product_weight(c.reshape(weight, (self.out_channels, depth))), (1, 0))
        if weight_dtype(c.options) is not None:
            matrix = c.convert(matrix, TILE, weight_dtype(c.options))
        attributes = {
            "transpose_a": False, "transpose_b": False, "activation": access.attr(op, ACTIVATION),
            "compute_config": compute or product_config(c.options, depth),
        }  # fmt: skip
        bias = operand(op, "bias")
        note = str(access.attr(op, NOTE, ""))
        if self.kernel != [1, 1] and not note:
            note = f"a {self.kernel[0]}x{self.kernel[1]} convolution with that stride: a row per patch, times the weights as a matrix"
        if bias is None:
            return c.emit("matmul", [x, matrix], attributes, note=note)
        return c.emit("linear", [x, matrix, c.reshape(c.get(bias, TILE, dtype), (1, self.out_channels))], attributes, note=note)

    def _prepared(self, name: str, prepare: dict[str, Any], bias: SSAValue | None, dtype: str) -> tuple[SSAValue, SSAValue | None]:
        source = self.prepared_from if self.prepared_from is not None else self.c.get(self.weight, ROW_MAJOR, dtype)
        weight = self.c.product_weight(source, ROW_MAJOR, host=True)
        return prepared_weights(self.c, name, prepare, self.geometry, weight, bias, dtype)


def prepared_weights(
    c: Lowering, name: str, prepare: dict[str, Any], geometry: dict[str, Any], host: SSAValue, bias: SSAValue | None, dtype: str
) -> tuple[SSAValue, SSAValue | None]:
    """Weights (on the host, O I H W) and bias in the form that the convolution `name` reads."""
    out = geometry["out_channels"]
    depth = geometry["kernel_size"][0] * geometry["kernel_size"][1] * geometry["in_channels"]
    form = {"weights_format": "IOHW" if name == "conv_transpose2d" else "OIHW", "has_bias": bias is not None}
    weights = c.emit(f"prepare_{name}_weights", [host, c.device], prepare | geometry | form, (1, 1, depth, out), conv_weight_dtype(c, dtype))
    if bias is None:
        return weights, None
    row = c.convert(c.reshape(c.get(bias, ROW_MAJOR, dtype), (1, 1, 1, out)), ROW_MAJOR, host=True)
    attributes = {key: value for key, value in (prepare | geometry).items() if key != "output_padding"}
    return weights, c.emit(f"prepare_{name}_bias", [row, c.device], attributes, (1, 1, 1, out), conv_weight_dtype(c, dtype))


@rule("conv1d")
def conv1d(c: Lowering, op: Operation) -> None:
    """A convolution of height 1 (of width 1 when its kernel is tall) on [1, 1, N*L, C], as ttnn.conv1d does it."""
    source, weight = op.operands[0], operand(op, "weight")
    assert weight is not None
    result = op.results[0]
    dtype = c.dtype(result)
    if not c.is_constant(weight):
        raise c.error("a convolution whose weights are not parameters", hint="weights are prepared once, before the first call")
    dims = tuple(access.attr(op, name) for name in ("batch_dim", "length_dim", "channel_dim"))
    n, length, channels = (shape(source)[i] for i in dims)
    _, out_length, out_channels = (shape(result)[i] for i in dims)
    ((before, after),) = padding_pairs(access.attr(op, "padding"), 1)
    groups, taps = access.attr(op, "groups"), shape(weight)[2]
    turn = -1 if groups > 1 and taps >= TALL_KERNEL else 1
    geometry: dict[str, Any] = {
        "in_channels": channels,
        "out_channels": out_channels,
        "batch_size": n,
        "input_height": length if turn < 0 else 1,
        "input_width": 1 if turn < 0 else length,
        "kernel_size": [1, taps][::turn],
        "stride": [1, *expand(access.attr(op, "stride"), 1)][::turn],
        "padding": pads(((0, 0), (before, after))[::turn]),
        "dilation": [1, *expand(access.attr(op, "dilation"), 1)][::turn],
        "groups": groups,
    }
    configs = {"conv2d_config": _config(c, op, dtype), "compute_config": convolution_config(c.options, dtype, taps * channels // groups)}
    prepare = {"input_memory_config": memory_config("dram"), "input_tensor_layout": ROW_MAJOR, "input_dtype": dtype, **configs}
    x = c.permute(c.get(source, ROW_MAJOR, dtype), dims)
    x = c.reshape(x, (1, 1, n * length, channels))
    kernel = c.product_weight(c.reshape(c.get(weight, ROW_MAJOR, dtype), (*shape(weight)[:2], *geometry["kernel_size"])), ROW_MAJOR, host=True)
    weights, bias = prepared_weights(c, "conv2d", prepare, geometry, kernel, operand(op, "bias"), dtype)
    conv = c.emit("conv2d", [x, weights, bias, c.device], geometry | configs, (1, 1, n * out_length, out_channels), dtype)
    c.l1_small_bytes = max(c.l1_small_bytes, L1_SMALL_BYTES)
    back = tuple(dims.index(i) for i in range(3))
    c.set(result, c.permute(c.reshape(conv, (n, out_length, out_channels)), back))


@rule("conv2d", "conv_transpose2d")
def conv2d(c: Lowering, op: Operation) -> None:
    dims = [access.attr(op, name) for name in ("batch_dim", "height_dim", "width_dim", "channel_dim")]
    if access.attr(op, "flattened_compat_info") is not None:
        raise c.error("a convolution that is already flattened", hint="give the op without flattened_compat_info")
    _Conv(c, op, dims, op.name == "ttir.conv_transpose2d").lower()
