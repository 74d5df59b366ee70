"""Functions that split and join heads of attention: one where a program splits heads many times, or where one head is a view and several are moved.

One head is a view, several are moved. Where a class has both, a function with the number of heads says what either is for, and modules that differ
in nothing else become one function. Works on the graph, where shapes are known.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from alchemist.ops.spec import TTNN_OPS, Arg, Kind
from alchemist.program import model
from alchemist.program.graph import Graph, Node, Raw, Use, Value
from alchemist.program.walk import calls_in

SPLIT, JOIN = "split_heads", "join_heads"
COUNT = "num_heads"
MANY = 4
"""Statements of the source that split heads one by one, from which on a function does it."""
_NAMED_AFTER = {SPLIT: "ttnn.permute", JOIN: "ttnn.concatenate_heads"}
"""The op whose results are called like the function's, whatever it calls."""
_ATTENTION = "ttnn.transformer.scaled_dot_product_attention"
_RESHAPE = "ttnn.reshape"
_TRANSPOSE = "ttnn.transpose"
_HEADS_FIRST = model.Items(tuple(model.Literal(axis) for axis in (0, 2, 1, 3)))
_DRAM = model.MemoryConfig()
_COUNT = Arg(COUNT, COUNT, Kind.INT)


@dataclass(frozen=True, slots=True)
class Splitting:
    """How the program's function splits heads. in_tiles: by transposes around a reshape of rows; some_single: it is called for one head too."""

    in_tiles: bool = False
    config: model.MemoryConfig = _DRAM
    some_single: bool = True


def share_heads(graph: Graph) -> Splitting:
    """Ops that split or join heads become one node each, the call of a function, where some of them have one head and others several, or where many do."""
    found = [form for node in graph.nodes if (form := _form(node)) is not None]
    if all(len({heads == 1 for _, name, heads in found if name == helper}) == 2 for helper in (SPLIT, JOIN)):
        _replace(graph, [_joined(parts, helper, heads) for parts, helper, heads in found])
        return Splitting()
    splits = [one for node in graph.nodes if (one := _split(node)) is not None]
    frames = {how: {info.frames[-1] for parts, _, other in splits if other == how for info in parts[-1].sources if info.frames} for _, _, how in splits}
    how = max(frames, key=lambda one: len(frames[one]), default=None)
    if how is None or len(frames[how]) < MANY:
        return Splitting()
    _replace(graph, [_joined(parts, SPLIT, heads) for parts, heads, other in splits if other == how])
    return how


def _replace(graph: Graph, calls: Sequence[Node]) -> None:
    made = {call.parts[-1]: call for call in calls}
    gone = {node for call in calls for node in call.parts[:-1]}
    graph.nodes = [made.get(node, node) for node in graph.nodes if node not in gone]
    for position, node in enumerate(graph.nodes):
        node.position = position


def _form(node: Node) -> tuple[tuple[Node, ...], str, int] | None:
    """(the ops, what they do, number of heads) of the last of ops that split or join heads in DRAM."""
    split = _split(node)
    if split is not None and split[2] == Splitting(some_single=False):
        return split[0], SPLIT, split[1]
    if not _is_plain(node, _DRAM):
        return None
    source, after = node.inputs()[0], node.results[0].type.shape
    before = source.type.shape
    if node.spec.target == "ttnn.reshape" and len(before) == 3 and after == (before[0], 1, *before[1:]) and _feeds_attention(node):
        return (node,), SPLIT, 1
    of_attention = source.node is not None and source.node.spec.target == _ATTENTION
    if node.spec.target == "ttnn.reshape" and of_attention and len(before) == 4 and before[1] == 1 and after == (before[0], *before[2:]):
        return (node,), JOIN, 1
    if node.spec.target == "ttnn.transformer.concatenate_heads" and of_attention:
        return (node,), JOIN, before[1]
    return None


def _split(node: Node) -> tuple[tuple[Node, ...], int, Splitting] | None:
    """(the ops, number of heads, how) of the last of ops that split [batch, rows, heads * D] into [batch, heads, rows, D]."""
    config = node.results[0].type.config if len(node.results) == 1 else None
    if not isinstance(config, model.MemoryConfig) or not node.inputs() or not _feeds_attention(node):
        return None
    if node.spec.target == "ttnn.permute" and dict((arg.name, raw) for arg, raw in node.arguments).get("dims") == _HEADS_FIRST:
        parts = _chain(node, (_RESHAPE,), config)
    elif node.spec.target == _TRANSPOSE and _axes(node) == {2, 3}:
        parts = _chain(node, (_TRANSPOSE, _RESHAPE), config)
    else:
        return None
    in_tiles = len(parts) == 3
    if not parts or (in_tiles and _axes(parts[0]) != {1, 2}) or len(parts[0].inputs()[0].type.shape) != 3:
        return None
    batch, rows, width = parts[0].inputs()[0].type.shape
    heads = node.results[0].type.shape[1]
    if node.results[0].type.shape != (batch, heads, rows, width // heads) or width % heads or heads == 1:
        return None
    return parts, heads, Splitting(in_tiles, config, some_single=False)


def _chain(last: Node, before: Sequence[str], config: model.MemoryConfig) -> tuple[Node, ...]:
    """The op and those of these kinds before it, of which nothing else reads a result; () where they are others."""
    parts = [last]
    for target in reversed(before):
        source = parts[0].inputs()[0]
        if source.node is None or source.node.spec.target != target or source.users != [parts[0]] or source.returned:
            return ()
        parts.insert(0, source.node)
    return tuple(parts) if all(_is_plain(part, config) for part in parts) else ()


def _is_plain(node: Node, config: model.MemoryConfig) -> bool:
    """Whether the op makes one tensor in this memory, and its input is there too where the function's ops are in DRAM."""
    given = {arg.name: raw for arg, raw in node.arguments}
    tensors = _tensors(node) if config == _DRAM else node.results
    fits = len(node.results) == 1 and bool(node.inputs()) and not node.kept and all(value.type.config == config for value in tensors)
    return fits and given.get("memory_config", config) == config


def _axes(node: Node) -> set[int]:
    """The two dims that a transpose swaps, counted from the front."""
    rank = len(node.results[0].type.shape)
    given = {arg.name: raw.value for arg, raw in node.arguments if isinstance(raw, model.Literal)}
    return {int(given[name] or 0) % rank for name in ("dim1", "dim2") if name in given}


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
    note = (last.note or first.note) if len(parts) < 3 else ""  # a function says it of the three
    made = Node(TTNN_OPS[_NAMED_AFTER[helper]], arguments, last.results, sources, note, last.position, ended, helper=helper, parts=tuple(parts))
    source.users.sort(key=lambda user: user.position)
    return made


def helper_functions(functions: Sequence[model.Function], how: Splitting) -> list[model.Function]:
    """The functions that the others call to split and join heads."""
    called = {call.function for function in functions for call in calls_in(function.body)}
    return [made for made in (_split_function(how), _join()) if made.name in called]


def _call(name: str, target: str = "", config: model.MemoryConfig = _DRAM, of: str = "x", **given: model.Value) -> model.Call:
    """A call of one tensor, whose result is returned, or bound to `target`."""
    spec = TTNN_OPS[f"ttnn.{name}"]
    values: dict[str, model.Value] = {spec.args[0].name: model.TensorRef(of), **given, "memory_config": config}
    arguments = tuple((arg, values[arg.name]) for arg in spec.args if arg.name in values)
    return model.Call(spec, arguments, (target,) if target else (), returned=not target)


def _numbers(*texts: str) -> model.Items:
    return model.Items(tuple(model.NumberRef(text) for text in texts))


def _split_function(how: Splitting) -> model.Function:
    one = (_call("reshape", shape=_numbers("batch", "num_heads", "rows", "width")),)
    body: tuple[model.Statement, ...] = (model.Extents(("batch", "rows", "width"), model.TensorRef("x")),)
    if how.some_single:
        body += (model.If(model.NumberRef("num_heads == 1"), one),)
    if how.in_tiles:
        axes = [model.Literal(axis) for axis in (1, 2, 3)]
        body += (
            model.Comment("transposes move whole tiles; a reshape of the columns would take every tile apart"),
            _call("transpose", "heads", how.config, dim1=axes[0], dim2=axes[1]),
            _call("reshape", "heads", how.config, of="heads", shape=_numbers("batch", "num_heads", "width // num_heads", "rows")),
            _call("transpose", "", how.config, of="heads", dim1=axes[1], dim2=axes[2]),
        )
    else:
        body += (
            _call("reshape", "heads", how.config, shape=_numbers("batch", "rows", "num_heads", "width // num_heads")),
            _call("permute", "", how.config, of="heads", dims=_HEADS_FIRST),
        )
    parameters = (model.Parameter("x"), model.Parameter(COUNT, "number"))
    view = "; one head is a view" if how.some_single else ""
    return model.Function(SPLIT, parameters, body, 1, f"[batch, rows, num_heads * D] -> [batch, num_heads, rows, D]{view}.")


def _join() -> model.Function:
    one = (_call("reshape", shape=_numbers("batch", "rows", "width")),)
    body: tuple[model.Statement, ...] = (
        model.Extents(("batch", "num_heads", "rows", "width"), model.TensorRef("x")),
        model.If(model.NumberRef("num_heads == 1"), one),
        _call("concatenate_heads"),
    )
    return model.Function(JOIN, (model.Parameter("x"),), body, 1, "[batch, heads, rows, D] -> [batch, rows, heads * D]; one head is a view.")
