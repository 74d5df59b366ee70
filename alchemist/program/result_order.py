"""A function returns its results in the order in which its source does, so that `y, weights = attention(x)` names each rightly."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from alchemist.program.graph import Value
from alchemist.program.model_source import FunctionSource, Statement
from alchemist.program.pieces import slots

_ATTENTION = "MultiheadAttention"
"""The class of torch.nn, whose source is not read: it returns what its output projection makes, then the probabilities."""


def in_source_order(
    class_name: str,
    returns: Sequence[Value],
    source: FunctionSource | None,
    statement_of: Callable[[Value], Statement | None],
    aliases: Callable[[str], Sequence[str]],
) -> list[Value] | None:
    """The results as the source's return statement has them, where the program may need only some of these; None where it does not say which is which.

    source: of the module's forward. statement_of: the statement of it that made a value. aliases: further names that it gives to a variable.
    """
    if len(returns) < 2 or any(value.is_gradient for value in returns):
        return list(returns)
    if class_name.rpartition(".")[2] == _ATTENTION:
        return sorted(returns, key=lambda value: not _is_projected(value))
    places = source.returned if source is not None else ()
    if len(places) < len(returns):
        return None
    expressions: list[Value] = []
    found: dict[int, Value] = {}
    for value in returns:
        statement = statement_of(value)
        targets = statement.targets if statement is not None else ()
        chosen = slots(value, len(targets)) if len(targets) > 1 else [*range(len(targets))]
        target = targets[chosen[0]] if len(chosen) == 1 else ""
        target = next((name for name in (target, *(aliases(target) if target else ())) if name in places), "")
        if statement is not None and statement.returned:
            expressions.append(value)
        elif target and places.count(target) == 1 and places.index(target) not in found:
            found[places.index(target)] = value
        else:
            return None
    if len(expressions) != len(places) - len(found) and expressions:
        return None
    spare = iter(expressions)
    return [found[index] if index in found else next(spare) for index in range(len(places)) if index in found or expressions]


def _is_projected(value: Value) -> bool:
    """Whether the value is made with the weights of the output projection."""
    seen: set[int] = set()
    stack = [value]
    while stack:
        one = stack.pop()
        if ".out_proj." in f".{one.key}":
            return True
        if one.node is not None and id(one.node) not in seen:
            seen.add(id(one.node))
            stack += one.node.inputs()
    return False
