"""Recurrent layers: unrolls one call of the cell per time step, from the first state on.

Every step has a scope of its own, so that the program has one function for the cell and a loop over time. So has each layer and direction
where there are several: they are calls of one function.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

import torch
from torch.nn.functional import linear

from alchemist.frontends import recurrent_cells as cells
from alchemist.frontends.torch.emitter import Tensor
from alchemist.frontends.torch.errors import EVAL_FIRST, Unsupported
from alchemist.frontends.torch.registry import rule

if TYPE_CHECKING:
    from alchemist.frontends.torch.lowering import Lowering


LEAST_STEPS = 3
"""Calls of one cell that make a loop over time."""
_LAYERS: dict[type, type] = {
    cells.GRUCell: cells.GRULayer,
    cells.LSTMCell: cells.LSTMLayer,
    cells.RNNCell: cells.RNNLayer,
    cells.ReluRNNCell: cells.ReluRNNLayer,
}


def _stack(
    c: Lowering, x: Tensor, starts: Sequence[Tensor], params: Sequence[Tensor], has_biases: bool, layers: int, bidirectional: bool, cell: type
) -> tuple[Tensor, list[Tensor]]:
    """x [time, batch, size], starts[i] [layers x directions, batch, size] of state i. Gives outputs and final states, stacked like `starts`."""
    directions = 2 if bidirectional else 1
    per = len(params) // (layers * directions)
    several = layers * directions > 1
    layer_of = _LAYERS[cell]
    finals: list[list[Tensor]] = [[] for _ in starts]
    for layer in range(layers):
        outputs = []
        for direction in range(directions):
            place = layer * directions + direction
            weights: list[Tensor | None] = list(params[place * per : (place + 1) * per])
            if not has_biases:
                weights[2:2] = [None, None]
            weight_ih, weight_hh, bias_ih, bias_hh, *projection = weights
            state = [c.first_of_loop(c.slice(start, 0, place, place + 1), i) for i, start in enumerate(starts)]
            name = f"l{layer}{'_reverse' if direction else ''}"  # as torch calls the weights

            def line(text: str, name: str = name) -> AbstractContextManager[None]:
                return c.within(layer_of, name, text) if several else nullcontext()

            with line("projected =" if cell is cells.GRUCell else "bias ="):
                bias, per_step = _biases(c, cell, bias_ih, bias_hh, projection)
            with line("projected ="):
                projected = c.apply(linear, x, weight_ih, bias)
            steps = []
            for time in range(x.shape[0])[:: -1 if direction else 1]:
                with line("projected_step ="):
                    projected_step = c.slice(projected, 0, time, time + 1)
                with line("hidden"), c.step(cell, "step"):
                    new_state = c.apply(cell.forward, projected_step, *state, weight_hh, *per_step)  # type: ignore[attr-defined]
                state = list(new_state) if isinstance(new_state, (tuple, list)) else [new_state]
                steps.append(state[0])
            with line("output ="):
                outputs.append(c.concat(steps[::-1] if direction else steps, 0))
            for history, value in zip(finals, state, strict=True):
                history.append(value)
        x = c.concat(outputs, 2)
    return x, [c.concat(values, 0) for values in finals]


def _biases(
    c: Lowering, cell: type, bias_ih: Tensor | None, bias_hh: Tensor | None, projection: Sequence[Tensor | None] = ()
) -> tuple[Tensor | None, list[Tensor | None]]:
    """(the bias of the input's product, what a step takes after `weight_hh`). A cell that adds both biases to the same gates has their sum."""
    if cell is cells.GRUCell:
        return bias_ih, [bias_hh]
    bias = bias_ih if bias_ih is None or bias_hh is None else c.apply(torch.add, bias_ih, bias_hh)
    return bias, list(projection or [None]) if cell is cells.LSTMCell else []


def _layer(
    c: Lowering, cell: type, x: Tensor, starts: Sequence[Tensor], params: Sequence[Tensor], has_biases: bool, layers: int, dropout: float,
    train: bool, bidirectional: bool, batch_first: bool,
) -> list[Tensor]:  # fmt: skip
    if train and dropout > 0 and layers > 1:
        raise Unsupported(f"dropout between recurrent layers in training mode is random: {EVAL_FIRST}")
    if x.shape[1 if batch_first else 0] == 0:
        raise Unsupported("a sequence without steps")
    x = c.permute(x, [1, 0, 2]) if batch_first else x
    out, finals = _stack(c, x, starts, params, has_biases, layers, bidirectional, cell)
    return [c.permute(out, [1, 0, 2]) if batch_first else out, *finals]


@rule("aten.lstm.input")
def lstm(c: Lowering, x: Tensor, hx: Sequence[Tensor], params: Sequence[Tensor], *options: Any) -> list[Tensor]:
    return _layer(c, cells.LSTMCell, x, hx, params, *options)


@rule("aten.gru.input")
def gru(c: Lowering, x: Tensor, hx: Tensor, params: Sequence[Tensor], *options: Any) -> list[Tensor]:
    return _layer(c, cells.GRUCell, x, [hx], params, *options)


@rule("aten.rnn_tanh.input")
def rnn_tanh(c: Lowering, x: Tensor, hx: Tensor, params: Sequence[Tensor], *options: Any) -> list[Tensor]:
    return _layer(c, cells.RNNCell, x, [hx], params, *options)


@rule("aten.rnn_relu.input")
def rnn_relu(c: Lowering, x: Tensor, hx: Tensor, params: Sequence[Tensor], *options: Any) -> list[Tensor]:
    return _layer(c, cells.ReluRNNCell, x, [hx], params, *options)


def _cell(c: Lowering, cell: type, x: Tensor, states: Sequence[Tensor], w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None, b_hh: Tensor | None) -> Any:
    """A call of a cell by the model itself, as a call of the cell's function. All iterations of a loop have the same ops."""
    node = c.node
    steps = [other for other in node.graph.nodes if other.target == node.target and other.args[2:] == node.args[2:]]
    if len(steps) >= LEAST_STEPS:
        states = [c.first_of_loop(state, place, str(node.args[2])) for place, state in enumerate(states)]
    bias, per_step = _biases(c, cell, b_ih, b_hh)
    projected = c.apply(linear, x, w_ih, bias)
    with c.step(cell, "step"):
        return c.apply(cell.forward, projected, *states, w_hh, *per_step)  # type: ignore[attr-defined]


@rule("aten.gru_cell.default")
def gru_cell(c: Lowering, x: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None) -> Any:
    return _cell(c, cells.GRUCell, x, [hx], w_ih, w_hh, b_ih, b_hh)


@rule("aten.lstm_cell.default")
def lstm_cell(c: Lowering, x: Tensor, hx: Sequence[Tensor], w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None) -> Any:
    return _cell(c, cells.LSTMCell, x, hx, w_ih, w_hh, b_ih, b_hh)


@rule("aten.rnn_tanh_cell.default")
def rnn_tanh_cell(c: Lowering, x: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None) -> Any:
    return _cell(c, cells.RNNCell, x, [hx], w_ih, w_hh, b_ih, b_hh)


@rule("aten.rnn_relu_cell.default")
def rnn_relu_cell(c: Lowering, x: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None) -> Any:
    return _cell(c, cells.ReluRNNCell, x, [hx], w_ih, w_hh, b_ih, b_hh)
