"""How prepared weights come about: the steps that make one, and several that are made on the same way."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from alchemist.ops.spec import MOVING
from alchemist.program.graph import Node, Value
from alchemist.program.model import Key


@dataclass(frozen=True, slots=True)
class Cut:
    """An integer that says where a slice is cut out: `step` times the loop's variable and `offset`."""

    offset: int
    step: int

    def counted(self, variable: str) -> str:
        """As an expression of the variable."""
        turns, rest = divmod(self.offset, self.step)
        number = variable if rest or not turns else f"{variable} {'+' if turns > 0 else '-'} {abs(turns)}"
        if self.step == 1:
            return number
        counted = f"{self.step} * {number}" if number == variable else f"{self.step} * ({number})"
        return f"{counted} {'+' if self.offset > 0 else '-'} {abs(self.offset)}" if rest else counted


@dataclass(frozen=True, slots=True)
class Parts:
    """Weights that a loop of the forward pass reads, cut out of the same tensors. keys: with the loop's variable in them, by those of the first part.

    cuts: of a node, by its identity, the integers that count: (argument, element) -> what they are.
    """

    variable: str
    turns: range
    keys: Mapping[str, Key]
    cuts: Mapping[int, Mapping[tuple[str, int], Cut]]

    def of(self, nodes: Sequence[Node]) -> Hashable:
        """Equal for recipes that cut out the same parts."""
        places = tuple((index, tuple(self.cuts[id(node)].items())) for index, node in enumerate(nodes) if id(node) in self.cuts)
        return (self.variable, self.turns, places)


@dataclass(slots=True)
class Recipe:
    """How one prepared weight comes about. nodes: empty when the stored tensor is used as it is.

    also: further weights (key, value) that come out on the way. twins: values that another one of the recipe is equal to, by identity.
    parts: set where the nodes make the first of several.
    """

    key: str
    files: tuple[str, ...]
    nodes: list[Node]
    leaves: list[Value]
    output: Value | None
    signature: Hashable
    also: tuple[tuple[str, Value], ...] = ()
    twins: dict[int, Value] = field(default_factory=dict)
    parts: Parts | None = None

    @property
    def suffix(self) -> str | None:
        """What is behind the file's name in the key, None if the key is another name."""
        if len(self.files) == 1 and not self.also and self.parts is None and self.key.startswith(self.files[0]):
            return self.key[len(self.files[0]) :]
        return None

    @property
    def outputs(self) -> dict[int, str]:
        """Keys of the weights that come out, by the values' identity."""
        made = [(self.key, self.output), *self.also]
        return {id(value): key for key, value in made if value is not None}

    @property
    def modules(self) -> list[str]:
        """Paths of the modules that the files and the weights belong to."""
        return list(dict.fromkeys(name.rpartition(".")[0] for name in (*self.files, self.key, *(key for key, _ in self.also))))

    def one(self, value: Value) -> Value:
        """The value that stands for all equal ones."""
        return self.twins.get(id(value), value)

    def inputs(self, node: Node) -> list[Value]:
        return [self.one(value) for value in node.inputs()]

    def turned(self) -> tuple[list[Node], list[Node], list[Node]]:
        """The nodes before a loop over the parts that it needs, those in it, and all others; without parts, all are others."""
        cuts = self.parts.cuts if self.parts is not None else {}
        inside: list[Node] = []
        varying: set[int] = set()
        for node in self.nodes:
            if id(node) in cuts or any(id(value) in varying for value in self.inputs(node)):
                inside.append(node)
                varying.update(id(value) for value in node.results)
        wanted = {id(value) for node in inside for value in self.inputs(node)}
        before: list[Node] = []
        for node in reversed(self.nodes):
            if node not in inside and any(id(value) in wanted for value in node.results):
                before.insert(0, node)
                wanted.update(id(value) for value in self.inputs(node))
        return before, inside, [node for node in self.nodes if node not in before and node not in inside]


def joined(recipes: Sequence[Recipe]) -> list[Recipe]:
    """The recipes, where neighbours that compute the same of the same files are one: a batch norm folds into weights and bias.

    Parts of a weight are neighbours wherever they stand.
    """
    made: list[Recipe] = []
    for recipe in recipes:
        for place in range(len(made) - 1, -1, -1):
            near = place == len(made) - 1 or made[place].parts is not None
            both = _both(made[place], recipe) if near else None
            if both is not None:
                made[place] = both
                break
        else:
            made.append(recipe)
    return made


def _both(first: Recipe, second: Recipe) -> Recipe | None:
    if first.output is None or second.output is None or second.also:
        return None
    parts = _parts_of_both(first.parts, second.parts)
    if parts is None and (first.parts or second.parts):
        return None
    known = {(file, leaf.type): leaf for file, leaf in zip(first.files, first.leaves, strict=True)}
    twins = dict(first.twins)
    files, leaves = list(first.files), list(first.leaves)
    for file, leaf in zip(second.files, second.leaves, strict=True):
        if (file, leaf.type) in known:
            twins[id(leaf)] = known[file, leaf.type]
        else:
            files.append(file)
            leaves.append(leaf)
    counting = parts.cuts if parts is not None else {}
    steps = {(_step(node, twins), id(node) in counting): node for node in first.nodes}
    nodes, shared = list(first.nodes), False
    for node in second.nodes:
        same = steps.get((_step(node, twins), id(node) in counting))
        if same is None or id(second.output) in {id(value) for value in node.results}:
            nodes.append(node)
            continue
        twins.update((id(value), other) for value, other in zip(node.results, same.results, strict=True))
        shared = shared or node.spec.name not in MOVING
    both = Recipe(first.key, tuple(files), nodes, leaves, first.output, None, (*first.also, (second.key, second.output)), twins, parts)
    if not shared:
        return None
    both.signature = _signature(both)
    return both


def _parts_of_both(first: Parts | None, second: Parts | None) -> Parts | None:
    """None where they are parts of different loops."""
    if first is None or second is None:
        return first or second
    if (first.variable, first.turns) != (second.variable, second.turns):
        return None
    return replace(first, keys={**first.keys, **second.keys}, cuts={**first.cuts, **second.cuts})


def _step(node: Node, twins: Mapping[int, Value]) -> Hashable:
    """Equal for ops that make the same of the same values."""
    return (node.code, tuple(id(twins.get(id(value), value)) for value in node.inputs()))


def _signature(made: Recipe) -> Hashable:
    """Equal for recipes of several weights that the same code makes, names of modules apart."""
    modules = made.modules

    def place(name: str) -> tuple[int, str]:
        module, _, leaf = name.rpartition(".")
        return modules.index(module), leaf

    numbers: dict[int, object] = {id(leaf): ("in", *place(file)) for file, leaf in zip(made.files, made.leaves, strict=True)}
    steps: list[object] = []
    for node in made.nodes:
        steps.append((node.code, tuple(numbers[id(value)] for value in made.inputs(node))))
        for index, value in enumerate(node.results):
            numbers[id(value)] = (len(steps), index)
    outputs = tuple((numbers[value], place(key)) for value, key in made.outputs.items())
    return (tuple(steps), outputs, made.parts.of(made.nodes) if made.parts is not None else None)


def module_of(key: Key) -> Key:
    """The weight key without its last name."""
    *head, last = key
    assert isinstance(last, str)
    rest = last.rpartition(".")[0]
    return (*head, rest) if rest else tuple(head)
