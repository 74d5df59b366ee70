"""`alchemist opt`: runs passes and pipelines on MLIR text and prints the result, with the real driver's option names."""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp

from alchemist.driver import diagnostics, mlir_files
from alchemist.driver.passes import Step, names, own_options, steps
from alchemist.errors import AlchemistError, OptionError, quoted
from alchemist.ir.parser import FOREIGN, NEIGHBOURS
from alchemist.ir.text import print_module
from alchemist.ir.verify import verify_module
from alchemist.options import WITHOUT_EFFECT, table
from alchemist.passes.stages import described
from alchemist.toolchain.older_text import LAYOUTS_OF, day_of, older_text
from alchemist.toolchain.spellings import Applied

USAGE = """\
usage: alchemist opt [INPUT.mlir | -] [-o FILE] [--PASS[="key=value ..."] ...]

Runs passes and pipelines in the given order and prints the module. Without a pass, it parses, verifies and prints.

  --stablehlo-to-ttir-pipeline, --ttir-to-ttnn-backend-pipeline, --ttir-to-emitpy-pipeline, --ttir-to-emitc-pipeline, ...
  --pass-pipeline="builtin.module(a,b{k=v})"
  --print-stages              list the stages from TTIR to TTNN, with their postconditions and passes
  --stop-after="STAGE [key=value ...]"   run the stages up to this one
  --upgrade                   print an old file in today's spelling and the changes on stderr
  --print-as=2024-09          print attributes and types in the spelling of that date; ops keep today's spelling
  --list                      list every pass, pipeline and option
  --show-dialects             list the dialects that the parser reads
  --split-input-file          process the modules between `// -----` lines separately
  --verify-diagnostics        compare errors with `expected-error {{...}}` comments
  --mlir-print-ir-after-all   print the module to stderr after every pass; also --mlir-print-ir-before-all
  --verify-each=false         do not verify after every pass
  --mlir-diagnostics          also print each error in MLIR's form, FILE:LINE:COLUMN: error: ...; default of `ttmlir-opt`
"""
_ACCEPTED = {  # flags of the real driver that change nothing here
    "mlir-print-debuginfo", "mlir-print-op-generic", "mlir-print-local-scope", "mlir-disable-threading",
    "mlir-print-ir-module-scope", "allow-unregistered-dialect", "mlir-elide-elementsattrs-if-larger", "no-implicit-module",
}  # fmt: skip
_FLAGS = {
    "split-input-file", "verify-diagnostics", "mlir-print-ir-after-all", "mlir-print-ir-before-all", "verify-each", "list", "upgrade", "show-dialects",
    "mlir-diagnostics", "print-stages",
}  # fmt: skip
_EXPECTED = re.compile(r"expected-(error|warning|note|remark)(-re)?(?:@([+-]\d+|below|above|unknown))?\s*(\d+)?\s*\{\{(.*?)\}\}", re.DOTALL)


@dataclass(slots=True)
class Invocation:
    """A parsed command line. passes: names and what they run, in order. print_as: a day, or "" for today's text."""

    input: str = ""
    output: str = ""
    passes: list[tuple[str, list[Step]]] = field(default_factory=list)
    print_as: str = ""
    flags: set[str] = field(default_factory=set)


def parse_arguments(arguments: Sequence[str]) -> Invocation:
    """Raises: OptionError for unknown flags, passes and options, before any file is read."""
    invocation = Invocation()
    words = list(arguments)
    while words:
        word = words.pop(0)
        if word == "-o" or word in ("--output", "-output"):
            if not words:
                raise OptionError(f"{word} needs a value", expected="a file name")
            invocation.output = words.pop(0)
        elif word.startswith("-o="):
            invocation.output = word[3:]
        elif word == "-" or not word.startswith("-"):
            if invocation.input:
                raise OptionError("more than one input", expected="one file", got=word)
            invocation.input = word
        else:
            _option(invocation, *word.lstrip("-").partition("=")[::2])
    return invocation


def _option(invocation: Invocation, name: str, value: str) -> None:
    if name in _FLAGS:
        if value.lower() in ("false", "0"):
            invocation.flags.add(f"no-{name}")
        else:
            invocation.flags.add(name)
    elif name in _ACCEPTED:
        return
    elif name == "print-as":
        if re.fullmatch(r"20\d\d-\d\d(-\d\d)?", value) is None:
            raise OptionError("--print-as needs a day", expected="YEAR-MONTH or YEAR-MONTH-DAY", got=quoted(value))
        invocation.print_as = value
    elif name == "pass-pipeline":
        for step, options in _pass_pipeline(value):
            _add(invocation, step, options)
    elif value == "" and name not in names() and (near := difflib.get_close_matches(name, _FLAGS | _ACCEPTED, n=1, cutoff=0.8)):
        raise OptionError(f"no pass, pipeline or option {name!r}", expected=f"--{near[0]}", hint=f"did you mean --{near[0]}?")
    else:
        _add(invocation, name, value)


def _add(invocation: Invocation, name: str, options: str) -> None:
    invocation.passes.append((name, steps(name, options)))


def _pass_pipeline(text: str) -> list[tuple[str, str]]:
    """`builtin.module(a,b{k=v},func.func(c))`: nesting is read and flattened."""
    entries: list[tuple[str, str]] = []
    body = text.strip("\"' ")
    token = re.compile(r"\s*([\w.-]+)\s*(\{[^{}]*\}|\()?|\s*([,)])")
    offset = depth = 0
    while offset < len(body):
        match = token.match(body, offset)
        if match is None or match.end() == offset:
            raise OptionError("malformed pass pipeline", expected="builtin.module(pass{k=v},...)", got=body[offset : offset + 40])
        offset = match.end()
        if match[3]:
            depth -= match[3] == ")"
        elif match[2] == "(":
            depth += 1
        elif match[1]:
            entries.append((match[1], match[2] or ""))
    if depth:
        raise OptionError("malformed pass pipeline", expected="balanced parentheses", got=body[:60])
    return entries


def main(arguments: Sequence[str]) -> int:
    """Exit code: 0, or 1 after any error (or a diagnostic that does not match)."""
    if not arguments or set(arguments) & {"-h", "--help"}:
        print(USAGE, end="")
        return 0 if arguments else 2
    try:
        invocation = parse_arguments(arguments)
    except OptionError as error:
        print(error, file=sys.stderr)
        return 1
    if "list" in invocation.flags:
        print(listing())
        return 0
    if "print-stages" in invocation.flags:
        print(described())
        return 0
    if "show-dialects" in invocation.flags:
        print("Available Dialects: " + ", ".join(sorted({"builtin", "func", "ttcore", "ttir", "ttnn", *FOREIGN, *NEIGHBOURS})))
        return 0
    text = mlir_files.read_text(invocation.input or "-")
    filename = "<stdin>" if invocation.input in ("", "-") else invocation.input
    outputs: list[str] = []
    failed = False
    for chunk in mlir_files.chunks(text, filename, split="split-input-file" in invocation.flags):
        printed, errors = _run(chunk, invocation)
        if "verify-diagnostics" in invocation.flags:
            complaints = check_diagnostics(chunk, errors)
            failed |= bool(complaints)
            for complaint in complaints:
                print(complaint, file=sys.stderr)
            if errors:
                continue
        elif errors:
            failed = True
            for caught in errors:
                line = diagnostics.line_of(caught) if "mlir-diagnostics" in invocation.flags else ""
                print(*filter(None, (line, str(caught))), sep="\n", file=sys.stderr)
        if printed:
            outputs.append(printed)
    result = "\n// -----\n\n".join(outputs)
    if invocation.output and invocation.output != "-":
        if not failed:
            mlir_files.write_text(Path(invocation.output), result)
    elif result:
        print(result, end="" if result.endswith("\n") else "\n")
    return 1 if failed else 0


def _run(chunk: mlir_files.Chunk, invocation: Invocation) -> tuple[str, list[AlchemistError]]:
    applied = Applied()
    try:
        module = mlir_files.read(chunk, applied)
    except AlchemistError as error:
        return "", mlir_files.all_errors(chunk, error)
    if "upgrade" in invocation.flags:
        for line in applied.report() or ["nothing: the text is today's"]:
            print(f"{chunk.filename}: {line}", file=sys.stderr)
    try:
        for name, steps in invocation.passes:
            module = _run_steps(module, name, steps, invocation.flags)
    except AlchemistError as error:
        return "", [error]
    printed = print_module(module)
    day = invocation.print_as or day_of([name for name, _ in invocation.passes], applied)
    if day and not invocation.print_as:
        (first, then), until, since = LAYOUTS_OF
        reason = f"--{first} made the layouts of --{then} until {until}, --{since} does since"
        print(f"{chunk.filename}: printed as on {day}: {reason}; --print-as chooses another day", file=sys.stderr)
    return older_text(printed, day) if day else printed, []


def _run_steps(module: ModuleOp, name: str, steps: Sequence[Step], flags: Collection[str] = ()) -> ModuleOp:
    for step in steps:
        if "mlir-print-ir-before-all" in flags:
            print(f"// -----// IR Dump Before {step.label} ({name}) //----- //\n{print_module(module)}\n", file=sys.stderr)
        module = step.run(module)
        if "no-verify-each" not in flags:
            verify_module(module)
        if "mlir-print-ir-after-all" in flags:
            print(f"// -----// IR Dump After {step.label} ({name}) //----- //\n{print_module(module)}\n", file=sys.stderr)
    return module


def run_pipeline(module: ModuleOp, passes: str) -> ModuleOp:
    """Runs `"name{k=v},name"` on a module; for tests and other commands. Raises: OptionError before anything has run."""
    pipeline = [(name, steps(name, options)) for name, options in _pass_pipeline(passes)]
    for name, steps_of in pipeline:
        module = _run_steps(module, name, steps_of)
    return module


def listing() -> str:
    """Passes, pipelines and pipeline options, one a line."""
    pass_names = names()
    width = max(map(len, pass_names))
    rows = ["passes and pipelines:", *(f"  --{name:<{width}}  {doc}" for name, doc in pass_names.items())]
    if own := own_options():
        rows += ["", "options of single passes:", *(f"  --{name}: {line}" for name, lines in own.items() for line in lines)]
    rows += ["", "options, key=value with underscores or dashes:", *(f"  {line}" for line in table().splitlines())]
    rows += ["", "options of the real driver without effect here:"]
    for key, value in sorted(WITHOUT_EFFECT.items()):
        rows.append(f"  {key.replace('_', '-')}" + ("" if value is None else f"={value}" if value else " (empty)"))
    return "\n".join(rows)


def check_diagnostics(chunk: mlir_files.Chunk, errors: Sequence[AlchemistError]) -> list[str]:
    """Differences between errors and the `expected-error` comments of a text; empty when all match."""
    expected: list[tuple[int, str, str, re.Pattern[str]]] = []
    for match in _EXPECTED.finditer(chunk.text):
        line = chunk.text.count("\n", 0, match.start()) + 1
        offset = match[3] or "0"
        line = 0 if offset == "unknown" else line + {"below": 1, "above": -1}.get(offset, 0 if not offset.lstrip("+-").isdigit() else int(offset))
        pattern = match[5] if match[2] else re.escape(match[5])
        if match[1] == "error":
            expected += [(line, match[1], match[5], re.compile(pattern))] * int(match[4] or 1)
    complaints: list[str] = []
    for error in errors:
        line = mlir_files.place(error)[0]
        words = " ".join(filter(None, (error.op, error.message, error.expected, error.got, diagnostics.text_of(error))))
        hit = next((item for item in expected if item[0] in (line, 0) and item[3].search(words)), None)
        if hit is None:
            complaints.append(f"unexpected error:\n{error}")
        else:
            expected.remove(hit)
    complaints += [f"{chunk.filename}:{line}: expected error was not produced: {text}" for line, _, text, _ in expected]
    return complaints
