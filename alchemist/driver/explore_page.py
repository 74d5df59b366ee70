"""`alchemist explore DIR --html`: an export as one page for a browser without a network: its stages side by side, linked by location.

The page is data (JSON) and a script that shows it; every text of the model gets into the page as text.
"""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ttnn_shim.json_files import read_json
from ttnn_shim.reports.summary import BOUND_TEXT
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue

from alchemist.driver import mlir_files, show
from alchemist.driver.align import in_order
from alchemist.errors import InputError
from alchemist.ir.access import argument_attrs, attrs
from alchemist.ir.dialects import TTOp, named
from alchemist.ir.location import SourceInfo, from_location, sources_of
from alchemist.ops.spec import TTNN_OPS
from alchemist.optimizer import overrides
from alchemist.resources import template_text

_LONGEST = 300
_RUN_S = 900

_FX_FILE = re.compile(r"\s*# File: (.*):(\d+) in (\w+)")
_FX_VALUE = re.compile(r'\s+(\w+)(?:: "([^"]*)")? = torch\.ops\.([\w.]+)\((.*?)\)(?:;.*)?$')

Namespace = Callable[[Sequence[SourceInfo]], str]


def page(export: Path, namespace: Namespace, profile: Path | None = None, other: Path | None = None) -> str:
    """The page of an export. profile: directory of its `./run --profile`; without one the export is run, clock alone. other: export B.

    Raises:
        InputError: no export, or one without irs/ (exported with dump_irs=False).
        ParseError, VerifyError: see `mlir_files.read`.
    """
    return rendered([contents(export, namespace, profile)] + ([contents(other, namespace)] if other else []))


def rendered(exports: Sequence[Mapping[str, Any]]) -> str:
    """The page of one or two exports, from their `contents`."""
    # The text of a script element ends at "</"; JSON may spell the sign otherwise.
    text = json.dumps({"exports": exports}, separators=(",", ":")).replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    css, script = template_text("explorer/explorer.css"), template_text("explorer/explorer.js")
    return template_text("explorer/page.html").replace("/*css*/", css).replace("/*script*/", script).replace("/*data*/", text)


def contents(directory: Path, namespace: Namespace, profile: Path | None = None) -> dict[str, Any]:
    """The page's data for an export; `device_ns` is the simulated time of its calls. Arguments and errors as in `page`."""
    files = sorted(file for file in (directory / "irs").glob("[0-9]*") if file.suffix == ".mlir" or file.stem.endswith("_fx"))
    manifest_file = directory / "manifest.json"
    if not files or not manifest_file.is_file():
        raise InputError(
            "no export with its compiler stages", location=str(directory), expected="a directory with manifest.json and irs/*.mlir (dump_irs=True)"
        )
    manifest = _read(manifest_file)
    if not isinstance(manifest, dict):
        raise InputError("manifest.json is damaged", location=str(manifest_file), expected="an object", hint="export the model again")
    stages: list[dict[str, Any]] = []
    for file in files:
        text = mlir_files.read_text(file)
        nodes = _fx_stage(text) if file.stem.endswith("_fx") else _stage(mlir_files.Chunk(text, str(file)), namespace)
        if nodes:
            stages.append({"name": file.stem.partition("_")[2] or file.stem, "file": f"irs/{file.name}", "nodes": nodes})
    calls, note = _calls(directory, profile)
    if stages and calls:
        _lay_over(stages[-1]["nodes"], calls, _op_errors(directory))
    sources = [directory / name for name in ("main.py", "model.cpp") if (directory / name).is_file()]
    code = {source.name: source.read_text(encoding="utf-8").splitlines() for source in sources}
    device_ns = sum(float(call.get("ns") or 0) for call in calls)
    name, model = directory.resolve().name, str(manifest.get("model", ""))
    return {"name": name, "model": model, "stages": stages, "code": code, "note": note, "device_ns": device_ns, "minor": list(_MINOR)}


def _fx_stage(text: str) -> list[dict[str, Any]]:
    """Lines of a torch.export graph; their values' names link them with the ops of other stages."""
    nodes: list[dict[str, Any]] = []
    source = ""
    made_by: dict[str, int] = {}
    for line in text.splitlines():
        if match := _FX_FILE.match(line):
            source = "/".join(match[1].split("/")[-3:]) + f":{match[2]} {match[3]}"
        elif match := _FX_VALUE.match(line):
            name, type_, op, arguments = match.groups()
            edges = [
                {"from": made_by[word], "label": word, "type": "", "layout": ""} for word in dict.fromkeys(re.findall(r"\w+", arguments)) if word in made_by
            ]
            result = {"type": type_ or "", "layout": "", "bytes": 0}
            row = {"op": f"{name} = {op}", "module": "", "keys": [f"name|{name}"], "source": [source] if source else [], "from": []}
            nodes.append(row | {"results": [result], "edges": edges, "attributes": [("arguments", arguments[:_LONGEST])]})
            made_by[name] = len(nodes) - 1
    return nodes


def _stage(chunk: mlir_files.Chunk, namespace: Namespace) -> list[dict[str, Any]]:
    """Ops of the public function in order; an edge has producer, type and layout."""
    functions = [op for op in mlir_files.read(chunk).walk() if isinstance(op, FuncOp) and op.body.blocks]
    functions.sort(key=lambda func: func.sym_visibility is not None and func.sym_visibility.data == "private")
    if not functions:
        return []
    func, nodes = functions[0], []
    made_by: dict[SSAValue, tuple[int, str]] = {}
    facts = argument_attrs(func)
    for index, argument in enumerate(func.args):
        infos = from_location(argument.location)
        named = str((facts[index] if index < len(facts) else {}).get("ttir.name") or (infos[0].name if infos else "") or f"arg{index}")
        made_by[argument] = (-1, named)
    for op in func.body.block.ops:
        if isinstance(op, ReturnOp):
            continue
        infos = sources_of(op)
        edges = []
        for value in op.operands:
            producer, label = made_by.get(value, (-1, ""))
            edges.append({"from": producer, "label": label, "type": show.type_text(value), "layout": show.where(value.type)})
        nodes.append(
            {
                "op": op.name,
                "module": namespace(infos),
                "keys": sorted({key for info in infos for key in _keys(info)}),
                "source": [*dict.fromkeys(f"{frame.file}:{frame.line} {frame.function}".strip() for info in infos[:4] for frame in info.frames[-1:])],
                "from": [*dict.fromkeys(info.op for info in infos[:4] if info.op)],
                "results": [{"type": show.type_text(value), "layout": show.where(value.type), "bytes": show.size_bytes(value.type)} for value in op.results],
                "edges": edges,
                "attributes": _attributes(op),
                "overrides": [f'"{option}": "{line}"' for option, line in overrides.written(op)] if op.name.startswith("ttnn.") else [],
            }
        )
        for value in op.results:
            made_by[value] = (len(nodes) - 1, op.name)
    return nodes


def _keys(info: SourceInfo) -> list[str]:
    """Keys that an op shares with ops of other stages that come from the same statement of the same module instance."""
    path = info.scopes[-1].path if info.scopes else ""
    frame = f"{info.frames[-1].file}:{info.frames[-1].line}" if info.frames else ""
    keys = [f"{path}|{frame}|{info.op}"] if frame or info.op else []
    return [*keys, f"name|{info.name}"] if info.name else keys


def _attributes(op: Operation) -> list[tuple[str, str]]:
    values: Mapping[str, Any] = attrs(op) if isinstance(op, TTOp) else {key: str(value) for key, value in (op.properties | op.attributes).items()}
    return [(key, text if len(text := str(value)) <= _LONGEST else text[:_LONGEST] + "...") for key, value in values.items()]


def _calls(directory: Path, profile: Path | None) -> tuple[list[dict[str, Any]], str]:
    """The calls of a profiled run, and why there are none."""
    if profile is not None:
        file = profile / "calls.json"
        if not file.is_file():
            raise InputError("no profile", location=str(profile), expected="a directory of ./run --profile (calls.json)")
        return _calls_of(file), ""
    with tempfile.TemporaryDirectory(prefix="alchemist-explore-") as folder:
        command = [str(directory.resolve() / "run"), "--estimate", "--profile", folder]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_RUN_S)
        except (OSError, subprocess.SubprocessError) as error:
            return [], f"no times: {error}"
        if done.returncode or not (Path(folder) / "calls.json").is_file():
            return [], f"no times: ./run --estimate ended with {done.returncode}"
        return _calls_of(Path(folder) / "calls.json"), ""


def _calls_of(file: Path) -> list[dict[str, Any]]:
    calls = content.get("calls") if isinstance(content := _read(file), dict) else None
    if not isinstance(calls, list):
        raise InputError("not the calls of a profiled run", location=str(file), expected="calls.json of ./run --profile")
    return calls


def _read(file: Path) -> Any:
    try:
        return read_json(file)
    except ValueError as error:
        raise InputError(
            f"{file.name} is damaged", location=str(file), expected="JSON", got=str(error), hint="write it again: export the model, or run it with --profile"
        ) from error


def _op_errors(directory: Path) -> list[Mapping[str, Any]]:
    """Rows of golden/ops.json, one per call of the program; [] where the export has none."""
    file = directory / "golden" / "ops.json"
    if not file.is_file():
        return []
    data = _read(file)
    rows = data.get("ops", data.get("calls", [])) if isinstance(data, dict) else data
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


_ALIASES = {"mul": "multiply", "sub": "subtract", "div": "divide", "mm": "matmul"}
_MINOR = (*named("ttnn", "bookkeeping"), "ttcore.load_cached")
"""Ops without a call of the program; the page shows them on demand."""


def _call_name(op: str) -> str:
    """The common name of a call of the program and its op: "slice" for ttnn.slice_static and for ttnn.slice."""
    spec = TTNN_OPS.get(op)
    name = (spec.target if spec is not None and spec.target else op).rpartition(".")[2]
    stem = name.removesuffix("_")
    return _ALIASES.get(stem, stem) + name[len(stem) :]


def _lay_over(nodes: list[dict[str, Any]], calls: Sequence[Mapping[str, Any]], errors: Sequence[Mapping[str, Any]]) -> None:
    """Time, memory, code line and error of the call that each op became: calls, rows of golden/ops.json and ops are aligned in order by their names."""
    ops = [node for node in nodes if node["op"].startswith("ttnn.") and node["op"] not in _MINOR]
    names = [_call_name(node["op"]) for node in ops]
    for node, place in zip(ops, in_order(names, [_call_name(call["op"]) for call in calls], str.__eq__), strict=True):
        if place is not None:
            call = calls[place]
            bound = BOUND_TEXT.get(call["bound"], call["bound"])
            node |= {"ns": call["ns"], "bound": bound, "line": call["line"], "l1": call["l1_peak_bytes"], "programs": call["programs"]}
    for node, place in zip(ops, in_order(names, [_call_name(str(row.get("op"))) for row in errors], str.__eq__), strict=True):
        if place is not None and errors[place].get("unedited_rel_l2") is not None:
            node["error"] = errors[place]["unedited_rel_l2"]
        if place is not None and errors[place].get("unedited_pcc") is not None:
            node["pcc"] = errors[place]["unedited_pcc"]
