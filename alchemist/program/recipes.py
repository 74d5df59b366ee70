"""How prepared weights come about: the steps that make one, and several that are made on the same way."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field

from alchemist.ops.spec import MOVING
from alchemist.program.graph import Node, Value, skeleton
from alchemist.program.model import Key


@dataclass(slots=True)
class Recipe:
    """How one prepared weight comes about. nodes: empty when the stored tensor is used as it is.

    also: further weights (key, value) that come out on the way. twins: values that another one of the recipe is equal to, by identity.
    """

    key: str
    files: tuple[str, ...]
    nodes: list[Node]
    leaves: list[Value]
    output: Value | None
    signature: Hashable
    also: tuple[tuple[str, Value], ...] = ()
    twins: dict[int, Value] = field(default_factory=dict)

    @property
    def suffix(self) -> str | None:
        """What is behind the file's name in the key, None if the key is another name."""
        if len(self.files) == 1 and not self.also and self.key.startswith(self.files[0]):
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


def joined(recipes: Sequence[Recipe]) -> list[Recipe]:
    """The recipes, where neighbours that compute the same of the same files are one: a batch norm folds into weights and bias."""
    made: list[Recipe] = []
    for recipe in recipes:
        both = _both(made[-1], recipe) if made else None
        if both is None:
            made.append(recipe)
        else:
            made[-1] = both
    return made


def _both(first: Recipe, second: Recipe) -> Recipe | None:
    if first.output is None or second.output is None or second.also:
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
    steps = {_step(node, twins): node for node in first.nodes}
    nodes, shared = list(first.nodes), False
    for node in second.nodes:
        same = steps.get(_step(node, twins))
        if same is None or id(second.output) in {id(value) for value in node.results}:
            nodes.append(node)
            continue
        twins.update((id(value), other) for value, other in zip(node.results, same.results, strict=True))
        shared = shared or node.spec.name not in MOVING
    both = Recipe(first.key, tuple(files), nodes, leaves, first.output, None, (*first.also, (second.key, second.output)), twins)
    if not shared or "" in both.modules:
        return None
    both.signature = _signature(both)
    return both


def _step(node: Node, twins: Mapping[int, Value]) -> Hashable:
    """Equal for ops that make the same of the same values."""
    arguments = tuple((arg.name, skeleton(raw)) for arg, raw in node.arguments)
    return (node.spec.name, arguments, tuple(id(twins.get(id(value), value)) for value in node.inputs()))


def _signature(made: Recipe) -> Hashable:
    """Equal for recipes of several weights that the same code makes, names of modules apart."""
    modules = made.modules

    def place(name: str) -> tuple[int, str]:
        module, _, leaf = name.rpartition(".")
        return modules.index(module), leaf

    numbers: dict[int, object] = {id(leaf): ("in", *place(file)) for file, leaf in zip(made.files, made.leaves, strict=True)}
    steps: list[object] = []
    for node in made.nodes:
        arguments = tuple((arg.name, skeleton(raw)) for arg, raw in node.arguments)
        steps.append((node.spec.name, arguments, tuple(numbers[id(value)] for value in made.inputs(node))))
        for index, value in enumerate(node.results):
            numbers[id(value)] = (len(steps), index)
    return (tuple(steps), tuple((numbers[value], place(key)) for value, key in made.outputs.items()))


def module_of(key: Key) -> Key:
    """The weight key without its last name."""
    *head, last = key
    assert isinstance(last, str)
    rest = last.rpartition(".")[0]
    return (*head, rest) if rest else tuple(head)
