"""Heads of attention that come as one head in some modules and as several in others: split and joined by two functions of the program.

One head is a view, several are moved. Where a class has both, a function with the number of heads says what either is for, and modules that differ
in nothing else become one function. Works on the graph, where shapes are known.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from alchemist.ops.spec import TTNN_OPS, Arg, Kind
from alchemist.program import model
from alchemist.program.graph import Graph, Node, Raw, Use, Value
from alchemist.program.walk import calls_in

SPLIT, JOIN = "split_heads", "join_heads"
COUNT = "num_heads"
_NAMED_AFTER = {SPLIT: "ttnn.permute", JOIN: "ttnn.concatenate_heads"}
"""The op whose results are called like the function's, whatever it calls."""
_ATTENTION = "ttnn.transformer.scaled_dot_product_attention"
_HEADS_FIRST = model.Items(tuple(model.Literal(axis) for axis in (0, 2, 1, 3)))
_DRAM = model.MemoryConfig()
_COUNT = Arg(COUNT, COUNT, Kind.INT)


def share_heads(graph: Graph) -> None:
    """Ops that split or join heads become one node each, the call of a function, where some of them have one head and others several."""
    found = [one for node in graph.nodes if (one := _form(node)) is not None]
    for helper in (SPLIT, JOIN):
        if len({_is_single(heads) for _, name, heads in found if name == helper}) < 2:
            return
    made = {parts[-1]: _joined(parts, helper, heads) for parts, helper, heads in found}
    gone = {node for parts, _, _ in found for node in parts[:-1]}
    graph.nodes = [made.get(node, node) for node in graph.nodes if node not in gone]
    for position, node in enumerate(graph.nodes):
        node.position = position


def _is_single(heads: int) -> bool:
    return heads == 1


def _form(node: Node) -> tuple[tuple[Node, ...], str, int] | None:
    """(the ops, what they do, number of heads) of the last of ops that split or join heads."""
    if len(node.results) != 1 or not node.inputs() or node.kept or any(value.type.config != _DRAM for value in _tensors(node)):
        return None
    given = dict((arg.name, raw) for arg, raw in node.arguments)
    if given.get("memory_config", _DRAM) != _DRAM:
        return None
    after = node.results[0].type.shape
    source = node.inputs()[0]
    before = source.type.shape
    if node.spec.target == "ttnn.permute" and given.get("dims") == _HEADS_FIRST and source.node is not None and source.users == [node]:
        split = source.node
        shape = split.inputs()[0].type.shape if split.spec.target == "ttnn.reshape" else ()
        plain = split.kept == [] and all(value.type.config == _DRAM for value in _tensors(split)) and len(split.arguments) == len(node.arguments)
        if plain and not source.returned and len(shape) == 3 and before == (*shape[:2], before[2], shape[2] // before[2]) and _feeds_attention(node):
            return (split, node), SPLIT, before[2]
        return None
    if node.spec.target == "ttnn.reshape" and len(before) == 3 and after == (before[0], 1, *before[1:]) and _feeds_attention(node):
        return (node,), SPLIT, 1
    of_attention = source.node is not None and source.node.spec.target == _ATTENTION
    if node.spec.target == "ttnn.reshape" and of_attention and len(before) == 4 and before[1] == 1 and after == (before[0], *before[2:]):
        return (node,), JOIN, 1
    if node.spec.target == "ttnn.transformer.concatenate_heads" and of_attention:
        return (node,), JOIN, before[1]
    return None


def _tensors(node: Node) -> Iterable[Value]:
    return (*node.inputs(), *node.results)


def _feeds_attention(node: Node) -> bool:
    users = node.results[0].users
    return bool(users) and all(user.spec.target == _ATTENTION for user in users)


def _joined(parts: Sequence[Node], helper: str, heads: int) -> Node:
    """One node for all: it reads what the first reads and makes what the last makes."""
    first, last = parts[0], parts[-1]
    source = first.inputs()[0]
    between = [value for part in parts[:-1] for value in part.results]
    arguments: tuple[tuple[Arg, Raw], ...] = ((first.arguments[0][0], Use(source)),)
    if helper == SPLIT:
        arguments += ((_COUNT, model.Literal(heads)),)
    source.users = [user for user in source.users if user is not first]
    sources = tuple(dict.fromkeys(info for part in parts for info in part.sources))
    ended = [value for part in parts for value in part.frees if value not in between]
    made = Node(
        TTNN_OPS[_NAMED_AFTER[helper]], arguments, last.results, sources, last.note or first.note, last.position, ended, helper=helper, parts=tuple(parts)
    )
    source.users.sort(key=lambda user: user.position)
    return made


def helper_functions(functions: Sequence[model.Function]) -> list[model.Function]:
    """The functions that the others call to split and join heads."""
    called = {call.function for function in functions for call in calls_in(function.body)}
    return [made for made in (_split(), _join()) if made.name in called]


def _call(name: str, target: str = "", **given: model.Value) -> model.Call:
    """A call of one tensor `x`, whose result is returned, or bound to `target`."""
    spec = TTNN_OPS[f"ttnn.{name}"]
    values: dict[str, model.Value] = {spec.args[0].name: model.TensorRef("x"), **given, "memory_config": _DRAM}
    arguments = tuple((arg, values[arg.name]) for arg in spec.args if arg.name in values)
    return model.Call(spec, arguments, (target,) if target else (), returned=not target)


def _numbers(*texts: str) -> model.Items:
    return model.Items(tuple(model.NumberRef(text) for text in texts))


def _split() -> model.Function:
    one = (_call("reshape", shape=_numbers("batch", "num_heads", "rows", "width")),)
    body: tuple[model.Statement, ...] = (
        model.Extents(("batch", "rows", "width"), model.TensorRef("x")),
        model.If(model.NumberRef("num_heads == 1"), one),
        _call("reshape", "heads", shape=_numbers("batch", "rows", "num_heads", "width // num_heads")),
        replace(_call("permute", dims=_HEADS_FIRST), arguments=_of("heads", _call("permute", dims=_HEADS_FIRST))),
    )
    parameters = (model.Parameter("x"), model.Parameter(COUNT, "number"))
    return model.Function(SPLIT, parameters, body, 1, "[batch, rows, num_heads * D] -> [batch, num_heads, rows, D]; one head is a view.")


def _of(name: str, call: model.Call) -> tuple[tuple[Arg, model.Value], ...]:
    return tuple((arg, model.TensorRef(name) if isinstance(value, model.TensorRef) else value) for arg, value in call.arguments)


def _join() -> model.Function:
    one = (_call("reshape", shape=_numbers("batch", "rows", "width")),)
    body: tuple[model.Statement, ...] = (
        model.Extents(("batch", "num_heads", "rows", "width"), model.TensorRef("x")),
        model.If(model.NumberRef("num_heads == 1"), one),
        _call("concatenate_heads"),
    )
    return model.Function(JOIN, (model.Parameter("x"),), body, 1, "[batch, heads, rows, D] -> [batch, rows, heads * D]; one head is a view.")
