"""Random PyTorch programs of views and in-place writes: every write must be seen through every view of the same memory, and nowhere else."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

Tensors = dict[str, torch.Tensor]


@dataclass(slots=True)
class Program(torch.nn.Module):
    """`lines` of Python on the tensors x [4, 6], mask [4, 6] and index [3], with a buffer; `returned` names its outputs."""

    lines: list[str] = field(default_factory=list)
    returned: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        torch.nn.Module.__init__(self)
        self.register_buffer("state", torch.arange(24.0).reshape(4, 6))

    def __hash__(self) -> int:
        return id(self)

    @property
    def text(self) -> str:
        return "\n".join([*self.lines, f"return {', '.join(self.returned)}"])

    def forward(self, x: torch.Tensor, mask: torch.Tensor, index: torch.Tensor) -> Any:
        names: dict[str, Any] = {"torch": torch, "self": self, "x": x, "mask": mask, "index": index}
        exec("\n".join(self.lines), names)
        return tuple(names[name] for name in self.returned)


def arguments(seed: int) -> tuple[torch.Tensor, ...]:
    generator = torch.Generator().manual_seed(seed)
    x = torch.randint(-8, 9, (4, 6), generator=generator) / 4
    return x, torch.rand(4, 6, generator=generator) > 0.5, torch.randperm(4, generator=generator)[:3]


_FRESH = (
    "x.clone()",
    "x * 1",
    "x + 2",
    "torch.zeros(4, 6) + x",
    "torch.empty(4, 6).copy_(x)",
    "self.state",
    "self.state.clone()",
    "torch.einsum('ij->ij', x) * 1",
)
_VIEWS = (
    "{t}.T", "{t}.view(-1)", "{t}.reshape(-1)", "{t}.flatten()", "{t}[1:]", "{t}[:, ::2]", "{t}[-1]", "{t}[..., 0]", "{t}.select(0, 1)", "{t}.narrow(0, 1, 2)",
    "{t}.unsqueeze(0)", "{t}.diagonal()", "{t}.chunk(2, 0)[1]", "{t}.split(1, 0)[0]", "{t}.unbind(0)[1]", "{t}.transpose(0, -1)", "{t}.detach()", "{t}.movedim(0, -1)",
    "{t}.squeeze()", "torch.atleast_2d({t})", "{t}.contiguous()", "{t}.to({t}.dtype)", "{t}.type_as(x)", "{t}.unfold(0, 2, 1)", "{t}.expand_as({t})",
    "torch.einsum('ij->ji', {t})", "{t}.view_as({t})", "{t}.permute(*reversed(range({t}.dim())))",
)  # fmt: skip
_WRITES = (
    "{t}.add_({n})", "{t}.mul_({n})", "{t}.sub_(1).clamp_(-1, 3)", "{t}.fill_({n})", "{t}.zero_()", "{t}.neg_()", "{t}.abs_()", "{t}.relu_()", "{t} += {n}", "{t} *= {n}",
    "{t}[0] = {n}", "{t}[-1] += {n}", "{t}[..., 0] = {n}", "{t}[..., ::2] *= {n}", "{t}[1:] = {t}[:-1].clone()", "{t}[{t} > 0] = {n}", "{t}[{t} > 0.5] *= 0.5",
    "{t}.masked_fill_({t} > 1, {n})", "{t}.copy_({t} * 2)", "{t}[...] = {n}", "{t}.index_fill_(0, index, {n})", "{t}.index_add_(0, index, {t}[:3] * 1)",
    "{t}.index_copy_(0, index, {t}[:3] * 2)", "{t}[index] = {n}", "{t}.fill_diagonal_({n})", "{t}.tril_()", "{t}.triu_(1)", "{t}.index_put_((index,), torch.tensor({n}))",
    "{t}.index_put_((index, index), torch.tensor({n}), accumulate=True)", "{t}[mask] = {n}", "{t}[mask] -= {n}", "{t}.masked_fill_(mask, {n})",
    "{t}.scatter_(0, index[:, None].expand(3, 6), {n})", "{t}.scatter_add_(0, index[:, None].expand(3, 6), x[:3])", "{t}.lerp_(x, 0.5)", "{t}.addcmul_(x, x)",
    "{t}.masked_scatter_(mask, x * 3)", "torch.add({t}, 1, out={t})", "{t}.diagonal().add_({n})", "{t}.T[0] = {n}", "{t}.view(-1)[::5] = {n}", "{t}.cumsum_(0)",
    "{t}.pow_(2)", "{t}.clamp_(min=0)[0].add_({n})", "{t}.where(mask, {t}).add_({n})", "{t}.swapaxes_(0, -1)", "{t}.put_(index, x.view(-1)[:3])", "{t}.round_()",
    "{t}[0, 1:3] = {t}[1, 1:3]", "{t}[index[0]] = {n}", "{t}[:, index] += {n}", "self.state.add_({n})", "self.state[1] = {n}",
)  # fmt: skip


def program(seed: int) -> Program:
    """A program that eager PyTorch runs: lines that fail there are left out."""
    choose = random.Random(seed)
    made = Program([], [])
    count = 0

    def add(line: str, name: str | None = None) -> bool:
        trial = Program([*made.lines, line], [name] if name else ["x"])
        try:
            (out,) = trial(*arguments(seed))
        except (RuntimeError, IndexError, ValueError, TypeError):
            return False
        if not isinstance(out, torch.Tensor) or out.numel() == 0 or not bool(torch.isfinite(out).all()) or float(out.abs().max()) > 1e4:
            return False
        made.lines.append(line)
        return True

    add(f"t0 = {choose.choice(_FRESH)}", "t0")
    names = ["t0"]
    for _ in range(choose.randint(3, 9)):
        at = choose.choice(names)
        if choose.random() < 0.4:
            name = f"t{(count := count + 1)}"
            if add(f"{name} = {choose.choice([*_VIEWS, *_FRESH] if choose.random() < 0.2 else _VIEWS).format(t=at)}", name):
                names.append(name)
        else:
            add(choose.choice(_WRITES).format(t=at, n=choose.choice((-1.5, 0.25, 2.0, 3.0))), at)
    made.returned = [*names, "self_state"] if choose.random() < 0.3 else names
    if made.returned[-1] == "self_state":
        made.lines.append("self_state = self.state * 1")
    return made


def make(seed: int) -> tuple[Callable[..., Any], tuple[torch.Tensor, ...], str]:
    """(model, arguments, text) of a seed."""
    found = program(seed)
    return found, arguments(seed), found.text
