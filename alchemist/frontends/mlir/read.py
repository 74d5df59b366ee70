"""MLIR text -> verified module, through our own parser or, for other dialects' assembly, through jaxlib."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from alchemist.errors import ParseError, VerifyError
from alchemist.frontends.mlir import foreign
from alchemist.ir.location import set_place
from alchemist.ir.parser import ModuleParser
from alchemist.ir.verify import verify_errors

_SPLIT = re.compile(r"(?m)^// -----.*$")


def parts(text: str) -> list[str]:
    """What stands between `// -----` lines; each part begins with as many line breaks as its line numbers need."""
    found, start = [], 0
    for match in [*_SPLIT.finditer(text), None]:
        end = len(text) if match is None else match.start()
        body = text[start:end]
        if body.strip():
            found.append("\n" * text.count("\n", 0, start) + body)
        start = end if match is None else match.end()
    return found or [text]


def parse_module(text: str, filename: str = "<text>") -> tuple[ModuleOp, Callable[[Operation], str]]:
    """Module of TTIR, TTNN or StableHLO text, and a function that gives an op's file:line:column; nothing is verified.

    StableHLO, Shardy and upstream dialects in their own assembly are read through jaxlib where our parser cannot.

    Raises:
        ParseError: file:line:column of what is wrong; VerifyError, where jaxlib verifies what it reads.
    """
    parser = ModuleParser(text, filename)
    try:
        module = parser.module()
    except ParseError as error:
        if not foreign.CUSTOM.search(text):
            raise
        generic = foreign.generic_form(text, filename, error)
        try:
            module = ModuleParser(generic, filename).module()
        except ParseError as failure:  # places in the generic text mean nothing to the reader
            failure.location = error.location
            raise
        module, places = foreign.restore(module)
        return module, lambda op: f"{filename}:{places[op]}" if op in places else ""
    return module, lambda op: parser.position(parser.positions[op]) if op in parser.positions else ""


def module_errors(module: ModuleOp, text: str, filename: str, locate: Callable[[Operation], str]) -> Iterator[ParseError | VerifyError]:
    """What is wrong with a module that could be parsed, in no particular order."""
    yield from foreign.stablehlo_errors(text, filename)
    yield from verify_errors(module, locate)


def read_module(text: str, filename: str = "<text>") -> ModuleOp:
    """Parsed and verified.

    Raises:
        ParseError, VerifyError: file:line:column of the first error.
    """
    module, locate = parse_module(text, filename)
    for error in module_errors(module, text, filename, locate):
        raise error
    for op in module.walk():
        set_place(op, locate(op))
    return module


def unwrap_device_module(module: ModuleOp) -> ModuleOp:
    """The module inside `ttcore.device_module`, where tt-mlir puts it."""
    ops = list(module.ops)
    for op in ops:
        if op.name == "ttcore.device_module":
            inner = next((part for part in op.regions[0].blocks[0].ops if isinstance(part, ModuleOp)), None)
            if inner is not None:
                module = inner
    while len(ops := list(module.ops)) == 1 and isinstance(ops[0], ModuleOp):  # a module around a module
        module = ops[0]
    for op in list(module.ops):
        if op.name in ("ttcore.device", "ttcore.cpu_module"):
            module.body.block.erase_op(op)
    return module
