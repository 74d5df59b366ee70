"""How emitted programs read: lines, loops, names, and what level 2 makes of level 0's program.

    python -m tools.zoo.reading [--texts DIR] [NAME[@LEVEL] ...]
    python -m tools.zoo.reading --whole --check --json ROWS.jsonl          # goes on where ROWS.jsonl ends

One row per model and level. loops: loops, of these and of runs of three or more calls of one function that stand written out. numbers: variables and
parameters that end in a number or begin with an ordinal which the source does not have, and functions and constants that are counted. ops: variables
called after an op. results: calls with several results whose names are those that the function returns, or those that the source assigns, or the former
with a word more (`cross_attention_key_states`, `cell_l0_reverse`), where a function is called for two. longer: lines beside those of level 0. The 30 models are those of models/read.py: narrow ones of four layers, with --whole at their
default widths and depths; flags and caches are the library's defaults.
"""

from __future__ import annotations

import argparse
import gc
import hashlib
import json
import re
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

from alchemist.frontends.base import FrontendResult
from alchemist.options import CompilerOptions, Language
from alchemist.passes import lower_to_ttnn
from alchemist.pipeline import capture
from alchemist.program import build_program, model
from alchemist.program.names import ORDINALS
from alchemist.program.walk import bound_by
from models.read import MODELS
from tools.zoo.names import names_of, words_of

_NUMBERED = re.compile(r"_\d+$")
WRITTEN_OUT = 3
"""Calls of one function side by side that should be a loop."""


@dataclass(frozen=True, slots=True)
class Row:
    """What is counted of one program. digest: of its two source texts. device_us, check, equal_exports: of the Python export, with --check. cpp_...: of the
    C++ export, with --cpp."""

    model: str
    level: int
    whole: bool
    lines: int
    cpp_lines: int
    loops: int
    written_out: int
    numbers: tuple[str, ...]
    variables: int
    ops: tuple[str, ...]
    results: int
    equal_results: int
    unequal: tuple[str, ...]
    digest: str
    device_us: float = 0.0
    check: str = ""
    cpp_device_us: float = 0.0
    cpp_check: str = ""
    equal_exports: bool | None = None
    seconds: float = 0.0


def measured(
    name: str, levels: Sequence[int] = (0, 2), *, whole: bool = False, check: bool = False, cpp_check: bool = False, texts: Path | None = None
) -> Iterator[Row]:
    """The model's program at each level. check, cpp_check: exports it too, in Python or in C++, and runs `./run --check`."""
    import emit_cpp
    import emit_py
    from alchemist.pipeline import detect_framework

    warnings.simplefilter("ignore")
    module, args, kwargs = MODELS[name](whole)
    result = capture(module, args, kwargs, detect_framework(module, args, kwargs))
    del module
    for level in levels:
        start = time.perf_counter()
        options = CompilerOptions(optimization_level=level, dump_irs=False)
        lowered = lower_to_ttnn(result.module.clone(), options).module
        cpp = emit_cpp.emit(build_program(lowered.clone(), result, options, "cpp"))
        program = build_program(lowered, result, options)
        sources = emit_py.emit(program)
        if texts is not None:
            texts.mkdir(parents=True, exist_ok=True)
            (texts / f"{name}{level}.py").write_text(sources["main.py"])
            (texts / f"{name}{level}.cpp").write_text(cpp["model.cpp"])
        names = names_of(program, result)
        loops, written_out = _loops(program)
        yield Row(
            model=name,
            level=level,
            whole=whole,
            lines=sources["main.py"].count("\n"),
            cpp_lines=cpp["model.cpp"].count("\n"),
            loops=loops,
            written_out=written_out,
            numbers=tuple(_numbered(program, words_of(result))),
            variables=names.variables,
            ops=tuple(names.after_ops.elements()),
            **_results(program, words_of(result)),
            digest=hashlib.sha256("".join([*sources.values(), *cpp.values()]).encode()).hexdigest()[:16],
            **(_checked(result, options, "python", sources["main.py"]) if check else {}),
            **(_checked(result, options, "cpp", cpp["model.cpp"]) if cpp_check else {}),
            seconds=round(time.perf_counter() - start, 1),
        )


def _checked(result: FrontendResult, options: CompilerOptions, language: Language, text: str) -> dict[str, Any]:
    """Device time and verdict of `./run --check` of an export; whether its program is `text`."""
    from alchemist.codegen import export_captured

    with tempfile.TemporaryDirectory() as folder:
        made = export_captured(result, Path(folder) / "export", options, language).path
        report = Path(folder) / "report.json"
        done = subprocess.run([str(made / "run"), "--check", "--json", str(report)], capture_output=True, text=True, check=False)
        values = json.loads(report.read_text()) if report.exists() else {}
        device_us = round(values.get("device_ns", 0) / 1000, 1)
        verdict = "passed" if done.returncode == 0 else (done.stderr.strip() or done.stdout.strip())[-600:]
        if language == "python":
            return {"device_us": device_us, "check": verdict, "equal_exports": (made / "main.py").read_text() == text}
        equal = (made / "model.cpp").read_text() == text
        return {"cpp_device_us": device_us, "cpp_check": verdict if equal or verdict != "passed" else "a second export has another model.cpp"}


def _bodies(program: model.Program) -> list[tuple[model.Statement, ...]]:
    bodies = [function.body for function in program.functions]
    for body in bodies:
        bodies += [one.body for one in body if isinstance(one, model.Loop | model.NameLoop | model.RowLoop | model.If)]
    return bodies


def _loops(program: model.Program) -> tuple[int, int]:
    """Loops, and runs of calls that stand written out: each takes the result of the one before and the same numbers, memories and configs."""
    loops = written_out = 0
    for body in _bodies(program):
        loops += sum(isinstance(one, model.Loop | model.NameLoop | model.RowLoop) for one in body)
        calls = [one for one in body if isinstance(one, model.CallFunction)]
        run = 0
        for index, call in enumerate(calls):
            run = run + 1 if index and _goes_on(calls[index - 1], call) else 1
            written_out += run == WRITTEN_OUT
    return loops, written_out


def _goes_on(before: model.CallFunction, call: model.CallFunction) -> bool:
    numbers = [[one for one in each.arguments if isinstance(one, model.NumberArgument)] for each in (before, call)]
    chained = any(isinstance(one, model.TensorRef) and one.name in before.results for one in call.arguments)
    return before.function == call.function and chained and numbers[0] == numbers[1]


def _numbered(program: model.Program, known: set[str]) -> list[str]:
    """Of variables and parameters, functions and constants."""
    constants = {constant.name for constant in program.constants}  # `CONV_2` beside `CONV`; in `STAGE_2` and `BLOCK_H_64` the number says something
    found = [name for name in sorted(constants) if _NUMBERED.search(name) and _NUMBERED.sub("", name) in constants]
    for function in program.functions:
        made = {parameter.name for parameter in function.parameters} | {name for one in model.statements(function.body) for name in bound_by(one)}
        found += [
            f"{function.name}: {name}"
            for name in sorted(made)
            if not {name, name.removeprefix("d_")} & known and (_NUMBERED.search(name) or name.partition("_")[0] in ORDINALS)
        ]
        if _NUMBERED.search(function.name) and _NUMBERED.sub("", function.name) in {
            other.name for other in program.functions
        }:  # `lstm_cell_2` beside `lstm_cell`; `layer_2` is a place
            found.append(f"{function.name}()")
    return found


def _results(program: model.Program, known: set[str]) -> dict[str, Any]:
    """Calls of functions with several results: on how many both sides have the same names; "_" is a result that is not used. known: words of the source."""
    returned: dict[str, list[str]] = {}
    for function in program.functions:
        final = function.body[-1] if function.body else None
        if isinstance(final, model.Return):
            returned[function.name] = [value.name if isinstance(value, model.TensorRef) else "" for value in final.values]
    calls = [one for function in program.functions for one in model.statements(function.body) if isinstance(one, model.CallFunction)]
    seen, unequal = 0, []
    for call in calls:
        names = returned.get(call.function, [])
        if len(call.results) < 2 or len(names) != len(call.results):
            continue
        seen += 1
        if any(here not in {"_", *known} and not _says(str(here), there) for here, there in zip(call.results, names, strict=True)):
            unequal.append(f"{call.function}: {', '.join(map(str, call.results))} of {', '.join(names)}")
    return {"results": seen, "equal_results": seen - len(unequal), "unequal": tuple(unequal)}


def _says(here: str, there: str) -> bool:
    return there in ("", here) or here.startswith(f"{there}_") or here.endswith(f"_{there}")


def printed(row: Row, before: Row | None) -> str:
    """One line of the table, and lines with what is to be mended. before: the row of level 0."""
    longer = f"{row.lines / before.lines:.2f}x" if before else ""
    ops, loops, results = f"{len(row.ops)}/{row.variables}", f"{row.loops}/{row.loops + row.written_out}", f"{row.equal_results}/{row.results}"
    time_of = f"{row.device_us:10.1f}" + (f" {row.device_us / before.device_us:5.2f}x" if before and before.device_us else "") if row.check else ""
    lines = [f"{f'{row.model}@{row.level}':18}{row.lines:6}{longer:>8}{row.cpp_lines:6}{loops:>8}{len(row.numbers):9}{ops:>10}{results:>9}{time_of}"]
    lines += [*row.numbers[:6], *row.unequal[:3]]
    if row.ops:
        lines.append(f"ops: {', '.join(sorted(set(row.ops))[:12])}")
    if row.check not in ("", "passed"):
        lines.append(f"check: {row.check}")
    if row.cpp_check not in ("", "passed"):
        lines.append(f"C++ check: {row.cpp_check}")
    elif row.check and row.cpp_check and row.cpp_device_us != row.device_us:
        lines.append(f"C++ takes {row.cpp_device_us} us")
    if row.equal_exports is False:
        lines.append("a second export has another main.py")
    return "\n    ".join(lines)


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.zoo.reading", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME[@LEVEL]", help=", ".join(MODELS))
    parser.add_argument("--whole", action="store_true", help="models at their default widths and depths instead of narrow ones")
    parser.add_argument("--check", action="store_true", help="export each model, run ./run --check, and print its device time in us")
    parser.add_argument("--cpp", action="store_true", help="export each model in C++ too, and build and check it")
    parser.add_argument("--texts", type=Path, metavar="DIR", help="keep the programs there")
    parser.add_argument("--json", type=Path, metavar="ROWS.jsonl", help="append a JSON line per row; what the file has is printed and not measured again")
    options = parser.parse_args(words)
    chosen: dict[str, list[int]] = {}
    for word in options.names or MODELS:
        name, _, level = word.partition("@")
        if name not in MODELS:
            parser.error(f"no model {name!r}; there are {', '.join(MODELS)}")
        chosen.setdefault(name, []).extend([int(level)] if level else [0, 2])
    stored = [Row(**json.loads(line)) for line in options.json.read_text().splitlines()] if options.json and options.json.exists() else []
    rows = {(row.model, row.level): row for row in stored}
    print(f"{'model':18}{'lines':>6}{'longer':>8}{'C++':>6}{'loops':>8}{'numbers':>9}{'ops':>10}{'results':>9}{'device us':>10}")
    failed = 0
    for name, levels in chosen.items():
        for row in (rows[name, level] for level in levels if (name, level) in rows):
            print(printed(row, rows.get((name, 0)) if row.level else None), flush=True)
        missing = [level for level in levels if (name, level) not in rows]
        try:
            for row in measured(name, missing, whole=options.whole, check=options.check, cpp_check=options.cpp, texts=options.texts) if missing else ():
                rows[name, row.level] = row
                print(printed(row, rows.get((name, 0)) if row.level else None), flush=True)
                if options.json:
                    with options.json.open("a") as file:
                        file.write(json.dumps(asdict(row)) + "\n")
        except Exception as error:  # noqa: BLE001  a crash of one model must not hide the others
            failed += 1
            print(f"{name}: {type(error).__name__}: {str(error)[:600]}", flush=True)
        gc.collect()
    ratios = [row.lines / rows[row.model, 0].lines for row in rows.values() if row.level == 2 and (row.model, 0) in rows]
    times = [row.device_us / rows[row.model, 0].device_us for row in rows.values() if row.level == 2 and row.device_us and (row.model, 0) in rows]
    if ratios:
        print(f"{len(ratios)} models: level 2 has {median(ratios):.2f}x the lines of level 0 in the median, {max(ratios):.2f}x at most", end="")
        print(f"; device time {sum(times) / len(times):.2f}x in the mean, {max(times):.2f}x at most" if times else "")
    return 1 if failed or any(verdict not in ("", "passed") for row in rows.values() for verdict in (row.check, row.cpp_check)) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
