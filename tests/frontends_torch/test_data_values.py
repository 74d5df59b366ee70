"""Numbers and rows that a model reads from its tensors: 0-d indices, buffers as values, what a mask picks."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
import torch_checking
from torch import nn

from alchemist.errors import FrontendError, InputError, UnsupportedOpError
from alchemist.frontends.torch import capture

X, V, MASK, AT = torch.randn(4, 5), torch.randn(5), torch.tensor([True, False, True, True]), torch.tensor(2)


class Buffers(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("flag", torch.tensor(True))
        self.register_buffer("count", torch.tensor(3))
        self.register_buffer("scale", torch.tensor(0.25))
        self.register_buffer("table", torch.arange(5.0))
        self.gain = nn.Parameter(torch.tensor(2.0))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.flag:
            x = x * self.scale.item()
        for _ in range(int(self.count)):
            x = x + self.table[3].item()
        return x * self.gain.exp().item()


class Counter(nn.Module):
    """Writes the number that it reads: no value of the export may stay in the program."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("step", torch.tensor(1))
        self.register_buffer("table", torch.arange(5.0))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x * self.table[self.step]
        self.step += 1
        return y


class Cache(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("rows", torch.zeros(4, 5))

    def forward(self, v: torch.Tensor, i: torch.Tensor) -> torch.Tensor:
        self.rows[i] = v
        return self.rows * 1


class Masks(nn.Module):
    """Reads masks and numbers that are known at export: of buffers, of constants, and of what is written into them."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("pairs", torch.ones(4, 4).triu(1).bool())
        self.register_buffer("sizes", torch.tensor([2, 3]))
        self.register_buffer("kept", torch.tensor([1.0, 0.0, 2.0, 0.0, 1.0]))

    def forward(self, x: torch.Tensor) -> list[torch.Tensor]:
        even = torch.zeros(5).bool()
        even[::2] = True
        written = torch.arange(4)
        written[1:] += 1
        unknown = torch.zeros(4)
        unknown[1:] = x[0, 1:4]
        products = torch.masked_select(x @ x.T, self.pairs).view(2, 3)
        columns = self.kept.nonzero().squeeze(1)
        steps = [x * size for size in self.sizes] + list(x.split(self.sizes.tolist(), 1))
        masked = [x[:, even], x[:, self.kept > 0], x[torch.tensor([True, False, True, False])], x[written > 2], torch.where(unknown > 0, 1.0, 2.0)]
        return [products, x[:, columns], x.repeat_interleave(self.kept.long(), 1), torch.unique(self.kept) * 2, *steps, *masked]


def _assigned(x: torch.Tensor, v: torch.Tensor, i: torch.Tensor) -> torch.Tensor:
    y = x.clone()
    y[i] = 0.0
    y[:, i] = v[:4]
    y[1, i] = 7.0
    return y


def _updated(x: torch.Tensor, mask: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    y = x * 1
    y[mask] = y[mask] * w + 1
    y[x > 0] *= 0.5
    return y


def _rewritten(x: torch.Tensor, other: torch.Tensor, rows: torch.Tensor, columns: torch.Tensor) -> list[torch.Tensor]:
    y, z, u, v, w = (x.clone() for _ in range(5))
    y[x > 0] = x[x > 0] ** 2  # the mask is computed twice
    y[y < 0] = -y[y < 0]
    z[:, columns] *= 2
    z[rows] = other[0]
    u[torch.where(x > 0)] = 7.0
    places = (x < 0).nonzero(as_tuple=True)
    v[places] += other[places]
    w[rows] = other[:2]  # row i of the values for the i-th selected row
    return [y, z, u, v, w]


ROWS = torch.arange(len(X)) % 2 == 0
CLASSES = torch.arange(len(X)) % X.shape[1]
CASES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "rows by a 0-d index": (lambda x, i: (x[i], x[:, i + 1], x[i.item()], x.select(0, i.item() - 1)), (X, AT)),
    "a number in arithmetic": (lambda x, s: x * s.item() + s.item(), (X, torch.tensor(2.5))),
    "a whole number in arithmetic": (lambda x: x * x.int().sum().item(), (X * 3,)),
    "a number that is checked and read": (lambda x: (torch._check(x.int().sum().item() > -999), x * x.int().sum().item())[1], (X * 3,)),
    "values of buffers": (Buffers(), (X,)),
    "masks known at export": (Masks(), (X,)),
    "a counter": (Counter(), (X,)),
    "a row of a cache": (Cache(), (V, AT)),
    "assignments at a 0-d index": (_assigned, (X, V, AT)),
    "indices from the end": (lambda x, i: (x[i], x[:, i], x[i, i + 1], x[i.abs() - 1]), (X, torch.tensor([-1, 0, -3]))),
    "masked updates": (_updated, (X, MASK, V)),
    "masked sums": (lambda x, m: (x[m].sum(), x[m].mean(), (x[m] * 2).sum()), (X, X > 0)),
    "rewritten where masks hold": (_rewritten, (X, X * 2 + 1, ROWS, torch.arange(X.shape[1]) % 3 == 0)),
    "reductions of what a mask selects": (
        lambda x, m: (x[m].max(), x[m].min(), x[m].std(), (x[m] > 0).float().mean(), x[m].norm(), x[m].sum() / x[m].shape[0]), (X, X > -0.5)),
    "reductions of selected rows": (lambda x, r: (x[r].mean(0), x[r].amax(0), x[r].softmax(-1).sum(), (x[r] @ x.T).sum()), (X, ROWS)),
    "losses of what a mask selects": (
        lambda x, y, m: (F.mse_loss(x[m], y[m]), F.smooth_l1_loss(x[m], y[m]), F.binary_cross_entropy(x[m].sigmoid(), (y > 0).float()[m])),
        (X, X * 2 + 1, X > 0)),
    "losses of selected rows": (
        lambda x, t, r: (F.cross_entropy(x[r], t[r]), F.nll_loss(x[r].log_softmax(-1), t[r]), (x.argmax(-1)[r] == t[r]).float().mean()),
        (X, CLASSES, ROWS)),
    "covariance": (lambda x: (torch.cov(x), torch.corrcoef(x), x[0].cov(correction=0), torch.cov(x.int())), (X,)),
    "pairs and an assertion": (lambda x: (torch._assert(x.sum() < 99, "large"), torch.combinations(x[0]))[1], (X,)),
    "whole numbers": (
        lambda i: (i.nanmedian(), torch.addbmm(i, i[None], i[None], beta=2, alpha=3), torch.bitwise_left_shift(1, i.abs()), i >> i.abs(),
                   i.scatter_reduce(0, i.abs() % 2, i, "mean")), (torch.arange(-4, 5).reshape(3, 3),)),
    "unsigned numbers": (lambda x, y: (x.to(torch.int64) + 1, y.to(torch.float32)), (torch.arange(9).to(torch.uint32), torch.arange(9).to(torch.uint16))),
    "addbmm without its product": (lambda x, a, b: torch.addbmm(x, a, b, alpha=0), (X, torch.full((2, 4, 3), float("nan")), torch.randn(2, 3, 5))),
    "addbmm": (lambda x, a, b: (torch.addbmm(x, a, b, beta=0.5, alpha=2), torch.addbmm(x[0, :1], a, b), torch.addbmm(x[:, :1], a, b, alpha=0)), (X, torch.randn(2, 4, 3), torch.randn(2, 3, 5))),
    "int8 product": (lambda a, b: torch._int_mm(a, b),
        # within 64: torch's own product of larger numbers saturates where ONEDNN_MAX_CPU_ISA=AVX2 caps a processor with AVX-512
        (torch.randint(-64, 64, (20, 16), dtype=torch.int8), torch.randint(-64, 64, (16, 8), dtype=torch.int8))),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_like_torch(name: str) -> None:
    model, args = CASES[name]
    torch_checking.check(model if isinstance(model, nn.Module) else torch_checking.Model(model), args)


def test_inputs_without_values_count_as_indices_from_zero() -> None:
    with torch.device("meta"):
        result = capture(nn.Embedding(10, 4), (torch.zeros(3, dtype=torch.int64),))
    assert torch_checking.names(result).count("where") == 0


def test_a_buffer_that_is_read_as_a_value_and_written_is_an_input() -> None:
    result = capture(Counter(), (X,))
    assert [(one.name, one.mutates) for one in result.outputs][1:] == [("step", "step")]


class Packed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.rnn = nn.GRU(8, 12, batch_first=True)

    def forward(self, x: torch.Tensor, lengths: torch.Tensor) -> Any:
        packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        return nn.utils.rnn.pad_packed_sequence(self.rnn(packed)[0], batch_first=True, total_length=7)[0]


def _quantised() -> nn.Module:
    return torch.ao.quantization.quantize_dynamic(nn.Sequential(nn.Linear(16, 4)).eval(), {nn.Linear}, dtype=torch.qint8)


REFUSED: dict[str, tuple[Any, tuple[Any, ...], type[Exception], str]] = {
    "packed sequences": (lambda: Packed().eval(), (torch.randn(3, 7, 8), torch.tensor([5, 7, 3])), FrontendError, "pack_padded_sequence"),
    "quantised modules": (_quantised, (torch.randn(3, 16),), InputError, "a quantized module"),
    "forward mode": (lambda: lambda x: torch.func.jvp(torch.sin, (x,), (x,))[1], (V,), UnsupportedOpError, "forward mode"),
    "max_norm": (lambda: nn.Embedding(10, 4, max_norm=1.0).eval(), (torch.tensor([1, 2]),), UnsupportedOpError, "max_norm rescales the table"),
    "a number as an output": (lambda: lambda x: (x * 2, x.sum().item()), (X,), FrontendError, r"a number that the model reads from a tensor \(\.item\(\)\)"),
    "what a mask picks": (lambda: lambda x: x[x > 0] * 2, (X,), FrontendError, "depends on data"),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", REFUSED)
def test_refused_with_its_reason(name: str) -> None:
    make, args, kind, message = REFUSED[name]
    with pytest.raises(kind, match=message):
        capture(make(), args)
