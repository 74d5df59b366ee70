"""Counts which pass changes which model at which optimization level, and what a model loses without a pass.

    python -m tools.census --rows ROWS.jsonl [--of zoo|families|onnx] [--levels 0 1 2] [--every N] [MODEL ...]
    python -m tools.census --rows ROWS.jsonl --table               pass -> models on which it fires, rarest first
    python -m tools.census --without PASS [--levels ...] MODEL ... device time and lines of the program with and without the pass

Rows are appended to ROWS.jsonl, one per model and level; a model and level that has a row is left out, so a stopped census continues. A pass that runs
several times in the pipeline counts once. Times are the simulator's clock (--estimate, n150) over the module that the pipeline returns.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
import warnings
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

from xdsl.dialects.builtin import ModuleOp

from alchemist.options import CompilerOptions
from alchemist.passes import PASSES, stages
from alchemist.pipeline import capture, compile_captured
from alchemist.progress import Progress


def state(module: ModuleOp) -> list[Any]:
    """Ops with operands, attributes and types, by identity: two equal states of a module are the same program. Keeps what it names alive."""
    return [
        (op, op.name, *op.operands, *op.properties.items(), *op.attributes.items(), *(value.type for value in op.results))
        for op in module.walk()
    ]  # fmt: skip


@contextlib.contextmanager
def counting(fired: set[str]) -> Iterator[None]:
    """Meanwhile the name of each pass that changes a module goes to `fired`."""

    def counted(name: str, run: Any) -> Any:
        def change(self: Any, module: ModuleOp) -> None:
            before = state(module)
            run(self, module)
            if name not in fired and before != state(module):
                fired.add(name)

        return change

    with contextlib.ExitStack() as stack:
        for name, cls in PASSES.items():
            stack.enter_context(mock.patch.object(cls, "run", counted(name, cls.run)))
        yield


@contextlib.contextmanager
def without(*names: str) -> Iterator[None]:
    """Meanwhile the pipeline leaves these passes out, whether or not a user may."""
    with contextlib.ExitStack() as stack:
        for attribute in ("TTIR_STAGES", "TTNN_STAGES", "ORDER_STAGES"):
            left = tuple(replace(stage, passes=tuple(name for name in stage.passes if name not in names)) for stage in getattr(stages, attribute))
            stack.enter_context(mock.patch.object(stages, attribute, left))
        yield


def measured(captured: Any, options: CompilerOptions) -> tuple[float, int]:
    """Device time in microseconds and lines of main.py."""
    compiled = compile_captured(captured, "python", options, Progress(verbose=False))
    lowered = stages.Lowered(compiled.ttnn, compiled.constants, compiled.l1_small_bytes)
    return stages.device_ns(lowered, options) / 1000, len(compiled.sources["main.py"].splitlines())


def captured_of(framework: str, build: Any) -> Any:
    model, args, kwargs = build()
    return capture(model, args, kwargs, framework)  # type: ignore[arg-type]


def run(models: dict[str, tuple[str, Any]], levels: Sequence[int], path: Path) -> None:
    rows = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    done = {(row["model"], row["level"]) for row in rows}
    for name, (framework, build) in models.items():
        todo = [level for level in levels if (name, level) not in done]
        if not todo:
            continue
        try:
            module = captured_of(framework, build).module
        except Exception as error:  # noqa: BLE001  the census goes on with the other models
            print(f"{name}: {type(error).__name__}: {' '.join(str(error).split())[:160]}", file=sys.stderr)
            continue
        for level in todo:
            fired: set[str] = set()
            with counting(fired):
                stages.lower_to_ttnn(module, CompilerOptions(optimization_level=level))
            with path.open("a") as file:
                file.write(json.dumps({"model": name, "level": level, "fired": sorted(fired)}) + "\n")
            print(f"{name} level {level}: {len(fired)} passes", flush=True)


def print_table(path: Path) -> None:
    models: dict[str, set[str]] = defaultdict(set)
    levels: dict[str, set[int]] = defaultdict(set)
    for row in map(json.loads, path.read_text().splitlines()):
        for name in row["fired"]:
            models[name].add(row["model"])
            levels[name].add(row["level"])
    for name in sorted(PASSES, key=lambda each: (len(models[each]), each)):
        listed = " ".join(sorted(models[name])[:6])
        print(f"{name:28} {len(models[name]):4} models  levels {','.join(map(str, sorted(levels[name]))) or '-':6} {listed}")


def compare(models: dict[str, tuple[str, Any]], levels: Sequence[int], name: str) -> None:
    for model, (framework, build) in models.items():
        captured = captured_of(framework, build)
        for level in levels:
            options = CompilerOptions(optimization_level=level)
            time_us, lines = measured(captured, options)
            with without(name):
                left_us, left_lines = measured(captured, options)
            print(f"{model} level {level}: {time_us:.1f} us, {lines} lines; without {name} {left_us:.1f} us, {left_lines} lines", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tools.census", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", metavar="MODEL")
    parser.add_argument("--of", default="zoo", choices=("zoo", "families", "onnx"))
    parser.add_argument("--levels", nargs="*", type=int, default=[0, 1, 2], choices=(0, 1, 2))
    parser.add_argument("--every", type=int, default=1, metavar="N", help="one model of N")
    parser.add_argument("--rows", type=Path)
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--without", metavar="PASS", choices=sorted(PASSES))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.table:
        print_table(options.rows)
        return
    from models import tables as zoo

    table = {"zoo": zoo.table, "families": zoo.families, "onnx": zoo.onnx_files}[options.of]()
    chosen = {name: table[name] for name in options.models or list(table)[:: options.every]}
    if options.without:
        compare(chosen, options.levels, options.without)
    elif options.rows:
        run(chosen, options.levels, options.rows)
    else:
        parser.error("say --rows FILE or --without PASS")


if __name__ == "__main__":
    main()
