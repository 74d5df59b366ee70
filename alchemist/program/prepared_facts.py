"""The header's row on weights that const-eval makes: their names, and what each is made from."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence

from alchemist.frontends.base import Argument
from alchemist.ir.scopes import common_prefix
from alchemist.ops.spec import MOVING, TABLE_PARTS
from alchemist.program import model
from alchemist.program.functions import INITIAL
from alchemist.program.graph import Graph, Node
from alchemist.program.text import clean
from alchemist.program.weights import SLICE, needed

_MOST_SHOWN = 8
_MOST_NAMED = 1
_LAID_OUT = "_prepared"
_MEANINGS = {"_t": "transposed", _LAID_OUT: "in a convolution's layout"}
"""What the ending of a prepared weight's name means, where it does not say so."""
_TABLES = [f"_{part}" for part in TABLE_PARTS]
_DONE = {"ttnn.concat": "joined", "ttnn.transpose": "transposed", "ttnn.permute": "transposed", "ttnn.add": "added"}
BY_LAYERS = "computed by layers that read no input"
_LAST_NUMBER = re.compile(r"(.*_)(\d+)")
_NUMBER = re.compile(r"(?<=\.)\d+(?=\.)")


def weight_count(arguments: Iterable[Argument]) -> str:
    """ ", 21 parameter tensors, 1 buffer" behind the model's name; each name counts once."""
    held = {argument.name: argument.buffer for argument in arguments if argument.kind == "parameter"}
    counts = ((len(held) - sum(held.values()), "parameter tensor"), (sum(held.values()), "buffer"))
    return "".join(f", {count} {what}{'s' * (count > 1)}" for count, what in counts if count)


def prepared_fact(graph: Graph, arguments: Iterable[Argument], maker: str) -> str:
    """Names in `weights` that the model does not have, a line for each kind; "" without any. Equal layers are one name.

    maker: the file or function that makes them.
    """
    parameters = {argument.name for argument in arguments if argument.kind == "parameter"}
    stems: dict[str, list[str]] = {}
    names: dict[str, list[str]] = {}
    kernels: dict[str, list[str]] = {}
    for const_eval in graph.const_evals:
        for inner, result in zip(const_eval.outputs, const_eval.results, strict=True):
            files = result.made_from
            flattened = len(files) == 1 and len(needed(inner)[1][0].type.shape) > len(result.type.shape)
            if flattened and result.key == f"{files[0]}_t":  # a convolution's, for a product
                kernels.setdefault(_order_of_axes(needed(inner)[0]), []).append(files[0])
            elif len(files) == 1 and result.key.startswith(files[0]):
                stems.setdefault(result.key.removeprefix(files[0]), []).append(files[0])
            else:
                origin = f"{BY_LAYERS}: {len(files)} parameters" if result.by_layers else _origin(result.key, files, needed(inner)[0], parameters)
                names.setdefault(origin, []).append(result.key)
    stems.pop("", None)
    _join_numbered(stems)
    lines = []
    tables = _collapsed(stems[_TABLES[0]]) if all(ending in stems for ending in _TABLES) else []
    for ending in _TABLES if tables else ():
        stems.pop(ending)
    if tables:
        shown = tables if len(tables) <= _MOST_NAMED else ["*"]
        lines += [f"{stem}{', '.join(_TABLES)}: three bfloat16 tables that add up to {_weight(stem)}" for stem in shown]
    for ending, of_weights in stems.items():
        found = _collapsed(of_weights)
        told, count = (found, "") if len(found) <= _MOST_NAMED else (["*"], f"; {len(of_weights)} weights")
        for stem in told:
            weight = _weight(stem)
            done = f"{weight}, {_MEANINGS[ending]}" if ending in _MEANINGS else f"computed from {weight}"
            lines.append(f"{stem}{ending}: {done}{count}")
    for order, stems_ in kernels.items():
        lines += [f"{stem}_t: {stem}, {order}flattened to a matrix and transposed" for stem in _collapsed(stems_)]
    laid_out = any(key.endswith(_LAID_OUT) for keys in names.values() for key in keys)
    lines += [f"*{_LAID_OUT}: {_MEANINGS[_LAID_OUT]}"] if laid_out and not any(line.startswith(f"*{_LAID_OUT}") for line in lines) else []
    made = [f"{', '.join(_collapsed(keys))}: {origin}" for origin, keys in names.items()]
    lines += made[:_MOST_SHOWN] + ([f"{len(made) - _MOST_SHOWN} more"] if len(made) > _MOST_SHOWN else [])
    rows = [f"computed once at start by {maker}; the others are loaded as they are", *map(clean, lines)] if lines else []
    starts = [value.key for value in graph.weights if INITIAL.fullmatch(value.key) and value.users]
    if starts:
        said = f"{', '.join(starts)}: stored with the export; the loops start with them"
        rows = [*rows, said] if rows else [said]
    return "\n".join(rows)


def _order_of_axes(nodes: Sequence[Node]) -> str:
    """Of a convolution's weight before it becomes a matrix: "axes in the order 0, 3, 1, 2, ", "" where its axes stay."""
    for node in nodes:
        order = next((raw for arg, raw in node.arguments if arg.name == "dims"), None)
        if node.spec.name == "ttnn.permute" and isinstance(order, model.Items) and len(order.items) == len(node.results[0].type.shape) > 2:
            return f"axes in the order {', '.join(str(item.value) for item in order.items if isinstance(item, model.Literal))}, "
    return ""


def _origin(key: str, files: Sequence[str], nodes: Sequence[Node], parameters: Collection[str]) -> str:
    """What a weight is made from, and how where it is one or two simple steps."""
    paths = [name.split(".") for name in (key, *files)]
    around = len(common_prefix([path[:-1] for path in paths])) if len(files) > 1 else 0
    shown = [".".join(path[around:]) for path in paths[1:]]
    listed = ", ".join(name if file in parameters else f"{name} (a constant of the export)" for name, file in zip(shown, files, strict=True))
    listed += " of the same module" if around else ""
    if len(files) == 1 and key.rpartition(".")[2].startswith(files[0].rpartition(".")[2]):
        listed = f"the tied weight {listed}"
    computing = [node for node in nodes if node.spec.name not in MOVING]
    rows = _rows(computing[0]) if len(computing) == 1 else ""
    if rows:
        return f"{listed}, {rows}"
    factors = {number: factor for number, node in enumerate(computing) if len(files) > 1 and (factor := _factor(node, files, shown))}
    done = list(dict.fromkeys(_DONE.get(node.spec.name, "") for number, node in reversed(list(enumerate(computing))) if number not in factors))
    if all(done) and files:
        return ", ".join(filter(None, (listed, " and ".join(done)))) + "".join(f"; {factor} before" for factor in factors.values())
    folded = ", with the batch norm folded in" if any(file.endswith(".running_var") for file in files) else ""
    return f"computed from {listed}{folded}" if listed else _constant(computing)


def _factor(node: Node, files: Sequence[str], shown: Sequence[str]) -> str:
    """`query.weight times 0.125`, where the node multiplies one of several parameters by a number."""
    numbers = [raw.value for arg, raw in node.arguments if isinstance(raw, model.Literal) and isinstance(raw.value, float)]
    of = [file for value in node.inputs() for file in needed(value)[1]]
    if node.spec.name != "ttnn.multiply" or len(numbers) != 1 or len(of) != 1 or of[0].name not in files:
        return ""
    return f"{shown[files.index(of[0].name)]} times {numbers[0]:g}"


def _constant(computing: Sequence[Node]) -> str:
    """The values of a weight that no parameter is part of, where they are few."""
    made = [node for node in computing if node.spec.name != "ttnn.typecast"]
    arguments = {arg.name: raw for arg, raw in made[0].arguments} if len(made) == 1 else {}
    value, data = arguments.get("fill_value"), arguments.get("data")
    if isinstance(value, model.Literal):
        return f"{value.value:g} everywhere" if isinstance(value.value, float) else f"{value.value} everywhere"
    if isinstance(data, model.Items) and len(data.items) <= _MOST_SHOWN and all(isinstance(item, model.Literal) for item in data.items):
        return f"the constants {', '.join(str(item.value) for item in data.items if isinstance(item, model.Literal))}"
    return "computed from no weight of the model"


def _join_numbered(stems: dict[str, list[str]]) -> None:
    """Endings that differ in their last number alone become one: `_part_{0..3}`."""
    numbered: dict[str, dict[int, list[str]]] = {}
    for ending in stems:
        if found := _LAST_NUMBER.fullmatch(ending):
            numbered.setdefault(found[1], {})[int(found[2])] = stems[ending]
    for base, weights in numbered.items():
        if len(weights) > 1:
            for number in weights:
                stems.pop(f"{base}{number}")
            stems[f"{base}{{{min(weights)}..{max(weights)}}}"] = list(dict.fromkeys(one for of in weights.values() for one in of))


def _weight(stem: str) -> str:
    return "the weight *" if stem == "*" else stem


def _rows(node: Node) -> str:
    """ "rows 0..31" of a slice that cuts the first dim alone."""
    bounds = {arg.name: [item.value for item in raw.items if isinstance(item, model.Literal)] for arg, raw in node.arguments if isinstance(raw, model.Items)}
    start, end = bounds.get("slice_start", []), bounds.get("slice_end", [])
    dims = node.inputs()[0].type.shape if node.spec.name == SLICE else ()
    if not dims or len(start) != len(dims) or len(end) != len(dims) or any(start[1:]) or tuple(end[1:]) != dims[1:]:
        return ""
    first, last = int(start[0] or 0), int(end[0] or 0) - 1
    return f"row {first}" if first == last else f"rows {first}..{last}"


def _collapsed(keys: Iterable[str]) -> list[str]:
    """The names, those that differ in numbers of layers alone as one: `h.{0..11}.w`."""
    alike: dict[str, list[list[int]]] = {}
    for key in keys:
        alike.setdefault(_NUMBER.sub("#", key), []).append([int(number) for number in _NUMBER.findall(key)])
    out = []
    for pattern, numbers in alike.items():
        for place in zip(*numbers, strict=True):
            low, high = min(place), max(place)
            pattern = pattern.replace("#", str(low) if low == high else f"{{{low}..{high}}}", 1)
        out.append(pattern)
    return out
