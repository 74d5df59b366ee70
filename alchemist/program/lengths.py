"""About how many lines statements take in print, where two ways to write the same are compared."""

from __future__ import annotations

from collections.abc import Sequence

from alchemist.program import model
from alchemist.program.text import WIDTH

_INDENT = 4
_QUOTES = 10
"""Columns of a text's quotes, with the indentation."""


_ANNOTATION = {"number": len("int"), "bool": len("bool"), "float": len("float"), "weights": len("Weights"), "memory_config": len("ttnn.MemoryConfig")}
_TENSOR = len("ttnn.Tensor")


def lines_of_functions(functions: Sequence[model.Function]) -> int:
    """With what is between them."""
    return sum(2 + _head(function) + lines_of(function.body) for function in functions)


def _head(function: model.Function) -> int:
    """Lines of `def` and of the text below it."""
    parts = [len(one.name) + 2 + _ANNOTATION.get(model.plain_kind(one.kind), _TENSOR) for one in function.parameters]
    lines = _wrapped(len(f"def {function.name} -> :") + _TENSOR * function.returns, parts, 0)
    doc = function.brief if lines > 3 and function.brief else function.doc
    return lines + (1 if len(doc) + _QUOTES <= WIDTH else 4)


def lines_of(body: Sequence[model.Statement], indent: int = _INDENT) -> int:
    return sum(_lines(one, indent) for one in body)


def _lines(statement: model.Statement, indent: int) -> int:
    match statement:
        case model.Loop() | model.NameLoop():
            return 1 + lines_of(statement.body, indent + _INDENT)
        case model.If():
            branches = lines_of(statement.body, indent + _INDENT) + lines_of(statement.otherwise, indent + _INDENT)
            return 1 + bool(statement.otherwise) + branches
        case model.RowLoop():
            rows = sum(_wrapped(0, [_length(cell) for cell in row], indent + _INDENT) for row in statement.rows)
            return 2 + rows + lines_of(statement.body, indent + _INDENT)
        case model.Call():
            head = len(statement.spec.target) + _targets(statement)
            return _wrapped(head, [len(arg.name) + 1 + _length(value) for arg, value in statement.arguments], indent)
        case model.CallFunction():
            return _wrapped(len(statement.function) + _targets(statement), [_length(argument) for argument in statement.arguments], indent)
        case _:
            return 1


def _targets(call: model.Call | model.CallFunction) -> int:
    """Columns of `name = ` or `return `."""
    return len("return ") if call.returned else sum(3 + (len(result) if isinstance(result, str) else _length(result)) for result in call.results)


def _wrapped(head: int, lengths: Sequence[int], indent: int) -> int:
    """In one line, else all arguments in a line of their own, else a line for each."""
    inside = sum(lengths) + 2 * (len(lengths) - 1)
    if indent + head + inside + 2 <= WIDTH:
        return 1
    return 3 if indent + _INDENT + inside <= WIDTH else len(lengths) + 2


def _length(value: model.Argument) -> int:
    """Columns; of configs, those of their constants' usual names."""
    match value:
        case model.Items(items):
            return sum(_length(item) + 2 for item in items)
        case model.Literal(literal):
            return len(repr(literal))
        case model.NumberArgument(name, inner):
            return len(name) + 1 + _length(inner)
        case model.KeyText(key):
            return 2 + _key(key)
        case model.ScopeArgument(collection, key):
            return len(collection) + (len('.scope("")') + _key(key) if key else 0)
        case model.WeightRef(key):
            return len('weights[""]') + _key(key)
        case model.TensorRef(name) | model.NumberRef(name) | model.ParameterRef(name) | model.ConstantRef(name):
            return len(name)
        case model.Layout():
            return len("ttnn.TILE_LAYOUT")
        case model.DType(name):
            return len("ttnn.") + len(name)
        case model.MemoryConfig():
            return len("DRAM")
        case _:
            return len("CONV_RELU")


def _key(key: model.Key) -> int:
    return sum(len(piece) if isinstance(piece, str) else len(piece.variable) + 2 for piece in key)
