"""Programs of several entry points: one program with the functions of all, weights prepared once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from alchemist.program import model
from alchemist.program.merge import renamed_function
from alchemist.program.names import RESERVED, unique
from alchemist.program.prepare import OUTPUT, STORED
from alchemist.program.walk import bound_in, mapped, with_values

_PREPARE = "prepare"


def combine(programs: Mapping[str, model.Program], title: str, what: str, generation: model.Generation | None) -> model.Program:
    """programs: by entry point, each with an entry function of that name. Functions and constants of one name that differ get the entry's name behind.

    what: the header's line about the model. generation: with the names of the programs' own inputs and outputs; those of the result have the entry
    point's name in front.
    """
    (name, first), *others = ((name, _qualified(name, program)) for name, program in programs.items())
    facts = (("Model", what), *_facts(programs))
    made = replace(first, title=title, facts=facts, entries=(_entry(name, first),), generation=_named(generation) if generation else None)
    for name, program in others:
        made = _with(made, name, _renamed(program, made))
    return made


def _entry(name: str, program: model.Program) -> model.EntryPoint:
    return model.EntryPoint(name, program.entry, program.inputs, program.outputs)


def _qualified(name: str, program: model.Program) -> model.Program:
    """Inputs and outputs as `entry.name`, since both entry points may have one of a name."""
    inputs = tuple(replace(variable, name=f"{name}.{variable.name}") for variable in program.inputs)
    return replace(program, inputs=inputs, outputs=tuple(replace(variable, name=f"{name}.{variable.name}") for variable in program.outputs))


def _named(generation: model.Generation) -> model.Generation:
    step, prompt = generation.step, generation.prompt

    def full(entry: str, name: str) -> str:
        return f"{entry}.{name}" if name else ""

    fed = tuple((full(step.entry, name), maker) for name, maker in step.fed)
    step = replace(step, tokens=full(step.entry, step.tokens), position=full(step.entry, step.position), logits=full(step.entry, step.logits), fed=fed)
    if prompt is not None:
        prompt = replace(prompt, tokens=full(prompt.entry, prompt.tokens), logits=full(prompt.entry, prompt.logits))
    return model.Generation(step, prompt)


def _facts(programs: Mapping[str, model.Program]) -> tuple[tuple[str, str], ...]:
    """The header's rows; inputs, outputs and state for each entry point, a row that all have alike once."""
    rows: list[tuple[str, str]] = []
    for name, program in programs.items():
        for label, text in program.facts:
            if label in ("Inputs", "Outputs", "State"):
                rows.append((label, f"{name}: {text}"))
            elif label != "Model" and label not in dict(rows):
                rows.append((label, text))
    order = ["Inputs", "Outputs", "State"]
    said: set[str] = set()
    out = []
    for label, text in sorted(rows, key=lambda row: order.index(row[0]) if row[0] in order else len(order)):
        out.append(("" if label in said else label, text))
        said.add(label)
    return tuple(out)


def _renamed(program: model.Program, before: model.Program) -> model.Program:
    """`program` with other names where a function or constant of `before` has the name and is another."""
    taken = {*RESERVED, *_names(before), *_names(program)}
    suffix = program.entry
    constants: dict[str, str] = {}
    known = {one.name: one for one in (*before.constants, *before.prepare_constants)}
    for one in dict.fromkeys((*program.constants, *program.prepare_constants)):
        if one.name in known and known[one.name] != one:
            constants[one.name] = _free(f"{one.name}_{suffix.upper()}", taken)
    changed = replace(
        program,
        constants=tuple(replace(one, name=constants.get(one.name, one.name)) for one in program.constants),
        prepare_constants=tuple(replace(one, name=constants.get(one.name, one.name)) for one in program.prepare_constants),
    )
    functions, names = _functions(program.functions, before.functions, constants, suffix, taken)
    prepared: tuple[model.Function, ...] = ()
    if program.prepare:
        *helpers, root = program.prepare
        held = {*RESERVED, *constants.values()}.union(*(_names_in(function) for function in (*before.prepare, *program.prepare)))
        root = replace(root, name=_free(f"{_PREPARE}_{suffix}", held), parameters=(STORED, OUTPUT))
        prepared, _ = _functions([*helpers, root], before.prepare, constants, suffix, held)
    outline = tuple(replace(row, function=names.get(row.function, row.function)) for row in program.outline)
    return replace(changed, functions=tuple(functions), prepare=tuple(prepared), outline=outline, entry=names.get(program.entry, program.entry))


def _functions(
    functions: Sequence[model.Function], before: Sequence[model.Function], constants: Mapping[str, str], suffix: str, taken: set[str]
) -> tuple[tuple[model.Function, ...], dict[str, str]]:
    """Callee first. Returns what is not there yet, and the new names."""
    known = {function.name: function for function in before}
    names: dict[str, str] = {}
    made = []
    for function in functions:
        changed = renamed_function(replace(function, body=_rewritten(function.body, constants)), names)
        if known.get(function.name) == changed:
            continue
        if function.name in known:
            names[function.name] = _free(f"{function.name}_{suffix}", taken)
        made.append(replace(changed, name=names.get(function.name, function.name)))
    return tuple(made), names


def _rewritten(body: tuple[model.Statement, ...], constants: Mapping[str, str]) -> tuple[model.Statement, ...]:
    def value(old: model.Value) -> model.Value:
        return model.ConstantRef(constants[old.name]) if isinstance(old, model.ConstantRef) and old.name in constants else old

    return mapped(body, lambda statement: with_values(statement, value))


def _free(name: str, taken: set[str]) -> str:
    found = unique([name], lambda name: name not in taken)
    taken.add(found)
    return found


def _names(program: model.Program) -> set[str]:
    """Names of functions, constants, parameters and variables."""
    constants = (one.name for one in (*program.constants, *program.prepare_constants))
    return {*constants}.union(*(_names_in(function) for function in (*program.functions, *program.prepare)))


def _names_in(function: model.Function) -> set[str]:
    return {function.name, *(parameter.name for parameter in function.parameters), *bound_in(function.body)}


def _with(before: model.Program, name: str, program: model.Program) -> model.Program:
    """Both in one: `prepare` of the first prepares for all."""
    prepare = before.prepare
    if program.prepare and program.prepare[-1].body:
        *helpers, root = prepare
        call = model.CallFunction(program.prepare[-1].name, (model.ScopeArgument("stored"), model.ScopeArgument("weights")), ())
        prepare = (*helpers, *program.prepare, replace(root, body=(*root.body, call)))
    return replace(
        before,
        outline=(*before.outline, *program.outline),
        constants=tuple(dict.fromkeys([*before.constants, *program.constants])),
        prepare_constants=tuple(dict.fromkeys([*before.prepare_constants, *program.prepare_constants])),
        functions=(*before.functions, *program.functions),
        prepare=prepare,
        has_weights=before.has_weights or program.has_weights,
        entries=(*before.entries, _entry(name, program)),
    )
