"""Writes a TTNN module as a `.ttnn` file, which our tools read: text, programs, tensors, debug strings, no tables of ops."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import SSAValue

from alchemist.errors import LoweringError, bounded
from alchemist.ir.access import shape
from alchemist.ir.layout import TTNNLayout, layout_of
from alchemist.ir.location import place_of
from alchemist.ir.printer import location_body
from alchemist.ir.text import operation_texts, print_module
from alchemist.toolchain import flatbuffer
from alchemist.toolchain.descriptors import system_of
from alchemist.toolchain.flatbuffer import TTNN
from alchemist.toolchain.ttnn_file import BINARY
from alchemist.version import VERSION

SCHEMA_HASH = "alchemist"
"""Where tt-mlir has the SHA-256 of its schema: its runtime compares the two, and refuses our files, which it could not run."""
MAX_DEBUG_CHARACTERS = 4000  # of an op's text: those with constants in them are as long as the constants


def ttnn_binary(module: ModuleOp, card: str = "n150") -> bytes:
    """A TTNN module as a `.ttnn` file for a card.

    Raises:
        LoweringError: an op of another dialect, or a tensor without a layout: the module is not lowered yet.
    """
    functions = sorted(device_functions(module), key=_is_private)
    ids = iter(range(1, 1 << 32))
    version = [int(part) for part in VERSION.split(".")[:3]]
    values = {
        "version": tuple(version), "schema_hash": SCHEMA_HASH, "ttmlir_git_hash": f"alchemist {VERSION}", "system_desc": system_of(card),
        "mlir": {"name": "ttnn", "source": print_module(module)},
        "programs": [_program_values(function, ids) for function in functions],
    }  # fmt: skip
    return flatbuffer.write(BINARY, values, TTNN)


def device_functions(module: ModuleOp) -> Iterator[FuncOp]:
    """Functions with a body, those of the CPU module left out."""
    for op in module.ops:
        if isinstance(op, FuncOp) and op.body.blocks:
            yield op
        elif isinstance(op, ModuleOp):
            yield from device_functions(op)
        elif op.name == "ttcore.device_module":
            yield from (function for part in op.regions[0].blocks[0].ops if isinstance(part, ModuleOp) for function in device_functions(part))


def _is_private(function: FuncOp) -> bool:
    return function.sym_visibility is not None and function.sym_visibility.data == "private"


def _program_values(function: FuncOp, ids: Iterator[int]) -> dict[str, Any]:
    block = function.body.block
    numbers: dict[SSAValue, int] = {}
    returned = block.last_op
    for op in block.ops:
        if not op.name.startswith(("ttnn.", "ttcore.", "func.")):
            raise LoweringError(
                "a binary contains only TTNN", op=op.name, location=place_of(op), hint="run ttmlir-opt --ttir-to-ttnn-backend-pipeline first"
            )  # fmt: skip

    def tensors(values: Any) -> list[dict[str, Any]]:
        return [{"global_id": numbers.setdefault(value, next(ids)), "desc": _described(value)} for value in values]

    operations = [
        {"debug_info": bounded(text, MAX_DEBUG_CHARACTERS), "loc_info": f"loc({bounded(location_body(op.location), MAX_DEBUG_CHARACTERS)})"}
        for op, text in zip(block.ops, operation_texts(function), strict=True)
        if not isinstance(op, ReturnOp)
    ]
    return {
        "name": function.sym_name.data, "inputs": tensors(block.args), "outputs": tensors(returned.operands if returned is not None else ()),
        "operations": operations, "dylibs": [], "private": _is_private(function), "mesh_shape": (1, 1),
    }  # fmt: skip


def _described(value: SSAValue) -> dict[str, Any]:
    layout = layout_of(value.type)
    if layout is None:
        raise LoweringError("a tensor without a layout", got=str(value.type)[:200], hint="run ttmlir-opt --ttir-to-ttnn-backend-pipeline first")
    extents = list(shape(value))
    memory = {
        "storage_type": "host" if layout.on_host else "device", "tile_shape": (32, 32) if layout.data.tile else (1, 1),
        "data_type": layout.dtype, "memory_config": None if layout.on_host else _memory_config(layout),
    }  # fmt: skip
    return {"shape": extents, "mesh_shape": [1, 1], "layout": {"memory_desc": memory}, "shard_status": "unsharded", "local_shape": extents}


def _memory_config(layout: TTNNLayout) -> dict[str, Any]:
    fields: dict[str, Any] = {"tensor_memory_layout": layout.memory or "interleaved", "buffer_type": layout.buffer}
    if layout.is_sharded:
        ranges = [(x0, y0, x1, y1) for (x0, y0), (x1, y1) in layout.data.ranges or ()]
        fields["shard_spec"] = {"core_range_set": {"core_ranges": ranges}, "shape": layout.shard_shape(), "orientation": layout.orientation}
    return fields
