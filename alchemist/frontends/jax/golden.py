"""The framework's own intermediate values: every equation of the traced program has a label, which its operations carry to the
emitted calls, and is evaluated by itself in JAX.

An equation that runs again (a loop's body, a function called twice) has its number behind the label: "mul_7", "mul_7.2" ...
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import numpy as np
from jax.extend.core import ClosedJaxpr, Jaxpr, Literal

Array = np.ndarray[Any, Any]

_MARK = "#"
_STEPS_LIMIT = 100_000
"""Rounds of a while loop after which its values are no longer recorded."""


class Labelled:
    """A traced program whose equations have a number each. labels: number -> name, "" for an equation that only holds others."""

    def __init__(self, program: ClosedJaxpr) -> None:
        self.labels: dict[int, str] = {}
        self._done: dict[int, tuple[Any, Any]] = {}  # the original is kept, so that its id stays its own
        self.program: ClosedJaxpr = self._rewritten(program)

    def _rewritten(self, given: Any) -> Any:
        """A jaxpr, or whatever else an equation has for a parameter."""
        if isinstance(given, tuple | list):
            return type(given)(self._rewritten(one) for one in given) if any(isinstance(one, ClosedJaxpr | Jaxpr) for one in given) else given
        if not isinstance(given, ClosedJaxpr | Jaxpr):
            return given
        if id(given) not in self._done:
            if isinstance(given, ClosedJaxpr):
                made: Any = given.replace(jaxpr=self._rewritten(given.jaxpr))
            else:
                made = given.replace(eqns=[self._equation(equation) for equation in given.eqns])
            self._done[id(given)] = given, made
        return self._done[id(given)][1]

    def _equation(self, equation: Any) -> Any:
        number = len(self.labels) + 1
        self.labels[number] = ""
        params = {key: self._rewritten(value) for key, value in equation.params.items()}
        if all(params[key] is value for key, value in equation.params.items()) and len(equation.outvars) == 1:
            self.labels[number] = f"{equation.primitive.name}_{number}"
        info = equation.source_info
        return equation.replace(params=params, source_info=info.replace(name_stack=info.name_stack.extend(f"{_MARK}{number}")))

    def values(self, arguments: Sequence[Any]) -> dict[str, Array]:
        """Value of every equation with a label, in order of computation."""
        recorder = _Recorder(self.labels)
        recorder.run(self.program.jaxpr, self.program.consts, arguments)
        return recorder.values


class _Recorder:
    """Evaluates equations one at a time, loops and branches as the converter unrolls them."""

    def __init__(self, labels: Mapping[int, str]) -> None:
        self.values: dict[str, Array] = {}
        self._labels = labels
        self._counts: dict[int, int] = {}
        self._inside: dict[str, Callable[[Any, list[Any]], Sequence[Any]]] = {
            "scan": self._scan, "while": self._while, "cond": self._cond,
        }  # fmt: skip

    def run(self, jaxpr: Any, consts: Sequence[Any], arguments: Sequence[Any]) -> list[Any]:
        environment = dict(zip((*jaxpr.constvars, *jaxpr.invars), (*consts, *arguments), strict=True))

        def read(one: Any) -> Any:
            return one.val if isinstance(one, Literal) else environment[one]

        for equation in jaxpr.eqns:
            results = self._equation(equation, [read(one) for one in equation.invars])
            environment.update(zip(equation.outvars, results, strict=True))
        return [read(one) for one in jaxpr.outvars]

    def closed(self, program: Any, arguments: Sequence[Any]) -> list[Any]:
        return self.run(program.jaxpr, program.consts, arguments) if isinstance(program, ClosedJaxpr) else self.run(program, (), arguments)

    def _equation(self, equation: Any, given: list[Any]) -> Sequence[Any]:
        inside = self._inside.get(equation.primitive.name)
        if inside is not None:
            return inside(equation, given)
        body = next((equation.params[key] for key in ("jaxpr", "call_jaxpr") if key in equation.params), None)
        if body is not None:
            return self.closed(body, given)
        params = equation.primitive.get_bind_params(equation.params)
        with equation.ctx.manager:
            made = equation.primitive.bind(*given, **params)
        if equation.primitive.multiple_results:
            return list(made)
        number = int(str(equation.source_info.name_stack.stack[-1].name).removeprefix(_MARK))
        self._counts[number] = count = self._counts.get(number, 0) + 1
        if self._labels[number] and not jax.dtypes.issubdtype(made.dtype, jax.dtypes.extended):
            array = np.asarray(made)
            plain = array.dtype.kind in "iub" or array.dtype == np.float64
            self.values[numbered(self._labels[number], count)] = array if plain else array.astype(np.float32)
        return [made]

    def _scan(self, equation: Any, given: list[Any]) -> Sequence[Any]:
        params = equation.params
        fixed, carried = params["num_consts"], params["num_consts"] + params["num_carry"]
        consts, state, columns = given[:fixed], given[fixed:carried], given[carried:]
        if params["unroll"] != 1:  # several copies of the body in a round: which value is whose cannot be told
            return list(equation.primitive.bind(*given, **params))
        rounds = range(params["length"])
        collected: list[list[Any]] = []
        for index in reversed(rounds) if params["reverse"] else rounds:
            results = self.closed(params["jaxpr"], [*consts, *state, *(column[index] for column in columns)])
            state = results[: params["num_carry"]]
            collected.append(results[params["num_carry"] :])
        if params["reverse"]:
            collected.reverse()
        if not collected:
            return list(equation.primitive.bind(*given, **params))
        return [*state, *(jax.numpy.stack(column) for column in zip(*collected, strict=True))]

    def _while(self, equation: Any, given: list[Any]) -> Sequence[Any]:
        params = equation.params
        of_condition, of_body = params["cond_nconsts"], params["cond_nconsts"] + params["body_nconsts"]
        first, second, state = given[:of_condition], given[of_condition:of_body], given[of_body:]
        for _ in range(_STEPS_LIMIT):
            if not self.closed(params["cond_jaxpr"], [*first, *state])[0]:
                return state
            state = self.closed(params["body_jaxpr"], [*second, *state])
        return list(equation.primitive.bind(*first, *second, *state, **params))

    def _cond(self, equation: Any, given: list[Any]) -> Sequence[Any]:
        """Of an index that data decides the program computes every branch, the last one first."""
        branches = equation.params["branches"]
        taken = min(max(int(given[0]), 0), len(branches) - 1)
        if isinstance(equation.invars[0], Literal):
            return self.closed(branches[taken], given[1:])
        results = {index: self.closed(branches[index], given[1:]) for index in reversed(range(len(branches)))}
        return results[taken]


def numbered(label: str, count: int) -> str:
    """The label of an equation that is computed for the `count`-th time."""
    return label if count == 1 else f"{label}.{count}"
