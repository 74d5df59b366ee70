"""Functions that differ in constants alone, side by side: one function with those constants as parameters."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from alchemist.ir.scopes import common_prefix
from alchemist.ops.spec import REQUIRED, Kind
from alchemist.program import model
from alchemist.program.alpha_renaming import Mismatch
from alchemist.program.constants import role_words
from alchemist.program.extract import to_value
from alchemist.program.names import RESERVED, identifier, snake_case, unique
from alchemist.program.scopes import MOVE
from alchemist.program.still_moves import STAYS
from alchemist.program.walk import bound_by, bound_in, mapped, with_values

MAX_PARAMETERS = 7
"""Numbers that a function takes at most; more are harder to read than a second function."""
MAX_CONSTANTS = 3
"""Other constants (memory configs, flags) that a function takes at most."""
MAX_FIELDS = 12
"""Fields of a named tuple of such constants at most."""
MAX_NOTES = 3
"""Shapes of a parameter that are listed at most."""
MAX_NOTE = 80
"""Characters of these shapes at most."""
_REASON = re.compile(r"(?:: \w+ is faster so| for \w+(?: and \w+)?)$")
"""Why a tensor is moved (`apply._why_moved`)."""
REVERSE = "reverse"
"""The parameter of a function for both directions of a sequence."""
_SHAPE = re.compile(r"\[[^\]]*\]")
_SHARDED = re.compile(r"to (?:block|height|width) shards")
_DTYPE = re.compile(r"(bfloat\d+(?:_b)?|float32|u?int\d+)\b")
NOTHING = model.Literal(None)
"""A config that some calls leave to the library."""
OPTIONAL = (Kind.PROGRAM_CONFIG, Kind.COMPUTE_CONFIG)
_DEFAULTED = (Kind.INT, Kind.INT_LIST, Kind.SHAPE, Kind.PAIR_LIST)


@dataclass(slots=True)
class Aligned:
    """The function that stands for several. added: its new parameters, with the value for each of them.

    unread: of constants that are no integers, which of the functions do not read them.
    """

    function: model.Function
    added: dict[str, tuple[model.Value, ...]]
    unread: dict[str, frozenset[int]] = field(default_factory=dict)

    def is_readable(self, constants: int = MAX_CONSTANTS) -> bool:
        """Whether it has not too many parameters. constants: those that are no integers, at most."""
        numbers = sum(parameter.kind == "number" for parameter in self.function.parameters if parameter.name in self.added)
        return numbers <= MAX_PARAMETERS and len(self.added) - numbers <= constants


def align(members: Sequence[model.Function], taken: set[str]) -> Aligned:
    """The function that stands for all.

    Raises:
        Mismatch: they differ in more than constants.
    """
    first = members[0]
    aligner = _Aligner(first.name, (one.name for one in first.parameters if one.kind == "tensor"))
    body = aligner.block([function.body for function in members])
    used = {parameter.name for parameter in first.parameters} | taken | RESERVED | bound_in(first.body)
    numbers, texts = aligner.names(used)
    gapped, placeholders = aligner.constant_names(used | set(numbers.values()))
    constants = {name: _filled(values) for name, values in gapped.items()}
    names = {f"#{index}": texts[key] for index, key in enumerate(aligner.uses)}
    body = _named(body, names | placeholders)
    doc, brief = first.doc, first.brief
    if doc and any(function.doc != doc for function in members):
        told = ({_SHAPE.sub("", text) for text in (function.doc, *(one.note for one in function.parameters))} for function in members)
        what = "shapes are" if len({frozenset(one) for one in told}) == 1 else "shapes and memory are"
        said = f"; {what} those of the first call"
        doc += said
        listed = any(one.note != other.note for function in members for one, other in zip(function.parameters, first.parameters, strict=True))
        differs = not listed or any(function.brief != brief for function in members)
        brief += (" in the first call" if listed else said) if brief and differs else ""
    scopes = tuple(dict.fromkeys(scope for function in members for scope in function.scopes))
    columns = zip(*(function.parameters for function in members), strict=True)
    noted = [replace(one, note=_notes([other.note for other in column])) for one, column in zip(first.parameters, columns, strict=True)]
    parameters = [*noted, *(model.Parameter(name, "number") for name in numbers.values())]
    parameters += [model.Parameter(name, kind_of(values)) for name, values in constants.items()]
    added: dict[str, tuple[model.Value, ...]] = {
        name: tuple(model.Unused() if number is None else model.Literal(number) for number in vector) for (vector, _), name in numbers.items()
    }
    unread = {name: frozenset(place for place, value in enumerate(values) if isinstance(value, model.Unused)) for name, values in gapped.items()}
    return Aligned(replace(first, parameters=tuple(parameters), body=body, doc=doc, brief=brief, scopes=scopes), added | constants, unread)


def _filled(values: Sequence[model.Value]) -> tuple[model.Value, ...]:
    """The values; one that is not read is the first that is."""
    read = next(value for value in values if not isinstance(value, model.Unused))
    return tuple(read if isinstance(value, model.Unused) else value for value in values)


def _shared_note(notes: Sequence[str]) -> str:
    """The comment beside a call in all functions; a shape that is another one in some of them is left out, and a move's reason."""
    if len(set(notes)) == 1:
        return notes[0]
    places = {_REASON.sub("", note) for note in notes}
    if len(places) == 1 and next(iter(places)).startswith("to "):
        return next(iter(places))
    without_shapes = {_SHARDED.sub("to shards", _SHAPE.sub("", note)).strip(" ,") for note in notes}
    if len(without_shapes) == 1:
        return without_shapes.pop()
    dtypes = {match[1] if (match := _DTYPE.match(_SHAPE.sub("", note).strip(" ,"))) else "" for note in notes}
    return dtypes.pop() if len(dtypes) == 1 else ""


def _notes(notes: Sequence[str]) -> str:
    """The shapes that calls give a parameter: "[16, 1, 64] or [16, 1, 128]"."""
    different = list(dict.fromkeys(notes))
    text = " or ".join(different)
    return text if all(different) and len(different) <= MAX_NOTES and len(text) <= MAX_NOTE else different[0]


def with_shared_comments(bodies: Sequence[tuple[model.Statement, ...]]) -> list[tuple[model.Statement, ...]]:
    """The statements without comments that stand before a statement in some of the bodies alone: they quote a caller, or explain what one form does."""
    if len({tuple(one for one in body if isinstance(one, model.Comment)) for body in bodies}) == 1:
        return list(bodies)
    shared: dict[int, set[model.Statement]] = {}
    out = []
    for last in (False, True):  # first what all have in front of each statement, then the bodies
        for index, body in enumerate(bodies):
            place = 0
            kept: list[model.Statement] = []
            found: dict[int, set[model.Statement]] = {}
            for one in body:
                comment = isinstance(one, model.Comment)
                place += not comment
                if comment:
                    found.setdefault(place, set()).add(one)
                if not comment or one in shared.get(place, ()):
                    kept.append(one)
            if last:
                out.append(tuple(kept))
            else:
                shared = found if not index else {key: told & found.get(key, set()) for key, told in shared.items()}
    return out


def varying(bodies: Sequence[tuple[model.Statement, ...]]) -> frozenset[str]:
    """Arguments with a number of the model that is not the same in all of them."""
    aligner = _Aligner()
    aligner.block(bodies)
    return frozenset(_KEPT.intersection(use for uses in aligner.uses.values() for use in uses))


def unread(bodies: Sequence[tuple[model.Statement, ...]], numbers: frozenset[str] = frozenset()) -> tuple[model.Statement, ...]:
    """The statements that all have, without the constants in which they differ, and without these numbers of the model.

    Raises:
        Mismatch: they differ in more than constants.
    """

    def value(old: model.Value) -> model.Value:
        return model.Unused() if isinstance(old, model.NumberRef | model.ParameterRef) and old.name.startswith("#") else old

    def change(one: model.Statement) -> model.Statement:
        if isinstance(one, model.Call):
            given = tuple((arg, model.Unused() if arg.name in numbers and constant_kind(old) == "number" else old) for arg, old in one.arguments)
            one = replace(one, arguments=given)
        return with_values(one, value)

    return mapped(_Aligner().block(bodies), change)


def only_in(body: Sequence[model.Statement], other: Sequence[model.Statement]) -> str:
    """The first op that `other` does not call, of any library: "roll"; "" for none."""
    ops = [[one.spec.target.rpartition(".")[2] for one in model.statements(tuple(side)) if isinstance(one, model.Call)] for side in (body, other)]
    return next((name for name in ops[0] if name not in ops[1]), "")


CONSTANTS = (model.Literal, model.MemoryConfig, model.Record, model.DType, model.Layout, model.Bundle)
_KINDS: dict[type, str] = {model.MemoryConfig: "memory_config", model.DType: "dtype", model.Layout: "layout", bool: "bool", float: "float", str: "text"}

_CONFIGS = {
    "ttnn.Conv2dConfig": "conv2d_config",
    "ttnn.SDPAProgramConfig": "attention_config",
    "ttnn.LayerNormShardedMultiCoreProgramConfig": "norm_config",
    "ttnn.WormholeComputeKernelConfig": "compute_config",
}


def kind_of(values: Sequence[model.Value]) -> str:
    """What kind of parameter can stand for constants, "" for none."""
    kinds = {constant_kind(value) for value in values if value != NOTHING}
    kind = kinds.pop() if len(kinds) == 1 else ""
    return model.optional_kind(kind) if kind and NOTHING in values else kind


def constant_kind(value: model.Value) -> str:
    """Kind of the parameter that can stand for a constant, "" for none."""
    if isinstance(value, model.Literal):
        return "number" if type(value.value) is int else _KINDS.get(type(value.value), "")
    if isinstance(value, model.Bundle):
        return model.bundle_kind(value.type_)
    if isinstance(value, model.Record):
        return "matmul_config" if value.class_name.startswith("ttnn.Matmul") else _CONFIGS.get(value.class_name, "")
    return _KINDS.get(type(value), "")


_Vector = tuple[int | None, ...]
_Numbers = tuple[_Vector, bool]
"""Values of an integer (one per function, None of one that does not read it), and whether they are paddings: these are no strides, even where equal."""


class _Aligner:
    """Walks equal functions side by side. uses: integers -> arguments they are given to; constants: the same for no integers.

    longer: integers, and constants, -> what they are called where another one has the name: with the function that they are for.
    """

    def __init__(self, name: str = "", tensors: Iterable[str] = ()) -> None:
        self._name = name
        self._callee = ""
        self._result = self._place = ""  # what the call's result is called by its weight, and with the module around
        self._made = ""  # what the function calls the call's result
        self.longer: dict[_Numbers, list[str]] = {}
        self.longer_constants: dict[tuple[model.Value, ...], list[str]] = {}
        self.uses: dict[_Numbers, list[str]] = {}
        self.constants: dict[tuple[model.Value, ...], list[str]] = {}
        self.final_channels: _Vector = ()  # those of the last convolution's result
        self.given_channels: set[_Vector] = set()  # those of the function's own tensors
        names = list(tensors)
        self._given, self._input = frozenset(names), names[0] if names else ""
        self._reads_given = False

    def names(self, used: set[str]) -> tuple[dict[_Numbers, str], dict[_Numbers, str]]:
        """(parameters, what stands for each number: a parameter, or an expression of parameters)."""
        numbers: dict[_Numbers, str] = {}
        texts: dict[_Numbers, str] = {}
        taken = set(used)
        united, every = self._united()
        for key, uses in sorted(every.items(), key=lambda item: all(use.startswith("dim") for use in item[1])):  # what follows from others last
            vector, pads = key
            known_values = {number for number in vector if number is not None}
            if None in vector and len(known_values) == 1:  # of one form, and no number of the others
                texts[key] = str(known_values.pop())
                continue
            text = self._half_kernel(vector, numbers) if pads else ""
            text = text or ("" if _KEPT & set(uses) else _expression(vector, {known: name for (known, _), name in numbers.items()}))
            if not text:
                words = [*_words(uses, final=vector == self.final_channels, given=vector in self.given_channels), *self.longer.get(key, ())]
                text = unique([identifier(name, "size") for name in words], lambda name: name not in taken)
                taken.add(text)
                numbers[key] = text
            texts[key] = text
        return numbers, {key: texts[united.get(key, key)] for key in self.uses}

    def _united(self) -> tuple[dict[_Numbers, _Numbers], dict[_Numbers, list[str]]]:
        """(numbers that some functions do not read -> what they are to all, arguments that each number is given to then).

        Two that no function reads both of are one if they are the same number of the model; one that agrees with what all read is that.
        """
        gaps = [key for key in self.uses if None in key[0]]
        every = {key: list(uses) for key, uses in self.uses.items() if None not in key[0]}
        read_by_all = list(every)
        united: dict[_Numbers, _Numbers] = {}
        for key in gaps:
            words = set(self.uses[key]) & _KEPT
            others = [other for other in gaps if other[1] == key[1] and words & set(self.uses[other])]
            whole = tuple(next((other[0][place] for other in others if other[0][place] is not None), None) for place in range(len(key[0])))
            whole = whole if all(_agree(other[0], whole) for other in others) else key[0]
            told = len({number for number in key[0] if number is not None}) > 1
            target = next((known for known in read_by_all if known[1] == key[1] and told and _agree(key[0], known[0])), (whole if words else key[0], key[1]))
            united[key] = target
            every[target] = [*every.get(target, ()), *self.uses[key]]
        return united, every

    def _half_kernel(self, padding: _Vector, numbers: Mapping[_Numbers, str]) -> str:
        """The padding that keeps an image's size, by the kernel's; "" for any other."""
        for (sizes, _), name in numbers.items():
            if "kernel_size" in self.uses.get((sizes, False), ()) and all(
                size is not None and size // 2 == pad for size, pad in zip(sizes, padding, strict=True)
            ):
                return f"{name} // 2"
        return ""

    def constant_names(self, used: set[str]) -> tuple[dict[str, tuple[model.Value, ...]], dict[str, str]]:
        """(parameters that are no integers, with their values, name of the parameter for each placeholder).

        One that some functions do not read is one that all read, where the others agree on it.
        """
        whole = [values for values in self.constants if not any(isinstance(value, model.Unused) for value in values)]
        united = {values: next((known for known in whole if values not in whole and _same_constants(values, known)), values) for values in self.constants}
        found: dict[str, tuple[model.Value, ...]] = {}
        names: dict[tuple[model.Value, ...], str] = {}
        for values in dict.fromkeys(united.values()):
            uses = [use for key, target in united.items() if target == values for use in self.constants[key]]
            uses = sorted(dict.fromkeys(uses), key=lambda use: use.startswith("input_"))  # of what is moved to where the result lies, too
            words = [identifier(use, "option") for use in dict.fromkeys((*_of_products(uses), *uses, *self.longer_constants.get(values, ())))]
            names[values] = unique(words, lambda name: name not in used and name not in found)
            found[names[values]] = values
        return found, {f"#{index}c": names[united[values]] for index, values in enumerate(self.constants)}

    def block(self, bodies: Sequence[tuple[model.Statement, ...]]) -> tuple[model.Statement, ...]:
        bodies = with_shared_comments(bodies)
        if len({len(body) for body in bodies}) > 1:
            raise Mismatch
        return _filled_by_index([self.statement(row) for row in zip(*bodies, strict=True)])

    def statement(self, row: Sequence[model.Statement]) -> model.Statement:
        made = self._statement(row)
        self._given -= bound_by(row[0])
        return made

    def _statement(self, row: Sequence[model.Statement]) -> model.Statement:
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
            self._callee = first.function
            arguments = tuple(self.argument(column) for column in zip(*(call.arguments for call in calls), strict=True))
            return replace(first, arguments=arguments, note=_shared_note([call.note for call in calls]))
        if isinstance(first, model.Loop):
            loops = [statement for statement in row if isinstance(statement, model.Loop)]
            if len({loop.counts_down for loop in loops}) > 1:
                return self._of_both_directions(loops)
            if any((loop.variable, loop.start, loop.step) != (first.variable, first.start, first.step) for loop in loops):
                raise Mismatch
            stop = self.value([loop.stop for loop in loops], "count")
            container = first.container if isinstance(stop, model.Literal) else ""
            return replace(first, stop=stop, container=container, body=self.block([loop.body for loop in loops]))
        if isinstance(first, model.If):
            branches = [statement for statement in row if isinstance(statement, model.If)]
            flags = [one.condition for one in branches if isinstance(one.condition, model.Literal)]
            if any(one.results != first.results or (one.condition != first.condition and len(flags) < len(row)) for one in branches):
                raise Mismatch
            condition = self.value(flags, self._branch_word(first)) if flags else first.condition
            body, otherwise = self.block([one.body for one in branches]), self.block([one.otherwise for one in branches])
            return replace(first, condition=condition, body=body, otherwise=otherwise)
        if isinstance(first, model.NameLoop):
            named = [statement for statement in row if isinstance(statement, model.NameLoop)]
            if any((one.variable, one.names) != (first.variable, first.names) for one in named):
                raise Mismatch
            return replace(first, body=self.block([one.body for one in named]))
        if isinstance(first, model.Append):
            appends = [statement for statement in row if isinstance(statement, model.Append)]
            if all((one.name, one.value, one.index) == (first.name, first.value, first.index) for one in appends):
                return replace(first, front=self._flag([one.front for one in appends]))
        if any(statement != first for statement in row):
            raise Mismatch
        return first

    def _branch_word(self, branch: model.If) -> str:
        """What the flag of a branch is called: by an op that only it has."""
        op = only_in(branch.body, branch.otherwise)
        sums = [one for one in branch.body if isinstance(one, model.Call) and one.spec.target.rpartition(".")[2].rstrip("_") == "add"]
        if op.rstrip("_") == "add" and any(model.TensorRef(self._input) in (value for _, value in one.arguments) for one in sums):
            return "with_residual"
        return "in_shards" if op == "to_memory_config" else f"with_{op.rstrip('_')}"

    def _of_both_directions(self, loops: Sequence[model.Loop]) -> model.Loop:
        """A loop over a sequence from its beginning in some functions, from its end in others."""
        first = loops[0]
        lengths = [loop.whole for loop in loops]
        if any(length is None or (length, loop.variable) != (lengths[0], first.variable) for length, loop in zip(lengths, loops, strict=True)):
            raise Mismatch
        forwards = replace(first, start=0, stop=lengths[0] or first.stop, step=1)
        flag = self._flag([loop.counts_down for loop in loops])
        return replace(forwards, backwards=flag if isinstance(flag, model.ParameterRef) else None, body=self.block([loop.body for loop in loops]))

    def _flag(self, values: Sequence[bool | model.ParameterRef]) -> bool | model.ParameterRef:
        """What each function does, as a parameter where they differ."""
        found = self.value([model.Literal(one) if isinstance(one, bool) else one for one in values], REVERSE)
        return found if isinstance(found, model.ParameterRef) else values[0]

    def call(self, row: Sequence[model.Call], count: int) -> model.Call:
        first = row[0]
        if len(row) != count or any((call.spec.name, call.results, call.returned) != (first.spec.name, first.results, first.returned) for call in row):
            raise Mismatch
        words = [snake_case(word) for word in role_words(first)]
        self._result, self._place = words[-1] if words else "", "_".join(words[-2:])
        self._made = next((name for name in first.results if isinstance(name, str)), "result")
        self._reads_given = any(isinstance(value, model.TensorRef) and value.name in self._given for _, value in first.arguments)
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
                if value is None and arg.kind in OPTIONAL:
                    value = NOTHING
                if value is None:
                    raise Mismatch
                values.append(value)
            moved = first.spec.name == MOVE and arg.name == "memory_config" and not first.returned
            arguments.append((arg, self.value(values, f"input_{arg.name}" if moved else arg.name)))
        notes = [call.note for call in row]
        return replace(first, arguments=tuple(arguments), note=STAYS if STAYS in notes else _shared_note(notes))

    def argument(self, row: Sequence[model.Argument]) -> model.Argument:
        first = row[0]
        if isinstance(first, model.NumberArgument):
            numbers = [statement for statement in row if isinstance(statement, model.NumberArgument) and statement.name == first.name]
            if len(numbers) != len(row):
                raise Mismatch
            return replace(first, value=self.value([number.value for number in numbers], first.name, of_function=True))
        if any(statement != first for statement in row):
            raise Mismatch
        return first

    def value(self, values: Sequence[model.Value], use: str, *, of_function: bool = False) -> model.Value:
        word = _of_callee(self._name, self._callee) if of_function else self._place
        read = [value for value in values if not isinstance(value, model.Unused)]
        numbers: list[int | None] = [value.value if isinstance(value, model.Literal) and type(value.value) is int else None for value in values]
        whole = len([number for number in numbers if number is not None]) == len(read)
        if not read:
            return values[0]
        same = len({repr(value) for value in read}) == 1  # repr: 1, 1.0 and True are equal
        if same and not (whole and use in _KEPT and len(read) < len(values)):  # a number of the model may be one that others read elsewhere
            return read[0]
        if whole:
            vector = tuple(numbers)
            key = (vector, use == "padding")
            uses = self.uses.setdefault(key, [])
            uses.append(use)
            if word:
                self.longer.setdefault(key, []).append(f"{word}_{_DIMENSION.sub('', use)}")
            if use == "out_channels":
                self.final_channels = vector
            if use == "in_channels" and self._reads_given:
                self.given_channels.add(vector)
            return model.NumberRef(f"#{list(self.uses).index(key)}")
        gapped, values = tuple(values), _filled(values)
        if kind := kind_of(values):
            if model.plain_kind(kind) == "matmul_config" and not of_function and self._result:
                use, word = f"{self._result}{_PRODUCT}", self._place
            elif use == "program_config" and not of_function and model.plain_kind(kind) != "matmul_config":
                use, word = model.plain_kind(kind), self._result or self._made
            elif not of_function:
                word = self._result or self._made
            self.constants.setdefault(gapped, []).append(use)
            if word:
                of_product = kind == "matmul_config" and word == self._place
                self.longer_constants.setdefault(gapped, []).append(f"{word}{_PRODUCT}" if of_product else f"{word}_{use}")
            return model.ParameterRef(f"#{list(self.constants).index(gapped)}c")
        lists = [value.items for value in values if isinstance(value, model.Items)]
        if len(lists) != len(values) or len({len(value) for value in lists}) > 1:
            raise Mismatch
        last = len(lists[0]) - 1
        words = [_element(use, index, last) for index in range(last + 1)]
        return model.Items(tuple(self.value(column, word) for column, word in zip(zip(*lists, strict=True), words, strict=True)))


def _filled_by_index(body: Sequence[model.Statement]) -> tuple[model.Statement, ...]:
    """`hiddens[i] = hidden` in a loop that runs forwards or backwards, instead of a flag for the end of the list that grows."""
    out: list[model.Statement] = []
    for statement in body:
        if isinstance(statement, model.Loop) and statement.backwards is not None:
            grown = [one.name for one in statement.body if isinstance(one, model.Append) and one.front == statement.backwards]
            fills = tuple(one.name for one in out if isinstance(one, model.NewList) and not one.values and grown.count(one.name) == 1)
            out = [one for one in out if not (isinstance(one, model.NewList) and one.name in fills)]
            inner = [
                replace(one, front=False, index=statement.variable) if isinstance(one, model.Append) and one.name in fills else one for one in statement.body
            ]
            statement = replace(statement, body=tuple(inner), fills=fills)
        out.append(statement)
    return tuple(out)


_KEPT = frozenset({"num_heads", "num_kv_heads", "groups", "num_groups", "stride", "kernel_size", "padding", "dilation", "count"})
"""Arguments that are numbers of the model: parameters even where they follow from others."""
_EVIDENCE = 3
"""Functions that must agree before one number is written by means of another."""


def _of_callee(caller: str, callee: str) -> str:
    """The callee's name without the words that both begin with."""
    own, words = caller.split("_"), callee.split("_")
    while own and words and own[0] == words[0]:
        own, words = own[1:], words[1:]
    return "_".join(word for word in words if not word.isdigit())


def _agree(one: _Vector, other: _Vector) -> bool:
    """Whether a number may be another one, of the functions that read both."""
    return all(first is None or second is None or first == second for first, second in zip(one, other, strict=True))


def _same_constants(gapped: Sequence[model.Value], values: Sequence[model.Value]) -> bool:
    """Whether constants that some functions do not read may be others, of the same kind, that all read."""
    same = all(isinstance(one, model.Unused) or one == other for one, other in zip(gapped, values, strict=True))
    return same and kind_of(_filled(gapped)) == kind_of(values)


def _expression(gapped: _Vector, parameters: Mapping[_Vector, str]) -> str:
    """The number as multiple, fraction, product, quotient or neighbour of parameters; "" if it is none, or too few functions tell."""
    read = [place for place, number in enumerate(gapped) if number is not None]
    vector = tuple(number for number in gapped if number is not None)
    numbers: dict[tuple[int, ...], str] = {}
    for parameter, name in parameters.items():
        column = tuple(number for place in read if (number := parameter[place]) is not None)
        if len(column) == len(read):
            numbers.setdefault(column, name)
    evidence = _EVIDENCE if None not in gapped else 2  # else the functions that do not read it would be given some number
    if len(set(vector)) < evidence:
        return ""
    for known, name in numbers.items():
        if len(set(known)) < evidence or 0 in known or 0 in vector:
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
            if 0 not in other and all(two % one == 0 and (two // one) ** 2 == three for one, two, three in zip(other, known, vector, strict=True)):
                return f"({name} // {second}) * ({name} // {second})"
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


_PRODUCT = "_matmul"
"""How names of products' program configs end."""


def _of_products(uses: Sequence[str]) -> list[str]:
    """`proj_matmul` for one config of the products q_proj, k_proj and v_proj, `fc1_and_fc2_matmul` for one of two without a shared word."""
    words = [use.removesuffix(_PRODUCT) for use in uses]
    if len(words) < 2 or not all(use.endswith(_PRODUCT) for use in uses):
        return []
    shared = common_prefix([word.split("_")[::-1] for word in words])
    told = "_".join(reversed(shared)) or "_and_".join(words[: 2 * (len(words) == 2)])
    return [f"{told}{_PRODUCT}"] if told else []


_WIDTH = "dim_width"
_DIMENSION = re.compile(r"^dim_|(?<=length)_\d+$")
"""What `_element` says of a dimension beside its name."""


def _element(use: str, index: int, last: int) -> str:
    """What an element of a list argument is called."""
    if use in ("shape", "output_shape", "slice_end"):
        return _WIDTH if index == last else "dim_rows" if last == 1 else f"dim_length_{index}" if index else "dim_batch"
    return {"slice_start": "start", "slice_step": "step"}.get(use, use)


def _words(uses: Sequence[str], *, final: bool, given: bool) -> list[str]:
    """Names for a number by the arguments it is given to, best first. final: it counts the result's channels; given: those of what the function is given."""
    every = set(uses)
    if {"in_channels", "out_channels"} <= every:
        if given or (final and next(use for use in uses if use in ("in_channels", "out_channels")) == "in_channels"):
            return ["channels" if final else "in_channels"]
        return ["out_channels" if final else "hidden_channels", "inner_channels"]
    if {"input_height", "input_width"} <= every:
        return ["input_size", "output_size", "inner_size"]
    if {"input_h", "input_w"} <= every:
        return ["input_size", "output_size", "inner_size"]
    if len({name for name in every if name.startswith("dim_")} - {_WIDTH}) > 1:
        return ["size", "inner_size"]
    plain = [name for name in dict.fromkeys(uses) if not name.startswith("dim")]
    return [*plain, *(_DIMENSION.sub("", name) for name in dict.fromkeys(uses))]


def _named(body: Sequence[model.Statement], names: Mapping[str, str]) -> tuple[model.Statement, ...]:
    """The statements with final names of the numbers."""

    def number(value: model.Value) -> model.Value:
        return replace(value, name=names.get(value.name, value.name)) if isinstance(value, model.NumberRef | model.ParameterRef) else value

    return mapped(body, lambda statement: with_values(statement, number))
