"""Numbers of an op that its source statement reads from an attribute of the module: `self.rate` of the class TrainingStep is a named constant, RATE."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from alchemist.ir.location import Scope
from alchemist.ir.scopes import is_library, weight_path
from alchemist.program import model
from alchemist.program.graph import Graph, Node, Raw
from alchemist.program.model_source import Sources

_ATTRIBUTE = re.compile(r"\bself\.(\w+)")
_NAMED = ("epsilon", "eps")
"""Arguments whose names say what the number is."""
GELU = {
    "GELU.sqrt_2_over_pi": (0.7978845608028654, "sqrt(2 / pi), of GELU's tanh form"),
    "GELU.cubic": (0.044715, "Coefficient of the cube in GELU's tanh form."),
    "GELU.cubic_slope": (0.134145, "3 * GELU_CUBIC: of the cube's derivative"),
}
"""Numbers of GELU where a program has its steps, as a gradient needs them: name -> value, comment."""
_OF_GELU = {float(np.float32(value)): name for name, (value, _) in GELU.items()}


def note_sources(graph: Graph, sources: Sources, numbers: Mapping[str, Mapping[str, float]]) -> None:
    """Sets `source` of the numbers in the nodes' arguments. numbers: module path -> its attributes that are Python floats."""
    for node in graph.nodes:
        known = _OF_GELU | _known(node, sources, numbers)
        node.arguments = tuple((arg, raw if arg.name in _NAMED else _noted(raw, known)) for arg, raw in node.arguments)


def _known(node: Node, sources: Sources, numbers: Mapping[str, Mapping[str, float]]) -> dict[float, str]:
    """float32 number -> attribute with its class, of those that the node's statements read."""
    found: dict[float, str] = {}
    for info in node.sources:
        leaf = info.scopes[-1] if info.scopes else Scope("", "")
        if is_library(leaf.class_name) and "eps" in numbers.get(weight_path(leaf.path), {}):
            found[float(np.float32(numbers[weight_path(leaf.path)]["eps"]))] = f"{leaf.class_name.rpartition('.')[2]}.eps"
        statement = sources.statement(info.frames[-1]) if info.frames else None
        scope = next((scope for scope in reversed(info.scopes) if weight_path(scope.path) in numbers), None)
        for name in _ATTRIBUTE.findall(statement.text) if statement is not None and scope is not None else ():
            value = numbers[weight_path(scope.path)].get(name) if scope is not None else None
            if value is not None and scope is not None:
                found[float(np.float32(value))] = f"{scope.class_name.rpartition('.')[2]}.{name}"
    return found


def _noted(raw: Raw, known: Mapping[float, str]) -> Raw:
    match raw:
        case model.Literal(float() as value, 0):
            return replace(raw, source=known.get(float(np.float32(value)), ""))
        case model.Items(items):
            return model.Items(tuple(replace(item, source=_source(item, known)) if isinstance(item, model.Unary) else item for item in items))
        case _:
            return raw


def _source(item: model.Unary, known: Mapping[float, str]) -> str:
    return known.get(float(np.float32(item.parameters[0])), "") if len(item.parameters) == 1 else ""
