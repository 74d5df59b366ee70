"""Walks over statements: what they read and bind, and copies of them with something changed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from alchemist.program import model


def mapped(body: Iterable[model.Statement], change: Callable[[model.Statement], model.Statement]) -> tuple[model.Statement, ...]:
    """The statements as `change` makes them, those inside a loop or branch before it."""

    def inside(statement: model.Statement) -> model.Statement:
        match statement:
            case model.If():
                return replace(statement, body=mapped(statement.body, change), otherwise=mapped(statement.otherwise, change))
            case model.Loop() | model.NameLoop() | model.RowLoop():
                return replace(statement, body=mapped(statement.body, change))
            case _:
                return statement

    return tuple(change(inside(statement)) for statement in body)


def calls_of(body: Iterable[model.Statement], numbers: Mapping[str, int], turns: int | None = None) -> Iterator[tuple[model.CallFunction, Mapping[str, int]]]:
    """Calls of functions as they run, those in a loop once for each iteration, with the numbers of the loops around them. turns: of a loop, at most.

    A loop whose numbers are not known is gone through once; its variable has no number then.
    """
    for one in body:
        match one:
            case model.CallFunction():
                yield one, numbers
            case model.Loop(variable, start, model.Literal(int(stop)), step):
                for number in range(start, stop, step)[:turns]:
                    yield from calls_of(one.body, {**numbers, variable: number}, turns)
            case model.Loop() | model.NameLoop() | model.RowLoop():
                yield from calls_of(one.body, {}, turns)
            case model.If():
                yield from calls_of((*one.body, *one.otherwise), numbers, turns)


def joined_key(pieces: Iterable[str | model.Index]) -> model.Key:
    """The key of these pieces, texts beside each other as one."""
    joined: list[str | model.Index] = []
    for piece in pieces:
        if joined and isinstance(piece, str) and isinstance(joined[-1], str):
            joined[-1] += piece
        else:
            joined.append(piece)
    return tuple(joined)


def text_of(key: model.Key, numbers: Mapping[str, int]) -> str:
    """The key with the loops' numbers in it.

    Raises:
        KeyError: a variable without a number.
    """
    return "".join(piece if isinstance(piece, str) else str(piece.scale * numbers[piece.variable] + piece.offset) for piece in key)


def code_of(statement: model.Statement) -> object:
    """Equal for statements that call the same, whatever they are given."""
    match statement:
        case model.Call():
            return statement.spec.name
        case model.CallFunction():
            return statement.function
        case _:
            return type(statement)


def arguments_of(statement: model.Statement) -> tuple[model.Argument, ...]:
    """What a statement itself reads, in order; lists are one argument."""
    match statement:
        case model.Call():
            return tuple(value for _, value in statement.arguments)
        case model.CallFunction():
            return statement.arguments
        case model.Assign() | model.Append() | model.Store():
            return (statement.value,)
        case model.Return() | model.NewList():
            return statement.values
        case model.GetDevice() | model.Extents():
            return (statement.tensor,)
        case model.Loop():
            return (statement.stop,)
        case model.If():
            return (statement.condition,)
        case _:
            return ()


def with_values(statement: model.Statement, convert: Callable[[model.Value], model.Value]) -> model.Statement:
    """The statement with every value that it reads converted, those in lists and number arguments too, and every place that it fills; scopes stay."""

    def value(old: model.Value) -> model.Value:
        return model.Items(tuple(value(item) for item in old.items)) if isinstance(old, model.Items) else convert(old)

    def argument(old: model.Argument) -> model.Argument:
        if isinstance(old, model.ScopeArgument):
            return old
        return replace(old, value=value(old.value)) if isinstance(old, model.NumberArgument) else value(old)

    def place(old: model.WeightRef) -> model.WeightRef:
        made = convert(old)
        assert isinstance(made, model.WeightRef)
        return made

    def flag(old: model.ParameterRef) -> model.ParameterRef:
        made = convert(old)
        return made if isinstance(made, model.ParameterRef) else old

    def targets(old: Sequence[model.Target]) -> tuple[model.Target, ...]:
        return tuple(result if isinstance(result, str) else place(result) for result in old)

    match statement:
        case model.Call():
            return replace(statement, arguments=tuple((arg, value(old)) for arg, old in statement.arguments), results=targets(statement.results))
        case model.CallFunction():
            return replace(statement, arguments=tuple(argument(old) for old in statement.arguments), results=targets(statement.results))
        case model.Assign():
            return replace(statement, value=value(statement.value))
        case model.Append():
            return replace(statement, value=value(statement.value), front=flag(front) if isinstance(front := statement.front, model.ParameterRef) else front)
        case model.Store():
            return replace(statement, target=place(statement.target), value=value(statement.value))
        case model.Drop():
            return replace(statement, place=place(statement.place))
        case model.Return() | model.NewList():
            return replace(statement, values=tuple(value(old) for old in statement.values))
        case model.GetDevice() | model.Extents():
            return replace(statement, tensor=value(statement.tensor))
        case model.Loop():
            return replace(statement, stop=value(statement.stop), backwards=flag(statement.backwards) if statement.backwards else None)
        case model.If():
            return replace(statement, condition=value(statement.condition))
        case _:
            return statement


def leaves(arguments: Iterable[model.Argument]) -> Iterator[model.Argument]:
    """The arguments, of lists and numbers what is in them."""
    for one in arguments:
        if isinstance(one, model.Items):
            yield from leaves(one.items)
        elif isinstance(one, model.NumberArgument):
            yield from leaves((one.value,))
        else:
            yield one


def read_by(body: Sequence[model.Statement]) -> Iterator[model.Argument]:
    """Everything that the statements read, those in loops included."""
    for statement in model.statements(tuple(body)):
        yield from leaves(arguments_of(statement))


def tensors(arguments: Iterable[model.Argument]) -> Iterator[str]:
    """Names of the variables in these values."""
    return (one.name for one in leaves(arguments) if isinstance(one, model.TensorRef | model.Element))


def bound_by(statement: model.Statement) -> set[str]:
    """Variables that a statement sets."""
    match statement:
        case model.Call() | model.CallFunction():
            return {result for result in statement.results if isinstance(result, str)}
        case model.Assign(name) | model.NewList(name) | model.NewCollection(name) | model.Gather(name):
            return {name}
        case model.Loop():
            return set(statement.fills)
        case _:
            return set()


def bound_in(body: Sequence[model.Statement]) -> set[str]:
    """All that the statements set, those in loops included."""
    return {name for one in model.statements(tuple(body)) for name in bound_by(one)}


def calls_in(body: Sequence[model.Statement]) -> list[model.CallFunction]:
    """Calls of the program's own functions as they are written, those in loops included."""
    return [one for one in model.statements(tuple(body)) if isinstance(one, model.CallFunction)]


def without_unread_device(body: Sequence[model.Statement]) -> tuple[model.Statement, ...]:
    """The statements; without asking for the device where no call needs it."""
    return tuple(body) if reads_device(body) else tuple(one for one in body if not isinstance(one, model.GetDevice))


def reads_device(body: Sequence[model.Statement]) -> bool:
    return any(isinstance(value, model.DeviceRef) for one in model.statements(tuple(body)) if isinstance(one, model.Call) for _, value in one.arguments)


def filled_by(statement: model.Statement) -> list[model.WeightRef]:
    """Places in collections that a statement sets or empties."""
    match statement:
        case model.Call() | model.CallFunction():
            return [result for result in statement.results if isinstance(result, model.WeightRef)]
        case model.Store():
            return [statement.target]
        case model.Drop():
            return [statement.place]
        case _:
            return []


def names_of(statement: model.Statement) -> set[str]:
    """Variables that a statement reads."""
    found = set(tensors(arguments_of(statement)))
    return found | {statement.name} if isinstance(statement, model.Append) else found


def with_variables(body: Iterable[model.Statement], names: Mapping[str, str]) -> tuple[model.Statement, ...]:
    """The statements with other names of variables; those that `names` lacks stay."""

    def name(old: str) -> str:
        return names.get(old, old)

    def value(old: model.Value) -> model.Value:
        return replace(old, name=name(old.name)) if isinstance(old, model.TensorRef | model.Element) else old

    def change(one: model.Statement) -> model.Statement:
        made = with_values(one, value)
        match made:
            case model.Call() | model.CallFunction():
                return replace(made, results=tuple(name(result) if isinstance(result, str) else result for result in made.results))
            case model.Assign() | model.NewList() | model.NewCollection() | model.Gather() | model.Append():
                return replace(made, name=name(made.name))
            case model.Free():
                return model.Free(tuple(map(name, made.names)))
            case model.Loop():
                return replace(made, fills=tuple(map(name, made.fills)))
            case model.If():
                return replace(made, results=tuple(map(name, made.results)))
            case _:
                return made

    return mapped(body, change)
