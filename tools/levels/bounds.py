"""The least time of a model's program whatever the optimizer chooses: its matrix products on all cores, and what must come from DRAM.

For each op, the longer of both:

- products: a 32 x 32 x 32 product of tiles is 16 cycles of the matrix engine at one fidelity phase (tt-isa-documentation, MVMUL), so HiFi2 takes 32 and HiFi4 64;
  rows, channels and windows count as if no tile had padding, but a group of a convolution fills at least a tile of channels on both sides; a transposed
  convolution multiplies its input's pixels alone.
- weights and biases once, at the rate at which the DRAM-sharded matmul reads all banks together.

Ops run one after the other, and none can fetch the weights of the next: their bounds add up. The model's input is read and its result written once, beside nothing.

The library's convolutions do more: they turn the pixels of every window into tiles on the cores that multiply them, one after the other (a tile takes `tilize_tile`
cycles, ttnn_shim/arch/constants.csv), and a transposed one runs its window over the result's pixels, most of which meet zeros. What that takes on all cores, again
without any padding, is a second bound.
"""

from __future__ import annotations

import csv
import math
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue

from alchemist.ir import access
from alchemist.ir.layout import layout_of
from alchemist.optimizer.graph import is_weight
from alchemist.optimizer.machine import Machine

TILE = 32
FPU_CYCLES = 16
"""Of a product of tiles at one phase."""
PHASES = {"lofi": 1, "hifi2": 2, "hifi3": 3, "hifi4": 4}
CONVOLUTIONS = {"ttnn.conv2d": "hifi4", "ttnn.conv_transpose2d": "hifi4"}
PRODUCTS = {"ttnn.matmul": "hifi2", "ttnn.linear": "hifi2"}
"""With the fidelity that the library takes by itself."""
_ARCH = Path(__file__).resolve().parents[2] / "ttnn_shim" / "arch"
_BYTES = {"bf16": 2.0, "f32": 4.0, "bfp_bf8": 1.0625, "bfp_bf4": 0.5625, "ui32": 4.0, "u32": 4.0, "si32": 4.0}


@dataclass(frozen=True, slots=True)
class Bound:
    """Milliseconds. products_ms, dram_ms: of all ops together. least_ms: of the longer one of each op, and the model's input and result. windows_ms: what the
    library's convolutions add to the products; least_of_library_ms: least_ms with them.
    """

    products_ms: float
    dram_ms: float
    least_ms: float
    windows_ms: float
    least_of_library_ms: float


def bound_of(func: FuncOp, machine: Machine) -> Bound:
    """Of a forward function in the ttnn dialect."""
    products = dram = least = windows = least_of_library = 0.0
    for op in func.body.block.ops:
        if op.name in CONVOLUTIONS or op.name in PRODUCTS:
            mine, more, weights = _products_ms(op, machine), _windows_ms(op, machine), _bytes_ms(_weight_bytes(op), machine)
            products, dram, least = products + mine, dram + weights, least + max(mine, weights)
            windows, least_of_library = windows + more, least_of_library + max(mine + more, weights)
    inputs = [argument for argument in func.body.block.args if layout_of(argument.type) is not None and _is_input(func, argument)]
    results = [value for op in func.body.block.ops if isinstance(op, ReturnOp) for value in op.operands]
    ends = _bytes_ms(sum(_bytes(value) for value in (*inputs, *results)), machine)
    return Bound(products, dram + ends, least + ends, windows, least_of_library + ends)


def _products_ms(op: Operation, machine: Machine) -> float:
    return _on_all_cores_ms(_tile_products(op) * _cycles_of_product(op), machine)


def _cycles_of_product(op: Operation) -> int:
    config = access.attr(op, "compute_config") or {}
    return FPU_CYCLES * PHASES[str(config.get("math_fidelity") or {**CONVOLUTIONS, **PRODUCTS}[op.name]).lower()]


def _on_all_cores_ms(cycles: float, machine: Machine) -> float:
    return cycles / (machine.grid[0] * machine.grid[1]) / _card(machine.card, "clock_ghz") / 1e6


def _windows_ms(op: Operation, machine: Machine) -> float:
    """The tiles of the windows' pixels, where a window has more than one, and the products with zeros of a transposed convolution."""
    if op.name not in CONVOLUTIONS or math.prod(access.attr(op, "kernel_size")) == 1:
        return 0.0
    results, multiplied = math.prod(access.shape(op.results[0])[:-1]), _multiplied_pixels(op)
    tiles = results * math.prod(access.attr(op, "kernel_size")) * int(access.attr(op, "in_channels")) / TILE**2
    zeros = _tile_products(op) * (results / multiplied - 1)
    return _on_all_cores_ms(tiles * _constants(machine.architecture)["tilize_tile"] + zeros * _cycles_of_product(op), machine)


def _multiplied_pixels(op: Operation) -> int:
    return math.prod(access.shape(op.operands[0] if op.name == "ttnn.conv_transpose2d" else op.results[0])[:-1])


def _tile_products(op: Operation) -> float:
    if op.name in PRODUCTS:
        result = access.shape(op.results[0])
        depth = access.shape(op.operands[0])[-2 if access.attr(op, "transpose_a") else -1]
        return math.prod(result) * depth / TILE**3
    into, out, groups = (int(access.attr(op, name)) for name in ("in_channels", "out_channels", "groups"))
    depth = into / groups if groups == 1 else max(TILE, into // groups)
    return _multiplied_pixels(op) * math.prod(access.attr(op, "kernel_size")) * depth * out / TILE**3


def _weight_bytes(op: Operation) -> float:
    if op.name in PRODUCTS:
        return sum(_bytes(value) for value in op.operands[1:] if is_weight(value))
    into, out, groups = (int(access.attr(op, name)) for name in ("in_channels", "out_channels", "groups"))
    layout = layout_of(op.operands[1].type)
    return out * into // groups * math.prod(access.attr(op, "kernel_size")) * _BYTES[layout.dtype if layout is not None else "bf16"]


def _bytes(value: SSAValue) -> float:
    layout = layout_of(value.type)
    return math.prod(access.shape(value)) * _BYTES.get(layout.dtype if layout is not None else "bf16", 4.0)


def _bytes_ms(amount: float, machine: Machine) -> float:
    constants = _constants(machine.architecture)
    rate = constants["dram_peak_bank"] * machine.dram_banks * constants["dram_sharded_efficiency"]  # bytes per nanosecond
    return amount / rate / 1e6


def _is_input(func: FuncOp, argument: SSAValue) -> bool:
    kinds = func.arg_attrs.data if func.arg_attrs is not None else ()
    place = list(func.body.block.args).index(argument)
    return place < len(kinds) and "input" in str(kinds[place].data.get("ttcore.argument_type", ""))


@cache
def _card(card: str, name: str) -> float:
    with (_ARCH / "cards.csv").open() as file:
        return next(float(row["value"]) for row in csv.DictReader(file) if (row["card"], row["name"]) == (card, name))


@cache
def _constants(architecture: str) -> dict[str, float]:
    with (_ARCH / "constants.csv").open() as file:
        return {row["name"]: float(row[architecture]) for row in csv.DictReader(file)}
