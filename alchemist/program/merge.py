"""Functions that differ in constants and names of variables alone become one function with those constants as parameters.

A convolution block of four stages is one body with four sets of channels, sizes and strides. Works on finished functions, so
that the forward pass and the const-eval functions, Python and C++ are treated alike.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from alchemist.ops.spec import REQUIRED, Kind
from alchemist.program import model
from alchemist.program.alpha_renaming import Mismatch, renamed_like
from alchemist.program.extract import to_value
from alchemist.program.names import RESERVED, identifier, unique
from alchemist.program.walk import bound_by, mapped, with_arguments

MAX_PARAMETERS = 7
"""Numbers that a function takes at most; more are harder to read than a second function."""
MAX_CONSTANTS = 3
"""Other constants (memory configs, flags) that a function takes at most."""
MAX_COMPARED = 12
"""Functions of a group that one more is compared with."""
_DEFAULTED = (Kind.INT, Kind.INT_LIST, Kind.SHAPE, Kind.PAIR_LIST)


@dataclass(slots=True)
class Merged:
    """functions: callee first. renamed: name of a function that is gone -> the one in its place."""

    functions: list[model.Function]
    renamed: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class _Call:
    """What a call of a former function has become."""

    function: str
    numbers: tuple[model.NumberArgument, ...]


def merge_functions(functions: Sequence[model.Function], taken: set[str], bases: Mapping[str, str] | None = None) -> Merged:
    """taken: names that parameters must not have. The last function is the entry and stays as it is, but for its calls.

    bases: what functions are called after their class or method. One that stands for several modules is not called after the attribute of the first.
    """
    *others, entry = functions
    depths = _depths(others)
    calls: dict[str, _Call] = {}
    final: dict[str, model.Function | None] = {function.name: None for function in others}  # the order of the result
    for depth in range(max(depths.values(), default=-1) + 1):
        level = [_recall(function, calls) for function in others if depths[function.name] == depth]
        for members in _clusters(level, taken):
            first = members[0]
            if len(members) == 1:
                final[first.name] = first
                continue
            made = align(members, taken)
            final[first.name] = made.function
            for index, member in enumerate(members):
                calls[member.name] = _Call(first.name, tuple(model.NumberArgument(name, values[index]) for name, values in made.added.items()))
    kept = [*(function for function in final.values() if function is not None), _recall(entry, calls)]
    names = [function.name for function in kept]
    general = _of_their_class(names, {call.function for call in calls.values()}, bases or {})
    counts = _counted(general)
    counted = {old: counts.get(new, new) for old, new in zip(names, general, strict=True) if counts.get(new, new) != old}
    renamed = {name: counted.get(call.function, call.function) for name, call in calls.items()}
    return Merged([renamed_function(function, counted) for function in kept], counted | renamed)


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


def _depths(functions: Sequence[model.Function]) -> dict[str, int]:
    """Longest chain of calls below each function; callees come first."""
    depths: dict[str, int] = {}
    for function in functions:
        called = [statement.function for statement in model.statements(function.body) if isinstance(statement, model.CallFunction)]
        depths[function.name] = max((depths[name] + 1 for name in called if name in depths), default=0)
    return depths


def _recall(function: model.Function, calls: Mapping[str, _Call]) -> model.Function:
    def change(one: model.Statement) -> model.Statement:
        call = calls.get(one.function) if isinstance(one, model.CallFunction) else None
        return replace(one, function=call.function, arguments=(*one.arguments, *call.numbers)) if call and isinstance(one, model.CallFunction) else one

    return replace(function, body=mapped(function.body, change)) if calls else function


def _clusters(functions: Sequence[model.Function], taken: set[str]) -> list[list[model.Function]]:
    """Groups that can be merged with gain, in order of their first members."""
    clusters: list[list[model.Function]] = []
    original = {function.name: function for function in functions}
    by_shape: dict[Hashable, list[list[model.Function]]] = {}
    for function in functions:
        near = by_shape.setdefault(_shape(function), [])
        for cluster in near:
            try:
                alike = renamed_like(function, cluster[0])
                made = align([*cluster[:MAX_COMPARED], alike], taken)
            except Mismatch:
                continue
            if made.is_readable():
                cluster.append(alike)
                break
        else:
            near.append([function])
            clusters.append(near[-1])
    out: list[list[model.Function]] = []
    for cluster in clusters:
        gains = len(cluster) == 1 or _saves(cluster, align(cluster, taken))
        out += [cluster] if gains else [[original[function.name]] for function in cluster]
    return out


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
                parts.append(one.text)
            case _:
                parts.append(type(one).__name__)
    kinds = tuple(parameter.kind if parameter.kind == "tensor" else parameter for parameter in function.parameters)
    return (function.module, kinds, function.returns, tuple(parts))


def _plain_arguments(call: model.Call) -> Hashable:
    """Constants that must be equal: none that may become parameters."""
    return tuple((arg.name, type(value).__name__, _kind_of([value])) for arg, value in call.arguments if isinstance(value, _CONSTANTS))


def _targets(call: model.Call | model.CallFunction) -> tuple[model.WeightRef | None, ...]:
    return tuple(None if isinstance(result, str) else result for result in call.results)


def _saves(members: Sequence[model.Function], made: Aligned) -> bool:
    lines = 4 + sum(_lines(statement) for statement in model.statements(members[0].body))
    return made.is_readable() and (len(members) - 1) * lines > len(members) * (len(made.added) + 1)


def _lines(statement: model.Statement) -> int:
    """About how many lines a statement takes."""
    if isinstance(statement, model.Call | model.CallFunction):
        return 1 if len(statement.arguments) < 6 else len(statement.arguments) + 2
    return 1


@dataclass(slots=True)
class Aligned:
    """The function that stands for several. added: its new parameters, with the value for each of them."""

    function: model.Function
    added: dict[str, tuple[model.Value, ...]]

    def is_readable(self) -> bool:
        """Whether it has not too many parameters."""
        numbers = sum(parameter.kind == "number" for parameter in self.function.parameters if parameter.name in self.added)
        return numbers <= MAX_PARAMETERS and len(self.added) - numbers <= MAX_CONSTANTS


def align(members: Sequence[model.Function], taken: set[str]) -> Aligned:
    """The function that stands for all.

    Raises:
        Mismatch: they differ in more than constants.
    """
    first = members[0]
    aligner = _Aligner()
    body = aligner.block([function.body for function in members])
    used = {parameter.name for parameter in first.parameters} | taken | RESERVED
    for statement in model.statements(first.body):
        used |= bound_by(statement)
    numbers, texts = aligner.names(used)
    constants = aligner.constant_names(used | set(numbers.values()))
    names = {f"#{index}": texts[numbers_of] for index, numbers_of in enumerate(aligner.uses)}
    body = _named(body, names | {f"#{index}c": name for index, name in enumerate(constants)})
    doc, brief = first.doc, first.brief
    if doc and any(function.doc != doc for function in members):
        doc, brief = (f"{text}; shapes are those of the first call" if text else "" for text in (doc, brief))
    scopes = tuple(dict.fromkeys(scope for function in members for scope in function.scopes))
    parameters = [*first.parameters, *(model.Parameter(name, "number") for name in numbers.values())]
    parameters += [model.Parameter(name, _kind_of(values)) for name, values in constants.items()]
    added: dict[str, tuple[model.Value, ...]] = {name: tuple(model.Literal(number) for number in vector) for (vector, _), name in numbers.items()}
    return Aligned(replace(first, parameters=tuple(parameters), body=body, doc=doc, brief=brief, scopes=scopes), added | constants)


_CONSTANTS = (model.Literal, model.MemoryConfig, model.Record, model.DType, model.Layout)
_KINDS: dict[type, str] = {model.MemoryConfig: "memory_config", model.DType: "dtype", model.Layout: "layout", bool: "bool", float: "float", str: "text"}


def _kind_of(values: Sequence[model.Value]) -> str:
    """What kind of parameter can stand for constants, "" for none."""
    kinds = {constant_kind(value) for value in values}
    return kinds.pop() if len(kinds) == 1 else ""


def constant_kind(value: model.Value) -> str:
    """Kind of the parameter that can stand for a constant, "" for none."""
    if isinstance(value, model.Literal):
        return "number" if type(value.value) is int else _KINDS.get(type(value.value), "")
    if isinstance(value, model.Record):
        return "conv2d_config" if value.class_name == "ttnn.Conv2dConfig" else ""
    return _KINDS.get(type(value), "")


_Numbers = tuple[tuple[int, ...], bool]
"""Values of an integer (one per function), and whether they are paddings: these are no strides, even where they are equal."""


class _Aligner:
    """Walks equal functions side by side. uses: integers -> arguments they are given to; constants: the same for no integers."""

    def __init__(self) -> None:
        self.uses: dict[_Numbers, list[str]] = {}
        self.constants: dict[tuple[model.Value, ...], list[str]] = {}
        self.final_channels: tuple[int, ...] = ()  # those of the last convolution's result

    def names(self, used: set[str]) -> tuple[dict[_Numbers, str], dict[_Numbers, str]]:
        """(parameters, what stands for each number: a parameter, or an expression of parameters)."""
        numbers: dict[_Numbers, str] = {}
        texts: dict[_Numbers, str] = {}
        taken = set(used)
        for key, uses in sorted(self.uses.items(), key=lambda item: all(use.startswith("dim") for use in item[1])):  # what follows from others last
            vector, pads = key
            text = self._half_kernel(vector, numbers) if pads else ""
            text = text or ("" if _KEPT & set(uses) else _expression(vector, {known: name for (known, _), name in numbers.items()}))
            if not text:
                words = _words(uses, final=vector == self.final_channels)
                text = unique([identifier(name, "size") for name in words], lambda name: name not in taken)
                taken.add(text)
                numbers[key] = text
            texts[key] = text
        return numbers, texts

    def _half_kernel(self, padding: tuple[int, ...], numbers: Mapping[_Numbers, str]) -> str:
        """The padding that keeps an image's size, by the kernel's; "" for any other."""
        for (sizes, _), name in numbers.items():
            if "kernel_size" in self.uses.get((sizes, False), ()) and all(size // 2 == pad for size, pad in zip(sizes, padding, strict=True)):
                return f"{name} // 2"
        return ""

    def constant_names(self, used: set[str]) -> dict[str, tuple[model.Value, ...]]:
        """Parameters that are no integers, with their values."""
        found: dict[str, tuple[model.Value, ...]] = {}
        for values, uses in self.constants.items():
            words = [identifier(use, "option") for use in dict.fromkeys(uses)]
            found[unique(words, lambda name: name not in used and name not in found)] = values
        return found

    def block(self, bodies: Sequence[tuple[model.Statement, ...]]) -> tuple[model.Statement, ...]:
        if len({len(body) for body in bodies}) > 1:
            raise Mismatch
        return tuple(self.statement(row) for row in zip(*bodies, strict=True))

    def statement(self, row: Sequence[model.Statement]) -> model.Statement:
        first = row[0]
        if isinstance(first, model.Call):
            return self.call([statement for statement in row if isinstance(statement, model.Call)], len(row))
        if any(type(statement) is not type(first) for statement in row):
            raise Mismatch
        if isinstance(first, model.CallFunction):
            calls = [statement for statement in row if isinstance(statement, model.CallFunction)]
            if any((call.function, call.results, call.returned) != (first.function, first.results, first.returned) for call in calls):
                raise Mismatch
            if any(len(call.arguments) != len(first.arguments) for call in calls):
                raise Mismatch
            return replace(first, arguments=tuple(self.argument(column) for column in zip(*(call.arguments for call in calls), strict=True)))
        if isinstance(first, model.Loop):
            loops = [statement for statement in row if isinstance(statement, model.Loop)]
            if any((loop.variable, loop.start, loop.step) != (first.variable, first.start, first.step) for loop in loops):
                raise Mismatch
            stop = self.value([loop.stop for loop in loops], "count")
            container = first.container if isinstance(stop, model.Literal) else ""
            return replace(first, stop=stop, container=container, body=self.block([loop.body for loop in loops]))
        if isinstance(first, model.NameLoop):
            named = [statement for statement in row if isinstance(statement, model.NameLoop)]
            if any((one.variable, one.names) != (first.variable, first.names) for one in named):
                raise Mismatch
            return replace(first, body=self.block([one.body for one in named]))
        if any(statement != first for statement in row):
            raise Mismatch
        return first

    def call(self, row: Sequence[model.Call], count: int) -> model.Call:
        first = row[0]
        if len(row) != count or any((call.spec.name, call.results, call.returned) != (first.spec.name, first.results, first.returned) for call in row):
            raise Mismatch
        by_name = [{arg.name: value for arg, value in call.arguments} for call in row]
        arguments = []
        for arg in first.spec.args:
            if not any(arg.name in named for named in by_name):
                continue
            values: list[model.Value] = []
            for named in by_name:
                value = named.get(arg.name)
                if value is None and arg.kind in _DEFAULTED and arg.default is not REQUIRED and arg.default is not None:
                    value = to_value(arg.default, arg)
                if value is None:
                    raise Mismatch
                values.append(value)
            arguments.append((arg, self.value(values, arg.name)))
        note = first.note if all(call.note == first.note for call in row) else ""  # a shape that is another one in some calls
        return replace(first, arguments=tuple(arguments), note=note)

    def argument(self, row: Sequence[model.Argument]) -> model.Argument:
        first = row[0]
        if isinstance(first, model.NumberArgument):
            numbers = [statement for statement in row if isinstance(statement, model.NumberArgument) and statement.name == first.name]
            if len(numbers) != len(row):
                raise Mismatch
            return replace(first, value=self.value([number.value for number in numbers], first.name))
        if any(statement != first for statement in row):
            raise Mismatch
        return first

    def value(self, values: Sequence[model.Value], use: str) -> model.Value:
        first = values[0]
        if len({repr(value) for value in values}) == 1:  # repr: 1, 1.0 and True are equal
            return first
        integers = [value.value for value in values if isinstance(value, model.Literal) and type(value.value) is int]
        if len(integers) == len(values):
            vector = tuple(integers)
            key = (vector, use == "padding")
            uses = self.uses.setdefault(key, [])
            uses.append(use)
            if use == "out_channels":
                self.final_channels = vector
            return model.NumberRef(f"#{list(self.uses).index(key)}")
        if _kind_of(values):
            self.constants.setdefault(tuple(values), []).append(use)
            return model.ParameterRef(f"#{list(self.constants).index(tuple(values))}c")
        lists = [value.items for value in values if isinstance(value, model.Items)]
        if len(lists) != len(values) or len({len(value) for value in lists}) > 1:
            raise Mismatch
        last = len(lists[0]) - 1
        words = [_element(use, index, last) for index in range(last + 1)]
        return model.Items(tuple(self.value(column, word) for column, word in zip(zip(*lists, strict=True), words, strict=True)))


_KEPT = frozenset({"num_heads", "num_kv_heads", "groups", "num_groups", "stride", "kernel_size", "padding", "dilation", "count"})
"""Arguments that are numbers of the model: parameters even where they follow from others."""
_EVIDENCE = 3
"""Functions that must agree before one number is written by means of another."""


def _expression(vector: tuple[int, ...], numbers: Mapping[tuple[int, ...], str]) -> str:
    """The number as multiple, fraction, product, quotient or neighbour of parameters; "" if it is none, or too few functions tell."""
    if len(set(vector)) < _EVIDENCE:
        return ""
    for known, name in numbers.items():
        if len(set(known)) < _EVIDENCE or 0 in known or 0 in vector:
            continue
        if all(one % two == 0 and one // two == vector[0] // known[0] for one, two in zip(vector, known, strict=True)):
            return f"{vector[0] // known[0]} * {name}"
        if all(two % one == 0 and two // one == known[0] // vector[0] for one, two in zip(vector, known, strict=True)):
            return f"{name} // {known[0] // vector[0]}"
        if abs(vector[0] - known[0]) < 8 and len({one - two for one, two in zip(vector, known, strict=True)}) == 1:
            difference = vector[0] - known[0]
            return f"{name} {'+' if difference > 0 else '-'} {abs(difference)}"
    for known, name in numbers.items():
        for other, second in numbers.items():
            if known != other and all(one * two == three for one, two, three in zip(vector, other, known, strict=True)):
                return f"{name} // {second}"
            products = [one * two for one, two in zip(known, other, strict=True)]
            if 0 in products or 0 in vector:
                continue
            if all(one * two * two == three for one, two, three in zip(known, other, vector, strict=True)):
                return f"{name} * {second} * {second}"
            product = f"{name} * {second}"
            if len(ratios := {Fraction(one, two) for one, two in zip(vector, products, strict=True)}) == 1:
                ratio = ratios.pop()
                if ratio.denominator == 1:
                    return product if ratio == 1 else f"{ratio} * {product}"
                if ratio.numerator == 1:
                    return f"{product} // {ratio.denominator}"
    return ""


def _element(use: str, index: int, last: int) -> str:
    """What an element of a list argument is called."""
    if use in ("shape", "output_shape", "slice_end"):
        return "dim" if index == last else f"dim_{index}"
    return {"slice_start": "start", "slice_step": "step"}.get(use, use)


def _words(uses: Sequence[str], *, final: bool) -> list[str]:
    """Names for a number by the arguments it is given to, best first. final: it counts the result's channels."""
    every = set(uses)
    if {"in_channels", "out_channels"} <= every:
        if uses[0] == "in_channels":
            return ["channels" if final else "in_channels"]
        return ["out_channels" if final else "hidden_channels", "inner_channels"]
    if {"input_height", "input_width"} <= every:
        return ["input_size", "output_size", "inner_size"]
    if {"input_h", "input_w"} <= every:
        return ["input_size", "output_size", "inner_size"]
    if len({name for name in every if name.startswith("dim_")}) > 1:
        return ["size", "inner_size"]
    plain = [name for name in dict.fromkeys(uses) if not name.startswith("dim")]
    return [*plain, *dict.fromkeys(uses)]


def _named(body: Sequence[model.Statement], names: Mapping[str, str]) -> tuple[model.Statement, ...]:
    """The statements with final names of the numbers."""

    def number(value: model.Value) -> model.Value:
        return replace(value, name=names.get(value.name, value.name)) if isinstance(value, model.NumberRef | model.ParameterRef) else value

    return mapped(body, lambda statement: with_arguments(statement, number))
