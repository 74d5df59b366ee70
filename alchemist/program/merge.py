"""Functions that differ in constants and names of variables alone become one function with those constants as parameters.

A convolution block of four stages is one body with four sets of channels, sizes and strides. Works on finished functions, so
that the forward pass and the const-eval functions, Python and C++ are treated alike.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace

from alchemist.program import model
from alchemist.program.alignment import CONSTANTS, MAX_CONSTANTS, MAX_FIELDS, OPTIONAL, Aligned, align, kind_of
from alchemist.program.alpha_renaming import Mismatch, renamed_like
from alchemist.program.bundle_constants import bundles_in
from alchemist.program.bundles import bundled
from alchemist.program.defaults import with_defaults
from alchemist.program.lengths import lines_of_functions
from alchemist.program.names import unique
from alchemist.program.optional_parts import with_optional_part
from alchemist.program.still_moves import with_equal_moves
from alchemist.program.unrolled import with_unrolled_loops
from alchemist.program.variants import Places, joined
from alchemist.program.walk import calls_in, mapped

MAX_COMPARED = 12
"""Functions of a group that one more is compared with."""
MIN_GAIN = 8
"""Lines that one function with a branch, or with a named tuple of configs, must save over several."""


@dataclass(slots=True)
class Merged:
    """functions: callee first. renamed: name of a function that is gone -> the one in its place. joined: classes of which forms that differ in a part are
    one, callees first."""

    functions: list[model.Function]
    renamed: dict[str, str] = field(default_factory=dict)
    joined: tuple[str, ...] = ()


@dataclass(slots=True)
class _Call:
    """What a call of a former function has become."""

    function: str
    numbers: tuple[model.NumberArgument, ...]


def merge_functions(functions: Sequence[model.Function], taken: set[str], bases: Mapping[str, str] | None = None, places: Places | None = None) -> Merged:
    """taken: names that parameters must not have. The last function is the entry and stays as it is, but for its calls.

    bases: what functions are called after their class or method. One that stands for several modules is not called after the attribute of the first.
    places: where functions are called; with it those that differ in one part become one with a branch, where that shortens the program: its callers give it
    what the forms differ in, and are shorter themselves where they become one, too.
    """
    made = _merged(functions, taken, bases or {}, places, frozenset())
    apart: frozenset[str] = frozenset()
    for module in reversed(made.joined):
        other = _merged(functions, taken, bases or {}, places, apart | {module})
        if _lines(made.functions) - _lines(other.functions) >= MIN_GAIN:
            made, apart = other, apart | {module}
    return made


def _lines(functions: Sequence[model.Function]) -> int:
    """Of a program, with the named tuples that its functions are given and their types."""
    bundles = {bundle for function in functions for bundle, _ in bundles_in(function)}
    types = {bundle.type_: len(bundle.kinds) + 3 for bundle in bundles}
    tuples = sum(types.values()) + sum(len(bundle.fields) + 2 for bundle in bundles)
    return lines_of_functions(with_defaults(functions, by_name=True)) + tuples


def _merged(functions: Sequence[model.Function], taken: set[str], bases: Mapping[str, str], places: Places | None, apart: Set[str]) -> Merged:
    """apart: classes of which no function becomes one with a branch."""
    *others, entry = functions
    depths = _depths(others)
    depths = _by_class(others, depths) if places is not None else depths
    calls: dict[str, _Call] = {}
    classes: dict[str, None] = {}
    final: dict[str, model.Function | None] = {function.name: None for function in others}  # the order of the result
    for depth in range(max(depths.values(), default=-1) + 1):
        level = [_recall(function, calls) for function in others if depths[function.name] == depth]
        clusters = _clusters(level, taken, MAX_CONSTANTS) if places is None else _with_equal_moves(level, taken)
        if places is not None:
            before, clusters = clusters, _with_branches(clusters, places, taken, apart)
            whole = {id(members) for members in clusters}
            classes.update(dict.fromkeys(members[0].module for members in before if id(members) not in whole))
        for members in clusters:
            first = members[0]
            if len(members) == 1:
                final[first.name] = first
                continue
            made = align(members, taken) if places is None else bundled(align(members, taken))
            final[first.name] = made.function
            for index, member in enumerate(members):
                numbers = tuple(model.NumberArgument(name, values[index]) for name, values in made.added.items())
                calls[member.name] = _Call(first.name, numbers)
    kept = _callees_first([_filled(function) for function in (*final.values(), _recall(entry, calls)) if function is not None])
    names = [function.name for function in kept]
    general = _of_their_class(names, {call.function for call in calls.values()}, bases)
    counts = _counted(general)
    counted = {old: counts.get(new, new) for old, new in zip(names, general, strict=True) if counts.get(new, new) != old}
    renamed = {name: counted.get(call.function, call.function) for name, call in calls.items()}
    return Merged([renamed_function(function, counted) for function in kept], counted | renamed, tuple(classes))


def _with_branches(clusters: Sequence[list[model.Function]], places: Places, taken: set[str], apart: Set[str]) -> list[list[model.Function]]:
    """The groups; those of a class that differ in one part, which the names of their weights or else a flag tell apart, are one."""
    for told_by in (places, None):
        out: list[list[model.Function]] = []
        for cluster in clusters:
            ways: list[tuple[int, int, list[model.Function]]] = []
            for place, other in enumerate(out[-MAX_COMPARED:], max(len(out) - MAX_COMPARED, 0)):
                made = () if other[0].module in apart else _as_one(other, cluster, told_by)
                ways += [(_gain(one, (other, cluster), taken), place, one) for one in made]
            gain, place, together = max(ways, key=lambda way: way[0], default=(0, 0, cluster))
            if gain > 0:
                out[place] = together
            else:
                out.append(cluster)
        clusters = out
    return list(clusters)


def _as_one(one: list[model.Function], two: list[model.Function], places: Places | None) -> Iterator[list[model.Function]]:
    """Ways to make one group of two. Functions with the same statements may be too few to tell a number by means of others when they are met one by one."""
    if _shape(one[0]) == _shape(two[0]):
        try:
            yield [*one, *(renamed_like(function, one[0]) for function in two)]
        except Mismatch:
            pass
    if (together := joined(one, two, places)) is not None:
        yield together
    if (found := with_optional_part(one, two, places)) is not None:
        yield [*found[0], *found[1]]
    elif (found := with_optional_part(two, one, places)) is not None:
        yield [*found[1], *found[0]]


def _gain(together: Sequence[model.Function], parts: Sequence[Sequence[model.Function]], taken: set[str]) -> int:
    """Lines that one function saves, of which each constant that a call is given beside those for the parts takes one; 0 where it is not worth it."""
    try:
        made = align(together, taken)
    except Mismatch:
        return 0
    apart = [align(part, taken) for part in parts]
    bundles = _lines_of_bundles(made) - sum(map(_lines_of_bundles, apart))
    saved = lines_of_functions([one.function for one in apart]) - lines_of_functions([made.function]) - bundles - len(together)
    if not made.is_readable(MAX_FIELDS) or saved < MIN_GAIN:
        return 0
    given = len(together) * len(made.added) - sum(len(part) * len(one.added) for part, one in zip(parts, apart, strict=True))
    return max(saved - given, 1)


def _lines_of_bundles(made: Aligned) -> int:
    """Of the named tuples of configs that calls give the function, and of their type."""
    found = {value for values in bundled(made).added.values() for value in values if isinstance(value, model.Bundle)}
    return sum(len(one.fields) + 2 for one in found) + max((len(one.kinds) + 3 for one in found), default=0)


def _filled(function: model.Function) -> model.Function:
    """The function without what no statement reads: a number that one form of a function does not need is 1."""

    def argument(one: model.Argument) -> model.Argument:
        return replace(one, value=model.Literal(1)) if isinstance(one, model.NumberArgument) and isinstance(one.value, model.Unused) else one

    def change(one: model.Statement) -> model.Statement:
        return replace(one, arguments=tuple(argument(old) for old in one.arguments)) if isinstance(one, model.CallFunction) else one

    return replace(function, body=mapped(function.body, change))


def _of_their_class(names: Sequence[str], merged: Collection[str], bases: Mapping[str, str]) -> list[str]:
    """The names, where those of merged functions that one module's attribute gave are the class's, with a number where that is taken."""
    found = list(names)
    for place, name in enumerate(names):
        base = bases.get(name, "")
        if name in merged and base and not re.fullmatch(rf"{re.escape(base)}(_\d+)?", name):
            found[place] = unique([base], lambda wanted: wanted not in found)
    return found


def _counted(names: Sequence[str]) -> dict[str, str]:
    """Functions of one class are numbered without gaps: new names of those whose number is too high."""
    found: dict[str, str] = {}
    taken = set(names)
    frees: dict[str, int] = {}
    for name in names:
        base, _, number = name.rpartition("_")
        if base in taken and number.isdigit() and int(number) > 2:
            free = frees.get(base, 2)
            while f"{base}_{free}" in taken:
                free += 1
            frees[base] = free
            if free < int(number):
                found[name] = f"{base}_{free}"
                taken.remove(name)
                taken.add(found[name])
    return found


def renamed_function(function: model.Function, names: Mapping[str, str]) -> model.Function:
    """The function with new names of functions, its own and those that it calls."""

    def change(one: model.Statement) -> model.Statement:
        return replace(one, function=names.get(one.function, one.function)) if isinstance(one, model.CallFunction) else one

    return replace(function, name=names.get(function.name, function.name), body=mapped(function.body, change)) if names else function


def _callees_first(functions: Sequence[model.Function]) -> list[model.Function]:
    """The functions in their order, but none before what it calls: a branch that came from a later one calls later ones."""
    pending = {function.name: function for function in functions}
    ordered: list[model.Function] = []

    def add(name: str) -> None:
        function = pending.pop(name, None)
        if function is None:
            return
        for call in calls_in(function.body):
            add(call.function)
        ordered.append(function)

    for function in functions:
        add(function.name)
    return ordered


def _depths(functions: Sequence[model.Function]) -> dict[str, int]:
    """Longest chain of calls below each function; callees come first."""
    depths: dict[str, int] = {}
    for function in functions:
        depths[function.name] = max((depths[call.function] + 1 for call in calls_in(function.body) if call.function in depths), default=0)
    return depths


def _by_class(functions: Sequence[model.Function], depths: Mapping[str, int]) -> dict[str, int]:
    """The depths with all functions of a class as deep as the deepest, so that they meet; as they are where classes are nested in themselves."""
    found = dict(depths)
    callees = {function.name: [call.function for call in calls_in(function.body) if call.function in depths] for function in functions}
    for _ in range(max(depths.values(), default=0) + 2):
        deepest: dict[str, int] = {}
        for function in functions:
            deepest[function.module] = max(deepest.get(function.module, 0), found[function.name])
        raised = dict(found)
        for function in functions:  # callees come first
            own = deepest[function.module] if function.module else found[function.name]
            raised[function.name] = max(own, *(raised[name] + 1 for name in callees[function.name])) if callees[function.name] else own
        if raised == found:
            return found
        found = raised
    return dict(depths)


def _recall(function: model.Function, calls: Mapping[str, _Call]) -> model.Function:
    def change(one: model.Statement) -> model.Statement:
        if not isinstance(one, model.CallFunction) or one.function not in calls:
            return one
        call = calls[one.function]
        return replace(one, function=call.function, arguments=(*one.arguments, *call.numbers))

    return replace(function, body=mapped(function.body, change)) if calls else function


def _clusters(
    functions: Sequence[model.Function], taken: set[str], constants: int, forms: Sequence[model.Function] | None = None
) -> list[list[model.Function]]:
    """Groups that can be merged with gain, in order of their first members. constants: that a function takes at most. forms: of the functions in a group."""
    clusters: list[list[model.Function]] = []
    original = {function.name: function for function in functions}
    by_shape: dict[Hashable, list[list[model.Function]]] = {}
    for function in forms or functions:
        near = by_shape.setdefault(_shape(function), [])
        for cluster in near:
            try:
                alike = renamed_like(function, cluster[0])
                made = align([*cluster[:MAX_COMPARED], alike], taken)
            except Mismatch:
                continue
            if made.is_readable(constants):
                cluster.append(alike)
                break
        else:
            near.append([function])
            clusters.append(near[-1])
    out: list[list[model.Function]] = []
    for cluster in clusters:
        gains = len(cluster) > 1 and _saves(cluster, align(cluster, taken), constants)
        out += [cluster] if gains else [[original[function.name]] for function in cluster]
    return out


def _with_equal_moves(functions: Sequence[model.Function], taken: set[str]) -> list[list[model.Function]]:
    """The groups, where moves that some functions do not need are no difference. Those of a group have the moves that one of it needs."""
    out: list[list[model.Function]] = []
    original = {function.name: function for function in functions}
    for cluster in _clusters(functions, taken, MAX_FIELDS, _forms(functions)):
        members = [original[function.name] for function in cluster]
        out += _clusters(members, taken, MAX_FIELDS, _forms(members))
    return out


def _forms(functions: Sequence[model.Function]) -> list[model.Function]:
    return with_equal_moves(with_unrolled_loops(functions))


def _shape(function: model.Function) -> Hashable:
    """Equal for functions that may be one: statements without arguments and names of variables."""
    parts: list[Hashable] = []
    for one in model.statements(function.body):
        match one:
            case model.Call():
                parts.append((one.spec.name, _targets(one), one.returned, _plain_arguments(one)))
            case model.CallFunction():
                parts.append((one.function, len(one.arguments), _targets(one), one.returned))
            case model.Comment():
                pass
            case _:
                parts.append(type(one).__name__)
    kinds = tuple(parameter.kind if parameter.kind == "tensor" else parameter for parameter in function.parameters)
    return (function.module, kinds, function.returns, tuple(parts))


def _plain_arguments(call: model.Call) -> Hashable:
    """Constants that must be equal: none that may become parameters."""
    return tuple(
        (arg.name, type(value).__name__, kind_of([value])) for arg, value in call.arguments if isinstance(value, CONSTANTS) and arg.kind not in OPTIONAL
    )


def _targets(call: model.Call | model.CallFunction) -> tuple[model.WeightRef | None, ...]:
    return tuple(None if isinstance(result, str) else result for result in call.results)


def _saves(members: Sequence[model.Function], made: Aligned, constants: int) -> bool:
    if not made.is_readable(constants):
        return False
    bundles = _lines_of_bundles(made)
    if not bundles:
        return (len(members) - 1) * lines_of_functions(members[:1]) > len(members) * (len(made.added) + 1)
    given = len(bundled(made).added) * len(members)
    return lines_of_functions(members) - lines_of_functions([made.function]) - bundles - given >= MIN_GAIN
