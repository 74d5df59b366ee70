"""Tensors that the program writes in place (caches): no results of its functions, and lists where layers have one each."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from alchemist.frontends.base import FrontendResult
from alchemist.ops.spec import IN_PLACE
from alchemist.program.graph import Graph, Value, ValueList, values_of
from alchemist.program.model import Decoding
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


def decoding_of(result: FrontendResult) -> Decoding | None:
    """The step of decoding that the program is: one token per user and one position in, logits out, caches [B, H, S, D] written. None for others."""
    inputs = [argument for argument in result.arguments if argument.kind == "input"]
    whole = [argument for argument in inputs if argument.dtype in ("int64", "int32")]
    positions = [argument for argument in whole if "position" in argument.name.lower() and math.prod(argument.shape) == 1]
    tokens = [argument for argument in whole if argument not in positions and len(argument.shape) == 2 and argument.shape[1] == 1]
    results = [output for output in result.outputs if not output.mutates]
    caches = {output.shape[2] for output in result.outputs if output.mutates and len(output.shape) == 4}
    if len(inputs) != 2 or len(positions) != 1 or len(tokens) != 1 or len(results) != 1 or len(caches) != 1:
        return None
    logits = results[0]
    if len(logits.shape) != 3 or logits.shape[:2] != tokens[0].shape or not logits.dtype.endswith(("float32", "float16", "bfloat16")):
        return None
    return Decoding(tokens[0].name, positions[0].name, logits.name, caches.pop())


def _plural(pattern: str) -> str:
    words = identifier(re.sub(r"[._]*#[._]*", "_", pattern).strip("_"), "caches")
    return words if words.endswith("s") else f"{words}s"


def lists_of(values: Sequence[Value]) -> dict[str, ValueList]:
    """The lists all of whose values are among these."""
    present = {id(value) for value in values}
    groups = {value.group.name: value.group for value in values if value.group is not None}
    return {name: group for name, group in groups.items() if all(id(value) in present for value in group.values)}
