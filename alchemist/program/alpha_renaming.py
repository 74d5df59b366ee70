"""Which statements are the same but for the names of variables: one body is rewritten with the names of another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from alchemist.program import model


class Mismatch(Exception):
    """Two bodies differ in more than names."""


def renamed_like(function: model.Function, first: model.Function) -> model.Function:
    """`function` with the names of `first`'s tensors.

    Raises:
        Mismatch: their statements do not correspond; arguments are not compared.
    """
    if [one.kind for one in function.parameters] != [one.kind for one in first.parameters]:
        raise Mismatch
    names = Renaming()
    parameters = []
    for one, other in zip(function.parameters, first.parameters, strict=True):
        if one.kind == "tensor":
            names.bind(one.name, other.name)
        elif one != other:
            raise Mismatch
        parameters.append(other)
    return replace(function, parameters=tuple(parameters), body=names.block(function.body, first.body))


class Renaming:
    """Walks two bodies side by side. Names change their meaning where they are bound again.

    open_: names that neither body has bound are inputs, paired where they first occur (`inputs`: own name -> the other body's).
    """

    def __init__(self, *, open_: bool = False) -> None:
        self._names: dict[str, str] = {}
        self._owners: dict[str, str] = {}
        self._open = open_
        self._bound: set[str] = set()
        self._others_bound: set[str] = set()
        self.inputs: dict[str, str] = {}

    def bind(self, name: str, other: str) -> None:
        """`name` is called `other` from here on; what was called so is out of reach."""
        stale = self._owners.pop(other, None)
        if stale is not None:
            self._names.pop(stale, None)
        before = self._names.get(name)
        if before is not None:
            self._owners.pop(before, None)
        self._names[name] = other
        self._owners[other] = name
        self._bound.add(name)
        self._others_bound.add(other)

    def block(self, body: Sequence[model.Statement], other: Sequence[model.Statement]) -> tuple[model.Statement, ...]:
        if len(body) != len(other):
            raise Mismatch
        return tuple(self.statement(one, two) for one, two in zip(body, other, strict=True))

    def statement(self, one: model.Statement, two: model.Statement) -> model.Statement:
        match one, two:
            case model.Call(), model.Call():
                arguments = [two_value for _, two_value in two.arguments]
                self._pair([value for _, value in one.arguments], arguments)
                made = replace(one, arguments=tuple((arg, self.value(value)) for arg, value in one.arguments))
                return replace(made, results=self._results(one.results, two.results))
            case model.CallFunction(), model.CallFunction():
                self._pair(one.arguments, two.arguments)
                called = replace(one, arguments=tuple(self.argument(value) for value in one.arguments))
                return replace(called, results=self._results(one.results, two.results))
            case model.Assign(), model.Assign():
                self._pair([one.value], [two.value])
                value = self.value(one.value)
                self.bind(one.name, two.name)
                return model.Assign(two.name, value)
            case model.NewList(), model.NewList():
                self.bind(one.name, two.name)
                return two
            case model.Append(), model.Append():
                self._pair([one.value], [two.value])
                return replace(one, name=self._name(one.name), value=self.value(one.value))
            case model.Store(), model.Store():
                self._pair([one.value], [two.value])
                return replace(one, value=self.value(one.value))
            case model.Free(), model.Free():
                return model.Free(tuple(self._name(name) for name in one.names))
            case model.Return(), model.Return():
                self._pair(one.values, two.values)
                return model.Return(tuple(self.value(value) for value in one.values))
            case model.GetDevice(), model.GetDevice():
                self._pair([one.tensor], [two.tensor])
                return model.GetDevice(self.value(one.tensor))
            case model.Loop(), model.Loop():
                return replace(one, body=self._loop(one.body, two.body))
            case model.NameLoop(), model.NameLoop():
                return replace(one, body=self._loop(one.body, two.body))
            case _:
                if type(one) is not type(two):
                    raise Mismatch
                return one

    def _loop(self, own: tuple[model.Statement, ...], other: Sequence[model.Statement]) -> tuple[model.Statement, ...]:
        before = dict(self._names)
        body = self.block(own, other)
        used = {name for statement in model.statements(own) for name in names_of(statement)}
        if any(self._names.get(name) != other for name, other in before.items() if name in used):
            raise Mismatch
        return body

    def _results(self, own: Sequence[model.Target], others: Sequence[model.Target]) -> tuple[model.Target, ...]:
        if len(own) != len(others):
            raise Mismatch
        for one, two in zip(own, others, strict=True):
            if isinstance(one, str) and isinstance(two, str):
                self.bind(one, two)
            elif type(one) is not type(two):
                raise Mismatch
        return tuple(two if isinstance(two, str) else one for one, two in zip(own, others, strict=True))

    def _pair(self, own: Sequence[model.Argument], others: Sequence[model.Argument]) -> None:
        """Inputs that occur here for the first time."""
        if not self._open:
            return
        for one, two in zip(tensors(own), tensors(others), strict=False):
            if one in self._bound or one in self.inputs:
                continue
            if two in self._others_bound or two in self.inputs.values():
                raise Mismatch
            self.inputs[one] = two
            self._names[one] = two
            self._owners[two] = one

    def _name(self, name: str) -> str:
        if name not in self._names:
            raise Mismatch
        return self._names[name]

    def value(self, value: model.Value) -> model.Value:
        if isinstance(value, model.TensorRef):
            return model.TensorRef(self._name(value.name))
        if isinstance(value, model.Items):
            return model.Items(tuple(self.value(item) for item in value.items))
        return value

    def argument(self, value: model.Argument) -> model.Argument:
        return value if isinstance(value, model.ScopeArgument | model.NumberArgument) else self.value(value)


def tensors(values: Sequence[model.Argument]) -> Iterator[str]:
    """Names of the variables in these values."""
    for value in values:
        if isinstance(value, model.TensorRef):
            yield value.name
        elif isinstance(value, model.Items):
            yield from tensors(value.items)


def values_in(statement: model.Statement) -> tuple[model.Argument, ...]:
    """What a statement reads."""
    match statement:
        case model.Call():
            return tuple(value for _, value in statement.arguments)
        case model.CallFunction():
            return statement.arguments
        case model.Assign() | model.Append() | model.Store():
            return (statement.value,)
        case model.Return():
            return statement.values
        case model.GetDevice():
            return (statement.tensor,)
        case model.Loop():
            return (statement.stop,)
        case _:
            return ()


def bound_by(statement: model.Statement) -> set[str]:
    """Variables that a statement sets."""
    match statement:
        case model.Call() | model.CallFunction():
            return {one for one in statement.results if isinstance(one, str)}
        case model.Assign(name) | model.NewList(name):
            return {name}
        case _:
            return set()


def names_of(statement: model.Statement) -> set[str]:
    """Variables that a statement reads."""
    return {*tensors(values_in(statement)), *(statement.name,)} if isinstance(statement, model.Append) else set(tensors(values_in(statement)))
