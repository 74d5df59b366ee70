"""Lifetimes are decided in the IR: the program makes the calls of `irs/*_ttnn.mlir` in its order and drops tensors where it frees them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
import torch
from torch import nn
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import ReturnOp
from xdsl.ir import Operation

import emit_py
from alchemist.errors import EmitError
from alchemist.frontends.base import FrontendResult, Output
from alchemist.ir.access import entry_function
from alchemist.ir.text import parse
from alchemist.ops.spec import INLINE, TTNN_OPS
from alchemist.options import CompilerOptions
from alchemist.passes import lower_to_ttnn
from alchemist.pipeline import capture
from alchemist.program import build_program
from tests.program.evaluate import Name, run
from tests.program.models import transformer
from tests.program.test_scans import SIZE, backwards, new_carry, old_and_new
from tests.program.test_unrolled import Scan, States


@dataclass(slots=True)
class Life:
    """What a forward pass does. calls: callees in order. dropped: (call, result) -> how many calls were made before the tensor was dropped.

    depths: how many functions of the program are around each call.
    """

    calls: list[str] = field(default_factory=list)
    dropped: dict[tuple[int, int], int] = field(default_factory=dict)
    depths: list[int] = field(default_factory=list)


def of_module(module: ModuleOp) -> Life:
    life = Life()
    made: dict[Any, tuple[int, int]] = {}
    for op in entry_function(module).body.block.ops:
        if op.name == "ttnn.deallocate":
            life.dropped[made[op.operands[0]]] = len(life.calls)
        elif _is_call(op):
            made.update((result, (len(life.calls), number)) for number, result in enumerate(op.results))
            life.calls.append(TTNN_OPS[op.name].target)
    return life


def _is_call(op: Operation) -> bool:
    return op.name not in ("ttnn.get_device", "ttcore.load_cached") and INLINE not in op.attributes and not isinstance(op, ReturnOp)


def of_program(files: dict[str, str], counts: list[int]) -> Life:
    """counts: how many results each call has."""
    life = Life()

    class Tensor:
        def __init__(self, place: tuple[int, int]) -> None:
            self.place = place

        def __del__(self) -> None:
            life.dropped[self.place] = len(life.calls)

        def __iter__(self) -> Iterator[Tensor]:
            return iter([Tensor((self.place[0], number)) for number in range(counts[self.place[0]])])

        def device(self) -> str:
            return "device"

    class Library(Name):
        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            frame, around = sys._getframe(1), []
            while frame is not None and frame.f_code.co_filename in ("main.py", "consteval.py"):
                around.append(frame.f_code.co_filename)
                frame = frame.f_back
            if "consteval.py" in around or "(" in self._path or self._path.rpartition(".")[2][:1].isupper():
                return super().__call__(*args, **kwargs)
            life.calls.append(self._path)
            life.depths.append(len(around))
            place = len(life.calls) - 1
            return Tensor((place, 0)) if counts[place] == 1 else Tensor((place, -1))

    run(files, library=Library)
    return life


def lived(made: FrontendResult, **options: Any) -> tuple[Life, Life]:
    """(of the IR, of the program)."""
    settings = CompilerOptions(**options)
    module = lower_to_ttnn(made.module, settings).module
    counts = [len(op.results) for op in entry_function(module).body.block.ops if _is_call(op) and op.name != "ttnn.deallocate"]
    return of_module(module), of_program(emit_py.emit(build_program(module, made, settings)), counts)


def torch_model(model: nn.Module, *inputs: torch.Tensor) -> FrontendResult:
    return capture(model.eval(), inputs, {}, "torch")


def jax_scan(function: Callable[..., Any]) -> FrontendResult:
    jnp = pytest.importorskip("jax.numpy")
    return capture(function, (jnp.ones((SIZE, SIZE)), jnp.ones((5, SIZE, SIZE))), {}, "jax")


def flax_lstm() -> FrontendResult:
    """The last step returns a carry that nobody reads."""
    nnx = pytest.importorskip("flax.nnx")
    jnp = pytest.importorskip("jax.numpy")
    layer = nnx.RNN(nnx.OptimizedLSTMCell(16, 32, rngs=nnx.Rngs(0)))
    return capture(layer, (jnp.ones((2, 5, 16)),), {}, "jax")


def training_step() -> FrontendResult:
    """Activations that the backward pass frees."""
    transformer_training_step = pytest.importorskip("models.jax_functions").transformer_training_step
    model, args, _ = transformer_training_step(2, 9)
    return capture(model, args, {}, "jax")


MODELS: dict[str, Callable[[], FrontendResult]] = {
    "training step": training_step,
    "transformer": lambda: transformer(4),
    "transformer without const-eval": lambda: transformer(2, const_eval=False),
    "lstm": lambda: torch_model(States(nn.LSTM(32, 32, batch_first=True)), torch.randn(2, 6, 32)),
    "gru": lambda: torch_model(States(nn.GRU(32, 32, batch_first=True)), torch.randn(2, 6, 32)),
    "list of all": lambda: torch_model(Scan("all"), torch.randn(2, 6, 32)),
    "list and one of it": lambda: torch_model(Scan("one of them too"), torch.randn(2, 6, 32)),
    "flax lstm": flax_lstm,
    "carry": lambda: jax_scan(new_carry),
    "two carries": lambda: jax_scan(old_and_new),
    "backwards": lambda: jax_scan(backwards),
}
NIGHTLY = ("training step", "transformer without const-eval", "gru", "two carries")  # the largest, and siblings of others


@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.slow if name in NIGHTLY else ()) for name in MODELS])
def test_the_program_does_what_the_ir_says(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(emit_py, "_MAX_BLACK_LINES", 0)  # its form is not looked at
    made = MODELS[name]()
    ir, program = lived(made, recover_structure=False)
    assert program == Life(ir.calls, ir.dropped, program.depths)
    assert len(ir.dropped) > 20
    ir, program = lived(made)
    assert program.calls == ir.calls
    assert program.dropped.keys() >= ir.dropped.keys()
    late = {place for place, at in ir.dropped.items() if program.dropped[place] != at}
    assert all(program.dropped[place] > ir.dropped[place] for place in late)  # held by a caller or for the next iteration
    assert len(late) < len(ir.dropped) / 2


class Mix(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(SIZE, SIZE)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.tanh(self.inner(x) + x)


class Feed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(SIZE, 2 * SIZE), nn.Linear(2 * SIZE, SIZE)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.softmax(self.down(torch.relu(self.up(x))), -1)


class Stack(nn.Module):
    """Layers whose input is read in the first half of their work alone."""

    def __init__(self, layers: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.ModuleDict({"mix": Mix(), "feed": Feed()}) for _ in range(layers))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = layer["feed"](layer["mix"](x))
        return x


def test_what_a_loop_carries_ends_with_the_call_that_reads_it_last() -> None:
    layers = 4
    ir, program = lived(torch_model(Stack(layers), torch.randn(SIZE, SIZE)))
    carried = [place for place in ir.dropped if ir.calls[place[0]] == "ttnn.softmax"]
    assert len(carried) == layers - 1
    for place in carried:
        assert set(program.calls[ir.dropped[place] : program.dropped[place]]) <= {"ttnn.tanh"}  # within the call of Mix


def test_without_frees_names_alone_end_lives() -> None:
    ir, program = lived(transformer(2), enable_dealloc=False)
    assert not ir.dropped
    assert program.dropped


CHAIN = """
#dram = #ttnn.buffer_type<dram>
#l = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
!t = tensor<32x32xbf16, #l>
func.func @forward(%x: !t) -> !t {
  %a = "ttnn.exp"(%x) : (!t) -> !t
  %b = "ttnn.relu"(%a) : (!t) -> !t
  FIRST
  %c = "ttnn.sqrt"(%b) : (!t) -> !t
  SECOND
  %d = "ttnn.add"(%c, BOTH) : (!t, !t) -> !t
  return %d : !t
}
"""
FREE = '"ttnn.deallocate"(%a) <{force = false}> : (!t) -> ()'


def read_chain(first: str = "", second: str = "", both: str = "%b") -> FrontendResult:
    text = CHAIN.replace("FIRST", first).replace("SECOND", second).replace("BOTH", both)
    return FrontendResult(parse(text), "mlir", "forward", [], [Output("y", (32, 32), "bfloat16")], None)


def test_text_that_frees_is_followed() -> None:
    """Where the text frees later than it could, so does the program; what it does not free stays."""
    for place, calls in (("first", 2), ("second", 3)):
        ir, program = lived(read_chain(**{place: FREE}))
        assert program.dropped[0, 0] == ir.dropped[0, 0] == calls
        assert list(ir.dropped) == [(0, 0)]
    ir, program = lived(read_chain())
    assert ir.dropped == {(0, 0): 2, (1, 0): 4, (2, 0): 4}
    assert program.dropped.items() >= ir.dropped.items()


def test_text_that_reads_what_it_freed_is_refused() -> None:
    with pytest.raises(EmitError, match=r"reads a tensor after its ttnn\.deallocate"):
        lived(read_chain(first=FREE, both="%a"))
