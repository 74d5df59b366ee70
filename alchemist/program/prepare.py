"""Const-eval functions: they mirror the functions and loops of the forward pass and fill the prepared weights."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from alchemist.frontends.base import RECURRENT_CELLS
from alchemist.ops.spec import MOVING, TABLE_PARTS, TTNN_OPS
from alchemist.program import model
from alchemist.program.alignment import constant_kind
from alchemist.program.functions import CallItem, Definition, Item, LoopItem, calls_of, functions_of, reads
from alchemist.program.graph import Graph, Node, Value, map_raw
from alchemist.program.loops import is_counted
from alchemist.program.merge import renamed_function
from alchemist.program.model_source import Sources
from alchemist.program.names import RESERVED, identifier, result_name, unique
from alchemist.program.recipes import Cut, Parts, Recipe, joined, module_of
from alchemist.program.roles import explanation
from alchemist.program.text import note_lines
from alchemist.program.weights import COUNTING, in_order, literal_numbers, needed, recipe

STORED = model.Parameter("stored", "stored")
OUTPUT = model.Parameter("weights", "output")
DEVICE = model.Parameter("device", "device")
_ALL_STORED, _ALL_WEIGHTS = model.ScopeArgument("stored"), model.ScopeArgument("weights")
FOLDS = "Scales {} {}'s weights and shifts its bias as the batch norm behind it would its result."
"""What a helper's docstring says of one layer, or of each."""
LAYERS = ("convolution", "linear layer")
_HELPER_NAMES = {
    "ttnn.transpose": "transposed",
    "ttnn.permute": "transposed",
    "ttnn.concat": "joined",
    "ttnn.typecast": "converted",
    "ttnn.to_layout": "tiled",
    "ttnn.reshape": "reshaped",
    "ttnn.prepare_conv2d_weights": "prepared_weights",
    "ttnn.prepare_conv2d_bias": "prepared_bias",
}

_OPS = frozenset(spec.target.rpartition(".")[2] for spec in TTNN_OPS.values())
"""C++ finds the library's function of that name by a tensor that it is given, beside ours."""


@dataclass(slots=True)
class _Plan:
    """Const-eval of one function: its own weights, then the calls and loops of its body in order."""

    definition: Definition
    own: list[Recipe]
    parts: list[CallItem | tuple[LoopItem, list[Recipe], list[CallItem]]]
    name: str = ""


LARGE = 1 << 26
"""Elements of an intermediate tensor that is freed behind its last use: a few float32 copies of a vocabulary's table fill a card."""


@dataclass(slots=True)
class Prepared:
    """file_shapes: of helpers of several modules, the shapes of the tensor files that they read."""

    functions: tuple[model.Function, ...] = ()
    names: set[str] = field(default_factory=set)
    file_shapes: dict[str, dict[model.Key, tuple[int, ...]]] = field(default_factory=dict)


def prepare_functions(
    graph: Graph,
    root: Definition,
    sources: Sources,
    main_file: str,
    *,
    prefix: str = "",
    there: frozenset[str] | None = None,
) -> Prepared:
    """The const-eval functions, `prepare` last; empty when no const-eval function exists. prefix: of every function's name.

    there: keys that another entry point prepares, None for the program's only one; the functions then exist whether something is computed or not.
    """
    if not graph.const_evals and there is None:
        return Prepared()
    return _Preparation(graph, root, sources, main_file, prefix, there or frozenset()).functions()


class _Preparation:
    def __init__(self, graph: Graph, root: Definition, sources: Sources, main_file: str, prefix: str, there: frozenset[str]) -> None:
        self._there = there
        self._owners = {value: const_eval for const_eval in graph.const_evals for value in const_eval.results}
        self._weights = graph.weights
        self._root = root
        self._sources = sources
        self._main_file = main_file
        self._prefix = prefix
        self._helpers: dict[Hashable, model.Function] = {}
        self._file_places: dict[str, list[model.Key]] = {}
        self._file_shapes: dict[str, dict[model.Key, tuple[int, ...]]] = {}
        self._plans: dict[int, _Plan] = {}

    def functions(self) -> Prepared:
        for definition in functions_of(self._root):
            plan = self._plan(definition)
            if plan is not None:
                plan.name = "prepare" if definition is self._root else self._prefix + definition.name
                self._plans[id(definition)] = plan
        plans = list(self._plans.values())
        taken = {plan.name for plan in plans}
        self._make_helpers(plans, taken)
        made = [self._function(plan) for plan in plans]
        functions = (*self._helpers.values(), *made)
        return Prepared(functions, taken, self._file_shapes)

    # ------------------------------------------------------------------------------------------------------------ planning

    def _plan(self, definition: Definition) -> _Plan | None:
        seen: set[str] = set()
        called: set[tuple[int, str]] = set()
        own: list[Recipe] = []
        parts: list[CallItem | tuple[LoopItem, list[Recipe], list[CallItem]]] = []
        for item in definition.items:
            body = item.body if isinstance(item, LoopItem) else [item]
            recipes = [recipe for part in body for recipe in self._recipes(part, definition, seen)]
            calls: list[CallItem] = []
            for call in calls_of(item):
                if id(call.function) in self._plans and (id(call.function), call.path) not in called:
                    called.add((id(call.function), call.path))
                    calls.append(call)
            if isinstance(item, LoopItem):
                counted = self._with_parts(recipes, item, definition)
                own += [counted.get(recipe.key, recipe) for recipe in recipes if recipe.key in counted or not is_counted(item.keys.get(recipe.key, ()))]
                recipes = [recipe for recipe in recipes if recipe.key not in counted and is_counted(item.keys.get(recipe.key, ()))]
                parts += [call for call in calls if not is_counted(item.keys.get(definition.relative(call.path), ()))]
                calls = [call for call in calls if is_counted(item.keys.get(definition.relative(call.path), ()))]
                if recipes or calls:
                    parts.append((item, joined(recipes), calls))
            else:
                own += recipes
                parts += calls
        own += [recipe for value in definition.returns if definition.holds(value) for recipe in self._recipe(value, definition, seen)]
        if definition is self._root:  # what other functions read and cannot prepare
            values = (*self._owners, *(value for value in self._weights if value.users))
            own += [recipe for value in values if value.reaches_out for recipe in self._recipe(value, definition, seen)]
        if not own and not parts and definition is not self._root:
            return None
        return _Plan(definition, joined(own), parts)

    def _recipes(self, item: Item, definition: Definition, seen: set[str]) -> list[Recipe]:
        return [recipe for value in reads(item) if definition.holds(value) for recipe in self._recipe(value, definition, seen)]

    def _recipe(self, value: Value, definition: Definition, seen: set[str]) -> list[Recipe]:
        out_of_reach = value.reaches_out and definition is not self._root
        if value.collection != "weights" or value.key in seen or value.key in self._there or out_of_reach:
            return []
        seen.add(value.key)
        key = definition.relative(value.key)
        const_eval = self._owners.get(value)
        if const_eval is None:
            return [Recipe(key, (definition.relative(value.name),), [], [], None, "stored")]
        index = const_eval.results.index(value)
        nodes, leaves = needed(const_eval.outputs[index])
        files = tuple(definition.relative(leaf.name) for leaf in leaves)
        return [Recipe(key, files, in_order(const_eval, nodes), leaves, const_eval.outputs[index], recipe(const_eval, index))]

    def _with_parts(self, recipes: Sequence[Recipe], loop: LoopItem, definition: Definition) -> dict[str, Recipe]:
        """Those of the first iteration's recipes, by key, that the others' differ from in where slices are cut out."""
        found: dict[str, Recipe] = {}
        wanted = {recipe.key: recipe for recipe in recipes}
        for place, item in enumerate(loop.body):
            for number, value in enumerate(reads(item)):
                first = wanted.get(definition.relative(value.key)) if definition.holds(value) else None
                if first is None or first.key in found:
                    continue
                second = self._nodes(reads(loop.others[0][place])[number])
                pairs = zip(first.nodes, second, strict=True)
                cuts = {id(node): counting for node, other in pairs if (counting := _counting(node, other, loop))}
                if cuts:
                    turns = range(loop.start, loop.start + loop.count * loop.step, loop.step)
                    found[first.key] = replace(first, parts=Parts(loop.variable, turns, {first.key: loop.keys[first.key]}, cuts))
        return found

    def _nodes(self, value: Value) -> list[Node]:
        """What makes a prepared weight, in order."""
        const_eval = self._owners.get(value)
        return in_order(const_eval, needed(const_eval.outputs[const_eval.results.index(value)])[0]) if const_eval is not None else []

    def _make_helpers(self, plans: Sequence[_Plan], taken: set[str]) -> None:
        """A function for every recipe of several steps that is written at two places or more, integers apart."""
        count: dict[Hashable, list[Recipe]] = {}
        for plan in plans:
            for recipes in [plan.own, *(part[1] for part in plan.parts if isinstance(part, tuple))]:
                for group in _groups(recipes):
                    count.setdefault(group[0].signature, []).append(group[0])
                    if len(group) > 1:
                        count[group[0].signature].append(group[1])
        alike = Counter(_without_constants(signature) for signature, places in count.items() for _ in places)
        for signature, places in count.items():
            first = places[0]
            if alike[_without_constants(signature)] < 2 or len(first.nodes) < 2 or not first.leaves or (first.parts is not None and not first.also):
                continue
            if first.also and "" in first.modules:  # its function is called for the module itself
                continue
            last = next(node for node in reversed(first.nodes) if node.spec.name not in MOVING or node is first.nodes[0])
            wanted = identifier(_helper_name(first, last))
            name = unique([wanted, f"{wanted}_weight"], lambda name: name not in taken and name not in RESERVED and name not in _OPS)
            taken.add(name)
            self._helpers[signature] = self._joint_helper(name, first, taken) if first.also else self._helper(name, first, taken)

    def _helper(self, name: str, made: Recipe, functions: set[str]) -> model.Function:
        words = [file.rpartition(".")[2] for file in made.files]
        if len(set(words)) < len(words):
            words = ["_".join(file.split(".")[-2:]) for file in made.files]
        names: list[str] = []
        for word in words:
            names.append(unique([identifier(word)], lambda name: name not in names and name not in functions))
        environment: dict[int, model.Value] = {id(leaf): model.TensorRef(one) for leaf, one in zip(made.leaves, names, strict=True)}
        body = _steps(made, environment, set(names), functions, {})
        parameters = [model.Parameter(name) for name in names] + ([DEVICE] if _uses_device(made.nodes) else [])
        return model.Function(name, tuple(parameters), tuple(body), 1)

    def _joint_helper(self, name: str, made: Recipe, functions: set[str]) -> model.Function:
        """A function of the modules' names, which reads their files and keeps several weights."""
        folds = _folds(made)
        layer = LAYERS[not any(node.spec.name.startswith("ttnn.prepare_conv") for node in made.nodes)]
        roles = (layer.partition(" ")[0], "normalization")
        words: dict[str, str] = {}
        for index, module in enumerate(made.modules):
            plain = roles[index] if folds and len(made.modules) == len(roles) else module.rpartition(".")[2].rstrip("0123456789_")
            words[module] = unique([identifier(plain or "module")], lambda name: name not in words.values() and name not in functions)

        def place(name: str) -> model.Key:
            module, _, leaf = name.rpartition(".")
            if made.parts is not None and name in made.parts.keys:
                text, *behind = made.parts.keys[name]
                assert isinstance(text, str)
                return (model.Index(words[module], text=True), text.removeprefix(module), *behind)
            return (model.Index(words[module], text=True), f".{leaf}")

        environment: dict[int, model.Value] = {id(leaf): model.WeightRef(place(file), stored=True) for file, leaf in zip(made.files, made.leaves, strict=True)}
        self._file_places[name] = [place(file) for file in made.files]
        self._file_shapes[name] = {at: leaf.type.shape for at, leaf in zip(self._file_places[name], made.leaves, strict=True)}
        targets = {value: model.WeightRef(place(key)) for value, key in made.outputs.items()}
        body = _steps(made, environment, set(), functions | set(words.values()), targets)
        doc = FOLDS.format("a", layer) if folds else ""
        return model.Function(name, (STORED, OUTPUT, *(model.Parameter(word, "text") for word in words.values())), tuple(body), 0, doc)

    # ----------------------------------------------------------------------------------------------------------- functions

    def _function(self, plan: _Plan) -> model.Function:
        body: list[model.Statement] = self._statements(plan.own, {})
        for part in plan.parts:
            if isinstance(part, CallItem):
                body.append(self._call(part, plan, {}))
                continue
            loop, recipes, calls = part
            inner = self._statements(recipes, loop.keys)
            inner += [self._call(call, plan, loop.keys) for call in calls]
            stop = model.Literal(loop.start + loop.count * loop.step)
            body.append(model.Loop(loop.variable, loop.start, stop, loop.step, tuple(inner), loop.container))
        is_root = plan.definition is self._root
        parameters = [STORED] if is_root else [STORED, OUTPUT]
        return model.Function(plan.name, tuple(parameters), tuple(body), 0, module=plan.definition.class_name)

    def _call(self, call: CallItem, plan: _Plan, keys: Mapping[str, model.Key]) -> model.CallFunction:
        definition = plan.definition
        relative = definition.relative(call.path) if call.path != definition.path else ""
        key = keys.get(relative) or ((relative,) if relative else ())
        inner = self._plans[id(call.function)]
        arguments: list[model.Argument] = [model.ScopeArgument("stored", key), model.ScopeArgument("weights", key)]
        return model.CallFunction(inner.name, tuple(arguments), ())

    def _statements(self, recipes: Sequence[Recipe], keys: Mapping[str, model.Key]) -> list[model.Statement]:
        out: list[model.Statement] = []

        def form(name: str) -> model.Key:
            return keys.get(name, (name,))

        shown: list[str] = []
        for group in _groups(recipes):
            first = group[0]
            comments = self._comments(first) if len(group) == 1 else []
            comments, shown = ([] if comments == shown else comments), comments
            if len(group) < 3 or first.suffix is None:
                for one in group:
                    out += self._one(one, [form(key) for key in one.outputs.values()] or [form(one.key)], [form(file) for file in one.files], comments)
                continue
            loop_key: model.Key = (model.Index("name", text=True),)
            key = (*loop_key, first.suffix) if first.suffix else loop_key
            body = self._one(first, [key], [loop_key], [])
            body = [statement for statement in body if not isinstance(statement, model.Blank)]
            out.append(model.NameLoop("name", tuple(form(recipe.files[0]) for recipe in group), tuple(body)))
        return out

    def _one(self, made: Recipe, keys: Sequence[model.Key], files: Sequence[model.Key], comments: Sequence[str]) -> list[model.Statement]:
        """keys, files: of the weights and of what they are made from, as the function sees them."""
        target = model.WeightRef(keys[0])
        stored = [model.WeightRef(file, stored=True) for file in files]
        if made.output is None:
            return [model.Store(target, stored[0])]
        if made.output.node is None:
            return [model.Store(target, stored[[id(leaf) for leaf in made.leaves].index(id(made.output))])]
        helper = self._helpers.get(made.signature)
        if helper is not None and made.also:
            shapes = self._file_shapes[helper.name]
            for place, leaf in zip(self._file_places[helper.name], made.leaves, strict=True):
                if shapes.get(place) != leaf.type.shape:
                    shapes.pop(place, None)  # known only where all calls agree
            seen = dict(zip((*made.files, *made.outputs.values()), (*files, *keys), strict=True))
            modules = {name.rpartition(".")[0]: model.KeyText(module_of(key)) for name, key in seen.items()}
            return [model.CallFunction(helper.name, (_ALL_STORED, _ALL_WEIGHTS, *(modules[module] for module in made.modules)), ())]
        if helper is not None:
            arguments: list[model.Argument] = list(stored)
            if any(parameter.kind == "device" for parameter in helper.parameters):
                arguments.append(model.DeviceRef(stored=True))
            return [model.CallFunction(helper.name, tuple(arguments), (target,))]
        functions = {plan.name for plan in self._plans.values()} | {helper.name for helper in self._helpers.values()}
        environment: dict[int, model.Value] = {id(leaf): one for leaf, one in zip(made.leaves, stored, strict=True)}
        opening: list[model.Statement] = []
        uses = Counter(id(value) for node in made.nodes for value in made.inputs(node))
        bound: set[str] = set()
        for file, leaf in zip(made.files, made.leaves, strict=True):
            if uses[id(leaf)] > 1:  # each look-up reads the file again
                name = unique([_stored_name(file)], lambda name: name not in bound and name not in functions and name not in RESERVED)
                opening.append(model.Assign(name, environment[id(leaf)]))
                environment[id(leaf)] = model.TensorRef(name)
                bound.add(name)
        if made.parts is not None:
            keys = [made.parts.keys.get(name, key) for name, key in zip(made.outputs.values(), keys, strict=True)]
        steps = opening + _steps(made, environment, bound, functions, dict(zip(made.outputs, map(model.WeightRef, keys), strict=True)), self._assigned(made))
        if len(steps) == 1 and not comments:
            return list(steps)
        return [model.Blank(), *(model.Comment(text) for text in comments), *steps, model.Blank()]

    def _assigned(self, made: Recipe) -> dict[int, str]:
        """What the source assigns the results of nodes to, by the nodes' identity: of each statement with one target, the last node's."""
        last = {}
        for node in () if _only_forms(made) else made.nodes:
            info = node.sources[-1] if node.sources else None
            statement = self._sources.statement(info.frames[-1]) if info is not None and info.frames else None
            if statement is not None and len(statement.targets) == 1:
                last[statement.file, statement.line] = (id(node), identifier(statement.targets[0]))
        return dict(last.values())

    def _comments(self, made: Recipe) -> list[str]:
        """Source statements of values that the source computes; a weight's change of form has none."""
        if _only_forms(made):
            return []
        texts: dict[tuple[str, int], str] = {}
        for node in made.nodes:
            for info in node.sources:
                statement = self._sources.statement(info.frames[-1]) if info.frames else None
                if statement is not None:
                    where = "" if statement.file == self._main_file else statement.file.rpartition("/")[2] + ":"
                    line = "" if statement.file == RECURRENT_CELLS else f"{where}{statement.line}: "  # no file that the user has
                    texts.setdefault((statement.file, statement.line), line + statement.text)
        return [texts[key] for key in sorted(texts)]


def _only_forms(made: Recipe) -> bool:
    """Whether the weights are the file's in other forms, as their names say."""
    return made.suffix is not None or (len(made.files) == 1 and all(key.startswith(made.files[0]) for key in made.outputs.values()))


def _counting(first: Node, second: Node, loop: LoopItem) -> dict[tuple[str, int], Cut]:
    """What of a slice is another integer in the second iteration."""
    found: dict[tuple[str, int], Cut] = {}
    others = dict((arg.name, raw) for arg, raw in second.arguments)
    for arg, raw in first.arguments:
        if arg.name in COUNTING.get(first.spec.name, ()):
            rows = literal_numbers(raw), literal_numbers(others.get(arg.name))
            for place, (one, two) in enumerate(zip(rows[0] or (), rows[1] or (), strict=True)):
                if one != two:
                    step = (two - one) // loop.step
                    found[arg.name, place] = Cut(one - step * loop.start, step)
    return found


_OTHER_VALUES = frozenset(f"ttnn.{name}" for name in ("clamp_scalar", "clamp_tensor", "slice_static", "sin", "cos", "exp", "rsqrt", "reciprocal"))
"""Ops whose result is not called like the weight that they read."""


_FOLD = "fold_batch_norm"


def _helper_name(made: Recipe, last: Node) -> str:
    """After what it is for, a batch norm in the weights before it, else after the op that makes its result."""
    verb = _HELPER_NAMES.get(last.spec.name, last.spec.target.rpartition(".")[2])
    if not _folds(made):
        return verb
    return _FOLD if made.also else f"{_FOLD}_{'bias' if verb.endswith('bias') else 'weights'}"


def named_by_layer(functions: Sequence[model.Function]) -> list[model.Function]:
    """The functions, where each that folds a batch norm names the layer: `fold_batch_norm_into_linear`, `fold_batch_norm_into_conv_3x3`."""
    docs = [FOLDS.format("a", layer) for layer in LAYERS]
    folding = [function for function in functions if function.doc in docs]
    taken = {function.name for function in functions}.difference(function.name for function in folding)
    names: dict[str, str] = {}
    for function in folding if len(folding) > 1 else ():
        names[function.name] = unique([f"{_FOLD}_into_{_layer(function)}"], lambda name: name not in taken)
        taken.add(names[function.name])
    return [renamed_function(function, names) for function in functions]


def _layer(function: model.Function) -> str:
    """`linear`, `conv_3x3` or `depthwise_3x3`, of the layer whose weights the function prepares."""
    for call in model.statements(function.body):
        given = {arg.name: value for arg, value in call.arguments} if isinstance(call, model.Call) else {}
        if "kernel_size" in given and "groups" in given:
            sides = literal_numbers(given["kernel_size"]) or ()
            kind = "conv" if given["groups"] == model.Literal(1) else "depthwise" if given["groups"] == given.get("out_channels") else "grouped_conv"
            return "_".join(filter(None, (kind, "x".join(map(str, sides)))))
    return "linear"


def _folds(made: Recipe) -> bool:
    return any(node.spec.name == "ttnn.rsqrt" for node in made.nodes)


def _without_constants(signature: object) -> Hashable:
    """Equal for recipes that become one function when constants are parameters."""
    if isinstance(signature, model.Items):
        return ("items", *(_without_constants(item) for item in signature.items))
    if isinstance(signature, model.Literal | model.MemoryConfig | model.Record | model.Layout | model.DType):
        return constant_kind(signature) or repr(signature)
    if isinstance(signature, tuple):
        return "number" if signature[:1] == ("int",) else tuple(_without_constants(part) for part in signature)
    return repr(signature)


def _groups(recipes: Sequence[Recipe]) -> list[list[Recipe]]:
    """Weights made the same way, in order of first use."""
    groups: dict[Hashable, list[Recipe]] = {}
    for one in recipes:
        groups.setdefault((one.signature, one.suffix if one.suffix is not None else one.key), []).append(one)
    return list(groups.values())


def _uses_device(nodes: Sequence[Node]) -> bool:
    return any(isinstance(raw, model.DeviceRef) for node in nodes for _, raw in node.arguments)


def _steps(
    made: Recipe,
    environment: dict[int, model.Value],
    bound: set[str],
    functions: set[str],
    targets: Mapping[int, model.WeightRef],
    assigned: Mapping[int, str] | None = None,
) -> list[model.Statement]:
    """The recipe's calls. environment: what its tensor files are called. targets: where its weights are kept; without them, the last call is returned.

    assigned: names of nodes' results in the source.
    """
    out: list[model.Statement] = []
    turned: list[model.Statement] = []
    before, inside, others = made.turned()
    nodes = [*before, *inside, *others]
    last: dict[int, int] = {}
    for index, node in enumerate(nodes):
        for value in made.inputs(node):
            last[id(value)] = index
    names: dict[str, int] = {}  # variable -> index of its value's last use
    for value in (value for node in before for value in node.results):
        if last.get(id(value), -1) >= len(before):  # the next turn reads it again
            last[id(value)] = max(last[id(value)], len(before) + len(inside))
    for word in bound:
        names[word] = max((last.get(value, -1) for value, one in environment.items() if one == model.TensorRef(word)), default=-1)
    for index, node in enumerate(nodes):
        arguments = tuple((arg, map_raw(raw, lambda value: environment[id(made.one(value))])) for arg, raw in node.arguments)
        if targets:  # outside helpers the device is asked from the tensor files
            arguments = tuple((arg, model.DeviceRef(stored=True) if isinstance(value, model.DeviceRef) else value) for arg, value in arguments)
        if made.parts is not None and id(node) in made.parts.cuts:
            arguments = tuple((arg, _cut(arg.name, value, made.parts.cuts[id(node)], made.parts.variable)) for arg, value in arguments)
        final = made.output in node.results
        results: list[model.Target] = []
        for value in node.results:
            if id(value) in targets:
                results.append(targets[id(value)])
                environment[id(value)] = targets[id(value)]
                continue
            if value is made.output:
                continue
            words = [(assigned or {}).get(id(node), ""), *_words(node, environment, made)]
            name = unique(
                words,
                lambda name: names.get(name, -1) <= index and name not in functions and name not in RESERVED,  # noqa: B023
            )
            names[name] = last.get(id(value), index)
            environment[id(value)] = model.TensorRef(name)
            results.append(name)
        statements = turned if node in inside else out
        if note := node.note or explanation(node):
            statements += map(model.Comment, note_lines(note))
        statements.append(model.Call(node.spec, arguments, tuple(results), returned=final and not targets and len(node.results) == 1))
        ending = [id(value) for value in made.inputs(node) if value.node is not None and last[id(value)] == index and math.prod(value.type.shape) >= LARGE]
        freed = dict.fromkeys(one.name for key in ending if isinstance(one := environment.get(key), model.TensorRef) and one.name not in results)
        if freed and node not in inside and not final:
            statements.append(model.Free(tuple(freed)))
        if made.parts is not None and index + 1 == len(before) + len(inside):
            turns = made.parts.turns
            out.append(model.Loop(made.parts.variable, turns.start, model.Literal(turns.stop), turns.step, tuple(turned), ""))
    return out


def _cut(name: str, value: model.Value, cuts: Mapping[tuple[str, int], Cut], variable: str) -> model.Value:
    """A slice's place, with the number of the part in it."""
    if not isinstance(value, model.Items) or all((name, place) not in cuts for place in range(len(value.items))):
        return value
    counted = (model.NumberRef(cuts[name, place].counted(variable)) if (name, place) in cuts else one for place, one in enumerate(value.items))
    return model.Items(tuple(counted))


def _stored_name(file: str) -> str:
    """Of the variable for a tensor file that is read more than once."""
    return f"stored_{identifier(file.rpartition('.')[2])}"


def _words(node: Node, environment: Mapping[int, model.Value], made: Recipe) -> list[str]:
    words: list[str] = []
    noun = identifier(result_name(node.spec.target))
    if node.called in TABLE_PARTS:
        words.append(node.called if node.results[0].type.dtype == "bfloat16" else "rest")
    elif node.spec.name in _OTHER_VALUES:
        words.append(noun)
    for value in made.inputs(node)[:1]:
        known = environment[id(value)]
        file = made.files[made.leaves.index(value)] if value in made.leaves else ""
        if isinstance(known, model.TensorRef) and known.name != _stored_name(file):
            words.append(known.name)
        elif file:
            words.append(identifier(file.rpartition(".")[2]))
    return [*words, noun, "tensor"]
