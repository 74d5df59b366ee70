"""Tensors that the program writes in place (caches): no results of its functions, and lists where layers have one each."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

from alchemist.frontends.base import Argument, FrontendResult, Output
from alchemist.ops.spec import IN_PLACE
from alchemist.program.graph import Graph, Value, ValueList, values_of
from alchemist.program.model import DecodingStep, Generation, PromptEntry
from alchemist.program.names import identifier, unique

_NUMBER = re.compile(r"(?:(?<=[._])|^)(\d{1,8})(?=[._]|$)")
_ROLES = {"input_tensor_k": "key_caches", "input_tensor_v": "value_caches"}
"""Arguments of decode attention, and what a list of such caches is called."""


def note_state(graph: Graph) -> None:
    """Marks the arguments that ops write in place, and lists those whose names differ in one number that counts from 0."""
    roles: dict[int, str] = {}
    for node in graph.nodes:
        if node.spec.name in IN_PLACE and node.inputs() and node.inputs()[0].node is None:
            node.inputs()[0].written = True
        for arg, raw in node.arguments:
            if arg.name in _ROLES and node.spec.name.endswith("attention_decode"):
                roles.update((id(value), _ROLES[arg.name]) for value in values_of(raw))
    alike: dict[tuple[str, bool], dict[int, Value]] = {}
    for value in (*graph.inputs, *graph.weights):
        pieces = _NUMBER.split(value.key or value.name) if value.written else []
        if len(pieces) == 3:
            alike.setdefault((f"{pieces[0]}#{pieces[2]}", bool(value.key)), {})[int(pieces[1])] = value
    taken: set[str] = set()
    for (pattern, _), members in alike.items():
        values = [members[index] for index in sorted(members)]
        if len(values) < 2 or sorted(members) != list(range(len(values))) or len({value.type for value in values}) > 1:
            continue
        found = {roles.get(id(value), "") for value in values}
        wanted = [*found] if len(found) == 1 and "" not in found else []
        name = unique([*wanted, _plural(pattern)], lambda name: name not in taken)
        taken.add(name)
        together = ValueList(name, pattern, tuple(values))
        for index, value in enumerate(values):
            value.group, value.place = together, index


def list_arguments(values: Sequence[Value]) -> list[ValueList]:
    """Makes lists of inputs of one type whose names count from 0 in one number (`caches.2.0` in the first one), the longest first."""
    alike: dict[tuple[str, str], dict[int, Value]] = {}
    for value in values:
        if value.node is None and value.group is None and not value.key:
            for number in _NUMBER.finditer(value.name):
                alike.setdefault((value.name[: number.start()], value.name[number.end() :]), {})[int(number[1])] = value
    made: list[ValueList] = []
    taken: set[str] = set()
    for (before, behind), members in sorted(alike.items(), key=lambda one: -len(one[1])):
        listed = [members[index] for index in sorted(members)]
        if len(listed) < 2 or sorted(members) != list(range(len(listed))) or len({value.type for value in listed}) > 1 or any(one.group for one in listed):
            continue
        pattern = f"{before}#{behind}"
        made.append(ValueList(unique([_plural(pattern)], lambda name: name not in taken), pattern, tuple(listed)))
        taken.add(made[-1].name)
        for place, value in enumerate(listed):
            value.group, value.place = made[-1], place
    return made


def generation_of(entries: Mapping[str, FrontendResult]) -> Generation | None:
    """How entry points generate text together: a step of decoding, and one that takes the whole prompt. None where there is no step."""
    steps = [(name, step) for name, result in entries.items() if (step := _step_of(name, result, entries)) is not None]
    if len(steps) != 1:
        return None
    name, step = steps[0]
    prompts = [prompt for other, result in entries.items() if other != name and (prompt := _prompt_of(other, result, step, entries)) is not None]
    if step.fed and not prompts:
        return None
    return Generation(step, prompts[0] if prompts else None)


def _step_of(name: str, result: FrontendResult, entries: Mapping[str, FrontendResult]) -> DecodingStep | None:
    """One token per user and one position in, logits out, caches [B, H, S, D] written; what else goes in comes from another entry point."""
    inputs = [argument for argument in result.arguments if argument.kind == "input"]
    whole = [argument for argument in inputs if argument.dtype in ("int64", "int32")]
    positions = [argument for argument in whole if "position" in argument.name.lower() and math.prod(argument.shape) == 1]
    tokens = [argument for argument in whole if argument not in positions and len(argument.shape) == 2 and argument.shape[1] == 1]
    results = [output for output in result.outputs if not output.mutates]
    caches = {output.shape[2] for output in result.outputs if output.mutates and len(output.shape) == 4}
    if len(positions) != 1 or len(tokens) != 1 or len(results) != 1 or len(caches) != 1:
        return None
    logits = results[0]
    if len(logits.shape) != 3 or logits.shape[:2] != tokens[0].shape or not logits.dtype.endswith(("float32", "float16", "bfloat16")):
        return None
    fed = []
    for argument in inputs:
        if argument not in (*positions, *tokens):
            makers = [f"{other}.{output.name}" for other, made in entries.items() if other != name for output in made.outputs if _is_for(output, argument)]
            if len(makers) != 1:
                return None
            fed.append((argument.name, makers[0]))
    return DecodingStep(name, tokens[0].name, positions[0].name, logits.name, caches.pop(), tuple(fed))


def _is_for(output: Output, argument: Argument) -> bool:
    return (output.name, output.shape, output.dtype) == (argument.name, argument.shape, argument.dtype)


def _prompt_of(name: str, result: FrontendResult, step: DecodingStep, entries: Mapping[str, FrontendResult]) -> PromptEntry | None:
    """Tokens of each user from position 0 on in, logits out, the step's caches written; or an encoder whose outputs the step is fed with."""
    inputs = [argument for argument in result.arguments if argument.kind == "input"]
    users = next(argument.shape[0] for argument in entries[step.entry].arguments if argument.name == step.tokens)
    if len(inputs) != 1 or inputs[0].dtype not in ("int64", "int32") or len(inputs[0].shape) != 2 or inputs[0].shape[0] != users:
        return None
    results = [output for output in result.outputs if not output.mutates]
    if step.fed:
        return PromptEntry(name, inputs[0].name, "") if all(maker.startswith(f"{name}.") for _, maker in step.fed) else None
    caches = [{output.mutates for output in one.outputs if output.mutates} for one in (result, entries[step.entry])]
    if len(results) != 1 or results[0].shape[:2] != inputs[0].shape or len(results[0].shape) != 3 or caches[0] != caches[1]:
        return None
    return PromptEntry(name, inputs[0].name, results[0].name)


def _plural(pattern: str) -> str:
    words = identifier(re.sub(r"[._]*#[._]*", "_", pattern).strip("_"), "caches")
    return words if words.endswith("s") or words[-1].isdigit() else f"{words}s"


def lists_of(values: Sequence[Value]) -> dict[str, ValueList]:
    """The lists all of whose values are among these."""
    present = {id(value) for value in values}
    groups = {value.group.name: value.group for value in values if value.group is not None}
    return {name: group for name, group in groups.items() if all(id(value) in present for value in group.values)}
