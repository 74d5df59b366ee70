"""Which tensors an emitted program loads, in which device type and page layout: read off the lowered `@forward`."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from alchemist.errors import InternalError
from alchemist.ir.access import argument_attrs, shape
from alchemist.ir.layout import layout_of

# TTNN layout dtype -> TT-NN's Python name.
TTNN_DTYPES = {
    "bf16": "bfloat16",
    "f32": "float32",
    "si32": "int32",
    "u32": "uint32",
    "u16": "uint16",
    "u8": "uint8",
}


@dataclass(frozen=True, slots=True)
class ForwardArgument:
    """One argument of the lowered `@forward`; dtype by TT-NN's Python name, tiled: stored as tiles instead of rows."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    kind: str
    tiled: bool


def forward_arguments(module: ModuleOp) -> list[ForwardArgument]:
    """Arguments of `@forward` that something uses; inputs are listed even when unused.

    Raises:
        InternalError: no `@forward`, or an argument without a layout or name.
    """
    for function in module.body.block.ops:
        if isinstance(function, FuncOp) and function.sym_name.data == "forward":
            break
    else:
        raise InternalError("the lowered module has no @forward")
    found = []
    for value, described in zip(function.body.block.args, argument_attrs(function), strict=True):
        kind, name = described.get("ttcore.argument_type", "input"), described.get("ttir.name")
        if kind != "input" and not value.uses:
            continue
        layout = layout_of(value.type)
        if layout is None or name is None or layout.dtype not in TTNN_DTYPES:
            raise InternalError(f"argument {name!r} of @forward cannot be loaded", got=str(value.type))
        found.append(ForwardArgument(name, shape(value), TTNN_DTYPES[layout.dtype], kind, layout.page == "tile"))
    return found
