"""From the tree of module runs to functions: equal bodies become one function, thin modules dissolve into their caller."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from itertools import groupby

from alchemist.frontends.base import RECURRENT_CLASSES, STATES
from alchemist.ir.location import Frame, Scope, SourceInfo
from alchemist.ir.scopes import ROUND, SHARED, Chain, Group, chain_of_source, is_library, layers_in, weight_path
from alchemist.ops.spec import PRODUCTS
from alchemist.program import weights as weight_names
from alchemist.program.graph import Graph, Node, TensorType, Value, ValueList
from alchemist.program.model import Key
from alchemist.program.model_source import Sources, Statement
from alchemist.program.result_order import in_source_order
from alchemist.program.scopes import MOVE, moved_norms
from alchemist.program.state import lists_of
from alchemist.program.updates import note_parts, takes_gradients, updates_alone, updates_in

MAX_TENSORS = 48
"""Tensors that a function takes and returns at most; the body of one with more (a forward pass that keeps all for its backward pass) stands in its caller."""
MOST_HELD_ELEMENTS = 1 << 19
"""Elements in L1 that a function that is no module's may hold in its caller beyond their last use: 32 KB on each of 64 cores in float32."""
INITIAL = re.compile(rf"initial_(?:{'|'.join(STATES)})?_?\d*")
"""Keys of the first values of loops: they are handed on like computed ones, so that all iterations are alike."""
_IN_PARTS = "_in_parts"
IN_PARTS = {"ttnn.conv2d": f"convolution{_IN_PARTS}"}
"""Functions of ops whose weights are cut into parts, by an op in them."""
_UPDATE = "update"
"""What an optimizer does to a parameter."""
_LEAST_OPS_OF_LOSS = 8
_PROJECTED = "projected"
"""What the source of recurrent cells calls the input's part of the gates."""
_NUMBER = re.compile(r"\d+")
LAYER = "layer"
"""The variable of a loop with loops inside."""
OF_LAYERS = "_of_layers"
"""Behind the names of lists that such a loop fills."""


def step_of(chain: Chain) -> str | None:
    """Path of the layer whose loop over time a function is a step of, None for other functions."""
    path = chain[-1].path
    return weight_path(path) if ROUND.search(path) else None


@dataclass(eq=False, slots=True)
class Definition:
    """A function. items, parameters, returns: of its first instance; paths: parameter paths of all instances. takes_weights: they are parameters, too.

    chain: modules around the first instance (the last one is its own); method: set when it is a method of that module.
    lists: places in `returns` of the tensors that are returned as one list each, in the list's order. moving: of parameters whose type differs from
    call to call, by index, the types in later calls.
    """

    chain: Chain
    items: list[Item]
    parameters: list[Value]
    returns: list[Value]
    method: str = ""
    paths: list[str] = field(default_factory=list)
    name: str = ""
    base_name: str = ""
    is_root: bool = False
    takes_weights: bool = False
    lists: list[list[int]] = field(default_factory=list)
    moving: dict[int, set[TensorType]] = field(default_factory=dict)

    @property
    def class_name(self) -> str:
        return self.chain[-1].class_name

    @property
    def is_container(self) -> bool:
        """Whether it stands for a list of layers, which has no source of its own: the lines of its ops are those of its calls."""
        return not self.method and self.class_name.startswith(SHARED)

    @property
    def helper(self) -> Frame | None:
        """The first line of the plain function of the source that this one stands for: of a loss, with its gradient, or of a step before the layers."""
        frames = {info.helper for item in self.items if isinstance(item, Node) and not is_move(item) for info in item.sources} if self.method else set()
        names = {frame.function if frame is not None else "" for frame in frames}
        return min((frame for frame in frames if frame is not None), key=lambda frame: frame.line) if names == {self.method} else None

    @property
    def in_parts(self) -> str:
        """What is done in parts, "" for other functions."""
        return self.method.partition(_IN_PARTS)[0] if self.method in IN_PARTS.values() else ""

    @property
    def is_step(self) -> bool:
        """Whether it is one step of a loop that the front end unrolled: the cell of a recurrent layer."""
        return step_of(self.chain) is not None

    @property
    def is_recurrent_layer(self) -> bool:
        """Whether it is all steps of a recurrent layer in one direction, of which the front end has the source."""
        return self.class_name.startswith(RECURRENT_CLASSES) and not self.is_step

    @property
    def path(self) -> str:
        """Parameter path of the module; the entry function sees all weights, whatever its module is called."""
        return "" if self.is_root else weight_path(self.chain[-1].path)

    def covers(self, value: Value) -> bool:
        """Whether a value is a weight of the function's scope: its name, what it is made from, all that use it."""
        if self.takes_weights or not value.key or INITIAL.fullmatch(value.key):
            return False
        if self.path and value.home is not None and not f"{value.home}.".startswith(f"{self.path}."):
            return False
        return not self.path or all(name.startswith(self.path + ".") for name in (value.key, *value.files_of_modules))

    def holds(self, value: Value) -> bool:
        """Whether the function finds the value in its weights; the entry function finds all of them there."""
        return self.covers(value) or (self.is_root and bool(value.key))

    def results(self) -> list[list[int]]:
        """Places in `returns` of each result of a call: one of a tensor, several of a list."""
        together = {place: places for places in self.lists for place in places}
        return [places for place in range(len(self.returns)) if min(places := together.get(place, [place])) == place]

    def argument_lists(self) -> dict[str, ValueList]:
        """Lists that the function holds: parameters, or what the entry function finds among its arguments and weights."""
        found = lists_of(self.parameters)
        if self.is_root:
            read = [value.group for item in self.items for value in reads(item) if value.group is not None]
            found |= {group.name: group for group in read}
        return found

    def own_values(self) -> set[Value]:
        """What the function makes and keeps to itself: it frees them, the caller all others."""
        return {value for item in self.items for value in writes(item)} - set(self.returns)

    def relative(self, name: str) -> str:
        return name[len(self.path) + 1 :] if self.path else name


@dataclass(eq=False, slots=True)
class CallItem:
    """A call of a function, seen from its caller. source: origin of its first op. frees: values of the caller whose life ends inside."""

    function: Definition
    chain: Chain
    arguments: list[Value]
    results: tuple[Value, ...]
    lo: int
    hi: int
    source: SourceInfo | None = None
    frees: list[Value] = field(default_factory=list)

    @property
    def step_of(self) -> str | None:
        """Path of the layer whose step it calls."""
        return step_of(self.chain)

    @property
    def path(self) -> str:
        return weight_path(self.chain[-1].path)


@dataclass(eq=False, slots=True)
class Carried:
    """A variable that an iteration hands to the next: value before, of the first iteration, of the last one."""

    initial: Value
    first: Value
    last: Value


@dataclass(eq=False, slots=True)
class Collected:
    """A value of every iteration, all of them joined by one op behind the loop, behind values made `before` the loop and before those made `behind` it.

    reverse: the op wants the last value first. returned: no op joins them, the function returns them as a list. entering: they are what a carried
    variable holds before each iteration; `first` is then its value before the loop. also: values of the first iteration that follow `first` in the list.
    """

    first: Value
    values: list[Value]
    before: list[Value] = field(default_factory=list)
    behind: list[Value] = field(default_factory=list)
    reverse: bool = False
    returned: bool = False
    entering: bool = False
    also: tuple[Value, ...] = ()


@dataclass(eq=False, slots=True)
class LoopItem:
    """`body` repeated `count` times; `keys` gives the loop form of every weight name and scope that changes. Layers of a recurrent net have loops inside.

    offsets: for an op of the body, argument -> element -> what is added to the loop variable there. collected: what is kept of
    every iteration.
    """

    body: list[Item]
    count: int
    start: int
    step: int
    variable: str
    keys: dict[str, Key]
    carried: list[Carried]
    container: str = ""
    others: list[list[Item]] = field(default_factory=list)
    offsets: dict[int, dict[str, dict[int, int]]] = field(default_factory=dict)
    collected: list[Collected] = field(default_factory=list)


Item = Node | CallItem | LoopItem


def is_move(item: Item) -> bool:
    """Whether it only moves a tensor: a module is as thin with its operand's move as without."""
    return isinstance(item, Node) and item.spec.name == MOVE


def reads(item: Item) -> list[Value]:
    if isinstance(item, Node):
        return item.inputs()
    if isinstance(item, CallItem):
        return item.arguments
    inner = {id(value) for part in item.body for value in writes(part)}
    kept = [value for collected in item.collected for value in collected.before]
    return [*(value for part in item.body for value in reads(part) if id(value) not in inner), *kept]


def writes(item: Item) -> tuple[Value, ...]:
    if isinstance(item, LoopItem):
        return tuple(dict.fromkeys([*(carried.last for carried in item.carried), *(value for collected in item.collected for value in collected.values)]))
    return item.results


def frees(item: Item) -> list[Value]:
    """Values whose life ends with the item; some of a loop's are its own."""
    if isinstance(item, LoopItem):
        return [value for row in (item.body, *item.others) for part in row for value in frees(part)]
    return item.frees


def span(item: Item) -> tuple[int, int]:
    """Node positions [lo, hi)."""
    if isinstance(item, LoopItem):
        return span(item.body[0])[0], span([item.body, *item.others][-1][-1])[1]
    return (item.position, item.position + 1) if isinstance(item, Node) else (item.lo, item.hi)


class Recovery:
    """Builds the definitions of one graph."""

    def __init__(self, graph: Graph, sources: Sources) -> None:
        self._graph = graph
        self._sources = sources
        self._recipes: dict[int, Hashable] = {}
        for const_eval in graph.const_evals:
            for index, value in enumerate(const_eval.results):
                self._recipes[id(value)] = weight_names.recipe(const_eval, index)
        self._in_parts = {node.sources for node in graph.nodes if any(weight_names.is_part(value.key) for value in node.inputs())} - {()}
        self._moved_norms = moved_norms(graph)
        self._modules = {scope.path for node in graph.nodes for info in node.sources for scope in info.scopes}
        self._by_key: dict[Hashable, Definition] = {}
        self._last_use: dict[int, int] = {}
        self._wanted: set[int] = set()
        self._read_behind: set[int] = set()  # what is read behind this run of its module or an equal one
        self._ends: dict[int, int] = {}  # of the group that a wanted value leaves

    def root(self, tree: Group[Node]) -> Definition:
        """The entry function; every other one is reached from it."""
        self._note_equal_runs(tree)
        items = self._with_updates(self._items(tree), tree)
        parameters = [value for value in self._graph.inputs if value.users or value.returned]
        returned = [value for value in self._graph.outputs if not value.written]
        definition = Definition(tree.chain, items, parameters, returned, paths=[tree.path], is_root=True)
        return definition

    def _with_updates(self, items: list[Item], tree: Group[Node]) -> list[Item]:
        """What the optimizer does to every parameter alike is a function, which gets the parameter as a tensor."""
        out: list[Item] = []
        end = 0
        for run in updates_in(items) if takes_gradients(self._graph) else updates_alone(items):
            nodes = [item for index in run if isinstance(item := items[index], Node)]
            positions = [node.position for node in nodes]
            method = _Method(_UPDATE, Group(tree.chain, list(nodes), min(positions), max(positions) + 1))
            note_parts(nodes)
            out += [*items[end : run.start], self._call(method, self._probe(method, list(nodes)))]
            end = run.stop
        return [*out, *items[end:]]

    def _note_equal_runs(self, tree: Group[Node]) -> None:
        """Notes what is read behind one run of a module: equal runs return it in the same place. Of iterations of a loop every one returns what one does."""
        alike: dict[Hashable, list[Group[Node]]] = {}
        stack = [tree]
        while stack:
            group = stack.pop()
            stack += [item for item in group.items if isinstance(item, Group)]
            path = weight_path(group.scope.path) if ROUND.search(group.scope.path) else _NUMBER.sub("#", group.scope.path)
            alike.setdefault((group.scope.class_name, path, tuple(node.spec.name for node in group.ops())), []).append(group)
        for groups in alike.values():
            rows = [[value for node in group.ops() for value in node.results] for group in groups]
            if len(rows) < 2 or len({len(row) for row in rows}) > 1:
                continue
            rounds = bool(ROUND.search(groups[0].scope.path))
            for column in zip(*rows, strict=True):
                if any(self._last_reader(value) >= group.hi for value, group in zip(column, groups, strict=True)):
                    self._read_behind.update(id(value) for value in column)
                if rounds and any(self._escapes(value, group.hi) for value, group in zip(column, groups, strict=True)):
                    self._wanted.update(id(value) for value in column)
                    self._ends.update((id(value), group.hi) for value, group in zip(column, groups, strict=True))

    def _items(self, tree: Group[Node]) -> list[Item]:
        """The function's body, thin children dissolved into it."""
        flat: list[Item] = []
        layers = layers_in(tree)
        for item in self._method_groups(tree):
            if isinstance(item, Node):
                flat.append(item)
                continue
            inner = self._items(item.group) if isinstance(item, _Method) else self._items(item)
            probe = self._probe(item, inner)
            only_calls = all(isinstance(part, CallItem) for part in inner) and item not in layers
            thin = sum(not is_move(part) for part in inner) < 2 and not any(part in self._moved_norms for part in inner)
            if thin or _is_wide(probe) or only_calls or (isinstance(item, _Method) and _holds_much(probe)):
                flat.extend(inner)
            else:
                flat.append(self._call(item, probe))
        return flat

    def _method_groups(self, tree: Group[Node]) -> Iterator[Node | Group[Node] | _Method]:
        """Joins neighbouring ops of one statement `x = self.f(...)` of this module, and those of what is done in parts, if there are others beside them."""
        runs: list[tuple[str, list[Node | Group[Node]]]] = []
        previous: Hashable = None
        losses = {id(node): name for name, nodes in self._losses(tree) for node in nodes}
        for item in tree.items:
            statement = self._method_statement(item, tree.chain) if isinstance(item, Node) else None
            sources = item.sources if isinstance(item, Node) and item.sources in self._in_parts else None
            loss = losses.get(id(item), "")
            mark = sources or loss or statement
            if mark is not None and runs and mark == previous:
                runs[-1][1].append(item)
            else:
                runs.append((loss or ("" if sources or statement is None else statement.method), [item]))
            previous = mark
        for method, items in runs:
            nodes = [item for item in items if isinstance(item, Node)]
            method = method or next((IN_PARTS[node.spec.name] for node in nodes if node.sources in self._in_parts and node.spec.name in IN_PARTS), "")
            if method and 2 <= len(items) and len(runs) > 1:
                positions = [node.position for node in nodes]
                yield _Method(method, Group(tree.chain, items, min(positions), max(positions) + 1))
            else:
                yield from items

    def _losses(self, tree: Group[Node]) -> Iterator[tuple[str, list[Node]]]:
        """Plain functions without matrix products whose ops and those of their gradients stand side by side in the entry function: losses."""
        for name, run in groupby(tree.items if len(tree.chain) == 1 else (), _helper_name):
            nodes = [item for item in run if isinstance(item, Node)]
            both = len({node.is_gradient for node in nodes if not is_move(node)}) == 2
            if name.isidentifier() and len(nodes) >= _LEAST_OPS_OF_LOSS and both and not any(node.spec.name in PRODUCTS for node in nodes):
                yield name, nodes

    def _method_statement(self, node: Node, chain: Chain) -> Statement | None:
        frames = {info.frames[-1] for info in node.sources if info.frames}
        deeper = any(len(info.scopes) > len(chain) and info.scopes[-1].path != chain[-1].path for info in node.sources)
        if len(frames) != 1 or deeper:
            return None
        frame = next(iter(frames))
        own = all(frame_at(info, len(chain) - 1, self._sources) == frame for info in node.sources)
        statement = self._sources.statement(frame) if own else None
        if statement is None or not statement.method or statement.nested or statement.method == chain[-1].path.rpartition(".")[2]:
            return None
        if f"{chain[-1].path}.{statement.method}".lstrip(".") in self._modules:
            return None  # a module of its own, whose ops have other scopes
        return statement

    def _probe(self, item: Group[Node] | _Method, inner: list[Item]) -> Definition:
        """The function that the items would be."""
        tree, method = (item.group, item.method) if isinstance(item, _Method) else (item, "")
        probe = Definition(tree.chain, inner, [], [], method, takes_weights=isinstance(item, _Method) and item.method == _UPDATE)
        seen: set[int] = set()
        for part in inner:
            for value in reads(part):
                if id(value) in seen or probe.covers(value):
                    continue
                if value.key or value.node is None or value.node.position < tree.lo:
                    seen.add(id(value))
                    probe.parameters.append(value)
        if probe.is_step or probe.is_recurrent_layer:
            probe.parameters.sort(key=lambda value: _order_in_cell(value, self._sources, probe.chain))
        for part in inner:
            probe.returns.extend(value for value in writes(part) if self._escapes(value, tree.hi))
        if not method:
            found = self._sources.function_of_class(probe.class_name)
            level = len(tree.chain) - 1
            source, statement_of = found[1] if found else None, lambda value: self._statement_of(value, level)

            def aliases(name: str) -> list[str]:
                return self._sources.aliases(Frame(found[0], found[1].end_line), name) if found else []

            ordered = in_source_order(probe.class_name, probe.returns, source, statement_of, aliases)
            probe.returns = ordered or self._side_results_last(probe.returns, tree.hi)
            if probe.is_step and not ordered:  # the cell of another framework, without a source: in the order in which it takes its states
                probe.returns.sort(key=_state_place)
        return probe

    def _side_results_last(self, returns: list[Value], end: int) -> list[Value]:
        """What the program returns and nothing reads after `end` (caches, attention probabilities) comes last, in the order of the program's outputs."""
        outputs = {id(value): place for place, value in reversed([*enumerate(self._graph.outputs)])}
        return sorted(returns, key=lambda value: -1 if self._last_reader(value) >= end or id(value) in self._read_behind else outputs.get(id(value), -1))

    def _statement_of(self, value: Value, level: int) -> Statement | None:
        info = value.node.sources[-1] if value.node is not None and value.node.sources else None
        frame = frame_at(info, level, self._sources) if info is not None else None
        return self._sources.statement(frame) if frame is not None else None

    def _call(self, item: Group[Node] | _Method, probe: Definition) -> CallItem:
        tree, inner = item.group if isinstance(item, _Method) else item, probe.items
        definition = self._by_key.setdefault(self._key(probe), probe)
        definition.paths.append(tree.path)
        for index, value in enumerate(probe.parameters):
            if value.type != definition.parameters[index].type:
                definition.moving.setdefault(index, set()).add(value.type)
        source = _first_source(tree)
        own = probe.own_values()
        ended = [value for part in inner for value in frees(part) if value not in own]
        return CallItem(definition, tree.chain, probe.parameters, tuple(probe.returns), tree.lo, tree.hi, source, ended)

    def _escapes(self, value: Value, end: int) -> bool:
        if value.returned or (id(value) in self._wanted and end <= self._ends[id(value)]):
            return True
        return self._last_reader(value) >= end

    def _last_reader(self, value: Value) -> int:
        """The position of the last op that reads the value, -1 if none does."""
        last = self._last_use.get(id(value))
        if last is None:
            last = self._last_use[id(value)] = max((user.position for user in value.users), default=-1)
        return last

    def _key(self, definition: Definition) -> Hashable:
        """Equal for instances that are the same code: ops, arguments, types, relative weight names and source lines."""
        numbers = {id(value): index for index, value in enumerate(definition.parameters)}
        own = definition.own_values()

        def encode(value: Value) -> Hashable:
            number = numbers.get(id(value))
            if number is not None:
                return number
            files = tuple(definition.relative(name) for name in value.files_of_modules)
            return (value.collection, definition.relative(value.key), value.type, files, self.recipe_of(value))

        parts: list[Hashable] = []
        for item in definition.items:
            inputs = tuple(encode(value) for value in reads(item))
            if isinstance(item, Node):
                types = tuple(value.type for value in item.results)
                frames = () if definition.is_container or is_library(definition.class_name) else tuple(info.frames[-1] for info in item.sources if info.frames)
                parts.append((item.code, inputs, types, item.note, frames))
            elif isinstance(item, CallItem):
                scope = definition.relative(item.path) if item.path != definition.path else ""
                parts.append((id(item.function), scope, inputs))
            for value in writes(item):
                numbers[id(value)] = len(numbers)
            parts.append(tuple(sorted(numbers[id(value)] for value in frees(item) if value in own)))
            parts.append(tuple(definition.relative(value.key) for value in frees(item) if definition.covers(value)))
            if isinstance(item, Node):
                parts.append(tuple((numbers.get(id(one.value), -1), one.copy.collection, definition.relative(one.copy.key)) for one in item.kept))
        # The first layer of a recurrent net may read another width; what the others read has both directions.
        shaped = [() if definition.is_recurrent_layer else value.type.shape for value in definition.parameters]
        given = tuple((shape, value.type.dtype, value.type.layout) for shape, value in zip(shaped, definition.parameters, strict=True))
        returns = tuple(numbers[id(value)] for value in definition.returns)
        return (definition.class_name, definition.method, given, tuple(parts), returns)

    def recipe_of(self, value: Value) -> Hashable:
        """How a prepared weight is made, None for a tensor that is used as stored."""
        return self._recipes.get(id(value))


def _helper_name(item: Node | Group[Node]) -> str:
    """The plain function of the source that all of the op is from, "" for none."""
    helpers = {info.helper for info in item.sources} if isinstance(item, Node) else set()
    names = {helper.function if helper is not None else "" for helper in helpers}
    return names.pop() if len(names) == 1 else ""


def _state_place(value: Value) -> int:
    names = [info.name.rpartition(".")[2] for info in value.node.sources] if value.node is not None else []
    return next((STATES.index(name) for name in names if name in STATES), len(STATES))


def _order_in_cell(value: Value, sources: Sources, chain: Chain) -> int:
    """Values of the sequence come first, then the states, then weights."""
    if value.key and not INITIAL.fullmatch(value.key):
        return 2
    read = [info for user in value.users for info in user.sources if chain_of_source(info)[: len(chain)] == chain]
    statements = [statement for info in read if info.frames and (statement := sources.statement(info.frames[-1])) is not None]
    reads_sequence = any(_PROJECTED in statement.reads for statement in statements)
    named = value.node is not None and any(info.name.endswith(f".{_PROJECTED}_step") for info in value.node.sources)
    return 0 if reads_sequence or named else 1


def _is_wide(function: Definition) -> bool:
    """Whether it takes and returns too many tensors, those of a list being one. Equal layers return theirs as lists."""
    lists = lists_of(function.parameters)
    listed = sum(len(group.values) - 1 for group in lists.values())
    repeated = sum(max(len(item.results) - 1, 0) for item in function.items if isinstance(item, CallItem) and len(item.function.paths) > 1)
    return len(function.parameters) + len(function.returns) - listed - repeated > MAX_TENSORS


def _holds_much(function: Definition) -> bool:
    """Whether its caller would hold large tensors in L1 while it runs that it frees itself: plans of L1 know modules, but not the functions of statements."""
    ended = {id(value): value for part in function.items[:-1] for value in frees(part)}
    return sum(value.type.l1_elements for value in function.parameters if id(value) in ended) > MOST_HELD_ELEMENTS


@dataclass(slots=True)
class _Method:
    method: str
    group: Group[Node]


def _first_source(tree: Group[Node]) -> SourceInfo | None:
    own = tree.chain[:-1] if is_library(tree.scope.class_name) else tree.chain  # a library's module is in no op's chain
    for node in tree.ops():
        for info in node.sources:
            if chain_of_source(info)[: len(own)] == own:
                return info
    return None


def framed_scopes(info: SourceInfo) -> list[Scope]:
    """Modules whose forward is a frame of the op: all but those of torch.nn and flax, of which front ends drop the frames."""
    return [scope for index, scope in enumerate(info.scopes) if index == 0 or not scope.class_name.startswith(("torch.nn.", "flax."))]


def frame_at(info: SourceInfo, level: int, sources: Sources) -> Frame | None:
    """The statement of the module at `level` of the op's chain: its line in that module's forward, None if unknown.

    level -1 asks for the innermost statement, whatever its module.
    """
    chain = chain_of_source(info)
    frames = info.frames
    if frames and (level < 0 or (level == 0 and not chain)):
        return frames[-1]
    if not frames or level >= len(chain):
        return None
    framed = framed_scopes(info)
    if len(frames) == len(framed):
        return frames[framed.index(chain[level])] if chain[level] in framed else None
    current, found = 0, None
    for frame in frames:
        following = next((index for index in range(current + 1, len(chain)) if sources.class_contains(chain[index].class_name, frame)), None)
        if following is not None and not sources.class_contains(chain[current].class_name, frame):
            current = following
        if current == level:
            found = frame
    return found


def functions_of(root: Definition) -> list[Definition]:
    """All definitions, callee first, in order of first use; the root is last."""
    found: dict[int, Definition] = {}

    def visit(definition: Definition) -> None:
        for item in definition.items:
            for call in calls_of(item):
                if id(call.function) not in found:
                    visit(call.function)
        found[id(definition)] = definition

    visit(root)
    return list(found.values())


def calls_of(item: Item) -> list[CallItem]:
    if isinstance(item, CallItem):
        return [item]
    if isinstance(item, LoopItem):
        return [call for part in item.body for call in calls_of(part)]
    return []
