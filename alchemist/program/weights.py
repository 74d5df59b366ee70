"""Names of prepared weights: a moved value keeps its parameter's name, a computed one says how.

Of two layouts of one weight the tiled one has the plain name."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from alchemist.ir.constant_names import name_of_values
from alchemist.ir.location import Frame
from alchemist.ir.op_class import named
from alchemist.ir.scopes import chain_of_source, common_path, common_prefix, is_library, weight_path
from alchemist.ops.spec import MOVING
from alchemist.program import model
from alchemist.program.graph import ConstEval, Graph, Node, Value, values_of
from alchemist.program.model_source import Sources
from alchemist.program.names import result_name
from alchemist.program.roles import argument_role, users_of

_SUFFIXES = {
    "ttnn.transpose": "t",
    "ttnn.permute": "t",
    "ttnn.prepare_conv2d_weights": "prepared",
    "ttnn.prepare_conv2d_bias": "prepared",
    "ttnn.prepare_conv_transpose2d_weights": "prepared",
    "ttnn.prepare_conv_transpose2d_bias": "prepared",
    "ttnn.multiply": "scaled",
    "ttnn.add": "shifted",
    "ttnn.subtract": "shifted",
    "ttnn.slice_static": "part",
    "ttnn.embedding": "rows",
    "ttnn.repeat": "repeated",
    "ttnn.pad": "padded",
    "ttnn.concat": "joined",
}


def name_prepared_weights(graph: Graph, sources: Sources) -> dict[Value, ConstEval]:
    """Sets `key` of every const-eval result, unique in the program. Returns result -> its const-eval function."""
    forward_frames = {info.frames[-1] for node in graph.nodes for info in node.sources if info.frames}
    owners: dict[Value, ConstEval] = {}
    bases: dict[Value, str] = {}
    for const_eval in graph.const_evals:
        for inner, result in zip(const_eval.outputs, const_eval.results, strict=True):
            result.made_from = tuple(value.name for value in needed(inner)[1])
            nodes = needed(inner)[0]
            result.by_layers = _is_by_layers(nodes, result.made_from)
            result.variable = _source_name(nodes, result, sources, forward_frames).rpartition(".")[2]
            bases[result] = _with_users(_base_name(inner, result, sources, forward_frames), result)
            owners[result] = const_eval
    for value in (value for value in (*bases, *graph.weights) if value.users):
        name = _POSITIONS.sub("indices", bases.get(value, value.key))
        if name != bases.get(value, value.key) and all(user.spec.name in _EQUALITY for user in users_of(value)):
            if value in bases:
                bases[value] = name
            else:
                value.key, value.made_from = name, (value.name,)
    counts = Counter(bases.values())
    for result, base in bases.items():
        kinds = [name.rpartition(".")[2].removesuffix(_FREQUENCIES) for name in result.made_from if name.endswith(_FREQUENCIES)]
        if counts[base] > 1 and len(kinds) == 1:
            scope, dot, name = base.rpartition(".")
            bases[result] = f"{scope}{dot}{kinds[0]}_{name}"
    named = _told_apart({**{value: value.key for value in graph.weights if value.users}, **bases}, sources)
    bases |= {result: base for result, base in named.items() if result in bases}
    for value, key in named.items():
        if value not in bases and list(named.values()).count(key) == 1:
            value.key, value.made_from = key, (value.name,)
    tiled = {base for result, base in bases.items() if result.type.layout == "tile"}
    for result, base in bases.items():
        if result.type.layout == "row_major" and base in tiled:
            bases[result] = f"{base}_row_major"
    for value in graph.weights:
        if value.type.layout == "row_major" and value.key in tiled and (value.users or value.returned):
            value.key, value.made_from = f"{value.key}_row_major", value.made_from or (value.name,)
    taken = {value.key for values in (graph.outputs, *(node.inputs() for node in graph.nodes)) for value in values if value.key}
    parts = _parts(owners, bases)
    for result, base in bases.items():
        if base in taken and result.type.layout == "row_major" and not base.endswith("_row_major"):
            base = f"{base}_row_major"
        elif base in taken and result.type.shape[:-1] and set(result.type.shape[:-1]) == {1}:
            base = f"{base}_row"  # a vector as [1, 1, width], beside the vector that an optimizer updates
        base = f"{base.removesuffix(f'_{PART}')}_{PART}_{parts[result]}" if result in parts else base
        key, number = base, 2
        while key in taken:
            key, number = f"{base}_{number}", number + 1
        taken.add(key)
        result.key = key
    return owners


_FREQUENCIES = "_inv_freq"
"""How a file of inverse frequencies is called, behind the kind of layers that have them: `sliding_attention_inv_freq`."""
_POSITIONS = re.compile(r"(?<![a-z_])positions(?:_\d+)?(?=(?:_u?int\d+)?$)")
_EQUALITY = named("ttnn", "comparison") & named("ttnn", "commutative")
"""Ops that compare 0, 1, 2 ... with indices: a one-hot encoding."""
_OF_VALUES = re.compile(r"((?:.*\.)?(?:positions|indices|zeros|ones|identity|one_hot|(?:causal_)?mask))(?:_\d+)?(_u?int\d+)?")


def _told_apart(bases: Mapping[Value, str], sources: Sources) -> dict[Value, str]:
    """Of several constants that are named after their values, those that a library's module or a statement reads: `wte_positions`, `inv_perm_positions`."""
    found = [(result, match[1]) for result, base in bases.items() if (match := _OF_VALUES.fullmatch(base))]
    scopes: dict[str, set[str]] = {}
    for _, plain in found:
        scopes.setdefault(plain.rpartition(".")[2], set()).add(_NUMBER.sub("#", plain))
    counts = Counter(plain for _, plain in found)
    named: dict[Value, str] = {}
    for result, plain in found:
        infos = [info for user in result.users for info in user.sources]
        frames = [frame for info in infos for frame in (info.helper, *info.frames[-1:]) if frame is not None]
        targets = [one.targets[0] for frame in frames if (one := sources.statement(frame)) is not None and len(one.targets) == 1]
        leaves = {info.scopes[-1].path.rpartition(".")[2] for info in infos if info.scopes and is_library(info.scopes[-1].class_name)}
        targets = [leaves.pop()] if len(leaves) == 1 else targets
        scope, dot, name = plain.rpartition(".")
        if len(scopes[name]) > 1 or counts[plain] > 1:
            named[result] = f"{scope}{dot}{targets[0]}_{name}" if targets and targets[0].isidentifier() else plain
    return named


PART = "part"
"""Stands before the number of a weight's part."""


def _parts(owners: Mapping[Value, ConstEval], bases: Mapping[Value, str]) -> dict[Value, int]:
    """Which part each weight is, of those that are cut out of one and whose readers' results are joined again."""
    alike: dict[Hashable, list[Value]] = {}
    for result, const_eval in owners.items():
        joined = _joined_by(result)
        if joined is not None and any(node.spec.name == SLICE for node in needed(const_eval.outputs[const_eval.results.index(result)])[0]):
            alike.setdefault((bases[result], id(joined)), []).append(result)
    return {result: place for results in alike.values() if len(results) > 1 for place, result in enumerate(results)}


def _with_users(base: str, result: Value) -> str:
    """The name, in the innermost module around all users where that is further out than its own and a file belongs to no module."""
    module, _, name = base.rpartition(".")
    if not result.reaches_out or len(result.made_from) < 2:
        return base
    return ".".join([*common_prefix([module.split("."), _scope_of_users(result).split(".")]), name]).lstrip(".")


def is_part(key: str) -> bool:
    """Whether a weight is one of the parts of another."""
    text, _, number = key.rpartition("_")
    return text.endswith(f"_{PART}") and number.isdigit()


_STEPS_OF_PART = 6
"""Ops from the reader of a part of a weight to the op that joins what all parts make."""


def _joined_by(weight: Value) -> Node | None:
    """The op that joins what is made of the weight with others, where nothing else comes of it."""
    value = weight
    for _ in range(_STEPS_OF_PART):
        if len(value.users) != 1 or value.returned:
            return None
        (node,) = value.users
        if node.spec.name == "ttnn.concat":
            return node
        if len(node.results) != 1:
            return None
        value = node.results[0]
    return None


_NUMBER = re.compile(r"\d+")
SLICE = "ttnn.slice_static"
COUNTING = {SLICE: ("slice_start", "slice_end")}
"""Arguments whose elements may count with a loop."""


class SharedWeights:
    """Prepared weights of the entry points of one program: what two of them prepare alike is prepared once, for both."""

    def __init__(self) -> None:
        self._known: dict[str, Hashable] = {}

    def settle(self, graph: Graph, entry: str) -> frozenset[str]:
        """Keys of the graph's weights that earlier entry points prepare alike. Weights of their keys that are made otherwise get keys with `entry` behind.

        Layers are prepared by loops: of keys that differ in numbers alone either all are shared or none.
        """
        made = {value.key: (value, one) for value, one in _recipes(graph)}
        alike: dict[str, list[str]] = {}
        for key in made:
            alike.setdefault(_NUMBER.sub("#", key), []).append(key)
        there: set[str] = set()
        for keys in alike.values():
            if all(key in self._known and self._known[key] == made[key][1] for key in keys):
                there.update(keys)
                continue
            clash = any(key in self._known for key in keys)
            for key in keys:
                value, one = made[key]
                if clash:
                    value.key, value.made_from = f"{key}_{entry}", value.made_from or (value.name,)
                self._known[value.key] = one
        return frozenset(there)


def _recipes(graph: Graph) -> Iterator[tuple[Value, Hashable]]:
    """The weights that the forward pass reads, and what makes each: equal for equal values."""
    for value in graph.weights:
        if value.users or value.returned:
            yield value, ("stored", value.name, value.type)
    for const_eval in graph.const_evals:
        for index, result in enumerate(const_eval.results):
            leaves = needed(const_eval.outputs[index])[1]
            yield result, (recipe(const_eval, index), tuple((leaf.name, leaf.type) for leaf in leaves))


def recipe(const_eval: ConstEval, output: int) -> tuple[object, ...]:
    """What must be equal for two prepared weights to be made by the same code (input names apart)."""
    nodes, leaves = needed(const_eval.outputs[output])
    numbers: dict[int, object] = {id(value): ("in", index) for index, value in enumerate(leaves)}
    steps: list[object] = []
    for node in in_order(const_eval, nodes):
        reads = tuple(numbers[id(value)] for value in node.inputs())
        steps.append((node.code, reads))
        for index, value in enumerate(node.results):
            numbers[id(value)] = (len(steps), index)
    return (tuple(steps), numbers[id(const_eval.outputs[output])])


def without_cuts(made: Hashable) -> tuple[Hashable, tuple[int, ...]]:
    """A weight's recipe without the places where slices are cut out, and those places."""
    steps = made[0] if isinstance(made, tuple) and made and isinstance(made[0], tuple) else ()
    if not any(name in COUNTING for (name, _), _ in steps):
        return made, ()
    assert isinstance(made, tuple)
    cuts: list[int] = []
    plain: list[Hashable] = []
    for (name, arguments), reads in steps:
        kept: list[Hashable] = []
        for argument, value in arguments:
            numbers = literal_numbers(value) if argument in COUNTING.get(name, ()) else None
            cuts += numbers or ()
            kept.append((argument, value if numbers is None else len(numbers)))
        plain.append(((name, tuple(kept)), reads))
    return (tuple(plain), *made[1:]), tuple(cuts)


def literal_numbers(value: object) -> list[int] | None:
    """The integers of a list of integers, None for anything else."""
    items = value.items if isinstance(value, model.Items) else ()
    numbers = [item.value for item in items if isinstance(item, model.Literal) and isinstance(item.value, int)]
    return numbers if items and len(numbers) == len(items) else None


def in_order(const_eval: ConstEval, nodes: Sequence[Node]) -> list[Node]:
    """The nodes in the order of the const-eval function."""
    chosen = {id(node) for node in nodes}
    return [node for node in const_eval.nodes if id(node) in chosen]


def needed(output: Value) -> tuple[list[Node], list[Value]]:
    """Nodes and tensor files that a value is made from, in order."""
    nodes: dict[int, Node] = {}
    leaves: dict[int, Value] = {}
    stack = [output]
    while stack:
        value = stack.pop()
        if value.node is None:
            leaves.setdefault(id(value), value)
        elif id(value.node) not in nodes:
            nodes[id(value.node)] = value.node
            stack.extend(reversed(value.node.inputs()))
    return list(nodes.values()), list(leaves.values())


def _base_name(inner: Value, result: Value, sources: Sources, forward_frames: set[Frame]) -> str:
    nodes, leaves = needed(inner)
    computing = [node for node in nodes if node.spec.name not in MOVING]
    names = [value.name for value in leaves]
    if not computing and len(names) == 1:
        return names[0]
    called = next((node.called for node in nodes if node.called and node.spec.name != "ttnn.constant"), "")
    if called and len(names) == 1:
        return f"{names[0]}_{called}"
    if names and computing and _is_attention_mask(result):
        scope = _scope_of_users(result)
        return f"{scope}.attn_mask" if scope else "attn_mask"
    if result.by_layers and (target := _source_name(computing, result, sources, set())):
        return target
    if not all(node.spec.name in _SUFFIXES for node in computing) or not names or (len(names) == 1 and computing and computing[0].spec.name == SLICE):
        target = _source_name(computing or nodes, result, sources, forward_frames)
        if target:
            return target
    suffix = _suffix(computing)
    if suffix in _ROTARY and any(name.endswith("inv_freq") for name in names):  # tables of the rotary embedding
        return f"{next(name for name in names if name.endswith('inv_freq')).removesuffix('inv_freq')}{_ROTARY[suffix]}"
    if len(names) == 1:
        return _tied_name(names[0], result) + suffix
    if names and (together := _summed(names, computing)):
        return together
    if names:
        return _joined(names, suffix, joined=any(node.spec.name == "ttnn.concat" for node in computing))
    scope = _shared_scope(nodes, result)
    what = _constant_name(computing, result)
    return f"{scope}.{what}" if scope else what


_LAYERS = named("ttnn", "product", "row_norm", "attention")


def _is_by_layers(nodes: Sequence[Node], files: Sequence[str]) -> bool:
    """Whether layers of the model compute the value, whose input depends on no input of the program."""
    modules = {name.rpartition(".")[0] for name in files}
    return len(modules) > 2 and sum(node.spec.name in _LAYERS for node in nodes) > 1


def _tied_name(name: str, result: Value) -> str:
    """What a weight is called in the library's module that reads it: `lm_head.weight` for the embedding's table; the file's name in its own module."""
    leaves = {info.scopes[-1] for user in result.users for info in user.sources if info.scopes}
    leaf = leaves.pop() if len(leaves) == 1 else None
    if leaf is None or not is_library(leaf.class_name) or len(result.users) > 1:
        return name
    module, _, last = name.rpartition(".")
    path = weight_path(leaf.path)
    own = not path or not module or f"{module}.".startswith(f"{path}.")
    return name if own or last not in _LEAVES_OF_MODULES else f"{path}.{last}"


_ROTARY = {"_cos": "rotary_cos", "_sin": "rotary_sin"}
"""What a table is called that is a cosine or sine of positions times inverse frequencies."""
_COMPARISONS = frozenset(f"ttnn.{name}" for name in ("ge", "gt", "le", "lt", "tril", "triu"))
_MASKING = frozenset({"ttnn.add", "ttnn.subtract", "ttnn.where"})


def _constant_name(computing: Sequence[Node], result: Value) -> str:
    """What a value made of constants alone is called: by what it is for, else by the op nearest to it."""
    names = {node.spec.name for node in computing}
    if _masks(result):
        return "causal_mask" if names & _COMPARISONS else "attention_mask"
    if role := argument_role(result):
        return role
    what = computing[0].spec.target.rpartition(".")[2] if computing else "constant"
    if what == "Tensor":
        return computing[0].called or name_of_values(_values(computing[0]))
    return {"where": "mask", "arange": "positions", "full": "constant", "zeros": "zeros", "ones": "ones"}.get(what, what)


def _values(node: Node) -> np.ndarray[Any, Any]:
    """Of a constant that stands in the source text, in its shape; empty where they are no numbers."""
    raw = next((raw for arg, raw in node.arguments if arg.name == "data"), None)
    numbers = [item.value for item in raw.items if isinstance(item, model.Literal)] if isinstance(raw, model.Items) else []
    shape = node.results[0].type.shape
    return np.array(numbers).reshape(shape) if len(numbers) == math.prod(shape) else np.array([])


def _is_attention_mask(result: Value) -> bool:
    """Whether attention reads the value as its mask and nothing else reads it: then that is its name, however it is made."""
    return bool(result.users) and all(
        any(arg.name == "attn_mask" and any(value is result for value in values_of(raw)) for arg, raw in user.arguments) for user in result.users
    )


def _masks(result: Value) -> bool:
    """Whether an attention's scores meet the value: as an argument of that name, or added right before a softmax."""
    for user in result.users:
        for arg, raw in user.arguments:
            if arg.name in ("attn_mask", "mask") and any(value is result for value in values_of(raw)):
                return True
        if user.spec.name in _MASKING and any(after.spec.name == "ttnn.softmax" for result in user.results for after in result.users):
            return True
    return False


def _scope_of_users(result: Value) -> str:
    return common_path([chain for user in result.users for info in user.sources if (chain := chain_of_source(info))])


def _shared_scope(nodes: Sequence[Node], result: Value) -> str:
    """The module around everything that makes or uses the value: what several modules use belongs to none of them."""
    return common_path([chain for node in (*nodes, *result.users) for info in node.sources if (chain := chain_of_source(info))])


def _suffix(computing: Sequence[Node]) -> str:
    """From the node nearest to the output; `computing` starts there. Of a join of several, what is done to a part of it only is left to the header."""
    parts = 0
    for number, node in enumerate(computing):
        name = node.spec.name
        if name == "ttnn.concat":
            parts = len(node.inputs())
            continue
        if sum(other.spec.name == name for other in computing[number:]) < parts:
            continue
        if name == "ttnn.typecast":
            return f"_{node.results[0].type.dtype}" if len(computing) == 1 else _suffix(computing[1:])
        return "_" + _SUFFIXES.get(name, result_name(node.spec.target))
    return ""


def _source_name(nodes: Sequence[Node], result: Value, sources: Sources, forward_frames: set[Frame]) -> str:
    """The variable that the source assigns the value to, if no op of the forward pass shares the statement."""
    for info in nodes[0].sources if nodes else ():
        if info.frames and info.frames[-1] not in forward_frames:
            statement = sources.statement(info.frames[-1])
            if statement is not None and len(statement.targets) == 1 and statement.targets[0].isidentifier():
                scope = _shared_scope(nodes[:1], result)
                return f"{scope}.{statement.targets[0]}" if scope else statement.targets[0]
    return ""


_SUMMED = named("ttnn", "sum_like")
_LEAVES_OF_MODULES = ("bias", "weight", "kernel", "scale")
_LONGEST_SUM = 48


def _summed(names: Sequence[str], computing: Sequence[Node]) -> str:
    """Of parameters that are laid beside each other and added, those with names of their own: cls_token, patches.bias, positions -> cls_token_and_positions.

    Of names of one module that differ in one word, the words that are the same: bias_ih_l0, bias_hh_l0 -> bias_l0. Of tables with modules of their own,
    the modules: types.weight, positions.weight -> types_and_positions.
    """
    if not any(node.spec.name == "ttnn.add" for node in computing) or not all(node.spec.name in (*_SUMMED, SLICE) for node in computing):
        return ""
    split = [name.split(".") for name in names]
    columns = list(zip(*(parts[-1].split("_") for parts in split), strict=False))
    equal = [column[0] for column in columns if len(set(column)) == 1]
    if len({(*parts[:-1], parts[-1].count("_")) for parts in split}) == 1 and len(equal) == len(columns) - 1 > 0:
        return ".".join([*split[0][:-1], "_".join(equal)])
    own = [parts[:-1] if len(parts) > 1 and parts[-1] == "weight" else parts for parts in split]
    own = [parts for parts in own if parts[-1] not in _LEAVES_OF_MODULES]
    words = list(dict.fromkeys(parts[-1] for parts in own))
    last = f"_{words[-1].rpartition('_')[2]}" if all(parts[-1] == "weight" for parts in split) else ""
    text = "_and_".join([*(word.removesuffix(last) for word in words[:-1]), *words[-1:]])
    if len(own) < 2 or len(text) > _LONGEST_SUM:
        return ""
    return ".".join([*common_prefix([parts[:-1] for parts in own]), text])


def _joined(names: Sequence[str], suffix: str, *, joined: bool) -> str:
    """query.weight, key.weight, value.weight -> qkv.weight."""
    split = [name.split(".") for name in names]
    prefix = common_prefix([parts[:-1] for parts in split])
    rest = [parts[len(prefix) :] for parts in split]
    leaves = list(dict.fromkeys(parts[-1] for parts in rest))
    modules = list(dict.fromkeys(".".join(parts[:-1]) for parts in rest))
    if joined and len(leaves) == 1 and len(modules) == len(rest):
        return ".".join([*prefix, _join_words(modules), leaves[0] + suffix])
    leaf = next((leaf for leaf in _LEAVES_OF_MODULES if leaf in leaves), leaves[0])
    owner = next(parts for parts in rest if parts[-1] == leaf)
    return ".".join([*prefix, *owner]) + (suffix or "_joined")


def _join_words(words: Sequence[str]) -> str:
    backward = "".join(common_prefix([word[::-1] for word in words]))[::-1]
    tail = backward[backward.find("_") :] if "_" in backward else ""
    stems = [word.removesuffix(tail) for word in words]
    if stems == ["query", "key", "value"] or all(len(stem) == 1 for stem in stems):
        return "".join(stem[0] for stem in stems) + tail
    text = "_".join(stems).replace(".", "_") + tail
    return text if len(text) <= 32 else f"{stems[0]}_to_{stems[-1]}{tail}".replace(".", "_")
