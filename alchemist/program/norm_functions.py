"""A norm that a program writes out many times becomes a function of its own, which is given the scope of the module's weights.

The call takes a line for each argument, the module around it a line: `input_layernorm = rms_norm(hidden_states, weights.scope("input_layernorm"))`.
Works on finished functions, after `tail_merging`.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

from alchemist.program import model
from alchemist.program.alpha_renaming import Mismatch
from alchemist.program.merge import Aligned, align
from alchemist.program.names import MAIN_RESERVED, RESERVED, unique
from alchemist.program.recipes import module_of
from alchemist.program.walk import mapped

MIN_CALLS = 3
"""Calls of a norm in the program's text that are worth a function."""
MIN_ARGUMENTS = 5
"""Arguments of a call that is printed in several lines."""
MAX_CONSTANTS = 1
"""Constants in which calls of one function may differ."""
_WORDS = {"ttnn.layer_norm": ("layer_norm", "Layer norm"), "ttnn.rms_norm": ("rms_norm", "RMS norm")}
_TENSORS = {"input_tensor": "x", "residual_input_tensor": "residual"}


@dataclass(frozen=True, slots=True)
class _Norm:
    """A call as a function of its own: `tensors` are what the program gives it, `module` the scope of its weights."""

    function: model.Function
    tensors: tuple[model.Value, ...]
    module: model.Key
    kind: Hashable


@dataclass(slots=True)
class _Cluster:
    members: list[_Norm]
    aligned: Aligned


def share_norms(functions: Sequence[model.Function], taken: set[str]) -> list[model.Function]:
    """The functions, with those of norms in front. taken: names that functions must not have, to which theirs are added."""
    clusters: dict[Hashable, list[_Cluster]] = {}
    for function in functions:
        for statement in model.statements(function.body):
            norm = _norm(statement)
            if norm is not None:
                _place(norm, clusters.setdefault(norm.kind, []))
    made: list[model.Function] = []
    calls: dict[tuple[Hashable, str], tuple[str, Sequence[model.NumberArgument]]] = {}
    for kind, found in clusters.items():
        for cluster in found:
            if len(cluster.members) < MIN_CALLS:
                continue
            first = cluster.members[0].function
            name = unique([first.name], lambda name: name not in taken and name not in RESERVED and name not in MAIN_RESERVED)
            taken.add(name)
            made.append(replace(cluster.aligned.function, name=name))
            for index, member in enumerate(cluster.members):
                constants = [model.NumberArgument(word, values[index]) for word, values in cluster.aligned.added.items()]
                calls[kind, repr(member.function.body)] = (name, constants)

    def called(statement: model.Statement) -> model.Statement:
        norm = _norm(statement)
        call = calls.get((norm.kind, repr(norm.function.body))) if norm is not None else None
        if norm is None or call is None or not isinstance(statement, model.Call):
            return statement
        arguments = (*norm.tensors, model.ScopeArgument("weights", norm.module), *call[1])
        return model.CallFunction(call[0], arguments, statement.results, statement.note, statement.returned)

    return [*made, *(replace(function, body=mapped(function.body, called)) for function in functions)] if made else list(functions)


def _place(norm: _Norm, clusters: list[_Cluster]) -> None:
    for cluster in clusters:
        try:
            aligned = align([*(member.function for member in cluster.members), norm.function], set())
        except Mismatch:
            continue
        if len(aligned.added) <= MAX_CONSTANTS:
            cluster.members.append(norm)
            cluster.aligned = aligned
            return
    clusters.append(_Cluster([norm], align([norm.function], set())))


def _norm(statement: model.Statement) -> _Norm | None:
    """A call of a norm of one module's weights whose other arguments are tensors and constants."""
    if not isinstance(statement, model.Call) or statement.spec.target not in _WORDS or len(statement.arguments) < MIN_ARGUMENTS:
        return None
    name, text = _WORDS[statement.spec.target]
    tensors: list[model.Value] = []
    modules: list[model.Key] = []
    parameters: list[model.Parameter] = []
    arguments = []
    for arg, value in statement.arguments:
        inner = value
        if isinstance(value, model.TensorRef | model.Element):
            word = _TENSORS.get(arg.name)
            if word is None:
                return None
            tensors.append(value)
            parameters.append(model.Parameter(word))
            inner = model.TensorRef(word)
        elif isinstance(value, model.WeightRef):
            leaf = value.key[-1]
            if value.stored or not isinstance(leaf, str):
                return None
            modules.append(module_of(value.key))
            inner = model.WeightRef((leaf.rpartition(".")[2],))
        elif isinstance(value, model.NumberRef | model.ParameterRef | model.DeviceRef):
            return None
        arguments.append((arg, inner))
    if not tensors or len(set(modules)) != 1:
        return None
    summed = len(tensors) > 1
    parameters.append(model.Parameter("weights", "weights"))
    body = (replace(statement, arguments=tuple(arguments), results=(), note="", returned=True),)
    doc = f"{text} of {'x + residual' if summed else 'x'}, with a module's weights."
    function = model.Function(f"add_{name}" if summed else name, tuple(parameters), body, 1, doc)
    return _Norm(function, tuple(tensors), modules[0], (statement.spec.name, tuple((arg.name, type(value)) for arg, value in arguments)))
