"""Calls for profiles and for the comparison of every op (`ttnn_shim.session`): arguments, results, host time, and the number that their programs carry."""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import count
from typing import Any

from ttnn import _core
from ttnn._call_texts import argument_texts
from ttnn._events import PROFILE, on_call
from ttnn._operation import Operation
from ttnn_shim import session

call_ids = count(1)
"""Numbers of the calls of a profile."""


def _recorded(operation: Any, go_on: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if not isinstance(operation, Operation) or not session.recording():
        return go_on(args, kwargs)
    call_id = next(call_ids)
    names = [param.name for param in operation.overloads.overloads[0].params]
    arguments = argument_texts(names, args, kwargs)
    _core.lib.shim_set_call(call_id)
    start = time.perf_counter()
    try:
        result = go_on(args, kwargs)
    finally:
        session.record_call(call_id, operation.name, arguments, time.perf_counter() - start)
        _core.lib.shim_set_call(0)
    session.record_result(operation.name, result)
    return result


def _follow(recording: bool) -> None:
    on_call.watch(PROFILE, _recorded if recording else None)


session.follow_recording(_follow)
