"""`./run --what-if`: what would make an emitted program faster, each change written into a copy of it and priced by a run of the clock.

A suggestion is an edit of the source text; its gain is the device time of the program minus that of the edited one, so what other calls make of
the change (an output in L1, another data type) is in it. Values are not computed: `./run --check` says what a change costs in accuracy.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import io
import json
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from ttnn_shim.error_bands import relative_error
from ttnn_shim.reports.answers import Answer, Edit, Suggestion, as_data, table
from ttnn_shim.reports.calls import Call, Run, run_of

LINES = 12
"""Lines of the program, by falling time, for which changes are tried."""
TOGETHER = 3
"""Suggestions that are tried in one program."""
LEAST_GAIN = 0.002
"""Share of the device time below which a gain is not told."""
_MATMULS = ("ttnn.linear", "ttnn.matmul", "ttnn.addmm")
_WITH_FIDELITY = (*_MATMULS, "ttnn.conv2d", "ttnn.transformer.scaled_dot_product_attention")
_L1 = "ttnn.L1_MEMORY_CONFIG"


class Source:
    """A Python file of the program: its calls by line."""

    def __init__(self, name: str, text: str) -> None:
        self.name, self.text = name, text
        starts, rows = [0], text.split("\n")
        for row in rows:
            starts.append(starts[-1] + len(row) + 1)
        self._starts, self._rows = starts, rows
        self.tree = ast.parse(text)

    def at(self, line: int, column_bytes: int) -> int:
        """The character of a place of the syntax tree."""
        return self._starts[line - 1] + len(self._rows[line - 1].encode()[:column_bytes].decode())

    def span(self, node: ast.expr) -> tuple[int, int]:
        return self.at(node.lineno, node.col_offset), self.at(node.end_lineno or node.lineno, node.end_col_offset or 0)

    def calls(self, op: str) -> Iterator[tuple[ast.Call, str]]:
        """Calls of an op and the function that each stands in."""
        for function in self.tree.body:
            if isinstance(function, ast.FunctionDef):
                for node in ast.walk(function):
                    if isinstance(node, ast.Call) and ast.unparse(node.func) == op:
                        yield node, function.name

    def keyword(self, call: ast.Call, name: str, value: str) -> Edit:
        """The call with `name=value`."""
        for given in call.keywords:
            if given.arg == name:
                return Edit(self.name, *self.span(given.value), value)
        end = self.span(call)[1] - 1
        before = self.text[:end].rstrip()
        comma = "" if before.endswith((",", "(")) else ","
        return Edit(self.name, len(before), len(before), f"{comma} {name}={value}")


def edited(text: str, edits: Iterable[Edit]) -> str:
    """The text with all edits; those at one place stand in their order."""
    for edit in reversed(sorted(edits, key=lambda edit: edit.start)):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text


def suggestions(run: Run, sources: dict[str, Source], grid: tuple[int, int], lines: int = LINES) -> list[Suggestion]:
    """Changes worth a try, without their gains."""
    by_line: dict[tuple[str, str], list[Call]] = {}
    for call in run.calls:
        by_line.setdefault((call.line, call.op), []).append(call)
    slowest = sorted(by_line.items(), key=lambda item: -sum(call.ns for call in item[1]))[:lines]
    out: list[Suggestion] = []
    for (line, op), calls in slowest:
        file, _, number = line.rpartition(":")
        source = sources.get(file)
        if source is None or not number.isdigit():
            continue
        for node, function in source.calls(op):
            if node.lineno <= int(number) <= (node.end_lineno or node.lineno):
                out += _of_call(source, node, function, calls, sources, grid)
                break
    return [*out, *_of_all(run, sources)]


def _of_call(source: Source, node: ast.Call, function: str, calls: Sequence[Call], sources: dict[str, Source], grid: tuple[int, int]) -> Iterator[Suggestion]:
    line, op = f"{source.name}:{node.lineno}", calls[0].op
    times = f" ({len(calls)} calls)" if len(calls) > 1 else ""
    given = {keyword.arg: ast.unparse(keyword.value) for keyword in node.keywords}

    def change(what: str, name: str, value: str) -> Suggestion:
        write = f"{name}={value} in {op}(...)"
        return Suggestion(f"{op}: {what}{times}", line, write, (source.keyword(node, name, value),), frozenset({f"{line} {name}"}))

    if "memory_config" in given and _L1 != given["memory_config"] and calls[0].setup["outputs"].endswith("dram"):
        yield change("its output in L1", "memory_config", _L1)
    if op in _WITH_FIDELITY and "compute_kernel_config" not in given:
        for fidelity in ("HiFi2", "LoFi"):
            if fidelity != calls[0].setup["fidelity"]:
                yield change(f"math fidelity {fidelity} instead of {calls[0].setup['fidelity'] or 'the default'}", "compute_kernel_config", _config(fidelity))
    if op in _MATMULS:
        if "core_grid" not in given and "program_config" not in given:
            yield change(f"spread over {grid[0] * grid[1]} cores (now {calls[0].setup['cores']})", "core_grid", f"ttnn.CoreGrid(y={grid[1]}, x={grid[0]})")
        if "dtype" not in given and "bfloat8_b" not in calls[0].setup["outputs"]:
            yield change("its output as bfloat8_b", "dtype", "ttnn.bfloat8_b")
        yield from _weight(sources, node, function, line, f"{op}: its weight as bfloat8_b{times}")


def _config(fidelity: str) -> str:
    return f"ttnn.WormholeComputeKernelConfig(math_fidelity=ttnn.MathFidelity.{fidelity}, math_approx_mode=False, fp32_dest_acc_en=False, packer_l1_acc=True)"


def _weight(sources: dict[str, Source], node: ast.Call, function: str, line: str, what: str) -> Iterator[Suggestion]:
    """The weight in the second place as bfloat8_b, where const-eval computes it: in the function of the same name."""
    if len(node.args) < 2 or not isinstance(node.args[1], ast.Subscript) or not isinstance(node.args[1].slice, ast.Constant):
        return
    target = ast.unparse(node.args[1])
    for source in sources.values():
        for body in source.tree.body:
            if not isinstance(body, ast.FunctionDef) or body.name not in (function, "prepare"):
                continue
            for found in ast.walk(body):
                if isinstance(found, ast.Assign) and ast.unparse(found.targets[0]) == target and "bfloat8_b" not in ast.unparse(found.value):
                    start, end = source.span(found.value)
                    edits = (Edit(source.name, start, start, "ttnn.typecast("), Edit(source.name, end, end, ", ttnn.bfloat8_b)"))
                    place = f"{source.name}:{found.lineno}"
                    yield Suggestion(what, line, f"{target} = ttnn.typecast(..., ttnn.bfloat8_b) at {place}", edits, frozenset({place}))
                    return


def _of_all(run: Run, sources: dict[str, Source]) -> Iterator[Suggestion]:
    """The same change for all calls of the program at once."""
    main = sources.get("main.py")
    if main is None:
        return
    ops = {call.op for call in run.calls}
    outputs, touched = [], set()
    for op in ops:
        for node, _ in main.calls(op):
            if any(keyword.arg == "memory_config" and ast.unparse(keyword.value) != _L1 for keyword in node.keywords):
                outputs.append(main.keyword(node, "memory_config", _L1))
                touched.add(f"main.py:{node.lineno} memory_config")
    if len(outputs) > 1:
        write = f"memory_config={_L1} in place of DRAM in the functions of main.py"
        yield Suggestion(f"all outputs in L1 ({len(outputs)} lines)", "", write, tuple(outputs), frozenset(touched))
    for fidelity in ("HiFi2", "LoFi"):
        edits, touched = [], set()
        for op in ops.intersection(_WITH_FIDELITY):
            for node, _ in main.calls(op):
                if not any(keyword.arg == "compute_kernel_config" for keyword in node.keywords):
                    edits.append(main.keyword(node, "compute_kernel_config", _config(fidelity)))
                    touched.add(f"main.py:{node.lineno} compute_kernel_config")
        if len(edits) > 1:
            yield Suggestion(
                f"math fidelity {fidelity} everywhere ({len(edits)} lines)", "", f"compute_kernel_config={_config(fidelity)}", tuple(edits), frozenset(touched)
            )


class Pricer:
    """Runs the program, as it is or edited, with the clock alone. Raises ValueError when the program itself does not run."""

    def __init__(self, program: Path, card: str) -> None:
        self._program, self._card = program, card
        files = [program / name for name in ("main.py", "consteval.py")]
        self.sources = {file.name: Source(file.name, file.read_text(encoding="utf-8")) for file in files if file.is_file()}
        self.run: Run | None = None
        self.grid = (8, 8)

    def price(self, edits: Sequence[Edit] = ()) -> float | None:
        """Device time in nanoseconds, None where the library refuses the edited program."""
        from ttnn_shim import session
        from ttnn_shim.records import Profile
        from ttnn_shim.worker import run_program

        with tempfile.TemporaryDirectory(prefix="alchemist-what-if-") as name:
            folder = Path(name).resolve()
            for file in self._program.iterdir():
                if file.suffix == ".py" and file.name in self.sources:
                    changes = [edit for edit in edits if edit.file == file.name]
                    (folder / file.name).write_text(edited(self.sources[file.name].text, changes), encoding="utf-8")
                elif file.suffix == ".py":
                    shutil.copy(file, folder / file.name)
                elif file.name in ("manifest.json", "tensors", "golden"):
                    (folder / file.name).symlink_to(file)
            profiles: list[Profile] = []
            session.settings.profile_dir = folder
            session.record_calls(folder)
            session.on_profile(profiles.append)
            try:
                with contextlib.redirect_stdout(io.StringIO()):
                    done = run_program(folder / "main.py", ["--estimate"], self._card, estimate=True)
            finally:
                session.stop_recording()
            if done["code"] or not profiles:
                if not edits:
                    raise ValueError(f"the program does not run: {done['error'] or done['code']}")
                return None
            if not edits:
                self.run, self.grid = run_of(profiles[-1], self._program.name), profiles[-1].grid
            return profiles[-1].device_ns


def ask(program: Path, card: str, lines: int = LINES) -> Answer:
    """Prices every suggestion. program: directory of main.py."""
    pricer = Pricer(program, card)
    now_ns = pricer.price()
    assert now_ns is not None
    assert pricer.run is not None
    found, refused = [], 0
    tried = suggestions(pricer.run, pricer.sources, pricer.grid, lines)
    for number, suggestion in enumerate(tried):
        if sys.stderr.isatty():
            print(f"what-if {number + 1} of {len(tried)}: {suggestion.what}", file=sys.stderr)
        new_ns = pricer.price(suggestion.edits)
        if new_ns is None:
            refused += 1
        elif now_ns - new_ns > LEAST_GAIN * now_ns:
            gain = now_ns - new_ns
            found.append(replace(suggestion, gain_ns=gain, error_ns=gain * _band(suggestion.what, card)))
    found.sort(key=lambda one: -one.gain_ns)
    found = _apart(found)
    together: list[Suggestion] = []
    best_ns = now_ns
    for suggestion in found[: 3 * TOGETHER]:  # what each gains alone, two may not gain together, and L1 may not hold both
        new_ns = pricer.price([edit for one in (*together, suggestion) for edit in one.edits])
        if new_ns is not None and best_ns - new_ns > LEAST_GAIN * now_ns:
            together.append(suggestion)
            best_ns = new_ns
        if len(together) == TOGETHER:
            break
    return Answer(pricer.run, found, together, best_ns, refused)


def _apart(found: Sequence[Suggestion]) -> list[Suggestion]:
    """Of changes that edit the same place the best alone."""
    out: list[Suggestion] = []
    for suggestion in found:
        if all(not suggestion.touches & other.touches for other in out):
            out.append(suggestion)
    return out


def _band(what: str, card: str) -> float:
    """Relative error of the price that a change is about: the matmul's for those of matmuls, else the general one."""
    return relative_error("matmul" if what.startswith(_MATMULS) else "conv2d" if what.startswith("ttnn.conv2d") else "", card)


def main(arguments: list[str]) -> int:
    """`python -m ttnn_shim what-if`. Returns the exit code."""
    from ttnn_shim.run import CARDS, card_name

    parser = argparse.ArgumentParser(prog="python -m ttnn_shim what-if", description="Changes that would make an emitted program faster, with their gains.")
    parser.add_argument("program", type=Path, metavar="PROGRAM_DIR")
    parser.add_argument("--arch", default="n150", metavar="NAME", choices=CARDS, help="card or architecture: " + ", ".join(CARDS))
    parser.add_argument("--json", type=Path, metavar="FILE", help="suggestions with their edits, as JSON")
    parser.add_argument("--lines", type=int, default=LINES, metavar="N", help=f"changes are tried for the N slowest lines (default {LINES})")
    options = parser.parse_args(arguments)
    import ttnn_shim

    ttnn_shim.activate(explicit=True)
    try:
        answer = ask(options.program.resolve(), card_name(options.arch), options.lines)
    except (OSError, ValueError, SyntaxError) as error:
        print(f"what-if: {error}", file=sys.stderr)
        return 1
    print(table(answer))
    if options.json is not None:
        options.json.write_text(json.dumps(as_data(answer), indent=1) + "\n", encoding="utf-8")
    return 0
