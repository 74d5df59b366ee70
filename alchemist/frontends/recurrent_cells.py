"""One step of torch's recurrent layers, and all steps of a layer in one direction, as torch functions.

Cells are traced for their ops. The text is a source file of the exported program: its names and comments are those of the
emitted functions. Formulas: torch.nn.GRU, torch.nn.LSTM and torch.nn.RNN, where `projected` is the input's part of the gates,
[1, batch, gates x size], and the states are [1, batch, size]. `projected` has both biases, except in GRU, which multiplies a part
of `bias_hh` by the reset gate.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import linear


class GRUCell:
    """Gates in torch's order: reset, update, new."""

    @staticmethod
    def forward(projected: Tensor, hidden: Tensor, weight_hh: Tensor, bias_hh: Tensor | None) -> Tensor:
        size = hidden.shape[-1]
        gates_input, new_input = projected.split([2 * size, size], -1)
        gates_hidden, new_hidden = linear(hidden, weight_hh, bias_hh).split([2 * size, size], -1)
        reset, update = torch.sigmoid(gates_input + gates_hidden).chunk(2, -1)
        new = torch.tanh(new_input + reset * new_hidden)
        hidden = new + update * (hidden - new)
        return hidden


class LSTMCell:
    """Gates in torch's order: input, forget, cell, output."""

    @staticmethod
    def forward(projected: Tensor, hidden: Tensor, cell: Tensor, weight_hh: Tensor, weight_hr: Tensor | None) -> tuple[Tensor, Tensor]:
        hidden_gates = linear(hidden, weight_hh)
        gates = projected + hidden_gates
        input_gate, forget_gate, _, output_gate = torch.sigmoid(gates).chunk(4, -1)
        cell_gate_input = gates.chunk(4, -1)[2]
        cell_gate = torch.tanh(cell_gate_input)
        kept = forget_gate * cell
        added = input_gate * cell_gate
        cell = kept + added
        hidden = output_gate * torch.tanh(cell)
        if weight_hr is not None:
            hidden = linear(hidden, weight_hr)
        return hidden, cell


class RNNCell:
    """torch.nn.RNN's step with tanh."""

    @staticmethod
    def forward(projected: Tensor, hidden: Tensor, weight_hh: Tensor) -> Tensor:
        hidden_gates = linear(hidden, weight_hh)
        hidden = torch.tanh(projected + hidden_gates)
        return hidden


class ReluRNNCell:
    """torch.nn.RNN's step with relu."""

    @staticmethod
    def forward(projected: Tensor, hidden: Tensor, weight_hh: Tensor) -> Tensor:
        hidden_gates = linear(hidden, weight_hh)
        hidden = torch.relu(projected + hidden_gates)
        return hidden


class GRULayer:
    """torch.nn.GRU in one direction. order: of the steps. weight_ih and the others: as torch calls them."""

    @staticmethod
    def forward(
        x: Tensor, hidden: Tensor, weight_ih: Tensor, bias_ih: Tensor | None, weight_hh: Tensor, bias_hh: Tensor | None, order: Sequence[int]
    ) -> tuple[Tensor, Tensor]:
        projected = linear(x, weight_ih, bias_ih)
        outputs = []
        for step in order:
            projected_step = projected[step : step + 1]
            hidden = GRUCell.forward(projected_step, hidden, weight_hh, bias_hh)
            outputs.append(hidden)
        output = torch.cat(outputs if order[0] == 0 else outputs[::-1])
        return output, hidden


class RNNLayer:
    """torch.nn.RNN with tanh."""

    cell: Any = RNNCell

    @classmethod
    def forward(
        cls, x: Tensor, hidden: Tensor, weight_ih: Tensor, bias_ih: Tensor, weight_hh: Tensor, bias_hh: Tensor, order: Sequence[int]
    ) -> tuple[Tensor, Tensor]:
        bias = bias_ih + bias_hh
        projected = linear(x, weight_ih, bias)
        outputs = []
        for step in order:
            projected_step = projected[step : step + 1]
            hidden = cls.cell.forward(projected_step, hidden, weight_hh)
            outputs.append(hidden)
        output = torch.cat(outputs if order[0] == 0 else outputs[::-1])
        return output, hidden


class ReluRNNLayer(RNNLayer):
    """torch.nn.RNN with relu."""

    cell = ReluRNNCell


class LSTMLayer:
    """torch.nn.LSTM: the same with two states."""

    @staticmethod
    def forward(
        x: Tensor, hidden: Tensor, cell: Tensor, weight_ih: Tensor, bias_ih: Tensor, weight_hh: Tensor, bias_hh: Tensor,
        weight_hr: Tensor | None, order: Sequence[int],
    ) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
        bias = bias_ih + bias_hh
        projected = linear(x, weight_ih, bias)
        outputs = []
        for step in order:
            projected_step = projected[step : step + 1]
            hidden, cell = LSTMCell.forward(projected_step, hidden, cell, weight_hh, weight_hr)
            outputs.append(hidden)
        output = torch.cat(outputs if order[0] == 0 else outputs[::-1])
        return output, hidden, cell
