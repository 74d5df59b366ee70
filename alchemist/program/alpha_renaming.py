"""Which statements are the same but for the names of variables: one body is rewritten with the names of another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from alchemist.program import model
from alchemist.program.walk import arguments_of, names_of, tensors, with_values


class Mismatch(Exception):
    """Two bodies differ in more than names."""


def renamed_like(function: model.Function, first: model.Function) -> model.Function:
    """`function` with the names of `first`'s tensors.

    Raises:
        Mismatch: their statements do not correspond; arguments are not compared.
    """
    if [parameter.kind for parameter in function.parameters] != [parameter.kind for parameter in first.parameters]:
        raise Mismatch
    names = Renaming()
    parameters = []
    for one, other in zip(function.parameters, first.parameters, strict=True):
        if one.kind == other.kind and one.kind in ("tensor", "tensors"):
            names.bind(one.name, other.name)
        elif one != other:
            raise Mismatch
        parameters.append(replace(other, note=one.note))
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

    @property
    def names(self) -> dict[str, str]:
        """Own names by now -> the other body's."""
        return dict(self._names)

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
        """Comments are no difference: the body keeps its own."""
        others = iter([one for one in other if not isinstance(one, model.Comment)])
        if sum(not isinstance(one, model.Comment) for one in body) != sum(not isinstance(one, model.Comment) for one in other):
            raise Mismatch
        return tuple(one if isinstance(one, model.Comment) else self.statement(one, next(others)) for one in body)

    def statement(self, one: model.Statement, two: model.Statement) -> model.Statement:
        if type(one) is not type(two):
            raise Mismatch
        if isinstance(one, model.Loop) and isinstance(two, model.Loop):
            for own, other in zip(one.fills, two.fills, strict=False):
                self.bind(own, other)
            return replace(one, body=self._loop(one.body, two.body), fills=two.fills)
        if isinstance(one, model.Loop | model.NameLoop) and isinstance(two, model.Loop | model.NameLoop):
            return replace(one, body=self._loop(one.body, two.body))
        if isinstance(one, model.If):
            raise Mismatch
        self._pair(arguments_of(one), arguments_of(two))
        made = with_values(one, self._value)
        if isinstance(made, model.Call | model.CallFunction) and isinstance(two, model.Call | model.CallFunction):
            return replace(made, results=self._results(made.results, two.results))
        if isinstance(made, model.Assign | model.NewList) and isinstance(two, model.Assign | model.NewList):
            self.bind(made.name, two.name)
            return replace(made, name=two.name)
        if isinstance(made, model.Append):
            return replace(made, name=self._name(made.name))
        return model.Free(tuple(self._name(name) for name in made.names)) if isinstance(made, model.Free) else made

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

    def _value(self, value: model.Value) -> model.Value:
        return replace(value, name=self._name(value.name)) if isinstance(value, model.TensorRef | model.Element) else value
