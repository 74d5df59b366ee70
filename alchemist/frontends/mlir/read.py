"""MLIR text -> verified module, through our own parser or, for other dialects' assembly, through jaxlib."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from alchemist.errors import InternalError, ParseError, VerifyError
from alchemist.frontends.mlir import foreign
from alchemist.frontends.mlir.cpu_module import take_in
from alchemist.frontends.mlir.vhlo import is_vhlo, stablehlo_text
from alchemist.ir.access import element_type, entry_function
from alchemist.ir.attributes import tensor
from alchemist.ir.builder import Builder
from alchemist.ir.location import place_of, set_place
from alchemist.ir.parser import ModuleParser, foreign_class
from alchemist.ir.verify import verify_errors
from alchemist.toolchain.host_code import HostCode
from alchemist.toolchain.spellings import Applied, OldSpellings
from alchemist.toolchain.unknown import unknown_attributes
from alchemist.toolchain.upgrade import upgrade

_SPLIT = re.compile(r"(?m)^// -----.*$")


def parts(text: str) -> list[str]:
    """Splits the text at `// -----` lines; each part begins with as many line breaks as its line numbers need."""
    chunks, start = [], 0
    for match in [*_SPLIT.finditer(text), None]:
        end = len(text) if match is None else match.start()
        body = text[start:end]
        if body.strip():
            chunks.append("\n" * text.count("\n", 0, start) + body)
        start = end if match is None else match.end()
    return chunks or [text]


def parse_module(text: str, filename: str = "<text>", applied: Applied | None = None) -> tuple[ModuleOp, Callable[[Operation], str]]:
    """Module of TTIR, TTNN or StableHLO text, and a function that gives an op's file:line:column; nothing is verified.

    VHLO becomes StableHLO first. StableHLO, Shardy and upstream dialects in their own assembly are read through jaxlib where our parser
    cannot. Spellings of earlier versions of tt-mlir become today's; `applied` receives which.

    Raises:
        ParseError: file:line:column of what is wrong; VerifyError, where jaxlib verifies what it reads.
    """
    if is_vhlo(text):
        text = stablehlo_text(text, filename)
    older = OldSpellings()
    parser = ModuleParser(text, filename, older=older)
    try:
        module = parser.module()
    except ParseError as error:
        if not foreign.CUSTOM.search(text):
            raise
        generic = foreign.generic_form(text, filename, error)
        try:
            module = ModuleParser(generic, filename, older=older).module()
        except ParseError as failure:  # places in the generic text mean nothing to the reader
            if failure.message.startswith("the layout"):  # jaxlib keeps aliases in bodies of attributes that it does not know
                raise error from None
            failure.location = error.location
            raise
        module, places = foreign.restore(module)

        def locate(op: Operation) -> str:
            return f"{filename}:{places[op]}" if op in places else place_of(op)
    else:

        def locate(op: Operation) -> str:
            return parser.position(parser.positions[op]) if op in parser.positions else place_of(op)

    _to_today(module, older.applied, locate)
    if applied is not None:
        applied.counts.update(older.applied.counts)
    return module, locate


def _to_today(module: ModuleOp, applied: Applied, locate: Callable[[Operation], str]) -> None:
    for op in module.walk():
        set_place(op, locate(op))
    upgrade(module, applied, stablehlo_in_place)


def stablehlo_in_place(
    name: str, operands: Sequence[SSAValue], attributes: Mapping[str, Attribute], results: Sequence[Attribute], builder: Builder
) -> Sequence[SSAValue]:
    """The ops of TTIR that compute one StableHLO op, inserted where `builder` stands. Raises: UnsupportedOpError."""
    from alchemist.frontends.stablehlo import Input, convert

    block = Block(arg_types=[value.type for value in operands])
    regions = [_last_written(operands[-1].type)] if name == "stablehlo.scatter" else []
    op = foreign_class(name).create(operands=list(block.args), result_types=list(results), properties=dict(attributes), regions=regions)
    block.add_ops([op, ReturnOp(*op.results)])
    function = FuncOp("main", ([value.type for value in operands], list(results)), Region(block))
    new = convert(ModuleOp([function]), [Input(f"arg{index}", "input") for index in range(len(operands))], [f"result{i}" for i in range(len(results))])
    body = entry_function(new.module).body.block
    values: dict[SSAValue, SSAValue] = dict(zip(body.args, operands, strict=True))
    for new_op in list(body.ops):
        if isinstance(new_op, ReturnOp):
            return [values[value] for value in new_op.operands]
        builder.insert(copy := new_op.clone(values))
        values.update(zip(new_op.results, copy.results, strict=True))
    raise InternalError("a converted op without return", op=name)


def _last_written(of: Attribute) -> Region:
    """The body of a scatter whose updates replace the old elements."""
    scalar = tensor((), element_type(of))
    block = Block(arg_types=[scalar, scalar])
    block.add_op(foreign_class("stablehlo.return").create(operands=[block.args[1]]))
    return Region(block)


def module_errors(module: ModuleOp, text: str, filename: str, locate: Callable[[Operation], str]) -> Iterator[ParseError | VerifyError]:
    """What is wrong with a module that could be parsed, in no particular order."""
    yield from foreign.stablehlo_errors(text, filename)
    yield from verify_errors(module, locate)
    yield from unknown_attributes(module, locate)


def read_module(text: str, filename: str = "<text>", applied: Applied | None = None) -> ModuleOp:
    """Parsed, brought to today's spelling (`applied` receives what changed) and verified.

    Raises:
        ParseError, VerifyError: file:line:column of the first error.
    """
    module, locate = parse_module(text, filename, applied)
    for error in module_errors(module, text, filename, locate):
        raise error
    return module


def unwrap_device_module(module: ModuleOp, host: dict[str, HostCode] | None = None) -> ModuleOp:
    """The module inside `ttcore.device_module`, where tt-mlir puts it, with what the CPU module beside it computes.

    host: see `take_in`.

    Raises:
        LoweringError: a CPU function that has no form on the device.
    """
    whole = module
    for op in module.ops:
        if op.name == "ttcore.device_module":
            inner = next((part for part in op.regions[0].blocks[0].ops if isinstance(part, ModuleOp)), None)
            if inner is not None:
                module = inner
    while len(ops := list(module.ops)) == 1 and isinstance(ops[0], ModuleOp):  # a module around a module
        module = ops[0]
    for op in [op for op in whole.walk() if op.name == "ttcore.cpu_module"]:
        take_in(module, op, host)
    for op in list(module.ops):
        if op.name in ("ttcore.device", "ttcore.cpu_module"):
            module.body.block.erase_op(op)
    return module
