"""An activation that a program fuses several times is a constant: `RELU`.

Works behind `constants`: also configs that are constants read it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from alchemist.ops.spec import Kind
from alchemist.program import model
from alchemist.program.walk import leaves, mapped, with_values

EXACT_COMMENT = "{}'s parameter 0.0: the exact form; 1.0 would be the approximation"
MIN_USES = 3
"""Places that are worth a constant."""


def name_activations(
    functions: Sequence[model.Function], constants: Sequence[model.Constant], taken: set[str], *, lists: bool
) -> tuple[tuple[model.Function, ...], tuple[model.Constant, ...]]:
    """The functions and constants, with the activations in front. lists: also those that calls take as a list (in C++ these are of another type)."""
    used: Counter[model.Unary] = Counter()
    for constant in constants:
        used.update(_fields(constant.value))
    for function in functions if lists else ():
        for call in (one for one in model.statements(function.body) if isinstance(one, model.Call)):
            used.update(one for one in leaves(value for _, value in call.arguments) if isinstance(one, model.Unary))
    forms = Counter(one.op for one in used)
    names = {one: one.op for one, count in used.items() if count >= MIN_USES and forms[one.op] == 1 and one.op not in taken and one.named is None}
    if not names:
        return tuple(functions), tuple(constants)

    def named(value: model.Value) -> model.Value:
        if isinstance(value, model.Record | model.Bundle):
            return replace(value, fields=tuple((name, named(part)) for name, part in value.fields))
        return model.ConstantRef(names[value]) if isinstance(value, model.Unary) and value in names else value

    told = {one: form_of(one) for one in names}
    made = [model.Constant(name, one, Kind.UNARY_LIST, told[one]) for one, name in names.items()]
    changed = [replace(constant, value=named(constant.value), comment=_without(constant.comment, told.values())) for constant in constants]
    if lists:
        functions = [replace(function, body=mapped(function.body, lambda one: with_values(one, named))) for function in functions]
    return tuple(functions), (*made, *changed)


def _fields(value: model.Value) -> Iterator[model.Unary]:
    if isinstance(value, model.Unary):
        yield value
    elif isinstance(value, model.Record | model.Bundle):
        for _, part in value.fields:
            yield from _fields(part)


def form_of(activation: model.Unary) -> str:
    """A comment on what a parameter means, "" where that is plain."""
    return EXACT_COMMENT.format(activation.op) if activation.op in ("GELU", "TANH") and activation.parameters == (0.0,) else ""


def _without(comment: str, told: Iterable[str]) -> str:
    """A config's comment without what the activation's says."""
    for text in filter(None, told):
        comment = comment.removesuffix(text).removesuffix(". ")
    return comment
