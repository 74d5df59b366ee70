"""Recurrent layers, unrolled: x [time, batch, size], weights [directions, gates * hidden, ...], all products of the input at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from alchemist.frontends.base import FIRST_STEP
from alchemist.frontends.onnx.emitter import Emitter, Tensor
from alchemist.frontends.onnx.errors import Unsupported
from alchemist.frontends.onnx.registry import Node, rule
from alchemist.ir.op_class import short_names

_CELLS = {"LSTM": "LSTMCell", "GRU": "GRUCell", "RNN": "RNNCell"}
_LAYERS = {"LSTM": "LSTMLayer", "GRU": "GRULayer", "RNN": "RNNLayer"}
Cell = Callable[[Tensor, list[Tensor]], list[Tensor]]
"""(the step's input gates [1, batch, gates * hidden], states [1, batch, hidden]) -> new states, the first of which is the output."""


def _direction(c: Emitter, part: Tensor, number: int) -> Tensor:
    return c.reshape(c.slice(part, 0, number, number + 1), part.shape[1:])


def _linear(c: Emitter, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    flags = {"transpose_a": False, "transpose_b": True}
    return c.emit("linear", [x, weight, bias], flags)


def _chunks(c: Emitter, x: Tensor, names: Sequence[str]) -> list[Tensor]:
    """As many equal parts of the last dimension as names."""
    size = x.shape[-1] // len(names)
    return [c.named(c.slice(x, x.rank - 1, i * size, (i + 1) * size), name) for i, name in enumerate(names)]


def _layer(
    c: Emitter, node: Node, x: Tensor, weight: Tensor, recurrence: Tensor, bias: Tensor | None, lengths: Tensor | None,
    states: Sequence[Tensor | None], cell: Callable[[Tensor, Tensor | None], Cell], activations: str,
    all_biases: bool,
) -> list[Tensor]:  # fmt: skip
    """all_biases: the recurrence's biases join those of the input. Gives the outputs and the final states."""
    hidden, way = node.get("hidden_size", recurrence.shape[-1]), node.get("direction", "forward")
    directions = weight.shape[0]
    if node.get("clip") is not None:
        raise Unsupported("a recurrent layer that clips")
    names = tuple(name.lower() for name in node.get("activations") or [])
    if names and names != tuple(activations.split()) * directions:
        raise Unsupported(f"a recurrent layer with the activations {', '.join(names)}")
    first = bool(node.get("layout", 0))
    if first:
        x = c.permute(x, [1, 0, 2])
        states = [None if state is None else c.permute(state, [1, 0, 2]) for state in states]
    steps, batch = x.shape[:2]
    if lengths is not None and (lengths.const is None or lengths.uniform != steps):
        raise Unsupported("a recurrent layer with sequences of different lengths: pad them, and mask the outputs")
    scopes = c.info.scopes if c.info is not None else ()
    place = c.next_number(f"layer of {scopes[-1].path if scopes else ''}")
    outputs: list[Tensor] = []
    finals: list[list[Tensor]] = [[] for _ in states]
    for number in range(directions):
        w, r = _direction(c, weight, number), _direction(c, recurrence, number)
        both = None if bias is None else _chunks(c, _direction(c, bias, number), ("input_bias", "hidden_bias"))
        b = both[0] if both else None
        if both and all_biases:
            b = c.binary("add", both[0], both[1])
        backwards = way == "reverse" or number == 1
        layer = f"l{place}{'_reverse' * backwards}"
        with c.within(_LAYERS[node.op], layer):
            projected = c.named(_linear(c, x, w, b), "projected")
        step = cell(r, both[1] if both and not all_biases else None)
        zeros = np.zeros((1, batch, hidden), np.float32)
        starts = [c.array(zeros, x.dtype) if state is None or state.uniform == 0 else c.slice(state, 0, number, number + 1) for state in states]
        loop_states = [c.first_of_loop(start, place) for place, start in enumerate(starts)]
        made: list[Tensor] = []
        for time in reversed(range(steps)) if backwards else range(steps):
            with c.within(_LAYERS[node.op], layer):
                projected_step = c.named(c.slice(projected, 0, time, time + 1), "projected_step")
                with c.within(_CELLS[node.op], f"step@{FIRST_STEP + c.next_number()}"):
                    loop_states = step(projected_step, loop_states)
            made.append(loop_states[0])
        with c.within(_LAYERS[node.op], layer):
            output = c.named(c.concat(made[::-1] if backwards else made, 0), "output")
        outputs.append(c.reshape(output, [steps, 1, batch, hidden]))
        for history, state in zip(finals, loop_states, strict=True):
            history.append(state)
    whole = c.concat(outputs, 1)
    ends = [c.concat(parts, 0) for parts in finals]
    if first:
        return [c.permute(whole, [2, 0, 1, 3]), *(c.permute(end, [1, 0, 2]) for end in ends)]
    return [whole, *ends]


@rule("LSTM")
def lstm(
    c: Emitter, node: Node, x: Tensor, weight: Tensor, recurrence: Tensor, bias: Tensor | None = None, lengths: Tensor | None = None,
    hidden: Tensor | None = None, memory: Tensor | None = None, peepholes: Tensor | None = None,
) -> list[Tensor]:  # fmt: skip
    """The gates are input, output, forget, cell."""
    if peepholes is not None or node.get("input_forget", 0):
        raise Unsupported("an LSTM with peepholes or coupled gates")

    def cell(r: Tensor, _bias: Tensor | None) -> Cell:
        def step(gates: Tensor, states: list[Tensor]) -> list[Tensor]:
            hidden_gates = c.named(_linear(c, states[0], r, None), "hidden_gates")
            gates = c.named(c.binary("add", gates, hidden_gates), "gates")
            size = states[1].shape[-1]
            opened = c.named(c.unary("sigmoid", c.slice(gates, gates.rank - 1, 0, 3 * size)), "opened_gates")
            i, o, f = _chunks(c, opened, ("input_gate", "output_gate", "forget_gate"))
            cell_part = c.named(c.slice(gates, gates.rank - 1, 3 * size, 4 * size), "cell_gate_input")  # a product may take its tanh along
            g = c.named(c.unary("tanh", cell_part), "cell_gate")
            kept = c.named(c.binary("multiply", f, states[1]), "kept")
            added = c.named(c.binary("multiply", i, g), "added")
            state = c.named(c.binary("add", kept, added), "cell")
            return [c.named(c.binary("multiply", o, c.unary("tanh", state)), "hidden"), state]

        return step

    return _layer(c, node, x, weight, recurrence, bias, lengths, [hidden, memory], cell, "sigmoid tanh tanh", True)


@rule("GRU")
def gru(
    c: Emitter, node: Node, x: Tensor, weight: Tensor, recurrence: Tensor, bias: Tensor | None = None, lengths: Tensor | None = None,
    hidden: Tensor | None = None,
) -> list[Tensor]:  # fmt: skip
    """The gates are update, reset, new."""
    after = bool(node.get("linear_before_reset", 0))

    def cell(r: Tensor, b: Tensor | None) -> Cell:
        def step(gates: Tensor, states: list[Tensor]) -> list[Tensor]:
            (h,) = states
            update_x, reset_x, new_x = _chunks(c, gates, ("update_input", "reset_input", "new_input"))
            parts = ("update_hidden", "reset_hidden", "new_hidden")
            if after:
                update_h, reset_h, new_h = _chunks(c, c.named(_linear(c, h, r, b), "hidden_gates"), parts)
                reset = c.named(c.unary("sigmoid", c.binary("add", reset_x, reset_h)), "reset")
                candidate = c.named(c.binary("add", new_x, c.binary("multiply", reset, new_h)), "candidate")
            else:
                size = h.shape[-1]
                both = _linear(c, h, c.slice(r, 0, 0, 2 * size), None if b is None else c.slice(b, 0, 0, 2 * size))
                update_h, reset_h = _chunks(c, c.named(both, "hidden_gates"), parts[:2])
                reset = c.named(c.unary("sigmoid", c.binary("add", reset_x, reset_h)), "reset")
                rest = None if b is None else c.slice(b, 0, 2 * size, 3 * size)
                new_h = c.named(_linear(c, c.binary("multiply", reset, h), c.slice(r, 0, 2 * size, 3 * size), rest), "new_hidden")
                candidate = c.named(c.binary("add", new_x, new_h), "candidate")
            update = c.named(c.unary("sigmoid", c.binary("add", update_x, update_h)), "update")
            new = c.named(c.unary("tanh", candidate), "new")
            change = c.named(c.binary("subtract", h, new), "change")
            return [c.named(c.binary("add", new, c.binary("multiply", update, change)), "hidden")]

        return step

    return _layer(c, node, x, weight, recurrence, bias, lengths, [hidden], cell, "sigmoid tanh", False)


@rule("RNN")
def rnn(
    c: Emitter, node: Node, x: Tensor, weight: Tensor, recurrence: Tensor, bias: Tensor | None = None, lengths: Tensor | None = None,
    hidden: Tensor | None = None,
) -> list[Tensor]:  # fmt: skip
    names = sorted({name.lower() for name in node.get("activations") or ["tanh"]})
    if len(names) > 1 or names[0] not in short_names("ttir", "fused_behind"):
        raise Unsupported(f"a recurrent layer with the activations {', '.join(names)}")

    def cell(r: Tensor, _bias: Tensor | None) -> Cell:
        def step(gates: Tensor, states: list[Tensor]) -> list[Tensor]:
            hidden_gates = c.named(_linear(c, states[0], r, None), "hidden_gates")
            return [c.named(c.unary(names[0], c.binary("add", gates, hidden_gates)), "hidden")]

        return step

    return _layer(c, node, x, weight, recurrence, bias, lengths, [hidden], cell, names[0], True)
