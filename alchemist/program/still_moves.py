"""Functions of one class that differ in where their tensors lie: a move stands in all of them, and does nothing where the tensor lies there already.

`ttnn.to_memory_config` returns a tensor that has the memory as it is, so that the block of a stage whose convolution reads other shards than the product in
front makes is the block of all stages. Works on finished functions while they are merged.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace

from alchemist.ops.spec import TTNN_OPS
from alchemist.program import model
from alchemist.program.scopes import MOVE
from alchemist.program.walk import arguments_of, bound_by, bound_in, code_of, names_of, with_values

STAYS = "no-op if it is there already"
"""The remark of a move that some functions do not need."""
_IN_PLACE = "_in_place"


@dataclass(frozen=True, slots=True)
class _Move:
    """reader: the first statement that reads the result, counted without moves. place: of the result among its arguments. renamed: the result has another
    name than the tensor. freed: behind which statement the result is freed, counted in the same way; -1 for none.
    name: of the variable, where a loop reads it (place is -1 then). notes: comments between the move and its reader."""

    reader: int
    place: int
    renamed: bool
    freed: int
    name: str = ""
    notes: int = 0


def with_equal_moves(functions: Sequence[model.Function]) -> list[model.Function]:
    """The functions, each with the moves of the others that have its statements; one as it is where it is not known where a tensor lies."""
    out = list(functions)
    groups: dict[Hashable, list[int]] = {}
    for index, function in enumerate(functions):
        if function.module:
            kinds = tuple(parameter.kind for parameter in function.parameters)
            groups.setdefault((function.module, kinds, function.returns, skeleton(function.body)), []).append(index)
    for group in groups.values():
        found = {index: _moves(functions[index].body) for index in group}
        wanted = sorted(
            {move for moves in found.values() if moves is not None for move in moves}, key=lambda move: (move.reader, move.place, move.renamed, move.freed)
        )
        for index in group if len(group) > 1 else ():
            moves = found[index]
            if moves is not None and (missing := [move for move in wanted if move not in moves]):
                out[index] = _with_moves(functions[index], missing) or functions[index]
    return out


def is_move(one: model.Statement) -> bool:
    return isinstance(one, model.Call) and one.spec.name == MOVE and not one.returned


def _steps(body: Sequence[model.Statement]) -> list[int]:
    """Places of the statements that compute."""
    return [
        place for place, one in enumerate(body) if isinstance(one, model.Call | model.CallFunction | model.Loop | model.If | model.Return) and not is_move(one)
    ]


def skeleton(body: Sequence[model.Statement]) -> Hashable:
    """Equal for statements that compute the same way, wherever their tensors lie."""
    return tuple(code_of(body[place]) for place in _steps(body))


def _read(one: model.Statement) -> set[str]:
    """Variables that the statement reads, and those inside."""
    return {name for part in model.statements((one,)) for name in names_of(part)}


def _names(one: model.Statement) -> list[str]:
    """Variables that a call is given, by place; "" for other arguments."""
    return [argument.name if isinstance(argument, model.TensorRef) else "" for argument in arguments_of(one)]


def _moves(body: Sequence[model.Statement]) -> set[_Move] | None:
    """The moves of a body; None where one is not read by a later call of the body."""
    found: set[_Move] = set()
    steps = _steps(body)
    for place, one in enumerate(body):
        if not is_move(one):
            continue
        assert isinstance(one, model.Call)
        (result,), (given, *_) = one.results, _names(one)
        reader = next(
            (number for number, step in enumerate(steps) if step > place and any(result in names_of(part) for part in model.statements((body[step],)))), -1
        )
        if reader < 0 or not given:
            return None
        freed = next((at for at, other in enumerate(body) if at > place and isinstance(other, model.Free) and result in other.names), -1)
        behind = sum(step < freed for step in steps) - 1 if freed >= 0 else -1
        notes = sum(isinstance(other, model.Comment) for other in body[place : steps[reader]])
        if str(result) in (names := _names(body[steps[reader]])):
            found.add(_Move(reader, names.index(str(result)), result != given, behind, "", notes))
        elif isinstance(body[steps[reader]], model.Loop) and result == given:
            found.add(_Move(reader, -1, False, behind, given, notes))
        else:
            return None
    return found


def _with_moves(function: model.Function, missing: Sequence[_Move]) -> model.Function | None:
    """The function with moves of tensors to where they are; None where that is not known."""
    body = list(function.body)
    for move in reversed(missing):  # later ones first: the places of the earlier ones stay
        place = _steps(body)[move.reader]
        reader = body[place]
        names = _names(reader)
        name = move.name or (names[move.place] if move.place < len(names) else "")
        memory = _memories(function, body[:place]).get(name)
        if memory is None:
            return None
        result = name
        if move.renamed:
            result = f"{name}_sharded"
            if result in bound_in(body) or any(result == parameter.name for parameter in function.parameters):
                return None
            body[place] = _reading(reader, name, result)
        if move.freed >= 0:
            behind = _steps(body)[move.freed]
            freed = [at for at, later in enumerate(body) if at > place and isinstance(later, model.Free) and result in later.names]
            if behind < place or any(result in names_of(later) for later in body[behind + 1 :]):
                return None
            if not freed:
                body.insert(behind + 1, model.Free((result,)))
            elif sum(step < freed[0] for step in _steps(body)) - 1 != move.freed:
                return None
        spec = TTNN_OPS[MOVE]
        target = next(arg for arg in spec.args if arg.name == "memory_config")
        later = set(_names(reader)[move.place + 1 :])  # moves stand in the order of the arguments
        notes = move.notes
        while place and ((is_move(body[place - 1]) and bound_by(body[place - 1]) <= later) or (notes and isinstance(body[place - 1], model.Comment))):
            place -= 1
            notes -= isinstance(body[place], model.Comment)
        body.insert(place, model.Call(spec, ((spec.args[0], model.TensorRef(name)), (target, memory)), (result,), STAYS))
    return replace(function, body=tuple(body))


def _reading(one: model.Statement, name: str, other: str) -> model.Statement:
    return with_values(one, lambda old: model.TensorRef(other) if old == model.TensorRef(name) else old)


def _memories(function: model.Function, body: Sequence[model.Statement]) -> Mapping[str, model.MemoryConfig]:
    """Where the variables lie behind the statements, of those of which it is known."""
    found = {parameter.name: parameter.memory for parameter in function.parameters if parameter.memory is not None}
    for one in body:
        made = _memory(one, found)
        for name in bound_by(one):
            found.pop(name, None)
            if made is not None:
                found[name] = made
    return found


def _memory(one: model.Statement, known: Mapping[str, model.MemoryConfig]) -> model.MemoryConfig | None:
    if not isinstance(one, model.Call):
        return None
    if one.spec.name.endswith(_IN_PLACE):
        return known.get(_names(one)[0])
    return next((value for arg, value in one.arguments if arg.name == "memory_config" and isinstance(value, model.MemoryConfig)), None)
