"""Casts around every call of a function go into the function: `max_pool2d` of float32 values casts to bfloat16, the only dtype that the op takes, and back.

Works on finished functions, after `module_functions`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from alchemist.program import model
from alchemist.program.functions import MOST_HELD_ELEMENTS

_CAST = "ttnn.typecast"
_QUOTE = re.compile(r"\d+: ")


@dataclass(frozen=True, slots=True)
class _Site:
    """Statements `start` to `end` of a body: a cast, the call, a cast of the result. frees: of the first cast's operand, which the call is given now."""

    start: int
    end: int
    comments: tuple[model.Statement, ...]
    before: model.Call
    call: model.CallFunction
    after: model.Call
    frees: tuple[model.Statement, ...]


def casting_inside(made: Sequence[model.Function], functions: Sequence[model.Function]) -> tuple[list[model.Function], list[model.Function]]:
    """Both with such casts inside of those of `made`, each of one op, that all calls surround with the same casts."""
    inner, outer = list(made), list(functions)
    for place, function in enumerate(inner):
        sites = [[_site(one.body, index) for index, part in enumerate(one.body) if _calls(part, function.name)] for one in outer]
        found = [site for row in sites for site in row if site is not None]
        calls = sum(_calls(part, function.name) for one in (*inner, *outer) for part in model.statements(one.body))
        if not found or len(found) < calls or len({(_constants(site.before), _constants(site.after)) for site in found}) > 1:
            continue
        inner[place] = _casting(function, found[0])
        said = found[0].comments
        outer = [replace(one, body=_shorter(one.body, [site for site in row if site is not None], said)) for one, row in zip(outer, sites, strict=True)]
    return inner, outer


def _calls(one: model.Statement, name: str) -> bool:
    return isinstance(one, model.CallFunction) and one.function == name


def _constants(call: model.Call) -> str:
    return repr(call.arguments[1:])


def _site(body: Sequence[model.Statement], index: int) -> _Site | None:
    call = body[index]
    start = index - 1
    while start >= 0 and isinstance(body[start], model.Free):
        start -= 1
    before, after = body[start] if start >= 0 else None, body[index + 1] if index + 1 < len(body) else None
    if not (isinstance(call, model.CallFunction) and isinstance(before, model.Call) and isinstance(after, model.Call)) or call.returned:
        return None
    operand, given, result = before.arguments[0][1], call.arguments[0], after.arguments[0][1]
    if {before.spec.name, after.spec.name} != {_CAST} or not isinstance(operand, model.TensorRef):
        return None
    chained = before.results == call.results and given == result == model.TensorRef(str(call.results[0])) and (after.returned or after.results == call.results)
    frees = tuple(body[start + 1 : index])
    ends = bool(frees) or operand == given  # the caller keeps the operand until the call returns
    if not chained or frees not in ((), (model.Free((operand.name,)),)) or (ends and _l1_elements(body[:start], operand.name) > MOST_HELD_ELEMENTS):
        return None
    first = start
    while first and isinstance(said := body[first - 1], model.Comment) and not _QUOTE.match(said.text):
        first -= 1
    return _Site(first, index + 2, tuple(body[first:start]), before, call, after, frees if not after.returned else ())


def _l1_elements(body: Sequence[model.Statement], name: str) -> float:
    """How many elements of the variable are in L1 behind the statements; infinite where these do not bind it."""
    for one in reversed(body):
        if isinstance(one, model.Call | model.CallFunction) and name in one.results:
            return dict(zip(one.results, one.l1_elements, strict=False)).get(name, math.inf)
    return math.inf


def _casting(function: model.Function, site: _Site) -> model.Function:
    x = next(one.name for one in function.parameters if one.kind == "tensor")
    *begin, op = function.body
    assert isinstance(op, model.Call)

    def cast(call: model.Call, *results: str) -> model.Call:
        arguments = ((call.arguments[0][0], model.TensorRef(x)), *call.arguments[1:])
        return replace(call, arguments=arguments, note="", results=results, returned=not results)

    body = (*begin, *site.comments, cast(site.before, x), replace(op, results=(x,), returned=False), cast(site.after))
    return replace(function, body=body)


def _shorter(body: Sequence[model.Statement], sites: Sequence[_Site], said: Sequence[model.Statement]) -> tuple[model.Statement, ...]:
    """The body with the calls alone. said: comments that the function has."""
    out = list(body)
    for site in reversed(sites):
        given = (site.before.arguments[0][1], *site.call.arguments[1:])
        call = replace(site.call, arguments=given, results=site.after.results, note=site.after.note, returned=site.after.returned)
        out[site.start : site.end] = [*(one for one in site.comments if one not in said), call, *site.frees]
    return tuple(out)
