"""Uses jaxlib to parse and verify StableHLO, CHLO, Shardy and upstream dialects in their own assembly.

jaxlib is optional: without it `generic_form` raises an error with a hint, and `stablehlo_errors` returns nothing.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from xdsl.dialects.builtin import FileLineColLoc, ModuleOp, UnknownLoc

from alchemist.errors import ParseError, VerifyError
from alchemist.ir.dialects import op_classes

CUSTOM = re.compile(r"(?m)^[ \t]*(?:%[\w$.:#, %-]+ = )?(?:stablehlo|chlo|vhlo|mhlo|sdy|arith|tensor|scf|math|shape|cf|linalg|vector|memref|affine)\.\w+")
"""An op of those dialects in its own assembly."""
_STABLEHLO = re.compile(r"\b(?:stablehlo|chlo|sdy)\.")
_WRAPPER = re.compile(r"\bttcore\.(device_module|cpu_module)(\s*\{|\s+attributes\s*\{)")
_WRAPPED = "alchemist.wrapper"
_HERE = "-"  # the file name of places in the text that is read
_DEEPEST = 400
_MOST_DIAGNOSTICS = 20


@lru_cache(maxsize=1)
def _context() -> Any:
    """jaxlib's context, None where jax is not installed."""
    try:
        from jax._src.interpreters import mlir as jax_mlir  # registers all of JAX's dialects
    except ImportError:
        return None
    context = jax_mlir.make_ir_context()
    context.allow_unregistered_dialects = True
    return context


def generic_form(text: str, filename: str, error: ParseError) -> str:
    """The module in generic form, every op with its place in `text` as location `"-":line:column` unless it has one.

    error: why the text could not be read without jaxlib.

    Raises:
        ParseError: jaxlib's first error, or `error` with a hint where jaxlib is missing or cannot be asked.
    """
    if not _may_parse(text):
        raise error
    if _context() is None:
        error.hint = "print the module in generic form (--mlir-print-op-generic), or install jax"
        raise error
    module, failures = _parse(_WRAPPER.sub(_mask, text), filename)
    if module is None:
        # ops that jaxlib does not know in their own assembly: our own error says more
        raise error if not failures or "not found for custom op" in failures[0].message else failures[0]
    return str(module.operation.get_asm(print_generic_op_form=True, enable_debug_info=True))


def stablehlo_errors(text: str, filename: str) -> list[ParseError | VerifyError]:
    """Errors of StableHLO's own verifiers for a text with such ops; empty without jaxlib."""
    if not _STABLEHLO.search(text) or not _may_parse(text) or _context() is None:
        return []
    errors = _parse(_WRAPPER.sub(_mask, text), filename)[1]
    return [failure for failure in errors if failure.op.startswith(("stablehlo.", "chlo.", "sdy.")) and not _wider_storage(failure)]


def _wider_storage(failure: ParseError | VerifyError) -> bool:
    """Quantised numbers held in 32 bits: the device's compiler takes them, StableHLO's own rules do not."""
    return "quantized values" in failure.message and "!quant.uniform<i32" in failure.message


def restore(module: ModuleOp) -> tuple[ModuleOp, dict[Any, str]]:
    """Puts the ops of ttcore back that `generic_form` had to hide, and takes the places away that it added.

    Returns the module and the place ("line:column") of every op that had no location of its own.
    """
    places: dict[Any, str] = {}
    for op in list(module.walk()):
        location = op.location
        if isinstance(location, FileLineColLoc) and location.filename.data == _HERE:
            places[op] = f"{location.line.data}:{location.column.data}"
            op.location = UnknownLoc()
        for block in (block for region in op.regions for block in region.blocks):
            for arg in block.args:
                if isinstance(arg.location, FileLineColLoc) and arg.location.filename.data == _HERE:
                    arg.location = UnknownLoc()
        if isinstance(op, ModuleOp) and (kind := op.attributes.pop(_WRAPPED, None)) is not None:
            body = op.detach_region(op.body)
            wrapper = op_classes()[f"ttcore.{kind.data}"].create(regions=[body], attributes=dict(op.attributes))  # type: ignore[attr-defined]
            block = op.parent
            if block is None:
                module = ModuleOp([wrapper])
            else:
                block.insert_op_before(wrapper, op)
                block.erase_op(op)
    return module, places


def _mask(match: re.Match[str]) -> str:
    masked = f'{_WRAPPED} = "{match[1]}"'
    return f"builtin.module attributes {{{masked}, " if "attributes" in match[2] else f"builtin.module attributes {{{masked}}} {{"


def _may_parse(text: str) -> bool:
    """jaxlib's parser recurses: text nested more deeply than its stack allows would end the process."""
    depth = deepest = 0
    for token in re.finditer(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|[(\[{<]|->|[)\]}>]', text):
        mark = token[0]
        if mark in "([{<":
            depth += 1
            deepest = max(deepest, depth)
        elif mark in ")]}>":
            depth -= 1
    return deepest < _DEEPEST


def _parse(text: str, filename: str) -> tuple[Any, list[ParseError | VerifyError]]:
    from jaxlib.mlir import ir

    with _context():
        try:
            return ir.Module.parse(text), []
        except ir.MLIRError as failure:
            diagnostics = failure.error_diagnostics or []
            return None, [_error(str(diagnostic.message), str(diagnostic.location), filename) for diagnostic in diagnostics[:_MOST_DIAGNOSTICS]]


_MESSAGE = re.compile(r"(?:custom op )?'([\w.]+)' (?:op )?(.*)", re.DOTALL)


def _error(message: str, location: str, filename: str) -> ParseError | VerifyError:
    place = re.search(r'"-":(\d+):(\d+)', location)
    place_text = f"{filename}:{place[1]}:{place[2]}" if place else f"{filename}:1:1"
    named = _MESSAGE.match(message)
    if named is None:
        return ParseError(message, location=place_text)
    kind = VerifyError if f"'{named[1]}' op " in message else ParseError
    return kind(named[2].strip(), location=place_text, op=named[1])


__all__ = ["CUSTOM", "generic_form", "restore", "stablehlo_errors"]
