"""`alchemist explore INPUT.mlir -o graph.json`: a graph for Google Model Explorer, and a node-data overlay from a profile."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from ttnn_shim.command_line import CommandParser
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue

from alchemist.driver import explore_page, mlir_files, show
from alchemist.driver.align import in_order
from alchemist.errors import InputError
from alchemist.ir.access import argument_attrs, attrs, result_attrs
from alchemist.ir.dialects import TTOp
from alchemist.ir.location import SourceInfo, from_location, sources_of
from alchemist.ir.op_class import short_names
from alchemist.ir.printer import location_body
from alchemist.ops.eltwise_binary import BINARY

_LONGEST = 200


def main(arguments: Sequence[str]) -> int:
    parser = CommandParser(prog="alchemist explore", description="Write an MLIR file as a graph for Google Model Explorer, or an export as an HTML page.")
    parser.add_argument("input", metavar="INPUT", nargs="?", default=".", help="an MLIR file; with --html an export; with --serve either")
    parser.add_argument("-o", "--output", type=Path, metavar="OUT", help="file to write; default with --html: explorer.html")
    parser.add_argument("--profile", type=Path, metavar="DIR", help="add the times that `./run --profile DIR` wrote (for a graph, in OUT.node_data.json)")
    parser.add_argument("--html", action="store_true", help="write an offline page: linked stages, modules, layouts, time, memory, errors")
    parser.add_argument("--compare", type=Path, metavar="DIR", help="with --html: compare with another export")
    parser.add_argument("--serve", action="store_true", help="serve the page on 127.0.0.1 with a form for compiler options, which compiles again and compares")
    parser.add_argument("--port", type=int, default=8080, metavar="N", help="port of --serve; 0: any free port")
    args = parser.parse_args(arguments)
    if args.serve:
        from alchemist.driver import explore_serve

        explore_serve.serve(Path(args.input), args.port, namespace)
        return 0
    if args.html:
        text = explore_page.page(Path(args.input), namespace, args.profile, args.compare)
        output = args.output or Path("explorer.html")
        mlir_files.write_text(output, text)
        print(f"{output}: {len(text) / 1024:.0f} KiB; open it in a browser")
        return 0
    if args.compare is not None or args.output is None:
        parser.error("say what to write: -o OUT.json, --html or --serve" if args.output is None else "--compare is for --html")
    pages = graphs(mlir_files.Chunk(mlir_files.read_text(args.input), args.input))
    mlir_files.write_text(args.output, json.dumps(pages, indent=1) + "\n")
    print(f"{args.output}: {sum(len(graph['nodes']) for graph in pages['graphs'])} nodes; open it with `model-explorer {args.output}`")
    if args.profile is not None:
        overlay, used, rows = node_data(pages, args.profile)
        path = args.output.with_suffix(".node_data.json")
        mlir_files.write_text(path, json.dumps(overlay, indent=1) + "\n")
        print(f"{path}: {used} of {rows} profiled device programs matched to nodes")
    return 0


def graphs(chunk: mlir_files.Chunk) -> dict[str, Any]:
    """`{"label": ..., "graphs": [...]}`, one graph per function with a body.

    Raises:
        ParseError, VerifyError: see `mlir_files.read`.
    """
    module = mlir_files.read(chunk)
    functions = [op for op in module.walk() if isinstance(op, FuncOp) and op.body.blocks]
    # The viewer opens the first graph: the public function.
    functions.sort(key=lambda func: func.sym_visibility is not None and func.sym_visibility.data == "private")
    return {"label": Path(chunk.filename).stem, "graphs": [_graph(func) for func in functions]}


def _graph(func: FuncOp) -> dict[str, Any]:
    nodes: list[dict[str, Any]] = []
    made_by: dict[SSAValue, tuple[str, str]] = {}
    facts = argument_attrs(func)
    for index, arg in enumerate(func.args):
        described = facts[index] if index < len(facts) else {}
        infos = from_location(arg.location)
        label = str(described.get("ttir.name") or (infos[0].name if infos else "") or f"arg{index}")
        kind = str(described.get("ttcore.argument_type", "argument"))
        node = _node(f"arg{index}", label, f"{kind}s", [], [arg])
        node["attrs"].append({"key": "kind", "value": kind})
        nodes.append(node)
        made_by[arg] = (node["id"], "0")
    outputs = result_attrs(func)
    for index, op in enumerate(func.body.block.ops):
        edges = [
            {"sourceNodeId": made_by[value][0], "sourceNodeOutputId": made_by[value][1], "targetNodeInputId": str(position)}
            for position, value in enumerate(op.operands)
            if value in made_by
        ]
        if isinstance(op, ReturnOp):
            node = _node("outputs", "outputs", "", edges, [])
            node["attrs"] += [{"key": f"output {position}", "value": str(described.get("ttir.name", ""))} for position, described in enumerate(outputs)]
        else:
            node = _node(str(index), op.name, namespace(sources_of(op)), edges, list(op.results))
            node["attrs"] += _attributes(op)
            if location := loc_text(op):
                node["attrs"].append({"key": "loc", "value": location})
        nodes.append(node)
        for position, result in enumerate(op.results):
            made_by[result] = (node["id"], str(position))
    return {"id": func.sym_name.data, "nodes": nodes}


def _node(id_: str, label: str, where: str, edges: list[dict[str, str]], results: Sequence[SSAValue]) -> dict[str, Any]:
    outputs = []
    for position, value in enumerate(results):
        described = [{"key": "tensor_shape", "value": show.type_text(value)}]
        if memory := show.where(value.type):
            described.append({"key": "memory", "value": memory})
            described.append({"key": "bytes", "value": str(show.size_bytes(value.type))})
        outputs.append({"id": str(position), "attrs": described})
    return {"id": id_, "label": label, "namespace": where, "attrs": [], "incomingEdges": edges, "outputsMetadata": outputs}


def namespace(infos: Sequence[SourceInfo]) -> str:
    """`BertModel/encoder/layer/0 (BertLayer)`: the module path of an op's location, "" without one."""
    if not infos or not infos[0].scopes:
        return ""
    path = ""
    parts: list[str] = []
    for scope in infos[0].scopes:
        short = scope.class_name.rsplit(".", 1)[-1]
        own = scope.path.removeprefix(path).strip(".") if scope.path.startswith(path) else scope.path
        parts.append(f"{own} ({short})".replace("/", "_") if own else short.replace("/", "_") or "module")
        path = scope.path
    return "/".join(parts)


def _attributes(op: Operation) -> list[dict[str, str]]:
    values: Mapping[str, Any] = attrs(op) if isinstance(op, TTOp) else {key: str(value) for key, value in (op.properties | op.attributes).items()}
    attributes = [{"key": key, "value": _short(value)} for key, value in values.items()]
    for info in sources_of(op)[:3]:
        attributes += [{"key": "source", "value": f"{frame.file}:{frame.line} {frame.function}".strip()} for frame in info.frames[-1:]]
        if info.op:
            attributes.append({"key": "from", "value": info.op})
    return attributes


def loc_text(op: Operation) -> str:
    """`loc("add.3")`: the op's location as a profile's column LOC has it, "" for an unknown one."""
    body = location_body(op.location)
    return "" if body == "unknown" else f"loc({body})"


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "..."


# --- profiles -----------------------------------------------------------------------------------------------------------


def node_data(graph_data: Mapping[str, Any], profile: Path) -> tuple[dict[str, Any], int, int]:
    """Overlay of kernel times (ns) per node; number of profile rows used, number of rows.

    Rows with a column LOC (`ttrt perf`) belong to a node with that location; the others are matched by the name of their op.
    Rows and nodes are aligned in order (longest common subsequence); a row without a node belongs to the node of the row
    before it: `ttnn.linear` is a matmul and an addition on the device.

    Raises:
        InputError: no ops_perf_results.csv in the directory.
    """
    reports = sorted(profile.rglob("ops_perf_results*.csv")) if profile.is_dir() else [profile]
    if not reports or not reports[0].is_file():
        raise InputError("no profile", location=str(profile), expected="a directory with ops_perf_results.csv")
    try:
        with reports[0].open(newline="", encoding="utf-8", errors="replace") as file:
            rows = list(csv.DictReader(file))
    except csv.Error as error:
        raise InputError("not a profile table", location=str(reports[0]), got=str(error)) from None
    column = next((name for name in (rows[0] if rows else {}) if str(name).startswith("DEVICE KERNEL DURATION [ns]")), "")
    if not graph_data["graphs"]:
        raise InputError("the module has no function that matches the profile", location=str(profile))
    if rows and not (column and "OP CODE" in rows[0]):
        raise InputError("not a profile table", location=str(reports[0]), expected="columns OP CODE and DEVICE KERNEL DURATION [ns]")
    graph = graph_data["graphs"][0]
    nodes = [node for node in graph["nodes"] if node["label"].startswith("ttnn.")]
    results: dict[str, dict[str, float]] = {}
    used = 0
    current = ""
    locations = {node["id"]: next((entry["value"] for entry in node.get("attrs", ()) if entry["key"] == "loc"), "") for node in nodes}
    left = [f"{words(row['OP CODE'] or '')}\n{row.get('LOC') or ''}" for row in rows]
    right = [f"{node['label']}\n{locations[node['id']]}" for node in nodes]
    for row, hit in zip(rows, in_order(left, right, _same_place), strict=True):
        current = nodes[hit]["id"] if hit is not None else current
        if not current or not row.get(column):
            continue
        entry = results.setdefault(current, {"value": 0.0})
        try:
            entry["value"] += float(row[column])
        except ValueError:
            raise InputError("not a profile table", location=str(reports[0]), expected=f"numbers in {column}", got=row[column]) from None
        used += 1
    gradient = [{"stop": 0, "bgColor": "#ffffff"}, {"stop": 1, "bgColor": "#e8590c"}]
    return {graph["id"]: {"results": results, "gradient": gradient}}, used, len(rows)


_SYNONYMS = {
    "linear": "matmul", "rms_norm": "layernorm", "layer_norm": "layernorm", "add_layer_norm": "layernorm", "max_pool2d": "pool2d",
    "avg_pool2d": "pool2d", "embedding": "embeddings", "slice_static": "slice", "to_layout": "tilize", "sum": "reduce",
    "mean": "reduce", "max": "reduce", "concatenate_heads": "nlpconcatheads", "scaled_dot_product_attention": "sdpaoperation",
    "split_query_key_value_and_split_heads": "nlpcreateheads", "reshape": "reshapeview", "full": "fill",
}  # fmt: skip
_BINARY = {"div", *(name for name, *_ in BINARY)}
_UNARY = short_names("ttnn", "elementwise_unary") | {"typecast"}


def words(code: str) -> str:
    return code.lower().replace("_", "").replace("deviceoperation", "")


@cache
def _same_place(row: str, node: str) -> bool:
    """Whether a row's op and location are those of a node; each is "name, line break, location"."""
    (name, loc), (label, place) = row.split("\n", 1), node.split("\n", 1)
    return belongs(name, label) and (not loc or loc == place)


@cache
def belongs(words: str, label: str) -> bool:
    name = label.removeprefix("ttnn.")
    if "binary" in words:
        return name in _BINARY
    if "unary" in words or "typecast" in words:
        return name in _UNARY
    if "untilize" in words:
        return name == "to_layout"
    return _SYNONYMS.get(name, name).replace("_", "") in words or (bool(words) and words in name.replace("_", ""))
