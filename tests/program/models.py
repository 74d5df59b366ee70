"""Small TTNN modules made by hand, with the scopes and source lines that a front end would give."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import emit_cpp
import emit_py
from alchemist.frontends.base import Argument, FrontendResult, Output
from alchemist.ir.builder import Builder
from alchemist.ir.layout import TTNNLayout
from alchemist.ir.location import Frame, Scope, SourceInfo
from alchemist.options import CompilerOptions
from alchemist.passes import lower_to_ttnn
from alchemist.program import build_program
from alchemist.program.model import Program

FILE = "tiny/model.py"

TRANSFORMER_SOURCE = """\
import torch
from torch import nn


class Attention(nn.Module):
    def forward(self, hidden_states, mask):
        query = self.query(hidden_states)
        scores = torch.matmul(query, query.transpose(1, 2))
        scores = self.softmax(scores + mask)
        context = torch.matmul(scores, query)
        return self.out(context)


class FeedForward(nn.Module):
    def forward(self, hidden_states):
        return self.down(self.act(self.up(hidden_states)))


class Block(nn.Module):
    def forward(self, hidden_states, mask):
        attended = self.attention(
            self.norm1(hidden_states),
            mask,
        )
        hidden_states = hidden_states + attended
        return hidden_states + self.mlp(self.norm2(hidden_states))


class Encoder(nn.Module):
    def forward(self, hidden_states, mask):
        for layer in self.layer:
            hidden_states = layer(hidden_states, mask)
        return hidden_states


class Tiny(nn.Module):
    def forward(self, tokens, mask):
        hidden_states = self.embed(tokens)
        hidden_states = self.encoder(hidden_states, mask)
        pooled = self.norm(hidden_states)
        return hidden_states, pooled
"""
LINES = {text.strip(): number for number, text in enumerate(TRANSFORMER_SOURCE.splitlines(), 1)}
CLASSES = {f"tiny.model.{name}": (FILE, LINES[f"class {name}(nn.Module):"] + 1) for name in ("Attention", "FeedForward", "Block", "Encoder", "Tiny")}


def line(text: str) -> int:
    """Line of a statement of the source above."""
    return LINES[text]


@dataclass
class Sketch:
    """Writes TTNN ops with sources; `scopes` and `frames` are stacks that the model functions push to."""

    builder: Builder
    scopes: list[Scope] = field(default_factory=list)
    frames: list[Frame] = field(default_factory=list)

    def type(self, shape: tuple[int, ...], dtype: str = "bf16", page: str = "tile", buffer: str = "dram") -> Any:
        return TTNNLayout.make(shape, dtype, page, buffer).type_for(shape)

    def source(self, text: str = "", leaf: str = "", file: str = FILE) -> SourceInfo:
        scopes = list(self.scopes)
        if leaf:
            path = f"{scopes[-1].path}.{leaf}".strip(".")
            scopes.append(Scope(path, "torch.nn.modules.linear.Linear"))
        frames = [*self.frames, Frame(file, line(text), "forward")] if text else list(self.frames)
        return SourceInfo(tuple(scopes), tuple(frames), "aten.op", "value")

    def op(
        self,
        name: str,
        inputs: list[Any],
        shape: tuple[int, ...],
        attributes: Mapping[str, Any] | None = None,
        text: str = "",
        leaf: str = "",
        dtype: str = "bf16",
        page: str = "tile",
    ) -> Any:
        source = self.source(text, leaf) if self.scopes or self.frames or text else None
        return self.builder.op(f"ttnn.{name}", inputs, attributes, [self.type(shape, dtype, page)], source)


def program_of(made: FrontendResult, options: CompilerOptions, language: str = "python") -> Program:
    """The program as an export makes it: behind the passes that decide order and lifetimes."""
    return build_program(lower_to_ttnn(made.module, options).module, made, options, language)


def emitted(made: FrontendResult, language: str = "python", **options: object) -> dict[str, str]:
    """The text of each file of the program."""
    program = program_of(made, CompilerOptions.parse(options), language)
    return emit_py.emit(program) if language == "python" else emit_cpp.emit(program)


def result(
    module: Any,
    name: str,
    inputs: list[str],
    outputs: list[str],
    files: Mapping[str, str] | None = None,
    classes: Mapping[str, tuple[str, int]] | None = None,
) -> FrontendResult:
    arguments = [Argument(one, "input", (), "bfloat16", lambda: None) for one in inputs]  # type: ignore[arg-type,return-value]
    return FrontendResult(
        module,
        "torch",
        name,
        arguments,
        [Output(one, (), "bfloat16") for one in outputs],
        None,
        source_files=files or {},
        class_sources=classes or {},
        made_from={"torch": "2.13.0"},
    )


def transformer(layers: int = 3, *, const_eval: bool = True) -> FrontendResult:
    """Embedding, `layers` x (attention, feed forward), final norm; weights transposed by const-eval functions."""
    hidden, rows, wide = 64, 32, 128
    linears = ("attention.query", "attention.out", "mlp.up", "mlp.down")
    sizes = {"attention.query": (hidden, hidden), "attention.out": (hidden, hidden), "mlp.up": (wide, hidden), "mlp.down": (hidden, wide)}
    sketch = Sketch(None)  # type: ignore[arg-type]
    inputs: list[tuple[str, Any, str, None]] = [
        ("tokens", sketch.type((1, rows), "u32", "row_major"), "input", None),
        ("mask", sketch.type((1, rows, rows)), "input", None),
        ("embed.weight", sketch.type((100, hidden), "bf16", "row_major"), "parameter", None),
    ]
    for index in range(layers):
        for name in linears:
            inputs.append((f"encoder.layer.{index}.{name}.weight", sketch.type(sizes[name], "bf16", "row_major"), "parameter", None))
        for norm in ("norm1", "norm2"):
            inputs.append((f"encoder.layer.{index}.{norm}.weight", sketch.type((hidden,)), "parameter", None))
    inputs.append(("norm.weight", sketch.type((hidden,)), "parameter", None))
    forward = Builder.module("forward", inputs)
    sketch.builder = forward
    arguments = {name: value for (name, _, _, _), value in zip(inputs, forward.args, strict=True)}
    made = 0

    def transposed(name: str) -> Any:
        nonlocal made
        stored = arguments[name]
        shape = tuple(stored.type.get_shape())
        flipped = (shape[1], shape[0])
        if not const_eval:
            tiled = sketch.op("to_layout", [stored], shape)
            return sketch.op("transpose", [tiled], flipped, {"dim0": 0, "dim1": 1})
        callee = f"const_eval_{made}"
        made += 1
        inner = Builder.function(forward.module_op, callee, [(name, stored.type, "parameter", None)], visibility="private")
        part = Sketch(inner)
        tiled = part.op("to_layout", [inner.args[0]], shape)
        inner.ret([part.op("transpose", [tiled], flipped, {"dim0": 0, "dim1": 1})])
        return forward.op("ttcore.load_cached", [[stored]], {"callee": callee}, [sketch.type(flipped)])

    def linear(x: Any, name: str, shape: tuple[int, ...], text: str, leaf: str, activation: str | None = None) -> Any:
        return sketch.op("linear", [x, transposed(name)], shape, {"activation": activation}, text, leaf)

    def norm(x: Any, name: str, text: str, leaf: str) -> Any:
        shape = tuple(x.type.get_shape())
        return sketch.op("layer_norm", [x, arguments[name]], shape, {"epsilon": 1e-5}, text, leaf)

    root = Scope("", "tiny.model.Tiny")
    sketch.scopes = [root]
    shape = (1, rows, hidden)
    embed = sketch.op("embedding", [arguments["tokens"], arguments["embed.weight"]], shape, {}, "hidden_states = self.embed(tokens)", "embed")
    x, mask = embed, arguments["mask"]
    for index in range(layers):
        prefix = f"encoder.layer.{index}"
        outer = [Frame(FILE, line("hidden_states = self.encoder(hidden_states, mask)")), Frame(FILE, line("hidden_states = layer(hidden_states, mask)"))]
        block = [root, Scope("encoder", "tiny.model.Encoder"), Scope(prefix, "tiny.model.Block")]
        sketch.scopes, sketch.frames = block, outer
        before = "attended = self.attention("
        normed = norm(x, f"{prefix}.norm1.weight", before, "norm1")
        sketch.scopes = [*block, Scope(f"{prefix}.attention", "tiny.model.Attention")]
        sketch.frames = [*outer, Frame(FILE, line(before))]
        query = linear(normed, f"{prefix}.attention.query.weight", shape, "query = self.query(hidden_states)", "query")
        text = "scores = torch.matmul(query, query.transpose(1, 2))"
        scores = sketch.op("matmul", [query, query], (1, rows, rows), {"transpose_b": True}, text)
        text = "scores = self.softmax(scores + mask)"
        scores = sketch.op("add", [scores, mask], (1, rows, rows), {}, text)
        scores = sketch.op("softmax", [scores], (1, rows, rows), {"dimension": -1}, text, "softmax")
        context = sketch.op("matmul", [scores, query], shape, {}, "context = torch.matmul(scores, query)")
        attended = linear(context, f"{prefix}.attention.out.weight", shape, "return self.out(context)", "out")
        sketch.scopes, sketch.frames = block, outer
        x = sketch.op("add", [x, attended], shape, {}, "hidden_states = hidden_states + attended")
        after = "return hidden_states + self.mlp(self.norm2(hidden_states))"
        normed = norm(x, f"{prefix}.norm2.weight", after, "norm2")
        sketch.scopes = [*block, Scope(f"{prefix}.mlp", "tiny.model.FeedForward")]
        sketch.frames = [*outer, Frame(FILE, line(after))]
        text = "return self.down(self.act(self.up(hidden_states)))"
        up = linear(normed, f"{prefix}.mlp.up.weight", (1, rows, wide), text, "up", "gelu")
        down = linear(up, f"{prefix}.mlp.down.weight", shape, text, "down")
        sketch.scopes, sketch.frames = block, outer
        x = sketch.op("add", [x, down], shape, {}, after)
    sketch.scopes, sketch.frames = [root], []
    pooled = norm(x, "norm.weight", "pooled = self.norm(hidden_states)", "norm")
    forward.ret([x, pooled], ["hidden_states", "pooled"])
    return result(forward.module_op, "Tiny", ["tokens", "mask"], ["hidden_states", "pooled"], {FILE: TRANSFORMER_SOURCE}, CLASSES)
