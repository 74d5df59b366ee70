"""TTNN module + front-end facts -> `Program`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from string import digits

from xdsl.dialects.builtin import ModuleOp

from alchemist.errors import LoweringError
from alchemist.frontends.base import ONE_CHIP, RECURRENT_CELLS, FrontendResult
from alchemist.ir.location import Scope, place_of
from alchemist.ir.scopes import Group, is_library
from alchemist.ops.expand import COLLECTIVES
from alchemist.ops.spec import EXPERT_MASK, PRODUCTS, SHAPING, UNOPTIMIZED
from alchemist.options import CompilerOptions
from alchemist.program import model
from alchemist.program.activations import name_activations
from alchemist.program.bundles import with_type_names
from alchemist.program.constants import name_constants
from alchemist.program.defaults import with_defaults
from alchemist.program.extract import extract
from alchemist.program.function_names import tell_apart
from alchemist.program.functions import CallItem, Definition, Recovery, calls_of, functions_of, reads
from alchemist.program.gradients import Flow, adds_residual, begins_backward, is_backward, is_gradient, stores_gradients
from alchemist.program.graph import Graph, Node, TensorType, Value
from alchemist.program.heads import Splitting, helper_functions, share_heads
from alchemist.program.kept import collections_of, gradients_in_order, keep_values, with_names
from alchemist.program.lengths import lines_of_functions
from alchemist.program.loop_reads import read_before_loops
from alchemist.program.loops import find_loops
from alchemist.program.merge import Merged, merge_functions, renamed_function
from alchemist.program.mesh_facts import mesh_facts
from alchemist.program.model_numbers import note_sources
from alchemist.program.model_source import Sources
from alchemist.program.module_functions import share_module_calls
from alchemist.program.names import MAIN_RESERVED, identifier, numbered, snake_case, unique
from alchemist.program.outline import class_label, compress, names_of_list, outline, recurrent_layer, with_beginnings
from alchemist.program.parameter_names import Context
from alchemist.program.prepare import named_by_layer, prepare_functions
from alchemist.program.prepared_facts import prepared_fact, weight_count
from alchemist.program.roles import given_role
from alchemist.program.runs import flat_items
from alchemist.program.scopes import NORMS, chains_of, module_runs
from alchemist.program.state import generation_of, lists_of, note_state
from alchemist.program.statements import Body, describe
from alchemist.program.tables import tabulated
from alchemist.program.tail_merging import share_tails, with_tails
from alchemist.program.update_loop import roll_updates
from alchemist.program.variants import places_of
from alchemist.program.walk import mapped
from alchemist.program.weights import SharedWeights, name_prepared_weights
from alchemist.version import VERSION


def build_program(
    module: ModuleOp, result: FrontendResult, options: CompilerOptions | None = None, language: str = "python", shared: SharedWeights | None = None
) -> model.Program:
    """The program that both emitters print.

    language: "python" or "cpp"; the only difference is which arguments calls may leave out.
    shared: prepared weights of the entry points before this one of the same program.

    Raises:
        EmitError: an op, type or attribute without a rendering.
        LoweringError: a collective of several chips in a module for one.
    """
    collective = next((op for op in module.walk() if op.name.removeprefix("ttnn.") in COLLECTIVES), None) if result.mesh == ONE_CHIP else None
    if collective is not None:
        hint = "codegen_mlir and generate-python write programs for the module's mesh, or for mesh_shape"
        raise LoweringError("a collective of several chips, in a module for one", op=collective.name, location=place_of(collective), hint=hint)
    return build_from_graph(extract(module), result, options or CompilerOptions(), language, shared)


def build_from_graph(
    graph: Graph, result: FrontendResult, options: CompilerOptions, language: str = "python", shared: SharedWeights | None = None
) -> model.Program:
    sources = Sources(result.source_files, result.class_sources)
    note_state(graph)
    note_sources(graph, sources, result.numbers)
    name_prepared_weights(graph, sources)
    there = shared.settle(graph, result.model_name) if shared is not None else None
    splitting = share_heads(graph) if options.recover_structure else Splitting()
    chains = chains_of(graph)
    structured = options.recover_structure and any(chains.values())
    if structured:
        keep_values(graph, chains)
    recovery = Recovery(graph, sources)
    if structured:
        root = recovery.root(module_runs(graph, chains))
    else:
        first = next((chain[:1] for chain in chains.values() if chain), (Scope("", ""),))
        tree = Group(first, list(graph.nodes), 0, len(graph.nodes))
        root = recovery.root(tree)
    definitions = functions_of(root)
    if structured and options.recover_loops:
        calls: dict[int, list[tuple[Definition, CallItem]]] = {}
        for caller in definitions:
            for call in (call for item in caller.items for call in calls_of(item)):
                calls.setdefault(id(call.function), []).append((caller, call))
        for definition in definitions:
            find_loops(definition, calls.get(id(definition), []), recovery.recipe_of)
    _name_functions(root, result.model_name)

    main_file = _main_file(graph, sources)
    output_names = _output_names(graph, result)
    context = Context(
        sources=sources,
        functions={definition.name for definition in definitions} | {node.helper for node in graph.nodes if node.helper},
        flow=Flow(graph.nodes),
        main_file=main_file,
        typical=_typical(graph),
        root=root,
        collections=_collections(definitions),
        flat=not structured,
        tuned=_is_tuned(graph),
        output_words=_output_words(graph, root, output_names),
    )
    functions, local_names = _bodies(definitions, context)
    outputs = _outputs(graph, output_names, root, context)
    inputs = _inputs(root, {*context.functions, *(name for one in outputs for name in (one.identifier, one.result))})
    outputs = _placed(outputs, graph, inputs)
    functions[-1] = _entry_doc(functions[-1], root, [output for output in outputs if output.place is None], context)
    split = options.split_consteval
    prepared = prepare_functions(graph, root, sources, main_file, prefix="" if split else "prepare_", there=there)
    taken = local_names | context.functions | prepared.names | {variable.identifier for variable in (*inputs, *outputs)}
    tails: dict[str, str] = {}
    if structured:
        before = {id(definition): definition.name for definition in definitions}
        weight_names = frozenset(value.key for node in graph.nodes for value in node.inputs() if value.key)
        places = places_of(functions, weight_names) if graph.const_evals and shared is None else None
        merged = merge_functions(functions, context.functions, {definition.name: definition.base_name for definition in definitions}, places)
        for definition in definitions:
            definition.name = merged.renamed.get(definition.name, definition.name)
        apart = _told_apart(merged.functions[:-1], definitions, taken)
        for definition in definitions:
            definition.name = apart.get(definition.name, definition.name)
        context.functions.update(apart.values())
        taken |= set(apart.values())
        now = {name: apart.get(new, new) for name, new in {**{one: one for one in apart}, **merged.renamed}.items()}
        named = with_type_names([renamed_function(function, apart) for function in merged.functions], now)
        tailed = share_tails(named, context.functions)
        functions, tails = [*helper_functions(tailed.functions, splitting), *share_module_calls(tailed.functions, taken, _classes(graph))], tailed.tails
        functions[-1] = roll_updates(functions[-1], functions, [output.name for output in outputs], gradients_in_order(graph))
        functions = read_before_loops(functions)
        if prepared.functions:
            names = {function.name for function in prepared.functions}
            alike = merge_functions(prepared.functions, names | context.functions)
            table = tabulated(prepared.functions, prepared.file_shapes, names | context.functions)
            if table is not None:
                shorter = merge_functions(table, {function.name for function in table} | context.functions)
                alike = min(alike, shorter, key=lambda merged: lines_of_functions(merged.functions))
            prefix = "" if split else "prepare_"
            now = {prefix + before[id(definition)]: prefix + definition.name for definition in definitions if definition is not root}
            prepared.functions = tuple(named_by_layer(_named_alike(alike, now)))
    final, prepare, constants, prepare_constants = name_constants(functions, prepared.functions, taken, _fidelity_asked(options))
    by_name = language == "python"
    final, prepare = with_defaults(final, by_name=by_name), with_defaults(prepare, by_name=by_name)
    if not split:
        constants = tuple(dict.fromkeys([*constants, *prepare_constants]))
    final, constants = name_activations(final, constants, taken, lists=by_name)
    program = _program(graph, result, options, root, context, final, prepare, constants, prepare_constants, inputs, outputs, language)
    return replace(program, outline=with_tails(program.outline, tails))


def _fidelity_asked(options: CompilerOptions) -> tuple[str, str] | None:
    """The fidelity of products that an option asks for, and the option as a user writes it."""
    if options.math_fidelity:
        return options.math_fidelity, f"math_fidelity={options.math_fidelity}"
    found = {"bfp8": "hifi2", "bfp8_lofi": "lofi"}.get(options.precision)
    return (found, f"precision={options.precision}") if found else None


def _told_apart(functions: Sequence[model.Function], definitions: Sequence[Definition], taken: set[str]) -> dict[str, str]:
    """New names of functions of one class, where the places of their modules tell them apart."""
    paths: dict[str, list[str]] = {}
    bases: dict[str, str] = {}
    for definition in definitions:
        paths.setdefault(definition.name, []).extend(definition.paths)
        bases.setdefault(definition.name, definition.base_name)
    return tell_apart(functions, paths, bases, taken)


def _named_alike(merged: Merged, now: Mapping[str, str]) -> list[model.Function]:
    """The const-eval functions, called like those of the forward pass where that is one name. now: what they were called -> what the forward pass says."""
    wanted: dict[str, set[str]] = {function.name: set() for function in merged.functions}
    for name, other in now.items():
        kept = merged.renamed.get(name, name)
        if kept in wanted:
            wanted[kept].add(other)
    counts = Counter(name for names in wanted.values() for name in names)
    renamed = {kept: next(iter(names)) for kept, names in wanted.items() if len(names) == 1 and counts[next(iter(names))] == 1}
    left = set(wanted) - set(renamed)
    return [renamed_function(function, renamed) for function in merged.functions] if left.isdisjoint(renamed.values()) else merged.functions


def _name_functions(root: Definition, model_name: str) -> None:
    """Class names first come first served from the root down, then numbers (`tell_apart` finds words for them)."""
    taken: set[str] = set()
    numbers: dict[str, int] = {}
    root.name = snake_case(model_name or class_label(root) or "forward")
    if root.name == "function":
        root.name = "forward"
    if root.name in MAIN_RESERVED:
        root.name += "_"
    taken.add(root.name)
    for definition in _preorder(root):
        if definition is root:
            continue
        candidates = []
        if definition.method:
            candidates.append(snake_case(definition.method.lstrip("_")))
        label = snake_case(class_label(definition))
        backward = not definition.method and begins_backward(definition)
        label = f"exact_{label}" if is_library(definition.class_name) and not label.endswith("_norm") and not backward else label
        label = f"add_{label}" if adds_residual(definition) else label
        candidates.append(label)
        if backward:
            candidates = [f"{name}_backward" for name in candidates]
        definition.base_name = candidates[0]
        definition.name = _numbered(candidates, taken, numbers)
        taken.add(definition.name)


def _numbered(candidates: Sequence[str], taken: set[str], numbers: dict[str, int]) -> str:
    """numbers: of names that have got one, the number to go on from."""
    for name in candidates:
        if name not in taken and name not in MAIN_RESERVED:
            return name
    number = numbers.get(candidates[0], 2)
    while f"{candidates[0]}_{number}" in taken:
        number += 1
    numbers[candidates[0]] = number
    return f"{candidates[0]}_{number}"


def _preorder(root: Definition) -> list[Definition]:
    found: dict[int, Definition] = {}
    stack = [root]
    while stack:
        definition = stack.pop()
        if id(definition) in found:
            continue
        found[id(definition)] = definition
        stack.extend(call.function for item in reversed(definition.items) for call in reversed(calls_of(item)))
    return list(found.values())


def _main_file(graph: Graph, sources: Sources) -> str:
    """The file that most of the quoted statements are in, however often each runs; of the model's own if there are any."""
    frames = {info.frames[-1] for node in graph.nodes for info in node.sources if info.frames}
    found = {(one.file, one.line) for frame in frames if (one := sources.statement(frame)) is not None}
    files = Counter(file for file, _ in found)
    return max(files.keys() - {RECURRENT_CELLS}, key=lambda file: (files[file], file), default="")


def _is_tuned(graph: Graph) -> bool:
    """Whether most products have a program config."""
    products = [{arg.name for arg, _ in node.arguments} for node in graph.nodes if node.spec.name in PRODUCTS]
    return 2 * sum("program_config" in names for names in products) > len(products)


def _typical(graph: Graph) -> TensorType:
    """What the header says of most tensors. Shards have a remark of their own, however many they are."""
    counts: Counter[TensorType] = Counter(
        TensorType((), value.type.dtype, value.type.layout, value.type.config and model.MemoryConfig(value.type.config.buffer))
        for node in graph.nodes
        for value in node.results
    )
    return counts.most_common(1)[0][0] if counts else TensorType(())


def _collections(definitions: Sequence[Definition]) -> dict[int, tuple[str, ...]]:
    """The collections that a function needs, for callees first."""
    uses: dict[int, tuple[str, ...]] = {}
    for definition in definitions:
        parts = flat_items(definition.items)
        values = [value for part in parts for value in reads(part) if definition.holds(value)]
        values += [value for value in definition.returns if definition.holds(value)]
        values += [one.copy for part in parts if isinstance(part, Node) for one in part.kept]
        called = [name for item in definition.items for call in calls_of(item) for name in uses[id(call.function)]]
        uses[id(definition)] = collections_of([value.collection for value in values] + called)
    return uses


def _bodies(definitions: Sequence[Definition], context: Context) -> tuple[list[model.Function], set[str]]:
    """The functions, and all names in them.

    Callers come first: they give hints for the names of parameters. Then functions whose callees have names for their results are built again, callees first,
    so that a result is called the same on both sides.
    """
    built: dict[int, model.Function] = {}
    names: dict[int, set[str]] = {}
    for definition in sorted(reversed(definitions), key=lambda one: (not one.is_root, is_backward(one))):  # the forward pass names what it saves
        built[id(definition)], names[id(definition)] = _function(definition, context)
    for definition in definitions:
        named = any(context.result_names.get(id(call.function)) for item in definition.items for call in calls_of(item))
        if named or definition.is_recurrent_layer:  # calls its parameters as its cell does
            built[id(definition)], names[id(definition)] = _function(definition, context)
    final = [_with_ordered_calls(built[id(definition)], context.orders) for definition in definitions]
    return [with_names(function, context.saved_names) for function in final] if context.saved_names else final, set().union(*names.values())


def _function(definition: Definition, context: Context) -> tuple[model.Function, set[str]]:
    """The function and the names of its variables."""
    body = Body(definition, context)
    statements = body.build()
    final = statements[-1] if statements else None
    context.result_names[id(definition)] = body.telling_names(final.values) if isinstance(final, model.Return) else []
    context.parameter_names[id(definition)] = [name for name, value in zip(body.parameters, body.parameter_values, strict=True) if value is not None]
    kinds = ["tensors" if value is None else "tensor" for value in body.parameter_values]
    notes = _shapes_of_parameters(definition, context)
    differing = {id(definition.parameters[index]) for index in definition.moving}
    memories = [None if value is None or id(value) in differing else value.type.config for value in body.parameter_values]
    order = _source_order(definition, body.parameters, context)
    context.orders[definition.name] = order
    rows = list(zip(body.parameters, kinds, notes, memories, strict=True))
    parameters = [model.Parameter(name, kind, note, memory=memory) for name, kind, note, memory in (rows[place] for place in order)]
    notes = [notes[place] for place in order]
    for name in context.collections[id(definition)]:
        if name == "weights" or not definition.is_root:
            parameters.append(model.Parameter(name, "weights" if name == "weights" else "kept"))
    file, line = context.sources.class_line(definition.class_name)
    found = context.sources.function_of_class(definition.class_name)
    source = (found[1].name, found[1].line) if found else ("", line)
    head = _part_of_layer(definition, in_torch=found is not None) or _head(definition, *(source if file == context.main_file else ("", 0)))
    head += "Every expert runs on all tokens. " * any(given_role(item) == EXPERT_MASK for item in definition.items)
    inputs, outputs = ", ".join(notes), _shapes_of_results(definition, final, context)
    function = model.Function(
        definition.name,
        tuple(parameters),
        statements,
        len(definition.results()),
        f"{head}{inputs} -> {outputs}" if inputs and outputs else f"{head}{inputs or outputs}",
        class_label(definition),
        compress(definition.paths),
        f"{file}:{line}" if file else "",
        f"{head}Returns {outputs}" if outputs else head.removesuffix(". "),
        tuple(place for place, places in enumerate(definition.results()) if len(places) > 1),
    )
    return function, body.local_names


def _source_order(definition: Definition, names: Sequence[str], context: Context) -> tuple[int, ...]:
    """Places of the tensor parameters in the order of the source's forward; those that it does not have come last."""
    found = context.sources.function_of_class(definition.class_name)
    own = definition.is_root or definition.method or definition.is_step or definition.is_recurrent_layer or definition.takes_weights
    given = found[1].parameters if found and not own else ()
    return tuple(sorted(range(len(names)), key=lambda place: given.index(names[place]) if names[place] in given else len(given)))


def _with_ordered_calls(function: model.Function, orders: Mapping[str, tuple[int, ...]]) -> model.Function:
    """The function, its calls with the arguments in the order of the called functions' parameters."""

    def change(statement: model.Statement) -> model.Statement:
        order = orders.get(statement.function, ()) if isinstance(statement, model.CallFunction) else ()
        if not isinstance(statement, model.CallFunction) or [*order] == sorted(order):
            return statement
        return replace(statement, arguments=(*(statement.arguments[place] for place in order), *statement.arguments[len(order) :]))

    return replace(function, body=mapped(function.body, change))


def _head(definition: Definition, method: str, line: int) -> str:
    """What a function is made from, as the beginning of its docstring: `GPT2Block.forward, line 262. `."""
    label = class_label(definition)
    if definition.in_parts:
        return f"{label}, in parts. "
    if (helper := definition.helper) is not None and any(map(is_gradient, definition.returns)):
        return f"{definition.method}, line {helper.line}, and its gradient. " if method else f"{definition.method} and its gradient. "
    if definition.method:
        label = f"{label}.{definition.method}"
        line = 0
    elif method not in ("", label):
        label = f"{label}.{method}"
    text = f"{label}, line {line}" if label and line else label
    if not text or definition.method or not begins_backward(definition):
        return f"{text}. " if text else ""
    stores = stores_gradients(definition)
    returned = "the gradient of its input" if len(definition.returns) == 1 else "gradients of its inputs" if definition.returns else ""
    returned = f"d_residual + {returned}" if adds_residual(definition) else returned
    told = [f"returns {returned}" * bool(returned), f"stores {'those' if returned else 'gradients'} of its weights in gradients" * stores]
    return f"Backward pass of {text}" + f": {', '.join(filter(None, told))}. ".replace(": . ", ". ")


_GATES = {"LSTM": ("input, forget, cell, output", "input, output, forget, cell"), "GRU": ("reset, update, new", "update, reset, new")}
"""In the order of torch and in that of ONNX."""


def _part_of_layer(definition: Definition, *, in_torch: bool) -> str:
    """The same of a part of a recurrent layer, which is no class of the model; "" for other functions."""
    layer = recurrent_layer(definition)
    if not layer:
        return ""
    whole = f"torch.nn.{layer}" if in_torch else f"ONNX {layer}"
    if not definition.is_step:
        return f"One direction of one layer of {whole}. "
    gates = f" (gates: {_GATES[layer][not in_torch]})" if layer in _GATES else ""
    return f"One time step of {whole}{gates}. "


def _shapes_of_parameters(definition: Definition, context: Context) -> list[str]:
    """Of each parameter, a list being one."""
    lists = lists_of(definition.parameters) if not definition.is_root else {}
    shown: list[str] = []
    for index, value in enumerate(definition.parameters):
        text = describe(value.type, None, context.typical)
        if others := definition.moving.get(index):
            plain = describe(replace(value.type, config=context.typical.config), None, context.typical)
            buffers = dict.fromkeys(type_.config.buffer.upper() for type_ in (value.type, *others) if type_.config is not None)
            text = f"{plain} in {' or '.join(buffers)}" if len(buffers) > 1 else plain
        if value.group is None or value.group.name not in lists:
            shown.append(text)
        elif value.place == 0:
            shown.append(f"{len(value.group.values)} x {text}")
    return shown


def _shapes_of_results(definition: Definition, final: model.Statement | None, context: Context) -> str:
    """Of several, with their names."""
    values = final.values if isinstance(final, model.Return) and len(final.values) > 1 else ()
    names = [f"{one.name} " if isinstance(one, model.TensorRef) else "" for one in values]
    shown = []
    for place, places in enumerate(definition.results()):
        name = names[place] if names else ""
        text = describe(definition.returns[places[0]].type, None, context.typical)
        shown.append(f"{name}{len(places)} x {text}" if len(places) > 1 else f"{name}{text}")
    return ", ".join(shown)


def _entry_doc(function: model.Function, root: Definition, outputs: Sequence[model.Variable], context: Context) -> model.Function:
    if len(outputs) < 2:
        return function
    head = function.doc.partition(". ")[0] + ". " if ". " in function.doc else ""
    if len(root.results()) > model.MANY_OUTPUTS:
        return replace(function, doc=f"{head}Returns the {len(outputs)} outputs of the header, one layer after the other.")
    if len(root.results()) < 2:
        return function
    parts = []
    for places in root.results():
        names = names_of_list([outputs[place].name for place in places])
        parts.append(f"{names} {describe(root.returns[places[0]].type, None, context.typical)}")
    doc = f"{head}Returns {', '.join(parts[:-1])} and {parts[-1]}."
    return replace(function, doc=doc, brief=doc)


def _inputs(root: Definition, taken: set[str]) -> tuple[model.Variable, ...]:
    """Variables of main() that hold the program's inputs."""
    made: list[model.Variable] = []
    taken = set(taken)
    for value in root.parameters:
        names = [identifier(value.name, "arg"), identifier(f"{value.name}_in", "arg")]
        variable = unique(names, lambda name: name not in taken and name not in MAIN_RESERVED)
        taken.add(variable)
        made.append(model.Variable(value.name, variable))
    return tuple(made)


def _output_names(graph: Graph, result: FrontendResult) -> list[str]:
    """Exact names of the outputs, each another one."""
    names: dict[str, None] = {}
    for index in range(len(graph.outputs)):
        exact = result.outputs[index].name if index < len(result.outputs) else graph.output_names[index]
        exact = exact or ("output" if len(graph.outputs) == 1 else f"output_{index}")
        while exact in names:
            exact += "_"
        names[exact] = None
    return list(names)


def _output_words(graph: Graph, root: Definition, names: Sequence[str]) -> dict[int, str]:
    """Of tensors that the entry function returns in a list, what the outputs' names call it: `past_key_values.keys.0` is one of the keys."""
    returned = [name for name, value in zip(names, graph.outputs, strict=True) if not value.written]
    words: dict[int, str] = {}
    paths = []
    for places in root.lists:
        before, _, behind = numbered([returned[place] for place in places]) or ("", 0, "")
        paths.append([part for part in (behind or before).strip("._").split(".") if part])
    for places, path in zip(root.lists, paths, strict=True):
        alike = sum(other[-1:] == path[-1:] for other in paths)
        word = "_".join(path[-2 if alike > 1 else -1 :])  # of two caches' keys, also whose
        if word and not word.startswith("output") and not word[0].isdigit():
            words.update((id(root.returns[place]), identifier(word if word.endswith("s") else f"{word}s")) for place in places)
    return words


def _outputs(graph: Graph, names: Sequence[str], root: Definition, context: Context) -> tuple[model.Variable, ...]:
    """Variables of main() that hold the results; an input keeps its name, the output of the same name gets another."""
    taken = {value.name for value in graph.inputs} | {identifier(value.name, "arg") for value in graph.inputs} | context.functions
    made: list[model.Variable] = []
    for exact in names:
        variable = unique([identifier(exact, "output"), identifier(f"{exact}_out", "output")], lambda name: name not in taken and name not in MAIN_RESERVED)
        taken.add(variable)
        made.append(model.Variable(exact, variable))
    returned = [index for index, value in enumerate(graph.outputs) if not value.written]
    for places in root.lists:
        word = context.output_words.get(id(root.returns[places[0]]), "")
        beginning, _, behind = numbered([made[returned[place]].name for place in places]) or ("", 0, "")
        name = unique([word, identifier(f"{beginning}list{behind}", "outputs")], lambda name: name not in taken and name not in MAIN_RESERVED)
        taken.add(name)
        for index, place in enumerate(places):
            made[returned[place]] = replace(made[returned[place]], element=model.Element(name, index))
    return tuple(made)


def _placed(outputs: Sequence[model.Variable], graph: Graph, inputs: Sequence[model.Variable]) -> tuple[model.Variable, ...]:
    """The outputs; those that the program writes in place know where they are."""
    held = {variable.name: variable.identifier for variable in inputs}
    found = []
    for output, value in zip(outputs, graph.outputs, strict=True):
        place = model.WeightRef((value.key,)) if value.key else model.TensorRef(held.get(value.name, ""))
        found.append(replace(output, place=place) if value.written else output)
    return tuple(found)


def _program(
    graph: Graph,
    result: FrontendResult,
    options: CompilerOptions,
    root: Definition,
    context: Context,
    functions: tuple[model.Function, ...],
    prepare: tuple[model.Function, ...],
    constants: tuple[model.Constant, ...],
    prepare_constants: tuple[model.Constant, ...],
    inputs: tuple[model.Variable, ...],
    outputs: tuple[model.Variable, ...],
    language: str,
) -> model.Program:
    typical = context.typical
    program = model.Program(
        title=result.model_name or root.name,
        facts=_facts(root, graph, result, options, outputs, language, constants),
        outline=outline(root),
        constants=constants,
        prepare_constants=prepare_constants,
        functions=functions,
        prepare=prepare,
        inputs=inputs,
        outputs=outputs,
        entry=root.name,
        has_weights="weights" in context.collections[id(root)],
        split_prepare=options.split_consteval,
        source_file=context.main_file if _has_line_comments(functions) else "",
        typical=(typical.dtype, typical.layout, typical.config.buffer if typical.config else "host"),
        steps=_steps(graph),
        generation=generation_of({model.FORWARD: result}),
    )
    return model.with_device_parameter(program)


def _steps(graph: Graph) -> tuple[model.Step, ...]:
    """The calls of a forward pass: structure recovery has put the graph's nodes in the order in which they run."""
    steps: list[model.Step] = []
    makers: dict[int, int] = {}
    for node in (part for whole in graph.nodes for part in (whole.parts or (whole,))):
        maker = next((makers[id(value)] for value in node.inputs() if id(value) in makers), -1)
        makers.update((id(value), len(steps)) for value in node.results)
        names = tuple(dict.fromkeys(info.name for info in node.sources if info.name))
        shape = node.results[0].type.shape if len(node.results) == 1 else None
        dtype = node.results[0].type.dtype if node.results else ""
        steps.append(model.Step(node.spec.target, shape, dtype, names, maker, node.spec.name in SHAPING))
    return tuple(steps)


def _state_row(outputs: Sequence[model.Variable], graph: Graph, spelled: Callable[[str, TensorType], str]) -> str:
    """What the program writes in place; lists once."""
    shown = []
    for output, value in zip(outputs, graph.outputs, strict=True):
        if output.place is not None and value.group is None:
            shown.append(spelled(output.name, value.type))
        elif output.place is not None and value.group is not None and value.place == 0:
            last = len(value.group.values) - 1
            shown.append(spelled(value.group.pattern.replace("#", f"{{0..{last}}}"), value.type))
    return ", ".join(shown)


def _has_line_comments(functions: Sequence[model.Function]) -> bool:
    return any(
        isinstance(statement, model.Comment) and statement.text != statement.text.lstrip(digits)
        for function in functions
        for statement in model.statements(function.body)
    )


def _listed(rows: Sequence[tuple[model.Variable, str]]) -> str:
    """Names and what they are; those of a list, and of many those that differ in a number alone, are one: `blocks.{0..3}.mlp.w`."""
    many = len(model.results_of([one for one, _ in rows])) > model.MANY_OUTPUTS
    together: dict[tuple[str, str], list[str]] = {}
    for one, what in rows:
        together.setdefault(("" if many else one.result, what), []).append(one.name)
    shown = [(with_beginnings(compress(names)) if many else [names_of_list(names)], what) for (_, what), names in together.items()]
    return ", ".join(name + what for names, what in shown for name in names) or "none"


def _classes(graph: Graph) -> dict[str, str]:
    """The model's own class that each norm is the forward of, where there is one: `LlamaRMSNorm` of ttnn.rms_norm."""
    found: dict[str, set[str]] = {}
    for node in graph.nodes:
        if node.spec.name in NORMS:
            found.setdefault(node.spec.target, set()).update(info.scopes[-1].class_name for info in node.sources if info.scopes)
    return {op: name.rpartition(".")[2] for op, names in found.items() if len(names) == 1 and not is_library(name := names.pop())}


_PLACEMENT = "weights, inputs and outputs are in DRAM; other tensors are in L1, or in DRAM where the simulated time is not longer or L1 is full"
_TIMES = f"simulated, of one call; {UNOPTIMIZED}: without program_config, a fused activation as an op of its own, all tensors in DRAM"
"""What the times in the comments at program configs are."""


def _facts(
    root: Definition,
    graph: Graph,
    result: FrontendResult,
    options: CompilerOptions,
    outputs: Sequence[model.Variable],
    language: str,
    constants: Sequence[model.Constant],
) -> tuple[tuple[str, str], ...]:
    """Rows of the header; shapes and dtypes as on the device."""

    def spelled(name: str, type_: TensorType) -> str:
        layout = ", row-major" if type_.layout == "row_major" and len(type_.shape) > 2 else ""
        return f"{name} [{', '.join(map(str, type_.shape))}] {type_.dtype}{layout}"

    given = {argument.name: argument.dtype for argument in result.arguments}

    def of_input(value: Value) -> str:
        """With the model's own dtype where the program takes a narrower one."""
        own = given.get(value.name, "")
        narrower = own in ("float64", "float32", "float16", "int64", "uint64") and own != value.type.dtype
        return spelled(value.name, value.type) + (f" ({own} in the model)" if narrower else "")

    title = {"mlir": "MLIR function", "onnx": "ONNX graph"}.get(result.framework, result.framework)
    what = f"{title} {result.model_name}".rstrip()
    made_from = ", ".join(f"{name} {version}" for name, version in result.made_from.items())
    rows = [
        ("Model", what + weight_count(result.arguments)),
        ("Inputs", ", ".join(map(of_input, root.parameters)) or "none"),
        ("Outputs", _listed([(one, spelled("", value.type)) for one, value in zip(outputs, graph.outputs, strict=True) if one.place is None])),
    ]
    rows += mesh_facts(result, graph)
    if state := _state_row(outputs, graph, spelled):
        rows.append(("State", f"{state}: written in place"))
    suffix = "py" if language == "python" else "cpp"
    if prepared := prepared_fact(graph, result.arguments, f"consteval.{suffix}" if options.split_consteval else "prepare()"):
        rows.append(("Weights", prepared))
    if options.optimization_level == 2:
        rows.append(("Memory", _PLACEMENT))
    if any(UNOPTIMIZED in constant.comment for constant in constants):
        rows.append(("Times", _TIMES + "; irs/*_decisions.txt: the other choices and how exact their times are" * options.dump_irs))
    hidden = ("dump_irs",) if result.mesh == ONE_CHIP else ("dump_irs", "arch")  # on meshes the compiler sets arch; "Mesh" names the system
    changed = {key: value for key, value in options.changed().items() if key not in hidden}
    if changed:
        rows.append(("Options", "  ".join(f"{key}={value}" for key, value in changed.items())))
    rows.append(("Made by", f"alchemist {VERSION}" + (f" from {made_from}" if made_from else "")))
    return tuple(rows)
