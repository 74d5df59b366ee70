"""Every report of made-up runs. No clock is asked."""

from __future__ import annotations

import dataclasses
import re
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path

from ttnn_shim.records import Frame, Profile
from ttnn_shim.reports import write_all
from ttnn_shim.reports.answers import Answer, Edit, Suggestion
from ttnn_shim.reports.answers import table as suggested
from ttnn_shim.reports.calls import run_of
from ttnn_shim.reports.compare import table as compared
from ttnn_shim.reports.compare import write_compare
from ttnn_shim.reports.terminal import table

from tests.reports.test_reports import profile

_OUTLINE = "Outline (function <- module class, parameter scope)\n    main_model       <- Model\n        layer  x 2   <- nn.Layer   encoder.layer.{0..1}\n"


def _runs() -> dict[str, Profile]:
    """Runs that differ in what reports tell apart: none, one, several calls; models, loops, shards, no source, another card."""
    loops = profile(6)
    for index, call in enumerate(loops.calls.values()):
        call.frames = (Frame("main.py", 30, "model"), Frame("main.py", 10 + index % 2, "layer"))
    loops.sources = {"main.py": _OUTLINE + "\n" * 9 + "x = 1\n"}
    sharded = profile(5)
    shards = [dataclasses.replace(one, memory_layout="BLOCK_SHARDED", buffer_type="L1", shard="[64, 32] on 4 cores") for one in sharded.programs[0].inputs]
    sharded.programs = [
        dataclasses.replace(one, inputs=tuple(shards), op=("matmul", "eltwise", "conv2d", "", "softmax")[one.index], fidelity="LoFi", modelled=True)
        for one in sharded.programs
    ]
    sharded.sources, sharded.manifest = {}, {}
    blackhole = dataclasses.replace(profile(2), card="p150", arch="blackhole", clock_ghz=1.35, grid=(13, 10))
    return {"none": profile(0), "one": profile(1), "many": profile(8), "loops": loops, "sharded": sharded, "blackhole": blackhole}


def _answer(made: Profile) -> Answer:
    edit = Edit("main.py", 0, 1, "z")
    better = Suggestion("as one", "main.py:11", "x = linear(...)", (edit,), frozenset({0}), 2000.0, 500.0)
    worse = Suggestion("in L1", "main.py:12", "y = add(...)", (), frozenset({1, 2}), 500.0, 900.0)
    return Answer(run_of(made), [better, worse], [better], made.device_ns - 2000, 3)


def _files(folder: Path) -> Iterator[tuple[str, str]]:
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        name = path.relative_to(folder).as_posix()
        if path.suffix == ".sqlite":
            with sqlite3.connect(path) as connection:
                yield name, re.sub(r"('capture_timestamp_ns',)'\d+'", r"\1'NOW'", "\n".join(connection.iterdump()))
        else:
            yield name, path.read_text()


def _lines(text: str) -> str:
    """One element of a page or of a file of JSON in each line; the page's own style and script are files of the source."""
    text = re.sub(r"<(style|script)>.*?</\1>", r"<\1>", text, flags=re.DOTALL)
    return re.sub(r"(?<=[>}])(?=[<{])|(?<=[,]) (?=\{)|, (?=\"\w+\": [\[{])", "\n", text)


def reports() -> dict[str, str]:
    """Text of each report of each run."""
    runs, found = _runs(), {}
    with tempfile.TemporaryDirectory() as scratch:
        for name, made in runs.items():
            folder = Path(scratch) / name
            answer = _answer(made) if name in ("many", "loops") else None
            write_all(made, folder, answer)
            found |= {f"{name}: {file}": _lines(text.replace(scratch, "SCRATCH")) for file, text in _files(folder)}
            found[f"{name}: terminal"] = table(made) + ("\n" + suggested(answer, 1) + "\n" + suggested(answer) if answer is not None else "")
        for before, after in (("many", "loops"), ("loops", "sharded"), ("sharded", "sharded"), ("one", "none")):
            sides = run_of(runs[before], before), run_of(runs[after], after)
            write_compare(*sides, Path(scratch) / "compare.html")
            found[f"{before} and {after}: terminal"] = compared(*sides)
            found[f"{before} and {after}: page"] = _lines((Path(scratch) / "compare.html").read_text())
    return found
