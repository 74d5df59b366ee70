"""Two ops of an emitted program as one: a result that only the next op reads becomes an argument of that op, or the next op one of the first.

Looked for in the statements of a function's body that follow each other; what is inside a loop is left alone.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from ttnn_shim.reports.answers import Edit, Suggestion

from alchemist.tools.program_text import Source, keywords

_PRODUCTS = ("ttnn.linear", "ttnn.matmul")
_BINARY = ("ttnn.add", "ttnn.subtract", "ttnn.multiply")
_NORMS = ("ttnn.layer_norm", "ttnn.rms_norm")
_ACTIVATIONS = ("relu", "gelu", "silu", "sigmoid", "tanh")


@dataclass(frozen=True, slots=True)
class Pair:
    """A call whose result only another one reads: that one, and the place of the argument."""

    first: ast.Call
    second: ast.Call
    argument: ast.Name
    position: int

    @property
    def ops(self) -> tuple[str, str]:
        return ast.unparse(self.first.func), ast.unparse(self.second.func)


def pairs(function: ast.FunctionDef) -> Iterator[Pair]:
    """Assignments of a call's result to a name that is read once before it is assigned again, as an argument of a call."""
    for index, statement in enumerate(function.body):
        if not isinstance(statement, ast.Assign) or not isinstance(statement.value, ast.Call) or not isinstance(statement.targets[0], ast.Name):
            continue
        name, reads = statement.targets[0].id, []
        for after in function.body[index + 1 :]:
            found = [node for node in ast.walk(after) if isinstance(node, ast.Name) and node.id == name]
            loads = [node for node in found if isinstance(node.ctx, ast.Load)]
            reads += [(after, node) for node in loads]
            if isinstance(after, ast.For) and found:
                reads += [(after, node) for node in found] * 2  # read in each turn
            if any(isinstance(node.ctx, ast.Store) for node in found):
                break
        if len(reads) != 1:
            continue
        for call in ast.walk(reads[0][0]):
            if isinstance(call, ast.Call) and reads[0][1] in call.args:
                yield Pair(statement.value, call, reads[0][1], call.args.index(reads[0][1]))


def fusions(source: Source, ops: set[str]) -> list[Suggestion]:
    """Suggestions for all pairs that TT-NN has in one op. ops: those that the program ran."""
    found: list[Suggestion] = []
    for function in source.functions():
        for pair in pairs(function):
            if ops.issuperset(pair.ops):
                found += _of_pair(source, pair)
    return found


def _of_pair(source: Source, pair: Pair) -> Iterator[Suggestion]:
    (first, second), line = pair.ops, f"{source.name}:{pair.second.lineno}"
    touches = frozenset({f"fused {line}", f"fused {source.name}:{pair.first.lineno}"})
    unary, activation = second.removeprefix("ttnn."), keywords(pair.first).get("activation", "").strip("'\"")
    given, after = keywords(pair.first), keywords(pair.second)
    replaced = Edit(source.name, *source.span(pair.second), pair.argument.id)

    if unary in _ACTIVATIONS and len(pair.second.args) == 1 and not after.keys() - {"memory_config"}:
        if first in _PRODUCTS and "activation" not in given:
            edits = (source.keyword(pair.first, "activation", f'"{unary}"'), replaced)
            yield Suggestion(f"{second} as part of {first}", line, f'activation="{unary}" in {first}(...), without {second}', edits, touches)
        if first in _BINARY and "activations" not in given:
            value = f"[ttnn.UnaryWithParam(ttnn.UnaryOpType.{unary.upper()})]"
            edits = (source.keyword(pair.first, "activations", value), replaced)
            yield Suggestion(f"{second} as part of {first}", line, f"activations={value} in {first}(...), without {second}", edits, touches)
    side = "ab"[pair.position] if pair.position < 2 else ""
    if second in _BINARY and side and f"input_tensor_{side}_activations" not in after:
        if first in _PRODUCTS and activation in _ACTIVATIONS and "core_grid" not in given and "program_config" not in given:
            value = f"[ttnn.UnaryOpType.{activation.upper()}]"
            edits = (source.without(pair.first, "activation"), source.keyword(pair.second, f"input_tensor_{side}_activations", value))
            write = f"input_tensor_{side}_activations={value} in {second}(...), without activation= in {first}(...)"
            yield Suggestion(f"{second}: {activation} as part of it, not of {first}", line, write, edits, touches)
        name = first.removeprefix("ttnn.")
        if name in _ACTIVATIONS and len(pair.first.args) == 1 and not given.keys() - {"memory_config"}:
            value = f"[ttnn.UnaryOpType.{name.upper()}]"
            taken = Edit(source.name, *source.span(pair.first), ast.unparse(pair.first.args[0]))
            edits = (taken, source.keyword(pair.second, f"input_tensor_{side}_activations", value))
            yield Suggestion(f"{second}: {name} as part of it", line, f"input_tensor_{side}_activations={value} in {second}(...)", edits, touches)
    if first == "ttnn.add" and second in _NORMS and pair.position == 0 and not given.keys() - {"memory_config"} and len(pair.first.args) == 2:
        if "residual_input_tensor" not in after:
            left, right = map(ast.unparse, pair.first.args)
            edits = (Edit(source.name, *source.span(pair.first), left), source.keyword(pair.second, "residual_input_tensor", right))
            yield Suggestion(f"{second}: the sum before it as part of it", line, f"residual_input_tensor={right} in {second}(...)", edits, touches)
    if second == "ttnn.typecast" and first in (*_PRODUCTS, *_BINARY) and "dtype" not in given and len(pair.second.args) == 2:
        dtype = ast.unparse(pair.second.args[1])
        edits = (source.keyword(pair.first, "dtype", dtype), replaced)
        yield Suggestion(f"{first}: its result as {dtype} at once", line, f"dtype={dtype} in {first}(...), without ttnn.typecast", edits, touches)
